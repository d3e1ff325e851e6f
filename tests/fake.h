/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generator without a compiler: its "code" jumps to a plain C scan of i64 sums, so that the
 * runtime's caches, launch and threads are tested alone, at any chunk size and with any delay.
 * TLY_ROWS with chunks of FAKE_CHUNK elements, other forms with tiles of FAKE_LANES lanes; and of
 * TLY_REDUCED_ROWS sums, with the same chunks.
 */
#ifndef FAKE_H
#define FAKE_H

#include "../runtime/context/internal.h"
#include "../runtime/host/error.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAKE_CHUNK 16
#define FAKE_LANES 4
#define FAKE_SCRATCH 192

/* An element whose chunk has no total: COMBINE must return 1. */
#define FAKE_NO_TOTAL INT64_C(77777)

static atomic_int fake_made;         /* calls of generate */
static atomic_int fake_scans;        /* chunks begun */
static atomic_int fake_combined;     /* carries found by COMBINE */
static atomic_int fake_carried;      /* scans that began with a carry */
static atomic_int fake_no_total;     /* COMBINE returned 1 */
static atomic_int fake_faults;       /* broken promises of the launch */
static atomic_int fake_delay_us;     /* of generate */
static atomic_int fake_held;         /* generate does not return before this is 0 */
static atomic_int fake_failures;     /* so many calls of generate fail */
static atomic_int fake_quickly_made; /* calls of generate_quick, which has no delay */
static atomic_int fake_quick_calls;  /* of its code */
static void (*fake_on_quick)(void);  /* called by it; NULL: nothing */
static int64_t fake_call_lanes = 12; /* no call takes more lanes of a row, for want of scratch */
static atomic_int fake_scan_us;      /* of a scan of one chunk, so that others must wait */
static atomic_int fake_crowding; /* it takes so many times as long beside another one; 0: once */
static atomic_int fake_inside;   /* tasks that are in such a scan */
static atomic_int fake_together; /* chunks that were scanned beside others */

static inline void fake_sleep(int us)
{
    if (us > 0) {
        nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000L }, NULL);
    }
}

static inline void fake_row(const tly_args *a, int64_t row, const char **in, char **out)
{
    *in = a->tensor[TLY_IN].base;
    *out = a->tensor[TLY_OUT].base;
    for (int64_t d = a->outer_rank - 1; d >= 0; d--) {
        *in += row % a->outer_size[d] * a->tensor[TLY_IN].outer[d];
        *out += row % a->outer_size[d] * a->tensor[TLY_OUT].outer[d];
        row /= a->outer_size[d];
    }
    if (row != 0) {
        fake_faults++;
    }
}

static inline void fake_use_scratch(const tly_task *t, size_t bytes)
{
    if (t->scratch == NULL || ((uintptr_t)t->scratch & 63) != 0) {
        fake_faults++;
    } else {
        memset(t->scratch, 0x5a, bytes);
    }
}

static inline void fake_take_time(void)
{
    const int crowded = fake_inside++ > 0;
    fake_together += crowded;
    fake_sleep(fake_scan_us * (crowded && fake_crowding > 0 ? fake_crowding : 1));
    fake_inside--;
}

static int64_t fake_rows(const tly_args *a, const tly_task *t)
{
    int64_t carry = 0;
    if (t->mode == TLY_MODE_COMBINE) {
        const int64_t *total = (const int64_t *)t->total;
        if (total[1]) {
            fake_no_total++;
            return 1;
        }
        memcpy(&carry, t->carry_in, sizeof carry);
        carry += total[0];
        memcpy(t->carry_out, &carry, sizeof carry);
        fake_combined++;
        return 0;
    }
    fake_use_scratch(t, FAKE_SCRATCH);
    int64_t odd = 0;
    for (int64_t tile = t->begin; tile < t->end; tile++) {
        const char *in;
        char *out;
        fake_row(a, tile / a->chunks, &in, &out);
        int64_t chunk = tile % a->chunks;
        if (t->mode == TLY_MODE_SCAN && tile == t->begin && (chunk > 0) != (t->carry_in != NULL)) {
            fake_faults++;
            return 0;
        }
        if (t->mode == TLY_MODE_TOTAL || chunk == 0) {
            carry = 0;
        } else if (tile == t->begin) {
            memcpy(&carry, t->carry_in, sizeof carry);
        }
        if (t->mode == TLY_MODE_SCAN && a->chunks > 1) {
            fake_scans++;
            fake_carried += tile == t->begin && t->carry_in != NULL;
            fake_take_time();
        }
        int64_t last = (chunk + 1) * FAKE_CHUNK < a->length ? (chunk + 1) * FAKE_CHUNK : a->length;
        for (int64_t i = chunk * FAKE_CHUNK; i < last; i++) {
            int64_t x;
            memcpy(&x, in + i * a->tensor[TLY_IN].axis, sizeof x);
            odd |= x == FAKE_NO_TOTAL;
            carry += x;
            if (t->mode == TLY_MODE_SCAN) {
                memcpy(out + i * a->tensor[TLY_OUT].axis, &carry, sizeof carry);
            }
        }
    }
    if (t->carry_out != NULL) {
        memcpy(t->carry_out, &carry, sizeof carry);
        if (t->mode == TLY_MODE_TOTAL) {
            memcpy(t->carry_out + 8, &odd, sizeof odd);
        }
    }
    return 0;
}

