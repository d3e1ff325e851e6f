/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch, prepared as far as it can be without pointers, and the last steps with them. libtally
 * and the functions of objects made ahead of time (ahead.c) share it. Freestanding: this and
 * prepared.c need only memcpy and memset of the C library.
 */
#ifndef TLY_PREPARED_H
#define TLY_PREPARED_H

#include "../problem/abi.h"
#include "../problem/problem.h"

#include <stddef.h>
#include <string.h>

/* Scratch up to this lies on the stack, where it costs nothing: the calls that last for nanoseconds
 * need no more (18.1 KiB for 12 f32 on x86-64-v4), and a thread with 32 KiB has as much. */
enum { TLY_STACK_SCRATCH = 20480 };

/* Of a task; what does not fit goes in several calls. */
enum { TLY_MOST_SCRATCH = 1 << 20 };

/* Half of a 32 MiB cache: objects do not ask the system how much a machine has. It changes no
 * bit. */
#define TLY_AHEAD_STREAM_BYTES (INT64_C(16) << 20)

/* Reductions: most bytes of states of chunks, a thread, and those of one output or lanes side by
 * side. */
enum { TLY_REDUCE_MOST_RECORDS = 1 << 20, TLY_REDUCE_MOST_OUTPUT = TLY_REDUCE_MOST_RECORDS / 2 };

/* Bytes between two pointers at which what lies there is apart: from `above` on, and up to
 * `below`. */
typedef struct tly_apart {
    int64_t above, below;
} tly_apart;

/* What the addresses of tensors must fulfil. */
typedef struct tly_rules {
    tly_apart apart[TLY_TENSOR_COUNT];      /* from each that is read to the output */
    uintptr_t misaligned[TLY_TENSOR_COUNT]; /* bits that are zero in aligned addresses */
    int64_t in_place;                       /* input and output may be the same memory */
    int64_t tensors;                        /* how many there are */
    int64_t carry;                          /* TALLY_CARRY_...; the last two tensors, unless 0 */
    int64_t offsets;                        /* 1: a tensor behind the operands cuts the axis, ... */
    int64_t segments, size;                 /* ... of so many positions into so many segments */
} tly_rules;

static inline int64_t tly_tensors_ruled(const tly_rules *rules)
{
    return TLY_TENSOR_COUNT > TLY_FIRST_OPERAND ? rules->tensors : TLY_FIRST_OPERAND;
}

/* A caller's tensors: the addresses of their elements 0. */
typedef struct tly_pointers {
    char *at[TLY_TENSOR_COUNT];
} tly_pointers;

/* From tensors by their number to those of a kernel. What its word does not name is left out. */
static inline void tly_pointers_place(const tly_rules *rules, tly_pointers *p)
{
    if (TLY_TENSOR_COUNT == TLY_FIRST_OPERAND) {
        return;
    }
    char *const offsets = p->at[TLY_OPERANDS_END];
    char *const in = p->at[TLY_TENSOR_COUNT - 2], *const out = p->at[TLY_TENSOR_COUNT - 1];
    const int64_t end = rules->tensors - (rules->carry != 0 ? 2 : 0);
    if (rules->offsets) {
        p->at[end - 1] = offsets;
    }
    if (rules->carry != 0) {
        p->at[end] = rules->carry & TALLY_CARRY_IN ? in : NULL;
        p->at[end + 1] = rules->carry & TALLY_CARRY_OUT ? out : NULL;
    }
}

/* What is not read need not be there: addresses that are NULL become one that is aligned. */
static inline void tly_pointers_fill(tly_pointers *p, int64_t unread)
{
    static const max_align_t nowhere;
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        if (p->at[t] == NULL && (unread >> t & 1)) {
            p->at[t] = (char *)(uintptr_t)&nowhere;
        }
    }
}

/* What is only read has no const among the pointers. */
static inline tly_pointers tly_pointers_of(const void *in, void *out)
{
    return (tly_pointers){ { [TLY_IN] = (char *)(uintptr_t)in, [TLY_OUT] = (char *)out } };
}

/* Words of 64 bits each, so that an object has them as such: what has arrays with an element for
 * each tensor comes first (codegen/ahead.c). */
