/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the problem's operator (codegen/plan/operator.h) does, as kernel IR; and places and states
 * in memory.
 */
#include "../template.h"
#include "elementwise.h"

#include <string.h>

static const tly_operator *row_of(const tly_build *c)
{
    return tly_operator_of(c->p);
}

static const tly_operator_code *code_of(const tly_build *c)
{
    return tly_operator_code_of(c->p);
}

/* Whether x is still a float (tly_keys_are_deferred). Templates for GPUs make keys when they
 * load. */
static int lacks_key(const tly_build *c, kir_value x)
{
    return row_of(c)->compares && kir_is_float(type_of(c, x));
}

static kir_value address_in_row(tly_build *c, const tly_place *at, int tensor)
{
    const tly_row *row = at->of;
    kir_value p = row->at[tensor];
    if (at->position != 0 || at->more_positions != 0) {
        kir_value position = at->position != 0 ? at->position : imm(c, 0);
        int in_rows = c->p->form == TLY_ROWS || c->p->form == TLY_REDUCED_ROWS;
        p = ptradd(c, p,
                   mul(c, add(c, position, imm(c, at->more_positions)),
                       in_rows ? tly_step(c, tensor) : tly_axis(c, tensor)));
    }
    if (at->lane == 0 && at->more_lanes == 0)
        return p;
    kir_value lane = at->lane != 0 ? at->lane : imm(c, 0);
    return ptradd(c, p, mul(c, add(c, lane, imm(c, at->more_lanes)), tly_lane(c, tensor)));
}

tly_place tly_place_in(const tly_row *row, kir_value position, kir_value lane)
{
    return (tly_place){ address_in_row, row, .position = position, .lane = lane };
}

static kir_value address_along(tly_build *c, const tly_place *at, int tensor)
{
    const tly_stretch *s = at->of;
    kir_value element = imm(c, at->more_positions);
    if (tensor == TLY_OUT)
        return tly_stored_at(c, s->to, add(c, s->i, element));
    return ptradd(c, s->from, mul(c, element, tly_step(c, tensor)));
}

tly_place tly_place_along(const tly_stretch *stretch, int64_t element)
{
    return (tly_place){ address_along, stretch, .more_positions = element };
}

/* A count of positions as an index is. */
static kir_value counted(tly_build *c, kir_value positions)
{
    const kir_type t = tly_storage(tly_index_dtype(c->p), 1), from = type_of(c, positions);
    return from.kind == t.kind ? positions
                               : convert(c, t.kind == KIR_I32 ? KIR_TRUNC : KIR_ZEXT, t, positions);
}

kir_value tly_index_after(tly_build *c, kir_value index, kir_value positions)
{
    return bin(c, c->p->downwards ? KIR_SUB : KIR_ADD, index, counted(c, positions));
}

/* Of position 0 of what is scanned as an axis by itself. */
static kir_value first_index(tly_build *c)
{
    kir_value zero = imm(c, 0), last = sub(c, arg(c, KIR_ARG_LENGTH), imm(c, 1));
    kir_value index = counted(c, c->p->downwards ? last : zero);
    return c->from != 0 ? tly_index_after(c, index, c->from) : index;
}

kir_value tly_index_at(tly_build *c, const tly_place *at, unsigned lanes)
{
    if (at->index != 0)
        return at->index;
    kir_value position = at->position;
    position = add(c, position, like(c, position, (uint64_t)at->more_positions));
    kir_value index = tly_index_after(c, at->from != 0 ? at->from : first_index(c), position);
    if (lanes == 1)
        return index;
    index = kir_splat(c->b, index, lanes);
    return c->p->form == TLY_ROWS && at->steps == NULL
               ? bin(c, c->p->downwards ? KIR_SUB : KIR_ADD, index,
                     kir_iota(c->b, type_of(c, index)))
               : index;
}

