/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles; see profile.h. */
#include "profile.h"

#include "../error.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
    char form;
} fields[] = {
#define CAP(name, form, meaning) { #name, offsetof(tly_caps, name), form },
#include "../caps.def"
#undef CAP
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

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

static int take_number(const line *l, char form, uint32_t *number)
{
    char text[24];
    char *end;
    int hex = l->value_length > 2 && l->value[0] == '0' && l->value[1] == 'x';
    if (l->value_length == 0 || l->value_length >= sizeof text ||
        strchr("0123456789", l->value[0]) == NULL) {
        return 0;
    }
    memcpy(text, l->value, l->value_length);
    text[l->value_length] = 0;
    unsigned long long n = strtoull(text, &end, hex ? 16 : 10);
    *number = (uint32_t)n;
    return *end == 0 && n <= (form == 'b' ? 1 : UINT32_MAX);
}

/* `seen` has one flag a field, and one more for the device. */
static tally_status take_line(const line *l, tly_profile *p, char seen[FIELDS + 1],
                              tally_error *error)
{
    int i = 0;
    while (i < FIELDS && (strlen(fields[i].name) != l->name_length ||
                          memcmp(fields[i].name, l->name, l->name_length) != 0)) {
        i++;
    }
    if (i == FIELDS && !(l->name_length == 6 && memcmp(l->name, "device", 6) == 0)) {
        return refuse(l, "an unknown name", error);
    }
    if (seen[i]) {
        return refuse(l, "given twice", error);
    }
    seen[i] = 1;
    if (i == FIELDS) {
        if (l->value_length == 0 || l->value_length >= sizeof p->device) {
            return refuse(l, "a name of 1 to 63 bytes", error);
        }
        memcpy(p->device, l->value, l->value_length);
        return TALLY_OK;
    }
    uint32_t number;
    if (!take_number(l, fields[i].form, &number)) {
        return refuse(l, fields[i].form == 'b' ? "not 0 or 1" : "not a number of 32 bits", error);
    }
    memcpy((char *)&p->caps + fields[i].offset, &number, sizeof number);
    return TALLY_OK;
}

static tally_status parse_line(line *l, tly_profile *p, char seen[FIELDS + 1], tally_error *error)
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
    char seen[FIELDS + 1] = { 0 };
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
    for (int i = 0; i <= FIELDS; i++) {
        if (!seen[i]) {
            return tly_fail(error, TALLY_INVALID, "device", "profile, line %d: the end, without %s",
                            l.number + 1, i < FIELDS ? fields[i].name : "device");
        }
    }
    *profile = p;
    return TALLY_OK;
}

size_t tly_profile_print(const tly_profile *profile, char *text, size_t capacity)
{
    size_t length = 0;
    for (int i = -1; i < FIELDS; i++) {
        char *at = length < capacity ? text + length : NULL;
        size_t room = length < capacity ? capacity - length : 0;
        uint32_t value = 0;
        if (i >= 0) {
            memcpy(&value, (const char *)&profile->caps + fields[i].offset, sizeof value);
        }
        int written = i < 0 ? snprintf(at, room, "device = %s\n", profile->device)
                      : fields[i].form == 'x'
                          ? snprintf(at, room, "%s = 0x%x\n", fields[i].name, value)
                          : snprintf(at, room, "%s = %u\n", fields[i].name, value);
        length += written > 0 ? (size_t)written : 0;
    }
    return length;
}
