/*
 * Tensors of any size on a GPU, checked to the last element, and soaked: the same bits run after
 * run. Host memory is a few pieces, whatever the tensor's size.
 *
 *   gpu_whole --device D [--plan KEY=VALUE,...] [--data signed|near1|decay|grow] [--runs N]
 *             [--seconds N] WORD...
 *
 * A WORD is a packed cumsum or cumprod of i32, u32, i64, u64 or f32, or such a sum over all. Integers
 * are random and must be exactly what the plain loop gives; floats are held against the loop in
 * doubles, within what any order of combination may lose. Then the kernel runs N times more, and
 * each output must have the first one's bits. A line a word says what came of it. Exit status: 0;
 * 1: something was wrong; 77: nothing was done, and the last line says why; 124: cut by --seconds,
 * with nothing wrong up to there.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tally.h>
#include <tally/vulkan.h>

enum { PIECE = 1 << 22 }; /* elements on the host at once */

typedef enum data { SIGNED, NEAR1, DECAY, GROW, DATA_KINDS } data;
static const char *const data_names[DATA_KINDS] = { "signed", "near1", "decay", "grow" };

typedef struct whole {
    tally_context *context;
    tally_vulkan *vulkan;
    const char *device, *plan;
    data data;
    long runs;
    double until;
    tally_error error;
    int right, failed, cut;
} whole;

/* One word: rows x length x lanes elements. */
typedef struct subject {
    const char *word;
    tally_descriptor d;
    int64_t count, length, lanes, outputs;
    size_t element;
    tally_vulkan_kernel *kernel;
    tally_vulkan_buffer *in, *out;
    char *piece;
    /* Of every lane of the row that is being checked. */
    uint64_t *integer;
    double *real, *largest;
} subject;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- data ---- */

static uint64_t scramble(uint64_t index)
{
    uint64_t x = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static float real_at(data kind, int64_t i)
{
    const float u = (float)(scramble((uint64_t)i) >> 40) * 0x1p-24f;
    switch (kind) {
    case NEAR1:
        return 1 + (u - .5f) * 0x1p-10f;
    case DECAY:
        return 1 - .05f * u;
    case GROW:
        return 1 + .05f * u;
    default:
        return u - .5f;
    }
}

/* Odd, so that products do not come to nothing. */
static uint64_t integer_at(int64_t i)
{
    return scramble((uint64_t)i) | 1;
}

static void fill(const whole *w, const subject *s, int64_t from, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const uint64_t x = integer_at(from + k);
        const float f = real_at(w->data, from + k);
        const void *value = s->d.dtype == TALLY_F32 ? (const void *)&f : (const void *)&x;
        memcpy(s->piece + (size_t)k * s->element, value, s->element);
    }
}

/* ---- judging ---- */

static int multiplies(const subject *s)
{
    return s->d.op == TALLY_CUMPROD;
}

/* The loop's next value in its lane, against what the kernel gave; `at` counts along the axis. */
static int is_right_integer(const subject *s, uint64_t *sum, uint64_t x, const char *got)
{
    uint64_t value = 0;
    *sum = multiplies(s) ? *sum * x : *sum + x;
    memcpy(&value, got, s->element);
    return value == (s->element == 4 ? (uint32_t)*sum : *sum);
}

static int is_right_real(const subject *s, double *sum, double *largest, int64_t at, float x,
                         const char *got)
{
    float value;
    memcpy(&value, got, sizeof value);
    *sum = multiplies(s) ? *sum * x : *sum + x;
    *largest = fmax(*largest, fabs(*sum));
    const double loss = (double)(at + 16) * 0x1p-24;
    if (multiplies(s) && fabs(*sum) < 0x1p-120) {
        return fabsf(value) < 0x1p-119f;
    }
    if (multiplies(s) && fabs(*sum) > 0x1p127) {
        return isinf(value) || fabsf(value) > 0x1p126f;
    }
    return fabs(value - *sum) <= loss * (multiplies(s) ? fabs(*sum) : 1 + *largest);
}

/* -1, or the first element of the piece that is wrong. */
static int64_t judge(const whole *w, const subject *s, int64_t from, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = from + k, at = i / s->lanes % s->length;
        const size_t lane = (size_t)(i % s->lanes);
        const char *got = s->piece + (size_t)k * s->element;
        if (at == 0) {
            s->integer[lane] = (uint64_t)multiplies(s);
            s->real[lane] = multiplies(s);
            s->largest[lane] = 0;
        }
        const int right = s->d.dtype == TALLY_F32
                              ? is_right_real(s, &s->real[lane], &s->largest[lane], at,
                                              real_at(w->data, i), got)
                              : is_right_integer(s, &s->integer[lane], integer_at(i), got);
        if (!right) {
            return k;
        }
    }
    return -1;
}

