/* SPDX-License-Identifier: Apache-2.0 */
/* What a tally_write hands over piece by piece, in one piece. */
#ifndef TLY_GATHER_H
#define TLY_GATHER_H

#include <stddef.h>

/* All zero but `most`, the bytes that it may become, is the empty one. `bytes` is to be freed; once
 * something did not fit, `failed` stays. */
typedef struct tly_gathered {
    char *bytes;
    size_t count, most;
    int failed;
} tly_gathered;

/* A tally_write: 0, or 1 beyond `most` and without memory. */
int tly_gather(void *gathered, const char *bytes, size_t count);

#endif
