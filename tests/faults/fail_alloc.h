/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail on purpose. fail_alloc.c is a library to be preloaded; a program finds its
 * functions by fault_find. Allocations are told apart by the module that asks:
 */
#ifndef FAIL_ALLOC_H
#define FAIL_ALLOC_H

#include <dlfcn.h>
#include <string.h>

enum {
    FAULT_OURS = 1,   /* libtally, libtally-codegen, programs */
    FAULT_THEIRS = 2, /* libtally-llvm, libtally-spirv: LLVM, SPIRV-Tools, and ours in there */
    FAULT_SYSTEM = 4, /* libc and the dynamic linker, on whose behalf it may be */
    FAULT_MAPS = 8    /* mappings that FAULT_OURS or FAULT_THEIRS ask for */
};

typedef struct fault_functions {
    /* Counts from 0 on; allocation `at` fails, and with `on` all that follow it. -1: none fails. */
    void (*arm)(long at, int on, int which);
    /* Stops, and says how many were counted. */
    long (*disarm)(void);
} fault_functions;

/* 0 where fail_alloc is not preloaded. */
static inline int fault_find(fault_functions *f)
{
    void *arm = dlsym(RTLD_DEFAULT, "tally_fault_arm");
    void *disarm = dlsym(RTLD_DEFAULT, "tally_fault_disarm");
    memcpy(&f->arm, &arm, sizeof arm);
    memcpy(&f->disarm, &disarm, sizeof disarm);
    return arm != NULL && disarm != NULL;
}

#endif
