/* SPDX-License-Identifier: Apache-2.0 */
/* tally compile for objects and what they are read as; see object.h. */
#include "object.h"

#include "targets.h"

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

static int put(void *to, const char *bytes, size_t count)
{
    return fwrite(bytes, 1, count, to) != count;
}

static int no_memory(tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for the object");
}

/* What the library writes for all lines of the batch. */
static int compile(const tly_targets *targets, const tly_batch *batch, tally_format format,
                   FILE *to, tly_report *report)
{
    const tally_context_options options = { .size = sizeof options, .cache_folder = "" };
    const char *devices[TLY_MOST_TARGETS];
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_function *functions = calloc(batch->count, sizeof *functions);
    if (!functions) {
        return no_memory(report);
    }
    for (size_t i = 0; i < batch->count; i++) {
        functions[i] = (tally_function){ sizeof *functions, batch->lines[i].name,
                                         &batch->lines[i].descriptor };
    }
    for (size_t i = 0; i < targets->count; i++) {
        devices[i] = targets->selectors[i];
    }
    int status = EXIT_DONE;
    if (tally_context_create(&options, &context, &error) != TALLY_OK ||
        tally_compile(context, functions, batch->count, devices, targets->count, format, put, to,
                      &error) != TALLY_OK) {
        status = tly_adopt(report, &error);
    }
    tally_context_destroy(&context);
    free(functions);
    return status;
}

static int make_archive(const tly_targets *targets, const tly_batch *batch, FILE *to,
                        tly_report *report)
{
    char *object = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&object, &bytes);
    if (!memory) {
        return no_memory(report);
    }
    int status = compile(targets, batch, TALLY_FORMAT_OBJECT, memory, report);
    if (fclose(memory) != 0 && !status) {
        status = no_memory(report);
    }
    if (!status) {
        tly_archive_write(to, batch, object, bytes);
    }
    free(object);
    return status;
}

static int add_header(const char *path, const tly_batch *batch, tly_pages *pages,
                      tly_report *report)
{
    FILE *to = tly_pages_add(pages, path);
    return to ? tly_prototypes_write(to, path, batch, report) : no_memory(report);
}

int tly_object_make(const tly_options *options, const tly_batch *batch, tly_pages *pages,
                    tly_report *report)
{
    tly_targets targets;
    const size_t i = which(options->out);
    if (options->profile) {
        return tly_refuse(report, EXIT_USAGE, "usage", "objects are for CPUs, not for a profile");
    }
    if (outputs[i].one && batch->count > 1) {
        return tly_refuse(report, EXIT_USAGE, "usage", "%s: one kernel's, for reading, not %zu",
                          options->out, batch->count);
    }
    int status = tly_targets_read(&targets, options->device, report);
    if (status) {
        return status;
    }
    FILE *to = tly_pages_add(pages, options->out);
    if (!to) {
        return no_memory(report);
    }
    status = outputs[i].archive ? make_archive(&targets, batch, to, report)
                                : compile(&targets, batch, outputs[i].format, to, report);
    return status || !options->header ? status : add_header(options->header, batch, pages, report);
}
