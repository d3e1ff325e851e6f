/*
 * libtally-llvm's only door: kernel IR in, a flat blob or text out.
 *
 * LLVM ends the process when it meets what it cannot do, so nothing reaches it unverified; what
 * it reports instead goes to a handler of each context, never to the terminal. A context lives for
 * one call. A target machine is dear and not shareable between threads: each thread keeps its own.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>

#include "../../runtime/error.h"
#include "../native.h"
#include "../reserve.h"
#include "flatten.h"
#include "internal.h"

/* Bytes of address space asked for before LLVM begins (reserve.h). With every allocation of LLVM's
 * from there, 1,500 random kernels for x86-64-v2, forced plans among them, took 11.2 MB at most. */
#define ROOM ((size_t)32 << 20)

static const tly_arch archs[] = {
    { "x86_64", LLVMCodeModelSmall, "=r,0", "=v,0", "llvm.x86.sse.sfence", TLY_MXCSR, 0 },
    { "aarch64", LLVMCodeModelTiny, "=r,0", "=w,0", NULL, TLY_FPSR, 1 },
};

static const tly_arch *find_arch(const char *triple)
{
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        if (strncmp(triple, archs[i].prefix, strlen(archs[i].prefix)) == 0) {
            return &archs[i];
        }
    }
    return NULL;
}

/* ---- the machines of a thread ---- */

enum { MACHINES = 4 };

typedef struct machines {
    struct {
        char what[128]; /* how, triple, CPU, features, as a caller's target may be short-lived */
        LLVMTargetMachineRef machine;
    } slots[MACHINES];
    unsigned next;
} machines;

static pthread_once_t once = PTHREAD_ONCE_INIT; /* of what cannot fail */
static pthread_mutex_t key_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static int key_made; /* guarded by key_lock */

static void free_machines(void *data)
{
    machines *m = data;
    for (unsigned i = 0; i < MACHINES; i++) {
        if (m->slots[i].machine != NULL) {
            LLVMDisposeTargetMachine(m->slots[i].machine);
        }
    }
    free(m);
}

static void initialise(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
}

/* 0, or why there is no key: a process can have as many as it may, and fewer later. */
static int need_key(void)
{
    pthread_mutex_lock(&key_lock);
    int reason = key_made ? 0 : pthread_key_create(&key, free_machines);
    key_made = reason == 0;
    pthread_mutex_unlock(&key_lock);
    return reason;
}

static tally_status make_machine(const tly_target *target, const tly_arch *arch, int quick,
                                 LLVMTargetMachineRef *machine, tally_error *error)
{
    LLVMTargetRef found;
    char *text = NULL;
    if (LLVMGetTargetFromTriple(target->triple, &found, &text)) {
        tally_status status = tly_fail(error, TALLY_INTERNAL, "device", "%s", text);
        LLVMDisposeMessage(text);
        return status;
    }
    *machine = LLVMCreateTargetMachine(found, target->triple, target->cpu, target->features,
                                       quick ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                       LLVMRelocPIC, arch->model);
    if (*machine == NULL) {
        return tly_fail(error, TALLY_INTERNAL, "device", "LLVM makes no code for %s",
                        target->level);
    }
    return TALLY_OK;
}

static tally_status get_machines(machines **mine, tally_error *error)
{
    int reason = need_key();
    if (reason != 0) {
        return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "no thread-specific key: %s",
                        strerror(reason));
    }
    machines *m = pthread_getspecific(key);
    if (m == NULL) {
        m = calloc(1, sizeof *m);
        if (m == NULL || pthread_setspecific(key, m) != 0) {
            free(m);
            return tly_out_of_memory(error, "target machines", sizeof *m);
        }
    }
    *mine = m;
    return TALLY_OK;
}

