/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as text; see keys.h. */
#include "keys.h"

#include <stdio.h>
#include <string.h>

#include "../../runtime/host/error.h"
#include "../../runtime/host/suggest.h"

#define SHOW(piece) (int)((piece).length < 80 ? (piece).length : 80), (piece).at

/* A piece of the text. */
typedef struct piece {
    const char *at;
    size_t length;
} piece;

static tally_status refuse(tally_error *e, piece what, const char *why)
{
    return tly_fail(e, TALLY_INVALID, "plan", "'%.*s' %s", SHOW(what), why);
}

static tally_status refuse_range(const tly_plan_key *key, int32_t v, tally_error *e)
{
    return tly_fail(e, TALLY_INVALID, "plan", "'%s=%d' is out of the key's range: %d to %d%s",
                    key->name, (int)v, (int)key->least, (int)key->most,
                    key->power ? ", powers of two" : "");
}

static int is(piece text, const char *name)
{
    return strlen(name) == text.length && memcmp(text.at, name, text.length) == 0;
}

static tally_status read_template(const tly_plan_keys *const *templates, size_t count, piece item,
                                  piece value, int32_t *id, tally_error *e)
{
    tly_suggestion guess = tly_suggest_begin(value.at, value.length);
    char names[sizeof e->hint] = "";
    for (size_t i = 0; i < count; i++) {
        if (is(value, templates[i]->name)) {
            *id = (int32_t)i;
            return TALLY_OK;
        }
        tly_suggest_try(&guess, templates[i]->name);
        tly_names_add(names, sizeof names, templates[i]->name);
    }
    tly_fail(e, TALLY_INVALID, "plan", "'%.*s' names no template" TLY_SUGGESTION, SHOW(item),
             TLY_SUGGESTED(&guess));
    tly_error_hint(e, "templates: %s", names);
    return TALLY_INVALID;
}

/* What a template reads. */
static void hint_keys(tally_error *e, const tly_plan_keys *keys)
{
    char names[sizeof e->hint] = "";
    for (size_t k = 0; k < keys->count; k++)
        tly_names_add(names, sizeof names, keys->key[k].name);
    tly_error_hint(e, "%s reads %s", keys->name, names);
}

static tally_status refuse_key(const tly_plan_keys *const *templates, size_t count,
                               const tly_plan_keys *chosen, piece name, tally_error *e)
{
    tly_suggestion guess = tly_suggest_begin(name.at, name.length);
    for (size_t k = 0; chosen != NULL && k < chosen->count; k++)
        tly_suggest_try(&guess, chosen->key[k].name);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < templates[i]->count; k++)
            tly_suggest_try(&guess, templates[i]->key[k].name);
    tly_fail(e, TALLY_INVALID, "plan", "'%.*s' is no key of a plan" TLY_SUGGESTION, SHOW(name),
             TLY_SUGGESTED(&guess));
    if (chosen != NULL)
        hint_keys(e, chosen);
    return TALLY_INVALID;
}

/* Written as the print writes it: no plus sign, no leading zeros. */
static tally_status read_number(piece item, piece value, int32_t *number, tally_error *e)
{
    const size_t sign = value.length > 0 && value.at[0] == '-';
    int64_t v = 0;
    for (size_t i = sign; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return refuse(e, item, "has no whole number");
        if (v <= INT32_MAX)
            v = v * 10 + (value.at[i] - '0');
    }
    if (value.length == sign || (value.at[sign] == '0' && value.length > 1))
        return refuse(e, item, "has no whole number");
    if (v > INT32_MAX)
        return refuse(e, item, "is out of the key's range");
    *number = (int32_t)(sign ? -v : v);
    return TALLY_OK;
}

static int in_range(const tly_plan_key *key, int32_t v)
{
    return v >= key->least && v <= key->most && (!key->power || (v & (v - 1)) == 0);
}

static const tly_plan_key *find_in(const tly_plan_keys *keys, piece name)
{
    for (size_t k = 0; keys != NULL && k < keys->count; k++)
        if (is(name, keys->key[k].name))
            return &keys->key[k];
    return NULL;
}

/* The key in the template that reads it, else in the first one that has it, at best in one that
 * takes the value; NULL: no template's. */
static const tly_plan_key *find(const tly_plan_keys *const *templates, size_t count,
                                const tly_plan_keys *reads, piece name, int32_t v)
{
    const tly_plan_key *found = find_in(reads, name);
    if (found != NULL)
        return found;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < templates[i]->count; k++) {
            const tly_plan_key *key = &templates[i]->key[k];
            if (is(name, key->name) && (found == NULL || !in_range(found, v)))
                found = key;
        }
    return found;
}

/* "key=value", or "key = value" as the print writes it: a blank on both sides or on none. */
static int split(piece item, piece *name, piece *value)
{
    const char *equals = memchr(item.at, '=', item.length);
    if (equals == NULL)
        return 0;
    const char *end = item.at + item.length;
    const size_t blank = equals > item.at && equals[-1] == ' ' && equals + 1 < end &&
                         equals[1] == ' ';
    *name = (piece){ item.at, (size_t)(equals - item.at) - blank };
    *value = (piece){ equals + 1 + blank, (size_t)(end - equals) - 1 - blank };
    return name->length > 0 && value->length > 0 && memchr(name->at, ' ', name->length) == NULL &&
           memchr(value->at, ' ', value->length) == NULL;
}

