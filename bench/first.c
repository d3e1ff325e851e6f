/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time to the first kernel: what a program pays that starts, opens libtally and asks for one
 * kernel, generator and LLVM included; and what each later kernel costs once they are open.
 *
 *     first LIBTALLY RUNS < words      one descriptor word a line; prints one JSON object
 *
 * Cold: for each word and run a new process (fork and exec); the clock starts before the fork and
 * stops when the kernel exists and, for tensors up to 1 MiB, when its first result does. Later
 * misses: one process a run makes every kernel in turn, the first one uncounted; a creation that
 * the cache served (another word of the same problem) is left out. All files are in the page cache.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tally/kernel.h>

enum { MAX_WORDS = 512, MAX_RUNS = 64, SMALL_BYTES = 1 << 20 };

static char words[MAX_WORDS][TALLY_WORD_MAX];
static int word_count;

static struct {
    __typeof__(tally_context_create) *context_create;
    __typeof__(tally_context_stats) *context_stats;
    __typeof__(tally_descriptor_parse) *parse;
    __typeof__(tally_dtype_bytes) *dtype_bytes;
    __typeof__(tally_kernel_create) *kernel_create;
    __typeof__(tally_kernel_run) *run;
} api;

static const struct {
    const char *name;
    void *where;
} symbols[] = {
    { "tally_context_create", &api.context_create }, { "tally_context_stats", &api.context_stats },
    { "tally_descriptor_parse", &api.parse },        { "tally_dtype_bytes", &api.dtype_bytes },
    { "tally_kernel_create", &api.kernel_create },   { "tally_kernel_run", &api.run },
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "first: %s: %s\n", what, why);
    return 1;
}

static int open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL)
        return fail(path, dlerror());
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (symbol == NULL)
            return fail(path, symbols[i].name);
        memcpy(symbols[i].where, &symbol, sizeof(symbol));
    }
    return 0;
}

/* A result of a small packed tensor; larger ones would time the zeroing of their pages. */
static int first_result(const tally_kernel *kernel, const tally_descriptor *descriptor)
{
    size_t bytes = api.dtype_bytes((tally_dtype)descriptor->dtype);
    for (int i = 0; i < descriptor->rank; i++) {
        if (descriptor->sizes[i] > SMALL_BYTES)
            return 0;
        bytes *= (size_t)descriptor->sizes[i];
        if (bytes > SMALL_BYTES)
            return 0;
    }
    if (descriptor->flags & (TALLY_IN_STRIDES | TALLY_OUT_STRIDES))
        return 0;
    void *in = calloc(1, bytes), *out = calloc(1, bytes);
    int done = in != NULL && out != NULL && api.run(kernel, in, out, NULL) == TALLY_OK;
    free(in);
    free(out);
    return done;
}

/* One cold process: prints when the kernel existed and when its result did, 0 for none. */
static int cold(const char *library, const char *word)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    tally_context *context;
    tally_kernel *kernel;
    if (open_library(library) != 0)
        return 1;
    if (api.context_create(NULL, &context, &error) != TALLY_OK ||
        api.parse(word, &descriptor, &error) != TALLY_OK ||
        api.kernel_create(context, &descriptor, NULL, &kernel, &error) != TALLY_OK)
        return fail(word, error.message);
    int64_t created = now();
    int64_t result = first_result(kernel, &descriptor) ? now() : 0;
    printf("%" PRId64 " %" PRId64 "\n", created, result);
    return 0;
}

/* One process for all later misses: prints nanoseconds for each word, 0 where the cache had it. */
static int misses(const char *library)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context;
    tally_stats before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
    if (open_library(library) != 0)
        return 1;
    if (api.context_create(NULL, &context, &error) != TALLY_OK)
        return fail("context", error.message);
    for (int i = 0; i < word_count; i++) {
        tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
        tally_kernel *kernel;
        if (api.parse(words[i], &descriptor, &error) != TALLY_OK)
            return fail(words[i], error.message);
        api.context_stats(context, &before);
        int64_t start = now();
        if (api.kernel_create(context, &descriptor, NULL, &kernel, &error) != TALLY_OK)
            return fail(words[i], error.message);
        int64_t time = now() - start;
        api.context_stats(context, &after);
        printf("%" PRId64 "\n", after.compiled > before.compiled ? time : 0);
    }
    return 0;
}

