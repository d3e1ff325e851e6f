/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the values of options that fuse stages (docs/word.md, "Operands and expressions"):
 * operands, expressions, segments and carry. stages.c judges what they mean together.
 */
#include <inttypes.h>
#include <string.h>

#include "../host/error.h"
#include "expression.h"
#include "word_reader.h"

/* "none", axes, or strides, which '@' tells from axes. */
static tally_status read_place(tly_reader *r, tly_span place, const char *field, int operand)
{
    tally_operand *o = &r->d.operands[operand];
    const size_t length = (size_t)(place.end - place.at);
    if (memchr(place.at, '@', length) != NULL) {
        o->place = TALLY_PLACE_STRIDES;
        return tly_word_strides(r, place, field, o->strides, &o->offset,
                                &r->operand_strides[operand]);
    }
    if (memchr(place.at, 'x', length) != NULL) {
        tly_word_refuse(r, place.end, field, "strides need an offset behind '@'");
        tly_error_hint(r->error, "strides look like %s=f32/4x1@0, axes like %s=f32/0+1", field,
                       field);
        return TALLY_INVALID;
    }
    o->place = TALLY_PLACE_AXES;
    return tly_word_axis_list(r, place, field, &o->axes);
}

tally_status tly_word_operand(tly_reader *r, tly_span value, const char *field)
{
    const int operand = field[0] - 'a';
    int32_t *dtype = &r->d.operands[operand].dtype;
    tly_span place = value;
    *dtype = r->d.dtype;
    if (value.at == NULL) {
        return TALLY_OK;
    }
    const tly_span name = tly_word_cut(&place, '/');
    if (value.at == value.end) {
        tly_word_refuse(r, value.at, field, "a dtype or a place is missing behind '='");
        tly_error_hint(r->error, "an operand looks like %s, %s=f32, %s=f32/0+1 or %s=/none", field,
                       field, field, field);
        return TALLY_INVALID;
    }
    tally_status s = name.at < name.end ? tly_word_dtype(r, name, field, dtype) : TALLY_OK;
    return s == TALLY_OK && place.at != NULL ? read_place(r, place, field, operand) : s;
}

tally_status tly_word_expression(tly_reader *r, tly_span value, const char *field)
{
    const size_t length = (size_t)(value.end - value.at);
    tally_error why = TALLY_ERROR_INIT;
    tly_expression e;
    if (tly_expression_parse(value.at, length, field, &e, &why) != TALLY_OK) {
        return tly_word_pass(r, value.at, &why);
    }
    for (int id = 0; id < TLY_EXPRESSIONS; id++) {
        char *const texts[] = { r->d.map, r->d.coef, r->d.post, r->d.reset };
        if (strcmp(tly_expression_name(id), field) == 0) {
            memcpy(texts[id], value.at, length);
        }
    }
    return TALLY_OK;
}

static tally_status read_segments(tly_reader *r, tly_span value, const char *field)
{
    static const char *const dtypes[] = { "i32", "i64", NULL };
    tly_span count = value;
    const tly_span dtype = tly_word_cut(&count, '/');
    int32_t index = 0;
    tally_status s = tly_word_one_of(r, dtype, field, dtypes, &index);
    if (s != TALLY_OK) {
        return s;
    }
    r->d.segment_dtype = index == 0 ? TALLY_I32 : TALLY_I64;
    if (count.at == NULL) {
        return tly_word_refuse(r, value.end, field, "the number of segments is missing");
    }
    if (tly_word_equals(count, "?")) {
        r->d.segments = TALLY_OPEN_SIZE;
        return TALLY_OK;
    }
    s = tly_word_int(r, count, field, &r->d.segments);
    return s == TALLY_OK && r->d.segments < 0
               ? tly_word_refuse(r, count.at, field, "%" PRId64 " is no number of segments",
                                 r->d.segments)
               : s;
}

tally_status tly_word_segments(tly_reader *r, tly_span value, const char *field)
{
    tally_status s = read_segments(r, value, field);
    if (s != TALLY_OK) {
        tly_error_hint(r->error, "segments=i32/N has N segments, by N + 1 offsets of i32 or i64");
    }
    return s;
}

tally_status tly_word_every(tly_reader *r, tly_span value, const char *field)
{
    tally_status s = tly_word_int(r, value, field, &r->d.every);
    return s == TALLY_OK && r->d.every < 1
               ? tly_word_refuse(r, value.at, field, "a segment cannot have %" PRId64 " elements",
                                 r->d.every)
               : s;
}

const char *const tly_carries[] = { "in", "out", "in+out", NULL };

tally_status tly_word_carry(tly_reader *r, tly_span value, const char *field)
{
    int32_t index = 0;
    tally_status s = tly_word_one_of(r, value, field, tly_carries, &index);
    r->d.carry = index + 1;
    return s;
}
