/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of the model of look-back: what it publishes, looks at, and makes of it. */
#include <stddef.h>

#include "look_back_model.h"

/* ---- values: an operation that is neither associative nor commutative ---- */

static uint16_t combine(uint16_t a, uint16_t b)
{
    return (uint16_t)((a ^ (uint16_t)(b << 3 | b >> 13)) * 40503u + 12345u);
}

static uint16_t total_of(int tile)
{
    return (uint16_t)(7919 * (tile + 1));
}

static int is_bad(const model *m, int tile)
{
    return m->bad >> tile & 1;
}

/* i from `from` to `to`: none is bad. */
static int are_good(const model *m, int from, int to)
{
    int good = 1;
    for (int t = from; t < to; t++)
        good &= !is_bad(m, t);
    return good;
}

static int first_of(const model *m, int tile)
{
    return tile / m->group * m->group;
}

static int is_last(const model *m, int tile)
{
    return tile % m->group == m->group - 1;
}

static uint16_t sum_of(int from, int to)
{
    uint16_t sum = total_of(from);
    for (int t = from + 1; t < to; t++)
        sum = combine(sum, total_of(t));
    return sum;
}

/* What the tile itself makes of a carry. */
static uint16_t after(const model *m, int tile, uint16_t carry)
{
    return combine(is_bad(m, tile) ? carry ^ 0x5555 : carry, total_of(tile));
}

enum { START = 4711 };

void tly_model_define(model *m)
{
    uint16_t base = START, previous = 0;
    for (int t = 0; t < m->tiles; t++) {
        int first = first_of(m, t), good = are_good(m, first, t);
        uint16_t carry = t == first ? base : good ? combine(base, sum_of(first, t)) : previous;
        m->base[t] = base;
        m->carry[t] = carry;
        previous = after(m, t, carry);
        m->content[t][TOTAL] = is_bad(m, t) ? 0 : total_of(t);
        m->content[t][CARRY] = previous;
        m->content[t][GROUP_TOTAL] = sum_of(first, t + 1);
        if (is_last(m, t))
            base = are_good(m, first, t + 1) ? combine(base, sum_of(first, t + 1)) : previous;
        m->content[t][GROUP_CARRY] = base;
    }
}

/* ---- memory ---- */

static uint64_t words_of(int tile, int place)
{
    return (uint64_t)3 << 2 * (tile * PLACES + place);
}

static uint64_t flag_of(int tile, int place)
{
    return (uint64_t)1 << 2 * (tile * PLACES + place);
}

static int is_there(const model *m, const state *s, int reader, int tile, int place)
{
    uint64_t needed = words_of(tile, place);
    if (m->fault == FLAG_APART)
        needed = flag_of(tile, place);
    if (m->fault == HALF_READ)
        return (s->seen[reader] & needed) != 0;
    return (s->seen[reader] & needed) == needed;
}

/* Words that have not come are zero. */
static uint16_t value_of(const model *m, const state *s, int reader, int tile, int place)
{
    uint64_t words = words_of(tile, place), low = flag_of(tile, place);
    uint16_t v = m->content[tile][place];
    if (m->fault == FLAG_APART)
        return (s->visible & words) == words ? v : 0;
    return (uint16_t)((s->seen[reader] & low ? v & 0xff : 0) |
                      (s->seen[reader] & words & ~low ? v & 0xff00 : 0));
}

/* ---- a tile ---- */

/* Carries within a group matter behind a bad tile alone. */
uint64_t tly_model_wanted(const model *m, int tile, int at)
{
    int first = first_of(m, tile);
    uint64_t words = 0;
    for (int t = 0; t < tile; t++) {
        if (t >= first && at == OWN_TOTALS)
            words |= words_of(t, TOTAL);
        if (t >= first && at == CHAIN && (m->fault == ANY_CARRY || !are_good(m, first, t + 1)))
            words |= words_of(t, CARRY);
        if (t < first && is_last(m, t) && at == BASE)
            words |= words_of(t, GROUP_TOTAL) | words_of(t, GROUP_CARRY);
    }
    return words;
}

void tly_model_simplify(const model *m, state *s)
{
    uint64_t of_use = 0;
    for (int t = 0; t < m->tiles; t++)
        for (int at = s->at[t]; at < DONE; at++)
            of_use |= tly_model_wanted(m, t, at);
    s->visible |= s->issued & ~of_use;
}

