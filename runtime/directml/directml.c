/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally_descriptor_from_dml: a description of DirectML's is read, checked and becomes a descriptor.
 * The order of the checks is that of docs/directml.md.
 *
 * A program's structs may be of DirectML's own types. So all that it points to is copied into
 * structs of Tally's, which have the same layout, and none is accessed as another type.
 */
#include <tally/directml.h>

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "../descriptor/descriptor.h"
#include "../host/error.h"
#include "levels.h"
#include "tensor.h"

/* Microsoft's layout, where pointers have 64 bits. */
#define LAYOUT(type, bytes, last, place) \
    _Static_assert(sizeof(void *) != 8 || (sizeof(tally_dml_##type) == (bytes) && \
                                           offsetof(tally_dml_##type, last) == (place)), \
                   "not the layout of DirectML.h")
LAYOUT(buffer_tensor_desc, 48, GuaranteedBaseOffsetAlignment, 40);
LAYOUT(tensor_desc, 16, Desc, 8);
LAYOUT(operator_desc, 16, Desc, 8);
LAYOUT(cumulative_summation_operator_desc, 32, HasExclusiveSum, 24);
LAYOUT(cumulative_product_operator_desc, 32, HasExclusiveProduct, 24);
LAYOUT(reduce_operator_desc, 40, Axes, 32);
LAYOUT(argmin_operator_desc, 40, AxisDirection, 32);

enum { INPUT, OUTPUT, TENSORS };

/* What all of DirectML's structs have, under names of one kind. A scan has one axis. */
typedef struct description {
    int32_t function;
    const tly_dml_operator *kind;
    tly_dml_tensor tensors[TENSORS];
    uint32_t axis, axis_count;
    const uint32_t *axes; /* NULL: `axis` */
    int32_t direction;
    uint32_t flags; /* TALLY_EXCLUSIVE, ... */
} description;

static void set_tensors(description *d, const tally_dml_tensor_desc *input,
                        const tally_dml_tensor_desc *output)
{
    d->tensors[INPUT] = (tly_dml_tensor){ .member = "InputTensor", .field = "in", .given = input };
    d->tensors[OUTPUT] = (tly_dml_tensor){ .member = "OutputTensor",
                                           .field = "out",
                                           .given = output };
}

/* Of sums, too, whose struct has the same layout. */
static void read_cumulative(const void *from, description *d)
{
    tally_dml_cumulative_product_operator_desc c;
    memcpy(&c, from, sizeof c);
    set_tensors(d, c.InputTensor, c.OutputTensor);
    d->axis = c.Axis;
    d->direction = c.AxisDirection;
    d->flags = c.HasExclusiveProduct ? TALLY_EXCLUSIVE : 0;
}

static void read_reduce(const void *from, description *d)
{
    tally_dml_reduce_operator_desc r;
    memcpy(&r, from, sizeof r);
    set_tensors(d, r.InputTensor, r.OutputTensor);
    d->function = r.Function;
    d->axis_count = r.AxisCount;
    d->axes = r.Axes;
    d->flags = TALLY_KEEPDIMS;
}

static void read_arg(const void *from, description *d)
{
    tally_dml_argmin_operator_desc a;
    memcpy(&a, from, sizeof a);
    set_tensors(d, a.InputTensor, a.OutputTensor);
    d->axis_count = a.AxisCount;
    d->axes = a.Axes;
    d->direction = a.AxisDirection;
    d->flags = TALLY_KEEPDIMS;
}

static const struct {
    int32_t type;
    void (*read)(const void *from, description *d);
} readers[] = {
    { TALLY_DML_CUMULATIVE_SUMMATION, read_cumulative },
    { TALLY_DML_CUMULATIVE_PRODUCT, read_cumulative },
    { TALLY_DML_REDUCE, read_reduce },
    { TALLY_DML_ARGMIN, read_arg },
    { TALLY_DML_ARGMAX, read_arg },
};

static tally_status read_operator(const tally_dml_operator_desc *given, description *d,
                                  tally_error *error)
{
    tally_dml_operator_desc o;
    memcpy(&o, given, sizeof o);
    memset(d, 0, sizeof *d);
    d->function = TLY_DML_NO_FUNCTION;
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (readers[i].type != o.Type) {
            continue;
        }
        if (o.Desc == NULL) {
            return tly_fail(error, TALLY_INVALID, "op", "Desc is NULL");
        }
        readers[i].read(o.Desc, d);
        d->kind = tly_dml_find_operator(o.Type, d->function);
        return d->kind != NULL ? TALLY_OK
                               : tly_fail(error, TALLY_INVALID, "op",
                                          "Function %" PRId32 " is unknown", d->function);
    }
    return tly_fail(error, TALLY_UNSUPPORTED, "op",
                    "Type %" PRId32 " is no scan or reduction of DirectML's", o.Type);
}

static tally_status check_count(const description *d, tally_error *error)
{
    const uint32_t in = d->tensors[INPUT].buffer.DimensionCount;
    const uint32_t out = d->tensors[OUTPUT].buffer.DimensionCount;
    if (in != out) {
        return tly_fail(error, TALLY_INVALID, "sizes",
                        "OutputTensor: DimensionCount %" PRIu32 " is not InputTensor's %" PRIu32,
                        out, in);
    }
    return TALLY_OK;
}

static tally_status check_axis(const description *d, tally_error *error)
{
    const uint32_t count = d->tensors[INPUT].buffer.DimensionCount;
    if (d->axis >= count) {
        return tly_fail(error, TALLY_INVALID, "axis",
                        "Axis %" PRIu32 " is not below DimensionCount %" PRIu32, d->axis, count);
    }
    return TALLY_OK;
}

static tally_status check_axes(const description *d, uint32_t *reduced, tally_error *error)
{
    const uint32_t count = d->tensors[INPUT].buffer.DimensionCount;
    if (d->axis_count > count) { /* nothing behind is read */
        return tly_fail(error, TALLY_INVALID, "axes",
                        "AxisCount %" PRIu32 " is more than DimensionCount %" PRIu32, d->axis_count,
                        count);
    }
    if (d->axis_count > 0 && d->axes == NULL) {
        return tly_fail(error, TALLY_INVALID, "axes", "Axes is NULL");
    }
    for (uint32_t i = 0; i < d->axis_count; i++) {
        const uint32_t axis = d->axes[i];
        if (axis >= count) {
            return tly_fail(error, TALLY_INVALID, "axes",
                            "Axes[%" PRIu32 "] %" PRIu32 " is not below DimensionCount %" PRIu32, i,
                            axis, count);
        }
        if (*reduced >> axis & 1) {
            return tly_fail(error, TALLY_INVALID, "axes",
                            "Axes[%" PRIu32 "] %" PRIu32 " comes twice", i, axis);
        }
        *reduced |= 1u << axis;
    }
    return TALLY_OK;
}

static tally_status check_direction(const description *d, int is_scan, tally_error *error)
{
    if (d->direction != TALLY_DML_INCREASING && d->direction != TALLY_DML_DECREASING) {
        return tly_fail(error, TALLY_INVALID, is_scan ? "reverse" : "last",
                        "AxisDirection %" PRId32 " is neither INCREASING nor DECREASING",
                        d->direction);
    }
    return TALLY_OK;
}

/* After the axes, which say where a size of 1 is due. */
static tally_status check_result(const description *d, uint32_t reduced, tally_error *error)
{
    const tally_dml_buffer_tensor_desc *in = &d->tensors[INPUT].buffer;
    const tally_dml_buffer_tensor_desc *out = &d->tensors[OUTPUT].buffer;
    for (uint32_t i = 0; i < in->DimensionCount; i++) {
        const int is_reduced = reduced >> i & 1;
        const uint32_t due = is_reduced ? 1 : in->Sizes[i];
        if (out->Sizes[i] != due) {
            return tly_fail(error, TALLY_INVALID, "sizes",
                            "OutputTensor: Sizes[%" PRIu32 "] is %" PRIu32 " and not %s%" PRIu32, i,
                            out->Sizes[i], is_reduced ? "" : "InputTensor's ", due);
        }
    }
    return TALLY_OK;
}

static void copy_strides(const tally_dml_buffer_tensor_desc *from, uint32_t flag,
                         tally_descriptor *descriptor, int64_t *to)
{
    if (from->Strides != NULL) {
        descriptor->flags |= flag;
        for (uint32_t i = 0; i < from->DimensionCount; i++) {
            to[i] = from->Strides[i];
        }
    }
}

/* Of a description that is right, but for the addresses of its output. */
static tally_status make(const description *d, int is_scan, uint32_t reduced,
                         tally_descriptor *descriptor, tally_error *error)
{
    const tally_dml_buffer_tensor_desc *in = &d->tensors[INPUT].buffer;
    const tally_dml_buffer_tensor_desc *out = &d->tensors[OUTPUT].buffer;
    tally_descriptor made = TALLY_DESCRIPTOR_INIT, full;
    made.op = d->kind->op;
    made.dtype = tly_dml_types[in->DataType].dtype;
    made.out_dtype = tly_dml_types[out->DataType].dtype;
    made.flags = d->flags;
    made.rank = (int32_t)in->DimensionCount;
    if (d->direction == TALLY_DML_DECREASING) {
        made.flags |= is_scan ? TALLY_REVERSE : TALLY_LAST;
    }
    if (is_scan) {
        made.axis = (int32_t)d->axis;
    } else {
        made.axes = reduced;
        made.axes_given = 1;
    }
    for (uint32_t i = 0; i < in->DimensionCount; i++) {
        made.sizes[i] = in->Sizes[i];
    }
    copy_strides(in, TALLY_IN_STRIDES, &made, made.in_strides);
    copy_strides(out, TALLY_OUT_STRIDES, &made, made.out_strides);
    const tally_status s = tly_descriptor_resolve(&made, &full, error);
    if (s != TALLY_OK) { /* an address twice, or an index beyond the data type */
        tly_error_where(error, d->tensors[OUTPUT].member);
        return s;
    }
    tly_descriptor_shorten(&full);
    *descriptor = full;
    return TALLY_OK;
}

static tally_status check_usage(const tally_dml_operator_desc *operator_desc, uint32_t level,
                                const tally_descriptor *descriptor, tally_error *error)
{
    if (operator_desc == NULL || descriptor == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the %s is NULL",
                        operator_desc == NULL ? "operator_desc" : "descriptor");
    }
    if (level != 0 && !tly_dml_is_level(level)) {
        tly_fail(error, TALLY_INVALID, "usage", "0x%" PRIx32 " is no feature level", level);
        tly_error_hint(error, "0 is the newest; others are TALLY_DML_FEATURE_LEVEL_1_0, ...");
        return TALLY_INVALID;
    }
    return TALLY_OK;
}

tally_status tally_descriptor_from_dml(const tally_dml_operator_desc *operator_desc, uint32_t level,
                                       tally_descriptor *descriptor, tally_error *error)
{
    description d;
    uint32_t reduced = 0;
    tally_status s = check_usage(operator_desc, level, descriptor, error);
    if (s == TALLY_OK) {
        s = read_operator(operator_desc, &d, error);
    }
    if (s != TALLY_OK) {
        return s;
    }
    const int is_scan = tally_op_is_scan((tally_op)d.kind->op);
    s = tly_dml_check_tensors(d.tensors, TENSORS, error);
    if (s == TALLY_OK) {
        s = tly_dml_check_level(d.kind, level, &d.tensors[INPUT].buffer, &d.tensors[OUTPUT].buffer,
                                error);
    }
    if (s == TALLY_OK) {
        s = check_count(&d, error);
    }
    if (s == TALLY_OK) {
        s = is_scan ? check_axis(&d, error) : check_axes(&d, &reduced, error);
    }
    if (s == TALLY_OK) {
        s = check_direction(&d, is_scan, error);
    }
    if (s == TALLY_OK) {
        s = check_result(&d, reduced, error);
    }
    if (s == TALLY_OK) {
        s = make(&d, is_scan, reduced, descriptor, error);
    }
    return s;
}
