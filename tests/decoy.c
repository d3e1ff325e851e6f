/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libtally-codegen that makes nothing: of a version that no libtally takes. Tests put copies of
 * it where one must be found, and where none must be.
 */
#include "../runtime/problem/generator.h"

static const tly_generator generator = { .abi = 77, .version = 77 };

TALLY_API const tly_generator *tally_codegen_generator(void);

const tly_generator *tally_codegen_generator(void)
{
    return &generator;
}
