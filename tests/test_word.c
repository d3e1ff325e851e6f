/* SPDX-License-Identifier: Apache-2.0 */
/* The word: every sentence of docs/word.md, section Word, by tables of words. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <tally.h>

#include "../runtime/host/suggest.h"

/* Valid words and their canonical forms; NULL where the word is canonical itself. */
static const struct {
    const char *word, *canonical;
} valid[] = {
    { "cumprod:f32:1x1x3x4:axis=3,exclusive", NULL },
    { "cumsum:i32:4x6:axis=0,in=1x4", NULL },
    { "cumprod:f32:5:axis=0,in=-1@4", NULL },
    { "sum:i8>i32:64x1000:axes=1", NULL },
    { "argmax:f16>i64:8x16x32:axes=0+2,last", NULL },
    /* Axes. */
    { "cumsum:f32:4x6:axis=-1", "cumsum:f32:4x6:axis=1" },
    { "cumsum:f32:4x6:axis=-2", "cumsum:f32:4x6:axis=0" },
    { "sum:f32:4x6:axes=1+0", "sum:f32:4x6" },
    { "sum:f32:4x6:axes=-1+-2", "sum:f32:4x6" },
    { "sum:f32:4x6x2:axes=-1+0", "sum:f32:4x6x2:axes=0+2" },
    { "sum:f32:4x6:axes=none", NULL },
    { "sum:f32:scalar", NULL },
    { "sum:f32:scalar:axes=none", "sum:f32:scalar" },
    /* Dtypes. */
    { "cumsum:f32>f32:4:axis=0", "cumsum:f32:4:axis=0" },
    { "cumsum:f32>f64:4:axis=0", NULL },
    { "cumsum:i16:4:axis=0", NULL },
    { "cumsum:bool:4:axis=0", NULL },
    { "argmin:u8:4", "argmin:u8>i64:4" },
    { "argmin:i64:4", "argmin:i64>i64:4" },
    { "argmax:f32>u32:4:axes=0", "argmax:f32>u32:4" },
    /* Order of options, defaults. */
    { "cumsum:f32:4:reverse,exclusive,axis=0", "cumsum:f32:4:axis=0,exclusive,reverse" },
    { "cumsum:f32:4:order=exact,out=-2@6,in=0,axis=0",
      "cumsum:f32:4:axis=0,in=0,out=-2@6,order=exact" },
    { "cummax:bf16:4:nan=ignore,order=serial,axis=0",
      "cummax:bf16:4:axis=0,order=serial,nan=ignore" },
    { "sum:bf16:4:acc=f64,order=serial,keepdims", "sum:bf16:4:keepdims,order=serial,acc=f64" },
    { "cumsum:bf16>f32:4:axis=0,acc=f64", NULL },
    { "cumsum:f32>f64:4:axis=0,acc=f64", "cumsum:f32>f64:4:axis=0" },
    { "sum:bool>i64:4:axes=none", NULL },
    { "argmax:f32:4:nan=ignore,last,keepdims", "argmax:f32>i64:4:keepdims,last,nan=ignore" },
    { "cumsum:f64:4:axis=0,acc=f64", "cumsum:f64:4:axis=0" },
    { "cumsum:f16:4:axis=0,acc=f64", NULL },
    { "cumsum:f32:2x3:axis=0,in=3x1", "cumsum:f32:2x3:axis=0" },
    { "cumsum:f32:2x3:axis=0,in=3x1@0,out=3x1@0", "cumsum:f32:2x3:axis=0" },
    { "cumsum:f32:2x3:axis=0,in=3x1@7", NULL },
    { "cumsum:f32:1x3:axis=0,in=9x1", NULL },
    /* Sizes 0 count as 1 in packed strides. */
    { "cumsum:f32:0x3:axis=0,in=3x1", "cumsum:f32:0x3:axis=0" },
    { "cumsum:f32:3x0:axis=0,in=1x1", "cumsum:f32:3x0:axis=0" },
    { "cumsum:f32:0:axis=0", NULL },
    { "cumsum:f32:1x1x1x1x1x1x1x1:axis=7", NULL },
    /* Reductions: out= has the result's rank. */
    { "sum:f32:4x6:axes=1,out=2@1", NULL },
    { "sum:f32:4x6:axes=1,keepdims,out=2x5", NULL },
    { "sum:f32:4x6:axes=1,keepdims,out=1x1", "sum:f32:4x6:axes=1,keepdims" },
    { "sum:f32:4x6:out=@5", NULL },
    { "sum:f32:scalar:in=@4", NULL },
    { "log_sum_exp:f32:4x6:in=0x0", NULL },
    /* Indices: of no elements there are none, but no results need none. */
    { "argmax:f32>i64:0x4:axes=1", NULL },
    { "argmin:f32>i64:0x0:axes=1", NULL },
    { "argmin:f32>i64:0x4:axes=none", NULL },
    { "argmax:i8>i32:2147483648", NULL },
    { "argmax:i8>u32:4294967296", NULL },
    { "argmax:i8>i32:2147483649x2:axes=1", NULL },
    { "argmax:i8>i32:65536x4x32768:axes=0+2", NULL },
    { "argmax:i8>i64:2147483649", NULL },
    { "argmin:bf16>u64:4611686018427387903", NULL },
    { "argmax:f32>i64:?x0:axes=1", NULL },
    { "argmax:f32>i64:?", NULL },
    /* Open sizes. */
    { "cumsum:f32:?:axis=0", NULL },
    { "cumsum:f32:?x4:axis=-2", "cumsum:f32:?x4:axis=0" },
    { "sum:f32:4x?", NULL },
    { "sum:f32:4x?:axes=1,keepdims", NULL },
    { "max:i8:?x?x?x?x?x?x?x?", NULL },
    { "cumsum:f32:?x0:axis=0", NULL },
    /* Borders of int64. */
    { "cumsum:i8:9223372036854775807:axis=0", NULL },
    { "cumsum:i8:1:axis=0,in=1@-9223372036854775808", NULL },
};

