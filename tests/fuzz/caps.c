/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of Vulkan devices: those of a device with a few of them changed, as a profile's text. What
 * parses is in its ranges, and then each problem has a plan and, where that takes little time,
 * modules that validate and a list of dispatches; or the device lacks what it needs, or overrides
 * are refused. What does not parse says which range.
 *
 * The input: a byte for the device and the kind of problem, 4 for the seed of the problem, and 6
 * for each change.
 */
#include "page.h"

#include "../../codegen/generate_gpu.h"
#include "../../codegen/plan/gpu.h"
#include "../../runtime/launch/dispatches.h"
#include "../../runtime/problem/canonicalise.h"
#include "../../runtime/problem/specialise.h"
#include "../../runtime/vulkan/profile.h"
#include "../caps.h"
#include "../random.h"

enum { MOST_CHANGES = 8, SMALL = 1 << 16 };

/* Bits of the first byte; the others choose the device. */
enum { REDUCES = 0x80, LARGE = 0x40, FORCED = 0x20 };

#define COMMON \
    TLY_ALL_SUBGROUPS, TLY_ALL_FEATURES, .invocations = 1024, .groups_x = 65535, \
        .groups_y = 65535, .shared_bytes = 32768, .buffer_range = 134217728, .offset_align = 16

/* A GPU, a CPU that plays one and counts trips, and the least that there is. */
static const tly_caps bases[] = {
    { COMMON, .vendor = 0x10de, .progress = 1, .saturation = 270336 },
    { COMMON, .subgroup = 8, .trip_limit = 65000, .saturation = 64 },
    { .invocations = 128,
      .groups_x = 65535,
      .groups_y = 65535,
      .shared_bytes = 16384,
      .buffer_range = 134217728,
      .offset_align = 256,
      .saturation = 16384 },
};

static uint64_t read_number(const uint8_t *at, int bytes)
{
    uint64_t n = 0;
    for (int i = 0; i < bytes; i++) {
        n = n << 8 | at[i];
    }
    return n;
}

/* Any number, one near a power of two, or one at an end of the range. */
static uint64_t draw_value(const tly_cap *cap, uint8_t kind, uint32_t n)
{
    const uint64_t ends[] = { cap->least, cap->most, (uint64_t)cap->most + 1,
                              (uint64_t)cap->least - 1 };
    switch (kind % 4) {
    case 0:
        return n;
    case 1:
        return (UINT64_C(1) << n % 34) + n / 34 % 3 - 1;
    case 2:
        return ends[n % 4];
    default: /* in the range */
        return cap->form == 'p' ? cap->most >> n % 8
                                : cap->least + n % ((uint64_t)cap->most - cap->least + 1);
    }
}

/* The text of the base with its changes; returns whether all are in their ranges. */
static int write_profile(const tly_caps *base, const uint8_t *data, size_t bytes, char *text,
                         size_t room)
{
    uint64_t values[TLY_CAPS];
    int right = 1;
    for (size_t i = 0; i < TLY_CAPS; i++) {
        values[i] = tly_cap_get(base, &tly_cap_rows[i]);
    }
    for (size_t k = 0; k < MOST_CHANGES && bytes >= 6; k++, data += 6, bytes -= 6) {
        const size_t i = data[0] % TLY_CAPS;
        values[i] = draw_value(&tly_cap_rows[i], data[1], (uint32_t)read_number(data + 2, 4));
    }
    size_t length = (size_t)snprintf(text, room, "device = fuzzed\n");
    for (size_t i = 0; i < TLY_CAPS; i++) {
        right = right && tly_cap_holds(&tly_cap_rows[i], values[i]);
        length += (size_t)snprintf(text + length, room - length, "%s = %llu\n",
                                   tly_cap_rows[i].name, (unsigned long long)values[i]);
    }
    return right;
}

typedef struct subject {
    const tly_caps *caps;
    tly_problem problem;
    tly_geometry geometry;
} subject;

static tally_status plan(const subject *s, const char *overrides, tly_gpu_plan *plan)
{
    tally_error e = TALLY_ERROR_INIT;
    const tally_status status = tly_gpu_plan_make(&s->problem, &s->geometry, s->caps, overrides,
                                                  plan, &e);
    HOLDS(status == TALLY_OK || e.message[0] != 0);
    HOLDS(status == TALLY_OK || status == TALLY_UNSUPPORTED ||
          (status == TALLY_INVALID && *overrides != 0));
    return status;
}

/* The plan with a few of its choices forced, if it can be. */
static void force(const subject *s, tly_random *r, tly_gpu_plan *made)
{
    char overrides[256] = "";
    fuzz_page shown = { .length = 0 };
    HOLDS(tly_gpu_plan_print(made, fuzz_add, &shown) == TALLY_OK);
    tly_random_plan(r, shown.text, overrides, sizeof overrides);
    plan(s, overrides, made);
}

static void build(const subject *s, const tly_gpu_plan *plan)
{
    tly_caps code;
    tly_gpu_artifact made;
    tly_gpu_steps steps;
    tally_error e = TALLY_ERROR_INIT;
    tly_caps_of_code(s->caps, plan, &code);
    tally_status status = tly_generate_gpu(&s->problem, &code, plan, &made, &e);
    if (status != TALLY_OK) {
        fprintf(stderr, "%s: %s\n", e.field, e.message);
    }
    HOLDS(status == TALLY_OK);
    status = s->geometry.empty ? TALLY_UNSUPPORTED
                               : tly_gpu_steps_make(&s->problem, &s->geometry, plan, &made.launch,
                                                    s->caps, &steps, &e);
    HOLDS(status == TALLY_OK || status == TALLY_UNSUPPORTED);
    if (status == TALLY_OK) {
        tly_gpu_steps_free(&steps);
    }
    tly_release_gpu(&made);
}

static void check(const tly_caps *caps, const tally_descriptor *d, tly_random *forced)
{
    subject s = { .caps = caps };
    tly_gpu_plan made;
    tly_canonicalise(d, 1, &s.problem, &s.geometry);
    tly_specialise_for_device(&s.problem);
    if (plan(&s, "", &made) != TALLY_OK) {
        return;
    }
    if (forced != NULL) {
        force(&s, forced, &made);
    }
    int64_t elements = 1;
    for (int i = 0; i < d->rank; i++) {
        elements = elements > SMALL ? elements : elements * d->sizes[i];
    }
    if (elements <= SMALL) {
        build(&s, &made);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[2048], word[TALLY_WORD_MAX];
    tly_profile profile;
    tally_descriptor d;
    tally_error e = TALLY_ERROR_INIT;
    if (bytes < 5) {
        return 0;
    }
    const tly_caps *base = &bases[data[0] % (sizeof bases / sizeof *bases)];
    const int right = write_profile(base, data + 5, bytes - 5, text, sizeof text);
    const tally_status status = tly_profile_parse(text, &profile, &e);
    HOLDS(status == (right ? TALLY_OK : TALLY_INVALID));
    if (!right) {
        HOLDS(strstr(e.message, "out of its range") != NULL);
        return 0;
    }
    tly_random r = tly_random_seed(read_number(data + 1, 4), 0);
    tly_random_view(&r, (int64_t)1 << (data[0] & LARGE ? 30 : 14),
                    TLY_DRAW_WIDER | (data[0] & REDUCES ? TLY_DRAW_REDUCTIONS : TLY_DRAW_SCANS),
                    &d);
    HOLDS(tally_descriptor_print(&d, word, sizeof word, NULL, &e) == TALLY_OK);
    check(&profile.caps, &d, data[0] & FORCED ? &r : NULL);
    return 0;
}
