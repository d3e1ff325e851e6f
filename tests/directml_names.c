/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests/headers, as C and as C++: tally/directml.h beside DirectML.h, and in its place. What
 * stands here for DirectML.h declares a few of its names in its way, so that a clash is an error.
 * -DDIRECTML=0: there is none; 1: it comes first; 2: it comes behind.
 */
#include <stddef.h>
#include <stdint.h>

typedef unsigned int UINT; /* a program's own */

#if DIRECTML == 1
#define TALLY_DML_NAMES /* without effect: DirectML.h has its names */
#include "directml_stand_in.h"
#include <tally.h>
#elif DIRECTML == 2
#include <tally.h>

#include "directml_stand_in.h"
#else
#include <tally.h> /* again, and with names */
#define TALLY_DML_NAMES
#include <tally/directml.h>
#endif

int main(void)
{
    const UINT sizes[4] = { 1, 1, 3, 4 };
    DML_BUFFER_TENSOR_DESC b = {
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, 48, 0
    };
    DML_TENSOR_DESC t = { DML_TENSOR_TYPE_BUFFER, &b };
    tally_dml_operator_desc o = { TALLY_DML_CUMULATIVE_PRODUCT, NULL };
#if DIRECTML == 0
    DML_TENSOR_DATA_TYPE type = DML_TENSOR_DATA_TYPE_FLOAT16;
    DML_TENSOR_TYPE kind = DML_TENSOR_TYPE_BUFFER;
    DML_TENSOR_FLAGS flags = DML_TENSOR_FLAG_OWNED_BY_DML;
    DML_OPERATOR_TYPE op = DML_OPERATOR_CUMULATIVE_PRODUCT;
    DML_REDUCE_FUNCTION function = DML_REDUCE_FUNCTION_SUM_SQUARE;
    DML_AXIS_DIRECTION direction = DML_AXIS_DIRECTION_DECREASING;
    DML_FEATURE_LEVEL level = DML_FEATURE_LEVEL_6_4;
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC s = { &t, &t, 3, direction, 0 };
    DML_CUMULATIVE_PRODUCT_OPERATOR_DESC p = { &t, &t, 3, direction, 1 };
    DML_REDUCE_OPERATOR_DESC r = { function, &t, &t, 1, sizes };
    DML_ARGMIN_OPERATOR_DESC n = { &t, &t, 1, sizes, direction };
    DML_ARGMAX_OPERATOR_DESC x = { &t, &t, 1, sizes, direction };
    DML_OPERATOR_DESC whole = { op, &p };
    return type + kind + flags + level + s.AxisDirection + r.Function + n.AxisDirection +
               x.AxisDirection + whole.Type ==
           o.Type;
#else
    return (int)t.Type + (int)b.DataType == o.Type;
#endif
}
