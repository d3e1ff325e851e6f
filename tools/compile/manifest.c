/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests for Vulkan: kernels made for a device that is here or one that a profile describes,
 * written as JSON with a file for each module, or as C data (manifest_header.c).
 */
#include "manifest.h"

#include "profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PATH = 4096 };

static int no_memory(tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for the manifest");
}

/* ---- making ---- */

static int find_target(const tly_options *options, tally_kernel_options *target, char selector[32],
                       char **profile, tly_report *report)
{
    *target = (tally_kernel_options)TALLY_KERNEL_OPTIONS_INIT;
    *profile = NULL;
    if (options->device && options->profile) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--device and --profile exclude each other");
    }
    if (!options->device && !options->profile) {
        tly_refuse(report, EXIT_USAGE, "device", "%s is for Vulkan, and no device is named",
                   options->out);
        tly_hint(report, "--profile FILE, such as profiles/nvidia-hopper.profile, or --device "
                         "vulkan");
        return EXIT_USAGE;
    }
    int status = options->profile ? tly_profile_load(options->profile, profile, report)
                                  : tly_device_find(options->device, selector, report);
    target->profile = *profile;
    target->device = options->profile ? NULL : selector;
    return status;
}

/* Hands each kernel's manifest, in the order of the batch, to `add`. */
static int make_all(const tly_options *options, const tly_batch *batch,
                    int (*add)(void *user, const char *name, const tally_manifest *manifest,
                               tly_report *report),
                    void *user, tly_report *report)
{
    tally_kernel_options target;
    char selector[32], *profile;
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    int status = find_target(options, &target, selector, &profile, report);
    if (!status && tally_context_create(NULL, &context, &error) != TALLY_OK) {
        status = tly_adopt(report, &error);
    }
    for (size_t i = 0; i < batch->count && !status; i++) {
        const tly_batch_line *line = &batch->lines[i];
        tally_manifest *manifest = NULL;
        target.plan = line->plan;
        if (tally_manifest_create(context, &line->descriptor, &target, &manifest, &error) !=
            TALLY_OK) {
            status = tly_adopt(report, &error);
            tly_report_where(report, batch->count > 1 || line->where[0] ? line->name : "");
        } else {
            status = add(user, line->name, manifest, report);
        }
        tally_manifest_destroy(&manifest);
    }
    tally_context_destroy(&context);
    free(profile);
    return status;
}

/* ---- JSON ---- */

typedef struct json {
    tly_new_files *files;
    const char *out;
    size_t stem; /* of out, in front of .json */
} json;

static void put_hex(FILE *to, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    fputc('"', to);
    for (size_t i = 0; i < count; i++) {
        fprintf(to, "%02x", byte[i]);
    }
    fputc('"', to);
}

static void put_needs(FILE *to, const tally_manifest *m)
{
    fputs("  \"features\": [", to);
    for (uint32_t i = 0; i < m->feature_count; i++) {
        fprintf(to, "%s\"%s\"", i ? ", " : "", m->features[i]);
    }
    fputs("],\n  \"properties\": {", to);
    const char *comma = "";
    if (m->subgroup_size) {
        fprintf(to, "\"subgroupSize\": %" PRIu32, m->subgroup_size);
        comma = ", ";
    }
    if (m->subgroup_operations) {
        fprintf(to, "%s\"subgroupSupportedOperations\": %" PRIu32, comma, m->subgroup_operations);
        comma = ", ";
    }
    if (m->storage_buffers) {
        fprintf(to, "%s\"maxPerStageDescriptorStorageBuffers\": %" PRIu32, comma,
                m->storage_buffers);
        comma = ", ";
    }
    for (uint32_t i = 0; i < m->property_count; i++) {
        fprintf(to, "%s\"%s\": true", comma, m->properties[i]);
        comma = ", ";
    }
    fputs("},\n", to);
}

static void put_module(FILE *to, const tally_manifest_module *module, const char *file)
{
    fputs("    {\"file\": ", to);
    tly_json_string(to, file);
    fprintf(to, ", \"entry\": \"%s\", \"workgroup\": %" PRIu32 ", \"workgroup_bytes\": %" PRIu32,
            module->entry, module->workgroup, module->workgroup_bytes);
    if (module->subgroup) {
        fprintf(to, ", \"subgroup\": %" PRIu32, module->subgroup);
    }
    fputc('}', to);
}

static void put_buffer(FILE *to, const tally_manifest_buffer *buffer)
{
    fprintf(to,
            "    {\"name\": \"%s\", \"set\": %" PRIu32 ", \"binding\": %" PRIu32
            ", \"bytes\": %" PRIu64,
            buffer->name, buffer->set, buffer->binding, buffer->bytes);
    if (buffer->data) {
        fputs(", \"data\": ", to);
        put_hex(to, buffer->data, buffer->data_bytes);
    }
    fputc('}', to);
}

static void put_dispatch(FILE *to, const tally_manifest_dispatch *dispatch)
{
    const uint32_t *groups = dispatch->groups;
    fprintf(to,
            "    {\"module\": %" PRIu32 ", \"groups\": [%" PRIu32 ", %" PRIu32 ", %" PRIu32
            "], \"barrier\": %s, \"push\": ",
            dispatch->module, groups[0], groups[1], groups[2],
            dispatch->barrier ? "true" : "false");
    put_hex(to, dispatch->push, sizeof dispatch->push);
    fputc('}', to);
}

