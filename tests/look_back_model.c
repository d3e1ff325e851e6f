/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-back in two levels (templates/gpu/look_back.c; look_back_lanes.c, of each lane) as a model:
 * every interleaving of a few tiles is gone through, each stalled anywhere for any time, with
 * published words that become visible in any order. It needs nothing of Tally.
 *
 *   carry(t) = base(g) + sum(T_b ... T_t-1)         b: the first tile of t's group g; in a fixed
 * order
 *   base(g)  = ((start + G_0) + G_1) + ...          G: the total of a group, in its tiles' order
 *
 * A bad tile's total says only that it is none. Behind it carries go from tile to tile within the
 * group, and the group's total is bad, too: the next base is the carry after its last tile.
 *
 * Shown is that every tile ends, given that tiles start in order, however few run at once; that
 * whatever a tile reads is complete; that carries are as above in every interleaving; and that a
 * group's total waits for no carry. Each fault below breaks one of these, and must be found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look_back_model.h"

static const char *const fault_names[FAULTS] = {
    "none", "flag apart", "half read", "any carry", "late total", "last first", "stale group",
};

/* ---- every interleaving ---- */

enum { ROOM = 1 << 20 }; /* a power of two */

typedef struct search {
    state seen[ROOM], open[ROOM / 2]; /* a table of those met, by hash; those not gone on from */
    uint8_t used[ROOM];
    size_t met, waiting;
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
    size_t i = hash(s) & (ROOM - 1);
    while (q->used[i] && memcmp(&q->seen[i], s, sizeof *s) != 0)
        i = (i + 1) & (ROOM - 1);
    return i;
}

static void meet(const model *m, search *q, state next)
{
    const state *s = &next;
    tly_model_simplify(m, &next);
    size_t i = slot_of(q, s);
    if (q->used[i])
        return;
    if (q->met * 2 >= ROOM) {
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
    tly_model_start(m, &next, tile);
    meet(m, q, next);
    return 1;
}

static int go_on(model *m, search *q, const state *s)
{
    state next = *s;
    int goes = start(m, q, next);
    goes |= each_word(m, q, s->issued & ~s->visible, &next, &next.visible);
    for (int t = 0; t < m->tiles; t++) {
        uint64_t comes = tly_model_wanted(m, t, s->at[t]) & s->visible & ~s->seen[t];
        goes |= each_word(m, q, comes, &next, &next.seen[t]);
        if (!tly_model_pass(m, &next, t))
            continue;
        meet(m, q, next);
        next = *s;
        goes = 1;
    }
    return goes;
}

static size_t explore(model *m)
{
    static search q; /* too much for a stack */
    state first;
    memset(q.used, 0, sizeof q.used);
    memset(&first, 0, sizeof first);
    q.met = q.waiting = 0;
    tly_model_define(m);
    meet(m, &q, first);
    while (q.waiting > 0 && !m->found) {
        const state s = q.open[--q.waiting];
        if (!go_on(m, &q, &s))
            tly_model_judge_end(m, &s);
    }
    return q.met;
}

static int holds(model m)
{
    size_t states = explore(&m);
    printf("%d tiles, groups of %d, %d at once, bad %x, late %x, frozen %d, fault %s: %zu "
           "states%s%s\n",
           m.tiles, m.group, m.slots, m.bad, m.late, m.frozen, fault_names[m.fault], states,
           m.found ? ": " : "", m.found ? m.found : "");
    return m.found == NULL;
}

static const model sound[] = {
    { 4, 2, 1, 0, .frozen = -1 },    { 4, 2, 2, 0, .frozen = -1 },
    { 4, 2, 3, 0, .frozen = -1 },    { 4, 2, 4, 0, .frozen = 1 },
    { 3, 1, 3, 0, .frozen = -1 },    { 4, 4, 4, 0, .frozen = -1 },
    { 4, 4, 4, 2, .frozen = -1 },    { 5, 3, 5, 1, .frozen = -1 },
    { 5, 2, 2, 0, .frozen = -1 },    { 4, 2, 1, 0, 15, .frozen = -1 },
    { 4, 2, 2, 1, 7, .frozen = -1 }, { 5, 3, 3, 2, 18, .frozen = -1 },
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
        for (unsigned late = 0; late < 4; late++)
            right &= holds((model){ 4, 2, 4, bad, late, .frozen = -1 });
    for (int k = 0; k < SOUND; k++)
        right &= holds(sound[k]);
    for (fault f = NONE + 1; f < FAULTS; f++) {
        model m = broken[f];
        m.fault = f;
        right &= !holds(m);
    }
    return !right;
}
