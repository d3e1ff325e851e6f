/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of DirectML's: any numbers as their members. Arrays have the elements that the
 * counts beside them promise, or none if the reader must refuse the count. What is accepted is a
 * word that reads back as itself, has the output's sizes, and stays within TotalTensorSizeInBytes.
 * What is refused changes nothing and says why.
 *
 * The input is numbers, each a byte below 0xf8, or 0xf8 and more with 4 bytes behind (0xfc and
 * more: 8): operator, function, level, direction, exclusive, axes with their count; then the
 * tensors. An output that begins with 0 is what the input leaves.
 */
#include "fuzz.h"

#include <tally.h>

typedef struct input {
    const uint8_t *at, *end;
} input;

static uint64_t number(input *i)
{
    uint64_t n = i->at < i->end ? *i->at++ : 0;
    if (n >= 0xf8) {
        const int bytes = n >= 0xfc ? 8 : 4;
        n = 0;
        for (int k = 0; k < bytes && i->at < i->end; k++) {
            n = n << 8 | *i->at++;
        }
    }
    return n;
}

/* NULL if the number before is odd. */
static uint32_t *array(input *i, uint32_t count, uint32_t most)
{
    if (number(i) & 1) {
        return NULL;
    }
    const uint32_t room = count <= most ? count : 0;
    uint32_t *made = malloc(room * sizeof *made);
    HOLDS(made != NULL || room == 0);
    for (uint32_t k = 0; k < room; k++) {
        made[k] = (uint32_t)number(i);
    }
    return made;
}

/* 0 stands for as many bytes as are needed. */
static void set_total(input *i, tally_dml_buffer_tensor_desc *b)
{
    const uint64_t least = b->DimensionCount <= TALLY_MAX_RANK
                               ? tally_dml_buffer_tensor_size(b->DataType, b->DimensionCount,
                                                              b->Sizes, b->Strides)
                               : 0;
    HOLDS(least % 4 == 0 && least <= (UINT64_C(8) << 32));
    b->TotalTensorSizeInBytes = number(i);
    if (b->TotalTensorSizeInBytes == 0) {
        b->TotalTensorSizeInBytes = least;
    }
}

static void draw_tensor(input *i, tally_dml_buffer_tensor_desc *b)
{
    b->DataType = (int32_t)number(i);
    b->Flags = (int32_t)number(i);
    b->DimensionCount = (uint32_t)number(i);
    b->Sizes = array(i, b->DimensionCount, TALLY_MAX_RANK);
    b->Strides = array(i, b->DimensionCount, TALLY_MAX_RANK);
    b->GuaranteedBaseOffsetAlignment = (uint32_t)number(i);
    set_total(i, b);
}

/* What the input leaves, 1 where an axis is reduced. */
static void follow(input *i, const tally_dml_buffer_tensor_desc *in, const uint32_t *axes,
                   uint32_t axis_count, tally_dml_buffer_tensor_desc *out)
{
    *out = *in;
    out->DataType = (int32_t)number(i);
    out->DataType = out->DataType == 0 ? in->DataType : out->DataType;
    out->Sizes = NULL;
    if (in->Sizes != NULL && in->DimensionCount <= TALLY_MAX_RANK) {
        const size_t bytes = in->DimensionCount * sizeof *out->Sizes;
        uint32_t *sizes = (uint32_t *)(void *)fuzz_copy((const uint8_t *)in->Sizes, bytes, 0);
        for (uint32_t k = 0; axes != NULL && axis_count <= in->DimensionCount && k < axis_count;
             k++) {
            if (axes[k] < in->DimensionCount) {
                sizes[axes[k]] = 1;
            }
        }
        out->Sizes = sizes;
    }
    out->Strides = array(i, out->DimensionCount, TALLY_MAX_RANK);
    set_total(i, out);
}

static void check_sizes(const tally_descriptor *d, const tally_dml_buffer_tensor_desc *in,
                        const tally_dml_buffer_tensor_desc *out)
{
    int64_t sizes[TALLY_MAX_RANK];
    int32_t rank = 0;
    HOLDS(tally_descriptor_result(d, &rank, sizes, NULL, NULL) == TALLY_OK);
    HOLDS((uint32_t)rank == in->DimensionCount && in->DimensionCount == out->DimensionCount);
    for (int32_t k = 0; k < rank; k++) {
        HOLDS(sizes[k] == out->Sizes[k] && d->sizes[k] == in->Sizes[k]);
    }
}

