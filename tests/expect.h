/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs without a test framework expect of themselves: a failure is told and counted.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>

static int failures;

/* Says what was expected, and, as printf does, about what. */
#define EXPECT(condition, ...) \
    ((condition) ? (void)0 \
                 : (void)(failures++, \
                          fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition), \
                          fprintf(stderr, __VA_ARGS__), fputc('\n', stderr)))

#endif
