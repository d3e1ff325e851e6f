/* SPDX-License-Identifier: Apache-2.0 */
/* What of <string.h> there is where there is no C library: in objects made ahead of time. */
#ifndef TLY_FREESTANDING_STRING_H
#define TLY_FREESTANDING_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);

#endif
