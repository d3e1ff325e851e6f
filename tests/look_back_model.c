/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-back in two levels (templates/gpu/look_back.c) as a model: every interleaving of a few tiles is
 * gone through, each stalled anywhere for any time, with published words that become visible in any
 * order. It needs nothing of Tally.
 *
 *   carry(t) = base(g) + ((T_b + T_b+1) + ...)      b: the first tile of t's group g
 *   base(g)  = ((start + G_0) + G_1) + ...          G: the total of a group, in its tiles' order
 *
 * A bad tile's total says only that it is none. Behind it carries go from tile to tile within the
 * group, and the group's total is bad, too: the next base is the carry after its last tile.
 *
 * Shown is that every tile ends, given that tiles start in order, however few run at once; that
 * whatever a tile reads is complete; that carries are as above in every interleaving; and that a
 * group's total waits for no carry. Each fault below breaks one of these, and must be found.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TILES = 6 };

/* What is published of a tile, each in two words; of a group it is its last tile that does. */
enum { TOTAL, CARRY, GROUP_TOTAL, GROUP_CARRY, PLACES };

/* Where a tile is. Its total is there as soon as it has started. */
enum { NOT_YET, OWN_TOTALS, BASE, CHAIN, CARRY_KNOWN, DONE };

typedef enum fault {
    NONE,
    FLAG_APART,  /* a flag in one word, the value in another */
    HALF_READ,   /* one of the two words is enough */
    ANY_CARRY,   /* the predecessor's carry is taken where it happens to be there */
    LATE_TOTAL,  /* a group's total waits for its base */
    LAST_FIRST,  /* tiles start in no order */
    STALE_GROUP, /* a bad group's total is combined like any other */
    FAULTS
} fault;

static const char *const fault_names[FAULTS] = {
    "none", "flag apart", "half read", "any carry", "late total", "last first", "stale group",
};

typedef struct model {
    int tiles, group, slots; /* tiles, tiles a group, tiles at work at once */
    unsigned bad;            /* bits of tiles */
    int frozen;              /* a tile that never gets its base, or -1 */
    fault fault;
    uint16_t content[MOST_TILES][PLACES], base[MOST_TILES], carry[MOST_TILES];
    const char *found; /* what is wrong */
} model;

/* Words by number: (tile * PLACES + place) * 2 + half. */
typedef struct state {
    uint64_t issued, visible, seen[MOST_TILES];
    uint8_t at[MOST_TILES], pad[2];
} state;

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

/* The definition, tile by tile. */
static void define(model *m)
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

/* What the tile looks at where it is. Carries within a group matter behind a bad tile alone. */
static uint64_t wanted(const model *m, int tile, int at)
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

/* States that no tile can tell apart become one: when words appear that nobody is going to look at
 * does not matter. */
static void simplify(const model *m, state *s)
{
    uint64_t of_use = 0;
    for (int t = 0; t < m->tiles; t++)
        for (int at = s->at[t]; at < DONE; at++)
            of_use |= wanted(m, t, at);
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
    if (is_last(m, tile) && m->fault != LATE_TOTAL)
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
    (void)m;
    advance(s, tile, DONE);
    return 1;
}

static int (*const passes[DONE])(model *m, state *s, int tile) = {
    [OWN_TOTALS] = pass_totals,
    [BASE] = pass_base,
    [CHAIN] = pass_chain,
    [CARRY_KNOWN] = publish,
};

/* ---- every interleaving ---- */

typedef struct search {
    state *seen, *open; /* a table of those met, by hash; those not gone on from */
    uint8_t *used;
    size_t room, met, waiting;
} search;

