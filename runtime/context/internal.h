/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's insides: what a context and a kernel are, and the few functions that its files
 * share. Nothing here is exported.
 *
 *   descriptor -> kernel.c: seen by this thread before? (thread_cache.c)
 *              -> canonical problem -> cache.c: made before? -> store.c -> generator.c -> load.c
 *   kernel     -> launch.c: one thread, or tasks by ticket (chain.c hands carries on) -> pool.c
 */
#ifndef TLY_INTERNAL_H
#define TLY_INTERNAL_H

#include "../cache/background.h"
#include "../cache/cache.h"
#include "../launch/debug.h"
#include "../launch/load.h"
#include "../launch/pool.h"
#include "../launch/prepared.h"
#include "../launch/scratch.h"
#include "../launch/worth.h"
#include "../problem/abi.h"
#include "../problem/generator.h"
#include "../problem/problem.h"

#include <tally/kernel.h>

#include <stdalign.h>
#include <stdatomic.h>

/* 64-bit words that tell one descriptor from every other: context, level, the fields up to
 * axes_given, then sizes, strides and offsets as far as they hold. */
#define TLY_SEEN_WORDS (2 + 5 + 3 * TALLY_MAX_RANK + 2)

/* Native code, shared by all kernels of its key. */
typedef struct tly_native_code {
    tly_object base;
    tly_launch launch;        /* of both codes */
    tly_code code;            /* the full one */
    tly_code quick;           /* what runs before that, if need be; calls may be in it for good */
    tly_shown *shown[2];      /* code and quick, to debuggers; NULL: not */
    _Atomic(tly_entry) entry; /* of `code`, once it is there; NULL until then */
} tly_native_code;

typedef struct tally_vulkan tally_vulkan;
typedef struct tally_vulkan_kernel tally_vulkan_kernel;
typedef struct tly_vulkan_known tly_vulkan_known; /* vulkan/door.c */

/* What the machine says about threads and memory, none of which changes a bit. Tests set others
 * before they make kernels. */
typedef struct tly_context_limits {
    int32_t cpus;          /* most tasks of a run; 0: as many as its thread may use CPUs */
    int32_t host_cpus;     /* the same on threads that a host lends to one run */
    int64_t split_rows;    /* bytes read and written worth a thread, in TLY_ROWS */
    int64_t split_lanes;   /* ... in the other forms of scans */
    int64_t split_reads;   /* ... of reductions, which write little */
    int64_t chain;         /* bytes read and written by rows that threads hand on to each other */
    int64_t crowd;         /* ... from which on these may be in each other's way to memory */
    int64_t share;         /* bytes: least width of a thread's range of lanes */
    int64_t scratch_bytes; /* of a task */
    int64_t between;       /* bytes between the steps of a gradient, in a block; 0: the usual */
} tly_context_limits;

struct tally_context {
    _Atomic int32_t threads; /* of a run that names no number */
    int32_t usual;           /* what `threads` was at first */
    int32_t most;            /* of any run */
    tally_parallel_for parallel;
    void *parallel_user;
    uint32_t isolate; /* ms that the helper may take; 0: kernels are made in this process */
    tly_cache cache;  /* kernels' code */
    tly_cache plans;  /* of kernels for Vulkan devices */
    tly_background background;
    tly_store store; /* behind both */
    tly_pool pool;
    tly_context_limits limits;
    tly_spare spare; /* scratch */
    pthread_mutex_t generator_lock;
    const tly_generator *generator; /* NULL: not opened yet; guarded by generator_lock */
    char *generator_path;           /* NULL: look for it */
    pthread_mutex_t vulkan_lock;
    tly_vulkan_known *vulkan;   /* devices opened by name; guarded by vulkan_lock */
    _Atomic uint64_t seen_hits; /* by descriptors that a thread has since forgotten */
};

/* A prepared launch and all that runs of it share. Immutable, but for the counters, for `entry`
 * and `plain` while it runs quick code, and for what runs learn. */
