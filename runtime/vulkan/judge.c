/* SPDX-License-Identifier: Apache-2.0 */
/* Stored kernels, judged; see judge.h. What follows from the plan is compared, and all other
 * numbers stay where no sum of theirs overflows. templates/gpu/frame.c writes the record. */
#include "judge.h"

#include "../../codegen/plan/gpu.h"

#include <string.h>

enum {
    MOST_HEADER = 1 << 12, /* bytes */
    MOST_RECORD = 1 << 16,
    MOST_WORKGROUP = 1 << 16,
    MAGIC = 0x07230203,
    FRONT = 5 /* words of a module before the first instruction */
};

static int is_one_pass(const tly_gpu_plan *plan)
{
    return plan->template_id == TLY_GPU_LOOK_BACK || plan->template_id == TLY_GPU_LOOK_BACK_LANES ||
           plan->template_id == TLY_GPU_COPY || plan->template_id == TLY_GPU_READ;
}

static uint32_t passes_of(const tly_problem *p, const tly_gpu_plan *plan)
{
    const uint32_t marks = (uint32_t)tly_gpu_has_marks(p);
    return marks + (plan->chunk == 0 || is_one_pass(plan) ? 1 : tly_reduces(p->form) ? 2 : 3);
}

static int in_lanes(const tly_problem *p, const tly_gpu_plan *plan)
{
    return tly_reduces(p->form) ? p->form == TLY_REDUCED_LANES : tly_gpu_takes_lanes(plan);
}

static int pass_stands(const tly_gpu_pass *pass, const tly_problem *p)
{
    const int of_segments = pass->items >= TLY_ITEMS_SEGMENTS;
    return pass->items <= TLY_ITEMS_CELLS && (!of_segments || p->segmented != 0) &&
           pass->per_group >= 1 && pass->per_group <= MOST_WORKGROUP && pass->workgroup >= 1 &&
           pass->workgroup <= MOST_WORKGROUP && (pass->subgroup & (pass->subgroup - 1)) == 0 &&
           pass->subgroup <= MOST_WORKGROUP;
}

int tly_vk_launch_stands(const tly_gpu_launch *l, const tly_problem *p, const tly_gpu_plan *plan)
{
    if ((uint32_t)plan->template_id >= TLY_GPU_TEMPLATE_COUNT || plan->vector < 1) {
        return 0;
    }
    const int lanes = in_lanes(p, plan);
    int stands = l->form == (lanes ? TLY_GPU_LANES : TLY_GPU_ROWS) &&
                 l->passes == passes_of(p, plan) && l->addresses == (uint32_t)plan->addresses &&
                 l->chunk == (uint32_t)plan->chunk &&
                 l->lanes == (lanes ? (uint32_t)plan->vector : 1) &&
                 (l->chunk == 0 || l->positions % l->chunk == 0) && l->zeroed <= 1 &&
                 l->marked == (uint32_t)tly_gpu_has_marks(p) && tly_has_tensors(l->loose) &&
                 l->block_bytes == (tly_gpu_has_block(p) ? sizeof(tly_gpu_block) : 0) &&
                 l->header_bytes >= l->block_bytes && l->header_bytes <= MOST_HEADER &&
                 l->record_bytes <= MOST_RECORD && l->carry_bytes <= MOST_RECORD &&
                 strncmp(l->template_name, tly_gpu_template_name(plan), sizeof l->template_name) ==
                     0;
    for (uint32_t i = 0; stands && i < l->passes; i++) {
        stands = pass_stands(&l->pass[i], p);
    }
    return stands;
}

int tly_vk_module_stands(const uint32_t *words, size_t count)
{
    size_t at = FRONT;
    if (words[0] != MAGIC || words[3] == 0 || words[4] != 0) {
        return 0;
    }
    while (at < count) {
        const size_t length = words[at] >> 16;
        if (length == 0 || length > count - at) {
            return 0;
        }
        at += length;
    }
    return 1;
}
