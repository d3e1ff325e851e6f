/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of short rows can be built with. */
#include "choose.h"
#include "limits.h"
#include "operator.h"
#include "shared_keys.h"

#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key table[] = {
    TLY_KEY_LANES(TLY_LEAST_LANES, TLY_MOST_LANES),
    { KEY_AS("block", block_elements), 8, 8192, 0,
      TLY_WHY({ TLY_ELSE, "The range is looked at after so many elements." }) },
    TLY_KEY_PREFETCH,
    TLY_KEY_SPLIT_BYTES,
};

static const char *refuses(const tly_problem *p)
{
    int shorter = p->form == TLY_ROWS && p->interleave == 1 &&
                  (p->rows.length > 0 || (p->rows.is_medium && !p->carry));
    return !shorter                         ? "short: rows are dense, of up to 255 elements"
           : p->order == TALLY_ORDER_SERIAL ? "short: the order is not the plain loop's"
           : p->resets                      ? "short: states of rows are not dropped"
           : tly_operator_of(p)->applies    ? "short: states of this operator are not combined"
           : p->carry && tly_operator_of(p)->parts > 1
               ? "short: states of several parts do not go on"
           : tly_has_index(p)       ? "short: elements do not know their positions"
           : tly_shows_otherwise(p) ? "short: results are stored at once, not from keys"
                                    : NULL;
}

/* Vectors of whole lines of output and of whole rows of several vectors; 0 where they are many.
 * Where it is known how a vector lies in its row, most take no masks, and no step waits for the one
 * before. 32,768 elements in L2, products, us, before in brackets (Zen 5): AVX2 f64 rows of 8, 9,
 * 10 4.3, 7.0, 5.3 (14.9), f32 of 16, 20, 24, 64 3.1, 4.5, 3.2, 3.4 (7.7), of 36 3.9; AVX-512 f32
 * of 20, 24, 64 3.0, 2.6, 2.2 (3.5), f64 of 16 3.0 (5.6); SSE f32 of 16, 24 3.7, 3.5 (14.5). 16 and
 * 32 rows, as of 17 and 31 f32: 3.3 and 3.4 (3.4) for twice as long a compilation. Not kept: two
 * streams of rows side by side, which share masks: AVX2 f32 rows of 17 8.6 (8.1), f64 of 9 9.4. */
int tly_short_vectors_by_rows(const tly_problem *p, int lanes)
{
    enum { MOST = 20, MOST_ROWS = 8 };
    const int length = p->rows.length, elements = tly_line_elements(p);
    const int line = elements > lanes ? elements / lanes : 1;
    int all = line;
    if (length <= lanes)
        return 0;
    while (all <= MOST && all * lanes % length != 0)
        all += line;
    return all <= MOST && all * lanes <= MOST_ROWS * length ? all : 0;
}

/* Rows with a carry could also be tiles, which turn them so that states are vectors. us from L2,
 * by tiles and as one stream: AVX-512 f32 of 2, 3, 5, 8, 33, 63, 64 27.8, 25, 12, 5.1, 3.8, 3.7,
 * 2.9 and 3.3, 12, 9.0, 3.3, 5.2, 3.2, 2.7, f16 of 8 6.2, 4.0, bf16 of 24 6.8, 5.1; AVX2 f32 of 2,
 * 3, 5, 9, 33 27, 25, 12, 6.4, 3.7 and 4.8, 15, 12, 12, 9.3, f16 of 8, 64 6.3, 4.2 and 8.1, 5.0. ms
 * past the cache: AVX-512 f32 of 3, 9, 17, 33, 64 26, 4.7, 3.7, 4.5, 4.6 and 11, 4.0, 3.6, 3.0,
 * 2.3, AVX2 of 8, 9, 17, 64 4.5, 4.7, 3.8, 5.7 and 3.6, 6.7, 5.6, 2.3, SSE of 8, 20, 40 4.6, 3.8,
 * 4.0 and 3.1, 2.8, 2.9 (32,768 and 16 million elements, Zen 5, minima). */
int tly_carries_in_stream(const tly_problem *p, const tly_target *t)
{
    const int lanes = tly_choose_lanes(p, t, NULL), length = p->rows.length;
    const int narrow = tly_element_bytes(p, TLY_IN) < 4;
    if (length == 0 || refuses(p) != NULL || tly_rows_limits.wanted(p, t) ||
        tly_serial_limits.wanted(p, t))
        return 0;
    return t->mask_bytes == 1 || (!narrow && (2 * length <= lanes || lanes % length == 0 ||
                                              tly_short_vectors_by_rows(p, lanes) > 0));
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    return tly_fault_of_lanes(p, plan);
}

const tly_template_limits tly_short_limits = {
    { "short", table, sizeof table / sizeof *table,
      "Rows are short and lie one behind the other. So they are "
      "one stream of vectors, whatever their length." },
    0,
    tly_choices_of_short,
    " prefetch split_bytes ",
    refuses,
    fault,
    NULL,
};
