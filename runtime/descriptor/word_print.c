/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the canonical word (docs/word.md): options in the grammar's order, defaults left out, so
 * that descriptors of equal meaning have equal words.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../host/error.h"
#include "expression.h"
#include "word_reader.h"

typedef struct writer {
    char text[TALLY_WORD_MAX];
    size_t length;
    char separator; /* before the next option: ':' for the first, then ',' */
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int written = vsnprintf(w->text + w->length, sizeof w->text - w->length, format, args);
    va_end(args);
    /* The longest word has 62 integers of 20 characters, 4 expressions of 127 and 300 of names: it
     * always fits. */
    w->length += written > 0 ? (size_t)written : 0;
}

static void put_option(writer *w, const char *name)
{
    put(w, "%c%s", w->separator, name);
    w->separator = ',';
}

static void put_list(writer *w, int32_t count, const int64_t *values)
{
    for (int32_t i = 0; i < count; i++) {
        put(w, i > 0 ? "x%" PRId64 : "%" PRId64, values[i]);
    }
}

static void put_sizes(writer *w, int32_t rank, const int64_t *sizes)
{
    for (int32_t d = 0; d < rank; d++) {
        put(w, d > 0 ? "x" : "");
        if (sizes[d] == TALLY_OPEN_SIZE) {
            put(w, "?");
        } else {
            put(w, "%" PRId64, sizes[d]);
        }
    }
}

static void put_strides(writer *w, const char *name, int32_t rank, const int64_t *strides,
                        int64_t offset)
{
    put_option(w, name);
    put_list(w, rank, strides);
    if (offset != 0) {
        put(w, "@%" PRId64, offset);
    }
}

static void put_axis_list(writer *w, const tally_descriptor *d, uint32_t axes)
{
    const char *plus = "";
    for (int32_t axis = 0; axis < d->rank; axis++) {
        if (axes >> axis & 1) {
            put(w, "%s%d", plus, (int)axis);
            plus = "+";
        }
    }
}

static void put_axes(writer *w, const tally_descriptor *d)
{
    put_option(w, d->axes != 0 ? "axes=" : "axes=none");
    put_axis_list(w, d, d->axes);
}

static void put_flag(writer *w, const tally_descriptor *d, uint32_t flag, const char *text)
{
    if (d->flags & flag) {
        put_option(w, text);
    }
}

static void put_operand(writer *w, const tally_descriptor *d, int operand)
{
    const tally_operand *o = &d->operands[operand];
    if (o->dtype == 0) {
        return;
    }
    put_option(w, tly_operand_name(operand));
    put(w, "=%s", tly_dtypes[o->dtype].name);
    if (o->place == TALLY_PLACE_AXES) {
        put(w, o->axes != 0 ? "/" : "/none");
        put_axis_list(w, d, o->axes);
    } else if (o->place == TALLY_PLACE_STRIDES) {
        put(w, "/");
        put_list(w, d->rank, o->strides);
        put(w, "@%" PRId64, o->offset);
    }
}

/* Options that fuse stages. */
static void put_stages(writer *w, const tally_descriptor *d)
{
    const char *const texts[] = { d->map, d->coef, d->post, d->reset };
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        put_operand(w, d, i);
    }
    for (int id = 0; id < TLY_EXPRESSIONS; id++) {
        if (texts[id][0] != 0) {
            put_option(w, tly_expression_name(id));
            put(w, "=%s", texts[id]);
        }
    }
    if (d->segment_dtype != 0) {
        put_option(w, "segments=");
        put(w, "%s/", tly_dtypes[d->segment_dtype].name);
        put_sizes(w, 1, &d->segments);
    }
    if (d->every != 0) {
        put_option(w, "every=");
        put(w, "%" PRId64, d->every);
    }
    if (d->carry != 0) {
        put_option(w, "carry=");
        put(w, "%s", tly_carries[d->carry - 1]);
    }
}

static void put_word(writer *w, const tally_descriptor *full)
{
    const tly_op_facts *op = &tly_ops[full->op];
    put(w, "%s:%s", tally_op_name((tally_op)full->op), tly_dtypes[full->dtype].name);
    if (full->out_dtype != full->dtype || op->out_dtype != 0) {
        put(w, ">%s", tly_dtypes[full->out_dtype].name);
    }
    put(w, full->rank > 0 ? ":" : ":scalar");
    put_sizes(w, full->rank, full->sizes);

    int64_t sizes[TALLY_MAX_RANK];
    int32_t result_rank = tly_result_shape(full, sizes);
    tally_descriptor d = *full;
    tly_descriptor_shorten(&d);
    if (op->scan) {
        put_option(w, "axis=");
        put(w, "%d", (int)d.axis);
    } else if (d.axes_given) {
        put_axes(w, &d);
    }
    put_flag(w, &d, TALLY_KEEPDIMS, "keepdims");
    put_flag(w, &d, TALLY_EXCLUSIVE, "exclusive");
    put_flag(w, &d, TALLY_REVERSE, "reverse");
    if (d.flags & TALLY_IN_STRIDES) {
        put_strides(w, "in=", d.rank, d.in_strides, d.in_offset);
    }
    if (d.flags & TALLY_OUT_STRIDES) {
        put_strides(w, "out=", result_rank, d.out_strides, d.out_offset);
    }
    put_stages(w, &d);
    put_flag(w, &d, TALLY_LAST, "last");
    if (d.order != TALLY_ORDER_RUN) {
        put_option(w, d.order == TALLY_ORDER_EXACT ? "order=exact" : "order=serial");
    }
    if (d.acc != 0) {
        put_option(w, "acc=f64");
    }
    put_flag(w, &d, TALLY_NAN_IGNORE, "nan=ignore");
}

tally_status tly_word_print(const tally_descriptor *full, char *text, size_t capacity,
                            size_t *length, tally_error *error)
{
    writer w;
    w.length = 0;
    w.separator = ':';
    put_word(&w, full);
    if (text == NULL || capacity <= w.length) {
        return tly_fail(error, TALLY_INVALID, "usage", "the word needs %zu bytes, there are %zu",
                        w.length + 1, text != NULL ? capacity : 0);
    }
    memcpy(text, w.text, w.length + 1);
    if (length != NULL) {
        *length = w.length;
    }
    return TALLY_OK;
}

tally_status tally_descriptor_print(const tally_descriptor *descriptor, char *text, size_t capacity,
                                    size_t *length, tally_error *error)
{
    tally_descriptor full;
    tally_status s = tly_descriptor_resolve(descriptor, &full, error);
    return s == TALLY_OK ? tly_word_print(&full, text, capacity, length, error) : s;
}
