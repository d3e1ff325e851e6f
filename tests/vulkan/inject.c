/* SPDX-License-Identifier: Apache-2.0 */
/* The loader that fails when it is told to; see inject.h. */
#include "inject.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) tly_injector tly_inject;

static const VkResult results[TLY_VK_ENTRIES][12] = {
#define ENTRY(name, parameters, arguments, ...) [TLY_VK_##name] = { __VA_ARGS__ },
#include "results.def"
};

static int may_answer(int entry, VkResult result)
{
    for (int i = 0; results[entry][i] != VK_SUCCESS; i++)
        if (results[entry][i] == result)
            return 1;
    return 0;
}

/* The failure for this call; VK_SUCCESS: none. */
static VkResult failure(int entry)
{
    tly_injection *p = tly_inject;
    if (!p || (p->entry != entry && (p->entry != TLY_VK_ENTRIES || !may_answer(entry, p->result))))
        return VK_SUCCESS;
    const long call = atomic_fetch_add(&p->calls, 1);
    return call == p->first || (p->on && call > p->first) ? p->result : VK_SUCCESS;
}

/* A lost device stops before the waits for it return; lists that are incomplete hold something. */
static int done_first(int entry, VkResult result)
{
    const tly_injection *p = tly_inject;
    return (p && p->done) || result == VK_INCOMPLETE || entry == TLY_VK_DeviceWaitIdle;
}

#define ENTRY(name, parameters, arguments, ...) \
    static PFN_vk##name real_##name; \
    static VKAPI_ATTR VkResult VKAPI_CALL wrapped_##name parameters \
    { \
        const VkResult result = failure(TLY_VK_##name); \
        if (result == VK_SUCCESS) \
            return real_##name arguments; \
        if (done_first(TLY_VK_##name, result)) { \
            const VkResult answer = real_##name arguments; \
            return answer == VK_SUCCESS ? result : answer; \
        } \
        return result; \
    }
#include "results.def"

static PFN_vkVoidFunction wrap(const char *name, PFN_vkVoidFunction real)
{
    const tly_injection *p = tly_inject;
    if (!real || (p && p->missing && !strcmp(p->missing, name)))
        return NULL;
#define ENTRY(entry, parameters, arguments, ...) \
    if (!strcmp(name, "vk" #entry)) { \
        real_##entry = (PFN_vk##entry)real; \
        return (PFN_vkVoidFunction)wrapped_##entry; \
    }
#include "results.def"
    return real;
}

static PFN_vkGetInstanceProcAddr loader(void)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    PFN_vkGetInstanceProcAddr get;
    if (!symbol)
        abort();
    memcpy(&get, &symbol, sizeof get);
    return get;
}

/* By the instance, whose functions are good for all of its devices. */
static VkInstance latest;

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    (void)device;
    return wrap(name, loader()(latest, name));
}

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char *name)
{
    latest = instance ? instance : latest;
    if (!strcmp(name, "vkGetDeviceProcAddr"))
        return wrap(name, (PFN_vkVoidFunction)device_proc);
    return wrap(name, loader()(instance, name));
}
