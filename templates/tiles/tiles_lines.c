/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a run that share lines of output. If dims are short, tiles write parts of lines. If
 * strides are powers of two, a line has left the cache before its other parts come. So these rows
 * gather in scratch, and their lines go past the cache whole.
 *
 * f32 8-D views of 8s, of a copy, by ordinary stores and so (Emerald Rapids): reversed .16 to .20,
 * .25 to .37; halves along axis 7 .15, .41; even-odd along axis 0 .28, .38. It was no faster to
 * scan the rows of a line one after another in all runs that share lines of input.
 */
#include "tiles.h"

enum { LINE = 64, MOST_LINES = 64 };

static int is_across(const tly_tiles *k)
{
    return k->way[TLY_OUT] == TLY_ACROSS;
}

/* Scratch has a line for each axis step, if lanes are neighbours in the output, or for each lane of
 * a block. */
int64_t tly_tiles_gather_bytes(const tly_tiles *k)
{
    const tly_build *c = k->c;
    int64_t block = c->plan->tile_lanes;
    if (c->p->form == TLY_ROWS || c->p->lanes.least == 0 || c->p->lanes.packing == TLY_ROWS_UP)
        return 0;
    if (is_across(k))
        return k->parts * c->lanes * c->bytes[TLY_OUT] < LINE && block * c->bytes[TLY_OUT] >= LINE
                   ? MOST_LINES * LINE
                   : 0;
    return k->way[TLY_OUT] == TLY_ALONG_UP && block <= MOST_LINES ? block * LINE : 0;
}

tly_gather tly_tiles_gather(tly_tiles *k, kir_value out, kir_value apart, kir_value run_size,
                            kir_value run_out, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), line = imm(c, LINE);
    kir_value lines = is_across(k) ? k->axis[TLY_OUT] : k->lane[TLY_OUT];
    kir_value bytes = mul(c, is_across(k) ? k->inner : k->length, imm(c, c->bytes[TLY_OUT]));
    kir_value rows = udiv(c, line, bytes);
    kir_value where = bor(c, bor(c, kir_addr(c->b, out), lines), mul(c, run_size, bytes));
    where = bor(c, where, apart);
    kir_value fits = equal(c, band(c, where, imm(c, LINE - 1)), zero);
    fits = band(c, fits, equal(c, bytes, run_out));
    fits = band(c, fits, equal(c, mul(c, rows, bytes), line));
    fits = band(c, fits, less(c, bytes, line));
    if (is_across(k))
        fits = band(c, fits, less(c, k->length, imm(c, MOST_LINES + 1)));
    fits = band(c, fits, tly_streams(c));
    kir_value last = sub(c, rows, imm(c, 1)), whole = sub(c, zero, rows);
    kir_value first = band(c, add(c, from, last), whole);
    return (tly_gather){
        .scratch = arg(c, KIR_ARG_SCRATCH),
        .last = last,
        .bytes = bytes,
        .lines = lines,
        .from = first,
        .to = choose(c, fits, band(c, to, whole), first),
    };
}

/* Sends `count` lines whose last row is at `out`. */
static void send(tly_tiles *k, const tly_gather *g, kir_value count, kir_value out)
{
    tly_build *c = k->c;
    kir_value first = ptradd(c, out, sub(c, g->bytes, imm(c, LINE)));
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), count, imm(c, 1));
    tly_send_line(c, ptradd(c, first, mul(c, l.i, g->lines)), tly_at(c, g->scratch, l.i, LINE));
    emit_end(c, &l);
}

void tly_tiles_gather_row(tly_tiles *k, const tly_gather *g, kir_value row, tly_row at,
                          kir_value lanes)
{
    tly_build *c = k->c;
    tly_tiles part = *k;
    kir_value in = band(c, tly_not(c, less(c, row, g->from)), less(c, row, g->to));
    kir_value place = band(c, row, g->last);
    kir_value there = ptradd(c, g->scratch, mul(c, place, g->bytes));
    kir_value *lines = is_across(k) ? &part.axis[TLY_OUT] : &part.lane[TLY_OUT];
    *lines = choose(c, in, imm(c, LINE), *lines);
    tly_row here = at;
    here.at[TLY_OUT] = choose(c, in, there, at.at[TLY_OUT]);
    tly_tiles_scan(&part, here, lanes);
    kir_value whole = band(c, in, equal(c, place, g->last));
    kir_value count = is_across(k) ? k->length : lanes;
    send(k, g, choose(c, whole, count, imm(c, 0)), at.at[TLY_OUT]);
}
