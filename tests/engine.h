/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to run a kernel, behind one face, so that one driver compares them all:
 *   library    the public API, in as many threads as asked; of these, Vulkan devices have it alone
 *   lent       the same on a host's threads, lent for each run
 *   carry      the same, scans in pieces that go on with each other's states
 *   offsets    the same, segments of one size by offsets in memory
 *   native     the kernel's entry called directly, its tiles cut into tasks as threads would
 *   interpret  the same tasks, the kernel IR run by the interpreter
 *   remote     the same tasks, AArch64 or RISC-V code under an emulator
 *   plain      the reference itself, with or without a fault put in: checks the checker
 */
#ifndef TLY_ENGINE_H
#define TLY_ENGINE_H

#include <tally/kernel.h>

#include "host.h"

typedef struct tly_engine tly_engine;

/* What an engine runs on, of a word without operands. */
static inline tally_buffers tly_buffers(const void *in, void *out)
{
    return (tally_buffers){ .size = sizeof(tally_buffers), .in = in, .out = out };
}

struct tly_engine {
    const char *name;
    /* Makes the kernel for a descriptor; it holds until the next one. */
    tally_status (*prepare)(tly_engine *e, const tally_descriptor *d, const char *plan,
                            tally_error *error);
    /* Runs it; entry engines cut tiles differently for different `threads`. */
    tally_status (*run)(tly_engine *e, const tally_buffers *buffers, int32_t threads,
                        tally_error *error);
    void (*close)(tly_engine *e);
    /* Of what is prepared: floats are combined in another order than other engines do it. */
    int has_own_bits;
};

/* NULL and a message in *error: out of memory, no emulator. Free with e->close(e), before the
 * context. `device` is a selector. */
tly_engine *tly_engine_library(tally_context *context, const char *device, tally_error *error);
tly_engine *tly_engine_lent(tally_context *context, const char *device, tly_host *host,
                            tally_error *error);
tly_engine *tly_engine_carry(tally_context *context, const char *device, tally_error *error);
tly_engine *tly_engine_offsets(tally_context *context, const char *device, tally_error *error);
/* Scans in pieces, each of which has an engine of its own by `open`. */
enum { TLY_MOST_PIECES = 5 };
tly_engine *tly_engine_in_pieces(tly_engine *(*open)(void *user, tally_error *error), void *user,
                                 tally_error *error);
tly_engine *tly_engine_native(tally_context *context, const char *device, tally_error *error);
tly_engine *tly_engine_interpret(tally_context *context, const char *device, tally_error *error);
tly_engine *tly_engine_remote(tally_context *context, const char *device, tally_error *error);

/* Faults that tly_engine_plain can put in; every one must be noticed by tly_trial_run. */
typedef enum tly_fault {
    TLY_FAULT_NONE,
    TLY_FAULT_LAST_BIT,   /* one element is off by one unit in the last place */
    TLY_FAULT_LOST_CARRY, /* the scan starts anew in the middle of a row */
    TLY_FAULT_IDENTITY,   /* the first element is replaced by the identity */
    TLY_FAULT_BEYOND,     /* writes one byte behind the output */
    TLY_FAULT_BEFORE,     /* ... and one in front of it */
    TLY_FAULT_GAP,        /* ... and one between its elements */
    TLY_FAULT_INPUT,      /* writes to the input */
    TLY_FAULT_THREADS,    /* the result depends on the count of threads */
    TLY_FAULT_ALIGNMENT,  /* ... on the address */
    TLY_FAULT_IN_PLACE,   /* ... on being in place */
    TLY_FAULT_NEIGHBOUR,  /* ... on another scan's first element */
    TLY_FAULT_FLUSH,      /* subnormals count as zeros; none where the device says so */
    TLY_FAULT_STAGES,     /* from here on: faults of words with operands and expressions */
    TLY_FAULT_OPERAND = TLY_FAULT_STAGES, /* writes to an operand */
    TLY_FAULT_PLACE,                      /* takes an operand's first element for all */
    TLY_FAULT_NO_MAP,                     /* leaves out `map` */
    TLY_FAULT_NO_POST,                    /* leaves out `post` */
    TLY_FAULT_COUNT
} tly_fault;

tly_engine *tly_engine_plain(tly_fault fault, tally_error *error);

#endif
