/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR to SPIR-V: every operation of every kind and number of lanes validates, in both forms
 * and with and without 64-bit integers; modules ask for what they use and no more; what has no
 * lowering is refused by name; the validator stands between a fault and the caller.
 */
#include <stdio.h>

#include <spirv/unified1/spirv.h>

#include "../codegen/spirv/spirv.h"
#include "../templates/stages/elementary.h"
#include "caps.h"
#include "must.h"

static const tly_caps everything = { TLY_ALL_SUBGROUPS, TLY_ALL_FEATURES };

typedef struct module {
    uint32_t *words;
    size_t count;
} module;

static const char *show(const module *m, uint32_t addresses)
{
    static struct text text;
    tally_error error = TALLY_ERROR_INIT;
    text.used = 0;
    cr_assert_eq(tly_spirv_show(m->words, m->count, addresses, gather, &text, &error), TALLY_OK,
                 "%s", error.message);
    return text.bytes;
}

static module must_lower(const kir_kernel *k, const tly_caps *caps, uint32_t addresses)
{
    tally_error error = TALLY_ERROR_INIT;
    module m = { 0 };
    tly_spirv_options options = { .caps = caps, .addresses = addresses };
    tally_status status = tly_spirv_lower(k, &options, &m.words, &m.count, &error);
    cr_assert_eq(status, TALLY_OK, "addresses %u, int64 %u: %s", addresses, caps->int64,
                 error.message);
    cr_assert_eq(m.words[1], addresses ? 0x10500u : 0x10300u);
    return m;
}

/* Both forms, with and without 64-bit integers; twice the same words. */
static void check_all_forms(kir_kernel *k)
{
    tly_caps caps = everything;
    for (uint32_t form = 0; form < 4; form++) {
        caps.int64 = form & 1;
        module m = must_lower(k, &caps, form >> 1), again = must_lower(k, &caps, form >> 1);
        cr_assert_eq(m.count, again.count);
        cr_assert_eq(memcmp(m.words, again.words, m.count * sizeof *m.words), 0);
        free(m.words);
        free(again.words);
    }
    kir_free(k);
}

/* ---- every operation ---- */

static kir_value at_local(kir_builder *b, kir_arg arg)
{
    kir_value bytes = kir_bin(b, KIR_SHL, kir_get_id(b, KIR_ID_LOCAL),
                              kir_const(b, KIR_TYPE(KIR_I32, 1), 5));
    return kir_ptradd(b, kir_get(b, arg), bytes);
}

static kir_value all_integer_ops(kir_builder *b, kir_type type, kir_value x, kir_value y)
{
    static const kir_op ops[] = { KIR_ADD, KIR_SUB,  KIR_MUL,  KIR_AND,  KIR_OR,
                                  KIR_XOR, KIR_UMIN, KIR_UMAX, KIR_SMIN, KIR_SMAX };
    static const kir_op shifts[] = { KIR_SHL, KIR_LSHR, KIR_ASHR };
    unsigned bits = kir_kind_bits((kir_kind)type.kind);
    const unsigned amounts[] = { 0, 1, bits / 2 - 1, bits / 2, bits / 2 + 1, bits - 1 };
    for (size_t i = 0; i < COUNT(ops); i++) {
        x = kir_bin(b, ops[i], x, y);
    }
    kir_value amount = kir_bin(b, KIR_AND, y, kir_const(b, type, bits - 1));
    for (size_t i = 0; i < COUNT(shifts); i++) {
        x = kir_bin(b, shifts[i], x, amount);
        for (size_t j = 0; j < COUNT(amounts); j++) {
            x = kir_bin(b, shifts[i], x, kir_const(b, type, amounts[j]));
        }
    }
    return kir_bin(b, KIR_ADD, x, kir_iota(b, type));
}

static kir_value all_float_ops(kir_builder *b, kir_type type, kir_value x, kir_value y)
{
    x = kir_bin(b, KIR_ADD, x, kir_bin(b, KIR_MUL, x, y));
    x = kir_bin(b, KIR_MINIMUM, x, kir_bin(b, KIR_MAXIMUM_NUMBER, x, y));
    x = kir_bin(b, KIR_MAXIMUM, y, kir_bin(b, KIR_MINIMUM_NUMBER, x, y));
    x = kir_unary(b, KIR_ROUND, kir_bin(b, KIR_MUL, y, kir_unary(b, KIR_FLOOR, x)));
    return kir_bin(b, KIR_SUB, x, kir_const(b, type, 1));
}

