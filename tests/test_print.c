/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors as text, beside what numpy 2.4.6 prints of the same numbers; tests/print_numpy has numpy
 * itself print others.
 */
#include <criterion/criterion.h>

#include "../tools/files/floats.h"
#include "../tools/files/print.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(tally_dtype dtype, int rank, const int64_t *sizes, const void *data,
                   const char *text)
{
    tly_text found = { NULL, 0, 0, 0 };
    tly_print_tensor(&found, dtype, rank, sizes, data);
    cr_assert_not(found.failed);
    cr_expect_str_eq(found.text, text);
    free(found.text);
}

static const struct {
    tally_dtype dtype;
    int rank;
    int64_t sizes[TALLY_MAX_RANK];
    double values[14];
    const char *text;
} floats[] = {
    { TALLY_F64, 1, { 3 }, { 1, 2.5, -3 }, "[ 1.   2.5 -3. ]\n" },
    { TALLY_F64,
      1,
      { 3 },
      { 0.3333333333333333, 0.6666666666666666, 0.001 },
      "[0.33333333 0.66666667 0.001     ]\n" },
    { TALLY_F64, 1, { 2 }, { 0.1, 10000000000.0 }, "[1.e-01 1.e+10]\n" },
    { TALLY_F64, 1, { 2 }, { 1e-05, 1 }, "[1.e-05 1.e+00]\n" },
    { TALLY_F64, 1, { 3 }, { 1e+100, -1e-100, 0 }, "[ 1.e+100 -1.e-100  0.e+000]\n" },
    { TALLY_F64, 1, { 4 }, { NAN, INFINITY, -INFINITY, 1 }, "[ nan  inf -inf   1.]\n" },
    { TALLY_F64, 1, { 2 }, { NAN, NAN }, "[nan nan]\n" },
    { TALLY_F64,
      1,
      { 4 },
      { NAN, -INFINITY, 10000000000.0, 2 },
      "[   nan   -inf 1.e+10 2.e+00]\n" },
    { TALLY_F64, 1, { 3 }, { -0.0, 0, 1 }, "[-0.  0.  1.]\n" },
    { TALLY_F64, 1, { 3 }, { 1, 1000, 1000.5 }, "[1.0000e+00 1.0000e+03 1.0005e+03]\n" },
    { TALLY_F64, 1, { 2 }, { 1, 1001 }, "[1.000e+00 1.001e+03]\n" },
    { TALLY_F64, 1, { 2 }, { 1, 1000 }, "[   1. 1000.]\n" },
    { TALLY_F64, 1, { 2 }, { 99999999, 100000.0 }, "[99999999.   100000.]\n" },
    { TALLY_F64, 1, { 2 }, { 100000000.0, 1000000.0 }, "[1.e+08 1.e+06]\n" },
    { TALLY_F64, 1, { 2 }, { 0.0001, 0.05 }, "[0.0001 0.05  ]\n" },
    { TALLY_F64,
      1,
      { 2 },
      { 5.684341886080802e-14, 2.842170943040401e-14 },
      "[5.68434189e-14 2.84217094e-14]\n" },
    { TALLY_F64, 0, { 0 }, { 0.3333333333333333 }, "0.3333333333333333\n" },
    { TALLY_F64, 0, { 0 }, { 1e+16 }, "1e+16\n" },
    { TALLY_F64, 0, { 0 }, { 123456789012345.6 }, "123456789012345.6\n" },
    { TALLY_F64, 0, { 0 }, { 0.0001 }, "0.0001\n" },
    { TALLY_F64, 0, { 0 }, { 9.9e-05 }, "9.9e-05\n" },
    { TALLY_F64, 0, { 0 }, { -INFINITY }, "-inf\n" },
    { TALLY_F64, 0, { 0 }, { 5e-324 }, "5e-324\n" },
    { TALLY_F32,
      1,
      { 3 },
      { 0.3333333333333333, 0.6666666666666666, 100 },
      "[  0.33333334   0.6666667  100.        ]\n" },
    { TALLY_F32, 0, { 0 }, { 0.1 }, "0.1\n" },
    { TALLY_F32, 0, { 0 }, { 999999.9 }, "999999.9\n" },
    { TALLY_F32, 0, { 0 }, { 1000000.0 }, "1e+06\n" },
    { TALLY_F32, 1, { 2 }, { 1000000.0, 2000000.0 }, "[1.e+06 2.e+06]\n" },
    { TALLY_F32, 1, { 2 }, { 0.1, 1.2345679e-05 }, "[1.0000000e-01 1.2345679e-05]\n" },
    { TALLY_F32,
      2,
      { 2, 2 },
      { 1, 3, 6, 10 },
      "[[ 1.  3.]\n"
      " [ 6. 10.]]\n" },
    { TALLY_F16, 1, { 3 }, { 0.1, 0.3333333333333333, 2 }, "[0.1    0.3333 2.    ]\n" },
    { TALLY_F16, 1, { 2 }, { 999.5, 1 }, "[999.5   1. ]\n" },
    { TALLY_F16, 1, { 2 }, { 1000, 1 }, "[1.e+03 1.e+00]\n" },
    { TALLY_F16, 0, { 0 }, { 1000 }, "1e+03\n" },
    { TALLY_F16, 1, { 2 }, { 65504, 6e-08 }, "[6.55e+04 5.96e-08]\n" },
    { TALLY_F16, 1, { 2 }, { 1000.25, 1 }, "[1.e+03 1.e+00]\n" },
    { TALLY_F64, 1, { 0 }, { 0 }, "[]\n" },
    { TALLY_F32, 2, { 0, 5 }, { 0 }, "[]\n" },
    { TALLY_F64,
      1,
      { 14 },
      { 0.0, 0.14285714285714285, 0.2857142857142857, 0.42857142857142855, 0.5714285714285714,
        0.7142857142857143, 0.8571428571428571, 1.0, 1.1428571428571428, 1.2857142857142858,
        1.4285714285714286, 1.5714285714285714, 1.7142857142857142, 1.8571428571428572 },
      "[0.         0.14285714 0.28571429 0.42857143 0.57142857 0.71428571\n"
      " 0.85714286 1.         1.14285714 1.28571429 1.42857143 1.57142857\n"
      " 1.71428571 1.85714286]\n" },
    /* Without numpy: the digits that tell it from its neighbours, by the rules of f16. */
    { TALLY_BF16, 1, { 3 }, { 0.1, 3.140625, 1 }, "[0.1  3.14 1.  ]\n" },
    { TALLY_BF16, 1, { 2 }, { 99.5, 1 }, "[99.5  1. ]\n" },
    { TALLY_BF16, 1, { 2 }, { 100, 1 }, "[1.e+02 1.e+00]\n" },
    { TALLY_BF16, 0, { 0 }, { 0.3 }, "0.3\n" },
};