static tally_status read_item(const tly_plan_keys *const *templates, size_t count,
                              const tly_plan_keys *chosen, const tly_plan_keys *reads, piece item,
                              tly_forced *f, tally_error *e)
{
    piece name, value;
    if (!split(item, &name, &value))
        return refuse(e, item, "is no key=value");
    const tly_plan_key *key = NULL;
    int32_t number = 0;
    tally_status s;
    if (is(name, "template")) {
        s = read_template(templates, count, item, value, &number, e);
    } else {
        if (find(templates, count, reads, name, 0) == NULL)
            return refuse_key(templates, count, chosen, name, e);
        s = read_number(item, value, &number, e);
        key = find(templates, count, reads, name, number);
        if (s == TALLY_OK && !in_range(key, number))
            return refuse_range(key, number, e);
    }
    if (s != TALLY_OK)
        return s;
    size_t i = key != NULL ? key->at / sizeof(int32_t) : 0; /* the template's id comes first */
    for (size_t k = 0; k < TLY_PLAN_CHOICES; k++)
        if (f->given >> k & 1 && is(name, f->name[k]))
            return refuse(e, name, "comes twice");
    if (f->given >> i & 1) /* another template's, by another name: one of both is not read */
        return refuse(e, name, "does not go together with what stands before it");
    f->given |= 1u << i;
    f->value[i] = number;
    f->name[i] = key != NULL ? key->name : "template";
    return TALLY_OK;
}

/* The template that is forced, or NULL. */
static const tly_plan_keys *forced_template(const tly_plan_keys *const *templates, size_t count,
                                            const char *at)
{
    while (*at != '\0') {
        piece name, value;
        const size_t n = strcspn(at, ",\n");
        if (split((piece){ at, n }, &name, &value) && is(name, "template"))
            for (size_t i = 0; i < count; i++)
                if (is(value, templates[i]->name))
                    return templates[i];
        at += n + (at[n] != '\0');
    }
    return NULL;
}

tally_status tly_keys_read(const tly_plan_keys *const *templates, size_t count,
                           const tly_plan_keys *chosen, const char *text, tly_forced *forced,
                           tally_error *error)
{
    *forced = (tly_forced){ .given = 0 };
    if (text == NULL)
        return TALLY_OK;
    const tly_plan_keys *reads = forced_template(templates, count, text);
    reads = reads != NULL ? reads : chosen;
    const char *at = text;
    while (*at != '\0') {
        size_t n = strcspn(at, ",\n");
        tally_status s = read_item(templates, count, chosen, reads, (piece){ at, n }, forced,
                                   error);
        if (s != TALLY_OK)
            return s;
        at += n;
        if (*at == ',' && at[1] == '\0') /* a line ends so, a list does not */
            return refuse(error, (piece){ at, 1 }, "ends the list: key=value,key=value");
        at += *at != '\0';
    }
    return TALLY_OK;
}

/* NULL: the template does not read it. */
static const tly_plan_key *find_at(const tly_plan_keys *keys, size_t at)
{
    for (size_t k = 0; k < keys->count; k++)
        if (keys->key[k].at == at)
            return &keys->key[k];
    return NULL;
}

tally_status tly_keys_check(const tly_plan_keys *keys, const tly_forced *forced, tally_error *error)
{
    for (size_t i = 1; i < TLY_PLAN_CHOICES; i++) { /* 0: the template itself */
        const tly_plan_key *key = find_at(keys, i * sizeof(int32_t));
        int32_t v = forced->value[i];
        if (!(forced->given >> i & 1))
            continue;
        /* One choice may have other names in other templates. */
        if (key == NULL || strcmp(key->name, forced->name[i]) != 0) {
            tly_fail(error, TALLY_INVALID, "plan", "'%s' is not read by the template %s",
                     forced->name[i], keys->name);
            hint_keys(error, keys);
            return TALLY_INVALID;
        }
        if (!in_range(key, v))
            return refuse_range(key, v, error);
    }
    return TALLY_OK;
}

static int32_t value_of(const void *plan, size_t at)
{
    int32_t v;
    memcpy(&v, (const char *)plan + at, sizeof v);
    return v;
}

int tly_keys_hold(const tly_plan_keys *keys, const void *plan)
{
    for (size_t k = 0; k < keys->count; k++)
        if (!in_range(&keys->key[k], value_of(plan, keys->key[k].at)))
            return 0;
    return 1;
}

/* How a line of a print is made: its key and value, and what may follow. */
typedef struct line {
    const char *name, *value, *why; /* why: NULL in a plain print */
} line;

static tally_status say(tally_write write, void *user, line l)
{
    char text[512];
    int n = l.why == NULL ? snprintf(text, sizeof text, "%s = %s\n", l.name, l.value)
                          : snprintf(text, sizeof text, "%s\t%s\t%s\n", l.name, l.value, l.why);
    return n < (int)sizeof text && write(user, text, (size_t)n) == 0 ? TALLY_OK : TALLY_IO;
}

static const char *why(const tly_plan_key *key, int32_t value)
{
    const tly_why *reason = key->why;
    while (reason->value != value && reason->value != TLY_ELSE)
        reason++;
    return reason->text;
}

static tally_status show(const tly_plan_keys *keys, int explains, const void *plan,
                         tally_write write, void *user)
{
    tally_status s = say(write, user,
                         (line){ "template", keys->name, explains ? keys->why : NULL });
    for (size_t k = 0; k < keys->count && s == TALLY_OK; k++) {
        const tly_plan_key *key = &keys->key[k];
        const int32_t value = value_of(plan, key->at);
        char number[16];
        snprintf(number, sizeof number, "%d", (int)value);
        s = say(write, user, (line){ key->name, number, explains ? why(key, value) : NULL });
    }
    return s;
}

tally_status tly_keys_explain(const tly_plan_keys *keys, const void *plan, tally_write write,
                              void *user)
{
    return show(keys, 1, plan, write, user);
}

tally_status tly_keys_print(const tly_plan_keys *keys, const void *plan, tally_write write,
                            void *user)
{
    return show(keys, 0, plan, write, user);
}
