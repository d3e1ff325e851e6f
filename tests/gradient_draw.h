/* SPDX-License-Identifier: Apache-2.0 */
/* Random words for tests/gradient: every operator, with operands and expressions. */
#ifndef TLY_GRADIENT_DRAW_H
#define TLY_GRADIENT_DRAW_H

#include "random.h"

/* Of up to three dims of at most `most_size` elements. `is_simple`: a scan along the first axis,
 * mostly one whose result tells what lies before each element. The descriptor need not be valid. */
void tly_gradient_draw(tly_random *r, int64_t most_size, int is_simple, tally_descriptor *d);

#endif
