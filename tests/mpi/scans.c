/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally/mpi.h, by as many ranks as mpirun starts: every scan, in uneven and empty parts, both ways,
 * twice with ranks that are late at random. Each rank compares its part with one kernel's results
 * for the whole. Where a rank fails, all get an error, and nothing is written.
 *
 * Prints what failed, and ends with status 1 then. With --share N it takes every Nth case.
 */
#include <stdlib.h>

/* So many allocations of the header succeed; -1: all. */
static int allocations_left = -1;

static void *allocate(size_t count, size_t bytes)
{
    if (allocations_left == 0) {
        return NULL;
    }
    allocations_left -= allocations_left > 0;
    return calloc(count, bytes);
}
#define calloc allocate
#include <tally.h>

/* So many runs of the header succeed; -1: all. */
static int runs_left = -1;

static tally_status run_or_fail(const tally_kernel *kernel, const tally_buffers *buffers,
                                const tally_run_options *options, tally_error *error)
{
    if (runs_left == 0) {
        error->status = TALLY_OUT_OF_MEMORY;
        return TALLY_OUT_OF_MEMORY;
    }
    runs_left -= runs_left > 0;
    return tally_kernel_run_buffers(kernel, buffers, options, error);
}
#define tally_kernel_run_buffers run_or_fail
#include <tally/mpi.h>
#undef calloc
#undef tally_kernel_run_buffers

#include "../splitmix.h"

#include <time.h>
#include <unistd.h>

static int rank, ranks, failures;
static tally_context *context;

#define EXPECT(holds, ...) \
    ((holds) ? (void)0 : (failures++, say(__LINE__), printf(__VA_ARGS__), (void)puts("")))

static void say(int line)
{
    printf("FAILED %s:%d, rank %d of %d: ", __FILE__, line, rank, ranks);
}

static int64_t below(uint64_t *r, int64_t bound)
{
    return (int64_t)(tly_splitmix(r) % (uint64_t)bound);
}

static int one_in(uint64_t *r, int64_t n)
{
    return below(r, n) == 0;
}

static tally_descriptor parsed(const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    EXPECT(tally_descriptor_parse(word, &d, &error) == TALLY_OK, "%s: %s", word, error.message);
    return d;
}

static size_t bytes_of(int32_t dtype)
{
    return tally_dtype_bytes((tally_dtype)dtype);
}

static int64_t count_of(const tally_descriptor *d)
{
    int64_t count = 1;
    for (int32_t k = 0; k < d->rank; k++) {
        count *= d->sizes[k];
    }
    return count;
}

/* ---- data --------------------------------------------------------------------------------- */

static float half_to_float(uint16_t h)
{
    const int exponent = h >> 10 & 31;
    const float size = exponent == 0
                           ? (float)(h & 1023) * 0x1p-24f
                           : (float)(1024 + (h & 1023)) * 0x1p-25f * (float)(1u << exponent);
    return h >> 15 ? -size : size;
}

/* Numbers whose products stay in range, of any dtype. */
static void fill(uint64_t *r, int32_t dtype, void *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = tly_splitmix(r);
        const double near = 1 + (double)(int64_t)(bits >> 40) * 0x1p-28 - 0x1p-5;
        if (dtype == TALLY_F32) {
            ((float *)to)[i] = (float)near;
        } else if (dtype == TALLY_F64) {
            ((double *)to)[i] = near;
        } else if (dtype == TALLY_F16) {
            ((uint16_t *)to)[i] = (uint16_t)(0x3bf0 + bits % 32);
        } else if (dtype == TALLY_BOOL) {
            ((char *)to)[i] = bits % 8 != 0;
        } else {
            memcpy((char *)to + (size_t)i * bytes_of(dtype), &bits, bytes_of(dtype));
        }
    }
}

static double number_at(int32_t dtype, const void *at, int64_t i)
{
    return dtype == TALLY_F32   ? (double)((const float *)at)[i]
           : dtype == TALLY_F64 ? ((const double *)at)[i]
                                : (double)half_to_float(((const uint16_t *)at)[i]);
}

