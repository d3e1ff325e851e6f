/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of packed columns that are too few to fill a pass of columns.c. Axis and lanes are one
 * stream of positions in both tensors. A result is the one `columns` positions before it, combined
 * with the input. So vectors may begin anywhere, the ends of rows need no code, and each column is
 * scanned in serial order. Vectors begin where lines of output do.
 *
 * If a few vectors hold the last `columns` results, these stay in registers: their number is a
 * literal then, and shuffles bring them into place. Otherwise they lie in scratch, a block at a
 * time.
 *
 * Short slices that lie one behind the other are one stream, too. Each begins with a row of heads,
 * whose results are not combined with those before. f32 of slices of 10x17, 9x31, 9x100, of a copy:
 * slice by slice .38, .33, .57, as one stream .98, .99, .90; f16 of 9x60 .20, 1.01 (Zen 5).
 *
 * Positions count from 0 along the scan. If the scan runs downwards in memory, addresses, the lanes
 * of a vector and scratch are mirrored.
 */
#include "../../codegen/plan/limits.h"
#include "../template.h"

enum {
    MAX_HISTORY = TLY_FEW_COLUMNS_MOST_HISTORY,
    MAX_VECTORS = TLY_FEW_COLUMNS_MOST_VECTORS,
    LINE = 64,
    COPIES = 4,
    /* Bytes of output of a slice. Shorter ones stay in the cache, as their ends are stored through
     * it anyway. f32 of slices of 640 and 2560 bytes, of a copy: past the cache .30, .84; through
     * it .37, .35 (Zen 4). */
    SHORT_SLICE = 1024
};

typedef struct few_columns {
    tly_build *c;
    unsigned history; /* vectors of results kept in registers; 0: in scratch */
    unsigned line;    /* vectors that make a line of output */
    int64_t vector;   /* elements */
    kir_value columns;
    kir_value slice;      /* positions of a slice */
    int has_heads;        /* a stream may have several slices */
    kir_value far;        /* i1: the tensors are larger than the cache */
    kir_value prefetchw;  /* i1: lines of output are fetched ahead */
    kir_value streams;    /* i1: whole lines of output go past the cache */
    kir_value tail;       /* scratch: the input's last vector, and room around it */
    kir_value scratch;    /* for results */
    kir_value block;      /* positions after which results in scratch are moved to its beginning */
    tly_row row;          /* lane 0 of the axis' start */
    kir_value margins[2]; /* elements of scratch before and behind position 0, see plan_scratch */
} few_columns;

/* The addresses of position 0. */
typedef struct stream {
    kir_value at[TLY_TENSOR_COUNT];
    kir_value first;   /* so many positions from there on are of the first row; perhaps none */
    kir_value phase;   /* where it lies in its slice; 0: streams have one slice */
    kir_value results; /* in scratch, which begins `columns` results before it or earlier */
} stream;

static int down(const tly_build *c)
{
    return c->p->lanes.packing == TLY_PACKED_DOWN;
}

/* The address of position `i`, if `p` is that of position 0. */
static kir_value move(tly_build *c, kir_value p, kir_value i, int64_t bytes)
{
    return tly_at(c, p, i, down(c) ? -bytes : bytes);
}

/* Bytes from `n` positions' first element to the one that is lowest in memory. */
static int64_t lowest(const tly_build *c, int64_t n, int64_t bytes)
{
    return down(c) ? -(n - 1) * bytes : 0;
}

/* Bytes from a lane to the next: operands lie as input and output do, or are one element. */
static int64_t each(const tly_build *c, int tensor)
{
    const int64_t bytes = c->bytes[tensor];
    return tensor < TLY_FIRST_OPERAND ? bytes : bytes * c->p->tensor[tensor].step;
}

static kir_value address(tly_build *c, const stream *s, int tensor, kir_value i)
{
    return move(c, s->at[tensor], i, each(c, tensor));
}

static kir_value address_of_vector(tly_build *c, const tly_place *at, int tensor)
{
    kir_value i = add(c, at->position, imm(c, at->more_positions));
    return ptradd(c, address(c, at->of, tensor, i), imm(c, lowest(c, c->lanes, each(c, tensor))));
}