/* Lanes there and back, selects by one condition and by many, regions, neighbours. */
static kir_value all_moves(kir_builder *b, kir_type type, kir_value x, kir_value y, kir_value cond)
{
    static const uint8_t index[] = { 1, 0, 1, 0 };
    kir_value one = kir_extract(b, x, type.lanes - 1u);
    x = kir_insert(b, x, kir_extract(b, y, 0), type.lanes / 2);
    for (unsigned lanes = 1; lanes <= 4; lanes++) {
        kir_value shuffled = kir_shuffle(b, x, y, index, lanes);
        one = kir_select(b, cond, kir_extract(b, shuffled, lanes - 1), one);
    }
    kir_value lane = kir_get_id(b, KIR_ID_LANE);
    x = kir_select(b, cond, kir_splat(b, kir_from_lane(b, one, lane), type.lanes), x);
    kir_branch c;
    kir_if(b, &c, cond);
    kir_else(b, &c, 1, &x);
    kir_if_end(b, &c, 1, &y);
    kir_loop l;
    kir_value none = kir_const(b, KIR_TYPE(KIR_I32, 1), 0);
    kir_value hi = kir_get(b, KIR_ARG_LENGTH), step = kir_const(b, KIR_TYPE(KIR_I32, 1), 3);
    kir_value initial[2] = { c.result[0], kir_const(b, type, 0) };
    kir_for(b, &l, none, hi, step, 2, initial);
    kir_value next[2] = { l.carried[1], l.carried[0] };
    kir_for_end(b, &l, next);
    return kir_select(b, cond, l.result[0], l.result[1]);
}

static kir_value all_compares(kir_builder *b, kir_type type, kir_value x, kir_value y)
{
    int real = kir_is_float(type), first = real ? KIR_OEQ : KIR_EQ;
    int last = real ? KIR_UNO : KIR_ULE;
    kir_value all = 0;
    for (int pred = first; pred <= last; pred++) {
        kir_value one = kir_cmp(b, (kir_pred)pred, x, y);
        x = kir_select(b, one, x, y);
        all = all == 0 ? one : kir_bin(b, pred % 2 != 0 ? KIR_AND : KIR_XOR, all, one);
    }
    return kir_extract(b, kir_bin(b, KIR_OR, all, kir_const(b, kir_type_of(b, all), 1)), 0);
}

Test(kir, every_operation_of_every_kind_validates)
{
    for (int kind = KIR_I16; kind <= KIR_F64; kind++) {
        for (unsigned lanes = 1; lanes <= 4; lanes++) {
            kir_type type = KIR_TYPE(kind, lanes);
            unsigned bytes = kir_kind_bits((kir_kind)kind) / 8;
            kir_builder *b = kir_begin_workgroup("each", 64);
            kir_value in = at_local(b, KIR_ARG_IN), out = at_local(b, KIR_ARG_OUT);
            kir_value x = kir_load(b, type, in, 0, bytes), y = kir_load(b, type, in, 16, 16);
            kir_value cond = kir_const(b, KIR_TYPE(KIR_I1, 1), 1);
            if (kind != KIR_F16) {
                cond = all_compares(b, type, x, y);
                x = kir_is_float(type) ? all_float_ops(b, type, x, y)
                                       : all_integer_ops(b, type, x, y);
            }
            x = all_moves(b, type, x, y, cond);
            for (unsigned align = bytes; align <= 16; align *= 2) {
                kir_store(b, out, 64 - (int64_t)align, x, align, 0);
            }
            if (bytes >= 4) {
                kir_value mine = kir_shared(b, 4096);
                kir_store(b, mine, 0, x, bytes, 0);
                kir_barrier(b);
                kir_value local = kir_get_id(b, KIR_ID_LOCAL);
                x = kir_load(b, type, kir_ptradd(b, mine, local), 16, 4);
                kir_store(b, out, 0, x, 4, 0);
            }
            kir_return(b, kir_int(b, 0));
            check_all_forms(must_finish(b));
        }
    }
}

Test(kir, every_conversion_validates)
{
    static const kir_op ops[] = { KIR_ZEXT, KIR_SEXT, KIR_TRUNC, KIR_FPEXT, KIR_FPTRUNC };
    for (unsigned lanes = 1; lanes <= 4; lanes++) {
        kir_builder *b = kir_begin_workgroup("conversions", 64);
        kir_value in = at_local(b, KIR_ARG_IN), out = at_local(b, KIR_ARG_OUT);
        int made = 0;
        for (int from = KIR_I1; from <= KIR_F64; from++) {
            for (int to = KIR_I1; to <= KIR_F64; to++) {
                int integers = from <= KIR_I64 && to <= KIR_I64;
                kir_type source = KIR_TYPE(from == KIR_I1 ? KIR_I32 : from, lanes);
                if (from == KIR_I8 || to == KIR_I8) {
                    continue;
                }
                for (size_t i = 0; i < COUNT(ops); i++) {
                    if (ops[i] == KIR_TRUNC   ? !integers || to >= from
                        : i < 2               ? !integers || to <= from
                        : ops[i] == KIR_FPEXT ? from < KIR_F16 || to != from + 1
                                              : to < KIR_F16 || from != to + 1) {
                        continue;
                    }
                    kir_value x = kir_load(b, source, in, 0, 16);
                    x = from == KIR_I1 ? kir_cmp(b, KIR_NE, x, kir_const(b, source, 0)) : x;
                    x = kir_convert(b, ops[i], KIR_TYPE(to, lanes), x);
                    x = to == KIR_I1 ? kir_convert(b, KIR_ZEXT, source, x) : x;
                    kir_store(b, out, made++, x, 16, 0);
                }
            }
        }
        cr_assert_eq(made, 6 + 6 + 6 + 4);
        kir_return(b, kir_int(b, 0));
        check_all_forms(must_finish(b));
    }
}

