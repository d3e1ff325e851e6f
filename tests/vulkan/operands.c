/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands in the caller's buffers: in storage buffers and by addresses, in one dispatch and in
 * many, one tensor over another, and where a device has too few storage buffers. Words are of
 * integers, so that the bits are those of a CPU.
 */
#include "bed.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 16, OUT_AT = BYTES / 2, INTS = BYTES / 4 };

static const char *const words[] = {
    "cumsum:i32:5x300:axis=1,a=i32,map=x*a",
    "cumsum:i32:37x9:axis=0,exclusive,a=i32/0,map=x*a,post=y-a",
    "cumsum:i32:4x9x17:axis=1,reverse,a=i32/none,b=i32/2,map=x*a+b",
    "cumsum:i32:3x2x5x4x7:axis=4,in=1200x500x84x15x2,a=i32/1+4,map=x-a",
    "cumsum:i32:3000:axis=0,a=i32,b=i32,c=i32,d=i32,map=a*x+b,post=c*y-d",
    "sum:i32:40x70:axes=1,a=i32,b=i32/0,map=x*a,post=y*b",
    "sum:i32:8x6x50:axes=0+2,a=i32/-300x-50x-1@2399,map=x*a",
};
enum { CASES = sizeof words / sizeof words[0] };

typedef struct bed {
    tally_context *context;
    tally_vulkan *v;
    tally_vulkan_buffer *buffer; /* of all tensors; the output is in the second half */
    int32_t *memory, *wanted;
    tally_vulkan_buffers at;
} bed;

/* All tensors that are read begin here, each `apart` bytes behind the one before. */
static void place(bed *b, uint64_t apart)
{
    tally_vulkan_range range;
    tally_vulkan_buffer_info(b->buffer, &range);
    b->at = (tally_vulkan_buffers)TALLY_VULKAN_BUFFERS_INIT;
    b->at.in = b->at.out = range;
    b->at.out.offset = OUT_AT;
    for (uint64_t i = 0; i < TALLY_MAX_OPERANDS; i++) {
        b->at.operand[i] = range;
        b->at.operand[i].offset = (i + 1) * apart;
    }
}

static void fill(const bed *b)
{
    tally_error error = TALLY_ERROR_INIT;
    for (int i = 0; i < INTS; i++) {
        b->memory[i] = b->wanted[i] = (int32_t)(i * UINT32_C(2654435761) >> 25);
    }
    tly_expect(!tally_vulkan_buffer_write(b->buffer, 0, b->memory, BYTES, &error), "write: %s",
               error.message);
}

/* The same places in host memory. */
static tally_buffers host_buffers(const bed *b, int32_t *memory)
{
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    char *base = (char *)memory;
    buffers.in = base + b->at.in.offset;
    buffers.out = base + b->at.out.offset;
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        buffers.operand[i] = base + b->at.operand[i].offset;
    }
    return buffers;
}

/* What a CPU makes of the same places. */
static void compute(const bed *b, const tally_descriptor *d)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    const tally_buffers buffers = host_buffers(b, b->wanted);
    tly_expect(!tally_kernel_create(b->context, d, NULL, &kernel, &error) &&
                   !tally_kernel_run_buffers(kernel, &buffers, NULL, &error),
               "cpu: %s", error.message);
    tally_kernel_destroy(&kernel);
}

static tally_vulkan_kernel *make(const bed *b, const char *word, const char *plan,
                                 tally_status wanted, tally_error *error)
{
    tally_descriptor d;
    tally_vulkan_kernel *kernel = NULL;
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    options.plan = plan;
    if (tly_expect(!tally_descriptor_parse(word, &d, error), "%s: %s", word, error->message)) {
        const tally_status status = tally_vulkan_kernel_create(b->v, &d, &options, &kernel, error);
        tly_expect(status == wanted, "%s, plan %s: %s: %s", word, plan, tally_status_name(status),
                   error->message);
    }
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

/* On the device's memory and on the host's, and compares all of it. Returns how many dispatches
 * there were. */
static uint32_t run(const bed *b, const char *word, const char *plan)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_facts facts = TALLY_VULKAN_FACTS_INIT;
    tally_descriptor d;
    tally_vulkan_kernel *kernel = make(b, word, plan, TALLY_OK, &error);
    if (kernel == NULL || tally_descriptor_parse(word, &d, NULL)) {
        return 0;
    }
    fill(b);
    compute(b, &d);
    tally_vulkan_kernel_facts(kernel, &facts);
    tly_expect(facts.operand_end[0] > facts.operand_low[0] && facts.operand_low[0] >= 0,
               "%s: operand a has bytes %lld to %lld", word, (long long)facts.operand_low[0],
               (long long)facts.operand_end[0]);
    tly_expect(!tally_vulkan_submit(kernel, &b->at, NULL, &error) &&
                   !tally_vulkan_wait(b->v, &error) &&
                   !tally_vulkan_buffer_read(b->buffer, 0, b->memory, BYTES, &error),
               "%s, plan %s: %s", word, plan, error.message);
    compare(b, word, plan, "device");
    fill(b);
    compute(b, &d);
    const tally_buffers buffers = host_buffers(b, b->memory);
    tly_expect(!tally_vulkan_run_buffers(kernel, &buffers, &error), "%s, plan %s: %s", word, plan,
               error.message);
    compare(b, word, plan, "host");
    tally_vulkan_kernel_destroy(&kernel);
    return facts.dispatches;
}