/* From left to right, as a kernel does: a carry that is there is taken, a total is combined. */
static int look_at_groups(const model *m, const state *s, int tile, uint16_t *base)
{
    int known = 1, first = first_of(m, tile);
    *base = START;
    for (int t = m->group - 1; t < first; t += m->group) {
        int good = m->fault == STALE_GROUP || are_good(m, first_of(m, t), t + 1);
        if (is_there(m, s, tile, t, GROUP_CARRY)) {
            *base = value_of(m, s, tile, t, GROUP_CARRY);
            known = 1;
        } else if (known && good && is_there(m, s, tile, t, GROUP_TOTAL)) {
            *base = combine(*base, value_of(m, s, tile, t, GROUP_TOTAL));
        } else {
            known = 0;
        }
    }
    return known;
}

static int look_at_chain(const model *m, const state *s, int tile, uint16_t *carry)
{
    int known = 1, first = first_of(m, tile);
    for (int t = first; t < tile; t++) {
        if (are_good(m, first, t + 1)) {
            *carry = combine(m->base[tile], sum_of(first, t + 1));
        } else if (is_there(m, s, tile, t, CARRY)) {
            *carry = value_of(m, s, tile, t, CARRY);
            known = 1;
        } else if (!is_bad(m, t)) {
            *carry = combine(*carry, total_of(t));
        } else {
            known = 0;
        }
    }
    return known;
}

static void issue(state *s, int tile, int place)
{
    s->issued |= words_of(tile, place);
}

/* Of a group's last tile the group's says it. */
static void issue_total(const model *m, state *s, int tile)
{
    if (!is_last(m, tile))
        issue(s, tile, TOTAL);
}

static int is_late(const model *m, int tile)
{
    return m->late >> tile & 1;
}

static void advance(state *s, int tile, int to)
{
    s->at[tile] = (uint8_t)to;
    s->seen[tile] = 0;
}

static int expect(model *m, int holds, const char *what)
{
    if (!holds)
        m->found = what;
    return holds;
}

/* Each returns whether the tile goes on; the state then is the next. */
static int pass_totals(model *m, state *s, int tile)
{
    uint16_t sum = 0;
    int first = first_of(m, tile);
    for (int t = first; t < tile; t++) {
        if (!is_there(m, s, tile, t, TOTAL))
            return 0;
        uint16_t v = value_of(m, s, tile, t, TOTAL);
        sum = t == first ? v : combine(sum, v);
        expect(m, v == m->content[t][TOTAL], "a total was read before it was complete");
    }
    if (is_last(m, tile) && m->fault != LATE_TOTAL && !is_late(m, tile))
        issue(s, tile, GROUP_TOTAL);
    advance(s, tile, BASE);
    return 1;
}

static int pass_base(model *m, state *s, int tile)
{
    uint16_t base;
    if (tile == m->frozen || !look_at_groups(m, s, tile, &base))
        return 0;
    expect(m, base == m->base[tile], "a base depends on who was first");
    if (is_late(m, tile))
        issue_total(m, s, tile);
    advance(s, tile, CHAIN);
    return 1;
}

static int pass_chain(model *m, state *s, int tile)
{
    uint16_t carry = m->base[tile];
    int hasty = m->fault == ANY_CARRY && tile > first_of(m, tile) &&
                is_there(m, s, tile, tile - 1, CARRY);
    if (hasty)
        carry = value_of(m, s, tile, tile - 1, CARRY);
    else if (!look_at_chain(m, s, tile, &carry))
        return 0;
    expect(m, carry == m->carry[tile], "a carry depends on who was first");
    advance(s, tile, CARRY_KNOWN);
    return 1;
}

static int publish(model *m, state *s, int tile)
{
    issue(s, tile, CARRY);
    if (is_last(m, tile)) {
        issue(s, tile, GROUP_TOTAL);
        issue(s, tile, GROUP_CARRY);
    }
    advance(s, tile, DONE);
    return 1;
}

static int (*const passes[DONE])(model *m, state *s, int tile) = {
    [OWN_TOTALS] = pass_totals,
    [BASE] = pass_base,
    [CHAIN] = pass_chain,
    [CARRY_KNOWN] = publish,
};

int tly_model_pass(model *m, state *s, int tile)
{
    int at = s->at[tile];
    return at < DONE && passes[at] != NULL && passes[at](m, s, tile);
}

void tly_model_start(const model *m, state *s, int tile)
{
    s->at[tile] = OWN_TOTALS;
    if (!is_late(m, tile))
        issue_total(m, s, tile);
}

void tly_model_judge_end(model *m, const state *s)
{
    for (int t = 0; t < m->tiles; t++) {
        expect(m, s->at[t] == DONE || t == m->frozen, "a tile waits for ever");
        if (is_last(m, t))
            expect(m, (s->issued & words_of(t, GROUP_TOTAL)) != 0, "a group's total waits");
    }
}