static tly_place place_in(const stream *s, kir_value i, int64_t more)
{
    return (tly_place){ address_of_vector, s, .position = i, .more_positions = more };
}

/* How many positions from position i on are of the first row. 0: the operator does not ask. */
static kir_value first_from(const few_columns *k, const stream *s, kir_value i)
{
    return tly_operator_of(k->c->p)->applies ? sub(k->c, s->first, i) : 0;
}

/* i1s: the lanes of a vector that come before position `end`, counted from its own. */
static kir_value lanes_before_position(few_columns *k, kir_value end)
{
    tly_build *c = k->c;
    kir_value all = imm(c, k->vector), left = tly_min(c, tly_max(c, end, imm(c, 0)), all);
    return down(c) ? tly_not(c, tly_lanes_below(c, sub(c, all, left))) : tly_lanes_below(c, left);
}

/* i1s: the lanes of a vector that lie in the first row. 0: the operator does not ask. */
static kir_value first_lanes(few_columns *k, const stream *s, kir_value i, int64_t more)
{
    kir_value left = first_from(k, s, i);
    return left == 0 ? 0 : lanes_before_position(k, sub(k->c, left, imm(k->c, more)));
}

/* i1s: the lanes of a vector that lie in the first row of a slice, in which its first lane lies at
 * `phase`. A vector is no longer than a slice. */
static kir_value head_lanes(few_columns *k, kir_value phase)
{
    tly_build *c = k->c;
    kir_value next = sub(c, k->slice, phase), here = sub(c, k->columns, phase);
    kir_value heads = lanes_before_position(k, add(c, next, k->columns));
    heads = band(c, heads, tly_not(c, lanes_before_position(k, next)));
    return bor(c, heads, lanes_before_position(k, here));
}

static kir_value within_slice(const few_columns *k, kir_value positions)
{
    tly_build *c = k->c;
    return sub(c, positions, mul(c, udiv(c, positions, k->slice), k->slice));
}

/* The phase of position i, which is no lower than a vector before the stream's first one. */
static kir_value phase_of(const few_columns *k, const stream *s, kir_value i)
{
    tly_build *c = k->c;
    if (!k->has_heads)
        return 0;
    return within_slice(k, add(c, add(c, s->phase, i), k->slice));
}

/* The phase `n` positions on, which are fewer than a slice's. */
static kir_value phase_after(const few_columns *k, kir_value phase, kir_value n)
{
    tly_build *c = k->c;
    kir_value on = add(c, phase, n);
    return choose(c, less(c, on, k->slice), on, sub(c, on, k->slice));
}

/* The states before a vector, with the start's in the lanes of heads. */
static kir_value without_heads(few_columns *k, kir_value heads, kir_value states)
{
    return heads == 0 ? states : choose(k->c, heads, tly_start(k->c, k->c->vec), states);
}

/* The elements `more` positions behind position i, whose address is `in`, as accumulators. */
static kir_value load_input(few_columns *k, const stream *s, kir_value i, kir_value in,
                            int64_t more)
{
    tly_build *c = k->c;
    int64_t offset = (down(c) ? -more : more) * (int64_t)c->bytes[TLY_IN];
    kir_value x = tly_load(c, in, offset + lowest(c, k->vector, c->bytes[TLY_IN]), c->lanes);
    const tly_place here = place_in(s, i, more);
    return c->is_mapped ? tly_mapped(c, &here, x) : x;
}

/* The same for a row of states. */
static kir_value result_at(const few_columns *k, kir_value row, kir_value i)
{
    return tly_states_move(k->c, row, tly_states_offset(k->c, i, down(k->c) ? -1 : 1));
}

static kir_value load_result(few_columns *k, kir_value row, kir_value i)
{
    return tly_states_load(k->c, result_at(k, row, i), lowest(k->c, k->vector, 1), k->c->lanes);
}

static void store_result(few_columns *k, kir_value row, kir_value i, kir_value states)
{
    tly_states_store(k->c, result_at(k, row, i), lowest(k->c, k->vector, 1), states);
}

/* The results `columns` positions before a vector. `history` has the vectors before it, newest
 * first. */
