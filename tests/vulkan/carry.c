/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States in the caller's buffers: a scan in two runs, the second of which goes on with the states
 * that the first has made, in another place or in their own. Every template does so, in one
 * dispatch and in many, in storage buffers and by addresses. Words are of integers, so that the
 * bits are those of a CPU.
 */
#include "bed.h"

#include <string.h>

enum { BYTES = 1 << 16, PART = 1 << 13, INTS = BYTES / 4 };

/* Parts of the buffer, each of PART bytes: what either run reads and makes, and states. */
enum { IN, NEXT_IN, OUT, NEXT_OUT, STATES, NEXT_STATES };

static const char *const words[] = {
    "cumsum:i32:5x300:axis=1,carry=in+out",
    "cumsum:i32:1900:axis=0,exclusive,carry=in+out",
    "cumsum:i32:50x37:axis=0,reverse,carry=in+out",
    "cumprod:u32:350x5:axis=0,carry=in+out",
    "cummax:i32:4x100x4:axis=1,exclusive,carry=in+out",
    "cumsum:i32:3x2x5x4x7:axis=4,in=560x280x56x14x2,carry=in+out",
    "cumsum:i32:90x17:axis=1,a=i32/0,map=x*a,post=y-a,carry=in+out",
    "cumsum:i32:4x1x5:axis=1,carry=in+out",
    "cumsum:i32:6x300:axis=1,every=50,carry=in+out",
    "cumsum:i32:4x0x5:axis=1,carry=in+out",
    "cumlogsumexp:f32:4x0x5:axis=1,carry=in+out",
    /* Nothing, whose output begins within the operand, and whose input begins before its buffer. */
    "cumsum:i32:0x5:axis=0,reverse,in=5x1@-5,out=5x1@-4094,a=i32/1,map=x*a,carry=in+out",
    "cumsum:i32:40x40:axis=1,in=1x40,carry=in+out",
    "linrec:i32:5x300:axis=1,coef=x+1,carry=in+out",
    "linrec:i32:1900:axis=0,coef=x,exclusive,carry=in+out",
    "linrec:i32:350x5:axis=0,a=i32,map=x-1,carry=in+out",
    "linrec:i32:4x0x5:axis=1,coef=x,carry=in+out",
};
enum { CASES = sizeof words / sizeof words[0] };

static const char *const plans[] = {
    "",
    "template=columns",
    "template=columns,chunk=16",
    "template=subgroups,segments=1,vector=1",
    "template=workgroups,workgroup=16,vector=1,segments=1,chunk=32",
    "template=turned,workgroup=16,segments=8",
    "template=staged,workgroup=16,team=16,vector=19",
    "template=look_back,workgroup=16,vector=2,segments=1", /* those from here on need progress */
    "template=look_back_lanes,team=5,workgroup=16,segments=2",
};
enum { PLANS = sizeof plans / sizeof plans[0], LOOK_BACK = PLANS - 2 };

typedef struct bed {
    tally_context *context;
    tally_vulkan *v;
    tally_vulkan_buffer *buffer; /* of all tensors */
    int32_t memory[INTS], wanted[INTS];
    int made[PLANS]; /* words that a plan was for */
} bed;

/* Where a run has its tensors: parts of the buffer; -1: it lacks the states. */
typedef struct places {
    int in, out, carry_in, carry_out;
} places;

static const places first_run = { IN, OUT, -1, STATES };

static places second_run(int in_place)
{
    return (places){ NEXT_IN, NEXT_OUT, STATES, in_place ? STATES : NEXT_STATES };
}

static tally_vulkan_range range_of(const bed *b, int part)
{
    tally_vulkan_range range = TALLY_VULKAN_RANGE_INIT;
    if (part >= 0) {
        tally_vulkan_buffer_info(b->buffer, &range);
        range.offset = (uint64_t)part * PART;
    }
    return range;
}

static tally_vulkan_buffers device_buffers(const bed *b, const places *p)
{
    tally_vulkan_buffers buffers = TALLY_VULKAN_BUFFERS_INIT;
    buffers.in = range_of(b, p->in);
    buffers.out = range_of(b, p->out);
    buffers.operand[0] = buffers.in;
    buffers.carry_in = range_of(b, p->carry_in);
    buffers.carry_out = range_of(b, p->carry_out);
    return buffers;
}

static tally_buffers host_buffers(int32_t *memory, const places *p)
{
    char *base = (char *)memory;
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    buffers.in = base + (size_t)p->in * PART;
    buffers.out = base + (size_t)p->out * PART;
    buffers.operand[0] = buffers.in;
    buffers.carry_in = p->carry_in >= 0 ? base + (size_t)p->carry_in * PART : NULL;
    buffers.carry_out = base + (size_t)p->carry_out * PART;
    return buffers;
}

