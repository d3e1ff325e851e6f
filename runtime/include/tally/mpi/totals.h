/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of tally/mpi.h: the totals of parts, and the states that they add up to. */
#ifndef TALLY_MPI_TOTALS_H
#define TALLY_MPI_TOTALS_H

#include <tally/mpi/parts.h>

/* ---- kernels ------------------------------------------------------------------------------- */

/* Copies an expression, with the operands that it uses renamed to a, b, ... in their order. `used`
 * has their numbers; the result is how many there are. */
static inline int tally_mpi__rename(const char *text, char *to, int used[TALLY_MAX_OPERANDS])
{
    int count = 0;
    int is_used[TALLY_MAX_OPERANDS] = { 0 }, name[TALLY_MAX_OPERANDS];
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; text[i] != 0;) {
            size_t end = i;
            while ((text[end] >= 'a' && text[end] <= 'z') ||
                   (text[end] >= '0' && text[end] <= '9') || text[end] == '.') {
                end++;
            }
            end += end == i;
            if (end == i + 1 && text[i] >= 'a' && text[i] < 'a' + TALLY_MAX_OPERANDS) {
                is_used[text[i] - 'a'] = 1;
                to[i] = (char)(pass == 0 ? text[i] : 'a' + name[text[i] - 'a']);
            } else {
                memcpy(to + i, text + i, end - i);
            }
            i = end;
        }
        count = 0;
        for (int k = 0; k < TALLY_MAX_OPERANDS; k++) {
            name[k] = count;
            if (is_used[k]) {
                used[count++] = k;
            }
        }
    }
    return count;
}

/* The expression that a part's reduction combines. */
static inline const char *tally_mpi__combined(const tally_mpi__job *j)
{
    return j->scan.op != TALLY_LINREC ? j->scan.map : j->scan.coef[0] != 0 ? j->scan.coef : "a";
}

/* The reduction of the part along the axis that makes states; or, as a mark, the product of all
 * magnitudes below 1. That of linrec is the product of its factors. */
static inline tally_status tally_mpi__reduction(const tally_mpi__job *j, int is_mark,
                                                tally_descriptor *d)
{
    static const int ops[][2] = { { TALLY_CUMSUM, TALLY_SUM },
                                  { TALLY_CUMPROD, TALLY_PROD },
                                  { TALLY_CUMMAX, TALLY_MAX },
                                  { TALLY_CUMMIN, TALLY_MIN },
                                  { TALLY_CUMLOGSUMEXP, TALLY_LOG_SUM_EXP },
                                  { TALLY_LINREC, TALLY_PROD } };
    static const char *const marks[] = { "where((%s)==0,1,min(abs(%s),1))", "min(abs(%s),1)" };
    const tally_descriptor *s = &j->scan;
    char text[TALLY_EXPRESSION_MAX] = { 0 };
    int used[TALLY_MAX_OPERANDS] = { 0 };
    *d = *s;
    d->op = TALLY_OP_NONE;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        d->op = s->op == ops[k][0] ? ops[k][1] : d->op;
    }
    if (d->op == TALLY_OP_NONE || s->reset[0] != 0) {
        return TALLY_UNSUPPORTED;
    }
    memset(d->map, 0, sizeof d->map);
    memset(d->post, 0, sizeof d->post);
    memset(d->operands, 0, sizeof d->operands);
    memset(d->out_strides, 0, sizeof d->out_strides);
    d->out_offset = 0;
    d->out_dtype = j->dtype;
    d->acc = 0;
    d->order = TALLY_ORDER_RUN;
    d->flags = (s->flags & (TALLY_IN_STRIDES | TALLY_NAN_IGNORE)) | TALLY_KEEPDIMS;
    d->axis = 0;
    d->axes = 1u << s->axis;
    d->axes_given = 1;
    d->carry = 0;
    memset(d->coef, 0, sizeof d->coef);
    const int operands = tally_mpi__rename(tally_mpi__combined(j), text, used);
    for (int k = 0; k < operands; k++) {
        d->operands[k] = s->operands[used[k]];
    }
    memcpy(d->map, text, sizeof text);
    if (!is_mark || s->op == TALLY_LINREC) {
        return tally_descriptor_check(d, NULL);
    }
    /* Without the first, zeros among the elements make a mark that proves nothing. */
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        char mark[3 * TALLY_EXPRESSION_MAX];
        const char *u = text[0] != 0 ? text : "x";
        const int length = snprintf(mark, sizeof mark, marks[k], u, u);
        memset(d->map, 0, sizeof d->map);
        if (length > 0 && (size_t)length < sizeof d->map) {
            memcpy(d->map, mark, (size_t)length);
            if (tally_descriptor_check(d, NULL) == TALLY_OK) {
                return TALLY_OK;
            }
        }
    }
    return TALLY_UNSUPPORTED;
}

