/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that templates for CPUs share; see limits.h. */
#include "limits.h"
#include "operator.h"

int32_t tly_line_elements(const tly_problem *p)
{
    return 64 / (int32_t)tly_element_bytes(p, TLY_OUT);
}

int tly_takes_slices(const tly_problem *p)
{
    return p->form == TLY_COLUMNS && p->lanes.least == 0 && p->lanes.count == 0 &&
           p->segmented == TLY_SEGMENTED_NOT && p->tensor[TLY_IN].step == 1 &&
           p->tensor[TLY_OUT].step == 1;
}

const char *tly_fault_of_lanes(const tly_problem *p, const tly_plan *plan)
{
    int32_t bytes = plan->lanes * (int32_t)tly_lane_bytes(p);
    return bytes > TLY_MOST_VECTOR_BYTES ? "a vector holds up to 64 bytes of accumulators" : NULL;
}

int tly_shows_otherwise(const tly_problem *p)
{
    return tly_raises_flags(p, TLY_EXPRESSION_POST) ||
           (p->program.type != 0 && tly_operator_of(p)->compares);
}