static void fill(bed *b)
{
    tally_error error = TALLY_ERROR_INIT;
    for (int i = 0; i < INTS; i++) {
        b->memory[i] = b->wanted[i] = (int32_t)(i * UINT32_C(2654435761) >> 25);
    }
    tly_expect(!tally_vulkan_buffer_write(b->buffer, 0, b->memory, BYTES, &error), "write: %s",
               error.message);
}

/* What a CPU makes of the same places. */
static void compute(bed *b, const tally_descriptor *d, const places *runs)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    tly_expect(!tally_kernel_create(b->context, d, NULL, &kernel, &error), "cpu: %s",
               error.message);
    for (int i = 0; i < 2 && kernel != NULL; i++) {
        const tally_buffers buffers = host_buffers(b->wanted, &runs[i]);
        tly_expect(!tally_kernel_run_buffers(kernel, &buffers, NULL, &error), "cpu: %s",
                   error.message);
    }
    tally_kernel_destroy(&kernel);
}

/* NULL: the plan is not for the word. */
static tally_vulkan_kernel *make(const bed *b, const char *word, const char *plan)
{
    tally_descriptor d;
    tally_vulkan_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    options.plan = plan;
    tly_expect(!tally_descriptor_parse(word, &d, &error), "%s: %s", word, error.message);
    const tally_status status = tally_vulkan_kernel_create(b->v, &d, &options, &kernel, &error);
    tly_expect(status == TALLY_OK || (*plan && !strcmp(error.field, "plan")),
               "%s, plan %s: %s: %s: %s", word, plan, tally_status_name(status), error.field,
               error.message);
    return kernel;
}

static void compare(const bed *b, const char *word, const char *plan, const char *where)
{
    int at = 0;
    while (at < INTS && b->memory[at] == b->wanted[at]) {
        at++;
    }
    tly_expect(at == INTS, "%s, plan %s, %s memory: word %d is %d, not %d", word, plan, where, at,
               at < INTS ? b->memory[at] : 0, at < INTS ? b->wanted[at] : 0);
}

/* On the device's memory and on the host's, and compares all of it. */
static uint32_t run(bed *b, const char *word, int plan, int in_place)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_facts facts = TALLY_VULKAN_FACTS_INIT;
    tally_descriptor d;
    const places runs[2] = { first_run, second_run(in_place) };
    tally_vulkan_kernel *kernel = make(b, word, plans[plan]);
    if (kernel == NULL || tally_descriptor_parse(word, &d, NULL)) {
        return 0;
    }
    b->made[plan]++;
    tally_vulkan_kernel_facts(kernel, &facts);
    fill(b);
    compute(b, &d, runs);
    for (int i = 0; i < 2; i++) {
        const tally_vulkan_buffers buffers = device_buffers(b, &runs[i]);
        tly_expect(!tally_vulkan_submit(kernel, &buffers, NULL, &error), "%s, plan %s: %s", word,
                   plans[plan], error.message);
    }
    tly_expect(!tally_vulkan_wait(b->v, &error) &&
                   !tally_vulkan_buffer_read(b->buffer, 0, b->memory, BYTES, &error),
               "%s, plan %s: %s", word, plans[plan], error.message);
    compare(b, word, plans[plan], "device");
    fill(b);
    compute(b, &d, runs);
    for (int i = 0; i < 2; i++) {
        const tally_buffers buffers = host_buffers(b->memory, &runs[i]);
        tly_expect(!tally_vulkan_run_buffers(kernel, &buffers, &error), "%s, plan %s: %s", word,
                   plans[plan], error.message);
    }
    compare(b, word, plans[plan], "host");
    tally_vulkan_kernel_destroy(&kernel);
    return facts.dispatches;
}

static void expect_refusal(const tally_vulkan_kernel *kernel, const tally_vulkan_buffers *buffers,
                           const char *field, const char *text)
{
    tally_error error = TALLY_ERROR_INIT;
    tly_expect(tally_vulkan_submit(kernel, buffers, NULL, &error) == TALLY_INVALID &&
                   !strcmp(error.field, field) && strstr(error.message, text),
               "not '%s': %s: %s", text, error.field, error.message);
}

