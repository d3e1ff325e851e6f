/* SPDX-License-Identifier: Apache-2.0 */
/* See gradient_texts.h. */
#include "gradient_texts.h"
#include "gradient_fail.h"

#include <stdio.h>
#include <string.h>

#include <tally.h>

/* The steps of words, as text, without their sources. */
static const struct {
    const char *word;
    tally_source wrt;
    const char *steps;
} texts[] = {
    { "cumprod:f32:4096x192:axis=1", TALLY_SOURCE_X,
      "e=cumprod:f32:4096x192:axis=1,exclusive\n"
      "dx=linrec:f32:4096x192:axis=1,exclusive,reverse,a=f32,b=f32,map=x*a,coef=x,post=b*(a+y)\n" },
    { "cumprod:f32:8:axis=0,exclusive,reverse", TALLY_SOURCE_X,
      "dx=linrec:f32:8:axis=0,exclusive,a=f32,b=f32,map=a,coef=x,post=b*y\n" },
    { "cumprod:f32:8:axis=0,exclusive,map=1-x,post=x*y", TALLY_SOURCE_X,
      "e=cumprod:f32:8:axis=0,exclusive,map=1-x\n"
      "dx=linrec:f32:8:axis=0,exclusive,reverse,a=f32,b=f32,map=a*x,coef=1-x,post=b*(a-y)\n" },
    { "cumlogsumexp:f32:8:axis=0", TALLY_SOURCE_X,
      "e=cumlogsumexp:f32:8:axis=0,exclusive\n"
      "dx=linrec:f32:8:axis=0,exclusive,reverse,a=f32,b=f32,map=sig(b-x)*a,coef=sig(b-x),"
      "post=sig(x-b)*(a+y)\n" },
    { "cummin:f32:8:axis=0", TALLY_SOURCE_X,
      "e=cummin:f32:8:axis=0,exclusive\n"
      "dx=linrec:f32:8:axis=0,exclusive,reverse,a=f32,b=f32,map=where(x<b,0,a),"
      "coef=where(x<b,0,1),post=where(x<b,a+y,0)\n" },
    { "cumsum:f32:8:axis=0,exclusive,a=f32,map=x*a,post=exp(-y)*(1-exp(-x*a))", TALLY_SOURCE_X,
      "e=cumsum:f32:8:axis=0,exclusive,a=f32,map=x*a\n"
      "dx=cumsum:f32:8:axis=0,exclusive,reverse,a=f32,b=f32,c=f32,d=f32,map=-c*d,"
      "post=a*(c*exp(-b-x*a)+y)\n" },
    { "cumsum:f32:8:axis=0,exclusive", TALLY_SOURCE_X,
      "dx=cumsum:f32:8:axis=0,exclusive,reverse\n" },
    { "linrec:f32:8:axis=0,a=f32", TALLY_SOURCE_X,
      "dx=linrec:f32:8:axis=0,exclusive,reverse,a=f32,map=a*x,post=x+y\n" },
    { "linrec:f32:8:axis=0,a=f32", TALLY_SOURCE_A,
      "e=linrec:f32:8:axis=0,exclusive,a=f32\n"
      "da=linrec:f32:8:axis=0,exclusive,reverse,a=f32,b=f32,map=a*x,post=(x+y)*b\n" },
    { "prod:f32:4096x192:axes=1", TALLY_SOURCE_X,
      "e=cumprod:f32:4096x192:axis=1,exclusive\n"
      "dx=cumprod:f32:4096x192:axis=1,exclusive,reverse,a=f32/0,b=f32,post=a*b*y\n" },
    { "prod:f32:2x3x4x5", TALLY_SOURCE_X,
      "q2=prod:f32:2x3x4x5:axes=3\n"
      "e2=cumprod:f32:2x3x4:axis=2,exclusive\n"
      "f2=cumprod:f32:2x3x4:axis=2,exclusive,reverse,a=f32,post=a*y\n"
      "q3=prod:f32:2x3x4:axes=2\n"
      "e3=cumprod:f32:2x3:axis=1,exclusive\n"
      "f3=cumprod:f32:2x3:axis=1,exclusive,reverse,a=f32,post=a*y\n"
      "q4=prod:f32:2x3:axes=1\n"
      "e4=cumprod:f32:2:axis=0,exclusive\n"
      "f4=cumprod:f32:2:axis=0,exclusive,reverse,a=f32,post=a*y\n"
      "e=cumprod:f32:2x3x4x5:axis=3,exclusive\n"
      "t1=sum:f32:2x3x4x5:axes=none,a=f32/none,b=f32/0+1+2,c=f32/0+1,d=f32/0,map=a*x*b*c*d\n"
      "dx=cumprod:f32:2x3x4x5:axis=3,exclusive,reverse,a=f32,post=a*y\n" },
    { "sum:f32:4x5:axes=1", TALLY_SOURCE_X, "dx=sum:f32:4x5:axes=none,a=f32/0,map=a\n" },
    { "mean:f32:4x192:axes=1", TALLY_SOURCE_X, "dx=sum:f32:4x192:axes=none,a=f32/0,map=a/192\n" },
    { "l1:f32:4x5:axes=1", TALLY_SOURCE_X,
      "dx=sum:f32:4x5:axes=none,a=f32/0,map=a*where(x<0,-1,where(x>0,1,0))\n" },
    { "l2:f32:4x5:axes=1", TALLY_SOURCE_X,
      "dx=sum:f32:4x5:axes=none,a=f32/0,b=f32/0,map=where(b==0,0,a*x/b)\n" },
    { "sum_square:f32:4x5:axes=1", TALLY_SOURCE_X, "dx=sum:f32:4x5:axes=none,a=f32/0,map=2*a*x\n" },
    { "log_sum:f32:4x5:axes=1", TALLY_SOURCE_X,
      "dx=sum:f32:4x5:axes=none,a=f32/0,b=f32/0,map=a*exp(-b)\n" },
    { "log_sum_exp:f32:4x5:axes=1", TALLY_SOURCE_X,
      "dx=sum:f32:4x5:axes=none,a=f32/0,b=f32/0,map=a*exp(x-b)\n" },
    { "max:f32:4x5:axes=1", TALLY_SOURCE_X,
      "n=sum:f32:4x5:axes=1,a=f32/0,map=where(x==a,1,0)\n"
      "dx=sum:f32:4x5:axes=none,a=f32/0,b=f32/0,c=f32/0,map=where(x==b,a/c,0)\n" },
    { "sum:i8>f32:4x5:axes=1,a=f32/none,b=f32/0,map=(x-a)*b", TALLY_SOURCE_A + 1,
      "db=sum:i8>f32:4x5:axes=1,a=f32/none,b=f32/0,map=b*(x-a)\n" },
    { "cumsum:f16:?x4:axis=1,a=f16/1,map=x*a", TALLY_SOURCE_A,
      "t1=cumsum:f16>f32:?x4:axis=1,reverse,a=f16,map=a,post=y*x\n"
      "da=sum:f32>f16:?x4:axes=0,map=x*1\n" },
    { "sum:f32:4:map=floor(x)", TALLY_SOURCE_X, "dx=sum:f32:4:axes=none,map=0\n" },
    { "cumprod:f32:4x9:axis=1,exclusive,map=1-x,post=x*y,segments=i32/3", TALLY_SOURCE_X,
      "e=cumprod:f32:4x9:axis=1,exclusive,map=1-x,segments=i32/3\n"
      "dx=linrec:f32:4x9:axis=1,exclusive,reverse,a=f32,b=f32,map=a*x,coef=1-x,post=b*(a-y),"
      "segments=i32/3\n" },
    { "cumsum:f32:4x9:axis=1,a=f32/1,post=x*a+y,segments=i64/3", TALLY_SOURCE_A,
      "t1=cumsum:f32:4x9:axis=1,a=f32,map=0,post=a*x,segments=i64/3\n"
      "da=sum:f32:4x9:axes=0\n" },
    { "sum:f32:4x9:axes=1,segments=i32/3", TALLY_SOURCE_X,
      "dx=cumsum:f32:4x9:axis=1,map=0,segments=i32/3,carry=in\n" },
    { "mean:f32:?x9:axes=0", TALLY_SOURCE_X,
      "n=sum:f32:?x9:axes=0,map=1\n"
      "dx=sum:f32:?x9:axes=none,a=f32/1,b=f32/1,map=a/b\n" },
    { "mean:f16:?x9:axes=0,every=3", TALLY_SOURCE_X,
      "n=sum:f16>f32:?x9:axes=0,map=1,every=3\n"
      "t1=sum:f16>f32:?x9:axes=none,a=f32,map=x/a\n"
      "dx=cumsum:f16:?x9:axis=0,map=0,every=3,carry=in\n" },
    { "max:f32:9:axes=0,segments=i32/3", TALLY_SOURCE_X,
      "s=cumsum:f32:9:axis=0,map=0,segments=i32/3,carry=in\n"
      "n=sum:f32:9:a=f32,map=where(x==a,1,0),segments=i32/3\n"
      "t1=sum:f32:3:axes=none,a=f32,map=where(a==0,0,x/a)\n"
      "dx=cumsum:f32:9:axis=0,a=f32,map=0,post=where(x==a,y,0),segments=i32/3,carry=in\n" },
    { "cumsum:f32:8:axis=0,a=u8,reset=a", TALLY_SOURCE_X,
      "dx=linrec:f32:8:axis=0,exclusive,reverse,a=u8,map=where(a,0,x),coef=where(a,0,1),post=x+"
      "y\n" },
    { "cumprod:f32:8:axis=0,carry=in+out", TALLY_SOURCE_X,
      "e=cumprod:f32:8:axis=0,exclusive,carry=in\n"
      "dx=linrec:f32:8:axis=0,exclusive,reverse,a=f32,b=f32,map=x*a,coef=x,post=b*(a+y),carry="
      "in\n" },
    { "cumsum:f32:8x5:axis=0,carry=in", TALLY_SOURCE_CARRY_IN,
      "dcarry_in=sum:f32:8x5:axes=0,keepdims\n" },
    { "linrec:f32:8x5:axis=0,a=f32,segments=i32/3,carry=in", TALLY_SOURCE_CARRY_IN,
      "p=cumprod:f32:8x5:axis=0,exclusive,segments=i32/3\n"
      "dcarry_in=sum:f32:8x5:axes=0,a=f32,b=f32,map=a*x*b,segments=i32/3\n" },
    { "prod:f32:9:axes=0,every=3", TALLY_SOURCE_X,
      "e=cumprod:f32:9:axis=0,exclusive,every=3\n"
      "dx=cumprod:f32:9:axis=0,exclusive,reverse,a=f32,post=a*y,every=3,carry=in\n" },
};

