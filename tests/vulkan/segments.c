/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments in the caller's buffers and memory: in one dispatch and in many, in storage buffers and
 * by addresses. With offsets that hold to their rules the bits are those of a CPU, words being of
 * integers. Whatever offsets hold, only the output and the states that are made change.
 */
#include "bed.h"

#include <string.h>

enum { BYTES = 1 << 16, PART = 1 << 13, INTS = BYTES / 4, SEGMENTS = 8 };

/* Parts of the buffer, each of PART bytes. */
enum { IN, OUT, OFFSETS, STATES, NEXT_STATES };

static const struct {
    const char *word, *plan;
    int progress; /* 1: the plan needs it */
} cases[] = {
    { "cumsum:i32:5x300:axis=1,segments=i32/8", "template=columns", 0 },
    { "cumsum:i32:5x300:axis=1,segments=i64/8,reverse", "", 0 },
    { "cumsum:i32:1900:axis=0,exclusive,segments=i32/8", "template=workgroups,workgroup=16", 0 },
    { "cummax:i32:5x300:axis=1,segments=i32/8", "template=subgroups,segments=1,vector=4", 0 },
    { "cumsum:i32:5x301:axis=1,segments=i32/8", "template=staged", 0 },
    { "cumsum:i32:20x100:axis=1,segments=i64/8,order=serial", "template=turned,workgroup=16", 0 },
    { "cumsum:i32:1900:axis=0,segments=i32/8", "template=look_back,workgroup=16,segments=1", 1 },
    { "cumsum:i32:350x5:axis=0,segments=i32/8", "template=look_back_lanes,workgroup=16", 1 },
    { "cumsum:i32:150x13:axis=0,segments=i32/8,carry=in+out", "", 0 },
    { "cumsum:i32:150x13:axis=0,segments=i64/8,reverse,exclusive,carry=in+out", "", 0 },
    { "cumsum:i32:5x300:axis=1,every=37,reverse,carry=in+out", "", 0 },
    { "cumsum:i32:90x17:axis=1,every=5,a=i32/0,map=x*a,post=y-a", "", 0 },
    { "cumsum:i32:5x300:axis=1,a=i32/1,reset=a>120,carry=in+out", "", 0 },
    { "sum:i32:5x300:axes=1,segments=i32/8", "", 0 },
    { "sum:i32:1900:axes=0,segments=i64/8", "template=reduce_rows,chunk=64", 0 },
    { "max:i32:150x13:axes=0,segments=i32/8", "template=reduce_lanes,chunk=16", 0 },
    { "sum:i32:5x300:axes=1,every=37", "", 0 },
    { "sum:i32:40x7:axes=1,segments=i32/8", "", 0 }, /* more segments than elements */
    { "sum:i32:5x300:axes=1,segments=i32/8,out=20x1", "", 0 },
    { "sum:i32:5x300:axes=1,every=37,out=-12x1@48", "", 0 },
    { "cumsum:i32:5x300:axis=1,segments=i32/8,out=-310x1@1240", "", 0 },
};
enum { CASES = sizeof cases / sizeof cases[0] };

static const int64_t good[SEGMENTS + 1] = { 3, 3, 10, 10, 10, 25, 26, 60, 90 };

typedef struct bed {
    tally_context *context;
    tally_vulkan *v;
    tally_vulkan_buffer *buffer; /* of all tensors */
    int32_t memory[INTS], wanted[INTS];
} bed;

static tally_vulkan_range range_of(const bed *b, int part)
{
    tally_vulkan_range range = TALLY_VULKAN_RANGE_INIT;
    tally_vulkan_buffer_info(b->buffer, &range);
    range.offset = (uint64_t)part * PART;
    return range;
}

static void fill(bed *b, const tally_descriptor *d, const int64_t *offsets)
{
    tally_error error = TALLY_ERROR_INIT;
    for (int i = 0; i < INTS; i++)
        b->memory[i] = (int32_t)(i * UINT32_C(2654435761) >> 25);
    for (int i = 0; i <= SEGMENTS && d->segment_dtype; i++)
        tly_bits_store((tally_dtype)d->segment_dtype, (char *)b->memory + (size_t)OFFSETS * PART, i,
                       (uint64_t)offsets[i]);
    memcpy(b->wanted, b->memory, sizeof b->wanted);
    tly_expect(!tally_vulkan_buffer_write(b->buffer, 0, b->memory, BYTES, &error), "write: %s",
               error.message);
}

static tally_buffers places(int32_t *memory)
{
    char *base = (char *)memory;
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    buffers.in = base + (size_t)IN * PART;
    buffers.out = base + (size_t)OUT * PART;
    buffers.operand[0] = buffers.in;
    buffers.offsets = base + (size_t)OFFSETS * PART;
    buffers.carry_in = base + (size_t)STATES * PART;
    buffers.carry_out = base + (size_t)NEXT_STATES * PART;
    return buffers;
}

/* What a CPU makes of the same places. */
static void compute(bed *b, const tally_descriptor *d)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    const tally_buffers buffers = places(b->wanted);
    tly_expect(!tally_kernel_create(b->context, d, NULL, &kernel, &error) &&
                   !tally_kernel_run_buffers(kernel, &buffers, NULL, &error),
               "cpu: %s", error.message);
    tally_kernel_destroy(&kernel);
}