/* The thread's machine for a target; it stays the thread's. */
static tally_status get_machine(const tly_target *target, const tly_arch *arch, int quick,
                                LLVMTargetMachineRef *machine, tally_error *error)
{
    machines *m = NULL;
    tally_status status = get_machines(&m, error);
    if (status != TALLY_OK) {
        return status;
    }
    char what[sizeof m->slots[0].what];
    snprintf(what, sizeof what, "%s%s %s %s", quick ? "quick " : "", target->triple, target->cpu,
             target->features);
    for (unsigned i = 0; i < MACHINES; i++) {
        if (strcmp(m->slots[i].what, what) == 0) {
            *machine = m->slots[i].machine;
            return TALLY_OK;
        }
    }
    status = make_machine(target, arch, quick, machine, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (m->slots[m->next].machine != NULL) {
        LLVMDisposeTargetMachine(m->slots[m->next].machine);
    }
    memcpy(m->slots[m->next].what, what, sizeof what);
    m->slots[m->next].machine = *machine;
    m->next = (m->next + 1) % MACHINES;
    return TALLY_OK;
}

/* ---- one call ---- */

typedef struct call {
    int quick; /* LLVM selects soon rather than well: never across instructions, so the same bits */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine; /* the thread's */
    char fault[160];              /* LLVM's first error, or "" */
} call;

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
    call *c = data;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    int is_fault = severity == LLVMDSError || (c->quick && severity == LLVMDSWarning);
    if (!is_fault || c->fault[0] != 0) {
        return;
    }
    char *text = LLVMGetDiagInfoDescription(info);
    snprintf(c->fault, sizeof c->fault, "%s", text != NULL && *text ? text : "unknown error");
    LLVMDisposeMessage(text);
}

static void end(call *c)
{
    if (c->module != NULL) {
        LLVMDisposeModule(c->module);
    }
    if (c->context != NULL) {
        LLVMContextDispose(c->context);
    }
}

/* Values that quick code keeps lie in its frame, each at a place of its own. Beyond this LLVM warns,
 * and the kernel has no quick code. Of the kernels of tools/pack_words for x86-64-v4 none took more
 * than 11.6 KiB, nor in full than 1. */
static void bound_stack(const call *c, LLVMValueRef function)
{
    static const char name[] = "warn-stack-size", bytes[] = "16384";
    LLVMAttributeRef bound = LLVMCreateStringAttribute(c->context, name, sizeof name - 1, bytes,
                                                       sizeof bytes - 1);
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, bound);
}

/* Leaves a verified module in c; to be ended in any case. */
static tally_status begin(call *c, const kir_kernel *kernel, const tly_target *target, int lines,
                          tally_error *error)
{
    const tly_arch *arch = find_arch(target->triple);
    if (arch == NULL) {
        return tly_fail(error, TALLY_INTERNAL, "device", "no architecture for %s", target->triple);
    }
    pthread_once(&once, initialise);
    tally_status status = get_machine(target, arch, c->quick, &c->machine, error);
    if (status != TALLY_OK) {
        return status;
    }
    c->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(c->context, on_diagnostic, c);
    c->module = LLVMModuleCreateWithNameInContext(kernel->name, c->context);
    LLVMSetTarget(c->module, target->triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
    LLVMSetModuleDataLayout(c->module, layout);
    LLVMDisposeTargetData(layout);
    tly_lowering l = { .kernel = kernel,
                       .target = target,
                       .arch = arch,
                       .context = c->context,
                       .module = c->module,
                       .lines = lines,
                       .error = error };
    status = tly_lower(&l);
    if (status != TALLY_OK) {
        return status;
    }
    if (c->quick) {
        bound_stack(c, l.function);
    }
    char *text = NULL;
    if (LLVMVerifyModule(c->module, LLVMReturnStatusAction, &text)) {
        status = tly_fail(error, TALLY_INTERNAL, "kir", "%s: %s", kernel->name, text);
    }
    LLVMDisposeMessage(text);
    return status;
}

/* Object or assembly; *buffer is to be disposed on success. */
static tally_status emit(call *c, LLVMCodeGenFileType type, LLVMMemoryBufferRef *buffer,
                         tally_error *error)
{
    char *text = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->module, type, &text, buffer)) {
        tally_status status = tly_fail(error, TALLY_INTERNAL, "code", "%s", text);
        LLVMDisposeMessage(text);
        return status;
    }
    if (c->fault[0] == 0) {
        return TALLY_OK;
    }
    LLVMDisposeMemoryBuffer(*buffer);
    return tly_fail(error, TALLY_INTERNAL, "code", "%s", c->fault);
}

