/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written together; see new_files.h. */
#include "new_files.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

FILE *tly_new_files_add(tly_new_files *files, const char *path)
{
    tly_new_file *file = calloc(1, sizeof *file);
    if (!file) {
        return NULL;
    }
    file->path = strdup(path);
    file->to = file->path ? open_memstream(&file->text, &file->bytes) : NULL;
    if (!file->to) {
        free(file->path);
        free(file);
        return NULL;
    }
    *(files->last ? &files->last->next : &files->first) = file;
    files->last = file;
    return file->to;
}

static int close_file(tly_new_file *file)
{
    const int failed = file->to && (ferror(file->to) | fclose(file->to));
    file->to = NULL;
    return failed;
}

static int write_file(tly_new_file *file, tly_report *report)
{
    if (close_file(file)) {
        return tly_refuse(report, EXIT_MEMORY, "file", "no memory for %s", file->path);
    }
    int status = tly_output_open(&file->output, file->path, report);
    if (!status) {
        status = tly_output_write(&file->output, file->text, file->bytes, report);
        if (status) {
            tly_output_drop(&file->output);
        }
    }
    return status;
}

/* ---- files that are one ---- */

/* Where a file lies, or would: its folder without links, and its name. NULL: nowhere, or no
 * memory. */
static char *place_of(const char *path)
{
    char *copy = strdup(path), *other = strdup(path), *place = NULL;
    char *folder = copy ? realpath(dirname(copy), NULL) : NULL;
    if (folder && other && asprintf(&place, "%s/%s", folder, basename(other)) < 0) {
        place = NULL;
    }
    free(copy);
    free(other);
    free(folder);
    return place;
}

/* What is no regular file, as /dev/null, may be written by several. */
int tly_paths_are_one(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const int there = stat(a, &of_a) == 0, both = there && stat(b, &of_b) == 0;
    if (there && !S_ISREG(of_a.st_mode)) {
        return 0;
    }
    if (both && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino) {
        return 1;
    }
    char *at_a = place_of(a), *at_b = place_of(b);
    const int same = at_a && at_b && strcmp(at_a, at_b) == 0;
    free(at_a);
    free(at_b);
    return same;
}

int tly_new_files_are_apart(const tly_new_files *files, char *const *read, size_t count,
                            tly_report *report)
{
    for (const tly_new_file *file = files->first; file; file = file->next) {
        for (const tly_new_file *other = file->next; other; other = other->next) {
            if (tly_paths_are_one(file->path, other->path)) {
                return tly_refuse(report, EXIT_USAGE, "usage", "%s is to be two outputs",
                                  file->path);
            }
        }
        for (size_t i = 0; i < count; i++) {
            if (tly_paths_are_one(file->path, read[i])) {
                return tly_refuse(report, EXIT_USAGE, "usage",
                                  "%s is read, and would be written over", file->path);
            }
        }
    }
    return EXIT_DONE;
}

/* ---- writing ---- */

int tly_new_files_write(tly_new_files *files, tly_report *report)
{
    int status = EXIT_DONE;
    tly_new_file *open = files->first;
    for (; open && !status; open = status ? open : open->next) {
        status = write_file(open, report);
    }
    for (tly_new_file *file = files->first; file != open; file = file->next) {
        if (status) {
            tly_output_drop(&file->output);
        } else {
            status = tly_output_finish(&file->output, report);
        }
    }
    return status;
}

void tly_new_files_drop(tly_new_files *files)
{
    while (files->first) {
        tly_new_file *file = files->first;
        files->first = file->next;
        close_file(file);
        free(file->path);
        free(file->text);
        free(file);
    }
    files->last = NULL;
}