/* A scan over the ranks' totals, which makes the states between them. */
static inline void tally_mpi__fold(const tally_mpi__job *j, tally_descriptor *d)
{
    const tally_descriptor none = TALLY_DESCRIPTOR_INIT;
    *d = none;
    d->op = j->scan.op;
    d->dtype = j->dtype;
    d->order = TALLY_ORDER_SERIAL;
    d->flags = (j->scan.flags & (TALLY_EXCLUSIVE | TALLY_NAN_IGNORE)) | TALLY_IN_STRIDES;
    d->rank = 2;
    d->sizes[0] = j->ranks;
    d->sizes[1] = (int64_t)j->lanes;
    d->in_strides[0] = (int64_t)(j->row / j->bytes);
    d->in_strides[1] = 1;
    d->in_offset = (int64_t)(TALLY_MPI__HEAD / j->bytes);
    d->carry = TALLY_CARRY_IN;
    if (d->op == TALLY_LINREC) {
        tally_operand *const factors = &d->operands[0];
        factors->dtype = j->dtype;
        factors->place = TALLY_PLACE_STRIDES;
        memcpy(factors->strides, d->in_strides, sizeof factors->strides);
        factors->offset = d->in_offset + (int64_t)j->lanes;
    }
}

/* A kernel that there may not be: *is_there becomes 0 if there is none. */
static inline tally_status tally_mpi__make(tally_context *context, const tally_descriptor *d,
                                           tally_kernel **kernel, int *is_there, tally_error *error)
{
    const tally_status status = tally_kernel_create(context, d, NULL, kernel, error);
    *is_there = *is_there && status == TALLY_OK;
    return status == TALLY_UNSUPPORTED ? TALLY_OK : status;
}

/* Which elements' sums may overflow, and products vanish, that the plain loop does not lose. */
static inline int tally_mpi__leaves_range(const tally_mpi__job *j)
{
    const tally_descriptor *s = &j->scan;
    const int is_wider = s->map[0] == 0 && tally_dtype_bytes((tally_dtype)s->dtype) < j->bytes;
    return (j->dtype == TALLY_F32 || j->dtype == TALLY_F64) &&
           (s->op == TALLY_CUMPROD || s->op == TALLY_LINREC ||
            (s->op == TALLY_CUMSUM && !is_wider));
}

/* Bytes of a result. */
static inline size_t tally_mpi__shown(const tally_mpi__job *j)
{
    const int32_t dtype = j->scan.out_dtype != 0 ? j->scan.out_dtype : j->scan.dtype;
    return tally_dtype_bytes((tally_dtype)dtype);
}

/* Enough for results of a few positions along the axis, and small enough for a cache of a core. */
static inline size_t tally_mpi__find_scratch(const tally_mpi__job *j)
{
    const size_t cache = 512 * 1024, position = j->lanes * tally_mpi__shown(j);
    return position < cache ? cache / position * position : position;
}

