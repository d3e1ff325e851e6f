/* SPDX-License-Identifier: Apache-2.0 */
/* The file that --profile names. */
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROFILE = 1 << 16 };

int tly_profile_load(const char *path, char **text, tly_report *report)
{
    FILE *file = fopen(path, "rb");
    size_t length = 0;
    int failed;
    *text = NULL;
    if (!file) {
        tly_refuse(report, EXIT_FILE, "file", "%s: cannot be opened: %s", path, strerror(errno));
        tly_hint(report, "a profile is a file, such as profiles/nvidia-hopper.profile");
        return EXIT_FILE;
    }
    *text = malloc(MOST_PROFILE + 1);
    if (*text) {
        length = fread(*text, 1, MOST_PROFILE + 1, file);
    }
    failed = ferror(file);
    fclose(file);
    if (!*text) {
        return tly_refuse(report, EXIT_MEMORY, "file", "no memory for %s", path);
    }
    if (failed || length > MOST_PROFILE) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: %s", path,
                          failed ? "cannot be read" : "longer than a profile");
    }
    (*text)[length] = 0;
    if (strlen(*text) != length) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: no text", path);
    }
    return EXIT_DONE;
}
