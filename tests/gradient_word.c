/* SPDX-License-Identifier: Apache-2.0 */
/* See gradient_word.h. Slow and plain on purpose. */
#include "gradient_word.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"

/* Larger values cancel to too few digits. */
#define MOST 1e6

static tly_dual dual(double v, double d)
{
    return (tly_dual){ v, d };
}

/* A factor that is zero makes a derivative zero, also if the derivative is not finite. */
static double by(double factor, double derivative)
{
    return derivative == 0 ? 0 : factor * derivative;
}

/* --- expressions ------------------------------------------------------------------------------ */

static tly_dual of_node(const tly_formula_node *n, const tly_dual *p, const tly_dual *q,
                        const tly_dual *r)
{
    const double a = p->v, b = q->v, e = exp(-fabs(a));
    switch ((tly_formula_op)n->op) {
    case TLY_FORMULA_ADD:
        return dual(a + b, p->d + q->d);
    case TLY_FORMULA_SUB:
        return dual(a - b, p->d - q->d);
    case TLY_FORMULA_MUL:
        return dual(a * b, by(b, p->d) + by(a, q->d));
    case TLY_FORMULA_DIV:
        return dual(a / b, by(1 / b, p->d) - by(a / b / b, q->d));
    case TLY_FORMULA_LT:
        return dual(a < b, 0);
    case TLY_FORMULA_LE:
        return dual(a <= b, 0);
    case TLY_FORMULA_GT:
        return dual(a > b, 0);
    case TLY_FORMULA_GE:
        return dual(a >= b, 0);
    case TLY_FORMULA_EQ:
        return dual(a == b, 0);
    case TLY_FORMULA_NE:
        return dual(a != b, 0);
    case TLY_FORMULA_NEG:
        return dual(-a, -p->d);
    case TLY_FORMULA_ABS:
        return dual(fabs(a), a < 0 ? -p->d : p->d);
    case TLY_FORMULA_SQRT:
        return dual(sqrt(a), by(.5 / sqrt(a), p->d));
    case TLY_FORMULA_EXP:
        return dual(exp(a), by(exp(a), p->d));
    case TLY_FORMULA_LOG:
        return dual(log(a), by(1 / a, p->d));
    case TLY_FORMULA_SIG:
        return dual(1 / (1 + exp(-a)), by(e / ((1 + e) * (1 + e)), p->d));
    case TLY_FORMULA_FLOOR:
        return dual(floor(a), 0);
    case TLY_FORMULA_ROUND:
        return dual(nearbyint(a), 0);
    case TLY_FORMULA_MIN:
        return dual(isnan(a) || isnan(b) ? NAN : a <= b ? a : b, a <= b ? p->d : q->d);
    case TLY_FORMULA_MAX:
        return dual(isnan(a) || isnan(b) ? NAN : a >= b ? a : b, a >= b ? p->d : q->d);
    default:
        return a != 0 ? *q : *r;
    }
}

static tly_dual evaluate(const tly_formula *f, const tly_dual names[TLY_NAMES], int *state)
{
    tly_dual values[TLY_FORMULA_MOST];
    for (int i = 0; i < f->count; i++) {
        const tly_formula_node *n = &f->nodes[i];
        values[i] = n->op == TLY_FORMULA_NAME ? names[n->name]
                    : n->op == TLY_FORMULA_CONSTANT
                        ? dual(n->real, 0)
                        : of_node(n, &values[n->arguments[0]], &values[n->arguments[1]],
                                  &values[n->arguments[2]]);
        const int is_root = n->op == TLY_FORMULA_SQRT && values[i].v == 0;
        if ((is_root || !isfinite(values[i].v)) && *state == TLY_WORD_REGULAR)
            *state = TLY_WORD_SINGULAR;
    }
    return values[f->count - 1];
}

/* --- operators -------------------------------------------------------------------------------- */

typedef struct state {
    tly_dual s;
    int64_t count, ties;
} state;

