/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libtally must know of the operators of states.c (-Wl,--wrap=tly_sequence_of): that in the
 * place of prod does not commute.
 */
#include "../runtime/descriptor/descriptor.h"

tly_sequence __wrap_tly_sequence_of(const tally_descriptor *full);
tly_sequence __real_tly_sequence_of(const tally_descriptor *full);

tly_sequence __wrap_tly_sequence_of(const tally_descriptor *full)
{
    return full->op == TALLY_PROD ? TLY_SEQUENCE_EACH : __real_tly_sequence_of(full);
}
