/* SPDX-License-Identifier: Apache-2.0 */
/* What tally compile makes for linkers and for reading: objects, archives, assembly, LLVM's IR; and
 * the header that declares their functions. */
#ifndef TLY_TOOL_OBJECT_H
#define TLY_TOOL_OBJECT_H

#include "batch.h"
#include "pages.h"

int tly_object_make(const tly_options *options, const tly_batch *batch, tly_pages *pages,
                    tly_report *report);

/* prototypes.c: the header that is called `path`. */
int tly_prototypes_write(FILE *to, const char *path, const tly_batch *batch, tly_report *report);

/* archive.c: an archive of one object with the functions of a batch. */
void tly_archive_write(FILE *to, const tly_batch *batch, const void *object, size_t bytes);

#endif
