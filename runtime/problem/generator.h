/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door between the runtime and the generator: a table of functions that the runtime gets from
 * libtally-codegen, which it opens on the first miss. Nothing else crosses; one function both have.
 */
#ifndef TLY_GENERATOR_H
#define TLY_GENERATOR_H

#include <tally/kernel.h>

#include "abi.h"
#include "gpu.h"
#include "problem.h"

/* Raised when the code for an equal key may change. */
#define TLY_GENERATOR_VERSION 33u

/* A kernel as bytes: position-independent, entry at byte 0, nothing to relocate. */
typedef struct tly_artifact {
    tly_launch launch;
    unsigned char *code;
    size_t code_bytes;
} tly_artifact;

/* A word of an object (docs/ahead.md). */
typedef struct tly_ahead_word_order {
    const char *name; /* a C identifier */
    const tly_problem *problems;
    size_t problem_count;
    const tly_geometry *geometry; /* of the only problem; NULL: sizes are open, and problems in
                                     rising order */
    const tally_descriptor *full; /* the word, resolved */
    const char *plan;             /* overrides, of all its kernels; "" for none */
} tly_ahead_word_order;

enum { TLY_AHEAD_LEVELS = 8 };

typedef struct tly_ahead_order {
    const tly_ahead_word_order *words;
    size_t word_count;
    const char *levels[TLY_AHEAD_LEVELS]; /* of one architecture, best first */
    int32_t numbers[TLY_AHEAD_LEVELS];
    size_t level_count;
    tally_format format;
} tly_ahead_order;

/* Kernels that were read from text (tally/kir.h), those of a launch one after the other. */
typedef struct tly_kir {
    uint32_t count;
    uint32_t workgroup[TLY_GPU_PASSES]; /* invocations; 0: a kernel for CPUs */
} tly_kir;

/* Memory that an interpreted kernel has: `bytes` at the address `at`, which lie at `data`. */
typedef struct tly_kir_memory {
    uint64_t at, bytes;
    char *data;
    int writable;
} tly_kir_memory;

/* One call, or one dispatch, of one of them. Addresses are those of its memory, which is all that
 * it can reach. */
typedef struct tly_kir_call {
    uint32_t kernel;
    const tly_args *args; /* of a kernel for CPUs, as is `task` */
    const tly_task *task;
    const tly_push *push; /* of one with a workgroup, as are those below */
    uint32_t groups_x, groups_y, subgroup;
    const tly_kir_memory *memory;
    size_t memory_count; /* at most 8 */
    uint64_t *steps;     /* left; less on return */
} tly_kir_call;

typedef struct tly_generator {
    uint32_t abi;     /* TLY_ABI_VERSION */
    uint32_t version; /* TLY_GENERATOR_VERSION */
    /* tly_identity of its build; NULL or another: what it makes is not stored. */
    const char *identity;
    /* `level` is "x86-64-v3" and its like; `plan` overrides, "" for none. Thread-safe. */
    tally_status (*generate)(const tly_problem *problem, const char *level, const char *plan,
                             tly_artifact *artifact, tally_error *error);
    void (*release)(tly_artifact *artifact);
    /* Text of TALLY_STAGE_PLAN and later. Of TALLY_STAGE_LAUNCH the bytes of the launch record,
     * which the runtime makes a text of: it alone has the geometry. */
    tally_status (*show)(const tly_problem *problem, const char *level, const char *plan,
                         tally_stage stage, tally_write write, void *user, tally_error *error);
    /* The same for Vulkan. The plan is made first, because it is the key: it depends on the
     * geometry by a few choices only. NULL in a generator that was built without Vulkan.
     * `geometry` spans are known here; `plan` overrides as above. TALLY_UNSUPPORTED names the
     * feature that the device lacks. */
    tally_status (*plan_gpu)(const tly_problem *problem, const tly_geometry *geometry,
                             const tly_caps *caps, const char *overrides, tly_gpu_plan *plan,
                             tally_error *error);
    tally_status (*generate_gpu)(const tly_problem *problem, const tly_caps *caps,
                                 const tly_gpu_plan *plan, tly_gpu_artifact *artifact,
                                 tally_error *error);
    void (*release_gpu)(tly_gpu_artifact *artifact);
    tally_status (*show_gpu)(const tly_problem *problem, const tly_caps *caps,
                             const tly_gpu_plan *plan, tally_stage stage, tally_write write,
                             void *user, tally_error *error);
    /* As `generate`, of the same kernel IR and so with the same launch record and results, but
     * soon rather than well. NULL: there is no such way. */
    tally_status (*generate_quick)(const tly_problem *problem, const char *level, const char *plan,
                                   tly_artifact *artifact, tally_error *error);
    /* TALLY_STAGE_CHOICES for Vulkan, which the geometry has a say in; NULL as plan_gpu. */
    tally_status (*choices_gpu)(const tly_problem *problem, const tly_geometry *geometry,
                                const tly_caps *caps, const char *overrides, tally_write write,
                                void *user, tally_error *error);
    /* Writes an object in one piece, or text. TALLY_UNSUPPORTED where none can be made. */
    tally_status (*ahead)(const tly_ahead_order *order, tally_write write, void *user,
                          tally_error *error);
    /* From here on, of generators of this library's build alone (tly_generator_lasting): the table
     * of another one may be shorter. */
    /* Kernel IR from text, to be given back to `drop_kir`. What is wrong with the text, and what
     * `call_kir` finds a kernel to do, is TALLY_INVALID with a position in it. */
    tally_status (*read_kir)(const char *text, size_t bytes, tly_kir **kir, tally_error *error);
    void (*drop_kir)(tly_kir *kir);
    /* As `show` from TALLY_STAGE_KIR on, for a level or, where `caps` is not NULL, for Vulkan. */
    tally_status (*show_kir)(const tly_kir *kir, const char *level, const tly_caps *caps,
                             tally_stage stage, tally_write write, void *user, tally_error *error);
    tally_status (*call_kir)(const tly_kir *kir, const tly_kir_call *call, tally_error *error);
    /* What `generate` begins with: TALLY_OK if there is a plan. NULL: not known before. */
    tally_status (*check)(const tly_problem *problem, const char *level, const char *plan,
                          tally_error *error);
    /* Opens the library that `generate` needs, or with `gpu` generate_gpu. NULL: none. */
    tally_status (*open)(int gpu, tally_error *error);
} tly_generator;

/* libtally-codegen exports this under the name TLY_GENERATOR_SYMBOL. */
typedef const tly_generator *(*tly_generator_get)(void);
#define TLY_GENERATOR_SYMBOL "tally_codegen_generator"

/* codegen/plan/gpu_planner.c: `plan_gpu`, of which libtally has a copy for where there is no
 * generator. TALLY_UNSUPPORTED, field dtype or device: the feature that the device lacks.
 * TALLY_INVALID, field plan: an override that is none for this kernel, as tly_plan_make says
 * (codegen/plan/plan.h). A chunk is rounded up to whole tiles. */
tally_status tly_gpu_plan_make(const tly_problem *problem, const tly_geometry *geometry,
                               const tly_caps *caps, const char *overrides, tly_gpu_plan *plan,
                               tally_error *error);

/* generator.c: where libtally-codegen, and packs, are installed, to be looked for in this order. */
extern const char *const tly_places[];

#endif
