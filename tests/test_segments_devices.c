/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments and flags on devices of profiles, by the interpreter: every template, forced by plans
 * whose tiles are small. A segment is judged as a row of its own, and states by a loop of integers.
 * What lies in no segment stays as it is, and whatever offsets hold, nothing outside of the tensors
 * is touched: each ends where memory ends.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "compare.h"
#include "cuts.h"
#include "engine_grid.h"
#include "profile_caps.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { PATTERN = 0x5a, PLACES = 7 };

/* Subgroups of 32, 8 and 4, loops of no more than 65,000 trips, and a device without 64 bits. */
static const char *const profiles[] = { "nvidia-hopper", "lavapipe-8", "lavapipe-4",
                                        "swiftshader" };

/* ---- runs ---- */

typedef struct run {
    tally_descriptor d;
    tly_layout l;
    tly_cut cut;
    tly_arena arena[PLACES];
    tally_buffers buffers;
    char *in, *out, *offsets; /* the first bytes */
    size_t in_bytes, out_bytes;
} run;

static char *place(run *r, int which, size_t bytes)
{
    cr_assert_eq(tly_arena_open(&r->arena[which], bytes + 64), 0);
    return tly_arena_place(&r->arena[which], TLY_PLACE_END, 0, bytes).at;
}

static void close_run(run *r)
{
    for (int k = 0; k < PLACES; k++)
        if (r->arena[k].bytes)
            tly_arena_close(&r->arena[k]);
    free(r);
}

static run *open_run(const char *word, const tly_cut *cut, int wide)
{
    run *r = calloc(1, sizeof *r);
    cr_assert(r);
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &r->d, &error), TALLY_OK, "%s: %s", word,
                 error.message);
    if (cut) {
        r->cut = *cut;
        r->d.segments = cut->count;
        r->d.segment_dtype = wide ? TALLY_I64 : TALLY_I32;
    }
    tly_layout_of(&r->d, &r->l);
    r->in_bytes = (size_t)(r->l.rows * r->l.length) * tally_dtype_bytes((tally_dtype)r->d.dtype);
    const int64_t results = r->l.is_scan ? r->l.rows * r->l.length : r->l.rows * r->cut.count;
    r->out_bytes = (size_t)results * tally_dtype_bytes(tly_reference_output(&r->d));
    r->in = place(r, 0, r->in_bytes);
    r->out = place(r, 1, r->out_bytes);
    memset(r->out, PATTERN, r->out_bytes);
    r->buffers = tly_buffers(r->in, r->out);
    if (cut) {
        const size_t each = wide ? 8 : 4;
        r->offsets = place(r, 2, (size_t)(cut->count + 1) * each);
        r->buffers.offsets = r->offsets;
        for (int64_t i = 0; i <= cut->count; i++)
            tly_bits_store((tally_dtype)r->d.segment_dtype, r->offsets, i, (uint64_t)cut->at[i]);
    }
    return r;
}

/* 1 if the device takes the plan. */
static int go(run *r, const char *word, const char *plan, const char *profile)
{
    tally_error error = TALLY_ERROR_INIT;
    tly_caps caps = tly_profile_caps(profile);
    tly_engine *engine = tly_engine_grid(&caps, &error);
    cr_assert(engine);
    tally_status s = engine->prepare(engine, &r->d, plan, &error);
    const int is_refused = (s == TALLY_INVALID && strcmp(error.field, "plan") == 0) ||
                           (s == TALLY_UNSUPPORTED && strcmp(error.field, "dtype") == 0);
    cr_expect(s == TALLY_OK || is_refused, "%s, %s, %s: %s: %s", word, plan, profile, error.field,
              error.message);
    if (s == TALLY_OK)
        cr_expect_eq(engine->run(engine, &r->buffers, 1, &error), TALLY_OK, "%s", error.message);
    engine->close(engine);
    return s == TALLY_OK;
}

