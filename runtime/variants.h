/* SPDX-License-Identifier: Apache-2.0 */
/* The problems that a word with open sizes stands for. */
#ifndef TLY_VARIANTS_H
#define TLY_VARIANTS_H

#include "problem.h"

/* Every problem that the open sizes of a resolved descriptor may make, once each, in the order of
 * tly_problem_order; from malloc, NULL without memory. */
tly_problem *tly_variants_find(const tally_descriptor *full, size_t *count);

#endif
