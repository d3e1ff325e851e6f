/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of words: their canonical text, their codes beside those of random trees, decimals,
 * types, and every message with its field and position.
 */
#include "../runtime/descriptor/descriptor.h"
#include "../runtime/descriptor/expression.h"
#include "../runtime/descriptor/stages.h"
#include "splitmix.h"

#include <tally.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words ------------------------------------------------------------------------------------ */

static const char *const canonical[] = {
    "cumprod:f32:4096x192:axis=1,exclusive,map=1-x,post=x*y",
    "sum:i8>f32:1024x4096:axes=1,a=f32/none,b=f32/0,map=(x-a)*b",
    "cumsum:f32:32x65536:axis=1,a=bool,map=where(a,x,0)",
    "linrec:bf16:8x2048x1024:axis=1,a=bf16,map=a*x,coef=1-a,carry=in+out",
    "cumprod:f32:1048576:axis=0,exclusive,map=1-x,post=x*y,segments=i32/65536",
    "linrec:f32:4096x192:axis=1,exclusive,reverse,a=f32,b=f32,map=x*a,coef=x,post=b*(a+y)",
    "cumsum:f32:4096x192:axis=1,exclusive,a=f32,map=x*a,post=exp(-y)*(1-exp(-x*a))",
    "sum:f32:4096x4096:axes=1,a=f32/0,map=(x-a)*(x-a),post=y/4096",
    "sum:f32>f64:4096x4096:axes=1,map=where(x!=0,1,0)",
    "linrec:f32:1024x4096:axis=0,reverse,a=u8,coef=0.99*0.95*(1-a)",
    "cumsum:f32:8x9:axis=1,reverse,a=f32,b=f32,c=f32,d=f32,map=-c*d,post=a*(c*exp(-b-x*a)+y)",
    "cumsum:i32>i64:1000000:axis=0,a=u8,reset=a",
    "cumsum:f32:10:axis=0,a=i64,b=i64,reset=a!=b",
    "cumargmax:f32>i64:32x4096:axis=1,last",
    "cumargmin:bool>i32:8:axis=0,reverse",
    "sum:f32:3x4:axes=1,every=3",
    "max:f32:3x?:axes=1,segments=i64/?",
    "cumsum:f32:4x4:axis=0,a=f16/4096x0@-7,b=f64/none,map=a*b,acc=f64",
    "sum:f32:scalar:a=f32,map=a*x",
    "sum:f64>f16:9:map=x*x",
    "sum:i64:9:map=x*9223372036854775807+-9223372036854775808",
    "sum:u64:9:map=x*18446744073709551615",
    "cumlogsumexp:f64:9:axis=0,carry=out",
    "cumsum:f32:9:axis=0,every=4,carry=in,order=serial",
};

/* As they may be typed, and the canonical option. */
static const struct {
    const char *typed, *shown;
} forms[] = {
    { "map=((x))", "" },
    { "map=x", "" },
    { "post=(y)", "" },
    { "map=((x)*(2))+(3*(x+1))", "map=x*2+3*(x+1)" },
    { "map=x-(1-x)", "map=x-(1-x)" },
    { "map=(x-1)-x", "map=x-1-x" },
    { "map=x/(2*x)", "map=x/(2*x)" },
    { "map=(x/2)*x", "map=x/2*x" },
    { "map=-(x*2)", "map=-(x*2)" },
    { "map=(-x)*2", "map=-x*2" },
    { "map=-(-x)", "map=--x" },
    { "map=-(1)", "map=-(1)" },
    { "map=-1", "map=-1" },
    { "map=--1", "map=--1" },
    { "map=x-(-1)", "map=x--1" },
    { "map=x*-1", "map=x*-1" },
    { "map=-(inf)", "map=-inf" },
    { "map=(x<1)<(2>x)", "map=(x<1)<(2>x)" },
    { "map=((x+1)<=(x))+1", "map=(x+1<=x)+1" },
    { "map=min((x),(max(x,1)))", "map=min(x,max(x,1))" },
    { "map=where((x==x),x,(0))", "map=where(x==x,x,0)" },
    { "map=x*100000", "map=x*1e5" },
    { "map=x*1e2", "map=x*100" },
    { "map=x*0.0010", "map=x*1e-3" },
    { "map=x*0.010", "map=x*0.01" },
    { "map=x*2.50", "map=x*2.5" },
    { "map=x*15.0e9", "map=x*15e9" },
    { "map=x+0.0", "map=x+0" },
    { "map=x+-0.0", "map=x+-0" },
    { "map=x*0.1000000000000000055", "map=x*0.1" },
    { "map=x*nan+inf", "map=x*nan+inf" },
    { "a,map=a*x", "a=f32,map=a*x" },
    { "a=/none,map=a*x", "a=f32/none,map=a*x" },
    { "a=f16/1+0,map=a*x", "a=f16,map=a*x" },
    { "a=f16/-1,map=a*x", "a=f16/1,map=a*x" },
    { "a=f16/5x1@0,map=a*x", "a=f16,map=a*x" },
    { "a=f16/1x0@0,map=a*x", "a=f16/0,map=a*x" },
    { "a=f16/0x1@0,map=a*x", "a=f16/1,map=a*x" },
    { "a=f16/0x0@0,map=a*x", "a=f16/none,map=a*x" },
    { "a=f16/0x0@3,map=a*x", "a=f16/0x0@3,map=a*x" },
    { "carry=in,post=y*2,map=x*2", "map=x*2,post=y*2,carry=in" },
};

