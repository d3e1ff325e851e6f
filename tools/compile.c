/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally compile: kernels made ahead of time. The end of the output's name says what is made of
 * them. For a pack, a context whose cache is this command has each kernel made as for a program, by
 * several threads, and keeps what it would store; manifest.c has what is for Vulkan.
 */
#include "manifest.h"
#include "object.h"
#include "targets.h"

#include "../runtime/guess.h"
#include "../runtime/pack.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_JOBS = 256 };

/* What all threads share. */
typedef struct work {
    tally_context *context;
    const tly_batch *batch;
    tly_targets targets;
    atomic_size_t next;   /* line times devices plus device */
    pthread_mutex_t lock; /* of what follows */
    tly_packed_entry *entries;
    size_t entry_count;
    int status;
    tly_report *report; /* the first failure's */
} work;

/* ---- what the context would store ---- */

static int no_memory(tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for the kernels");
}

static void fail(work *w, const char *name, const tally_error *error)
{
    pthread_mutex_lock(&w->lock);
    if (!w->status) {
        w->status = error ? tly_adopt(w->report, error) : no_memory(w->report);
        tly_report_where(w->report, name);
    }
    pthread_mutex_unlock(&w->lock);
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
    void *copy = malloc(bytes + !bytes);
    int kept = 0;
    if (copy) {
        memcpy(copy, data, bytes);
        pthread_mutex_lock(&w->lock);
        kept = keep(w, (tly_packed_entry){ tly_hash(0, key, key_bytes), copy, bytes });
        pthread_mutex_unlock(&w->lock);
    }
    if (!kept) {
        free(copy);
        fail(w, "", NULL);
    }
}

/* ---- making ---- */

static void make(work *w, size_t which)
{
    const tly_batch_line *line = &w->batch->lines[which / w->targets.count];
    const tally_kernel_options options = {
        .size = sizeof options, .device = w->targets.selectors[which % w->targets.count]
    };
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    if (tally_kernel_create(w->context, &line->descriptor, &options, &kernel, &error) != TALLY_OK) {
        fail(w, line->name, &error);
    }
    tally_kernel_destroy(&kernel);
}

static void *make_some(void *user)
{
    work *w = user;
    const size_t all = w->batch->count * w->targets.count;
    for (size_t which; (which = atomic_fetch_add(&w->next, 1)) < all;) {
        pthread_mutex_lock(&w->lock);
        const int failed = w->status;
        pthread_mutex_unlock(&w->lock);
        if (failed) {
            break;
        }
        make(w, which);
    }
    return NULL;
}

