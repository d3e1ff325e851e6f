/* SPDX-License-Identifier: Apache-2.0 */
/* Opening libvulkan, and finding its functions; see loader.h. */
#include "loader.h"

#include "../host/error.h"
#include "../host/library.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

const char *tly_vk_library = "libvulkan.so.1";

/* Drivers keep threads of their own for the whole process, and not all ask whether a fork took
 * them away: SwiftShader then waits for ever. */
static atomic_long user;

static tally_status check_process(tally_error *error)
{
    long none = 0, self = (long)getpid();
    if (atomic_compare_exchange_strong(&user, &none, self) || none == self) {
        return TALLY_OK;
    }
    tly_fail(error, TALLY_UNSUPPORTED, "device", "this process was forked after Vulkan was used");
    tly_error_hint(error, "fork before the first use of Vulkan");
    return TALLY_UNSUPPORTED;
}

tally_status tly_vk_load(PFN_vkGetInstanceProcAddr *get, tally_error *error)
{
    tally_status status = check_process(error);
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_can_open()) {
        tly_fail(error, TALLY_UNSUPPORTED, "device",
                 "Vulkan needs %s, which a program that is linked with -static cannot open",
                 tly_vk_library);
        tly_error_hint(error, "link libtally.a without -static");
        return TALLY_UNSUPPORTED;
    }
    /* Opened again and again, it is one library: dlopen counts, and nobody closes. */
    void *library = dlopen(tly_vk_library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library != NULL ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (symbol == NULL) {
        const char *why = dlerror();
        why = why != NULL ? why : "vkGetInstanceProcAddr is missing";
        /* The dynamic linker has no codes, but these words for one thing. */
        if (strstr(why, "annot allocate memory") != NULL || strstr(why, "to map segment") != NULL) {
            return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "Vulkan needs %s: %s",
                            tly_vk_library, why);
        }
        tly_fail(error, TALLY_UNSUPPORTED, "device", "Vulkan needs %s: %s", tly_vk_library, why);
        tly_error_hint(error, "install the Vulkan loader (Debian: libvulkan1) and a driver");
        return TALLY_UNSUPPORTED;
    }
    memcpy(get, &symbol, sizeof *get); /* ISO C has no cast from void * to a function */
    return TALLY_OK;
}

static tally_status missing(const char *name, tally_error *error)
{
    return tly_fail(error, TALLY_UNSUPPORTED, "device", "this Vulkan has no %s", name);
}

tally_status tly_vk_instance_load(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                  tly_vk_instance_functions *fn, tally_error *error)
{
    const char *first = NULL;
#define INSTANCE(name) \
    fn->name = (PFN_vk##name)get(instance, "vk" #name); \
    first = fn->name == NULL && first == NULL ? "vk" #name : first;
#include "functions.def"
    return first == NULL ? TALLY_OK : missing(first, error);
}

tally_status tly_vk_device_load(const tly_vk_instance_functions *instance, VkDevice device,
                                tly_vk_functions *fn, tally_error *error)
{
    PFN_vkGetDeviceProcAddr get = instance->GetDeviceProcAddr;
    const char *first = NULL;
#define DEVICE(name) \
    fn->name = (PFN_vk##name)get(device, "vk" #name); \
    first = fn->name == NULL && first == NULL ? "vk" #name : first;
#define OPTIONAL(name) fn->name = (PFN_vk##name)get(device, "vk" #name);
#include "functions.def"
    return first == NULL ? TALLY_OK : missing(first, error);
}
