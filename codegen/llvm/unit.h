/* SPDX-License-Identifier: Apache-2.0 */
/* Objects made ahead of time: rows of libtally-llvm's table (native.h). */
#ifndef TLY_UNIT_H
#define TLY_UNIT_H

#include "../shared/native.h"

tally_status tly_unit_begin(const tly_target *target, size_t most, tly_unit **unit,
                            tally_error *error);
tally_status tly_unit_code(tly_unit *unit, const kir_kernel *kernel, const tly_target *target,
                           const char *name, tly_unit_entry *entry, tally_error *error);
tally_status tly_unit_function(tly_unit *unit, const tly_unit_call *call, tally_error *error);
tally_status tly_unit_write(tly_unit *unit, tally_format format, tally_write write, void *user,
                            tally_error *error);
void tly_unit_end(tly_unit *unit);

/* The bitcode of runtime/making/ahead.c and what it needs (tools/bitcode); no bytes where there
 * is none. */
typedef struct tly_bitcode {
    const char *prefix; /* of triples; NULL: the last */
    const unsigned char *bytes;
    size_t count;
} tly_bitcode;
extern const tly_bitcode tly_bitcodes[];

#endif
