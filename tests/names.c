/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally_compile refuses every name that would not be the function's: what is no identifier, what C,
 * C++ or the C library have, and what collides with another name of the call. A plain program; exit
 * status 0: right.
 */
#include "fake.h"

#include "expect.h"

enum { MOST = 3, MANY = 20000 };

static int made; /* calls of the generator */

static tally_status make(const tly_ahead_order *order, tally_write write, void *user,
                         tally_error *error)
{
    (void)order, (void)error;
    made++;
    return write(user, "object", 6) == 0 ? TALLY_OK : TALLY_IO;
}

static int count(void *user, const char *bytes, size_t more)
{
    (void)bytes;
    *(size_t *)user += more;
    return 0;
}

static tally_status compile(const tally_function *functions, size_t many, tally_error *error)
{
    static const char *const devices[] = { "cpu:x86-64-v2" };
    static tly_generator mine;
    tally_context *context = fake_context(NULL);
    size_t written = 0;
    mine = fake_generator;
    mine.ahead = make;
    made = 0;
    tly_context_set_generator(context, &mine);
    tally_status status = tally_compile(context, functions, many, devices, 1, TALLY_FORMAT_OBJECT,
                                        count, &written, error);
    EXPECT((status == TALLY_OK) == (written > 0), "%zu bytes", written);
    tally_context_destroy(&context);
    return status;
}

static tally_descriptor word(void)
{
    tally_descriptor d;
    tally_descriptor_parse("cumsum:i64:40:axis=0", &d, NULL);
    return d;
}

/* `says` is a part of the message; NULL: the names are good. */
static void check(const char *const names[MOST], const char *says)
{
    const tally_descriptor d = word();
    tally_function functions[MOST];
    tally_error error = TALLY_ERROR_INIT;
    size_t many = 0;
    for (; many < MOST && (many == 0 || names[many] != NULL); many++) {
        functions[many] = (tally_function){ sizeof *functions, names[many], &d, NULL };
    }
    const tally_status status = compile(functions, many, &error);
    const char *first = names[0] != NULL ? names[0] : "NULL";
    if (says == NULL) {
        EXPECT(status == TALLY_OK && made == 1, "%s: %s", first, error.message);
        return;
    }
    EXPECT(status == TALLY_INVALID && made == 0, "%s: %s", first, tally_status_name(status));
    EXPECT(strcmp(error.field, "usage") == 0 && strstr(error.message, says) != NULL, "%s: %s: %s",
           first, error.field, error.message);
}

static const char *const good[][MOST] = {
    { "rows" },
    { "total", "rows", "total2" },
    { "a_part", "b_part", "c" },
    { "a_part_part", "a" },
    { "print", "EMA", "integral" },
    { "cumsum_f32_4x9_axis_0_in__1x4_36" },
    { "intt", "uint_t8", "INT_MAXIMUM" },
    { "a", "A", "aa" },
};

static const struct {
    const char *names[MOST];
    const char *says;
} bad[] = {
    /* No identifier. */
    { { NULL }, "function 0 has no name" },
    { { "" }, "identifier" },
    { { "4x" }, "4x: " },
    { { "a b" }, "identifier" },
    { { "a\nb" }, "identifier" },
    { { "a.b" }, "identifier" },
    { { "a$" }, "identifier" },
    { { "gr\xc3\xb6\xc3\x9f" }, "identifier" },
    /* Each other's. */
    { { "same", "other", "same" }, "same: the name comes twice" },
    { { "x", "x_part" }, "x_part: " },
    { { "x_part", "y", "x" }, "x: " },
    { { "good", "memcpy" }, "memcpy: " },
    /* C's and C++'s: reserved names, keywords, types and macros. */
    { { "_start" }, "_start: " },
    { { "_Bool" }, "_Bool: " },
    { { "__x" }, "__x: " },
    { { "int" }, "int: " },
    { { "typeof_unqual" }, "typeof_unqual: " },
    { { "nullptr" }, "nullptr: " },
    { { "co_await" }, "co_await: " },
    { { "xor_eq" }, "xor_eq: " },
    { { "main" }, "main: " },
    { { "std" }, "std: " },
    { { "linux" }, "linux: " },
    { { "int64_t" }, "int64_t: " },
    { { "uint_fast8_t" }, "uint_fast8_t: " },
    { { "INT64_MAX" }, "INT64_MAX: " },
    { { "UINT_LEAST8_WIDTH" }, "UINT_LEAST8_WIDTH: " },
    { { "SIZE_MAX" }, "SIZE_MAX: " },
    { { "size_t" }, "size_t: " },
    { { "max_align_t" }, "max_align_t: " },
    { { "NAN" }, "NAN: " },
    { { "I" }, "I: " },
    { { "EINVAL" }, "EINVAL: " },
    { { "isnan" }, "isnan: " },
    /* The C library's. */
    { { "malloc" }, "malloc: " },
    { { "write" }, "write: " },
    { { "read" }, "read: " },
    { { "environ" }, "environ: " },
    { { "sqrtf" }, "sqrtf: " },
    { { "abort" }, "abort: " },
    { { "xprt_unregister" }, "xprt_unregister: " },
    { { "strlcpy" }, "strlcpy: " }, /* glibc 2.38's */
    { { "free" }, "free: " },
};

static void long_names(void)
{
    static char fits[1001], exceeds[1002];
    memset(fits, 'a', sizeof fits - 1);
    memset(exceeds, 'a', sizeof exceeds - 1);
    check((const char *const[MOST]){ fits }, NULL);
    check((const char *const[MOST]){ exceeds }, "too long");
}

/* Each name is compared with all before it: that must not take the square of their number. */
static void many_names(void)
{
    static char names[MANY][16];
    static tally_function functions[MANY];
    const tally_descriptor d = word();
    tally_error error = TALLY_ERROR_INIT;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "row%d", i);
        functions[i] = (tally_function){ sizeof *functions, names[i], &d, NULL };
    }
    EXPECT(compile(functions, MANY, &error) == TALLY_OK, "%s", error.message);
    snprintf(names[MANY - 1], sizeof names[0], "row%d_part", 77);
    EXPECT(compile(functions, MANY, &error) == TALLY_INVALID, "a part of %d names", MANY);
    functions[MANY - 1].name = names[4321];
    EXPECT(compile(functions, MANY, &error) == TALLY_INVALID, "twice among %d names", MANY);
}

int main(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        check(good[i], NULL);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check(bad[i].names, bad[i].says);
    }
    long_names();
    many_names();
    printf("names: %d failures\n", failures);
    return failures != 0;
}
