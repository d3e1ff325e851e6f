/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices: the list that people and scripts read, and what --device means. The library knows the
 * devices; only the choice by a part of a name is made here.
 */
#include "../common/tool.h"
#include "../files/file.h"

#include "../../runtime/host/suggest.h"

#include <string.h>
#include <strings.h>

enum { MOST_DEVICES = 72, CPU_DEVICES = TLY_CPU_DEVICES };

typedef struct device_list {
    tally_device device[MOST_DEVICES];
    size_t count;
} device_list;

/* Without Vulkan's devices a list costs nothing. */
static int list_devices(device_list *list, int cpus_only, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    size_t most = cpus_only ? CPU_DEVICES : MOST_DEVICES;
    list->count = CPU_DEVICES;
    for (int i = 0; i < MOST_DEVICES; i++) {
        list->device[i].size = sizeof(tally_device);
    }
    if (tally_devices(list->device, most, cpus_only ? NULL : &list->count, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    if (list->count > most) {
        list->count = most;
    }
    return EXIT_DONE;
}

/* "vulkan" and "vulkan:N" are selectors on every machine, whether or not a device answers. */
static int is_vulkan(const char *wanted)
{
    static const char prefix[] = "vulkan";
    size_t length = sizeof prefix - 1;
    if (strncmp(wanted, prefix, length) != 0) {
        return 0;
    }
    return !wanted[length] || (wanted[length] == ':' && wanted[length + 1] &&
                               !wanted[length + 1 + strspn(wanted + length + 1, "0123456789")]);
}

static int contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text && length; text++) {
        if (strncasecmp(text, part, length) == 0) {
            return 1;
        }
    }
    return 0;
}

/* How well a device answers to `wanted`: not, by a part of its name (better if kernels run there,
 * best if it is the default), or by its selector. */
static int match(const tally_device *device, const char *wanted)
{
    if (strcmp(device->selector, wanted) == 0) {
        return 4;
    }
    if (!contains(device->name, wanted)) {
        return 0;
    }
    return device->is_default ? 3 : device->runs_here ? 2 : 1;
}

/* Whether GPUs of any kind were meant: what other programs call them, perhaps with a number. */
static int is_gpu(const char *wanted)
{
    static const char *const names[] = { "gpu", "cuda", "rocm", "hip",    "metal",
                                         "mps", "xpu",  "dml",  "opencl", "directml" };
    const size_t length = strcspn(wanted, ":");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length && strncasecmp(names[i], wanted, length) == 0) {
            return 1;
        }
    }
    return 0;
}

/* `list` may lack the Vulkan devices, where no such was meant. */
static int refuse(const device_list *list, const char *wanted, tly_report *report)
{
    tly_suggestion guess = tly_suggest_begin(wanted, strlen(wanted));
    char names[400] = "";
    tly_names_add(names, sizeof names, "cpu");
    for (size_t i = 0; i < list->count; i++) {
        tly_suggest_try(&guess, list->device[i].selector);
        tly_names_add(names, sizeof names, list->device[i].selector);
    }
    if (strncmp(wanted, "cpu", 3) != 0) {
        tly_suggest_try(&guess, "vulkan");
    }
    if (is_gpu(wanted)) {
        guess.best = "vulkan";
    }
    tly_refuse(report, EXIT_USAGE, "device", "there is no device '%s'" TLY_SUGGESTION, wanted,
               TLY_SUGGESTED(&guess));
    if (is_gpu(wanted)) {
        tly_hint(report, "GPUs are reached by Vulkan: --device vulkan is the best one, and tally "
                         "devices lists all");
        return EXIT_USAGE;
    }
    tly_hint(report, "--device takes %s, or part of a name that tally devices shows", names);
    return EXIT_USAGE;
}

int tly_device_find(const char *wanted, char selector[32], tly_report *report)
{
    device_list list;
    int best = 0;
    int status;
    if (wanted && is_vulkan(wanted) && strlen(wanted) < 32) {
        strcpy(selector, wanted);
        return EXIT_DONE;
    }
    status = list_devices(&list, !wanted || strncmp(wanted, "cpu", 3) == 0, report);
    if (status) {
        return status;
    }
    for (size_t i = 0; i < list.count; i++) {
        const tally_device *device = &list.device[i];
        int found = !wanted || strcmp(wanted, "cpu") == 0 ? device->is_default * 4
                                                          : match(device, wanted);
        if (found > best) {
            best = found;
            memcpy(selector, device->selector, sizeof device->selector);
        }
    }
    if (!best) {
        return refuse(&list, wanted ? wanted : "cpu", report);
    }
    return EXIT_DONE;
}

