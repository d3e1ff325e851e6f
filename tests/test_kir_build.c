/* SPDX-License-Identifier: Apache-2.0 */
/* The builder of kernel IR and its folding. */
#include "must.h"

static const kir_type i64 = { KIR_I64, 1 }, i32x4 = { KIR_I32, 4 }, f32x4 = { KIR_F32, 4 };

Test(kir, builder_folds_and_shares)
{
    static struct text text;
    kir_builder *b = kir_begin("folds");
    kir_value a = kir_get(b, KIR_ARG_LENGTH), two = kir_int(b, 2);
    cr_assert_eq(kir_int(b, 2), two);
    cr_assert_eq(kir_const(b, i64, 2), two);
    cr_assert_eq(kir_const(b, KIR_TYPE(KIR_I8, 1), 0x1ff), kir_const(b, KIR_TYPE(KIR_I8, 1), 0xff));
    cr_assert_neq(kir_const(b, i32x4, 2), kir_const(b, f32x4, 2));
    cr_assert_neq(kir_iota(b, i32x4), kir_const(b, i32x4, 0));
    cr_assert_eq(kir_get(b, KIR_ARG_LENGTH), a);
    static const struct {
        kir_op op;
        int64_t x, y, result;
    } folded[] = {
        { KIR_ADD, INT64_MAX, 1, INT64_MIN },
        { KIR_SUB, 3, 5, -2 },
        { KIR_MUL, -3, 5, -15 },
        { KIR_UDIV, -1, 2, INT64_MAX },
        { KIR_AND, 12, 10, 8 },
        { KIR_OR, 12, 10, 14 },
        { KIR_XOR, 12, 10, 6 },
        { KIR_SHL, 3, 62, INT64_MIN | 1ll << 62 },
        { KIR_LSHR, -1, 63, 1 },
        { KIR_ASHR, -8, 2, -2 },
        { KIR_UMIN, -1, 7, 7 },
        { KIR_UMAX, -1, 7, -1 },
    };
    for (size_t i = 0; i < COUNT(folded); i++) {
        kir_value v = kir_bin(b, folded[i].op, kir_int(b, folded[i].x), kir_int(b, folded[i].y));
        cr_assert_eq(v, kir_int(b, folded[i].result), "%s", kir_op_text(folded[i].op));
    }
    kir_value zero = kir_int(b, 0), one = kir_int(b, 1);
    cr_assert_eq(kir_bin(b, KIR_ADD, a, zero), a);
    cr_assert_eq(kir_bin(b, KIR_ADD, zero, a), a);
    cr_assert_eq(kir_bin(b, KIR_SUB, a, zero), a);
    cr_assert_neq(kir_bin(b, KIR_SUB, zero, a), a);
    cr_assert_eq(kir_bin(b, KIR_MUL, one, a), a);
    cr_assert_neq(kir_bin(b, KIR_UDIV, one, zero), one); /* left to run time */
    kir_value vector = kir_splat(b, a, 3);
    cr_assert_eq(kir_bin(b, KIR_MUL, vector, kir_const(b, KIR_TYPE(KIR_I64, 3), 1)), vector);
    kir_value real = kir_const(b, KIR_TYPE(KIR_F32, 1), 0x3f800000);
    cr_assert_neq(kir_bin(b, KIR_ADD, real, kir_const(b, KIR_TYPE(KIR_F32, 1), 0)), real);
    cr_assert_eq(kir_splat(b, a, 1), a);
    cr_assert_eq(kir_extract(b, a, 0), a);
    kir_value in = kir_get(b, KIR_ARG_IN);
    cr_assert_eq(kir_ptradd(b, in, zero), in);
    kir_return(b, a);
    kir_kernel *k = must_finish(b);
    must_print(k, &text);
    cr_assert_null(strstr(text.bytes, "const -15"), "an unused constant stayed");
    must_round_trip(k);
    kir_free(k);
}

/* What takes tuples does to them what it would do to each part, in loops and branches, too; */
static kir_value all_of_parts(kir_builder *b, kir_value v, kir_value cond)
{
    static const uint8_t turned[] = { 3, 2, 1, 0 };
    kir_value x = kir_keep(b, kir_splat(b, v, 4));
    x = kir_shuffle(b, x, x, turned, 4);
    x = kir_insert(b, x, kir_select(b, cond, kir_extract(b, x, 2), v), 1);
    return kir_extract(b, x, 1);
}

