/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a test program: options with a value each, as in --count 20 --seed 1. */
#ifndef TLY_TEST_ARGUMENTS_H
#define TLY_TEST_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Where an option's value goes: one pointer that is not NULL. */
typedef struct tly_argument {
    const char *name;
    const char **text;
    int64_t *number;
} tly_argument;

/* Returns 0; 1 for an unknown option, or one without a value. */
int tly_arguments_read(const tly_argument *known, size_t count, int argc, char **argv);

#endif