static void expect_word(const char *word, const char *shown)
{
    char text[TALLY_WORD_MAX], again[TALLY_WORD_MAX];
    tally_descriptor d, second;
    tally_error e = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK, "%s: %s", word, e.message);
    cr_assert_eq(tally_descriptor_print(&d, text, sizeof text, NULL, &e), TALLY_OK);
    cr_expect_str_eq(text, shown, "%s: %s", word, text);
    cr_assert_eq(tally_descriptor_parse(text, &second, &e), TALLY_OK, "%s: %s", text, e.message);
    cr_expect_eq(memcmp(&d, &second, sizeof d), 0, "%s", text);
    cr_assert_eq(tally_descriptor_print(&second, again, sizeof again, NULL, &e), TALLY_OK);
    cr_expect_str_eq(again, text);
}

Test(expression, canonical_words)
{
    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++) {
        expect_word(canonical[i], canonical[i]);
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char word[256], shown[256];
        snprintf(word, sizeof word, "cumsum:f32:4x5:axis=0,%s", forms[i].typed);
        snprintf(shown, sizeof shown, "cumsum:f32:4x5:axis=0%s%s", *forms[i].shown ? "," : "",
                 forms[i].shown);
        expect_word(word, shown);
    }
    expect_word("linrec:f32:9:axis=0,coef=a,a", "linrec:f32:9:axis=0,a=f32");
    expect_word("sum:i32:9:map=x*100000", "sum:i32:9:map=x*100000");
    expect_word("cumsum:f64>f32:4:axis=0,acc=f64,map=x*3", "cumsum:f64>f32:4:axis=0,map=x*3");
    expect_word("sum:i64>i32:4:map=x*3000000000", "sum:i64>i32:4:map=x*3000000000");
}