kir_value tly_beats(tly_build *c, kir_value key, kir_value before)
{
    const int most = row_of(c)->neutral[0] == TLY_LEAST, ties = c->p->last;
    const kir_pred less = tly_has_sign(c) ? KIR_SLT : KIR_ULT;
    kir_value is = most == ties ? cmp(c, less, key, before) : cmp(c, less, before, key);
    return ties ? tly_not(c, is) : is;
}

kir_value tly_mapped(tly_build *c, const tly_place *at, kir_value x)
{
    kir_value coef;
    if (!row_of(c)->applies)
        return tly_widen(c, tly_map(c, at, x));
    x = tly_map_and_coef(c, at, x, &coef);
    return pair(c, tly_widen(c, coef), tly_widen(c, x));
}

kir_value tly_element_alone(tly_build *c, const tly_place *at, kir_value x)
{
    static const tly_place unknown = { .address = NULL };
    const tly_operator_code *o = code_of(c);
    if (c->p->program.type != 0 && at != NULL && !c->is_mapped)
        x = tly_mapped(c, at, x);
    if (lacks_key(c, x))
        x = tly_extreme_of(c, &x, 1).key;
    x = tly_through(c, c->p->before, x);
    return o->lift ? o->lift(c, x, at != NULL ? at : &unknown) : x;
}

int tly_has_heads(const tly_build *c)
{
    return c->p->resets || c->heads != 0;
}

kir_value tly_element(tly_build *c, const tly_place *at, kir_value x)
{
    if (!tly_has_heads(c))
        return tly_element_alone(c, at, x);
    kir_value element = tly_element_alone(c, at, x), head = 0;
    if (c->p->resets)
        head = tly_resets(c, at, x);
    if (c->heads != 0)
        head = accumulate(c, KIR_OR, head, tly_heads_at(c, at, type_of(c, x).lanes));
    return tly_give_head(c, element, head);
}

kir_value tly_give_head(tly_build *c, kir_value element, kir_value head)
{
    kir_value v[KIR_MAX_PARTS];
    const unsigned parts = kir_parts(c->b, element);
    for (unsigned i = 0; i < parts; i++)
        v[i] = part(c, element, i);
    v[parts] = head;
    return kir_tuple(c->b, parts + 1, v);
}

kir_value tly_take_head(tly_build *c, kir_value *element)
{
    kir_value v[KIR_MAX_PARTS];
    const unsigned parts = kir_parts(c->b, *element) - 1;
    for (unsigned i = 0; i < parts; i++)
        v[i] = part(c, *element, i);
    kir_value resets = part(c, *element, parts);
    *element = kir_tuple(c->b, parts, v);
    return resets;
}

static kir_value begun_anew(tly_build *c, kir_value resets, kir_value state, kir_value element)
{
    kir_value start = tly_start(c, type_of(c, part(c, state, 0)));
    if (tly_has_index(c->p))
        start = pair(c, part(c, start, 0), part(c, element, 1));
    return choose(c, resets, start, state);
}

kir_value tly_shown(tly_build *c, kir_value element, kir_value before, kir_value after)
{
    if (!c->p->exclusive)
        return after;
    kir_value resets = tly_has_heads(c) ? tly_take_head(c, &element) : 0;
    return resets != 0 ? begun_anew(c, resets, before, element) : before;
}

kir_value tly_result(tly_build *c, const tly_place *at, kir_value state)
{
    static const tly_place unknown = { .address = NULL };
    const tly_operator_code *o = code_of(c);
    if (o->project)
        state = o->project(c, state, at != NULL ? at : &unknown);
    return tly_through(c, c->p->after, state);
}

kir_value tly_show(tly_build *c, const tly_place *at, kir_value state)
{
    return tly_post(c, at, tly_result(c, at, state));
}

kir_value tly_show_times(tly_build *c, const tly_place *at, kir_value state, kir_value unit)
{
    (void)at;
    return tly_through_times(c, c->p->after, state, unit);
}

kir_value tly_combine(tly_build *c, kir_value x, kir_value y)
{
    const tly_operator_code *o = code_of(c);
    if (tly_has_head(c, y))
        return tly_combine_behind_head(c, x, y);
    return o->combine ? o->combine(c, x, y) : bin(c, tly_combines_by(c->p), x, y);
}