static kir_value before(few_columns *k, const kir_value *history)
{
    unsigned n = k->c->lanes, columns = k->c->p->lanes.count, far = columns / n,
             shift = columns % n;
    kir_value near = history[far - 1];
    if (shift == 0)
        return near;
    return down(k->c) ? tly_shift(k->c, near, history[far], n - shift)
                      : tly_shift(k->c, history[far], near, shift);
}

static void push(few_columns *k, kir_value *history, kir_value v)
{
    for (unsigned i = k->history; i-- > 1;)
        history[i] = history[i - 1];
    history[0] = v;
}

/* `columns` if it is a literal, otherwise the least that it can be. */
static int64_t least_columns(const few_columns *k)
{
    return k->c->p->lanes.count > 0 ? k->c->p->lanes.count
                                    : TLY_FEW_COLUMNS_BYTES / k->c->acc_bytes + 1;
}

/* Stores vectors of results, in the order of positions, from position `i` on. */
static void store_vectors(few_columns *k, const stream *s, kir_value i, const kir_value *shown,
                          unsigned n, int lined)
{
    tly_build *c = k->c;
    kir_value v[MAX_VECTORS];
    tly_region way = { 0 };
    for (unsigned j = 0; j < n; j++)
        v[j] = shown[down(c) ? n - 1 - j : j];
    kir_value to = ptradd(c, address(c, s, TLY_OUT, i),
                          imm(c, lowest(c, n * k->vector, c->bytes[TLY_OUT])));
    n = tly_pack_run(c, v, n, 0);
    if (lined) {
        emit_if(c, &way, k->streams);
        tly_store_run(c, to, v, n, KIR_STREAM);
        emit_else(c, &way);
    }
    tly_store_run(c, to, v, n, 0);
    if (lined)
        emit_end(c, &way);
}

/* `n` vectors from position `i` on. Loads come before stores, except those of results that the
 * round itself makes. `phase`: that of position i; 0: no lane is a head, or streams have none. */
static void do_vectors(few_columns *k, const stream *s, kir_value i, kir_value phase, unsigned n,
                       kir_value *history, int lined)
{
    tly_build *c = k->c;
    kir_value x[MAX_VECTORS], was[MAX_VECTORS], shown[MAX_VECTORS];
    kir_value from = address(c, s, TLY_IN, i), to = result_at(k, s->results, i);
    kir_value old = result_at(k, to, sub(c, imm(c, 0), k->columns));
    /* Vectors whose results earlier rounds made. */
    int64_t ready = k->history > 0 ? 0 : least_columns(k) / k->vector;
    for (unsigned j = 0; j < n; j++)
        x[j] = load_input(k, s, i, from, j * k->vector);
    for (unsigned j = 0; j < n && j < ready; j++)
        was[j] = load_result(k, old, imm(c, j * k->vector));
    for (unsigned j = 0; j < n; j++) {
        if (k->history > 0)
            was[j] = before(k, history);
        else if (j >= ready)
            was[j] = load_result(k, old, imm(c, j * k->vector));
        tly_place here = place_in(s, i, j * k->vector);
        if (k->has_heads && phase == 0) {
            here.first = tly_operator_of(c->p)->applies ? tly_lanes_below(c, imm(c, 0)) : 0;
        } else if (k->has_heads) {
            here.first = head_lanes(k, phase);
            was[j] = without_heads(k, here.first, was[j]);
            phase = phase_after(k, phase, imm(c, k->vector));
        } else {
            here.first = first_lanes(k, s, i, j * k->vector);
        }
        kir_value y = tly_advance(c, &here, was[j], tly_element(c, &here, x[j]));
        shown[j] = tly_show(c, &here, c->p->exclusive ? was[j] : y);
        if (k->history > 0)
            push(k, history, y);
        else
            store_result(k, to, imm(c, j * k->vector), y);
    }
    store_vectors(k, s, i, shown, n, lined);
}

/* Past the cache, input is fetched ahead; in the cache, lines of output that stores would wait
 * for. */
