/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel costs that lies in the disk cache: a context of its own for each round, so that
 * memory never has it. Public API only; one descriptor word a line on standard input; prints
 * medians in microseconds over all rounds but the first, in which the kernels may be made and
 * stored.
 */
#include <tally.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 401, MOST_WORDS = 64 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int fail(const tally_error *error)
{
    fprintf(stderr, "hit: %s: %s\n", error->field, error->message);
    return 1;
}

static int play(const tally_descriptor *words, int count, double *times)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_kernel *kernels[MOST_WORDS] = { NULL };
    if (tally_context_create(NULL, &context, &error) != TALLY_OK)
        return fail(&error);
    for (int i = 0; i < count; i++) {
        double start = now();
        if (tally_kernel_create(context, &words[i], NULL, &kernels[i], &error) != TALLY_OK)
            return fail(&error);
        times[i] = now() - start;
    }
    for (int i = 0; i < count; i++)
        tally_kernel_destroy(&kernels[i]);
    tally_stats stats = TALLY_STATS_INIT;
    tally_context_stats(context, &stats);
    tally_context_destroy(&context);
    return stats.compiled > 0 ? 2 : 0;
}

int main(void)
{
    static char text[MOST_WORDS][TALLY_WORD_MAX];
    static double times[ROUNDS][MOST_WORDS];
    tally_descriptor words[MOST_WORDS];
    tally_error error = TALLY_ERROR_INIT;
    int count = 0;
    while (count < MOST_WORDS && fgets(text[count], TALLY_WORD_MAX, stdin) != NULL) {
        text[count][strcspn(text[count], "\n")] = 0;
        if (tally_descriptor_parse(text[count], &words[count], &error) != TALLY_OK)
            return fail(&error);
        count++;
    }
    for (int round = 0; round < ROUNDS; round++) {
        int how = play(words, count, times[round]);
        if (how == 1 || (how == 2 && round > 0))
            return how == 1 ? 1 : fprintf(stderr, "hit: kernels were made\n") > 0;
    }
    for (int i = 0; i < count; i++) {
        double all[ROUNDS];
        for (int round = 1; round < ROUNDS; round++)
            all[round - 1] = times[round][i];
        qsort(all, ROUNDS - 1, sizeof all[0], ascending);
        printf("%-40s %6.1f us\n", text[i], all[ROUNDS / 2]);
    }
    return 0;
}