Test(kir, every_conversion_of_numbers_validates)
{
    static const kir_kind pairs[][2] = { { KIR_I32, KIR_F32 },
                                         { KIR_I32, KIR_F64 },
                                         { KIR_I64, KIR_F64 } };
    for (unsigned lanes = 1; lanes <= 4; lanes++) {
        kir_builder *b = kir_begin_workgroup("numbers", 64);
        kir_value in = at_local(b, KIR_ARG_IN), out = at_local(b, KIR_ARG_OUT);
        for (size_t i = 0; i < COUNT(pairs); i++) {
            kir_type integer = KIR_TYPE(pairs[i][0], lanes), real = KIR_TYPE(pairs[i][1], lanes);
            kir_value x = kir_load(b, integer, in, 0, 16);
            x = kir_convert(b, KIR_FPTOSI, integer, kir_convert(b, KIR_SITOFP, real, x));
            x = kir_convert(b, KIR_FPTOUI, integer, kir_convert(b, KIR_UITOFP, real, x));
            kir_store(b, out, 32 * (int64_t)i, x, 16, 0);
        }
        kir_return(b, kir_int(b, 0));
        check_all_forms(must_finish(b));
    }
}

Test(kir, elementary_functions_validate)
{
    for (int kind = KIR_F32; kind <= KIR_F64; kind++) {
        for (unsigned lanes = 1; lanes <= 4; lanes += 3) {
            kir_builder *b = kir_begin_workgroup("elementary", 64);
            const tly_build c = { .b = b };
            kir_value in = at_local(b, KIR_ARG_IN), out = at_local(b, KIR_ARG_OUT);
            kir_value x = kir_load(b, KIR_TYPE(kind, lanes), in, 0, 16);
            x = tly_quotient(&c, tly_exp(&c, x), tly_root(&c, tly_log(&c, x)));
            kir_store(b, out, 0, x, 16, 0);
            kir_return(b, kir_int(b, 0));
            check_all_forms(must_finish(b));
        }
    }
}

Test(kir, every_bitcast_validates)
{
    kir_builder *b = kir_begin_workgroup("bitcasts", 64);
    kir_value in = at_local(b, KIR_ARG_IN), out = at_local(b, KIR_ARG_OUT);
    int made = 0;
    for (unsigned pair = 0; pair < 16 * KIR_PTR * KIR_PTR; pair++) {
        kir_type from = KIR_TYPE(pair / 16 / KIR_PTR, 1 + pair % 4);
        kir_type to = KIR_TYPE(pair / 16 % KIR_PTR, 1 + pair / 4 % 4);
        unsigned bits = kir_kind_bits((kir_kind)from.kind) * from.lanes;
        if (from.kind < KIR_I16 || to.kind < KIR_I16 ||
            bits != kir_kind_bits((kir_kind)to.kind) * to.lanes) {
            continue;
        }
        kir_value x = kir_load(b, from, in, 16 * made, 16);
        kir_store(b, out, 32 * made++, kir_convert(b, KIR_BITCAST, to, x), 16, 0);
    }
    kir_value zero = kir_const(b, KIR_TYPE(KIR_I16, 2), 7);
    kir_store(b, out, 0, kir_convert(b, KIR_BITCAST, KIR_TYPE(KIR_F32, 1), zero), 4, 0);
    kir_return(b, kir_int(b, 0));
    cr_assert_gt(made, 60);
    check_all_forms(must_finish(b));
}