/* What Tally says of places that it refuses; nothing is submitted. */
static void refuse(bed *b)
{
    const places p = second_run(0);
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_kernel *kernel = make(b, words[0], "");
    if (kernel == NULL) {
        return;
    }
    fill(b);
    tally_vulkan_buffers good = device_buffers(b, &p), bad = good;
    bad.carry_out.buffer = VK_NULL_HANDLE;
    expect_refusal(kernel, &bad, "usage", "the buffer of carry_out is NULL");
    bad = good;
    bad.carry_out.offset = good.carry_in.offset + 4;
    expect_refusal(kernel, &bad, "carry_out", "carry_in and carry_out overlap in part");
    bad.carry_out.offset = good.in.offset + 8;
    expect_refusal(kernel, &bad, "carry_out", "carry_out and in overlap");
    bad.carry_out.offset = good.out.offset + 8;
    expect_refusal(kernel, &bad, "carry_out", "carry_out and the output overlap");
    bad = good;
    bad.carry_in.offset = good.out.offset + 8;
    expect_refusal(kernel, &bad, "carry_in", "carry_in and the output overlap");
    bad.carry_in.offset = 2;
    expect_refusal(kernel, &bad, "usage", "the offset of carry_in is no multiple of 4");
    bad.carry_in.offset = BYTES - 4;
    expect_refusal(kernel, &bad, "usage", "carry_in needs bytes");
    tly_expect(tally_vulkan_run(kernel, b->memory, b->memory + INTS / 2, &error) == TALLY_INVALID &&
                   !strcmp(error.field, "carry_out"),
               "no states: %s: %s", error.field, error.message);
    tly_expect(!tally_vulkan_wait(b->v, &error) &&
                   !tally_vulkan_buffer_read(b->buffer, 0, b->memory, BYTES, &error) &&
                   !memcmp(b->memory, b->wanted, BYTES),
               "something was written");
    tally_vulkan_kernel_destroy(&kernel);
}

/* What the word does not name is not looked at. */
static void one_side(bed *b)
{
    const places p = { NEXT_IN, NEXT_OUT, OUT, NEXT_OUT };
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_kernel *kernel = make(b, "cumsum:i32:5x300:axis=1,carry=in", "");
    fill(b);
    const tally_vulkan_buffers buffers = device_buffers(b, &p);
    tly_expect(kernel != NULL && !tally_vulkan_submit(kernel, &buffers, NULL, &error) &&
                   !tally_vulkan_wait(b->v, &error) &&
                   !tally_vulkan_buffer_read(b->buffer, 0, b->memory, BYTES, &error),
               "states in alone: %s", error.message);
    const int32_t *before = b->wanted + OUT * PART / 4, *in = b->wanted + NEXT_IN * PART / 4;
    for (int row = 0; row < 5; row++) {
        const int32_t got = b->memory[NEXT_OUT * PART / 4 + row * 300];
        tly_expect(got == before[row] + in[row * 300], "row %d begins with %d", row, got);
    }
    tally_vulkan_kernel_destroy(&kernel);
}

int main(void)
{
    tally_error error = TALLY_ERROR_INIT;
    static bed b;
    b.context = tly_bed_context();
    b.v = tly_bed_open(b.context, tly_bed_device());
    if (tally_vulkan_buffer_create(b.v, BYTES, &b.buffer, &error)) {
        return 1;
    }
    const tly_caps caps = b.v->facts.caps;
    uint32_t windows = 0, cuts = 0;
    for (int i = 0; i < CASES; i++) {
        for (int plan = 0; plan < PLANS; plan++) {
            run(&b, words[i], plan, (i + plan) % 3 > 0);
        }
        if (caps.addresses) {
            b.v->facts.caps.storage_buffers = 4;
            run(&b, words[i], 0, 1);
            b.v->facts.caps = caps;
        }
        b.v->facts.caps.groups_x = b.v->facts.caps.groups_y = 1;
        windows += run(&b, words[i], 1, 1);
        b.v->facts.caps = caps;
        b.v->facts.caps.trip_limit = 128;
        cuts += run(&b, words[i], 0, i % 2);
        b.v->facts.caps = caps;
    }
    for (int plan = 0; plan < (caps.progress ? PLANS : LOOK_BACK); plan++) {
        tly_expect(b.made[plan] > 0, "plan %s was for no word", plans[plan]);
    }
    tly_expect(windows > CASES && cuts > 2 * CASES, "%u and %u dispatches are few", windows, cuts);
    refuse(&b);
    one_side(&b);
    tally_vulkan_buffer_destroy(&b.buffer);
    tally_vulkan_destroy(&b.v);
    tally_context_destroy(&b.context);
    return tly_bed_end("carry", 4 * CASES);
}