/* Wrong words: status, field, position, a piece of the message. */
static const struct {
    const char *word, *field;
    int position;
    const char *message;
} wrong[] = {
    { "", "op", 1, "''" },
    { "cumsm:f32:4:axis=0", "op", 1, "'cumsm' is no operator" },
    { "Cumsum:f32:4:axis=0", "op", 1, "Cumsum" },
    { " cumsum:f32:4:axis=0", "op", 1, "no operator" },
    { "cumsum", "dtype", 7, "ends before" },
    { "cumsum:f32", "sizes", 11, "ends before" },
    { "cumsum:f33:4:axis=0", "dtype", 8, "'f33'" },
    { "cumsum::4:axis=0", "dtype", 8, "''" },
    { "cumsum:f32>:4:axis=0", "dtype", 12, "''" },
    { "cumsum:f32>f64>f64:4:axis=0", "dtype", 12, "f64>f64" },
    { "cumsum:f32::axis=0", "sizes", 12, "''" },
    { "cumsum:f32:axis=0", "sizes", 12, "missing" },
    { "cumsum:f32:4x:axis=0", "sizes", 14, "''" },
    { "cumsum:f32:4X6:axis=0", "sizes", 13, "4X6" },
    { "cumsum:f32:04:axis=0", "sizes", 12, "leading zeros" },
    { "cumsum:f32:00:axis=0", "sizes", 12, "leading zeros" },
    { "cumsum:f32:-4:axis=0", "sizes", 12, "negative" },
    { "cumsum:f32:-0:axis=0", "sizes", 12, "sign" },
    { "cumsum:f32:4 :axis=0", "sizes", 13, "integer" },
    { "cumsum:f32:9223372036854775808:axis=0", "sizes", 12, "64 bits" },
    { "cumsum:f32:4x99999999999999999999999:axis=0", "sizes", 14, "64 bits" },
    { "cumsum:f32:scalar:axis=0", "sizes", 12, "rank" },
    { "cumsum:f32:1x1x1x1x1x1x1x1x1:axis=0", "sizes", 28, "more than 8" },
    { "cumsum:f32:4:", "option", 14, "empty" },
    { "cumsum:f32:4:axis=0,", "option", 21, "empty" },
    { "cumsum:f32:4:,axis=0", "option", 14, "empty" },
    { "cumsum:f32:4:axis=0,foo", "option", 21, "'foo'" },
    { "cumsum:f32:4:axis=0,foo=1", "option", 21, "'foo'" },
    { "cumsum:f32:4:axis=0:reverse", "option", 20, "between two options" },
    { "cumsum:f32:4", "axis", 13, "needs axis" },
    { "cumsum:f32:4:reverse", "axis", 21, "needs axis" },
    { "cumsum:f32:4:axis", "axis", 18, "needs a value" },
    { "cumsum:f32:4:axis=", "axis", 19, "''" },
    { "cumsum:f32:4:axis=+0", "axis", 19, "+0" },
    { "cumsum:f32:4:axis=1", "axis", 19, "[-1, 0]" },
    { "cumsum:f32:4:axis=-2", "axis", 19, "[-1, 0]" },
    { "cumsum:f32:4:axis=4294967296", "axis", 19, "4294967296" },
    { "cumsum:f32:4:axis=0,axis=0", "axis", 21, "twice" },
    { "cumsum:f32:4:axis=0,axes=0", "axes", 21, "not an option" },
    { "sum:f32:4:axis=0", "axis", 11, "not an option of sum" },
    { "sum:f32:4:axes=", "axes", 16, "''" },
    { "sum:f32:4:axes=0+", "axes", 18, "''" },
    { "sum:f32:4x6:axes=0+0", "axes", 20, "twice" },
    { "sum:f32:4x6:axes=0+-2", "axes", 20, "twice" },
    { "sum:f32:4x6:axes=0+none", "axes", 20, "none" },
    { "sum:f32:4x6:axes=2", "axes", 18, "[-2, 1]" },
    { "sum:f32:scalar:axes=0", "axes", 21, "scalar" },
    { "sum:f32:4:exclusive", "exclusive", 11, "not an option" },
    { "sum:f32:4:reverse", "reverse", 11, "not an option" },
    { "sum:f32:4:last", "last", 11, "not an option" },
    { "max:f32:4:last", "last", 11, "not an option" },
    { "sum:f32:4:nan=ignore", "nan", 11, "not an option" },
    { "cumsum:f32:4:axis=0,nan=ignore", "nan", 21, "not an option" },
    { "cumsum:f32:4:axis=0,keepdims", "keepdims", 21, "not an option" },
    { "cumsum:f32:4:axis=0,reverse=1", "reverse", 28, "no value" },
    { "cumsum:f32:4:axis=0,reverse,reverse", "reverse", 29, "twice" },
    { "cumsum:f32:4:axis=0,order=run", "order", 27, "'run'" },
    { "cumsum:f32:4:axis=0,order=exact,order=serial", "order", 33, "twice" },
    { "cumsum:f32:4:axis=0,acc=f32", "acc", 25, "'f32'" },
    { "cumsum:i32:4:axis=0,acc=f64", "acc", 25, "i32" },
    { "sum:f32>i64:4:acc=f64", "acc", 19, "i64" },
    { "cummax:bool:4:axis=0,acc=f64", "acc", 22, "not an option of cummax" },
    { "log_sum_exp:f32:4:acc=f64", "acc", 19, "not an option" },
    { "argmax:f32:4:acc=f64", "acc", 14, "not an option" },
    { "max:f64:4:acc=f64", "acc", 11, "not an option" },
    { "max:i32:4:nan=ignore", "nan", 15, "i32" },
    { "cummin:bool:4:axis=0,nan=ignore", "nan", 26, "bool" },
    { "argmax:u8>i64:4:last,nan=ignore", "nan", 26, "u8" },
    { "argmax:f32:0", "sizes", 12, "argmax of no elements" },
    { "argmin:f32>i32:4x0:axes=1,keepdims", "sizes", 16, "no elements" },
    { "argmax:i8>i32:2147483649", "dtype", 8, "2147483649 elements" },
    { "argmax:i8>u32:65537x65536", "dtype", 8, "u32" },
    { "argmax:i8>i32:65536x4x65536:axes=0+2", "dtype", 8, "4294967296" },
    { "cummax:f32:4:axis=0,nan=keep", "nan", 25, "'keep'" },
    { "cumsum:f32:4:axis=0,in=", "in", 24, "''" },
    { "cumsum:f32:4:axis=0,in=@4", "in", 24, "rank 1" },
    { "cumsum:f32:4:axis=0,in=1x1", "in", 24, "2 strides" },
    { "cumsum:f32:4x6:axis=0,in=1", "in", 26, "1 strides" },
    { "cumsum:f32:4:axis=0,in=1@", "in", 26, "''" },
    { "cumsum:f32:4:axis=0,in=1@2@3", "in", 27, "2@3" },
    { "cumsum:f32:4:axis=0,in=1x1x1x1x1x1x1x1x1", "in", 40, "more than 8" },
    { "cumsum:f32:4:axis=0,out=0", "out", 25, "share an address" },
    { "cumsum:f32:4x6:axis=0,out=5x1", "out", 27, "share an address" },
    { "sum:f32:4x6:axes=1,out=1x1", "out", 24, "rank 1" },
    { "sum:f32:4x6:out=1", "out", 17, "rank 0" },
    { "cumsum:f32:9223372036854775807:axis=0", "sizes", 12, "overflows" },
    { "cumsum:i8:4294967296x4294967296:axis=0", "sizes", 11, "overflows" },
    { "cumsum:f32:4:axis=0,in=9223372036854775807", "in", 24, "overflows" },
    { "cumsum:f32:4:axis=0,in=1@9223372036854775807", "in", 24, "overflows" },
    { "cumsum:i8:2:axis=0,in=-9223372036854775808", "in", 23, "overflows" },
    { "cumsum:f32:4:axis=0,out=4611686018427387904", "out", 25, "overflows" },
    { "cumsum:f32:?:axis=1", "axis", 19, "[-1, 0]" },
    { "cumsum:f32:-1:axis=0", "sizes", 12, "negative" },
    { "cumsum:f32:??:axis=0", "sizes", 12, "integer" },
    { "cumsum:f32:?x4:axis=0,in=1", "in", 26, "1 strides for the input's rank 2" },
    { "cumsum:f32:2x?:axis=0,out=0x1", "out", 27, "may share an address" },
    { "cumsum:f32:?x4611686018427387904:axis=1", "sizes", 12, "overflows" },
};

