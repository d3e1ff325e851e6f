/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally compile: kernels made ahead of time. The end of the output's name says what is made of
 * them, and by whom: pack.c, object.c and manifest.c.
 */
#include "manifest.h"
#include "object.h"
#include "pack.h"
#include "profile.h"

#include "../../runtime/host/suggest.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for the names of files");
}

typedef int (*maker)(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                     tly_report *report);

/* What is made, by the end of its file's name. */
static const struct {
    const char *end;
    maker make;
    int functions; /* that a header declares */
    int names;     /* that a prefix goes in front of */
} outputs[] = {
    { ".pack", tly_pack_make, 0, 0 },    { ".o", tly_object_make, 1, 1 },
    { ".a", tly_object_make, 1, 1 },     { ".s", tly_object_make, 1, 1 },
    { ".ll", tly_object_make, 1, 1 },    { ".json", tly_manifest_json, 0, 0 },
    { ".h", tly_manifest_header, 0, 1 },
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
            if (options->prefix && !outputs[i].names) {
                return tly_refuse(report, EXIT_USAGE, "usage", "%s has no names for a prefix", out);
            }
            *make = outputs[i].make;
            return EXIT_DONE;
        }
        tly_names_add(ends, sizeof ends, outputs[i].end);
    }
    return tly_refuse(report, EXIT_USAGE, "file", "%s: the end of its name says what is made: %s",
                      out, ends);
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
    if (options->prefix) {
        status = tly_batch_prefix(batch, options->prefix, report);
    }
    for (int i = 0; i < options->args && !status; i++) {
        status = tly_batch_add(batch, options->arg[i], options->plan, "", report);
    }
    if (!status && options->batch) {
        status = tly_batch_read(batch, options->batch, options->plan, report);
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

/* What OUT is made of, in make's form. Packs alone are for several profiles. */
static int add_depfile(const tly_options *options, const tly_batch *batch, int several,
                       tly_new_files *files, tly_report *report)
{
    FILE *to = options->depfile ? tly_new_files_add(files, options->depfile) : NULL;
    if (!to) {
        return options->depfile ? no_memory(report) : EXIT_DONE;
    }
    put_name(to, options->out);
    fputc(':', to);
    for (size_t i = 0; i < batch->file_count; i++) {
        fputc(' ', to);
        put_name(to, batch->files[i]);
    }
    char *profiles = strdup(options->profile ? options->profile : ""), *rest = profiles;
    if (!profiles) {
        return no_memory(report);
    }
    for (const char *name; (name = strsep(&rest, several ? "," : "")) != NULL;) {
        char *path = tly_profile_find(name);
        fputs(name[0] ? " " : "", to);
        put_name(to, path ? path : name);
        free(path);
    }
    free(profiles);
    fputc('\n', to);
    return EXIT_DONE;
}

int tly_verb_compile(const tly_options *options, tly_report *report)
{
    tly_batch batch = { 0 };
    tly_new_files files = { 0 };
    maker make = NULL;
    int status = find_maker(options, &make, report);
    if (!status) {
        status = list_words(options, &batch, report);
    }
    if (!status && make) {
        status = make(options, &batch, &files, report);
        if (status) {
            tly_batch_where(&batch, report);
        }
    }
    if (!status) {
        status = add_depfile(options, &batch, make == tly_pack_make, &files, report);
    }
    if (!status) {
        status = tly_new_files_are_apart(&files, batch.files, batch.file_count, report);
    }
    if (!status) {
        status = tly_new_files_write(&files, report);
    }
    tly_new_files_drop(&files);
    tly_batch_end(&batch);
    return status;
}
