/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of any size on a GPU, checked to the last element, and soaked: the same bits run after
 * run. Host memory is a few pieces, whatever the tensor's size.
 *
 *   gpu_whole --device D [--plan KEY=VALUE,...] [--data signed|near1|decay|grow] [--runs N]
 *             [--seconds N] WORD...
 *
 * A WORD is a packed cumsum or cumprod of i32, u32, i64, u64 or f32, or such a sum over all.
 * Integers are random and must be exactly what the plain loop gives; floats are held against the
 * loop in doubles, within what any order of combination may lose. Then the kernel runs N times
 * more, and each output must have the first one's bits. A line a word says what came of it. Exit
 * status: 0; 1: something was wrong; 77: nothing was done, and the last line says why; 124: cut by
 * --seconds, with nothing wrong up to there.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tally/vulkan.h>

#include "gpu_judge.h"

enum { PIECE = 1 << 22, MOST_KEPT = 1 << 30 }; /* elements on the host at once; bytes */

static const char *const data_names[TLY_WHOLE_KINDS] = { "signed", "near1", "decay", "grow" };

typedef struct whole {
    tally_context *context;
    tally_vulkan *vulkan;
    const char *device, *plan;
    tly_whole_data data;
    long runs;
    double until;
    tally_error error;
    int right, failed, cut;
} whole;

/* One word. */
typedef struct subject {
    tly_whole all;
    const char *word;
    int64_t outputs;
    char *first; /* the first run's output; NULL: too large to keep */
    tally_vulkan_kernel *kernel;
    tally_vulkan_buffer *in, *out;
} subject;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- one word ---- */

static int is_scan(const subject *s)
{
    return s->all.d.op == TALLY_CUMSUM || s->all.d.op == TALLY_CUMPROD;
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

/* Says where a later run's piece differs from the first run's; 1: it does. */
static int tell_difference(const subject *s, int64_t from, int64_t count)
{
    const size_t element = s->all.element;
    for (int64_t i = 0; s->first != NULL && i < count; i++) {
        uint64_t had = 0, has = 0;
        memcpy(&had, s->first + (size_t)(from + i) * element, element);
        memcpy(&has, (const char *)s->all.piece + (size_t)i * element, element);
        if (had != has) {
            printf("%s: element %lld was 0x%llx and is 0x%llx\n", s->word, (long long)(from + i),
                   (unsigned long long)had, (unsigned long long)has);
            return 1;
        }
    }
    return 0;
}

/* All of the output, piece by piece: hashed, and judged unless `only_bits`. */
static tally_status look(whole *w, subject *s, int only_bits, uint64_t *bits, int64_t *wrong)
{
    tally_status status = TALLY_OK;
    int differs = 0;
    *bits = 0;
    *wrong = -1;
    for (int64_t from = 0; from < s->outputs && status == TALLY_OK && *wrong < 0; from += PIECE) {
        const int64_t count = s->outputs - from < PIECE ? s->outputs - from : PIECE;
        const size_t bytes = (size_t)count * s->all.element;
        status = tally_vulkan_buffer_read(s->out, (uint64_t)from * s->all.element, s->all.piece,
                                          bytes, &w->error);
        *bits = hash(*bits, s->all.piece, bytes);
        if (only_bits) {
            differs = differs || tell_difference(s, from, count);
        } else if (s->first != NULL) {
            memcpy(s->first + (size_t)from * s->all.element, s->all.piece, bytes);
        }
        if (status == TALLY_OK && !only_bits && is_scan(s)) {
            const int64_t at = tly_whole_judge(&s->all, from, count);
            *wrong = at < 0 ? -1 : from + at;
        } else if (status == TALLY_OK && !only_bits && !tly_whole_judge_sum(&s->all)) {
            *wrong = 0;
        }
    }
    return status;
}

static tally_status upload(whole *w, const subject *s)
{
    tally_status status = TALLY_OK;
    for (int64_t from = 0; from < s->all.count && status == TALLY_OK; from += PIECE) {
        const int64_t count = s->all.count - from < PIECE ? s->all.count - from : PIECE;
        tly_whole_fill(&s->all, from, count);
        status = tally_vulkan_buffer_write(s->in, (uint64_t)from * s->all.element, s->all.piece,
                                           (size_t)count * s->all.element, &w->error);
    }
    return status;
}

static int read_word(subject *s, tally_error *error)
{
    if (tally_descriptor_parse(s->word, &s->all.d, error) != TALLY_OK) {
        return 0;
    }
    const int axis = is_scan(s) ? s->all.d.axis : 0;
    s->all.element = tally_dtype_bytes((tally_dtype)s->all.d.dtype);
    s->all.count = s->all.length = s->all.lanes = 1;
    for (int i = 0; i < s->all.d.rank; i++) {
        s->all.count *= s->all.d.sizes[i];
        s->all.lanes *= i > axis && is_scan(s) ? s->all.d.sizes[i] : 1;
    }
    s->all.length = is_scan(s) ? s->all.d.sizes[axis] : s->all.count;
    s->outputs = is_scan(s) ? s->all.count : 1;
    return (is_scan(s) || s->all.d.op == TALLY_SUM) && s->all.d.flags == 0 && s->all.element >= 4 &&
           s->all.d.dtype != TALLY_F64;
}

static tally_status prepare(whole *w, subject *s)
{
    const tally_kernel_options options = { .size = sizeof options, .plan = w->plan };
    const size_t lanes = (size_t)s->all.lanes, in = (size_t)s->all.count * s->all.element;
    tally_status status = tally_vulkan_kernel_create(w->vulkan, &s->all.d, &options, &s->kernel,
                                                     &w->error);
    if (status == TALLY_OK) {
        status = tally_vulkan_buffer_create(w->vulkan, (in + 15) / 16 * 16, &s->in, &w->error);
    }
    if (status == TALLY_OK) {
        const size_t out = (size_t)s->outputs * s->all.element;
        status = tally_vulkan_buffer_create(w->vulkan, (out + 15) / 16 * 16, &s->out, &w->error);
    }
    const size_t made = (size_t)s->outputs * s->all.element;
    s->first = w->runs > 0 && made <= MOST_KEPT ? malloc(made) : NULL;
    s->all.piece = malloc((size_t)PIECE * s->all.element);
    s->all.integer = malloc(lanes * sizeof *s->all.integer);
    s->all.real = malloc(lanes * sizeof *s->all.real);
    s->all.largest = malloc(lanes * sizeof *s->all.largest);
    if (status == TALLY_OK &&
        (!s->all.piece || !s->all.integer || !s->all.real || !s->all.largest)) {
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
           (long long)s->all.count, run, seconds);
    return 1;
}

static void check(whole *w, const char *word)
{
    subject s = { .all = { .d = TALLY_DESCRIPTOR_INIT, .data = w->data }, .word = word };
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
    free(s.first);
    free(s.all.piece);
    free(s.all.integer);
    free(s.all.real);
    free(s.all.largest);
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
        while (kind < TLY_WHOLE_KINDS && strcmp(value, data_names[kind]) != 0) {
            kind++;
        }
        w->data = (tly_whole_data)kind;
        return kind < TLY_WHOLE_KINDS;
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
