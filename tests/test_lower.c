/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operation of kernel IR, for every kind and a range of lanes, compiled for all levels; run
 * where this machine (or an emulator, for AArch64 and RISC-V) can, and compared with the
 * interpreter.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/shared/native.h"
#include "../runtime/launch/load.h"
#include "remote.h"
#include "splitmix.h"

const tly_native *tally_llvm_native(void);

enum { SLOT = 512, SLOTS = 200, INPUTS = 4, GUARD = 512 };

/* A kernel in the making: it writes each result to a slot of its own. */
typedef struct subject {
    kir_builder *b;
    kir_value in, out;
    unsigned lanes, slots;
    struct {
        char name[32];
        kir_kind kind; /* how to compare */
    } slot[SLOTS];
} subject;

static subject begin(void)
{
    subject s = { .b = kir_begin("subject") };
    s.in = kir_get(s.b, KIR_ARG_IN);
    s.out = kir_get(s.b, KIR_ARG_OUT);
    return s;
}

static kir_kernel *finish(subject *s)
{
    tally_error error = TALLY_ERROR_INIT;
    kir_kernel *kernel = NULL;
    kir_return(s->b, kir_int(s->b, (int64_t)s->slots));
    tally_status status = kir_finish(s->b, &kernel, &error);
    cr_assert_eq(status, TALLY_OK, "%s", error.message);
    return kernel;
}

/* Names the next slot. */
static int64_t claim(subject *s, const char *name, kir_kind kind)
{
    cr_assert_lt(s->slots, SLOTS);
    snprintf(s->slot[s->slots].name, sizeof s->slot->name, "%s", name);
    s->slot[s->slots].kind = kind;
    return (int64_t)s->slots++ * SLOT;
}

/* i1 has no place in memory: it is seen as i8. */
static void put(subject *s, const char *name, kir_value v)
{
    const kir_type type = kir_type_of(s->b, v);
    if (type.kind == KIR_I1) {
        v = kir_convert(s->b, KIR_ZEXT, KIR_TYPE(KIR_I8, type.lanes), v);
    }
    const kir_kind kind = (kir_kind)kir_type_of(s->b, v).kind;
    kir_store(s->b, s->out, claim(s, name, kind), v, kir_kind_bits(kind) / 8, 0);
}

/* ---- what is run ---- */

static _Alignas(64) unsigned char input[INPUTS * SLOT];
static _Alignas(64) unsigned char wanted[SLOTS * SLOT + 2 * GUARD];
static _Alignas(64) unsigned char given[SLOTS * SLOT + 2 * GUARD];

static uint64_t state = 1;

static uint64_t draw(void)
{
    return tly_splitmix(&state);
}

/* Half arbitrary bits, half what floats are tried by; every width sees patterns of its own. */
static void fill_input(unsigned bytes)
{
    static const uint64_t special[4][8] = {
        { 0, 0x80, 0x7f, 0xff, 1, 0xfe, 2, 0x81 },
        { 0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 1, 0x3c00, 0x7bff },
        { 0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x3f800000, 0x477ff000 },
        { 0, UINT64_C(0x8000000000000000), UINT64_C(0x7ff0000000000000),
          UINT64_C(0xfff0000000000000), UINT64_C(0x7ff8000000000000), 1,
          UINT64_C(0x3ff0000000000000), UINT64_C(0x47efffffe0000001) },
    };
    const int row = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    for (size_t at = 0; at < sizeof input; at += bytes) {
        uint64_t bits = draw();
        if (bits & 1) {
            bits = special[row][bits >> 1 & 7];
        } else if (bits & 2 && bytes >= 4) { /* moderate floats, so that sums round */
            const uint64_t one = bytes == 4 ? 0x3f000000 : UINT64_C(0x3ff0000000000000);
            bits = one | bits >> (bytes == 4 ? 39 : 12);
        } else if (bits & 4 && bytes == 4) { /* what rounds, or is subnormal, as f16 */
            bits = 0x33000000 + (bits >> 40) % 0x14000000;
        }
        memcpy(input + at, &bits, bytes);
    }
}

static int is_nan(kir_kind kind, uint64_t bits)
{
    switch (kind) {
    case KIR_F16:
        return (bits & 0x7fff) > 0x7c00;
    case KIR_F32:
        return (bits & 0x7fffffff) > 0x7f800000;
    case KIR_F64:
        return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    default:
        return 0;
    }
}

/* All NaNs are equal. The guards hold what they held. */
static void compare(const subject *s, const char *level, const char *about)
{
    cr_assert_eq(memcmp(wanted, given, GUARD), 0, "%s %s: wrote in front", level, about);
    for (unsigned i = 0; i < s->slots; i++) {
        const kir_kind kind = s->slot[i].kind;
        const unsigned bytes = kir_kind_bits(kind) / 8;
        for (unsigned at = 0; at < SLOT; at += bytes) {
            uint64_t want = 0, got = 0;
            memcpy(&want, wanted + GUARD + i * SLOT + at, bytes);
            memcpy(&got, given + GUARD + i * SLOT + at, bytes);
            cr_assert(want == got || (is_nan(kind, want) && is_nan(kind, got)),
                      "%s %s: %s, lane %u: %llx is not %llx", level, about, s->slot[i].name,
                      at / bytes, (unsigned long long)got, (unsigned long long)want);
        }
    }
    const size_t end = GUARD + s->slots * SLOT;
    cr_assert_eq(memcmp(wanted + end, given + end, sizeof given - end), 0, "%s %s: wrote behind",
                 level, about);
}

