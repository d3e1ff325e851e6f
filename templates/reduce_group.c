/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows: as many at once as a vector has lanes. Each has a state of one vector, and all of them
 * are folded together, so that a level of the tree takes half as many instructions as there are rows,
 * and the results are neighbours. The tree of each row is that of a row by itself: its bits do not
 * tell how many there were. Rows whose results are not to be trusted are done once more, alone; and so
 * are those that are no whole vectors where none is loaded in part.
 */
#include "reduce.h"

#include <string.h>

enum { MOST = TLY_REDUCE_MOST_GROUP };

typedef struct group {
    tly_reduce *r;
    const tly_reduce_rules *rules;
    unsigned rows;
    kir_value in[MOST];       /* element 0 of each */
    kir_value length, packed; /* of a row; 0 unless rows lie one behind the other */
    int masked;               /* vectors are loaded in part; else all are whole */
    kir_value ahead,
        apart;      /* what is fetched: bytes before it is needed, and between two lines of it */
    kir_value rate; /* how many times as far on it goes as the loads of a row */
} group;

static kir_value lifted(group *g, kir_value x, kir_value position)
{
    kir_value index = 0;
    if (g->r->indexed)
        index = tly_reduce_indices(g->r, position, g->r->c->lanes, 1);
    return g->rules->lift(g->r, x, index);
}

/* States are closed where so many rows share a vector: then as many elements made each as of long rows'
 * chains at most. */
static unsigned closing(const group *g)
{
    enum { CHAIN = 32 };
    unsigned parts = g->r->c->lanes * g->r->c->acc_bytes * CHAIN /
                     (unsigned)tly_reduced_bytes(g->r->c->p);
    return parts < 1 ? 1 : parts < g->rows ? parts : g->rows;
}

static void close(group *g, kir_value *state, unsigned n)
{
    for (unsigned i = 0; g->rules->close != NULL && i < n; i++)
        state[i] = g->rules->close(g->r->c, state[i]);
}

/* Lines of what comes next: those of the next rows at once, or further ahead where these are short.
 * Where rows lie one behind the other the lines that are fetched do, too, however those that are
 * loaded go from row to row: sums of f32 in rows of 20, 64, 128 us 2855, 2104, 1958 row by row, so
 * 1099, 1847, 1621 (Zen 5, minima on a busy machine). What fills no vector counts as one: rows of
 * 31, 45, 63 4519, 4135, 3158 without it, so 1703, 1629, 1782; of 17, 20 the same and 8 % more (a
 * quiet one). */
static void fetch_ahead(group *g, kir_value skipped)
{
    tly_build *c = g->r->c;
    if (c->plan->prefetch == 0)
        return;
    kir_value p = kir_ptradd(c->b, g->in[0], add(c, mul(c, skipped, g->rate), g->ahead));
    for (unsigned i = 0; i < g->rows; i++, p = kir_ptradd(c->b, p, g->apart))
        kir_prefetch(c->b, p, 0);
}

/* The first `count` elements from `from` on of a row, the others neutral. */
static kir_value some_of(group *g, kir_value row, kir_value from, kir_value count)
{
    tly_build *c = g->r->c;
    kir_value x = kir_ptradd(c->b, row, mul(c, from, imm(c, c->in_bytes)));
    if (!g->masked)
        return lifted(g, tly_reduce_load(g->r, x, 0, c->lanes), from);
    x = lifted(g, tly_reduce_load_some(g->r, x, count), from);
    return kir_select(c->b, tly_reduce_mask(g->r, count), x, g->rules->neutral(c, c->lanes));
}

/* The first vectors of all rows, the other whole ones, then what fills none. */
static void take_rows(group *g, kir_value *state)
{
    tly_build *c = g->r->c;
    kir_builder *b = c->b;
    kir_value whole = tly_round_down(c, g->length, c->lanes), first = imm(c, c->lanes);
    kir_value count = tly_min(c, g->length, first);
    kir_loop l;
    kir_branch some;
    for (unsigned i = 0; i < g->rows; i++)
        state[i] = some_of(g, g->in[i], imm(c, 0), count);
    fetch_ahead(g, imm(c, 0));
    kir_for(b, &l, first, whole, first, g->rows, state);
    kir_value skipped = mul(c, l.i, imm(c, c->in_bytes));
    for (unsigned i = 0; i < g->rows; i++) {
        kir_value x = tly_reduce_load(g->r, kir_ptradd(b, g->in[i], skipped), 0, c->lanes);
        l.carried[i] = g->rules->combine(c, l.carried[i], lifted(g, x, l.i));
    }
    fetch_ahead(g, skipped);
    kir_for_end(b, &l, l.carried);
    if (!g->masked) {
        memcpy(state, l.result, g->rows * sizeof *state);
        return;
    }
    count = sub(c, g->length, tly_max(c, whole, first));
    kir_if(b, &some, less(c, imm(c, 0), count));
    for (unsigned i = 0; i < g->rows; i++)
        state[i] = g->rules->combine(c, l.result[i], some_of(g, g->in[i], whole, count));
    fetch_ahead(g, mul(c, whole, imm(c, c->in_bytes)));
    kir_else(b, &some, g->rows, state);
    kir_if_end(b, &some, g->rows, l.result);
    for (unsigned i = 0; i < g->rows; i++)
        state[i] = some.result[i];
}