static const char group[] = "kernel group workgroup 128 {\n"
                            "  %1 : i64 = const 0\n"
                            "  %2 : i64 = const 5\n"
                            "  %3 : i32 = const 4\n"
                            "  %4 : i32 = id group_x\n"
                            "  %5 : i32 = id group_y\n"
                            "  %6 : i32 = id local\n"
                            "  %7 : i32 = id subgroup\n"
                            "  %8 : i32 = id lane\n"
                            "  %9 : ptr = arg scratch\n"
                            "  %10 : i64 = arg in_axis\n"
                            "  %11 : i32 = arg out_axis\n"
                            "  %12 : i32 = arg outer_size1\n"
                            "  %13 : ptr = ptradd %9, %10\n"
                            "  %14 : ptr = ptradd %13, %11\n"
                            "  %15 : ptr = ptradd %14, %2\n"
                            "  %16 : i32 = atomic_add %15 + 4, %4\n"
                            "  %17 : i32 = atomic_load %15 - 4\n"
                            "  %18 : i32 = udiv %16, %17\n"
                            "  atomic_store %9, %18\n"
                            "  %19 : i32 = subgroup_scan_add %6\n"
                            "  %20 : i32 = subgroup_scan_mul %19\n"
                            "  %21 : i16 = trunc %20\n"
                            "  %22 : i16 = subgroup_scan_add %21\n"
                            "  %23 : i1 = cmp ult %8, %7\n"
                            "  %24 : i1 = subgroup_shuffle %23, %8\n"
                            "  %25 : i16 = subgroup_shuffle %22, %8\n"
                            "  %26 : i64 = subgroup_shuffle %10, %8\n"
                            "  %27 : f64 = bitcast %26\n"
                            "  %28 : f64 = subgroup_shuffle %27, %8\n"
                            "  %29 : wptr = shared 13\n"
                            "  %30 : wptr = ptradd %29, %3\n"
                            "  for %31 = %1 to %10 step %2 {\n"
                            "    for %32 = %3 to %12 step %3 {\n"
                            "      if %24 {\n"
                            "        store %30 - 4, %28, align 4\n"
                            "      }\n"
                            "    }\n"
                            "    barrier\n"
                            "    %33 : i64 = for %34 = %1 to %2 step %2 with %35 : i64 = %31 {\n"
                            "      yield %34\n"
                            "    }\n"
                            "    %36 : ptr = ptradd %9, %33\n"
                            "    store %36, %25, align 2\n"
                            "    store %36 - 5000000000, %5, align 4\n"
                            "    %37 : i32x4 = subgroup_ballot %24\n"
                            "    %38 : i32 = extract %37, 3\n"
                            "    store %36, %38, align 4\n"
                            "  }\n"
                            "  return %1\n"
                            "}\n";

Test(kir, groups_atomics_and_loops_validate)
{
    check_all_forms(must_parse(group));
}

static int count_of(const module *m, SpvOp op)
{
    int count = 0;
    for (size_t at = 5; at < m->count; at += m->words[at] >> SpvWordCountShift) {
        count += (m->words[at] & SpvOpCodeMask) == (uint32_t)op;
    }
    return count;
}

/* Where a driver counts trips, each of the kernel's loops leaves at its end as well (lower.c). */
Test(kir, loops_test_at_their_end_where_trips_are_counted)
{
    kir_kernel *k = must_parse(group);
    tly_caps caps = everything;
    int branches[2], loops = 0;
    for (int counts = 0; counts < 2; counts++) {
        caps.trip_limit = counts ? 65000 : 0;
        module m = must_lower(k, &caps, 0);
        branches[counts] = count_of(&m, SpvOpBranchConditional);
        loops = count_of(&m, SpvOpLoopMerge);
        free(m.words);
    }
    cr_expect_eq(loops, 3);
    cr_expect_eq(branches[1], branches[0] + loops);
    kir_free(k);
}

/* ---- what a module asks for ---- */

static const char copy[] = "  %1 : i64 = const 0\n"
                           "  %2 : i64 = const 8\n"
                           "  %3 : ptr = arg in\n"
                           "  %4 : ptr = arg out\n"
                           "  %5 : ptr = ptradd %3, %2\n"
                           "  %6 : %T = load %5, align %A\n"
                           "  store %4, %6, align %A\n"
                           "  return %1\n";

/* The copy above of a type; %T and %A filled in. */
static kir_kernel *copy_of(const char *type, const char *align)
{
    char source[1024] = "kernel copy workgroup 32 {\n";
    size_t used = strlen(source);
    for (const char *c = copy; *c != 0; c++) {
        if (c[0] == '%' && (c[1] == 'T' || c[1] == 'A')) {
            used += (size_t)sprintf(source + used, "%s", *++c == 'T' ? type : align);
        } else {
            source[used++] = *c;
        }
    }
    strcpy(source + used, "}\n");
    return must_parse(source);
}

/* Capabilities in order of declaration, as "1 11 ". */
static void capabilities(const module *m, char *text)
{
    for (size_t at = 5; m->words[at] == (2u << 16 | SpvOpCapability); at += 2) {
        text += sprintf(text, "%u ", m->words[at + 1]);
    }
}

