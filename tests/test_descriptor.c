/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors as structs: growth of the struct, rules that no word can break, resolving, names,
 * and how errors are filled. Rules that words can break are in test_word.c. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <tally.h>

#include "../runtime/descriptor/descriptor.h"
#include "../runtime/host/error.h"
#include "../runtime/problem/problem.h"

static tally_descriptor base(tally_op op)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    d.op = op;
    d.dtype = TALLY_F32;
    d.rank = 2;
    d.sizes[0] = 3;
    d.sizes[1] = 4;
    return d;
}

Test(descriptor, struct_growth)
{
    struct {
        tally_descriptor d;
        char tail[64];
    } newer = { .d = base(TALLY_CUMSUM) };
    newer.d.size = sizeof newer;
    tally_error e = TALLY_ERROR_INIT;
    cr_expect_eq(tally_descriptor_check(&newer.d, &e), TALLY_OK, "zero tail");
    newer.tail[63] = 1;
    cr_expect_eq(tally_descriptor_check(&newer.d, &e), TALLY_INVALID, "unknown tail");

    /* The missing tail is not read: it lies outside the allocation here. */
    size_t size = offsetof(tally_descriptor, out_strides);
    tally_descriptor *older = malloc(size);
    cr_assert_not_null(older);
    tally_descriptor d = base(TALLY_CUMSUM);
    d.size = size;
    memcpy(older, &d, size);
    tally_descriptor full;
    cr_expect_eq(tly_descriptor_resolve(older, &full, &e), TALLY_OK);
    cr_expect_eq(full.size, sizeof full);
    cr_expect_eq(full.out_strides[0], 4);
    free(older);

    static const size_t absurd[] = { 0, 4, 8, offsetof(tally_descriptor, sizes), SIZE_MAX };
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        d.size = absurd[i];
        cr_expect_eq(tally_descriptor_check(&d, &e), TALLY_INVALID, "size %zu", absurd[i]);
        cr_expect_str_eq(e.field, "usage");
    }
    cr_expect_eq(tally_descriptor_check(NULL, NULL), TALLY_INVALID);
}

