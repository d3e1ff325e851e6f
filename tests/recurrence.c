/* SPDX-License-Identifier: Apache-2.0 */
#include "recurrence.h"

#include <math.h>

#include "reference.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static double unit(size_t i)
{
    return (double)(i * UINT64_C(2654435761) % 65536) / 65536;
}

/* In scan direction, of an input that is packed. */
static int64_t position_of(const tly_recurring *c, size_t i)
{
    tly_layout l;
    int64_t rest = (int64_t)i, position = 0;
    tly_layout_of(&c->d, &l);
    for (int k = l.rank - 1; k >= 0; k--) {
        if (k == l.axis)
            position = rest % l.sizes[k];
        rest /= l.sizes[k];
    }
    return l.is_reversed ? l.sizes[l.axis] - 1 - position : position;
}

/* Each first factor is NaN, infinite or huge, and each first element -0: any way in which the
 * factor, or a state before the element, took part would show. */
static void fill_first(tly_recurring *c, size_t i)
{
    static const float firsts[] = { NAN, INFINITY, -INFINITY, -1, 3e38f };
    const int first = position_of(c, i) == 0;
    c->x[i] = (float)unit(i) - .5f;
    c->a[i] = first ? firsts[i % COUNT(firsts)] : .5f + .5f * (float)unit(i + 7);
    if (!(c->d.flags & TALLY_IN_STRIDES) && first)
        c->x[i] = -0.0f;
}

static void fill_special(tly_recurring *c, size_t i)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY, 0, -0.0f, 1e-40f, 3e38f, -3e38f };
    c->x[i] = i % 97 == 13 ? odd[i / 97 % COUNT(odd)] : (float)unit(i) - .5f;
    c->a[i] = i % 89 == 7 ? odd[i / 89 % COUNT(odd)] : 1.2f * (float)unit(i + 3);
}

/* Products of neighbouring factors leave the range upwards and downwards, but the loop does not. */
static void fill_wide(tly_recurring *c, size_t i)
{
    c->x[i] = i % 5 ? 1e-30f : 1;
    c->a[i] = i / 8 % 2 ? (i % 2 ? 1e25f : 1e-25f) : 1e-30f;
}

/* Long rows become infinite by factors between 1 and 2. */
static void fill_growing(tly_recurring *c, size_t i)
{
    c->x[i] = (float)unit(i);
    c->a[i] = 1 + (float)unit(i + 1);
}

/* Some rows overflow in their middle, and are infinite, of either sign, or NaN from there on. */
static void fill_lost(tly_recurring *c, size_t i)
{
    c->x[i] = i % 1999 == 1777 ? 3e38f : (float)unit(i);
    c->a[i] = i % 1999 == 1778 ? -2 : i % 4001 == 3999 ? 0 : .5f + (float)unit(i + 5);
}

/* Most factors are 1, so that states live long; few are 0, as masks of what begins anew are. */
static void fill_masked(tly_recurring *c, size_t i)
{
    c->x[i] = (float)unit(i) - .5f;
    c->a[i] = unit(i + 11) > .003;
}

/* Products of many factors are zero or subnormal, and states are not. */
static void fill_decaying(tly_recurring *c, size_t i)
{
    c->x[i] = ldexpf((float)unit(i) - .5f, (int)(i % 90) - 60);
    c->a[i] = i % 7 ? .9f * (float)unit(i + 2) : 40 * (float)unit(i + 2);
}

/* States go up and down by powers of 10. Products of neighbouring factors overflow, but states do
 * not, nor do products of all factors before. */
static void fill_steep(tly_recurring *c, size_t i)
{
    static const int levels[] = { 0, -30, -10, 10, 30, 0, 0, 20 };
    const size_t k = (size_t)position_of(c, i), here = k % COUNT(levels);
    const int before = levels[(k + COUNT(levels) - 1) % COUNT(levels)];
    c->x[i] = (float)(unit(i) * pow(10, levels[here]));
    c->a[i] = (float)pow(10, levels[here] - before);
}

const tly_recurring_kind tly_recurring_kinds[TLY_RECURRING_KINDS] = {
    { "first", fill_first },       { "special", fill_special }, { "wide", fill_wide },
    { "growing", fill_growing },   { "lost", fill_lost },       { "masked", fill_masked },
    { "decaying", fill_decaying }, { "steep", fill_steep },
};

void tly_recurring_fill(tly_recurring *c, size_t kind)
{
    for (size_t i = 0; i < TLY_MOST_RECURRING; i++)
        tly_recurring_kinds[kind].fill(c, i);
}
