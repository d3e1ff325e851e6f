/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: follows the protocol of runtime/problem/abi.h to the letter and relies on nothing
 * else. */
#include "tasks.h"

#include <stdalign.h>
#include <stdlib.h>

typedef struct cutter {
    const tally_kernel *kernel;
    const tly_args *args;
    char *scratch;
    tly_call call;
    void *user;
    tally_error *error;
} cutter;

static tally_status scan(const cutter *c, int64_t begin, int64_t end, const char *carry_in,
                         char *carry_out)
{
    tly_task task = { .begin = begin,
                      .mode = TLY_MODE_SCAN,
                      .scratch = c->scratch,
                      .carry_in = carry_in,
                      .carry_out = carry_out };
    tally_status status = TALLY_OK;

    for (; task.begin < end && !status; task.begin = task.end) {
        int64_t result;
        task.end = tly_call_end(&c->kernel->prepared, task.begin, end);
        status = c->call(c->user, c->args, &task, &result, c->error);
    }
    return status;
}

/* The carry after one chunk, from its total where that tells; *known is 0 where it does not. */
static tally_status look_ahead(const cutter *c, int64_t tile, const char *before, char *after,
                               int *known)
{
    alignas(64) char total[TLY_TOTAL_BYTES];
    tly_task task = { .begin = tile,
                      .end = tile + 1,
                      .mode = TLY_MODE_TOTAL,
                      .scratch = c->scratch,
                      .carry_out = total };
    int64_t result;
    tally_status status = c->call(c->user, c->args, &task, &result, c->error);
    if (status)
        return status;
    task.mode = TLY_MODE_COMBINE;
    task.carry_in = before;
    task.carry_out = after;
    task.total = total;
    status = c->call(c->user, c->args, &task, &result, c->error);
    *known = result == 0;
    return status;
}

/* Every chunk a task; carries run ahead of the scans, as they do between threads. */
static tally_status by_totals(const cutter *c)
{
    alignas(64) char carries[2][TLY_TOTAL_BYTES];
    const int64_t chunks = c->kernel->row_tiles;
    tally_status status = TALLY_OK;

    for (int64_t tile = 0; tile < c->kernel->tiles && !status; tile++) {
        const int64_t chunk = tile % chunks;
        char *before = carries[chunk & 1], *after = carries[~chunk & 1];
        int known = 0;
        if (chunk > 0 && chunk + 1 < chunks)
            status = look_ahead(c, tile, before, after, &known);
        if (!status)
            status = scan(c, tile, tile + 1, chunk ? before : NULL,
                          known || chunk + 1 == chunks ? NULL : after);
    }
    return status;
}

/* Ranges of one, two, three, ... tiles, which in rows cut into chunks hand their carries on. */
static tally_status by_ranges(const cutter *c)
{
    alignas(64) char carries[2][TLY_TOTAL_BYTES];
    const int chained = c->kernel->form == TLY_ROWS && c->kernel->row_tiles > 1;
    tally_status status = TALLY_OK;
    int64_t size = 1, which = 0;

    for (int64_t tile = 0; tile < c->kernel->tiles && !status; size++, which ^= 1) {
        int64_t end = tile + size < c->kernel->tiles ? tile + size : c->kernel->tiles;
        const int starts = tile % c->kernel->row_tiles == 0;
        status = scan(c, tile, end, chained && !starts ? carries[which] : NULL,
                      chained && end % c->kernel->row_tiles ? carries[which ^ 1] : NULL);
        tile = end;
    }
    return status;
}

/* The states of chunks of a reduction, the last first, and then what they come to. */
static tally_status by_states(const cutter *c)
{
    const tally_kernel *k = c->kernel;
    char *records = malloc((size_t)(k->tiles * k->record_bytes));
    tally_status status = records != NULL ? TALLY_OK : TALLY_OUT_OF_MEMORY;
    int64_t result;

    for (int64_t end = k->tiles, size = 1; end > 0 && !status; size++) {
        const int64_t begin = end > size ? end - size : 0;
        tly_task task = { .begin = begin,
                          .end = end,
                          .mode = TLY_MODE_TOTAL,
                          .scratch = c->scratch,
                          .carry_out = records + begin * k->record_bytes };
        status = c->call(c->user, c->args, &task, &result, c->error);
        end = begin;
    }
    tly_task all = {
        .end = k->tiles, .mode = TLY_MODE_COMBINE, .scratch = c->scratch, .carry_in = records
    };
    if (!status)
        status = c->call(c->user, c->args, &all, &result, c->error);
    free(records);
    return status;
}

/* The last part first, at a row's border where a row's tiles depend on each other. */
static tally_status reversed(const cutter *c)
{
    const tally_kernel *k = c->kernel;
    int64_t unit = k->form == TLY_ROWS || tly_reduces(k->form) ? k->row_tiles : 1;
    int64_t middle = k->tiles / unit / 2 * unit;
    tally_status status = scan(c, middle, k->tiles, NULL, NULL);
    if (!status && middle)
        status = scan(c, 0, middle, NULL, NULL);
    return status;
}

tally_status tly_tasks_run(const tally_kernel *kernel, const tly_args *args, char *scratch,
                           int32_t threads, tly_call call, void *user, tally_error *error)
{
    const cutter c = { kernel, args, scratch, call, user, error };
    if (threads == 1)
        return scan(&c, 0, kernel->tiles, NULL, NULL);
    if (tly_reduces(kernel->form))
        return threads > 2 && kernel->row_tiles > 1 ? by_states(&c) : reversed(&c);
    if (threads > 2)
        return by_ranges(&c);
    return kernel->form == TLY_ROWS && kernel->row_tiles > 1 ? by_totals(&c) : reversed(&c);
}