#define TLY_PREPARED_FIELDS \
    tly_args args;                   /* all but the tensors' bases and flags */ \
    int64_t first[TLY_TENSOR_COUNT]; /* bytes from the caller's pointers to position 0 of row 0 */ \
    tly_rules rules; \
    size_t scratch_bytes; /* a task */ \
    int64_t tiles, row_tiles, rows; \
    int64_t most_tiles;   /* of a row whose lanes one call takes at once */ \
    int64_t bytes;        /* read and written, of all tensors */ \
    int64_t record_bytes; /* reductions: of a tile's states */ \
    int64_t form;         /* tly_form */ \
    int64_t empty;        /* nothing to do */ \
    int64_t unread;       /* 1 << TLY_TENSOR_...: tensors that no element is read of */

typedef struct tly_prepared {
    TLY_PREPARED_FIELDS
} tly_prepared;

_Static_assert(sizeof(uintptr_t) == 8 && sizeof(size_t) == 8 && sizeof(tly_prepared) % 8 == 0,
               "words of 64 bits");

/* The kernel need not be known. */
void tly_rules_make(tly_rules *rules, const tly_problem *problem, const tly_geometry *geometry);

/* A bit for each tensor that no element is read of: its pointer may be NULL. */
int64_t tly_unread(const tly_problem *problem, const tly_geometry *geometry);

/* The rules, and whether there is anything to do or to read. */
void tly_prepared_check(tly_prepared *r, const tly_problem *problem, const tly_geometry *geometry);

/* pointers.c: says which rule pointers break that tly_acceptable does not take: TALLY_INVALID. */
tally_status tly_refuse_pointers(const tly_rules *rules, const tly_pointers *pointers,
                                 tally_error *error);

/* pointers.c: says what offsets are that tly_offsets_fault finds one wrong in: TALLY_INVALID. */
tally_status tly_refuse_offsets(const tly_rules *rules, const tly_pointers *pointers,
                                tally_error *error);

/* All else; `scratch` is the most bytes of a task, and runs of more than `far` bytes go past the
 * cache. */
void tly_prepared_make(tly_prepared *r, const tly_problem *problem, const tly_geometry *geometry,
                       const tly_launch *launch, int64_t scratch, int64_t far);

static inline int tly_is_misaligned(const tly_rules *rules, int tensor, const void *at)
{
    return ((uintptr_t)at & rules->misaligned[tensor]) != 0;
}

/* A tensor that is read, with `d` bytes from its element 0 to the output's: disjoint, or in
 * place where that is allowed. A scan of no elements that hands on states has an output without
 * bytes, which lies nowhere; so does its input. */
static inline int tly_is_apart_by(const tly_rules *rules, int tensor, int64_t d)
{
    return d >= rules->apart[tensor].above || d <= rules->apart[tensor].below ||
           (tensor == TLY_IN ? d == 0 && rules->in_place : rules->apart[TLY_OUT].above == 0);
}

static inline int tly_is_acceptable(const tly_rules *rules, const tly_pointers *p, int t)
{
    const int64_t d = (int64_t)((uintptr_t)p->at[TLY_OUT] - (uintptr_t)p->at[t]);
    return p->at[t] != NULL && !tly_is_misaligned(rules, t, p->at[t]) &&
           (t == TLY_OUT || tly_is_apart_by(rules, t, d));
}

/* Tensor t and the states that a run makes do not overlap. Both distances to the output are known,
 * and so are its bytes. */
static inline int tly_is_apart_from_states(const tly_rules *rules, const tly_pointers *p, int64_t t)
{
    const int64_t made = rules->tensors - 1, bytes = rules->apart[TLY_OUT].above;
    const int64_t d = (int64_t)((uintptr_t)p->at[made] - (uintptr_t)p->at[t]);
    const int is_nowhere = rules->apart[t].above == (t == TLY_OUT ? 0 : INT64_MIN);
    return p->at[t] == NULL || is_nowhere ||
           d >= rules->apart[t].above - rules->apart[made].below - bytes ||
           d <= rules->apart[t].below - rules->apart[made].above + bytes;
}

/* States that a run takes may be missing, and so is what its word does not name. */
static inline int tly_may_be_missing(const tly_rules *rules, int t)
{
    return rules->carry != 0 && (t == rules->tensors - 2 ||
                                 (t == rules->tensors - 1 && !(rules->carry & TALLY_CARRY_OUT)));
}

