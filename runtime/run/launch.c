/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a kernel: checks the pointers, completes the prepared arguments, and either calls the
 * kernel once over all tiles, or lets tasks draw parts of them. Guarantees that nothing is written
 * on failure: all memory that a run cannot do without is there before its first store.
 */
#include "../context/backend.h"
#include "../cpu/cpu.h"
#include "../host/checked.h"
#include "../host/clock.h"
#include "../host/error.h"
#include "chain.h"
#include "reduce.h"
#include "segments.h"

#include <stdio.h>
#include <string.h>

/* Tickets for each thread where rows are many: enough to even out threads that are held up. */
#define TICKETS_A_THREAD 8

/* Whole pages for each ticket of dense rows, so that no two threads write to one line or page. */
#define PAGE 4096

/* From this many outer slices for each thread on, columns go out in whole slices, which one thread
 * sweeps one after the other; below, each thread gets a range of lanes of all slices. */
#define SLICES_A_THREAD 4

/* Quick code takes up to 16 KiB of stack by itself, and has its scratch elsewhere. */
static inline int is_plain(const tally_kernel *k)
{
    return atomic_load_explicit(&k->plain, memory_order_relaxed);
}

/* --- pointers ---------------------------------------------------------------------------- */

static tally_status refuse(const tally_kernel *k, const tly_pointers *p, tally_error *error)
{
    if (k->level != TLY_LEVEL_NONE && !tly_level_runs(k->level)) {
        tly_fail(error, TALLY_UNSUPPORTED, "device", "this machine does not run kernels for %s",
                 tly_level_name(k->level));
        tly_error_hint(error, "make the kernel for device cpu");
        return TALLY_UNSUPPORTED;
    }
    if (k->empty) {
        return TALLY_OK;
    }
    return tly_refuse_pointers(&k->rules, p, error);
}

/* --- tasks --------------------------------------------------------------------------------- */

static void range_of(const tly_run *run, int64_t ticket, tly_task *task)
{
    const tally_kernel *k = run->kernel;
    if (run->parts == 1) {
        int64_t row = ticket * run->rows;
        int64_t end = k->rows - row < run->rows ? k->rows : row + run->rows;
        task->begin = row * k->row_tiles;
        task->end = end * k->row_tiles;
    } else {
        int64_t first = ticket / run->parts * k->row_tiles;
        int64_t part = ticket % run->parts;
        task->begin = first + k->row_tiles * part / run->parts;
        task->end = first + k->row_tiles * (part + 1) / run->parts;
    }
}

static void draw(tly_run *run, char *scratch)
{
    if (run->slots != NULL) {
        tly_chain_work(run, scratch);
        return;
    }
    if (run->records != NULL) {
        tly_reduce_work(run, scratch);
        return;
    }
    if (run->by_elements) {
        tly_segments_work(run, scratch);
        return;
    }
    for (int64_t ticket; (ticket = tly_ticket(run)) >= 0;) {
        tly_task task = { .scratch = scratch };
        range_of(run, ticket, &task);
        tly_call_tiles(&run->kernel->prepared, tly_entry_of(run->kernel), run->args, task);
    }
}

static __attribute__((noinline)) void draw_on_stack(tly_run *run)
{
    alignas(64) char scratch[TLY_STACK_SCRATCH];
    draw(run, scratch);
}

static void work(void *state, int64_t index)
{
    (void)index;
    tly_run *run = state;
    const tally_kernel *k = run->kernel;
    if (is_plain(k) && k->scratch_bytes <= TLY_STACK_SCRATCH) {
        draw_on_stack(run);
        return;
    }
    /* The first task works in its caller's block, so that there are no more blocks than tasks. */
    tly_block *lent = atomic_exchange(&run->block, NULL);
    tly_block *block = lent != NULL ? lent : tly_scratch_take(&k->context->spare, k->scratch_bytes);
    if (block == NULL) {
        return; /* the tickets are left to tasks that have scratch; the caller's has */
    }
    draw(run, tly_scratch_of(block));
    if (lent != NULL) {
        atomic_store(&run->block, lent);
    } else {
        tly_scratch_give(&k->context->spare, block);
    }
}

static int64_t round_up(int64_t n, int64_t multiple)
{
    return tly_ceil_div(n, multiple) * multiple;
}

