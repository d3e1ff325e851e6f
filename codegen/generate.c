/*
 * The generator's pipeline on one page: problem, plan, kernel IR, native code; and its door, the
 * table of functions that the runtime gets. libtally-llvm is opened when native code must be made.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../templates/build.h"
#include "generate_gpu.h"
#include "native.h"

static pthread_once_t native_once = PTHREAD_ONCE_INIT;
static const tly_native *native;
static char native_fault[160];

/* Beside this library first, then by the system's search path. Never closed: LLVM's state lives
 * as long as the process. */
static void open_native(void)
{
    static const char name[] = "libtally-llvm.so";
    char path[4096];
    void *library = NULL;
    Dl_info here;
    if (dladdr((void *)(uintptr_t)open_native, &here) != 0 && here.dli_fname != NULL) {
        const char *slash = strrchr(here.dli_fname, '/');
        size_t folder = slash != NULL ? (size_t)(slash - here.dli_fname) + 1 : 0;
        if (folder + sizeof name <= sizeof path) {
            memcpy(path, here.dli_fname, folder);
            memcpy(path + folder, name, sizeof name);
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    if (library == NULL)
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, TLY_NATIVE_SYMBOL) : NULL;
    if (symbol == NULL) {
        const char *why = dlerror();
        strncpy(native_fault, why != NULL ? why : "no such symbol", sizeof native_fault - 1);
        return;
    }
    tly_native_get get;
    memcpy(&get, &symbol, sizeof get);
    native = get();
}

static tally_status need_native(tally_error *error)
{
    pthread_once(&native_once, open_native);
    if (native == NULL)
        return tly_fail(error, TALLY_NO_GENERATOR, "device", "libtally-llvm: %s", native_fault);
    if (native->version != TLY_GENERATOR_VERSION)
        return tly_fail(error, TALLY_NO_GENERATOR, "device",
                        "libtally-llvm is of generator version %u, not %u", native->version,
                        TLY_GENERATOR_VERSION);
    return TALLY_OK;
}

typedef struct draft {
    const tly_target *target;
    tly_plan plan;
    kir_kernel *kernel;
    tly_launch launch;
} draft;

static tally_status plan_draft(const tly_problem *problem, const char *level, const char *plan,
                               draft *d, tally_error *error)
{
    d->target = tly_target_find(level);
    if (d->target == NULL)
        return tly_fail(error, TALLY_INVALID, "device", "there is no CPU level '%s'", level);
    return tly_plan_make(problem, d->target, plan, &d->plan, error);
}

static tally_status make_draft(const tly_problem *problem, const char *level, const char *plan,
                               draft *d, tally_error *error)
{
    tally_status s = plan_draft(problem, level, plan, d, error);
    if (s != TALLY_OK)
        return s;
    return tly_template_build(problem, d->target, &d->plan, &d->kernel, &d->launch, error);
}

static tally_status generate(const tly_problem *problem, const char *level, const char *plan,
                             tly_artefact *artefact, tally_error *error)
{
    draft d;
    tly_artefact made;
    tally_status s = need_native(error);
    if (s == TALLY_OK)
        s = make_draft(problem, level, plan, &d, error);
    if (s != TALLY_OK)
        return s;
    s = native->compile(d.kernel, d.target, &made.code, &made.code_bytes, error);
    kir_free(d.kernel);
    if (s != TALLY_OK)
        return s;
    made.launch = d.launch;
    *artefact = made;
    return TALLY_OK;
}

static void release(tly_artefact *artefact)
{
    free(artefact->code);
    artefact->code = NULL;
    artefact->code_bytes = 0;
}

static tally_status show(const tly_problem *problem, const char *level, const char *plan,
                         tally_stage stage, tally_write write, void *user, tally_error *error)
{
    draft d;
    if (stage == TALLY_STAGE_PLAN) {
        tally_status s = plan_draft(problem, level, plan, &d, error);
        return s == TALLY_OK ? tly_plan_print(&d.plan, write, user) : s;
    }
    tally_status s = stage == TALLY_STAGE_KIR ? TALLY_OK : need_native(error);
    if (s == TALLY_OK)
        s = make_draft(problem, level, plan, &d, error);
    if (s != TALLY_OK)
        return s;
    if (stage == TALLY_STAGE_KIR)
        s = kir_print(d.kernel, write, user);
    else
        s = native->show(d.kernel, d.target, stage, write, user, error);
    kir_free(d.kernel);
    return s;
}

static const tly_generator generator = {
    .abi = TLY_ABI_VERSION, .version = TLY_GENERATOR_VERSION,
    .generate = generate, .release = release, .show = show,
#ifdef TALLY_VULKAN
    .plan_gpu = tly_gpu_plan_make, .generate_gpu = tly_generate_gpu,
    .release_gpu = tly_release_gpu, .show_gpu = tly_show_gpu,
#endif
};

TALLY_API const tly_generator *tally_codegen_generator(void);

const tly_generator *tally_codegen_generator(void)
{
    return &generator;
}
