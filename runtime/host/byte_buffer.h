/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer that collects what is written to a tally_write piece by piece. */
#ifndef TLY_BYTE_BUFFER_H
#define TLY_BYTE_BUFFER_H

#include <stddef.h>

/* `most` is the most bytes that the buffer takes; all else is zero at first. The owner frees
 * `bytes`. Once a piece did not fit, `failed` stays. */
typedef struct tly_byte_buffer {
    char *bytes;
    size_t count, most;
    int failed;
} tly_byte_buffer;

/* A tally_write that appends to a tly_byte_buffer: 0, or 1 beyond `most` and without memory. */
int tly_byte_buffer_add(void *buffer, const char *bytes, size_t count);

#endif