/* The same on the CPU that runs this. */
static int go_here(run *r, const char *word)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    const tally_status made = tally_kernel_create(context, &r->d, NULL, &kernel, &error);
    cr_expect(made == TALLY_NO_GENERATOR || /* a build without LLVM */
                  (made == TALLY_OK &&
                   tally_kernel_run_buffers(kernel, &r->buffers, NULL, &error) == TALLY_OK),
              "%s: %s: %s", word, error.field, error.message);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return made == TALLY_OK;
}

/* ---- a segment as a word of its own ---- */

static tally_descriptor part_of(const run *r, int64_t s)
{
    tally_descriptor part = r->d;
    const int axis = r->l.is_scan ? r->d.axis : __builtin_ctz(r->d.axes);
    int64_t results[TALLY_MAX_RANK], stride = 1, next = 1;
    memcpy(results, r->d.sizes, sizeof results);
    if (!r->l.is_scan)
        results[axis] = r->cut.count;
    part.segments = part.segment_dtype = 0;
    part.sizes[axis] = r->cut.at[s + 1] - r->cut.at[s];
    part.flags |= TALLY_IN_STRIDES | TALLY_OUT_STRIDES;
    for (int k = r->d.rank - 1, to = r->d.rank - 1 - !r->l.is_scan; k >= 0; k--) {
        part.in_strides[k] = stride;
        if (k == axis) {
            part.in_offset = r->cut.at[s] * stride;
            part.out_offset = (r->l.is_scan ? r->cut.at[s] : s) * next;
        }
        if (k != axis || r->l.is_scan)
            part.out_strides[to--] = next;
        stride *= r->d.sizes[k];
        next *= results[k];
    }
    return part;
}

static void judge_segments(const run *r, const char *what, const char *plan, const char *profile)
{
    for (int64_t s = 0; s < r->cut.count; s++) {
        const tally_descriptor part = part_of(r, s);
        tly_verdict v;
        char text[256];
        if (part.sizes[r->l.is_scan ? part.axis : __builtin_ctz(part.axes)] == 0 && r->l.is_scan)
            continue;
        if (tly_judge(&part, r->in, r->out, TLY_CUTS_LANES, &v) == 0)
            continue;
        tly_verdict_print(&part, &v, text, sizeof text);
        cr_assert_fail("%s, %s, %s: segment %lld of %lld to %lld: %s", what, plan, profile,
                       (long long)s, (long long)r->cut.at[s], (long long)r->cut.at[s + 1], text);
    }
}

/* The position along the axis of a packed element. */
static int64_t position_of(const run *r, int64_t element)
{
    int64_t within = 1;
    for (int k = r->d.rank - 1; k > r->d.axis; k--)
        within *= r->d.sizes[k];
    return element / within % r->d.sizes[r->d.axis];
}

/* Elements of no segment keep what was there. */
static void judge_gaps(const run *r, const char *what)
{
    const size_t each = tally_dtype_bytes(tly_reference_output(&r->d));
    for (int64_t i = 0; i < r->l.rows * r->l.length; i++) {
        const int64_t p = position_of(r, i);
        int kept = 1;
        if (p >= r->cut.at[0] && p < r->cut.at[r->cut.count])
            continue;
        for (size_t b = 0; b < each; b++)
            kept &= r->out[(size_t)i * each + b] == PATTERN;
        cr_assert(kept, "%s: element %lld, in no segment, was written", what, (long long)i);
    }
}

/* ---- every template ---- */

static const struct {
    const char *shape, *plan;
} made[] = {
    { "9x133:axis=1", "template=columns" },
    { "300x12:axis=0", "template=columns,vector=4" },
    { "90x77:axis=1", "template=turned" },
    { "40x64:axis=1", "template=turned,workgroup=16,segments=8" },
    { "5x900:axis=1", "template=subgroups,vector=4,segments=1" },
    { "5x301:axis=1", "template=staged" },
    { "2x700:axis=1", "template=staged,workgroup=64,team=64" },
    { "2x900:axis=1", "template=workgroups,scan=0,workgroup=16,segments=2" },
    { "2x3000:axis=1", "template=workgroups,scan=1,workgroup=64,segments=1" },
    { "1x5000:axis=1", "template=look_back,scan=1,workgroup=32,vector=1,segments=2" },
    { "2x5000:axis=1", "template=look_back,scan=1,workgroup=64,vector=2" },
    { "2x1000x3:axis=1", "template=look_back_lanes,workgroup=32,segments=2" },
    { "900x40:axis=0", "template=look_back_lanes,workgroup=64,segments=1" },
};