static int64_t fake_columns(const tly_args *a, const tly_task *t)
{
    int64_t lanes = (t->end - t->begin) * FAKE_LANES;
    int64_t most = t->begin / a->blocks == (t->end - 1) / a->blocks ? lanes : a->inner;
    most = most < a->inner ? most : a->inner;
    if (most > fake_call_lanes) {
        fake_faults++;
    }
    fake_use_scratch(t, FAKE_SCRATCH + 8 * (size_t)most);
    for (int64_t tile = t->begin; tile < t->end; tile++) {
        const char *in;
        char *out;
        fake_row(a, tile / a->blocks, &in, &out);
        int64_t lane = tile % a->blocks * FAKE_LANES;
        int64_t last = lane + FAKE_LANES < a->inner ? lane + FAKE_LANES : a->inner;
        for (; lane < last; lane++) {
            int64_t sum = 0;
            for (int64_t i = 0; i < a->length; i++) {
                int64_t x;
                memcpy(&x, in + i * a->tensor[TLY_IN].axis + lane * a->tensor[TLY_IN].lane,
                       sizeof x);
                sum += x;
                memcpy(out + i * a->tensor[TLY_OUT].axis + lane * a->tensor[TLY_OUT].lane, &sum,
                       sizeof sum);
            }
        }
    }
    return 0;
}

/* Sums of single rows: chunks have FAKE_CHUNK elements, and a record is their sum. */
static int64_t fake_reduced(const tly_args *a, const tly_task *t)
{
    int64_t sum = 0;
    if (a->steps != 1 || a->chunk_steps != 1 || a->chunk_length > FAKE_CHUNK) {
        fake_faults++;
        return 0;
    }
    fake_use_scratch(t, FAKE_SCRATCH);
    for (int64_t tile = t->begin; tile < t->end; tile++) {
        const char *in;
        char *out;
        fake_row(a, tile / a->chunks, &in, &out);
        const int64_t chunk = tile % a->chunks, first = chunk * a->chunk_length;
        if (t->mode == TLY_MODE_TOTAL || chunk == 0) {
            sum = 0;
        } else if (tile == t->begin) {
            fake_faults++; /* outputs are made whole */
        }
        if (t->mode == TLY_MODE_COMBINE) {
            int64_t record;
            memcpy(&record, t->carry_in + tile * (int64_t)sizeof record, sizeof record);
            sum += record;
            fake_combined++;
        } else {
            for (int64_t i = first; i < first + a->chunk_length && i < a->length; i++) {
                int64_t x;
                memcpy(&x, in + i * a->tensor[TLY_IN].axis, sizeof x);
                sum += x;
            }
        }
        if (t->mode == TLY_MODE_TOTAL) {
            memcpy(t->carry_out + (tile - t->begin) * (int64_t)sizeof sum, &sum, sizeof sum);
        } else if (chunk == a->chunks - 1) {
            memcpy(out, &sum, sizeof sum);
        }
    }
    return 0;
}

static void fake_note_quick(void)
{
    fake_quick_calls++;
    if (fake_on_quick != NULL) {
        fake_on_quick();
    }
}

static int64_t fake_quick_rows(const tly_args *a, const tly_task *t)
{
    fake_note_quick();
    return fake_rows(a, t);
}

static int64_t fake_quick_columns(const tly_args *a, const tly_task *t)
{
    fake_note_quick();
    return fake_columns(a, t);
}

static int64_t fake_quick_reduced(const tly_args *a, const tly_task *t)
{
    fake_note_quick();
    return fake_reduced(a, t);
}

/* Position-independent code that goes on at an absolute address. */
static inline unsigned char *fake_jump(tly_entry entry, size_t *bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)entry;
#if defined(__x86_64__)
    static const unsigned char code[] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 };
    size_t place = 2; /* movabs rax, address; jmp rax */
