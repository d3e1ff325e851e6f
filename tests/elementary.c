/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp and log (templates/stages/elementary.c) against the C library's functions of a wider type:
 * the largest error in units in the last place, specials; quotients and roots by digits against
 * division, of integers too, and square root, to the bit; exp and log against the judge of
 * expressions (formula_elementary.c), to the bit; and the same bits on every CPU level that
 * runs here and in the interpreter.
 *
 *   elementary [--all] [--points N] [--only NAME] [--mpfr]
 *
 * --all: every f32 there is (a minute or two; other levels than the best take one part in 16);
 * else, and of f64 always, N points (a million), which are spread over all exponents, near 1 and
 * near the borders. NAME: exp, exp_below, log, quotient, root or whole. --mpfr: f64 against MPFR,
 * where the build found it, which is right to the last of 113 bits, and 20 times as slow. Exit
 * status: 0 if all is right.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/shared/native.h"
#include "../runtime/launch/load.h"
#include "../templates/stages/elementary.h"
#include "formula.h"
#include "splitmix.h"

#ifdef TALLY_MPFR
#include <mpfr.h>
#endif

const tly_native *tally_llvm_native(void);

enum { POINTS = 4096, LEVELS = 3, INTERPRETED = 256 };

typedef struct function {
    const char *name;
    kir_value (*build)(const tly_build *c, kir_value x);
    double (*of_single)(double x);
    long double (*of_double)(long double x);
    int (*known)(double x, double *y); /* of f32: results that need no library; may be NULL */
    double grows;                      /* so many |x| units more are allowed */
    /* The same in plain C, which judges expressions, to the bit; may be NULL. */
    double (*plain)(int single, double x);
} function;

/* 0 where the same bits, or two NaNs, come of both ways; else 1. */
static kir_value agree(kir_builder *b, kir_value x, kir_value y)
{
    const kir_type type = kir_type_of(b, x);
    const kir_type bits = KIR_TYPE(type.kind == KIR_F32 ? KIR_I32 : KIR_I64, type.lanes);
    kir_value same = kir_cmp(b, KIR_EQ, kir_convert(b, KIR_BITCAST, bits, x),
                             kir_convert(b, KIR_BITCAST, bits, y));
    kir_value nans = kir_bin(b, KIR_AND, kir_cmp(b, KIR_UNO, x, x), kir_cmp(b, KIR_UNO, y, y));
    kir_value one = kir_const(b, type, type.kind == KIR_F32 ? 0x3f800000 : UINT64_C(1023) << 52);
    return kir_select(b, kir_bin(b, KIR_OR, same, nans), kir_const(b, type, 0), one);
}

/* Of each point and the one that is its mirror in the vector. */
static kir_value quotients(const tly_build *c, kir_value x)
{
    kir_builder *b = c->b;
    const unsigned lanes = kir_type_of(b, x).lanes;
    uint8_t mirror[64];
    for (unsigned i = 0; i < lanes; i++)
        mirror[i] = (uint8_t)(lanes - 1 - i);
    kir_value y = kir_shuffle(b, x, x, mirror, lanes);
    return agree(b, tly_quotient_by_digits(c, x, y), tly_quotient(c, x, y));
}

static kir_value roots(const tly_build *c, kir_value x)
{
    return agree(c->b, tly_root_by_digits(c, x), tly_root(c, x));
}

/* A lane's bits as i64. */
static kir_value integer_at(kir_builder *b, kir_value bits, unsigned lane)
{
    kir_value v = kir_extract(b, bits, lane);
    const kir_type i64 = KIR_TYPE(KIR_I64, 1);
    return kir_type_of(b, v).kind == KIR_I64 ? v : kir_convert(b, KIR_ZEXT, i64, v);
}

/* Of the bits of each point and of its mirror, moved down so that divisors have all sizes; and of
 * as many digits more, which are what the first division left: what the quotient leaves of these is
 * less than the divisor, too. */
