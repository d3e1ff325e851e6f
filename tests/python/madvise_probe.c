/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: madvise fails. What asked for huge pages is kept, for the test to read. */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#pragma GCC visibility push(default) /* all else is built hidden */

int probe_calls;
void *probe_start;
size_t probe_bytes;

int madvise(void *start, size_t bytes, int advice)
{
    if (advice == MADV_HUGEPAGE) {
        probe_calls++;
        probe_start = start;
        probe_bytes = bytes;
    }
    errno = EINVAL;
    return -1;
}
