/* SPDX-License-Identifier: Apache-2.0 */
/* Raw bytes as a tensor, as --raw describes them. */
#ifndef TLY_RAW_H
#define TLY_RAW_H

#include "npy.h"

/* Reads DTYPE[:SIZES], the word's own, such as f32:3x4: packed elements in C order and in the
 * machine's order of bytes. Without sizes there is one dim, of npy->count -1: as long as the file
 * says. EXIT_USAGE where the text says something else. */
int tly_raw_read(const char *text, tly_npy *npy, tly_report *report);

/* One dim of as many elements as `bytes` bytes are; EXIT_FILE where these are no whole number. */
int tly_raw_close(tly_npy *npy, const char *name, int64_t bytes, tly_report *report);

#endif
