/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions; see names.h. */
#include "names.h"

#include "../host/hash.h"

#include <stdlib.h>

static const char digits[] = "0123456789";
static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* What C keeps for <stdint.h>: int64_t, INT64_MAX, UINT64_C and their like. */
static const struct {
    const char *begin, *end;
} kept[] = {
    { "int", "_t" },    { "uint", "_t" },     { "INT", "_MIN" },
    { "INT", "_MAX" },  { "INT", "_WIDTH" },  { "INT", "_C" },
    { "UINT", "_MAX" }, { "UINT", "_WIDTH" }, { "UINT", "_C" },
};

/* Keywords, what the C library exports, and the macros of its headers: runtime/making/names.txt,
 * a name a line, sorted by bytes. As one text it needs no relocations. tests/c_names holds it
 * against the C library. */
static const char listed[] = {
#include "names.inc"
};

static int is_kept(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const size_t begin = strlen(kept[i].begin), end = strlen(kept[i].end);
        if (length >= begin + end && strncmp(name, kept[i].begin, begin) == 0 &&
            strcmp(name + length - end, kept[i].end) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Searches by halves; the name at `middle` is the line which that character is in. */
static int is_listed(const char *name, size_t length)
{
    size_t low = 0, high = sizeof listed;
    while (low < high) {
        size_t middle = low + (high - low) / 2, end;
        while (middle > low && listed[middle - 1] != '\n') {
            middle--;
        }
        for (end = middle; listed[end] != '\n'; end++) {
        }
        const size_t line = end - middle, less = line < length ? line : length;
        int order = memcmp(name, listed + middle, less);
        order = order != 0 ? order : (length > line) - (length < line);
        if (order == 0) {
            return 1;
        }
        *(order < 0 ? &high : &low) = order < 0 ? middle : end + 1;
    }
    return 0;
}

/* Why no function can have this name; NULL: one can. */
static const char *fault_of(const char *name, size_t length)
{
    if (length == 0 || strchr(digits, name[0]) != NULL || name[strspn(name, letters)] != 0) {
        return "the name is not a C identifier";
    }
    if (length > TLY_MOST_NAME) {
        return "the name is too long";
    }
    /* Names of the file scope that begin with an underscore are the implementation's. */
    if (name[0] == '_' || is_kept(name, length) || is_listed(name, length)) {
        return "C, C++ or the C library has this name";
    }
    return NULL;
}

/* ---- the set ---- */

static const char part[] = "_part";

enum { PART = sizeof part - 1, FIRST_ROOM = 64 };

/* Where the name is, or where it would be. There is a free slot. */
static const char **slot_of(const tly_name_set *set, const char *name, size_t length)
{
    size_t i = tly_hash(0, name, length) & (set->room - 1);
    while (set->slots[i] != NULL &&
           (strncmp(set->slots[i], name, length) != 0 || set->slots[i][length] != 0)) {
        i = (i + 1) & (set->room - 1);
    }
    return &set->slots[i];
}

static int has(const tly_name_set *set, const char *name, size_t length)
{
    return *slot_of(set, name, length) != NULL;
}

/* Half of the slots stay free. */
static int make_room(tly_name_set *set)
{
    if (set->count < set->room / 2) {
        return 1;
    }
    tly_name_set wide = { .room = set->room > 0 ? set->room * 2 : FIRST_ROOM };
    wide.slots = calloc(wide.room, sizeof *wide.slots);
    if (wide.slots == NULL) {
        return 0;
    }
    for (size_t i = 0; i < set->room; i++) {
        if (set->slots[i] != NULL) {
            *slot_of(&wide, set->slots[i], strlen(set->slots[i])) = set->slots[i];
        }
    }
    free(set->slots);
    wide.count = set->count;
    *set = wide;
    return 1;
}

/* Whether another name's second function has this name, or this name's has another's. */
static int meets_part(const tly_name_set *set, const char *name, size_t length)
{
    char longer[TLY_MOST_NAME + sizeof part];
    memcpy(longer, name, length);
    memcpy(longer + length, part, sizeof part);
    return has(set, longer, length + PART) ||
           (length > PART && strcmp(name + length - PART, part) == 0 &&
            has(set, name, length - PART));
}

int tly_name_set_add(tly_name_set *set, const char *name, const char **fault)
{
    const size_t length = strlen(name);
    *fault = fault_of(name, length);
    if (*fault != NULL) {
        return 1;
    }
    if (!make_room(set)) {
        return 0;
    }
    if (has(set, name, length)) {
        *fault = "the name comes twice";
    } else if (meets_part(set, name, length)) {
        *fault = "the name collides with another function's NAME_part";
    } else {
        *slot_of(set, name, length) = name;
        set->count++;
    }
    return 1;
}

void tly_name_set_end(tly_name_set *set)
{
    free(set->slots);
    *set = (tly_name_set){ NULL, 0, 0 };
}

void tly_name_escape(char *name)
{
    for (; *name != 0; name++) {
        *name = strchr(letters, *name) != NULL ? *name : '_';
    }
}
