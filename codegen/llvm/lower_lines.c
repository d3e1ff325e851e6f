/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the kernel IR's text as debug locations, for those who look into a kernel: LLVM carries
 * them to the instructions that it makes. Only inspection asks for them; the instructions are the
 * same with and without, and so is their order but for AArch64's prologues (tests/inspect_page).
 */
#include <stdio.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>

#include "internal.h"

/* LLVM forgets locations in a module that does not say which version of them it holds. */
static void say_version(tly_lowering *l)
{
    static const char key[] = "Debug Info Version";
    LLVMValueRef version = tly_lower_int(l, KIR_I32, LLVMDebugMetadataVersion());
    LLVMAddModuleFlag(l->module, LLVMModuleFlagBehaviorWarning, key, sizeof key - 1,
                      LLVMValueAsMetadata(version));
}

void tly_lower_open_lines(tly_lowering *l)
{
    const char *name = l->kernel->name;
    char file_name[72];
    l->line = 1; /* of the kernel's name; the first instruction's is 2 */
    if (!l->lines)
        return;
    snprintf(file_name, sizeof file_name, "%s.kir", name);
    LLVMDIBuilderRef d = LLVMCreateDIBuilder(l->module);
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(d, file_name, strlen(file_name), "", 0);
    LLVMDIBuilderCreateCompileUnit(d, LLVMDWARFSourceLanguageC, file, "tally", 5, 1, "", 0, 0, "",
                                   0, LLVMDWARFEmissionLineTablesOnly, 0, 0, 0, "", 0, "", 0);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(d, file, NULL, 0, LLVMDIFlagZero);
    l->scope = LLVMDIBuilderCreateFunction(d, file, name, strlen(name), name, strlen(name), file, 1,
                                           type, 0, 1, 1, LLVMDIFlagZero, 1);
    LLVMSetSubprogram(l->function, l->scope);
    LLVMDIBuilderFinalize(d);
    LLVMDisposeDIBuilder(d);
    say_version(l);
}

/* Lines are counted as kir_print writes them: a yield of nothing has none. */
void tly_lower_mark_line(tly_lowering *l, const kir_inst *inst)
{
    l->line += inst->op != KIR_YIELD || inst->operand_count > 0;
    if (l->scope != NULL)
        LLVMSetCurrentDebugLocation2(
            l->builder, LLVMDIBuilderCreateDebugLocation(l->context, l->line, 0, l->scope, NULL));
}
