/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object made ahead of time is one module: the launch, which comes as bitcode and is the
 * runtime's own code (runtime/making/ahead.c); the kernels of all levels, each a function that says
 * for which; and for each word the functions that callers see. So no linker is needed, and nothing
 * but these has a name outside.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/BitReader.h>

#include "../../runtime/host/error.h"
#include "../shared/reserve.h"
#include "module.h"

/* What a kernel leaves in its module until the end, beyond what LLVM needs while it makes code. The
 * process grew by 0.16 MiB a kernel for 80 words of tools/pack_words at three levels, and by 0.35
 * for 24 words of scans whose kernels are large. */
#define ROOM_EACH ((size_t)1 << 20)

/* In front of the names of what the launch has. */
#define LAUNCH "tally."

struct tly_unit {
    tly_module m;
    LLVMTypeRef word, pointer, result; /* i64, ptr, i32 */
};

/* ---- what all functions have -------------------------------------------------------------- */

static void say(const tly_unit *u, LLVMValueRef function, const char *name, const char *value)
{
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(u->m.context, name, (unsigned)strlen(name),
                                                      value, (unsigned)strlen(value)));
}

static LLVMAttributeRef attribute(const tly_unit *u, const char *name)
{
    return LLVMCreateEnumAttribute(u->m.context,
                                   LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}

static tly_bitcode find_bitcode(const char *triple)
{
    const tly_bitcode *b = tly_bitcodes;
    while (b->prefix != NULL && strncmp(triple, b->prefix, strlen(b->prefix)) != 0) {
        b++;
    }
    return *b;
}

/* What the launch has is the object's own, under a name that is none of C's; what it lacks is the C
 * library's. */
static void hide(LLVMValueRef global)
{
    char name[128];
    size_t length;
    if (!LLVMIsDeclaration(global)) {
        snprintf(name, sizeof name, LAUNCH "%s", LLVMGetValueName2(global, &length));
        LLVMSetValueName2(global, name, strlen(name));
        LLVMSetLinkage(global, LLVMInternalLinkage);
    }
}

static void hide_all(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f)) {
        hide(f);
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g != NULL; g = LLVMGetNextGlobal(g)) {
        hide(g);
    }
}

static int is_unused(LLVMValueRef global)
{
    return LLVMGetFirstUse(global) == NULL &&
           (LLVMIsDeclaration(global) || LLVMGetLinkage(global) == LLVMInternalLinkage);
}

/* What nothing calls or reads goes, until all that is left is used. 1: something went. */
static int drop_unused(LLVMModuleRef module)
{
    int dropped = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f != NULL; f = next) {
        next = LLVMGetNextFunction(f);
        if (is_unused(f)) {
            LLVMDeleteFunction(f);
            dropped = 1;
        }
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(module), next; g != NULL; g = next) {
        next = LLVMGetNextGlobal(g);
        if (is_unused(g)) {
            LLVMDeleteGlobal(g);
            dropped = 1;
        }
    }
    return dropped;
}

static tally_status read_launch(tly_unit *u, const char *triple, tally_error *error)
{
    const tly_bitcode b = find_bitcode(triple);
    if (b.count == 0) {
        tly_fail(error, TALLY_UNSUPPORTED, "device", "this Tally makes no objects for %.*s",
                 (int)strcspn(triple, "-"), triple);
        tly_error_hint(error, "build Tally where clang of LLVM's version is; packs need none");
        return TALLY_UNSUPPORTED;
    }
    LLVMMemoryBufferRef bytes = LLVMCreateMemoryBufferWithMemoryRange((const char *)b.bytes,
                                                                      b.count, "launch", 0);
    LLVMBool failed = LLVMParseBitcodeInContext2(u->m.context, bytes, &u->m.module);
    LLVMDisposeMemoryBuffer(bytes);
    if (failed) {
        u->m.module = NULL;
        return tly_fail(error, TALLY_INTERNAL, "code", "the launch's bitcode: %s", u->m.fault);
    }
    LLVMSetSourceFileName(u->m.module, "tally", 5);
    LLVMSetModuleIdentifier(u->m.module, "tally", 5);
    tly_module_set_target(&u->m, triple);
    hide_all(u->m.module);
    return TALLY_OK;
}

/* ---- the table's functions ------------------------------------------------------------------ */

