/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door between libtally-codegen and libtally-llvm, opened only when native code is made.
 */
#ifndef TLY_NATIVE_H
#define TLY_NATIVE_H

#include "../../runtime/problem/generator.h"
#include "../kir/kir.h"
#include "../plan/target.h"

/* An object on its way: kernels for the levels of one architecture, and the functions that launch
 * them. Of one thread. */
typedef struct tly_unit tly_unit;

/* A kernel's code in a unit; NULL: none. */
typedef const void *tly_unit_entry;

/* A function NAME, and its NAME_part: they hand to `runner`, a function of
 * runtime/making/ahead.h, the addresses of `tensors` tensors, `sizes` open sizes and, as words of
 * 64 bits, what it expects of constant data: how many rows, `head`, and the rows, each an entry
 * and words. `carry` has bits of TALLY_CARRY_...: the functions have a parameter for each. If it is
 * not 0, the last two tensors are those of a carry, and one without a parameter is NULL. */
typedef struct tly_unit_call {
    const char *name, *runner;
    size_t tensors, sizes;
    int32_t carry;
    const uint64_t *head;
    size_t head_words;
    const tly_unit_entry *entries;
    const uint64_t *rows;
    size_t row_words, row_count;
} tly_unit_call;

typedef struct tly_native {
    uint32_t version; /* TLY_GENERATOR_VERSION */
    /* One flat position-independent blob with the entry at byte 0, to be given to `release`: it may
     * come from the library's reserve. Thread-safe. */
    tally_status (*compile)(const kir_kernel *kernel, const tly_target *target,
                            unsigned char **code, size_t *code_bytes, tally_error *error);
    void (*release)(unsigned char *code);
    /* TALLY_STAGE_LLVM or TALLY_STAGE_ASM as text, or either with lines. Thread-safe. */
    tally_status (*show)(const kir_kernel *kernel, const tly_target *target, tally_stage stage,
                         tally_write write, void *user, tally_error *error);
    /* As `compile`, soon rather than well: the same results. */
    tally_status (*compile_quick)(const kir_kernel *kernel, const tly_target *target,
                                  unsigned char **code, size_t *code_bytes, tally_error *error);

    /* Objects. TALLY_UNSUPPORTED where Tally was built without clang. `most` kernels at most; after
     * unit_begin has succeeded, unit_end must follow on the same thread. */
    tally_status (*unit_begin)(const tly_target *target, size_t most, tly_unit **unit,
                               tally_error *error);
    tally_status (*unit_code)(tly_unit *unit, const kir_kernel *kernel, const tly_target *target,
                              const char *name, tly_unit_entry *entry, tally_error *error);
    tally_status (*unit_function)(tly_unit *unit, const tly_unit_call *call, tally_error *error);
    tally_status (*unit_write)(tly_unit *unit, tally_format format, tally_write write, void *user,
                               tally_error *error);
    void (*unit_end)(tly_unit *unit);
} tly_native;

typedef const tly_native *(*tly_native_get)(void);
#define TLY_NATIVE_SYMBOL "tally_llvm_native"

#endif