Test(kir, modules_ask_for_what_they_use)
{
    static const struct {
        const char *type, *align;
        uint32_t addresses, int64;
        const char *capabilities;
    } cases[] = {
        { "i32", "4", 0, 1, "1 " },
        { "i32x4", "4", 0, 1, "1 " },
        { "f32x4", "16", 1, 1, "1 5347 " },
        { "i64", "8", 0, 0, "1 " },
        { "i64", "8", 0, 1, "1 11 " },
        { "f64x2", "8", 0, 1, "1 10 " },
        { "f16", "2", 0, 1, "1 4433 " },
        { "f16x2", "4", 0, 1, "1 " },
        { "i16x3", "8", 1, 0, "1 4433 5347 " },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[200] = "";
        tly_caps caps = everything;
        caps.int64 = cases[i].int64;
        kir_kernel *k = copy_of(cases[i].type, cases[i].align);
        module m = must_lower(k, &caps, cases[i].addresses);
        capabilities(&m, text);
        cr_assert_str_eq(text, cases[i].capabilities, "case %zu", i);
        free(m.words);
        kir_free(k);
    }
    char text[200] = "";
    kir_kernel *k = must_parse(group);
    module m = must_lower(k, &everything, 0);
    capabilities(&m, text);
    cr_assert_str_eq(text, "1 11 10 61 63 64 65 4433 ");
    free(m.words);
    kir_free(k);
}

static const char addition[] = "kernel add workgroup 32 {\n"
                               "  %1 : i64 = const 0\n"
                               "  %2 : ptr = arg in\n"
                               "  %3 : ptr = arg out\n"
                               "  %4 : f32 = load %2, align 4\n"
                               "  %5 : f32 = add %4, %4\n"
                               "  %6 : f64 = fpext %5\n"
                               "  store %3, %6, align 8\n"
                               "  return %1\n"
                               "}\n";

static int occurrences(const char *text, const char *of)
{
    int count = 0;
    for (; (text = strstr(text, of)) != NULL; text += strlen(of)) {
        count++;
    }
    return count;
}

Test(kir, float_controls_follow_the_device)
{
    static const struct {
        tly_caps caps; /* of these the float controls */
        const char *has[3];
        int modes; /* LocalSize included */
    } cases[] = {
        { { 0 }, { "LocalSize 32 1 1" }, 1 },
        { { .rte32 = 1, .rte64 = 1 }, { "RoundingModeRTE 32", "RoundingModeRTE 64" }, 3 },
        { { .rte32 = 1 }, { "RoundingModeRTE 32", "\"SPV_KHR_float_controls\"" }, 2 },
        { { .rte32 = 1, .rounding_together = 1 }, { "LocalSize" }, 1 },
        { { .rte32 = 1, .rte64 = 1, .rounding_together = 1 }, { "RoundingModeRTE 64" }, 3 },
        { { .denorm32 = 1, .preserve64 = 1, .denorm_together = 1 },
          { "SignedZeroInfNanPreserve 64" },
          2 },
        { { .denorm64 = 1, .preserve32 = 1, .rounding_together = 1 },
          { "DenormPreserve 64", "SignedZeroInfNanPreserve 32" },
          3 },
    };
    kir_kernel *k = must_parse(addition);
    for (size_t i = 0; i < COUNT(cases); i++) {
        tly_caps caps = cases[i].caps;
        caps.float64 = 1;
        module m = must_lower(k, &caps, 0);
        const char *text = show(&m, 0);
        cr_assert_eq(occurrences(text, "OpExecutionMode"), cases[i].modes, "case %zu\n%s", i, text);
        for (size_t j = 0; j < 3 && cases[i].has[j] != NULL; j++) {
            cr_assert_not_null(strstr(text, cases[i].has[j]), "case %zu: %s", i, cases[i].has[j]);
        }
        cr_assert_eq(occurrences(text, "NoContraction"), 1);
        free(m.words);
    }
    kir_free(k);
    k = copy_of("f32", "4"); /* moves, and computes nothing */
    module m = must_lower(k, &everything, 0);
    cr_assert_eq(occurrences(show(&m, 0), "OpExecutionMode"), 1);
    free(m.words);
    kir_free(k);
}

static const char halve[] = "kernel halve workgroup 32 {\n"
                            "  %1 : i64 = const 0\n"
                            "  %2 : ptr = arg in\n"
                            "  %3 : ptr = arg out\n"
                            "  %4 : f16x2 = load %2, align 4\n"
                            "  %5 : f32x2 = fpext %4\n"
                            "  %6 : f16x2 = fptrunc %5\n"
                            "  store %3, %6, align 4\n"
                            "  return %1\n"
                            "}\n";

/* f16 is converted where the device does it exactly, and the module says that it must; f16 that is
 * only moved asks for nothing. */