Test(word, valid_words_have_one_canonical_form)
{
    for (size_t i = 0; i < sizeof valid / sizeof valid[0]; i++) {
        const char *word = valid[i].word;
        const char *canonical = valid[i].canonical != NULL ? valid[i].canonical : word;
        tally_descriptor d, again;
        tally_error e = TALLY_ERROR_INIT;
        char text[TALLY_WORD_MAX];
        size_t length = 0;
        cr_assert_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK, "%s: %s: %s", word, e.field,
                     e.message);
        cr_assert_eq(tally_descriptor_print(&d, text, sizeof text, &length, &e), TALLY_OK, "%s",
                     word);
        cr_expect_str_eq(text, canonical);
        cr_expect_eq(length, strlen(canonical), "%s", word);
        cr_assert_eq(tally_descriptor_parse(text, &again, &e), TALLY_OK, "%s", text);
        cr_expect_eq(memcmp(&d, &again, sizeof d), 0, "%s: parse(print(d)) is another d", word);
    }
}

Test(word, wrong_words_say_what_and_where)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *word = wrong[i].word;
        tally_descriptor d, before;
        memset(&d, 0x5a, sizeof d);
        before = d;
        tally_error e = TALLY_ERROR_INIT;
        cr_expect_eq(tally_descriptor_parse(word, &d, &e), TALLY_INVALID, "%s", word);
        cr_expect_eq(e.status, TALLY_INVALID, "%s", word);
        cr_expect_str_eq(e.field, wrong[i].field, "%s: field %s", word, e.field);
        cr_expect_eq(e.position, wrong[i].position, "%s: position %d", word, (int)e.position);
        cr_expect(strstr(e.message, wrong[i].message) != NULL, "%s: %s", word, e.message);
        cr_expect_eq(memcmp(&d, &before, sizeof d), 0, "%s: descriptor touched", word);
        cr_expect_eq(tally_descriptor_parse(word, &d, NULL), TALLY_INVALID, "%s", word);
    }
}

