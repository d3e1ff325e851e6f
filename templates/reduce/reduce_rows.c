/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a span of a row. Several vectors of states side by side hide the latency of one;
 * then vectors go one by one, and the elements that fill no vector by a mask or as scalars. Vectors
 * and lanes are joined in a fixed tree. Where neighbours along the row are not neighbours in
 * memory, a vector is one element.
 */
#include "reduce.h"

enum { MAX_VECTORS = TLY_REDUCE_MOST_UNROLL };

typedef struct walk {
    tly_reduce *r;
    const tly_reduce_rules *rules;
    unsigned lanes;
    tly_row base;    /* the step's element 0 */
    kir_value next;  /* the next step's, less one's length, or 0: nothing is fetched ahead */
    kir_value ahead; /* by so many elements */
    kir_value later; /* of steps that have no group of vectors: bytes to what is fetched ahead */
    kir_value index; /* of that element */
} walk;

/* Vectors of neighbours in memory. */
static int is_dense(const tly_build *c)
{
    return c->lanes > 1 && c->p->tensor[TLY_IN].step == 1;
}

static tly_place place_at(walk *w, const tly_row *row, kir_value position, unsigned lanes)
{
    tly_place at = tly_reduce_place(row, position, 0);
    if (w->r->indexed)
        at.index = tly_reduce_indices(w->r, add(w->r->c, w->index, position), lanes, 1);
    return at;
}

static kir_value address(walk *w, kir_value position)
{
    tly_build *c = w->r->c;
    return ptradd(c, w->base.at[TLY_IN], mul(c, position, tly_step(c, TLY_IN)));
}

/* Loads vectors from `position` on. */
static void load(walk *w, kir_value position, unsigned vectors, kir_value *x)
{
    tly_build *c = w->r->c;
    kir_value p = address(w, position), step = tly_step(c, TLY_IN);
    for (unsigned v = 0; v < vectors; v++) {
        int64_t skipped = (int64_t)v * w->lanes;
        kir_value at = is_dense(c) ? p : ptradd(c, p, mul(c, imm(c, skipped), step));
        int64_t offset = is_dense(c) ? skipped * c->bytes[TLY_IN] : 0;
        const tly_place here = tly_place_after(tly_reduce_place(&w->base, position, 0), skipped, 0);
        x[v] = tly_reduce_load(w->r, &here, at, offset, w->lanes);
    }
}

/* Takes vectors from `position` on, each to its own state, or all to one. */
static void take(walk *w, kir_value position, unsigned vectors, kir_value *state)
{
    tly_build *c = w->r->c;
    kir_value x[MAX_VECTORS];
    tly_place at[MAX_VECTORS];
    load(w, position, vectors, x);
    if (vectors > w->rules->vectors) {
        for (unsigned v = 0; v < vectors; v++)
            at[v] = tly_place_after(tly_reduce_place(&w->base, position, 0), v * w->lanes, 0);
        state[0] = w->rules->take(c, state[0], x, at, vectors);
        return;
    }
    for (unsigned v = 0; v < vectors; v++) {
        kir_value first = add(c, position, imm(c, (int64_t)v * w->lanes));
        at[v] = place_at(w, &w->base, first, w->lanes);
        state[v] = w->rules->combine(c, state[v], w->rules->lift(w->r, x[v], &at[v]));
    }
}

/* Bytes from a step to the next, unless an outer dim begins anew. */
static kir_value step_stride(tly_build *c)
{
    kir_value last = sub(c, arg(c, KIR_ARG_REDUCED_RANK), imm(c, 1));
    return kir_get_at(c->b, KIR_ARG_REDUCED_IN, tly_max(c, last, imm(c, 0)));
}

/* Where to fetch ahead. Behind the end of a step lies the next step, unless an outer dim begins
 * anew; then the fetch is in vain. Behind the last step of an output lies the next output's
 * first, where outputs are packed. */