static const struct {
    const char *word, *field;
    int position;
    const char *message, *hint;
} refusals[] = {
    { "sum:f32:4:map=z", "map", 15, "'z' is no name here", "functions: abs sqrt exp log sig" },
    { "sum:f32:4:map=i", "map", 15, "'i' is no name here", "" },
    { "sum:f32:4:map=sqr(x)", "map", 15, "did you mean sqrt?", "" },
    { "sum:f32:4:map=x+y", "map", 17, "y is the result; it is for post", "" },
    { "cumsum:f32:4:axis=0,reset=y", "reset", 27, "y is the result; it is for post", "" },
    { "linrec:f32:4:axis=0,coef=y", "coef", 26, "y is the result; it is for post", "" },
    { "sum:f32:4:post=y*x", "post", 18, "x has no place in a result of sum", "" },
    { "sum:f32:3x4:axes=1,a,b=f32/0,map=a*x,post=y*b+a", "post", 47,
      "a extends along the reduced axis 1", "" },
    { "sum:f32:3x4:axes=1,a=f32/0x2@0,post=y*a", "post", 39, "a extends along the reduced axis 1",
      "" },
    { "sum:i32:4:map=x/2", "map", 16, "'/' is not for i32", ">f64" },
    { "sum:i64:4:map=x/2", "map", 16, "'/' is not for i64", "" },
    { "sum:i32:4:map=2*exp(x)", "map", 17, "'exp' is not for i32", ">f64" },
    { "sum:bool>i32:4:map=round(x)", "map", 20, "'round' is not for i32", ">f64" },
    { "max:bool:4:map=x/x", "map", 17, "'/' is not for u8", ">f64" },
    { "sum:i32:4:map=x+2.5", "map", 17, "2.5 is no i32", "" },
    { "sum:i32:4:map=x+1e2", "map", 17, "1e2 is no i32", "" },
    { "sum:i32:4:map=x+-0", "map", 17, "-0 is no i32", "" },
    { "sum:i32:4:map=x+inf", "map", 17, "inf is no i32", "" },
    { "sum:i32:4:map=x+nan", "map", 17, "nan is no i32", "" },
    { "sum:i32:4:map=x+2147483648", "map", 17, "2147483648 is no i32", "" },
    { "sum:u8>u32:4:map=x+-1", "map", 20, "-1 is no u32", "" },
    { "sum:i64:4:map=x+99999999999999999999", "map", 17, "99999999999999999999 is no i64", "" },
    { "sum:f32:4:map=1e39*x", "map", 15, "1e39 is infinite as f32", "" },
    { "sum:f64:4:map=1e400*x", "map", 15, "1e400 is infinite as f64", "" },
    { "sum:f32:4:map=(x+1", "map", 15, "'(' is not closed", "" },
    { "sum:f32:4:map=2*max(x,1,axes=0", "map", 20, "'(' is not closed", "" },
    { "sum:f32:4:map=x)", "map", 16, "')' closes nothing", "" },
    { "sum:f32:4:map=", "map", 15, "the expression ends where a value belongs", "" },
    { "sum:f32:4:map=x+", "map", 17, "the expression ends where a value belongs", "" },
    { "sum:f32:4:map=x+*2", "map", 17, "'*' stands where a value belongs", "" },
    { "sum:f32:4:map=2x", "map", 16, "'x' stands where an operator belongs", "" },
    { "sum:f32:4:map=(x,1)", "map", 17, "',' stands where an operator belongs", "" },
    { "sum:f32:4:map=x!", "map", 16, "'!' stands where an operator belongs", "" },
    { "sum:f32:4:map=x<1<2", "map", 18, "a comparison of a comparison needs parentheses", "" },
    { "sum:f32:4:map=exp", "map", 15, "'exp' is a function, and no '(' follows", "" },
    { "sum:f32:4:map=min(x)", "map", 15, "min takes 2 arguments, not 1", "" },
    { "sum:f32:4:map=abs(x,x)", "map", 15, "abs takes 1 argument, not 2", "" },
    { "sum:f32:4:map=x*007", "map", 17, "'007' has leading zeros", "" },
    { "sum:f32:4:map=x*1.", "map", 19, "a digit is missing behind '.'", "" },
    { "sum:f32:4:map=x*1e", "map", 19, "a digit is missing behind 'e'", "" },
    { "sum:f32:4:map=x*1e+5", "map", 19, "a number has no '+'", "" },
    { "sum:f32:4:map=.5*x", "map", 15, "'.' stands where a value belongs", "0.5" },
    { "sum:f32:4:map=x^2", "map", 16, "'^' stands where an operator belongs", "x*x" },
    { "sum:f32:4:map=x**2", "map", 17, "'*' stands where a value belongs", "x*x" },
    { "sum:f32:4:map=x&&1", "map", 16, "'&' stands where an operator belongs", "product" },
    { "sum:f32:4:map=1e+3", "map", 17, "a number has no '+'", "1e3" },
    { "sum:f32:4:map=x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+"
      "x+"
      "x+x",
      "map", 15, "41 operations, and the limit is 32", "" },
    { "sum:f32:4:map=x+(x+(x+(x+(x+(x+(x+(x+x)))))))", "map", 15,
      "9 values alive at once, and the limit is 8", "" },
    { "sum:f32:4:a=f64,map=a*x", "a", 13, "f64 does not fit f32 without loss", "acc=f64, or >f64" },
    { "sum:f64:4:a=i64,map=a*x", "a", 13, "i64 does not fit f64 without loss",
      "flags of u8 or bool fit every type" },
    { "sum:f64:4:a=u64,map=a*x", "a", 13, "u64 does not fit f64 without loss", "" },
    { "sum:i32:4:a=f32,map=a*x", "a", 13, "f32 does not fit i32 without loss", "" },
    { "sum:f16:4:a=bf16,b=f32,c=f64,post=y*c,map=a*b*x,axes=none", "c", 26,
      "f64 does not fit f32 without loss", "acc=f64" },
    { "max:f32:4:a=i32,map=a*x", "a", 13, "i32 does not fit f32 without loss",
      "flags of u8 or bool fit every type" },
    { "linrec:f32:4:axis=0,a=i32,coef=where(a,0,1)", "a", 23, "i32 does not fit f32 without loss",
      "acc=f64, or >f64; flags of u8 or bool fit every type" },
    { "sum:u32:4:a=i8,map=a*x", "a", 13, "i8 does not fit u32 without loss", "" },
    { "sum:f32:4:a,b=f64,map=a*x*b", "b", 15, "f64 does not fit f32 without loss", "" },
    { "cumsum:f32:4:axis=0,a=i64,b=f32,reset=a!=b", "a", 23, "i64 does not fit f32 without loss",
      "share a dtype and it lacks x; flags of u8 or bool fit every type" },
    { "cumsum:f32:4:axis=0,a=i64,reset=a!=x", "a", 23, "i64 does not fit f32 without loss", "" },
    { "cumsum:f32:4:axis=0,a=i64,reset=a>2.5", "reset", 35, "2.5 is no i64", "" },
    { "sum:f32:4:a", "a", 11, "nothing uses it", "map=a*x" },
    { "sum:f32:4:a,b=f16,map=a*x", "b", 15, "nothing uses it", "" },
    { "linrec:f32:4:axis=0,a,coef=0.5", "a", 21, "nothing uses it", "" },
    { "sum:f32:4:map=x*c", "c", 17, "map uses it, and there is no such operand", "c=f32" },
    { "sum:f32:4:b,map=b*x", "b", 11, "there is no operand a before b", "without gaps" },
    { "sum:f32:4:a,a=f16,map=a*x", "a", 13, "a is given twice", "" },
    { "sum:f32:4:a,b,c,d,e,map=a*b*c*d*x", "option", 19, "'e' is no option", "map=" },
    { "sum:f32:4:map=x*2,map=x", "map", 19, "map is given twice", "" },
    { "sum:f32:4:map", "map", 14, "map needs a value", "" },
    { "sum:f32:4:a=,map=a*x", "a", 13, "a dtype or a place is missing behind '='", "a=f32" },
    { "sum:f32:4:a=f31,map=a*x", "a", 13, "'f31' is no dtype", "" },
    { "sum:f32:4:a=/4,map=a*x", "a", 14, "axis 4 is not in", "" },
    { "sum:f32:4:a=/-2,map=a*x", "a", 14, "axis -2 is not in", "" },
    { "sum:f32:4:a=/nowhere,map=a*x", "a", 14, "'nowhere' is no decimal integer", "" },
    { "sum:f32:4:a=/0+0,map=a*x", "a", 16, "axis 0 is named twice", "" },
    { "sum:f32:4x4:a=/4x1,map=a*x", "a", 19, "strides need an offset behind '@'", "@0" },
    { "sum:f32:4x4:a=/4@0,map=a*x", "a", 15, "1 strides for the input's rank 2", "" },
    { "sum:f32:?x4:a=/4x1@0,map=a*x", "a", 15, "strides of an operand need every size", "" },
    { "sum:f32:4x4:a=/9223372036854775807x1@0,map=a*x", "a", 15, "overflows 64 bits", "" },
    { "sum:f32:4:coef=x", "coef", 11, "only linrec has one", "" },
    { "sum:f32:4:reset=x", "reset", 11, "reset is not an option of sum", "" },
    { "sum:f32:4:carry=in", "carry", 11, "carry is not an option of sum", "" },
    { "argmax:f32:4:post=y", "post", 14, "post is not an option of argmax", "" },
    { "argmin:f32:4:post=y*2", "post", 14, "post is not an option of argmin", "" },
    { "cumargmax:f32:4:axis=0,post=y*2", "post", 24, "post is not an option of cumargmax", "" },
    { "cumargmax:f32:4:axis=0,exclusive", "exclusive", 24, "not an option of cumargmax", "" },
    { "cumargmin:f32:4:axis=0,carry=in", "carry", 24, "carry is not an option of cumargmin", "" },
    { "cumargmax:i8>i8:4x129:axis=1", "", 0, NULL, "" },
    { "cumargmax:i8>i8:4x128:axis=1,last", "", 0, NULL, "" },
    { "linrec:f32:4:axis=0", "coef", 12, "linrec needs a factor: coef, or operand a", "" },
    { "cumsum:f32:4:axis=0,carry=into", "carry", 27, "carry cannot be 'into'", "" },
    { "cumsum:f32:4:axis=0,every=2,segments=i32/2", "every", 27,
      "segments and every exclude each other", "" },
    { "cumsum:f32:4:axis=0,reset=x,every=2", "every", 35, "reset and every exclude each other",
      "" },
    { "cumsum:f32:4:axis=0,every=0", "every", 27, "a segment cannot have 0 elements", "" },
    { "cumsum:f32:4:axis=0,segments=u32/4", "segments", 30, "segments cannot be 'u32'",
      "segments=i32/N has N segments, by N + 1 offsets of i32 or i64" },
    { "cumsum:f32:4:axis=0,segments=i32", "segments", 33, "the number of segments is missing", "" },
    { "cumsum:f32:4:axis=0,segments=i32/-1", "segments", 34, "-1 is no number of segments", "" },
    { "cumsum:f32:4:axis=0,segments=i32/2147483649", "segments", 30, "is no number of segments",
      "" },
    { "sum:f32:4x4:every=2", "every", 19, "segments are along one reduced axis, not 2", "axes=0" },
    { "sum:f32:4x4:axes=0,keepdims,every=2", "keepdims", 20, "with every the axis stays", "" },
};