#else
    static const unsigned char code[16] = { 0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6 };
    size_t place = 8; /* ldr x16, address; br x16 */
#endif
    unsigned char *copy = malloc(sizeof code);
    if (copy != NULL) {
        memcpy(copy, code, sizeof code);
        memcpy(copy + place, &address, sizeof address);
        *bytes = sizeof code;
    }
    return copy;
}

static tally_status fake_fail(const char *plan, tally_error *error)
{
    tly_fail(error, TALLY_INTERNAL, "device", "cannot make %s", plan);
    tly_error_hint(error, "do not ask");
    return TALLY_INTERNAL;
}

static tally_status fake_build(const tly_problem *problem, const char *level, const char *plan,
                               int quick, tly_artifact *artifact, tally_error *error)
{
    static const tly_entry entries[2][3] = {
        { fake_columns, fake_rows, fake_reduced },
        { fake_quick_columns, fake_quick_rows, fake_quick_reduced },
    };
    const int reduces = problem->form == TLY_REDUCED_ROWS;
    const int rows = problem->form == TLY_ROWS || reduces;
    memset(artifact, 0, sizeof *artifact);
    artifact->launch.abi = strcmp(plan, "abi") == 0 ? 99 : TLY_ABI_VERSION;
    artifact->launch.form = problem->form;
    artifact->launch.chunk = rows ? FAKE_CHUNK : 0;
    artifact->launch.tile_lanes = rows ? 0 : FAKE_LANES;
    artifact->launch.scratch_bytes = FAKE_SCRATCH;
    artifact->launch.scratch_lane_bytes = rows ? 0 : 8;
    artifact->launch.record_bytes = rows ? sizeof(int64_t) : 0;
    artifact->launch.split_bytes = 64;
    strncpy(artifact->launch.level, level, sizeof artifact->launch.level - 1);
    artifact->code = fake_jump(entries[quick][rows + reduces], &artifact->code_bytes);
    return artifact->code != NULL ? TALLY_OK : tly_out_of_memory(error, "code", 16);
}

static tally_status fake_generate(const tly_problem *problem, const char *level, const char *plan,
                                  tly_artifact *artifact, tally_error *error)
{
    fake_made++;
    fake_sleep(fake_delay_us);
    while (fake_held) {
        fake_sleep(1000);
    }
    int failures = fake_failures;
    while (failures > 0 && !atomic_compare_exchange_weak(&fake_failures, &failures, failures - 1)) {
    }
    return failures > 0 || strcmp(plan, "fail") == 0
               ? fake_fail(plan, error)
               : fake_build(problem, level, plan, 0, artifact, error);
}

static tally_status fake_generate_quick(const tly_problem *problem, const char *level,
                                        const char *plan, tly_artifact *artifact,
                                        tally_error *error)
{
    fake_quickly_made++;
    return strstr(plan, "fail") != NULL ? fake_fail(plan, error)
                                        : fake_build(problem, level, plan, 1, artifact, error);
}

static void fake_release(tly_artifact *artifact)
{
    free(artifact->code);
}

static tally_status fake_show(const tly_problem *problem, const char *level, const char *plan,
                              tally_stage stage, tally_write write, void *user, tally_error *error)
{
    (void)problem;
    (void)stage;
    if (write(user, level, strlen(level)) != 0 || write(user, plan, strlen(plan)) != 0) {
        return tly_fail(error, TALLY_IO, "file", "no");
    }
    return TALLY_OK;
}

static const tly_generator fake_generator = {
    .abi = TLY_ABI_VERSION,
    .version = TLY_GENERATOR_VERSION,
    .generate = fake_generate,
    .release = fake_release,
    .show = fake_show,
    .generate_quick = fake_generate_quick,
};

/* A context with the fake, on a machine of many CPUs and little memory; NULL on failure. */
static inline tally_context *fake_context(const tally_context_options *options)
{
    tally_context *context = NULL;
    if (tally_context_create(options, &context, NULL) == TALLY_OK) {
        tly_context_set_generator(context, &fake_generator);
        context->limits.cpus = 64;
        context->limits.chain = 64;
        context->limits.share = 8 * FAKE_LANES;
        context->limits.scratch_bytes = FAKE_SCRATCH + 8 * fake_call_lanes;
    }
    return context;
}

/* A kernel for a word; NULL on failure. */
static inline tally_kernel *fake_kernel(tally_context *context, const char *word,
                                        tally_error *error)
{
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    if (tally_descriptor_parse(word, &d, error) == TALLY_OK) {
        tally_kernel_create(context, &d, NULL, &kernel, error);
    }
    return kernel;
}

#endif
