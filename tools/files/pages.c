/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written together; see pages.h. */
#include "pages.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

FILE *tly_pages_add(tly_pages *pages, const char *path)
{
    tly_page *page = calloc(1, sizeof *page);
    if (!page) {
        return NULL;
    }
    page->path = strdup(path);
    page->to = page->path ? open_memstream(&page->text, &page->bytes) : NULL;
    if (!page->to) {
        free(page->path);
        free(page);
        return NULL;
    }
    *(pages->last ? &pages->last->next : &pages->first) = page;
    pages->last = page;
    return page->to;
}

static int close_page(tly_page *page)
{
    const int failed = page->to && (ferror(page->to) | fclose(page->to));
    page->to = NULL;
    return failed;
}

static int write_page(tly_page *page, tly_report *report)
{
    if (close_page(page)) {
        return tly_refuse(report, EXIT_MEMORY, "file", "no memory for %s", page->path);
    }
    int status = tly_output_open(&page->output, page->path, report);
    if (!status) {
        status = tly_output_write(&page->output, page->text, page->bytes, report);
        if (status) {
            tly_output_drop(&page->output);
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
static int are_one(const char *a, const char *b)
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

int tly_pages_are_apart(const tly_pages *pages, char *const *read, size_t count, tly_report *report)
{
    for (const tly_page *page = pages->first; page; page = page->next) {
        for (const tly_page *other = page->next; other; other = other->next) {
            if (are_one(page->path, other->path)) {
                return tly_refuse(report, EXIT_USAGE, "usage", "%s is to be two outputs",
                                  page->path);
            }
        }
        for (size_t i = 0; i < count; i++) {
            if (are_one(page->path, read[i])) {
                return tly_refuse(report, EXIT_USAGE, "usage",
                                  "%s is read, and would be written over", page->path);
            }
        }
    }
    return EXIT_DONE;
}

/* ---- writing ---- */

int tly_pages_write(tly_pages *pages, tly_report *report)
{
    int status = EXIT_DONE;
    tly_page *open = pages->first;
    for (; open && !status; open = status ? open : open->next) {
        status = write_page(open, report);
    }
    for (tly_page *page = pages->first; page != open; page = page->next) {
        if (status) {
            tly_output_drop(&page->output);
        } else {
            status = tly_output_finish(&page->output, report);
        }
    }
    return status;
}

void tly_pages_drop(tly_pages *pages)
{
    while (pages->first) {
        tly_page *page = pages->first;
        pages->first = page->next;
        close_page(page);
        free(page->path);
        free(page->text);
        free(page);
    }
    pages->last = NULL;
}
