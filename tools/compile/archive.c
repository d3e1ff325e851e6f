/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive as System V's linkers read it: an index of names, each with the place of the object
 * that has it, and the objects. Times, owners and folders are none, so that equal objects make
 * equal archives.
 */
#include "object.h"

#include <string.h>

enum { MAGIC = 8, HEAD = 60, NUMBER = 4 };

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
static size_t even(size_t bytes)
{
    return bytes + bytes % 2;
}

static void put_end(FILE *to, size_t bytes)
{
    if (bytes % 2 != 0) {
        fputc('\n', to);
    }
}

/* Each line is two names: NAME and NAME_part. */
static size_t symbol_count(const tly_member *members, size_t count)
{
    size_t lines = 0;
    for (size_t i = 0; i < count; i++) {
        lines += members[i].line_count;
    }
    return 2 * lines;
}

static size_t index_bytes(const tly_member *members, size_t count)
{
    size_t bytes = (1 + symbol_count(members, count)) * NUMBER;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < members[i].line_count; k++) {
            bytes += 2 * (strlen(members[i].lines[k].name) + 1) + strlen("_part");
        }
    }
    return bytes;
}

static void put_index(FILE *to, const tly_member *members, size_t count, size_t bytes)
{
    size_t place = MAGIC + HEAD + even(bytes);
    put_head(to, "/", "0", bytes);
    put_number(to, symbol_count(members, count));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < 2 * members[i].line_count; k++) {
            put_number(to, place);
        }
        place += HEAD + even(members[i].bytes);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < members[i].line_count; k++) {
            const char *name = members[i].lines[k].name;
            fprintf(to, "%s%c%s_part%c", name, 0, name, 0);
        }
    }
    put_end(to, bytes);
}

int tly_archive_write(FILE *to, const tly_member *members, size_t count, tly_report *report)
{
    const size_t index = index_bytes(members, count);
    size_t all = MAGIC + HEAD + even(index);
    for (size_t i = 0; i < count; i++) {
        all += HEAD + even(members[i].bytes);
    }
    if (all > UINT32_MAX) { /* an index has no larger places */
        return tly_refuse(report, EXIT_UNSUPPORTED, "file",
                          "an archive has at most 4 GiB, and this would have %zu bytes", all);
    }
    fputs("!<arch>\n", to);
    put_index(to, members, count, index);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "part%zu.o/", i);
        put_head(to, name, "644", members[i].bytes);
        fwrite(members[i].object, 1, members[i].bytes, to);
        put_end(to, members[i].bytes);
    }
    return EXIT_DONE;
}
