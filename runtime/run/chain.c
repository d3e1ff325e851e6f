/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long rows cut into chunks: the carry's way from chunk to chunk, between threads. Guarantees the
 * bits of one thread (COMBINE and SCAN give the same carry), and that a task waits only for a
 * chunk with a smaller ticket, hence only for a task that runs. Tasks take a few chunks at a time,
 * and one slot a chunk, never used twice in a run, has the carry after the last of them.
 */
#include "chain.h"

#include "../cpu/cpu.h"
#include "../host/checked.h"
#include "../host/clock.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A hand-over between two running threads takes 0.3 us, a total of a 64 KiB chunk some 3 us: spin
 * for about 30 us, then let others run (pure spinning on a shared core made 14 ms into 1 s), then
 * sleep. */
#define SPINS 1000
#define YIELDS 16

enum { EMPTY, PUBLISHED, AWAITED };

typedef struct slot {
    atomic_uint state;
    uint32_t unused;
    char carry[]; /* the carry record after this chunk */
} slot;

/* One line for a slot where the record fits. */
static size_t slot_bytes(int32_t carry_bytes)
{
    return sizeof(slot) + (size_t)carry_bytes <= 64 ? 64 : 192;
}

_Static_assert(sizeof(slot) + TLY_CARRY_BYTES <= 192, "a slot holds any carry record");

static slot *slot_of(const tly_run *run, int64_t ticket)
{
    return (slot *)(run->slots + (size_t)ticket * run->slot_bytes);
}

static int published(slot *s)
{
    return atomic_load_explicit(&s->state, memory_order_acquire) == PUBLISHED;
}

/* Of linux/futex.h, which not every C library has beside it: FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE
 * of the kernel's interface. */
enum { WAIT = 0 | 128, WAKE = 1 | 128 };

