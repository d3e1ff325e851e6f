/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/semantics.md 2.5 with real addresses: tensors whose offsets pass 2^31 elements and 4 GiB,
 * in every form. Address space is reserved and only the pages that hold elements are opened, so
 * that an offset cut to 32 bits ends in a signal or in a wrong result, and never by chance in a
 * right one. Needs 40 GiB of address space and a few MiB of memory; fails where it gets neither.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"
#include "compare.h"
#include "random.h"

static const char *const words[] = {
    "cumsum:f32:5x40:axis=1,in=1073741824x1,out=1073741825x1", /* rows 4 GiB apart */
    "cumprod:f32:3x1100:axis=1,reverse,in=2147483648x1,out=2147483700x1",
    "cumprod:f32:6x24:axis=0,in=1073741827x1,out=1073741825x1", /* the axis' stride */
    "cumsum:f64:4x3:axis=0,exclusive,in=536870913x1,out=805306369x1",
    "cumsum:i32:70:axis=0,in=134217731,out=134217729", /* elements far apart */
    "cumsum:i64:5:axis=0,in=-1073741824@4294967296,out=-1073741825",
    "cumsum:f32:33x40:axis=1,in=1x134217728", /* transposed */
    "cumsum:f16:3x2x33:axis=2,in=4294967297x2147483649x1,out=2147483649x6442450945x1",
    "cumprod:bf16:2x2x20x9:axis=2,in=4294967297x2147483649x9x1,out=2147483649x6442450945x9x1",
    "cumsum:u32:129:axis=0,in=1@4294967296,out=1@-4294967296", /* the offset alone */
    "cumsum:f32:7x9:axis=0,in=1073741827x1,out=1073741827x1",  /* in place, too */
    "cumprod:f64:3x700:axis=1,in=1073741824x1,out=1073741824x1,order=serial",
    "sum:f32:5x40:axes=1,in=1073741824x1,out=1073741825", /* rows 4 GiB apart, and their results */
    "prod:f32:6x24:axes=0,in=1073741827x1,out=134217729", /* the reduced axis' stride */
    "max:f64:3x4x5:axes=0+2,in=1073741829x7x1,out=-536870913@4294967296",
    "argmin:f32>i64:40x9:axes=0,in=1x134217728,out=268435457",
    "mean:i32:33:in=-134217731@4294967296,out=@-4294967296",
};

typedef struct sparse {
    char *base; /* of the reservation */
    size_t bytes;
    char *origin; /* what index 0 is at; may lie outside */
    size_t element, page;
} sparse;