static void prefetch(few_columns *k, const stream *s, kir_value i, unsigned n)
{
    tly_build *c = k->c;
    int64_t ahead = c->plan->prefetch, near_by = TLY_PREFETCHW_AHEAD;
    int64_t write = n * k->vector * c->bytes[TLY_OUT];
    tly_region far = { 0 }, near = { 0 };
    kir_value to = address(c, s, TLY_OUT, i);
    emit_if(c, &far, k->far);
    for (int t = 0; t < tly_operands_end(c->p); t++) {
        const int64_t read = t == TLY_OUT ? 0 : n * k->vector * each(c, t);
        kir_value from = address(c, s, t, i);
        for (int64_t byte = 0; byte < read; byte += LINE)
            kir_prefetch(c->b, from, down(c) ? -ahead - byte : ahead + byte);
    }
    emit_else(c, &far);
    emit_if(c, &near, k->prefetchw);
    for (int64_t byte = 0; byte < write; byte += LINE)
        kir_prefetchw(c->b, to, down(c) ? -near_by - byte : near_by + byte);
    emit_end(c, &near);
    emit_end(c, &far);
}

/* The same, with less code to run where no lane is a head, as in most rounds. */
static void do_round(few_columns *k, const stream *s, kir_value i, kir_value phase, unsigned n,
                     kir_value *history)
{
    tly_build *c = k->c;
    tly_region some = { 0 };
    if (!k->has_heads) {
        do_vectors(k, s, i, 0, n, history, 1);
        return;
    }
    kir_value end = add(c, phase, imm(c, n * k->vector));
    kir_value heads = bor(c, less(c, phase, k->columns), less(c, k->slice, end));
    emit_carry(&some, k->history, history);
    emit_if(c, &some, heads);
    do_vectors(k, s, i, phase, n, history, 1);
    emit_else(c, &some);
    do_vectors(k, s, i, 0, n, history, 1);
    emit_end(c, &some);
}

/* Positions [0, count), which are whole vectors. If lines go past the cache, one begins at position
 * 0. */
static void scan_vectors(few_columns *k, const stream *s, kir_value count, kir_value *history)
{
    tly_build *c = k->c;
    kir_value from = imm(c, 0), phase = phase_of(k, s, from);
    for (int lined = 1; lined >= 0; lined--) {
        unsigned n = lined ? k->line * (unsigned)c->plan->step_lines : 1;
        kir_value to = tly_round_down(c, count, n * k->vector), step = imm(c, n * k->vector);
        kir_value on = k->has_heads ? within_slice(k, step) : 0;
        tly_region l = { 0 };
        emit_carry(&l, k->history, history);
        if (k->has_heads)
            emit_carry(&l, 1, &phase);
        emit_for(c, &l, from, to, step);
        if (lined) {
            prefetch(k, s, l.i, n);
            do_round(k, s, l.i, phase, n, history);
        } else {
            do_vectors(k, s, l.i, phase, n, history, 0);
        }
        if (k->has_heads)
            phase = phase_after(k, phase, on);
        emit_end(c, &l);
        from = to;
    }
}

static stream stream_from(few_columns *k, const stream *s, kir_value i)
{
    stream rest = { .first = first_from(k, s, i), .phase = phase_of(k, s, i) };
    for (int t = 0; t < k->c->tensors; t++)
        rest.at[t] = address(k->c, s, t, i);
    rest.results = result_at(k, s->results, i);
    return rest;
}

/* The `columns` results before position `end`, from lane 0 on. */
static kir_value lanes_before(few_columns *k, const stream *s, kir_value end)
{
    tly_build *c = k->c;
    return result_at(k, s->results, sub(c, end, down(c) ? imm(c, 1) : k->columns));
}

/* Stores the states that scans start from as all results from position `from` up to 0. */
static void store_start(few_columns *k, const stream *s, kir_value from)
{
    tly_build *c = k->c;
    tly_region l = { 0 };
    emit_for(c, &l, from, imm(c, 0), imm(c, k->vector));
    store_result(k, s->results, l.i, tly_start(c, c->vec));
    emit_end(c, &l);
    if (c->p->carry)
        tly_start_states(c, &k->row, lanes_before(k, s, imm(c, 0)), k->columns);
}

/* The states that scans start from, as results in registers. */
static void load_start(few_columns *k, const stream *s, kir_value *history)
{
    tly_build *c = k->c;
    store_start(k, s, imm(c, -(int64_t)k->history * k->vector));
    for (unsigned j = 0; j < k->history; j++)
        history[j] = load_result(k, s->results, imm(c, -(int64_t)(j + 1) * k->vector));
}