static int runs_here(const char *level)
{
#if defined(__x86_64__)
    return strcmp(level, "x86-64-v2") == 0 ? __builtin_cpu_supports("sse4.2")
           : strcmp(level, "x86-64-v3") == 0
               ? __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")
           : strcmp(level, "x86-64-v4") == 0
               ? __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               : 0;
#else
    return strcmp(level, "aarch64") == 0;
#endif
}

static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "riscv64" };
enum { LEVELS = sizeof levels / sizeof *levels };
static remote *remotes[LEVELS]; /* NULL where there is none */

static void prepare(void)
{
    for (size_t i = 0; i < LEVELS; i++) {
        remotes[i] = remote_open_level(levels[i]);
    }
}

static void give_up(void)
{
    for (size_t i = 0; i < LEVELS; i++) {
        remote_close(remotes[i]);
    }
}

static void run_native(const unsigned char *code, size_t bytes, const tly_args *args,
                       const tly_task *task, int64_t *result)
{
    tly_code loaded;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tly_code_load(code, bytes, &loaded, &error), TALLY_OK, "%s", error.message);
    *result = loaded.entry(args, task);
    tly_code_unload(&loaded);
}

static void run_remotely(remote *r, const unsigned char *code, size_t bytes, const tly_args *args,
                         const tly_task *task, int64_t *result)
{
    const remote_region regions[] = { { input, sizeof input }, { given, sizeof given } };
    cr_assert_eq(remote_run(r, code, bytes, args, task, 1, regions, 2, result, NULL), REMOTE_OK);
}

static int has_f16(const char *level)
{
    return tly_target_find(level)->has_f16;
}

/* Where lanes are scalars, many of them show no more than a few, and take long to compile. */
static unsigned most_lanes(const char *level)
{
    return strcmp(level, "riscv64") == 0 ? 3 : UINT_MAX;
}

/* Compiles for every level that `allowed` (NULL: all) lets pass, runs, compares. */
static void check(const subject *s, kir_kernel *kernel, const char *about,
                  int (*allowed)(const char *level))
{
    tly_args args = { .tensor[TLY_IN].base = (char *)input,
                      .tensor[TLY_OUT].base = (char *)wanted + GUARD,
                      .length = 3,
                      .inner = 1000,
                      .outer_rank = 2,
                      .outer_size = { 11, 22, 33 },
                      .tensor[TLY_IN].outer = { 44, 55, 66 },
                      .tensor[TLY_OUT].outer = { 77, 88, 99 } };
    const tly_task task = { .begin = -5, .end = 7, .mode = 2 };
    tally_error error = TALLY_ERROR_INIT;
    int64_t want, got;
    memset(wanted, 0xa5, sizeof wanted);
    cr_assert_eq(kir_interpret(kernel, &args, &task, NULL, &want, &error), TALLY_OK, "%s: %s",
                 about, error.message);
    args.tensor[TLY_OUT].base = (char *)given + GUARD;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if ((allowed != NULL && !allowed(levels[i])) || s->lanes > most_lanes(levels[i])) {
            continue;
        }
        unsigned char *code;
        size_t bytes;
        cr_assert_eq(
            tally_llvm_native()->compile(kernel, tly_target_find(levels[i]), &code, &bytes, &error),
            TALLY_OK, "%s %s: %s", levels[i], about, error.message);
        if (remotes[i] != NULL || runs_here(levels[i])) {
            memset(given, 0xa5, sizeof given);
            if (remotes[i] != NULL) {
                run_remotely(remotes[i], code, bytes, &args, &task, &got);
            } else {
                run_native(code, bytes, &args, &task, &got);
            }
            cr_assert_eq(got, want, "%s %s: result %lld", levels[i], about, (long long)got);
            compare(s, levels[i], about);
        }
        free(code);
    }
    kir_free(kernel);
}

/* ---- operations ---- */

static const kir_kind all_kinds[] = {
    KIR_I8, KIR_I16, KIR_I32, KIR_I64, KIR_F16, KIR_F32, KIR_F64
};

/* Of floats: what is arithmetic of theirs alone, and what they are as integers, near every border
 * of those by way of the scales. */