Test(kir, halves_are_converted_by_devices_that_do_it_exactly)
{
    static const char *const modes[] = { "DenormPreserve 16", "SignedZeroInfNanPreserve 16",
                                         "RoundingModeRTE 16" };
    tly_caps caps = { .half_exact = 1 }; /* and no mode of 32 bits */
    char text[200] = "";
    kir_kernel *k = must_parse(halve);
    module m = must_lower(k, &caps, 0);
    capabilities(&m, text);
    cr_assert_str_eq(text, "1 9 4464 4466 4467 ");
    const char *shown = show(&m, 0);
    for (size_t i = 0; i < COUNT(modes); i++) {
        cr_assert_not_null(strstr(shown, modes[i]), "%s\n%s", modes[i], shown);
    }
    cr_assert_eq(occurrences(shown, "OpExecutionMode"), 1 + (int)COUNT(modes));
    cr_assert_eq(occurrences(shown, "OpFConvert"), 4);
    cr_assert_str_eq(tly_spirv_lacks(m.words, m.count, &(tly_caps){ 0 }), "Float16");
    free(m.words);
    caps = everything;
    caps.denorm_together = caps.rounding_together = 1;
    m = must_lower(k, &caps, 0);
    cr_assert_eq(occurrences(show(&m, 0), "OpExecutionMode"), 1 + 2 * (int)COUNT(modes));
    free(m.words);
    kir_free(k);
    k = copy_of("f16x2", "4");
    m = must_lower(k, &everything, 0);
    cr_assert_eq(occurrences(show(&m, 0), "OpExecutionMode"), 1);
    cr_assert_eq(occurrences(show(&m, 0), "Float16"), 0);
    free(m.words);
    kir_free(k);
}

/* What a kernel does with its three buffers. */
static kir_kernel *writer_of(const char *body)
{
    char source[600];
    snprintf(source, sizeof source,
             "kernel writer workgroup 32 {\n"
             "  %%1 : i64 = const 0\n"
             "  %%2 : ptr = arg in\n"
             "  %%3 : ptr = arg out\n"
             "  %%4 : ptr = arg scratch\n"
             "  %%5 : i32 = load %%2, align 4\n"
             "  %%6 : i32 = load %%4, align 4\n"
             "  %%7 : i32x4 = load %%2 + 16, align 16\n"
             "%s  return %%1\n}\n",
             body);
    return must_parse(source);
}

/* A buffer that nothing writes says so, and that it is nobody else's: input and output may be one
 * memory, unless the problem forbids it. */
Test(kir, modules_say_what_is_only_read)
{
    static const struct {
        const char *body;
        uint32_t apart;
        const char *in, *scratch, *out; /* a letter a decoration; NULL: there is no such buffer */
    } cases[] = {
        { "  store %3, %5, align 4\n", 0, "NA", "NR", "A" },
        { "  store %3, %5, align 4\n", 1, "NR", "NR", "A" },
        { "  store %3, %7, align 4\n", 0, "NA", "NR", "A" },
        { "  %8 : i32 = atomic_add %3, %5\n", 0, "NA", "NR", "A" },
        { "  atomic_store %3, %5\n", 0, "NA", "NR", "A" },
        { "  %8 : i32 = atomic_load %3\n", 0, "NR", "NR", "NR" },
        { "  store %4 + 4, %5, align 4\n", 0, "NR", "A", NULL },
        { "  store %2 + 4, %6, align 4\n", 1, "A", "NR", NULL },
    };
    static const char *const meanings[] = { "NonWritable", "Aliased", "Restrict" };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const expected[] = { cases[i].in, cases[i].in, cases[i].scratch, cases[i].out };
        static const char *const names[] = { "in_u32", "in_uvec4", "scratch_u32", "out_u32" };
        kir_kernel *k = writer_of(cases[i].body);
        tly_spirv_options options = { .caps = &everything, .apart = cases[i].apart };
        module m = { 0 };
        cr_assert_eq(tly_spirv_lower(k, &options, &m.words, &m.count, NULL), TALLY_OK);
        const char *shown = show(&m, 0);
        for (size_t n = 0; n < COUNT(names); n++) {
            for (size_t d = 0; d < COUNT(meanings); d++) {
                char line[80];
                snprintf(line, sizeof line, "OpDecorate %%%s %s\n", names[n], meanings[d]);
                int wanted = expected[n] != NULL && strchr(expected[n], meanings[d][0]) != NULL;
                cr_expect_eq(occurrences(shown, line), wanted, "%s%s%s", cases[i].body, line,
                             shown);
            }
        }
        free(m.words);
        kir_free(k);
    }
}

/* Behind the scratch only states of a carry are stored. They may replace those of the tensor
 * before. */
