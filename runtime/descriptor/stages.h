/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands, expressions, carry and segments of a descriptor: everything behind out_offset, which
 * words have since they can fuse stages. Internal to the files about descriptors and to those that
 * make kernels.
 */
#ifndef TLY_STAGES_H
#define TLY_STAGES_H

#include "expression.h"

/* Whether any of these fields is set, in a descriptor of full size. */
int tly_has_stages(const tally_descriptor *d);

/* Whether a resolved descriptor has an expression. Operands have a name in one. */
static inline int tly_has_expressions(const tally_descriptor *d)
{
    return (d->map[0] | d->coef[0] | d->post[0] | d->reset[0]) != 0 || d->operands[0].dtype != 0;
}

/* The same by a look at few bytes, for each time that a kernel is asked for: 0 also where nothing
 * but bytes behind an empty text, or other fields of an operand without a dtype, are set. Such a
 * descriptor is refused when it is checked. */
static inline int tly_shows_stages(const tally_descriptor *d)
{
    uint64_t set = (uint64_t)d->segments | (uint64_t)d->every;
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        set |= (uint32_t)d->operands[i].dtype;
    }
    set |= (uint8_t)(d->map[0] | d->coef[0] | d->post[0] | d->reset[0]);
    return (set | (uint32_t)d->carry | (uint32_t)d->segment_dtype) != 0;
}

/* The first option of a resolved descriptor that no kernel exists for, by its name; NULL: there is
 * none. */
const char *tly_unmade_field(const tally_descriptor *d);

/* The first half of the check: reads expressions and drops those that are defaults. Other checks of
 * dtypes depend on which ones there are. If an error has a position, it counts in the expression
 * whose name goes to *where. */
tally_status tly_stages_begin(tally_descriptor *full, const char **where, tally_error *error);

/* The second half, after dtypes, sizes and axes were resolved. Makes all these fields canonical.
 * `open`: see tly_check_index; gets TLY_OPEN_SEGMENTS. */
tally_status tly_stages_check(tally_descriptor *full, uint32_t *open, const char **where,
                              tally_error *error);

/* segments.c: a part of it: segments and carry, of a descriptor whose axes are resolved. */
tally_status tly_segments_check(const tally_descriptor *full, tally_error *error);

/* The program of a resolved descriptor. */
void tly_program_make(const tally_descriptor *full, tly_program *program);

#endif
