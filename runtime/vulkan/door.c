/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context sees of Vulkan: the list of devices, and devices by their selectors, each opened
 * once and kept.
 */
#include "internal.h"

#include "../host/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that was resolved, so that the next kernel needs no list of devices. */
struct tly_vulkan_known {
    tally_vulkan *vulkan;
    size_t index; /* in the list */
    tly_vulkan_known *next;
    char text[];
};

/* --- the list -------------------------------------------------------------------------------- */

static void describe(const tly_vk_facts *facts, size_t index, tally_device *device)
{
    memset(device, 0, sizeof *device);
    device->size = sizeof *device;
    device->runs_here = 1;
    snprintf(device->name, sizeof device->name, "%.63s", facts->name);
    snprintf(device->kind, sizeof device->kind, "vulkan");
    snprintf(device->selector, sizeof device->selector, "vulkan:%zu", index);
    tly_caps_lack(&facts->caps, device->lacks, sizeof device->lacks);
}

tally_status tly_vulkan_list(tally_device *devices, size_t capacity, size_t *count,
                             tally_error *error)
{
    tly_vk_list *list;
    tally_error why = TALLY_ERROR_INIT;
    tally_status status = tly_vk_list_open(&list, &why);
    *count = 0;
    if (status == TALLY_UNSUPPORTED) {
        return TALLY_OK;
    }
    if (status != TALLY_OK) {
        return tly_fail(error, status, why.field, "%s", why.message);
    }
    *count = list->count;
    for (size_t i = 0; i < list->count && i < capacity; i++) {
        describe(&list->facts[i], i, &devices[i]);
    }
    tly_vk_list_close(list);
    return TALLY_OK;
}

/* --- devices of a context -------------------------------------------------------------------- */

static tally_status remember(tally_context *context, const char *text, tally_vulkan *vulkan,
                             size_t index, tally_error *error)
{
    size_t bytes = strlen(text) + 1;
    tly_vulkan_known *known = malloc(sizeof *known + bytes);
    if (known == NULL) {
        return tly_out_of_memory(error, "a device's name", sizeof *known + bytes);
    }
    known->vulkan = vulkan;
    known->index = index;
    known->next = context->vulkan;
    memcpy(known->text, text, bytes);
    context->vulkan = known;
    return TALLY_OK;
}

/* A device that works, by the text that was asked for or by its index. */
static tally_vulkan *opened(const tally_context *context, const char *text, size_t index)
{
    for (const tly_vulkan_known *k = context->vulkan; k != NULL; k = k->next) {
        if ((text != NULL ? strcmp(k->text, text) == 0 : k->index == index) &&
            tly_vk_usable(k->vulkan, NULL) == TALLY_OK) {
            return k->vulkan;
        }
    }
    return NULL;
}

static tally_status open_new(tally_context *context, const char *device, tally_vulkan **vulkan,
                             tally_error *error)
{
    tly_vk_list *list = NULL;
    size_t index = 0;
    tally_vulkan *v = NULL;
    tally_status status = tly_vk_list_open(&list, error);
    if (status == TALLY_OK) {
        status = tly_vk_choose(list, device, &index, error);
    }
    if (status == TALLY_OK) {
        v = opened(context, NULL, index);
        status = v != NULL ? TALLY_OK : tly_vk_open(context, list, index, &v, error);
    }
    tly_vk_list_close(list);
    if (status == TALLY_OK) {
        int known = opened(context, NULL, index) != NULL;
        status = remember(context, device, v, index, error);
        if (status != TALLY_OK && !known) {
            tly_vk_close(v);
        }
    }
    if (status == TALLY_OK) {
        *vulkan = v;
    }
    return status;
}

tally_status tly_vulkan_find(tally_context *context, const char *device, tally_vulkan **vulkan,
                             tally_error *error)
{
    tally_status status = TALLY_OK;
    pthread_mutex_lock(&context->vulkan_lock);
    *vulkan = opened(context, device, 0);
    if (*vulkan == NULL) {
        status = open_new(context, device, vulkan, error);
    }
    pthread_mutex_unlock(&context->vulkan_lock);
    return status;
}

void tly_vulkan_forget(tally_context *context)
{
    while (context->vulkan != NULL) {
        tly_vulkan_known *known = context->vulkan;
        context->vulkan = known->next;
        int shared = 0;
        for (const tly_vulkan_known *k = context->vulkan; k != NULL; k = k->next) {
            shared |= k->vulkan == known->vulkan;
        }
        if (!shared) {
            tly_vk_close(known->vulkan);
        }
        free(known);
    }
}

const tly_caps *tly_vulkan_caps(const tally_vulkan *vulkan)
{
    return &vulkan->facts.caps;
}

const char *tly_vulkan_name(const tally_vulkan *vulkan)
{
    return vulkan->facts.name;
}
