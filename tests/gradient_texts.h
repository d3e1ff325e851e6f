/* SPDX-License-Identifier: Apache-2.0 */
/* What tally_gradient gives, as text, and what it refuses. */
#ifndef TLY_GRADIENT_TEXTS_H
#define TLY_GRADIENT_TEXTS_H

/* Each prints what fails, and returns how many do. */
int tly_gradient_check_texts(void);
int tly_gradient_check_refusals(void);

#endif