Test(word, open_sizes_are_minus_one)
{
    tally_descriptor d;
    tally_error e = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse("cumsum:f32:3x?x?:axis=-1", &d, &e), TALLY_OK, "%s",
                 e.message);
    cr_expect_eq(d.sizes[0], 3);
    cr_expect_eq(d.sizes[1], TALLY_OPEN_SIZE);
    cr_expect_eq(d.sizes[2], -1);
    cr_expect_eq(tally_descriptor_check(&d, NULL), TALLY_OK);
    d.sizes[0] = -2;
    cr_expect_eq(tally_descriptor_check(&d, NULL), TALLY_INVALID);
    d.sizes[0] = 3;
    d.flags = TALLY_OUT_STRIDES; /* all of them 0 */
    cr_expect_eq(tally_descriptor_check(&d, &e), TALLY_INVALID);
    cr_expect_str_eq(e.field, "out");
}

/* Strides are dropped if they are the packed ones for every size, not for one size alone. */
Test(word, open_sizes_with_strides)
{
    static const char *const words[][2] = {
        { "cumsum:f32:?x4:axis=1,in=8x1", NULL },
        { "cumsum:f32:?x4:axis=1,in=4x1", "cumsum:f32:?x4:axis=1" },
        { "cumsum:f32:?x4:axis=1,in=4x1,out=9x2@3", "cumsum:f32:?x4:axis=1,out=9x2@3" },
        { "cumsum:f32:4x?:axis=1,in=1x1", NULL },
        { "cumsum:f32:4x?:axis=0,out=0x1", "" },
        { "cumsum:f32:4x?:axis=0,out=1x0", NULL }, /* right for one column */
        { "sum:f32:?x4:axes=0,out=1", "sum:f32:?x4:axes=0" },
        { "sum:f32:?x4x?:axes=0,out=1x1", NULL },
        { "sum:f32:4x?:axes=0,out=1", "sum:f32:4x?:axes=0" },
        { "sum:f32:4x?:axes=0,keepdims,out=1x1", NULL },
        { "sum:f32:4x?:axes=1,keepdims,out=1x1", "sum:f32:4x?:axes=1,keepdims" },
        { "sum:f32:?x4:axes=0,in=4611686018427387904x1", NULL }, /* for one row */
        { "sum:f32:?x4:axes=0,in=1x4611686018427387904", "" },
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *word = words[i][0], *canonical = words[i][1] ? words[i][1] : word;
        tally_descriptor d;
        char text[TALLY_WORD_MAX] = "";
        const tally_status status = tally_descriptor_parse(word, &d, NULL);
        cr_expect_eq(status, *canonical ? TALLY_OK : TALLY_INVALID, "%s", word);
        if (status == TALLY_OK) {
            tally_descriptor_print(&d, text, sizeof text, NULL, NULL);
        }
        cr_expect_str_eq(text, canonical, "%s: %s", word, text);
    }
}

/* Every operator with every dtype is a word; no word survives the loss or change of a character
 * without being judged anew. */
Test(word, every_op_and_dtype)
{
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        tally_descriptor floats = TALLY_DESCRIPTOR_INIT;
        tally_dtype out = TALLY_DTYPE_NONE;
        floats.op = op;
        floats.dtype = TALLY_F32;
        floats.rank = floats.sizes[0] = 1;
        strcpy(floats.coef, op == TALLY_LINREC ? "x" : "");
        cr_assert_eq(tally_descriptor_result(&floats, NULL, NULL, &out, NULL), TALLY_OK);
        const int has_own = out != TALLY_F32; /* whatever the input's is */
        for (int dtype = 1; dtype < TALLY_DTYPE_COUNT; dtype++) {
            tally_descriptor d = TALLY_DESCRIPTOR_INIT;
            d.op = op;
            d.dtype = dtype;
            d.rank = 2;
            d.sizes[0] = 3;
            d.sizes[1] = 4;
            strcpy(d.coef, floats.coef);
            char text[TALLY_WORD_MAX], wanted[64];
            snprintf(wanted, sizeof wanted, "%s:%s%s%s:3x4%s%s", tally_op_name((tally_op)op),
                     tally_dtype_name((tally_dtype)dtype), has_own ? ">" : "",
                     has_own ? tally_dtype_name(out) : "",
                     tally_op_is_scan((tally_op)op) ? ":axis=0" : "",
                     op == TALLY_LINREC ? ",coef=x" : "");
            cr_assert_eq(tally_descriptor_print(&d, text, sizeof text, NULL, NULL), TALLY_OK);
            cr_expect_str_eq(text, wanted);
            tally_descriptor parsed;
            cr_assert_eq(tally_descriptor_parse(text, &parsed, NULL), TALLY_OK, "%s", text);
            cr_expect_eq(memcmp(&parsed, &d, sizeof d), 0, "%s", text);
        }
    }
}

/* Random damage to valid words: nothing crashes, and what parses is a fixed point of print. */
Test(word, damaged_words)
{
    static const char alphabet[] = ":,=x@+-0123456789?>abcdefilmnoprstuvk_ \x7f\xff";
    uint64_t state = 2024;
    for (int round = 0; round < 20000; round++) {
        char word[256];
        size_t i = (size_t)(round % (int)(sizeof valid / sizeof valid[0]));
        snprintf(word, sizeof word, "%s", valid[i].word);
        int edits = 1 + round % 3;
        for (int k = 0; k < edits; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t length = strlen(word);
            size_t at = (size_t)(state >> 33) % (length + 1);
            char c = alphabet[(size_t)(state >> 17) % (sizeof alphabet - 1)];
            switch (state >> 61 & 3) {
            case 0: /* lose one */
                memmove(word + at, word + at + (at < length), length - at + (at >= length));
                break;
            case 1: /* cut */
                word[at] = 0;
                break;
            default: /* change one */
                if (at < length) {
                    word[at] = c;
                }
                break;
            }
        }
        tally_descriptor d, again;
        tally_error e = TALLY_ERROR_INIT;
        char text[TALLY_WORD_MAX], twice[TALLY_WORD_MAX];
        tally_status s = tally_descriptor_parse(word, &d, &e);
        if (s != TALLY_OK) {
            cr_assert(e.position >= 1 && (size_t)e.position <= strlen(word) + 1, "%s: %d", word,
                      (int)e.position);
            cr_assert(e.field[0] != 0 && e.message[0] != 0, "%s", word);
            continue;
        }
        cr_assert_eq(tally_descriptor_print(&d, text, sizeof text, NULL, &e), TALLY_OK, "%s", word);
        cr_assert_eq(tally_descriptor_parse(text, &again, &e), TALLY_OK, "%s", text);
        cr_assert_eq(memcmp(&d, &again, sizeof d), 0, "%s", text);
        cr_assert_eq(tally_descriptor_print(&again, twice, sizeof twice, NULL, &e), TALLY_OK);
        cr_assert_str_eq(text, twice);
    }
}

