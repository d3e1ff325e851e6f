/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantees: trial_state.c judges each run, and one scan of the first by a run in which all others
 * have other values; after each run every byte of the input and the operands is compared.
 */
#include "trial.h"

#include <stdio.h>
#include <string.h>

#include "trial_state.h"

enum { MOST_THREADS = 5 };

typedef struct variant {
    int32_t threads;
    int in_place;
    tly_placement in, out;
    int in_shift, out_shift; /* elements; bytes 16 * shift where `coarse` */
    int coarse;
} variant;

/* Operands in places of their own, each beside what may not be touched. */
static void place_operands(const tly_trial_state *s, const variant *v, tly_buffer *placed,
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
        buffers->operand[k] = tly_trial_origin(placed[k].at, s->places_of[k].low, element);
    }
}

static int check_operands(const tly_trial_state *s, const tly_buffer *placed, const char *label)
{
    for (int k = 0; k < TALLY_MAX_OPERANDS && s->operands[k]; k++)
        if (memcmp(placed[k].at, s->operands[k], s->operand_bytes[k]) != 0)
            return tly_trial_fail(s->t, "%s: operand %c was written", label, 'a' + k);
    return 0;
}

/* One call, and what no call may touch. */
static int call(tly_trial_state *s, tly_engine *engine, const variant *v, const char *input,
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
    tally_buffers buffers = tly_buffers(tly_trial_origin(in.at, s->layout.in_low, s->in_element),
                                        tly_trial_origin(out.at, s->layout.out_low, s->element));
    tly_buffer placed[TALLY_MAX_OPERANDS];
    place_operands(s, v, placed, &buffers);
    tly_trial_fail(t, "%s", label); /* for a signal handler to find */
    if (engine->run(engine, &buffers, v->threads, &error))
        return tly_trial_fail(t, "%s: %s: %s", label, error.field, error.message);
    if (!v->in_place && memcmp(in.at, input, s->in_bytes) != 0)
        return tly_trial_fail(t, "%s: the input was written", label);
    *result = out;
    return check_operands(s, placed, label) || tly_trial_check_bytes(s, &out, label);
}

static int run_variant(tly_trial_state *s, tly_engine *engine, const variant *v)
{
    char label[200];
    tly_buffer out;
    if (call(s, engine, v, s->input, &out, label))
        return 1;
    return s->have_first ? tly_trial_check_same(s, &out, label, 0, s->count)
                         : tly_trial_check_first(s, &out, label);
}

/* A scan's bits are its own: with other values in all others they stay (docs/semantics.md, 5.1). */
static int run_neighbours(tly_trial_state *s, tly_engine *engine, tly_random *r)
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
    tly_random_fill_others(r, &s->t->d, kept, tly_trial_origin(s->other, l->in_low, s->in_element));
    return call(s, engine, &v, s->other, &out, label) ||
           tly_trial_check_same(s, &out, label, kept * l->results, (kept + 1) * l->results);
}

static int can_run_in_place(const tly_trial_state *s)
{
    const tly_layout *l = &s->layout;
    int same = l->is_scan && l->in_offset == l->out_offset;
    same &= s->dtype == (tally_dtype)s->t->d.dtype;
    for (int k = 0; k < l->rank; k++)
        same &= l->in_strides[k] == l->out_strides[k];
    return same;
}

/* Not every kernel takes every override: where it does not, the planner's own choice is tried. */
static int make(const tly_trial_state *s, tly_engine *engine)
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
                   : tly_trial_fail(t, "%s: no refusal that names %s: %s: %s", engine->name,
                                    missing, error.field, error.message);
    }
    if (missing && s->count)
        return tly_trial_fail(t, "%s: made, though the device lacks %s", engine->name, missing);
    return status
               ? tly_trial_fail(t, "%s: not made: %s: %s", engine->name, error.field, error.message)
               : 0;
}

int tly_trial_run(tly_trial *t, tly_engine *const *engines, int count)
{
    tly_trial_state s;
    int wrong = tly_trial_prepare(&s, t);
    t->refused = t->unmade = t->plan_refused = 0;
    const int in_place = can_run_in_place(&s);
    tly_random r = t->random; /* the same places for every engine */

    for (int e = 0; e < count && !wrong; e++) {
        tly_random places = r;
        wrong = make(&s, engines[e]);
        if (engines[e]->has_own_bits || (e && engines[e - 1]->has_own_bits))
            s.have_first = 0; /* whose bits are not theirs: the reference judges again */
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
    tly_trial_release(&s);
    if (!wrong)
        t->why[0] = 0;
    return wrong;
}