static void look_ahead(walk *w, const tly_reduce_span *s, kir_value step)
{
    tly_build *c = w->r->c;
    if (c->plan->prefetch == 0 || !is_dense(c))
        return;
    kir_value length = arg(c, KIR_ARG_LENGTH), steps = arg(c, KIR_ARG_STEPS);
    kir_value one = imm(c, 1), most = imm(c, c->plan->prefetch / c->bytes[TLY_IN]);
    if (c->p->segmented != TLY_SEGMENTED_NOT) { /* the next segment lies behind this one */
        w->next = w->base.at[TLY_IN];
        w->ahead = most;
        return;
    }
    kir_value stride = step_stride(c);
    kir_value next = ptradd(c, w->base.at[TLY_IN],
                            sub(c, stride, mul(c, length, tly_step(c, TLY_IN))));
    w->next = choose(c, less(c, add(c, step, one), steps), next, s->at.at[TLY_IN]);
    w->ahead = choose(c, less(c, one, steps), tly_min(c, most, length), most);
}

/* Of steps that have no group of vectors: bytes from a step to the one that is fetched ahead. */
static kir_value bytes_to_later(tly_reduce *r, const tly_reduce_rules *rules)
{
    tly_build *c = r->c;
    if (c->plan->prefetch == 0 || !is_dense(c) || c->p->segmented != TLY_SEGMENTED_NOT)
        return 0;
    kir_value length = arg(c, KIR_ARG_LENGTH), one = imm(c, 1), stride = step_stride(c);
    kir_value bytes = tly_max(c, mul(c, length, imm(c, c->bytes[TLY_IN])), one);
    kir_value steps = add(c, udiv(c, imm(c, c->plan->prefetch), bytes), one);
    kir_value are_short = less(c, length, imm(c, (int64_t)rules->vectors * c->lanes));
    return choose(c, are_short, mul(c, stride, steps), imm(c, 0));
}

/* A line of a step further on, where one vector of a step is taken. */
static void fetch_later(const walk *w, kir_value position)
{
    tly_build *c = w->r->c;
    if (w->later != 0 && w->lanes > 1)
        kir_prefetch(c->b,
                     ptradd(c, ptradd(c, w->base.at[TLY_IN], w->later),
                            mul(c, position, tly_step(c, TLY_IN))),
                     0);
}

static void fetch_ahead(walk *w, kir_value position, unsigned vectors)
{
    tly_build *c = w->r->c;
    if (w->next == 0 || vectors == 1 || w->lanes == 1)
        return;
    kir_value at = add(c, position, w->ahead);
    kir_value here = less(c, at, tly_reduce_length(c));
    kir_value base = choose(c, here, w->base.at[TLY_IN], w->next);
    kir_value p = ptradd(c, base, mul(c, at, tly_step(c, TLY_IN)));
    for (int64_t byte = 0; byte < (int64_t)vectors * w->lanes * c->bytes[TLY_IN]; byte += 64)
        kir_prefetch(c->b, p, byte);
}

/* Whole groups of `vectors`; returns the position behind them. */
static kir_value take_groups(walk *w, kir_value from, kir_value to, unsigned vectors,
                             kir_value *state)
{
    tly_build *c = w->r->c;
    unsigned states = vectors < w->rules->vectors ? vectors : w->rules->vectors;
    int64_t group = (int64_t)vectors * w->lanes;
    kir_value end = add(c, from, tly_round_down(c, sub(c, to, from), group));
    tly_region l = { 0 };
    emit_carry(&l, states, state);
    emit_for(c, &l, from, end, imm(c, group));
    take(w, l.i, vectors, state);
    fetch_ahead(w, l.i, vectors);
    if (vectors == 1)
        fetch_later(w, l.i);
    emit_end(c, &l);
    return end;
}

/* Where elements become states by nothing but additions, or by products, which are faster than
 * memory; sums that end in a logarithm were not measured. Products of 2^26 f32 .94 of a read for
 * .67 (Zen 4). */