static int64_t rows_a_ticket(const tally_kernel *k, int64_t threads)
{
    int64_t rows = tly_ceil_div(k->rows, threads * TICKETS_A_THREAD);
    if (!tly_reduces(k->form) && k->form != TLY_ROWS && k->rows >= threads * SLICES_A_THREAD) {
        return round_up(rows, SLICES_A_THREAD);
    }
    if (k->row_bytes > 0) {
        /* Least number of rows that ends with a page: row_bytes' power of two completed. */
        int64_t power = k->row_bytes & -k->row_bytes;
        int64_t whole = power < PAGE ? PAGE / power : 1;
        if (rows >= whole) {
            return round_up(rows, whole);
        }
    }
    return rows;
}

/* Few long rows, whose carries threads hand on to each other. That takes time whatever a kernel
 * computes: f16 sums of 1 Mi, 4 MiB read and written, one and two threads 195, 219 us; f32 of 8 MiB
 * 390, 275 (Emerald Rapids). */
static int hands_on(const tally_kernel *k, int64_t threads)
{
    return k->form == TLY_ROWS && k->carry_bytes > 0 && k->bytes >= k->context->limits.chain &&
           k->rows < 2 * threads && k->rows % threads != 0 && k->row_tiles > 1;
}

/* A row in as many parts at most, each of whole tiles, as a ticket each. */
static void cut_rows(tly_run *run, int64_t most)
{
    const int64_t parts = tly_smaller(run->kernel->row_tiles, most);
    if (parts > 1) {
        run->parts = parts;
        run->rows = 1;
        run->tickets = run->kernel->rows * parts;
    }
}

/* How a run is cut: chains for few long rows, parts of rows where lanes can be told apart, whole
 * rows otherwise. 0: not at all. */
static int cut(tly_run *run, int64_t threads)
{
    const tally_kernel *k = run->kernel;
    run->rows = rows_a_ticket(k, threads);
    run->parts = 1;
    run->tickets = tly_ceil_div(k->rows, run->rows);
    if (tly_reduces(k->form)) {
        return tly_reduce_cut(run) || tly_segments_cut(run) || run->tickets > 1;
    }
    const int is_few = k->rows < threads * SLICES_A_THREAD && k->rows % threads != 0;
    if (k->form != TLY_ROWS) {
        if (is_few) { /* each thread sweeps one contiguous range of lanes: the wider the better */
            cut_rows(run, tly_smaller(threads, k->row_tiles / k->share_tiles));
        }
    } else if (hands_on(k, threads)) {
        run->tickets = k->tiles;
        return tly_chain_begin(run);
    } else if (k->carry_bytes == 0 && is_few) { /* chunks have no part in each other */
        cut_rows(run, tly_ceil_div(threads * TICKETS_A_THREAD, k->rows));
    }
    return run->tickets > 1;
}

int64_t tly_threads_for(const tally_context *context, const tally_run_options *with, int64_t worth)
{
    int64_t threads = with == NULL || with->threads == 0 ? tally_context_threads(context)
                                                         : with->threads;
    threads = threads < context->most ? threads : context->most;
    threads = threads < worth ? threads : worth;
    if (threads > 1) {
        int64_t cpus = context->limits.cpus;
        if (cpus == 0 && with != NULL && with->parallel != NULL) {
            cpus = context->limits.host_cpus;
        }
        cpus = cpus > 0 ? cpus : tly_cpu_count();
        threads = threads < cpus ? threads : cpus;
    }
    return threads;
}

void tly_spread(tally_context *context, const tally_run_options *with, int64_t count,
                void (*task)(void *state, int64_t index), void *state)
{
    if (with != NULL && with->parallel != NULL) {
        with->parallel(with->parallel_user, count, task, state);
    } else if (context->parallel != NULL) {
        context->parallel(context->parallel_user, count, task, state);
    } else {
        tly_pool_run(&context->pool, count, task, state);
    }
}

/* How many threads the run was given to; 0 if nothing is done yet, and one call is to do it. */
static int64_t run_tasks(const tally_kernel *k, const tly_args *args, const tally_run_options *with,
                         int64_t threads, tly_block *block, char *scratch)
{
    tly_run run = { .kernel = k, .args = args, .threads = threads, .block = block };
    if (!cut(&run, threads)) {
        return 0;
    }
    int64_t count = threads < run.tickets ? threads : run.tickets;
    tly_spread(k->context, with, count, work, &run);
    draw(&run, scratch); /* what tasks without scratch may have left */
    if (run.records != NULL) {
        tly_reduce_end(&run, scratch);
    }
    tly_segments_end(&run, scratch);
    tly_chain_end(&run);
    return count;
}

