/*
 * The door between libtally-codegen and libtally-llvm, opened only when native code is made.
 */
#ifndef TLY_NATIVE_H
#define TLY_NATIVE_H

#include "../runtime/generator.h"
#include "kir/kir.h"
#include "target.h"

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
} tly_native;

typedef const tly_native *(*tly_native_get)(void);
#define TLY_NATIVE_SYMBOL "tally_llvm_native"

#endif
