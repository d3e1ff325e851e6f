/* Opening libvulkan, and finding its functions; see loader.h. */
#include "loader.h"

#include "../error.h"

#include <dlfcn.h>
#include <string.h>

const char *tly_vk_library = "libvulkan.so.1";

tally_status tly_vk_load(PFN_vkGetInstanceProcAddr *get, tally_error *error)
{
    /* Opened again and again, it is one library: dlopen counts, and nobody closes. */
    void *library = dlopen(tly_vk_library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library != NULL ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (symbol == NULL) {
        const char *why = dlerror();
        tly_fail(error, TALLY_UNSUPPORTED, "device", "Vulkan needs %s: %s", tly_vk_library,
                 why != NULL ? why : "vkGetInstanceProcAddr is missing");
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
#define INSTANCE(name)                                        \
    fn->name = (PFN_vk##name)get(instance, "vk" #name);       \
    if (fn->name == NULL) {                                   \
        return missing("vk" #name, error);                    \
    }
#include "functions.def"
    return TALLY_OK;
}

tally_status tly_vk_device_load(const tly_vk_instance_functions *instance, VkDevice device,
                                tly_vk_functions *fn, tally_error *error)
{
    PFN_vkGetDeviceProcAddr get = instance->GetDeviceProcAddr;
#define DEVICE(name)                                          \
    fn->name = (PFN_vk##name)get(device, "vk" #name);         \
    if (fn->name == NULL) {                                   \
        return missing("vk" #name, error);                    \
    }
#define OPTIONAL(name) fn->name = (PFN_vk##name)get(device, "vk" #name);
#include "functions.def"
    return TALLY_OK;
}
