/* SPDX-License-Identifier: Apache-2.0 */
/* What tally compile makes for contexts to find kernels in: a read-only cache as one file. */
#ifndef TLY_TOOL_PACK_H
#define TLY_TOOL_PACK_H

#include "../files/new_files.h"
#include "batch.h"

/* For the levels and the profiles of the options; levels alone where neither is named. */
int tly_pack_make(const tly_options *options, const tly_batch *batch, tly_new_files *files,
                  tly_report *report);

#endif
