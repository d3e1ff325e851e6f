/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one long row, and lanes too few to fill a device, cost in one pass by look-back, which waits
 * for carries, and in chunks, which are read twice: the time in which the workgroups that a device
 * holds at once get through a tile each. Latencies are estimates from what is published of such
 * GPUs, and not fitted to one; docs/tuning-notes.md has what an event model makes of the same.
 */
#include "gpu_choose.h"

#include "../../runtime/host/checked.h"
#include "operator.h"

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

/* Registers of scans (tools/isa/table), the watched and others. */
enum { REGISTERS_WATCHED = 96, REGISTERS_LANES_WATCHED = 80, REGISTERS = 64 };

/* ns. From the loads to the local results, from the carry to the last store; a look at what
 * others publish; a step of a sum, for each word of a state; looks and sums a tile, of lanes in
 * rounds of as many records as invocations; and groups that are still between it and the latest
 * base. */
enum {
    READ = 1200,
    WRITE = 300,
    LOOK = 450,
    STEP = 20,
    LOOKS = 3,
    LOOKS_LANES = 4,
    GROUPS_BETWEEN = 8
};

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

/* A tile's way in one pass and in two, by what all invocations that a device holds have done
 * then. */
typedef struct way {
    int64_t copy;  /* each has its elements copied */
    int64_t sum;   /* what a tile combines for its carry */
    int64_t chain; /* carries get past the tiles that are there at once */
} way;

static int is_faster(const way *w, int64_t looks)
{
    int64_t waits = READ + WRITE + looks * (LOOK + w->sum);
    int64_t twice = tly_larger(w->copy / 2, READ) + tly_larger(w->copy, READ + WRITE);
    return tly_larger(tly_larger(w->copy, waits), w->chain) < twice;
}

/* Invocations that are there at once, if each takes so many registers. */
static int64_t at_once(const maker *m, const tly_caps *caps, int64_t registers)
{
    return (int64_t)caps->saturation * m->registers / tly_larger(registers, m->registers);
}

static int64_t copy_of(const maker *m, const tly_problem *p, const tly_gpu_plan *plan,
                       int64_t registers)
{
    int64_t bytes = (int64_t)plan->vector * plan->vectors_per_thread *
                    (tly_gpu_bytes_of(p->tensor[TLY_IN].dtype) +
                     tly_gpu_bytes_of(p->tensor[TLY_OUT].dtype));
    return bytes * m->byte_ps / 1000 * m->registers / tly_larger(registers, m->registers);
}

static int64_t step_of(const tly_problem *p)
{
    return STEP * (((int64_t)tly_window_bytes(p) + 3) / 4);
}

int tly_gpu_look_back_pays(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    const maker *m = maker_of(caps);
    int64_t needs = tly_range_sides(p) > 0 ? REGISTERS_WATCHED : REGISTERS, lanes = caps->subgroup;
    int64_t step = step_of(p), groups = at_once(m, caps, needs) / TLY_GPU_LOOK_BACK_WORKGROUP;
    /* A hop takes bases on by a subgroup's lanes of groups of as many tiles. */
    int64_t hop = LOOK + step * (steps_across(lanes) + lanes);
    const way w = { .copy = copy_of(m, p, plan, needs),
                    .sum = step * (steps_across(lanes) + GROUPS_BETWEEN),
                    .chain = hop * groups / (lanes * lanes) };
    return is_faster(&w, LOOKS);
}

int tly_gpu_lanes_pay(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                      const tly_gpu_plan *plan)
{
    const maker *m = maker_of(caps);
    int64_t needs = tly_range_sides(p) > 0 ? REGISTERS_LANES_WATCHED : REGISTERS;
    int64_t lanes = tly_multiply(g->rows, p->form == TLY_ROWS ? p->interleave : g->inner);
    int64_t chains = tly_ceil_div(lanes, plan->group);
    int64_t tiles = at_once(m, caps, needs) / plan->workgroup / chains; /* of each chain */
    int64_t group = TLY_GPU_LANES_GROUP, window = TLY_GPU_LANES_WINDOW;
    int64_t step = step_of(p), hop = LOOK + step * (group + window);
    const way w = { .copy = copy_of(m, p, plan, needs),
                    .sum = step * (group / 2 + GROUPS_BETWEEN),
                    .chain = hop * tiles / (group * window) };
    return chains > 0 && is_faster(&w, LOOKS_LANES);
}