/* What comes between the items of an array, and around them. */
static void begin_array(FILE *to, const char *name)
{
    fprintf(to, "  \"%s\": [", name);
}

static void next_item(FILE *to, uint32_t i)
{
    fputs(i ? ",\n" : "\n", to);
}

static void end_array(FILE *to, uint32_t count, const char *behind)
{
    fprintf(to, "%s]%s\n", count ? "\n  " : "", behind);
}

/* Words as little-endian bytes, whatever this machine is. */
static void put_words(FILE *to, const tally_manifest_module *module)
{
    for (uint32_t i = 0; i < module->word_count; i++) {
        for (int k = 0; k < 32; k += 8) {
            fputc((int)(module->words[i] >> k & 0xff), to);
        }
    }
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Where a module goes. */
static int path_of(const json *j, uint32_t module, char path[MOST_PATH], tly_report *report)
{
    return snprintf(path, MOST_PATH, "%.*s.%" PRIu32 ".spv", (int)j->stem, j->out, module) <
                   MOST_PATH
               ? EXIT_DONE
               : tly_refuse(report, EXIT_FILE, "file", "%s: the path is too long", j->out);
}

static int add_modules(const json *j, const tally_manifest *m, tly_report *report)
{
    char path[MOST_PATH];
    for (uint32_t i = 0; i < m->module_count; i++) {
        const int status = path_of(j, i, path, report);
        FILE *to = status ? NULL : tly_new_files_add(j->files, path);
        if (!to) {
            return status ? status : no_memory(report);
        }
        put_words(to, &m->modules[i]);
    }
    return EXIT_DONE;
}

static int put_modules(FILE *to, const json *j, const tally_manifest *m, tly_report *report)
{
    char path[MOST_PATH];
    int status = EXIT_DONE;
    begin_array(to, "modules");
    for (uint32_t i = 0; i < m->module_count && !status; i++) {
        status = path_of(j, i, path, report);
        next_item(to, i);
        put_module(to, &m->modules[i], file_of(path));
    }
    end_array(to, m->module_count, ",");
    return status;
}

/* The modules first: who sees a manifest finds what it names. */
static int add_json(void *user, const char *name, const tally_manifest *m, tly_report *report)
{
    const json *j = user;
    (void)name;
    int status = add_modules(j, m, report);
    FILE *to = status ? NULL : tly_new_files_add(j->files, j->out);
    if (!to) {
        return status ? status : no_memory(report);
    }
    fputs("{\n  \"word\": ", to);
    tly_json_string(to, m->word);
    fputs(",\n  \"target\": ", to);
    tly_json_string(to, m->target);
    fprintf(to, ",\n  \"spirv\": \"%s\",\n", m->spirv);
    put_needs(to, m);
    status = put_modules(to, j, m, report);
    begin_array(to, "buffers");
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        next_item(to, i);
        put_buffer(to, &m->buffers[i]);
    }
    end_array(to, m->buffer_count, ",");
    begin_array(to, "zero");
    for (uint32_t i = 0; i < m->zero_count; i++) {
        const tally_manifest_zero *zero = &m->zeros[i];
        next_item(to, i);
        fprintf(to, "    {\"buffer\": \"%s\", \"offset\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
                m->buffers[zero->buffer].name, zero->offset, zero->bytes);
    }
    end_array(to, m->zero_count, ",");
    begin_array(to, "dispatches");
    for (uint32_t i = 0; i < m->dispatch_count; i++) {
        next_item(to, i);
        put_dispatch(to, &m->dispatches[i]);
    }
    end_array(to, m->dispatch_count, "");
    fputs("}\n", to);
    return status;
}

int tly_manifest_json(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                      tly_report *report)
{
    json j = { files, options->out, strlen(options->out) - strlen(".json") };
    if (batch->count != 1) {
        tly_refuse(report, EXIT_USAGE, "usage", "%s holds one kernel, and there are %zu",
                   options->out, batch->count);
        tly_hint(report, "a C header (-o FILE.h) holds any number");
        return EXIT_USAGE;
    }
    return make_all(options, batch, add_json, &j, report);
}

/* ---- a C header ---- */

static int add_header(void *user, const char *name, const tally_manifest *m, tly_report *report)
{
    if (strncmp(name, "tally_", strlen("tally_")) == 0) {
        return tly_refuse(report, EXIT_USAGE, "usage",
                          "%s: names that begin with tally_ are the header's own", name);
    }
    tly_header_add(user, name, m);
    return EXIT_DONE;
}

/* What a header is made of. */
typedef struct header {
    const tly_options *options;
    const tly_batch *batch;
} header;

static int put_header(FILE *to, const void *state, tly_report *report)
{
    const header *h = state;
    tly_header_begin(to);
    return make_all(h->options, h->batch, add_header, to, report);
}

int tly_manifest_header(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                        tly_report *report)
{
    const header h = { options, batch };
    FILE *to = tly_new_files_add(files, options->out);
    if (!to) {
        return no_memory(report);
    }
    fputs("/* Kernels for Vulkan, made by tally compile. */\n", to);
    return tly_guarded_put(to, options->out, batch->prefix, put_header, &h, report);
}