static double identity(int op)
{
    return op == TALLY_CUMPROD || op == TALLY_PROD ? 1
           : op == TALLY_CUMMIN || op == TALLY_MIN ? INFINITY
           : op == TALLY_CUMMAX || op == TALLY_MAX || op == TALLY_CUMLOGSUMEXP ||
                   op == TALLY_LOG_SUM_EXP
               ? -INFINITY
               : 0;
}

static tly_dual log_add(tly_dual a, tly_dual b)
{
    const double m = fmax(a.v, b.v);
    if (m == -INFINITY)
        return dual(m, 0);
    const double v = m + log(exp(a.v - m) + exp(b.v - m));
    return dual(v, by(exp(a.v - v), a.d) + by(exp(b.v - v), b.d));
}

static void pick(state *s, tly_dual u, int is_better, int shares)
{
    if (is_better || (s->count == 0 && shares && u.v == s->s.v)) {
        s->s = u;
        s->ties = 1;
    } else if (u.v == s->s.v && shares) {
        s->s.d += u.d;
        s->ties++;
    }
}

static void absorb(const tally_descriptor *d, state *s, tly_dual u, tly_dual c)
{
    if ((d->flags & TALLY_NAN_IGNORE) && isnan(u.v))
        return;
    switch (d->op) {
    case TALLY_CUMPROD:
    case TALLY_PROD:
        s->s = dual(s->s.v * u.v, by(u.v, s->s.d) + by(s->s.v, u.d));
        break;
    case TALLY_CUMMAX:
    case TALLY_MAX:
        pick(s, u, u.v > s->s.v, d->op == TALLY_MAX);
        break;
    case TALLY_CUMMIN:
    case TALLY_MIN:
        pick(s, u, u.v < s->s.v, d->op == TALLY_MIN);
        break;
    case TALLY_CUMLOGSUMEXP:
    case TALLY_LOG_SUM_EXP:
        s->s = log_add(s->s, u);
        break;
    case TALLY_LINREC:
        s->s = s->count == 0 ? u
                             : dual(c.v * s->s.v + u.v, by(c.v, s->s.d) + by(s->s.v, c.d) + u.d);
        break;
    case TALLY_L1:
        s->s = dual(s->s.v + fabs(u.v), s->s.d + (u.v < 0 ? -u.d : u.v > 0 ? u.d : 0));
        break;
    case TALLY_L2:
    case TALLY_SUM_SQUARE:
        s->s = dual(s->s.v + u.v * u.v, s->s.d + 2 * by(u.v, u.d));
        break;
    default:
        s->s = s->count == 0 ? u : dual(s->s.v + u.v, s->s.d + u.d);
    }
    s->count++;
}

static tly_dual show(const tally_descriptor *d, const state *s)
{
    const tly_dual t = s->s;
    const double root = d->op == TALLY_L2 ? sqrt(t.v) : 0;
    switch (d->op) {
    case TALLY_MEAN:
        return dual(t.v / (double)s->count, t.d / (double)s->count);
    case TALLY_L2:
        return dual(root, root == 0 ? 0 : t.d / (2 * root));
    case TALLY_LOG_SUM:
        return dual(log(t.v), by(1 / t.v, t.d));
    case TALLY_MAX:
    case TALLY_MIN:
        return dual(t.v, s->ties > 1 ? t.d / (double)s->ties : t.d);
    default:
        return t;
    }
}

/* --- places ----------------------------------------------------------------------------------- */

/* Ranks are below 32, which `& 31` tells the analyser. */

static void pack(int rank, const int64_t *sizes, uint32_t dims, int64_t strides[TALLY_MAX_RANK])
{
    int64_t step = 1;
    for (int k = rank - 1; k >= 0; k--) {
        strides[k] = dims >> (k & 31) & 1 ? step : 0;
        step *= dims >> k & 1 ? sizes[k] : 1;
    }
}

static uint32_t everywhere(const tally_descriptor *d)
{
    return (1u << (d->rank & 31)) - 1;
}

static uint32_t reduced(const tally_descriptor *d)
{
    return tally_op_is_scan((tally_op)d->op) ? 0 : d->axes_given ? d->axes : everywhere(d);
}

