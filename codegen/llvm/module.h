/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module of LLVM's on its way to code or text. A context lives as long as its module. A target
 * machine is dear and not shareable between threads: each thread keeps its own. What LLVM reports
 * goes to a handler of each context, never to the terminal.
 */
#ifndef TLY_MODULE_H
#define TLY_MODULE_H

#include "../shared/native.h"
#include "internal.h"

/* Bytes of address space asked for before LLVM begins (reserve.h). With every allocation of LLVM's
 * from there, 1,500 random kernels for x86-64-v2, forced plans among them, took 11.2 MB at most. */
#define TLY_LLVM_ROOM ((size_t)32 << 20)

typedef enum tly_module_kind {
    TLY_MODULE_FULL,   /* a kernel for itself, optimised */
    TLY_MODULE_QUICK,  /* LLVM selects soon rather than well: never across instructions, so the same
                          bits; its warnings are faults */
    TLY_MODULE_LINKED, /* functions that a linker will place; each says what it needs beyond the
                          architecture's least machine */
} tly_module_kind;

typedef struct tly_module {
    tly_module_kind kind;
    const tly_arch *arch;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine; /* the thread's */
    char fault[160];              /* LLVM's first error, or "" */
} tly_module;

/* Architecture, machine and context for a target; `m`, zero until now, is to be ended in any case.
 * The module is the caller's to make. */
tally_status tly_module_begin(tly_module *m, const tly_target *target, tly_module_kind kind,
                              tally_error *error);
void tly_module_set_target(tly_module *m, const char *triple);
void tly_module_end(tly_module *m);

/* LLVM ends the process when it meets what it cannot do: nothing reaches it unverified. */
tally_status tly_module_verify(tly_module *m, const char *name, tally_error *error);

/* Object or assembly; *buffer is to be disposed on success. */
tally_status tly_module_emit(tly_module *m, LLVMCodeGenFileType type, LLVMMemoryBufferRef *buffer,
                             tally_error *error);

tally_status tly_module_write(tly_module *m, tally_format format, tally_write write, void *user,
                              tally_error *error);

#endif
