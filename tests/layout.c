/* SPDX-License-Identifier: Apache-2.0 */
/* Where elements lie, from the descriptor alone: a scan's axis and reduced axes are one thing here,
 * the dims that a row combines. */
#include "reference.h"

#include <string.h>

/* Where dim d of the input is in the output; -1: nowhere. */
static void match_dims(const tally_descriptor *d, uint32_t folded, int is_scan, int *place)
{
    const int keeps = is_scan || d->flags & TALLY_KEEPDIMS || d->every;
    int next = 0;
    for (int k = 0; k < d->rank; k++)
        place[k] = keeps || !(folded >> k & 1) ? next++ : -1;
}

static void pack(int rank, const int64_t *sizes, int64_t *strides)
{
    int64_t stride = 1;
    for (int k = rank - 1; k >= 0; k--) {
        strides[k] = stride;
        stride *= sizes[k] ? sizes[k] : 1;
    }
}

void tly_layout_extent(int rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                       int64_t *low, int64_t *high)
{
    *low = *high = offset;
    for (int k = 0; k < rank; k++) {
        int64_t reach = (sizes[k] - 1) * strides[k];
        if (sizes[k] == 0) {
            *low = 0, *high = -1;
            return;
        }
        *(reach < 0 ? low : high) += reach;
    }
}

/* The results of a reduced dim. */
static int64_t results_of(const tally_descriptor *d, int64_t size)
{
    return d->every ? (size + d->every - 1) / d->every : 1;
}

/* The output's strides by the input's dims: 0 where a dim is reduced to one result. */
static void lay_out_output(const tally_descriptor *d, tly_layout *l)
{
    int place[TALLY_MAX_RANK] = { 0 };
    int64_t sizes[TALLY_MAX_RANK] = { 0 }, packed[TALLY_MAX_RANK];
    const int64_t *strides = packed;
    int rank = 0;

    match_dims(d, l->folded, l->is_scan, place);
    for (int k = 0; k < l->rank; k++)
        if (place[k] >= 0)
            sizes[rank++] = l->is_scan || !(l->folded >> k & 1) ? l->sizes[k]
                                                                : results_of(d, l->sizes[k]);
    pack(rank, sizes, packed);
    if (d->flags & TALLY_OUT_STRIDES) {
        strides = d->out_strides;
        l->out_offset = d->out_offset;
    }
    tly_layout_extent(rank, sizes, strides, l->out_offset, &l->out_low, &l->out_high);
    for (int k = 0; k < l->rank; k++)
        if (place[k] >= 0 && (l->is_scan || d->every || !(l->folded >> k & 1)))
            l->out_strides[k] = strides[place[k]];
}

/* Scan positions count from where the scan begins. */
static void reverse(tly_layout *l)
{
    l->is_reversed = 1;
    l->in_offset += (l->length - 1) * l->in_step;
    l->out_offset += (l->length - 1) * l->out_step;
    l->in_step = -l->in_step;
    l->out_step = -l->out_step;
}

static uint32_t folded_dims(const tally_descriptor *d, int is_scan)
{
    if (is_scan)
        return 1u << (d->axis < 0 ? d->axis + d->rank : d->axis);
    return d->axes_given ? d->axes : (1u << d->rank) - 1;
}

void tly_layout_of(const tally_descriptor *d, tly_layout *l)
{
    memset(l, 0, sizeof *l);
    l->is_scan = tally_op_is_scan((tally_op)d->op);
    l->folded = folded_dims(d, l->is_scan);
    l->rank = d->rank;
    memcpy(l->sizes, d->sizes, sizeof l->sizes);
    pack(l->rank, l->sizes, l->in_strides);
    if (d->flags & TALLY_IN_STRIDES) {
        memcpy(l->in_strides, d->in_strides, sizeof l->in_strides);
        l->in_offset = d->in_offset;
    }
    tly_layout_extent(l->rank, l->sizes, l->in_strides, l->in_offset, &l->in_low, &l->in_high);
    lay_out_output(d, l);
    l->rows = l->length = 1;
    for (int k = 0; k < l->rank; k++)
        *(l->folded >> k & 1 ? &l->length : &l->rows) *= l->sizes[k];
    l->results = l->is_scan ? l->length : results_of(d, l->length);
    if (l->folded && !(l->folded & (l->folded - 1))) {
        l->axis = __builtin_ctz(l->folded);
        l->in_step = l->in_strides[l->axis];
        l->out_step = l->out_strides[l->axis];
    }
    if (d->flags & TALLY_REVERSE && l->length > 0)
        reverse(l);
}

void tly_layout_row(const tly_layout *l, int64_t row, int64_t *in, int64_t *out)
{
    *in = l->in_offset;
    *out = l->out_offset;
    for (int k = l->rank - 1; k >= 0; k--) {
        if (l->folded >> k & 1)
            continue;
        *in += row % l->sizes[k] * l->in_strides[k];
        *out += row % l->sizes[k] * l->out_strides[k];
        row /= l->sizes[k];
    }
}

int64_t tly_layout_step(const tly_layout *l, int64_t position)
{
    int64_t at = 0;
    if (l->in_step)
        return position * l->in_step;
    for (int k = l->rank - 1; k >= 0; k--)
        if (l->folded >> k & 1) {
            at += position % l->sizes[k] * l->in_strides[k];
            position /= l->sizes[k];
        }
    return at;
}

int64_t tly_layout_index(const tly_layout *l, const int64_t *strides, int64_t offset, int64_t row,
                         int64_t position)
{
    int64_t at = offset;
    if (l->is_reversed)
        position = l->length - 1 - position;
    for (int k = l->rank - 1; k >= 0; k--) {
        int64_t *const rest = l->folded >> k & 1 ? &position : &row;
        at += *rest % l->sizes[k] * strides[k];
        *rest /= l->sizes[k];
    }
    return at;
}