int tly_word_axis_of(const tally_descriptor *d)
{
    return !tally_op_is_scan((tally_op)d->op) ? (reduced(d) != 0 ? __builtin_ctz(reduced(d)) : 0)
           : d->axis < 0                      ? d->axis + d->rank
                                              : d->axis;
}

static int is_cut(const tally_descriptor *d)
{
    return d->segment_dtype != 0 || d->every != 0;
}

static int64_t count_segments(const tally_descriptor *d)
{
    return d->segment_dtype ? d->segments
           : d->every       ? (d->sizes[tly_word_axis_of(d)] + d->every - 1) / d->every
                            : 1;
}

int tly_word_has(const tally_descriptor *d, int tensor)
{
    return tensor == TLY_WORD_X       ? 1
           : tensor == TLY_WORD_CARRY ? (d->carry & TALLY_CARRY_IN) != 0
                                      : d->operands[tensor - TLY_WORD_A].dtype != 0;
}

void tly_word_sizes(const tally_descriptor *d, int64_t sizes[TALLY_MAX_RANK])
{
    memcpy(sizes, d->sizes, sizeof d->sizes);
    if (is_cut(d) || tally_op_is_scan((tally_op)d->op))
        sizes[tly_word_axis_of(d)] = count_segments(d);
}

uint32_t tly_word_place(const tally_descriptor *d, int tensor, int64_t strides[TALLY_MAX_RANK],
                        int64_t *offset)
{
    uint32_t dims = everywhere(d);
    *offset = 0;
    if (tensor == TLY_WORD_CARRY) {
        int64_t sizes[TALLY_MAX_RANK];
        tly_word_sizes(d, sizes);
        pack(d->rank, sizes, dims, strides);
        return dims;
    }
    if (tensor == TLY_WORD_X) {
        pack(d->rank, d->sizes, dims, strides);
        if (d->flags & TALLY_IN_STRIDES) {
            memcpy(strides, d->in_strides, sizeof d->in_strides);
            *offset = d->in_offset;
        }
        return dims;
    }
    const tally_operand *o = &d->operands[tensor - TLY_WORD_A];
    if (o->place != TALLY_PLACE_STRIDES) {
        dims = o->place == TALLY_PLACE_AXES ? o->axes : dims;
        pack(d->rank, d->sizes, dims, strides);
        return dims;
    }
    memcpy(strides, o->strides, sizeof o->strides);
    *offset = o->offset;
    dims = 0;
    for (int k = 0; k < d->rank; k++)
        dims |= (uint32_t)(strides[k] != 0) << k;
    return dims;
}

uint32_t tly_word_output(const tally_descriptor *d, int64_t strides[TALLY_MAX_RANK],
                         int64_t *offset)
{
    const uint32_t dims = everywhere(d) & (is_cut(d) ? ~0u : ~reduced(d));
    int64_t sizes[TALLY_MAX_RANK];
    int from = 0;
    *offset = 0;
    memcpy(sizes, d->sizes, sizeof sizes);
    if (!tally_op_is_scan((tally_op)d->op))
        tly_word_sizes(d, sizes);
    pack(d->rank, sizes, dims, strides);
    if (!(d->flags & TALLY_OUT_STRIDES))
        return dims;
    *offset = d->out_offset;
    for (int k = 0; k < d->rank; k++) {
        strides[k] = dims >> k & 1 ? d->out_strides[from] : 0;
        from += (dims >> k & 1) || (d->flags & TALLY_KEEPDIMS);
    }
    return dims;
}

void tly_word_extent(int rank, const int64_t *sizes, uint32_t dims, const int64_t *strides,
                     int64_t offset, int64_t *low, int64_t *high)
{
    *low = *high = offset;
    for (int k = 0; k < rank; k++) {
        if (!(dims >> k & 1))
            continue;
        if (sizes[k] == 0) {
            *low = offset;
            *high = offset - 1;
            return;
        }
        *(strides[k] < 0 ? low : high) += strides[k] * (sizes[k] - 1);
    }
}

/* --- loops ------------------------------------------------------------------------------------ */

typedef struct place {
    uint32_t dims;
    int64_t strides[TALLY_MAX_RANK], offset;
} place;

