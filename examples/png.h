/* SPDX-License-Identifier: Apache-2.0 */
/* A picture file without a library. */
#ifndef EXAMPLES_PNG_H
#define EXAMPLES_PNG_H

#include <stdint.h>

/* Writes 8-bit RGB, rows from the top, as an uncompressed PNG. Returns 0, or -1 with errno. */
int png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height);

#endif
