/* SPDX-License-Identifier: Apache-2.0 */
/* Reading profiles; see profiles.h. */
#include "profiles.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/vulkan/profile.h"

enum { MOST_BYTES = 1 << 16 };

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, MOST_BYTES);
    size_t length = file && bytes ? fread(bytes, 1, MOST_BYTES - 1, file) : 0;
    if (file)
        fclose(file);
    if (length)
        return bytes;
    free(bytes);
    return NULL;
}

static int read_one(const char *path, tly_profile_file *file)
{
    const char *slash = strrchr(path, '/');
    tly_profile profile;
    tally_error error = TALLY_ERROR_INIT;
    snprintf(file->name, sizeof file->name, "%s", slash ? slash + 1 : path);
    file->text = read_text(path);
    if (!file->text)
        return printf("%s cannot be read\n", path), 0;
    if (tly_profile_parse(file->text, &profile, &error))
        return printf("%s: %s\n", path, error.message), 0;
    file->caps = profile.caps;
    return 1;
}

int tly_profiles_read(const char *folder, tly_profile_file *files, int most)
{
    char pattern[4096];
    glob_t found;
    int count = 0;
    snprintf(pattern, sizeof pattern, "%s/*.profile", folder);
    if (glob(pattern, 0, NULL, &found))
        return printf("no profile in %s\n", folder), 0;
    for (size_t k = 0; k < found.gl_pathc && count < most; k++) {
        if (!read_one(found.gl_pathv[k], &files[count])) {
            count = 0;
            break;
        }
        count++;
    }
    globfree(&found);
    return count;
}