typedef struct walk {
    const tally_descriptor *d;
    const double *const *tensors;
    const int64_t *offsets;
    tly_dual *last;
    tly_seed seed;
    place places[TLY_WORD_TENSORS], output;
    tly_formula map, coef, post, reset;
    int64_t index[TALLY_MAX_RANK];
    int state; /* TLY_WORD_... */
} walk;

static int64_t locate(const walk *w, const place *p)
{
    int64_t at = p->offset;
    for (int k = 0; k < w->d->rank; k++)
        at += w->index[k] * p->strides[k];
    return at;
}

static int64_t key_of(const walk *w, const int64_t *sizes, uint32_t dims)
{
    int64_t key = 0;
    for (int k = 0; k < w->d->rank; k++)
        key = dims >> k & 1 ? key * sizes[k] + w->index[k] : key;
    return key;
}

/* The value of a tensor at the index. */
static tly_dual value_of(const walk *w, int t)
{
    int64_t sizes[TALLY_MAX_RANK];
    memcpy(sizes, w->d->sizes, sizeof sizes);
    if (t == TLY_WORD_CARRY)
        tly_word_sizes(w->d, sizes);
    if (t == TLY_WORD_CARRY && w->d->op == TALLY_CUMLOGSUMEXP) {
        const double *pair = &w->tensors[t][2 * locate(w, &w->places[t])];
        return dual(pair[0] + log(pair[1]), 0);
    }
    const int is_seed = w->seed.tensor == t && w->seed.key == key_of(w, sizes, w->places[t].dims);
    const double v = w->tensors[t][locate(w, &w->places[t])];
    return is_seed ? dual(v + w->seed.step, 1) : dual(v, 0);
}

/* What expressions see at the index, but y, of tensors that do not extend along the dims
 * `without`. */
static void load(const walk *w, uint32_t without, tly_dual names[TLY_NAMES])
{
    memset(names, 0, TLY_NAMES * sizeof *names);
    for (int t = 0; t < TLY_WORD_CARRY && tly_word_has(w->d, t); t++) {
        if ((w->places[t].dims & without) == 0)
            names[t == TLY_WORD_X ? TLY_NAME_X : TLY_NAME_A + t - TLY_WORD_A] = value_of(w, t);
    }
}

static void take(walk *w, state *s)
{
    tly_dual names[TLY_NAMES];
    load(w, 0, names);
    const tly_dual u = evaluate(&w->map, names, &w->state);
    const tly_dual c = w->d->op == TALLY_LINREC ? evaluate(&w->coef, names, &w->state) : u;
    if (!(fabs(u.v) < MOST && fabs(c.v) < MOST))
        w->state = TLY_WORD_EXTREME;
    absorb(w->d, s, u, c);
}

/* `at`: the index of the result along an axis that is cut. */
static void tell(walk *w, const state *s, int64_t at, tly_dual *out)
{
    tly_dual names[TLY_NAMES];
    load(w, reduced(w->d), names);
    names[TLY_NAME_Y] = show(w->d, s);
    const tly_dual shown = evaluate(&w->post, names, &w->state);
    if (s->count > 0 && !(fabs(names[TLY_NAME_Y].v) < MOST && fabs(shown.v) < MOST))
        w->state = TLY_WORD_EXTREME;
    if (is_cut(w->d))
        w->index[tly_word_axis_of(w->d)] = at;
    out[locate(w, &w->output)] = shown;
}

/* Where a segment begins; the one behind the last one tells where that ends. */
static int64_t begin_of(const walk *w, int64_t segment)
{
    const int64_t size = w->d->sizes[tly_word_axis_of(w->d)],
                  every = w->d->every ? w->d->every : size;
    return w->d->segment_dtype      ? w->offsets[segment]
           : segment * every < size ? segment * every
                                    : size;
}

static state begin(walk *w, int64_t segment)
{
    state s = { { identity(w->d->op), 0 }, 0, 0 };
    if (w->d->carry & TALLY_CARRY_IN) {
        w->index[tly_word_axis_of(w->d)] = segment;
        s = (state){ value_of(w, TLY_WORD_CARRY), 1, 1 };
    }
    return s;
}