/* Positions [0, count) before the first line of output. The vectors reach into that line; its
 * positions are computed again afterwards, as the input is elsewhere then. */
static void scan_head(few_columns *k, const stream *s, kir_value count, kir_value *history)
{
    tly_build *c = k->c;
    tly_region some = { 0 };
    emit_carry(&some, k->history, history);
    emit_if(c, &some, less(c, imm(c, 0), count));
    if (k->history == 0) {
        do_vectors(k, s, imm(c, 0), s->phase, k->line, NULL, 0);
    } else {
        store_start(k, s, imm(c, -(int64_t)k->history * k->vector));
        for (unsigned j = 0; j < k->line; j++) {
            kir_value at = imm(c, j * k->vector);
            do_vectors(k, s, at, phase_of(k, s, at), 1, history, 0);
            store_result(k, s->results, imm(c, j * k->vector), history[0]);
        }
        for (unsigned j = 0; j < k->history; j++)
            history[j] = load_result(k, s->results, sub(c, count, imm(c, (j + 1) * k->vector)));
    }
    emit_end(c, &some);
}

/* Parts of an element that waits in scratch, and bytes from one to the next. */
static unsigned element_parts(const tly_build *c)
{
    return tly_operator_of(c->p)->applies ? 2 : 1;
}

static int64_t part_bytes(const few_columns *k)
{
    return 4 * k->vector * k->c->acc_bytes;
}

/* The input's last vector, to scratch and from its position `skip` on. */
static void store_tail(few_columns *k, kir_value x)
{
    tly_build *c = k->c;
    kir_value to = move(c, k->tail, imm(c, 0), c->acc_bytes);
    for (unsigned p = 0; p < element_parts(c); p++)
        kir_store(c->b, to, p * part_bytes(k) + lowest(c, k->vector, c->acc_bytes), part(c, x, p),
                  c->acc_bytes, 0);
}

static kir_value load_tail(few_columns *k, kir_value skip)
{
    tly_build *c = k->c;
    kir_value x[KIR_MAX_PARTS], from = move(c, k->tail, skip, c->acc_bytes);
    for (unsigned p = 0; p < element_parts(c); p++)
        x[p] = kir_load(c->b, c->vec, from, p * part_bytes(k) + lowest(c, k->vector, c->acc_bytes),
                        c->acc_bytes);
    return kir_tuple(c->b, element_parts(c), x);
}

/* The last `left` positions, fewer than a vector; `s` begins with them. They are stored as part of
 * the last whole vector. Its other results are in scratch. So is their input, which may have been
 * overwritten in place. */
static void scan_tail(few_columns *k, const stream *s, kir_value left)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), whole = imm(c, k->vector);
    tly_region some = { 0 };
    emit_if(c, &some, less(c, zero, left));
    kir_value x = load_tail(k, sub(c, whole, left));
    kir_value was = load_result(k, s->results, sub(c, zero, k->columns));
    kir_value heads = k->has_heads ? head_lanes(k, s->phase) : 0;
    const tly_place end = { .first = k->has_heads ? heads : first_lanes(k, s, zero, 0) };
    was = without_heads(k, heads, was);
    store_result(k, s->results, zero, tly_advance(c, &end, was, tly_element(c, NULL, x)));
    kir_value first = sub(c, left, whole);
    kir_value from = c->p->exclusive ? sub(c, first, k->columns) : first;
    const tly_place place = place_in(s, first, 0);
    kir_value result = load_result(k, s->results, from);
    if (c->p->exclusive && k->has_heads)
        result = without_heads(k, head_lanes(k, phase_of(k, s, first)), result);
    kir_value shown = tly_show(c, &place, result);
    store_vectors(k, s, first, &shown, 1, 0);
    emit_end(c, &some);
}

/* Scans block by block, with results in scratch. Before the next block, the last `columns` results
 * move to the beginning of scratch. Returns the stream from the tail on. */