static int reserve(sparse *s, int64_t low, int64_t high, size_t element)
{
    s->element = element;
    s->page = (size_t)sysconf(_SC_PAGESIZE);
    s->bytes = (size_t)(high - low + 1) * element + 2 * s->page;
    s->base = mmap(NULL, s->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    s->origin = (char *)((uintptr_t)s->base + s->page - (uintptr_t)low * element);
    return s->base == MAP_FAILED ? -1 : 0;
}

/* Opens an element's page, or fills the element. */
typedef int (*visit)(const sparse *s, char *at);

static int open_page(const sparse *s, char *at)
{
    char *page = s->base + (size_t)(at - s->base) / s->page * s->page;
    return mprotect(page, s->page, PROT_READ | PROT_WRITE);
}

static int blot_page(const sparse *s, char *at)
{
    memset(s->base + (size_t)(at - s->base) / s->page * s->page, 0xa5, s->page);
    return 0;
}

static int blot_element(const sparse *s, char *at)
{
    memset(at, 0xa5, s->element);
    return 0;
}

static int page_is_blot(const sparse *s, char *at)
{
    const char *page = s->base + (size_t)(at - s->base) / s->page * s->page;
    return page[0] != (char)0xa5 || memcmp(page, page + 1, s->page - 1) != 0;
}

static int each(const sparse *s, const tly_layout *l, int output, visit f)
{
    for (int64_t row = 0; row < l->rows; row++) {
        int64_t in, out;
        tly_layout_row(l, row, &in, &out);
        for (int64_t i = 0; i < l->length; i++) {
            const int64_t at = output ? out + i * l->out_step : in + tly_layout_step(l, i);
            int stop = f(s, (char *)((uintptr_t)s->origin + (uintptr_t)at * s->element));
            if (stop)
                return stop;
        }
    }
    return 0;
}

static int fail(const char *word, const char *level, const char *what)
{
    printf("FAILED %s, %s: %s\n", word, level, what);
    return 1;
}

typedef struct tensors {
    const char *word;
    tally_descriptor d;
    tly_layout layout;
    sparse in, out;
} tensors;

static int run(tensors *t, const tally_kernel *kernel, const char *level, int threads, int in_place)
{
    tally_error error = TALLY_ERROR_INIT;
    tly_verdict verdict;
    char text[512];
    tly_random r = tly_random_seed(1, 1);
    const char *from = in_place ? t->out.origin : t->in.origin;

    each(&t->out, &t->layout, 1, blot_page);
    if (in_place)
        tly_random_fill(&r, &t->d, TLY_DATA_EXACT, t->out.origin);
    if (tally_kernel_run_threads(kernel, from, t->out.origin, threads, &error))
        return fail(t->word, level, error.message);
    if (tly_judge(&t->d, t->in.origin, t->out.origin, 0, &verdict)) {
        tly_verdict_print(&t->d, &verdict, text, sizeof text);
        return fail(t->word, level, text);
    }
    each(&t->out, &t->layout, 1, blot_element);
    if (each(&t->out, &t->layout, 1, page_is_blot))
        return fail(t->word, level, "bytes between the output's elements were written");
    return 0;
}

static int same_strides(const tly_layout *l)
{
    return l->is_scan && l->in_offset == l->out_offset &&
           !memcmp(l->in_strides, l->out_strides, sizeof l->in_strides);
}

static int run_level(tensors *t, tally_context *context, const char *level)
{
    const tally_kernel_options options = { .size = sizeof options, .device = level };
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    int failed = 0;

    if (tally_kernel_create(context, &t->d, &options, &kernel, &error))
        return fail(t->word, level, error.message);
    for (int threads = 1; threads <= 3 && !failed; threads += 2)
        failed = run(t, kernel, level, threads, 0) ||
                 (same_strides(&t->layout) && run(t, kernel, level, threads, 1));
    tally_kernel_destroy(&kernel);
    return failed;
}

static int run_word(const tly_levels *levels, const char *word)
{
    tensors t = { .word = word };
    tally_error error = TALLY_ERROR_INIT;
    tly_random r = tly_random_seed(1, 1);
    int failed = 0;

    if (tally_descriptor_parse(word, &t.d, &error))
        return fail(word, "word", error.message);
    tly_layout_of(&t.d, &t.layout);
    const tly_layout *l = &t.layout;
    if (reserve(&t.in, l->in_low, l->in_high, tally_dtype_bytes((tally_dtype)t.d.dtype)) ||
        reserve(&t.out, l->out_low, l->out_high, tally_dtype_bytes(tly_reference_output(&t.d))) ||
        each(&t.in, l, 0, open_page) || each(&t.out, l, 1, open_page))
        return fail(word, "address space", strerror(errno));
    tly_random_fill(&r, &t.d, TLY_DATA_EXACT, t.in.origin);
    for (size_t k = 0; k < levels->level_count && !failed; k++)
        failed = run_level(&t, levels->context, levels->levels[k].selector);
    munmap(t.in.base, t.in.bytes);
    munmap(t.out.base, t.out.bytes);
    return failed;
}

int main(void)
{
    const int count = (int)(sizeof words / sizeof words[0]);
    tly_levels levels;
    char why[256];
    int failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (tly_levels_open(&levels, why, sizeof why)) {
        printf("FAILED %s\n", why);
        return 1;
    }
    for (int k = 0; k < count; k++)
        failed += run_word(&levels, words[k]);
    tly_levels_close(&levels);
    printf("large: %d words at %d levels, %d passed, %d failed\n", count, (int)levels.level_count,
           count - failed, failed);
    return failed != 0;
}
