/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variants [COUNT [SEED]]: whatever sizes a word with open ones is given, its problem is among
 * those that an object has kernels for. Random words, half of them with strides, a third of them
 * with operands, a third of the scans with a carry, and random sizes, many of them near the limits
 * of specialise.h and the quotients of strides.
 */
#include "../runtime/making/variants.h"
#include "../runtime/descriptor/descriptor.h"
#include "../runtime/making/ahead.h"
#include "../runtime/problem/canonicalise.h"
#include "splitmix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 3000 };

static uint64_t state = 2026;

static int64_t below(int64_t n)
{
    return (int64_t)(tly_splitmix(&state) % (uint64_t)n);
}

static int64_t draw_size(void)
{
    static const int64_t ranges[] = { 4, 4, 18, 70, 300, 600, 1100, 5000, 300000 };
    static const int64_t near[] = { 15, 16, 63, 64, 65, 127, 128, 255, 256, 512, 1024, 1025 };
    int64_t kind = below(13);
    return kind < 9    ? below(ranges[kind])
           : kind < 12 ? near[below(sizeof near / sizeof *near)]
                       : INT64_C(1) << below(33); /* indices past 32 bits */
}

/* Strides with room for elements of the sizes, or of any where a size is open; in a random order of
 * dims, some dims with gaps behind them, some backwards, some of the input's broadcast. */
static void draw_strides(int32_t rank, const int64_t *sizes, int is_input, int64_t *strides)
{
    const int gaps = below(2) == 0, turned = below(2) == 0;
    uint32_t left = (1u << rank) - 1;
    int64_t step = below(4) ? 1 : 1 + below(3);
    while (left != 0) {
        int32_t d = 31 - __builtin_clz(left);
        while (turned && !(left >> (d = (int32_t)below(rank)) & 1)) {
        }
        left &= ~(1u << d);
        const int64_t size = sizes[d] == TALLY_OPEN_SIZE ? draw_size() : sizes[d];
        strides[d] = below(5) ? step : -step;
        if (is_input && below(8) == 0) {
            strides[d] = 0;
        } else if (size > 1 && step < INT64_C(1) << 40) {
            step *= size;
        }
        step += gaps && below(2) ? below(1 + step) : 0;
    }
}

static void draw_both_strides(tally_descriptor *d)
{
    int64_t shape[TALLY_MAX_RANK];
    const int which = (int)below(4); /* 3: equal strides of both, where a scan is in place */
    if (which != 1) {
        d->flags |= TALLY_IN_STRIDES;
        draw_strides(d->rank, d->sizes, which != 3, d->in_strides);
        d->in_offset = below(3);
    }
    if (which != 0) {
        d->flags |= TALLY_OUT_STRIDES;
        draw_strides(tly_result_shape(d, shape), shape, 0, d->out_strides);
        d->out_offset = below(3);
    }
    if (which == 3 && tly_ops[d->op].scan) {
        memcpy(d->out_strides, d->in_strides, sizeof d->out_strides);
    }
}

static void draw_operands(tally_descriptor *d)
{
    static const char *const maps[] = { "a", "x+a", "x+a+b", "x+a+b+c", "x+a+b+c+d" };
    const int64_t which = below(5);
    memcpy(d->map, maps[which], strlen(maps[which]));
    for (int64_t i = 0; i < (which > 0 ? which : 1); i++) {
        tally_operand *o = &d->operands[i];
        *o = (tally_operand){ .dtype = d->dtype };
        if (below(3)) {
            o->place = TALLY_PLACE_AXES;
            o->axes = below(4) ? (uint32_t)below(1 << d->rank) : 0;
        }
    }
}

