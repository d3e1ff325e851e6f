/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: the total of a chunk of floats. It is computed beside the results and does not
 * depend on them.
 *
 * One scan: the scan, or the window, of each vector joins the total.
 *
 * Interleaved sums: vectors are scanned by themselves, and those whose lanes belong to the same
 * scans are added lane by lane. That takes no shuffle, and no vector waits for another one. In the
 * end the last lanes of these few sums have the total of each scan.
 */
#include "rows.h"

#include <string.h>

static unsigned period(const tly_rows *r)
{
    return (unsigned)tly_rows_period((int32_t)r->interleave, (int32_t)r->c->lanes);
}

unsigned tly_rows_total_count(const tly_rows *r)
{
    return r->interleave == 1 ? 1 : period(r);
}

/* total[i] belongs to vectors like the one i vectors after the next one. */
static void add_up(tly_rows *r, const tly_rows_part *parts, kir_value *total)
{
    kir_value now[MAX_TOTALS];
    unsigned n = period(r);
    memcpy(now, total, n * sizeof *now);
    for (unsigned k = 0; k < r->unroll; k++)
        now[k % n] = tly_combine(r->c, now[k % n], parts[k].scan);
    for (unsigned i = 0; i < n; i++)
        total[i] = now[(i + r->unroll) % n];
}

void tly_rows_add_totals(tly_rows *r, const tly_rows_part *parts, kir_value *total)
{
    tly_build *c = r->c;
    if (r->interleave > 1) {
        add_up(r, parts, total);
        return;
    }
    for (unsigned k = 0; k < r->unroll; k++) {
        kir_value part = parts[k].scan;
        if (!r->windows)
            part = tly_vector_newest(c, part, 1);
        total[0] = tly_combine(c, total[0], part);
    }
}

/* The last lanes of total[i], each in the lanes of the next vector that belong to its scan. */
static kir_value spread(tly_rows *r, const kir_value *total, unsigned i)
{
    unsigned n = r->c->lanes;
    uint8_t index[64];
    for (unsigned lane = 0; lane < n; lane++)
        for (unsigned k = n - r->interleave; k < n; k++)
            if ((n * i + k) % r->interleave == lane % r->interleave)
                index[lane] = (uint8_t)k;
    return kir_shuffle(r->c->b, total[i], total[i], index, n);
}

kir_value tly_rows_total(tly_rows *r, const kir_value *total)
{
    if (r->interleave == 1)
        return tly_last(r->c, total[0]);
    kir_value all = spread(r, total, 0);
    for (unsigned i = 1; i < period(r); i++)
        all = tly_combine(r->c, all, spread(r, total, i));
    return all;
}
