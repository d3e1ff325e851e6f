/*
 * The plan for Vulkan: what a device lacks, how it is addressed, what is chosen (gpu_choose.c) and
 * overridden, and what cannot be.
 */
#include "gpu_choose.h"

#include <string.h>

#include "../../runtime/error.h"
#include "keys.h"

int tly_gpu_takes_lanes(const tly_gpu_plan *plan)
{
    return plan->template_id == TLY_GPU_COLUMNS;
}

/* ---- what a device lacks ---- */

typedef struct need {
    const char *feature;
    uint32_t at;     /* in tly_caps */
    unsigned dtypes; /* bits by tally_dtype */
} need;

#define DTYPE(name) (1u << TALLY_##name)
#define AT(field) (uint32_t)offsetof(tly_caps, field)

static const need needs[] = {
    { "shaderFloat64", AT(float64), DTYPE(F64) },
    { "shaderInt64", AT(int64), DTYPE(I64) | DTYPE(U64) },
    { "storageBuffer16BitAccess", AT(storage16), DTYPE(F16) | DTYPE(BF16) },
};

static tally_status refuse_missing(const tly_problem *p, const tly_caps *caps, tally_error *e)
{
    const uint8_t used[] = { p->dtype, p->out_dtype, p->acc };
    for (size_t k = 0; k < sizeof used; k++)
        for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
            uint32_t has;
            memcpy(&has, (const char *)caps + needs[i].at, sizeof has);
            if ((needs[i].dtypes >> used[k] & 1) && !has)
                return tly_fail(e, TALLY_UNSUPPORTED, "dtype",
                                "%s needs %s, which the device lacks",
                                tally_dtype_name((tally_dtype)used[k]), needs[i].feature);
        }
    return TALLY_OK;
}

/* ---- addresses ---- */

static int64_t span_bytes(int64_t low, int64_t high, uint8_t dtype)
{
    int64_t span;
    if (__builtin_sub_overflow(high, low, &span) || span >= INT64_MAX / 16)
        return INT64_MAX;
    return (span + 1) * tly_gpu_bytes_of(dtype);
}

/* Storage buffers where they reach; beyond, device addresses, with offsets of 32 bits (signed)
 * while a tensor spans less than 2 GiB. */
static tally_status choose_addresses(const tly_problem *p, const tly_geometry *g,
                                     const tly_caps *caps, tly_gpu_plan *plan, tally_error *e)
{
    int64_t in = span_bytes(g->in_low, g->in_high, p->dtype);
    int64_t out = span_bytes(g->out_low, g->out_high, p->out_dtype);
    int64_t most = in > out ? in : out;
    /* A binding begins and ends at the device's alignment. */
    plan->addresses = most > (int64_t)caps->buffer_range - 2 * (int64_t)caps->offset_align - 16;
    plan->index_bits = plan->addresses && most > INT32_MAX ? 64 : 32;
    if (plan->addresses && !caps->addresses)
        return tly_fail(e, TALLY_UNSUPPORTED, "sizes",
                        "a tensor of %lld bytes is above maxStorageBufferRange (%u), and the "
                        "device lacks bufferDeviceAddress", (long long)most, caps->buffer_range);
    return TALLY_OK;
}

static void choose_outer(const tly_problem *p, const tly_geometry *g, tly_gpu_plan *plan)
{
    plan->outer_rank = g->outer_rank;
    plan->literal = g->outer_rank > TLY_GPU_OUTER;
    for (int i = 0; plan->literal && i < g->outer_rank; i++) {
        plan->outer_size[i] = g->outer[i].size;
        plan->outer_in[i] = g->outer[i].in_stride * tly_gpu_bytes_of(p->dtype);
        plan->outer_out[i] = g->outer[i].out_stride * tly_gpu_bytes_of(p->out_dtype);
    }
}

/* ---- overrides and text ---- */

static const char *const names[TLY_GPU_TEMPLATE_COUNT] = {
    [TLY_GPU_COLUMNS] = "columns",       [TLY_GPU_SUBGROUPS] = "subgroups",
    [TLY_GPU_WORKGROUPS] = "workgroups", [TLY_GPU_LOOK_BACK] = "look_back",
    [TLY_GPU_COPY] = "copy",
};

const char *tly_gpu_template_name(const tly_gpu_plan *plan)
{
    return names[plan->template_id];
}

#define KEY(field) offsetof(tly_gpu_plan, field)

static const tly_plan_key table[] = {
    { "workgroup", KEY(workgroup), 4, 1024, 1, 0 },
    { "team", KEY(team), 4, 1024, 1, 0 },
    { "vector", KEY(vector), 1, 32, 1, 0 },
    { "segments", KEY(segments), 1, 16, 1, 0 },
    { "scan", KEY(scan), 0, 2, 0, 0 },
    { "chunk", KEY(chunk), 0, 1 << 24, 0, 0 },
    { "addresses", KEY(addresses), 0, 1, 0, 0 },
    { "index_bits", KEY(index_bits), 32, 64, 1, 0 },
};

static const tly_plan_keys keys = { table, sizeof table / sizeof *table, names,
                                    TLY_GPU_TEMPLATE_COUNT, 1 };

_Static_assert(offsetof(tly_gpu_plan, template_id) == 0, "the id is a plan's first field");