/* To the bit, or close: what ranks combine in another order. */
static int is_same(int32_t dtype, const void *a, const void *b, int64_t i, int is_exact)
{
    const size_t each = bytes_of(dtype);
    const int is_float = dtype == TALLY_F64 || dtype == TALLY_F32 || dtype == TALLY_F16;
    if (memcmp((const char *)a + (size_t)i * each, (const char *)b + (size_t)i * each, each) == 0) {
        return 1;
    }
    if (!is_float) {
        return 0;
    }
    const double x = number_at(dtype, a, i), y = number_at(dtype, b, i);
    if (is_exact || isnan(x) || isnan(y)) {
        return isnan(x) && isnan(y);
    }
    const double most = dtype == TALLY_F64 ? 1e-12 : dtype == TALLY_F32 ? 4e-5 : 0x1p-9;
    return fabs(x - y) <= most * fmax(fabs(x), fabs(y));
}

/* ---- one tensor in parts ------------------------------------------------------------------- */

/* The whole and this rank's part of it. Packed tensors of outer x length x inner elements. */
typedef struct parts {
    tally_descriptor whole, part;
    int64_t outer, inner, first, count;
    char *in, *out;                   /* of the whole */
    char *operand[2], *my_operand[2]; /* like the input, or NULL */
    char *my_in, *my_out, *again;
    char *given, *after, *my_after; /* states, or NULL */
    size_t states;
} parts;

static void take_part(const parts *p, int32_t dtype, const char *whole, char *part)
{
    const size_t each = bytes_of(dtype) * (size_t)p->inner;
    const int64_t length = p->whole.sizes[p->whole.axis];
    for (int64_t o = 0; o < p->outer; o++) {
        memcpy(part + (size_t)(o * p->count) * each, whole + (size_t)(o * length + p->first) * each,
               (size_t)p->count * each);
    }
}

static char *room(size_t bytes)
{
    char *memory = calloc(1, bytes + 64);
    if (memory == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* Borders at multiples of `unit` in scan direction, the same on all ranks. A third of the parts is
 * empty. */
static void cut(parts *p, uint64_t *r, int64_t unit, int is_first_empty)
{
    const int64_t length = p->whole.sizes[p->whole.axis];
    int64_t border = 0;
    for (int place = 0; place < ranks; place++) {
        const int mine = p->whole.flags & TALLY_REVERSE ? ranks - 1 - place : place;
        const int64_t left = length - border, fair = 2 * length / ranks + 1;
        const int is_empty = one_in(r, 3) || (is_first_empty && place == 0);
        int64_t count = is_empty ? 0 : unit * below(r, fair / unit + 2);
        count = place == ranks - 1 || count > left ? left : count;
        if (mine == rank) {
            p->count = count;
            p->first = p->whole.flags & TALLY_REVERSE ? length - border - count : border;
        }
        border += count;
    }
    p->part = p->whole;
    p->part.sizes[p->part.axis] = p->count;
}

static void begin(parts *p, const char *word, uint64_t *r)
{
    int64_t sizes[TALLY_MAX_CARRY_RANK];
    int32_t carry_rank;
    tally_dtype state;
    memset(p, 0, sizeof *p);
    p->whole = parsed(word);
    p->whole.out_dtype = p->whole.out_dtype != 0 ? p->whole.out_dtype : p->whole.dtype;
    p->outer = p->inner = 1;
    for (int32_t k = 0; k < p->whole.rank; k++) {
        p->outer *= k < p->whole.axis ? p->whole.sizes[k] : 1;
        p->inner *= k > p->whole.axis ? p->whole.sizes[k] : 1;
    }
    const size_t count = (size_t)count_of(&p->whole);
    p->in = room(count * bytes_of(p->whole.dtype));
    p->out = room(count * bytes_of(p->whole.out_dtype));
    p->my_in = room(count * bytes_of(p->whole.dtype));
    p->my_out = room(count * bytes_of(p->whole.out_dtype));
    p->again = room(count * bytes_of(p->whole.out_dtype));
    fill(r, p->whole.dtype, p->in, (int64_t)count);
    for (int k = 0; k < 2 && p->whole.operands[k].dtype != 0; k++) {
        const int32_t dtype = p->whole.operands[k].dtype;
        p->operand[k] = room(count * bytes_of(dtype));
        p->my_operand[k] = room(count * bytes_of(dtype));
        fill(r, dtype, p->operand[k], (int64_t)count);
    }
    if (p->whole.flags & TALLY_NAN_IGNORE) { /* the first half of all, and a few */
        for (size_t i = 0; i < count; i++) {
            ((double *)p->in)[i] = i < count / 2 || one_in(r, 3) ? NAN : ((double *)p->in)[i];
        }
    }
    if (p->whole.carry != 0 &&
        tally_descriptor_carry(&p->whole, &carry_rank, sizes, &state, NULL) == TALLY_OK) {
        p->states = bytes_of(state);
        for (int32_t k = 0; k < carry_rank; k++) {
            p->states *= (size_t)sizes[k];
        }
        p->given = room(p->states);
        p->after = room(p->states);
        p->my_after = room(p->states);
        fill(r, (int32_t)state, p->given, (int64_t)(p->states / bytes_of(state)));
    }
}

static void end(parts *p)
{
    char *const all[] = { p->in,    p->out,        p->my_in,      p->my_out,
                          p->again, p->operand[0], p->operand[1], p->my_operand[1],
                          p->given, p->after,      p->my_after,   p->my_operand[0] };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        free(all[k]);
    }
}

/* One kernel's results; with a carry, so that rows are cut into chunks as those of parts are. */
static int64_t run_whole(parts *p)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = p->whole;
    tally_kernel *kernel = NULL;
    tally_buffers b = TALLY_BUFFERS_INIT;
    char *const unwanted = room((size_t)(p->outer * p->inner) * 16);
    d.carry = TALLY_CARRY_IN | TALLY_CARRY_OUT;
    b.in = p->in;
    b.out = p->out;
    b.operand[0] = p->operand[0];
    b.operand[1] = p->operand[1];
    b.carry_in = p->whole.carry & TALLY_CARRY_IN ? p->given : NULL;
    b.carry_out = p->after != NULL ? p->after : unwanted;
    EXPECT(tally_kernel_create(context, &d, NULL, &kernel, &error) == TALLY_OK &&
               tally_kernel_run_buffers(kernel, &b, NULL, &error) == TALLY_OK,
           "%s: %s", error.field, error.message);
    const int64_t chunk = tally_kernel_chunk(kernel);
    tally_kernel_destroy(&kernel);
    free(unwanted);
    return chunk;
}

