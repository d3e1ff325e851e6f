/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A judge for changes that must not change anything: hashes of all that is made for many random
 * words.
 *
 *   freeze list [--count N] [--seed S] [--most ELEMENTS]        writes words, one a line
 *   freeze hash WORDS [--profiles FOLDER] [--part I/N] [--bits K]
 *
 * `hash` writes one line for each word of the file WORDS and each target: the plan, the kernel IR,
 * of devices the SPIR-V, and of every K-th word (3) on a CPU level that runs here the bits of
 * results, each as a hash. A stage that cannot be made has the status and the field in its place.
 * With --part only each N-th word from the I-th on is hashed, so that several processes share the
 * work.
 *
 * The list is kept outside of the tree that changes, and so are the hashes before a change. Then
 * tests/freeze_compare OLD NEW tells what differs. Exit status: 0, or 2 for what cannot be read.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/kernel.h>

#include "random.h"
#include "reference.h"
#include "splitmix.h"

enum { LEVELS = 5, MOST_TARGETS = 24, MOST_PROFILE = 1 << 16, KINDS = 3 };

typedef struct target {
    const char *name;
    char *profile; /* NULL: a CPU level */
    int runs_here;
} target;

typedef struct freezer {
    tally_context *context;
    target targets[MOST_TARGETS];
    int target_count;
    long bits; /* results of every bits-th word */
} freezer;

/* ---- hashes ---- */

typedef struct hash {
    uint64_t value; /* FNV-1a */
} hash;

static int add(void *user, const char *bytes, size_t count)
{
    hash *h = user;
    for (size_t k = 0; k < count; k++)
        h->value = (h->value ^ (unsigned char)bytes[k]) * UINT64_C(0x100000001b3);
    return 0;
}

static hash start(void)
{
    return (hash){ UINT64_C(0xcbf29ce484222325) };
}

static void print(const char *stage, tally_status s, const tally_error *error, hash h)
{
    if (s == TALLY_OK)
        printf(" %s=%016llx", stage, (unsigned long long)h.value);
    else
        printf(" %s=status%d/%s", stage, (int)s, error->field);
}

/* ---- results ---- */

/* Kinds: near 1, wide with zeros and what is not finite, any bits. */
static uint64_t element(tally_dtype dtype, int kind, uint64_t random)
{
    const double unit = (double)(random >> 11) * 0x1p-53;
    if (dtype == TALLY_BOOL)
        return random & 1;
    if (kind == 2)
        return tly_is_float(dtype) ? tly_encode(dtype, unit - .5) : tly_integer_cut(dtype, random);
    if (!tly_is_float(dtype))
        return tly_integer_cut(dtype, kind == 0 ? random % 5 : random >> (random & 63));
    if (kind == 0)
        return tly_encode(dtype, .9 + .2 * unit);
    switch (random % 97) {
    case 0:
        return tly_encode(dtype, 0.0);
    case 1:
        return tly_encode(dtype, random & 128 ? -1.0 / 0.0 : 1.0 / 0.0);
    case 2:
        return tly_encode(dtype, 0.0 / 0.0);
    default:
        return tly_encode(dtype, (unit - .5) * (random & 64 ? 1e9 : 1e-9));
    }
}

static size_t bytes_of(tally_dtype dtype)
{
    static const size_t bytes[TALLY_DTYPE_COUNT] = {
        [TALLY_F64] = 8, [TALLY_F32] = 4, [TALLY_F16] = 2, [TALLY_BF16] = 2, [TALLY_I64] = 8,
        [TALLY_I32] = 4, [TALLY_I16] = 2, [TALLY_I8] = 1,  [TALLY_U64] = 8,  [TALLY_U32] = 4,
        [TALLY_U16] = 2, [TALLY_U8] = 1,  [TALLY_BOOL] = 1
    };
    return bytes[dtype];
}