Test(print, floats)
{
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        const size_t element = tally_dtype_bytes(floats[i].dtype);
        char data[14 * sizeof(double)];
        for (size_t k = 0; k < 14; k++) {
            tly_float_store(floats[i].dtype, floats[i].values[k], data + k * element);
        }
        expect(floats[i].dtype, floats[i].rank, floats[i].sizes, data, floats[i].text);
    }
}

static const struct {
    tally_dtype dtype;
    int rank;
    int64_t sizes[TALLY_MAX_RANK];
    int64_t values[14];
    const char *text;
} integers[] = {
    { TALLY_I64, 1, { 3 }, { 1, -20, 300 }, "[  1 -20 300]\n" },
    { TALLY_I64,
      1,
      { 2 },
      { INT64_MIN, INT64_MAX },
      "[-9223372036854775808  9223372036854775807]\n" },
    { TALLY_I8,
      2,
      { 3, 1 },
      { -128, 127, 0 },
      "[[-128]\n"
      " [ 127]\n"
      " [   0]]\n" },
    { TALLY_U8, 1, { 2 }, { 0, 255 }, "[  0 255]\n" },
    { TALLY_U64, 0, { 0 }, { INT64_MIN }, "9223372036854775808\n" },
    { TALLY_BOOL, 1, { 3 }, { 1, 0, 1 }, "[ True False  True]\n" },
    { TALLY_BOOL, 2, { 1, 2 }, { 1, 1 }, "[[ True  True]]\n" },
    { TALLY_BOOL, 0, { 0 }, { 1 }, "True\n" },
    { TALLY_I32,
      5,
      { 2, 1, 2, 1, 2 },
      { 0, 1, 2, 3, 4, 5, 6, 7 },
      "[[[[[0 1]]\n"
      "\n"
      "   [[2 3]]]]\n"
      "\n"
      "\n"
      "\n"
      " [[[[4 5]]\n"
      "\n"
      "   [[6 7]]]]]\n" },
};

Test(print, integers)
{
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        const size_t element = tally_dtype_bytes(integers[i].dtype);
        char data[14 * sizeof(int64_t)];
        for (size_t k = 0; k < 14; k++) {
            memcpy(data + k * element, &integers[i].values[k], element);
        }
        expect(integers[i].dtype, integers[i].rank, integers[i].sizes, data, integers[i].text);
    }
}

