/* SPDX-License-Identifier: Apache-2.0 */
/* The generator's door for kernel IR from text (runtime/problem/generator.h says what each
 * does). */
#ifndef TLY_GENERATE_KIR_H
#define TLY_GENERATE_KIR_H

#include "../runtime/problem/generator.h"

tally_status tly_kir_read(const char *text, size_t bytes, tly_kir **kir, tally_error *error);
void tly_kir_drop(tly_kir *kir);
tally_status tly_kir_show(const tly_kir *kir, const char *level, const tly_caps *caps,
                          tally_stage stage, tally_write write, void *user, tally_error *error);
tally_status tly_kir_call_kernel(const tly_kir *kir, const tly_kir_call *call, tally_error *error);

#endif