static size_t hash(const state *s)
{
    uint64_t words[sizeof *s / 8], h = 0;
    memcpy(words, s, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (size_t)h;
}

static size_t slot_of(const search *q, const state *s)
{
    size_t i = hash(s) & (q->room - 1);
    while (q->used[i] && memcmp(&q->seen[i], s, sizeof *s) != 0)
        i = (i + 1) & (q->room - 1);
    return i;
}

static void meet(const model *m, search *q, state next)
{
    const state *s = &next;
    simplify(m, &next);
    size_t i = slot_of(q, s);
    if (q->used[i])
        return;
    if (q->met * 2 >= q->room) {
        fprintf(stderr, "look_back_model: more than %zu states\n", q->met);
        exit(2);
    }
    q->used[i] = 1;
    q->seen[i] = *s;
    q->open[q->waiting++] = *s;
    q->met++;
}

/* Each word of a set alone: `*to` of the next state has it, too. */
static int each_word(const model *m, search *q, uint64_t words, state *next, uint64_t *to)
{
    uint64_t before = *to;
    for (uint64_t left = words; left != 0; left &= left - 1) {
        *to = before | (left & -left);
        meet(m, q, *next);
    }
    *to = before;
    return words != 0;
}

static int start(const model *m, search *q, state next)
{
    int running = 0, tile = -1;
    for (int t = 0; t < m->tiles; t++) {
        running += next.at[t] != NOT_YET && next.at[t] != DONE;
        if (next.at[t] == NOT_YET && (tile < 0 || m->fault == LAST_FIRST))
            tile = t;
    }
    if (tile < 0 || running >= m->slots)
        return 0;
    next.at[tile] = OWN_TOTALS;
    if (!is_last(m, tile)) /* of the last the group's says it */
        issue(&next, tile, TOTAL);
    meet(m, q, next);
    return 1;
}

static int go_on(model *m, search *q, const state *s)
{
    state next = *s;
    int goes = start(m, q, next);
    goes |= each_word(m, q, s->issued & ~s->visible, &next, &next.visible);
    for (int t = 0; t < m->tiles; t++) {
        uint64_t comes = wanted(m, t, s->at[t]) & s->visible & ~s->seen[t];
        goes |= each_word(m, q, comes, &next, &next.seen[t]);
        if (passes[s->at[t] % DONE] == NULL || !passes[s->at[t]](m, &next, t))
            continue;
        meet(m, q, next);
        next = *s;
        goes = 1;
    }
    return goes;
}

/* Nothing can happen any more. */
static void judge_end(model *m, const state *s)
{
    for (int t = 0; t < m->tiles; t++) {
        expect(m, s->at[t] == DONE || t == m->frozen, "a tile waits for ever");
        if (is_last(m, t))
            expect(m, (s->issued & words_of(t, GROUP_TOTAL)) != 0, "a group's total waits");
    }
}

static size_t explore(model *m)
{
    search q = { .room = (size_t)1 << 22 };
    state first;
    q.seen = malloc(q.room * sizeof *q.seen);
    q.open = malloc(q.room / 2 * sizeof *q.open);
    q.used = calloc(q.room, 1);
    if (!q.seen || !q.open || !q.used)
        exit(2);
    memset(&first, 0, sizeof first);
    define(m);
    meet(m, &q, first);
    while (q.waiting > 0 && !m->found) {
        const state s = q.open[--q.waiting];
        if (!go_on(m, &q, &s))
            judge_end(m, &s);
    }
    free(q.seen);
    free(q.open);
    free(q.used);
    return q.met;
}

static int holds(model m)
{
    size_t states = explore(&m);
    printf("%d tiles, groups of %d, %d at once, bad %x, frozen %d, fault %s: %zu states%s%s\n",
           m.tiles, m.group, m.slots, m.bad, m.frozen, fault_names[m.fault], states,
           m.found ? ": " : "", m.found ? m.found : "");
    return m.found == NULL;
}

static const model sound[] = {
    { 4, 2, 1, 0, .frozen = -1 }, { 4, 2, 2, 0, .frozen = -1 }, { 4, 2, 3, 0, .frozen = -1 },
    { 4, 2, 4, 0, .frozen = 1 },  { 3, 1, 3, 0, .frozen = -1 }, { 4, 4, 4, 0, .frozen = -1 },
    { 4, 4, 4, 2, .frozen = -1 }, { 5, 3, 5, 1, .frozen = -1 }, { 5, 2, 2, 0, .frozen = -1 },
};
enum { SOUND = sizeof sound / sizeof *sound };

static const model broken[FAULTS] = {
    [FLAG_APART] = { 4, 2, 4, 0, .frozen = -1 }, [HALF_READ] = { 4, 2, 4, 0, .frozen = -1 },
    [ANY_CARRY] = { 4, 4, 4, 0, .frozen = -1 },  [LATE_TOTAL] = { 4, 2, 4, 0, .frozen = 1 },
    [LAST_FIRST] = { 4, 2, 2, 0, .frozen = -1 }, [STALE_GROUP] = { 4, 2, 4, 1, .frozen = -1 },
};

int main(void)
{
    int right = 1;
    for (unsigned bad = 0; bad < 1 << 4; bad++)
        right &= holds((model){ 4, 2, 4, bad, .frozen = -1 });
    for (int k = 0; k < SOUND; k++)
        right &= holds(sound[k]);
    for (fault f = NONE + 1; f < FAULTS; f++) {
        model m = broken[f];
        m.fault = f;
        right &= !holds(m);
    }
    return !right;
}
