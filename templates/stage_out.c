/*
 * The output side of staged templates. Results gather as accumulators in a scratch buffer and
 * leave it narrowed. Two ways: plainly, all at once; or streaming, in whole 64-byte lines that
 * bypass the cache, which asks for lines of the output whatever its alignment: the buffer keeps
 * the place of each element in its line, and what does not fill a line waits for the next block.
 * Measured on Zen 3, 256 MiB: non-temporal lines 0.98 of a copy, plain stores 0.65.
 */
#include "template.h"

enum { LINE_BYTES = 64 };

unsigned tly_line(const tly_build *c)
{
    return LINE_BYTES / c->out_bytes;
}

static int backwards(const tly_build *c)
{
    return c->p->out_step == -1;
}

static kir_value load_acc(tly_build *c, kir_value p, int64_t element)
{
    return kir_load(c->b, c->vec, p, element * c->acc_bytes, c->acc_bytes);
}

/* Scalars [from, to) of the buffer to `out`, where buffer element 0 goes. */
static void store_scalars(tly_build *c, kir_value buffer, kir_value out, kir_value from,
                          kir_value to)
{
    kir_loop l;
    kir_for(c->b, &l, from, to, imm(c, 1), 0, NULL);
    kir_value v = kir_load(c->b, c->acc, tly_at(c, buffer, l.i, c->acc_bytes), 0, c->acc_bytes);
    tly_store(c, kir_ptradd(c->b, out, mul(c, l.i, tly_out_step(c))), 0, v, 1, 0);
    kir_for_end(c->b, &l, NULL);
}

/* Elements [0, full) of the buffer to `out`, plainly. */
static void store_vectors(tly_build *c, kir_value buffer, kir_value out, kir_value full)
{
    kir_loop l;
    int64_t bytes = (int64_t)c->lanes * c->out_bytes;
    kir_for(c->b, &l, imm(c, 0), full, imm(c, c->lanes), 0, NULL);
    kir_value v = tly_narrow(c, load_acc(c, tly_at(c, buffer, l.i, c->acc_bytes), 0));
    kir_value to = tly_at(c, out, l.i, (int64_t)c->p->out_step * c->out_bytes);
    if (backwards(c))
        kir_store(c->b, to, c->out_bytes - bytes, tly_reverse(c, v), 1, 0);
    else
        kir_store(c->b, to, 0, v, 1, 0);
    kir_for_end(c->b, &l, NULL);
}

void tly_stream_begin(tly_build *c, tly_stream *s, kir_value out, kir_value streams)
{
    if (c->p->out_step == TLY_ANY_STEP) {
        s->to = out;
        s->pending = s->head = imm(c, 0);
        return;
    }
    kir_value at = kir_bin(c->b, KIR_AND, kir_addr(c->b, out), imm(c, LINE_BYTES - 1));
    if (backwards(c))
        at = sub(c, imm(c, LINE_BYTES - c->out_bytes), at);
    unsigned shift = c->out_bytes == 8 ? 3 : c->out_bytes == 4 ? 2 : 1;
    kir_value skip = kir_bin(c->b, KIR_LSHR, at, imm(c, shift));
    skip = kir_select(c->b, streams, skip, imm(c, 0));
    s->to = kir_ptradd(c->b, out, mul(c, sub(c, imm(c, 0), skip), tly_out_step(c)));
    s->pending = s->head = skip;
}

/* One line of output from the accumulators at `from` to the line whose lowest address is `to`,
 * in stores of whole vectors. */