static inline tally_status tally_mpi__make_totals(tally_mpi__job *j, tally_context *context,
                                                  tally_error *error)
{
    tally_descriptor d;
    const int is_linrec = j->scan.op == TALLY_LINREC;
    const int has_mark = is_linrec || (j->is_guarded && j->scan.op == TALLY_CUMPROD);
    j->row = (TALLY_MPI__HEAD + (1 + has_mark) * j->lanes * j->bytes + 63) / 64 * 64;
    j->has_totals = tally_mpi__reduction(j, 0, &d) == TALLY_OK;
    tally_status status = TALLY_OK;
    if (j->has_totals && j->length > 0 && !is_linrec) {
        status = tally_mpi__make(context, &d, &j->total, &j->has_totals, error);
    }
    if (is_linrec) {
        j->scratch_bytes = tally_mpi__find_scratch(j);
    }
    if (status == TALLY_OK && has_mark && j->has_totals && j->length > 0) {
        j->has_totals = tally_mpi__reduction(j, 1, &d) == TALLY_OK;
        status = j->has_totals ? tally_mpi__make(context, &d, &j->mark, &j->has_totals, error)
                               : TALLY_OK;
    }
    if (status == TALLY_OK && j->has_totals) {
        tally_mpi__fold(j, &d);
        status = tally_mpi__make(context, &d, &j->fold, &j->has_totals, error);
    }
    return status;
}

/* ---- totals --------------------------------------------------------------------------------- */

static inline double tally_mpi__number(const tally_mpi__job *j, const char *at, size_t lane)
{
    double d;
    float f;
    if (j->dtype == TALLY_F64) {
        memcpy(&d, at + lane * sizeof d, sizeof d);
        return d;
    }
    memcpy(&f, at + lane * sizeof f, sizeof f);
    return f;
}

static inline int tally_mpi__is_finite(const tally_mpi__job *j, double x)
{
    const double most = j->dtype == TALLY_F64 ? DBL_MAX : FLT_MAX;
    return x >= -most && x <= most;
}

/* Whether a total may stand for its part, after `state`. The limits are those of docs/range.md for
 * carries and totals of chunks. `mark` bounds all products of the part that are not exact zeros. */
static inline int tally_mpi__is_usable(const tally_mpi__job *j, double state, double total,
                                       double mark)
{
    const double least = j->dtype == TALLY_F64 ? 0x1p-500 : 0x1p-60;
    const double size = state < 0 ? -state : state;
    if (!tally_mpi__is_finite(j, total)) {
        return 0;
    }
    if (j->scan.op == TALLY_LINREC) { /* mark: the factor of the state */
        return tally_mpi__is_finite(j, state) && tally_mpi__is_finite(j, mark) &&
               tally_mpi__is_finite(j, state * mark + total);
    }
    if (j->scan.op == TALLY_CUMSUM) {
        return !tally_mpi__is_finite(j, state) || tally_mpi__is_finite(j, state + total);
    }
    /* Zero stays zero, since an infinity in the part would show in the total. */
    return state == 0 ||
           (mark >= least && (!tally_mpi__is_finite(j, state) ||
                              (size >= least && tally_mpi__is_finite(j, state * total))));
}

/* linrec: the state after the part, without one before it. The results go to scratch, a piece of
 * the axis at a time, so that they stay in the cache. */
static inline tally_status tally_mpi__find_state(const tally_mpi__job *j, tally_context *context,
                                                 const tally_buffers *buffers, char *state,
                                                 tally_error *error)
{
    const int64_t most = (int64_t)(j->scratch_bytes / (j->lanes * tally_mpi__shown(j)));
    tally_status status = TALLY_OK;
    for (int64_t done = 0; done < j->length && status == TALLY_OK; done += most) {
        const int64_t count = most < j->length - done ? most : j->length - done;
        tally_buffers b = *buffers;
        tally_kernel *kernel = NULL;
        tally_descriptor d;
        tally_mpi__slice(&j->scan, j->scan.axis,
                         j->scan.flags & TALLY_REVERSE ? j->length - done - count : done, count,
                         &d);
        d.flags &= ~(uint32_t)TALLY_OUT_STRIDES;
        memset(d.out_strides, 0, sizeof d.out_strides);
        d.out_offset = 0;
        b.out = j->scratch;
        b.carry_in = done > 0 ? state : NULL;
        b.carry_out = state;
        status = tally_kernel_create(context, &d, NULL, &kernel, error);
        if (status == TALLY_OK) {
            status = tally_kernel_run_buffers(kernel, &b, NULL, error);
        }
        tally_kernel_destroy(&kernel);
    }
    return status;
}

