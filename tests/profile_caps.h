/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a device that is not here: those of a checked-in profile, for Criterion's units. */
#ifndef TLY_TEST_PROFILE_CAPS_H
#define TLY_TEST_PROFILE_CAPS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "../runtime/vulkan/profile.h"

/* The text, until the next call. */
static inline const char *tly_profile_text(const char *name)
{
    static char text[1 << 16];
    char path[4096];
    const char *folder = getenv("TALLY_TEST_PROFILES");
    snprintf(path, sizeof path, "%s/%s.profile", folder ? folder : "profiles", name);
    FILE *f = fopen(path, "r");
    cr_assert(f, "%s", path);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static inline tly_caps tly_profile_caps(const char *name)
{
    tly_profile profile;
    cr_assert(tly_profile_parse(tly_profile_text(name), &profile, NULL) == TALLY_OK, "%s", name);
    return profile.caps;
}

#endif
