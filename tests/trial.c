/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantees: the first run is judged by the reference, the others by the first, and one scan of
 * the first by a run in which all others have other values; after each run every byte around and
 * between the output's elements, and every byte of the input, is compared.
 */
#include "trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused.h"

typedef struct state {
    tly_trial *t;
    tly_layout layout;
    tally_dtype dtype;          /* the output's */
    size_t in_element, element; /* bytes of the input's and of the output's */
    size_t in_bytes, out_bytes;
    char *input;     /* the input region as it must stay */
    char *other;     /* the same with other neighbours of one scan */
    char *expected;  /* the output's window as it must be */
    int64_t *places; /* output indices from the region's start, in scan order */
    int64_t count;
    char *first; /* elements of the first run, in scan order */
    int have_first;
    char *judged; /* a contiguous image of the first output region */
    tly_fused_place places_of[TALLY_MAX_OPERANDS];
    char *
        operands[TALLY_MAX_OPERANDS]; /* as they must stay, from their lowest element; NULL: none */
    size_t operand_bytes[TALLY_MAX_OPERANDS];
} state;

static int fail(tly_trial *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(t->why, sizeof t->why, format, list);
    va_end(list);
    return 1;
}

/* The pointer that an index counts from, which may lie outside of the buffer. */
static void *origin(char *low, int64_t index, size_t element)
{
    return (void *)((uintptr_t)low - (uintptr_t)index * element);
}

static void list_places(state *s)
{
    const tly_layout *l = &s->layout;
    for (int64_t row = 0; row < l->rows; row++) {
        int64_t in, out;
        tly_layout_row(l, row, &in, &out);
        for (int64_t i = 0; i < l->results; i++, out += l->out_step)
            s->places[s->count++] = out - l->out_low;
    }
}

static void release(state *s)
{
    free(s->input);
    free(s->other);
    free(s->expected);
    free(s->places);
    free(s->first);
    free(s->judged);
    for (int k = 0; k < TALLY_MAX_OPERANDS; k++)
        free(s->operands[k]);
}

static int prepare_operands(state *s, tly_trial *t)
{
    for (int k = 0; k < TALLY_MAX_OPERANDS && t->d.operands[k].dtype; k++) {
        tly_fused_place *place = &s->places_of[k];
        tly_fused_place_of(&t->d, k, place);
        const size_t element = tally_dtype_bytes(place->dtype);
        const size_t bytes = (size_t)(place->high - place->low + 1) * element;
        s->operand_bytes[k] = bytes;
        s->operands[k] = malloc(bytes + 1);
        if (!s->operands[k])
            return fail(t, "out of memory");
        if (!t->operands || bytes + 1024 > t->operands[k].bytes)
            return fail(t, "an operand does not fit the driver's buffers");
        memset(s->operands[k], 0xff, bytes); /* as between the input's elements */
        tly_random_fill_operand(&t->random, &t->d, k, origin(s->operands[k], place->low, element));
    }
    return 0;
}

static int prepare(state *s, tly_trial *t)
{
    const tly_layout *l = &s->layout;

    memset(s, 0, sizeof *s);
    s->t = t;
    s->dtype = tly_reference_output(&t->d);
    s->element = tally_dtype_bytes(s->dtype);
    s->in_element = tally_dtype_bytes((tally_dtype)t->d.dtype);
    tly_layout_of(&t->d, &s->layout);
    s->in_bytes = (size_t)(l->in_high - l->in_low + 1) * s->in_element;
    s->out_bytes = (size_t)(l->out_high - l->out_low + 1) * s->element;
    const size_t elements = (size_t)(l->rows * l->results);
    s->input = malloc(s->in_bytes + 1);
    s->other = malloc(s->in_bytes + 1);
    s->expected = malloc((s->in_bytes > s->out_bytes ? s->in_bytes : s->out_bytes) + 1024);
    s->places = malloc(elements * sizeof s->places[0] + 1);
    s->first = malloc(elements * s->element + 1);
    s->judged = malloc(s->out_bytes + 1);
    if (!s->input || !s->other || !s->expected || !s->places || !s->first || !s->judged)
        return fail(t, "out of memory");
    if (s->in_bytes + 1024 > t->in->bytes || s->out_bytes + 1024 > t->out->bytes)
        return fail(t, "the case does not fit the driver's buffers");
    memset(s->input, 0xff, s->in_bytes); /* NaN between the elements: a use of it shows */
    tly_random_fill(&t->random, &t->d, t->data, origin(s->input, l->in_low, s->in_element));
    list_places(s);
    return prepare_operands(s, t);
}

/* The output's elements may have any value here; every other byte of its window must be as it was
 * before the run, which s->expected holds. */
