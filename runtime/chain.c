/*
 * Long rows cut into chunks: the carry's way from chunk to chunk, between threads. Guarantees the
 * bits of one thread (COMBINE and SCAN give the same carry), and that a task waits only for a
 * chunk with a smaller ticket, hence only for a task that runs. One slot a chunk, never used twice
 * in a run.
 */
#include "launch.h"

#include "checked.h"
#include "cpu/cpu.h"

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

/* Makes the carry after this chunk known as early as can be; 0 if only its scan can tell. */
static int look_ahead(const tly_run *run, const tly_task *task, slot *before, slot *after)
{
    alignas(64) char total[TLY_TOTAL_BYTES];
    tly_entry entry = run->kernel->entry;
    tly_task part = *task;
    part.mode = TLY_MODE_TOTAL;
    part.carry_out = total;
    entry(run->args, &part);
    await(before);
    part.mode = TLY_MODE_COMBINE;
    part.carry_in = before->carry;
    part.carry_out = after->carry;
    part.total = total;
    if (entry(run->args, &part) != 0) {
        return 0;
    }
    publish(after);
    return 1;
}

static void scan_chunk(const tly_run *run, int64_t ticket, char *scratch)
{
    int64_t chunks = run->args->chunks;
    int64_t chunk = ticket % chunks;
    tly_task task = { .begin = ticket, .end = ticket + 1, .scratch = scratch };
    slot *after = chunk + 1 < chunks ? slot_of(run, ticket) : NULL;
    int totalled = chunk > 0 && after != NULL;
    int known = after == NULL; /* nobody asks for the carry after a row's last chunk */
    if (chunk > 0) {
        slot *before = slot_of(run, ticket - 1);
        if (totalled) {
            known = look_ahead(run, &task, before, after);
        } else {
            await(before);
        }
        task.carry_in = before->carry;
    }
    task.carry_out = known ? NULL : after->carry;
    /* The total left this chunk in the cache; what this thread reads next comes meanwhile. */
    task.ahead = totalled ? tly_multiply(run->threads, run->kernel->chunk_step) : 0;
    run->kernel->entry(run->args, &task);
    if (!known) {
        publish(after);
    }
}

void tly_chain_work(tly_run *run, char *scratch)
{
    for (int64_t ticket; (ticket = tly_ticket(run)) >= 0;) {
        scan_chunk(run, ticket, scratch);
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
