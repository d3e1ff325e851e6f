/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows of words with a carry. A row that goes on from a state has the bits of a row that
 * starts from nothing and whose first element is the state and that element together. What lies
 * beside a row does not change its bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "trials.h"

enum { ROWS = 203, LONGEST = 64, OURS = 3, RUNS = 2 };

typedef struct kernels {
    const tly_trials *t;
    const char *device; /* selector */
    int exclusive, reverse, product, length;
} kernels;

static float near_one(tly_random *r)
{
    return (float)(1 + (double)tly_random_below(r, 4096) / 65536);
}

static int position_of(const kernels *k, int i)
{
    return k->reverse ? k->length - 1 - i : i;
}

static void run(const kernels *k, int has_carry, const float *in, float *out, const float *from,
                float *to)
{
    tally_kernel_options options = { .size = sizeof options, .device = k->device };
    char word[80];
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    snprintf(word, sizeof word, "cum%s:f32:%dx%d:axis=1%s%s%s", k->product ? "prod" : "sum", ROWS,
             k->length, has_carry && k->exclusive ? ",exclusive" : "", k->reverse ? ",reverse" : "",
             has_carry ? ",carry=in+out" : "");
    options.plan = "template=short";
    buffers.in = in;
    buffers.out = out;
    buffers.carry_in = from;
    buffers.carry_out = to;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    cr_assert_eq(tally_kernel_create(k->t->levels.context, &d, &options, &kernel, NULL), TALLY_OK,
                 "%s, %s", word, k->device);
    cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, NULL), TALLY_OK, "%s", word);
    tally_kernel_destroy(&kernel);
}

/* ---- the bits of rows that start from nothing ---- */

static int differs(float x, float y)
{
    uint32_t bits[2];
    memcpy(&bits[0], &x, sizeof x);
    memcpy(&bits[1], &y, sizeof y);
    return bits[0] != bits[1];
}

static void check_states(const kernels *k)
{
    static float in[ROWS * LONGEST], joined[ROWS * LONGEST], out[ROWS * LONGEST];
    static float plain[ROWS * LONGEST], from[ROWS], to[ROWS];
    tly_random r = tly_random_seed((uint64_t)k->length, (uint64_t)k->product);
    const int n = k->length;
    for (int row = 0; row < ROWS; row++) {
        from[row] = near_one(&r);
        for (int i = 0; i < n; i++)
            in[row * n + i] = joined[row * n + i] = near_one(&r);
        float *first = &joined[row * n + position_of(k, 0)];
        *first = k->product ? from[row] * *first : from[row] + *first;
    }
    run(k, 1, in, out, from, to);
    run(k, 0, joined, plain, NULL, NULL);
    int wrong = 0, ends = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < n; i++) {
            const int before = i - k->exclusive;
            wrong += differs(out[row * n + position_of(k, i)],
                             before < 0 ? from[row] : plain[row * n + position_of(k, before)]);
        }
        ends += differs(to[row], plain[row * n + position_of(k, n - 1)]);
    }
    cr_expect(wrong == 0 && ends == 0, "%s, %s of %d%s%s: %d results, %d states", k->device,
              k->product ? "products" : "sums", n, k->exclusive ? ", exclusive" : "",
              k->reverse ? ", reverse" : "", wrong, ends);
}

/* ---- whatever lies beside a row ---- */

static float beside(tly_random *r)
{
    static const float some[] = { 0, INFINITY, NAN, -INFINITY, 3e38f, 1e-38f, 1e-44f, -0.0f };
    return some[tly_random_below(r, sizeof some / sizeof *some)];
}

/* How many of a row's results, and of its last state, are not the plain loop's. */
static int far_from_loop(const kernels *k, const float *in, const float *out, float from, float to)
{
    int wrong = 0;
    float y = from;
    for (int i = 0; i <= k->length; i++) {
        const float before = y, x = i < k->length ? in[position_of(k, i)] : 0;
        if (i < k->length)
            y = k->product ? y * x : y + x;
        const float shown = i < k->length ? out[position_of(k, i)] : to;
        const float wanted = k->exclusive && i < k->length ? before : y;
        wrong += shown != wanted && !(fabsf(shown - wanted) <= 1e-5f * fabsf(wanted) + 1e-44f);
    }
    return wrong;
}

/* Every third row is the same in all runs. Some of these leave the range. */
static void check_beside(const kernels *k)
{
    static float in[ROWS * LONGEST], out[2][ROWS * LONGEST], from[ROWS], to[2][ROWS];
    const int n = k->length;
    for (int time = 0; time < RUNS; time++) {
        const int to_first = time > 0;
        int wrong = 0;
        for (int row = 0; row < ROWS; row++) {
            const int is_ours = row % OURS == 0;
            tly_random r = tly_random_seed((uint64_t)row, is_ours ? 0 : (uint64_t)time + 1);
            const float scale = is_ours && row % 4 == 0 ? (row % 8 ? 5e37f : 1e-30f) : 1;
            from[row] = is_ours || time == 0 ? near_one(&r) * scale : beside(&r);
            if (row % 24 == 12) /* the loop's products stay 0, and windows are infinite */
                from[row] = 0;
            for (int i = 0; i < n; i++)
                in[row * n + i] = !is_ours && tly_random_below(&r, 4) == 0 ? beside(&r)
                                                                           : near_one(&r) * scale;
        }
        run(k, 1, in, out[to_first], from, to[to_first]);
        for (int row = 0; row < ROWS; row += OURS)
            wrong += far_from_loop(k, in + row * n, out[to_first] + row * n, from[row],
                                   to[to_first][row]);
        for (int row = 0; row < ROWS && to_first; row += OURS) {
            wrong += differs(to[0][row], to[1][row]);
            for (int i = row * n; i < (row + 1) * n; i++)
                wrong += differs(out[0][i], out[1][i]);
        }
        cr_expect_eq(wrong, 0, "%s, %s of %d%s, run %d: %d", k->device,
                     k->product ? "products" : "sums", n, k->exclusive ? ", exclusive" : "", time,
                     wrong);
    }
}

static void each(void (*check)(const kernels *k))
{
    static const int lengths[] = { 2, 8, 12, 24, 33, 63 };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t l = 0; l < t.levels.level_count; l++) {
        if (!strcmp(t.levels.levels[l].kind, "vulkan"))
            continue;
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (int way = 0; way < 8; way++) {
                const kernels k = { &t,           t.levels.levels[l].selector,
                                    way & 1,      way >> 1 & 1,
                                    way >> 2 & 1, lengths[i] };
                check(&k);
            }
    }
    tly_trials_close(&t);
}

Test(short_carry, state_and_first_element_are_one_element, .timeout = 240)
{
    each(check_states);
}

Test(short_carry, rows_have_bits_of_their_own, .timeout = 240)
{
    each(check_beside);
}