Test(word, print_needs_room)
{
    tally_descriptor d;
    char text[64] = "untouched";
    size_t length = 77;
    tally_error e = TALLY_ERROR_INIT;
    const char *word = "cumsum:f32:4:axis=0";
    cr_assert_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK);
    cr_expect_eq(tally_descriptor_print(&d, text, strlen(word), &length, &e), TALLY_INVALID);
    cr_expect_str_eq(text, "untouched");
    cr_expect_eq(length, 77u);
    cr_expect_eq(tally_descriptor_print(&d, NULL, 100, &length, &e), TALLY_INVALID);
    cr_expect_eq(tally_descriptor_print(NULL, text, sizeof text, &length, &e), TALLY_INVALID);
    cr_expect_eq(tally_descriptor_print(&d, text, strlen(word) + 1, &length, &e), TALLY_OK);
    cr_expect_str_eq(text, word);
    cr_expect_eq(tally_descriptor_parse(NULL, &d, &e), TALLY_INVALID);
    cr_expect_eq(tally_descriptor_parse(word, NULL, &e), TALLY_INVALID);
}

/* The longest word there is. */
Test(word, the_longest_word_fits)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    d.op = TALLY_CUMPROD;
    d.dtype = TALLY_BF16;
    d.out_dtype = TALLY_F32;
    d.acc = TALLY_F64;
    d.order = TALLY_ORDER_SERIAL;
    d.rank = TALLY_MAX_RANK;
    d.flags = TALLY_EXCLUSIVE | TALLY_REVERSE | TALLY_IN_STRIDES | TALLY_OUT_STRIDES;
    d.axis = -1;
    for (int i = 0; i < TALLY_MAX_RANK; i++) {
        d.sizes[i] = 1;
        d.in_strides[i] = INT64_MIN;
        d.out_strides[i] = INT64_MIN;
    }
    d.in_offset = d.out_offset = INT64_MIN / 4;
    char text[TALLY_WORD_MAX];
    size_t length;
    tally_descriptor parsed;
    cr_assert_eq(tally_descriptor_print(&d, text, sizeof text, &length, NULL), TALLY_OK);
    cr_expect_eq(length, strlen(text));
    cr_assert_eq(tally_descriptor_parse(text, &parsed, NULL), TALLY_OK, "%s", text);
}

/* Partial words, with a file of f32 4x6 or without one. */
Test(word, completion)
{
    static const struct {
        const char *word, *full;
        int had_dtype, had_sizes;
    } good[] = {
        { "sum", "sum:f32:4x6", 0, 0 },
        { "cumprod:axis=-1", "cumprod:f32:4x6:axis=-1", 0, 0 },
        { "cumsum:bf16:axis=0", "cumsum:bf16:4x6:axis=0", 1, 0 },
        { "cumsum:bf16>f32:axis=0", "cumsum:bf16>f32:4x6:axis=0", 1, 0 },
        { "cumsum:>f64:axis=0", "cumsum:f32>f64:4x6:axis=0", 0, 0 },
        { "sum:>f64", "sum:f32>f64:4x6", 0, 0 },
        { "sum:>f64:3", "sum:f32>f64:3", 0, 1 },
        { "cumsum:3x2:axis=0,in=1x3", "cumsum:f32:3x2:axis=0,in=1x3", 0, 1 },
        { "sum:scalar", "sum:f32:scalar", 0, 1 },
        { "sum:3", "sum:f32:3", 0, 1 },
        { "max:keepdims", "max:f32:4x6:keepdims", 0, 0 },
        { "argmax:last", "argmax:f32:4x6:last", 0, 0 },
        { "cumsum:reverse,axis=1", "cumsum:f32:4x6:reverse,axis=1", 0, 0 },
        { "cumsum:i8:3x2:axis=0", "cumsum:i8:3x2:axis=0", 1, 1 },
    };
    static const struct {
        const char *word, *field;
        int position;
    } bad[] = {
        { "", "op", 1 },
        { "foo", "op", 1 },
        { "foo:axis=1", "op", 1 },
        { "cumsum", "axis", 7 },
        { "cumsum:f33", "dtype", 8 },
        { "cumsum:>f33", "dtype", 9 },
        { "cumsum:>", "dtype", 9 },
        { "cumsum:>f64:axis=2", "axis", 18 },
        { "cumsum:>f64>f64:axis=0", "dtype", 9 },
        { "sum:axes=0,1", "axes", 11 },
        { "cumsum:axis=2", "axis", 13 },
        { "cumsum:f32:axis=2", "axis", 17 },
        { "cumsum:in=1x4,axis=0", "in", 8 },
        { "cumsum:axis=0,out=1x4", "out", 15 },
        { "sum:f32:kepdims", "option", 9 },
        { "sum:", "option", 5 },
        { "sum:f32:", "option", 9 },
        { "sum:04", "sizes", 5 },
        { "sum:f32:4y:last", "sizes", 10 },
    };
    static const int64_t sizes[] = { 4, 6 };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char full[TALLY_WORD_MAX];
        int32_t had_dtype, had_sizes;
        tally_error e = TALLY_ERROR_INIT;
        cr_assert_eq(tally_word_complete(good[i].word, "f32", 2, sizes, full, sizeof full,
                                         &had_dtype, &had_sizes, &e),
                     TALLY_OK, "%s: %s", good[i].word, e.message);
        cr_expect_str_eq(full, good[i].full);
        cr_expect_eq(had_dtype, good[i].had_dtype, "%s", good[i].word);
        cr_expect_eq(had_sizes, good[i].had_sizes, "%s", good[i].word);
        if (!had_dtype || !had_sizes) {
            cr_expect_eq(
                tally_word_complete(good[i].word, NULL, 0, NULL, full, sizeof full, NULL, NULL, &e),
                TALLY_INVALID, "%s", good[i].word);
            cr_expect_str_eq(e.field, had_dtype ? "sizes" : "dtype", "%s", good[i].word);
            cr_expect_str_eq(full, good[i].full);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char full[TALLY_WORD_MAX] = "untouched";
        tally_error e = TALLY_ERROR_INIT;
        cr_expect_eq(
            tally_word_complete(bad[i].word, "f32", 2, sizes, full, sizeof full, NULL, NULL, &e),
            TALLY_INVALID, "%s", bad[i].word);
        cr_expect_str_eq(e.field, bad[i].field, "%s: %s", bad[i].word, e.field);
        cr_expect_eq(e.position, bad[i].position, "%s: %d", bad[i].word, (int)e.position);
        cr_expect_str_eq(full, "untouched");
    }
}