Test(expression, refusals)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        tally_descriptor d;
        tally_error e = TALLY_ERROR_INIT;
        const tally_status status = tally_descriptor_parse(refusals[i].word, &d, &e);
        if (refusals[i].message == NULL) { /* decided by the sizes */
            const int fits = strstr(refusals[i].word, "x128:") != NULL;
            cr_expect_eq(status, fits ? TALLY_OK : TALLY_INVALID, "%s", refusals[i].word);
            continue;
        }
        cr_expect_eq(status, TALLY_INVALID, "%s", refusals[i].word);
        cr_expect_str_eq(e.field, refusals[i].field, "%s: %s", refusals[i].word, e.field);
        cr_expect_eq(e.position, refusals[i].position, "%s: %d", refusals[i].word, e.position);
        cr_expect_not_null(strstr(e.message, refusals[i].message), "%s: %s", refusals[i].word,
                           e.message);
        cr_expect_not_null(strstr(e.hint, refusals[i].hint), "%s: %s", refusals[i].word, e.hint);
    }
}

/* How an f32 word can hold such an operand: only what there are kernels for. */
Test(expression, hints_of_wider_types)
{
    static const struct {
        const char *word, *hint;
    } cases[] = {
        { "sum:f32", "acc=f64, or >f64" },
        { "cumprod:f32", "acc=f64, or >f64" },
        { "mean:f32", "acc=f64" },
        { "l1:f32", "acc=f64" },
        { "sum:f16", "acc=f64" },
        { "sum:f64>f32", NULL },
        { "max:f32", "" },
        { "max:i8>f32", ">f64" },
        { "sum:i8>f32", "acc=f64, or >f64" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char word[80];
        tally_descriptor d;
        tally_error e = TALLY_ERROR_INIT;
        snprintf(word, sizeof word, "%s:4:%s=0,a=f64,map=a*x", cases[i].word,
                 strncmp(cases[i].word, "cum", 3) == 0 ? "axis" : "axes");
        const tally_status status = tally_descriptor_parse(word, &d, &e);
        cr_expect_eq(status, cases[i].hint != NULL ? TALLY_INVALID : TALLY_OK, "%s", word);
        cr_expect_str_eq(e.hint, cases[i].hint != NULL ? cases[i].hint : "", "%s: %s", word,
                         e.hint);
    }
}

/* Integers have few operations; u8 is the type of bools. */
Test(expression, operations_of_integers)
{
    static const char *const integers[] = { "i64", "i32", "i16",  "i8", "u64",
                                            "u32", "u16", "bool", "u8" };
    static const char *const few = "-+*<<=>>===!=absminmaxwhere";
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        for (int code = TLY_POSTFIX_LAST_NAME + 1; code < TLY_POSTFIX_CONSTANT; code++) {
            const tly_operation_facts *f = &tly_operation_of[code];
            const char *type = strcmp(integers[i], "bool") == 0 ? "u8" : integers[i];
            char word[80], message[80];
            tally_descriptor d;
            tally_error e = TALLY_ERROR_INIT;
            snprintf(word, sizeof word, "max:%s:4:map=", integers[i]);
            const int front = (int)strlen(word);
            if (f->binds == TLY_BINDS_CALL) {
                static const char *const arguments[] = { "", "x", "x,x", "x,x,x" };
                snprintf(word + front, 40, "%s(%s)", f->text, arguments[f->arguments]);
            } else {
                snprintf(word + front, 40, "%s%s", code == TLY_POSTFIX_NEG ? "-" : "x",
                         code == TLY_POSTFIX_NEG ? "x" : f->text);
                strcat(word, code == TLY_POSTFIX_NEG ? "" : "x");
            }
            const int has = strstr(few, f->text) != NULL;
            cr_expect_eq(tally_descriptor_parse(word, &d, &e), has ? TALLY_OK : TALLY_INVALID,
                         "%s: %s", word, e.message);
            if (!has) {
                snprintf(message, sizeof message, "'%s' is not for %s", f->text, type);
                cr_expect_str_eq(e.message, message, "%s", word);
                cr_expect_str_eq(e.field, "map");
                cr_expect_eq(e.position, front + 1 + (f->binds != TLY_BINDS_CALL), "%s", word);
            }
        }
    }
}