/* By `threads` at most; how many it was given to. */
static int64_t launch_by(const tally_kernel *k, const tly_args *args, const tally_run_options *with,
                         int64_t threads, tly_block *block, char *scratch)
{
    if (threads > 1 && tly_fork_enter()) {
        const int64_t count = run_tasks(k, args, with, threads, block, scratch);
        tly_fork_leave();
        if (count > 0) {
            return count;
        }
    }
    tly_call_tiles(&k->prepared, tly_entry_of(k), args,
                   (tly_task){ .end = k->tiles, .scratch = scratch });
    return 1;
}

/* Cores that share their way to memory may have no more of it together than one of them alone,
 * and threads that hand on read much of it twice. So past the cache it is learnt whether they
 * gain by it: one row of f32, 256 MiB, one and two threads 12.2, 13.8 ms (Zen 4), 8.7, 10.9 ms
 * (by 3, Zen 5); at other times, or of f16, two have 1.3 to 1.5 times the speed of one. */
static int64_t launch_as_learnt(const tally_kernel *k, const tly_args *args,
                                const tally_run_options *with, tly_block *block, char *scratch)
{
    int64_t threads = k->alone ? 1
                               : tly_threads_for(k->context, with, 1 + k->bytes / k->split_bytes);
    if (threads < 2 || k->bytes < k->context->limits.crowd || !hands_on(k, threads)) {
        return launch_by(k, args, with, threads, block, scratch);
    }
    /* What runs learn is no part of what the caller sees as the kernel. */
    const tly_worth *learnt = &k->worth[args->tensor[TLY_IN].base == args->tensor[TLY_OUT].base];
    tly_worth *worth = (tly_worth *)(uintptr_t)learnt;
    const int several = tly_worth_several(worth);
    const uint64_t start = tly_clock();
    threads = launch_by(k, args, with, several ? threads : 1, block, scratch);
    tly_worth_tell(worth, several, tly_clock() - start);
    return threads;
}

/* How many threads the run was given to. */
static int64_t launch(const tally_kernel *k, const tly_args *args, const tally_run_options *with,
                      tly_block *block, char *scratch)
{
    const int64_t threads = launch_as_learnt(k, args, with, block, scratch);
    if (with != NULL && with->threads_used != NULL) {
        *with->threads_used = (int32_t)threads;
    }
    return threads;
}

static __attribute__((noinline)) void launch_on_stack(const tally_kernel *k, const tly_args *args,
                                                      const tally_run_options *with)
{
    alignas(64) char scratch[TLY_STACK_SCRATCH];
    launch(k, args, with, NULL, scratch);
}

static __attribute__((noinline)) tally_status launch_on_block(const tally_kernel *k,
                                                              const tly_args *args,
                                                              const tally_run_options *with,
                                                              int64_t *threads, tally_error *error)
{
    tly_block *block = tly_scratch_take(&k->context->spare, k->scratch_bytes);
    if (block == NULL) {
        return tly_out_of_memory(error, "a thread's scratch", k->scratch_bytes);
    }
    *threads = launch(k, args, with, block, tly_scratch_of(block));
    tly_scratch_give(&k->context->spare, block);
    return TALLY_OK;
}

tly_entry tly_kernel_settle(const tally_kernel *kernel)
{
    /* Which code it is, is no part of what the caller sees as the kernel. */
    tally_kernel *k = (tally_kernel *)(uintptr_t)kernel;
    tly_entry full = atomic_load_explicit(&k->object->entry, memory_order_acquire);
    if (full == NULL) {
        return k->object->quick.entry;
    }
    atomic_store_explicit(&k->entry, full, memory_order_release);
    atomic_store_explicit(&k->plain, k->word == NULL, memory_order_relaxed);
    return full;
}

static __attribute__((noinline)) tally_status launch_many(const tally_kernel *k,
                                                          const tly_args *args,
                                                          const tally_run_options *with,
                                                          tally_error *error)
{
    int64_t threads;
    if (k->scratch_bytes > TLY_STACK_SCRATCH) {
        return launch_on_block(k, args, with, &threads, error);
    }
    launch_on_stack(k, args, with);
    return TALLY_OK;
}