/* What Tally says of places that it refuses; nothing is submitted. */
static void refuse(bed *b)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_kernel *kernel = make(b, words[2], "", TALLY_OK, &error);
    if (kernel == NULL) {
        return;
    }
    fill(b);
    b->at.operand[1].offset = OUT_AT + 4;
    tly_expect(tally_vulkan_submit(kernel, &b->at, NULL, &error) == TALLY_INVALID &&
                   !strcmp(error.field, "b") && strstr(error.message, "overlap"),
               "operand in the output: %s: %s", error.field, error.message);
    b->at.operand[1].offset = 2;
    tly_expect(tally_vulkan_submit(kernel, &b->at, NULL, &error) == TALLY_INVALID &&
                   strstr(error.message, "the offset of b is no multiple of 4"),
               "misaligned: %s", error.message);
    b->at.operand[1].offset = BYTES - 4;
    tly_expect(tally_vulkan_submit(kernel, &b->at, NULL, &error) == TALLY_INVALID &&
                   strstr(error.message, "b needs bytes"),
               "too small: %s", error.message);
    b->at.operand[1].buffer = VK_NULL_HANDLE;
    tly_expect(tally_vulkan_submit(kernel, &b->at, NULL, &error) == TALLY_INVALID &&
                   strstr(error.message, "the buffer of b is NULL"),
               "no buffer: %s", error.message);
    tly_expect(tally_vulkan_run(kernel, b->memory, b->memory + INTS / 2, &error) == TALLY_INVALID &&
                   !strcmp(error.field, "a"),
               "no operands: %s: %s", error.field, error.message);
    tally_buffers buffers = host_buffers(b, b->memory);
    buffers.operand[1] = (char *)buffers.out + 4;
    tly_expect(tally_vulkan_run_buffers(kernel, &buffers, &error) == TALLY_INVALID &&
                   !strcmp(error.field, "b"),
               "host operand in the output: %s: %s", error.field, error.message);
    buffers.operand[1] = NULL;
    tly_expect(tally_vulkan_run_buffers(kernel, &buffers, &error) == TALLY_INVALID &&
                   !strcmp(error.field, "b"),
               "no host operand: %s: %s", error.field, error.message);
    tly_expect(tally_vulkan_run_buffers(kernel, NULL, &error) == TALLY_INVALID,
               "buffers that are NULL: %s", error.message);
    tly_expect(!memcmp(b->memory, b->wanted, BYTES), "something was written to the host");
    tly_expect(!tally_vulkan_buffer_read(b->buffer, 0, b->memory, BYTES, &error) &&
                   !memcmp(b->memory, b->wanted, BYTES),
               "something was written");
    tally_vulkan_kernel_destroy(&kernel);
}

/* Tensors that no element is read of need not be there, and `post` is computed all the same. */
static void no_elements(const bed *b)
{
    tally_error error = TALLY_ERROR_INIT;
    const int32_t five = 5;
    int32_t out[4] = { 1, 1, 1, 1 };
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    tally_vulkan_kernel *kernel = make(b, "sum:i32:3x0:axes=1,a=i32,b=i32/none,map=x*a,post=y+b",
                                       "", TALLY_OK, &error);
    buffers.out = out;
    buffers.operand[1] = &five;
    tly_expect(!tally_vulkan_run_buffers(kernel, &buffers, &error) && out[0] == 5 && out[2] == 5 &&
                   out[3] == 1,
               "no elements: %s: %s; %d", error.field, error.message, out[2]);
    tally_vulkan_kernel_destroy(&kernel);
    kernel = make(b, "sum:i32:3x0:axes=1", "", TALLY_OK, &error);
    tly_expect(!tally_vulkan_run(kernel, NULL, out, &error) && out[0] == 0 && out[2] == 0,
               "no elements, no operands: %s: %s; %d", error.field, error.message, out[2]);
    tally_vulkan_kernel_destroy(&kernel);
}

/* The device as one that has so few storage buffers. */
static void few_buffers(bed *b)
{
    tally_error error = TALLY_ERROR_INIT;
    const tly_caps caps = b->v->facts.caps;
    b->v->facts.caps.storage_buffers = 4;
    run(b, words[0], "");
    if (caps.addresses) {
        run(b, words[4], "");
    }
    b->v->facts.caps.addresses = 0;
    tly_expect(make(b, words[4], "", TALLY_UNSUPPORTED, &error) == NULL &&
                   strstr(error.message, "needs 7 storage buffers") &&
                   strstr(error.message, "is 4"),
               "%s", error.message);
    b->v->facts.caps = caps;
}

int main(void)
{
    tally_error error = TALLY_ERROR_INIT;
    bed b = { .context = tly_bed_context(), .memory = malloc(BYTES), .wanted = malloc(BYTES) };
    b.v = tly_bed_open(b.context, tly_bed_device());
    if (!b.memory || !b.wanted || tally_vulkan_buffer_create(b.v, BYTES, &b.buffer, &error)) {
        return 1;
    }
    const tly_caps caps = b.v->facts.caps;
    uint32_t dispatches = 0;
    for (int i = 0; i < CASES; i++) {
        place(&b, i < 3 ? 12 : 0); /* one over the other: they are only read */
        run(&b, words[i], "");
        if (caps.addresses) {
            run(&b, words[i], "addresses=1");
        }
        b.v->facts.caps.groups_x = b.v->facts.caps.groups_y = 1;
        dispatches += run(&b, words[i], "workgroup=32");
        b.v->facts.caps = caps;
    }
    tly_expect(dispatches >= 2 * CASES, "%u dispatches are few", dispatches);
    place(&b, 12);
    few_buffers(&b);
    refuse(&b);
    no_elements(&b);
    tally_vulkan_buffer_destroy(&b.buffer);
    tally_vulkan_destroy(&b.v);
    tally_context_destroy(&b.context);
    free(b.memory);
    free(b.wanted);
    return tly_bed_end("operands", 4 * CASES);
}