Test(kir, modules_say_what_states_may_replace)
{
    static const char *const lines[] = { "OpDecorate %a_u32 Restrict\n",
                                         "OpDecorate %b_u32 Aliased\n",
                                         "OpDecorate %b_u32 NonWritable\n",
                                         "OpDecorate %c_u32 Aliased\n" };
    kir_kernel *k = must_parse("kernel states workgroup 32 {\n"
                               "  %1 : i64 = const 0\n"
                               "  %2 : ptr = arg a\n"
                               "  %3 : ptr = arg b\n"
                               "  %4 : ptr = arg c\n"
                               "  %5 : i32 = load %2, align 4\n"
                               "  %6 : i32 = load %3, align 4\n"
                               "  %7 : i32 = add %5, %6\n"
                               "  store %4, %7, align 4\n"
                               "  return %1\n}\n");
    module m = must_lower(k, &everything, 0);
    for (size_t i = 0; i < COUNT(lines); i++) {
        cr_expect_eq(occurrences(show(&m, 0), lines[i]), 1, "%s", lines[i]);
    }
    free(m.words);
    kir_free(k);
}

Test(kir, lines_lead_to_the_kernel)
{
    static struct text listing;
    kir_kernel *k = must_parse(addition);
    module m = { 0 };
    tly_spirv_options options = { .caps = &everything, .lines = 1 };
    cr_assert_eq(tly_spirv_lower(k, &options, &m.words, &m.count, NULL), TALLY_OK);
    const char *text = show(&m, 0);
    cr_assert_not_null(strstr(text, "OpString \"add.kir\""));
    const char *line = strstr(text, "OpFAdd"), *before = NULL;
    for (const char *at = text; (at = strstr(at, "OpLine")) != NULL && at < line; at++) {
        before = at;
    }
    cr_assert_not_null(before);
    int number = 0;
    cr_assert_eq(sscanf(before, "OpLine %*s %d", &number), 1);
    listing.used = 0;
    cr_assert_eq(kir_print(k, gather, &listing), TALLY_OK);
    const char *at = listing.bytes;
    for (int i = 1; i < number; i++) {
        at = strchr(at, '\n') + 1;
    }
    cr_assert_eq(strncmp(at, "  %5 : f32 = add", 16), 0, "line %d", number);
    cr_assert_not_null(strstr(text, "%v5 = OpFAdd"));
    free(m.words);
    m = must_lower(k, &everything, 0);
    cr_assert_eq(occurrences(show(&m, 0), "OpLine"), 0);
    cr_assert_not_null(strstr(show(&m, 0), "%in_offset"));
    cr_assert_eq(occurrences(show(&m, 0), "%v5"), 0);
    free(m.words);
    kir_free(k);
}

/* ---- refusals ---- */

static void check_refused(const char *body, const char *message, const tly_caps *caps)
{
    char source[1024];
    tally_error error = TALLY_ERROR_INIT;
    module m = { 0 };
    tly_spirv_options options = { .caps = caps };
    snprintf(source, sizeof source,
             "kernel refused workgroup 32 {\n  %%1 : i64 = const 0\n%s"
             "  return %%1\n}\n",
             body);
    kir_kernel *k = must_parse(source);
    for (options.addresses = 0; options.addresses < 2; options.addresses++) {
        tally_status status = tly_spirv_lower(k, &options, &m.words, &m.count, &error);
        cr_assert_eq(status, TALLY_INTERNAL, "%s", body);
        cr_assert_null(m.words);
        cr_assert_not_null(strstr(error.message, "kernel refused: "), "%s", error.message);
        cr_assert_not_null(strstr(error.message, message), "%s\n%s", error.message, body);
    }
    kir_free(k);
}

#define POINTERS "  %2 : ptr = arg in\n  %3 : ptr = arg out\n  %4 : i1 = const true\n"
#define SHARED "  %2 : wptr = shared 64\n"

