/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random plan overrides. Guarantees: only the seed decides. Most keys are of the printed plan, most
 * values near the chosen one, so that about a third of what is drawn can be built.
 */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {
    "lanes",       "pairs",      "unroll",    "window_loads", "block",    "chunk",
    "prefetch",    "rows",       "lines",     "tile_lanes",   "long_row", "small",
    "split_bytes", "scan",       "workgroup", "team",         "vector",   "segments",
    "addresses",   "index_bits", "history",   "careful",      "colour",
};
static const char *const templates[] = {
    "rows",   "short",     "columns",     "linear",       "transposed",
    "serial", "subgroups", "workgroups",  "look_back",    "look_back_lanes",
    "copy",   "narrow",    "medium",      "tiles",        "turned",
    "staged", "none",      "reduce_rows", "reduce_lanes", "reduce_interleaved",
};

#define ANY(r, array) (array)[tly_random_below(r, (int64_t)(sizeof(array) / sizeof(array)[0]))]

/* The key's chosen value, from the printed plan; 1 if it has none. */
static long chosen(const char *plan, const char *key)
{
    char line[40];
    snprintf(line, sizeof line, "\n%s = ", key);
    const char *at = strstr(plan, line);
    return at ? strtol(at + strlen(line), NULL, 10) : 1;
}

static long draw_value(tly_random *r, const char *plan, const char *key)
{
    const long now = chosen(plan, key);
    switch (tly_random_below(r, 16)) {
    case 0:
        return 1L << tly_random_below(r, 22);
    case 1:
        return (long)tly_random_between(r, -1, 40);
    case 2:
        return (long)(tly_random_next(r) >> tly_random_between(r, 0, 63));
    case 3:
    case 4:
    case 5:
        return 1L << tly_random_below(r, 7);
    case 6:
    case 7:
        return (long)tly_random_between(r, 0, 2);
    case 8:
    case 9:
    case 10:
        return now << tly_random_below(r, 4);
    default:
        return now >> tly_random_below(r, 4);
    }
}

/* A key of the printed plan, mostly. */
static void draw_key(tly_random *r, const char *plan, char *key, size_t room)
{
    const char *line = plan;
    snprintf(key, room, "%s", ANY(r, keys));
    if (tly_random_one_in(r, 24))
        return;
    for (int64_t skip = tly_random_between(r, 1, 9); *line; line += strcspn(line, "\n") + 1)
        if (skip-- == 0)
            snprintf(key, room, "%.*s", (int)strcspn(line, " "), line);
}

void tly_random_plan(tly_random *r, const char *plan, char *overrides, size_t room)
{
    size_t used = 0;
    for (int64_t n = tly_random_between(r, 1, tly_random_between(r, 1, 4)); n > 0; n--) {
        char key[32];
        draw_key(r, plan, key, sizeof key);
        if (strcmp(key, "template") && !tly_random_one_in(r, 24))
            used += (size_t)snprintf(overrides + used, room - used, "%s%s=%ld", used ? "," : "",
                                     key, draw_value(r, plan, key));
        else
            used += (size_t)snprintf(overrides + used, room - used, "%stemplate=%s",
                                     used ? "," : "", ANY(r, templates));
    }
}