static const char *const ways[] = { "", ",exclusive", ",reverse", ",exclusive,reverse" };
static const char *const kinds[] = {
    "cumsum:f32", "cumprod:f32",      "cummax:i32", "cumsum:i16",
    "cummin:f16", "cumlogsumexp:f32", "cumsum:f64", "cumprod:bf16"
};

static int64_t length_of(const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    tly_layout l;
    tly_layout_of(&d, &l);
    return l.length;
}

/* The n-th case: a cut, a profile, the width of offsets and data. */
static int try_word(const char *word, const char *plan, size_t n)
{
    tly_cut *c = calloc(1, sizeof *c);
    tly_random random = tly_random_seed(n, 7);
    const char *profile = profiles[n / 3 % COUNT(profiles)];
    char what[200];
    cr_assert(c);
    tly_cuts[n % TLY_CUTS].make(c, length_of(word));
    snprintf(what, sizeof what, "%s (%s)", word, tly_cuts[n % TLY_CUTS].name);
    run *r = open_run(word, c, (int)(n / 2 % 2));
    tly_random_fill(&random, &r->d, tly_random_data(&random, &r->d), r->in);
    const int runs = go(r, what, plan, profile);
    if (runs)
        judge_segments(r, what, plan, profile);
    if (runs && r->l.is_scan)
        judge_gaps(r, what);
    close_run(r);
    free(c);
    return runs;
}

Test(segments_devices, scans, .timeout = 280)
{
    size_t n = 0;
    for (size_t m = 0; m < COUNT(made); m++) {
        int taken = 0;
        for (size_t k = 0; k < COUNT(kinds); k++)
            for (size_t w = 0; w < COUNT(ways); w++, n++) {
                char word[TALLY_WORD_MAX];
                if ((k + w + m) % 2)
                    continue;
                snprintf(word, sizeof word, "%s:%s%s", kinds[k], made[m].shape, ways[w]);
                taken += try_word(word, made[m].plan, n);
            }
        cr_expect(taken > 0, "%s, %s", made[m].shape, made[m].plan);
    }
}

/* ---- reductions ---- */

static const struct {
    const char *shape, *plan;
} reduced[] = {
    { "9x300:axes=1", "template=reduce_lanes" },
    { "9x300:axes=1", "template=reduce_lanes,chunk=32,vector=1" },
    { "3x2000:axes=1", "template=reduce_rows,scan=0,workgroup=16,chunk=64" },
    { "3x2000:axes=1", "template=reduce_rows,scan=1,chunk=256" },
    { "2000x5:axes=0", "template=reduce_lanes,chunk=64" },
    { "700x32:axes=0", "template=reduce_lanes,vector=4,chunk=128" },
    { "2x300x16:axes=1", "" },
};

static const char *const sums[] = { "sum:f32",  "prod:f32", "sum:i16>i64",   "mean:f32",
                                    "max:f16",  "l2:f32",   "mean:i32",      "log_sum_exp:f32",
                                    "sum:bf16", "prod:f64", "sum_square:f32" };

Test(segments_devices, reductions, .timeout = 280)
{
    size_t n = 0;
    for (size_t m = 0; m < COUNT(reduced); m++) {
        int taken = 0;
        for (size_t k = 0; k < COUNT(sums); k++, n++) {
            char word[TALLY_WORD_MAX];
            snprintf(word, sizeof word, "%s:%s,segments=i32/1", sums[k], reduced[m].shape);
            taken += try_word(word, reduced[m].plan, n);
        }
        cr_expect(taken > 0, "%s, %s", reduced[m].shape, reduced[m].plan);
    }
}