static int is_bare(const tly_build *c)
{
    const tly_operator_code *o = tly_operator_code_of(c->p);
    return c->t->vector_bytes == 64 && c->bytes[TLY_IN] == c->acc_bytes && is_dense(c) &&
           c->plan->prefetch > 0 &&
           (tly_operator_of(c->p)->op == TLY_WIDE_MEAN ||
            (o->lift == NULL &&
             (tly_combines_by(c->p) == KIR_ADD || tly_is_checked_as(c->p, TLY_CHECK_PRODUCTS)))) &&
           c->p->before == 0 && !tly_is_of_reals(c->p);
}

/* The same, where nothing is fetched ahead of long bare rows: the machine's own prefetch is as
 * far. Of the time with it, rows of 1,024, 2,048, 4,096, one row of f32 1.13, .95, .97, .94, on
 * two threads .89, .73, .81, .91, f64 of 4,096 .99, .89 (Zen 5, AVX-512, minima); l2 1.14, max
 * 1.15, f16 1.27, and by AVX2 rows of 4,096 1.16. */
static kir_value take_ahead(walk *w, const tly_reduce_span *s, unsigned vectors, kir_value *state)
{
    enum { LONG_BYTES = 8192 };
    tly_build *c = w->r->c;
    if (!is_bare(c))
        return take_groups(w, s->from, s->to, vectors, state);
    unsigned states = vectors < w->rules->vectors ? vectors : w->rules->vectors;
    kir_value end = 0, next = w->next;
    tly_region way = { 0 };
    emit_carry(&way, states, state);
    emit_carry(&way, 1, &end);
    emit_if(c, &way, less(c, imm(c, LONG_BYTES / c->bytes[TLY_IN] - 1), tly_reduce_length(c)));
    w->next = 0;
    end = take_groups(w, s->from, s->to, vectors, state);
    w->next = next;
    emit_else(c, &way);
    end = take_groups(w, s->from, s->to, vectors, state);
    emit_end(c, &way);
    return end;
}

/* The elements that fill no vector. */
static void take_rest(walk *w, kir_value from, kir_value to, kir_value *state)
{
    tly_build *c = w->r->c;
    tly_region some = { .state = { state } };
    emit_if(c, &some, less(c, from, to));
    kir_value count = sub(c, to, from), there = tly_lanes_below(c, count);
    const tly_place here = tly_reduce_place(&w->base, from, 0),
                    at = place_at(w, NULL, from, w->lanes);
    kir_value x = tly_reduce_load_some(w->r, &here, address(w, from), count, c->lanes);
    x = w->rules->lift(w->r, x, &at);
    x = choose(c, there, x, w->rules->neutral(c, w->lanes));
    *state = w->rules->combine(c, *state, x);
    fetch_later(w, from);
    emit_end(c, &some);
}

/* The lower or the upper halves of each of `parts` parts of x and, unless it is x, of y. */
kir_value tly_reduce_halves(tly_build *c, kir_value x, kir_value y, unsigned parts, int upper)
{
    unsigned n = type_of(c, x).lanes, size = n / parts, total = x == y ? n / 2 : n;
    uint8_t index[64];
    for (unsigned i = 0; i < total; i++) {
        unsigned part = i / (size / 2), within = i % (size / 2);
        index[i] = (uint8_t)(part * size + within + (upper ? size / 2 : 0));
    }
    return kir_shuffle(c->b, x, y, index, total);
}

static kir_value join(tly_build *c, const tly_reduce_rules *rules, kir_value x, kir_value y)
{
    return rules->join != NULL ? rules->join(c, x, y) : rules->combine(c, x, y);
}

static kir_value fold_lanes(tly_build *c, const tly_reduce_rules *rules, kir_value v)
{
    while (type_of(c, v).lanes > 1) {
        kir_value low = tly_reduce_halves(c, v, v, 1, 0);
        v = join(c, rules, low, tly_reduce_halves(c, v, v, 1, 1));
    }
    return v;
}

static kir_value fold_vectors(tly_build *c, const tly_reduce_rules *rules, unsigned vectors,
                              kir_value *state)
{
    for (unsigned n = vectors; n > 1; n = (n + 1) / 2)
        for (unsigned i = 0; i < n / 2; i++)
            state[i] = join(c, rules, state[i], state[i + (n + 1) / 2]);
    return state[0];
}

