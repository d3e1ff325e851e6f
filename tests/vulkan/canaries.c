/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not an element of the output stays as it is: tensors in the middle of device buffers
 * full of a pattern, at every offset that elements allow, with gaps, backwards, in place, input
 * and output side by side in one buffer, by descriptors and by addresses, with scratch of the
 * caller's. The input stays, too.
 */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 4096, SCRATCH_AT = 48 };

/* Where workgroups make progress. */
#define LOOK_BACK "template=look_back,workgroup=32,vector=4,segments=1"
#define BY_LANES "template=look_back_lanes,workgroup=32,segments=2"

static const struct {
    const char *word, *plan;
} cases[] = {
    { "cumsum:i32:1:axis=0", "" },
    { "cumsum:f32:1000:axis=0", "" },
    { "cumsum:u32:20001:axis=0", "template=workgroups,workgroup=32,chunk=1024" },
    { "cumprod:f32:20001:axis=0,reverse", "template=workgroups,chunk=0" },
    { "cumsum:i32:20003:axis=0", LOOK_BACK },
    { "cumsum:i32:2000x3:axis=0", BY_LANES },
    { "cumsum:f32:2x301x5:axis=1,in=1600x5x1,out=1550x5x1,reverse", BY_LANES ",team=5" },
    { "cumsum:i32:900x33:axis=0,in=40x1,out=35x1,exclusive", BY_LANES ",team=16" },
    { "cumsum:i32:33x7:axis=1", "template=subgroups,team=4" },
    { "cumsum:i32:33x7:axis=1", "template=staged" },
    { "cumsum:f32:9x50:axis=1,in=107x2,out=150x3", "template=staged" },
    { "cumprod:f16:5x301:axis=1,in=304x1,out=303x1,reverse", "template=staged" },
    { "cumsum:f16:3x77:axis=1,in=77x1,out=-77x1@154", "template=staged" },
    { "cumsum:f64:3x301:axis=1,exclusive", "template=staged,workgroup=64,team=64" },
    { "cumsum:f32:5x301:axis=1,in=311x1,out=305x1", "" },
    { "cumsum:f32:5x302:axis=1,in=312x1,out=304x1,reverse",
      "template=subgroups,segments=3,vector=4" },
    { "cumprod:f16:3x301:axis=1,in=304x1,out=304x1", "template=workgroups,workgroup=16,vector=8" },
    { "cumsum:i32:5x301:axis=1,in=311x1,out=-305x1@1220,exclusive", "" },
    { "cumsum:i32:700:axis=0,in=3,out=5", "" },
    { "cumprod:u32:700:axis=0,in=-2@1398,out=-3@2097,reverse", "" },
    { "cumsum:f32:90x33:axis=0", "" },
    { "cumsum:i32:90x33:axis=0,in=40x1,out=35x1", "template=columns,chunk=32" },
    { "cumsum:f32:9000x2:axis=0,in=2x1,out=5x2", "template=columns,chunk=256" },
    { "cumsum:i32:90x32:axis=0,in=40x1,out=36x1", "template=columns,vector=8" },
    { "cumsum:f16:3x90x16:axis=1,reverse", "template=columns,vector=8,chunk=32" },
    { "cumprod:f64:2x90x6:axis=1,exclusive", "template=columns,vector=2,chunk=0" },
    { "cumsum:f32:4x50x3:axis=1", "" },
    { "cumsum:i32:40x3:axis=0,in=8x2,out=3x-1@2", "" },
    { "cumsum:f64:1001:axis=0", "" },
    { "cumsum:i64:17x33:axis=1,out=35x1", "" },
    { "cumsum:f16:1001:axis=0", "" },
    { "cumsum:f16:7x33:axis=1,in=35x1,out=35x1", "" },
    { "cumprod:bf16:33x7:axis=1,in=9x1,out=7x1,reverse", "" },
    { "cumsum:f16:300x3:axis=0", "" },
    { "cumsum:bf16:500:axis=0,in=3,out=3@1,exclusive", "" },
    { "cumsum:f32:70000:axis=0,order=serial", "" },
};

