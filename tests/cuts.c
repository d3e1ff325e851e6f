/* SPDX-License-Identifier: Apache-2.0 */
#include "cuts.h"

#include "random.h"

static void add(tly_cut *c, int64_t size)
{
    c->at[c->count + 1] = c->at[c->count] + size;
    c->count++;
}

static void cut_once(tly_cut *c, int64_t length)
{
    add(c, length);
}

static void leave_none(tly_cut *c, int64_t length)
{
    (void)length;
    for (int i = 0; i < 9; i++)
        add(c, 0);
}

static void leave_gaps(tly_cut *c, int64_t length)
{
    add(c, 0);
    add(c, 0);
    add(c, length / 3);
    add(c, 0);
    add(c, length - length / 3);
    add(c, 0);
}

/* Neither the first elements nor the last. */
static void cut_the_middle(tly_cut *c, int64_t length)
{
    c->at[0] = length / 5;
    add(c, length / 4);
    add(c, 1 < length ? 1 : 0);
    add(c, length / 3);
}

/* Heads at each residue of 16 and 32. */
static void cut_at_each_residue(tly_cut *c, int64_t length)
{
    while (c->at[c->count] + 33 <= length && c->count < TLY_MOST_CUTS - 1)
        add(c, c->count % 2 ? 33 : 17);
    add(c, length - c->at[c->count]);
}

static void cut_by_zipf(tly_cut *c, int64_t length)
{
    tly_random r = tly_random_seed(3, (uint64_t)length);
    while (c->at[c->count] < length && c->count < TLY_MOST_CUTS - 1) {
        const int64_t left = length - c->at[c->count];
        const int64_t size = 1000 / tly_random_between(&r, 1, 1200);
        add(c, size < left ? size : left);
    }
}

/* One of nearly all elements among many of one. */
static void cut_one_off(tly_cut *c, int64_t length)
{
    for (int i = 0; i < 20 && c->at[c->count] < length; i++)
        add(c, 1);
    const int64_t left = length - c->at[c->count];
    add(c, left > 20 ? left - 20 : left);
    while (c->at[c->count] < length)
        add(c, 1);
}

const tly_cutting tly_cuts[TLY_CUTS] = {
    { "one segment", cut_once },
    { "empty ones alone", leave_none },
    { "empty ones between", leave_gaps },
    { "the middle", cut_the_middle },
    { "each residue", cut_at_each_residue },
    { "lengths of Zipf", cut_by_zipf },
    { "one among many", cut_one_off },
};
