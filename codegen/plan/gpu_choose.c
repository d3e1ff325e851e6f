/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heuristics for Vulkan: which algorithm, how wide, how much at once. Each number that was
 * measured names its measurement; those for GPUs are reasoned (docs/tuning-notes.md).
 */
#include "gpu_choose.h"

#include "../../runtime/host/checked.h"
#include "operator.h"

/* What is forced for a field, or else what is chosen. */
#define FIELD(name) offsetof(tly_gpu_plan, name)
#define OR_FORCED(name, chosen) tly_forced_or(forced, FIELD(name), chosen)

/* Largest power of two at most x; x >= 1. */
int32_t tly_gpu_power_below(int64_t x)
{
    int32_t power = 1;
    while (power < INT32_MAX / 4 && 2 * (int64_t)power <= x)
        power *= 2;
    return power;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

int32_t tly_gpu_tile(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    int32_t subgroup = plan->scan == 0 ? plan->workgroup : (int32_t)caps->subgroup;
    int32_t width = plan->group < subgroup ? plan->group : subgroup;
    return plan->group / width * (width - width % p->interleave) * plan->vector *
           plan->vectors_per_thread;
}

int32_t tly_gpu_choose_scan(const tly_problem *p, const tly_caps *caps)
{
    if (!tly_caps_shuffle(caps))
        return 0;
    int integer = p->acc != TALLY_F32 && p->acc != TALLY_F64;
    int narrow = p->acc == TALLY_I32 || p->acc == TALLY_U32;
    int own = integer && narrow && tly_operator_of(p)->subgroup_scan && tly_window_heads(p) == 0;
    return own && (caps->subgroup_ops & TLY_SUBGROUP_ARITHMETIC) ? 2 : 1;
}

int32_t tly_gpu_workgroup_of(const tly_caps *caps, int32_t wanted)
{
    int32_t most = tly_gpu_power_below(caps->invocations);
    return wanted < most ? wanted : most;
}

/* A CPU that plays a device gains nothing by what hides latency, and pays for it in compilation. */
int tly_gpu_is_software(const tly_caps *caps)
{
    return caps->saturation < 1024;
}

int32_t tly_gpu_segments_of(const tly_gpu_plan *plan, int32_t wanted)
{
    return smaller(wanted, TLY_GPU_MOST_ELEMENTS / plan->vector);
}

/* Half of the loop trips that the driver allows. The plain loop may walk a chunk, and the loop over
 * all chunks needs trips as well. */
static int64_t longest_chunk(const tly_caps *caps)
{
    int64_t most = caps->trip_limit > 0 ? (int64_t)caps->trip_limit / 2 : TLY_GPU_MOST_CHUNK;
    return most < TLY_GPU_MOST_CHUNK ? most : TLY_GPU_MOST_CHUNK;
}

/* Whole tiles. 0: not one tile can be. What is forced is rounded up, and judged by the limits. */
static int32_t whole_chunk(int64_t chunk, int32_t tile, const tly_caps *caps, int is_forced)
{
    int64_t tiles = (chunk + tile - 1) / tile, fit = longest_chunk(caps) / tile;
    return (int32_t)((is_forced || tiles < fit ? tiles : fit) * tile);
}

/* ---- columns ---- */

int tly_gpu_whole_accesses(int64_t stride, int64_t times, uint8_t dtype)
{
    return stride % 16 * times * tly_gpu_bytes_of(dtype) % 16 == 0;
}

/* The largest power of two from `least` to `most`, itself one, that divides count; or 1. */
static int32_t divisor_of(int64_t count, int32_t least, int32_t most)
{
    while (most > least && count % most != 0)
        most /= 2;
    return most >= least && count % most == 0 ? most : 1;
}

/* Whether 32 bits hold the step from a group of lanes to the next, in each operand. Kernels make
 * the step of one lane from it. */
static int steps_fit(const tly_problem *p, const tly_geometry *g)
{
    int fit = 1;
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_of(p); t++) {
        const int64_t step = p->form == TLY_ROWS ? g->tensor[t].axis : g->tensor[t].lane;
        const int64_t most = INT32_MAX / TLY_GPU_MOST_ELEMENTS /
                             tly_gpu_bytes_of(p->tensor[t].dtype);
        fit = fit && step >= -most && step <= most;
    }
    return fit;
}