static void check_extents(const tally_descriptor *d, const tally_dml_buffer_tensor_desc *in,
                          const tally_dml_buffer_tensor_desc *out)
{
    tally_extent of_in, of_out;
    HOLDS(tally_descriptor_extent(d, &of_in, &of_out, NULL) == TALLY_OK);
    HOLDS(of_in.low == 0 && of_in.end > 0 && of_out.low == 0 && of_out.end > 0);
    HOLDS((uint64_t)of_in.end <= in->TotalTensorSizeInBytes);
    HOLDS((uint64_t)of_out.end <= out->TotalTensorSizeInBytes);
}

static void check(const tally_dml_operator_desc *o, uint32_t level,
                  const tally_dml_buffer_tensor_desc *in, const tally_dml_buffer_tensor_desc *out)
{
    tally_descriptor d, again, before;
    tally_error e = TALLY_ERROR_INIT;
    char text[TALLY_WORD_MAX];
    memset(&d, 0x5a, sizeof d);
    before = d;
    const tally_status s = tally_descriptor_from_dml(o, level, &d, &e);
    if (s != TALLY_OK) {
        HOLDS((s == TALLY_INVALID || s == TALLY_UNSUPPORTED) && e.status == s);
        HOLDS(e.field[0] != 0 && e.message[0] != 0 && memcmp(&d, &before, sizeof d) == 0);
        return;
    }
    HOLDS(tally_descriptor_print(&d, text, sizeof text, NULL, NULL) == TALLY_OK);
    HOLDS(tally_descriptor_parse(text, &again, NULL) == TALLY_OK);
    HOLDS(memcmp(&again, &d, sizeof d) == 0);
    check_sizes(&d, in, out);
    check_extents(&d, in, out);
    /* The newest level takes what another one does. */
    HOLDS(tally_descriptor_from_dml(o, 0, &again, NULL) == TALLY_OK);
    HOLDS(memcmp(&again, &d, sizeof d) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const int32_t types[] = { TALLY_DML_REDUCE, TALLY_DML_CUMULATIVE_SUMMATION,
                                     TALLY_DML_ARGMIN, TALLY_DML_ARGMAX,
                                     TALLY_DML_CUMULATIVE_PRODUCT };
    input i = { data, data + bytes };
    const uint64_t which = number(&i);
    const int32_t type = which < 5 ? types[which] : (int32_t)which;
    const int32_t function = (int32_t)number(&i);
    const uint32_t level = (uint32_t)number(&i) << 8;
    const int32_t direction = (int32_t)number(&i), exclusive = (int32_t)number(&i);
    const uint32_t axis_count = (uint32_t)number(&i);
    uint32_t *axes = array(&i, axis_count, TALLY_MAX_RANK);
    const uint32_t axis = axes != NULL && axis_count - 1 < TALLY_MAX_RANK ? axes[0] : 0;
    tally_dml_buffer_tensor_desc in, out;
    draw_tensor(&i, &in);
    const int is_scan = type == TALLY_DML_CUMULATIVE_SUMMATION ||
                        type == TALLY_DML_CUMULATIVE_PRODUCT;
    if (number(&i) == 0) {
        follow(&i, &in, axes, is_scan ? 0 : axis_count, &out);
    } else {
        draw_tensor(&i, &out);
    }
    const uint64_t missing = number(&i);
    const tally_dml_tensor_desc in_tensor = { missing == 1 ? 0 : 1, missing == 2 ? NULL : &in };
    const tally_dml_tensor_desc out_tensor = { missing == 3 ? 0 : 1, missing == 4 ? NULL : &out };
    const tally_dml_tensor_desc *const from = missing == 5 ? NULL : &in_tensor;
    const tally_dml_tensor_desc *const to = missing == 6 ? NULL : &out_tensor;
    const tally_dml_cumulative_product_operator_desc scan = { from, to, axis, direction,
                                                              exclusive };
    const tally_dml_reduce_operator_desc reduce = { function, from, to, axis_count, axes };
    const tally_dml_argmax_operator_desc arg = { from, to, axis_count, axes, direction };
    const tally_dml_operator_desc o = { type, missing == 7               ? NULL
                                              : is_scan                  ? (const void *)&scan
                                              : type == TALLY_DML_REDUCE ? (const void *)&reduce
                                                                         : (const void *)&arg };
    check(&o, level, &in, &out);
    free(axes);
    free((void *)(uintptr_t)in.Sizes);
    free((void *)(uintptr_t)in.Strides);
    free((void *)(uintptr_t)out.Sizes);
    free((void *)(uintptr_t)out.Strides);
    return 0;
}
