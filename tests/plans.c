/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: only the random stream and the planner's own plan decide, so that a repeated case is
 * forced to the same. */
#include "plans.h"
#include "reference.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* Where a problem does not fit, or the device lacks what is named, the case has the planner's own
 * choice. */
typedef struct forced {
    const char *plan, *needs;
} forced;

static const forced cpu_plans[] = { { "chunk=2048,block=512", "" },  /* scans along rows */
                                    { "chunk=1920,block=1920", "" }, /* ... side by side */
                                    { "template=linear,chunk=256", "" },
                                    { "chunk=96", "" }, /* reductions */
                                    { "chunk=1000,unroll=1", "" },
                                    { "rows=1,tile_lanes=8", "" } }; /* ... of lanes */
static const forced gpu_plans[] = {
    { "template=workgroups,scan=0,workgroup=32", "" },
    { "template=subgroups,scan=1,chunk=300", "shuffles" },
    { "addresses=0", "" },
    { "addresses=1", "addresses" },
    { "addresses=1,index_bits=64,chunk=1000", "addresses" },
    { "template=columns,workgroup=32,chunk=20", "" },
    { "template=columns,workgroup=32,vector=4,segments=2", "" },
    { "template=columns,workgroup=32,vector=16,segments=2,chunk=30", "" },
    { "template=turned", "" },
    { "template=turned,workgroup=16,segments=5", "" },
    { "template=turned,workgroup=32,segments=8", "" },
    { "template=staged", "shuffles" },
    { "template=staged,workgroup=64,team=64", "shuffles" },
    { "template=workgroups,workgroup=32,segments=1", "" },
    { "template=workgroups,workgroup=32,chunk=700", "" },
    { "template=workgroups,workgroup=64,vector=4,segments=2", "" },
    { "template=subgroups,vector=2,segments=4,chunk=300", "shuffles" },
    { "workgroup=32,chunk=300", "" },
    { "template=subgroups", "shuffles" },
    { "template=look_back,workgroup=32,segments=1", "look-back" },
    { "template=look_back,workgroup=64,addresses=1", "look-back" },
    { "template=look_back,workgroup=32,segments=2,park=1", "look-back" },
    { "template=look_back_lanes,workgroup=32,segments=2", "look-back" },
    { "template=look_back_lanes,workgroup=64,segments=3,park=1", "look-back" },
    { "template=look_back_lanes,team=5,workgroup=64,segments=4,addresses=1", "look-back" },
    { "template=look_back_lanes,team=16,workgroup=32,segments=1", "look-back" }
};

static const forced gpu_reductions[] = {
    { "template=reduce_lanes,workgroup=32,vector=4,segments=4", "" },
    { "template=reduce_lanes,workgroup=32,vector=8,segments=2,chunk=16", "" },
    { "template=reduce_lanes,vector=1,chunk=64", "" },
    { "template=reduce_lanes,vector=4,wide=0,length=0", "" },
    { "template=reduce_rows,scan=0,workgroup=16,vector=4,segments=2", "" },
    { "template=reduce_rows,workgroup=32,vector=8,segments=4,chunk=64", "" },
    { "template=reduce_rows,workgroup=32,vector=1,segments=8,chunk=256", "" },
    { "template=reduce_rows,workgroup=64,vector=16,addresses=1,index_bits=64", "addresses" },
};

typedef struct forced_plans {
    const forced *plans;
    int64_t count;
} forced_plans;

static const char *draw_forced(tly_random *r, const tally_device *device, int32_t op)
{
    static const forced_plans on_cpu = { cpu_plans, COUNT(cpu_plans) },
                              scans = { gpu_plans, COUNT(gpu_plans) },
                              reductions = { gpu_reductions, COUNT(gpu_reductions) };
    const forced_plans *of = strcmp(device->kind, "vulkan") != 0 ? &on_cpu
                             : !tally_op_is_scan((tally_op)op)   ? &reductions
                                                                 : &scans;
    const forced *drawn = &of->plans[tly_random_below(r, of->count)];
    return *drawn->needs && tly_target_lacks(device, drawn->needs) ? "" : drawn->plan;
}

/* ---- the planner's own plan ---- */

typedef struct text {
    char bytes[4096];
    size_t length;
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (count > sizeof t->bytes - 1 - t->length)
        count = sizeof t->bytes - 1 - t->length;
    memcpy(t->bytes + t->length, bytes, count);
    t->length += count;
    t->bytes[t->length] = 0;
    return 0;
}

static int print_plan(tally_context *context, const tally_device *device, const tally_descriptor *d,
                      const char *overrides, text *t)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = device->selector,
                                           .plan = *overrides ? overrides : NULL };
    t->length = 0;
    t->bytes[0] = 0;
    return tally_inspect(context, d, &options, TALLY_STAGE_PLAN, append, t, NULL);
}

void tly_plan_template(tally_context *context, const tally_device *device,
                       const tally_descriptor *d, const char *overrides, char name[24])
{
    text t;
    if (print_plan(context, device, d, overrides, &t) ||
        sscanf(t.bytes, "template = %23s", name) != 1)
        snprintf(name, 24, "unknown");
}

void tly_plan_draw(tly_random *r, tally_context *context, const tally_device *device,
                   const tally_descriptor *d, char *plan, size_t capacity)
{
    const int on_cpu = strcmp(device->kind, "vulkan") != 0;
    const int64_t kind = tly_random_below(r, on_cpu ? 6 : 8);
    text printed;
    *plan = 0;
    if (kind < 2) {
        if (print_plan(context, device, d, "", &printed) == 0)
            tly_random_plan(r, printed.bytes, plan, capacity);
        if (strstr(plan, "template=copy") != NULL) /* which is no scan */
            *plan = 0;
    } else if (kind < (on_cpu ? 3 : 5)) {
        snprintf(plan, capacity, "%s", draw_forced(r, device, d->op));
    }
}
