/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that their rows do not fill, where all but the row's end goes by vectors: lengths
 * around the borders of vectors and tiles, upwards and downwards, rows aligned to 16 bytes
 * and rows that are not. Their bits are the same: the way through memory is no part of the order.
 */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *subject, *plan;
    int vector, tile;
} kernels[] = {
    { "cumsum:f32", "template=subgroups,team=4,vector=4,segments=3,chunk=0", 4, 48 },
    { "cumprod:f32", "template=workgroups,workgroup=16,vector=4,segments=5,chunk=0", 4, 320 },
    { "cumsum:f16", "template=subgroups,team=4,vector=8,segments=3,chunk=0", 8, 96 },
    { "cumsum:f64", "template=subgroups,team=4,vector=2,segments=5,chunk=0", 2, 40 },
    { "cummax:i8", "template=subgroups,team=4,vector=8,segments=1,chunk=0", 8, 32 },
    { "cumsum:i32", "template=workgroups,scan=0,workgroup=8,vector=4,segments=3,chunk=0", 4, 96 },
    { "cumprod:f32", "template=subgroups,team=4,vector=4,segments=3,chunk=0,wide=1", 4, 48 },
    { "cumsum:bf16", "template=workgroups,workgroup=16,vector=8,segments=2,chunk=0,wide=1", 8,
      256 },
    { "cumsum:i32", "template=subgroups,team=4,vector=2,segments=4,chunk=0,wide=1", 2, 32 },
};
static const char *const manners[] = { "", ",reverse", ",exclusive,reverse" };
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Rows with `gap` elements between them, in the middle of those of 32 bytes. */
static void make(tly_case *c, char *word, size_t room, int kernel, int length, int gap, int manner)
{
    int row = (length + 31) / 32 * 32 + gap;
    snprintf(word, room, "%s:3x%d:axis=1,in=%dx1,out=%dx1%s", kernels[kernel].subject, length, row,
             row, manners[manner]);
    tly_case_make(c, word, TLY_DATA_SIGNED, 7);
}

/* The elements of both, as their images have gaps of another size. */
static int same(const tly_case *a, const char *x, const tly_case *b, const char *y)
{
    int64_t bytes = (int64_t)a->out_element, equal = 1;
    for (int64_t row = 0; row < 3; row++)
        equal &= memcmp(x + row * a->l.out_strides[0] * bytes,
                        y + row * b->l.out_strides[0] * bytes, (size_t)(a->l.length * bytes)) == 0;
    return (int)equal;
}

static void try_length(tally_vulkan *v, int kernel, int length, int manner)
{
    char aligned[120], skewed[120];
    tly_case a, b;
    const char *plan = kernels[kernel].plan;
    make(&a, aligned, sizeof aligned, kernel, length, 0, manner);
    make(&b, skewed, sizeof skewed, kernel, length, 1, manner);
    char *x = tly_case_result(&a, v, plan, 0), *y = tly_case_result(&b, v, plan, 0);
    if (x && y) {
        tly_case_right(&a, x, tly_bed_flushes(v), 0, plan);
        tly_case_right(&b, y, tly_bed_flushes(v), 0, plan);
        tly_expect(same(&a, x, &b, y), "%s and %s, '%s': other bits", aligned, skewed, plan);
    }
    free(x);
    free(y);
    tly_case_end(&a);
    tly_case_end(&b);
}

static int lacks(const tally_vulkan *v, const char *subject)
{
    const tly_caps *caps = &v->facts.caps;
    return (strstr(subject, "f64") && !caps->float64) ||
           (strstr(subject, "f16") && !caps->storage16) ||
           (strstr(subject, "i8") && !caps->storage8);
}

/* In the first vector, behind a vector, before and at the end of a tile, and in the third, in turns
 * by every manner. */
static void try_kernel(tally_vulkan *v, int kernel)
{
    int vector = kernels[kernel].vector, tile = kernels[kernel].tile;
    const int lengths[] = { 2, 3 * vector, 4 * vector + 1, tile - 1, tile, 2 * tile + vector + 1 };
    for (size_t i = 0; i < COUNT(lengths); i++)
        try_length(v, kernel, lengths[i], (int)((i + (size_t)kernel) % COUNT(manners)));
}

int main(void)
{
    tally_context *context = tly_bed_context();
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    for (size_t i = 0; i < COUNT(kernels); i++)
        if (!lacks(v, kernels[i].subject))
            try_kernel(v, (int)i);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return tly_bed_end("partial", 100);
}
