/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices with less: features and limits taken away from one that has them, and a device that the
 * program made without any feature and lent. What needs a feature is refused, and the refusal
 * names it; everything else is right with what is left.
 */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *dtype, *feature;
    size_t at; /* of the cap */
    int compares;
} dtypes[] = {
    { "f32", NULL, 0, 0 },
    { "i32", NULL, 0, 0 },
    { "u32", NULL, 0, 0 },
    { "f64", "shaderFloat64", offsetof(tly_caps, float64), 0 },
    { "i64", "shaderInt64", offsetof(tly_caps, int64), 0 },
    { "u64", "shaderInt64", offsetof(tly_caps, int64), 0 },
    { "f16", "storageBuffer16BitAccess", offsetof(tly_caps, storage16), 0 },
    { "bf16", "storageBuffer16BitAccess", offsetof(tly_caps, storage16), 0 },
    { "i16>i32", "storageBuffer16BitAccess", offsetof(tly_caps, storage16), 0 },
    { "u8>u32", "storageBuffer8BitAccess", offsetof(tly_caps, storage8), 0 },
    { "u32>u64", "shaderInt64", offsetof(tly_caps, int64), 0 },
    { "f32", NULL, 0, 1 },
    { "f64", "shaderFloat64", offsetof(tly_caps, float64), 1 },
    { "u16", "storageBuffer16BitAccess", offsetof(tly_caps, storage16), 1 },
    { "i8", "storageBuffer8BitAccess", offsetof(tly_caps, storage8), 1 },
};

static const char *const geometries[] = { "20001:axis=0", "70x33:axis=0,reverse", "3x6:axis=1",
                                          "9x301:axis=1,exclusive,in=303x1", "5000x3:axis=0" };