static tally_descriptor draw_word(void)
{
    static const tally_dtype dtypes[] = { TALLY_F32, TALLY_F64, TALLY_F16, TALLY_I8,
                                          TALLY_I32, TALLY_I64, TALLY_BF16 };
    static const tally_dtype indices[] = { TALLY_DTYPE_NONE, TALLY_I32, TALLY_U32 };
    tally_descriptor full;
    for (;;) {
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        d.op = (int32_t)(1 + below(TALLY_OP_COUNT - 2));
        d.op += d.op >= TALLY_LINREC; /* which asks for a factor */
        d.dtype = dtypes[below(sizeof dtypes / sizeof *dtypes)];
        if (tly_tells_index(d.op)) {
            d.out_dtype = indices[below(sizeof indices / sizeof *indices)];
        }
        d.rank = (int32_t)(1 + below(5));
        for (int32_t i = 0; i < d.rank; i++) {
            d.sizes[i] = below(2) ? TALLY_OPEN_SIZE : draw_size();
        }
        d.order = below(4) ? TALLY_ORDER_RUN : TALLY_ORDER_SERIAL;
        if (tly_ops[d.op].scan) {
            d.axis = (int32_t)below(d.rank);
            d.flags = (below(2) ? TALLY_EXCLUSIVE : 0) | (below(2) ? TALLY_REVERSE : 0);
            d.flags &= tly_ops[d.op].flags;
        } else {
            d.axes_given = 1;
            d.axes = (uint32_t)below(1 << d.rank);
            d.flags = below(2) ? TALLY_KEEPDIMS : 0;
        }
        if (below(2)) {
            draw_both_strides(&d);
        }
        if (below(3) == 0) {
            draw_operands(&d);
        }
        if (tly_ops[d.op].scan && below(3) == 0) {
            d.carry = (int32_t)(1 + below(TALLY_CARRY_IN | TALLY_CARRY_OUT));
        }
        if (tly_descriptor_resolve(&d, &full, NULL) == TALLY_OK && tly_has_open_size(&full) &&
            !tly_variants_too_many(&full)) {
            return full;
        }
    }
}

static int is_there(const tly_problem *found, size_t count, const tly_problem *problem)
{
    for (size_t i = 0; i < count; i++) {
        if (tly_problem_order(&found[i], problem) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A size near to a quotient of two strides, which decides what merges and what overlaps. */
static int64_t draw_quotient(const tally_descriptor *open)
{
    const int64_t *strides = below(2) ? open->in_strides : open->out_strides;
    const int64_t a = strides[below(open->rank)], b = strides[below(open->rank)];
    const int64_t size = b != 0 ? (a / b < 0 ? -(a / b) : a / b) + below(3) - 1 : 1;
    return size > 0 ? size : 1;
}

static int64_t draw_size_of(const tally_descriptor *open)
{
    const int has_strides = (open->flags & (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)) != 0;
    return has_strides && below(2) ? draw_quotient(open) : below(4) ? draw_size() : 1;
}

/* 1: something was missing. */
static int check(const tally_descriptor *open)
{
    char word[TALLY_WORD_MAX];
    size_t count = 0;
    int missing = 0;
    tly_problem *found = tly_variants_find(open, &count);
    if (found == NULL) {
        printf("FAILED: no variants\n");
        return 1;
    }
    for (int i = 0; i < SIZES && !missing; i++) {
        int64_t sizes[TALLY_MAX_RANK];
        tally_descriptor full = *open;
        tly_problem problem;
        tly_geometry geometry;
        for (int32_t d = 0; d < TALLY_MAX_RANK; d++) {
            sizes[d] = draw_size_of(open);
        }
        if (!tly_close_sizes(&full, sizes)) {
            continue;
        }
        tly_canonicalise_variant(&full, &problem, &geometry);
        tly_problem closed, same;
        tly_geometry unused;
        tly_canonicalise_closed(&full, 0, &closed, &unused);
        tly_canonicalise_resolved(&full, 0, &same, &unused); /* as libtally has it */
        missing = memcmp(&same, &closed, TLY_FACT_BYTES) != 0 ||
                  (!geometry.empty && !is_there(found, count, &problem));
        if (missing) {
            tly_word_print(&full, word, sizeof word, NULL, NULL);
            printf("FAILED: %s: not among %zu problems of ", word, count);
            tly_word_print(open, word, sizeof word, NULL, NULL);
            printf("%s\n", word);
        }
    }
    free(found);
    return missing;
}

int main(int argc, char **argv)
{
    int failed = 0;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : state;
    for (long n = argc > 1 ? strtol(argv[1], NULL, 10) : 150; n > 0; n--) {
        tally_descriptor word = draw_word();
        failed |= check(&word);
    }
    return failed;
}