/* Whether scans start from a state that `advance` takes: on devices they start from nothing. */
static int advances(const tly_build *c)
{
    return code_of(c)->advance != NULL && kir_workgroup_of(c->b) == 0;
}

kir_value tly_begins(tly_build *c, const tly_place *at)
{
    kir_value first = at->first;
    if (at->begins != NULL)
        return at->begins(c, at);
    const int interleave = c->p->interleave;
    if (first == 0 && at->more_positions >= interleave)
        return 0;
    if (first == 0 && interleave == 1)
        first = equal(c, at->position, imm(c, 0));
    else if (first == 0)
        first = less(c, at->position, imm(c, interleave - at->more_positions));
    return c->p->carry ? choose(c, tly_has_states(c), like(c, first, 0), first) : first;
}

kir_value tly_lanes_that_begin(tly_build *c, const tly_place *at, kir_value begins)
{
    kir_value one = imm(c, 1), zero = imm(c, 0);
    if (c->p->interleave == 1)
        return tly_lanes_below(c, choose(c, begins, one, zero));
    kir_value left = sub(c, imm(c, c->p->interleave - at->more_positions), at->position);
    return tly_lanes_below(c, choose(c, begins, left, zero));
}

/* An i1, or i1s, as such of as many lanes as others have. */
static kir_value in_lanes_of(tly_build *c, kir_value others, kir_value truth)
{
    const unsigned lanes = type_of(c, others).lanes;
    return type_of(c, truth).lanes == lanes ? truth : kir_splat(c->b, truth, lanes);
}

kir_value tly_advance(tly_build *c, const tly_place *at, kir_value state, kir_value element)
{
    kir_value resets = tly_has_heads(c) ? tly_take_head(c, &element) : 0;
    if (row_of(c)->applies) {
        kir_value begins = tly_begins(c, at);
        if (resets != 0)
            begins = begins != 0 ? bor(c, resets, in_lanes_of(c, resets, begins)) : resets;
        return code_of(c)->apply(c, state, element, begins);
    }
    if (resets != 0)
        state = begun_anew(c, resets, state, element);
    return advances(c) ? code_of(c)->advance(c, state, element) : tly_combine(c, state, element);
}

/* The index of the first or last of n elements, as the problem says, that compares with y by
 * `like`. The elements are in the order of their positions. */
static kir_value which(tly_build *c, const kir_value *x, const tly_place *at, unsigned n,
                       kir_pred like, kir_value y)
{
    kir_value index = at[c->p->last ? 0 : n - 1].index;
    for (unsigned i = 1; i < n; i++) {
        unsigned k = c->p->last ? i : n - 1 - i;
        index = choose(c, cmp(c, like, x[k], y), at[k].index, index);
    }
    return index;
}

/* The same of floats. NaNs are searched for only if there are any. */
static kir_value decides_float(tly_build *c, const kir_value *x, const tly_place *at, unsigned n)
{
    tly_extreme best = tly_extreme_of(c, x, n);
    kir_value index = which(c, x, at, n, KIR_OEQ, best.number);
    kir_value zero = constant(c, type_of(c, best.number), 0);
    tly_region nans = { .state = { &index } };
    emit_if(c, &nans, any(c, tly_not(c, best.all)));
    index = choose(c, best.all, index, which(c, x, at, n, KIR_UNO, zero));
    emit_end(c, &nans);
    return pair(c, best.key, index);
}

/* The winner of n elements: the value is found first, then the index of an element that has it.
 * That takes three operations an element; combining states takes six. */
static kir_value decides(tly_build *c, const kir_value *x, const tly_place *at, unsigned n)
{
    kir_value v[TLY_REDUCE_MOST_STEPS];
    if (lacks_key(c, x[0]))
        return decides_float(c, x, at, n);
    memcpy(v, x, n * sizeof *x);
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            v[i] = bin(c, tly_combines_by(c->p), v[i], v[i + (k + 1) / 2]);
    return pair(c, v[0], which(c, x, at, n, KIR_EQ, v[0]));
}