/* Reductions and running indices, and what they need. */
static const struct {
    const char *word;
    size_t first, second; /* in tly_caps; 0: nothing (no feature is the first field) */
} reductions[] = {
    { "sum:f32:300000", 0, 0 },
    { "prod:f32:70x33x5:axes=0+2", 0, 0 },
    { "sum:f32:50000x3:axes=0", 0, 0 },
    { "max:f32:70x33:axes=0", 0, 0 },
    { "min:u32:64x33:axes=1", 0, 0 },
    { "argmax:f32>i32:20001", 0, 0 },
    { "cumargmax:f32>i32:9x301:axis=1,reverse", 0, 0 },
    { "cumargmin:f64>i32:3x901:axis=1", offsetof(tly_caps, float64), 0 }, /* in pairs of words */
    { "cumargmax:f64>i32:300x5:axis=0,last", offsetof(tly_caps, float64), 0 },
    { "log_sum_exp:f32:33x500:axes=1", 0, 0 },
    { "mean:f32:3x9x301:axes=0+2", 0, 0 },
    { "sum_square:i32:20x3000:axes=0+1", 0, 0 },
    { "mean:i32:9x301:axes=1", 0, 0 }, /* in pairs of words */
    { "mean:u32:70x33x5:axes=0+2", 0, 0 },
    { "mean:i32:300000", 0, 0 },
    { "mean:u32:3x50:axes=0", 0, 0 },
    { "mean:u64:3x50:axes=0", offsetof(tly_caps, int64), 0 },
    { "l2:u32:9x301:axes=0", offsetof(tly_caps, float64), 0 },
    { "log_sum:u32:9x301:axes=0", offsetof(tly_caps, float64), offsetof(tly_caps, int64) },
    { "log_sum_exp:i32:3x301:axes=1", offsetof(tly_caps, float64), 0 },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- taking away ---- */

static void nothing(tly_caps *c)
{
    (void)c;
}
static void no_int64(tly_caps *c)
{
    c->int64 = 0;
}
static void no_float64(tly_caps *c)
{
    c->float64 = 0;
}
static void no_storage16(tly_caps *c)
{
    c->storage16 = 0;
}
static void no_storage8(tly_caps *c)
{
    c->storage8 = 0;
}
static void no_addresses(tly_caps *c)
{
    c->addresses = 0;
}
static void no_shuffles(tly_caps *c)
{
    c->subgroup_ops &= ~(uint32_t)TLY_SUBGROUP_SHUFFLE;
}
static void no_arithmetic(tly_caps *c)
{
    c->subgroup_ops &= ~(uint32_t)TLY_SUBGROUP_ARITHMETIC;
}
static void no_ballot(tly_caps *c)
{
    c->subgroup_ops &= ~(uint32_t)TLY_SUBGROUP_BALLOT;
}
static void no_width(tly_caps *c)
{
    c->subgroup = 0;
}
static void no_progress(tly_caps *c)
{
    c->progress = 0;
}

/* The least that Vulkan 1.1 asks of a device. */
static void least(tly_caps *c)
{
    c->int64 = c->float64 = c->storage16 = c->storage8 = c->addresses = c->progress = 0;
    c->preserve32 = c->rte32 = c->denorm32 = c->preserve64 = c->rte64 = c->denorm64 = 0;
    c->subgroup = 0;
    c->subgroup_ops = TLY_SUBGROUP_BASIC;
    c->size_control = 0;
    c->invocations = 128;
    c->shared_bytes = 16384;
    c->offset_align = 256;
}

/* So few workgroups that every dispatch is cut. */
static void few_groups(tly_caps *c)
{
    c->groups_x = 5;
    c->groups_y = 3;
}

static void few_trips(tly_caps *c)
{
    c->trip_limit = 4096;
}

static const struct {
    const char *name;
    void (*take)(tly_caps *caps);
} lacking[] = {
    { "nothing taken", nothing },     { "no int64", no_int64 },
    { "no float64", no_float64 },     { "no storage16", no_storage16 },
    { "no storage8", no_storage8 },   { "no addresses", no_addresses },
    { "no shuffles", no_shuffles },   { "no arithmetic", no_arithmetic },
    { "no ballot", no_ballot },       { "no subgroup width", no_width },
    { "no progress", no_progress },   { "the least", least },
    { "few workgroups", few_groups }, { "few trips", few_trips },
};

/* ---- what comes out ---- */

static void expect_fallback(const tally_vulkan_kernel *k, const tly_caps *caps, const char *label)
{
    const tly_gpu_plan *plan = tly_vk_object_plan(k->object);
    const int shuffles = caps->subgroup && caps->subgroup_ops & TLY_SUBGROUP_SHUFFLE;
    const int arithmetic = shuffles && caps->subgroup_ops & TLY_SUBGROUP_ARITHMETIC;
    tly_expect(shuffles || plan->scan == 0, "%s: scan %d without shuffles", label, plan->scan);
    tly_expect(arithmetic || plan->scan < 2, "%s: scan %d without arithmetic", label, plan->scan);
    tly_expect(caps->addresses || !plan->addresses, "%s: addresses", label);
    tly_expect(plan->workgroup <= (int32_t)caps->invocations, "%s: workgroup %d", label,
               plan->workgroup);
}

static void expect_refused(const tly_case *c, tally_vulkan *v, const char *feature,
                           const char *name)
{
    tally_vulkan_kernel *k = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = tally_vulkan_kernel_create(v, &c->d, NULL, &k, &error);
    tly_expect(status == TALLY_UNSUPPORTED && !k && strstr(error.message, feature),
               "%s, %s: status %d, no refusal that names %s: %s", name, c->word, status, feature,
               error.message);
    int disabled = 0;
    for (size_t i = 0; i < COUNT(v->facts.disabled) && v->facts.disabled[i]; i++)
        disabled |= !strcmp(v->facts.disabled[i], feature);
    tly_expect(strstr(error.message, disabled ? "not enabled" : "the device lacks") != NULL &&
                   !error.hint[0] == !disabled,
               "%s: %s (%s)", name, error.message, error.hint);
    tally_vulkan_kernel_destroy(&k);
}

static void run_word(tally_vulkan *v, const char *word, const char *feature, const char *name)
{
    tly_case c;
    char label[200];
    tly_case_make(&c, word, TLY_DATA_BENIGN, 3);
    snprintf(label, sizeof label, "%s: %s", name, word);
    if (feature) {
        expect_refused(&c, v, feature, name);
    } else {
        tally_vulkan_kernel *k = tly_case_kernel(&c, v, NULL, 0);
        char *out = tly_case_blank(&c);
        if (k) {
            expect_fallback(k, &v->facts.caps, label);
            if (tly_case_run(&c, k, out))
                tly_case_right(&c, out, tly_bed_flushes(v), 0, name);
        }
        tally_vulkan_kernel_destroy(&k);
        free(out);
    }
    tly_case_end(&c);
}

/* Of the geometries, `count` from another one on for each dtype. */
static void run_all(tally_vulkan *v, const char *name, size_t count)
{
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        uint32_t has;
        memcpy(&has, (const char *)&v->facts.caps + dtypes[d].at, sizeof has);
        for (size_t n = 0; n < count; n++) {
            static const char *const ops[2][2] = { { "cumsum", "cumprod" },
                                                   { "cummax", "cummin" } };
            const size_t g = (d + n) % COUNT(geometries);
            char word[100];
            snprintf(word, sizeof word, "%s:%s:%s", ops[dtypes[d].compares][(d / 2 + g) % 2],
                     dtypes[d].dtype, geometries[g]);
            run_word(v, word, has ? NULL : dtypes[d].feature, name);
        }
    }
}

