/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors: any bytes as the struct. What is accepted can be printed and read back, becomes a
 * problem, and where kernels exist for it, every level has a plan and a kernel that verifies.
 */
#include "fuzz.h"

#include <tally.h>

#include "../../codegen/plan/operator.h"
#include "../../codegen/plan/planner.h"
#include "../../codegen/plan/target.h"
#include "../../runtime/descriptor/descriptor.h"
#include "../../runtime/descriptor/stages.h"
#include "../../runtime/problem/canonicalise.h"
#include "../../templates/build.h"

static int swallow(void *user, const char *text, size_t bytes)
{
    (void)text;
    *(size_t *)user += bytes;
    return 0;
}

static void build(const tally_descriptor *d, size_t choice)
{
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64" };
    const tly_target *target = tly_target_find(levels[choice % 4]);
    tly_problem problem;
    tly_geometry geometry;
    tly_plan plan;
    tly_launch launch;
    kir_kernel *kernel = NULL;
    tally_error e = TALLY_ERROR_INIT;
    size_t bytes = 0;
    tly_canonicalise(d, 0, &problem, &geometry);
    if (geometry.empty || tly_operator_check(&problem, &e) != TALLY_OK) {
        return;
    }
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        const tly_tensor_place *place = &geometry.tensor[t];
        if (place->high < place->low) { /* elements of the output that are made of none */
            HOLDS(t == TLY_IN && tly_reduces(problem.form) &&
                  (geometry.length == 0 || geometry.steps == 0));
        } else {
            HOLDS(place->low <= place->first && place->first <= place->high);
        }
    }
    HOLDS(tly_plan_make(&problem, target, "", &plan, &e) == TALLY_OK);
    HOLDS(tly_template_build(&problem, target, &plan, &kernel, &launch, &e) == TALLY_OK);
    HOLDS(kir_verify(kernel, &e) == TALLY_OK);
    HOLDS(kir_print(kernel, swallow, &bytes) == TALLY_OK && bytes > 0);
    kir_free(kernel);
}

static int is_right(const tally_descriptor *d, tally_error *e)
{
    char text[TALLY_WORD_MAX];
    const tally_status status = tally_descriptor_check(d, e);
    if (status == TALLY_OK) {
        return 1;
    }
    HOLDS(status == TALLY_INVALID && e->message[0] != 0);
    HOLDS(tally_descriptor_print(d, text, sizeof text, NULL, NULL) == TALLY_INVALID);
    return 0;
}

/* Strides that flags do not speak of, which are refused. */
static void clear_unflagged(tally_descriptor *d)
{
    if (!(d->flags & TALLY_IN_STRIDES)) {
        memset(d->in_strides, 0, sizeof d->in_strides);
        d->in_offset = 0;
    }
    if (!(d->flags & TALLY_OUT_STRIDES)) {
        memset(d->out_strides, 0, sizeof d->out_strides);
        d->out_offset = 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT, again = TALLY_DESCRIPTOR_INIT, full;
    tally_error e = TALLY_ERROR_INIT;
    char text[TALLY_WORD_MAX];
    memcpy((char *)&d + sizeof d.size, data,
           bytes < sizeof d - sizeof d.size ? bytes : sizeof d - sizeof d.size);
    if (!is_right(&d, &e)) {
        clear_unflagged(&d); /* few inputs are right as they come */
        if (!is_right(&d, &e)) {
            return 0;
        }
    }
    HOLDS(tally_descriptor_print(&d, text, sizeof text, NULL, &e) == TALLY_OK);
    HOLDS(tally_descriptor_parse(text, &again, &e) == TALLY_OK);
    HOLDS(tly_descriptor_resolve(&d, &full, &e) == TALLY_OK);
    tly_descriptor_shorten(&full);
    HOLDS(memcmp(&full, &again, sizeof full) == 0);
    if (!tly_has_stages(&full)) { /* kernels exist for no others */
        build(&d, bytes + (size_t)d.dtype);
    }
    return 0;
}