struct tally_kernel {
    union {
        tly_prepared prepared;
        struct {
            TLY_PREPARED_FIELDS
        };
    };
    _Atomic(tly_entry) entry; /* tasks take it from tly_entry_of */
    int64_t share_tiles;      /* least range of a thread where lanes are told apart */
    int64_t apart_flags;      /* tly_args.flags out of place */
    int64_t split_bytes;      /* worth a thread */
    /* Not empty, the machine runs it, `entry` is the full code's, and runs are not told. */
    _Atomic uint8_t plain;
    uint8_t alone;       /* never worth a second thread */
    uint8_t once;        /* and a run is one call, with no scratch but on the stack */
    int32_t carry_bytes; /* of one record */
    int32_t level;
    int64_t row_bytes;  /* of the output, where rows are dense; else 0 */
    int64_t chunk_step; /* bytes of input from one chunk to the next; may be negative */
    tly_worth worth[2]; /* of threads that hand on: out of place, in place */
    tally_context *context;
    tly_native_code *object;  /* NULL if empty, or not for a CPU */
    tally_vulkan_kernel *gpu; /* NULL if empty, or for a CPU */
    char *word;               /* runs on a CPU are told; NULL: they are not */
    atomic_uint refs;         /* handles, and at most one thread that has seen it */
    uint64_t hits;            /* guarded by that thread's lock */
    tally_descriptor full;    /* resolved */
    uint64_t seen_hash;
    uint32_t seen_words;
    uint64_t seen[];
};

/* launch.c: the code of a kernel that was made with quick code: the full one, as soon as it is
 * there; then the kernel is plain. The machine runs it. */
tly_entry tly_kernel_settle(const tally_kernel *kernel);

/* The code for the next task. */
static inline tly_entry tly_entry_of(const tally_kernel *k)
{
    return atomic_load_explicit(&k->plain, memory_order_relaxed)
               ? atomic_load_explicit(&k->entry, memory_order_acquire)
               : tly_kernel_settle(k);
}

/* context.c: size-first structs. Copies what is known of `from` to `to`, which holds `known`
 * bytes, zeroing the rest; TALLY_INVALID if `from` is too short or its unknown tail not zero. */
tally_status tly_struct_take(void *to, size_t known, const void *from, const char *what,
                             tally_error *error);

/* launch.c: the pointers of a caller's buffers. TALLY_INVALID if they are NULL, or their size is
 * none. */
tally_status tly_buffers_take(const tally_buffers *buffers, tly_pointers *pointers,
                              tally_error *error);

/* shared.c: the context of tally_context_shared; NULL: there is none yet. */
tally_context *tly_context_shared_now(void);

/* context.c: TALLY_BUSY with its message. */
tally_status tly_busy(tally_error *error);

/* context.c, for tests: a generator that is already there. */
void tly_context_set_generator(tally_context *context, const tly_generator *generator);

/* generator.c: opened at the first call, then remembered. */
tally_status tly_generator_find(tally_context *context, const tly_generator **generator,
                                tally_error *error);

/* request.c: what a creation asks for, checked and canonical; TALLY_UNSUPPORTED for what no kernel
 * exists for. Open sizes are TALLY_INVALID for a kernel that runs. */
typedef enum tly_asked {
    TLY_ASKED_RUN,  /* for a kernel that runs */
    TLY_ASKED_SHOW, /* for one that is shown, or made ahead of time */
    TLY_ASKED_WORD  /* for the word alone: problem and geometry are not set */
} tly_asked;

typedef struct tly_request {
    tally_descriptor full;
    tly_problem problem;
    tly_geometry geometry;
    int level;            /* TLY_LEVEL_NONE: not for a CPU */
    tally_vulkan *vulkan; /* NULL: not for a device that is here */
    tly_caps caps;        /* not for a CPU: the device's or the profile's */
    char target[64];      /* not for a CPU: the name that goes with them */
    const char *plan;     /* the caller's, or "" */
} tly_request;
tally_status tly_request_resolve(tally_context *context, const tally_descriptor *descriptor,
                                 const tally_kernel_options *options, tly_asked asked,
                                 tly_request *request, tally_error *error);

/* request.c: the same for a Vulkan device that the options do not name. */
tally_status tly_request_for(tally_vulkan *vulkan, const tally_descriptor *descriptor,
                             const tally_kernel_options *options, tly_request *request,
                             tally_error *error);

/* request.c: options of any version as this one's; NULL are the defaults. */
tally_status tly_kernel_options_take(const tally_kernel_options *options,
                                     tally_kernel_options *known, tally_error *error);

/* request.c: the target of options that are whole; nothing else of the request is set. */
tally_status tly_request_target(tally_context *context, const tally_kernel_options *known,
                                tly_request *request, tally_error *error);