static void futex(atomic_uint *word, int operation, unsigned value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void await(slot *s)
{
    for (int i = 0; i < SPINS + YIELDS; i++) {
        if (published(s)) {
            return;
        }
        if (i < SPINS) {
            tly_relax();
        } else {
            sched_yield();
        }
    }
    unsigned expected = EMPTY;
    atomic_compare_exchange_strong_explicit(&s->state, &expected, AWAITED, memory_order_acquire,
                                            memory_order_acquire);
    while (!published(s)) {
        futex(&s->state, WAIT, AWAITED);
    }
}

static void publish(slot *s)
{
    /* Only the next chunk's task waits here. */
    if (atomic_exchange_explicit(&s->state, PUBLISHED, memory_order_acq_rel) == AWAITED) {
        futex(&s->state, WAKE, 1);
    }
}

/* Chunks [begin, end) of one row, which a task takes at once. */
typedef struct stretch {
    int64_t begin, end;
    slot *before, *after; /* NULL at the row's start, at its end */
    int late;             /* the carry before it was not there when it was taken */
    int looks;            /* totals come first */
} stretch;

/* Who finds the carry there scans its stretch, and who comes late makes totals first: of two
 * threads one should do only the former and the other both, which takes 1.6 to 2.1 times as long
 * a chunk, so that stretches of as many chunks at once end together. One that ends before the
 * totals beyond it are made comes late to the next, and both threads make totals. What machine
 * and data make of it is measured as it goes. Two threads' speed over one's, Zen 5, stretches of
 * 4 chunks at once and 2 late (of 16 bits 3), then as measured and 2, 3, 4 late: f16 sums 1.33,
 * then 1.41, 1.41, 1.33, products 1.33, then 1.42, 1.43, 1.37, bf16 1.41, then 1.46, 1.51, 1.49
 * (8 Mi elements); past the cache f32 sums 1.33, then 1.40, 1.46, 1.50, f64 1.35, then 1.46,
 * 1.51, 1.56. What is late must stay in L2, of which Zen 3 has 512 KiB, four chunks. */
enum { LATE = 3, FIRST_AT_ONCE = 6, MOST_AT_ONCE = 12 };

/* Chunks for who need make no totals: as many as take as long as LATE of the others, or a bit
 * more. */
static int64_t at_once_chunks(const tly_run *run)
{
    int64_t once = atomic_load_explicit(&run->once_ns, memory_order_relaxed);
    int64_t late = atomic_load_explicit(&run->late_ns, memory_order_relaxed);
    if (once == 0 || late == 0) {
        return FIRST_AT_ONCE;
    }
    return tly_smaller(tly_larger(tly_ceil_div(LATE * late, once), LATE), MOST_AT_ONCE);
}

/* Totals that take a small part of a scan come first always, so that no stretch waits for another's
 * scan: of chunks of short segments they are made of the last one alone. Two threads, Zen 5, 16 Mi
 * f32 in segments of 32 on average, ms without this and with it: products 3.05, 2.48, sums with
 * states 3.70, 2.76, indices 8.66, 6.56. */
enum { CHEAP = 8 };

static int is_cheap(const tly_run *run)
{
    int64_t total = atomic_load_explicit(&run->total_ns, memory_order_relaxed);
    int64_t late = atomic_load_explicit(&run->late_ns, memory_order_relaxed);
    return total > 0 && CHEAP * total < late;
}

/* Before a task calls itself late it waits for the carry that is about to come, up to 4 us; a
 * stretch of totals takes that and more. */
#define PATIENCE 60

static int comes(slot *s)
{
    for (int i = 0; i < PATIENCE && !published(s); i++) {
        tly_relax();
    }
    return published(s);
}

/* The next stretch in order, shorter towards a row's end; 0: there is none. */
static int take(tly_run *run, stretch *s)
{
    int64_t at = atomic_load_explicit(&run->next, memory_order_relaxed);
    do {
        if (at >= run->tickets) {
            return 0;
        }
        int64_t chunks = run->args->chunks, left = chunks - at % chunks;
        int64_t fair = left / (2 * run->threads) + 1;
        s->before = left < chunks ? slot_of(run, at - 1) : NULL;
        s->late = s->before != NULL && !comes(s->before);
        s->looks = s->late || (s->before != NULL && is_cheap(run));
        s->begin = at;
        s->end = at + tly_smaller(fair, s->looks ? LATE : at_once_chunks(run));
        s->after = s->end - at < left ? slot_of(run, s->end - 1) : NULL;
    } while (!atomic_compare_exchange_weak_explicit(&run->next, &at, s->end, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 1;
}

/* Makes the carry after a stretch known as early as can be; 0 if only its scan can tell. `taken`:
 * nanoseconds but for waiting. */
static int look_ahead(const tly_run *run, const stretch *s, tly_task part, uint64_t *taken)
{
    alignas(64) char totals[LATE][TLY_TOTAL_BYTES];
    alignas(8) char carries[LATE][TLY_CARRY_BYTES];
    tly_entry entry = tly_entry_of(run->kernel);
    int64_t count = s->end - s->begin;
    uint64_t start = tly_clock();
    part.mode = TLY_MODE_TOTAL;
    for (int64_t i = 0; i < count; i++) {
        part.begin = s->begin + i;
        part.end = part.begin + 1;
        part.carry_out = totals[i];
        entry(run->args, &part);
    }
    *taken = tly_clock() - start;
    await(s->before);
    part.mode = TLY_MODE_COMBINE;
    part.carry_in = s->before->carry;
    for (int64_t i = 0; i < count; i++) {
        part.carry_out = i + 1 < count ? carries[i] : s->after->carry;
        part.total = totals[i];
        if (entry(run->args, &part) != 0) {
            return 0;
        }
        part.carry_in = part.carry_out;
    }
    publish(s->after);
    return 1;
}

static void scan_stretch(tly_run *run, const stretch *s, char *scratch)
{
    uint64_t taken = 0;
    tly_task task = { .begin = s->begin, .end = s->end, .scratch = scratch };
    int known = s->after == NULL; /* nobody asks for the carry after a row's last chunk */
    if (s->looks && !known) {
        known = look_ahead(run, s, task, &taken);
        /* The totals left the stretch in the cache. Where most are late, what this thread reads
         * next is known well enough to come meanwhile; of two threads too seldom to be of use. */
        int64_t next = run->threads > 2 ? run->threads * LATE : 0;
        task.ahead = tly_multiply(next, run->kernel->chunk_step);
    }
    if (s->before != NULL) {
        await(s->before);
        task.carry_in = s->before->carry;
    }
    task.carry_out = known ? NULL : s->after->carry;
    uint64_t start = tly_clock();
    tly_entry_of(run->kernel)(run->args, &task);
    if (!known) {
        publish(s->after);
    }
    const int64_t chunks = s->end - s->begin;
    int64_t each = (int64_t)(taken + tly_clock() - start) / chunks;
    if (taken > 0 || !s->looks) {
        atomic_store_explicit(taken > 0 ? &run->late_ns : &run->once_ns, each,
                              memory_order_relaxed);
    }
    if (taken > 0) {
        atomic_store_explicit(&run->total_ns, (int64_t)taken / chunks, memory_order_relaxed);
    }
}

void tly_chain_work(tly_run *run, char *scratch)
{
    for (stretch s; take(run, &s);) {
        scan_stretch(run, &s, scratch);
    }
}

int tly_chain_begin(tly_run *run)
{
    run->slot_bytes = slot_bytes(run->kernel->carry_bytes);
    size_t bytes;
    if (__builtin_mul_overflow((size_t)run->tickets, run->slot_bytes, &bytes)) {
        return 0;
    }
    char *slots = aligned_alloc(64, bytes);
    if (slots == NULL) {
        return 0;
    }
    run->slots = slots;
    for (int64_t ticket = 0; ticket < run->tickets; ticket++) {
        atomic_init(&slot_of(run, ticket)->state, EMPTY);
    }
    return 1;
}

void tly_chain_end(tly_run *run)
{
    free(run->slots);
}
