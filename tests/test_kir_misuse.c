/* SPDX-License-Identifier: Apache-2.0 */
/* What the builder of kernel IR is not to be used for. */
#include "must.h"

/* One way each to misuse the builder; every one is an internal error at the end, and no crash. */
static void misuse_none(kir_builder *b)
{
    kir_bin(b, KIR_ADD, 0, kir_int(b, 1));
}

static void misuse_types(kir_builder *b)
{
    kir_bin(b, KIR_ADD, kir_get(b, KIR_ARG_LENGTH), kir_const(b, KIR_TYPE(KIR_I32, 4), 1));
}

static void misuse_op(kir_builder *b)
{
    kir_bin(b, KIR_SELECT, kir_int(b, 1), kir_int(b, 1));
}

static void misuse_open(kir_builder *b)
{
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), 0, NULL);
}

static void misuse_crossed(kir_builder *b)
{
    kir_loop l;
    kir_branch c;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), 0, NULL);
    kir_if(b, &c, kir_const(b, KIR_TYPE(KIR_I1, 1), 1));
    kir_for_end(b, &l, NULL);
}

static void misuse_ended_twice(kir_builder *b)
{
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), 0, NULL);
    kir_for_end(b, &l, NULL);
    kir_for_end(b, &l, NULL);
}

static void misuse_else(kir_builder *b)
{
    kir_branch c;
    kir_value one = kir_int(b, 1);
    kir_if(b, &c, kir_const(b, KIR_TYPE(KIR_I1, 1), 1));
    kir_else(b, &c, 1, &one);
    kir_if_end(b, &c, 0, NULL);
}

static void misuse_scope(kir_builder *b)
{
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), 0, NULL);
    kir_for_end(b, &l, NULL);
    kir_bin(b, KIR_ADD, l.i, l.i);
}

static void misuse_align(kir_builder *b)
{
    kir_load(b, KIR_TYPE(KIR_F32, 4), kir_get(b, KIR_ARG_IN), 0, 1u << 16);
}

static void misuse_carried(kir_builder *b)
{
    kir_value many[KIR_MAX_CARRIED + 1];
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = kir_int(b, 1);
    }
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), COUNT(many), many);
    cr_assert_eq(l.i, 0);
    cr_assert_eq(l.result[0], 0);
}

static kir_value pair_of(kir_builder *b)
{
    kir_value v[2] = { kir_get(b, KIR_ARG_LENGTH), kir_const(b, KIR_TYPE(KIR_I32, 1), 7) };
    return kir_tuple(b, 2, v);
}

static void misuse_tuple_add(kir_builder *b)
{
    kir_bin(b, KIR_ADD, pair_of(b), kir_int(b, 1));
}

static void misuse_tuple_zero(kir_builder *b)
{
    kir_bin(b, KIR_ADD, pair_of(b), kir_int(b, 0));
}

static void misuse_tuple_store(kir_builder *b)
{
    kir_store(b, kir_get(b, KIR_ARG_OUT), 0, pair_of(b), 8, 0);
}

static void misuse_tuple_any(kir_builder *b)
{
    kir_value truth = kir_const(b, KIR_TYPE(KIR_I1, 1), 1), v[2] = { truth, truth };
    kir_any(b, kir_tuple(b, 2, v));
}

static void misuse_tuple_move(kir_builder *b)
{
    kir_value p = kir_get(b, KIR_ARG_IN), v[2] = { p, p };
    kir_ptradd(b, kir_tuple(b, 2, v), kir_int(b, 0));
}

static void misuse_tuple_condition(kir_builder *b)
{
    kir_select(b, pair_of(b), pair_of(b), pair_of(b));
}

static void misuse_tuple_mixed(kir_builder *b)
{
    kir_insert(b, kir_splat(b, pair_of(b), 4), kir_int(b, 1), 0);
}

static void misuse_tuple_of_tuples(kir_builder *b)
{
    kir_value pair = pair_of(b);
    kir_tuple(b, 1, &pair);
}

