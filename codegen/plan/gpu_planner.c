/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan for Vulkan: what a device lacks, how it is addressed, what is chosen (gpu_choose.c) and
 * overridden, and what cannot be.
 */
#include "gpu_choose.h"

#include <string.h>

#include "../../runtime/host/error.h"
#include "keys.h"
#include "operator.h"

int tly_gpu_takes_lanes(const tly_gpu_plan *plan)
{
    return plan->template_id == TLY_GPU_COLUMNS || plan->template_id == TLY_GPU_TRANSPOSED ||
           plan->template_id == TLY_GPU_LOOK_BACK_LANES;
}

/* ---- what a device lacks ---- */

typedef struct need {
    const char *feature;
    uint32_t at;         /* in tly_caps */
    uint8_t bytes, real; /* of dtypes of so many bytes; 8 bytes: those that are real, or not */
    const char *either;  /* what they are called where one may stand for another; NULL: by name */
} need;

#define AT(field) (uint32_t)offsetof(tly_caps, field)

static const need needs[] = {
    { "shaderFloat64", AT(float64), 8, 1, NULL },
    { "shaderInt64", AT(int64), 8, 0, "i64 or u64" },
    { "storageBuffer16BitAccess", AT(storage16), 2, 0, NULL },
    { "storageBuffer8BitAccess", AT(storage8), 1, 0, NULL },
};

static int is_for(const need *n, tally_dtype dtype)
{
    int real = tly_class_of(dtype) == TLY_FLOATING;
    return tally_dtype_bytes(dtype) == n->bytes && (n->bytes < 8 || real == n->real);
}

static int has(const tly_caps *caps, uint32_t at)
{
    uint32_t value;
    memcpy(&value, (const char *)caps + at, sizeof value);
    return value != 0;
}

/* Integers of which the result is a function of f64. */
static int ends_in_reals(const tly_problem *p)
{
    const int from = tly_class_of(tly_element_dtype(p)), acc = tly_class_of((tally_dtype)p->acc);
    return from != TLY_FLOATING && (acc == TLY_FLOATING || tly_is_of_reals(p));
}

/* What is in no word is told of by operator and dtype. */
static tally_status refuse_reals(const tly_problem *p, const tly_caps *caps, tally_error *e)
{
    const char *op = tally_op_name((tally_op)p->op);
    const char *dtype = tally_dtype_name((tally_dtype)p->tensor[TLY_IN].dtype);
    const int sums = tly_class_of((tally_dtype)p->acc) != TLY_FLOATING;
    if (!caps->float64)
        return tly_fail(e, TALLY_UNSUPPORTED, "dtype",
                        "%s of %s ends in f64 and needs shaderFloat64, which the device lacks", op,
                        dtype);
    if (sums && !caps->int64)
        return tly_fail(e, TALLY_UNSUPPORTED, "dtype",
                        "%s of %s adds in 64 bits and needs shaderInt64, which the device lacks",
                        op, dtype);
    return TALLY_OK;
}

static tally_status refuse_missing(const tly_problem *p, const tly_caps *caps, tally_error *e)
{
    /* Keys of f64 and sums that are divided go in pairs of words where there are no 64-bit
     * integers; none become f64. */
    int in_pairs = tly_class_of((tally_dtype)p->acc) != TLY_FLOATING;
    uint8_t used[TLY_TENSOR_COUNT + 2];
    size_t count = 0;
    for (int t = 0; t < tly_tensors_of(p); t++) {
        if (tly_tensor_of(p, t) != TLY_OFFSETS) /* which are read as u32s */
            used[count++] = p->tensor[t].dtype;
    }
    used[count++] = (uint8_t)tly_element_dtype(p);
    used[count++] = in_pairs ? p->tensor[TLY_IN].dtype : p->acc;
    if (ends_in_reals(p) && refuse_reals(p, caps, e) != TALLY_OK)
        return TALLY_UNSUPPORTED;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
            if (!is_for(&needs[i], (tally_dtype)used[k]) || has(caps, needs[i].at))
                continue;
            tly_fail(e, TALLY_UNSUPPORTED, "dtype", "%s needs %s, which the device lacks",
                     needs[i].either != NULL ? needs[i].either
                                             : tally_dtype_name((tally_dtype)used[k]),
                     needs[i].feature);
            if (tly_has_index(p) && used[k] != p->tensor[TLY_IN].dtype) {
                tly_error_hint(e, "it has indices of i32");
                tly_error_word(e, "%s:%s>i32", tally_op_name((tally_op)p->op),
                               tally_dtype_name((tally_dtype)p->tensor[TLY_IN].dtype));
            }
            return TALLY_UNSUPPORTED;
        }
    return TALLY_OK;
}