int32_t tly_gpu_lanes_together(const tly_problem *p, const tly_geometry *g, int32_t most)
{
    int rows = p->form == TLY_ROWS;
    int64_t lanes = rows ? p->interleave : g->inner, axes = rows ? p->interleave : 1;
    int32_t wide = 16 / tly_gpu_bytes_of(p->tensor[TLY_OUT].dtype);
    int together = tly_gpu_whole_accesses(g->tensor[TLY_IN].axis, axes, p->tensor[TLY_IN].dtype) &&
                   tly_gpu_whole_accesses(g->tensor[TLY_OUT].axis, axes,
                                          p->tensor[TLY_OUT].dtype) &&
                   (rows ? g->tensor[TLY_IN].axis : g->tensor[TLY_IN].lane) == 1 &&
                   (rows ? g->tensor[TLY_OUT].axis : g->tensor[TLY_OUT].lane) == 1;
    for (int32_t i = 0; i < g->outer_rank; i++)
        together = together &&
                   tly_gpu_whole_accesses(g->outer[i].stride[TLY_IN], 1, p->tensor[TLY_IN].dtype) &&
                   tly_gpu_whole_accesses(g->outer[i].stride[TLY_OUT], 1, p->tensor[TLY_OUT].dtype);
    return together && steps_fit(p, g) ? divisor_of(lanes, wide, most) : 1;
}

/* Whether every vector begins at a multiple of 16 bytes where the first one does. */
static int are_aligned(const tly_problem *p, const tly_geometry *g)
{
    int aligned = p->form == TLY_REDUCED_ROWS ||
                  tly_gpu_whole_accesses(g->tensor[TLY_IN].axis, 1, p->tensor[TLY_IN].dtype);
    for (int32_t i = 0; i < g->outer_rank; i++)
        aligned = aligned &&
                  tly_gpu_whole_accesses(g->outer[i].stride[TLY_IN], 1, p->tensor[TLY_IN].dtype);
    for (int32_t i = 0; i < g->reduced_rank; i++)
        aligned = aligned &&
                  tly_gpu_whole_accesses(g->reduced[i].stride[TLY_IN], 1, p->tensor[TLY_IN].dtype);
    return aligned;
}

int32_t tly_gpu_reduced_together(const tly_problem *p, const tly_geometry *g, int wide,
                                 int32_t most)
{
    int lanes = p->form == TLY_REDUCED_LANES;
    int together = lanes ? g->tensor[TLY_IN].lane == 1 && g->tensor[TLY_OUT].lane == 1
                         : p->tensor[TLY_IN].step == 1;
    /* What is left of one step goes element by element. */
    int64_t count = lanes ? g->inner : g->reduced_rank > 0 ? g->length : most;
    if (!together || (wide && !are_aligned(p, g)) || (lanes && !steps_fit(p, g)))
        return 1;
    return divisor_of(count, wide ? 16 / tly_gpu_bytes_of(p->tensor[TLY_IN].dtype) : 1, most);
}

/* As many lanes as lie together and still keep the device busy. */
static int32_t choose_together(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                               int64_t lanes)
{
    int32_t bytes = tly_gpu_is_software(caps) ? 64 : 16;
    int32_t most = smaller(bytes / tly_gpu_bytes_of(p->tensor[TLY_OUT].dtype),
                           TLY_GPU_MOST_ELEMENTS);
    int32_t vector = tly_gpu_lanes_together(p, g, most);
    while (vector > 1 && lanes / vector < caps->saturation)
        vector = tly_gpu_lanes_together(p, g, vector / 2);
    return vector;
}

/* Invocations that keep a GPU's memory busy by what each has on its way: 8 bytes for each that the
 * device holds, 2 MiB of an H100, whose memory moves as much in .6 us; rounded to a power of two,
 * as none of these figures is closer. */
static int64_t busy_lanes(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    int64_t each = (int64_t)plan->vectors_per_thread * plan->vector *
                   tly_gpu_bytes_of(p->tensor[TLY_IN].dtype);
    return (int64_t)tly_gpu_power_below(caps->saturation) * 8 / each;
}

/* Positions a chunk, where lanes are too few to keep the device busy; 0: none. A chunk's elements
 * are read twice, which half as many lanes make up for: an invocation has the next positions on
 * their way while it scans those before. */
static int64_t choose_piece(const tly_problem *p, const tly_caps *caps, int64_t lanes,
                            int64_t length, const tly_gpu_plan *plan)
{
    int64_t busy = busy_lanes(p, caps, plan) * plan->vector;
    int64_t pieces = busy / (lanes > 0 ? lanes : 1);
    /* lavapipe, 2 threads: 16 and 2 lanes in chunks took twice as long */
    if (tly_gpu_is_software(caps) || p->order == TALLY_ORDER_SERIAL || pieces <= 2 || length < 4096)
        return 0;
    return tly_gpu_power_below(length / pieces > 256 ? length / pieces : 256);
}

/* Positions that an invocation takes at once on a GPU. It fetches 16 while it scans 16 others
 * (gpu/columns.c), so up to 32 are fetched in vain at the end of a lane. Short lanes take fewer at
 * once, so that less is fetched in vain. */
static int32_t at_once_of(int64_t length)
{
    return length >= 256 ? 16 : smaller(tly_gpu_power_below(length > 0 ? length : 1), 8);
}

