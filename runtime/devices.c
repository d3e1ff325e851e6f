/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets that a kernel can be made for: the levels of CPU, and which of them run here, then
 * the Vulkan devices.
 */
#include "context/internal.h"

#include "context/backend.h"
#include "cpu/cpu.h"
#include "host/error.h"
#include "host/fork.h"
#include "host/suggest.h"
#include "vulkan/profile.h"

#include <stdio.h>
#include <string.h>

enum { MOST_VULKAN = 64, HINTED = TLY_LEVELS + 8 };

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
    if (devices == NULL && capacity > 0) {
        return tly_fail(error, TALLY_INVALID, "usage", "there is no array for %zu devices",
                        capacity);
    }
    /* The caller's struct may be another version's: its size is the step of the array. */
    size_t step = capacity > 0 && devices[0].size != 0 ? devices[0].size : sizeof(tally_device);
    if (step < offsetof(tally_device, is_default) + sizeof(int32_t)) {
        return tly_fail(error, TALLY_INVALID, "usage", "size of tally_device is %zu", step);
    }
    /* Asking Vulkan takes milliseconds, so that who wants the CPU's levels alone need not wait. */
    tally_device vulkan[MOST_VULKAN];
    size_t more = 0;
    if (count != NULL || capacity > TLY_LEVELS) {
        if (!tly_fork_enter()) {
            return tly_busy(error);
        }
        tally_status status = tly_vulkan_list(vulkan, MOST_VULKAN, &more, error);
        tly_fork_leave();
        if (status != TALLY_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < TLY_LEVELS + more && i < capacity; i++) {
        char *place = (char *)devices + i * step;
        tally_device device;
        if (i < TLY_LEVELS) {
            describe((int)i, &device);
        } else {
            device = vulkan[i - TLY_LEVELS];
        }
        device.size = step;
        memset(place, 0, step);
        memcpy(place, &device, step < sizeof device ? step : sizeof device);
    }
    if (count != NULL) {
        *count = TLY_LEVELS + more;
    }
    return TALLY_OK;
}

void tly_device_hint(tally_error *error)
{
    tally_device device[HINTED];
    size_t count = 0;
    char names[100] = "";
    device[0].size = sizeof device[0];
    if (tally_devices(device, HINTED, &count, NULL) != TALLY_OK) {
        return;
    }
    tly_names_add(names, sizeof names, "cpu");
    for (size_t i = count; i-- > 0;) { /* Vulkan's, which are few, first */
        if (i < HINTED && device[i].runs_here) {
            tly_names_add(names, sizeof names, device[i].selector);
        }
    }
    tly_error_hint(error, "here are %s", names);
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

int tly_vulkan_selector(const char *device)
{
    static const char prefix[] = "vulkan";
    size_t length = sizeof prefix - 1;
    if (strncmp(device, prefix, length) != 0) {
        return 0;
    }
    const char *rest = device + length;
    return rest[0] == 0 ||
           (rest[0] == ':' && rest[1] != 0 && rest[1 + strspn(rest + 1, "0123456789")] == 0);
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
    *level = tly_vulkan_selector(device) ? TLY_LEVEL_NONE : find(device);
    return TALLY_OK;
}

static tally_status write_profile(const tally_vulkan *vulkan, tally_write write, void *user,
                                  tally_error *error)
{
    tly_profile profile = { .caps = *tly_vulkan_caps(vulkan) };
    char text[4096];
    const char *name = tly_vulkan_name(vulkan);
    snprintf(profile.device, sizeof profile.device, "%s", name[0] != 0 ? name : "unnamed");
    size_t length = tly_profile_print(&profile, text, sizeof text);
    return write(user, text, length) == 0
               ? TALLY_OK
               : tly_fail(error, TALLY_IO, "file", "the text could not be written");
}

tally_status tally_device_profile(tally_context *context, const char *device, tally_write write,
                                  void *user, tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options, .device = device };
    tly_request request;
    if (context == NULL || write == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context or the writer is NULL");
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tally_status status = tly_request_target(context, &options, &request, error);
    if (status == TALLY_OK && request.vulkan == NULL) {
        status = tly_fail(error, TALLY_UNSUPPORTED, "device", "profiles are of Vulkan devices");
    }
    if (status == TALLY_OK) {
        status = write_profile(request.vulkan, write, user, error);
    }
    tly_fork_leave();
    return status;
}