/* ---- trips of loops ---- */

/* Trips of the loops that make an element and a result (templates/stages/digits.c). */
static uint32_t trips_of(const tly_problem *p)
{
    const uint32_t digits = p->program.type == TALLY_F64 ? 54 : 25;
    enum { SEARCH = 32 }; /* for a segment's number (templates/gpu/segments.c) */
    uint32_t trips = 0;
    for (int id = 0; id < TLY_EXPRESSIONS; id++) {
        for (const uint8_t *code = p->program.code[id]; *code != TLY_POSTFIX_END; code++)
            trips += *code == TLY_POSTFIX_DIV || *code == TLY_POSTFIX_SQRT ||
                             *code == TLY_POSTFIX_SIG
                         ? digits
                         : 0;
    }
    if (p->carry &&
        p->segmented != TLY_SEGMENTED_NOT) /* an element may be in a segment of its own */
        trips += SEARCH;
    return trips;
}

tly_caps tly_gpu_caps_for(const tly_problem *p, const tly_caps *caps)
{
    enum { LEAST = 64 }; /* less is no use: a tile is not cut */
    tly_caps own = *caps;
    const uint32_t limit = caps->trip_limit / (1 + trips_of(p));
    if (caps->trip_limit > 0)
        own.trip_limit = limit > LEAST ? limit : LEAST;
    return own;
}

/* ---- addresses ---- */

static int64_t span_bytes(int64_t low, int64_t high, uint8_t dtype)
{
    int64_t span;
    if (__builtin_sub_overflow(high, low, &span) || span >= INT64_MAX / 16)
        return INT64_MAX;
    return (span + 1) * tly_gpu_bytes_of(dtype);
}

static int64_t longest_span(const tly_problem *p, const tly_geometry *g)
{
    int64_t longest = 0;
    for (int t = 0; t < tly_tensors_of(p); t++) {
        const tly_tensor_place *place = &g->tensor[t];
        int64_t span = span_bytes(place->low, place->high, p->tensor[t].dtype);
        longest = span > longest ? span : longest;
    }
    return longest;
}

static int has_bindings(const tly_problem *p, const tly_caps *caps)
{
    return tly_gpu_bindings(p) <= tly_gpu_most_bindings(caps);
}

int tly_gpu_needs_addresses(const tly_problem *p, const tly_geometry *g, const tly_caps *caps)
{
    /* A binding begins and ends at the device's alignment. */
    return longest_span(p, g) >
               (int64_t)caps->buffer_range - 2 * (int64_t)caps->offset_align - 16 ||
           !has_bindings(p, caps);
}

int tly_gpu_needs_64_bits(const tly_problem *p, const tly_geometry *g)
{
    return longest_span(p, g) > INT32_MAX;
}

#define KEY(field) offsetof(tly_gpu_plan, field)

/* Storage buffers where they reach and the device has enough; beyond, device addresses, with
 * offsets of 32 bits (signed) while a tensor spans less than 2 GiB. */
static tally_status choose_addresses(const tly_problem *p, const tly_geometry *g,
                                     const tly_caps *caps, const tly_forced *forced,
                                     tly_gpu_plan *plan, tally_error *e)
{
    plan->addresses = tly_gpu_needs_addresses(p, g, caps);
    if (!caps->addresses && !has_bindings(p, caps))
        return tly_fail(e, TALLY_UNSUPPORTED, "device",
                        "the kernel needs %u storage buffers, the device's "
                        "maxPerStageDescriptorStorageBuffers is %u, and it lacks "
                        "bufferDeviceAddress",
                        tly_gpu_bindings(p), tly_gpu_most_bindings(caps));
    if (plan->addresses && !caps->addresses)
        return tly_fail(e, TALLY_UNSUPPORTED, "sizes",
                        "a tensor of %lld bytes is above maxStorageBufferRange (%u), and the "
                        "device lacks bufferDeviceAddress",
                        (long long)longest_span(p, g), caps->buffer_range);
    plan->addresses = tly_forced_or(forced, KEY(addresses), plan->addresses);
    plan->index_bits = plan->addresses && tly_gpu_needs_64_bits(p, g) ? 64 : 32;
    plan->index_bits = tly_forced_or(forced, KEY(index_bits), plan->index_bits);
    return TALLY_OK;
}

