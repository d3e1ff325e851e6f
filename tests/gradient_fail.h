/* SPDX-License-Identifier: Apache-2.0 */
/* How tests of gradients tell and count what fails: in `failures`, an int where it is used. */
#ifndef TLY_GRADIENT_FAIL_H
#define TLY_GRADIENT_FAIL_H

#include <stdio.h>

#define FAIL(...) \
    do { \
        failures++; \
        printf("FAILED " __VA_ARGS__); \
        putchar('\n'); \
    } while (0)

#endif