tally_status tly_unit_begin(const tly_target *target, size_t most, tly_unit **unit,
                            tally_error *error)
{
    tly_unit *u = calloc(1, sizeof *u);
    if (u == NULL) {
        return tly_out_of_memory(error, "an object", sizeof *u);
    }
    tally_status status = tly_reserve_enter(TLY_LLVM_ROOM + most * ROOM_EACH, error);
    if (status != TALLY_OK) {
        free(u);
        return status;
    }
    status = tly_module_begin(&u->m, target, TLY_MODULE_LINKED, error);
    if (status == TALLY_OK) {
        status = read_launch(u, target->triple, error);
    }
    if (status != TALLY_OK) {
        tly_unit_end(u);
        return status;
    }
    u->word = LLVMInt64TypeInContext(u->m.context);
    u->result = LLVMInt32TypeInContext(u->m.context);
    u->pointer = LLVMPointerTypeInContext(u->m.context, 0);
    *unit = u;
    return TALLY_OK;
}

void tly_unit_end(tly_unit *u)
{
    tly_module_end(&u->m);
    tly_reserve_leave();
    free(u);
}

tally_status tly_unit_code(tly_unit *u, const kir_kernel *kernel, const tly_target *target,
                           const char *name, tly_unit_entry *entry, tally_error *error)
{
    tly_lowering l = { .kernel = kernel,
                       .target = target,
                       .arch = u->m.arch,
                       .context = u->m.context,
                       .module = u->m.module,
                       .error = error };
    tally_status status = tly_lower(&l);
    if (status != TALLY_OK) {
        return status;
    }
    LLVMSetValueName2(l.function, name, strlen(name));
    LLVMSetLinkage(l.function, LLVMInternalLinkage);
    say(u, l.function, "target-cpu", target->cpu);
    say(u, l.function, "target-features", target->features);
    *entry = l.function;
    return TALLY_OK;
}

static LLVMValueRef words(const tly_unit *u, const uint64_t *from, size_t count)
{
    LLVMValueRef *values = malloc((count + 1) * sizeof(LLVMValueRef));
    LLVMValueRef array = NULL;
    for (size_t i = 0; values != NULL && i < count; i++) {
        values[i] = LLVMConstInt(u->word, from[i], 0);
    }
    if (values != NULL) {
        array = LLVMConstArray(u->word, values, (unsigned)count);
    }
    free(values);
    return array;
}

static LLVMValueRef structure(const tly_unit *u, LLVMValueRef *fields, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (fields[i] == NULL) {
            return NULL; /* without memory */
        }
    }
    return LLVMConstStructInContext(u->m.context, fields, count, 0);
}

static LLVMValueRef row(const tly_unit *u, const tly_unit_call *c, size_t i)
{
    LLVMValueRef fields[2] = { c->entries[i] != NULL ? (LLVMValueRef)(uintptr_t)c->entries[i]
                                                     : LLVMConstNull(u->pointer),
                               words(u, c->rows + i * c->row_words, c->row_words) };
    return structure(u, fields, 2);
}

/* How many rows, the head, the rows; NULL without memory. */
static LLVMValueRef add_data(const tly_unit *u, const tly_unit_call *c)
{
    char name[1200];
    LLVMValueRef *rows = calloc(c->row_count + 1, sizeof(LLVMValueRef));
    if (rows == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < c->row_count; i++) {
        rows[i] = row(u, c, i);
    }
    LLVMValueRef all = structure(u, rows, (unsigned)c->row_count);
    free(rows);
    LLVMValueRef fields[3] = { LLVMConstInt(u->word, c->row_count, 0),
                               words(u, c->head, c->head_words), all };
    LLVMValueRef value = structure(u, fields, 3);
    if (value == NULL) {
        return NULL;
    }
    snprintf(name, sizeof name, "%s.data", c->name);
    LLVMValueRef data = LLVMAddGlobal(u->m.module, LLVMTypeOf(value), name);
    LLVMSetInitializer(data, value);
    LLVMSetGlobalConstant(data, 1);
    LLVMSetAlignment(data, 8);
    LLVMSetLinkage(data, LLVMInternalLinkage);
    return data;
}

/* The parameter that has the address of tensor `t`: the input comes first, the output behind what
 * is read, and the states that are made come last. -1: there is none. */
static int parameter_of(const tly_unit_call *c, int t)
{
    const int carry_in = (int)c->tensors - (c->carry != 0 ? 2 : 0);
    const int has_in = (c->carry & TALLY_CARRY_IN) != 0,
              has_out = (c->carry & TALLY_CARRY_OUT) != 0;
    const int operands_end = carry_in - 1;
    return t == TLY_IN     ? 0
           : t == TLY_OUT  ? operands_end + has_in
           : t < carry_in  ? t - 1
           : t == carry_in ? (has_in ? operands_end : -1)
           : has_out       ? operands_end + has_in + 1
                           : -1;
}

