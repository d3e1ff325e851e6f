/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that could be; see choices.h. */
#include "choices.h"

#include "../../runtime/host/error.h"
#include "operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_PLAN = 512, /* bytes of a plan */
    MOST_TEXT = 512, /* of overrides */
    MOST_SEEN = 256, /* plans that are told apart */
    MOST_KEYS = 16,  /* of a template */
    FEW = 8,         /* values that are all tried */
    STEPS = 3,       /* doublings up and down */
    FROM_ZERO = 4    /* doublings from one to the next, where the chosen value is 0 */
};

typedef struct listing {
    const tly_choosing *c;
    const char *overrides;
    tally_write write;
    void *user;
    int failed; /* the writer wants no more */
    int count;
    char seen[MOST_SEEN][MOST_PLAN];
} listing;

static int32_t value_of(const void *plan, size_t at)
{
    int32_t v;
    memcpy(&v, (const char *)plan + at, sizeof v);
    return v;
}

/* A line, if the plan is legal and none like it came before. */
static void try(listing *l, const char *key, const char *value)
{
    char line[MOST_TEXT], *plan = l->seen[l->count];
    int n = snprintf(line, sizeof line, "%s%s%s=%s\n", l->overrides,
                     l->overrides[0] != 0 ? "," : "", key, value);
    if (l->failed || l->count + 1 == MOST_SEEN || n >= (int)sizeof line)
        return;
    line[n - 1] = 0;
    memset(plan, 0, MOST_PLAN);
    if (l->c->make(l->c->about, line, plan) != TALLY_OK)
        return;
    for (int i = 0; i < l->count; i++)
        if (memcmp(l->seen[i], plan, l->c->plan_bytes) == 0)
            return;
    l->count++;
    line[n - 1] = '\n';
    l->failed = l->write(l->user, line, (size_t)n) != 0;
}

static void try_number(listing *l, const tly_plan_key *key, int64_t value)
{
    char text[24];
    if (value < key->least || value > key->most)
        return;
    snprintf(text, sizeof text, "%d", (int)value);
    try(l, key->name, text);
}

static void try_key(listing *l, const tly_plan_key *key, int64_t chosen)
{
    if (key->most - key->least <= FEW && !key->power) {
        for (int64_t v = key->least; v <= key->most; v++)
            try_number(l, key, v);
        return;
    }
    if (key->least == 0)
        try_number(l, key, 0);
    for (int k = STEPS; k > 0; k--)
        if (chosen >> k << k == chosen && chosen > 0)
            try_number(l, key, chosen >> k);
    for (int k = 1; k <= STEPS && chosen > 0; k++)
        try_number(l, key, chosen << k);
    for (int k = FROM_ZERO; k < 31 && chosen == 0; k += FROM_ZERO)
        try_number(l, key, (int64_t)1 << k);
}

/* Whether the overrides have a key; names are no part of each other's ends. */
static int has_key(const char *overrides, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = overrides; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == '=' || at[length] == ' '))
            return 1;
    }
    return 0;
}

tally_status tly_choices_print(const tly_choosing *choosing, const char *overrides,
                               tally_write write, void *user, tally_error *error)
{
    listing *l = calloc(1, sizeof *l);
    if (l == NULL)
        return tly_out_of_memory(error, "a list of plans", sizeof *l);
    *l = (listing){ .c = choosing, .overrides = overrides, .write = write, .user = user };
    char *base = l->seen[l->count++];
    tally_status s = choosing->make(choosing->about, overrides, base);
    if (s == TALLY_OK) {
        const int32_t id = value_of(base, 0);
        const tly_plan_keys *keys = choosing->templates[id];
        for (int32_t t = 0; t < choosing->count && !has_key(overrides, "template"); t++)
            if (t != id && t != choosing->barred)
                try(l, "template", choosing->templates[t]->name);
        for (size_t k = 0; k < keys->count; k++)
            if (!has_key(overrides, keys->key[k].name))
                try_key(l, &keys->key[k], value_of(base, keys->key[k].at));
        if (l->failed)
            s = TALLY_IO;
    }
    free(l);
    return s;
}

/* Additions of integers wrap, in any order to the same; what is picked is an element. */
static int is_exact(const tly_problem *p)
{
    return tly_class_of((tally_dtype)p->acc) != TLY_FLOATING || tly_operator_of(p)->compares;
}

tally_status tly_order_print(const tly_problem *problem, const tly_plan_keys *keys,
                             const char *free, const void *plan, tally_write write, void *user)
{
    static const char exact[] = "exact\n";
    tly_plan_key left[MOST_KEYS];
    tly_plan_keys deciding = { keys->name, left, 0, NULL };
    if (is_exact(problem))
        return write(user, exact, sizeof exact - 1) == 0 ? TALLY_OK : TALLY_IO;
    for (size_t k = 0; k < keys->count && strcmp(free, "*") != 0; k++) {
        char name[40];
        snprintf(name, sizeof name, " %s ", keys->key[k].name);
        if (strstr(free, name) == NULL)
            left[deciding.count++] = keys->key[k];
    }
    return tly_keys_print(&deciding, plan, write, user);
}
