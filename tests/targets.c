/* Guarantees: a device that is asked for and not there is an error, never a shorter list. */
#include "targets.h"

#include <stdio.h>
#include <string.h>

#include "reference.h"

enum { NAMES = 4 }; /* of a descriptor: dtypes of input, output, accumulator; operator */

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

/* The k-th name of `d` if the device lacks it, else NULL; reductions are for CPUs. */
static const char *missing_at(const tally_device *target, const tally_descriptor *d, int k)
{
    const int32_t dtypes[NAMES - 1] = { d->dtype, d->out_dtype, d->acc };
    if (k == NAMES - 1)
        return tly_op_is_scan(d->op) || strcmp(target->kind, "vulkan") != 0
                   ? NULL
                   : tally_op_name((tally_op)d->op);
    const char *name = tally_dtype_name((tally_dtype)dtypes[k]);
    return name && tly_target_lacks(target, name) ? name : NULL;
}

const char *tly_target_missing(const tally_device *target, const tally_descriptor *d)
{
    const char *missing = NULL;
    for (int k = 0; k < NAMES && !missing; k++)
        missing = missing_at(target, d, k);
    return missing;
}

int tly_refusal_is_right(const tally_device *target, const tally_descriptor *d, tally_status status,
                         const tally_error *error)
{
    int named = 0;
    for (int k = 0; k < NAMES; k++) {
        const char *missing = missing_at(target, d, k);
        named |= missing && (has_word(error->message, missing) || has_word(error->hint, missing));
    }
    return named && status == TALLY_UNSUPPORTED;
}