static tally_status make(const kir_kernel *kernel, const tly_target *target, int quick,
                         unsigned char **code, size_t *code_bytes, tally_error *error)
{
    call c = { .quick = quick };
    LLVMMemoryBufferRef buffer;
    tally_status status = begin(&c, kernel, target, 0, error);
    if (status == TALLY_OK) {
        status = emit(&c, LLVMObjectFile, &buffer, error);
    }
    if (status == TALLY_OK) {
        status = tly_flatten((const unsigned char *)LLVMGetBufferStart(buffer),
                             LLVMGetBufferSize(buffer), code, code_bytes, error);
        LLVMDisposeMemoryBuffer(buffer);
    }
    end(&c);
    return status;
}

static tally_status make_in_room(const kir_kernel *kernel, const tly_target *target, int quick,
                                 unsigned char **code, size_t *code_bytes, tally_error *error)
{
    tally_status status = tly_reserve_enter(ROOM, error);
    if (status == TALLY_OK) {
        status = make(kernel, target, quick, code, code_bytes, error);
        tly_reserve_leave();
    }
    return status;
}

static tally_status compile(const kir_kernel *kernel, const tly_target *target,
                            unsigned char **code, size_t *code_bytes, tally_error *error)
{
    return make_in_room(kernel, target, 0, code, code_bytes, error);
}

static tally_status compile_quick(const kir_kernel *kernel, const tly_target *target,
                                  unsigned char **code, size_t *code_bytes, tally_error *error)
{
    return make_in_room(kernel, target, 1, code, code_bytes, error);
}

static void release(unsigned char *code)
{
    free(code);
}

static tally_status deliver(tally_write write, void *user, const char *text, size_t bytes,
                            tally_error *error)
{
    return write(user, text, bytes) == 0
               ? TALLY_OK
               : tly_fail(error, TALLY_IO, "file", "the text could not be written");
}

static tally_status write_stage(const kir_kernel *kernel, const tly_target *target,
                                tally_stage stage, tally_write write, void *user,
                                tally_error *error)
{
    call c = { 0 };
    const int lines = stage == TALLY_STAGE_LLVM_LINES || stage == TALLY_STAGE_ASM_LINES;
    tally_status status = begin(&c, kernel, target, lines, error);
    if (status == TALLY_OK && (stage == TALLY_STAGE_LLVM || stage == TALLY_STAGE_LLVM_LINES)) {
        char *text = LLVMPrintModuleToString(c.module);
        status = text != NULL ? deliver(write, user, text, strlen(text), error)
                              : tly_out_of_memory(error, "LLVM's text", 0);
        LLVMDisposeMessage(text);
    } else if (status == TALLY_OK) {
        LLVMMemoryBufferRef buffer;
        status = emit(&c, LLVMAssemblyFile, &buffer, error);
        if (status == TALLY_OK) {
            status = deliver(write, user, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer),
                             error);
            LLVMDisposeMemoryBuffer(buffer);
        }
    }
    end(&c);
    return status;
}

static tally_status show(const kir_kernel *kernel, const tly_target *target, tally_stage stage,
                         tally_write write, void *user, tally_error *error)
{
    if (stage != TALLY_STAGE_LLVM && stage != TALLY_STAGE_ASM && stage != TALLY_STAGE_LLVM_LINES &&
        stage != TALLY_STAGE_ASM_LINES) {
        return tly_fail(error, TALLY_INTERNAL, "usage", "stage %d is not LLVM's", (int)stage);
    }
    tally_status status = tly_reserve_enter(ROOM, error);
    if (status == TALLY_OK) {
        status = write_stage(kernel, target, stage, write, user, error);
        tly_reserve_leave();
    }
    return status;
}

TALLY_API const tly_native *tally_llvm_native(void);

const tly_native *tally_llvm_native(void)
{
    static const tly_native native = { TLY_GENERATOR_VERSION, compile, release, show,
                                       compile_quick };
    return &native;
}