/* At random, and differently in each run. */
static void be_late(void)
{
    static unsigned seed;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seed = seed * 1664525u + (unsigned)now.tv_nsec + (unsigned)rank * 77u;
    usleep(seed >> 8 & 1023u);
}

static void run_parts(parts *p, tally_mpi_way way, int is_in_place, char *to, const char *word)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_buffers b = TALLY_BUFFERS_INIT;
    take_part(p, p->whole.dtype, p->in, p->my_in);
    for (int k = 0; k < 2 && p->operand[k] != NULL; k++) {
        take_part(p, p->whole.operands[k].dtype, p->operand[k], p->my_operand[k]);
        b.operand[k] = p->my_operand[k];
    }
    if (is_in_place) {
        memcpy(to, p->my_in, (size_t)count_of(&p->part) * bytes_of(p->whole.dtype));
    }
    b.in = is_in_place ? to : p->my_in;
    b.out = to;
    b.carry_in = p->given;
    b.carry_out = p->my_after;
    be_late();
    const tally_status status = tally_mpi_scan(MPI_COMM_WORLD, context, &p->part, &b, way, &error);
    EXPECT(status == TALLY_OK, "%s, way %d: %s: %s", word, (int)way, error.field, error.message);
}

/* `is_exact`: all bits are those of the whole, by way. */
static void compare(parts *p, const char *word, tally_mpi_way way, int is_exact)
{
    const int32_t dtype = p->whole.out_dtype;
    const int last = p->whole.flags & TALLY_REVERSE ? 0 : ranks - 1;
    const size_t bytes = (size_t)count_of(&p->part) * bytes_of(dtype);
    run_parts(p, way, 0, p->my_out, word);
    const int in_place = dtype == p->whole.dtype;
    run_parts(p, way, in_place, p->again, word);
    EXPECT(memcmp(p->my_out, p->again, bytes) == 0, "%s, way %d: other bits the second time", word,
           (int)way);
    take_part(p, dtype, p->out, p->again);
    for (int64_t i = 0; i < count_of(&p->part); i++) {
        if (!is_same(dtype, p->my_out, p->again, i, is_exact)) {
            EXPECT(0, "%s, way %d, part of %lld, element %lld", word, (int)way, (long long)p->count,
                   (long long)i);
            break;
        }
    }
    if (p->whole.carry & TALLY_CARRY_OUT && rank == last && is_exact) {
        EXPECT(memcmp(p->after, p->my_after, p->states) == 0, "%s, way %d: carry_out", word,
               (int)way);
    }
}