/* The part's own totals, to be told. */
static inline tally_status tally_mpi__reduce(const tally_mpi__job *j, tally_context *context,
                                             const tally_buffers *buffers, tally_error *error)
{
    const int64_t head[2] = { j->length > 0, j->place };
    tally_buffers b = TALLY_BUFFERS_INIT;
    char text[TALLY_EXPRESSION_MAX] = { 0 };
    int used[TALLY_MAX_OPERANDS] = { 0 };
    memcpy(j->told, head, sizeof head);
    if (j->length == 0) {
        return TALLY_OK;
    }
    const int operands = tally_mpi__rename(tally_mpi__combined(j), text, used);
    for (int k = 0; k < operands; k++) {
        b.operand[k] = buffers->operand[used[k]];
    }
    b.in = buffers->in;
    b.out = j->told + TALLY_MPI__HEAD;
    tally_status status = j->total != NULL
                              ? tally_kernel_run_buffers(j->total, &b, NULL, error)
                              : tally_mpi__find_state(j, context, buffers, (char *)b.out, error);
    if (status == TALLY_OK && j->mark != NULL) {
        b.out = j->told + TALLY_MPI__HEAD + j->lanes * j->bytes;
        status = tally_kernel_run_buffers(j->mark, &b, NULL, error);
    }
    return status;
}

/* The states before a part, which is that of row `i`: what the rows before it come to. */
static inline const char *tally_mpi__before(const tally_mpi__job *j, int i)
{
    const int shown = j->scan.flags & TALLY_EXCLUSIVE ? i : i - 1;
    return i == 0 ? NULL : j->folded + (size_t)shown * j->lanes * j->bytes;
}

/* Finds from which place on each block has to be chained. */
static inline void tally_mpi__find_chained(tally_mpi__job *j, const char *rows, int count)
{
    const size_t size = j->scan.rank > 1 ? j->lanes / (j->outer * j->inner) : 1;
    const double none = j->scan.op == TALLY_CUMPROD ? 1 : 0;
    for (int b = 0; b < j->blocks; b++) {
        const size_t first = (size_t)tally_mpi__first(j, b);
        const size_t end = b + 1 < j->blocks ? (size_t)tally_mpi__first(j, b + 1) : size;
        const size_t width = (end - first) * j->inner;
        j->chained[b] = j->ranks;
        for (int i = 0; i < count && j->chained[b] == j->ranks; i++) {
            const char *totals = rows + (size_t)i * j->row + TALLY_MPI__HEAD;
            const char *marks = totals + (j->scan.op == TALLY_CUMSUM ? 0 : j->lanes * j->bytes);
            const char *before = tally_mpi__before(j, i);
            before = before == NULL && j->is_given ? j->given : before;
            int64_t place;
            int is_usable = 1;
            memcpy(&place, totals - TALLY_MPI__HEAD + sizeof place, sizeof place);
            if (place == j->ranks - 1) {
                break; /* no part is after it */
            }
            for (size_t o = 0; o < j->outer; o++) {
                const size_t lane = (o * size + first) * j->inner;
                for (size_t n = lane; n < lane + width; n++) {
                    is_usable &= tally_mpi__is_usable(
                        j, before != NULL ? tally_mpi__number(j, before, n) : none,
                        tally_mpi__number(j, totals, n), tally_mpi__number(j, marks, n));
                }
            }
            j->chained[b] = is_usable ? j->ranks : (int)place;
        }
    }
}

