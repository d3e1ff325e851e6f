/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening libtally-codegen on the first miss. A library once opened stays: LLVM cannot be taken out
 * of a process. A failure is not remembered, so that a program may install what was missing.
 */
#include "../context/internal.h"

#include "../cache/identity.h"
#include "../host/env.h"
#include "../host/error.h"
#include "../host/library.h"

#include <string.h>

/* Beside libtally. A program that holds libtally itself finds it from its own folder, wherever the
 * prefix was moved to; last comes what was configured. */
const char *const tly_places[] = { "", TALLY_FROM_LIBRARY, TALLY_FROM_PROGRAM, TALLY_INSTALLED,
                                   NULL };

/* `path` is what the program or its user named, or NULL. */
static tally_status open_library(const char *path, const tly_generator **generator,
                                 tally_error *error)
{
    void *symbol;
    tally_status status = path != NULL
                              ? tly_library_open(path, TLY_GENERATOR_SYMBOL, &symbol, error)
                              : tly_library_find("libtally-codegen.so", tly_places,
                                                 TLY_GENERATOR_SYMBOL, &symbol, error);
    if (status != TALLY_OK) {
        return status;
    }
    tly_generator_get get;
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from void * to a function */
    const tly_generator *found = get();
    if (found->abi != TLY_ABI_VERSION || found->version != TLY_GENERATOR_VERSION) {
        return tly_fail(error, TALLY_NO_GENERATOR, "device",
                        "libtally-codegen is version %u.%u, and this libtally needs %u.%u",
                        found->abi, found->version, TLY_ABI_VERSION, TLY_GENERATOR_VERSION);
    }
    *generator = found;
    return TALLY_OK;
}

int tly_generator_lasting(const tly_generator *generator)
{
    return generator->identity != NULL && strcmp(generator->identity, tly_identity) == 0;
}

#ifdef TALLY_VULKAN
tally_status tly_plan_alone(const tly_request *request, tly_gpu_plan *plan, tally_error *error)
{
    memset(plan, 0, sizeof *plan);
    return tly_gpu_plan_make(&request->problem, &request->geometry, &request->caps, request->plan,
                             plan, error);
}
#endif

tally_status tly_plan_gpu(const tly_generator *generator, const tly_request *request,
                          tly_gpu_plan *plan, tally_error *error)
{
    if (generator->plan_gpu == NULL) {
        tly_fail(error, TALLY_NO_GENERATOR, "device",
                 "this libtally-codegen makes no Vulkan kernels");
        tly_error_hint(error, "build Tally with -Dvulkan=enabled");
        return TALLY_NO_GENERATOR;
    }
    memset(plan, 0, sizeof *plan);
    return generator->plan_gpu(&request->problem, &request->geometry, &request->caps, request->plan,
                               plan, error);
}

tally_status tly_generator_find(tally_context *context, const tly_generator **generator,
                                tally_error *error)
{
    tally_status status = TALLY_OK;
    pthread_mutex_lock(&context->generator_lock);
    if (context->generator == NULL) {
        const char *path = context->generator_path;
        if (path == NULL) {
            status = tly_env_generator(&path, error);
        }
        if (status == TALLY_OK) {
            status = open_library(path, &context->generator, error);
        }
    }
    *generator = context->generator;
    pthread_mutex_unlock(&context->generator_lock);
    return status;
}