static unsigned pointers_of(const tly_unit_call *c)
{
    unsigned count = 0;
    for (int t = 0; t < (int)c->tensors; t++) {
        count += parameter_of(c, t) >= 0;
    }
    return count;
}

static void set_element(const tly_unit *u, LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef array,
                        unsigned at, LLVMValueRef value)
{
    LLVMValueRef index[1] = { LLVMConstInt(u->word, at, 0) };
    LLVMBuildStore(b, value, LLVMBuildInBoundsGEP2(b, type, array, index, 1, ""));
}

/* int NAME(const T *in, const A *a, ..., const S *carry_in, T *out, S *carry_out, int64_t n0, ...[,
 * int64_t part, int64_t parts]) */
static void add_function(const tly_unit *u, const tly_unit_call *c, LLVMValueRef runner,
                         LLVMValueRef data, int in_parts)
{
    enum { PART = 2, MOST = TLY_TENSOR_COUNT + TALLY_MAX_RANK + PART, ARGUMENTS = 5 };
    char name[1200];
    LLVMTypeRef types[MOST];
    const unsigned tensors = (unsigned)c->tensors, sizes = (unsigned)c->sizes;
    const unsigned pointers = pointers_of(c), count = pointers + sizes + (in_parts ? PART : 0);
    for (unsigned i = 0; i < count; i++) {
        types[i] = i < pointers ? u->pointer : u->word;
    }
    snprintf(name, sizeof name, "%s%s", c->name, in_parts ? "_part" : "");
    LLVMValueRef f = LLVMAddFunction(u->m.module, name,
                                     LLVMFunctionType(u->result, types, count, 0));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(u, "nounwind"));
    say(u, f, "target-cpu", u->m.arch->least);
    if (u->m.arch->extends) {
        LLVMAddAttributeAtIndex(f, LLVMAttributeReturnIndex, attribute(u, "signext"));
    }
    LLVMBuilderRef b = LLVMCreateBuilderInContext(u->m.context);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(u->m.context, f, "entry"));
    LLVMValueRef list = sizes > 0 ? LLVMBuildAlloca(b, LLVMArrayType(u->word, sizes), "sizes")
                                  : LLVMConstNull(u->pointer);
    LLVMValueRef addresses = LLVMBuildAlloca(b, LLVMArrayType(u->pointer, tensors), "tensors");
    for (unsigned i = 0; i < sizes; i++) {
        set_element(u, b, u->word, list, i, LLVMGetParam(f, pointers + i));
    }
    for (unsigned i = 0; i < tensors; i++) {
        const int parameter = parameter_of(c, (int)i);
        set_element(u, b, u->pointer, addresses, i,
                    parameter < 0 ? LLVMConstNull(u->pointer)
                                  : LLVMGetParam(f, (unsigned)parameter));
    }
    LLVMValueRef arguments[ARGUMENTS] = {
        data,
        list,
        addresses,
        in_parts ? LLVMGetParam(f, count - 2) : LLVMConstInt(u->word, 0, 0),
        in_parts ? LLVMGetParam(f, count - 1) : LLVMConstInt(u->word, 1, 0),
    };
    LLVMBuildRet(
        b, LLVMBuildCall2(b, LLVMGlobalGetValueType(runner), runner, arguments, ARGUMENTS, ""));
    LLVMDisposeBuilder(b);
}

tally_status tly_unit_function(tly_unit *u, const tly_unit_call *call, tally_error *error)
{
    char name[64];
    snprintf(name, sizeof name, LAUNCH "%s", call->runner);
    LLVMValueRef runner = LLVMGetNamedFunction(u->m.module, name);
    if (runner == NULL) {
        return tly_fail(error, TALLY_INTERNAL, "code", "the launch has no %s", call->runner);
    }
    LLVMValueRef data = add_data(u, call);
    if (data == NULL) {
        return tly_out_of_memory(error, "an object", call->row_count * call->row_words);
    }
    add_function(u, call, runner, data, 0);
    add_function(u, call, runner, data, 1);
    return TALLY_OK;
}

tally_status tly_unit_write(tly_unit *u, tally_format format, tally_write write, void *user,
                            tally_error *error)
{
    while (drop_unused(u->m.module)) {
    }
    tally_status status = tly_module_verify(&u->m, "an object", error);
    return status == TALLY_OK ? tly_module_write(&u->m, format, write, user, error) : status;
}