/* One field set to one value. */
Test(descriptor, fields_out_of_range)
{
    static const struct {
        tally_op op;
        size_t offset;
        int32_t value;
        tally_status status;
        const char *field;
    } cases[] = {
#define FIELD(name) offsetof(tally_descriptor, name)
        { TALLY_CUMSUM, FIELD(op), 0, TALLY_INVALID, "op" },
        { TALLY_CUMSUM, FIELD(op), -1, TALLY_INVALID, "op" },
        { TALLY_CUMSUM, FIELD(op), TALLY_OP_COUNT, TALLY_INVALID, "op" },
        { TALLY_CUMSUM, FIELD(dtype), 0, TALLY_INVALID, "dtype" },
        { TALLY_CUMSUM, FIELD(dtype), -1, TALLY_INVALID, "dtype" },
        { TALLY_CUMSUM, FIELD(dtype), TALLY_DTYPE_COUNT, TALLY_INVALID, "dtype" },
        { TALLY_CUMSUM, FIELD(out_dtype), -1, TALLY_INVALID, "dtype" },
        { TALLY_CUMSUM, FIELD(out_dtype), TALLY_DTYPE_COUNT, TALLY_INVALID, "dtype" },
        { TALLY_CUMSUM, FIELD(out_dtype), TALLY_F64, TALLY_OK, NULL },
        { TALLY_CUMSUM, FIELD(acc), TALLY_F32, TALLY_OK, NULL },
        { TALLY_CUMSUM, FIELD(acc), TALLY_F64, TALLY_OK, NULL },
        { TALLY_CUMSUM, FIELD(acc), TALLY_I32, TALLY_INVALID, "acc" },
        { TALLY_MAX, FIELD(acc), TALLY_F32, TALLY_OK, NULL },
        { TALLY_MAX, FIELD(acc), TALLY_F64, TALLY_INVALID, "acc" },
        { TALLY_LOG_SUM, FIELD(acc), TALLY_F64, TALLY_INVALID, "acc" },
        { TALLY_SUM_SQUARE, FIELD(acc), TALLY_F64, TALLY_OK, NULL },
        { TALLY_CUMSUM, FIELD(order), 3, TALLY_INVALID, "order" },
        { TALLY_CUMSUM, FIELD(order), -1, TALLY_INVALID, "order" },
        { TALLY_CUMSUM, FIELD(flags), 1 << 7, TALLY_INVALID, "option" },
        { TALLY_CUMSUM, FIELD(flags), INT32_MIN, TALLY_INVALID, "option" },
        { TALLY_CUMSUM, FIELD(flags), TALLY_KEEPDIMS, TALLY_INVALID, "keepdims" },
        { TALLY_CUMSUM, FIELD(flags), TALLY_LAST, TALLY_INVALID, "last" },
        { TALLY_CUMSUM, FIELD(flags), TALLY_NAN_IGNORE, TALLY_INVALID, "nan" },
        { TALLY_SUM, FIELD(flags), TALLY_EXCLUSIVE, TALLY_INVALID, "exclusive" },
        { TALLY_SUM, FIELD(flags), TALLY_REVERSE, TALLY_INVALID, "reverse" },
        { TALLY_ARGMIN, FIELD(flags), TALLY_LAST | TALLY_NAN_IGNORE, TALLY_OK, NULL },
        { TALLY_CUMSUM, FIELD(rank), 0, TALLY_INVALID, "sizes" },
        { TALLY_CUMSUM, FIELD(rank), -1, TALLY_INVALID, "sizes" },
        { TALLY_CUMSUM, FIELD(rank), 9, TALLY_INVALID, "sizes" },
        { TALLY_SUM, FIELD(rank), 0, TALLY_OK, NULL },
        { TALLY_CUMSUM, FIELD(axis), 2, TALLY_INVALID, "axis" },
        { TALLY_CUMSUM, FIELD(axis), -3, TALLY_INVALID, "axis" },
        { TALLY_CUMSUM, FIELD(axis), INT32_MIN, TALLY_INVALID, "axis" },
        { TALLY_SUM, FIELD(axis), 1, TALLY_INVALID, "axis" },
        { TALLY_CUMSUM, FIELD(axes), 1, TALLY_INVALID, "axes" },
        { TALLY_CUMSUM, FIELD(axes_given), 1, TALLY_INVALID, "axes" },
        { TALLY_SUM, FIELD(axes), 1, TALLY_INVALID, "axes" },
        { TALLY_SUM, FIELD(axes_given), 2, TALLY_INVALID, "axes" },
        { TALLY_SUM, FIELD(axes_given), 1, TALLY_OK, NULL },
#undef FIELD
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_descriptor d = base(cases[i].op);
        memcpy((char *)&d + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        tally_error e = TALLY_ERROR_INIT;
        tally_status s = tally_descriptor_check(&d, &e);
        cr_expect_eq(s, cases[i].status, "case %zu: %s", i, e.message);
        if (cases[i].field != NULL) {
            cr_expect_str_eq(e.field, cases[i].field, "case %zu: %s", i, e.field);
        }
        cr_expect_eq(tally_descriptor_check(&d, NULL), cases[i].status);
    }
    tally_descriptor d = base(TALLY_SUM);
    d.axes_given = 1;
    d.axes = 4;
    cr_expect_eq(tally_descriptor_check(&d, NULL), TALLY_INVALID, "axis 2 of rank 2");
}

/* Output strides: which have distinct addresses by 2.2. */
Test(descriptor, distinct_output_addresses)
{
    static const struct {
        int64_t sizes[3], strides[3];
        tally_status status;
    } cases[] = {
        { { 2, 3, 4 }, { 12, 4, 1 }, TALLY_OK },
        { { 2, 3, 4 }, { 1, 2, 6 }, TALLY_OK },
        { { 2, 3, 4 }, { -12, 4, -1 }, TALLY_OK },
        { { 2, 3, 4 }, { 100, 5, 1 }, TALLY_OK },
        { { 2, 3, 4 }, { 12, 3, 1 }, TALLY_INVALID },
        { { 2, 3, 4 }, { 11, 4, 1 }, TALLY_INVALID },
        { { 2, 3, 4 }, { 12, 4, 0 }, TALLY_INVALID },
        { { 2, 3, 4 }, { 4, 4, 1 }, TALLY_INVALID },
        { { 2, 3, 4 }, { 4, -4, 1 }, TALLY_INVALID },
        { { 1, 3, 4 }, { 0, 4, 1 }, TALLY_OK },
        { { 1, 3, 1 }, { 1, 1, 1 }, TALLY_OK },
        { { 1, 3, 1 }, { INT64_MIN, 1, INT64_MAX }, TALLY_OK },
        { { 0, 3, 4 }, { 0, 0, 0 }, TALLY_OK },
        { { 2, 2, 1 }, { 3, 2, 1 }, TALLY_OK },
        /* Distinct in truth, but not by the rule. */
        { { 3, 2, 1 }, { 2, 3, 1 }, TALLY_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_descriptor d = base(TALLY_CUMSUM);
        d.rank = 3;
        d.flags = TALLY_OUT_STRIDES;
        memcpy(d.sizes, cases[i].sizes, sizeof cases[i].sizes);
        memcpy(d.out_strides, cases[i].strides, sizeof cases[i].strides);
        tally_error e = TALLY_ERROR_INIT;
        cr_expect_eq(tally_descriptor_check(&d, &e), cases[i].status, "case %zu: %s", i, e.message);
        if (cases[i].status != TALLY_OK) {
            cr_expect_str_eq(e.field, "out");
        }
    }
}

Test(descriptor, resolved)
{
    tally_descriptor d = base(TALLY_CUMSUM), full, again;
    d.dtype = TALLY_BF16;
    d.axis = -1;
    d.sizes[5] = -9; /* beyond the rank */
    d.in_strides[2] = 77;
    d.out_strides[7] = 78;
    cr_assert_eq(tly_descriptor_resolve(&d, &full, NULL), TALLY_OK);
    cr_expect_eq(full.axis, 1);
    cr_expect_eq(full.out_dtype, TALLY_BF16);
    cr_expect_eq(full.acc, TALLY_F32);
    cr_expect_eq(full.sizes[5], 0);
    cr_expect(full.in_strides[0] == 4 && full.in_strides[1] == 1 && full.in_offset == 0);
    cr_expect(full.out_strides[0] == 4 && full.out_strides[1] == 1);
    cr_expect(full.in_strides[2] == 0 && full.out_strides[7] == 0);
    d = full;
    tly_descriptor_shorten(&d);
    cr_assert_eq(tly_descriptor_resolve(&d, &again, NULL), TALLY_OK);
    cr_expect_eq(memcmp(&full, &again, sizeof full), 0, "resolving twice");

    d = base(TALLY_ARGMAX);
    cr_assert_eq(tly_descriptor_resolve(&d, &full, NULL), TALLY_OK);
    cr_expect_eq(full.out_dtype, TALLY_I64);
    cr_expect(full.axes == 3 && full.axes_given == 1);
    d = full;
    tly_descriptor_shorten(&d);
    cr_assert_eq(tly_descriptor_resolve(&d, &again, NULL), TALLY_OK);
    cr_expect_eq(memcmp(&full, &again, sizeof full), 0, "resolving twice");
}

/* What is set without its flag is refused, and not passed over; what lies beyond a tensor's rank is
 * no part of it. */
Test(descriptor, nothing_is_set_in_vain)
{
    static const struct {
        tally_op op;
        uint32_t flags;
        size_t offset;
        const char *field; /* NULL: it is right */
        const char *message, *hint;
    } cases[] = {
#define AT(member) offsetof(tally_descriptor, member)
        { TALLY_CUMSUM, 0, AT(in_strides[0]), "in",
          "in_strides[0] is 1, and flags lack TALLY_IN_STRIDES",
          "set TALLY_IN_STRIDES where in_strides and in_offset hold, or leave both zero" },
        { TALLY_CUMSUM, TALLY_OUT_STRIDES, AT(in_strides[1]), "in", "in_strides[1] is 1", "zero" },
        { TALLY_CUMSUM, 0, AT(in_offset), "in", "in_offset is 1, and flags lack TALLY_IN_STRIDES",
          "set TALLY_IN_STRIDES" },
        { TALLY_CUMSUM, 0, AT(out_strides[1]), "out",
          "out_strides[1] is 1, and flags lack TALLY_OUT_STRIDES", "set TALLY_OUT_STRIDES" },
        { TALLY_CUMSUM, TALLY_IN_STRIDES, AT(out_strides[0]), "out", "out_strides[0] is 1", "" },
        { TALLY_CUMSUM, 0, AT(out_offset), "out",
          "out_offset is 1, and flags lack TALLY_OUT_STRIDES", "out_strides and out_offset" },
        { TALLY_CUMSUM, TALLY_IN_STRIDES, AT(in_strides[0]), NULL, NULL, NULL },
        { TALLY_CUMSUM, TALLY_IN_STRIDES, AT(in_offset), NULL, NULL, NULL },
        { TALLY_CUMSUM, 0, AT(in_strides[2]), NULL, NULL, NULL },
        { TALLY_CUMSUM, 0, AT(out_strides[2]), NULL, NULL, NULL },
        { TALLY_CUMSUM, 0, AT(sizes[7]), NULL, NULL, NULL },
        { TALLY_SUM, 0, AT(out_strides[0]), NULL, NULL, NULL }, /* the result is one element */
        { TALLY_SUM, TALLY_KEEPDIMS, AT(out_strides[0]), "out", "out_strides[0] is 1", "" },
        { TALLY_SUM, 0, AT(out_offset), "out", "out_offset is 1", "" },
        { TALLY_SUM, 0, AT(in_strides[1]), "in", "in_strides[1] is 1", "" },
        { TALLY_SUM, 0, AT(axis), "axis", "axis is not an option of sum", "axes_given" },
        { TALLY_SUM, 0, AT(axes), "axes", "do not fit axes_given 0", "1 where axes holds" },
        { TALLY_CUMSUM, 0, AT(axes), "axes", "axes is not an option of cumsum", "one axis" },
        { TALLY_CUMSUM, 0, AT(axes_given), "axes", "axes is not an option", "one axis" },
#undef AT
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_descriptor d = base(cases[i].op);
        d.flags = cases[i].flags;
        if (d.flags & TALLY_OUT_STRIDES) {
            d.out_strides[0] = 4;
            d.out_strides[1] = 1;
        }
        ((char *)&d)[cases[i].offset] = 1; /* of little-endian integers of any width */
        tally_error e = TALLY_ERROR_INIT;
        const tally_status wanted = cases[i].field == NULL ? TALLY_OK : TALLY_INVALID;
        cr_expect_eq(tally_descriptor_check(&d, &e), wanted, "case %zu: %s", i, e.message);
        if (cases[i].field != NULL) {
            cr_expect_str_eq(e.field, cases[i].field, "case %zu: %s", i, e.field);
            cr_expect(strstr(e.message, cases[i].message) != NULL, "case %zu: %s", i, e.message);
            cr_expect(strstr(e.hint, cases[i].hint) != NULL, "case %zu: %s", i, e.hint);
        }
    }
    /* Open sizes hide nothing. */
    tally_descriptor d = base(TALLY_CUMSUM);
    d.sizes[0] = TALLY_OPEN_SIZE;
    d.in_strides[0] = 4;
    cr_expect_eq(tally_descriptor_check(&d, NULL), TALLY_INVALID);
}

/* The same function for structs and for words, with every size that a result can have. */
Test(descriptor, result)
{
    static const struct {
        const char *word;
        int32_t rank;
        int64_t sizes[4];
        tally_dtype dtype;
    } cases[] = {
        { "cumsum:f32:3x4:axis=0", 2, { 3, 4 }, TALLY_F32 },
        { "cumprod:bool>i64:2x0:axis=1,reverse", 2, { 2, 0 }, TALLY_I64 },
        { "cumsum:f16>f32:5:axis=0,out=-2@8", 1, { 5 }, TALLY_F32 },
        { "cummax:i8:?x4:axis=1", 2, { -1, 4 }, TALLY_I8 },
        { "sum:f32:scalar", 0, { 0 }, TALLY_F32 },
        { "sum:f32:3x4x5", 0, { 0 }, TALLY_F32 },
        { "sum:f32:3x4x5:keepdims", 3, { 1, 1, 1 }, TALLY_F32 },
        { "sum:i8>i32:3x4x5:axes=1", 2, { 3, 5 }, TALLY_I32 },
        { "sum:u8>u64:3x4x5:axes=0+2,keepdims", 3, { 1, 4, 1 }, TALLY_U64 },
        { "mean:bf16:3x4x5:axes=0+2", 1, { 4 }, TALLY_BF16 },
        { "max:bool:3x4:axes=none", 2, { 3, 4 }, TALLY_BOOL },
        { "max:bool:3x4:axes=none,keepdims", 2, { 3, 4 }, TALLY_BOOL },
        { "l2:f64:3x0x5:axes=1", 2, { 3, 5 }, TALLY_F64 },
        { "l2:f64:3x0x5:axes=2", 2, { 3, 0 }, TALLY_F64 },
        { "argmax:f32:3x4:axes=0", 1, { 4 }, TALLY_I64 },
        { "argmin:u8>u32:3x4:axes=1,keepdims", 2, { 3, 1 }, TALLY_U32 },
        { "sum:f32:?x4x?:axes=1+2", 1, { -1 }, TALLY_F32 },
        { "sum:f32:?x4x?:axes=2,keepdims", 3, { -1, 4, 1 }, TALLY_F32 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *word = cases[i].word;
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        tally_error e = TALLY_ERROR_INIT;
        int64_t sizes[TALLY_MAX_RANK];
        int32_t rank = -7;
        tally_dtype dtype = TALLY_DTYPE_COUNT;
        memset(sizes, 0x5a, sizeof sizes);
        cr_assert_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK, "%s: %s", word, e.message);
        cr_assert_eq(tally_descriptor_result(&d, &rank, sizes, &dtype, &e), TALLY_OK);
        cr_expect_eq(rank, cases[i].rank, "%s: rank %d", word, (int)rank);
        cr_expect_eq(dtype, cases[i].dtype, "%s: %s", word, tally_dtype_name(dtype));
        for (int k = 0; k < TALLY_MAX_RANK; k++) {
            cr_expect_eq(sizes[k], k < 4 ? cases[i].sizes[k] : 0, "%s: size %d", word, k);
        }
        cr_expect_eq(tally_descriptor_result(&d, NULL, NULL, NULL, NULL), TALLY_OK);
    }
    tally_descriptor d = base(TALLY_ARGMAX);
    int64_t sizes[TALLY_MAX_RANK] = { 77 };
    int32_t rank = 78;
    tally_dtype dtype = TALLY_BOOL;
    d.sizes[0] = 0;
    cr_expect_eq(tally_descriptor_result(&d, &rank, sizes, &dtype, NULL), TALLY_INVALID);
    cr_expect(rank == 78 && sizes[0] == 77 && dtype == TALLY_BOOL, "written on failure");
    cr_expect_eq(tally_descriptor_result(NULL, &rank, sizes, &dtype, NULL), TALLY_INVALID);
}

/* Bytes, from the pointer that is given to a run. */
Test(descriptor, extent)
{
    static const struct {
        const char *word;
        tally_extent in, out;
    } cases[] = {
        { "cumsum:f32:3x4:axis=0", { 0, 48 }, { 0, 48 } },
        { "cumsum:i8>i64:3x4:axis=0", { 0, 12 }, { 0, 96 } },
        { "cumsum:f64:5:axis=0,in=-1@4", { 0, 40 }, { 0, 40 } },
        { "cumsum:f64:5:axis=0,in=-1", { -32, 8 }, { 0, 40 } },
        { "cumsum:f64:5:axis=0,in=0@-3,out=-2", { -24, -16 }, { -64, 8 } },
        { "cumsum:f16:2x3:axis=1,in=10x-3@7,out=1x2@100", { 2, 36 }, { 200, 212 } },
        { "cumsum:f32:3x4:axis=1,out=8x2", { 0, 48 }, { 0, 92 } }, /* gaps */
        { "cumsum:f32:1x1:axis=1,in=999x-999@2", { 8, 12 }, { 0, 4 } },
        { "cumsum:f32:3x0:axis=0", { 0, 0 }, { 0, 0 } },
        { "cumsum:f32:3x0:axis=0,in=-7x5@9,out=1x-1@-9", { 0, 0 }, { 0, 0 } },
        { "sum:f32:3x4", { 0, 48 }, { 0, 4 } },
        { "sum:f32:scalar", { 0, 4 }, { 0, 4 } },
        { "sum:f32:3x4:axes=1,out=-2@1", { 0, 48 }, { -12, 8 } },
        { "sum:f32:3x4:axes=1,keepdims,out=2x77", { 0, 48 }, { 0, 20 } },
        { "sum:f32:3x0:axes=1", { 0, 0 }, { 0, 12 } }, /* made of nothing */
        { "sum:f32:3x0:axes=0", { 0, 0 }, { 0, 0 } },
        { "argmax:u8>u32:3x4:axes=0", { 0, 12 }, { 0, 16 } },
        { "cumsum:i8:9223372036854775807:axis=0", { 0, INT64_MAX }, { 0, INT64_MAX } },
        { "cumsum:i8:2:axis=0,in=-9223372036854775806@9223372036854775806",
          { 0, INT64_MAX },
          { 0, 2 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *word = cases[i].word;
        const tally_extent *wanted[] = { &cases[i].in, &cases[i].out };
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        tally_error e = TALLY_ERROR_INIT;
        tally_extent found[2] = { { 77, 77 }, { 77, 77 } };
        cr_assert_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK, "%s: %s", word, e.message);
        cr_assert_eq(tally_descriptor_extent(&d, &found[0], &found[1], &e), TALLY_OK);
        for (int k = 0; k < 2; k++) {
            cr_expect(found[k].low == wanted[k]->low && found[k].end == wanted[k]->end,
                      "%s, %s: [%lld, %lld)", word, k ? "out" : "in", (long long)found[k].low,
                      (long long)found[k].end);
        }
        cr_expect_eq(tally_descriptor_extent(&d, NULL, NULL, NULL), TALLY_OK);
    }
    static const struct {
        const char *field;
        int64_t size, stride, offset;
    } wrong[] = {
        { "sizes", TALLY_OPEN_SIZE, 0, 0 }, { "sizes", -2, 0, 0 },
        { "sizes", INT64_MAX / 2, 0, 0 },   { "in", 3, INT64_MAX / 4, 0 },
        { "in", 3, 1, INT64_MAX / 4 },      { "in", 3, INT64_MIN / 8, INT64_MIN / 8 },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tally_descriptor d = base(TALLY_CUMSUM);
        tally_extent in = { 77, 78 }, out = { 79, 80 };
        tally_error e = TALLY_ERROR_INIT;
        d.rank = 1;
        d.sizes[0] = wrong[i].size;
        d.in_strides[0] = wrong[i].stride;
        d.in_offset = wrong[i].offset;
        d.flags = wrong[i].stride != 0 ? TALLY_IN_STRIDES : 0;
        cr_expect_eq(tally_descriptor_extent(&d, &in, &out, &e), TALLY_INVALID, "case %zu", i);
        cr_expect_str_eq(e.field, wrong[i].field, "case %zu: %s", i, e.message);
        cr_expect(in.low == 77 && in.end == 78 && out.low == 79 && out.end == 80, "written");
    }
    cr_expect_eq(tally_descriptor_extent(NULL, NULL, NULL, NULL), TALLY_INVALID);
}

Test(descriptor, scans_and_reductions)
{
    int scans = 0;
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        tally_descriptor d = base((tally_op)op);
        const int is_scan = tally_op_is_scan((tally_op)op);
        scans += is_scan;
        strcpy(d.coef, op == TALLY_LINREC ? "x" : "");
        /* One has an axis, and names begin alike; the other has axes. */
        cr_expect_eq(strncmp(tally_op_name((tally_op)op), "cum", 3) == 0 || op == TALLY_LINREC,
                     is_scan);
        d.axis = 1;
        cr_expect_eq(tally_descriptor_check(&d, NULL), is_scan ? TALLY_OK : TALLY_INVALID);
        d.axis = 0;
        d.axes_given = 1;
        cr_expect_eq(tally_descriptor_check(&d, NULL), is_scan ? TALLY_INVALID : TALLY_OK);
    }
    cr_expect(scans >= 5 && scans < TALLY_OP_COUNT - 1);
    cr_expect_eq(tally_op_is_scan(TALLY_OP_NONE), 0);
    cr_expect_eq(tally_op_is_scan(TALLY_OP_COUNT), 0);
    cr_expect_eq(tally_op_is_scan((tally_op)-1), 0);
}

Test(descriptor, accumulators_and_names)
{
    static const struct {
        tally_dtype dtype;
        const char *name;
        size_t bytes;
        tally_dtype acc, wide;
    } rows[] = {
        { TALLY_F64, "f64", 8, TALLY_F64, TALLY_F64 },
        { TALLY_F32, "f32", 4, TALLY_F32, TALLY_F64 },
        { TALLY_F16, "f16", 2, TALLY_F32, TALLY_F64 },
        { TALLY_BF16, "bf16", 2, TALLY_F32, TALLY_F64 },
        { TALLY_I64, "i64", 8, TALLY_I64, 0 },
        { TALLY_I32, "i32", 4, TALLY_I32, 0 },
        { TALLY_I16, "i16", 2, TALLY_I16, 0 },
        { TALLY_I8, "i8", 1, TALLY_I8, 0 },
        { TALLY_U64, "u64", 8, TALLY_U64, 0 },
        { TALLY_U32, "u32", 4, TALLY_U32, 0 },
        { TALLY_U16, "u16", 2, TALLY_U16, 0 },
        { TALLY_U8, "u8", 1, TALLY_U8, 0 },
        { TALLY_BOOL, "bool", 1, TALLY_BOOL, 0 },
    };
    cr_expect_eq(sizeof rows / sizeof rows[0], TALLY_DTYPE_COUNT - 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tally_descriptor d = base(TALLY_CUMSUM);
        d.dtype = rows[i].dtype;
        cr_expect_str_eq(tally_dtype_name(rows[i].dtype), rows[i].name);
        cr_expect_eq(tally_dtype_bytes(rows[i].dtype), rows[i].bytes);
        cr_expect_eq(tly_accumulator(&d), rows[i].acc, "%s", rows[i].name);
        d.acc = TALLY_F64;
        cr_expect_eq(tally_descriptor_check(&d, NULL), rows[i].wide ? TALLY_OK : TALLY_INVALID);
        if (rows[i].wide) {
            cr_expect_eq(tly_accumulator(&d), rows[i].wide, "%s", rows[i].name);
        }
    }
    cr_expect_null(tally_dtype_name(TALLY_DTYPE_NONE));
    cr_expect_null(tally_dtype_name(TALLY_DTYPE_COUNT));
    cr_expect_null(tally_dtype_name((tally_dtype)-1));
    cr_expect_eq(tally_dtype_bytes(TALLY_DTYPE_COUNT), 0u);
    cr_expect_str_eq(tally_op_name(TALLY_CUMLOGSUMEXP), "cumlogsumexp");
    cr_expect_null(tally_op_name(TALLY_OP_NONE));
    cr_expect_null(tally_op_name(TALLY_OP_COUNT));
    cr_expect_str_eq(tally_status_name(TALLY_OK), "TALLY_OK");
    cr_expect_str_eq(tally_status_name(TALLY_INTERNAL), "TALLY_INTERNAL");
    cr_expect_not_null(tally_status_name((tally_status)1));
    cr_expect_not_null(tally_status_name((tally_status)-99));
    cr_expect(strlen(tally_version()) >= 5);
}

Test(descriptor, errors_respect_the_callers_struct)
{
    tally_error e = TALLY_ERROR_INIT;
    char text[600];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    text[3] = '\n';
    cr_expect_eq(tly_fail(&e, TALLY_IO, "a-field-that-is-long", "%s", text), TALLY_IO);
    tly_error_hint(&e, "%s", text);
    tly_error_position(&e, 9);
    cr_expect_eq(e.status, TALLY_IO);
    cr_expect_eq(e.position, 9);
    cr_expect_eq(strlen(e.field), sizeof e.field - 1);
    cr_expect_eq(strlen(e.message), sizeof e.message - 1);
    cr_expect_eq(strlen(e.hint), sizeof e.hint - 1);
    cr_expect(strncmp(e.message, "xxx\\x0axxx", 10) == 0, "one line: %.10s", e.message);
    tly_fail(&e, TALLY_INVALID, e.field, "was: %.10s", e.message);
    cr_expect_str_eq(e.message, "was: xxx\\x0axxx");
    cr_expect(e.position == 0 && e.hint[0] == 0, "left from the failure before");

    /* What a hint is in a word lasts as long as the hint, and goes where the error goes. */
    tly_error_word(&e, "%s>i64", "i8");
    tally_error copy = TALLY_ERROR_INIT;
    cr_expect_eq(tly_error_pass(&copy, &e), TALLY_INVALID);
    tly_error_where(&copy, "somewhere");
    cr_expect_str_eq(copy.word, "i8>i64");
    tly_error_word(&e, "%s", text);
    cr_expect_eq(strlen(e.word), sizeof e.word - 1);
    tly_fail(&e, TALLY_INVALID, "dtype", "another");
    cr_expect_eq(e.word[0], 0);

    /* A hint that is too long ends with a whole word. */
    memset(text, 'x', sizeof text - 1);
    text[105] = ' ';
    tly_error_hint(&e, "%s", text);
    cr_expect_eq(strlen(e.hint), 109);
    cr_expect_str_eq(e.hint + 104, "x ...");

    /* Without a blank it is cut behind a character, whether these begin at odd bytes or at even
     * ones. */
    for (size_t first = 0; first < 2; first++) {
        for (size_t i = first; i + 1 < sizeof text; i++) {
            text[i] = "\xc3\xa9"[(i - first) % 2];
        }
        tly_error_hint(&e, "%s", text);
        const char *end = strstr(e.hint, " ...");
        cr_assert(end != NULL && end > e.hint && end[4] == 0, "%s", e.hint);
        cr_expect_eq((unsigned char)end[-1], 0xa9, "%s", e.hint);
    }

    /* An older struct, without word, then without hint, then without message. */
    static const size_t sizes[] = { offsetof(tally_error, word), offsetof(tally_error, hint),
                                    offsetof(tally_error, message), offsetof(tally_error, status),
                                    0 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tally_error old;
        memset(&old, 0x5a, sizeof old);
        old.size = sizes[i];
        tly_fail(&old, TALLY_IO, "file", "%s", "message");
        tly_error_hint(&old, "hint");
        tly_error_word(&old, "word");
        tly_error_where(&old, "where");
        for (size_t b = sizes[i] > sizeof old.size ? sizes[i] : sizeof old.size; b < sizeof old;
             b++) {
            cr_assert_eq(((const char *)&old)[b], 0x5a, "byte %zu of %zu", b, sizes[i]);
        }
    }
    cr_expect_eq(tly_fail(NULL, TALLY_BUSY, "usage", "nobody listens"), TALLY_BUSY);
    tly_error_hint(NULL, "nobody");
    tly_error_position(NULL, 1);
    cr_expect_eq(tly_out_of_memory(&e, "a kernel", 12), TALLY_OUT_OF_MEMORY);
    cr_expect_str_eq(e.field, "memory");
}