/* Tiles that are done again, which read elements when some results are stored. */
static const struct {
    const char *word, *plan;
    tly_data data;
} again[] = {
    { "cumprod:f32:9001:axis=0", "template=look_back,workgroup=32,vector=4,segments=4",
      TLY_DATA_DECAY },
    { "cumprod:f32:3x3001:axis=1,exclusive", LOOK_BACK, TLY_DATA_GROW },
    { "cumprod:f32:5003:axis=0,reverse", LOOK_BACK ",park=1", TLY_DATA_DECAY },
    { "cumsum:f32:9001:axis=0", LOOK_BACK, TLY_DATA_RANGE },
    { "cumprod:f32:1501x5:axis=0", BY_LANES ",team=5", TLY_DATA_GROW },
    { "cumprod:f32:5x301:axis=1", "template=staged", TLY_DATA_DECAY },
    { "cumprod:f32:4x257:axis=1,exclusive", "template=staged,workgroup=64,team=64", TLY_DATA_GROW },
};

/* Each with its own offsets, in elements beyond AROUND bytes. */
static const struct {
    int in, out, in_place, one_buffer;
} places[] = { { 0, 0, 0, 0 }, { 1, 3, 0, 0 }, { 3, 2, 0, 1 }, { 5, 5, 1, 1 } };

typedef struct image {
    tally_vulkan_buffer *buffer;
    char *was, *is;
    size_t bytes;
} image;

static int make_image(image *m, tally_vulkan *v, size_t bytes, tally_error *error)
{
    m->bytes = (bytes + 3) / 4 * 4;
    m->was = malloc(m->bytes);
    m->is = malloc(m->bytes);
    for (size_t k = 0; m->was && k < m->bytes; k++)
        m->was[k] = (char)(k * 37 + k / 256);
    return !m->was || !m->is || tally_vulkan_buffer_create(v, m->bytes, &m->buffer, error);
}

static void end_image(image *m)
{
    tally_vulkan_buffer_destroy(&m->buffer);
    free(m->was);
    free(m->is);
    *m = (image){ 0 };
}

static int can_be_in_place(const tly_case *c)
{
    int same = c->l.in_offset == c->l.out_offset;
    for (int k = 0; k < c->l.rank; k++)
        same &= c->l.in_strides[k] == c->l.out_strides[k];
    return same;
}

static tally_status submit(const tally_vulkan_kernel *k, image *all, int count,
                           tally_vulkan_buffers *buffers, tally_error *error)
{
    tally_status status = TALLY_OK;
    for (int i = 0; i < count && !status; i++)
        status = tally_vulkan_buffer_write(all[i].buffer, 0, all[i].was, all[i].bytes, error);
    if (!status)
        status = tally_vulkan_submit(k, buffers, NULL, error);
    if (!status)
        status = tally_vulkan_wait(k->vulkan, error);
    for (int i = 0; i < count && !status; i++)
        status = tally_vulkan_buffer_read(all[i].buffer, 0, all[i].is, all[i].bytes, error);
    return status;
}

/* Equal outside of [from, to)? */
static void expect_kept(const image *m, size_t from, size_t to, const char *label)
{
    size_t at = 0;
    while (at < m->bytes && ((at >= from && at < to) || m->was[at] == m->is[at]))
        at++;
    tly_expect(at == m->bytes, "%s: byte %zu of %zu changed, and none but [%zu, %zu) may", label,
               at, m->bytes, from, to);
}