static void misuse_tuple_parts(kir_builder *b)
{
    kir_value one = kir_int(b, 1), v[KIR_MAX_PARTS + 1] = { one, one, one, one, one };
    kir_tuple(b, COUNT(v), v);
}

static void misuse_tuple_part(kir_builder *b)
{
    kir_part(b, pair_of(b), 2);
}

static void misuse_tuple_next(kir_builder *b)
{
    kir_value pair = pair_of(b), one = kir_int(b, 1);
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), one, one, 1, &pair);
    kir_for_end(b, &l, &one);
}

static void misuse_tuple_else(kir_builder *b)
{
    kir_value pair = pair_of(b), one = kir_int(b, 1);
    kir_branch c;
    kir_if(b, &c, kir_const(b, KIR_TYPE(KIR_I1, 1), 1));
    kir_else(b, &c, 1, &pair);
    kir_if_end(b, &c, 1, &one);
}

Test(kir, misuse_is_an_error_at_the_end)
{
    static const struct {
        void (*misuse)(kir_builder *b);
        const char *message;
    } cases[] = {
        { misuse_none, "kernel misused: add: operand 0 is no value" },
        { misuse_types, "instruction 3: add (%3 i64x1, %1 i32x4) : i64x1: operands and result" },
        { misuse_op, "select is no two-operand arithmetic" },
        { misuse_open, "return is the last" },
        { misuse_crossed, "for: ended where another region is the innermost" },
        { misuse_ended_twice, "for: ended where another region is the innermost" },
        { misuse_else, "both regions yield equally many values" },
        { misuse_scope, "an operand's region has ended" },
        { misuse_align, "align is a power of two" },
        { misuse_carried, "for: more than 40 values" },
        { misuse_tuple_add, "add: an operand is a tuple" },
        { misuse_tuple_zero, "add: an operand is a tuple" },
        { misuse_tuple_store, "store: operand 1 is a tuple" },
        { misuse_tuple_any, "any: an operand is a tuple" },
        { misuse_tuple_move, "ptradd: an operand is a tuple" },
        { misuse_tuple_condition, "select: operand 0 is of other parts than the rest" },
        { misuse_tuple_mixed, "insert: operand 1 is of other parts than the rest" },
        { misuse_tuple_of_tuples, "tuple: part 0 is no single value" },
        { misuse_tuple_parts, "tuple: parts are 1 to 4" },
        { misuse_tuple_part, "tuple: part 2 of 2" },
        { misuse_tuple_next, "for: a value's parts are not what they were before" },
        { misuse_tuple_else, "if: a value's parts are not what they were before" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tally_error error = TALLY_ERROR_INIT;
        kir_kernel *k = NULL;
        kir_builder *b = kir_begin("misused");
        cases[i].misuse(b);
        kir_return(b, kir_int(b, 0));
        cr_assert_eq(kir_finish(b, &k, &error), TALLY_INTERNAL, "case %zu", i);
        cr_assert_null(k);
        cr_assert_not_null(strstr(error.message, cases[i].message), "%zu: %s", i, error.message);
    }
    const char *names[] = { "", "1a", "a-b",
                            "a123456789a123456789a123456789a123456789a123456789a123456789abcd" };
    for (size_t i = 0; i < COUNT(names); i++) {
        kir_kernel *k = NULL;
        kir_builder *b = kir_begin(names[i]);
        cr_assert_eq(kir_int(b, 1), 0);
        cr_assert_eq(kir_finish(b, &k, NULL), TALLY_INTERNAL);
    }
    /* A builder that could not be had. */
    kir_kernel *k = NULL;
    kir_branch c;
    kir_if(NULL, &c, 1);
    kir_else(NULL, &c, 0, NULL);
    kir_if_end(NULL, &c, 0, NULL);
    kir_store(NULL, kir_get(NULL, KIR_ARG_OUT), 0, kir_splat(NULL, kir_int(NULL, 1), 4), 4, 0);
    cr_assert_eq(kir_ptradd(NULL, 1, 1) | kir_bin(NULL, KIR_ADD, 1, 1), 0);
    cr_assert_eq(kir_finish(NULL, &k, NULL), TALLY_OUT_OF_MEMORY);
}