/* What a creation is content with. */
typedef enum tly_want {
    TLY_WANT_CODE, /* quick code, too */
    TLY_WANT_FULL, /* never quick code alone */
    TLY_WANT_FOUND /* what is in memory, or nothing */
} tly_want;

/* native.c: the code for a request that is for a CPU; the caller gets a reference. *native stays as
 * it was if only what is in memory is wanted, and it is not there. */
tally_status tly_native_get(tally_context *context, const tly_request *request, tly_want want,
                            tly_native_code **native, tly_origin *origin, tally_error *error);

/* native.c: whether tly_native_get would have code, without making any. */
tally_status tly_native_supports(tally_context *context, const tly_request *request,
                                 tally_error *error);

/* log_events.c: TALLY_NO_GENERATOR. If the context never makes kernels, the message has the word of
 * the missing one and the hint says how to get it. */
tally_status tly_fail_never(const tally_context *context, const tly_request *request,
                            tally_error *error);

/* log_events.c: adds a hint to TALLY_NO_GENERATOR, which is there without a generator or without
 * LLVM: which kernel no pack has, by the dtypes that were requested. A missing helper program has a
 * hint of its own. */
void tly_hint_missing(tally_context *context, const tly_request *request, tally_error *error);

/* native.c: stores what the request's plan makes as the code without a plan (cache.h). */
tally_status tly_native_keep(tally_context *context, const tly_request *request,
                             tally_error *error);

/* native.c: a problem as a word without sizes. */
void tly_problem_word(const tly_problem *problem, char *text, size_t capacity);

/* log_events.c: logs a creation that began at `start` and ended with `status`, if there is a log,
 * and with TALLY_DUMP keeps every stage of a new kernel. Within the fork gate. */
void tly_log_creation(tally_context *context, const tly_request *request, const tly_origin *origin,
                      uint64_t start, tally_status status, const tally_error *error);

/* log_events.c: the request's word from malloc, with which its kernel logs runs. NULL if runs are
 * not logged, or without memory. */
char *tly_log_word(const tally_context *context, const tly_request *request);

/* inspect.c: the name of a stage that kernels of this request have, and "" for others. */
const char *tly_stage_name(const tly_request *request, tally_stage stage);

/* inspect.c: whether the request's kernels have a stage, and have it with its sizes. */
tally_status tly_stage_check(const tly_request *request, tally_stage stage, tally_error *error);

/* inspect.c: a stage that the request's kernels have; as tally_inspect. Within the fork gate. */
tally_status tly_stage_show(tally_context *context, const tly_request *request, tally_stage stage,
                            tally_write write, void *user, tally_error *error);

/* generator.c: whether it is of this library's build, so that what it makes may be stored. */
int tly_generator_lasting(const tly_generator *generator);

/* generator.c: the plan for a request that is not for a CPU; TALLY_NO_GENERATOR from a generator
 * without Vulkan. */
tally_status tly_plan_gpu(const tly_generator *generator, const tly_request *request,
                          tly_gpu_plan *plan, tally_error *error);

/* generator.c: the same without a generator, by the planner that is a part of libtally, too; not
 * in a libtally without Vulkan. */
tally_status tly_plan_alone(const tly_request *request, tly_gpu_plan *plan, tally_error *error);

/* kernel.c: has the full kernel for a descriptor in the context's memory. Within the fork gate. */
tally_status tly_kernel_warm(tally_context *context, const tally_descriptor *descriptor,
                             const tally_kernel_options *options, tally_error *error);

/* kernel.c: a kernel for one of `parts` equal parts of tensors, which no other creation gets. Its
 * runs write past the cache if those of all parts together would. 0 parts: never. */
tally_status tly_kernel_create_part(tally_context *context, const tally_descriptor *descriptor,
                                    const tally_kernel_options *options, int64_t parts,
                                    tally_kernel **kernel, tally_error *error);

/* kernel.c: drops one reference. Takes no lock. */
void tly_kernel_drop(tally_kernel *kernel);

/* devices.c: the level that tally_kernel_options.device names; NULL is "cpu". TLY_LEVEL_NONE, and
 * TALLY_OK, for what names no level. */
tally_status tly_device_level(const char *device, int *level, tally_error *error);

/* devices.c: after tly_fail: names the devices that are here. */
void tly_device_hint(tally_error *error);

/* devices.c: whether the text is "vulkan" or "vulkan:N", which are selectors on any machine. */
int tly_vulkan_selector(const char *device);

#endif