/* Hints are words to be typed in the author's own terms, whatever was inserted, or whole lists. */
Test(word, hints)
{
    static const struct {
        const char *word, *hint;
    } cases[] = {
        { "cumsm:axis=0", "type cumsum:axis=0" },
        { "cumsum:float32:axis=0", "type cumsum:f32:axis=0" },
        { "sum:>float64", "type 'sum:>f64'" },
        { "sum:4x6:dim=1", "type sum:4x6:axes=1" },
        { "sum:f32:6x4:axes=0,1", "axes have + between them: sum:f32:6x4:axes=0+1" },
        { "sum:f32:9x9:axes=9", "the last axis is -1: sum:f32:9x9:axes=-1" },
        { "cumsum", "along the last axis it is cumsum:axis=-1" },
        { "cumsum:bf16:reverse", "along the last axis it is cumsum:bf16:reverse,axis=-1" },
        { "sum:x", "dtypes: f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool" },
        /* Too long to be typed again in a hint. */
        { "sum:f32:4x6:axes=0,in=1111111111111111111x2222222222222222222@333333333333333333,"
          "keepdims,"
          "out=4444444444444444444@5555555555555555555,ordr=serial",
          "sum takes axes= keepdims in= out= a= map= post= segments= every= order= acc=" },
    };
    static const int64_t sizes[] = { 4, 6 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char full[TALLY_WORD_MAX];
        tally_error e = TALLY_ERROR_INIT;
        cr_assert_eq(
            tally_word_complete(cases[i].word, "f32", 2, sizes, full, sizeof full, NULL, NULL, &e),
            TALLY_INVALID, "%s", cases[i].word);
        cr_expect_str_eq(e.hint, cases[i].hint, "%s: %s", cases[i].word, e.hint);
    }
}

/* A name that is like no operator's: all that there are. */
Test(word, hints_name_every_operator)
{
    for (int scans = 0; scans < 2; scans++) {
        const char *word = scans ? "cumfoo" : "foo";
        char wanted[sizeof((tally_error *)NULL)->hint], full[TALLY_WORD_MAX];
        tally_error e = TALLY_ERROR_INIT;
        int length = snprintf(wanted, sizeof wanted, scans ? "scans:" : "reductions:");
        for (int op = 1; op < TALLY_OP_COUNT; op++) {
            if (!tally_op_is_scan((tally_op)op) == !scans) {
                length += snprintf(wanted + length, sizeof wanted - (size_t)length, " %s",
                                   tally_op_name((tally_op)op));
            }
        }
        snprintf(wanted + length, sizeof wanted - (size_t)length, "%s",
                 scans ? "" : "; scans begin with cum or lin");
        cr_assert_eq(tally_word_complete(word, "f32", 0, NULL, full, sizeof full, NULL, NULL, &e),
                     TALLY_INVALID);
        cr_expect_str_eq(e.hint, wanted, "%s: %s", word, e.hint);
    }
}

Test(word, completion_limits)
{
    static const int64_t huge[] = { 1, 1, 1, 1, 1, 1, 1, INT64_MAX };
    char full[TALLY_WORD_MAX];
    char longest[2 * TALLY_WORD_MAX];
    tally_error e = TALLY_ERROR_INIT;
    cr_expect_eq(tally_word_complete("sum", "i8", 8, huge, full, sizeof full, NULL, NULL, &e),
                 TALLY_OK);
    cr_expect_eq(tally_word_complete("sum", "i8", 0, huge, full, sizeof full, NULL, NULL, &e),
                 TALLY_OK);
    cr_expect_str_eq(full, "sum:i8:scalar");
    cr_expect_eq(tally_word_complete("sum", "i8", 9, huge, full, sizeof full, NULL, NULL, &e),
                 TALLY_INVALID);
    cr_expect_str_eq(e.field, "sizes");
    cr_expect_eq(
        tally_word_complete("cumsum:axis=0", "i8", 0, huge, full, sizeof full, NULL, NULL, &e),
        TALLY_INVALID);
    cr_expect_str_eq(e.field, "sizes");
    cr_expect_eq(tally_word_complete("sum", "f32", 8, huge, full, sizeof full, NULL, NULL, &e),
                 TALLY_INVALID);
    cr_expect_eq(e.position, 4);
    cr_expect_eq(tally_word_complete("sum", "i8", 1, huge, full, 8, NULL, NULL, &e), TALLY_INVALID);
    cr_expect_str_eq(e.field, "usage");
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    cr_expect_eq(tally_word_complete(longest, "i8", 8, huge, full, sizeof full, NULL, NULL, &e),
                 TALLY_INVALID);
    cr_expect_eq(tally_word_complete(NULL, "i8", 8, huge, full, sizeof full, NULL, NULL, &e),
                 TALLY_INVALID);
}

