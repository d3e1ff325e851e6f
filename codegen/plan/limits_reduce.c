/* SPDX-License-Identifier: Apache-2.0 */
/* What the templates of reductions can be built with. */
#include "limits.h"
#include "shared_keys.h"

#include "operator.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key rows_table[] = {
    TLY_KEY_LANES(1, TLY_MOST_VECTOR_BYTES),
    { KEY_AS("unroll", vectors), 1, TLY_REDUCE_MOST_UNROLL, 1,
      TLY_WHY({ 1, "There is one vector of states, as short rows stand side by side or the order "
                   "is serial." },
              { TLY_ELSE,
                "So many vectors of states go side by side, which hides the latency of one." }) },
    { KEY_AS("rows", rows_at_once), 1, TLY_REDUCE_MOST_GROUP, 1,
      TLY_WHY({ 1, "Rows go one at a time, as they are long or vectors cannot be loaded in part." },
              { TLY_ELSE,
                "So many short rows are folded together, so that results are neighbours." }) },
    TLY_KEY_CHUNK,
    TLY_KEY_PREFETCH,
    TLY_KEY_SPLIT_BYTES,
};

static const tly_plan_key lanes_table[] = {
    TLY_KEY_LANES(1, TLY_MOST_VECTOR_BYTES),
    TLY_KEY_ROWS,
    { KEY(tile_lanes), 8, 65536, 1,
      TLY_WHY({ TLY_ELSE, "A tile has so many results, whose states stay in L1." }) },
    TLY_KEY_CHUNK,
    TLY_KEY_SPLIT_BYTES,
};

int tly_has_slices(const tly_problem *p)
{
    return p->form == TLY_REDUCED_LANES && p->reduced.slices > 0;
}

int tly_reduces_plainly(const tly_problem *p)
{
    return p->order == TALLY_ORDER_SERIAL || tly_is_checked_as(p, TLY_CHECK_PRODUCTS) ||
           tly_has_slices(p);
}

static const tly_plan_key interleaved_table[] = {
    TLY_KEY_LANES(1, TLY_MOST_VECTOR_BYTES),
    TLY_KEY_ROWS,
    { KEY_AS("block", steps_at_once), 1, 1024, 1,
      TLY_WHY({ TLY_ELSE,
                "So many steps go side by side, so that states fill eight vectors and more." }) },
    TLY_KEY_CHUNK,
    TLY_KEY_SPLIT_BYTES,
};

int tly_is_masked(const tly_problem *p, const tly_target *t)
{
    return p->tensor[TLY_IN].step == 1 &&
           tly_target_masks(t, (unsigned)tly_element_bytes(p, TLY_IN));
}