/* Whether the state before the element at the index is dropped. */
static int restarts(walk *w)
{
    tly_dual names[TLY_NAMES];
    load(w, 0, names);
    return w->d->reset[0] != 0 && evaluate(&w->reset, names, &w->state).v != 0;
}

static void scan(walk *w, tly_dual *out)
{
    const tally_descriptor *d = w->d;
    const int axis = tly_word_axis_of(d), exclusive = (d->flags & TALLY_EXCLUSIVE) != 0;
    for (int64_t n = 0; n < count_segments(d); n++) {
        const int64_t from = begin_of(w, n), end = begin_of(w, n + 1);
        state s = begin(w, n);
        for (int64_t i = from; i < end; i++) {
            const int64_t at = d->flags & TALLY_REVERSE ? from + end - 1 - i : i;
            w->index[axis] = at;
            if (restarts(w))
                s = (state){ { identity(d->op), 0 }, 0, 0 };
            if (!exclusive)
                take(w, &s);
            tell(w, &s, at, out);
            if (exclusive)
                take(w, &s);
        }
        w->index[axis] = n;
        if (d->carry & TALLY_CARRY_OUT)
            w->last[locate(w, &w->places[TLY_WORD_CARRY])] = s.s;
    }
    w->index[axis] = 0;
}

static void reduce_segments(walk *w, tly_dual *out)
{
    const int axis = tly_word_axis_of(w->d);
    for (int64_t n = 0; n < count_segments(w->d); n++) {
        state s = { { identity(w->d->op), 0 }, 0, 0 };
        for (int64_t i = begin_of(w, n); i < begin_of(w, n + 1); i++) {
            w->index[axis] = i;
            take(w, &s);
        }
        w->index[axis] = 0;
        tell(w, &s, n, out);
    }
    w->index[axis] = 0;
}

static void reduce(walk *w, uint32_t dims, int k, state *s)
{
    while (k < w->d->rank && !(dims >> k & 1))
        k++;
    if (k == w->d->rank) {
        take(w, s);
        return;
    }
    for (w->index[k] = 0; w->index[k] < w->d->sizes[k]; w->index[k]++)
        reduce(w, dims, k + 1, s);
    w->index[k] = 0;
}

/* The other dims. */
static void lanes(walk *w, uint32_t folded, int k, tly_dual *out)
{
    while (k < w->d->rank && folded >> k & 1)
        k++;
    if (k < w->d->rank) {
        for (w->index[k] = 0; w->index[k] < w->d->sizes[k]; w->index[k]++)
            lanes(w, folded, k + 1, out);
        w->index[k] = 0;
    } else if (tally_op_is_scan((tally_op)w->d->op)) {
        scan(w, out);
    } else if (is_cut(w->d)) {
        reduce_segments(w, out);
    } else {
        state s = { { identity(w->d->op), 0 }, 0, 0 };
        reduce(w, folded, 0, &s);
        tell(w, &s, 0, out);
    }
}

static void parse(const char *text, const char *otherwise, tly_formula *f)
{
    if (tly_formula_parse(text[0] ? text : otherwise, f) != 0)
        abort();
}

int tly_word_run(const tally_descriptor *d, const double *const tensors[TLY_WORD_TENSORS],
                 const int64_t *offsets, tly_seed seed, tly_dual *out, tly_dual *last)
{
    walk w = { .d = d, .tensors = tensors, .offsets = offsets, .last = last, .seed = seed };
    parse(d->map, "x", &w.map);
    parse(d->coef, "a", &w.coef);
    parse(d->post, "y", &w.post);
    parse(d->reset, "0", &w.reset);
    for (int t = 0; t < TLY_WORD_TENSORS; t++) {
        if (tly_word_has(d, t) || t == TLY_WORD_CARRY)
            w.places[t].dims = tly_word_place(d, t, w.places[t].strides, &w.places[t].offset);
    }
    w.output.dims = tly_word_output(d, w.output.strides, &w.output.offset);
    lanes(&w, tally_op_is_scan((tally_op)d->op) ? 1u << tly_word_axis_of(d) : reduced(d), 0, out);
    return w.state;
}