static void put_reals(subject *s, kir_type type, kir_value x, kir_value y)
{
    static const kir_op binary[] = { KIR_DIV, KIR_MINIMUM, KIR_MAXIMUM, KIR_MINIMUM_NUMBER,
                                     KIR_MAXIMUM_NUMBER };
    static const kir_op unary[] = { KIR_SQRT, KIR_ROUND, KIR_FLOOR };
    static const unsigned scales[] = { 1, 31, 32, 63, 64 };
    for (size_t i = 0; i < sizeof binary / sizeof binary[0]; i++) {
        put(s, kir_op_text(binary[i]), kir_bin(s->b, binary[i], x, y));
    }
    for (size_t n = 0; n < sizeof scales / sizeof scales[0]; n++) {
        const uint64_t scale = type.kind == KIR_F32 ? (uint64_t)(127 + scales[n]) << 23
                                                    : (uint64_t)(1023 + scales[n]) << 52;
        kir_value v = kir_bin(s->b, KIR_MUL, x, kir_const(s->b, type, scale));
        for (size_t i = 0; i < sizeof unary / sizeof unary[0]; i++) {
            put(s, kir_op_text(unary[i]), kir_unary(s->b, unary[i], v));
        }
        for (kir_kind kind = KIR_I32; kind <= (type.kind == KIR_F32 ? KIR_I32 : KIR_I64); kind++) {
            put(s, "fptosi", kir_convert(s->b, KIR_FPTOSI, KIR_TYPE(kind, type.lanes), v));
            put(s, "fptoui", kir_convert(s->b, KIR_FPTOUI, KIR_TYPE(kind, type.lanes), v));
        }
    }
}

static void put_integers_as_reals(subject *s, kir_type type, kir_value x)
{
    for (kir_kind kind = type.kind == KIR_I32 ? KIR_F32 : KIR_F64; kind <= KIR_F64; kind++) {
        put(s, "sitofp", kir_convert(s->b, KIR_SITOFP, KIR_TYPE(kind, type.lanes), x));
        put(s, "uitofp", kir_convert(s->b, KIR_UITOFP, KIR_TYPE(kind, type.lanes), x));
    }
}

static void put_arithmetic(subject *s, kir_type type, kir_value x, kir_value y)
{
    static const kir_op either[] = { KIR_ADD, KIR_SUB, KIR_MUL };
    static const kir_op integer[] = { KIR_AND,  KIR_OR,   KIR_XOR, KIR_UMIN,
                                      KIR_UMAX, KIR_SMIN, KIR_SMAX };
    static const kir_op shifts[] = { KIR_SHL, KIR_LSHR, KIR_ASHR };
    for (size_t i = 0; i < 3; i++) {
        put(s, kir_op_text(either[i]), kir_bin(s->b, either[i], x, y));
    }
    if (kir_is_float(type)) {
        return;
    }
    for (size_t i = 0; i < sizeof integer / sizeof integer[0]; i++) {
        put(s, kir_op_text(integer[i]), kir_bin(s->b, integer[i], x, y));
    }
    kir_value width = kir_const(s->b, type, kir_kind_bits((kir_kind)type.kind) - 1);
    kir_value amount = kir_bin(s->b, KIR_AND, y, width);
    for (size_t i = 0; i < 3; i++) {
        put(s, kir_op_text(shifts[i]), kir_bin(s->b, shifts[i], x, amount));
        put(s, "shift by a constant", kir_bin(s->b, shifts[i], x, width));
    }
    put(s, "iota", kir_bin(s->b, KIR_ADD, x, kir_iota(s->b, type)));
    if (type.kind == KIR_I64 && type.lanes == 1) {
        kir_value divisor = kir_bin(s->b, KIR_OR, y, kir_int(s->b, 1));
        put(s, "udiv", kir_bin(s->b, KIR_UDIV, x, divisor));
    }
}

static void put_choices(subject *s, kir_type type, kir_value x, kir_value y)
{
    const kir_pred first = kir_is_float(type) ? KIR_OEQ : KIR_EQ;
    const kir_pred last = kir_is_float(type) ? KIR_UNO : KIR_ULE;
    for (kir_pred p = first; p <= last; p++) {
        kir_value c = kir_cmp(s->b, p, x, y);
        put(s, kir_pred_text(p), c);
        put(s, "any", kir_any(s->b, c));
        put(s, "cmp with itself", kir_cmp(s->b, p, x, x));
        put(s, "select", kir_select(s->b, c, x, y));
        put(s, "select by one", kir_select(s->b, kir_extract(s->b, c, 0), y, x));
        kir_value other = kir_cmp(s->b, first, y, kir_const(s->b, type, 0));
        put(s, "and of i1", kir_bin(s->b, KIR_AND, c, other));
        put(s, "or of i1", kir_bin(s->b, KIR_OR, c, other));
        put(s, "xor of i1", kir_bin(s->b, KIR_XOR, c, other));
    }
}

