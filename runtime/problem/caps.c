/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a device by name, and the range of each; see caps.h. */
#include "caps.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const tly_cap tly_cap_rows[TLY_CAPS] = {
#define CAP(name, form, least, most, meaning) \
    { #name, offsetof(tly_caps, name), form, least, most },
#include "caps.def"
#undef CAP
};

uint32_t tly_cap_get(const tly_caps *caps, const tly_cap *cap)
{
    uint32_t value;
    memcpy(&value, (const char *)caps + cap->at, sizeof value);
    return value;
}

void tly_cap_set(tly_caps *caps, const tly_cap *cap, uint32_t value)
{
    memcpy((char *)caps + cap->at, &value, sizeof value);
}

int tly_cap_holds(const tly_cap *cap, uint64_t value)
{
    if (cap->form == 'o' && value == 0) {
        return 1;
    }
    return value >= cap->least && value <= cap->most &&
           (cap->form != 'p' || (value & (value - 1)) == 0);
}

void tly_cap_range(const tly_cap *cap, char *text, size_t capacity)
{
    snprintf(text, capacity, "%s%u to %u%s", cap->form == 'o' ? "0, or " : "", cap->least,
             cap->most, cap->form == 'p' ? ", powers of two" : "");
}

const tly_cap *tly_caps_fault(const tly_caps *caps)
{
    for (size_t i = 0; i < TLY_CAPS; i++) {
        if (!tly_cap_holds(&tly_cap_rows[i], tly_cap_get(caps, &tly_cap_rows[i]))) {
            return &tly_cap_rows[i];
        }
    }
    return NULL;
}