/* All NaNs are one: which of them an operation gives is not promised. */
static void add_results(hash *h, tally_dtype dtype, const char *out, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        uint64_t bits = tly_bits_load(dtype, out, k);
        if (tly_is_float(dtype) && tly_bits_are_nan(dtype, bits))
            bits = UINT64_MAX;
        add(h, (const char *)&bits, sizeof bits);
    }
}

static tally_status run(const freezer *f, const target *t, const tally_descriptor *d, hash *h,
                        tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options, .device = t->name };
    const tally_dtype in_dtype = (tally_dtype)d->dtype, out_dtype = tly_reference_output(d);
    tally_kernel *kernel = NULL;
    tly_layout l;
    tly_layout_of(d, &l);
    const int64_t ins = l.in_high < l.in_low ? 0 : l.in_high - l.in_low + 1;
    const int64_t outs = l.out_high < l.out_low ? 0 : l.out_high - l.out_low + 1;
    const size_t out_bytes = (size_t)outs * bytes_of(out_dtype);
    char *in = calloc((size_t)ins + 1, bytes_of(in_dtype)), *out = malloc(out_bytes + 8);
    tally_status s = in && out ? tally_kernel_create(f->context, d, &options, &kernel, error)
                               : TALLY_OUT_OF_MEMORY;
    for (int kind = 0; s == TALLY_OK && kind < KINDS; kind++) {
        uint64_t state = (uint64_t)kind;
        for (int64_t k = 0; k < ins; k++)
            tly_bits_store(in_dtype, in, k, element(in_dtype, kind, tly_splitmix(&state)));
        memset(out, 0x5a, out_bytes);
        s = tally_kernel_run(kernel, ins ? in - l.in_low * (int64_t)bytes_of(in_dtype) : NULL,
                             outs ? out - l.out_low * (int64_t)bytes_of(out_dtype) : NULL, error);
        add_results(h, out_dtype, out, outs);
    }
    tally_kernel_destroy(&kernel);
    free(in);
    free(out);
    return s;
}

/* ---- words ---- */

static void freeze_word(const freezer *f, const target *t, const char *word, long number)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    const tally_kernel_options options = { .size = sizeof options,
                                           .profile = t->profile,
                                           .device = t->profile ? NULL : t->name };
    static const struct {
        const char *name;
        tally_stage stage;
        int of_devices;
    } stages[] = { { "plan", TALLY_STAGE_PLAN, 0 },
                   { "kir", TALLY_STAGE_KIR, 0 },
                   { "spirv", TALLY_STAGE_SPIRV, 1 } };
    printf("%s %s", t->name, word);
    tally_status s = tally_descriptor_parse(word, &d, &error);
    if (s != TALLY_OK) {
        print("word", s, &error, start());
        putchar('\n');
        return;
    }
    for (size_t k = 0; k < sizeof stages / sizeof stages[0]; k++) {
        if (stages[k].of_devices && !t->profile)
            continue;
        hash h = start();
        s = tally_inspect(f->context, &d, &options, stages[k].stage, add, &h, &error);
        print(stages[k].name, s, &error, h);
        if (s != TALLY_OK)
            break;
    }
    if (s == TALLY_OK && t->runs_here && number % f->bits == 0) {
        hash h = start();
        s = run(f, t, &d, &h, &error);
        print("bits", s, &error, h);
    }
    putchar('\n');
}

static int hash_words(const freezer *f, const char *path, long part, long parts)
{
    char word[TALLY_WORD_MAX];
    FILE *file = fopen(path, "r");
    if (!file)
        return fprintf(stderr, "freeze: %s cannot be opened\n", path), 2;
    for (long number = 0; fgets(word, sizeof word, file); number++) {
        word[strcspn(word, "\n")] = 0;
        for (int k = 0; number % parts == part && k < f->target_count; k++)
            freeze_word(f, &f->targets[k], word, number / parts);
    }
    fclose(file);
    return 0;
}

