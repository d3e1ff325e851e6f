/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of algorithms, and the frame around each: one builder, one kernel, one launch record.
 */
#include "template.h"

#include <stdio.h>
#include <string.h>

#include "../codegen/plan/planner.h"
#include "build.h"

static void (*const algorithms[TLY_TEMPLATE_COUNT])(tly_build *c, tly_launch *launch) = {
#define ALGORITHM(ID, name, what) [TLY_TEMPLATE_##ID] = tly_build_##name,
    TLY_TEMPLATES(ALGORITHM)
#undef ALGORITHM
};

tally_status tly_template_build(const tly_problem *problem, const tly_target *target,
                                const tly_plan *plan, kir_kernel **kernel, tly_launch *launch,
                                tally_error *error)
{
    char name[64];
    const char *algorithm = tly_template_name((tly_template)plan->template_id);
    snprintf(name, sizeof name, "%s_%s_%s", tally_op_name((tally_op)problem->op),
             tally_dtype_name((tally_dtype)problem->tensor[TLY_IN].dtype), algorithm);
    tly_build c = { .b = kir_begin(name), .p = problem, .t = target, .plan = plan };
    if (c.b == NULL)
        return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "no memory for a kernel builder");
    c.lanes = (unsigned)plan->lanes;
    c.acc = tly_storage((tally_dtype)problem->acc, 1);
    c.vec = tly_storage((tally_dtype)problem->acc, c.lanes);
    c.acc_bytes = (unsigned)tally_dtype_bytes((tally_dtype)problem->acc);
    c.state_bytes = tly_state_bytes(problem);
    c.tensors = tly_tensors_of(problem);
    c.element = tly_element_dtype(problem);
    c.element_bytes = (unsigned)tally_dtype_bytes(c.element);
    for (int t = 0; t < c.tensors; t++)
        c.bytes[t] = (unsigned)tly_element_bytes(problem, t);

    tly_launch made = { .abi = TLY_ABI_VERSION, .form = problem->form };
    made.split_bytes = plan->split_bytes;
    snprintf(made.template_name, sizeof made.template_name, "%s", algorithm);
    snprintf(made.level, sizeof made.level, "%s", target->level);
    algorithms[plan->template_id](&c, &made);
    tally_status s = kir_finish(c.b, kernel, error);
    if (s == TALLY_OK) {
        made.tensors = kir_tensors(*kernel);
        *launch = made;
    }
    return s;
}