/* Words whose order rounds nothing. */
static int is_loop(const tally_descriptor *d)
{
    const int is_float = d->dtype == TALLY_F32 || d->dtype == TALLY_F64 || d->dtype == TALLY_F16;
    return d->op == TALLY_CUMMAX || d->op == TALLY_CUMMIN || !is_float;
}

static void scans(int share)
{
    static const char *const words[] = {
        "cumsum:f32:40x300:axis=0",
        "cumsum:f32:3x700:axis=1",
        "cumsum:f32:5x61x7:axis=1,exclusive,reverse",
        "cumsum:f64:900:axis=0,reverse",
        "cumsum:f16:30x20:axis=0,exclusive",
        "cumsum:f16:4x90:axis=1,acc=f64",
        "cumsum:i32:70x65:axis=0,exclusive,reverse",
        "cumsum:u32:2x3x50:axis=2",
        "cumsum:bool>i32:64x9:axis=0",
        "cumprod:f32:50x140:axis=0,reverse",
        "cumprod:f32:9x100:axis=1,exclusive",
        "cumprod:f64:100x3:axis=0",
        "cumprod:f16:2x60:axis=1,reverse",
        "cumprod:i64:33x5:axis=0",
        "cummax:f32:80x70:axis=0",
        "cummax:f16:7x90:axis=1,exclusive",
        "cummin:i32:300:axis=0,reverse",
        "cummin:f64:20x30x4:axis=1,exclusive,nan=ignore",
        "cummax:f64:60x5:axis=0,nan=ignore",
        "cumlogsumexp:f32:60x20:axis=0",
        "cumlogsumexp:f64:5x80:axis=1,reverse,exclusive",
        "cumlogsumexp:f16:40x6:axis=0",
        "cumsum:f32:6x200:axis=1,order=serial",
        "cumprod:f64:3x90:axis=1,order=serial,exclusive,reverse",
        "cumlogsumexp:f32:4x50:axis=1,order=serial",
        "cumsum:f32:5x300:axis=1,carry=in+out",
        "cumprod:f32:90x70:axis=0,reverse,carry=in+out",
        "cummax:i32:11x40:axis=1,exclusive,carry=in+out",
        "cumlogsumexp:f64:30x4:axis=0,carry=in+out",
        "cumsum:i32:3x50:axis=1,reverse,carry=out",
        "cumprod:f32:6x80:axis=1,exclusive,map=1-x/64,post=x*y",
        "cumsum:f32:70x200:axis=0,a=f32,map=x*a,post=y/a",
        "cumprod:f32:12x40:axis=1,a=f32,b=f32,map=(1+x)/b-a,post=x*y",
        "cumsum:f64:30x11:axis=0,reverse,a=f64,b=f64,map=x*b,post=y+a",
        "cumsum:f32:3x20x600:axis=1,carry=in+out",
        "cumsum:f32:40x9:axis=0,exclusive,a=f32,post=a*y",
        "cummax:f32:8x50:axis=1,map=0-x",
        "linrec:f32:50x130:axis=0,a=f32,coef=a/2",
        "linrec:f32:6x70:axis=1,a=f32,carry=in+out",
        "linrec:f64:5x40x3:axis=1,reverse,exclusive,a=f64,b=f64,map=b*x,coef=a*0.9,post=x+y",
        "linrec:f16:90x4:axis=0,coef=x*0.5",
        "linrec:f64:200000x2:axis=0,reverse,coef=0.99999",
        "linrec:i32:7x300:axis=1,a=i32,b=i32,map=x-b",
        "cumsum:f32:90x70:axis=0,a=bool,reset=a<1",
        "cumsum:f32:2x0x3:axis=1,carry=in+out",
        "cumsum:f32:0x7:axis=1",
    };
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        uint64_t r = (uint64_t)w * 1000 + (uint64_t)ranks;
        parts p;
        /* Most of what can go wrong does with two or three; the others take a third each. */
        const int every = ranks == 2 || ranks == 3 ? share : 3 * share;
        if ((int)w % every != ranks % every) {
            continue;
        }
        begin(&p, words[w], &r);
        run_whole(&p);
        for (int k = 0; k < (ranks == 2 || ranks == 3 ? 2 : 1); k++) {
            cut(&p, &r, 1, k);
            compare(&p, words[w], TALLY_MPI_TOTALS, is_loop(&p.whole));
            compare(&p, words[w], TALLY_MPI_CHAIN,
                    is_loop(&p.whole) || p.whole.order == TALLY_ORDER_SERIAL || p.inner >= 16);
        }
        end(&p);
    }
}

