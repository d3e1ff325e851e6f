/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output side of templates that scan along rows. Some results cannot be stored at once: in
 * place, before they have been checked; or past the cache, if lines of output do not end where the
 * scan's steps do. They gather, narrowed, in a buffer in scratch, and leave it in whole 64-byte
 * lines. In the buffer each element has the place in its line that it has in the output. Elements
 * that fill no line wait for the next block. Zen 3, 256 MiB: lines past the cache .98 of a copy,
 * ordinary stores .65.
 */
#include "../template.h"

enum { LINE_BYTES = 64 };

unsigned tly_line(const tly_build *c)
{
    return LINE_BYTES / c->bytes[TLY_OUT];
}

static int backwards(const tly_build *c)
{
    return c->p->tensor[TLY_OUT].step == -1;
}

int64_t tly_stored_step(const tly_build *c)
{
    return backwards(c) ? -(int64_t)c->bytes[TLY_OUT] : c->bytes[TLY_OUT];
}

kir_value tly_stored_at(tly_build *c, kir_value p, kir_value element)
{
    return tly_at(c, p, element, tly_stored_step(c));
}

unsigned tly_pack_run(tly_build *c, kir_value *v, unsigned n, int narrowed)
{
    unsigned bytes = c->lanes * c->bytes[TLY_OUT] * (narrowed ? 2 : 1);
    kir_value x[TLY_COLUMNS_MOST_VECTORS]; /* no template's step has more */
    for (unsigned i = 0; i < n; i++) {
        x[i] = v[backwards(c) ? n - 1 - i : i];
        x[i] = narrowed ? x[i] : tly_narrow(c, x[i]);
        x[i] = narrowed || !backwards(c) ? x[i] : tly_reverse(c, x[i]);
    }
    for (; n > 1 && bytes < (unsigned)c->t->vector_bytes; n /= 2, bytes *= 2)
        for (unsigned i = 0; i < n / 2; i++)
            x[i] = tly_join(c, x[2 * i], x[2 * i + 1]);
    for (unsigned i = 0; i < n; i++)
        v[i] = x[i];
    return n;
}

void tly_store_run(tly_build *c, kir_value to, const kir_value *v, unsigned n, unsigned flags)
{
    kir_type t = type_of(c, v[0]);
    unsigned bytes = t.lanes * kir_kind_bits((kir_kind)t.kind) / 8;
    int64_t lowest = backwards(c) ? (int64_t)c->bytes[TLY_OUT] - (int64_t)n * bytes : 0;
    for (unsigned i = 0; i < n; i++)
        kir_store(c->b, to, lowest + (int64_t)i * bytes, v[i], flags ? bytes : 1, flags);
}

/* Elements [from, to) of the buffer, one by one. */
static void store_scalars(tly_build *c, const tly_stream *s, kir_value from, kir_value to)
{
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_OUT].dtype, 1);
    tly_region l = { 0 };
    emit_for(c, &l, from, to, imm(c, 1));
    kir_value v = kir_load(c->b, t, tly_stored_at(c, s->buffer, l.i), 0, c->bytes[TLY_OUT]);
    kir_store(c->b, ptradd(c, s->to, mul(c, l.i, tly_step(c, TLY_OUT))), 0, v, 1, 0);
    emit_end(c, &l);
}

void tly_stream_begin(tly_build *c, tly_stream *s, kir_value out, kir_value streams)
{
    if (c->p->tensor[TLY_OUT].step == TLY_ANY_STEP) {
        s->to = out;
        s->pending = s->head = imm(c, 0);
        return;
    }
    kir_value at = band(c, kir_addr(c->b, out), imm(c, LINE_BYTES - 1));
    if (backwards(c))
        at = sub(c, imm(c, LINE_BYTES - c->bytes[TLY_OUT]), at);
    kir_value skip = tly_part(c, at, c->bytes[TLY_OUT]);
    skip = choose(c, streams, skip, imm(c, 0));
    s->to = tly_stored_at(c, out, sub(c, imm(c, 0), skip));
    s->pending = s->head = skip;
}

void tly_stream_advance(tly_build *c, tly_stream *s, kir_value count, kir_value written)
{
    kir_value zero = imm(c, 0), left = count;
    if (written) {
        s->to = tly_stored_at(c, s->to, choose(c, written, count, zero));
        left = choose(c, written, zero, count);
    }
    s->pending = add(c, s->pending, left);
}