static stream scan_blocks(few_columns *k, const stream *s, kir_value count)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), block = k->block, last = zero;
    tly_region l = { .state = { &last } }, copy = { 0 };
    emit_for(c, &l, zero, count, block);
    last = tly_min(c, block, sub(c, count, l.i));
    stream part = *s;
    part.first = first_from(k, s, l.i);
    part.phase = phase_of(k, s, l.i);
    for (int t = 0; t < c->tensors; t++)
        part.at[t] = address(c, s, t, l.i);
    scan_vectors(k, &part, last, NULL);
    kir_value more = less(c, add(c, l.i, block), count);
    kir_value kept = choose(c, more, add(c, k->columns, imm(c, k->vector)), zero);
    kir_value step = imm(c, COPIES * k->vector);
    emit_for(c, &copy, zero, kept, step);
    kir_value v[COPIES], to = sub(c, copy.i, kept), from = add(c, block, to);
    for (int j = 0; j < COPIES; j++)
        v[j] = load_result(k, part.results, add(c, from, imm(c, j * k->vector)));
    for (int j = 0; j < COPIES; j++)
        store_result(k, part.results, add(c, to, imm(c, j * k->vector)), v[j]);
    emit_end(c, &copy);
    emit_end(c, &l);
    stream tail = stream_from(k, s, count);
    tail.results = result_at(k, s->results, last);
    return tail;
}

static stream scan_whole(few_columns *k, const stream *s, kir_value count, kir_value *history)
{
    tly_build *c = k->c;
    scan_vectors(k, s, count, history);
    stream tail = stream_from(k, s, count);
    tail.results = s->results;
    for (unsigned j = 0; j < k->history; j++)
        store_result(k, s->results, imm(c, -(int64_t)(j + 1) * k->vector), history[j]);
    return tail;
}

/* Positions before the first line of output; 0 unless lines go past the cache. */
static kir_value to_line(few_columns *k, kir_value out)
{
    tly_build *c = k->c;
    kir_value past = kir_addr(c->b, out);
    past = down(c) ? add(c, past, imm(c, c->bytes[TLY_OUT])) : sub(c, imm(c, 0), past);
    past = band(c, past, imm(c, LINE - 1));
    return choose(c, k->streams, tly_part(c, past, c->bytes[TLY_OUT]), imm(c, 0));
}

/* The place of position 0 in the scratch of results. Modulo a page, the results that are read lie
 * APART bytes ahead of the input. If they lay behind it, each load would wait for the line that was
 * just streamed to the output, which is congruent to the input as a rule (tly_congruent). f32 of
 * 768 columns, whose stores happened to be congruent: .43 of a copy; of 749 .75 (Zen 4). */
static kir_value place_results(few_columns *k, kir_value in)
{
    enum { APART = 1024 };
    tly_build *c = k->c;
    kir_value bytes = mul(c, k->columns, imm(c, c->acc_bytes));
    kir_value offset = mul(c, k->margins[down(c)], imm(c, c->acc_bytes));
    kir_value ahead = add(c, bytes, imm(c, APART));
    if (down(c))
        ahead = sub(c, imm(c, 0), ahead);
    offset = tly_round_up(c, offset, LINE);
    kir_value like = ptradd(c, in, sub(c, ahead, offset));
    kir_value first = ptradd(c, tly_congruent(c, k->scratch, like), offset);
    return tly_states_row(c, first, k->margins[0], k->margins[1]);
}

/* `length` positions, the first of which begins a slice, whose rows begin with `row`. */
static void scan_stream(few_columns *k, tly_row row, kir_value length)
{
    tly_build *c = k->c;
    kir_value history[MAX_HISTORY];
    stream s = { .first = k->columns, .phase = k->has_heads ? imm(c, 0) : 0 };
    for (int t = 0; t < c->tensors; t++) {
        s.at[t] = row.at[t];
        if (down(c)) /* from the last lane on */
            s.at[t] = tly_at(c, s.at[t], sub(c, k->columns, imm(c, 1)), each(c, t));
    }
    s.results = place_results(k, s.at[TLY_IN]);
    kir_value last = sub(c, length, imm(c, k->vector));
    kir_value ends = load_input(k, &s, last, address(c, &s, TLY_IN, last), 0);
    store_tail(k, ends);
    k->row = row;
    for (unsigned j = 0; j < k->history; j++)
        history[j] = tly_start(c, c->vec);
    if (k->history == 0)
        store_start(k, &s, sub(c, imm(c, -k->vector), k->columns));
    else if (c->p->carry)
        load_start(k, &s, history);
    kir_value head = to_line(k, s.at[TLY_OUT]);
    scan_head(k, &s, head, history);
    stream rest = stream_from(k, &s, head);
    kir_value count = sub(c, length, head), whole = tly_round_down(c, count, k->vector);
    stream tail = k->history > 0 ? scan_whole(k, &rest, whole, history)
                                 : scan_blocks(k, &rest, whole);
    scan_tail(k, &tail, sub(c, count, whole));
    if (c->p->carry)
        tly_end_states(c, &k->row, lanes_before(k, &tail, sub(c, count, whole)), k->columns);
}

