/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the units on kernel IR share: kernels that must be made and run, and a look for leaks.
 */
#ifndef TLY_MUST_H
#define TLY_MUST_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/kir/internal.h"
#include "../runtime/problem/abi.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>

/* Criterion's processes end without the sanitizer's own look for leaks. */
static void look_for_leaks(void)
{
    cr_assert_eq(__lsan_do_recoverable_leak_check(), 0);
}

TestSuite(kir, .fini = look_for_leaks);
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Text that a tally_write gathers. */
struct text {
    char bytes[1 << 18];
    size_t used;
};

/* A tally_write that takes nothing. */
static inline int refuse(void *user, const char *piece, size_t bytes)
{
    (void)user;
    (void)piece;
    (void)bytes;
    return 1;
}

static inline int gather(void *user, const char *piece, size_t bytes)
{
    struct text *text = user;
    cr_assert_lt(text->used + bytes, sizeof text->bytes);
    memcpy(text->bytes + text->used, piece, bytes);
    text->used += bytes;
    text->bytes[text->used] = 0;
    return 0;
}

static inline kir_kernel *must_parse(const char *source)
{
    tally_error error = TALLY_ERROR_INIT;
    kir_kernel *k = NULL;
    cr_assert_eq(kir_parse(source, strlen(source), &k, &error), TALLY_OK, "%s\n%s", error.message,
                 source);
    return k;
}

static inline void must_print(const kir_kernel *k, struct text *text)
{
    text->used = 0;
    cr_assert_eq(kir_print(k, gather, text), TALLY_OK);
}

/* Prints, parses, prints again: the same bytes. */
static inline void must_round_trip(const kir_kernel *k)
{
    static struct text first, second;
    must_print(k, &first);
    kir_kernel *again = must_parse(first.bytes);
    must_print(again, &second);
    cr_assert_str_eq(second.bytes, first.bytes);
    cr_assert_eq(again->inst_count, k->inst_count);
    kir_free(again);
}

static inline kir_kernel *must_finish(kir_builder *b)
{
    tally_error error = TALLY_ERROR_INIT;
    kir_kernel *k = NULL;
    cr_assert_eq(kir_finish(b, &k, &error), TALLY_OK, "%s", error.message);
    return k;
}

static inline int64_t must_run(const kir_kernel *k, const tly_args *args, const tly_task *task)
{
    tally_error error = TALLY_ERROR_INIT;
    int64_t result = INT64_MIN;
    cr_assert_eq(kir_interpret(k, args, task, NULL, &result, &error), TALLY_OK, "%s",
                 error.message);
    return result;
}

#endif