static kir_value wholes(const tly_build *c, kir_value x)
{
    kir_builder *b = c->b;
    const kir_type type = kir_type_of(b, x);
    const int wide = type.kind == KIR_F64;
    kir_value bits = kir_convert(b, KIR_BITCAST, KIR_TYPE(wide ? KIR_I64 : KIR_I32, type.lanes), x);
    kir_value wrong = kir_const(b, kir_type_of(b, bits), 0);
    for (unsigned i = 0; i < type.lanes; i++) {
        kir_value n = integer_at(b, bits, i), m = integer_at(b, bits, type.lanes - 1 - i);
        kir_value by = kir_bin(b, KIR_AND, n, kir_int(b, wide ? 63 : 31));
        m = kir_bin(b, KIR_AND, kir_bin(b, KIR_LSHR, m, by), kir_int(b, INT64_MAX));
        m = kir_bin(b, KIR_OR, m, kir_int(b, 1));
        kir_value q = kir_bin(b, KIR_UDIV, n, m);
        kir_value differs = kir_cmp(b, KIR_NE, tly_udiv_by_digits(c, 0, n, m), q);
        kir_value high = kir_bin(b, KIR_SUB, n, kir_bin(b, KIR_MUL, q, m));
        q = tly_udiv_by_digits(c, high, n, m);
        kir_value left = kir_bin(b, KIR_SUB, n, kir_bin(b, KIR_MUL, q, m));
        differs = kir_bin(b, KIR_OR, differs, kir_cmp(b, KIR_ULE, m, left));
        kir_type lane = KIR_TYPE(kir_type_of(b, bits).kind, 1);
        wrong = kir_insert(b, wrong, kir_convert(b, KIR_ZEXT, lane, differs), i);
    }
    return agree(b, kir_convert(b, KIR_BITCAST, type, wrong), kir_const(b, type, 0));
}

/* exp but for what the other one is made for; below normal numbers NaN where it does not keep its
 * word. */
static kir_value exp_below(const tly_build *c, kir_value x)
{
    kir_builder *b = c->b;
    const kir_type type = kir_type_of(b, x);
    const int wide = type.kind == KIR_F64;
    kir_value y = tly_exp_below(c, x), whole = tly_exp(c, x);
    kir_value one = kir_const(b, type, wide ? UINT64_C(1023) << 52 : 0x3f800000);
    kir_value lowest = kir_const(b, type, wide ? 0xc086200000000000 : 0xc2ae0000);
    kir_value least = kir_const(b, type, wide ? UINT64_C(1) << 52 : 1 << 23);
    kir_value twice = kir_const(b, type, wide ? UINT64_C(2) << 52 : 2 << 23);
    kir_value tiny = kir_bin(b, KIR_AND, kir_cmp(b, KIR_OLE, least, y),
                             kir_cmp(b, KIR_OLE, y, twice));
    kir_value nan = kir_const(b, type, wide ? UINT64_C(0x7ff8) << 48 : 0x7fc00000);
    y = kir_select(b, kir_cmp(b, KIR_OLT, x, lowest), kir_select(b, tiny, whole, nan), y);
    return kir_select(b, kir_cmp(b, KIR_OLT, one, x), whole, y);
}

static double nothing(double x)
{
    return 0 * (x == x);
}

static long double nothing_long(long double x)
{
    return 0 * (x == x);
}

static int known_exp(double x, double *y)
{
    *y = x > 88.73 ? INFINITY : fabs(x) < 0x1p-26 ? 1 : 0;
    return x > 88.73 || x < -103.98 || fabs(x) < 0x1p-26;
}

static int known_log(double x, double *y)
{
    *y = NAN;
    return x < 0;
}

/* ---- of f64 ---- */

#ifdef TALLY_MPFR
typedef int by_mpfr_function(mpfr_t y, const mpfr_t x, mpfr_rnd_t way);

static long double by_mpfr(by_mpfr_function *f, long double x)
{
    mpfr_t y;
    mpfr_init2(y, 113);
    mpfr_set_ld(y, x, MPFR_RNDN);
    f(y, y, MPFR_RNDN);
    const long double result = mpfr_get_ld(y, MPFR_RNDN);
    mpfr_clear(y);
    return result;
}

