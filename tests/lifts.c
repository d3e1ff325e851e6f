/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: what is lifted is only text, so every shape has its own expectation, not a sample. */
#include "lifts.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* `before` neutral elements in scan order, then the case, `outer` times, each element `inner`
 * times side by side. */
typedef struct lift {
    int outer, inner, before, serial; /* serial: in serial order, too */
} lift;

static const lift lifts[] = {
    { 1, 1, 0, 1 },     { 7, 1, 0, 0 },     { 1, 2, 0, 0 },    { 1, 5, 0, 1 },    { 3, 15, 0, 0 },
    { 1, 20, 0, 0 },    { 3, 33, 0, 1 },    { 2, 300, 0, 0 },  { 1, 1, 3, 0 },    { 1, 1, 62, 0 },
    { 5, 1, 61, 1 },    { 1, 1, 509, 0 },   { 1, 1, 1021, 0 }, { 2, 1, 2046, 0 }, { 1, 3, 680, 0 },
    { 1, 1, 16381, 0 }, { 2, 1, 32765, 0 }, { 1, 4, 8190, 0 }, { 1, 40, 300, 0 }
};

enum { TEXT = 4096 };

static void repeat_elements(const char *text, int inner, char *to)
{
    char copy[TEXT], *rest = copy, *element;
    snprintf(copy, sizeof copy, "%s", text);
    *to = 0;
    while ((element = strsep(&rest, " ")) != NULL)
        to += sprintf(to, " %s*%d", element, inner);
}

static void lift_text(const tly_scan *s, const lift *l, const char *text, int reverse, char *to)
{
    char elements[TEXT], pad[64] = "";
    repeat_elements(text, l->inner, elements);
    if (l->before)
        snprintf(pad, sizeof pad, " %s*%d", s->neutral, l->before * l->inner);
    *to = 0;
    for (int k = 0; k < l->outer; k++)
        to += sprintf(to, "%s%s", reverse ? elements : pad, reverse ? pad : elements);
}

int tly_scan_run(tly_levels *levels, const tly_scan *s, void (*wrong)(const char *why))
{
    const int reverse = strstr(s->options, "reverse") != NULL;
    char word[160], in[8 * TEXT], out[8 * TEXT], why[512];
    const tly_case c = { word, in, out };
    int count = 0;

    for (size_t k = 0; k < COUNT(lifts); k++) {
        const lift *l = &lifts[k];
        if (l->before && !s->neutral)
            continue;
        lift_text(s, l, s->in, reverse, in);
        lift_text(s, l, s->out, reverse, out);
        for (int serial = 0; serial <= l->serial; serial++) {
            snprintf(word, sizeof word, "%s:%dx%dx%d:axis=1%s%s", s->kernel, l->outer,
                     s->length + l->before, l->inner, s->options, serial ? ",order=serial" : "");
            if (tly_case_run(levels, &c, why, sizeof why)) {
                wrong(why);
                count++;
            }
        }
    }
    return count;
}