static void choose_outer(const tly_problem *p, const tly_geometry *g, tly_gpu_plan *plan)
{
    plan->outer_rank = g->outer_rank;
    plan->literal = g->outer_rank > TLY_GPU_OUTER;
    for (int i = 0; plan->literal && i < g->outer_rank; i++) {
        plan->outer_size[i] = g->outer[i].size;
        plan->outer_in[i] = g->outer[i].stride[TLY_IN] * tly_gpu_bytes_of(p->tensor[TLY_IN].dtype);
        plan->outer_out[i] = g->outer[i].stride[TLY_OUT] *
                             tly_gpu_bytes_of(p->tensor[TLY_OUT].dtype);
    }
}

/* Positions of an axis that is cut into segments are counted in 31 bits. */
static tally_status check_segments(const tly_problem *p, const tly_geometry *g, tally_error *e)
{
    if (p->segmented != TLY_SEGMENTED_NOT && (g->size > INT32_MAX || g->segments > INT32_MAX))
        return tly_fail(e, TALLY_UNSUPPORTED, "sizes",
                        "%lld elements of an axis are cut into %lld segments, and kernels for "
                        "Vulkan count up to %d of each",
                        (long long)g->size, (long long)g->segments, INT32_MAX);
    return TALLY_OK;
}

/* Steps and positions of one are counted in 31 bits, unless there is one step, or no element. */
static tally_status choose_steps(const tly_geometry *g, tly_gpu_plan *plan, tally_error *e)
{
    plan->steps_rank = g->reduced_rank;
    if (g->reduced_rank > 0 && tly_gpu_reduced_count(g) > 0 &&
        (g->steps > INT32_MAX || g->length > INT32_MAX))
        return tly_fail(e, TALLY_UNSUPPORTED, "sizes",
                        "%lld times %lld elements of an output lie apart, and kernels for Vulkan "
                        "count up to %d of each",
                        (long long)g->steps, (long long)g->length, INT32_MAX);
    return TALLY_OK;
}

/* ---- overrides ---- */

const tly_gpu_limits *const tly_gpu_limits_of[TLY_GPU_TEMPLATE_COUNT] = {
#define LIMITS(ID, name, what) [TLY_GPU_##ID] = &tly_gpu_##name##_limits,
    TLY_GPU_TEMPLATES(LIMITS)
#undef LIMITS
};

const char *tly_gpu_template_name(const tly_gpu_plan *plan)
{
    return tly_gpu_limits_of[plan->template_id]->keys.name;
}

_Static_assert(offsetof(tly_gpu_plan, template_id) == 0, "the id is a plan's first field");
_Static_assert(offsetof(tly_gpu_plan, index_bits) < TLY_PLAN_CHOICES * sizeof(int32_t),
               "a bit for each choice");

void tly_gpu_keys(const tly_plan_keys *keys[TLY_GPU_TEMPLATE_COUNT])
{
    for (size_t i = 0; i < TLY_GPU_TEMPLATE_COUNT; i++)
        keys[i] = &tly_gpu_limits_of[i]->keys;
}

static tally_status read_overrides(const char *text, tly_forced *forced, tally_error *e)
{
    const tly_plan_keys *keys[TLY_GPU_TEMPLATE_COUNT];
    tly_gpu_keys(keys);
    return tly_keys_read(keys, TLY_GPU_TEMPLATE_COUNT, NULL, text, forced, e);
}

/* Before anything is chosen to suit what is forced: the template must be one for the problem, and
 * what goes by subgroups needs their size. */
static tally_status check_early(const tly_problem *p, const tly_caps *caps,
                                const tly_forced *forced, tally_error *e)
{
    const char *refusal = NULL;
    int32_t scan = tly_forced_or(forced, KEY(scan), 0);
    if (scan > 0 && !tly_caps_shuffle(caps))
        refusal = "the device lacks shuffles in subgroups of a known size";
    if (refusal != NULL)
        return tly_fail(e, TALLY_INVALID, "plan", "%s", refusal);
    if (!tly_is_forced(forced, KEY(template_id)))
        return TALLY_OK;
    const tly_gpu_limits *l = tly_gpu_limits_of[forced->value[0]];
    refusal = l->refuses(p, caps);
    if (refusal != NULL)
        return tly_fail(e, TALLY_INVALID, "plan", "%s", refusal);
    return tly_keys_check(&l->keys, forced, e);
}