int tly_gradient_check_texts(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        static tally_gradient_step steps[TALLY_GRADIENT_MAX];
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        tally_error error = TALLY_ERROR_INIT;
        char text[4 * TALLY_WORD_MAX] = "";
        size_t count = 0;
        steps[0].size = sizeof steps[0];
        if (tally_descriptor_parse(texts[i].word, &d, &error) != TALLY_OK ||
            tally_gradient(&d, texts[i].wrt, steps, TALLY_GRADIENT_MAX, &count, &error) !=
                TALLY_OK) {
            FAIL("%s: %s: %s", texts[i].word, error.field, error.message);
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            char word[TALLY_WORD_MAX];
            tally_descriptor_print(&steps[k].descriptor, word, sizeof word, NULL, NULL);
            const size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s=%s\n", steps[k].name, word);
        }
        if (strcmp(text, texts[i].steps) != 0)
            FAIL("%s:\n%sand not\n%s", texts[i].word, text, texts[i].steps);
    }
    return failures;
}

static const struct {
    const char *word;
    tally_source wrt;
    tally_status status;
    const char *field;
} refusals[] = {
    { "cumsum:i32:8:axis=0", TALLY_SOURCE_X, TALLY_INVALID, "dtype" },
    { "max:bool:8", TALLY_SOURCE_X, TALLY_INVALID, "dtype" },
    { "cumsum:i32:8:axis=0,a=i32,map=x*a", TALLY_SOURCE_A, TALLY_INVALID, "a" },
    { "argmax:f32:8", TALLY_SOURCE_X, TALLY_INVALID, "op" },
    { "argmin:i8:8", TALLY_SOURCE_X, TALLY_INVALID, "op" },
    { "cumargmax:f32:8:axis=0", TALLY_SOURCE_X, TALLY_INVALID, "op" },
    { "cumargmin:f32:8:axis=0", TALLY_SOURCE_X, TALLY_INVALID, "op" },
    { "cumsum:f32:8:axis=0", TALLY_SOURCE_A, TALLY_INVALID, "a" },
    { "cumsum:f32:8:axis=0,a=bool,map=where(a,x,0)", TALLY_SOURCE_A, TALLY_INVALID, "a" },
    { "cumsum:f32:8:axis=0", TALLY_SOURCE_G, TALLY_INVALID, "usage" },
    { "cumsum:f32:8:axis=0", TALLY_SOURCE_CARRY_IN, TALLY_INVALID, "carry" },
    { "cumsum:f32:8:axis=0,carry=out", TALLY_SOURCE_CARRY_IN, TALLY_INVALID, "carry" },
    { "cumsum:f32:8:axis=0", TALLY_SOURCE_G_CARRY, TALLY_INVALID, "usage" },
    { "cumlogsumexp:f32:8:axis=0,carry=in", TALLY_SOURCE_CARRY_IN, TALLY_UNSUPPORTED, "carry" },
    { "cumlogsumexp:f32:8:axis=0,carry=out", TALLY_SOURCE_X, TALLY_UNSUPPORTED, "carry" },
    { "cumsum:f32:8:axis=0,a=i64,reset=a", TALLY_SOURCE_X, TALLY_UNSUPPORTED, "reset" },
    { "cumprod:f32:?x4:axis=1,out=8x1", TALLY_SOURCE_X, TALLY_UNSUPPORTED, "sizes" },
};