static int with_mpfr;
#define OF_DOUBLE(library, mpfr) with_mpfr ? by_mpfr(mpfr, x) : library(x)
#else
#define OF_DOUBLE(library, mpfr) library(x)
#endif

static long double exp_of(long double x)
{
    return OF_DOUBLE(expl, mpfr_exp);
}

static long double log_of(long double x)
{
    return OF_DOUBLE(logl, mpfr_log);
}

static const function functions[] = {
    { "exp", tly_exp, exp, exp_of, known_exp, 0, tly_formula_exp },
    { "exp_below", exp_below, exp, exp_of, known_exp, 1.25, NULL },
    { "log", tly_log, log, log_of, known_log, 0, tly_formula_log },
    { "quotient", quotients, nothing, nothing_long, NULL, 0, NULL },
    { "root", roots, nothing, nothing_long, NULL, 0, NULL },
    { "whole", wholes, nothing, nothing_long, NULL, 0, NULL },
};

/* A kernel for each format: y = f(x) of `length` elements, a multiple of 64. */
typedef struct subject {
    const function *f;
    kir_kind kind;
    kir_kernel *kernel;
    tly_code code[LEVELS];
    int levels, all;
    double worst, worst_at;
    long wrong, seen;
} subject;

static kir_kernel *build(const function *f, kir_kind kind)
{
    const kir_type type = KIR_TYPE(kind, kind == KIR_F32 ? 16 : 8);
    const int64_t bytes = kir_kind_bits(kind) / 8;
    kir_builder *b = kir_begin("elementary");
    const tly_build c = { .b = b };
    kir_kernel *kernel = NULL;
    kir_loop l;
    kir_value in = kir_get(b, KIR_ARG_IN), out = kir_get(b, KIR_ARG_OUT);
    kir_for(b, &l, kir_int(b, 0), kir_get(b, KIR_ARG_LENGTH), kir_int(b, type.lanes), 0, NULL);
    kir_value at = kir_bin(b, KIR_MUL, l.i, kir_int(b, bytes));
    kir_value x = kir_load(b, type, kir_ptradd(b, in, at), 0, (unsigned)bytes);
    kir_store(b, kir_ptradd(b, out, at), 0, f->build(&c, x), (unsigned)bytes, 0);
    kir_for_end(b, &l, NULL);
    kir_return(b, kir_int(b, 0));
    return kir_finish(b, &kernel, NULL) ? NULL : kernel;
}

static int runs_here(const char *level)
{
#if defined(__x86_64__)
    return strcmp(level, "x86-64-v2") == 0 ? __builtin_cpu_supports("sse4.2")
           : strcmp(level, "x86-64-v3") == 0
               ? __builtin_cpu_supports("avx2")
               : __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return strcmp(level, "aarch64") == 0;
#endif
}

static int open_subject(subject *s, const function *f, kir_kind kind)
{
#if defined(__x86_64__)
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4" };
#else
    static const char *const levels[] = { "aarch64" };
#endif
    *s = (subject){ .f = f, .kind = kind, .kernel = build(f, kind) };
    for (size_t i = 0; s->kernel && i < sizeof levels / sizeof levels[0]; i++) {
        unsigned char *code = NULL;
        size_t bytes;
        if (!runs_here(levels[i]))
            continue;
        if (tally_llvm_native()->compile(s->kernel, tly_target_find(levels[i]), &code, &bytes,
                                         NULL) ||
            tly_code_load(code, bytes, &s->code[s->levels], NULL))
            return 1;
        s->levels++;
        free(code);
    }
    return !s->kernel || !s->levels;
}

static void close_subject(subject *s)
{
    for (int i = 0; i < s->levels; i++)
        tly_code_unload(&s->code[i]);
    kir_free(s->kernel);
}

static double value(kir_kind kind, const void *from, int i)
{
    float single;
    double real;
    if (kind == KIR_F32)
        return memcpy(&single, (const char *)from + 4 * i, sizeof single), (double)single;
    return memcpy(&real, (const char *)from + 8 * i, sizeof real), real;
}