/* The nearest name, and none where nothing is near. */
Test(word, names_are_guessed)
{
    static const char *const names[] = { "cumsum",    "cumprod", "f32",          "bf16",
                                         "exclusive", "axes",    "cpu:x86-64-v2" };
    static const struct {
        const char *text, *best;
    } cases[] = {
        { "cumsm", "cumsum" },
        { "cumsmu", "cumsum" },
        { "CUMSUM", "cumsum" },
        { "cumsumm", "cumsum" },
        { "cumprd", "cumprod" },
        { "exc", "exclusive" },
        { "axis", "axes" },
        { "float32", "f32" },
        { "bfloat16", "bf16" },
        { "float64", NULL },
        { "cpu:avx2", NULL },
        { "", NULL },
        { "x", NULL },
        { "scan", NULL },
        { "cpu:x86-64-v9", "cpu:x86-64-v2" },
        { "exclusiveexclusiveexclusiveexclusiveexclusive", NULL },
        { "prefix_sum", "cumsum" },
        { "PrefixSum_", "cumsum" },
        { "prefix_sums", NULL },
        { "_", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tly_suggestion guess = tly_suggest_begin(cases[i].text, strlen(cases[i].text));
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            tly_suggest_try(&guess, names[k]);
        }
        tly_suggest_alias(&guess, "prefixsum", "cumsum");
        cr_expect(cases[i].best == NULL
                      ? guess.best == NULL
                      : guess.best != NULL && strcmp(guess.best, cases[i].best) == 0,
                  "%s: %s", cases[i].text, guess.best != NULL ? guess.best : "none");
    }
    char list[16] = "";
    tly_names_add(list, sizeof list, "one");
    tly_names_add(list, sizeof list, "three");
    cr_expect_str_eq(list, "one three");
    tly_names_add(list, sizeof list, "two");
    tly_names_add(list, sizeof list, "x");
    cr_expect_str_eq(list, "one three ...");
}

/* --- words as they are typed -------------------------------------------------------------------
 */

/* Lines, with blanks between them in place of their ends. */
typedef struct lines {
    char text[8192];
    size_t length;
} lines;

static int add_line(void *user, const char *text, size_t bytes)
{
    lines *l = user;
    cr_assert_lt(l->length + bytes, sizeof l->text);
    memcpy(l->text + l->length, text, bytes);
    l->length += bytes;
    cr_expect_eq(text[bytes - 1], '\n');
    l->text[l->length - 1] = ' ';
    l->text[l->length] = 0;
    return 0;
}

static const struct {
    const char *begun, *next; /* in this order */
} typed[] = {
    { "cump", "cumprod: " },
    { "lin", "linrec: " },
    { "argm", "argmax: argmin: " },
    { "cumprod", "cumprod: " },
    { "cumprods", "" },
    { "cumprod:b", "cumprod:bf16: cumprod:bool: " },
    { "cumprod:e", "cumprod:exclusive cumprod:every= " },
    { "cumprod:f32:3x4:ax", "cumprod:f32:3x4:axis= " },
    { "cumprod:f32:3x4:axis=", "cumprod:f32:3x4:axis=0 cumprod:f32:3x4:axis=1 " },
    { "cumprod:f32:axis=", "" }, /* of how many is not known */
    { "cumprod:f32:3:axis=0,",
      "cumprod:f32:3:axis=0,exclusive cumprod:f32:3:axis=0,reverse cumprod:f32:3:axis=0,in= "
      "cumprod:f32:3:axis=0,out= cumprod:f32:3:axis=0,a= cumprod:f32:3:axis=0,map= "
      "cumprod:f32:3:axis=0,post= cumprod:f32:3:axis=0,reset= cumprod:f32:3:axis=0,segments= "
      "cumprod:f32:3:axis=0,every= cumprod:f32:3:axis=0,carry= cumprod:f32:3:axis=0,order= "
      "cumprod:f32:3:axis=0,acc= " },
    { "cumprod:i32:axis=0,",
      "cumprod:i32:axis=0,exclusive cumprod:i32:axis=0,reverse cumprod:i32:axis=0,a= "
      "cumprod:i32:axis=0,map= cumprod:i32:axis=0,post= cumprod:i32:axis=0,reset= "
      "cumprod:i32:axis=0,segments= cumprod:i32:axis=0,every= cumprod:i32:axis=0,carry= "
      "cumprod:i32:axis=0,order= " },
    /* Operands need a use, which may follow; a recurrence needs a factor. */
    { "cumsum:f32:4:axis=0,a=f32,m", "cumsum:f32:4:axis=0,a=f32,map= " },
    { "sum:f32:4:a=u", "sum:f32:4:a=u16 sum:f32:4:a=u8 " },
    { "sum:f32:4:a,b=f32,map=max(a,b),c", "" },
    { "sum:f32:4:map=max(x,", "" },
    { "sum:f32:4:map=max(x,1),b", "" },
    { "max:f32:4x4:axes=0,map=max(x,1),ev", "max:f32:4x4:axes=0,map=max(x,1),every= " },
    { "linrec:f32:4:ax", "linrec:f32:4:axis= " },
    { "linrec:f32:4:axis=0,co", "linrec:f32:4:axis=0,coef= " },
    { "sum:f32:4:co", "" },
    { "cumsum:f32:4:axis=0,carry=in",
      "cumsum:f32:4:axis=0,carry=in cumsum:f32:4:axis=0,carry=in+out " },
    { "cumargmax:f32:4:axis=0,ex", "" },

    { "cumprod:f32:3:order=", "cumprod:f32:3:order=exact cumprod:f32:3:order=serial " },
    { "max:f32:3x4:",
      "max:f32:3x4:axes= max:f32:3x4:keepdims max:f32:3x4:in= max:f32:3x4:out= max:f32:3x4:a= "
      "max:f32:3x4:map= max:f32:3x4:post= max:f32:3x4:order= max:f32:3x4:nan= " },
    { "max:i32:3x4:n", "" },
    { "sum:f32:s", "sum:f32:scalar " },
    { "cumsum:f32:s", "cumsum:f32:segments= " },
    { "sum:f32:2x3x4:axes=0+", "sum:f32:2x3x4:axes=0+1 sum:f32:2x3x4:axes=0+2 " },
    { "sum:f32:2x3x4:axes=n", "sum:f32:2x3x4:axes=none " },
    { "sum:i8>i", "sum:i8>i64: sum:i8>i32: sum:i8>i16: sum:i8>i8: " },
    { "argmax:f32:4:la", "argmax:f32:4:last " },
    { "sum:f32:4:la", "" },
    { "nothing:f", "" },
    { "cumsum:f32:4:axis=0:re", "" },
    { "cumsum:f32:9x9x9x9x9x9x9x9x9:ax", "" },
    { "::::", "" },
    { "=", "" },
    { ",", "" },
};