static void put_conversions(subject *s, kir_type type, kir_value x)
{
    for (kir_kind kind = KIR_I8; kind <= KIR_F64; kind++) {
        const kir_type to = KIR_TYPE(kind, type.lanes);
        if (!kir_is_float(type) && !kir_is_float(to)) {
            if (kind > type.kind) {
                put(s, "zext", kir_convert(s->b, KIR_ZEXT, to, x));
                put(s, "sext", kir_convert(s->b, KIR_SEXT, to, x));
            } else if (kind < type.kind) {
                put(s, "trunc", kir_convert(s->b, KIR_TRUNC, to, x));
            }
        }
        const unsigned bits = kir_kind_bits(kind);
        const unsigned total = kir_kind_bits((kir_kind)type.kind) * type.lanes;
        if (total % bits == 0 && total / bits <= 64) {
            put(s, "bitcast", kir_convert(s->b, KIR_BITCAST, KIR_TYPE(kind, total / bits), x));
        }
    }
    if (!kir_is_float(type)) {
        put(s, "trunc to i1", kir_convert(s->b, KIR_TRUNC, KIR_TYPE(KIR_I1, type.lanes), x));
        kir_value bit = kir_convert(s->b, KIR_TRUNC, KIR_TYPE(KIR_I1, type.lanes), x);
        put(s, "zext of i1", kir_convert(s->b, KIR_ZEXT, type, bit));
        put(s, "sext of i1", kir_convert(s->b, KIR_SEXT, type, bit));
    }
    if (type.kind == KIR_F64) {
        put(s, "fptrunc", kir_convert(s->b, KIR_FPTRUNC, KIR_TYPE(KIR_F32, type.lanes), x));
    } else if (type.kind == KIR_F32) {
        put(s, "fpext", kir_convert(s->b, KIR_FPEXT, KIR_TYPE(KIR_F64, type.lanes), x));
    }
}

/* Which lane of x, then y, lane i of a shuffle takes. */
static unsigned same(unsigned i, unsigned n)
{
    return i % n;
}
static unsigned mirror(unsigned i, unsigned n)
{
    return n - 1 - i % n;
}
static unsigned next(unsigned i, unsigned n)
{
    return (i + 1) % (2 * n);
}
static unsigned before(unsigned i, unsigned n)
{
    return (i + 2 * n - 1) % (2 * n);
}
static unsigned interleave(unsigned i, unsigned n)
{
    return i / 2 % n + i % 2 * n;
}
static unsigned even(unsigned i, unsigned n)
{
    return 2 * i % (2 * n);
}
static unsigned last(unsigned i, unsigned n)
{
    return (void)i, n - 1;
}
static unsigned jumble(unsigned i, unsigned n)
{
    return (i * 7 + 3) % (2 * n);
}

static void put_lanes(subject *s, kir_type type, kir_value x, kir_value y)
{
    static const struct {
        const char *name;
        unsigned (*pick)(unsigned i, unsigned lanes);
    } shuffles[] = { { "same", same },     { "mirror", mirror },         { "next", next },
                     { "before", before }, { "interleave", interleave }, { "even", even },
                     { "last", last },     { "jumble", jumble } };
    const unsigned n = type.lanes, counts[] = { n, n / 2, 2 * n, 1, 3 };
    for (size_t i = 0; i < sizeof shuffles / sizeof shuffles[0]; i++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            uint8_t index[128];
            if (counts[c] == 0 || counts[c] > 64 || (i > 3 && c > 0)) {
                continue;
            }
            for (unsigned lane = 0; lane < counts[c]; lane++) {
                index[lane] = (uint8_t)shuffles[i].pick(lane, n);
            }
            put(s, shuffles[i].name, kir_shuffle(s->b, x, y, index, counts[c]));
            put(s, "shuffle of one", kir_shuffle(s->b, x, x, index, counts[c]));
        }
    }
    const unsigned bits = kir_kind_bits((kir_kind)type.kind);
    if (bits >= 32 && n > 1 && (n & (n - 1)) == 0 && type.kind < KIR_PTR) {
        kir_value i = kir_iota(s->b, KIR_TYPE(bits == 64 ? KIR_I64 : KIR_I32, n));
        kir_value by = kir_const(s->b, kir_type_of(s->b, i), 7 | 1ull << 31);
        put(s, "permute", kir_permute(s->b, x, y, kir_bin(s->b, KIR_MUL, i, by)));
        put(s, "permute one", kir_permute(s->b, y, y, kir_bin(s->b, KIR_ADD, i, by)));
    }
    kir_value first = kir_extract(s->b, x, 0), final = kir_extract(s->b, y, n - 1);
    put(s, "extract", final);
    put(s, "insert", kir_insert(s->b, x, final, n - 1));
    put(s, "insert first", kir_insert(s->b, y, first, 0));
    put(s, "splat", kir_splat(s->b, final, n));
    put(s, "splat to 64 bytes", kir_splat(s->b, first, 512 / kir_kind_bits(type.kind)));
    put(s, "keep", kir_keep(s->b, x));
    put(s, "const", kir_const(s->b, type, UINT64_C(0x4049123456783c55)));
}

/* Counts that only the run knows, below, in and above the lanes. */
static void put_masked(subject *s, kir_type type, kir_value x)
{
    const int64_t n = type.lanes, counts[] = { INT64_MIN, 0, 1, n - 1, n, INT64_MAX };
    kir_value length = kir_get(s->b, KIR_ARG_LENGTH);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        kir_value three = kir_int(s->b, (int64_t)((uint64_t)counts[i] - 3));
        kir_value count = kir_bin(s->b, KIR_ADD, length, three); /* length is 3 */
        put(s, "mload", kir_mload(s->b, type, s->in, 2 * SLOT, count, x));
        kir_mstore(s->b, s->out, claim(s, "mstore", (kir_kind)type.kind), count, x);
    }
}