/* The distance from the right result in units in the last place of that. */
static double error_of(const subject *s, double x, double y)
{
    const long double right = s->kind == KIR_F32 ? (long double)s->f->of_single(x)
                                                 : s->f->of_double((long double)x);
    const int least = s->kind == KIR_F32 ? -149 : -1074, digits = s->kind == KIR_F32 ? 24 : 53;
    const long double largest = s->kind == KIR_F32 ? (long double)0x1.ffffffp127
                                                   : 0x1.fffffffffffffp1023L + 0x1p970L;
    int exponent;
    if (isnan(right) || isnan(y))
        return isnan(right) && isnan(y) ? 0 : INFINITY;
    if (fabsl(right) >= largest || isinf(y)) /* which rounds to infinity */
        return isinf(y) && fabsl(right) >= largest && (y > 0) == (right > 0) ? 0 : INFINITY;
    if (right == 0 || y == (double)right)
        return y == (double)right ? (double)fabsl(0 * right) : INFINITY;
    frexpl(right, &exponent);
    exponent = exponent - digits < least ? least : exponent - digits;
    return (double)fabsl(ldexpl((long double)y - right, -exponent));
}

static void judge_plain(subject *s, double x, double y)
{
    const double plain = s->f->plain(s->kind == KIR_F32, x);
    if (!(isnan(plain) && isnan(y)) && memcmp(&plain, &y, sizeof y) != 0 && s->wrong++ < 5)
        printf("FAILED %s of %a is %a, in plain C %a\n", s->f->name, x, y, plain);
}

static void judge(subject *s, const void *in, const void *out)
{
    for (int i = 0; i < POINTS; i++) {
        const double x = value(s->kind, in, i), y = value(s->kind, out, i);
        double right;
        s->seen++;
        if (s->f->plain != NULL)
            judge_plain(s, x, y);
        if (s->kind == KIR_F32 && s->f->known != NULL && s->f->known(x, &right) &&
            (right == y || (right != right && y != y)))
            continue;
        if (s->kind == KIR_F32 && (float)s->f->of_single(x) == y)
            continue; /* rounded as it ought to be */
        double error = error_of(s, x, y), allowed = s->kind == KIR_F32 ? 1 : 2;
        if (s->f->grows > 0 && !isnan(x)) { /* what is left of the error then */
            const double more = s->f->grows * fabs(x);
            allowed = 2;
            error = error <= more ? 0 : error - more;
        }
        if (error > s->worst) {
            s->worst = error;
            s->worst_at = x;
        }
        if (!(error <= allowed) && s->wrong++ < 5)
            printf("FAILED %s of %a is %a: %g units\n", s->f->name, x, y, error);
    }
}

/* All levels and, of a few points in some calls, the interpreter; NaNs are equal. */
static void run(subject *s, const void *in)
{
    static _Alignas(64) double first[POINTS], other[POINTS];
    tly_args args = { .tensor[TLY_IN].base = (char *)in,
                      .tensor[TLY_OUT].base = (char *)first,
                      .length = POINTS };
    const tly_task task = { 0 };
    const size_t bytes = POINTS * kir_kind_bits(s->kind) / 8;
    const int interpreted = s->seen % (64 * POINTS) == 0;
    const int compared = s->kind == KIR_F64 || !s->all || s->seen % (16 * POINTS) == 0;
    int64_t result;
    s->code[s->levels - 1].entry(&args, &task);
    judge(s, in, first);
    for (int level = 0; compared && level < s->levels + interpreted; level++) {
        memcpy(other, first, bytes);
        args.tensor[TLY_OUT].base = (char *)other;
        args.length = level < s->levels ? POINTS : INTERPRETED;
        if (level < s->levels)
            s->code[level].entry(&args, &task);
        else if (kir_interpret(s->kernel, &args, &task, NULL, &result, NULL))
            s->wrong++;
        for (int i = 0; i < POINTS && memcmp(first, other, bytes) != 0; i++) {
            const double x = value(s->kind, first, i), y = value(s->kind, other, i);
            if (!(isnan(x) && isnan(y)) && memcmp(&x, &y, sizeof x) != 0 && s->wrong++ < 5)
                printf("FAILED %s of %a: %a, elsewhere %a\n", s->f->name, value(s->kind, in, i), x,
                       y);
        }
    }
}