Test(word, goes_on_as_the_parser_reads_it)
{
    tally_error e = TALLY_ERROR_INIT;
    char longest[TALLY_WORD_MAX + 1];
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        lines got = { .text = "" };
        cr_assert_eq(tally_word_next(typed[i].begun, add_line, &got, &e), TALLY_OK);
        cr_expect_str_eq(got.text, typed[i].next, "%s: %s", typed[i].begun, got.text);
    }
    memset(longest, 'x', TALLY_WORD_MAX);
    longest[TALLY_WORD_MAX] = 0;
    lines none = { .text = "" };
    cr_expect_eq(tally_word_next(longest, add_line, &none, &e), TALLY_OK);
    cr_expect_eq(none.length, 0);
    cr_expect_eq(tally_word_next(NULL, add_line, &none, &e), TALLY_INVALID);
    cr_expect_eq(tally_word_next("", NULL, &none, &e), TALLY_INVALID);
}

static int refuse_all(void *user, const char *text, size_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 1;
}

static const struct {
    const char *name, *value;
} values[] = {
    { ":axis=", "0" },       { ":axes=", "0" },      { ":order=", "serial" },   { ":acc=", "f64" },
    { ":nan=", "ignore" },   { ":a=", "f32,map=a" }, { ":map=", "-x" },         { ":coef=", "-x" },
    { ":post=", "-y" },      { ":reset=", "x" },     { ":segments=", "i32/1" }, { ":every=", "1" },
    { ":carry=", "in+out" },
};

/* Every name that the library has is offered, and what is offered can become a word: with what it
 * lacks put behind it, it is read. */
Test(word, offers_what_there_is)
{
    tally_error e = TALLY_ERROR_INIT;
    const int64_t sizes[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    lines ops = { .text = "" };
    cr_assert_eq(tally_word_next("", add_line, &ops, &e), TALLY_OK);
    char *rest = ops.text;
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        const size_t length = strlen(tally_op_name((tally_op)op));
        char *name = strtok_r(NULL, " ", &rest);
        cr_assert(name && strncmp(name, tally_op_name((tally_op)op), length) == 0 &&
                      strcmp(name + length, ":") == 0,
                  "no %s", tally_op_name((tally_op)op));
        lines names = { .text = "" };
        cr_assert_eq(tally_word_next(name, add_line, &names, &e), TALLY_OK);
        int dtypes = 0;
        char *others = names.text;
        for (char *word; (word = strtok_r(NULL, " ", &others)) != NULL;) {
            char full[TALLY_WORD_MAX], whole[TALLY_WORD_MAX];
            const char last = word[strlen(word) - 1];
            const int scan = tally_op_is_scan((tally_op)op);
            const int lacks_coef = op == TALLY_LINREC && !strstr(word, ":coef");
            dtypes += last == ':';
            const char *value = "";
            for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                value = last == '=' && strstr(word, values[i].name) ? values[i].value : value;
            }
            snprintf(whole, sizeof whole, "%.*s%s%s%s%s", (int)strlen(word) - (last == ':'), word,
                     value, last == ':' && scan ? ":axis=0" : "",
                     last != ':' && scan && !strstr(word, ":axis") ? ",axis=0" : "",
                     lacks_coef ? ",coef=x" : "");
            cr_expect_eq(
                tally_word_complete(whole, "f32", 8, sizes, full, sizeof full, NULL, NULL, &e),
                TALLY_OK, "%s: %s", whole, e.message);
        }
        cr_expect_eq(dtypes, TALLY_DTYPE_COUNT - 1, "%s: %d dtypes", name, dtypes);
    }
    cr_expect_eq(tally_word_next("", refuse_all, NULL, &e), TALLY_IO);
}
