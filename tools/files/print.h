/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as text for people. */
#ifndef TLY_PRINT_H
#define TLY_PRINT_H

#include "text.h"

#include <tally.h>

/*
 * Adds what numpy's print shows of a packed tensor, and a line's end. That is numpy 2.3 or later
 * with its own settings: 8 digits behind the point, lines of 75 characters, and of more than 1000
 * elements the first and last three along each axis. bf16, which numpy lacks, is shown as numpy
 * shows f16: the fewest digits that name the number.
 */
void tly_print_tensor(tly_text *text, tally_dtype dtype, int rank, const int64_t *sizes,
                      const void *data);

#endif
