/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of the plain loop can be built with. */
#include "limits.h"
#include "operator.h"
#include "shared_keys.h"

#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key table[] = {
    { KEY_AS("unroll", rows_at_once), 1, TLY_SERIAL_MOST_ROWS, 1,
      TLY_WHY(
          { 1, "There is one vector of states, as short rows stand side by side or the order is "
               "serial." },
          { TLY_ELSE,
            "So many rows go side by side, so that their chains do not wait for themselves." }) },
    TLY_KEY_SPLIT_BYTES,
};

static const char *refuses(const tly_problem *p)
{
    return p->form != TLY_ROWS || p->interleave > 1 ? "serial: one scan along each row" : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    (void)p;
    (void)plan;
    return NULL;
}

/* Rows of up to TLY_SHORT_ROW as chains of scalars, several side by side, or as a stream of
 * vectors; ns an element from L2, the latter first (Emerald Rapids). Rows of 2, 3, 4: f32
 * AVX-512 .14, .20, .16 and .38, .52, .51, AVX2 .21, .40, .31 and .35, .42, .38; f16 AVX-512
 * .16, .27, .21 and 1.9, 1.4, 1.3; f32 SSE .23, .68, .51 and .29, .35, .29. Two lanes a vector:
 * f64 SSE, rows of 8 and 33 1.49, 1.44 and .77, .80 (past the cache 1.44, 1.44 and 1.59, 1.97);
 * f32 SSE .78, .61 and .44, .48, but past the cache .72, .88 and 1.25, 1.21. Integer products of
 * more than a vector wait for each other: i32, rows of 33, AVX-512, AVX2, SSE .57, .80, 1.4 and
 * .47, .48, .48; i64 1.58, 1.84, 2.6 and .58, .64, .63; of 8 .38, 1.25, 2.5 and .55, .53, .77. But
 * of a copy (Zen 5) i32 of 24, 33, 64 AVX-512 1.3, .81, 1.5 and .60, .45, .35, AVX2 .99, .38, .96
 * and .55, .43, .33, SSE of 16, 33 .83, .20 and .55, .41; i64 of 16, 33 AVX-512 2.0, 1.1 and 1.2,
 * .87. */
static int takes_chains(const tly_problem *p, const tly_target *t)
{
    int lanes = t->vector_bytes / (int)tally_dtype_bytes((tally_dtype)p->acc);
    int most = t->vector_bytes == 16 ? 4 : 1;
    if (lanes == 2 || (tly_is_wide_product(p) && !t->has_mul64))
        most = TLY_SHORT_ROW;
    const int length = p->rows.length;
    const int waits = tly_multiplies_integers(p) && length > lanes && length <= TLY_EVEN_ROW &&
                      t->mask_bytes != 1 && tly_short_vectors_by_rows(p, lanes) == 0;
    return length > 0 && (length <= most || waits);
}

static int is_wanted(const tly_problem *p, const tly_target *t)
{
    const int is_other = tly_operator_of(p)->applies || tly_has_index(p) || p->segmented ||
                         p->resets;
    return p->order == TALLY_ORDER_SERIAL || takes_chains(p, t) ||
           (is_other && !tly_linear_serves(p) && !tly_linear_streams(p, t));
}

const tly_template_limits tly_serial_limits = {
    { "serial", table, sizeof table / sizeof *table,
      "The plain loop's order is asked for, or scalar chains side by side are quicker than vectors "
      "that wait for each other." },
    0,
    tly_choices_of_serial,
    "*",
    refuses,
    fault,
    is_wanted,
};
