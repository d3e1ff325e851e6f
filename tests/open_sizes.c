/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_sizes [--device D] [--seed S] [--stages 1] [--words N] [--sizes N] [--only N]: functions
 * with open sizes, most of them together with strides, or with --stages words with operands and
 * expressions, of open or known sizes. Random words become one object, which a linker makes a
 * library. Each function is called with several sizes. Sizes that are valid go through a trial:
 * the reference judges the results, the library must have the same bits, and no other byte may
 * change. Sizes that are not must be refused. Every failure names the word, and what repeats it.
 */
#define _POSIX_C_SOURCE 200809L
#include "driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tally.h>

enum { MOST_WORDS = 4096, MOST_OPEN = 4, MOST_ELEMENTS = 20000, ROOM = 1 << 24 };

typedef struct word {
    tally_descriptor closed; /* some valid sizes */
    tally_descriptor open;
    char name[16];
    int open_dims[TALLY_MAX_RANK], open_count;
} word;

/* ---- an engine: the function of the word in work ---- */

/* A function of C that is compiled beside the object: it calls NAME where `parts` is 0, and else
 * NAME_part. Its pointers are in the order of NAME's parameters. */
typedef int (*caller)(const void *const *read, void *out, const int64_t *sizes, int64_t part,
                      int64_t parts);

typedef struct ahead {
    tly_engine face;
    const word *w;
    caller call; /* of the library that is open */
    int64_t sizes[MOST_OPEN];
} ahead;

static tally_status prepare(tly_engine *e, const tally_descriptor *d, const char *plan,
                            tally_error *error)
{
    ahead *a = (ahead *)e;
    (void)plan;
    (void)error;
    for (int i = 0; i < a->w->open_count; i++)
        a->sizes[i] = d->sizes[a->w->open_dims[i]];
    return TALLY_OK;
}

/* As many parts as there would be threads. */
static tally_status run(tly_engine *e, const tally_buffers *buffers, int32_t threads,
                        tally_error *error)
{
    const ahead *a = (const ahead *)e;
    const void *read[1 + TALLY_MAX_OPERANDS] = { buffers->in };
    int status = 0;
    memcpy(read + 1, buffers->operand, sizeof buffers->operand);
    for (int32_t part = 0; part < (threads > 1 ? threads : 1) && status == 0; part++)
        status = a->call(read, buffers->out, a->sizes, part, threads > 1 ? threads : 0);
    if (status != 0)
        snprintf(error->message, sizeof error->message, "the function returned %d", status);
    return status == 0 ? TALLY_OK : status == ENOTSUP ? TALLY_INTERNAL : TALLY_INVALID;
}

static void close_engine(tly_engine *e)
{
    (void)e;
}

/* ---- words ---- */

static int has_stages(const tally_descriptor *d)
{
    return d->map[0] || d->post[0];
}

static void draw_word(tly_random *r, int number, uint32_t stages, word *w)
{
    const uint32_t strides = TALLY_IN_STRIDES | TALLY_OUT_STRIDES;
    const uint32_t draws = TLY_DRAW_MADE | TLY_DRAW_WIDER | stages;
    do {
        if (tly_random_one_in(r, 3))
            tly_random_view(r, MOST_ELEMENTS, draws, &w->closed);
        else
            tly_random_problem(r, MOST_ELEMENTS, draws, &w->closed);
        w->open = w->closed;
        w->open_count = 0;
        for (int i = 0; i < w->closed.rank; i++) {
            const int most = tly_random_one_in(r, 3) ? MOST_OPEN : 1;
            if (w->open_count < most && tly_random_one_in(r, 2)) {
                w->open.sizes[i] = TALLY_OPEN_SIZE;
                w->open_dims[w->open_count++] = i;
            }
        }
    } while ((w->open_count == 0 && !stages) || w->closed.order == TALLY_ORDER_EXACT ||
             (!(w->closed.flags & strides) && !stages && !tly_random_one_in(r, 8)) ||
             (stages && !has_stages(&w->closed)) || w->closed.every != 0 ||
             tally_descriptor_check(&w->open, NULL) != TALLY_OK);
    snprintf(w->name, sizeof w->name, "w%d", number);
}

