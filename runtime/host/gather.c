/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces put together; see gather.h. */
#include "gather.h"

#include <stdlib.h>
#include <string.h>

int tly_gather(void *gathered, const char *bytes, size_t count)
{
    tly_gathered *g = gathered;
    char *more = count <= g->most - g->count ? realloc(g->bytes, g->count + count + 1) : NULL;
    if (more == NULL) {
        g->failed = 1;
        return 1;
    }
    g->bytes = more;
    if (count > 0) {
        memcpy(more + g->count, bytes, count);
    }
    g->count += count;
    return 0;
}