kir_value tly_take(tly_build *c, kir_value state, const kir_value *x, const tly_place *at,
                   unsigned n)
{
    const tly_operator_code *o = code_of(c);
    if (o->take)
        return o->take(c, state, x, n);
    if (row_of(c)->searches)
        return tly_combine(c, state, decides(c, x, at, n));
    if (lacks_key(c, x[0]))
        return tly_combine(c, state, tly_extreme_of(c, x, n).key);
    kir_value some[TLY_REDUCE_MOST_STEPS] = { 0 };
    for (unsigned i = 0; i < n; i++)
        some[i] = tly_element(c, &at[i], x[i]);
    for (; n > 1; n = (n + 1) / 2)
        for (unsigned i = 0; i < n; i += 2)
            some[i / 2] = i + 1 < n ? tly_combine(c, some[i], some[i + 1]) : some[i];
    return tly_combine(c, state, some[0]);
}

/* ---- states that are known ---- */

static kir_type part_type(const tly_build *c, unsigned part, unsigned lanes)
{
    int index = row_of(c)->part[part] == TLY_PART_INDEX;
    return index ? tly_storage(tly_index_dtype(c->p), lanes) : KIR_TYPE(c->acc.kind, lanes);
}

static kir_value known(tly_build *c, const uint8_t *values, unsigned lanes)
{
    const tly_operator *o = row_of(c);
    kir_value v[KIR_MAX_PARTS];
    for (unsigned i = 0; i < o->parts; i++) {
        int index = o->part[i] == TLY_PART_INDEX;
        tly_value value = (tly_value)values[i];
        if (index && tly_takes_later(c->p)) /* no element's index loses against it */
            value = TLY_LEAST;
        tally_dtype dtype = index ? tly_index_dtype(c->p) : (tally_dtype)c->p->acc;
        uint64_t bits = tly_value_bits(value, dtype);
        v[i] = constant(c, part_type(c, i, lanes), bits);
    }
    return kir_tuple(c->b, o->parts, v);
}

kir_value tly_neutral(tly_build *c, kir_type type)
{
    return known(c, row_of(c)->neutral, type.lanes);
}

/* The identity of comparisons is an element's key; the neutral state need not be one. */
static kir_value identity(tly_build *c, unsigned lanes)
{
    const tly_operator *o = row_of(c);
    if (!o->compares)
        return known(c, o->identity, lanes);
    uint64_t element = tly_value_bits((tly_value)o->identity[0], tly_combined(c->p));
    return constant(c, part_type(c, 0, lanes), tly_key_bits(c, element));
}

kir_value tly_kept(tly_build *c, kir_value state)
{
    if (!row_of(c)->compares)
        return state;
    const kir_type type = type_of(c, state);
    kir_value element = identity(c, type.lanes);
    if (c->p->nan_ignore && tly_class_of(tly_combined(c->p)) == TLY_FLOATING)
        element = constant(c, type, tly_key_bits(c, tly_value_bits(TLY_NAN, tly_combined(c->p))));
    return choose(c, equal(c, state, tly_neutral(c, type)), element, state);
}

kir_value tly_start(tly_build *c, kir_type type)
{
    kir_value start = c->p->exclusive ? identity(c, type.lanes) : tly_neutral(c, type);
    if (!advances(c))
        return start;
    kir_value index = first_index(c);
    return pair(c, part(c, start, 0), type.lanes > 1 ? kir_splat(c->b, index, type.lanes) : index);
}

kir_value tly_padding(tly_build *c, kir_type type)
{
    int is_acc = type.kind == c->acc.kind;
    tly_value value = (tly_value)row_of(c)->padding;
    if (c->p->nan_ignore && !is_acc)
        value = TLY_NAN;
    return constant(c, type, tly_value_bits(value, is_acc ? (tally_dtype)c->p->acc : c->element));
}

