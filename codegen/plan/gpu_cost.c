/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one long row costs in one pass by look-back, which waits for carries, and in chunks, which are
 * read twice: the time in which the workgroups that a device holds at once get through a tile
 * each. No GPU was measured; docs/results/vulkan.md ("One long row") names where the figures come
 * from, and what an event model makes of the same.
 */
#include "gpu_choose.h"

#include "../../runtime/checked.h"
#include "../operator.h"

/* One GPU stands for its vendor's; most others' memory is slower for their invocations, which are
 * those of the device's saturation. */
typedef struct maker {
    uint32_t vendor; /* 0: any */
    int32_t
        registers;   /* of 32 bits that an invocation may take while all of saturation are there */
    int32_t byte_ps; /* in which each of these has a byte copied */
} maker;

static const maker makers[] = {
    { 0x10de, 32, 90000 },   /* H100: 270336 invocations, 3.0 TB/s */
    { 0x1002, 96, 120000 },  /* RX 7900 XTX: 98304, .8 TB/s */
    { 0x8086, 256, 145000 }, /* Arc A770: 65536, .45 TB/s */
    { 0, 32, 60000 },
};

/* Registers of scans of 16 elements an invocation (docs/results/isa.md), the watched and others. */
enum { REGISTERS_WATCHED = 128, REGISTERS = 64 };

/* ns. From the loads to the local results, from the carry to the last store; a look at what others
 * publish; a step of a sum, for each word of a state; looks and sums a tile, and groups that are still
 * between it and the latest base. */
enum { READ = 1200, WRITE = 300, LOOK = 450, STEP = 20, LOOKS = 3, GROUPS_BETWEEN = 8 };

static const maker *maker_of(const tly_caps *caps)
{
    const maker *m = makers;
    while (m->vendor != 0 && m->vendor != caps->vendor)
        m++;
    return m;
}

static int64_t steps_across(int64_t lanes)
{
    int64_t steps = 0;
    for (; (int64_t)1 << steps < lanes; steps++)
        ;
    return steps;
}

int tly_gpu_look_back_pays(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    const maker *m = maker_of(caps);
    int64_t needs = tly_range_sides(p) > 0 ? REGISTERS_WATCHED : REGISTERS, lanes = caps->subgroup;
    int64_t takes = tly_larger(needs, m->registers); /* so the fewer are there at once */
    int64_t bytes = (int64_t)plan->vector * plan->segments *
                    (tly_gpu_bytes_of(p->dtype) + tly_gpu_bytes_of(p->out_dtype));
    int64_t copy = bytes * m->byte_ps / 1000 * m->registers / takes;
    int64_t words = (tly_state_bytes(p) + 3) / 4, step = STEP * words;
    int64_t sum = step * (steps_across(lanes) + GROUPS_BETWEEN);
    int64_t waits = READ + WRITE + LOOKS * (LOOK + sum);
    /* A hop takes bases on by a subgroup's lanes of groups of as many tiles. */
    int64_t groups = (int64_t)caps->saturation * m->registers / takes / TLY_GPU_LOOK_BACK_WORKGROUP;
    int64_t hop = LOOK + step * (steps_across(lanes) + lanes);
    int64_t chain = hop * groups / (lanes * lanes);
    int64_t twice = tly_larger(copy / 2, READ) + tly_larger(copy, READ + WRITE);
    return tly_larger(tly_larger(copy, waits), chain) < twice;
}