/* What is just possible and one more: operations, values alive, characters, constants. */
Test(expression, limits)
{
    static const struct {
        const char *begin, *repeated, *end, *message;
        int most;
    } repeats[] = {
        { "x", "+x", "", "33 operations, and the limit is 32", 32 },
        { "", "-", "x", "33 operations, and the limit is 32", 32 },
        { "x", "+x*x", "", "34 operations, and the limit is 32", 16 },
        { "", "x+(", "x", "9 values alive at once, and the limit is 8", 7 },
    };
    for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++) {
        for (int more = 0; more < 2; more++) {
            char text[400];
            tally_descriptor d;
            tally_error e = TALLY_ERROR_INIT;
            snprintf(text, sizeof text, "sum:f32:4:map=%s", repeats[i].begin);
            for (int k = 0; k < repeats[i].most + more; k++) {
                strcat(text, repeats[i].repeated);
            }
            strcat(text, repeats[i].end);
            for (int k = 0; strchr(repeats[i].repeated, '(') && k < repeats[i].most + more; k++) {
                strcat(text, ")");
            }
            cr_expect_eq(tally_descriptor_parse(text, &d, &e), more ? TALLY_INVALID : TALLY_OK,
                         "%s: %s", text, e.message);
            cr_expect_str_eq(e.message, more ? repeats[i].message : "", "%s", text);
            cr_expect_eq(e.position, more ? 15 : 0, "%s", text);
        }
    }
    char word[400] = "sum:f32:4:map=abs(", most[400];
    tally_descriptor d;
    tally_error e = TALLY_ERROR_INIT;
    const size_t front = strlen("sum:f32:4:map=");
    memset(word + strlen(word), '1', 122);
    snprintf(most, sizeof most, "%s)", word);
    cr_assert_eq(strlen(most + front), 127);
    cr_expect_eq(tally_descriptor_parse(most, &d, &e), TALLY_INVALID); /* infinite */
    cr_expect_not_null(strstr(e.message, "is infinite"), "%s", e.message);
    snprintf(most, sizeof most, "%s1)", word);
    cr_expect_eq(tally_descriptor_parse(most, &d, &e), TALLY_INVALID);
    cr_expect_str_eq(e.message, "128 characters, and the limit is 127");
    cr_expect_eq(e.position, (int)front + 1);
    strcpy(word, "cumsum:f32:4:axis=0,map=x");
    for (int i = 1; i <= 16; i++) {
        snprintf(word + strlen(word), 8, "+%d", i);
    }
    cr_expect_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK, "%s", e.message);
    snprintf(most, sizeof most, "%s,post=y+7+16", word); /* the same ones */
    cr_expect_eq(tally_descriptor_parse(most, &d, &e), TALLY_OK, "%s", e.message);
    snprintf(most, sizeof most, "%s,post=y+7+17", word);
    cr_expect_eq(tally_descriptor_parse(most, &d, &e), TALLY_INVALID);
    cr_expect_str_eq(e.field, "post");
    cr_expect_not_null(strstr(e.message, "which is 16"), "%s", e.message);
    cr_expect_eq(e.position, (int)strlen(most) - 1, "%d", e.position);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static tally_descriptor scan(void)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    d.op = TALLY_CUMSUM;
    d.dtype = TALLY_F32;
    d.rank = 2;
    d.sizes[0] = 4;
    d.sizes[1] = 5;
    return d;
}

static void set_padding(tally_descriptor *d)
{
    d->map[100] = 'x';
}

static void set_unending(tally_descriptor *d)
{
    memset(d->post, 'y', sizeof d->post);
}

static void set_reserved(tally_descriptor *d)
{
    d->operands[0] = (tally_operand){ .dtype = TALLY_F32, .reserved = 1 };
}

static void set_no_dtype(tally_descriptor *d)
{
    d->operands[2].place = TALLY_PLACE_AXES;
}

static void set_lost_strides(tally_descriptor *d)
{
    d->operands[0] = (tally_operand){ .dtype = TALLY_F32, .strides = { 0, 1 } };
}

static void set_lost_axes(tally_descriptor *d)
{
    d->operands[0] = (tally_operand){ .dtype = TALLY_F32, .axes = 1 };
}