/* On a CPU, whatever the code; `threads`: so many, 0 where there is nothing to do. */
static tally_status compute(const tally_kernel *k, const tly_pointers *p,
                            const tally_run_options *with, int64_t *threads, tally_error *error)
{
    if (k->object == NULL || !tly_level_runs(k->level) || !tly_acceptable(&k->rules, p) ||
        !tly_offsets_fit(&k->rules, p)) {
        return refuse(k, p, error);
    }
    tly_args args;
    tly_prepared_complete(&k->prepared, p, k->apart_flags, &args);
    return launch_on_block(k, &args, with, threads, error);
}

/* A run that is told. */
static tally_status run_told(const tally_kernel *k, const tly_pointers *p,
                             const tally_run_options *with, tally_error *error)
{
    const tly_log *log = &k->context->store.log;
    const uint64_t start = tly_clock();
    int64_t threads = 0;
    tally_status status = compute(k, p, with, &threads, error);
    const uint64_t taken = tly_clock() - start;
    if (status == TALLY_OK) {
        char device[32], how[32];
        snprintf(device, sizeof device, "cpu:%s", tly_level_name(k->level));
        snprintf(how, sizeof how, "threads=%d", (int)threads);
        tly_log_event(log, "run", device, how, taken, k->word);
        tly_log_say(log, TALLY_LOG_REASON,
                    "%s: threads: %lld bytes, a thread is worth %lld; %d in the context, %d CPUs",
                    k->word, (long long)k->bytes, (long long)k->split_bytes,
                    (int)tally_context_threads(k->context), (int)tly_cpu_count());
    }
    return status;
}

/* A canary of the stack takes .7 of the 13 ns of a ready call (Zen 4, two cores, bench/call.c), and
 * guards nothing here: tly_args is filled by fixed numbers of words. */
#ifdef __has_attribute
#if __has_attribute(no_stack_protector)
#define NO_CANARY __attribute__((no_stack_protector))
#endif
#endif
#ifndef NO_CANARY
#define NO_CANARY
#endif

/* Of a plain kernel's run, the only one. */
static inline void call(const tally_kernel *k, const tly_args *args, char *scratch)
{
    tly_task task = { .end = k->tiles, .scratch = scratch };
    atomic_load_explicit(&k->entry, memory_order_acquire)(args, &task);
}

/* Kept out of the way of calls without scratch, whose stack may be small. */
NO_CANARY
static __attribute__((noinline)) void call_on_stack(const tally_kernel *k, const tly_args *args)
{
    alignas(64) char scratch[TLY_STACK_SCRATCH];
    call(k, args, scratch);
}

NO_CANARY
static inline __attribute__((always_inline)) tally_status run_pointers(
    const tally_kernel *k, const tly_pointers *p, const tally_run_options *with, tally_error *error)
{
    tly_args args;
    tly_prepared_complete(&k->prepared, p, k->apart_flags, &args);
    if (!k->once) {
        return launch_many(k, &args, with, error);
    }
    if (k->scratch_bytes > 0) {
        call_on_stack(k, &args);
    } else {
        call(k, &args, NULL);
    }
    return TALLY_OK;
}

/* What has operands, is not plain, or not in order. `all`: NULL where there are only two. */
NO_CANARY
static __attribute__((noinline)) tally_status run_other(const tally_kernel *k, const void *in,
                                                        void *out, const tly_pointers *all,
                                                        const tally_run_options *with,
                                                        tally_error *error)
{
    tly_pointers p = all != NULL ? *all : tly_pointers_of(in, out);
    tly_pointers_place(&k->rules, &p);
    if (is_plain(k) && tly_acceptable(&k->rules, &p) && tly_offsets_fit(&k->rules, &p)) {
        return run_pointers(k, &p, with, error);
    }
    tly_pointers_fill(&p, k->unread);
    if (k->gpu != NULL && tly_acceptable(&k->rules, &p)) {
        return tly_vulkan_kernel_run(k->gpu, &p, error);
    }
    int64_t threads;
    return k->word != NULL ? run_told(k, &p, with, error) : compute(k, &p, with, &threads, error);
}

/* Two pointers stay in registers. Loops over operands, and an array of pointers whose address a
 * call takes, send them to memory (2 of 12.5 ns, Zen 4, bench/call.c). */
NO_CANARY
static inline __attribute__((always_inline)) tally_status run(const tally_kernel *k, const void *in,
                                                              void *out, const tly_pointers *all,
                                                              const tally_run_options *with,
                                                              tally_error *error)
{
    const tly_pointers p = tly_pointers_of(in, out);
    if (!is_plain(k) || k->rules.tensors > TLY_FIRST_OPERAND || !tly_acceptable(&k->rules, &p)) {
        return run_other(k, in, out, all, with, error);
    }
    return run_pointers(k, &p, with, error);
}