static void store_line(tly_build *c, kir_value from, kir_value to)
{
    unsigned n = tly_line(c) / c->lanes, bytes = c->lanes * c->out_bytes;
    kir_value v[64];
    for (unsigned i = 0; i < n; i++) {
        kir_value x = tly_narrow(c, load_acc(c, from, (int64_t)i * c->lanes));
        v[backwards(c) ? n - 1 - i : i] = backwards(c) ? tly_reverse(c, x) : x;
    }
    for (; n > 1 && bytes < (unsigned)c->t->vector_bytes; n /= 2, bytes *= 2)
        for (unsigned i = 0; i < n / 2; i++)
            v[i] = tly_join(c, v[2 * i], v[2 * i + 1]);
    for (unsigned i = 0; i < n; i++)
        kir_store(c->b, to, (int64_t)i * bytes, v[i], bytes, KIR_STREAM);
}

/* Lines [first, lines), past the cache. */
static void store_lines(tly_build *c, const tly_stream *s, kir_value first, kir_value lines)
{
    kir_builder *b = c->b;
    unsigned line = tly_line(c);
    kir_loop l;
    kir_for(b, &l, first, lines, imm(c, 1), 0, NULL);
    kir_value to = tly_at(c, s->to, l.i, (int64_t)c->p->out_step * LINE_BYTES);
    if (backwards(c))
        to = kir_ptradd(b, to, imm(c, (int64_t)c->out_bytes - LINE_BYTES));
    store_line(c, tly_at(c, s->buffer, l.i, (int64_t)line * c->acc_bytes), to);
    kir_for_end(b, &l, NULL);
}

/* What is left of the buffer, from element `done` on, moves to its front: less than a line, and
 * what an exclusive scan holds back. */
static void move_rest(tly_build *c, const tly_stream *s, kir_value done)
{
    unsigned n = tly_line(c) / c->lanes;
    if (c->p->exclusive)
        n += (c->p->unit + c->lanes - 1) / c->lanes;
    kir_value rest = tly_at(c, s->buffer, done, c->acc_bytes), v[64];
    for (unsigned i = 0; i < n; i++)
        v[i] = load_acc(c, rest, (int64_t)i * c->lanes);
    for (unsigned i = 0; i < n; i++)
        kir_store(c->b, s->buffer, (int64_t)i * c->lanes * c->acc_bytes, v[i], c->acc_bytes, 0);
}

/* Both ways share the scalars: before the first whole line when streaming, after the last whole
 * vector otherwise. */
void tly_stream_drain(tly_build *c, tly_stream *s, kir_value hold, kir_value streams)
{
    kir_builder *b = c->b;
    kir_value zero = imm(c, 0), ready = sub(c, s->pending, hold), done = ready;
    if (c->p->out_step == TLY_ANY_STEP) {
        store_scalars(c, s->buffer, s->to, zero, ready);
    } else {
        int64_t line = tly_line(c);
        kir_value lined = tly_round_down(c, ready, line), full = tly_round_down(c, ready, c->lanes);
        kir_value some = less(c, zero, lined), partial = less(c, zero, s->head);
        kir_value first = kir_select(b, kir_bin(b, KIR_AND, some, partial), imm(c, line), s->head);
        done = kir_select(b, streams, lined, ready);
        store_scalars(c, s->buffer, s->to, kir_select(b, streams, s->head, full),
                      kir_select(b, streams, first, ready));
        kir_branch way;
        kir_if(b, &way, streams);
        unsigned shift = line == 8 ? 3 : line == 16 ? 4 : 5;
        store_lines(c, s, kir_select(b, partial, imm(c, 1), zero),
                    kir_bin(b, KIR_LSHR, ready, imm(c, shift)));
        kir_else(b, &way, 0, NULL);
        store_vectors(c, s->buffer, s->to, full);
        kir_if_end(b, &way, 0, NULL);
        s->head = kir_select(b, some, zero, s->head);
    }
    move_rest(c, s, done);
    s->to = kir_ptradd(b, s->to, mul(c, done, tly_out_step(c)));
    s->pending = sub(c, s->pending, done);
}

void tly_stream_flush(tly_build *c, tly_stream *s)
{
    store_scalars(c, s->buffer, s->to, s->head, s->pending);
}
