/* SPDX-License-Identifier: Apache-2.0 */
/* What tally compile makes for linkers and for reading: objects, archives, assembly, LLVM's IR; and
 * the header that declares their functions. */
#ifndef TLY_TOOL_OBJECT_H
#define TLY_TOOL_OBJECT_H

#include "../files/new_files.h"
#include "batch.h"
#include "targets.h"

int tly_object_make(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                    tly_report *report);

/* prototypes.c: the header that is called `path`, of functions for `targets`. */
int tly_prototypes_write(FILE *to, const char *path, const tly_batch *batch,
                         const tly_targets *targets, tly_report *report);

/* An object, and the lines whose functions it has. */
typedef struct tly_member {
    const tly_batch_line *lines;
    size_t line_count;
    char *object; /* from malloc */
    size_t bytes;
} tly_member;

/* archive.c: an archive of such objects. */
int tly_archive_write(FILE *to, const tly_member *members, size_t count, tly_report *report);

#endif
