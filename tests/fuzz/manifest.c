/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests. The input's first line is a word, the second one a plan, and the rest the name of a
 * device. Whatever the device is called, the manifest is printed as JSON in UTF-8 and as a C header
 * in ASCII. Everything that the manifest points to lies in its buffers.
 */
#include "cases.h"
#include "json.h"

/* The command is no library, so its source is included. Files of profiles are replaced. */
#include "../../tools/compile/manifest.c"

#include "../../runtime/context/internal.h"
#include "../../runtime/problem/generator.h"
#include "../../runtime/vulkan/profile.h"

const tly_generator *tally_codegen_generator(void);

int tly_profile_load(const char *path, char **text, tly_report *report)
{
    *text = NULL;
    return tly_refuse(report, EXIT_FILE, "file", "%s", path);
}

int tly_device_find(const char *wanted, char selector[32], tly_report *report)
{
    selector[0] = 0;
    return tly_refuse(report, EXIT_USAGE, "device", "%s", wanted);
}

static void check_manifest(const tally_manifest *m)
{
    for (uint32_t i = 0; i < m->dispatch_count; i++) {
        HOLDS(m->dispatches[i].module < m->module_count);
        HOLDS(m->dispatches[i].groups[0] > 0 && m->dispatches[i].groups[1] > 0);
    }
    for (uint32_t i = 0; i < m->zero_count; i++) {
        HOLDS(m->zeros[i].buffer < m->buffer_count);
        HOLDS(m->zeros[i].offset + m->zeros[i].bytes <= m->buffers[m->zeros[i].buffer].bytes);
    }
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        HOLDS(m->buffers[i].data_bytes <= m->buffers[i].bytes);
    }
}

static void check_json(const tally_manifest *m)
{
    tly_new_files files = { NULL, NULL };
    tly_report report = { 0 };
    const json j = { &files, "out.json", strlen("out") };
    HOLDS(add_json((void *)(uintptr_t)&j, "name", m, &report) == EXIT_DONE);
    tly_new_file *file = files.last;
    HOLDS(fclose(file->to) == 0);
    file->to = NULL;
    HOLDS(is_json(file->text, file->bytes));
    tly_new_files_drop(&files);
}

static void check_header(const tally_manifest *m)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    HOLDS(to != NULL);
    tly_header_add(to, "name", m);
    HOLDS(fclose(to) == 0);
    for (size_t i = 0; i < bytes; i++) {
        HOLDS(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
    }
    free(text);
}

/* Ends the text after its first line and returns it; *rest is what follows. */
static char *line_of(char *text, char **rest)
{
    *rest = text + strcspn(text, "\n");
    if (**rest) {
        *(*rest)++ = 0;
    }
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes), *rest, printed[8192];
    tly_profile profile = { .caps = fuzz_caps };
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    tally_context *context = NULL;
    tally_manifest *m = NULL;
    tally_error e = TALLY_ERROR_INIT;
    const char *word = line_of(text, &rest);
    options.plan = line_of(rest, &rest);
    options.profile = printed;
    snprintf(profile.device, sizeof profile.device, "%s", rest[0] ? rest : "a device");
    HOLDS(tly_profile_print(&profile, printed, sizeof printed) < sizeof printed);
    HOLDS(tally_context_create(NULL, &context, NULL) == TALLY_OK);
    tly_context_set_generator(context, tally_codegen_generator());
    if (tally_descriptor_parse(word, &d, NULL) == TALLY_OK) {
        const tally_status status = tally_manifest_create(context, &d, &options, &m, &e);
        HOLDS(status == TALLY_OK || status == TALLY_INVALID || status == TALLY_UNSUPPORTED);
        HOLDS(status == TALLY_OK || e.message[0] != 0);
    }
    if (m != NULL) {
        check_manifest(m);
        check_json(m);
        check_header(m);
    }
    tally_manifest_destroy(&m);
    tally_context_destroy(&context);
    free(text);
    return 0;
}
