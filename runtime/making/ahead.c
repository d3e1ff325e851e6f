/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an object made ahead of time, all in one: they choose the kernel that suits the
 * machine, judge their pointers as libtally does, and run the tiles of their part. Freestanding but
 * for malloc, free, memcpy and memset.
 */
#include "ahead.h"

#include "../cpu/features.h"
#include "../descriptor/descriptor.h"
#include "../problem/canonicalise.h"

#include <stdalign.h>

/* Of Linux, on every architecture here. */
enum { NO_MEMORY = 12, INVALID = 22, NOT_SUPPORTED = 95 };

enum { LINE = 64 };

void *malloc(size_t bytes);
void free(void *block);

/* What tly_features_find says, and that it was asked. Threads that ask at once find the same. */
#define KNOWN (1u << 30)

static uint32_t features(void)
{
    static uint32_t found;
    uint32_t now = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (now == 0) {
        now = tly_features_find() | KNOWN;
        __atomic_store_n(&found, now, __ATOMIC_RELAXED);
    }
    return now;
}

static int64_t flags_of(const tly_prepared *r)
{
    return r->bytes > TLY_AHEAD_STREAM_BYTES ? TLY_LAUNCH_STREAM
           : features() & TLY_FEATURE_INTEL  ? TLY_LAUNCH_PREFETCHW
                                             : 0;
}

/* Tiles of one part: of rows and of reductions whole ones, so that none waits for another part. */
static void take_part(const tly_prepared *r, int64_t part, int64_t parts, tly_task *task)
{
    int whole = r->form == TLY_ROWS || tly_reduces((int)r->form);
    int64_t unit = whole ? r->row_tiles : 1, units = r->tiles / unit;
    int64_t each = units / parts, more = units % parts;
    task->begin = (part * each + (part < more ? part : more)) * unit;
    task->end = task->begin + (each + (part < more)) * unit;
}

static __attribute__((noinline)) void call_on_stack(const tly_prepared *r, tly_entry entry,
                                                    const tly_args *args, tly_task *task)
{
    alignas(LINE) char scratch[TLY_STACK_SCRATCH];
    task->scratch = scratch;
    tly_call_tiles(r, entry, args, *task);
}

static int call(const tly_prepared *r, tly_entry entry, const tly_args *args, tly_task *task)
{
    if (r->scratch_bytes == 0) {
        tly_call_tiles(r, entry, args, *task);
        return 0;
    }
    if (r->scratch_bytes <= TLY_STACK_SCRATCH) {
        call_on_stack(r, entry, args, task);
        return 0;
    }
    char *block = malloc(r->scratch_bytes + LINE);
    if (block == NULL) {
        return NO_MEMORY;
    }
    task->scratch = block + (LINE - (uintptr_t)block % LINE);
    tly_call_tiles(r, entry, args, *task);
    free(block);
    return 0;
}

static int run(const tly_prepared *r, tly_entry entry, char *const *tensors, int64_t part,
               int64_t parts)
{
    if (part < 0 || part >= parts) {
        return INVALID;
    }
    if (r->empty) {
        return 0;
    }
    tly_pointers p;
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        p.at[t] = t < tly_tensors_ruled(&r->rules) ? tensors[t] : NULL;
    }
    tly_pointers_fill(&p, r->unread);
    if (!tly_acceptable(&r->rules, &p) || !tly_offsets_fit(&r->rules, &p)) {
        return INVALID;
    }
    tly_args args;
    tly_task task = { .begin = 0 };
    tly_prepared_complete(r, &p, flags_of(r), &args);
    take_part(r, part, parts, &task);
    return task.begin < task.end ? call(r, entry, &args, &task) : 0;
}

int tly_ahead_run(const tly_ahead_word *word, const int64_t *sizes, char *const *tensors,
                  int64_t part, int64_t parts)
{
    const uint32_t levels = features();
    (void)sizes;
    for (int64_t i = 0; i < word->count; i++) {
        const tly_ahead_code *code = &word->codes[i];
        if (levels >> code->level & 1) {
            return run(&code->prepared, code->entry, tensors, part, parts);
        }
    }
    return NOT_SUPPORTED;
}

static const tly_ahead_variant *find(const tly_ahead_variant *variants, int64_t count,
                                     const tly_problem *problem)
{
    int64_t low = 0;
    while (low < count) {
        const int64_t middle = low + (count - low) / 2;
        const int order = tly_problem_order(problem, variants[middle].facts);
        if (order == 0) {
            return &variants[middle];
        }
        low = order < 0 ? low : middle + 1;
        count = order < 0 ? middle : count;
    }
    return NULL;
}

int tly_ahead_run_open(const tly_ahead_open *word, const int64_t *sizes, char *const *tensors,
                       int64_t part, int64_t parts)
{
    const uint32_t levels = features();
    int64_t first = 0;
    while (first < word->count && !(levels >> word->variants[first].level & 1)) {
        first += word->each;
    }
    if (first >= word->count) {
        return NOT_SUPPORTED;
    }
    tally_descriptor full;
    tly_problem problem;
    tly_geometry geometry;
    tly_prepared prepared;
    memset(&full, 0, sizeof full);
    memcpy(&full, word->full, sizeof word->full);
    if (!tly_close_sizes(&full, sizes)) {
        return INVALID;
    }
    memset(&prepared, 0, sizeof prepared);
    tly_canonicalise_variant(&full, &problem, &geometry);
    if (geometry.empty) {
        prepared.empty = 1;
        return run(&prepared, NULL, tensors, part, parts);
    }
    const tly_ahead_variant *v = find(word->variants + first, word->each, &problem);
    if (v == NULL) {
        return NOT_SUPPORTED;
    }
    tly_prepared_make(&prepared, &problem, &geometry, &v->launch, TLY_MOST_SCRATCH,
                      TLY_AHEAD_STREAM_BYTES);
    return run(&prepared, v->entry, tensors, part, parts);
}
