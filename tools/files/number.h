/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the command that are the name of a file or a number. */
#ifndef TLY_NUMBER_H
#define TLY_NUMBER_H

#include "../common/tool.h"

/* Whether FILE|NUMBER is a number. A file of such a name is given as ./NAME. */
int tly_is_number(const char *given);

/* Writes a number to `to`, as an element of the dtype. EXIT_USAGE if the dtype does not hold it;
 * `why` says in the hint where the dtype comes from. */
int tly_read_number(const char *given, tally_dtype dtype, const char *field, const char *why,
                    void *to, tly_report *report);

#endif
