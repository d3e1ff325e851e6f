/*
 * The heuristics: which algorithm, how wide, how deep. One function a choice; every number names
 * its measurement (docs/results/plan.md has the tables).
 */
#include "plan.h"

#include "../../runtime/error.h"
#include "keys.h"

static const char *const template_names[TLY_TEMPLATE_COUNT] = {
    [TLY_TEMPLATE_ROWS] = "rows",       [TLY_TEMPLATE_SHORT] = "short",
    [TLY_TEMPLATE_COLUMNS] = "columns", [TLY_TEMPLATE_TRANSPOSED] = "transposed",
    [TLY_TEMPLATE_SERIAL] = "serial",   [TLY_TEMPLATE_NARROW] = "narrow",
};

const char *tly_template_name(tly_template id)
{
    return template_names[id];
}

static int32_t gcd(int32_t a, int32_t b)
{
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int32_t acc_bytes(const tly_problem *p)
{
    return (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
}

static tly_template choose_template(const tly_problem *p)
{
    if (p->form == TLY_COLUMNS)
        return p->dense ? TLY_TEMPLATE_NARROW : TLY_TEMPLATE_COLUMNS;
    if (p->form == TLY_TRANSPOSED)
        return TLY_TEMPLATE_TRANSPOSED;
    /* Up to 4 elements a chain of scalars costs less than any shuffle (a row of 4 f32: 5 cycles
     * against 9 on Zen 3). */
    if (p->order == TALLY_ORDER_SERIAL || (p->length > 0 && p->length <= 4))
        return TLY_TEMPLATE_SERIAL;
    return p->length > 0 ? TLY_TEMPLATE_SHORT : TLY_TEMPLATE_ROWS;
}

/* The first doublings by overlapping loads, where they cost one instruction each: not of elements
 * to be widened or picked, and not the last, which moves whole halves. Zen 3, 64 KiB from L2, in
 * us, 0, 1, 2 doublings: f32 4.3, 3.2, 3.1; f64 2.5, 2.4, 2.7; f16 4.8, 3.6, 3.8; bf16 7.4, 6.0,
 * 6.3; every second 2.8, 2.6, 3.3. Vectors of 512 bits shift across two in one instruction. */
static int32_t choose_window_loads(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    if (t->has_align2 && t->vector_bytes == 64)
        return 0;
    return p->dtype == p->acc && p->in_step != 2 && plan->lanes >= 8 ? 2 : 1;
}

/* 128 vectors between re-synchronisations: what is staged stays in L1. Zen 3, f32 row of 64 Mi, of
 * a copy: 64 vectors .85, 128 .92, 256 .89; rows of 128: .70, .77, .58. A multiple of the step
 * and, so that lanes keep their class, of the unit. */
static int32_t choose_block(const tly_problem *p, const tly_plan *plan)
{
    int32_t step = plan->lanes * plan->unroll << plan->pairs;
    int32_t whole = step / gcd(step, p->unit) * p->unit;
    int32_t wanted = 128 * plan->lanes << plan->pairs;
    return wanted / whole > 0 ? wanted / whole * whole : whole;
}

int tly_plan_pairs(const tly_problem *p)
{
    int apart = p->in_step != 1 && p->in_step != -1;
    return p->dtype == TALLY_BF16 && p->out_dtype == TALLY_BF16 && p->acc == TALLY_F32 && !apart;
}

/* Neighbouring bf16 lie in one lane of 32 bits: windows of pairs take half the shuffles and no
 * widening ones. */
static int32_t choose_pairs(const tly_problem *p)
{
    return tly_plan_pairs(p) && p->unit == 1 && p->out_step != TLY_ANY_STEP;
}

/* 128 KiB of input a chunk: its second reading comes from L2. f32 row of 64 Mi, two threads, Zen 3,
 * ms: 32 KiB 21.8, 64 KiB 20.9, 128 KiB 19.8, 256 KiB 19.9. Interleaved scans are not cut. */
static int32_t choose_chunk(const tly_problem *p)
{
    if (p->unit > 1)
        return 0;
    return 131072 / (int32_t)tally_dtype_bytes((tally_dtype)p->dtype);
}

/* Vectors of 64-bit integer products are slow where they are not one instruction: a scalar chain
 * by pairs instead. Zen 3, of a copy, prototypes of 32 Mi elements in one row and in rows of 4096:
 * pairs .87, .84; fours .86, .74; 4 runs .64, .65; windows .43; the plain loop .56. */
static int32_t choose_scalar(const tly_problem *p, const tly_target *t)
{
    int wide = p->acc == TALLY_I64 || p->acc == TALLY_U64;
    return p->op == TALLY_CUMPROD && wide && !t->has_mul64 && p->unit == 1;
}

/* Axis steps a pass. f32 of 4096x16384, of a copy: 1 step .92, 2 1.0, 4 1.2. Narrow results are
 * rather limited by their instructions, of which one step a pass has the fewest: bf16 of 4096x32768
 * 1 step .99, 4 .61 to .67; f16 of 65536x2048 1.03 and .87, of 4096x32768 alike (Zen 3). With
 * vectors of a line they are not: 1024x32768 of f16 1 step .48, 4 .69; bf16 .48, .81 (Zen 4). */
static int32_t choose_steps(const tly_problem *p, const tly_target *t)
{
    return t->vector_bytes < 64 && tally_dtype_bytes((tally_dtype)p->out_dtype) == 2 ? 1 : 4;
}

/* The results of packed columns in registers: how many vectors they take. */
static int32_t narrow_vectors(const tly_problem *p, const tly_plan *plan)
{
    return (p->length + plan->lanes - 1) / plan->lanes + p->exclusive;
}

static int32_t choose_history(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    return p->length > 0 && narrow_vectors(p, plan) <= t->registers * 5 / 8;
}

/* Lines a step: about as many vectors as the history has, so that few are moved between steps. */
static int32_t choose_narrow_unroll(const tly_plan *plan, int32_t line)
{
    int32_t vectors = line > plan->lanes ? line / plan->lanes : 1;
    return vectors >= 16 ? 1 : vectors > 4 ? 2 : 4;
}

static void choose(const tly_problem *p, const tly_target *t, tly_plan *plan)
{
    int32_t line = 64 / (int32_t)tally_dtype_bytes((tally_dtype)p->out_dtype);
    *plan = (tly_plan){ .template_id = (int32_t)choose_template(p), .index_bits = 64 };
    plan->lanes = t->vector_bytes / acc_bytes(p);
    switch ((tly_template)plan->template_id) {
    case TLY_TEMPLATE_ROWS:
        plan->pairs = choose_pairs(p);
        plan->scalar = choose_scalar(p, t);
        plan->unroll = plan->scalar ? 1 : 2;
        plan->window_loads = choose_window_loads(p, t, plan);
        plan->block = choose_block(p, plan);
        plan->chunk = choose_chunk(p);
        plan->prefetch = 4096;
        break;
    case TLY_TEMPLATE_SHORT:
        plan->unroll = 4;
        plan->block = 64 * plan->lanes;
        plan->prefetch = 2048;
        break;
    case TLY_TEMPLATE_COLUMNS:
        plan->rows = choose_steps(p, t);
        plan->lines = 2;
        plan->tile_lanes = 4 * line;
        /* f32 of 4096x2048 and 512x16384, of a copy: 2 KiB .84, .71; 6 KiB .91, .78 (Zen 4). */
        plan->prefetch = t->vector_bytes == 64 ? 6144 : 2048;
        break;
    case TLY_TEMPLATE_NARROW:
        /* 8 KiB of results, which with the input ahead stay in L1. f32 of 300, 129, 749 columns, of
         * a copy: 16 KiB .75, .78, .75; 8 KiB .97, .96, .96; 2 KiB .96, .98, .88 (Zen 4). */
        plan->history = choose_history(p, t, plan);
        plan->unroll = choose_narrow_unroll(plan, line);
        plan->block = 8192 / acc_bytes(p);
        plan->prefetch = 4096;
        break;
    case TLY_TEMPLATE_TRANSPOSED:
        plan->rows = line > 32 ? line : 32;
        plan->tile_lanes = 4 * line > plan->lanes ? 4 * line : plan->lanes;
        plan->prefetch = 128;
        break;
    default:
        plan->unroll = 4;
        break;
    }
}

/* What can be said about a plan: names, ranges, and which templates read the key. */
#define KEY(field) offsetof(tly_plan, field)
#define BIT(id) (1u << TLY_TEMPLATE_##id)

static const tly_plan_key table[] = {
    { "lanes", KEY(lanes), 2, 64, 1, 0 },
    { "pairs", KEY(pairs), 0, 1, 0, BIT(ROWS) },
    { "unroll", KEY(unroll), 1, 8, 1, BIT(ROWS) | BIT(SHORT) | BIT(SERIAL) | BIT(NARROW) },
    { "window_loads", KEY(window_loads), 0, 2, 0, BIT(ROWS) },
    { "block", KEY(block), 8, 8192, 0, BIT(ROWS) | BIT(SHORT) | BIT(NARROW) },
    { "history", KEY(history), 0, 1, 0, BIT(NARROW) },
    { "chunk", KEY(chunk), 0, 1 << 20, 1, BIT(ROWS) },
    { "scalar", KEY(scalar), 0, 1, 0, BIT(ROWS) },
    { "rows", KEY(rows), 1, 64, 1, BIT(COLUMNS) | BIT(TRANSPOSED) },
    { "lines", KEY(lines), 1, 4, 1, BIT(COLUMNS) },
    { "tile_lanes", KEY(tile_lanes), 8, 65536, 1, BIT(COLUMNS) | BIT(TRANSPOSED) },
    { "prefetch", KEY(prefetch), 0, 65536, 0,
      BIT(ROWS) | BIT(SHORT) | BIT(COLUMNS) | BIT(TRANSPOSED) | BIT(NARROW) },
    { "index_bits", KEY(index_bits), 64, 64, 0, 0 },
};

static const tly_plan_keys keys = { table, sizeof table / sizeof *table, template_names,
                                    TLY_TEMPLATE_COUNT, 0 };

_Static_assert(offsetof(tly_plan, template_id) == 0, "the id is a plan's first field");

/* Combinations that a template could not be built with. */
static tally_status check(const tly_problem *p, const tly_plan *plan, tally_error *e)
{
    int32_t step = plan->lanes * plan->unroll << plan->pairs;
    int32_t line = 64 / (int32_t)tally_dtype_bytes((tally_dtype)p->out_dtype);
    if (plan->template_id == TLY_TEMPLATE_ROWS) {
        if (plan->block % step != 0 || plan->block % p->unit != 0)
            return tly_fail(e, TALLY_INVALID, "plan",
                            "block %d is no multiple of lanes x unroll and the unit", plan->block);
        if (plan->pairs > choose_pairs(p))
            return tly_fail(e, TALLY_INVALID, "plan", "pairs are bf16 side by side");
        int integer = p->acc != TALLY_F64 && p->acc != TALLY_F32;
        if (plan->scalar && (!integer || p->unit > 1 || step > 64))
            return tly_fail(e, TALLY_INVALID, "plan",
                            "scalar: only integers, one row at a time, up to 64 a step");
        if (plan->chunk % plan->block != 0 || (p->unit > 1) != (plan->chunk == 0))
            return tly_fail(e, TALLY_INVALID, "plan",
                            "chunk %d is no multiple of the block, or 0 for several rows at once",
                            plan->chunk);
    }
    if (plan->template_id == TLY_TEMPLATE_SHORT && plan->block < TLY_SHORT_ROW)
        return tly_fail(e, TALLY_INVALID, "plan", "block %d holds no row", plan->block);
    if (plan->template_id == TLY_TEMPLATE_NARROW) {
        if (plan->history && (p->length == 0 || narrow_vectors(p, plan) > TLY_NARROW_VECTORS))
            return tly_fail(e, TALLY_INVALID, "plan", "history: too many vectors of results");
        if (plan->block % (plan->unroll * line) || (plan->block & (plan->block - 1)))
            return tly_fail(e, TALLY_INVALID, "plan",
                            "block %d is no power of two or no multiple of the lines of a step",
                            plan->block);
        if (plan->unroll * line > 64 * plan->lanes)
            return tly_fail(e, TALLY_INVALID, "plan", "unroll %d is too much", plan->unroll);
    }
    if (plan->template_id == TLY_TEMPLATE_COLUMNS && (plan->rows > 8 || plan->tile_lanes % line))
        return tly_fail(e, TALLY_INVALID, "plan",
                        "columns take up to 8 rows a pass and tiles of whole lines");
    if (plan->template_id == TLY_TEMPLATE_TRANSPOSED && (plan->rows % line || plan->rows < line))
        return tly_fail(e, TALLY_INVALID, "plan", "rows %d fill no whole lines", plan->rows);
    return TALLY_OK;
}

tally_status tly_plan_make(const tly_problem *problem, const tly_target *target,
                           const char *overrides, tly_plan *plan, tally_error *error)
{
    tly_plan made;
    choose(problem, target, &made);
    tally_status s = tly_keys_override(&keys, &made, overrides, error);
    if (s == TALLY_OK)
        s = check(problem, &made, error);
    if (s == TALLY_OK)
        *plan = made;
    return s;
}

tally_status tly_plan_print(const tly_plan *plan, tally_write write, void *user)
{
    return tly_keys_print(&keys, plan, write, user);
}