/* Whole tiles, and half of the loop trips that the driver allows: a chunk may be walked by the
 * plain loop, beside the loop over all chunks. */
static int32_t whole_chunk(int32_t chunk, int32_t tile, const tly_caps *caps)
{
    int32_t most = caps->trip_limit > 0 ? (int32_t)(caps->trip_limit / 2) : 1 << 30;
    int32_t tiles = (chunk + tile - 1) / tile, fit = most / tile;
    return (tiles < fit ? tiles : fit) * tile;
}

/* What follows from an override, so that one choice can be forced alone. */
static void settle(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                   tly_gpu_plan *plan)
{
    if (plan->template_id == TLY_GPU_COLUMNS) {
        plan->scan = 0;
        plan->vector = tly_gpu_lanes_together(p, g, plan->vector);
        if (plan->chunk > 0 && plan->vector > 8) /* a loop carries three values a lane */
            plan->vector = tly_gpu_lanes_together(p, g, 8);
        while (plan->vector * plan->segments > 32)
            plan->segments /= 2;
        plan->team = plan->workgroup;
        plan->chunk = whole_chunk(plan->chunk, 1, caps);
        return;
    }
    if (plan->scan == 0 && plan->template_id == TLY_GPU_SUBGROUPS)
        plan->template_id = TLY_GPU_WORKGROUPS;
    if (plan->template_id != TLY_GPU_SUBGROUPS)
        plan->team = plan->workgroup;
    int32_t tile = tly_gpu_tile(p, caps, plan);
    if (tile > 0)
        plan->chunk = whole_chunk(plan->chunk, tile, caps);
    if (plan->template_id == TLY_GPU_LOOK_BACK || plan->template_id == TLY_GPU_COPY)
        plan->chunk = tile;
}

/* Combinations that a template could not be built with. */
static const char *fault_of(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    int teams = plan->template_id != TLY_GPU_COLUMNS;
    int32_t subgroup = plan->scan == 0 ? plan->workgroup : (int32_t)caps->subgroup;
    if ((uint32_t)plan->workgroup > caps->invocations)
        return "the workgroup is larger than the device's";
    if (plan->segments * plan->vector > 32)
        return "a tile is up to 32 elements an invocation";
    if (plan->index_bits == 64 && !plan->addresses)
        return "offsets of 64 bits are for addresses";
    if (plan->addresses && !caps->addresses)
        return "the device lacks bufferDeviceAddress";
    if (p->order == TALLY_ORDER_SERIAL && (teams || plan->chunk))
        return "serial order is the columns'";
    if (!teams)
        return plan->vector <= plan->workgroup ? NULL : "more lanes at once than invocations";
    if (p->form != TLY_ROWS)
        return "teams scan rows";
    if (plan->scan > 0 && !(caps->subgroup_ops & TLY_SUBGROUP_SHUFFLE))
        return "the device lacks shuffles";
    if (plan->scan == 2 && (!(caps->subgroup_ops & TLY_SUBGROUP_ARITHMETIC) ||
                            p->acc == TALLY_F32 || p->acc == TALLY_F64))
        return "the device's own scan is for integers, where it has one";
    if (plan->workgroup < subgroup || plan->workgroup % plan->team != 0)
        return "a workgroup is whole subgroups and whole teams";
    if (plan->template_id == TLY_GPU_SUBGROUPS && plan->team > subgroup)
        return "teams are parts of a subgroup, or the workgroup";
    if (p->unit > 1 && (plan->vector > 1 || plan->team > subgroup || p->unit > plan->team))
        return "interleaved scans go by single elements within a subgroup";
    if (tly_gpu_bytes_of(p->dtype) == 2 && plan->vector == 1 && p->unit == 1)
        return "elements of 2 bytes go by words";
    if (plan->template_id != TLY_GPU_LOOK_BACK)
        return NULL;
    if (p->unit > 1 || plan->scan == 0)
        return "look-back takes rows of one scan, by shuffles";
    if (!caps->progress)
        return "look-back waits for workgroups, which this device may not run";
    return NULL;
}

tally_status tly_gpu_plan_make(const tly_problem *problem, const tly_geometry *geometry,
                               const tly_caps *caps, const char *overrides, tly_gpu_plan *plan,
                               tally_error *error)
{
    tly_gpu_plan made;
    memset(&made, 0, sizeof made);
    tally_status s = refuse_missing(problem, caps, error);
    if (s == TALLY_OK)
        s = choose_addresses(problem, geometry, caps, &made, error);
    if (s != TALLY_OK)
        return s;
    choose_outer(problem, geometry, &made);
    tly_gpu_choose(problem, geometry, caps, &made);
    s = tly_keys_override(&keys, &made, overrides, error);
    if (s != TALLY_OK)
        return s;
    settle(problem, geometry, caps, &made);
    const char *fault = fault_of(problem, caps, &made);
    if (fault != NULL)
        return tly_fail(error, TALLY_INVALID, "plan", "%s", fault);
    *plan = made;
    return TALLY_OK;
}

tally_status tly_gpu_plan_print(const tly_gpu_plan *plan, tally_write write, void *user)
{
    return tly_keys_print(&keys, plan, write, user);
}