static int put(void *to, const char *bytes, size_t count)
{
    return fwrite(bytes, 1, count, to) != count;
}

static void list(FILE *to, const word *w, const char *pointer, const char *out, const char *size,
                 const char *after)
{
    fprintf(to, "(");
    for (int i = 0; i == 0 || (i <= TALLY_MAX_OPERANDS && w->closed.operands[i - 1].dtype); i++)
        fprintf(to, pointer, i);
    fprintf(to, "%s", out);
    for (int i = 0; i < w->open_count; i++)
        fprintf(to, size, i);
    fprintf(to, "%s)", after);
}

/* One `caller`: with prototypes of its own, as elements are bytes here. */
static void put_caller(FILE *to, const word *w)
{
    for (int parts = 0; parts < 2; parts++) {
        fprintf(to, "int %s%s", w->name, parts ? "_part" : "");
        list(to, w, "const void *p%d, ", "void *out", ", int64_t n%d",
             parts ? ", int64_t part, int64_t parts" : "");
        fprintf(to, ";\n");
    }
    fprintf(to,
            "int call_%s(const void *const *p, void *out, const int64_t *n, int64_t part, "
            "int64_t parts)\n{\n    return parts == 0 ? %s",
            w->name, w->name);
    list(to, w, "p[%d], ", "out", ", n[%d]", "");
    fprintf(to, " : %s_part", w->name);
    list(to, w, "p[%d], ", "out", ", n[%d]", ", part, parts");
    fprintf(to, ";\n}\n");
}

/* 0: `path` has the callers of all words. */
static int put_callers(const char *path, const word *words, int count)
{
    FILE *to = fopen(path, "w");
    if (!to)
        return 1;
    fprintf(to, "#include <stdint.h>\n");
    for (int i = 0; i < count; i++)
        put_caller(to, &words[i]);
    return fclose(to) != 0;
}

/* 0: the words' functions are in *library. */
static int make(tally_context *context, const char *device, const word *words, int count,
                void **library)
{
    tally_function *functions = calloc((size_t)count, sizeof *functions);
    char folder[] = "/tmp/tally-open-XXXXXX", path[64], command[256];
    tally_error error = TALLY_ERROR_INIT;
    for (int i = 0; functions && i < count; i++)
        functions[i] = (tally_function){ sizeof *functions, words[i].name, &words[i].open, NULL };
    if (!functions || !mkdtemp(folder)) {
        free(functions);
        return 1;
    }
    snprintf(path, sizeof path, "%s/open.o", folder);
    FILE *to = fopen(path, "wb");
    int failed = !to || tally_compile(context, functions, (size_t)count, &device, 1,
                                      TALLY_FORMAT_OBJECT, put, to, &error) != TALLY_OK;
    failed |= !to || fclose(to) != 0;
    free(functions);
    if (failed)
        printf("open_sizes: no object: %s: %s\n", error.field, error.message);
    snprintf(path, sizeof path, "%s/call.c", folder);
    failed = failed || put_callers(path, words, count);
    snprintf(command, sizeof command,
             "cd %s && cc -shared -fPIC call.c open.o -o open.so && rm call.c open.o", folder);
    failed = failed || system(command) != 0;
    snprintf(path, sizeof path, "%s/open.so", folder);
    *library = failed ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    remove(path);
    remove(folder);
    return *library == NULL;
}

/* ---- sizes ---- */

/* Where a dim ends at, or near to, the next element along another one. */
static int64_t draw_quotient(tly_random *r, const tally_descriptor *d)
{
    const int64_t *strides = tly_random_one_in(r, 2) ? d->in_strides : d->out_strides;
    const int64_t a = llabs(strides[tly_random_below(r, d->rank)]);
    const int64_t b = llabs(strides[tly_random_below(r, d->rank)]);
    return b != 0 ? a / b + tly_random_between(r, -1, 1) : 2;
}

