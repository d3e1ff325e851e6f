/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs. A context whose cache is this command has all kernels made as for a program that warms up,
 * and what it would store is kept here; pack_write.c of the library lays it out.
 */
#include "pack.h"

#include "targets.h"

#include "../../runtime/cache/pack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A pack on its way. */
typedef struct work {
    tally_context *context;
    const tly_batch *batch;
    tally_descriptor *descriptors; /* of the batch */
    char *lacking;                 /* 1 for each that the target at hand cannot compute */
    tly_targets targets;
    pthread_mutex_t lock; /* of what follows: the context's threads share it */
    tly_packed_entry *entries;
    size_t entry_count;
    int no_memory;
} work;

/* ---- what the context stores ---- */

static int no_memory(tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for the kernels");
}

/* NULL: there is none. The lock is held. */
static const tly_packed_entry *find(const work *w, uint64_t hash)
{
    for (size_t i = 0; i < w->entry_count; i++) {
        if (w->entries[i].hash == hash) {
            return &w->entries[i];
        }
    }
    return NULL;
}

/* The lock is held. */
static int keep(work *w, tly_packed_entry entry)
{
    void *entries = w->entries;
    const int room = tly_memory_room(&entries, w->entry_count, sizeof entry);
    w->entries = entries;
    if (!room) {
        return 0;
    }
    w->entries[w->entry_count++] = entry;
    return 1;
}

static void save(void *user, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    work *w = user;
    const uint64_t hash = tly_hash(0, key, key_bytes);
    void *copy = malloc(bytes + !bytes);
    if (copy) {
        memcpy(copy, data, bytes);
    }
    pthread_mutex_lock(&w->lock);
    /* Two threads may have made one kernel for a profile: the pack's table counts it once. */
    const int there = find(w, hash) != NULL;
    const int kept = !there && copy && keep(w, (tly_packed_entry){ hash, copy, bytes });
    w->no_memory |= !there && !kept;
    pthread_mutex_unlock(&w->lock);
    if (!kept) {
        free(copy);
    }
}

/* What one target has made, another may need: kernels for Vulkan depend on few of a device's
 * facts. */
static int load(void *user, const void *key, size_t key_bytes, tally_write give, void *to)
{
    work *w = user;
    pthread_mutex_lock(&w->lock);
    const tly_packed_entry *entry = find(w, tly_hash(0, key, key_bytes));
    const tly_packed_entry found = entry ? *entry : (tly_packed_entry){ 0, NULL, 0 };
    pthread_mutex_unlock(&w->lock);
    return entry ? give(to, found.bytes, found.count) : 1;
}

/* ---- making ---- */

/* The message begins with the place, from `first` on, of the descriptor that it is about.
 * Returns that one's name. */
static const char *take_line(const work *w, size_t first, tally_error *error)
{
    char *why = error->message;
    const size_t line = first + strtoull(error->message, &why, 10);
    if (why == error->message || strncmp(why, ": ", 2) != 0 || line >= w->batch->count) {
        return "";
    }
    memmove(error->message, why + 2, strlen(why + 2) + 1);
    return w->batch->lines[line].name;
}

static int refuse_as(const char *name, const tally_error *error, tly_report *report)
{
    const int status = tly_adopt(report, error);
    tly_report_where(report, name);
    return status;
}

/* `count` lines of one plan. */
static tally_status warm(work *w, tally_kernel_options target, size_t first, size_t count,
                         tally_error *error)
{
    target.plan = w->batch->lines[first].plan;
    return tally_context_warm(w->context, w->descriptors + first, count, &target, error);
}

/* Behind the lines from `first` on that have the same plan, up to the next that is left out. */
static size_t same_plan(const work *w, size_t first)
{
    const tly_batch *batch = w->batch;
    size_t end = first + 1;
    while (end < batch->count && !w->lacking[end] &&
           strcmp(batch->lines[end].plan, batch->lines[first].plan) == 0) {
        end++;
    }
    return end;
}

/* All lines but those that are left out. If one fails, *name is its name. */
static tally_status warm_all(work *w, tally_kernel_options target, const char **name,
                             tally_error *error)
{
    tally_status status = TALLY_OK;
    for (size_t first = 0, end; first < w->batch->count && status == TALLY_OK; first = end) {
        if (w->lacking[first]) {
            end = first + 1;
            continue;
        }
        end = same_plan(w, first);
        status = warm(w, target, first, end - first, error);
        if (status != TALLY_OK) {
            *name = take_line(w, first, error);
        }
    }
    return status;
}

