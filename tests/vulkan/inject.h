/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Vulkan loader between Tally and the real one, whose entry points fail when they are told to:
 * inject.c, built as a module that takes libvulkan's place. Failures are made up before the real
 * function is called, so that layers below see nothing of them; but for those that say that
 * something was done.
 */
#ifndef TLY_INJECT_H
#define TLY_INJECT_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <stdatomic.h>

typedef enum tly_entry_point {
#define ENTRY(name, parameters, arguments, ...) TLY_VK_##name,
#include "results.def"
    TLY_VK_ENTRIES
} tly_entry_point;

typedef struct tly_injection {
    int entry; /* tly_entry_point; TLY_VK_ENTRIES: every one that may answer `result` */
    VkResult result;
    long first;          /* call of that entry point, from 0 */
    int on;              /* 1: all from that one on */
    int done;            /* 1: the real function is called, and its result thrown away */
    const char *missing; /* an entry point that is not found at all, or NULL */
    atomic_long calls;   /* seen so far; beyond `first`: a failure happened */
} tly_injection;

/* The module's one variable, "tly_inject"; NULL or a plan for what fails. */
typedef tly_injection *_Atomic tly_injector;

#endif