/* A sum over all has one element of output. */
static int judge_sum(const whole *w, const subject *s)
{
    uint64_t sum = 0;
    double real = 0, largest = 0;
    int right = 0;
    for (int64_t i = 0; i < s->count; i++) {
        right = s->d.dtype == TALLY_F32
                    ? is_right_real(s, &real, &largest, i, real_at(w->data, i), s->piece)
                    : is_right_integer(s, &sum, integer_at(i), s->piece);
    }
    return right;
}

/* ---- one word ---- */

static int is_scan(const subject *s)
{
    return s->d.op == TALLY_CUMSUM || s->d.op == TALLY_CUMPROD;
}

static uint64_t hash(uint64_t h, const char *bytes, size_t count)
{
    uint64_t word;
    for (size_t k = 0; k + sizeof word <= count; k += sizeof word) {
        memcpy(&word, bytes + k, sizeof word);
        h = (h ^ word) * UINT64_C(0x100000001b3);
        h ^= h >> 29;
    }
    memcpy(&word, bytes + count - 4, 4); /* outputs of one element */
    return (h ^ (uint32_t)word) * UINT64_C(0x100000001b3);
}

/* All of the output, piece by piece: hashed, and judged unless `only_bits`. */
static tally_status look(whole *w, subject *s, int only_bits, uint64_t *bits, int64_t *wrong)
{
    tally_status status = TALLY_OK;
    *bits = 0;
    *wrong = -1;
    for (int64_t from = 0; from < s->outputs && status == TALLY_OK && *wrong < 0; from += PIECE) {
        const int64_t count = s->outputs - from < PIECE ? s->outputs - from : PIECE;
        const size_t bytes = (size_t)count * s->element;
        status = tally_vulkan_buffer_read(s->out, (uint64_t)from * s->element, s->piece, bytes,
                                          &w->error);
        *bits = hash(*bits, s->piece, bytes);
        if (status == TALLY_OK && !only_bits && is_scan(s)) {
            const int64_t at = judge(w, s, from, count);
            *wrong = at < 0 ? -1 : from + at;
        } else if (status == TALLY_OK && !only_bits && !judge_sum(w, s)) {
            *wrong = 0;
        }
    }
    return status;
}

static tally_status upload(whole *w, const subject *s)
{
    tally_status status = TALLY_OK;
    for (int64_t from = 0; from < s->count && status == TALLY_OK; from += PIECE) {
        const int64_t count = s->count - from < PIECE ? s->count - from : PIECE;
        fill(w, s, from, count);
        status = tally_vulkan_buffer_write(s->in, (uint64_t)from * s->element, s->piece,
                                           (size_t)count * s->element, &w->error);
    }
    return status;
}

static int read_word(subject *s, tally_error *error)
{
    if (tally_descriptor_parse(s->word, &s->d, error) != TALLY_OK) {
        return 0;
    }
    const int axis = is_scan(s) ? s->d.axis : 0;
    s->element = tally_dtype_bytes((tally_dtype)s->d.dtype);
    s->count = s->length = s->lanes = 1;
    for (int i = 0; i < s->d.rank; i++) {
        s->count *= s->d.sizes[i];
        s->lanes *= i > axis && is_scan(s) ? s->d.sizes[i] : 1;
    }
    s->length = is_scan(s) ? s->d.sizes[axis] : s->count;
    s->outputs = is_scan(s) ? s->count : 1;
    return (is_scan(s) || s->d.op == TALLY_SUM) && s->d.flags == 0 && s->element >= 4 &&
           s->d.dtype != TALLY_F64;
}

static tally_status prepare(whole *w, subject *s)
{
    const tally_kernel_options options = { .size = sizeof options, .plan = w->plan };
    const size_t lanes = (size_t)s->lanes, in = (size_t)s->count * s->element;
    tally_status status = tally_vulkan_kernel_create(w->vulkan, &s->d, &options, &s->kernel,
                                                     &w->error);
    if (status == TALLY_OK) {
        status = tally_vulkan_buffer_create(w->vulkan, (in + 15) / 16 * 16, &s->in, &w->error);
    }
    if (status == TALLY_OK) {
        const size_t out = (size_t)s->outputs * s->element;
        status = tally_vulkan_buffer_create(w->vulkan, (out + 15) / 16 * 16, &s->out, &w->error);
    }
    s->piece = malloc((size_t)PIECE * s->element);
    s->integer = malloc(lanes * sizeof *s->integer);
    s->real = malloc(lanes * sizeof *s->real);
    s->largest = malloc(lanes * sizeof *s->largest);
    if (status == TALLY_OK && (!s->piece || !s->integer || !s->real || !s->largest)) {
        strcpy(w->error.message, "no memory on the host");
        status = TALLY_OUT_OF_MEMORY;
    }
    return status == TALLY_OK ? upload(w, s) : status;
}

