/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rooms of memory; see reserve.h. A room is a mapping that hands out blocks from its start and
 * keeps freed ones in lists by size, four sizes to a power of two. What LLVM keeps for ever (its
 * tables, a thread's target machine) outlives the call: a room is unmapped with its last block.
 */
#include "reserve.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../runtime/host/error.h"

enum {
    UNIT = 16,      /* every block is aligned so; malloc promises no more */
    SIZES = 4 * 24, /* up to 256 MiB */
    FIRST = 1 << 20 /* bytes for what happens outside of calls, such as the constructors of the
                           library while it is opened: 0.4 MB of LLVM's are live then */
};

/* In front of every block. */
typedef struct head {
    uint32_t size;  /* number of its list */
    uint32_t shift; /* from the start of the block's memory to its first byte */
    struct room *room;
} head;

_Static_assert(sizeof(head) == UNIT, "a block behind its head is aligned");

typedef struct room {
    struct room *next;  /* in the list of all */
    size_t bytes, used; /* of the mapping, this struct included */
    size_t live;        /* blocks */
    int closed;         /* its call has returned */
    void *freed[SIZES]; /* lists, linked through the blocks' first bytes */
} room;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of what follows */
static alignas(UNIT) unsigned char first_bytes[FIRST];
static room *rooms;
static size_t most;
static atomic_size_t live; /* blocks in all rooms: most processes never have one */

/* initial-exec: in a library that has one such variable glibc gives every thread all of the
 * library's at once. Others it allocates at their first use, and ends the process if it cannot.
 * musl never does, and takes no such library. */
#ifdef __GLIBC__
#define AT_ONCE __attribute__((tls_model("initial-exec")))
#else
#define AT_ONCE
#endif
static _Thread_local room *own AT_ONCE;
static _Thread_local int depth AT_ONCE;

/* Defined where reserve_wrap.c is linked. */
extern void *__wrap_malloc(size_t bytes) __attribute__((weak));

/* The list for `bytes`, and how many bytes its blocks have; SIZES if there is none. */
static uint32_t size_for(size_t bytes, size_t *whole)
{
    size_t power = UNIT;
    for (uint32_t size = 0; size < SIZES; size += 4, power *= 2) {
        for (uint32_t quarter = 0; quarter < 4; quarter++) {
            *whole = (power + quarter * (power / 4) + UNIT - 1) / UNIT * UNIT;
            if (bytes <= *whole) {
                return size + quarter;
            }
        }
    }
    return SIZES;
}

static void *take_from(room *r, size_t bytes, size_t align)
{
    size_t whole;
    const size_t extra = align > UNIT ? align : 0;
    const uint32_t size = bytes <= SIZE_MAX / 2 ? size_for(bytes + extra, &whole) : SIZES;
    if (size == SIZES) {
        return NULL;
    }
    unsigned char *start = r->freed[size];
    if (start != NULL) {
        memcpy(&r->freed[size], start, sizeof r->freed[size]);
    } else if (whole + UNIT <= r->bytes - r->used) {
        start = (unsigned char *)r + r->used + UNIT;
        r->used += whole + UNIT;
        most = r->used > most ? r->used : most;
    } else {
        return NULL;
    }
    uint32_t shift = 0;
    if (extra > 0) {
        shift = (uint32_t)(extra - (uintptr_t)start % extra) % (uint32_t)extra;
    }
    head h = { size, shift, r };
    memcpy(start + shift - UNIT, &h, sizeof h);
    r->live++;
    atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return start + shift;
}

/* The room that the block lies in. The lock is held. */
static room *room_of(const void *block)
{
    uintptr_t at = (uintptr_t)block;
    room *r = rooms;
    while (r != NULL && (at <= (uintptr_t)r || at - (uintptr_t)r >= r->bytes)) {
        r = r->next;
    }
    return r;
}

/* The lock is held. */
static void unmap(room *r)
{
    room **link = &rooms;
    while (*link != r) {
        link = &(*link)->next;
    }
    *link = r->next;
    munmap(r, r->bytes);
}

static void enlist(void *memory, size_t bytes, room **made)
{
    room *r = memory;
    memset(r, 0, sizeof *r);
    r->bytes = bytes;
    r->used = (sizeof *r + UNIT - 1) / UNIT * UNIT;
    r->next = rooms;
    rooms = r;
    *made = r;
}

void *tly_reserve_take(size_t bytes, size_t align)
{
    static room *first; /* guarded by the lock */
    pthread_mutex_lock(&lock);
    if (first == NULL) {
        enlist(first_bytes, sizeof first_bytes, &first);
    }
    void *block = own != NULL ? take_from(own, bytes, align) : NULL;
    if (block == NULL) {
        block = take_from(first, bytes, align);
    }
    pthread_mutex_unlock(&lock);
    return block;
}

int tly_reserve_give(void *block)
{
    if (atomic_load_explicit(&live, memory_order_relaxed) == 0) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    room *r = room_of(block);
    if (r != NULL) {
        head h;
        memcpy(&h, (unsigned char *)block - UNIT, sizeof h);
        unsigned char *start = (unsigned char *)block - h.shift;
        memcpy(start, &r->freed[h.size], sizeof r->freed[h.size]);
        r->freed[h.size] = start;
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
        if (--r->live == 0 && r->closed) {
            unmap(r);
        }
    }
    pthread_mutex_unlock(&lock);
    return r != NULL;
}

size_t tly_reserve_size(const void *block)
{
    if (atomic_load_explicit(&live, memory_order_relaxed) == 0) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    size_t whole = 0;
    if (room_of(block) != NULL) {
        head h;
        memcpy(&h, (const unsigned char *)block - UNIT, sizeof h);
        const size_t power = (size_t)UNIT << h.size / 4;
        whole = (power + h.size % 4 * (power / 4) + UNIT - 1) / UNIT * UNIT - h.shift;
    }
    pthread_mutex_unlock(&lock);
    return whole;
}

size_t tly_reserve_most(void)
{
    pthread_mutex_lock(&lock);
    size_t bytes = most;
    pthread_mutex_unlock(&lock);
    return bytes;
}

tally_status tly_reserve_enter(size_t bytes, tally_error *error)
{
    if (depth++ > 0) {
        return TALLY_OK; /* a writer that the caller gave has come back to us: one room will do */
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        depth = 0;
        return tly_out_of_memory(error, "making a kernel", bytes);
    }
    if (__wrap_malloc == NULL) {
        munmap(memory, bytes);
        return TALLY_OK;
    }
    pthread_mutex_lock(&lock);
    enlist(memory, bytes, &own);
    pthread_mutex_unlock(&lock);
    return TALLY_OK;
}

void tly_reserve_leave(void)
{
    if (--depth > 0 || own == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    room *r = own;
    own = NULL;
    if (r->live == 0) {
        unmap(r);
    } else {
        /* What was never handed out goes back at once. */
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        const size_t kept = (r->used + page - 1) / page * page;
        if (kept < r->bytes && munmap((unsigned char *)r + kept, r->bytes - kept) == 0) {
            r->bytes = kept;
        }
        r->closed = 1;
    }
    pthread_mutex_unlock(&lock);
}
