/* Plans as text; see keys.h. */
#include "keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/error.h"

/* A piece of the text, without blanks around it. */
typedef struct piece {
    const char *at;
    size_t length;
} piece;

static piece trim(const char *from, const char *to)
{
    while (from < to && *from == ' ')
        from++;
    while (to > from && to[-1] == ' ')
        to--;
    return (piece){ from, (size_t)(to - from) };
}

static tally_status refuse(tally_error *e, piece what, const char *why)
{
    return tly_fail(e, TALLY_INVALID, "plan", "'%.*s' %s", (int)what.length, what.at, why);
}

static tally_status refuse_range(const tly_key *key, int32_t v, tally_error *e)
{
    return tly_fail(e, TALLY_INVALID, "plan", "'%s=%d' is out of the key's range: %d to %d%s",
                    key->name, (int)v, (int)key->least, (int)key->most,
                    key->power ? ", powers of two" : "");
}

static int is(piece text, const char *name)
{
    return strlen(name) == text.length && memcmp(text.at, name, text.length) == 0;
}

static tally_status read_template(const tly_keys *const *templates, size_t count, piece item,
                                  piece value, int32_t *id, tally_error *e)
{
    for (size_t i = 0; i < count; i++)
        if (is(value, templates[i]->name)) {
            *id = (int32_t)i;
            return TALLY_OK;
        }
    return refuse(e, item, "names no template");
}

static tally_status read_number(piece item, piece value, int32_t *number, tally_error *e)
{
    char *end;
    errno = 0;
    long v = strtol(value.at, &end, 10);
    if (value.length == 0 || end != value.at + value.length)
        return refuse(e, item, "has no whole number");
    if (errno != 0 || v < INT32_MIN || v > INT32_MAX)
        return refuse(e, item, "is out of the key's range");
    *number = (int32_t)v;
    return TALLY_OK;
}

static int in_range(const tly_key *key, int32_t v)
{
    return v >= key->least && v <= key->most && (!key->power || (v & (v - 1)) == 0);
}

/* The key in the first template that has it, at best in one that takes the value; NULL: no
 * template's. */
static const tly_key *find(const tly_keys *const *templates, size_t count, piece name, int32_t v)
{
    const tly_key *found = NULL;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < templates[i]->count; k++) {
            const tly_key *key = &templates[i]->key[k];
            if (is(name, key->name) && (found == NULL || !in_range(found, v)))
                found = key;
        }
    return found;
}

static tally_status read_item(const tly_keys *const *templates, size_t count, piece item,
                              tly_forced *f, tally_error *e)
{
    const char *equals = memchr(item.at, '=', item.length);
    if (equals == NULL)
        return refuse(e, item, "is no key=value");
    piece name = trim(item.at, equals), value = trim(equals + 1, item.at + item.length);
    const tly_key *key = NULL;
    int32_t number = 0;
    tally_status s;
    if (name.length == 0)
        return refuse(e, item, "is no key=value");
    if (is(name, "template")) {
        s = read_template(templates, count, item, value, &number, e);
    } else {
        if (find(templates, count, name, 0) == NULL)
            return refuse(e, name, "is no key of a plan");
        s = read_number(item, value, &number, e);
        key = find(templates, count, name, number);
        if (s == TALLY_OK && !in_range(key, number))
            return refuse_range(key, number, e);
    }
    if (s != TALLY_OK)
        return s;
    size_t i = key != NULL ? key->at / sizeof(int32_t) : 0; /* the template's id comes first */
    if (f->given >> i & 1)
        return refuse(e, name, "comes twice");
    f->given |= 1u << i;
    f->value[i] = number;
    f->name[i] = key != NULL ? key->name : "template";
    return TALLY_OK;
}

tally_status tly_keys_read(const tly_keys *const *templates, size_t count, const char *text,
                           tly_forced *forced, tally_error *error)
{
    *forced = (tly_forced){ .given = 0 };
    if (text == NULL)
        return TALLY_OK;
    const char *at = text;
    while (*at != '\0') {
        size_t n = strcspn(at, ",\n");
        tally_status s = read_item(templates, count, trim(at, at + n), forced, error);
        if (s != TALLY_OK)
            return s;
        at += n;
        at += *at != '\0';
    }
    return TALLY_OK;
}

/* NULL: the template does not read it. */
static const tly_key *find_at(const tly_keys *keys, size_t at)
{
    for (size_t k = 0; k < keys->count; k++)
        if (keys->key[k].at == at)
            return &keys->key[k];
    return NULL;
}

tally_status tly_keys_judge(const tly_keys *keys, const tly_forced *forced, tally_error *error)
{
    for (size_t i = 1; i < TLY_PLAN_CHOICES; i++) { /* 0: the template itself */
        const tly_key *key = find_at(keys, i * sizeof(int32_t));
        int32_t v = forced->value[i];
        if (!(forced->given >> i & 1))
            continue;
        if (key == NULL)
            return tly_fail(error, TALLY_INVALID, "plan", "'%s' is not read by the template %s",
                            forced->name[i], keys->name);
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

int tly_keys_hold(const tly_keys *keys, const void *plan)
{
    for (size_t k = 0; k < keys->count; k++)
        if (!in_range(&keys->key[k], value_of(plan, keys->key[k].at)))
            return 0;
    return 1;
}

static tally_status say(tally_write write, void *user, const char *name, const char *value)
{
    char line[80];
    int n = snprintf(line, sizeof line, "%s = %s\n", name, value);
    return write(user, line, (size_t)n) == 0 ? TALLY_OK : TALLY_IO;
}

tally_status tly_keys_print(const tly_keys *keys, const void *plan, tally_write write, void *user)
{
    tally_status s = say(write, user, "template", keys->name);
    for (size_t k = 0; k < keys->count && s == TALLY_OK; k++) {
        char number[16];
        snprintf(number, sizeof number, "%d", (int)value_of(plan, keys->key[k].at));
        s = say(write, user, keys->key[k].name, number);
    }
    return s;
}