static int check_bytes(state *s, const tly_buffer *out, const char *label)
{
    char *const expected = s->expected + (out->at - out->window);
    for (int64_t i = 0; i < s->count; i++)
        memcpy(expected + (size_t)s->places[i] * s->element,
               out->at + (size_t)s->places[i] * s->element, s->element);
    if (memcmp(s->expected, out->window, out->window_bytes) == 0)
        return 0;
    size_t at = 0;
    while (s->expected[at] == out->window[at])
        at++;
    return fail(s->t, "%s: byte %lld from the output's lowest was written, which is no element's",
                label, (long long)at - (long long)(out->at - out->window));
}

static int check_first(state *s, const tly_buffer *out, const char *label)
{
    char text[400];
    tly_trial *t = s->t;

    const void *operands[TALLY_MAX_OPERANDS] = { NULL };
    for (int k = 0; k < TALLY_MAX_OPERANDS && s->operands[k]; k++)
        operands[k] = origin(s->operands[k], s->places_of[k].low,
                             tally_dtype_bytes(s->places_of[k].dtype));
    memcpy(s->judged, out->at, s->out_bytes);
    for (int64_t i = 0; i < s->count; i++)
        memcpy(s->first + (size_t)i * s->element, out->at + (size_t)s->places[i] * s->element,
               s->element);
    s->have_first = 1;
    if (!tly_judge_buffers(&t->d, origin(s->input, s->layout.in_low, s->in_element), operands,
                           origin(s->judged, s->layout.out_low, s->element),
                           t->target && tly_target_flushes(t->target), &t->verdict))
        return 0;
    tly_verdict_print(&t->d, &t->verdict, text, sizeof text);
    return fail(t, "%s: %s", label, text);
}

/* Elements `begin` to `end` - 1 in scan order. */
static int check_same(state *s, const tly_buffer *out, const char *label, int64_t begin,
                      int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        uint64_t now = tly_bits_load(s->dtype, out->at, s->places[i]);
        uint64_t then = tly_bits_load(s->dtype, s->first, i);
        if (!tly_bits_same(s->dtype, now, then))
            return fail(s->t, "%s: row %lld position %lld is 0x%llx, in the first run 0x%llx",
                        label, (long long)(i / s->layout.results),
                        (long long)(i % s->layout.results), (unsigned long long)now,
                        (unsigned long long)then);
    }
    return 0;
}

enum { MOST_THREADS = 5 };

typedef struct variant {
    int32_t threads;
    int in_place;
    tly_placement in, out;
    int in_shift, out_shift; /* elements; bytes 16 * shift where `coarse` */
    int coarse;
} variant;

/* Operands in places of their own, each beside what may not be touched. */
static void place_operands(const state *s, const variant *v, tly_buffer *placed,
                           tally_buffers *buffers)
{
    for (int k = 0; k < TALLY_MAX_OPERANDS && s->operands[k]; k++) {
        const size_t element = tally_dtype_bytes(s->places_of[k].dtype);
        const tly_placement placement = (tly_placement)((v->in + 1 + (unsigned)k) %
                                                        TLY_PLACE_COUNT);
        const int shift = (v->in_shift + 5 * k) % 16;
        placed[k] = tly_arena_place(&s->t->operands[k], placement,
                                    (size_t)shift * (v->coarse ? 16 : element),
                                    s->operand_bytes[k]);
        tly_pattern_fill(placed[k].window, placed[k].window_bytes);
        memcpy(placed[k].at, s->operands[k], s->operand_bytes[k]);
        buffers->operand[k] = origin(placed[k].at, s->places_of[k].low, element);
    }
}

static int check_operands(const state *s, const tly_buffer *placed, const char *label)
{
    for (int k = 0; k < TALLY_MAX_OPERANDS && s->operands[k]; k++)
        if (memcmp(placed[k].at, s->operands[k], s->operand_bytes[k]) != 0)
            return fail(s->t, "%s: operand %c was written", label, 'a' + k);
    return 0;
}

/* One call, and what no call may touch. */
static int call(state *s, tly_engine *engine, const variant *v, const char *input,
                tly_buffer *result, char label[200])
{
    tly_trial *t = s->t;
    tally_error error = TALLY_ERROR_INIT;
    const size_t out_unit = v->coarse ? 16 : s->element, in_unit = v->coarse ? 16 : s->in_element;
    const tly_buffer out = tly_arena_place(t->out, v->out, (size_t)v->out_shift * out_unit,
                                           s->out_bytes);
    const tly_buffer in = v->in_place ? out
                                      : tly_arena_place(t->in, v->in, (size_t)v->in_shift * in_unit,
                                                        s->in_bytes);

    snprintf(label, 200, "%s, %d thread%s%s%s, in %p, out %p", engine->name, v->threads,
             v->threads > 1 ? "s" : "", v->in_place ? ", in place" : "",
             input == s->input ? "" : ", other neighbours", (void *)in.at, (void *)out.at);
    tly_pattern_fill(out.window, out.window_bytes);
    memcpy(in.at, input, s->in_bytes);
    memcpy(s->expected, out.window, out.window_bytes);
    tally_buffers buffers = tly_buffers(origin(in.at, s->layout.in_low, s->in_element),
                                        origin(out.at, s->layout.out_low, s->element));
    tly_buffer placed[TALLY_MAX_OPERANDS];
    place_operands(s, v, placed, &buffers);
    fail(t, "%s", label); /* for a signal handler to find */
    if (engine->run(engine, &buffers, v->threads, &error))
        return fail(t, "%s: %s: %s", label, error.field, error.message);
    if (!v->in_place && memcmp(in.at, input, s->in_bytes))
        return fail(t, "%s: the input was written", label);
    *result = out;
    return check_operands(s, placed, label) || check_bytes(s, &out, label);
}

