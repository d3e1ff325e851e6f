/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variants [COUNT]: whatever sizes a word with open ones is given, its problem is among those that an
 * object has kernels for. Random words and sizes, many of them near the limits of problem.c.
 */
#include "../runtime/variants.h"
#include "../runtime/ahead.h"
#include "../runtime/descriptor.h"
#include "splitmix.h"

#include <stdio.h>
#include <stdlib.h>

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

static tally_descriptor draw_word(void)
{
    static const tally_dtype dtypes[] = { TALLY_F32, TALLY_F64, TALLY_F16, TALLY_I8,
                                          TALLY_I32, TALLY_I64, TALLY_BF16 };
    static const tally_dtype indices[] = { TALLY_DTYPE_NONE, TALLY_I32, TALLY_U32 };
    tally_descriptor full;
    for (;;) {
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        d.op = (int32_t)(1 + below(TALLY_OP_COUNT - 1));
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
        } else {
            d.axes_given = 1;
            d.axes = (uint32_t)below(1 << d.rank);
            d.flags = below(2) ? TALLY_KEEPDIMS : 0;
        }
        if (tly_descriptor_resolve(&d, &full, NULL) == TALLY_OK && tly_has_open_size(&full)) {
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
            sizes[d] = draw_size();
        }
        if (!tly_close_sizes(&full, sizes)) {
            continue;
        }
        tly_canonicalise_closed(&full, &problem, &geometry);
        tly_problem same;
        tly_geometry unused;
        tly_canonicalise_resolved(&full, &same, &unused); /* as libtally has it */
        missing = memcmp(&same, &problem, sizeof same) != 0 ||
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
    for (long n = argc > 1 ? strtol(argv[1], NULL, 10) : 150; n > 0; n--) {
        tally_descriptor word = draw_word();
        failed |= check(&word);
    }
    return failed;
}