static int64_t draw_size(tly_random *r, const tally_descriptor *d, int64_t valid)
{
    static const int64_t huge[] = {
        INT64_C(1) << 31, INT64_C(1) << 33, INT64_C(1) << 61, INT64_MAX, -1, -2
    };
    switch (tly_random_below(r, 8)) {
    case 0:
        return tly_random_below(r, 3);
    case 1:
        return tly_random_below(r, 80);
    case 2:
        return draw_quotient(r, d);
    case 3:
        return tly_random_one_in(r, 6) ? huge[tly_random_below(r, 6)] : tly_random_below(r, 300);
    default:
        return valid;
    }
}

/* Strides that are not given are packed, and must not be looked at. */
static tally_descriptor draw_sizes(tly_random *r, const word *w, int first)
{
    tally_descriptor d = w->closed;
    for (int i = 0; i < w->open_count && !first; i++) {
        int64_t *size = &d.sizes[w->open_dims[i]];
        *size = draw_size(r, &w->closed, *size);
    }
    return d;
}

static int operands_fit(const tally_descriptor *d)
{
    for (int i = 0; i < TALLY_MAX_OPERANDS && d->operands[i].dtype; i++) {
        const tally_operand *o = &d->operands[i];
        for (int k = 0; k < d->rank && o->place == TALLY_PLACE_STRIDES; k++)
            if (d->sizes[k] * llabs(o->strides[k]) > ROOM / 64)
                return 0;
    }
    return 1;
}

static int fits(const tally_descriptor *d)
{
    tly_layout l;
    double elements = 1;
    for (int i = 0; i < d->rank; i++)
        elements *= (double)d->sizes[i];
    if (elements > 4 * MOST_ELEMENTS)
        return 0;
    tly_layout_of(d, &l);
    return l.in_high - l.in_low < ROOM / 16 && l.out_high - l.out_low < ROOM / 16 &&
           llabs(l.in_low) < ROOM && llabs(l.out_low) < ROOM && operands_fit(d);
}

/* ---- the test ---- */

typedef struct bench {
    tly_arena in, out, operands[TALLY_MAX_OPERANDS];
    tly_engine *library;
    ahead function;
    long passed, refused, failed;
} bench;

/* POSIX has functions and objects in pointers of one kind, and C does not. */
static caller find(void *library, const char *name)
{
    char call_name[32];
    caller call = NULL;
    snprintf(call_name, sizeof call_name, "call_%s", name);
    void *const symbol = dlsym(library, call_name);
    memcpy(&call, &symbol, sizeof call);
    return call;
}

static int is_refused(bench *b, const tally_descriptor *d)
{
    const tly_buffer in = tly_arena_place(&b->in, TLY_PLACE_MIDDLE, 0, 4096);
    const tly_buffer out = tly_arena_place(&b->out, TLY_PLACE_MIDDLE, 0, 4096);
    tly_pattern_fill(out.window, out.window_bytes);
    char *before = malloc(out.window_bytes);
    memcpy(before, out.window, out.window_bytes);
    prepare(&b->function.face, d, "", NULL);
    const void *const read[1 + TALLY_MAX_OPERANDS] = { in.at, in.at, in.at, in.at, in.at };
    const ahead *a = &b->function;
    const int refused = a->call(read, out.at, a->sizes, 0, 0) == EINVAL &&
                        a->call(read, out.at, a->sizes, 0, 2) == EINVAL;
    const int same = memcmp(before, out.window, out.window_bytes) == 0;
    free(before);
    return refused && same;
}

/* A descriptor has -1 for an open size; to a function it is a negative one. */
static int is_valid(const word *w, const tally_descriptor *d)
{
    for (int i = 0; i < w->open_count; i++)
        if (d->sizes[w->open_dims[i]] < 0)
            return 0;
    return tally_descriptor_check(d, NULL) == TALLY_OK;
}

