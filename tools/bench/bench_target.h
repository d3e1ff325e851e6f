/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where kernels are timed and compared: a CPU or a Vulkan device, with the tensors of a word and
 * their data. A device gets the data once. `tally bench` times one kernel there, `tally tune` many.
 * Not thread-safe.
 */
#ifndef TLY_BENCH_TARGET_H
#define TLY_BENCH_TARGET_H

#include "../files/data.h"
#include "../files/job.h"
#include "bench_time.h"

struct tally_vulkan_kernel;

/* Times are taken on the first; the second is there once it is filled. */
enum { TLY_TIMED, TLY_JUDGED, TLY_INPUTS };

typedef struct tly_bench_target {
    tly_job job;
    char selector[32];
    int32_t threads; /* at most */
    tally_context *context;
    const tly_kind *data;       /* of the first input */
    char *in[TLY_INPUTS], *out; /* of a device's inputs, [0] is where each comes from */
    size_t in_bytes, out_bytes; /* of the buffers */
    const tly_kind *operand_data[TALLY_MAX_OPERANDS];
    char *operand[TALLY_MAX_OPERANDS];          /* the same for every input */
    size_t operand_bytes[TALLY_MAX_OPERANDS];   /* of the buffers; 0: no such operand */
    size_t operand_touched[TALLY_MAX_OPERANDS]; /* each element once */
    const tly_kind *states_data;
    char *states_in;      /* NULL: the word has no carry=in */
    size_t states_bytes;  /* of either tensor of a carry */
    size_t states_at;     /* carry=out: where in `out` its states lie, behind the output */
    char *offsets;        /* of segments; NULL: the word has none */
    size_t offsets_bytes; /* of the tensor, 0: likewise */
    size_t bytes;         /* each logical element of all tensors once */
    size_t moved;         /* by a copy, read and written; by a move; or by a reduction's read */
    size_t ceiling; /* what a copy takes from one buffer to the other, or what is moved or read */
    struct tly_bench_gpu *gpu; /* NULL: on a CPU */
} tly_bench_target;

/* A kernel for a target, either for a CPU or for a device. All zero is none. */
typedef struct tly_runner {
    tally_kernel *cpu;
    struct tally_vulkan_kernel *gpu;
} tly_runner;

/* Judges word and device, and opens the device; kernels can be made then. `cache_folder` as in
 * tally_context_options. To be closed after every outcome; all zero is valid there. */
int tly_bench_target_open(tly_bench_target *target, const char *word, const tly_options *options,
                          const char *cache_folder, tly_report *report);

/* The same where both are known. */
int tly_bench_target_open_on(tly_bench_target *target, const tly_job *job, const char *selector,
                             const tly_options *options, const char *cache_folder,
                             tly_report *report);

/* Gets the host's memory, zeros, which the following need. */
int tly_bench_target_lay(tly_bench_target *target, tly_report *report);

/* The second input before the first. */
int tly_bench_target_fill(tly_bench_target *target, int input, const tly_kind *kind,
                          tly_report *report);

void tly_bench_target_close(tly_bench_target *target);

tally_status tly_bench_target_make(tly_bench_target *target, const char *plan, tly_runner *runner,
                                   tally_error *error);
void tly_runner_drop(tly_runner *runner);

/* One run on the second input; target->out has the output then, zeros in its gaps, and the states
 * that are handed on. */
tally_status tly_bench_target_run(tly_bench_target *target, const tly_runner *runner,
                                  tally_error *error);

/* In turns with copies, moves or reads, or with `base` where that is not NULL. `seconds` 0: as long
 * as tally bench. */
tally_status tly_bench_target_time(tly_bench_target *target, const tly_runner *runner,
                                   const tly_runner *base, double seconds,
                                   tly_time_progress progress, tly_timing *timing,
                                   tally_error *error);

/* bench_sizes.c: sets the bytes of a target whose job and selector are set; and what follows from
 * these two alone. */
void tly_bench_target_measure(tly_bench_target *target);
/* bench_offsets.c: offsets of d->segments segments of an axis of so many elements. The borders lie
 * anywhere, the same in each run. */
void tly_bench_offsets(const tally_descriptor *d, int64_t size, void *offsets);

int tly_bench_target_on_gpu(const tly_bench_target *target);
tly_moves tly_bench_target_moves(const tly_bench_target *target);

/* How the ceilings are told. */
typedef struct tly_move_names {
    const char *text, *seconds, *all, *threads;
} tly_move_names;
extern const tly_move_names tly_move_names_of[3]; /* by tly_moves */

/* `"NAME": {"min": ..., "median": ..., "max": ...}, ` */
void tly_json_times(const char *name, const tly_spread *seconds);

#endif