static void set_far_axes(tally_descriptor *d)
{
    d->operands[0] = (tally_operand){ .dtype = TALLY_F32, .place = TALLY_PLACE_AXES, .axes = 4 };
}

static void set_no_place(tally_descriptor *d)
{
    d->operands[0] = (tally_operand){ .dtype = TALLY_F32, .place = 3 };
}

static void set_strange_dtype(tally_descriptor *d)
{
    d->operands[0].dtype = TALLY_DTYPE_COUNT;
}

static void set_lost_segments(tally_descriptor *d)
{
    d->segments = 4;
}

static void set_negative_every(tally_descriptor *d)
{
    d->every = -1;
}

static void set_carry(tally_descriptor *d)
{
    d->carry = 4;
}

static void set_wrong(tally_descriptor *d)
{
    strcpy(d->map, "x+");
}

Test(expression, descriptors)
{
    static const struct {
        void (*set)(tally_descriptor *d);
        const char *field, *message;
    } cases[] = {
        { set_padding, "map", "byte 100, behind the text's end, is not zero" },
        { set_unending, "post", "does not end within 127 characters" },
        { set_reserved, "a", "reserved is set" },
        { set_no_dtype, "c", "the operand has no dtype" },
        { set_lost_strides, "a", "the place is not TALLY_PLACE_STRIDES" },
        { set_lost_axes, "a", "the place is not TALLY_PLACE_AXES" },
        { set_far_axes, "a", "an axis that rank 2 lacks" },
        { set_no_place, "a", "3 is no place" },
        { set_strange_dtype, "a", "14 is no dtype" },
        { set_lost_segments, "segments", "segment_dtype is not" },
        { set_negative_every, "every", "-1 elements" },
        { set_carry, "carry", "4 is no carry" },
        { set_wrong, "map", "the expression ends" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tally_descriptor d = scan();
        tally_error e = TALLY_ERROR_INIT;
        cases[i].set(&d);
        cr_expect_eq(tally_descriptor_check(&d, &e), TALLY_INVALID, "%s", cases[i].message);
        cr_expect_str_eq(e.field, cases[i].field, "%s: %s", cases[i].message, e.field);
        cr_expect_not_null(strstr(e.message, cases[i].message), "%s", e.message);
    }
    /* Beyond the rank, strides are not read; an older caller's struct has none of the fields. */
    tally_descriptor d = scan(), full;
    char text[TALLY_WORD_MAX];
    strcpy(d.map, "(a)*x");
    d.operands[0] = (tally_operand){ .dtype = TALLY_F16, .strides = { 0, 0, 7 } };
    cr_assert_eq(tally_descriptor_print(&d, text, sizeof text, NULL, NULL), TALLY_OK);
    cr_expect_str_eq(text, "cumsum:f32:4x5:axis=0,a=f16,map=a*x");
    d.size = offsetof(tally_descriptor, operands);
    cr_assert_eq(tally_descriptor_print(&d, text, sizeof text, NULL, NULL), TALLY_OK);
    cr_expect_str_eq(text, "cumsum:f32:4x5:axis=0");
    cr_assert_eq(tly_descriptor_resolve(&d, &full, NULL), TALLY_OK);
    cr_expect(!tly_has_stages(&full));
}

/* A segment has a result; the axis stays. */
Test(expression, results_of_segments)
{
    static const struct {
        const char *word;
        int32_t rank;
        int64_t sizes[3];
    } cases[] = {
        { "sum:f32:3x10x4:axes=1,every=4", 3, { 3, 3, 4 } },
        { "sum:f32:3x0x4:axes=1,every=4", 3, { 3, 0, 4 } },
        { "argmax:f32:3x0x4:axes=1,segments=i32/2", 3, { 3, 2, 4 } },
        { "sum:f32:3x10x4:axes=1,segments=i32/0", 3, { 3, 0, 4 } },
        { "sum:f32:?x10:axes=0,every=4", 2, { TALLY_OPEN_SIZE, 10 } },
        { "sum:f32:9x10:axes=0,segments=i32/?", 2, { TALLY_OPEN_SIZE, 10 } },
        { "cumsum:f32:9x10:axis=0,every=4", 2, { 9, 10 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tally_descriptor d;
        tally_error e = TALLY_ERROR_INIT;
        int32_t rank;
        int64_t sizes[TALLY_MAX_RANK];
        cr_assert_eq(tally_descriptor_parse(cases[i].word, &d, &e), TALLY_OK, "%s", e.message);
        cr_assert_eq(tally_descriptor_result(&d, &rank, sizes, NULL, &e), TALLY_OK);
        cr_expect_eq(rank, cases[i].rank, "%s", cases[i].word);
        cr_expect_eq(memcmp(sizes, cases[i].sizes, (size_t)rank * sizeof *sizes), 0, "%s",
                     cases[i].word);
    }
}

/* --- programs --------------------------------------------------------------------------------- */

static tly_program program_of(const char *word)
{
    tally_descriptor d, full;
    tly_program program;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    cr_assert_eq(tly_descriptor_resolve(&d, &full, NULL), TALLY_OK);
    tly_program_make(&full, &program);
    return program;
}

Test(expression, programs)
{
    const double constants[] = { 1, (double)0.1f, INFINITY };
    const tly_program p = program_of(
        "cumsum:f32:9:axis=0,a=f16,b=i64,map=(1-x)*a+0.1,post=y+inf*1,reset=b!=1");
    static const uint8_t map[] = { TLY_POSTFIX_CONSTANT, TLY_POSTFIX_X,   TLY_POSTFIX_SUB,
                                   TLY_POSTFIX_A,        TLY_POSTFIX_MUL, TLY_POSTFIX_CONSTANT + 1,
                                   TLY_POSTFIX_ADD,      TLY_POSTFIX_END };
    static const uint8_t reset[] = { TLY_POSTFIX_A + 1, TLY_POSTFIX_CONSTANT + 3, TLY_POSTFIX_NE,
                                     TLY_POSTFIX_END };
    cr_expect_eq(memcmp(p.code[TLY_EXPRESSION_MAP], map, sizeof map), 0);
    cr_expect_eq(memcmp(p.code[TLY_EXPRESSION_RESET], reset, sizeof reset), 0);
    for (int i = 0; i < 3; i++) {
        double value;
        memcpy(&value, &p.constants[i], sizeof value);
        cr_expect(value == constants[i], "%a", value);
    }
    cr_expect_eq(p.constants[3], 1, "an i64");
    cr_expect_eq(p.constant_count, 4);
    cr_expect_eq(p.type, TALLY_F32);
    cr_expect_eq(p.reset_type, TALLY_I64);
    cr_expect_eq(p.operands, 2);
    cr_expect(p.operand_dtype[0] == TALLY_F16 && p.operand_dtype[1] == TALLY_I64);
}

Test(expression, types)
{
    static const struct {
        const char *word;
        tally_dtype type;
    } cases[] = {
        { "sum:f16:4:map=-x", TALLY_F32 },      { "sum:f16:4:map=-x,acc=f64", TALLY_F64 },
        { "sum:f32>f64:4:map=-x", TALLY_F64 },  { "sum:f64>f32:4:map=-x", TALLY_F64 },
        { "sum:f32>bf16:4:map=-x", TALLY_F32 }, { "sum:i8:4:map=-x", TALLY_I8 },
        { "sum:i8>i32:4:map=-x", TALLY_I32 },   { "sum:i64>i32:4:map=-x", TALLY_I64 },
        { "sum:i8>f32:4:map=-x", TALLY_F32 },   { "sum:bool>f64:4:map=-x", TALLY_F64 },
        { "max:bool:4:map=-x", TALLY_U8 },      { "sum:bool>i64:4:map=-x", TALLY_I64 },
        { "argmax:i8:4:map=-x", TALLY_I8 },     { "argmax:f16>i32:4:map=-x", TALLY_F32 },
        { "mean:i16>f32:4:map=-x", TALLY_F32 }, { "l2:i32:4:map=-x", TALLY_I32 },
        { "max:bf16:4:map=-x", TALLY_F32 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(program_of(cases[i].word).type, cases[i].type, "%s", cases[i].word);
    }
}

/* Every pair of dtypes beside values: the ends of a range, and numbers of many digits. */
Test(expression, conversions)
{
    static const struct {
        int digits, sign; /* all integers of so many bits */
    } of[TALLY_DTYPE_COUNT] = {
        [TALLY_F64] = { 53, 1 }, [TALLY_F32] = { 24, 1 }, [TALLY_F16] = { 11, 1 },
        [TALLY_BF16] = { 8, 1 }, [TALLY_I64] = { 63, 1 }, [TALLY_I32] = { 31, 1 },
        [TALLY_I16] = { 15, 1 }, [TALLY_I8] = { 7, 1 },   [TALLY_U64] = { 64, 0 },
        [TALLY_U32] = { 32, 0 }, [TALLY_U16] = { 16, 0 }, [TALLY_U8] = { 8, 0 },
        [TALLY_BOOL] = { 1, 0 },
    };
    for (int from = 1; from < TALLY_DTYPE_COUNT; from++) {
        for (int to = 1; to < TALLY_DTYPE_COUNT; to++) {
            const int is_float = from <= TALLY_BF16;
            const int fits = from == to ||
                             (of[from].digits <= of[to].digits && of[from].sign <= of[to].sign &&
                              !(is_float && to > TALLY_BF16) &&
                              !(from == TALLY_BF16 && to == TALLY_F16));
            cr_expect_eq(tly_dtype_fits((tally_dtype)from, (tally_dtype)to), fits, "%s in %s",
                         tally_dtype_name((tally_dtype)from), tally_dtype_name((tally_dtype)to));
        }
    }
}

/* --- random ----------------------------------------------------------------------------------- */

typedef struct tree {
    char text[1024];
    uint8_t codes[256];
    int count, operations;
} tree;

static uint64_t below(uint64_t *state, uint64_t n)
{
    return tly_splitmix(state) % n;
}

/* A random expression of at most `depth` levels: its text, with more parentheses than it needs, and
 * its codes. `binds`: what it is an argument of binds so tightly. */
static void grow(uint64_t *state, int depth, int binds, tree *t)
{
    static const char *const leaves[] = { "x", "a", "b", "1", "0.25", "inf", "3e5" };
    static const uint8_t codes[] = { TLY_POSTFIX_X,        TLY_POSTFIX_A,
                                     TLY_POSTFIX_A + 1,    TLY_POSTFIX_CONSTANT,
                                     TLY_POSTFIX_CONSTANT, TLY_POSTFIX_CONSTANT,
                                     TLY_POSTFIX_CONSTANT };
    const int code = TLY_POSTFIX_LAST_NAME + 1 +
                     (int)below(state, TLY_POSTFIX_CONSTANT - TLY_POSTFIX_LAST_NAME - 1);
    const tly_operation_facts *f = &tly_operation_of[code];
    if (depth == 0 || below(state, 4) == 0) {
        const size_t leaf = below(state, sizeof codes);
        const int enclosed = below(state, 8) == 0;
        snprintf(t->text + strlen(t->text), 16, enclosed ? "(%s)" : "%s", leaves[leaf]);
        t->codes[t->count++] = codes[leaf];
        return;
    }
    const int enclosed = f->binds < binds || below(state, 6) == 0;
    strcat(t->text, enclosed ? "(" : "");
    if (f->binds == TLY_BINDS_CALL) {
        strcat(strcat(t->text, f->text), "(");
        for (int i = 0; i < f->arguments; i++) {
            strcat(t->text, i > 0 ? "," : "");
            grow(state, depth - 1, TLY_BINDS_COMPARISON, t);
        }
        strcat(t->text, ")");
    } else if (code == TLY_POSTFIX_NEG) {
        strcat(t->text, "-(");
        grow(state, depth - 1, TLY_BINDS_COMPARISON, t);
        strcat(t->text, ")");
    } else {
        grow(state, depth - 1, f->binds + (f->binds == TLY_BINDS_COMPARISON), t);
        strcat(t->text, f->text);
        grow(state, depth - 1, f->binds + 1, t);
    }
    strcat(t->text, enclosed ? ")" : "");
    t->codes[t->count++] = (uint8_t)code;
    t->operations++;
}

Test(expression, random_trees)
{
    uint64_t state = 17;
    int read = 0;
    for (int i = 0; i < 20000; i++) {
        tree t = { .text = "" };
        tly_expression e, again;
        char shown[TALLY_EXPRESSION_MAX], second[TALLY_EXPRESSION_MAX];
        tally_error error = TALLY_ERROR_INIT;
        grow(&state, 1 + (int)below(&state, 4), TLY_BINDS_COMPARISON, &t);
        if (strlen(t.text) > TLY_MOST_TEXT ||
            tly_expression_parse(t.text, strlen(t.text), "map", &e, &error) != TALLY_OK) {
            cr_expect(strlen(t.text) > TLY_MOST_TEXT || strstr(error.message, "the limit is"),
                      "%s: %s", t.text, error.message);
            continue;
        }
        read++;
        cr_assert(e.count == t.count && memcmp(e.code, t.codes, (size_t)t.count) == 0, "%s",
                  t.text);
        tly_expression_print(&e, 0, shown);
        cr_assert_leq(strlen(shown), strlen(t.text), "%s: %s", t.text, shown);
        cr_assert_eq(tly_expression_parse(shown, strlen(shown), "map", &again, &error), TALLY_OK,
                     "%s: %s: %s", t.text, shown, error.message);
        cr_assert(again.count == e.count && memcmp(again.code, e.code, (size_t)e.count) == 0,
                  "%s: %s", t.text, shown);
        tly_expression_print(&again, 0, second);
        cr_assert_str_eq(second, shown, "%s", t.text);
        for (size_t k = 0; shown[k] != 0; k++) { /* no pair of parentheses is one too many */
            char less[TALLY_EXPRESSION_MAX];
            int depth = 0;
            size_t end = k;
            if (shown[k] != '(' || (k > 0 && shown[k - 1] >= 'a' && shown[k - 1] <= 'z')) {
                continue;
            }
            do {
                depth += (shown[end] == '(') - (shown[end] == ')');
                end++;
            } while (depth > 0);
            snprintf(less, sizeof less, "%.*s%.*s%s", (int)k, shown, (int)(end - k - 2),
                     shown + k + 1, shown + end);
            cr_assert(tly_expression_parse(less, strlen(less), "map", &again, NULL) != TALLY_OK ||
                          again.count != e.count ||
                          memcmp(again.code, e.code, (size_t)e.count) != 0,
                      "%s has parentheses that %s lacks", shown, less);
        }
    }
    cr_expect_gt(read, 10000);
}

Test(expression, decimals)
{
    uint64_t state = 5;
    for (int i = 0; i < 20000; i++) {
        char text[TLY_NUMBER_MAX], other[40];
        double value;
        uint64_t bits = tly_splitmix(&state);
        memcpy(&value, &bits, sizeof value);
        if (i % 2 == 0) { /* as people write them */
            const double scales[] = { 1, 10, 1e-3, 1e6, 0.5, 1 / 3.0 };
            value = (double)(int64_t)below(&state, 10000) * scales[below(&state, 6)];
        } else if (i % 16 == 1) { /* powers of two, below which numbers lie closer */
            value = ldexp(1, (int)below(&state, 2098) - 1074);
        }
        if (!isfinite(value)) {
            continue;
        }
        const int length = tly_number_write(value, text);
        cr_assert_eq((size_t)length, strlen(text));
        const double again = tly_number_read(text, length);
        cr_assert(again == value && !signbit(again) == !signbit(value), "%s is not %a", text,
                  value);
        cr_assert_eq(strtod(text, NULL), value, "%s", text);
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(other, sizeof other, "%.*g", digits, value);
            if (strtod(other, NULL) == value && strchr(other, 'e') == NULL) {
                cr_assert_leq((size_t)length, strlen(other), "%s is longer than %s", text, other);
            }
        }
    }
    char text[TLY_NUMBER_MAX];
    tly_number_write(ldexp(1, -44), text); /* 16 digits, which are not the nearest 16 */
    cr_expect_str_eq(text, "5684341886080802e-29");
}