static int make_for(work *w, tally_kernel_options target, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    const char *name;
    return warm_all(w, target, &name, &error) == TALLY_OK ? EXIT_DONE
                                                          : refuse_as(name, &error, report);
}

/* What the device cannot compute is left out, as one list is for devices with and without f64; a
 * list that has nothing else is refused. */
static int leave_out(work *w, tally_kernel_options target, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT, first = TALLY_ERROR_INIT;
    size_t lacking = 0;
    for (size_t i = 0; i < w->batch->count; i++) {
        target.plan = w->batch->lines[i].plan;
        const tally_status status = tally_context_supports(w->context, &w->descriptors[i], &target,
                                                           &error);
        if (status != TALLY_OK && status != TALLY_UNSUPPORTED) {
            return refuse_as(w->batch->lines[i].name, &error, report);
        }
        w->lacking[i] = status == TALLY_UNSUPPORTED;
        first = w->lacking[i] && lacking++ == 0 ? error : first;
    }
    /* The first one's name: none comes before it. */
    return lacking == w->batch->count ? refuse_as(w->batch->lines[0].name, &first, report)
                                      : EXIT_DONE;
}

static int make_for_profile(work *w, const char *text, tly_report *report)
{
    const tally_kernel_options target = { .size = sizeof target, .profile = text };
    int status = leave_out(w, target, report);
    if (!status) {
        status = make_for(w, target, report);
    }
    memset(w->lacking, 0, w->batch->count);
    return status;
}

static int make_all(work *w, tly_report *report)
{
    int status = EXIT_DONE;
    for (size_t i = 0; i < w->targets.count && !status; i++) {
        const tally_kernel_options target = { .size = sizeof target,
                                              .device = w->targets.selectors[i] };
        status = make_for(w, target, report);
    }
    for (size_t i = 0; i < w->targets.profile_count && !status; i++) {
        status = make_for_profile(w, w->targets.profiles[i], report);
    }
    return !status && w->no_memory ? no_memory(report) : status;
}

/* ---- a pack ---- */

static int put_pack(const work *w, const char *path, tly_new_files *files, tly_report *report)
{
    size_t count;
    void *bytes = tly_pack_write(w->entries, w->entry_count, &count);
    FILE *to = bytes ? tly_new_files_add(files, path) : NULL;
    if (to) {
        fwrite(bytes, 1, count, to);
    }
    free(bytes);
    return to ? EXIT_DONE : no_memory(report);
}

/* Levels where neither they nor profiles are named. */
static int find_targets(tly_targets *targets, const tly_options *options, tly_report *report)
{
    int status = EXIT_DONE;
    if (options->device || !options->profile) {
        status = tly_targets_read(targets, options->device, report);
    }
    if (!status && options->profile) {
        status = tly_targets_read_profiles(targets, options->profile, report);
    }
    return status;
}

static int fill_pack(work *w, const tly_options *options, tly_new_files *files, tly_report *report)
{
    const tally_context_options context = { .size = sizeof context,
                                            .threads = options->jobs,
                                            .cache_folder = "",
                                            .cache_load = load,
                                            .cache_save = save,
                                            .cache_user = w };
    tally_error error = TALLY_ERROR_INIT;
    int status = find_targets(&w->targets, options, report);
    if (status) {
        return status;
    }
    if (tally_context_create(&context, &w->context, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    status = make_all(w, report);
    if (!status && !w->entry_count) {
        return tly_refuse(
            report, EXIT_UNSUPPORTED, "device",
            "no kernel is needed for empty tensors, and none kept that a generator of "
            "another build makes");
    }
    return status ? status : put_pack(w, options->out, files, report);
}

int tly_pack_make(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                  tly_report *report)
{
    work w = { .batch = batch,
               .descriptors = calloc(batch->count, sizeof *w.descriptors),
               .lacking = calloc(batch->count, 1) };
    if (!w.descriptors || !w.lacking) {
        free(w.descriptors);
        free(w.lacking);
        return no_memory(report);
    }
    for (size_t i = 0; i < batch->count; i++) {
        w.descriptors[i] = batch->lines[i].descriptor;
    }
    /* Kernels that a pack has would not be stored once more. */
    setenv("TALLY_PACK", "", 1);
    pthread_mutex_init(&w.lock, NULL);
    const int status = fill_pack(&w, options, files, report);
    tally_context_destroy(&w.context);
    for (size_t i = 0; i < w.entry_count; i++) {
        free((void *)w.entries[i].bytes);
    }
    free(w.entries);
    free(w.descriptors);
    free(w.lacking);
    tly_targets_end(&w.targets);
    pthread_mutex_destroy(&w.lock);
    return status;
}