/* Our own choices hold to the limits, too: where they do not, it is a fault of ours. */
static tally_status check(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                          const tly_forced *forced, const tly_gpu_plan *plan, tally_error *e)
{
    const tly_gpu_limits *l = tly_gpu_limits_of[plan->template_id];
    tally_status s = tly_keys_check(&l->keys, forced, e);
    tally_status fails = forced->given ? TALLY_INVALID : TALLY_INTERNAL;
    if (s != TALLY_OK)
        return s;
    if (!tly_keys_hold(&l->keys, plan))
        return tly_fail(e, fails, "plan", "what follows from it is out of a key's range");
    if (tly_gpu_moves_states_alone(p, g) &&
        (plan->template_id != TLY_GPU_COLUMNS || plan->chunk > 0))
        return tly_fail(e, fails, "plan", "states of no elements are for whole columns");
    const char *fault = l->fault(p, g, caps, plan);
    return fault != NULL ? tly_fail(e, fails, "plan", "%s", fault) : TALLY_OK;
}

static tally_status make(const tly_problem *p, const tly_geometry *g, const tly_caps *device,
                         const tly_forced *forced, tly_gpu_plan *plan, tally_error *e)
{
    int reduces = tly_reduces(p->form);
    const tly_caps own = tly_gpu_caps_for(p, device), *caps = &own;
    memset(plan, 0, sizeof *plan);
    tally_status s = choose_addresses(p, g, caps, forced, plan, e);
    if (s == TALLY_OK)
        s = check_early(p, caps, forced, e);
    if (s == TALLY_OK)
        s = check_segments(p, g, e);
    if (s == TALLY_OK && reduces)
        s = choose_steps(g, plan, e);
    if (s != TALLY_OK)
        return s;
    choose_outer(p, g, plan);
    if (reduces)
        tly_gpu_choose_reduction(p, g, caps, forced, plan);
    else
        tly_gpu_choose(p, g, caps, forced, plan);
    s = check(p, g, caps, forced, plan, e);
    return s == TALLY_OK && reduces ? tly_gpu_check_reduction(p, g, caps, plan, e) : s;
}

int tly_gpu_plan_stands(const tly_problem *problem, const tly_geometry *geometry,
                        const tly_caps *caps, const tly_gpu_plan *plan)
{
    tly_gpu_plan again;
    tly_forced forced = { .given = 1, .value = { plan->template_id } };
    if ((uint32_t)plan->template_id >= TLY_GPU_TEMPLATE_COUNT)
        return 0;
    const tly_plan_keys *keys = &tly_gpu_limits_of[plan->template_id]->keys;
    if (!tly_keys_hold(keys, plan))
        return 0;
    for (size_t k = 0; k < keys->count; k++) {
        const size_t at = keys->key[k].at, i = at / sizeof(int32_t);
        memcpy(&forced.value[i], (const char *)plan + at, sizeof forced.value[i]);
        forced.name[i] = keys->key[k].name;
        forced.given |= 1u << i;
    }
    return tly_operator_check(problem, NULL) == TALLY_OK &&
           refuse_missing(problem, caps, NULL) == TALLY_OK &&
           make(problem, geometry, caps, &forced, &again, NULL) == TALLY_OK &&
           memcmp(&again, plan, sizeof again) == 0;
}

tally_status tly_gpu_plan_make(const tly_problem *problem, const tly_geometry *geometry,
                               const tly_caps *caps, const char *overrides, tly_gpu_plan *plan,
                               tally_error *error)
{
    static const tly_forced none = { .given = 0 };
    tly_gpu_plan made;
    tly_forced forced;
    tally_status s = tly_operator_check(problem, error);
    if (s == TALLY_OK)
        s = refuse_missing(problem, caps, error);
    if (s == TALLY_OK)
        s = read_overrides(overrides, &forced, error);
    if (s != TALLY_OK)
        return s;
    s = make(problem, geometry, caps, &forced, &made, error);
    /* What the device can do is not lacking because it was asked to do it so. */
    if (s == TALLY_UNSUPPORTED && forced.given &&
        make(problem, geometry, caps, &none, &made, NULL) == TALLY_OK)
        return tly_fail(error, TALLY_INVALID, "plan",
                        "by this plan an output is more than the device's loops go through");
    if (s == TALLY_OK)
        *plan = made;
    return s;
}
