/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written together; see pages.h. */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

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
