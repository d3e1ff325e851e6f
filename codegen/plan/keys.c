/* Plans as text; see keys.h. */
#include "keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/error.h"

static int32_t *field_of(void *plan, const tly_plan_key *key)
{
    return (int32_t *)(void *)((char *)plan + key->at);
}

static int32_t template_of(const void *plan)
{
    int32_t id;
    memcpy(&id, plan, sizeof id);
    return id;
}

static int concerns(const tly_plan_key *key, const void *plan)
{
    return key->templates == 0 || (key->templates >> template_of(plan) & 1) != 0;
}

static tally_status refuse(tally_error *e, const char *what, size_t n, const char *why)
{
    return tly_fail(e, TALLY_INVALID, "plan", "'%.*s' %s", (int)n, what, why);
}

static int is(const char *text, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(text, name, n) == 0;
}

static tally_status set_template(const tly_plan_keys *keys, void *plan, const char *item, size_t n,
                                 const char *name, tally_error *e)
{
    for (size_t i = 0; i < keys->template_count; i++)
        if (is(name, n - (size_t)(name - item), keys->templates[i])) {
            int32_t id = (int32_t)i;
            memcpy(plan, &id, sizeof id);
            return TALLY_OK;
        }
    return refuse(e, item, n, "names no template");
}

static tally_status set(const tly_plan_key *key, void *plan, const char *item, size_t n,
                        const char *value, tally_error *e)
{
    char *end;
    if (!concerns(key, plan))
        return refuse(e, item, strlen(key->name), "cannot be chosen for this template");
    long v = strtol(value, &end, 10);
    if (end == value || end != item + n)
        return refuse(e, item, n, "has no whole number");
    if (v < key->least || v > key->most || (key->power && (v & (v - 1)) != 0))
        return refuse(e, item, n, "is out of the key's range");
    *field_of(plan, key) = (int32_t)v;
    return TALLY_OK;
}

static tally_status apply(const tly_plan_keys *keys, void *plan, const char *item, size_t n,
                          tally_error *e)
{
    const char *equals = memchr(item, '=', n);
    if (equals == NULL || equals == item)
        return refuse(e, item, n, "is no key=value");
    size_t name = (size_t)(equals - item);
    if (keys->choosable && is(item, name, "template"))
        return set_template(keys, plan, item, n, equals + 1, e);
    for (size_t i = 0; i < keys->count; i++)
        if (is(item, name, keys->key[i].name))
            return set(&keys->key[i], plan, item, n, equals + 1, e);
    return refuse(e, item, name, "is no key of a plan");
}

tally_status tly_keys_override(const tly_plan_keys *keys, void *plan, const char *overrides,
                               tally_error *error)
{
    for (const char *at = overrides; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, ",");
        tally_status s = apply(keys, plan, at, n, error);
        if (s != TALLY_OK)
            return s;
        at += n;
        at += *at == ',';
    }
    return TALLY_OK;
}

static tally_status say(tally_write write, void *user, const char *name, const char *value)
{
    char line[80];
    int n = snprintf(line, sizeof line, "%s = %s\n", name, value);
    return write(user, line, (size_t)n) == 0 ? TALLY_OK : TALLY_IO;
}

tally_status tly_keys_print(const tly_plan_keys *keys, const void *plan, tally_write write,
                            void *user)
{
    tally_status s = say(write, user, "template", keys->templates[template_of(plan)]);
    for (size_t i = 0; i < keys->count && s == TALLY_OK; i++) {
        char number[16];
        int32_t v;
        if (!concerns(&keys->key[i], plan))
            continue;
        memcpy(&v, (const char *)plan + keys->key[i].at, sizeof v);
        snprintf(number, sizeof number, "%d", (int)v);
        s = say(write, user, keys->key[i].name, number);
    }
    return s;
}