/* Long rows, of which many are cut into blocks: parts end with chunks. */
static void chunks(void)
{
    static const char *const words[] = {
        "cumsum:f32:200000:axis=0",
        "cumprod:f32:9x100000:axis=1,reverse",
        "cumlogsumexp:f32:3x100000:axis=1",
    };
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        uint64_t r = (uint64_t)w * 1000 + (uint64_t)77;
        parts p;
        begin(&p, words[w], &r);
        const int64_t chunk = run_whole(&p);
        EXPECT(chunk > 1 && chunk < 50000, "%s: chunks of %lld", words[w], (long long)chunk);
        cut(&p, &r, chunk, 0);
        compare(&p, words[w], TALLY_MPI_CHAIN, 1);
        compare(&p, words[w], TALLY_MPI_TOTALS, 0);
        end(&p);
    }
}

/* ---- range -------------------------------------------------------------------------------- */

/* Elements whose partial results leave the range, while the loop's mostly stay in it. */
static float wild(uint64_t *r, int is_sum, float state)
{
    const int shift = (int)below(r, 121);
    if (one_in(r, 60)) {
        return one_in(r, 2) ? 0 : one_in(r, 2) ? INFINITY : NAN;
    }
    if (is_sum) {
        return (state > 0 ? -1.0f : 1.0f) * (float)(1 + shift % 3) * 1e38f;
    }
    return ldexpf(1.25f, fabsf(state) > 1 || one_in(r, 9) ? -shift : shift);
}

/* Products that the plain loop loses, or keeps at zero: none may become infinite or NaN. */
static void range_by_hand(void)
{
    enum { LENGTH = 6, PARTS = 4 };
    static const struct {
        float x[LENGTH];
        int counts[PARTS];
    } cases[] = {
        { { 0, 1e30f, 1e30f, 1, 1, 1 }, { 1, 2, 2, 1 } },
        { { 1e-15f, 1e-15f, 1e-16f, 1e30f, 1e30f, 1e30f }, { 1, 1, 2, 2 } },
        { { 1e-30f, 1e-30f, 1e30f, 1e30f, 1e30f, 1 }, { 3, 1, 1, 1 } },
        { { 1e-10f, 1e-37f, 1e20f, 1e20f, 1e20f, 1 }, { 2, 1, 2, 1 } },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases && ranks >= PARTS; k++) {
        uint64_t r = 1;
        parts p;
        begin(&p, "cumprod:f32:6:axis=0", &r);
        memcpy(p.in, cases[k].x, sizeof cases[k].x);
        for (int before = 0; before < rank && before < PARTS; before++) {
            p.first += cases[k].counts[before];
        }
        p.count = rank < PARTS ? cases[k].counts[rank] : 0;
        p.part = p.whole;
        p.part.sizes[0] = p.count;
        run_parts(&p, TALLY_MPI_TOTALS, 0, p.my_out, "cumprod");
        for (int64_t i = 0; i < p.count; i++) {
            EXPECT(isfinite(((float *)p.my_out)[i]), "case %zu, %d: %g", k, (int)i,
                   (double)((float *)p.my_out)[i]);
        }
        end(&p);
    }
}