Test(lower, operations, .init = prepare, .fini = give_up)
{
    for (size_t k = 0; k < sizeof all_kinds / sizeof all_kinds[0]; k++) {
        const unsigned bytes = kir_kind_bits(all_kinds[k]) / 8;
        const unsigned lanes[] = { 1, 3, 16 / bytes, 32 / bytes, 64 / bytes };
        for (size_t n = 0; n < sizeof lanes / sizeof lanes[0]; n++) {
            const kir_type type = KIR_TYPE(all_kinds[k], lanes[n]);
            char about[32];
            snprintf(about, sizeof about, "%sx%u", kir_kind_text(all_kinds[k]), lanes[n]);
            fill_input(bytes);
            subject s = begin();
            s.lanes = lanes[n];
            kir_value x = kir_load(s.b, type, s.in, 0, 64);
            kir_value y = kir_load(s.b, type, s.in, SLOT, bytes);
            if (type.kind != KIR_F16) {
                put_arithmetic(&s, type, x, y);
                put_choices(&s, type, x, y);
            }
            put_conversions(&s, type, x);
            check(&s, finish(&s), about, NULL);
            s = begin();
            x = kir_load(s.b, type, s.in, 0, 64);
            y = kir_load(s.b, type, s.in, SLOT, bytes);
            put_lanes(&s, type, x, y);
            put_masked(&s, type, x);
            check(&s, finish(&s), about, NULL);
        }
    }
}

Test(lower, reals, .init = prepare, .fini = give_up)
{
    static const kir_kind kinds[] = { KIR_F32, KIR_F64, KIR_I32, KIR_I64 };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const unsigned bytes = kir_kind_bits(kinds[k]) / 8;
        const unsigned lanes[] = { 1, 3, 16 / bytes, 64 / bytes };
        for (size_t n = 0; n < sizeof lanes / sizeof lanes[0]; n++) {
            const kir_type type = KIR_TYPE(kinds[k], lanes[n]);
            char about[32];
            snprintf(about, sizeof about, "%sx%u", kir_kind_text(kinds[k]), lanes[n]);
            subject s = begin();
            s.lanes = lanes[n];
            fill_input(bytes);
            for (unsigned round = 0; round < 4; round++) {
                const int64_t at = round * 2 * 64;
                kir_value x = kir_load(s.b, type, s.in, at, bytes);
                kir_value y = kir_load(s.b, type, s.in, at + SLOT + 64, bytes);
                if (kir_is_float(type)) {
                    put_reals(&s, type, x, y);
                } else {
                    put_integers_as_reals(&s, type, x);
                }
            }
            check(&s, finish(&s), about, NULL);
        }
    }
}

/* Of 0 and 1, which an optimiser knows more about than of other numbers: what two comparisons
 * tell, divided, one of them of a number with itself. */
static void put_quotients(subject *s, kir_type type)
{
    const uint64_t one = type.kind == KIR_F32 ? 0x3f800000 : UINT64_C(0x3ff0000000000000);
    kir_value ones = kir_const(s->b, type, one), zeros = kir_const(s->b, type, 0);
    for (kir_pred p = KIR_OEQ; p <= KIR_UNO; p++) {
        for (int swapped = 0; swapped < 2; swapped++) {
            kir_value x = kir_load(s->b, type, s->in, 0, 4);
            kir_value y = kir_load(s->b, type, s->in, SLOT, 4);
            kir_value same = kir_select(s->b, kir_cmp(s->b, p, x, x), ones, zeros);
            kir_value equal = kir_select(s->b, kir_cmp(s->b, KIR_OEQ, x, y), ones, zeros);
            put(s, kir_pred_text(p),
                kir_bin(s->b, KIR_DIV, swapped ? equal : same, swapped ? same : equal));
        }
    }
}

Test(lower, quotients, .init = prepare, .fini = give_up)
{
    for (kir_kind kind = KIR_F32; kind <= KIR_F64; kind++) {
        const unsigned bytes = kir_kind_bits(kind) / 8;
        const unsigned lanes[] = { 1, 3, 16 / bytes, 32 / bytes, 64 / bytes };
        for (size_t n = 0; n < sizeof lanes / sizeof lanes[0]; n++) {
            char about[32];
            snprintf(about, sizeof about, "%sx%u", kir_kind_text(kind), lanes[n]);
            fill_input(bytes);
            subject s = begin();
            s.lanes = lanes[n];
            put_quotients(&s, KIR_TYPE(kind, lanes[n]));
            check(&s, finish(&s), about, NULL);
        }
    }
}

