/*
 * Opening libtally-codegen on the first miss. A library once opened stays: LLVM cannot be taken out
 * of a process. A failure is not remembered, so that a program may install what was missing.
 */
#include "internal.h"

#include "env.h"
#include "error.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libtally-codegen.so"

static const char anchor; /* an address within libtally */

/* The library beside libtally, if there is a file; NULL otherwise. To be freed. */
static char *beside(void)
{
    Dl_info info;
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == NULL) {
        return NULL;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash == NULL) {
        return NULL;
    }
    size_t folder = (size_t)(slash - info.dli_fname) + 1;
    char *path = malloc(folder + sizeof LIBRARY);
    if (path == NULL) {
        return NULL;
    }
    memcpy(path, info.dli_fname, folder);
    memcpy(path + folder, LIBRARY, sizeof LIBRARY);
    if (access(path, R_OK) != 0) {
        free(path);
        return NULL;
    }
    return path;
}

static tally_status open_library(const char *path, const tly_generator **generator,
                                 tally_error *error)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, TLY_GENERATOR_SYMBOL) : NULL;
    if (symbol == NULL) {
        const char *why = dlerror();
        tly_fail(error, TALLY_NO_GENERATOR, "device", "a kernel must be generated, but %s",
                 why != NULL ? why : "libtally-codegen cannot be opened");
        tly_error_hint(error, "install " LIBRARY " beside libtally, or name it in TALLY_GENERATOR");
        return TALLY_NO_GENERATOR;
    }
    tly_generator_get get;
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from void * to a function */
    const tly_generator *found = get();
    if (found->abi != TLY_ABI_VERSION || found->version != TLY_GENERATOR_VERSION) {
        return tly_fail(error, TALLY_NO_GENERATOR, "device",
                        "%s is version %u.%u, and this libtally needs %u.%u", path, found->abi,
                        found->version, TLY_ABI_VERSION, TLY_GENERATOR_VERSION);
    }
    *generator = found;
    return TALLY_OK;
}

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
    return generator->plan_gpu(&request->problem, &request->geometry, &request->caps,
                               request->plan, plan, error);
}

tally_status tly_generator_find(tally_context *context, const tly_generator **generator,
                                tally_error *error)
{
    tally_status status = TALLY_OK;
    pthread_mutex_lock(&context->generator_lock);
    if (context->generator == NULL) {
        const char *path = context->generator_path;
        char *near = NULL;
        if (path == NULL) {
            path = tly_env_generator();
        }
        if (path == NULL) {
            near = beside();
            path = near != NULL ? near : LIBRARY;
        }
        status = open_library(path, &context->generator, error);
        free(near);
    }
    *generator = context->generator;
    pthread_mutex_unlock(&context->generator_lock);
    return status;
}