int tly_device_must_run(const char *selector, tly_report *report)
{
    device_list list;
    const int status = list_devices(&list, 1, report);
    for (size_t i = 0; !status && i < list.count; i++) {
        if (strcmp(list.device[i].selector, selector) == 0 && !list.device[i].runs_here) {
            tly_refuse(report, EXIT_UNSUPPORTED, "device",
                       "this machine does not run kernels for %s", selector);
            tly_hint(report, "make the kernel for device cpu");
            return EXIT_UNSUPPORTED;
        }
    }
    return status;
}

/* Blank-separated words as a JSON array. */
static void print_words(char *words)
{
    char *rest;
    int first = 1;
    putchar('[');
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        fputs(first ? "" : ", ", stdout);
        tly_json_string(stdout, word);
        first = 0;
    }
    putchar(']');
}

static void print_json(device_list *list)
{
    putchar('[');
    for (size_t i = 0; i < list->count; i++) {
        tally_device *device = &list->device[i];
        fputs(i ? ",\n {\"name\": " : "{\"name\": ", stdout);
        tly_json_string(stdout, device->name);
        fputs(", \"kind\": ", stdout);
        tly_json_string(stdout, device->kind);
        fputs(", \"selector\": ", stdout);
        tly_json_string(stdout, device->selector);
        fputs(", \"lacks\": ", stdout);
        print_words(device->lacks);
        printf(", \"runs_here\": %s, \"default\": %s}", device->runs_here ? "true" : "false",
               device->is_default ? "true" : "false");
    }
    puts("]");
}

static void print_table(const device_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const tally_device *device = &list->device[i];
        printf("%-16s %-7s ", device->selector, device->kind);
        tly_text_show(stdout, device->name, 0);
        printf("%s%s%s%s\n", device->is_default ? " (default)" : "",
               device->runs_here ? "" : " (kernels can be made, not run here)",
               device->lacks[0] ? "; lacks " : "", device->lacks);
    }
}

/* The Vulkan device that is meant where none is named: the only one. */
static int find_profiled(const tly_options *options, char selector[32], tly_report *report)
{
    device_list list;
    int found = 0;
    int status = options->device ? tly_device_find(options->device, selector, report)
                                 : list_devices(&list, 0, report);
    for (size_t i = 0; !status && !options->device && i < list.count; i++) {
        if (strcmp(list.device[i].kind, "vulkan") == 0) {
            found++;
            memcpy(selector, list.device[i].selector, sizeof list.device[i].selector);
        }
    }
    if (!status && !options->device && found != 1) {
        status = tly_refuse(report, found ? EXIT_USAGE : EXIT_UNSUPPORTED, "device",
                            found ? "there are %d Vulkan devices: --device says which"
                                  : "there are %d Vulkan devices",
                            found);
    }
    return status;
}

typedef struct writing {
    tly_output output;
    tly_report *report;
    int status;
} writing;

static int write_piece(void *user, const char *text, size_t bytes)
{
    writing *w = user;
    w->status = tly_output_write(&w->output, text, bytes, w->report);
    return w->status;
}

/* Whole, or not at all. */
static int write_profile(const char *selector, const char *path, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    writing w = { .report = report };
    int status = tly_output_open(&w.output, path, report);
    if (status) {
        return status;
    }
    if (tally_context_create(NULL, &context, &error) != TALLY_OK ||
        tally_device_profile(context, selector, write_piece, &w, &error) != TALLY_OK) {
        status = w.status ? w.status : tly_adopt(report, &error);
    }
    if (!status) {
        status = tly_output_finish(&w.output, report);
    } else {
        tly_output_drop(&w.output);
    }
    tally_context_destroy(&context);
    return status;
}

int tly_verb_devices(const tly_options *options, tly_report *report)
{
    device_list list;
    char selector[32];
    if (options->given & OPTION_PROFILE) {
        int found = find_profiled(options, selector, report);
        return found ? found : write_profile(selector, options->profile, report);
    }
    if (options->given & OPTION_DEVICE) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--device is for --profile FILE");
    }
    int status = list_devices(&list, 0, report);
    if (status) {
        return status;
    }
    if (options->given & OPTION_JSON) {
        print_json(&list);
    } else {
        print_table(&list);
    }
    return tly_flush(report);
}