static void range(int share)
{
    enum { LENGTH = 24, LANES = 200 };
    static const char *const words[] = { "cumsum:f32:24x200:axis=0", "cumprod:f32:24x200:axis=0",
                                         "cumprod:f32:24x200:axis=0,exclusive" };
    for (int trial = 0; trial < 60; trial++) {
        const char *word = words[trial % 3];
        uint64_t r = (uint64_t)trial * 1000 + (uint64_t)5;
        parts p;
        if (trial / 3 % share != 0) {
            continue;
        }
        begin(&p, word, &r);
        float *in = (float *)p.in, loop[LENGTH][LANES];
        const int is_sum = trial % 3 == 0, is_exclusive = trial % 3 == 2;
        for (int lane = 0; lane < LANES; lane++) {
            float state = is_sum ? 0 : 1;
            for (int i = 0; i < LENGTH; i++) {
                in[i * LANES + lane] = lane % 70 != 1 ? 1 : wild(&r, is_sum, state);
                loop[i][lane] = state;
                state = is_sum ? state + in[i * LANES + lane] : state * in[i * LANES + lane];
                loop[i][lane] = is_exclusive ? loop[i][lane] : state;
            }
        }
        cut(&p, &r, 1, 0);
        run_parts(&p, TALLY_MPI_TOTALS, 0, p.my_out, word);
        for (int lane = 0; lane < LANES; lane++) {
            int is_lost = 0;
            for (int i = 0; i < p.first + p.count; i++) {
                const float wanted = loop[i][lane];
                is_lost |= !isfinite(wanted) || (!is_sum && fabsf(wanted) < FLT_MIN);
                if (i < p.first) {
                    continue;
                }
                const float got = ((float *)p.my_out)[(i - p.first) * LANES + lane];
                EXPECT(isfinite(got) || !isfinite(wanted), "%s, trial %d, lane %d, %d: %g, not %g",
                       word, trial, lane, i, (double)got, (double)wanted);
                EXPECT(is_lost || fabsf(got - wanted) <= 1e-5f * (is_sum ? 3e38f : fabsf(wanted)),
                       "%s, trial %d, lane %d, %d: %g, not %g", word, trial, lane, i, (double)got,
                       (double)wanted);
            }
        }
        end(&p);
    }
}

/* ---- failures ----------------------------------------------------------------------------- */

static void expect_failure(tally_context *with, const tally_descriptor *d, const tally_buffers *b,
                           tally_mpi_way way, int failing, tally_status wanted, const char *field)
{
    tally_error error = TALLY_ERROR_INIT;
    char name[32];
    const tally_status status = tally_mpi_scan(MPI_COMM_WORLD, with, d, b, way, &error);
    snprintf(name, sizeof name, "rank %d failed", failing);
    EXPECT(status == wanted && error.status == wanted, "%s, %s: %s: %s", tally_status_name(status),
           tally_status_name(wanted), error.field, error.message);
    EXPECT(!strcmp(error.field, rank == failing ? field : "comm"), "%s, not %s: %s", error.field,
           field, error.message);
    EXPECT(rank == failing || strstr(error.message, name) != NULL, "%s, not %s", error.message,
           name);
    allocations_left = runs_left = -1;
}