/* Copies a line in whole vectors. All of it is read before anything is written. */
static void copy_line(tly_build *c, kir_value to, kir_value from, unsigned align, unsigned flags)
{
    unsigned wide = (unsigned)c->t->vector_bytes;
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_OUT].dtype, wide / c->bytes[TLY_OUT]);
    kir_value v[64];
    for (unsigned i = 0; i * wide < LINE_BYTES; i++)
        v[i] = kir_load(c->b, t, from, (int64_t)i * wide, c->bytes[TLY_OUT]);
    for (unsigned i = 0; i * wide < LINE_BYTES; i++)
        kir_store(c->b, to, (int64_t)i * wide, v[i], align, flags);
}

void tly_send_line(tly_build *c, kir_value to, kir_value from)
{
    copy_line(c, to, from, (unsigned)c->t->vector_bytes, KIR_STREAM);
}

/* Stores lines [first, end) of the buffer, past the cache if `flags` is KIR_STREAM. */
static void store_lines(tly_build *c, const tly_stream *s, kir_value first, kir_value end,
                        unsigned align, unsigned flags)
{
    tly_region l = { 0 };
    emit_for(c, &l, first, end, imm(c, 1));
    kir_value at = mul(c, l.i, imm(c, tly_stored_step(c) * tly_line(c)));
    if (backwards(c)) /* element 0 of a line is its highest */
        at = add(c, at, imm(c, (int64_t)c->bytes[TLY_OUT] - LINE_BYTES));
    copy_line(c, ptradd(c, s->to, at), ptradd(c, s->buffer, at), align, flags);
    emit_end(c, &l);
}

/* An output of any step is stored element by element. Otherwise, so are the elements before the
 * first line that is wholly ours and, at the end, those behind the last one. */
static void drain(tly_build *c, tly_stream *s, kir_value streams, kir_value ends)
{
    int64_t line = tly_line(c), low = backwards(c) ? (int64_t)c->bytes[TLY_OUT] - LINE_BYTES : 0;
    kir_value zero = imm(c, 0), one = imm(c, 1);
    if (c->p->tensor[TLY_OUT].step == TLY_ANY_STEP) {
        store_scalars(c, s, zero, s->pending);
        s->to = ptradd(c, s->to, mul(c, s->pending, tly_step(c, TLY_OUT)));
        s->pending = zero;
        return;
    }
    kir_value lines = tly_part(c, s->pending, (unsigned)line);
    kir_value done = tly_round_down(c, s->pending, line);
    kir_value some = less(c, zero, lines), partial = less(c, zero, s->head);
    kir_value whole = choose(c, partial, one, s->sent ? s->sent : zero);
    tly_region way = { 0 };
    emit_if(c, &way, streams);
    store_lines(c, s, whole, lines, (unsigned)c->t->vector_bytes, KIR_STREAM);
    emit_else(c, &way);
    store_lines(c, s, whole, lines, 1, 0);
    emit_end(c, &way);
    kir_value rest = choose(c, some, done, s->head);
    tly_region l = { 0 };
    emit_for(c, &l, zero, imm(c, 2), one);
    kir_value last = differ(c, l.i, zero);
    kir_value before = choose(c, band(c, partial, some), imm(c, line), s->head);
    kir_value behind = choose(c, ends, s->pending, rest);
    store_scalars(c, s, choose(c, last, rest, s->head), choose(c, last, behind, before));
    emit_end(c, &l);
    copy_line(c, ptradd(c, s->buffer, imm(c, low)),
              ptradd(c, tly_stored_at(c, s->buffer, done), imm(c, low)), c->bytes[TLY_OUT], 0);
    s->to = tly_stored_at(c, s->to, done);
    s->pending = sub(c, s->pending, done);
    s->head = choose(c, some, zero, s->head);
}

void tly_stream_drain(tly_build *c, tly_stream *s, kir_value streams, kir_value ends)
{
    tly_region some = { 0 };
    tly_carry_stream(&some, s);
    emit_if(c, &some, less(c, imm(c, 0), s->pending));
    drain(c, s, streams, ends);
    emit_end(c, &some);
}
