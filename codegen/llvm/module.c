/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of LLVM's, and the machines that make code of them; see module.h. */
#include "module.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>

#include "../../runtime/host/error.h"

static const tly_arch archs[] = {
    { "x86_64", "x86-64", LLVMCodeModelSmall, "=r,0", "=v,0", "llvm.x86.sse.sfence", TLY_MXCSR, 1,
      0, 0 },
    { "aarch64", "generic", LLVMCodeModelTiny, "=r,0", "=w,0", NULL, TLY_FPSR, 1, 1, 0 },
    { "riscv64", "sifive-u54", LLVMCodeModelMedium, "=r,0", "=f,0", NULL, TLY_FFLAGS, 0, 0, 1 },
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
        char what[128]; /* kind, triple, CPU, features, as a caller's target may be short-lived */
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
    LLVMInitializeX86AsmParser(); /* objects ask for cpuid */
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTarget();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVAsmPrinter();
    LLVMInitializeRISCVAsmParser(); /* flags */
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

static tally_status make_machine(const tly_target *target, const tly_arch *arch,
                                 tly_module_kind kind, LLVMTargetMachineRef *machine,
                                 tally_error *error)
{
    const int linked = kind == TLY_MODULE_LINKED;
    LLVMTargetRef found;
    char *text = NULL;
    if (LLVMGetTargetFromTriple(target->triple, &found, &text)) {
        tally_status status = tly_fail(error, TALLY_INTERNAL, "device", "%s", text);
        LLVMDisposeMessage(text);
        return status;
    }
    *machine = LLVMCreateTargetMachine(
        found, target->triple, linked ? arch->least : target->cpu, linked ? "" : target->features,
        kind == TLY_MODULE_QUICK ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault, LLVMRelocPIC,
        linked ? LLVMCodeModelSmall : arch->model);
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
static tally_status get_machine(const tly_target *target, const tly_arch *arch,
                                tly_module_kind kind, LLVMTargetMachineRef *machine,
                                tally_error *error)
{
    machines *m = NULL;
    tally_status status = get_machines(&m, error);
    if (status != TALLY_OK) {
        return status;
    }
    char what[sizeof m->slots[0].what];
    const int linked = kind == TLY_MODULE_LINKED; /* one machine for all levels */
    snprintf(what, sizeof what, "%d %s %s %s", (int)kind, target->triple, linked ? "" : target->cpu,
             linked ? "" : target->features);
    for (unsigned i = 0; i < MACHINES; i++) {
        if (strcmp(m->slots[i].what, what) == 0) {
            *machine = m->slots[i].machine;
            return TALLY_OK;
        }
    }
    status = make_machine(target, arch, kind, machine, error);
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

/* ---- one module ---- */

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
    tly_module *m = data;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    int is_fault = severity == LLVMDSError ||
                   (m->kind == TLY_MODULE_QUICK && severity == LLVMDSWarning);
    if (!is_fault || m->fault[0] != 0) {
        return;
    }
    char *text = LLVMGetDiagInfoDescription(info);
    snprintf(m->fault, sizeof m->fault, "%s", text != NULL && *text ? text : "unknown error");
    LLVMDisposeMessage(text);
}

void tly_module_end(tly_module *m)
{
    if (m->module != NULL) {
        LLVMDisposeModule(m->module);
    }
    if (m->context != NULL) {
        LLVMContextDispose(m->context);
    }
}

tally_status tly_module_begin(tly_module *m, const tly_target *target, tly_module_kind kind,
                              tally_error *error)
{
    m->kind = kind;
    m->arch = find_arch(target->triple);
    if (m->arch == NULL) {
        return tly_fail(error, TALLY_INTERNAL, "device", "no architecture for %s", target->triple);
    }
    pthread_once(&once, initialise);
    tally_status status = get_machine(target, m->arch, kind, &m->machine, error);
    if (status != TALLY_OK) {
        return status;
    }
    m->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(m->context, on_diagnostic, m);
    return TALLY_OK;
}

void tly_module_set_target(tly_module *m, const char *triple)
{
    LLVMSetTarget(m->module, triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(m->machine);
    LLVMSetModuleDataLayout(m->module, layout);
    LLVMDisposeTargetData(layout);
}

tally_status tly_module_verify(tly_module *m, const char *name, tally_error *error)
{
    char *text = NULL;
    tally_status status = TALLY_OK;
    if (LLVMVerifyModule(m->module, LLVMReturnStatusAction, &text)) {
        status = tly_fail(error, TALLY_INTERNAL, "kir", "%s: %s", name, text);
    }
    LLVMDisposeMessage(text);
    return status;
}

tally_status tly_module_emit(tly_module *m, LLVMCodeGenFileType type, LLVMMemoryBufferRef *buffer,
                             tally_error *error)
{
    char *text = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(m->machine, m->module, type, &text, buffer)) {
        tally_status status = tly_fail(error, TALLY_INTERNAL, "code", "%s", text);
        LLVMDisposeMessage(text);
        return status;
    }
    if (m->fault[0] == 0) {
        return TALLY_OK;
    }
    LLVMDisposeMemoryBuffer(*buffer);
    return tly_fail(error, TALLY_INTERNAL, "code", "%s", m->fault);
}

static tally_status deliver(tally_write write, void *user, const char *text, size_t bytes,
                            tally_error *error)
{
    return write(user, text, bytes) == 0
               ? TALLY_OK
               : tly_fail(error, TALLY_IO, "file", "the text could not be written");
}

tally_status tly_module_write(tly_module *m, tally_format format, tally_write write, void *user,
                              tally_error *error)
{
    if (format == TALLY_FORMAT_LLVM) {
        char *text = LLVMPrintModuleToString(m->module);
        tally_status status = text != NULL ? deliver(write, user, text, strlen(text), error)
                                           : tly_out_of_memory(error, "LLVM's text", 0);
        LLVMDisposeMessage(text);
        return status;
    }
    LLVMMemoryBufferRef buffer;
    tally_status status = tly_module_emit(
        m, format == TALLY_FORMAT_OBJECT ? LLVMObjectFile : LLVMAssemblyFile, &buffer, error);
    if (status == TALLY_OK) {
        status = deliver(write, user, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), error);
        LLVMDisposeMemoryBuffer(buffer);
    }
    return status;
}
