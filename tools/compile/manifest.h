/* SPDX-License-Identifier: Apache-2.0 */
/* What tally compile makes for Vulkan: manifests, of a batch's kernels. */
#ifndef TLY_TOOL_MANIFEST_H
#define TLY_TOOL_MANIFEST_H

#include "../files/new_files.h"
#include "batch.h"

#include <tally/manifest.h>

/* The manifest of the one kernel as JSON, and a file for each of its modules. */
int tly_manifest_json(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                      tly_report *report);

/* Those of all kernels as one C header. */
int tly_manifest_header(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                        tly_report *report);

/* manifest_header.c: what a header begins with; one kernel of it. */
void tly_header_begin(FILE *to);
void tly_header_add(FILE *to, const char *name, const tally_manifest *manifest);

#endif