Test(lower, f16, .init = prepare, .fini = give_up)
{
    static const unsigned lanes[] = { 1, 2, 3, 4, 8, 16, 32 };
    for (size_t n = 0; n < sizeof lanes / sizeof lanes[0]; n++) {
        const kir_type half = KIR_TYPE(KIR_F16, lanes[n]), single = KIR_TYPE(KIR_F32, lanes[n]);
        char about[32];
        snprintf(about, sizeof about, "f16x%u", lanes[n]);
        for (unsigned bytes = 2; bytes <= 4; bytes += 2) {
            fill_input(bytes);
            subject s = begin();
            s.lanes = lanes[n];
            kir_value x = kir_load(s.b, half, s.in, 0, 2), y = kir_load(s.b, single, s.in, 0, 4);
            put(&s, "fpext", kir_convert(s.b, KIR_FPEXT, single, x));
            put(&s, "fptrunc", kir_convert(s.b, KIR_FPTRUNC, half, y));
            check(&s, finish(&s), about, has_f16);
        }
    }
    /* Without the instruction LLVM would call a function that nobody has. */
    subject s = begin();
    put(&s, "",
        kir_convert(s.b, KIR_FPEXT, KIR_TYPE(KIR_F32, 4),
                    kir_load(s.b, KIR_TYPE(KIR_F16, 4), s.in, 0, 2)));
    kir_kernel *kernel = finish(&s);
    unsigned char *code = NULL;
    size_t bytes;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(
        tally_llvm_native()->compile(kernel, tly_target_find("x86-64-v2"), &code, &bytes, &error),
        TALLY_INTERNAL);
    cr_assert_not_null(strstr(error.message, "f16"), "%s", error.message);
    cr_assert_null(code);
    kir_free(kernel);
}

/* ---- memory, arguments, structure ---- */

Test(lower, memory, .init = prepare, .fini = give_up)
{
    subject s = begin();
    fill_input(4);
    for (unsigned bytes = 16; bytes <= 64; bytes *= 2) {
        kir_value v = kir_load(s.b, KIR_TYPE(KIR_F32, bytes / 4), s.in, 4, 4);
        kir_store(s.b, s.out, claim(&s, "stream", KIR_I8), v, bytes, KIR_STREAM);
        put(&s, "unaligned", kir_load(s.b, KIR_TYPE(KIR_I16, bytes / 2), s.in, 3, 1));
    }
    kir_store(s.b, s.out, claim(&s, "stream of i64", KIR_I8),
              kir_load(s.b, KIR_TYPE(KIR_I64, 1), s.in, 8, 8), 8, KIR_STREAM);
    kir_prefetch(s.b, s.in, INT64_MAX);
    kir_prefetchw(s.b, s.in, INT64_MAX);
    kir_prefetch(s.b, kir_ptradd(s.b, s.in, kir_int(s.b, INT64_MIN)), -1);
    kir_fence(s.b);
    kir_value far = kir_ptradd(s.b, s.in, kir_int(s.b, INT64_MAX));
    kir_value back = kir_ptradd(s.b, far, kir_int(s.b, 64 - INT64_MAX));
    put(&s, "ptradd", kir_load(s.b, KIR_TYPE(KIR_I8, 16), back, -48, 16));
    put(&s, "keep of ptr", kir_load(s.b, KIR_TYPE(KIR_I8, 16), kir_keep(s.b, s.in), 1, 1));
    put(&s, "addr", kir_bin(s.b, KIR_SUB, kir_addr(s.b, back), kir_addr(s.b, s.in)));
    check(&s, finish(&s), "memory", NULL);
}

/* Squares of f32, and what they met: one that is tiny but exact has not underflowed. */
static const struct {
    const char *what;
    uint32_t bits;
} squares[] = {
    { "of 1", 0x3f800000 },        { "of 2^-100", 0x0d800000 },
    { "of 2^-70", 0x1c800000 },    { "of 2^-75 and more", 0x1a9837f0 },
    { "of 2^100", 0x71800000 },    { "of 0", 0 },
    { "of infinity", 0x7f800000 }, { "of NaN", 0x7fc00000 },
};

Test(lower, flags, .init = prepare, .fini = give_up)
{
    subject s = begin();
    kir_type vector = KIR_TYPE(KIR_F32, 8);
    fill_input(4);
    for (size_t i = 0; i < sizeof squares / sizeof squares[0]; i++) {
        kir_value v = kir_keep(s.b, kir_const(s.b, vector, squares[i].bits));
        kir_loop l;
        kir_clear_flags(s.b);
        kir_for(s.b, &l, kir_int(s.b, 0), kir_keep(s.b, kir_int(s.b, 1)), kir_int(s.b, 1), 1, &v);
        kir_value square = kir_bin(s.b, KIR_MUL, l.carried[0], l.carried[0]);
        kir_for_end(s.b, &l, &square);
        put(&s, squares[i].what, kir_flags(s.b));
        put(&s, "square", l.result[0]);
    }
    check(&s, finish(&s), "flags", NULL);
}