/* As many threads as there can be, this one among them. */
static void make_all(work *w, int jobs)
{
    pthread_t threads[MOST_JOBS];
    int started = 0;
    while (started < jobs - 1 && started < MOST_JOBS &&
           pthread_create(&threads[started], NULL, make_some, w) == 0) {
        started++;
    }
    make_some(w);
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* ---- a pack ---- */

static int put_pack(const work *w, const char *path, tly_pages *pages, tly_report *report)
{
    size_t count;
    void *bytes = tly_pack_write(w->entries, w->entry_count, &count);
    FILE *to = bytes ? tly_pages_add(pages, path) : NULL;
    if (to) {
        fwrite(bytes, 1, count, to);
    }
    free(bytes);
    return to ? EXIT_DONE : no_memory(report);
}

static int fill_pack(work *w, const tly_options *options, tly_pages *pages, tly_report *report)
{
    const tally_context_options context = {
        .size = sizeof context, .cache_folder = "", .cache_save = save, .cache_user = w
    };
    tally_error error = TALLY_ERROR_INIT;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int status = tly_targets_read(&w->targets, options->device, report);
    if (status) {
        return status;
    }
    if (tally_context_create(&context, &w->context, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    make_all(w, options->jobs ? options->jobs : (int)(cpus > 0 ? cpus : 1));
    if (!w->status && !w->entry_count) {
        return tly_refuse(
            report, EXIT_UNSUPPORTED, "device",
            "no kernel is needed for empty tensors, and none kept that a generator of "
            "another build makes");
    }
    return w->status ? w->status : put_pack(w, options->out, pages, report);
}

static int make_pack(const tly_options *options, const tly_batch *batch, tly_pages *pages,
                     tly_report *report)
{
    work w = { .batch = batch, .report = report };
    if (options->profile) {
        return tly_refuse(report, EXIT_USAGE, "usage", "a pack is for devices, not for a profile");
    }
    /* Kernels that a pack has would not be stored once more. */
    setenv("TALLY_PACK", "", 1);
    pthread_mutex_init(&w.lock, NULL);
    const int status = fill_pack(&w, options, pages, report);
    tally_context_destroy(&w.context);
    for (size_t i = 0; i < w.entry_count; i++) {
        free((void *)w.entries[i].bytes);
    }
    free(w.entries);
    pthread_mutex_destroy(&w.lock);
    return status;
}

/* ---- outputs ---- */

typedef int (*maker)(const tly_options *options, const tly_batch *batch, tly_pages *pages,
                     tly_report *report);

/* What is made, by the end of its file's name. */
static const struct {
    const char *end;
    maker make;
    int functions; /* that a header declares */
} outputs[] = {
    { ".pack", make_pack, 0 },        { ".o", tly_object_make, 1 },
    { ".a", tly_object_make, 1 },     { ".s", tly_object_make, 1 },
    { ".ll", tly_object_make, 1 },    { ".json", tly_manifest_json, 0 },
    { ".h", tly_manifest_header, 0 },
};

static int find_maker(const tly_options *options, maker *make, tly_report *report)
{
    const char *out = options->out;
    char ends[64] = "";
    const size_t length = out ? strlen(out) : 0;
    if (!out) {
        return tly_refuse(report, EXIT_USAGE, "usage", "-o is missing: where the kernels go");
    }
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        const size_t tail = strlen(outputs[i].end);
        if (length > tail && strcmp(out + length - tail, outputs[i].end) == 0) {
            if (options->header && !outputs[i].functions) {
                return tly_refuse(report, EXIT_USAGE, "usage", "%s has no functions to declare",
                                  out);
            }
            *make = outputs[i].make;
            return EXIT_DONE;
        }
        tly_names_add(ends, sizeof ends, outputs[i].end);
    }
    return tly_refuse(report, EXIT_UNSUPPORTED, "file",
                      "%s: the end of its name says what is made: %s", out, ends);
}

static int list_words(const tly_options *options, tly_batch *batch, tly_report *report)
{
    int status = EXIT_DONE;
    if ((options->args > 0) == (options->batch != NULL)) {
        tly_refuse(report, EXIT_USAGE, "usage",
                   "words or a --batch, and not both, say what to make");
        tly_hint(report, "tally compile WORD -o OUT.pack");
        return EXIT_USAGE;
    }
    for (int i = 0; i < options->args && !status; i++) {
        status = tly_batch_add(batch, options->arg[i], "", report);
    }
    if (!status && options->batch) {
        status = tly_batch_read(batch, options->batch, report);
    }
    return status || batch->count
               ? status
               : tly_refuse(report, EXIT_USAGE, "usage", "%s names no kernel", options->batch);
}

/* A name as make reads it. */
static void put_name(FILE *to, const char *name)
{
    for (; *name; name++) {
        if (strchr(" #\\", *name)) {
            fputc('\\', to);
        } else if (*name == '$') {
            fputc('$', to);
        }
        fputc(*name, to);
    }
}

/* What OUT is made of, in make's form. */
static int add_depfile(const tly_options *options, const tly_batch *batch, tly_pages *pages,
                       tly_report *report)
{
    FILE *to = options->depfile ? tly_pages_add(pages, options->depfile) : NULL;
    if (!to) {
        return options->depfile ? no_memory(report) : EXIT_DONE;
    }
    put_name(to, options->out);
    fputc(':', to);
    for (size_t i = 0; i < batch->file_count; i++) {
        fputc(' ', to);
        put_name(to, batch->files[i]);
    }
    if (options->profile) {
        fputc(' ', to);
        put_name(to, options->profile);
    }
    fputc('\n', to);
    return EXIT_DONE;
}

int tly_verb_compile(const tly_options *options, tly_report *report)
{
    tly_batch batch = { 0 };
    tly_pages pages = { 0 };
    maker make = NULL;
    int status = find_maker(options, &make, report);
    if (!status) {
        status = list_words(options, &batch, report);
    }
    if (!status && make) {
        status = make(options, &batch, &pages, report);
    }
    if (!status) {
        status = add_depfile(options, &batch, &pages, report);
    }
    if (!status) {
        status = tly_pages_write(&pages, report);
    }
    tly_pages_drop(&pages);
    tly_batch_end(&batch);
    return status;
}