static void try_sizes(bench *b, const word *w, const tally_descriptor *d, tly_random r,
                      const char *repeat)
{
    char text[2 * TALLY_WORD_MAX] = "";
    tly_trial t = { .d = *d, .plan = "", .in = &b->in, .out = &b->out, .operands = b->operands };
    tly_engine *engines[] = { b->library, &b->function.face };
    int failed;
    if (!is_valid(w, d)) {
        failed = !is_refused(b, d);
        snprintf(t.why, sizeof t.why, "not refused, or something was written");
        b->refused += !failed;
    } else if (fits(d)) {
        t.data = tly_random_data(&r, d);
        t.random = r;
        failed = tly_trial_run(&t, engines, 2) != 0;
        b->passed += !failed;
    } else {
        return;
    }
    if (failed) {
        tally_descriptor_print(&w->open, text, sizeof text, NULL, NULL);
        printf("FAILED %s with", text);
        for (int i = 0; i < w->open_count; i++)
            printf(" %lld", (long long)d->sizes[w->open_dims[i]]);
        printf("  [%s]\n       %s\n", repeat, t.why);
        b->failed++;
    }
}

static int open_arenas(bench *b)
{
    int failed = tly_arena_open(&b->in, ROOM) || tly_arena_open(&b->out, ROOM);
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++)
        failed = failed || tly_arena_open(&b->operands[i], ROOM);
    return failed;
}

static void close_arenas(bench *b)
{
    tly_arena_close(&b->in);
    tly_arena_close(&b->out);
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++)
        tly_arena_close(&b->operands[i]);
}

int main(int argc, char **argv)
{
    const char *device = "cpu";
    uint64_t seed = 33;
    uint32_t stages = 0;
    int count = 24, sizes = 8, only = -1;
    for (int i = 1; i + 1 < argc; i += 2) {
        device = strcmp(argv[i], "--device") == 0 ? argv[i + 1] : device;
        seed = strcmp(argv[i], "--seed") == 0 ? strtoull(argv[i + 1], NULL, 10) : seed;
        count = strcmp(argv[i], "--words") == 0 ? atoi(argv[i + 1]) : count;
        sizes = strcmp(argv[i], "--sizes") == 0 ? atoi(argv[i + 1]) : sizes;
        only = strcmp(argv[i], "--only") == 0 ? atoi(argv[i + 1]) : only;
        stages = strcmp(argv[i], "--stages") == 0 && atoi(argv[i + 1]) ? TLY_DRAW_STAGES : stages;
    }
    static word words[MOST_WORDS];
    bench b = { .function = { .face = { "ahead", prepare, run, close_engine } } };
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    void *library = NULL;
    count = count < MOST_WORDS ? count : MOST_WORDS;
    for (int i = 0; i < count; i++) {
        tly_random r = tly_random_seed(seed, (uint64_t)i);
        draw_word(&r, i, stages, &words[i]);
    }
    const int first = only >= 0 && only < count ? only : 0, end = only >= 0 ? first + 1 : count;
    if (tally_context_create(NULL, &context, &error) != TALLY_OK ||
        make(context, device, words + first, end - first, &library) || open_arenas(&b) ||
        !(b.library = tly_engine_library(context, device, &error))) {
        printf("open_sizes: %s: %s\n", error.field, error.message);
        return 2;
    }
    for (int i = first; i < end; i++) {
        const word *w = &words[i];
        char repeat[112];
        b.function.w = w;
        b.function.call = find(library, w->name);
        snprintf(repeat, sizeof repeat,
                 "open_sizes --device %s --seed %llu --stages %d --words %d --only %d", device,
                 (unsigned long long)seed, stages != 0, count, i);
        for (int k = 0; k < sizes; k++) {
            tly_random r = tly_random_seed(seed + 1, (uint64_t)i * 1000 + (uint64_t)k);
            const tally_descriptor d = draw_sizes(&r, w, k == 0);
            try_sizes(&b, w, &d, r, repeat);
        }
    }
    b.library->close(b.library);
    tally_context_destroy(&context);
    close_arenas(&b);
    dlclose(library);
    printf(
        "open_sizes: device %s, seed %llu: %d words, %ld sizes passed, %ld refused, %ld failed\n",
        device, (unsigned long long)seed, end - first, b.passed, b.refused, b.failed);
    return b.failed != 0 || b.passed == 0;
}
