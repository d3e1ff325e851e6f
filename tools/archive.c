/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive as System V's linkers read it: an index of names, and one object. Times, owners and
 * folders are none, so that equal objects make equal archives.
 */
#include "object.h"

#include <string.h>

static void put_head(FILE *to, const char *name, const char *mode, size_t bytes)
{
    fprintf(to, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, mode, bytes);
}

static void put_number(FILE *to, size_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        fputc((int)(number >> shift & 0xff), to);
    }
}

/* Members begin at even places. */
static void put_end(FILE *to, size_t bytes)
{
    if (bytes % 2 != 0) {
        fputc('\n', to);
    }
}

void tly_archive_write(FILE *to, const tly_batch *batch, const void *object, size_t bytes)
{
    enum { MAGIC = 8, HEAD = 60, NUMBER = 4 };
    const size_t symbols = 2 * batch->count; /* NAME and NAME_part */
    size_t index = (1 + symbols) * NUMBER;
    for (size_t i = 0; i < batch->count; i++) {
        index += 2 * (strlen(batch->lines[i].name) + 1) + strlen("_part");
    }
    fputs("!<arch>\n", to);
    put_head(to, "/", "0", index);
    put_number(to, symbols);
    for (size_t i = 0; i < symbols; i++) {
        put_number(to, MAGIC + HEAD + index + index % 2);
    }
    for (size_t i = 0; i < batch->count; i++) {
        fprintf(to, "%s%c%s_part%c", batch->lines[i].name, 0, batch->lines[i].name, 0);
    }
    put_end(to, index);
    put_head(to, "kernels.o/", "644", bytes);
    fwrite(object, 1, bytes, to);
    put_end(to, bytes);
}
