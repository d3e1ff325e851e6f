/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --profile names: a file, or one of the profiles that lie with the command. Those of an
 * installation are found from where the command itself lies, so that a prefix can be moved; in a
 * build folder a link beside the command leads to those of the sources.
 */
#include "profile.h"

#include "../../runtime/host/suggest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PROFILE = 1 << 16 };

static const char suffix[] = ".profile";

/* As seen from the command's folder. */
static const char *const places[] = { TALLY_PROFILES, "profiles" };

/* ---- those that lie with the command ---- */

/* A file or folder `name` (NULL: the place itself) in a place; 0 where the command's own folder is
 * not known. */
static int own_path(int place, const char *name, const char *end, char path[PATH_MAX])
{
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        return 0;
    }
    self[length] = 0;
    *strrchr(self, '/') = 0;
    return snprintf(path, PATH_MAX, "%s/%s%s%s%s", self, places[place], name ? "/" : "",
                    name ? name : "", end) < PATH_MAX;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether the file is a profile's; its name without what all of them end with. */
static int take_name(const char *file, char **name)
{
    const size_t length = strlen(file), end = sizeof suffix - 1;
    if (length <= end || strcmp(file + length - end, suffix) != 0) {
        return 0;
    }
    *name = strndup(file, length - end);
    return *name != NULL;
}

size_t tly_profile_names(char *names[TLY_MOST_PROFILES])
{
    size_t count = 0;
    char path[PATH_MAX];
    for (int place = 0; place < 2 && count == 0; place++) {
        DIR *folder = own_path(place, NULL, "", path) ? opendir(path) : NULL;
        const struct dirent *entry;
        while (folder && count < TLY_MOST_PROFILES && (entry = readdir(folder)) != NULL) {
            count += (size_t)take_name(entry->d_name, &names[count]);
        }
        if (folder) {
            closedir(folder);
        }
    }
    qsort(names, count, sizeof *names, compare);
    return count;
}

char *tly_profile_find(const char *name)
{
    char path[PATH_MAX];
    if (strchr(name, '/') || access(name, F_OK) == 0) {
        return strdup(name);
    }
    for (int i = 0; i < 4 && name[0]; i++) { /* the file's whole name is right, too */
        if (own_path(i % 2, name, i < 2 ? suffix : "", path) && access(path, F_OK) == 0) {
            return strdup(path);
        }
    }
    return strdup(name);
}

/* ---- reading ---- */

static int refuse_name(const char *name, tly_report *report)
{
    const int why = errno;
    char *names[TLY_MOST_PROFILES], list[160] = "";
    tly_suggestion guess = tly_suggest_begin(name, strlen(name));
    const size_t count = strchr(name, '/') ? 0 : tly_profile_names(names);
    for (size_t i = 0; i < count; i++) {
        tly_suggest_try(&guess, names[i]);
        tly_names_add(list, sizeof list, names[i]);
    }
    if (count > 0 && why == ENOENT) {
        tly_refuse(report, EXIT_FILE, "file", "there is no file and no profile '%s'" TLY_SUGGESTION,
                   name, TLY_SUGGESTED(&guess));
        tly_hint(report, "--profile takes a file or one of %s", list);
    } else {
        tly_refuse(report, EXIT_FILE, "file", "%s: cannot be opened: %s", name, strerror(why));
        tly_hint(report, "a profile is a file, such as profiles/nvidia-hopper.profile");
    }
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
    return EXIT_FILE;
}

static int read_text(const char *name, const char *path, char **text, tly_report *report)
{
    FILE *file = fopen(path, "rb");
    size_t length = 0;
    int failed;
    if (!file) {
        return refuse_name(name, report);
    }
    *text = malloc(MOST_PROFILE + 1);
    if (*text) {
        length = fread(*text, 1, MOST_PROFILE + 1, file);
    }
    failed = ferror(file);
    fclose(file);
    if (!*text) {
        return tly_refuse(report, EXIT_MEMORY, "file", "no memory for %s", name);
    }
    if (failed || length > MOST_PROFILE) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: %s", name,
                          failed ? "cannot be read" : "longer than a profile");
    }
    (*text)[length] = 0;
    if (strlen(*text) != length) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: no text", name);
    }
    return EXIT_DONE;
}

int tly_profile_load(const char *name, char **text, tly_report *report)
{
    char *path = tly_profile_find(name);
    *text = NULL;
    int status = path ? read_text(name, path, text, report)
                      : tly_refuse(report, EXIT_MEMORY, "file", "no memory for %s", name);
    free(path);
    return status;
}
