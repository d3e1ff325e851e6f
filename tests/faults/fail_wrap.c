/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same for what is linked into this program, by the linker's --wrap: goes with sanitizers,
 * whose own allocator stays behind it. All of it is FAULT_OURS.
 */
#include "fail_alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define WRAP(result, name, parameters, arguments) \
    result __real_##name parameters; \
    result __wrap_##name parameters; \
    result __wrap_##name parameters \
    { \
        return fails() ? (result)0 : __real_##name arguments; \
    }

static atomic_long counted;
static atomic_long fail_at = -1;
static atomic_int fail_on, armed;

static void arm(long at, int on, int which)
{
    counted = 0;
    fail_at = at;
    fail_on = on;
    armed = (which & FAULT_OURS) != 0;
}

static long disarm(void)
{
    armed = 0;
    return counted;
}

const fault_functions fault_linked = { arm, disarm };

static int fails(void)
{
    if (!armed) {
        return 0;
    }
    const long call = atomic_fetch_add(&counted, 1);
    if (fail_at < 0 || (call != fail_at && !(fail_on && call > fail_at))) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

WRAP(void *, malloc, (size_t bytes), (bytes))
WRAP(void *, calloc, (size_t count, size_t bytes), (count, bytes))
WRAP(void *, realloc, (void *block, size_t bytes), (block, bytes))
WRAP(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes))
WRAP(char *, strdup, (const char *text), (text))