/* ---- flags ---- */

/* So many elements of 16 are flagged. */
static const int densities[] = { 0, 1, 16 };

static int try_flags(const char *word, const char *plan, size_t n)
{
    run *r = open_run(word, NULL, 0);
    tly_random random = tly_random_seed(n, 9);
    const char *profile = profiles[n / 3 % COUNT(profiles)];
    const size_t count = (size_t)(r->l.rows * r->l.length);
    /* Vectors of flags lie at a multiple of their bytes, or not. */
    unsigned char *flags = (unsigned char *)place(r, 3, count + n / 2 % 3);
    const void *operands[TALLY_MAX_OPERANDS] = { flags };
    for (size_t i = 0; i < count; i++)
        flags[i] = tly_random_below(&random, 16) < densities[n % COUNT(densities)];
    r->buffers.operand[0] = flags;
    tly_random_fill(&random, &r->d, tly_random_data(&random, &r->d), r->in);
    const int runs = go(r, word, plan, profile);
    tly_verdict v;
    char text[256];
    if (runs && tly_judge_buffers(&r->d, r->in, operands, r->out, TLY_CUTS_LANES, &v)) {
        tly_verdict_print(&r->d, &v, text, sizeof text);
        cr_assert_fail("%s, %s, %s: %s", word, plan, profile, text);
    }
    close_run(r);
    return runs;
}

static const char *const flagged[] = { "cumsum:f32", "cumprod:f32", "cummin:i32",
                                       "linrec:f32", "cumsum:f16",  "linrec:bf16" };

Test(segments_devices, flags, .timeout = 280)
{
    size_t n = 0;
    for (size_t m = 0; m < COUNT(made); m++) {
        int taken = 0;
        for (size_t k = 0; k < COUNT(flagged); k++)
            for (size_t w = 0; w < COUNT(ways); w++, n++) {
                char word[TALLY_WORD_MAX];
                if ((k + w + m) % 2)
                    continue;
                snprintf(word, sizeof word, "%s:%s%s,a=u8%s,reset=a", flagged[k], made[m].shape,
                         ways[w], strncmp(flagged[k], "linrec", 6) ? "" : ",coef=x*0.5");
                taken += try_flags(word, made[m].plan, n);
            }
        cr_expect(taken > 0, "%s, %s", made[m].shape, made[m].plan);
    }
}

/* ---- states ---- */

/* One lane: sums of i32, from state s of `from` (or NULL) to state s of `to`. */
static void sum_segments(const run *r, int64_t lane, int64_t lanes, const int32_t *from,
                         int32_t *to, int32_t *out)
{
    const int32_t *in = (const int32_t *)r->in;
    const int exclusive = (r->d.flags & TALLY_EXCLUSIVE) != 0;
    for (int64_t s = 0; s < r->cut.count; s++) {
        uint32_t sum = from ? (uint32_t)from[s * lanes + lane] : 0;
        const int64_t first = r->cut.at[s], count = r->cut.at[s + 1] - first;
        for (int64_t i = 0; i < count; i++) {
            const int64_t p = r->d.flags & TALLY_REVERSE ? first + count - 1 - i : first + i;
            const uint32_t next = sum + (uint32_t)in[p * lanes + lane];
            out[p * lanes + lane] = (int32_t)(exclusive ? sum : next);
            sum = next;
        }
        to[s * lanes + lane] = (int32_t)sum;
    }
}