static int lacks(const tally_vulkan *v, size_t at)
{
    uint32_t has;
    memcpy(&has, (const char *)&v->facts.caps + at, sizeof has);
    return at != 0 && !has;
}

static const char *feature_of(size_t at)
{
    return at == offsetof(tly_caps, int64) ? "shaderInt64" : "shaderFloat64";
}

static void reduce_all(tally_vulkan *v, const char *name)
{
    for (size_t i = 0; i < COUNT(reductions); i++) {
        const size_t first = reductions[i].first, second = reductions[i].second;
        run_word(v, reductions[i].word,
                 lacks(v, first)    ? feature_of(first)
                 : lacks(v, second) ? feature_of(second)
                                    : NULL,
                 name);
    }
}

/* ---- a device of the program's ---- */

typedef struct lent {
    tly_vk_list *list;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    size_t index;
    tly_vk_functions fn;
    int locked, locks;
} lent;

static void lock_queue(void *user, int lock)
{
    lent *l = user;
    tly_expect(l->locked != lock, "the queue's lock is called with %d twice", lock);
    l->locked = lock;
    l->locks += lock;
}

static tally_status make_device(lent *l, tally_error *error)
{
    tally_status status = tly_vk_list_open(&l->list, error);
    if (!status)
        status = tly_vk_choose(l->list, tly_bed_device(), &l->index, error);
    if (status)
        return status;
    const float priority = 1;
    l->family = l->list->facts[l->index].family;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = l->family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
    };
    if (l->list->fn.CreateDevice(l->list->physical[l->index], &info, NULL, &l->device))
        return TALLY_INTERNAL;
    status = tly_vk_device_load(&l->list->fn, l->device, &l->fn, error);
    if (!status)
        l->fn.GetDeviceQueue(l->device, l->family, 0, &l->queue);
    return status;
}

static void run_lent(tally_context *context)
{
    lent l = { 0 };
    tally_vulkan *v = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = make_device(&l, &error);
    tally_vulkan_host host = { .size = sizeof host, .api_version = VK_API_VERSION_1_1 };
    if (!status) {
        host.instance = l.list->instance;
        host.physical = l.list->physical[l.index];
        host.device = l.device;
        host.queue = l.queue;
        host.queue_family = l.family;
        host.lock_queue = lock_queue;
        host.lock_user = &l;
        status = tally_vulkan_adopt(context, &host, &v, &error);
    }
    if (tly_expect(!status, "a device without features: %s", error.message)) {
        const tly_caps *caps = &v->facts.caps;
        tly_expect(!caps->int64 && !caps->float64 && !caps->storage16 && !caps->storage8 &&
                       !caps->addresses,
                   "a device without features: int64 %u, float64 %u, storage16 %u, storage8 %u, "
                   "addresses %u",
                   caps->int64, caps->float64, caps->storage16, caps->storage8, caps->addresses);
        run_all(v, "lent", COUNT(geometries));
        tly_expect(l.locks > 0 && !l.locked, "%d uses of the queue, locked %d", l.locks, l.locked);
    }
    tally_vulkan_destroy(&v);
    if (l.device)
        l.fn.DestroyDevice(l.device, NULL);
    tly_vk_list_close(l.list);
}

int main(int argc, char **argv)
{
    tally_context *context = tly_bed_context();
    run_lent(context);
    for (size_t k = 0; k < COUNT(lacking) && !(argc > 1 && !strcmp(argv[1], "--lent")); k++) {
        tally_vulkan *v = tly_bed_open(context, tly_bed_device());
        lacking[k].take(&v->facts.caps);
        run_all(v, lacking[k].name, 2);
        reduce_all(v, lacking[k].name);
        tally_vulkan_destroy(&v);
    }
    tally_context_destroy(&context);
    return tly_bed_end("lesser", (int)(COUNT(dtypes) * COUNT(geometries)));
}
