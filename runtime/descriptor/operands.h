/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of a descriptor: their checks, and along which axes they extend. */
#ifndef TLY_OPERANDS_H
#define TLY_OPERANDS_H

#include <tally/descriptor.h>

/* Checks all operands of a descriptor whose sizes and axes are resolved, and makes their places
 * canonical. The field of an error is the operand's letter. `open`: see tly_check_index. */
tally_status tly_operands_check(tally_descriptor *full, uint32_t open, tally_error *error);

/* Whether an operand, whose place was checked, differs along an axis. */
int tly_operand_extends(const tally_descriptor *full, int operand, int32_t axis);

#endif
