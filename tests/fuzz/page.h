/* SPDX-License-Identifier: Apache-2.0 */
/* A text that is written piece by piece, as plans are printed. */
#ifndef FUZZ_PAGE_H
#define FUZZ_PAGE_H

#include "fuzz.h"

typedef struct fuzz_page {
    char text[4096];
    size_t length;
} fuzz_page;

/* A tally_write to a fuzz_page; the text ends with a zero. */
static inline int fuzz_add(void *user, const char *text, size_t bytes)
{
    fuzz_page *p = user;
    HOLDS(bytes < sizeof p->text - p->length);
    memcpy(p->text + p->length, text, bytes);
    p->length += bytes;
    p->text[p->length] = 0;
    return 0;
}

#endif