int tly_is_floating(const tly_build *c)
{
    return kir_is_float(c->acc);
}

int tly_has_sign(const tly_build *c)
{
    return tly_class_of((tally_dtype)c->p->acc) == TLY_SIGNED;
}

/* ---- states in memory ---- */

static unsigned apart(const tly_build *c)
{
    return tly_part_bytes(c->p);
}

/* So many heads, u32s, and factors, accumulators all, and a state. */
static kir_value load_parts(tly_build *c, kir_value p, int64_t offset, unsigned lanes,
                            unsigned align, unsigned heads, unsigned factors)
{
    kir_value v[KIR_MAX_PARTS];
    const unsigned before = heads + factors, parts = before + row_of(c)->parts;
    for (unsigned i = 0; i < parts; i++) {
        const kir_type type = i < heads    ? KIR_TYPE(KIR_I32, lanes)
                              : i < before ? KIR_TYPE(c->acc.kind, lanes)
                                           : part_type(c, i - before, lanes);
        v[i] = kir_load(c->b, type, p, offset + i * lanes * apart(c), align);
    }
    return kir_tuple(c->b, parts, v);
}

kir_value tly_load_state(tly_build *c, kir_value p, int64_t offset, unsigned lanes, unsigned align)
{
    return load_parts(c, p, offset, lanes, align, 0, 0);
}

kir_value tly_load_window(tly_build *c, kir_value p, int64_t offset, unsigned lanes, unsigned align)
{
    return load_parts(c, p, offset, lanes, align, tly_window_heads(c->p), tly_factors(c->p));
}

void tly_store_state(tly_build *c, kir_value p, int64_t offset, kir_value state, unsigned align)
{
    unsigned lanes = type_of(c, state).lanes;
    for (unsigned i = 0; i < kir_parts(c->b, state); i++)
        kir_store(c->b, p, offset + i * lanes * apart(c), part(c, state, i), align, 0);
}

static unsigned part_bytes(const tly_build *c, unsigned i)
{
    return kir_kind_bits((kir_kind)part_type(c, i, 1).kind) / 8;
}

kir_value tly_states_row(tly_build *c, kir_value p, kir_value before, kir_value behind)
{
    kir_value v[KIR_MAX_PARTS] = { p };
    unsigned parts = row_of(c)->parts;
    for (unsigned i = 1; i < parts; i++)
        v[i] = tly_at(c, p, tly_round_up(c, add(c, before, behind), TLY_MOST_LANES), i * apart(c));
    return kir_tuple(c->b, parts, v);
}

kir_value tly_states_offset(tly_build *c, kir_value i, int64_t each)
{
    kir_value v[KIR_MAX_PARTS];
    for (unsigned k = 0; k < row_of(c)->parts; k++)
        v[k] = mul(c, i, imm(c, each * part_bytes(c, k)));
    return kir_tuple(c->b, row_of(c)->parts, v);
}

kir_value tly_states_move(tly_build *c, kir_value row, kir_value offset)
{
    kir_value v[KIR_MAX_PARTS];
    for (unsigned k = 0; k < kir_parts(c->b, row); k++)
        v[k] = ptradd(c, part(c, row, k), part(c, offset, k));
    return kir_tuple(c->b, kir_parts(c->b, row), v);
}

kir_value tly_states_load(tly_build *c, kir_value row, int64_t skip, unsigned lanes)
{
    kir_value v[KIR_MAX_PARTS];
    for (unsigned k = 0; k < kir_parts(c->b, row); k++)
        v[k] = kir_load(c->b, part_type(c, k, lanes), part(c, row, k), skip * part_bytes(c, k),
                        part_bytes(c, k));
    return kir_tuple(c->b, kir_parts(c->b, row), v);
}

void tly_states_store(tly_build *c, kir_value row, int64_t skip, kir_value states)
{
    for (unsigned k = 0; k < kir_parts(c->b, row); k++)
        kir_store(c->b, part(c, row, k), skip * part_bytes(c, k), part(c, states, k),
                  part_bytes(c, k), 0);
}
