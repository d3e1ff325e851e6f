/*
 * A plan as text: the names, ranges and places of its choices in one table, from which overrides
 * ("key=value,key=value") and the printed form follow. Every choice is an int32_t.
 */
#ifndef TLY_PLAN_KEYS_H
#define TLY_PLAN_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include <tally/kernel.h>

typedef struct tly_plan_key {
    const char *name;
    size_t at;           /* of the int32_t in the plan */
    int32_t least, most;
    int power;           /* powers of two only */
    unsigned templates;  /* bits: which templates read it; 0: all */
} tly_plan_key;

typedef struct tly_plan_keys {
    const tly_plan_key *key;
    size_t count;
    const char *const *templates; /* names by id; a plan's first int32_t is the id */
    size_t template_count;
    int choosable;                /* 1: `template=NAME` is an override, too */
} tly_plan_keys;

/* TALLY_INVALID, field plan: an unknown key, no number, or a value out of the key's range. What was
 * applied before stays. "" and NULL are none. */
tally_status tly_keys_override(const tly_plan_keys *keys, void *plan, const char *overrides,
                               tally_error *error);

/* "key = value" lines, template first. */
tally_status tly_keys_print(const tly_plan_keys *keys, const void *plan, tally_write write,
                            void *user);

#endif