/* A cache line a step where a CPU plays the device. lavapipe, 8 lanes, 4096x4096, of a copy
 * kernel's speed, by 1, 16 and 64 bytes: f32 .7 .8 1.0, f64 .65 .85 .95, f16 .5 .65 .85. */
static void choose_columns(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                           const tly_forced *forced, tly_gpu_plan *plan)
{
    int64_t unit = p->form == TLY_ROWS ? p->interleave : 1, length = g->length / unit;
    int64_t lanes = tly_multiply(g->rows, p->form == TLY_ROWS ? unit : g->inner);
    plan->workgroup = OR_FORCED(workgroup,
                                tly_gpu_workgroup_of(caps, tly_gpu_is_software(caps) ? 32 : 128));
    plan->group = plan->workgroup;
    plan->vector = OR_FORCED(vector, choose_together(p, g, caps, lanes));
    int32_t wanted = tly_gpu_is_software(caps) ? plan->vector > 1 ? 1 : 4 : at_once_of(length);
    plan->vectors_per_thread = OR_FORCED(vectors_per_thread, tly_gpu_segments_of(plan, wanted));
    int64_t chunk = choose_piece(p, caps, lanes, length, plan);
    plan->chunk = whole_chunk(OR_FORCED(chunk, (int32_t)chunk), 1, caps,
                              tly_is_forced(forced, FIELD(chunk)));
    if (plan->chunk > 0 && plan->vector > TLY_GPU_MOST_CUT_LANES) {
        plan->vector = OR_FORCED(vector, tly_gpu_lanes_together(p, g, TLY_GPU_MOST_CUT_LANES));
        plan->vectors_per_thread = OR_FORCED(vectors_per_thread, tly_gpu_segments_of(plan, wanted));
    }
}

/* ---- groups ---- */

/* Rows that are too few to fill the device are cut: groups at work at once, against what keeps it
 * busy. */
static int64_t choose_chunk(const tly_geometry *g, const tly_caps *caps, int32_t tile,
                            const tly_gpu_plan *plan)
{
    int64_t busy = tly_multiply(g->rows, plan->group);
    if (tly_gpu_is_software(caps) || busy * 2 > caps->saturation || g->length / 8 < tile)
        return 0;
    int64_t chunks = caps->saturation / (busy > 0 ? busy : 1);
    int64_t size = g->length / (chunks > 0 ? chunks : 1);
    return (int64_t)tile * tly_gpu_power_below(size / tile > 4 ? size / tile : 4);
}

/* Tiles of look-back wait for each other, so as many bytes are to wait as registers hold. Hopper
 * by NVK, registers by 16 and 32 elements an invocation: f16 48, 64, i32 56, 72, f32 sums and
 * products 72, 96; f64, by 8 and 16, 80, 96. docs/tuning-notes.md has what a model makes of
 * them. */
static int waits_by_more(const tly_problem *p, const tly_gpu_plan *plan)
{
    enum { MOST_BYTES = 128 }; /* of accumulators */
    return 2 * plan->vector * plan->vectors_per_thread * tly_gpu_bytes_of(p->acc) <= MOST_BYTES &&
           tly_gpu_bytes_of(p->tensor[TLY_IN].dtype) >= 2;
}

/* Whether registers of flags while they are loaded, or of long vectors' windows with heads, keep
 * other tiles away. By the model of tools/isa/rows, one row on an H100, part of a copy: f32 sums,
 * flags of u8, by 8 and 6 vectors .58, .84; f16 sums, every=7, by 4 and 3 .78, .88. Other f32 sums
 * are as they were or worse: cut by offsets .85, .70. */
static int waits_by_less(const tly_problem *p, const tly_gpu_plan *plan)
{
    return tly_window_heads(p) > 0 && (p->resets || plan->vector >= 8);
}

/* The same row by look-back. */
static tly_gpu_plan looking_back(const tly_problem *p, const tly_forced *forced,
                                 const tly_gpu_plan *plan)
{
    tly_gpu_plan looks = *plan;
    int32_t segments = waits_by_more(p, plan) ? 2 * plan->vectors_per_thread
                                              : plan->vectors_per_thread;
    looks.template_id = TLY_GPU_LOOK_BACK;
    looks.workgroup = OR_FORCED(workgroup, smaller(plan->workgroup, TLY_GPU_LOOK_BACK_WORKGROUP));
    looks.group = looks.workgroup;
    looks.vectors_per_thread = OR_FORCED(vectors_per_thread, tly_gpu_segments_of(plan, segments));
    return looks;
}