static int list_words(long count, uint64_t seed, int64_t most)
{
    char word[TALLY_WORD_MAX];
    for (long number = 0; number < count; number++) {
        tly_random r = tly_random_seed(seed, (uint64_t)number);
        tally_descriptor d;
        const uint32_t draws = TLY_DRAW_WIDER | (number % 2 ? TLY_DRAW_REDUCTIONS : TLY_DRAW_SCANS);
        tly_random_problem(&r, most, draws, &d);
        if (tally_descriptor_print(&d, word, sizeof word, NULL, NULL) == TALLY_OK)
            puts(word);
    }
    return 0;
}

/* ---- targets ---- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, MOST_PROFILE);
    const size_t length = file && bytes ? fread(bytes, 1, MOST_PROFILE - 1, file) : 0;
    if (file)
        fclose(file);
    return length ? bytes : NULL;
}

static int find_targets(freezer *f, const char *profiles)
{
    static const char *const levels[LEVELS] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4",
                                                "cpu:aarch64", "cpu:riscv64" };
    static glob_t found;
    static tally_device devices[MOST_TARGETS] = { TALLY_DEVICE_INIT };
    char pattern[4096];
    size_t count = 0;
    if (tally_devices(devices, MOST_TARGETS, &count, NULL))
        return 1;
    for (int k = 0; k < LEVELS; k++) {
        target *t = &f->targets[f->target_count++];
        t->name = levels[k];
        for (size_t i = 0; i < count && i < MOST_TARGETS; i++)
            if (!strcmp(devices[i].selector, levels[k]))
                t->runs_here = devices[i].runs_here;
    }
    if (!profiles)
        return 0;
    snprintf(pattern, sizeof pattern, "%s/*.profile", profiles);
    if (glob(pattern, 0, NULL, &found))
        return 1;
    for (size_t k = 0; k < found.gl_pathc && f->target_count < MOST_TARGETS; k++) {
        target *t = &f->targets[f->target_count++];
        const char *slash = strrchr(found.gl_pathv[k], '/');
        t->profile = read_text(found.gl_pathv[k]);
        t->name = slash ? slash + 1 : found.gl_pathv[k];
        if (!t->profile)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    long count = 20000, part = 0, parts = 1;
    uint64_t seed = 1;
    int64_t most = 20000;
    const char *profiles = NULL;
    static freezer f = { .bits = 3 };
    const int list = argc > 1 && !strcmp(argv[1], "list");
    const int first = list ? 2 : 3;
    if (!list && (argc < 3 || strcmp(argv[1], "hash") != 0))
        return fprintf(stderr, "freeze: see the head of tests/freeze.c\n"), 2;
    for (int k = first; k + 1 < argc; k += 2) {
        const char *value = argv[k + 1];
        if (!strcmp(argv[k], "--count"))
            count = strtol(value, NULL, 10);
        else if (!strcmp(argv[k], "--seed"))
            seed = strtoull(value, NULL, 10);
        else if (!strcmp(argv[k], "--most"))
            most = strtoll(value, NULL, 10);
        else if (!strcmp(argv[k], "--bits"))
            f.bits = strtol(value, NULL, 10);
        else if (!strcmp(argv[k], "--profiles"))
            profiles = value;
        else if (!strcmp(argv[k], "--part") && sscanf(value, "%ld/%ld", &part, &parts) == 2)
            part--;
        else
            return fprintf(stderr, "freeze: see the head of tests/freeze.c\n"), 2;
    }
    if (list)
        return list_words(count, seed, most);
    const tally_context_options options = {
        .size = sizeof options, .threads = 1, .cache_kernels = 1, .cache_folder = ""
    };
    if (f.bits < 1 || parts < 1 || tally_context_create(&options, &f.context, NULL) ||
        find_targets(&f, profiles))
        return fprintf(stderr, "freeze: no context, or no profile\n"), 2;
    const int status = hash_words(&f, argv[2], part, parts);
    tally_context_destroy(&f.context);
    return status;
}