/* ---- one element decides ---- */

/* The best group of vectors so far: its best value, in all lanes, the place and index of its first
 * element, and how many it has. The index is -1 before the first group. */
typedef struct best {
    kir_value value;
    tly_row at;
    kir_value index, count;
} best;

static void carry_best(const tly_build *c, tly_region *r, best *b)
{
    emit_carry(r, 1, &b->value);
    tly_carry_read(c, r, &b->at);
    emit_carry(r, 1, &b->index);
    emit_carry(r, 1, &b->count);
}

static kir_value value_of(tly_build *c, kir_value x, kir_value y)
{
    return bin(c, tly_combines_by(c->p), x, y);
}

/* i1s: y takes the place of x, which comes before it. */
static kir_value wins(tly_build *c, kir_value x, kir_value y)
{
    kir_op by = tly_combines_by(c->p);
    int is_signed = by == KIR_SMAX || by == KIR_SMIN, most = by == KIR_SMAX || by == KIR_UMAX;
    kir_pred less = is_signed ? KIR_SLT : KIR_ULT, most_equal = is_signed ? KIR_SLE : KIR_ULE;
    return cmp(c, c->p->last ? most_equal : less, most ? x : y, most ? y : x);
}

/* Compares whole groups by their best values; returns the position behind them. */
static kir_value search_groups(walk *w, kir_value from, kir_value to, unsigned vectors, best *b)
{
    static const tly_reduce_rules values = { .combine = value_of };
    tly_build *c = w->r->c;
    int64_t group = (int64_t)vectors * w->lanes;
    kir_value end = add(c, from, tly_round_down(c, sub(c, to, from), group));
    kir_value x[MAX_VECTORS] = { 0 };
    tly_region l = { 0 }, beaten = { 0 };
    carry_best(c, &l, b);
    carry_best(c, &beaten, b);
    emit_for(c, &l, from, end, imm(c, group));
    load(w, l.i, vectors, x);
    fetch_ahead(w, l.i, vectors);
    kir_value all = tly_keys_are_deferred(c) ? tly_extreme_of(c, x, vectors).key
                                             : fold_vectors(c, &values, vectors, x);
    kir_value none = less(c, b->index, imm(c, 0));
    emit_if(c, &beaten, bor(c, none, any(c, wins(c, b->value, all))));
    b->value = kir_splat(c->b, fold_lanes(c, &values, all), w->lanes);
    b->at = tly_read_move(c, &w->base, l.i, tly_step);
    b->index = add(c, w->index, l.i);
    b->count = imm(c, group);
    emit_end(c, &beaten);
    emit_end(c, &l);
    return end;
}

/* Finds the element that decides in the best group. */
static void find(walk *w, const best *b, kir_value *state)
{
    w->base = b->at;
    w->index = b->index;
    w->later = 0;
    take_groups(w, imm(w->r->c, 0), b->count, 1, state);
}

/* ---- all of it ---- */

/* The elements that fill no vector are loaded as scalars, which have a state of their own. */
static int has_scalars(const tly_build *c)
{
    return c->lanes > 1 && !tly_is_masked(c->p, c->t);
}

unsigned tly_reduce_states(tly_reduce *r, const tly_reduce_rules *rules, const tly_reduce_span *s,
                           kir_value *state)
{
    tly_build *c = r->c;
    unsigned vectors = rules->vectors, loads = rules->loads > 0 ? rules->loads : vectors;
    unsigned scalars = has_scalars(c);
    unsigned states = vectors + scalars;
    best found = { 0 };
    tly_region l = { 0 };
    for (unsigned v = 0; v < states; v++)
        state[v] = rules->neutral(c, v < vectors ? c->lanes : 1);
    emit_carry(&l, states, state);
    if (rules->searches) {
        found.value = part(c, state[0], 0);
        found.at = s->at;
        found.index = imm(c, -1);
        found.count = imm(c, 0);
        carry_best(c, &l, &found);
    }
    kir_value later = bytes_to_later(r, rules);
    emit_for(c, &l, s->begin, s->end, imm(c, 1));
    walk w = { .r = r, .rules = rules, .lanes = c->lanes, .later = later };
    w.base = tly_reduce_step(c, &s->at, l.i);
    look_ahead(&w, s, l.i);
    w.index = tly_reduce_index(c, l.i);
    kir_value at = rules->searches ? search_groups(&w, s->from, s->to, loads, &found)
                                   : take_ahead(&w, s, loads, state);
    if (rules->searches)
        at = search_groups(&w, at, s->to, 1, &found);
    else if (loads > 1)
        at = take_groups(&w, at, s->to, 1, state);
    if (scalars) {
        w.lanes = 1;
        take_groups(&w, at, s->to, 1, &state[vectors]);
    } else if (c->lanes > 1) {
        take_rest(&w, at, s->to, state);
    }
    emit_end(c, &l);
    if (rules->searches) {
        w.lanes = c->lanes;
        find(&w, &found, state);
    }
    return states;
}