/* The lower and the upper halves of each of `parts` parts of x and, unless it is x, of y. */
static kir_value halves(tly_build *c, kir_value x, kir_value y, unsigned parts, int upper)
{
    unsigned n = kir_type_of(c->b, x).lanes, size = n / parts, total = x == y ? n / 2 : n;
    uint8_t index[64];
    for (unsigned i = 0; i < total; i++) {
        unsigned part = i / (size / 2), within = i % (size / 2);
        index[i] = (uint8_t)(part * size + within + (upper ? size / 2 : 0));
    }
    return kir_shuffle(c->b, x, y, index, total);
}

static kir_value fold(group *g, kir_value x, kir_value y, unsigned parts)
{
    tly_build *c = g->r->c;
    kir_value low = halves(c, x, y, parts, 0), high = halves(c, x, y, parts, 1);
    int joins = g->rules->join != NULL && parts >= closing(g);
    return joins ? g->rules->join(c, low, high) : g->rules->combine(c, low, high);
}

/* So many parts of a vector, each a row, one behind the other in memory. */
static void load_parts(group *g, unsigned parts, kir_value *state)
{
    tly_build *c = g->r->c;
    unsigned n = g->rows / parts;
    for (unsigned i = 0; i < n; i++) {
        kir_value x = tly_reduce_load(g->r, g->in[0], (int64_t)i * c->lanes * c->in_bytes,
                                      c->lanes);
        kir_value index = 0;
        if (g->r->indexed) {
            index = tly_reduce_indices(g->r, imm(c, 0), c->lanes, 1);
            kir_value within = kir_const(c->b, kir_type_of(c->b, index), c->lanes / parts - 1);
            index = kir_bin(c->b, KIR_AND, index, within);
        }
        state[i] = g->rules->lift(g->r, x, index);
    }
    if (parts > closing(g))
        close(g, state, n);
}

static void fold_pairs(group *g, unsigned parts, kir_value *state);

static void fold_halves(group *g, unsigned parts, kir_value *state)
{
    fold_pairs(g, parts / 2, state);
    for (unsigned i = 0; i < g->rows / parts; i++)
        state[i] = fold(g, state[2 * i], state[2 * i + 1], parts / 2);
}

/* Rows by pairs, until one vector has a lane of each. Rows that are such a part of a vector as come
 * next are loaded as that: what they would be combined with before is neutral. */
static void fold_pairs(group *g, unsigned parts, kir_value *state)
{
    tly_build *c = g->r->c;
    kir_builder *b = c->b;
    unsigned n = g->rows / parts;
    kir_branch direct = { 0 };
    if (parts == 1) {
        take_rows(g, state);
    } else if (!g->masked) {
        fold_halves(g, parts, state);
    } else {
        kir_if(b, &direct, equal(c, g->packed, imm(c, c->lanes / parts)));
        load_parts(g, parts, state);
        kir_else(b, &direct, n, state);
        fold_halves(g, parts, state);
        kir_if_end(b, &direct, n, state);
        memcpy(state, direct.result, n * sizeof *state);
    }
    if (parts == closing(g))
        close(g, state, n);
}

static kir_value fold_rows(group *g, kir_value *state)
{
    fold_pairs(g, g->rows, state);
    for (unsigned n = g->r->c->lanes; n > g->rows; n /= 2)
        state[0] = fold(g, state[0], state[0], g->rows);
    return state[0];
}

