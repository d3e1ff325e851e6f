/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to a byte buffer; see byte_buffer.h. */
#include "byte_buffer.h"

#include <stdlib.h>
#include <string.h>

int tly_byte_buffer_add(void *buffer, const char *bytes, size_t count)
{
    tly_byte_buffer *b = buffer;
    char *more = count <= b->most - b->count ? realloc(b->bytes, b->count + count + 1) : NULL;
    if (more == NULL) {
        b->failed = 1;
        return 1;
    }
    b->bytes = more;
    if (count > 0) {
        memcpy(more + b->count, bytes, count);
    }
    b->count += count;
    return 0;
}