/* Scratch holds the input's tail, then the results: margins[0] elements before position 0 and
 * margins[1] behind it. */
static void plan_scratch(few_columns *k, tly_launch *launch)
{
    tly_build *c = k->c;
    int64_t margin = 2 * LINE + COPIES * k->vector + MAX_HISTORY * k->vector;
    int64_t tail = element_parts(c) * part_bytes(k),
            least = k->history > 0 ? 0 : c->plan->kept_results;
    kir_value twice = tly_round_up(c, mul(c, k->columns, imm(c, 2)), c->plan->kept_results);
    k->block = choose(c, less(c, k->columns, imm(c, least / 2)), imm(c, least), twice);
    k->margins[0] = add(c, k->columns, imm(c, margin));
    k->margins[1] = k->history > 0 ? imm(c, margin) : add(c, k->block, imm(c, margin));
    k->tail = ptradd(c, arg(c, KIR_ARG_SCRATCH), imm(c, part_bytes(k) / 2));
    k->scratch = ptradd(c, arg(c, KIR_ARG_SCRATCH), imm(c, tail));
    launch->tile_lanes = TLY_FEW_COLUMNS_MOST;
    launch->scratch_bytes = tail + (2 * margin + 2 * least + TLY_MOST_LANES) * c->state_bytes +
                            TLY_CONGRUENT_BYTES + LINE;
    launch->scratch_lane_bytes = 3 * c->state_bytes;
}

/* How many slices, of a task's `count`, are one stream: all, or 1. */
static kir_value merged(few_columns *k, kir_value count)
{
    tly_build *c = k->c;
    if (!k->has_heads)
        return imm(c, 1);
    kir_value merges = equal(c, arg(c, KIR_ARG_OUTER_RANK), imm(c, 1));
    for (int t = 0; t < c->tensors; t++) {
        kir_value apart = kir_get_at(c->b, TLY_ARG(OUTER_IN, t), imm(c, 0));
        merges = band(c, merges, equal(c, apart, mul(c, k->slice, imm(c, each(c, t)))));
    }
    return choose(c, merges, tly_max(c, count, imm(c, 1)), imm(c, 1));
}

void tly_build_few_columns(tly_build *c, tly_launch *launch)
{
    few_columns k = {
        .c = c, .vector = c->lanes, .far = tly_streams(c), .prefetchw = tly_prefetches_writes(c)
    };
    c->is_mapped = c->p->program.type !=
                   0; /* when they are loaded: the last ones wait in scratch */
    k.columns = c->p->lanes.count > 0 ? imm(c, c->p->lanes.count) : arg(c, KIR_ARG_INNER);
    k.line = tly_line(c) > c->lanes ? tly_line(c) / c->lanes : 1;
    if (c->plan->history)
        k.history = (c->p->lanes.count + c->lanes - 1) / c->lanes + c->p->exclusive;
    k.slice = mul(c, arg(c, KIR_ARG_LENGTH), k.columns);
    k.has_heads = c->p->lanes.short_slices;
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    kir_value last = sub(c, add(c, begin, end), imm(c, 1)), slices = merged(&k, sub(c, end, begin));
    kir_value length = mul(c, slices, k.slice);
    k.streams = band(c, k.far, less(c, imm(c, SHORT_SLICE / c->bytes[TLY_OUT]), length));
    plan_scratch(&k, launch);
    tly_region l = { 0 };
    emit_for(c, &l, begin, end, slices); /* tly_each_row_of_lanes has the reason for `down` */
    scan_stream(&k, tly_row_address(c, down(c) ? sub(c, last, l.i) : l.i), length);
    emit_end(c, &l);
    tly_fence(c, k.far);
    kir_return(c->b, imm(c, 0));
}