static void compare(const bed *b, const char *word, int hostile)
{
    int at = 0;
    for (; at < INTS; at++) {
        const int part = at / (PART / 4);
        if (b->memory[at] != b->wanted[at] && !(hostile && (part == OUT || part == NEXT_STATES)))
            break;
    }
    tly_expect(at == INTS, "%s, %s offsets: word %d is %d, not %d", word,
               hostile ? "wrong" : "right", at, at < INTS ? b->memory[at] : 0,
               at < INTS ? b->wanted[at] : 0);
}

/* What the device makes of the host's memory. */
static void run_here(bed *b, const tally_vulkan_kernel *kernel, const char *word)
{
    tally_error error = TALLY_ERROR_INIT;
    const tally_buffers buffers = places(b->memory);
    if (tly_expect(!tally_vulkan_run_buffers(kernel, &buffers, &error), "%s, here: %s", word,
                   error.message))
        compare(b, word, 0);
}

static int submit(bed *b, const tally_vulkan_kernel *kernel, const char *word)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_buffers buffers = TALLY_VULKAN_BUFFERS_INIT;
    buffers.in = buffers.operand[0] = range_of(b, IN);
    buffers.out = range_of(b, OUT);
    buffers.offsets = range_of(b, OFFSETS);
    buffers.carry_in = range_of(b, STATES);
    buffers.carry_out = range_of(b, NEXT_STATES);
    return tly_expect(!tally_vulkan_submit(kernel, &buffers, NULL, &error) &&
                          !tally_vulkan_wait(b->v, &error) &&
                          !tally_vulkan_buffer_read(b->buffer, 0, b->memory, BYTES, &error),
                      "%s: %s", word, error.message);
}

/* Offsets that fall, or lie outside of the axis. */
static void try_hostile(bed *b, const tally_vulkan_kernel *kernel, const tally_descriptor *d,
                        const char *word)
{
    static const int64_t bad[] = { -1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 1 << 20, 7, 90 };
    for (uint64_t seed = 0; seed < 4 && d->segment_dtype; seed++) {
        int64_t offsets[SEGMENTS + 1];
        tly_random r = tly_random_seed(seed, 5);
        for (int i = 0; i <= SEGMENTS; i++)
            offsets[i] = bad[tly_random_below(&r, sizeof bad / sizeof bad[0])];
        fill(b, d, offsets);
        if (submit(b, kernel, word))
            compare(b, word, 1);
    }
}

/* Returns how many dispatches there were. */
static uint32_t run(bed *b, int which, const char *plan)
{
    const char *word = cases[which].word;
    tally_descriptor d;
    tally_vulkan_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_facts facts = TALLY_VULKAN_FACTS_INIT;
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    options.plan = plan;
    tly_expect(!tally_descriptor_parse(word, &d, &error), "%s: %s", word, error.message);
    const tally_status status = tally_vulkan_kernel_create(b->v, &d, &options, &kernel, &error);
    if (status == TALLY_UNSUPPORTED && strcmp(error.field, "dtype") == 0)
        return 0;
    if (!tly_expect(status == TALLY_OK, "%s, plan %s: %s: %s", word, plan, error.field,
                    error.message))
        return 0;
    tally_vulkan_kernel_facts(kernel, &facts);
    /* A word of one dim has axes 0, which stands for all dims. */
    const int axis = tally_op_is_scan((tally_op)d.op) ? d.axis : d.axes == 2;
    const int64_t size = d.sizes[axis];
    int64_t offsets[SEGMENTS + 1];
    for (int i = 0; i <= SEGMENTS; i++)
        offsets[i] = good[i] < size ? good[i] : size;
    fill(b, &d, offsets);
    compute(b, &d);
    run_here(b, kernel, word);
    if (submit(b, kernel, word))
        compare(b, word, 0);
    try_hostile(b, kernel, &d, word);
    tally_vulkan_kernel_destroy(&kernel);
    return facts.dispatches;
}

int main(void)
{
    tally_error error = TALLY_ERROR_INIT;
    static bed b;
    b.context = tly_bed_context();
    b.v = tly_bed_open(b.context, tly_bed_device());
    if (tally_vulkan_buffer_create(b.v, BYTES, &b.buffer, &error))
        return 1;
    const tly_caps caps = b.v->facts.caps;
    uint32_t cuts = 0;
    for (int i = 0; i < CASES; i++) {
        if (!cases[i].progress || caps.progress)
            run(&b, i, cases[i].plan);
        if (caps.addresses) {
            b.v->facts.caps.storage_buffers = 4;
            run(&b, i, "");
            b.v->facts.caps = caps;
        }
        b.v->facts.caps.trip_limit = 128;
        cuts += run(&b, i, "");
        b.v->facts.caps = caps;
    }
    tly_expect(cuts > 4 * CASES, "%u dispatches are few", cuts);
    tally_vulkan_buffer_destroy(&b.buffer);
    tally_vulkan_destroy(&b.v);
    tally_context_destroy(&b.context);
    return tly_bed_end("segments", 2 * CASES);
}
