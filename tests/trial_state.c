/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantees: the first run is judged by the reference, the others by the first; every byte around
 * and between the output's elements is compared.
 */
#include "trial_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tly_trial_fail(tly_trial *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(t->why, sizeof t->why, format, list);
    va_end(list);
    return 1;
}

void *tly_trial_origin(char *low, int64_t index, size_t element)
{
    return (void *)((uintptr_t)low - (uintptr_t)index * element);
}

static void list_places(tly_trial_state *s)
{
    const tly_layout *l = &s->layout;
    for (int64_t row = 0; row < l->rows; row++) {
        int64_t in, out;
        tly_layout_row(l, row, &in, &out);
        for (int64_t i = 0; i < l->results; i++, out += l->out_step)
            s->places[s->count++] = out - l->out_low;
    }
}

void tly_trial_release(tly_trial_state *s)
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

static int prepare_operands(tly_trial_state *s, tly_trial *t)
{
    for (int k = 0; k < TALLY_MAX_OPERANDS && t->d.operands[k].dtype; k++) {
        tly_fused_place *place = &s->places_of[k];
        tly_fused_place_of(&t->d, k, place);
        const size_t element = tally_dtype_bytes(place->dtype);
        const size_t bytes = (size_t)(place->high - place->low + 1) * element;
        s->operand_bytes[k] = bytes;
        s->operands[k] = malloc(bytes + 1);
        if (!s->operands[k])
            return tly_trial_fail(t, "out of memory");
        if (!t->operands || bytes + 1024 > t->operands[k].bytes)
            return tly_trial_fail(t, "an operand does not fit the driver's buffers");
        memset(s->operands[k], 0xff, bytes); /* as between the input's elements */
        tly_random_fill_operand(&t->random, &t->d, k,
                                tly_trial_origin(s->operands[k], place->low, element));
    }
    return 0;
}

int tly_trial_prepare(tly_trial_state *s, tly_trial *t)
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
        return tly_trial_fail(t, "out of memory");
    if (s->in_bytes + 1024 > t->in->bytes || s->out_bytes + 1024 > t->out->bytes)
        return tly_trial_fail(t, "the case does not fit the driver's buffers");
    memset(s->input, 0xff, s->in_bytes); /* NaN between the elements: a use of it shows */
    tly_random_fill(&t->random, &t->d, t->data,
                    tly_trial_origin(s->input, l->in_low, s->in_element));
    list_places(s);
    return prepare_operands(s, t);
}

int tly_trial_check_bytes(tly_trial_state *s, const tly_buffer *out, const char *label)
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
    return tly_trial_fail(
        s->t, "%s: byte %lld from the output's lowest was written, which is no element's", label,
        (long long)at - (long long)(out->at - out->window));
}

int tly_trial_check_first(tly_trial_state *s, const tly_buffer *out, const char *label)
{
    char text[400];
    tly_trial *t = s->t;

    const void *operands[TALLY_MAX_OPERANDS] = { NULL };
    for (int k = 0; k < TALLY_MAX_OPERANDS && s->operands[k]; k++)
        operands[k] = tly_trial_origin(s->operands[k], s->places_of[k].low,
                                       tally_dtype_bytes(s->places_of[k].dtype));
    memcpy(s->judged, out->at, s->out_bytes);
    for (int64_t i = 0; i < s->count; i++)
        memcpy(s->first + (size_t)i * s->element, out->at + (size_t)s->places[i] * s->element,
               s->element);
    s->have_first = 1;
    if (!tly_judge_buffers(&t->d, tly_trial_origin(s->input, s->layout.in_low, s->in_element),
                           operands, tly_trial_origin(s->judged, s->layout.out_low, s->element),
                           tly_target_may(t->target), &t->verdict))
        return 0;
    tly_verdict_print(&t->d, &t->verdict, text, sizeof text);
    return tly_trial_fail(t, "%s: %s", label, text);
}

int tly_trial_check_same(tly_trial_state *s, const tly_buffer *out, const char *label,
                         int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        uint64_t now = tly_bits_load(s->dtype, out->at, s->places[i]);
        uint64_t then = tly_bits_load(s->dtype, s->first, i);
        if (!tly_bits_same(s->dtype, now, then))
            return tly_trial_fail(
                s->t, "%s: row %lld position %lld is 0x%llx, in the first run 0x%llx", label,
                (long long)(i / s->layout.results), (long long)(i % s->layout.results),
                (unsigned long long)now, (unsigned long long)then);
    }
    return 0;
}