static void choose_groups(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                          const tly_forced *forced, tly_gpu_plan *plan)
{
    int own = !tly_is_forced(forced, FIELD(template_id)) && !tly_is_forced(forced, FIELD(group));
    int cuts = tly_is_forced(forced, FIELD(chunk));
    tly_gpu_choose_tile(p, g, caps, forced, plan);
    if (plan->template_id != TLY_GPU_SUBGROUPS)
        plan->group = plan->workgroup;
    int32_t tile = tly_gpu_tile(p, caps, plan);
    if (tile == 0)
        return;
    int64_t chunk = choose_chunk(g, caps, tile, plan);
    if (chunk > 0 && own && !cuts && caps->progress && plan->scan > 0 && p->interleave == 1) {
        const tly_gpu_plan looks = looking_back(p, forced, plan);
        int fits = tly_gpu_tile(p, caps, &looks) <= longest_chunk(caps);
        /* Segments have no other way to be cut: three passes do not mark heads. */
        *plan = fits && (p->segmented || tly_gpu_look_back_pays(p, caps, &looks)) ? looks : *plan;
        if (plan->template_id == TLY_GPU_LOOK_BACK && waits_by_less(p, plan))
            plan->vectors_per_thread = OR_FORCED(
                vectors_per_thread, plan->vectors_per_thread - plan->vectors_per_thread / 4);
        tile = tly_gpu_tile(p, caps, plan);
    }
    if (p->segmented)
        chunk = 0;
    plan->chunk = whole_chunk(cuts ? forced->value[FIELD(chunk) / sizeof(int32_t)] : chunk, tile,
                              caps, cuts);
    if (plan->template_id == TLY_GPU_LOOK_BACK || plan->template_id == TLY_GPU_COPY)
        plan->chunk = tile;
    if (plan->template_id == TLY_GPU_LOOK_BACK)
        plan->spill = OR_FORCED(spill, 0);
}

/* Where a CPU plays the device and there are scans enough to fill it, each goes alone: nothing is
 * won by reading side by side, and shuffles cost. 64 MiB, ms, columns and groups: lavapipe, f32,
 * rows of 16: 100, 1,200; of 256: 92, 135; of 4096: 98, 115; inner 4: 78, 100; f16, rows of 256:
 * 193, 231; of 1024: 189, 188; of 4096: 195, 168. SwiftShader, f32, rows of 64: 109, 461; of 8192:
 * 66, 224. */
static int goes_alone(const tly_problem *p, const tly_geometry *g, const tly_caps *caps)
{
    int narrow = tly_gpu_bytes_of(p->tensor[TLY_IN].dtype) == 2 && g->length >= 2048;
    return tly_gpu_is_software(caps) && !narrow &&
           tly_multiply(g->rows, p->interleave) >= caps->saturation;
}

static int fits_team(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                     int32_t scan)
{
    if (p->form != TLY_ROWS || p->order == TALLY_ORDER_SERIAL || (p->segmented && p->carry) ||
        goes_alone(p, g, caps))
        return 0;
    if (p->interleave > 1)
        return g->length >= 4 * (int64_t)p->interleave &&
               (scan == 0 || (uint32_t)p->interleave <= caps->subgroup);
    return g->length > 8;
}

static void choose_template(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                            const tly_forced *forced, tly_gpu_plan *plan)
{
    plan->scan = OR_FORCED(scan, tly_gpu_choose_scan(p, caps));
    int32_t id = tly_gpu_moves_states_alone(p, g)           ? TLY_GPU_COLUMNS
                 : tly_gpu_transposes(p, g, caps)           ? TLY_GPU_TRANSPOSED
                 : tly_gpu_stages(p, g, caps, forced, plan) ? TLY_GPU_STAGED
                 : fits_team(p, g, caps, plan->scan)        ? TLY_GPU_SUBGROUPS
                                                            : TLY_GPU_COLUMNS;
    plan->template_id = id = OR_FORCED(template_id, id);
    if (id == TLY_GPU_TRANSPOSED) {
        tly_gpu_choose_transposed(p, g, caps, forced, plan);
        return;
    }
    if (id == TLY_GPU_STAGED) {
        tly_gpu_choose_staged(p, g, caps, forced, plan);
        return;
    }
    if (id == TLY_GPU_LOOK_BACK_LANES) {
        tly_gpu_choose_lanes(p, g, caps, forced, plan);
        return;
    }
    if (id != TLY_GPU_COLUMNS) {
        choose_groups(p, g, caps, forced, plan);
        return;
    }
    plan->scan = 0;
    choose_columns(p, g, caps, forced, plan);
}

void tly_gpu_choose(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                    const tly_forced *forced, tly_gpu_plan *plan)
{
    choose_template(p, g, caps, forced, plan);
    if (tly_gpu_looks_along_lanes(p, g, caps, forced, plan))
        tly_gpu_choose_lanes(p, g, caps, forced, plan);
    else if (p->segmented && plan->template_id == TLY_GPU_COLUMNS)
        plan->chunk = OR_FORCED(chunk, 0);
}