int tly_gradient_check_refusals(void)
{
    int failures = 0;
    tally_gradient_step steps[2] = { TALLY_GRADIENT_STEP_INIT, TALLY_GRADIENT_STEP_INIT }, was[2];
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    size_t count = 77;
    memcpy(was, steps, sizeof was);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (tally_descriptor_parse(refusals[i].word, &d, &error) != TALLY_OK) {
            FAIL("%s: %s", refusals[i].word, error.message);
            continue;
        }
        const tally_status s = tally_gradient(&d, refusals[i].wrt, steps, 2, &count, &error);
        if (s != refusals[i].status || strcmp(error.field, refusals[i].field) != 0)
            FAIL("%s: status %d, field %s: %s", refusals[i].word, s, error.field, error.message);
        if (memcmp(was, steps, sizeof was) != 0 || count != 77)
            FAIL("%s: something was written", refusals[i].word);
    }
    if (tally_gradient(NULL, TALLY_SOURCE_X, steps, 2, &count, NULL) != TALLY_INVALID)
        FAIL("a descriptor that is NULL is taken");
    tally_descriptor_parse("cumprod:f32:8:axis=0", &d, NULL);
    if (tally_gradient(&d, TALLY_SOURCE_X, NULL, 1, &count, NULL) != TALLY_INVALID)
        FAIL("steps that are NULL are taken");
    steps[0].size = 8;
    if (tally_gradient(&d, TALLY_SOURCE_X, steps, 1, &count, NULL) != TALLY_INVALID)
        FAIL("steps of a wrong size are taken");
    steps[0].size = sizeof steps[0];
    if (tally_gradient(&d, TALLY_SOURCE_X, NULL, 0, &count, NULL) != TALLY_OK || count != 2)
        FAIL("steps are not counted");
    if (tally_gradient(&d, TALLY_SOURCE_X, steps, 1, NULL, NULL) != TALLY_OK ||
        strcmp(steps[0].name, "e") != 0 || memcmp(&steps[1], &was[1], sizeof was[1]) != 0)
        FAIL("the first step alone is not written");
    return failures;
}
