/* SPDX-License-Identifier: Apache-2.0 */
/* tally compile for objects and what they are read as; see object.h. */
#include "object.h"

#include "../bench/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *end;
    tally_format format;
    int one; /* kernel, as it is for reading */
    int archive;
} outputs[] = {
    { ".o", TALLY_FORMAT_OBJECT, 0, 0 },
    { ".a", TALLY_FORMAT_OBJECT, 0, 1 },
    { ".s", TALLY_FORMAT_ASSEMBLY, 1, 0 },
    { ".ll", TALLY_FORMAT_LLVM, 1, 0 },
};

static size_t which(const char *out)
{
    const char *end = strrchr(out, '.');
    size_t i = 0;
    while (i + 1 < sizeof outputs / sizeof *outputs && strcmp(end, outputs[i].end) != 0) {
        i++;
    }
    return i;
}

static int no_memory(tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for the object");
}

/* ---- one object ---- */

/* What all objects of a call are made with. */
typedef struct maker {
    tally_context *context;
    const char *devices[TLY_MOST_TARGETS];
    size_t device_count;
    tally_format format;
} maker;

/* The stream is in memory. */
static int put(void *to, const char *bytes, size_t count)
{
    return fwrite(bytes, 1, count, to) != count;
}

/* What the library writes for these lines. Thread-safe. */
static int compile(const maker *m, const tly_batch_line *lines, size_t count, FILE *to,
                   tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_function *functions = calloc(count, sizeof *functions);
    if (!functions) {
        return no_memory(report);
    }
    for (size_t i = 0; i < count; i++) {
        functions[i] = (tally_function){ sizeof *functions, lines[i].name, &lines[i].descriptor,
                                         lines[i].plan };
    }
    const tally_status status = tally_compile(m->context, functions, count, m->devices,
                                              m->device_count, m->format, put, to, &error);
    free(functions);
    if (status == TALLY_IO) {
        return no_memory(report);
    }
    return status == TALLY_OK ? EXIT_DONE : tly_adopt(report, &error);
}

/* ---- the objects of an archive ---- */

/* Lines of a member: as many whatever -j is, so that no byte depends on it. 200 words for AVX2 took
 * 5.4 s of processor time as one module, 6.0 by 16 lines, 6.8 by 4 (Emerald Rapids, busy). */
enum { MEMBER_LINES = 16 };

typedef struct work {
    const maker *maker;
    tly_member *members;
    size_t count;
    _Atomic size_t next;
    pthread_mutex_t lock;
    size_t failed; /* the first member that failed, or count; guarded by lock, as its report */
    tly_report *report;
} work;

static int make_member(const maker *m, tly_member *member, tly_report *report)
{
    FILE *to = open_memstream(&member->object, &member->bytes);
    if (!to) {
        return no_memory(report);
    }
    const int status = compile(m, member->lines, member->line_count, to, report);
    return fclose(to) != 0 && !status ? no_memory(report) : status;
}

static void fail(work *w, size_t i, const tly_report *report)
{
    pthread_mutex_lock(&w->lock);
    if (i < w->failed) {
        w->failed = i;
        *w->report = *report;
    }
    pthread_mutex_unlock(&w->lock);
    atomic_store(&w->next, w->count); /* those before it have begun, and may fail as well */
}

static void *make_some(void *state)
{
    work *w = state;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count;) {
        tly_report report = { 0 };
        if (make_member(w->maker, &w->members[i], &report)) {
            fail(w, i, &report);
        }
    }
    return NULL;
}

/* The report is the same for any number of threads: the first member's that fails. */
static int make_members(const maker *m, tly_member *members, size_t count, size_t threads,
                        tly_report *report)
{
    work w = { .maker = m, .members = members, .count = count, .failed = count, .report = report };
    pthread_mutex_init(&w.lock, NULL);
    tly_workers_run(threads < count ? threads : count, make_some, &w);
    pthread_mutex_destroy(&w.lock);
    return w.failed < count ? report->status : EXIT_DONE;
}

static int make_archive(const maker *m, const tly_batch *batch, size_t threads, FILE *to,
                        tly_report *report)
{
    const size_t count = (batch->count + MEMBER_LINES - 1) / MEMBER_LINES;
    tly_member *members = calloc(count, sizeof *members);
    if (!members) {
        return no_memory(report);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t first = i * MEMBER_LINES, left = batch->count - first;
        members[i].lines = batch->lines + first;
        members[i].line_count = left < MEMBER_LINES ? left : MEMBER_LINES;
    }
    int status = make_members(m, members, count, threads, report);
    if (!status) {
        status = tly_archive_write(to, members, count, report);
    }
    for (size_t i = 0; i < count; i++) {
        free(members[i].object);
    }
    free(members);
    return status;
}

/* ---- outputs ---- */

static int make(const tly_options *options, const tly_targets *targets, const tly_batch *batch,
                FILE *to, tly_report *report)
{
    const tally_context_options context = { .size = sizeof context, .cache_folder = "" };
    const size_t kind = which(options->out);
    const size_t threads = (size_t)(options->jobs ? options->jobs : tly_workers_cpus());
    maker m = { .device_count = targets->count, .format = outputs[kind].format };
    tally_error error = TALLY_ERROR_INIT;
    for (size_t i = 0; i < targets->count; i++) {
        m.devices[i] = targets->selectors[i];
    }
    if (tally_context_create(&context, &m.context, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    const int status = outputs[kind].archive ? make_archive(&m, batch, threads, to, report)
                                             : compile(&m, batch->lines, batch->count, to, report);
    tally_context_destroy(&m.context);
    return status;
}

static int add_header(const char *path, const tly_batch *batch, const tly_targets *targets,
                      tly_new_files *files, tly_report *report)
{
    FILE *to = tly_new_files_add(files, path);
    return to ? tly_prototypes_write(to, path, batch, targets, report) : no_memory(report);
}

int tly_object_make(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                    tly_report *report)
{
    tly_targets targets;
    const int one = outputs[which(options->out)].one;
    if (options->profile) {
        return tly_refuse(report, EXIT_USAGE, "usage", "objects are for CPUs, not for a profile");
    }
    if (one && batch->count > 1) {
        return tly_refuse(report, EXIT_USAGE, "usage", "%s: one kernel's, for reading, not %zu",
                          options->out, batch->count);
    }
    int status = tly_targets_read(&targets, options->device, report);
    if (status) {
        return status;
    }
    FILE *to = tly_new_files_add(files, options->out);
    if (!to) {
        return no_memory(report);
    }
    status = make(options, &targets, batch, to, report);
    return status || !options->header ? status
                                      : add_header(options->header, batch, &targets, files, report);
}
