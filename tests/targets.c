/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: a device that is asked for and not there is an error, never a shorter list. */
#include "targets.h"

#include "compare.h"
#include "reference.h"

#include <stdio.h>
#include <string.h>

enum { DTYPES = 5 }; /* of input, output and accumulator, and what is computed in between */

static int is_default(const tally_device *device, const char *text)
{
    if (strcmp(text, device->kind))
        return 0;
    return device->is_default || !strcmp(device->kind, "vulkan");
}

static int has_name(const tally_device *device, const char *text)
{
    return *text && strcasestr(device->name, text) != NULL;
}

static int has_selector(const tally_device *device, const char *text)
{
    return !strcmp(device->selector, text);
}

int tly_target_find(const char *text, tally_device *target, char *why, size_t capacity)
{
    static int (*const ways[])(const tally_device *, const char *) = { has_selector, is_default,
                                                                       has_name };
    tally_device all[TLY_MOST_TARGETS] = { { .size = sizeof all[0] } };
    tally_error error = TALLY_ERROR_INIT;
    size_t count = 0;
    int used;

    if (tally_devices(all, TLY_MOST_TARGETS, &count, &error)) {
        snprintf(why, capacity, "%s: %s", error.field, error.message);
        return -1;
    }
    if (count > TLY_MOST_TARGETS)
        count = TLY_MOST_TARGETS;
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
        for (size_t k = 0; k < count; k++)
            if (ways[way](&all[k], text)) {
                *target = all[k];
                return 0;
            }
    used = snprintf(why, capacity, "there is no device %s among", text);
    for (size_t k = 0; k < count && used > 0 && (size_t)used < capacity; k++)
        used += snprintf(why + used, capacity - (size_t)used, " %s", all[k].selector);
    return -1;
}

/* Is `word` one of `text`'s words? As a whole: "f16" is not in "bf16". */
static int has_word(const char *text, const char *word)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const size_t length = strlen(word);
    while (*text) {
        const size_t span = strspn(text, letters);
        if (span == length && !memcmp(text, word, length))
            return 1;
        text += span ? span : 1;
    }
    return 0;
}

int tly_target_lacks(const tally_device *target, const char *feature)
{
    return has_word(target->lacks, feature);
}

int tly_target_flushes(const tally_device *target)
{
    return tly_target_lacks(target, "subnormals") && !strcasestr(target->name, "llvmpipe");
}

int tly_target_may(const tally_device *target)
{
    if (target == NULL)
        return 0;
    return (strncmp(target->selector, "vulkan", 6) == 0 ? TLY_CUTS_LANES : 0) |
           (tly_target_flushes(target) ? TLY_FLUSHES : 0);
}

/* 64 bits of an integer's kind, in which some reductions add that end in f64 (other means of
 * integers go in pairs of words); and f64. */
static int32_t added_in(const tally_descriptor *d)
{
    const int adds = tly_ends_in_reals(d) && tly_operations[d->op].family == TLY_SUMS;
    if (!adds || tly_is_float((tally_dtype)d->dtype))
        return TALLY_DTYPE_NONE;
    return tly_is_signed((tally_dtype)d->dtype) ? TALLY_I64 : TALLY_U64;
}

static int32_t ends_in(const tally_descriptor *d)
{
    const int integer = !tly_is_float((tally_dtype)d->dtype);
    return tly_ends_in_reals(d) && integer ? TALLY_F64 : TALLY_DTYPE_NONE;
}

/* The k-th dtype of `d` if the device lacks it, else NULL. */
static const char *missing_at(const tally_device *target, const tally_descriptor *d, int k)
{
    tally_dtype out = TALLY_DTYPE_NONE; /* which an index has, said or not */
    tally_descriptor_result(d, NULL, NULL, &out, NULL);
    const int32_t dtypes[DTYPES] = { d->dtype, (int32_t)out, d->acc, added_in(d), ends_in(d) };
    const char *name = tally_dtype_name((tally_dtype)dtypes[k]);
    return name && tly_target_lacks(target, name) ? name : NULL;
}

const char *tly_target_missing(const tally_device *target, const tally_descriptor *d)
{
    const char *missing = NULL;
    for (int k = 0; k < DTYPES && !missing; k++)
        missing = missing_at(target, d, k);
    return missing;
}

int tly_refusal_is_right(const tally_device *target, const tally_descriptor *d, tally_status status,
                         const tally_error *error)
{
    int named = 0;
    for (int k = 0; k < DTYPES; k++) {
        const char *missing = missing_at(target, d, k);
        named |= missing && (has_word(error->message, missing) || has_word(error->hint, missing));
    }
    return named && status == TALLY_UNSUPPORTED;
}