/* 0, step, 2 step and so on. */
static const struct {
    tally_dtype dtype;
    int rank;
    int64_t sizes[TALLY_MAX_RANK];
    double step;
    const char *text;
} long_ones[] = {
    { TALLY_I32,
      3,
      { 2, 3, 4 },
      1.0,
      "[[[ 0  1  2  3]\n"
      "  [ 4  5  6  7]\n"
      "  [ 8  9 10 11]]\n"
      "\n"
      " [[12 13 14 15]\n"
      "  [16 17 18 19]\n"
      "  [20 21 22 23]]]\n" },
    { TALLY_I32,
      1,
      { 30 },
      1.0,
      "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
      " 24 25 26 27 28 29]\n" },
    { TALLY_I32, 1, { 1001 }, 1.0, "[   0    1    2 ...  998  999 1000]\n" },
    { TALLY_I32,
      2,
      { 3, 700 },
      1.0,
      "[[   0    1    2 ...  697  698  699]\n"
      " [ 700  701  702 ... 1397 1398 1399]\n"
      " [1400 1401 1402 ... 2097 2098 2099]]\n" },
    { TALLY_I32,
      3,
      { 11, 11, 11 },
      1.0,
      "[[[   0    1    2 ...    8    9   10]\n"
      "  [  11   12   13 ...   19   20   21]\n"
      "  [  22   23   24 ...   30   31   32]\n"
      "  ...\n"
      "  [  88   89   90 ...   96   97   98]\n"
      "  [  99  100  101 ...  107  108  109]\n"
      "  [ 110  111  112 ...  118  119  120]]\n"
      "\n"
      " [[ 121  122  123 ...  129  130  131]\n"
      "  [ 132  133  134 ...  140  141  142]\n"
      "  [ 143  144  145 ...  151  152  153]\n"
      "  ...\n"
      "  [ 209  210  211 ...  217  218  219]\n"
      "  [ 220  221  222 ...  228  229  230]\n"
      "  [ 231  232  233 ...  239  240  241]]\n"
      "\n"
      " [[ 242  243  244 ...  250  251  252]\n"
      "  [ 253  254  255 ...  261  262  263]\n"
      "  [ 264  265  266 ...  272  273  274]\n"
      "  ...\n"
      "  [ 330  331  332 ...  338  339  340]\n"
      "  [ 341  342  343 ...  349  350  351]\n"
      "  [ 352  353  354 ...  360  361  362]]\n"
      "\n"
      " ...\n"
      "\n"
      " [[ 968  969  970 ...  976  977  978]\n"
      "  [ 979  980  981 ...  987  988  989]\n"
      "  [ 990  991  992 ...  998  999 1000]\n"
      "  ...\n"
      "  [1056 1057 1058 ... 1064 1065 1066]\n"
      "  [1067 1068 1069 ... 1075 1076 1077]\n"
      "  [1078 1079 1080 ... 1086 1087 1088]]\n"
      "\n"
      " [[1089 1090 1091 ... 1097 1098 1099]\n"
      "  [1100 1101 1102 ... 1108 1109 1110]\n"
      "  [1111 1112 1113 ... 1119 1120 1121]\n"
      "  ...\n"
      "  [1177 1178 1179 ... 1185 1186 1187]\n"
      "  [1188 1189 1190 ... 1196 1197 1198]\n"
      "  [1199 1200 1201 ... 1207 1208 1209]]\n"
      "\n"
      " [[1210 1211 1212 ... 1218 1219 1220]\n"
      "  [1221 1222 1223 ... 1229 1230 1231]\n"
      "  [1232 1233 1234 ... 1240 1241 1242]\n"
      "  ...\n"
      "  [1298 1299 1300 ... 1306 1307 1308]\n"
      "  [1309 1310 1311 ... 1317 1318 1319]\n"
      "  [1320 1321 1322 ... 1328 1329 1330]]]\n" },
    { TALLY_F32,
      2,
      { 1200, 1 },
      0.5,
      "[[0.000e+00]\n"
      " [5.000e-01]\n"
      " [1.000e+00]\n"
      " ...\n"
      " [5.985e+02]\n"
      " [5.990e+02]\n"
      " [5.995e+02]]\n" },
};

Test(print, long_tensors)
{
    static char data[4096 * sizeof(double)];
    for (size_t i = 0; i < sizeof long_ones / sizeof long_ones[0]; i++) {
        const size_t element = tally_dtype_bytes(long_ones[i].dtype);
        for (int32_t k = 0; k < 4096; k++) {
            if (long_ones[i].dtype == TALLY_I32) {
                memcpy(data + (size_t)k * element, &k, element);
            } else {
                tly_float_store(long_ones[i].dtype, k * long_ones[i].step,
                                data + (size_t)k * element);
            }
        }
        expect(long_ones[i].dtype, long_ones[i].rank, long_ones[i].sizes, data, long_ones[i].text);
    }
}

/* Every narrow float comes back from its digits, and no decimal of fewer digits would do. */
Test(print, shortest_digits)
{
    static const tally_dtype dtypes[] = { TALLY_F16, TALLY_BF16 };
    for (int i = 0; i < 2; i++) {
        for (uint32_t bits = 1; bits < 0x7f80; bits++) {
            const uint16_t element = (uint16_t)bits;
            const double value = tly_float_load(dtypes[i], &element);
            char decimal[64];
            uint16_t back = 0;
            if (!isfinite(value)) {
                break;
            }
            const tly_digits d = tly_float_digits(dtypes[i], value);
            snprintf(decimal, sizeof decimal, "%c.%se%d", d.digit[0], d.digit + 1, d.exponent);
            tly_float_store(dtypes[i], strtod(decimal, NULL), &back);
            cr_assert_eq(back, element, "%x: %s", bits, decimal);
            snprintf(decimal, sizeof decimal, "%.*e", d.count - 2, value);
            tly_float_store(dtypes[i], strtod(decimal, NULL), &back);
            cr_assert(d.count == 1 || back != element, "%x: %s", bits, decimal);
        }
    }
}
