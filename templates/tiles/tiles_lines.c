/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a run that are parts of the same lines of output: where dims are short, tiles write half
 * lines and less, and where strides are powers of two, a line has left the cache before its other
 * parts come. So these rows gather in scratch, and their lines go past the cache whole. f32 8-D
 * views of 8s, of a copy: reversed .16 to .20, so .25 to .37; halves along axis 7 .15, .41;
 * even-odd along axis 0 .28, .38 (Emerald Rapids). Not kept: rows of a line of all runs whose input
 * shares lines one after another, no faster.
 */
#include "tiles.h"

enum { LINE = 64, MOST_LINES = 64 };

static int is_across(const tly_tiles *k)
{
    return k->out_way == TLY_ACROSS;
}

/* Lines of a row and of those that share them, which are axis steps, or lanes; all of what is
 * scanned before they are sent: of rows that lie across, all lanes. */
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
    return k->out_way == TLY_ALONG_UP && block <= MOST_LINES ? block * LINE : 0;
}

tly_gather tly_tiles_gather(tly_tiles *k, kir_value out, kir_value apart, kir_value run_size,
                            kir_value run_out, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    kir_value zero = imm(c, 0), line = imm(c, LINE);
    kir_value lines = is_across(k) ? k->out_axis : k->out_lane;
    kir_value bytes = mul(c, is_across(k) ? k->inner : k->length, imm(c, c->bytes[TLY_OUT]));
    kir_value rows = kir_bin(b, KIR_UDIV, line, bytes);
    kir_value where = kir_bin(b, KIR_OR, kir_bin(b, KIR_OR, kir_addr(b, out), lines),
                              mul(c, run_size, bytes));
    where = kir_bin(b, KIR_OR, where, apart);
    kir_value fits = equal(c, kir_bin(b, KIR_AND, where, imm(c, LINE - 1)), zero);
    fits = kir_bin(b, KIR_AND, fits, equal(c, bytes, run_out));
    fits = kir_bin(b, KIR_AND, fits, equal(c, mul(c, rows, bytes), line));
    fits = kir_bin(b, KIR_AND, fits, less(c, bytes, line));
    if (is_across(k))
        fits = kir_bin(b, KIR_AND, fits, less(c, k->length, imm(c, MOST_LINES + 1)));
    fits = kir_bin(b, KIR_AND, fits, tly_streams(c));
    kir_value last = sub(c, rows, imm(c, 1)), whole = sub(c, zero, rows);
    kir_value first = kir_bin(b, KIR_AND, add(c, from, last), whole);
    return (tly_gather){
        .scratch = kir_get(b, KIR_ARG_SCRATCH),
        .last = last,
        .bytes = bytes,
        .lines = lines,
        .from = first,
        .to = kir_select(b, fits, kir_bin(b, KIR_AND, to, whole), first),
    };
}

/* Lines, of which the row at `out` is the last one. */
static void send(tly_tiles *k, const tly_gather *g, kir_value count, kir_value out)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    kir_value first = kir_ptradd(b, out, sub(c, g->bytes, imm(c, LINE)));
    kir_loop l;
    kir_for(b, &l, imm(c, 0), count, imm(c, 1), 0, NULL);
    tly_send_line(c, kir_ptradd(b, first, mul(c, l.i, g->lines)), tly_at(c, g->scratch, l.i, LINE));
    kir_for_end(b, &l, NULL);
}

void tly_tiles_gather_row(tly_tiles *k, const tly_gather *g, kir_value row, tly_row at,
                          kir_value lanes)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    tly_tiles part = *k;
    kir_value in = kir_bin(b, KIR_AND, tly_not(c, less(c, row, g->from)), less(c, row, g->to));
    kir_value place = kir_bin(b, KIR_AND, row, g->last);
    kir_value there = kir_ptradd(b, g->scratch, mul(c, place, g->bytes));
    kir_value *lines = is_across(k) ? &part.out_axis : &part.out_lane;
    *lines = kir_select(b, in, imm(c, LINE), *lines);
    tly_tiles_scan(&part, (tly_row){ at.in, kir_select(b, in, there, at.out) }, lanes);
    kir_value whole = kir_bin(b, KIR_AND, in, equal(c, place, g->last));
    kir_value count = is_across(k) ? k->length : lanes;
    send(k, g, kir_select(b, whole, count, imm(c, 0)), at.out);
}
