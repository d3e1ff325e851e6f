/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/plan/gpu_planner.c: what is chosen for which problem on which device, and for which
 * lengths. */
#include <stdio.h>
#include <string.h>

#include "gpu_devices.h"
#include "profile_caps.h"

Test(gpu_chosen, chooses_the_template)
{
    static const struct {
        const char *word;
        int device;
        tly_gpu_template id;
        int chunks; /* the axis is cut */
    } table[] = {
        { "cumsum:f32:1048576x64:axis=1", 0, TLY_GPU_SUBGROUPS, 0 },
        { "cumsum:f32:65536x4096:axis=1", 0, TLY_GPU_WORKGROUPS, 0 },
        { "cumsum:f32:268435456:axis=0", 0, TLY_GPU_LOOK_BACK, 1 },
        { "cumsum:f32:16777216:axis=0", 1, TLY_GPU_SUBGROUPS, 0 },  /* a CPU: nothing to fill */
        { "cumsum:f32:16777216:axis=0", 3, TLY_GPU_WORKGROUPS, 1 }, /* no progress */
        { "cumsum:f32:16777216:axis=0,order=serial", 0, TLY_GPU_COLUMNS, 0 },
        { "cumsum:f32:64x1048576:axis=0", 0, TLY_GPU_COLUMNS, 0 },
        { "cumsum:f32:1048576x64:axis=0", 0, TLY_GPU_LOOK_BACK_LANES, 1 },
        { "cumsum:f32:1048576x64:axis=0", 3, TLY_GPU_COLUMNS, 1 }, /* no progress */
        { "cummax:i8:1048576x64:axis=0", 0, TLY_GPU_COLUMNS, 1 },  /* few bytes on their way */
        { "cumsum:f32:1048576x64:axis=0,order=serial", 0, TLY_GPU_COLUMNS, 0 },
        { "cumsum:f32:65536x1024x3:axis=1", 0, TLY_GPU_SUBGROUPS, 0 },
        { "cumsum:f32:65536x1024x3:axis=1", 1, TLY_GPU_COLUMNS, 0 }, /* a CPU, and full */
        { "cumsum:f32:4096x4096:axis=1", 1, TLY_GPU_COLUMNS, 0 },
        { "cumsum:f16:4096x4096:axis=1", 1, TLY_GPU_SUBGROUPS, 0 },
        { "cumsum:f16:4096x1000:axis=1", 1, TLY_GPU_COLUMNS, 0 },
        { "cumsum:f32:63x4096:axis=1", 1, TLY_GPU_SUBGROUPS, 0 },
        { "cumsum:f32:8x1024x3:axis=1", 1, TLY_GPU_SUBGROUPS, 0 },
        { "cumsum:f32:4194304x3:axis=0", 0, TLY_GPU_LOOK_BACK_LANES, 1 },
        { "cumsum:f32:4194304x3:axis=0", 3, TLY_GPU_WORKGROUPS, 1 },
        { "cumsum:f32:1024x9:axis=0", 2, TLY_GPU_COLUMNS, 0 },  /* more scans than lanes */
        { "cumsum:f32:1x1x3x4:axis=3", 0, TLY_GPU_COLUMNS, 0 }, /* fewer than a workgroup */
        { "cumsum:f32:1000x4:axis=1", 0, TLY_GPU_TRANSPOSED, 0 },
        { "cumsum:f32:1000x4:axis=1", 1, TLY_GPU_COLUMNS, 0 },
        { "cumsum:f32:65536x32:axis=1", 0, TLY_GPU_TRANSPOSED, 0 },
        { "cumsum:f32:65536x33:axis=1", 0, TLY_GPU_STAGED, 0 },
        { "cumsum:f32:65536x33:axis=1", 1, TLY_GPU_COLUMNS, 0 },
        { "cumsum:f32:65536x33:axis=1,order=serial", 0, TLY_GPU_TRANSPOSED, 0 },
        { "cumsum:f32:65536x36:axis=1", 0, TLY_GPU_SUBGROUPS, 0 }, /* vectors fit */
        { "cumsum:f32:65536x260:axis=1", 0, TLY_GPU_STAGED, 0 },   /* by 5 segments */
        { "cumsum:f32:65536x300:axis=1,in=600x2", 0, TLY_GPU_STAGED, 0 },
        { "cumsum:f32:65536x1025:axis=1", 0, TLY_GPU_STAGED, 0 },
        { "cumsum:f32:65536x1601:axis=1", 0, TLY_GPU_WORKGROUPS, 0 }, /* full tiles by elements */
        { "cumsum:f16:65536x4095:axis=1", 0, TLY_GPU_STAGED, 0 },
        { "cumsum:f16:65536x6401:axis=1", 0, TLY_GPU_WORKGROUPS, 0 },
        { "cumsum:f32:65536x4096:axis=1,order=serial", 0, TLY_GPU_TRANSPOSED, 0 },
        { "cumsum:f32:8192x8192:axis=1,in=1x8192", 0, TLY_GPU_TRANSPOSED, 0 },
        { "cumsum:f32:64x1048576:axis=1,in=1x64", 0, TLY_GPU_COLUMNS, 1 }, /* few lanes */
        { "cumsum:f32:64x1000:axis=1,in=1x64", 0, TLY_GPU_TRANSPOSED, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_gpu_plan plan;
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(plan_of(table[i].word, table[i].device, "", &plan, &error), TALLY_OK, "%s: %s",
                     table[i].word, error.message);
        cr_expect_eq(plan.template_id, (int32_t)table[i].id, "%s: %s", table[i].word,
                     tly_gpu_template_name(&plan));
        cr_expect_eq(plan.chunk > 0, table[i].chunks, "%s: chunk %d", table[i].word, plan.chunk);
    }
}

Test(gpu_chosen, chooses_addresses_by_the_spans)
{
    static const struct {
        const char *word;
        int device;
        int32_t addresses, bits;
    } table[] = {
        { "cumsum:f32:1024x1024:axis=1", 1, 0, 32 },
        { "cumsum:f32:33554432:axis=0", 1, 1, 32 },   /* a storage buffer's range */
        { "cumsum:f32:1073741823:axis=0", 0, 1, 64 }, /* 4 GiB */
        { "cumsum:f32:536870912:axis=0", 0, 0, 32 },
        { "cumsum:f32:2:axis=0,in=8589934592", 0, 1, 64 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_gpu_plan plan;
        cr_assert_eq(plan_of(table[i].word, table[i].device, "", &plan, NULL), TALLY_OK);
        cr_expect_eq(plan.addresses, table[i].addresses, "%s", table[i].word);
        cr_expect_eq(plan.index_bits, table[i].bits, "%s", table[i].word);
    }
}

/* A chunk that a driver would not let be walked to its end is none. */
Test(gpu_chosen, chunks_stay_within_the_loop_trips)
{
    tly_gpu_plan plan;
    const char *const word = "cumprod:f32:4000000x2:axis=0,in=4x1";
    cr_assert_eq(plan_of(word, 1, "", &plan, NULL), TALLY_OK);
    cr_assert_eq(plan.chunk, 0); /* a CPU: nothing to fill */
    cr_assert_eq(plan_of(word, 1, "chunk=70000", &plan, NULL), TALLY_INVALID);
    cr_assert_eq(plan_of(word, 1, "chunk=32500", &plan, NULL), TALLY_OK);
    cr_assert_eq(plan.chunk, 32500);
    cr_assert_eq(plan_of(word, 0, "chunk=70000", &plan, NULL), TALLY_OK);
    cr_assert_eq(plan.chunk, 70000);
}

/* Lanes that are too few are cut so that what all invocations have on their way, 16 positions each,
 * keeps the memory busy: 2 MiB of an H100; from half as many on they are not. */
Test(gpu_chosen, columns_are_cut_by_bytes_on_their_way)
{
    static const struct {
        const char *profile, *word;
        int32_t chunk;
    } table[] = {
        { "nvidia-hopper", "cumsum:f32:4194304x64:axis=0", 8192 },
        { "nvidia-hopper", "cumsum:f32:1048576x64:axis=0", 2048 },
        { "nvidia-hopper", "cumsum:f32:33554432x17:axis=0", 16384 },
        { "nvidia-hopper", "cumsum:f64:4194304x64:axis=0", 16384 },
        { "nvidia-hopper", "cumsum:f16:4194304x64:axis=0", 4096 },
        { "nvidia-hopper", "cumsum:f32:65536x8192:axis=0", 16384 },
        { "nvidia-hopper", "cumsum:f32:65536x16384:axis=0", 0 },
        { "nvidia-hopper", "cumsum:f64:65536x8192:axis=0", 0 },
        { "nvidia-hopper", "cumsum:f32:4095x64:axis=0", 0 },
        { "amd-rdna3", "cumsum:f32:4194304x64:axis=0", 32768 },
        { "amd-rdna3", "cumsum:f32:65536x4096:axis=0", 0 },
        { "intel-xe", "cumsum:f32:4194304x64:axis=0", 131072 },
        { "apple-moltenvk", "cumsum:f32:1048576x64:axis=0", 32768 },
        { "lavapipe-8", "cumsum:f32:4194304x64:axis=0", 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const tly_caps caps = tly_profile_caps(table[i].profile);
        tly_gpu_plan plan;
        cr_assert_eq(plan_for(table[i].word, &caps, "template=columns", &plan, NULL), TALLY_OK);
        cr_expect_eq(plan.chunk, table[i].chunk, "%s, %s: %d", table[i].profile, table[i].word,
                     plan.chunk);
    }
}

/* Neighbouring lanes go together where they lie together, whole accesses wide, and the device stays
 * busy. */
Test(gpu_chosen, columns_take_lanes_together)
{
    static const struct {
        const char *word, *overrides;
        int device;
        int32_t vector;
    } table[] = {
        { "cumsum:f32:4096x4194304:axis=0", "", 0, 4 },
        { "cumsum:f16:4096x4194304:axis=0", "", 0, 8 },
        { "cumsum:f64:4096x4194304:axis=0", "", 0, 2 },
        { "cumsum:f32:4096x524288:axis=0", "", 0, 1 }, /* too few to keep it busy */
        { "cumsum:f32:4096x524288:axis=0", "vector=4", 0, 4 },
        { "cumsum:f32:4096x524290:axis=0", "", 0, 1 }, /* strides of 8 bytes */
        { "cumsum:f32:4096x4096:axis=0", "", 1, 16 },
        { "cumsum:f32:4096x4104:axis=0", "", 1, 8 },
        { "cumsum:f32:4096x4096:axis=0,in=-4096x1@16773120", "", 1, 16 },
        { "cumsum:f32:4096x4096:axis=0,in=4098x1", "", 1, 1 },
        { "cumsum:f32:4096x4096:axis=0,out=8192x2", "", 1, 1 },
        { "cumsum:f32:3x5x7x1024x64:axis=3,in=7000000x1000000x70002x64x1", "", 1, 1 },
        { "cumsum:f32:1024x64:axis=0", "", 1, 1 },
        { "cumsum:i32:1024x64:axis=0", "vector=32", 1, 32 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_gpu_plan plan;
        cr_assert_eq(plan_of(table[i].word, table[i].device, table[i].overrides, &plan, NULL),
                     TALLY_OK, "%s", table[i].word);
        cr_expect_eq(plan.template_id, TLY_GPU_COLUMNS);
        cr_expect_eq(plan.vector, table[i].vector, "%s %s: %d", table[i].word, table[i].overrides,
                     plan.vector);
        cr_expect_leq(plan.vector * plan.vectors_per_thread, 32);
    }
}

/* Lanes that a row of this length gives elements to, of those of its tiles, in percent. */
static int64_t percent_of_lanes(const tly_gpu_plan *plan, int64_t length)
{
    int64_t vectors = (length + plan->vector - 1) / plan->vector;
    int64_t tile = (int64_t)plan->group * plan->vectors_per_thread;
    return 100 * vectors / ((vectors + tile - 1) / tile * tile);
}

/* Tiles fit their rows: whatever the length, three quarters of the lanes have work, an
 * invocation takes up to 24 elements, or 25 that are staged, and vectors are shorter than 16
 * bytes in one length of eight at most. */
Test(gpu_chosen, lanes_have_work_at_every_length)
{
    static const struct {
        const char *dtype;
        uint32_t subgroup;
        int32_t whole; /* elements of 16 bytes */
    } table[] = { { "f32", 32, 4 }, { "f16", 32, 8 }, { "f64", 32, 2 },
                  { "f32", 16, 4 }, { "i32", 64, 4 }, { "bf16", 64, 8 } };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int shorter = 0;
        tly_caps caps = devices[0];
        caps.subgroup = table[i].subgroup;
        for (int64_t length = 9; length <= 8192; length++) {
            char word[64];
            tly_gpu_plan plan;
            snprintf(word, sizeof word, "cumsum:%s:65536x%d:axis=1", table[i].dtype, (int)length);
            cr_assert_eq(plan_for(word, &caps, "", &plan, NULL), TALLY_OK, "%s", word);
            /* A lane a row, and no lane without: what turned_tiles_fit holds to. */
            if (plan.template_id == TLY_GPU_TRANSPOSED && length <= 32)
                continue;
            cr_assert_geq(percent_of_lanes(&plan, length), 75, "%s: %dx%dx%d", word, plan.group,
                          plan.vectors_per_thread, plan.vector);
            if (plan.template_id == TLY_GPU_STAGED) {
                cr_assert(plan.vector % 2 == 1 && plan.vector >= 5 && plan.vector <= 25, "%s: %d",
                          word, plan.vector);
                continue;
            }
            cr_assert(plan.template_id == TLY_GPU_SUBGROUPS ||
                          plan.template_id == TLY_GPU_WORKGROUPS,
                      "%s", word);
            cr_assert_leq(plan.vectors_per_thread * plan.vector, 24, "%s", word);
            shorter += plan.vector < table[i].whole;
        }
        cr_expect_lt(shorter, 8192 / 8, "%s: %d", table[i].dtype, shorter);
    }
}

/* Rows that no vectors fit have a plan on devices that have the least that Vulkan allows, too. */
Test(gpu_chosen, rows_have_plans_on_small_devices)
{
    static const char *const kinds[] = { "cumsum:f16", "cumprod:f32", "cumsum:f64",
                                         "cumlogsumexp:f64", "cummax:i8" };
    tly_caps caps = devices[0];
    caps.invocations = 128;
    caps.shared_bytes = 16384;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int length = 33; length < 7000; length += 2) {
            char word[80];
            tly_gpu_plan plan;
            snprintf(word, sizeof word, "%s:65536x%d:axis=1", kinds[i], length);
            cr_assert_eq(plan_for(word, &caps, "", &plan, NULL), TALLY_OK, "%s", word);
            cr_assert_leq(plan.workgroup, 128, "%s", word);
        }
}

/* Short rows go all at once; of lanes that are turned at least 64 bytes are on their way, and
 * all tiles fit a device's workgroup memory. */
Test(gpu_chosen, turned_tiles_fit)
{
    static const char *const dtypes[] = { "f32", "f16", "i64", "i8>i64" };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (int length = 1; length <= 40; length++) {
            char word[80];
            tly_gpu_plan plan;
            snprintf(word, sizeof word, "cumsum:%s:65536x%d:axis=1", dtypes[i], length);
            cr_assert_eq(plan_of(word, 0, "", &plan, NULL), TALLY_OK, "%s", word);
            cr_expect_eq(plan.template_id == TLY_GPU_TRANSPOSED, length <= 32, "%s", word);
            cr_expect(length > 32 || plan.vectors_per_thread == length, "%s", word);
            snprintf(word, sizeof word, "cumsum:%s:65536x%d:axis=1,in=1x65536", dtypes[i], length);
            cr_assert_eq(plan_of(word, 0, "", &plan, NULL), TALLY_OK, "%s", word);
            cr_expect_eq(plan.template_id, TLY_GPU_TRANSPOSED, "%s", word);
            cr_expect_eq(plan.vectors_per_thread, length <= 32 ? length : 16, "%s", word);
        }
}

/* Lengths, batches and strides along the axis are no part of the key, but for what fits the tile to
 * the row; dims beyond two are. */
Test(gpu_chosen, geometries_share_their_plan)
{
    tly_gpu_plan a, b;
    cr_assert_eq(plan_of("cumsum:f32:7000x65000:axis=1", 0, "", &a, NULL), TALLY_OK);
    cr_assert_eq(plan_of("cumsum:f32:65536x8192:axis=1", 0, "", &b, NULL), TALLY_OK);
    cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
    cr_assert_eq(plan_of("cumsum:f32:65536x512:axis=1", 0, "", &b, NULL), TALLY_OK);
    cr_assert_neq(memcmp(&a, &b, sizeof a), 0);
    cr_assert_eq(plan_of("cumsum:f32:70000x500:axis=1", 0, "", &a, NULL), TALLY_OK);
    cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
    cr_assert_eq(plan_of("cumsum:f32:70000x499:axis=1", 0, "", &a, NULL), TALLY_OK); /* staged */
    cr_assert_eq(plan_of("cumsum:f32:65536x543:axis=1", 0, "", &b, NULL), TALLY_OK);
    cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
    static const char *const words[] = {
        "cumsum:f32:3x5x7x4096:axis=3,in=1000000x100000x9000x1",
        "cumsum:f32:3x5x8x4096:axis=3,in=1000000x100000x9000x1",
    };
    cr_assert_eq(plan_of(words[0], 0, "", &a, NULL), TALLY_OK);
    cr_assert_eq(plan_of(words[1], 0, "", &b, NULL), TALLY_OK);
    cr_assert_eq(a.literal, 1);
    cr_assert_neq(memcmp(&a, &b, sizeof a), 0);
}