Test(lower, arguments, .init = prepare, .fini = give_up)
{
    static const kir_arg plain[] = { KIR_ARG_LENGTH, KIR_ARG_INNER,    KIR_ARG_OUTER_RANK,
                                     KIR_ARG_BEGIN,  KIR_ARG_TASK_END, KIR_ARG_MODE };
    static const kir_arg arrays[] = { KIR_ARG_OUTER_SIZE, KIR_ARG_OUTER_IN, KIR_ARG_OUTER_OUT };
    subject s = begin();
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        put(&s, kir_arg_text(plain[i]), kir_get(s.b, plain[i]));
    }
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        put(&s, "argv", kir_get_at(s.b, arrays[i], kir_int(s.b, 2)));
        put(&s, "argv", kir_get_at(s.b, arrays[i], kir_get(s.b, KIR_ARG_OUTER_RANK)));
    }
    put(&s, "carry_in", kir_addr(s.b, kir_get(s.b, KIR_ARG_CARRY_IN)));
    put(&s, "total", kir_addr(s.b, kir_get(s.b, KIR_ARG_TOTAL)));
    check(&s, finish(&s), "arguments", NULL);
}

/* Loops of every kind of bounds: known and unknown, without a trip, with one, nested in each
 * other and in ifs; carried values that change places. */
Test(lower, structure, .init = prepare, .fini = give_up)
{
    static const int64_t bounds[][3] = {
        { 0, 8, 1 }, { 5, 5, 1 }, { 6, 5, 1 }, { -3, 9, 5 }, { 0, 1, 100 }
    };
    fill_input(8);
    for (int known = 0; known < 2; known++) {
        subject s = begin();
        kir_value zero = kir_bin(s.b, KIR_SUB, kir_get(s.b, KIR_ARG_LENGTH), kir_int(s.b, 3));
        for (size_t n = 0; n < sizeof bounds / sizeof bounds[0]; n++) {
            kir_value limit[3];
            for (int i = 0; i < 3; i++) {
                limit[i] = kir_int(s.b, bounds[n][i]);
                limit[i] = known ? limit[i] : kir_bin(s.b, KIR_ADD, zero, limit[i]);
            }
            kir_value start[2] = { kir_int(s.b, 1), kir_int(s.b, 100) };
            kir_loop outer, inner;
            kir_for(s.b, &outer, limit[0], limit[1], limit[2], 2, start);
            kir_for(s.b, &inner, kir_int(s.b, 0), outer.i, kir_int(s.b, 2), 1, &outer.carried[0]);
            kir_value sum = kir_bin(s.b, KIR_ADD, inner.carried[0], inner.i);
            kir_branch odd;
            kir_if(s.b, &odd, kir_convert(s.b, KIR_TRUNC, KIR_TYPE(KIR_I1, 1), sum));
            kir_value tripled = kir_bin(s.b, KIR_MUL, sum, kir_int(s.b, 3));
            kir_else(s.b, &odd, 1, &tripled);
            kir_if_end(s.b, &odd, 1, &sum);
            kir_for_end(s.b, &inner, &odd.result[0]);
            kir_value swapped[2] = { outer.carried[1], inner.result[0] };
            kir_branch seen;
            kir_if(s.b, &seen, kir_cmp(s.b, KIR_SLT, outer.i, kir_int(s.b, 2)));
            kir_store(s.b, s.out, (int64_t)(s.slots + 2) * SLOT, outer.carried[0], 8, 0);
            kir_if_end(s.b, &seen, 0, NULL);
            kir_for_end(s.b, &outer, swapped);
            put(&s, "first carried", outer.result[0]);
            put(&s, "second carried", outer.result[1]);
            claim(&s, "stored in an if", KIR_I64);
        }
        check(&s, finish(&s), known ? "known bounds" : "unknown bounds", NULL);
    }
}

/* ---- what holds the code ---- */

Test(lower, load)
{
    static const unsigned char blob[] = { 1 };
    tally_error error = TALLY_ERROR_INIT;
    tly_code code = { 0 };
    cr_assert_eq(tly_code_load(blob, 0, &code, &error), TALLY_INTERNAL);
    cr_assert_eq(tly_code_load(blob, SIZE_MAX, &code, &error), TALLY_INTERNAL);
    cr_assert_eq(tly_code_load(blob, SIZE_MAX / 4, &code, &error), TALLY_OUT_OF_MEMORY);
    cr_assert_null((void *)(uintptr_t)code.entry);
    tly_code_unload(&code);
    cr_assert_eq(tly_code_load(blob, sizeof blob, &code, &error), TALLY_OK);
    cr_assert_eq(*(const unsigned char *)(uintptr_t)code.entry, 1);
    tly_code_unload(&code);
    tly_code_unload(&code);
    cr_assert_null((void *)(uintptr_t)code.entry);
}