/* States that are read may be missing. Those that are made may replace them, and touch nothing
 * else. */
static inline int tly_carry_is_acceptable(const tly_rules *rules, const tly_pointers *p)
{
    const int from = (int)rules->tensors - 2, to = from + 1;
    int fine = p->at[from] == NULL || tly_is_acceptable(rules, p, from);
    if (!(rules->carry & TALLY_CARRY_OUT)) {
        return fine;
    }
    fine = fine && tly_is_acceptable(rules, p, to);
    for (int t = 0; t < from; t++) {
        fine = fine && tly_is_apart_from_states(rules, p, t);
    }
    return fine && (p->at[from] == p->at[to] || tly_is_apart_from_states(rules, p, from));
}

static inline int tly_acceptable(const tly_rules *rules, const tly_pointers *p)
{
    int fine = tly_is_acceptable(rules, p, TLY_IN) && tly_is_acceptable(rules, p, TLY_OUT);
    const int has_carry = TLY_TENSOR_COUNT > TLY_FIRST_OPERAND && rules->carry != 0;
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_ruled(rules) - 2 * has_carry; t++) {
        fine = fine && tly_is_acceptable(rules, p, t);
    }
    return has_carry ? fine && tly_carry_is_acceptable(rules, p) : fine;
}

/* Which of a kernel's tensors the offsets are, and offset i of them. */
static inline int64_t tly_offsets_number(const tly_rules *rules)
{
    return rules->tensors - 1 - (rules->carry != 0 ? 2 : 0);
}
int64_t tly_offset_at(const tly_rules *rules, const char *offsets, int64_t i);

/* The first offset that falls, or lies outside of the axis; -1: there is none. */
int64_t tly_offsets_fault(const tly_rules *rules, const tly_pointers *pointers);

/* Whether what a launch reads of its own tensors can be trusted. */
static inline int tly_offsets_fit(const tly_rules *rules, const tly_pointers *p)
{
    return TLY_TENSOR_COUNT == TLY_FIRST_OPERAND || !rules->offsets ||
           tly_offsets_fault(rules, p) < 0;
}

/* The arguments of one launch, with `flags` out of place. Copying all of them would take longer
 * than a small scan: most kernels have two outer dims at most, and what lies beyond outer_rank may
 * be anything. */
static inline void tly_prepared_complete(const tly_prepared *r, const tly_pointers *p,
                                         int64_t flags, tly_args *args)
{
    enum { FEW = 2 };
    if (r->args.outer_rank <= FEW && !tly_reduces((int)r->form) && r->args.segments == 0) {
        memcpy(args, &r->args, offsetof(tly_args, outer_size[FEW]));
        const size_t steps = offsetof(tly_tensor, outer[FEW]) - offsetof(tly_tensor, axis);
        for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
            memcpy(&args->tensor[t].axis, &r->args.tensor[t].axis, steps);
        }
    } else {
        memcpy(args, &r->args, offsetof(tly_args, tensor[TLY_FIRST_OPERAND]));
    }
    for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
        args->tensor[t].base = p->at[t] + r->first[t];
    }
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_ruled(&r->rules); t++) {
        args->tensor[t] = r->args.tensor[t];
        args->tensor[t].base = p->at[t] != NULL ? p->at[t] + r->first[t] : NULL;
    }
    args->flags = p->at[TLY_IN] == p->at[TLY_OUT] ? 0 : flags;
}

/* Where the call that begins with tile `begin` ends, of a task that ends at `end`: there, unless
 * the accumulators of the lanes would not fit into the scratch of a task. Then a row's lanes go
 * in equal parts. */
static inline int64_t tly_call_end(const tly_prepared *r, int64_t begin, int64_t end)
{
    if (r->row_tiles <= r->most_tiles) {
        return end;
    }
    int64_t left = r->row_tiles - begin % r->row_tiles;
    left = left < end - begin ? left : end - begin;
    int64_t calls = (left - 1) / r->most_tiles + 1;
    return begin + (left - 1) / calls + 1;
}

/* A task, in as many calls. */
static inline void tly_call_tiles(const tly_prepared *r, tly_entry entry, const tly_args *args,
                                  tly_task task)
{
    for (int64_t end = task.end; task.begin < end; task.begin = task.end) {
        task.end = tly_call_end(r, task.begin, end);
        entry(args, &task);
    }
}

#endif
