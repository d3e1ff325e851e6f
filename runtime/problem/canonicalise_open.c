/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares descriptors as callers have them: resolves them and fills open sizes, before
 * canonicalise.c does the rest. */
#include "canonicalise.h"

#include <string.h>

#include "../descriptor/descriptor.h"
#include "../descriptor/stages.h"

/* What an open size stands for: more than any size that a kernel has as a literal. */
#define LARGE_SIZE 65536

/* Sizes in place of open ones, and their strides. Of neighbours that merge one is enough; where the
 * tensor would be beyond counting, smaller ones do. */
static void close_sizes(tally_descriptor *full)
{
    tally_descriptor open = *full;
    int64_t large = LARGE_SIZE;
    tly_descriptor_shorten(&open);
    do {
        *full = open;
        int side = -1; /* of the last open size: before, on or behind the axis, and its operands */
        for (int32_t d = 0; d < full->rank; d++) {
            if (open.sizes[d] == TALLY_OPEN_SIZE) {
                int here = (d >= full->axis) + (d > full->axis) +
                           4 * (int)tly_moves_operands(full, d);
                full->sizes[d] = here != side ? large : 1;
                side = here;
            }
        }
        large /= 2;
    } while (tly_descriptor_resolve(full, full, NULL) != TALLY_OK && large > 0);
}

/* Whether these sizes of a resolved descriptor are valid with its strides. */
static int are_valid(const tally_descriptor *open, const int64_t *sizes)
{
    tally_descriptor trial = *open;
    memcpy(trial.sizes, sizes, sizeof trial.sizes);
    return tly_close_sizes(&trial, NULL);
}

/* The same beside strides, with which neighbours need not merge and an output has room for few
 * elements. From the innermost dim outwards each open size becomes as large as is valid. */
static void close_strided(tally_descriptor *full)
{
    const tally_descriptor open = *full;
    for (int32_t d = 0; d < full->rank; d++) {
        full->sizes[d] = open.sizes[d] == TALLY_OPEN_SIZE ? 1 : open.sizes[d];
    }
    for (int32_t d = full->rank - 1; d >= 0; d--) {
        if (open.sizes[d] == TALLY_OPEN_SIZE) {
            full->sizes[d] = LARGE_SIZE;
            while (full->sizes[d] > 1 && !are_valid(&open, full->sizes)) {
                full->sizes[d] /= 2;
            }
        }
    }
    (void)tly_close_sizes(full, NULL); /* packed strides of the other tensor */
}

void tly_canonicalise_resolved(const tally_descriptor *resolved, int is_device,
                               tly_problem *problem, tly_geometry *geometry)
{
    tally_descriptor full = *resolved;
    if (tly_has_open_size(&full)) {
        if (full.flags & (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)) {
            close_strided(&full);
        } else {
            close_sizes(&full);
        }
    }
    tly_canonicalise_closed(&full, is_device, problem, geometry);
    if (tly_has_expressions(resolved)) {
        tly_program_make(resolved, &problem->program);
    }
}

void tly_canonicalise(const tally_descriptor *d, int is_device, tly_problem *problem,
                      tly_geometry *geometry)
{
    tally_descriptor full;
    if (tly_descriptor_resolve(d, &full, NULL) != TALLY_OK) {
        memset(problem, 0, sizeof *problem);
        memset(geometry, 0, sizeof *geometry);
        geometry->empty = 1;
        return;
    }
    tly_canonicalise_resolved(&full, is_device, problem, geometry);
}