static int run_variant(state *s, tly_engine *engine, const variant *v)
{
    char label[200];
    tly_buffer out;
    if (call(s, engine, v, s->input, &out, label))
        return 1;
    return s->have_first ? check_same(s, &out, label, 0, s->count) : check_first(s, &out, label);
}

/* A scan's bits are its own: with other values in all others they stay (docs/semantics.md, 5.1). */
static int run_neighbours(state *s, tly_engine *engine, tly_random *r)
{
    const tly_layout *l = &s->layout;
    char label[200];
    tly_buffer out;
    variant v = { .threads = 1 + (int32_t)tly_random_below(r, MOST_THREADS),
                  .in = TLY_PLACE_MIDDLE,
                  .out = TLY_PLACE_MIDDLE };
    if (l->rows < 2 || !l->length)
        return 0;
    const int64_t kept = tly_random_below(r, l->rows);
    memcpy(s->other, s->input, s->in_bytes);
    tly_random_fill_others(r, &s->t->d, kept, origin(s->other, l->in_low, s->in_element));
    return call(s, engine, &v, s->other, &out, label) ||
           check_same(s, &out, label, kept * l->results, (kept + 1) * l->results);
}

static int can_run_in_place(const state *s)
{
    const tly_layout *l = &s->layout;
    int same = l->is_scan && l->in_offset == l->out_offset;
    same &= s->dtype == (tally_dtype)s->t->d.dtype;
    for (int k = 0; k < l->rank; k++)
        same &= l->in_strides[k] == l->out_strides[k];
    return same;
}

/* Not every kernel takes every override: where it does not, the planner's own choice is tried. */
static int make(const state *s, tly_engine *engine)
{
    tly_trial *t = s->t;
    tally_error error = TALLY_ERROR_INIT;
    const char *missing = t->target ? tly_target_missing(t->target, &t->d) : NULL;
    tally_status status = engine->prepare(engine, &t->d, t->plan, &error);
    if (status == TALLY_INVALID && *t->plan && !strcmp(error.field, "plan")) {
        t->plan = "";
        t->plan_refused = 1;
        status = engine->prepare(engine, &t->d, t->plan, &error);
    }
    if (status == TALLY_UNSUPPORTED && tly_is_fused(&t->d)) {
        t->refused = t->unmade = 1;
        return 0;
    }
    if (missing && status) {
        t->refused = 1;
        return tly_refusal_is_right(t->target, &t->d, status, &error)
                   ? 0
                   : fail(t, "%s: no refusal that names %s: %s: %s", engine->name, missing,
                          error.field, error.message);
    }
    if (missing && s->count)
        return fail(t, "%s: made, though the device lacks %s", engine->name, missing);
    return status ? fail(t, "%s: not made: %s: %s", engine->name, error.field, error.message) : 0;
}

int tly_trial_run(tly_trial *t, tly_engine *const *engines, int count)
{
    state s;
    int wrong = prepare(&s, t);
    t->refused = t->unmade = t->plan_refused = 0;
    const int in_place = can_run_in_place(&s);
    tly_random r = t->random; /* the same places for every engine */

    for (int e = 0; e < count && !wrong; e++) {
        tly_random places = r;
        wrong = make(&s, engines[e]);
        for (int k = 0; k < 4 + 2 * in_place && !wrong && !t->refused; k++) {
            variant v = { .threads = 1, .in_place = k >= 4 };
            if (k)
                v.threads = 1 + (k + (int32_t)tly_random_below(&places, 3)) % MOST_THREADS;
            v.in = (tly_placement)((k + tly_random_below(&places, 2)) % TLY_PLACE_COUNT);
            v.out = (tly_placement)tly_random_below(&places, TLY_PLACE_COUNT);
            v.coarse = tly_random_one_in(&places, 3);
            v.in_shift = (int)tly_random_below(&places, 16);
            v.out_shift = (int)tly_random_below(&places, 16);
            wrong = run_variant(&s, engines[e], &v);
        }
        if (!wrong && !t->refused)
            wrong = run_neighbours(&s, engines[e], &places);
    }
    release(&s);
    if (!wrong)
        t->why[0] = 0;
    return wrong;
}
