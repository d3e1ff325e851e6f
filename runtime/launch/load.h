/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated code in memory: a flat position-independent blob, entry at byte 0, becomes callable.
 * Pages are never writable and executable at once.
 */
#ifndef TLY_LOAD_H
#define TLY_LOAD_H

#include "../problem/abi.h"

#include <tally/status.h>

typedef struct tly_code {
    tly_entry entry; /* NULL: nothing is loaded */
    size_t bytes;    /* of the mapping */
} tly_code;

/* Copies the blob to pages of its own; *code is untouched on failure. Thread-safe. */
tally_status tly_code_load(const unsigned char *blob, size_t bytes, tly_code *code,
                           tally_error *error);

/* Gives the pages back once no call is in flight; a code that holds nothing is valid. */
void tly_code_unload(tly_code *code);

#endif
