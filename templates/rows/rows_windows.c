/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: windows. A lane's window combines the elements that end in the lane, as many
 * as a vector has lanes.
 */
#include "rows.h"

/* x[k]: for each lane the element k positions before it. */
static kir_value window_of(tly_rows *r, kir_value *x)
{
    for (unsigned n = 1u << r->loads; n > 1; n /= 2)
        for (unsigned k = 0; k < n / 2; k++)
            x[k] = tly_combine(r->c, x[2 * k + 1], x[2 * k]);
    return x[0];
}

/* The windows of the vector at `p`, as wide as overlapping loads make them; *seen: its elements. */
static kir_value load_window(tly_rows *r, kir_value p, kir_value *seen)
{
    tly_build *c = r->c;
    kir_value x[1 << TLY_ROWS_MOST_LOADS], from[1 << TLY_ROWS_MOST_LOADS];
    for (int64_t k = 0; k <= tly_rows_reach(r); k++) {
        from[k] = ptradd(c, p, imm(c, -k * tly_rows_element_bytes(r)));
        x[k] = tly_rows_load(r, from[k]);
    }
    *seen = x[0];
    for (int64_t k = 0; k <= tly_rows_reach(r); k++)
        x[k] = tly_rows_element(r, c->p->tensor[TLY_IN].step == 1 ? from[k] : 0, x[k]);
    return tly_rows_order(r, window_of(r, x));
}

/* The same where nothing comes before the vector. */
static kir_value load_first(tly_rows *r, kir_value p, kir_value *seen)
{
    tly_build *c = r->c;
    kir_value x[1 << TLY_ROWS_MOST_LOADS];
    *seen = tly_rows_order(r, tly_rows_load(r, p));
    x[0] = tly_rows_element(r, p, *seen);
    for (unsigned k = 1; k <= (unsigned)tly_rows_reach(r); k++)
        x[k] = tly_shift(c, tly_neutral(c, c->vec), x[0], k);
    return window_of(r, x);
}

/* Doubles loaded windows w until they are whole; `windows`: see tly_rows_window. */
static kir_value widen_window(tly_rows *r, kir_value w, kir_value *windows)
{
    for (unsigned d = r->loads; d < r->doublings; d++) {
        kir_value wider = tly_combine(r->c, tly_shift(r->c, windows[0], w, 1u << d), w);
        *windows++ = w;
        w = wider;
    }
    return w;
}

tly_rows_part tly_rows_window_of(tly_rows *r, kir_value x, kir_value *windows)
{
    return (tly_rows_part){ widen_window(r, tly_rows_element(r, 0, x), windows), 0 };
}

kir_value tly_rows_window(tly_rows *r, kir_value p, int is_first, kir_value *windows,
                          kir_value *seen)
{
    kir_value w = is_first ? load_first(r, p, seen) : load_window(r, p, seen);
    return widen_window(r, w, windows);
}