/* ---- points ---- */

static uint64_t state = 1;

static uint64_t draw(void)
{
    return tly_splitmix(&state);
}

/* Any bits; evenly over what exp has results for; around 1, ever closer. */
static double draw_point(kir_kind kind)
{
    static const double specials[] = {
        0,
        -0.0,
        INFINITY,
        -INFINITY,
        NAN,
        1,
        -1,
        0x1p-149,
        0x1p-126,
        0x1p-1074,
        0x1p-1022,
        0x1.fffffep127,
        0x1.fffffffffffffp1023,
        88.72283,
        88.72284,
        -103.97207,
        -103.97208,
        -87.33655,
        709.782712893384,
        709.7827128933841,
        -745.1332191019412,
        -708.3964185322641,
    };
    const uint64_t bits = draw();
    const double unit = (double)(bits >> 11) * 0x1p-53;
    double x;
    switch (draw() % 8) {
    case 0:
        return specials[bits % (sizeof specials / sizeof specials[0])];
    case 1:
    case 2:
        return 1 + (unit - .5) * ldexp(1, -(int)(draw() % 30));
    case 3:
    case 4:
        return (unit - .52) * (kind == KIR_F32 ? 200 : 1500);
    case 5:
        return unit * 2 - 1;
    default:
        return memcpy(&x, &bits, sizeof x),
               kind == KIR_F32 ? ldexp(unit + .5, (int)(draw() % 280) - 150) : x;
    }
}

static void run_points(subject *s, long points)
{
    static _Alignas(64) double in[POINTS];
    for (long done = 0; done < points; done += POINTS) {
        for (int i = 0; i < POINTS; i++) {
            const double x = draw_point(s->kind);
            const float single = (float)x;
            if (s->kind == KIR_F32)
                memcpy((char *)in + 4 * i, &single, sizeof single);
            else
                in[i] = x;
        }
        run(s, in);
    }
}

static void run_all(subject *s)
{
    static _Alignas(64) uint32_t in[POINTS];
    for (uint64_t from = 0; from < UINT64_C(1) << 32; from += POINTS) {
        for (uint32_t i = 0; i < POINTS; i++)
            in[i] = (uint32_t)from + i;
        run(s, in);
    }
}

int main(int argc, char **argv)
{
    long points = 1000000;
    const char *only = NULL;
    int all = 0, wrong = 0;
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--all"))
            all = 1;
        else if (!strcmp(argv[k], "--only") && k + 1 < argc)
            only = argv[++k];
        else if (!strcmp(argv[k], "--points") && k + 1 < argc)
            points = strtol(argv[++k], NULL, 10);
#ifdef TALLY_MPFR
        else if (!strcmp(argv[k], "--mpfr"))
            with_mpfr = 1;
#endif
        else
            return fprintf(stderr, "elementary: see the head of tests/elementary.c\n"), 2;
    }
    for (size_t k = 0; k < 2 * sizeof functions / sizeof functions[0]; k++) {
        subject s;
        if (only && strcmp(only, functions[k / 2].name))
            continue;
        if (open_subject(&s, &functions[k / 2], k % 2 ? KIR_F64 : KIR_F32))
            return fprintf(stderr, "elementary: no kernel\n"), 2;
        s.all = all;
        if (all && s.kind == KIR_F32)
            run_all(&s);
        else
            run_points(&s, points);
        printf("%s of %s: %ld points on %d levels, at most %.4f units (of %a), %ld wrong\n",
               s.f->name, s.kind == KIR_F32 ? "f32" : "f64", s.seen, s.levels, s.worst, s.worst_at,
               s.wrong);
        fflush(stdout);
        wrong |= s.wrong != 0;
        close_subject(&s);
    }
    return wrong;
}
