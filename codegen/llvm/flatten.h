/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a relocatable ELF object to a flat blob: code first with the entry at byte 0, constants
 * behind it, every reference resolved relative to the code's own place. Nothing is left for a
 * loader to do but to copy it to a page border.
 */
#ifndef TLY_LLVM_FLATTEN_H
#define TLY_LLVM_FLATTEN_H

#include <stddef.h>

#include <tally/status.h>

/* The object (x86-64, AArch64 or RISC-V) must be one function that calls nothing and has no
 * variables: whatever else it asks for, and any damage, is TALLY_INTERNAL naming the relocation,
 * symbol or section. *code comes from malloc. Constants keep their alignment, up to 64 bytes,
 * relative to the blob's start. Thread-safe. */
tally_status tly_flatten(const unsigned char *object, size_t object_bytes, unsigned char **code,
                         size_t *code_bytes, tally_error *error);

#endif