/* On a device, or, where there is no profile, on a CPU. */
static void try_states(const char *word, const char *profile, size_t n)
{
    enum { LENGTH = 150, LANES = 9 };
    static int32_t states[TLY_MOST_CUTS * LANES], made_states[TLY_MOST_CUTS * LANES],
        out[LENGTH * LANES];
    tly_cut *c = calloc(1, sizeof *c);
    cr_assert(c);
    tly_cuts[n % TLY_CUTS].make(c, LENGTH);
    run *r = open_run(word, c, (int)(n % 2));
    const size_t count = (size_t)c->count * LANES, bytes = count * sizeof(int32_t);
    const int has_states = n % 3 > 0, in_place = n % 3 == 2;
    int32_t *to = (int32_t *)place(r, 3, bytes),
            *from = in_place ? to : (int32_t *)place(r, 4, bytes);
    for (int64_t i = 0; i < LENGTH * LANES; i++)
        tly_bits_store(TALLY_I32, r->in, i, (uint64_t)(i * 7919 % 1000));
    memset(out, PATTERN, sizeof out);
    for (size_t i = 0; i < count; i++)
        states[i] = from[i] = (int32_t)(i * 104729 % 100000);
    r->buffers.carry_in = has_states ? from : NULL;
    r->buffers.carry_out = to;
    for (int64_t lane = 0; lane < LANES; lane++)
        sum_segments(r, lane, LANES, has_states ? states : NULL, made_states, out);
    const char *where = profile ? profile : "a CPU";
    if (profile ? go(r, word, "", profile) : go_here(r, word)) {
        cr_expect_arr_eq(r->out, out, sizeof out, "%s, %s, %s", word, tly_cuts[n % TLY_CUTS].name,
                         where);
        cr_expect_arr_eq(to, made_states, bytes, "states of %s, %s, %s", word,
                         tly_cuts[n % TLY_CUTS].name, where);
    }
    close_run(r);
    free(c);
}

Test(segments_devices, states, .timeout = 120)
{
    for (size_t w = 0, n = 0; w < COUNT(ways); w++)
        for (size_t k = 0; k < TLY_CUTS * 3; k++, n++) {
            char word[TALLY_WORD_MAX];
            snprintf(word, sizeof word, "cumsum:i32:150x9:axis=0%s,carry=in+out", ways[w]);
            try_states(word, profiles[n / 3 % COUNT(profiles)], n);
            try_states(word, NULL, n);
        }
}

/* ---- offsets that break their rules ---- */

static int64_t hostile(tly_random *random, int64_t length)
{
    const int64_t values[] = { INT64_MIN,
                               INT32_MIN,
                               -1,
                               0,
                               1,
                               length - 1,
                               length,
                               length + 1,
                               INT32_MAX,
                               INT64_MAX,
                               (int64_t)1 << 32,
                               -((int64_t)1 << 32) };
    return tly_random_one_in(random, 2) ? values[tly_random_below(random, COUNT(values))]
                                        : tly_random_between(random, 0, length);
}

static const char *const exposed[] = {
    "cumsum:f32:3x500:axis=1",
    "cumprod:f32:1x2000:axis=1,exclusive",
    "cumsum:i32:150x9:axis=0,reverse",
    "cummax:f32:40x33:axis=1",
    "cumsum:i32:150x9:axis=0,carry=in+out",
    "cumsum:i32:9x150:axis=1,reverse,carry=in+out",
    "sum:f32:3x900:axes=1,segments=i32/1",
    "prod:f32:900x8:axes=0,segments=i32/1",
    "argmax:f32>i32:900:axes=0,segments=i32/1",
};

Test(segments_devices, offsets_may_be_anything, .timeout = 120)
{
    for (size_t n = 0; n < 12 * COUNT(exposed); n++) {
        const char *word = exposed[n % COUNT(exposed)];
        tly_random random = tly_random_seed(n, 11);
        tly_cut *c = calloc(1, sizeof *c);
        cr_assert(c);
        c->count = tly_random_between(&random, 1, 40);
        for (int64_t i = 0; i <= c->count; i++)
            c->at[i] = hostile(&random, length_of(word));
        run *r = open_run(word, c, (int)(n % 2));
        memset(r->in, 1, r->in_bytes);
        const size_t bytes = (size_t)(c->count * 9) * sizeof(int32_t);
        if (r->d.carry) {
            r->buffers.carry_in = memset(place(r, 3, bytes), 0, bytes);
            r->buffers.carry_out = place(r, 4, bytes);
        }
        go(r, word, "", profiles[n / COUNT(exposed) % COUNT(profiles)]);
        close_run(r);
        free(c);
    }
}