NO_CANARY
tally_status tally_kernel_run(const tally_kernel *kernel, const void *in, void *out,
                              tally_error *error)
{
    if (kernel == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the kernel is NULL");
    }
    return run(kernel, in, out, NULL, NULL, error);
}

tally_status tly_run_options_check(const tally_run_options *with, tally_error *error)
{
    if (with != NULL && with->threads < 0) {
        return tly_fail(error, TALLY_INVALID, "usage", "threads is %d, not 0 or more",
                        with->threads);
    }
    if (with != NULL && with->reserved != 0) {
        return tly_fail(error, TALLY_INVALID, "usage", "reserved is %u, not 0", with->reserved);
    }
    return TALLY_OK;
}

/* `with`: of this version's size, or NULL. */
NO_CANARY
static __attribute__((noinline)) tally_status run_by(const tally_kernel *k, const tly_pointers *p,
                                                     const tally_run_options *with,
                                                     tally_error *error)
{
    tally_status status = tly_run_options_check(with, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (k == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the kernel is NULL");
    }
    return run(k, p->at[TLY_IN], p->at[TLY_OUT], p, with, error);
}

NO_CANARY
tally_status tally_kernel_run_threads(const tally_kernel *kernel, const void *in, void *out,
                                      int32_t threads, tally_error *error)
{
    const tly_pointers p = tly_pointers_of(in, out);
    const tally_run_options with = { .size = sizeof with, .threads = threads };
    return run_by(kernel, &p, &with, error);
}

/* `options`: as the caller has them, or NULL. */
static tally_status run_with(const tally_kernel *kernel, const tly_pointers *p,
                             const tally_run_options *options, tally_error *error)
{
    tally_run_options with;
    if (options == NULL) {
        return run_by(kernel, p, NULL, error);
    }
    tally_status status = tly_struct_take(&with, sizeof with, options, "tally_run_options", error);
    if (status != TALLY_OK) {
        return status;
    }
    /* `launch` sets it. Without `launch` a kernel for a CPU runs as one call. */
    int32_t used = kernel != NULL && kernel->object != NULL;
    int32_t *wanted = with.threads_used;
    with.threads_used = &used;
    status = run_by(kernel, p, &with, error);
    if (status == TALLY_OK && wanted != NULL) {
        *wanted = used;
    }
    return status;
}

tally_status tally_kernel_run_with(const tally_kernel *kernel, const void *in, void *out,
                                   const tally_run_options *options, tally_error *error)
{
    const tly_pointers p = tly_pointers_of(in, out);
    return run_with(kernel, &p, options, error);
}

tally_status tly_buffers_take(const tally_buffers *buffers, tly_pointers *pointers,
                              tally_error *error)
{
    tally_buffers given;
    if (buffers == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the buffers are NULL");
    }
    tally_status status = tly_struct_take(&given, sizeof given, buffers, "tally_buffers", error);
    if (status != TALLY_OK) {
        return status;
    }
    *pointers = (tly_pointers){ {
#define AT(T, t, member, is_written, home, meaning) [TLY_##T] = (char *)(uintptr_t)given.member,
        TLY_TENSORS(AT)
#undef AT
    } };
    return TALLY_OK;
}

tally_status tally_kernel_run_buffers(const tally_kernel *kernel, const tally_buffers *buffers,
                                      const tally_run_options *options, tally_error *error)
{
    tly_pointers p;
    tally_status status = tly_buffers_take(buffers, &p, error);
    return status == TALLY_OK ? run_with(kernel, &p, options, error) : status;
}

tally_status tally_kernel_check_buffers(const tally_kernel *kernel, const tally_buffers *buffers,
                                        tally_error *error)
{
    tly_pointers p;
    tally_status status = tly_buffers_take(buffers, &p, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (kernel == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the kernel is NULL");
    }
    tly_pointers_place(&kernel->rules, &p);
    tly_pointers_fill(&p, kernel->unread);
    const int runs = kernel->level == TLY_LEVEL_NONE || tly_level_runs(kernel->level);
    const int is_fine = runs && (kernel->empty || tly_acceptable(&kernel->rules, &p));
    return is_fine ? TALLY_OK : refuse(kernel, &p, error);
}
