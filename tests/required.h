/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel without which a Criterion unit has nothing to test. */
#ifndef TLY_REQUIRED_H
#define TLY_REQUIRED_H

#include <tally/kernel.h>

/* The kernel of a word. Skips the test where there is no generator, or the device or plan does not
 * suit; fails it on any other error. */
tally_kernel *tly_require_kernel(tally_context *context, const char *word, const char *device,
                                 const char *plan);

#endif