Test(kir, what_has_no_lowering_is_refused)
{
    static const struct {
        const char *body, *message;
    } cases[] = {
        { "  %2 : i32x5 = iota\n",
          "%2 is i32x5: an i8 stands alone, and there are at most 4 lanes" },
        { "  %2 : i8x2 = iota\n", "%2 is i8x2" },
        { "  %2 : i8 = const 1\n  %3 : i8 = add %2, %2\n", "add of i8" },
        { POINTERS "  %5 : ptr = select %4, %2, %3\n", "select of a ptr" },
        { POINTERS "  %5 : ptr = if %4 {\n    yield %2\n  } else {\n    yield %3\n  }\n",
          "if with a ptr" },
        { POINTERS "  %5 : ptr = for %6 = %1 to %1 step %1 with %7 : ptr = %2 {\n    yield %3\n"
                   "  }\n",
          "for with a ptr" },
        { POINTERS "  %5 : i32 = load %2, align 2\n", "load of i32 by 2 bytes" },
        { POINTERS "  %5 : i16 = load %2, align 1\n", "load of i16 by 1 bytes" },
        { POINTERS "  store %2, %1, align 1\n", "store of i64 by 1 bytes" },
        { SHARED "  %3 : f16 = load %2, align 2\n", "load of f16 by 2 bytes in workgroup memory" },
        { SHARED "  %3 : i16x2 = load %2, align 4\n", "load of i16 by 4 bytes in workgroup" },
        { "  %2 : i64 = subgroup_scan_add %1\n", "subgroup_scan_add of i64" },
        { "  %2 : wptr = shared 4294967295\n", "4294967295 bytes" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_refused(cases[i].body, cases[i].message, &everything);
    }
    tly_caps inexact = everything;
    inexact.half_exact = 0;
    check_refused(POINTERS "  %5 : f16x2 = load %2, align 4\n  %6 : f32x2 = fpext %5\n",
                  "fpext of f16, which the device may convert inexactly", &inexact);
    check_refused(POINTERS "  %5 : f32 = load %2, align 4\n  %6 : f16 = fptrunc %5\n",
                  "fptrunc of f16, which the device", &inexact);
    kir_kernel *k = must_parse("kernel cpu {\n  %1 : i64 = const 0\n  return %1\n}\n");
    module m = { 0 };
    tly_spirv_options options = { .caps = &everything };
    cr_assert_eq(tly_spirv_lower(k, &options, &m.words, &m.count, NULL), TALLY_INTERNAL);
    kir_free(k);
}

#define LANE "  %2 : i32 = id lane\n"

Test(kir, lacking_capabilities_are_refused)
{
    static const struct {
        size_t field;
        const char *body, *message;
    } cases[] = {
        { offsetof(tly_caps, subgroup_ops), LANE, "capability GroupNonUniform, which" },
        { offsetof(tly_caps, float64),
          "  %2 : f64 = const 0x0000000000000000\n"
          "  %3 : f64 = add %2, %2\n",
          "capability Float64" },
        { offsetof(tly_caps, storage16),
          "  %2 : ptr = arg in\n"
          "  %3 : i16 = load %2, align 2\n",
          "capability StorageBuffer16BitAccess" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tly_caps caps = everything;
        memset((char *)&caps + cases[i].field, 0, sizeof(uint32_t));
        check_refused(cases[i].body, cases[i].message, &caps);
    }
    tly_caps caps = everything;
    caps.subgroup_ops = TLY_SUBGROUP_BASIC;
    check_refused(LANE "  %3 : i32 = subgroup_scan_add %2\n",
                  "capability GroupNonUniformArithmetic", &caps);
    check_refused(LANE "  %3 : i32 = subgroup_shuffle %2, %2\n",
                  "capability GroupNonUniformShuffle", &caps);
    check_refused(LANE "  %3 : i1 = cmp ult %2, %2\n  %4 : i32x4 = subgroup_ballot %3\n",
                  "capability GroupNonUniformBallot", &caps);
    kir_kernel *k = copy_of("i64", "8");
    module m = must_lower(k, &everything, 1);
    caps = everything;
    cr_assert_null(tly_spirv_lacks(m.words, m.count, &caps));
    caps.addresses = 0;
    cr_assert_str_eq(tly_spirv_lacks(m.words, m.count, &caps), "PhysicalStorageBufferAddresses");
    caps.int64 = 0;
    cr_assert_str_eq(tly_spirv_lacks(m.words, m.count, &caps), "Int64");
    m.words[6] = 9999;
    cr_assert_str_eq(tly_spirv_lacks(m.words, m.count, &everything), "unknown");
    cr_assert_null(tly_spirv_lacks(m.words, 3, &everything));
    free(m.words);
    kir_free(k);
}

/* Each word damaged in turn: never a crash, and most damage is seen. */
Test(kir, the_validator_sees_damage)
{
    tally_error error = TALLY_ERROR_INIT;
    kir_kernel *k = must_parse(addition);
    module m = must_lower(k, &everything, 0);
    size_t seen = 0, tried = 0;
    for (size_t at = 0; at < m.count; at += 5) {
        uint32_t word = m.words[at];
        m.words[at] ^= 3;
        seen += tly_spirv_validate(m.words, m.count, 0, "add", &error) == TALLY_INTERNAL;
        m.words[at] = word;
        tried++;
    }
    cr_assert_gt(seen, tried / 4);
    cr_assert_eq(tly_spirv_validate(m.words, m.count, 0, "add", &error), TALLY_OK);
    cr_assert_eq(tly_spirv_validate(m.words, m.count - 1, 0, "add", &error), TALLY_INTERNAL);
    cr_assert_not_null(strstr(error.message, "kernel add: word "), "%s", error.message);
    cr_assert_eq(tly_spirv_show(m.words, m.count, 0, refuse, NULL, &error), TALLY_IO);
    cr_assert_eq(tly_spirv_show(m.words, 3, 0, refuse, NULL, &error), TALLY_INTERNAL);
    free(m.words);
    kir_free(k);
}
