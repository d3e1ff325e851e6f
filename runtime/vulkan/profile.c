/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles; see profile.h. */
#include "profile.h"

#include "../host/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line on its way: `name = value`, without blanks around. */
typedef struct line {
    int number;
    const char *name, *value;
    size_t name_length, value_length;
} line;

static void trim(const char **from, size_t *length)
{
    while (*length > 0 && strchr(" \t\r", **from) != NULL) {
        ++*from;
        --*length;
    }
    while (*length > 0 && strchr(" \t\r", (*from)[*length - 1]) != NULL) {
        --*length;
    }
}

static tally_status refuse(const line *l, const char *what, tally_error *error)
{
    return tly_fail(error, TALLY_INVALID, "device", "profile, line %d: %s: %.*s", l->number, what,
                    (int)(l->name_length < 60 ? l->name_length : 60), l->name);
}

static tally_status refuse_range(const line *l, const tly_cap *cap, tally_error *error)
{
    char range[TLY_CAP_RANGE];
    tly_cap_range(cap, range, sizeof range);
    return tly_fail(error, TALLY_INVALID, "device",
                    "profile, line %d: %s = %.*s is out of its range: %s", l->number, cap->name,
                    (int)(l->value_length < 40 ? l->value_length : 40), l->value, range);
}

/* Decimal, or hexadecimal behind 0x; what is beyond 64 bits is the largest number that is not. */
static int take_number(const line *l, uint64_t *number)
{
    const int hex = l->value_length > 2 && l->value[0] == '0' && l->value[1] == 'x';
    const char *digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
    const char *first = l->value + (hex ? 2 : 0), *end = l->value + l->value_length;
    if (first == end || strspn(first, digits) < (size_t)(end - first)) {
        return 0;
    }
    *number = strtoull(first, NULL, hex ? 16 : 10);
    return 1;
}

static tally_status take_device(const line *l, tly_profile *p, tally_error *error)
{
    if (l->value_length == 0 || l->value_length >= sizeof p->device) {
        return refuse(l, "a name of 1 to 63 bytes", error);
    }
    memcpy(p->device, l->value, l->value_length);
    return TALLY_OK;
}

/* `seen` has one flag a fact, and one more for the device. */
static tally_status take_line(const line *l, tly_profile *p, char seen[TLY_CAPS + 1],
                              tally_error *error)
{
    size_t i = 0;
    while (i < TLY_CAPS && (strlen(tly_cap_rows[i].name) != l->name_length ||
                            memcmp(tly_cap_rows[i].name, l->name, l->name_length) != 0)) {
        i++;
    }
    if (i == TLY_CAPS && !(l->name_length == 6 && memcmp(l->name, "device", 6) == 0)) {
        return refuse(l, "an unknown name", error);
    }
    if (seen[i]) {
        return refuse(l, "given twice", error);
    }
    seen[i] = 1;
    if (i == TLY_CAPS) {
        return take_device(l, p, error);
    }
    uint64_t number;
    if (!take_number(l, &number)) {
        return refuse(l, "not a number", error);
    }
    if (!tly_cap_holds(&tly_cap_rows[i], number)) {
        return refuse_range(l, &tly_cap_rows[i], error);
    }
    tly_cap_set(&p->caps, &tly_cap_rows[i], (uint32_t)number);
    return TALLY_OK;
}

static tally_status parse_line(line *l, tly_profile *p, char seen[TLY_CAPS + 1], tally_error *error)
{
    trim(&l->name, &l->name_length);
    if (l->name_length == 0 || l->name[0] == '#') {
        return TALLY_OK;
    }
    const char *equals = memchr(l->name, '=', l->name_length);
    if (equals == NULL) {
        return refuse(l, "no name = value", error);
    }
    l->value = equals + 1;
    l->value_length = l->name_length - (size_t)(equals - l->name) - 1;
    l->name_length = (size_t)(equals - l->name);
    trim(&l->name, &l->name_length);
    trim(&l->value, &l->value_length);
    return take_line(l, p, seen, error);
}

tally_status tly_profile_parse(const char *text, tly_profile *profile, tally_error *error)
{
    tly_profile p;
    char seen[TLY_CAPS + 1] = { 0 };
    memset(&p, 0, sizeof p);
    line l = { 0 };
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        l.number++;
        l.name = text;
        l.name_length = length;
        tally_status status = parse_line(&l, &p, seen, error);
        if (status != TALLY_OK) {
            return status;
        }
        text += length + (text[length] != 0);
    }
    for (size_t i = 0; i <= TLY_CAPS; i++) {
        const int may_lack = i < TLY_CAPS && tly_cap_rows[i].form == 'l';
        if (!seen[i] && may_lack) {
            tly_cap_set(&p.caps, &tly_cap_rows[i], tly_cap_rows[i].least);
        } else if (!seen[i]) {
            return tly_fail(error, TALLY_INVALID, "device", "profile, line %d: the end, without %s",
                            l.number + 1, i < TLY_CAPS ? tly_cap_rows[i].name : "device");
        }
    }
    *profile = p;
    return TALLY_OK;
}

size_t tly_profile_print(const tly_profile *profile, char *text, size_t capacity)
{
    size_t length = (size_t)snprintf(text, capacity, "device = %s\n", profile->device);
    for (size_t i = 0; i < TLY_CAPS; i++) {
        const tly_cap *cap = &tly_cap_rows[i];
        const uint32_t value = tly_cap_get(&profile->caps, cap);
        char *at = length < capacity ? text + length : NULL;
        const size_t room = length < capacity ? capacity - length : 0;
        int written = cap->form == 'x' ? snprintf(at, room, "%s = 0x%x\n", cap->name, value)
                                       : snprintf(at, room, "%s = %u\n", cap->name, value);
        length += written > 0 ? (size_t)written : 0;
    }
    return length;
}