/* What goes wrong on the last rank alone. */
static void failures_of_one(void)
{
    const int failing = ranks - 1, is_me = rank == failing;
    const tally_descriptor good = parsed("cumprod:f32:4x3:axis=0,carry=out");
    const tally_descriptor none = TALLY_DESCRIPTOR_INIT;
    const float in[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    float out[12] = { 0 }, state[3] = { 0 };
    const float zeros[12] = { 0 };
    tally_buffers b = TALLY_BUFFERS_INIT;
    b.in = in;
    b.out = out;
    b.carry_out = state;
    for (int way = TALLY_MPI_TOTALS; way <= TALLY_MPI_CHAIN; way++) {
        const tally_mpi_way by = (tally_mpi_way)way;
        const struct {
            const char *word;
            tally_status status;
            const char *field;
        } bad[] = {
            { "cumsum:i8:4x3:axis=0", TALLY_UNSUPPORTED, "dtype" },
            { "sum:f32:4x3:axes=0", TALLY_INVALID, "op" },
            { "cumsum:f32:4x3:axis=0,segments=i32/2", TALLY_UNSUPPORTED, "segments" },
            { "cumargmax:f32:4x3:axis=0", TALLY_UNSUPPORTED, "op" },
            { "cumsum:f32:?x3:axis=0", TALLY_INVALID, "sizes" },
        };
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            const tally_descriptor d = is_me ? parsed(bad[k].word) : good;
            expect_failure(context, &d, &b, by, failing, bad[k].status, bad[k].field);
        }
        expect_failure(context, is_me ? &none : &good, &b, by, failing, TALLY_INVALID, "op");
        expect_failure(context, is_me ? NULL : &good, &b, by, failing, TALLY_INVALID, "usage");
        expect_failure(context, &good, is_me ? NULL : &b, by, failing, TALLY_INVALID, "usage");
        expect_failure(is_me ? NULL : context, &good, &b, by, failing, TALLY_INVALID, "usage");
        tally_buffers wrong = b;
        wrong.in = NULL;
        expect_failure(context, &good, is_me ? &wrong : &b, by, failing, TALLY_INVALID, "in");
        wrong.in = out + 1;
        expect_failure(context, &good, is_me ? &wrong : &b, by, failing, TALLY_INVALID, "out");
        wrong.in = in;
        wrong.carry_out = out + 2;
        expect_failure(context, &good, is_me ? &wrong : &b, by, failing, TALLY_INVALID,
                       "carry_out");
        expect_failure(context, &good, &b, is_me ? (tally_mpi_way)7 : by, failing, TALLY_INVALID,
                       "usage");
        allocations_left = is_me ? 0 : -1;
        expect_failure(context, &good, &b, by, failing, TALLY_OUT_OF_MEMORY, "memory");
    }
    /* Totals, marks and what adds totals up: all before the first result is written. */
    for (int runs = 0; runs < 3 && ranks > 1; runs++) {
        runs_left = is_me ? runs : -1;
        expect_failure(context, &good, &b, TALLY_MPI_TOTALS, failing, TALLY_OUT_OF_MEMORY, "");
    }
    EXPECT(memcmp(out, zeros, sizeof out) == 0 && memcmp(state, zeros, sizeof state) == 0,
           "something was written");
    /* The scans themselves: no rank waits. */
    for (int way = TALLY_MPI_TOTALS; way <= TALLY_MPI_CHAIN; way++) {
        runs_left = !is_me ? -1 : way == TALLY_MPI_TOTALS && ranks > 1 ? 3 : 0;
        expect_failure(context, &good, &b, (tally_mpi_way)way, failing, TALLY_OUT_OF_MEMORY, "");
    }
    EXPECT(memcmp(state, zeros, sizeof state) == 0, "a state was written");
}

/* Ranks that differ, and communicators that are none. */
static void failures_of_all(void)
{
    tally_descriptor d = parsed("cumsum:f32:4x3:axis=0");
    float in[24] = { 0 }, out[24] = { 0 };
    tally_buffers b = TALLY_BUFFERS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    b.in = in;
    b.out = out;
    EXPECT(tally_mpi_scan(MPI_COMM_NULL, context, &d, &b, TALLY_MPI_CHAIN, &error) ==
                   TALLY_INVALID &&
               !strcmp(error.field, "comm"),
           "%s", error.message);
    if (ranks > 1) {
        d.sizes[1] = rank == 0 ? 3 : 4;
        EXPECT(tally_mpi_scan(MPI_COMM_WORLD, context, &d, &b, TALLY_MPI_TOTALS, &error) ==
                       TALLY_INVALID &&
                   !strcmp(error.field, "comm"),
               "%s", error.message);
        d.sizes[1] = 3;
        EXPECT(tally_mpi_scan(MPI_COMM_WORLD, context, &d, &b,
                              rank == 0 ? TALLY_MPI_CHAIN : TALLY_MPI_TOTALS,
                              &error) == TALLY_INVALID &&
                   !strcmp(error.field, "comm"),
               "%s", error.message);
    }
}

int main(int argc, char **argv)
{
    int threads, all = 0;
    const int share = argc > 2 && !strcmp(argv[1], "--share") ? atoi(argv[2]) : 1;
    tally_context_options options = TALLY_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (share < 1 || tally_context_create(&options, &context, NULL) != TALLY_OK) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    scans(share);
    if (ranks < 4) {
        chunks();
    }
    range(share);
    range_by_hand();
    failures_of_one();
    failures_of_all();
    tally_context_destroy(&context);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
