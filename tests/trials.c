/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: a level that cannot be opened ends the test as failed, never as skipped. */
#include "trials.h"

#include <string.h>

enum { MOST_BYTES = 16 << 20 };

void tly_require_levels(tly_levels *levels)
{
    char why[256];
    cr_assert(tly_levels_open(levels, why, sizeof why) == 0, "%s", why);
}

static void complain(const char *why)
{
    cr_expect(0, "%s", why);
}

void tly_check_scans(const tly_scan *scans, size_t count)
{
    tly_levels levels;
    tly_require_levels(&levels);
    for (size_t k = 0; k < count; k++)
        tly_scan_run(&levels, &scans[k], complain);
    tly_levels_close(&levels);
}

void tly_check_cases(const tly_case *cases, size_t count)
{
    tly_levels levels;
    char why[512];
    tly_require_levels(&levels);
    for (size_t k = 0; k < count; k++)
        cr_expect(tly_case_run(&levels, &cases[k], why, sizeof why) == 0, "%s", why);
    tly_levels_close(&levels);
}

void tly_trials_open(tly_trials *t)
{
    tly_require_levels(&t->levels);
    cr_assert(tly_arena_open(&t->in, MOST_BYTES) == 0);
    cr_assert(tly_arena_open(&t->out, MOST_BYTES) == 0);
}

void tly_trials_close(tly_trials *t)
{
    tly_levels_close(&t->levels);
    tly_arena_close(&t->in);
    tly_arena_close(&t->out);
}

void tly_trials_check(tly_trials *t, const char *word, tly_data data, uint64_t seed)
{
    tly_trials_check_plan(t, word, "", data, seed);
}

void tly_trials_check_plan(tly_trials *t, const char *word, const char *plan, tly_data data,
                           uint64_t seed)
{
    tly_trial trial = {
        .data = data, .plan = plan, .random = tly_random_seed(seed, 0), .in = &t->in, .out = &t->out
    };
    const tly_random start = trial.random;
    cr_assert(tally_descriptor_parse(word, &trial.d, NULL) == 0, "%s", word);
    for (size_t k = 0; k < t->levels.level_count; k++) {
        const tally_device *device = &t->levels.levels[k];
        const int count = strcmp(device->kind, "cpu") ? 1 : 2;
        tally_error error = TALLY_ERROR_INIT;
        tly_engine *engines[2];
        for (int e = 0; e < count; e++) {
            engines[e] = (e ? tly_engine_native : tly_engine_library)(t->levels.context,
                                                                      device->selector, &error);
            cr_assert(engines[e], "%s", error.message);
        }
        trial.random = start;
        trial.plan = plan;
        trial.target = device;
        cr_expect(tly_trial_run(&trial, engines, count) == 0, "%s, %s, %s data: %s", word,
                  device->selector, tly_data_name(data), trial.why);
        for (int e = 0; e < count; e++)
            engines[e]->close(engines[e]);
    }
}

void tly_check_words(const char *const *words, size_t count, const tly_data *data, size_t kinds,
                     uint64_t seed)
{
    tly_trials t;
    tly_trials_open(&t);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < kinds; k++)
            tly_trials_check(&t, words[i], data[k], seed + k);
    tly_trials_close(&t);
}
