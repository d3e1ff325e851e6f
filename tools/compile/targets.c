/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that kernels are made for ahead of time; see targets.h. */
#include "targets.h"

#include "profile.h"

#include <stdlib.h>
#include <string.h>

/* What is linked here runs on such a machine as this one. */
#if defined(__aarch64__)
#define DEFAULT "cpu:aarch64"
#elif defined(__riscv)
#define DEFAULT "cpu:riscv64"
#else
#define DEFAULT "cpu:x86-64-v2,cpu:x86-64-v3,cpu:x86-64-v4"
#endif

int tly_targets_read(tly_targets *targets, const char *names, tly_report *report)
{
    char copy[TLY_MOST_TARGETS * TLY_SELECTOR], *rest = copy, *name;
    targets->count = 0;
    if (snprintf(copy, sizeof copy, "%s", names ? names : DEFAULT) >= (int)sizeof copy) {
        return tly_refuse(report, EXIT_USAGE, "device", "too many devices");
    }
    while ((name = strsep(&rest, ",")) != NULL) {
        if (targets->count == TLY_MOST_TARGETS) {
            return tly_refuse(report, EXIT_USAGE, "device", "more than %d devices",
                              TLY_MOST_TARGETS);
        }
        const int status = tly_device_find(name, targets->selectors[targets->count++], report);
        if (status) {
            return status;
        }
    }
    return EXIT_DONE;
}

int tly_targets_read_profiles(tly_targets *targets, const char *names, tly_report *report)
{
    char *copy = strdup(names), *rest = copy, *name;
    int status = copy ? EXIT_DONE : tly_refuse(report, EXIT_MEMORY, "file", "no memory for names");
    targets->profile_count = 0;
    while (!status && (name = strsep(&rest, ",")) != NULL) {
        char **text = &targets->profiles[targets->profile_count];
        if (targets->profile_count == TLY_MOST_TARGETS) {
            status = tly_refuse(report, EXIT_USAGE, "device", "more than %d profiles",
                                TLY_MOST_TARGETS);
        } else {
            status = tly_profile_load(name, text, report);
            targets->profile_count += *text != NULL;
        }
    }
    free(copy);
    return status;
}

void tly_targets_end(tly_targets *targets)
{
    for (size_t i = 0; i < targets->profile_count; i++) {
        free(targets->profiles[i]);
    }
    targets->profile_count = 0;
}