static void run_place(const tly_case *c, tally_vulkan *v, const tally_vulkan_kernel *k, int p,
                      const char *plan)
{
    enum { IN, OUT, SCRATCH, IMAGES };
    image all[IMAGES] = { { 0 } };
    char label[200];
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_facts facts = { .size = sizeof facts };
    tally_vulkan_kernel_facts(k, &facts);
    const int one = places[p].one_buffer, in_place = places[p].in_place;
    const size_t in_at = AROUND + (size_t)places[p].in * c->element;
    const size_t behind = (in_at + c->in_bytes + 15) / 16 * 16;
    const size_t out_at = in_place ? in_at
                                   : (one ? behind : AROUND) + (size_t)places[p].out * c->element;
    image *from = &all[IN], *to = &all[one ? IN : OUT];
    snprintf(label, sizeof label, "%s '%s' place %d", c->word, plan, p);
    int bad = make_image(from, v, (one ? out_at + c->out_bytes : in_at + c->in_bytes) + AROUND,
                         &error) ||
              make_image(&all[OUT], v, out_at + c->out_bytes + AROUND, &error) ||
              make_image(&all[SCRATCH], v, SCRATCH_AT + (size_t)facts.scratch_bytes + AROUND,
                         &error);
    if (tly_expect(!bad, "%s: %s", label, error.message)) {
        tally_vulkan_buffers buffers = { .size = sizeof buffers };
        tally_vulkan_buffer_info(from->buffer, &buffers.in);
        tally_vulkan_buffer_info(to->buffer, &buffers.out);
        tally_vulkan_buffer_info(all[SCRATCH].buffer, &buffers.scratch);
        buffers.in.offset = in_at - (uint64_t)(c->l.in_low * (int64_t)c->element);
        buffers.out.offset = out_at - (uint64_t)(c->l.out_low * (int64_t)c->element);
        buffers.scratch.offset = SCRATCH_AT;
        memcpy(from->was + in_at, c->in, c->in_bytes);
        tally_status status = submit(k, all, IMAGES, &buffers, &error);
        if (tly_expect(status == TALLY_OK, "%s: %s: %s", label, error.field, error.message)) {
            char *out = malloc(c->out_bytes);
            memcpy(out, to->is + out_at, c->out_bytes);
            tly_case_right(c, out, tly_bed_flushes(v), 0, label);
            tly_case_copy(c, out, to->was + out_at);
            free(out);
            expect_kept(&all[IN], 0, 0, label);
            expect_kept(&all[OUT], 0, 0, label);
            expect_kept(&all[SCRATCH], SCRATCH_AT, SCRATCH_AT + (size_t)facts.scratch_bytes, label);
        }
    }
    for (int i = 0; i < IMAGES; i++)
        end_image(&all[i]);
}

static int lacks(const tly_caps *caps, const tly_case *c)
{
    return c->element == 8 ? !caps->int64 || !caps->float64 : c->element == 2 && !caps->storage16;
}

static void run_case(const tly_case *c, tally_vulkan *v, const char *choices)
{
    static const char *const forms[] = { "addresses=0", "addresses=1",
                                         "addresses=1,index_bits=64" };
    const int count = v->facts.caps.addresses ? 3 : 1;
    for (int f = 0; f < count; f++) {
        char plan[120];
        snprintf(plan, sizeof plan, "%s%s%s", choices, *choices ? "," : "", forms[f]);
        tally_vulkan_kernel *k = tly_case_kernel(c, v, plan, 0);
        for (int p = 0; k && p < (int)(sizeof places / sizeof places[0]); p++)
            if (!places[p].in_place || can_be_in_place(c))
                run_place(c, v, k, p, plan);
        tally_vulkan_kernel_destroy(&k);
    }
}

static void try(tally_vulkan *v, const char *word, const char *plan, tly_data data, uint64_t seed)
{
    tly_case c;
    tly_case_make(&c, word, data, seed);
    const int waits = strstr(plan, "look_back") != NULL;
    if (!lacks(&v->facts.caps, &c) && (!waits || v->facts.caps.progress))
        run_case(&c, v, plan);
    tly_case_end(&c);
}

int main(void)
{
    tally_context *context = tly_bed_context();
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        try(v, cases[k].word, cases[k].plan, TLY_DATA_BENIGN, k);
    for (size_t k = 0; k < sizeof again / sizeof again[0]; k++)
        try(v, again[k].word, again[k].plan, again[k].data, k);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return tly_bed_end("canaries", 5 * 3 * 14);
}