/* What a state is where a scan shows `from`: cumlogsumexp's has the sum beside its largest. */
static inline void tally_mpi__seed(const tally_mpi__job *j, const char *from, char *to)
{
    if (j->numbers == 1) {
        memcpy(to, from, j->states);
        return;
    }
    for (size_t lane = 0; lane < j->lanes; lane++) {
        const double value = tally_mpi__number(j, from, lane);
        const double sum = value == -HUGE_VAL ? 0 : 1;
        const float single = (float)sum;
        memcpy(to + 2 * lane * j->bytes, from + lane * j->bytes, j->bytes);
        memcpy(to + (2 * lane + 1) * j->bytes,
               j->dtype == TALLY_F64 ? (const void *)&sum : (const void *)&single, j->bytes);
    }
}

/* All that is told becomes the state before this part, and the places from which blocks chain. */
static inline tally_status tally_mpi__add_up(tally_mpi__job *j, tally_error *error)
{
    char *rows = j->rows + (size_t)j->ranks * j->row;
    tally_buffers b = TALLY_BUFFERS_INIT;
    int count = 0, mine = 0;
    int is_sorted = !(j->scan.flags & TALLY_REVERSE);
    for (int rank = 0; rank < j->ranks && is_sorted; rank++) {
        int64_t has_elements;
        memcpy(&has_elements, j->rows + (size_t)rank * j->row, sizeof has_elements);
        is_sorted = has_elements != 0;
    }
    for (int place = 0; place < j->ranks; place++) {
        const int rank = j->scan.flags & TALLY_REVERSE ? j->ranks - 1 - place : place;
        int64_t has_elements;
        memcpy(&has_elements, j->rows + (size_t)rank * j->row, sizeof has_elements);
        mine = place == j->place ? count : mine;
        if (has_elements) {
            if (!is_sorted) {
                memcpy(rows + (size_t)count * j->row, j->rows + (size_t)rank * j->row, j->row);
            }
            count++;
        }
    }
    rows = is_sorted ? j->rows : rows;
    b.in = rows;
    b.operand[0] = j->scan.op == TALLY_LINREC ? rows : NULL;
    b.out = j->folded;
    b.carry_in = j->is_given ? j->given : NULL;
    const tally_status status = tally_kernel_run_buffers(j->fold, &b, NULL, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (j->is_guarded) {
        tally_mpi__find_chained(j, rows, count);
    }
    const char *before = tally_mpi__before(j, mine);
    j->has_from = before != NULL || j->is_given;
    if (before != NULL) {
        tally_mpi__seed(j, before, j->from);
    } else if (j->is_given) {
        memcpy(j->from, j->given, j->states);
    }
    return TALLY_OK;
}

/* Exchanges totals. All ranks return the same status, or a failure of MPI. */
static inline tally_status tally_mpi__exchange(tally_mpi__job *j, tally_context *context,
                                               const tally_buffers *buffers, tally_error *error)
{
    int64_t values[TALLY_MPI__AGREED] = { 0 };
    const int root = j->scan.flags & TALLY_REVERSE ? j->ranks - 1 : 0;
    tally_status status = tally_mpi__reduce(j, context, buffers, error);
    tally_status sent = tally_mpi__code(
        MPI_Allgather(j->told, (int)j->row, MPI_BYTE, j->rows, (int)j->row, MPI_BYTE, j->comm),
        error);
    if (sent == TALLY_OK && j->is_given) {
        sent = tally_mpi__code(MPI_Bcast(j->given, (int)j->states, MPI_BYTE, root, j->comm), error);
    }
    if (sent != TALLY_OK) {
        return sent;
    }
    if (status == TALLY_OK) {
        status = tally_mpi__add_up(j, error);
    }
    return tally_mpi__agree(j, status, values, error);
}

#endif