Test(kir, tuples_are_their_parts)
{
    kir_builder *b = kir_begin("tuples");
    kir_value v[2] = { kir_get(b, KIR_ARG_LENGTH), kir_const(b, KIR_TYPE(KIR_I32, 1), 7) };
    kir_value cond = kir_cmp(b, KIR_EQ, v[0], kir_int(b, 5)), pair = kir_tuple(b, 2, v), next[2];
    cr_assert_eq(kir_parts(b, pair), 2);
    cr_assert_eq(kir_parts(b, v[1]), 1);
    cr_assert_eq(kir_tuple(b, 1, v), v[0]);
    cr_assert_eq(kir_part(b, v[1], 0), v[1]);
    cr_assert_eq(kir_part(b, pair, 1), v[1]);
    cr_assert_eq(kir_type_of(b, pair).kind, KIR_I64);
    cr_assert_eq(kir_splat(b, pair, 1), pair);
    kir_loop l;
    kir_value first[2] = { kir_int(b, 0), pair };
    kir_for(b, &l, kir_int(b, 0), v[0], kir_int(b, 1), 2, first);
    cr_assert_eq(kir_parts(b, l.carried[1]), 2);
    kir_value other = all_of_parts(b, l.carried[1], cond);
    kir_branch c;
    kir_if(b, &c, cond);
    kir_else(b, &c, 1, &other);
    v[0] = kir_bin(b, KIR_MUL, kir_part(b, other, 0), kir_int(b, 3));
    v[1] = kir_part(b, l.carried[1], 1);
    pair = kir_tuple(b, 2, v);
    kir_if_end(b, &c, 1, &pair);
    next[0] = kir_bin(b, KIR_ADD, l.carried[0], kir_part(b, c.result[0], 0));
    next[1] = c.result[0];
    kir_for_end(b, &l, next);
    kir_value wide = kir_convert(b, KIR_ZEXT, i64, kir_part(b, l.result[1], 1));
    kir_return(b, kir_bin(b, KIR_ADD, l.result[0], wide));
    kir_kernel *k = must_finish(b);
    must_round_trip(k);
    for (uint32_t i = 0; i < k->inst_count; i++)
        cr_assert(k->insts[i].op != KIR_FOR || k->insts[i].result_count == 3);
    tly_args args = { .length = 4 };
    tly_task task = { 0 };
    cr_assert_eq(must_run(k, &args, &task), 12 + 36 + 108 + 324 + 7);
    args.length = 5;
    cr_assert_eq(must_run(k, &args, &task), 5 * 5 + 7);
    kir_free(k);
}

/* An argument is read where first wanted, again only where that read is not visible. */
Test(kir, arguments_and_results_are_numbered_as_they_appear)
{
    static struct text text;
    kir_builder *b = kir_begin("order");
    kir_branch c;
    kir_value mode = kir_get(b, KIR_ARG_MODE);
    kir_if(b, &c, kir_cmp(b, KIR_EQ, mode, kir_int(b, 5)));
    kir_value then = kir_get(b, KIR_ARG_LENGTH);
    cr_assert_eq(kir_get(b, KIR_ARG_MODE), mode);
    kir_else(b, &c, 1, &then);
    kir_value other = kir_get(b, KIR_ARG_LENGTH);
    cr_assert_neq(then, other);
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), other, kir_int(b, 5), 1, &other);
    cr_assert_eq(kir_get(b, KIR_ARG_LENGTH), other);
    kir_value next = kir_bin(b, KIR_ADD, l.carried[0], l.i);
    kir_for_end(b, &l, &next);
    kir_if_end(b, &c, 1, &l.result[0]);
    kir_return(b, c.result[0]);
    kir_kernel *k = must_finish(b);
    must_print(k, &text);
    cr_assert_str_eq(text.bytes, "kernel order {\n"
                                 "  %1 : i64 = const 5\n"
                                 "  %2 : i64 = const 0\n"
                                 "  %3 : i64 = arg mode\n"
                                 "  %4 : i1 = cmp eq %3, %1\n"
                                 "  %5 : i64 = if %4 {\n"
                                 "    %6 : i64 = arg length\n"
                                 "    yield %6\n"
                                 "  } else {\n"
                                 "    %7 : i64 = arg length\n"
                                 "    %8 : i64 = for %9 = %2 to %7 step %1 with %10 : i64 = %7 {\n"
                                 "      %11 : i64 = add %10, %9\n"
                                 "      yield %11\n"
                                 "    }\n"
                                 "    yield %8\n"
                                 "  }\n"
                                 "  return %5\n"
                                 "}\n");
    must_round_trip(k);
    tly_args args = { .length = 11 };
    tly_task task = { .mode = 5 };
    cr_assert_eq(must_run(k, &args, &task), 11);
    task.mode = 0;
    cr_assert_eq(must_run(k, &args, &task), 11 + 0 + 5 + 10);
    kir_free(k);
}