/* A kernel that leaves its memory is reported, and the runner lives on. */
Test(lower, fault, .init = prepare, .fini = give_up)
{
    const size_t arm = 3;
    if (remotes[arm] == NULL) {
        cr_skip_test("no AArch64 runner");
    }
    const tly_task task = { .end = 1 };
    const remote_region region = { given, sizeof given };
    for (int n = 0; n < 4; n++) {
        /* In the page behind, wherever a region that ends on a multiple of 64 lies in its own. */
        const int64_t offset = n % 2 == 0 ? 0 : (int64_t)sizeof given + 4040;
        subject s = begin();
        kir_store(s.b, s.out, offset, kir_int(s.b, 42), 1, 0);
        kir_kernel *kernel = finish(&s);
        const tly_args args = { .tensor[TLY_IN].base = (char *)input,
                                .tensor[TLY_OUT].base = (char *)given };
        unsigned char *code;
        size_t bytes;
        int64_t result;
        uint64_t fault = 0;
        cr_assert_eq(
            tally_llvm_native()->compile(kernel, tly_target_find(levels[arm]), &code, &bytes, NULL),
            TALLY_OK);
        memset(given, 0, 8);
        const int status = remote_run(remotes[arm], code, bytes, &args, &task, 1, &region, 1,
                                      &result, &fault);
        cr_assert_eq(status, n % 2 == 0 ? REMOTE_OK : REMOTE_FAULT);
        cr_assert_eq(given[0], n % 2 == 0 ? 42 : 0);
        cr_assert(n % 2 == 0 || fault == (uintptr_t)given + (uint64_t)offset);
        free(code);
        kir_free(kernel);
    }
}

/* ---- text ---- */

static char text[1 << 16];
static size_t text_bytes;

static int collect(void *user, const char *piece, size_t bytes)
{
    if (user != NULL || text_bytes + bytes >= sizeof text) {
        return 1;
    }
    memcpy(text + text_bytes, piece, bytes);
    text_bytes += bytes;
    text[text_bytes] = 0;
    return 0;
}

/* A product that is added must round twice, whatever the level could do in one. */
Test(lower, nothing_is_fused)
{
    static const char *const fused[] = { "fma", "fmla", "fmadd", "fmsub", "fmls", "fnm" };
    tally_error error = TALLY_ERROR_INIT;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        subject s = begin();
        for (kir_kind kind = KIR_F32; kind <= KIR_F64; kind++) {
            for (unsigned lanes = 1; lanes <= 8; lanes *= 8) {
                const kir_type type = KIR_TYPE(kind, lanes);
                kir_value x = kir_load(s.b, type, s.in, 0, 8);
                kir_value y = kir_load(s.b, type, s.in, SLOT, 8);
                kir_value product = kir_bin(s.b, KIR_MUL, x, y);
                put(&s, "sum", kir_bin(s.b, KIR_ADD, product, x));
                put(&s, "difference", kir_bin(s.b, KIR_SUB, y, product));
            }
        }
        kir_kernel *kernel = finish(&s);
        text_bytes = 0;
        cr_assert_eq(tally_llvm_native()->show(kernel, tly_target_find(levels[i]), TALLY_STAGE_ASM,
                                               collect, NULL, &error),
                     TALLY_OK, "%s", error.message);
        cr_assert_not_null(strstr(text, "mul"), "%s", text);
        for (size_t f = 0; f < sizeof fused / sizeof fused[0]; f++) {
            cr_assert_null(strstr(text, fused[f]), "%s: %s", levels[i], text);
        }
        kir_free(kernel);
    }
}

Test(lower, show)
{
    subject s = begin();
    put(&s, "", s.slots == 0 ? kir_int(s.b, 42) : 0);
    kir_kernel *kernel = finish(&s);
    const tly_target *target = tly_target_find("x86-64-v3");
    const tly_native *native = tally_llvm_native();
    tally_error error = TALLY_ERROR_INIT;
    text_bytes = 0;
    cr_assert_eq(native->show(kernel, target, TALLY_STAGE_LLVM, collect, NULL, &error), TALLY_OK);
    cr_assert_not_null(strstr(text, "define i64 @subject("), "%s", text);
    cr_assert_eq(native->show(kernel, target, TALLY_STAGE_ASM, collect, text, &error), TALLY_IO);
    cr_assert_eq(native->show(kernel, target, TALLY_STAGE_KIR, collect, NULL, &error),
                 TALLY_INTERNAL);
    cr_assert_eq(native->version, TLY_GENERATOR_VERSION);
    cr_assert_null(tly_target_find("x86-64-v5"));
    kir_free(kernel);
}

/* Equal kernels must give equal bytes, whatever was compiled before. */
Test(lower, reproducible)
{
    unsigned char *code[2];
    size_t bytes[2];
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        for (int n = 0; n < 2; n++) {
            subject s = begin();
            put_arithmetic(&s, KIR_TYPE(KIR_F32, 8),
                           kir_load(s.b, KIR_TYPE(KIR_F32, 8), s.in, 0, 4),
                           kir_const(s.b, KIR_TYPE(KIR_F32, 8), 0x40490fdb));
            put(&s, "iota", kir_iota(s.b, KIR_TYPE(KIR_I32, 8)));
            kir_kernel *kernel = finish(&s);
            cr_assert_eq(tally_llvm_native()->compile(kernel, tly_target_find(levels[i]), &code[n],
                                                      &bytes[n], NULL),
                         TALLY_OK);
            kir_free(kernel);
        }
        cr_assert_eq(bytes[0], bytes[1]);
        cr_assert_eq(memcmp(code[0], code[1], bytes[0]), 0, "%s", levels[i]);
        free(code[0]);
        free(code[1]);
    }
}