int tly_merges_slices(const tly_problem *p, const tly_target *t)
{
    const int32_t lanes = t->vector_bytes / (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
    return tly_has_slices(p) && p->reduced.slices > 1 && p->reduced.slices < lanes &&
           tly_is_masked(p, t) && tly_target_masks(t, (unsigned)tly_element_bytes(p, TLY_OUT));
}

int32_t tly_reduced_bytes(const tly_problem *p)
{
    return p->form != TLY_REDUCED_ROWS            ? 0
           : p->reduced.way == TLY_REDUCED_SHORT  ? TLY_REDUCED_BYTES
           : p->reduced.way == TLY_REDUCED_MEDIUM ? TLY_REDUCED_MEDIUM_BYTES
                                                  : 0;
}

int tly_reduces_together(const tly_problem *p, const tly_target *t)
{
    int32_t bytes = tly_reduced_bytes(p);
    return bytes == TLY_REDUCED_BYTES || (bytes > 0 && tly_is_masked(p, t));
}

int tly_takes_segments(const tly_problem *p)
{
    const tly_operator *o = tly_operator_of(p);
    const int is_exact = o->exact && tly_class_of((tally_dtype)p->acc) != TLY_FLOATING;
    return p->segmented && p->tensor[TLY_IN].step == 1 && p->order != TALLY_ORDER_SERIAL &&
           o->parts == 1 && !is_exact && !tly_is_checked_as(p, TLY_CHECK_PRODUCTS) &&
           !tly_has_expression(p, TLY_EXPRESSION_POST) && !tly_raises_flags(p, TLY_EXPRESSION_MAP);
}

static const char *rows_refuse(const tly_problem *p)
{
    return p->form != TLY_REDUCED_ROWS ? "reduce_rows: no reduction along rows" : NULL;
}

static const char *lanes_refuse(const tly_problem *p)
{
    return p->form != TLY_REDUCED_LANES ? "reduce_lanes: no reduction of lanes" : NULL;
}

static const char *interleaved_refuse(const tly_problem *p)
{
    return p->form != TLY_REDUCED_LANES || p->reduced.way == TLY_REDUCED_ONE || tly_has_slices(p)
               ? "reduce_interleaved: neither packed columns nor long ones of a product"
               : NULL;
}

static const char *fault_of_vectors(const tly_problem *p, const tly_plan *plan)
{
    int32_t bytes = plan->lanes * (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
    if (bytes > TLY_MOST_VECTOR_BYTES)
        return "a vector holds up to 64 bytes of accumulators";
    if (p->segmented && plan->chunk > 0)
        return "segments are not cut: chunk=0";
    return NULL;
}

static const char *rows_fault(const tly_problem *p, const tly_plan *plan)
{
    int serial = p->order == TALLY_ORDER_SERIAL;
    if (serial && (plan->lanes > 1 || plan->vectors > 1 || plan->chunk > 0))
        return "order=serial is one chain: lanes=1, unroll=1, chunk=0";
    if (plan->rows_at_once > 1 && p->segmented && !tly_takes_segments(p))
        return "segments of this operator go one at a time: rows=1";
    if (plan->rows_at_once > 1 && !p->segmented && (tly_reduced_bytes(p) == 0 || plan->vectors > 1))
        return "rows at once are short ones, of one vector each";
    int32_t bytes = (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
    if (plan->rows_at_once > 1 && plan->chunk > 0 && plan->chunk < tly_reduced_bytes(p) / bytes)
        return "rows at once are of one chunk";
    if (plan->rows_at_once > 1 && plan->chunk > 0 && p->reduced.has_steps)
        return "rows at once that have several steps are not cut: chunk=0";
    if (plan->rows_at_once > plan->lanes)
        return "as many rows at once as lanes, or fewer";
    return fault_of_vectors(p, plan);
}

static const char *lanes_fault(const tly_problem *p, const tly_plan *plan)
{
    if (tly_reduces_plainly(p) && plan->chunk > 0)
        return "order=serial and products of floats are one chain a lane: chunk=0";
    return fault_of_vectors(p, plan);
}

static const char *interleaved_fault(const tly_problem *p, const tly_plan *plan)
{
    if (p->reduced.way == TLY_REDUCED_LONG)
        return plan->steps_at_once > 1 ? "steps of many columns go one by one: block=1"
                                       : fault_of_vectors(p, plan);
    if (plan->steps_at_once < plan->lanes)
        return "as many steps in a block as lanes, or more";
    return fault_of_vectors(p, plan);
}

const tly_template_limits tly_reduce_rows_limits = {
    { "reduce_rows", rows_table, sizeof rows_table / sizeof *rows_table,
      "No result lies beside another in the input. So the elements of one result make vectors of "
      "states." },
    1,
    tly_choices_of_reduce_rows,
    " prefetch split_bytes ",
    rows_refuse,
    rows_fault,
    NULL,
};

const tly_template_limits tly_reduce_lanes_limits = {
    { "reduce_lanes", lanes_table, sizeof lanes_table / sizeof *lanes_table,
      "Results lie side by side in the input, and each is a lane of its own." },
    1,
    tly_choices_of_reduce_lanes,
    " tile_lanes split_bytes ",
    lanes_refuse,
    lanes_fault,
    NULL,
};

const tly_template_limits tly_reduce_interleaved_limits = {
    { "reduce_interleaved", interleaved_table, sizeof interleaved_table / sizeof *interleaved_table,
      "Results lie side by side, but are too few for whole vectors. So several steps of the axis "
      "go together as one wide row." },
    1,
    tly_choices_of_reduce_interleaved,
    " split_bytes ",
    interleaved_refuse,
    interleaved_fault,
    NULL,
};