/* Results of rows [first, first + count) to the output, where they may lie apart. */
static void store(group *g, kir_value out, kir_value apart, kir_value count, kir_value y)
{
    tly_build *c = g->r->c;
    kir_builder *b = c->b;
    kir_value scratch = kir_get(b, KIR_ARG_SCRATCH), one = imm(c, 1);
    kir_value full = equal(c, count, imm(c, g->rows));
    full = kir_bin(b, KIR_AND, full, equal(c, apart, imm(c, c->out_bytes)));
    kir_branch way;
    kir_loop l;
    kir_if(b, &way, full);
    kir_store(b, out, 0, y, 1, 0);
    kir_else(b, &way, 0, NULL);
    kir_store(b, scratch, 0, y, 1, 0);
    kir_for(b, &l, imm(c, 0), count, one, 0, NULL);
    kir_type t = KIR_TYPE(kir_type_of(b, y).kind, 1);
    kir_value v = kir_load(b, t, tly_at(c, scratch, l.i, c->out_bytes), 0, 1);
    kir_store(b, kir_ptradd(b, out, mul(c, l.i, apart)), 0, v, 1, 0);
    kir_for_end(b, &l, NULL);
    kir_if_end(b, &way, 0, NULL);
}

void tly_reduce_group(tly_reduce *r, kir_value begin, kir_value end, tly_reduce_one_row alone)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    tly_reduce_rules rules = tly_reduce_rules_of(r);
    group g = { .r = r, .rules = &rules, .rows = (unsigned)c->plan->rows };
    g.masked = tly_is_masked(c->p, c->t);
    g.length = kir_get(b, KIR_ARG_LENGTH);
    kir_value in_apart = kir_get_at(b, KIR_ARG_OUTER_IN, imm(c, 0));
    kir_value out_apart = kir_get_at(b, KIR_ARG_OUTER_OUT, imm(c, 0));
    kir_value in = kir_get(b, KIR_ARG_IN), out = kir_get(b, KIR_ARG_OUT), state[MOST];
    kir_value dense = equal(c, in_apart, mul(c, g.length, imm(c, c->in_bytes)));
    g.ahead = tly_max(c, mul(c, in_apart, imm(c, g.rows)), imm(c, c->plan->prefetch));
    g.apart = kir_select(b, dense, imm(c, (int64_t)c->lanes * c->in_bytes), in_apart);
    g.rate = kir_select(b, dense, imm(c, g.rows), imm(c, 1));
    kir_loop l, each;
    kir_branch again, one, fits = { 0 };
    kir_for(b, &l, begin, end, imm(c, g.rows), 0, NULL);
    kir_value left = sub(c, end, l.i), count = tly_min(c, left, imm(c, g.rows));
    kir_value first = kir_ptradd(b, in, mul(c, l.i, in_apart)), last = sub(c, left, imm(c, 1));
    if (r->watched) {
        kir_clear_flags(b);
        first = kir_keep(b, first);
    }
    kir_value full = equal(c, count, imm(c, g.rows)), none = imm(c, 0);
    g.packed = kir_select(b, kir_bin(b, KIR_AND, full, dense), g.length, none);
    for (unsigned i = 0; i < g.rows; i++) { /* behind the last, that one again */
        kir_value moved = i > 0 ? kir_select(b, less(c, last, imm(c, i)), none, in_apart) : none;
        g.in[i] = kir_ptradd(b, i > 0 ? g.in[i - 1] : first, moved);
    }
    if (!g.masked)
        kir_if(b, &fits, equal(c, tly_round_down(c, g.length, c->lanes), g.length));
    const kir_type truths = KIR_TYPE(KIR_I1, g.rows);
    kir_value bad, all = tly_reduce_doubt(r, fold_rows(&g, state), &bad);
    store(&g, kir_ptradd(b, out, mul(c, l.i, out_apart)), out_apart, count,
          tly_reduce_result(r, all));
    if (!g.masked) {
        bad = bad != 0 ? bad : kir_const(b, truths, 0);
        kir_else(b, &fits, 1, &bad);
        bad = kir_const(b, truths, 1);
        kir_if_end(b, &fits, 1, &bad);
        bad = fits.result[0];
    }
    if (bad != 0) {
        kir_value marks = kir_get(b, KIR_ARG_SCRATCH);
        kir_if(b, &again, kir_any(b, bad));
        kir_store(b, marks, 0, kir_convert(b, KIR_ZEXT, KIR_TYPE(KIR_I32, g.rows), bad), 1, 0);
        kir_for(b, &each, imm(c, 0), count, imm(c, 1), 0, NULL);
        kir_value mark = kir_load(b, KIR_TYPE(KIR_I32, 1), tly_at(c, marks, each.i, 4), 0, 1);
        kir_if(b, &one, kir_cmp(b, KIR_NE, mark, kir_const(b, KIR_TYPE(KIR_I32, 1), 0)));
        alone(r, add(c, l.i, each.i));
        kir_if_end(b, &one, 0, NULL);
        kir_for_end(b, &each, NULL);
        kir_if_end(b, &again, 0, NULL);
    }
    kir_for_end(b, &l, NULL);
}
