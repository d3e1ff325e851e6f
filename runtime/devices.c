/* The targets that a kernel can be made for: the levels of CPU, and which of them run here. */
#include "internal.h"

#include "cpu/cpu.h"
#include "error.h"

#include <stdio.h>
#include <string.h>

static void describe(int level, tally_device *device)
{
    memset(device, 0, sizeof *device);
    device->size = sizeof *device;
    device->runs_here = tly_level_runs(level);
    device->is_default = level == tly_level_host();
    if (device->is_default) {
        tly_cpu_brand(device->name, sizeof device->name);
    } else {
        snprintf(device->name, sizeof device->name, "%s", tly_level_name(level));
    }
    snprintf(device->kind, sizeof device->kind, "cpu");
    snprintf(device->selector, sizeof device->selector, "cpu:%s", tly_level_name(level));
}

tally_status tally_devices(tally_device *devices, size_t capacity, size_t *count,
                           tally_error *error)
{
    /* The caller's struct may be another version's: its size is the step of the array. */
    size_t step = capacity > 0 && devices[0].size != 0 ? devices[0].size : sizeof(tally_device);
    if (step < offsetof(tally_device, is_default) + sizeof(int32_t)) {
        return tly_fail(error, TALLY_INVALID, "usage", "size of tally_device is %zu", step);
    }
    for (size_t i = 0; i < TLY_LEVELS && i < capacity; i++) {
        char *place = (char *)devices + i * step;
        tally_device device;
        describe((int)i, &device);
        device.size = step;
        memset(place, 0, step);
        memcpy(place, &device, step < sizeof device ? step : sizeof device);
    }
    if (count != NULL) {
        *count = TLY_LEVELS;
    }
    return TALLY_OK;
}

/* By selector, else by part of a name. */
static int find(const char *text)
{
    tally_device devices[TLY_LEVELS];
    for (int i = 0; i < TLY_LEVELS; i++) {
        describe(i, &devices[i]);
        if (strcmp(devices[i].selector, text) == 0) {
            return i;
        }
    }
    for (int i = 0; i < TLY_LEVELS; i++) {
        if (text[0] != 0 && strcasestr(devices[i].name, text) != NULL) {
            return i;
        }
    }
    return TLY_LEVEL_NONE;
}

tally_status tly_device_level(const char *device, int *level, tally_error *error)
{
    if (device == NULL || strcmp(device, "cpu") == 0) {
        *level = tly_level_host();
        if (*level == TLY_LEVEL_NONE) {
            return tly_fail(error, TALLY_UNSUPPORTED, "device", "this CPU is below %s",
                            tly_level_name(0));
        }
        return TALLY_OK;
    }
    if (strcmp(device, "vulkan") == 0 || strncmp(device, "vulkan:", 7) == 0) {
        return tly_fail(error, TALLY_UNSUPPORTED, "device", "no kernels exist for %s", device);
    }
    int found = find(device);
    if (found == TLY_LEVEL_NONE) {
        tly_fail(error, TALLY_INVALID, "device", "there is no device %s", device);
        tly_error_hint(error, "cpu, cpu:x86-64-v2, cpu:x86-64-v3, cpu:x86-64-v4 or cpu:aarch64");
        return TALLY_INVALID;
    }
    *level = found;
    return TALLY_OK;
}
