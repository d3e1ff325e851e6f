/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the values of the word's options (docs/word.md): axes, strides and closed lists. Values
 * of the options that fuse stages are read in word_stages.c.
 */
#include <inttypes.h>
#include <string.h>

#include "../host/error.h"
#include "word_reader.h"

/* After a refusal of what stands between axes. */
tally_status tly_word_refuse_axes(const tly_reader *r, const char *first)
{
    if (!tly_word_suggest_joined(r, "axes have + between them:", first, '+')) {
        tly_error_hint(r->error, "axes have + between them, as in axes=0+1; left out: all of them");
    }
    return TALLY_INVALID;
}

static tally_status read_number(tly_reader *r, tly_span value, const char *field, int32_t *number)
{
    int64_t axis;
    if (tly_word_int(r, value, field, &axis) != TALLY_OK) {
        tly_error_hint(r->error, "an axis is a number: 0 is the first one, -1 the last");
        return TALLY_INVALID;
    }
    if (axis < -r->d.rank || axis >= r->d.rank) {
        tly_word_refuse(r, value.at, field, "axis %" PRId64 " is not in [%d, %d]", axis,
                        -(int)r->d.rank, (int)r->d.rank - 1);
        tly_word_suggest(r, "the last axis is -1:", value, "-1");
        return TALLY_INVALID;
    }
    *number = (int32_t)(axis < 0 ? axis + r->d.rank : axis);
    return TALLY_OK;
}

tally_status tly_word_axis(tly_reader *r, tly_span value, const char *field)
{
    return read_number(r, value, field, &r->d.axis);
}

tally_status tly_word_axis_list(tly_reader *r, tly_span value, const char *field, uint32_t *axes)
{
    if (tly_word_equals(value, "none")) {
        return TALLY_OK;
    }
    const char *first = value.at;
    while (value.at != NULL) {
        tly_span axis = tly_word_cut(&value, '+');
        int64_t any;
        int32_t number;
        if (r->d.rank == 0) {
            return tly_word_refuse(r, axis.at, field, "a scalar has no axes");
        }
        if (tly_word_int(r, axis, field, &any) != TALLY_OK) {
            return tly_word_refuse_axes(r, first);
        }
        tally_status s = read_number(r, axis, field, &number);
        if (s != TALLY_OK) {
            return s;
        }
        uint32_t bit = 1u << number;
        if (*axes & bit) {
            return tly_word_refuse(r, axis.at, field, "axis %d is named twice", (int)number);
        }
        *axes |= bit;
    }
    return TALLY_OK;
}

tally_status tly_word_axes(tly_reader *r, tly_span value, const char *field)
{
    r->d.axes_given = 1;
    return tly_word_axis_list(r, value, field, &r->d.axes);
}

tally_status tly_word_strides(tly_reader *r, tly_span value, const char *field, int64_t *strides,
                              int64_t *offset, int32_t *count)
{
    tly_span origin = value;
    tly_span list = tly_word_cut(&origin, '@');
    tly_span rest = list;
    /* Rank 0 has no strides: "in=@4". Whether the count fits is known after the last option. */
    while (rest.at != NULL && !(origin.at != NULL && list.at == list.end)) {
        tly_span stride = tly_word_cut(&rest, 'x');
        if (*count == TALLY_MAX_RANK) {
            return tly_word_refuse(r, stride.at, field, "more than %d strides", TALLY_MAX_RANK);
        }
        tally_status s = tly_word_int(r, stride, field, &strides[(*count)++]);
        if (s != TALLY_OK) {
            return s;
        }
    }
    return origin.at != NULL ? tly_word_int(r, origin, field, offset) : TALLY_OK;
}

tally_status tly_word_in(tly_reader *r, tly_span value, const char *field)
{
    return tly_word_strides(r, value, field, r->d.in_strides, &r->d.in_offset, &r->strides[TLY_IN]);
}

tally_status tly_word_out(tly_reader *r, tly_span value, const char *field)
{
    return tly_word_strides(r, value, field, r->d.out_strides, &r->d.out_offset,
                            &r->strides[TLY_OUT]);
}

/* The value of an option that has a closed list of them. */
tally_status tly_word_one_of(tly_reader *r, tly_span value, const char *field,
                             const char *const *names, int32_t *index)
{
    for (int32_t i = 0; names[i] != NULL; i++) {
        if (tly_word_equals(value, names[i])) {
            *index = i;
            return TALLY_OK;
        }
    }
    tly_suggestion guess = tly_suggest_begin(value.at, (size_t)(value.end - value.at));
    char list[64] = "";
    for (int32_t i = 0; names[i] != NULL; i++) {
        tly_suggest_try(&guess, names[i]);
        tly_names_add(list, sizeof list, names[i]);
    }
    tly_word_refuse(r, value.at, field, "%s cannot be '%.*s'" TLY_SUGGESTION, field,
                    TLY_SHOW(value), TLY_SUGGESTED(&guess));
    if (guess.best == NULL || !tly_word_suggest(r, "type", value, guess.best)) {
        tly_error_hint(r->error, "%s= takes %s; leave it out for the default", field, list);
    }
    return TALLY_INVALID;
}

const char *const tly_no_axes[] = { "none", NULL };
const char *const tly_orders[] = { "exact", "serial", NULL };
const char *const tly_wide[] = { "f64", NULL };
const char *const tly_ignored[] = { "ignore", NULL };

tally_status tly_word_order(tly_reader *r, tly_span value, const char *field)
{
    tally_status s = tly_word_one_of(r, value, field, tly_orders, &r->d.order);
    r->d.order += s == TALLY_OK ? TALLY_ORDER_EXACT : 0;
    return s;
}

tally_status tly_word_acc(tly_reader *r, tly_span value, const char *field)
{
    tally_status s = tly_word_one_of(r, value, field, tly_wide, &r->d.acc);
    r->d.acc = TALLY_F64;
    return s;
}

tally_status tly_word_nan(tly_reader *r, tly_span value, const char *field)
{
    int32_t only;
    return tly_word_one_of(r, value, field, tly_ignored, &only);
}