/* All runs; 1 if nothing was wrong. */
static int run_all(whole *w, subject *s)
{
    tally_vulkan_buffers buffers = { .size = sizeof buffers };
    uint64_t first = 0, bits;
    int64_t wrong;
    double seconds = 0;
    long run = 0;
    tally_vulkan_buffer_info(s->in, &buffers.in);
    tally_vulkan_buffer_info(s->out, &buffers.out);
    for (; run <= w->runs; run++) {
        if (run > 0 && now() > w->until) {
            w->cut = 1;
            break;
        }
        if (tally_vulkan_time(s->kernel, &buffers, &seconds, &w->error) != TALLY_OK ||
            look(w, s, run > 0, &bits, &wrong) != TALLY_OK) {
            printf("%s: FAILED, run %ld: %s\n", s->word, run, w->error.message);
            return 0;
        }
        first = run > 0 ? first : bits;
        if (wrong >= 0 || bits != first) {
            printf("%s: FAILED, run %ld: %s, element %lld\n", s->word, run,
                   wrong >= 0 ? "wrong" : "other bits", (long long)wrong);
            return 0;
        }
    }
    printf("%s: %lld elements right, %ld runs with the same bits, %.6f s the last\n", s->word,
           (long long)s->count, run, seconds);
    return 1;
}

static void check(whole *w, const char *word)
{
    subject s = { .word = word, .d = TALLY_DESCRIPTOR_INIT };
    w->error = (tally_error)TALLY_ERROR_INIT;
    if (!read_word(&s, &w->error)) {
        printf("%s: FAILED: is no word for this: %s\n", word, w->error.message);
        w->failed = 1;
        return;
    }
    const tally_status status = prepare(w, &s);
    if (status == TALLY_OUT_OF_MEMORY || status == TALLY_UNSUPPORTED || status == TALLY_INVALID) {
        printf("%s: skipped: %s\n", word, w->error.message);
    } else if (status != TALLY_OK) {
        printf("%s: FAILED: %s\n", word, w->error.message);
        w->failed = 1;
    } else if (run_all(w, &s)) {
        w->right = 1;
    } else {
        w->failed = 1;
    }
    fflush(stdout);
    tally_vulkan_buffer_destroy(&s.in);
    tally_vulkan_buffer_destroy(&s.out);
    tally_vulkan_kernel_destroy(&s.kernel);
    free(s.piece);
    free(s.integer);
    free(s.real);
    free(s.largest);
}

/* ---- all ---- */

static int read_option(whole *w, const char *name, const char *value)
{
    if (strcmp(name, "--device") == 0) {
        w->device = value;
    } else if (strcmp(name, "--plan") == 0) {
        w->plan = value;
    } else if (strcmp(name, "--runs") == 0) {
        w->runs = strtol(value, NULL, 10);
    } else if (strcmp(name, "--seconds") == 0) {
        w->until = now() + strtod(value, NULL);
    } else if (strcmp(name, "--data") == 0) {
        int kind = 0;
        while (kind < DATA_KINDS && strcmp(value, data_names[kind]) != 0) {
            kind++;
        }
        w->data = (data)kind;
        return kind < DATA_KINDS;
    } else {
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    whole w = { .until = INFINITY, .error = TALLY_ERROR_INIT };
    int at = 1;
    while (at + 1 < argc && argv[at][0] == '-' && read_option(&w, argv[at], argv[at + 1])) {
        at += 2;
    }
    if (at >= argc || argv[at][0] == '-' || !w.device) {
        fprintf(stderr, "gpu_whole: see the head of tests/gpu_whole.c\n");
        return 2;
    }
    if (tally_context_create(NULL, &w.context, &w.error) != TALLY_OK ||
        tally_vulkan_open(w.context, w.device, &w.vulkan, &w.error) != TALLY_OK) {
        printf("%s\n", w.error.message);
        tally_context_destroy(&w.context);
        return 1;
    }
    for (; at < argc && !w.cut; at++) {
        w.cut = now() > w.until;
        if (!w.cut) {
            check(&w, argv[at]);
        }
    }
    tally_vulkan_destroy(&w.vulkan);
    tally_context_destroy(&w.context);
    return w.failed ? 1 : w.cut ? 124 : w.right ? 0 : 77;
}