static int read_words(void)
{
    while (word_count < MAX_WORDS && fgets(words[word_count], TALLY_WORD_MAX, stdin) != NULL) {
        words[word_count][strcspn(words[word_count], "\n")] = 0;
        if (words[word_count][0] != 0)
            word_count++;
    }
    return word_count > 0 ? 0 : fail("standard input", "no words");
}

/* Starts this program again; the words reach it through `input` unless that is NULL. Returns a
 * stream of what it prints. */
static FILE *start(char *const arguments[], FILE *input, pid_t *child)
{
    int pipes[2];
    if (pipe(pipes) != 0)
        return NULL;
    fflush(stdout);
    *child = fork();
    if (*child == 0) {
        dup2(pipes[1], 1);
        if (input != NULL)
            dup2(fileno(input), 0);
        close(pipes[0]);
        close(pipes[1]);
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    close(pipes[1]);
    return *child < 0 ? NULL : fdopen(pipes[0], "r");
}

static int finish(FILE *stream, pid_t child)
{
    int status = 1;
    fclose(stream);
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the median of `count` milliseconds, null for none. */
static void print_median(const char *name, double *values, int count, const char *end)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    if (count > 0)
        printf("\"%s\": %.3f%s", name, values[count / 2], end);
    else
        printf("\"%s\": null%s", name, end);
}

static double cold_created[MAX_WORDS][MAX_RUNS], cold_result[MAX_WORDS][MAX_RUNS];
static double later[MAX_WORDS][MAX_RUNS];
static int result_count[MAX_WORDS], later_count[MAX_WORDS];

static int measure(char *program, char *library, int runs)
{
    /* The run -1 fills the page cache and is not counted. */
    for (int run = -1; run < runs; run++)
        for (int i = 0; i < word_count; i++) {
            char *arguments[] = { program, "--cold", library, words[i], NULL };
            int64_t created = 0, result = 0, begin = now();
            pid_t child;
            FILE *stream = start(arguments, NULL, &child);
            if (stream == NULL)
                return fail("fork", "failed");
            int read = fscanf(stream, "%" SCNd64 " %" SCNd64, &created, &result);
            if (finish(stream, child) != 0 || read != 2)
                return fail(words[i], "no first kernel");
            if (run < 0)
                continue;
            cold_created[i][run] = (double)(created - begin) * 1e-6;
            if (result > 0)
                cold_result[i][result_count[i]++] = (double)(result - begin) * 1e-6;
        }
    for (int run = 0; run < runs; run++) {
        char *arguments[] = { program, "--misses", library, NULL };
        FILE *input = tmpfile();
        pid_t child;
        if (input == NULL)
            return fail("temporary file", "failed");
        for (int i = 0; i < word_count; i++)
            fprintf(input, "%s\n", words[i]);
        rewind(input);
        FILE *stream = start(arguments, input, &child);
        fclose(input);
        if (stream == NULL)
            return fail("fork", "failed");
        int read = 1;
        for (int i = 0; i < word_count && read == 1; i++) {
            int64_t time;
            read = fscanf(stream, "%" SCNd64, &time);
            if (read == 1 && time > 0 && i > 0)
                later[i][later_count[i]++] = (double)time * 1e-6;
        }
        if (finish(stream, child) != 0 || read != 1)
            return fail("misses", "no later kernels");
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--cold") == 0)
        return cold(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "--misses") == 0)
        return read_words() != 0 ? 1 : misses(argv[2]);
    int runs = argc == 3 ? atoi(argv[2]) : 0;
    if (runs < 1 || runs > MAX_RUNS)
        return fail("usage", "first LIBTALLY RUNS < words, with at most 64 runs");
    if (read_words() != 0 || measure(argv[0], argv[1], runs) != 0)
        return 1;
    printf("{\"unit\": \"ms\", \"runs\": %d, \"words\": [", runs);
    for (int i = 0; i < word_count; i++) {
        printf("%s\n  {\"word\": \"%s\", ", i > 0 ? "," : "", words[i]);
        print_median("first_kernel", cold_created[i], runs, ", ");
        print_median("first_result", cold_result[i], result_count[i], ", ");
        print_median("later_miss", later[i], later_count[i], "}");
    }
    printf("\n]}\n");
    return 0;
}