kir_value tly_reduce_fold(tly_reduce *r, const tly_reduce_rules *rules, kir_value *state)
{
    tly_build *c = r->c;
    unsigned vectors = rules->vectors, scalars = has_scalars(c);
    for (unsigned v = 0; rules->close != NULL && v < vectors + scalars; v++)
        state[v] = rules->close(c, state[v]);
    kir_value all = fold_lanes(c, rules, fold_vectors(c, rules, vectors, state));
    return scalars ? join(c, rules, all, state[vectors]) : all;
}

kir_value tly_reduce_walk(tly_reduce *r, const tly_reduce_rules *rules, const tly_reduce_span *s)
{
    kir_value state[TLY_REDUCE_MOST_STATES];
    tly_reduce_states(r, rules, s, state);
    return tly_reduce_fold(r, rules, state);
}

/* ---- the operator's own ---- */

static kir_value lift(tly_reduce *r, kir_value x, const tly_place *at)
{
    return tly_element(r->c, at, x);
}

kir_value tly_reduce_neutral(tly_build *c, unsigned lanes)
{
    return tly_neutral(c, KIR_TYPE(c->acc.kind, lanes));
}

tly_reduce_rules tly_reduce_rules_of(const tly_reduce *r)
{
    const tly_operator *o = tly_operator_of(r->c->p);
    unsigned vectors = (unsigned)r->c->plan->vectors;
    if (r->checks_products)
        return tly_reduce_chains(vectors);
    tly_reduce_rules rules = { .lift = lift,
                               .combine = tly_combine,
                               .neutral = tly_reduce_neutral };
    int together = vectors > 1 && (o->takes || o->searches || tly_keys_are_deferred(r->c));
    rules.vectors = together ? 1 : vectors;
    rules.loads = vectors;
    rules.take = tly_take;
    rules.searches = together && o->searches;
    return rules;
}

/* Short segments are walked as they are where several go at once. */
static kir_value walk_span(tly_reduce *r, const tly_reduce_span *s)
{
    tly_build *c = r->c;
    const tly_reduce_rules rules = tly_reduce_rules_of(r);
    if (c->p->segmented == TLY_SEGMENTED_NOT || c->plan->rows_at_once == 1)
        return tly_reduce_walk(r, &rules, s);
    const tly_reduce_rules few = tly_reduce_short_rules(r);
    kir_value state = 0;
    tly_region is_short = { .state = { &state } };
    emit_if(c, &is_short, tly_reduce_is_short(r, sub(c, s->to, s->from)));
    state = tly_reduce_walk(r, &few, s);
    emit_else(c, &is_short);
    state = tly_reduce_walk(r, &rules, s);
    emit_end(c, &is_short);
    return state;
}

kir_value tly_reduce_of_span(tly_reduce *r, const tly_reduce_span *s)
{
    if (r->checks_products)
        return tly_reduce_product(r, s);
    if (r->is_i128)
        return tly_reduce_i128(r, s);
    kir_value state = walk_span(r, s);
    return r->checks_sums      ? tly_reduce_parts(r, s, state)
           : r->checks_squares ? tly_reduce_squares(r, s, state)
                               : state;
}
