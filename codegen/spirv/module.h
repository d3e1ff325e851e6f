/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SPIR-V module being written: one word buffer for each section, put together at the end, so that
 * whoever emits code can declare what it needs when it needs it. Types and constants are
 * interned; a type brings its capability along. The first error sticks: after it every call
 * returns at once, with 0 for an id, and is asked for once, by tly_spv_finish.
 */
#ifndef TLY_SPV_MODULE_H
#define TLY_SPV_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include <spirv/unified1/spirv.h>
#include <tally/status.h>

enum { TLY_SPV_1_3 = 0x10300, TLY_SPV_1_5 = 0x10500 };

/* In the order of the module; what comes before them is made at the end. */
typedef enum tly_spv_section {
    TLY_SPV_MODES,
    TLY_SPV_STRINGS,
    TLY_SPV_NAMES,
    TLY_SPV_DECORATIONS,
    TLY_SPV_GLOBALS,
    TLY_SPV_BODY,
    TLY_SPV_SECTIONS
} tly_spv_section;

typedef struct tly_spv_words {
    uint32_t *data;
    uint32_t count, capacity;
} tly_spv_words;

enum { TLY_SPV_CHAINS = 128, TLY_SPV_INTERFACE = 64 };

typedef struct tly_spv_module {
    const char *kernel; /* for messages */
    uint32_t version, bound, main;
    uint32_t glsl;         /* the extended instructions of GLSL.std.450, once one is asked for */
    uint32_t capabilities; /* bits: rows of tly_spv_capabilities */
    uint32_t interface[TLY_SPV_INTERFACE], interface_count;
    tly_spv_words section[TLY_SPV_SECTIONS];
    tly_spv_words interned; /* of each: hash, place in the globals, id, next; index + 1 */
    uint32_t chains[TLY_SPV_CHAINS];
    tally_status status;
    tally_error *error;
} tly_spv_module;

/* Every capability that a module can have, and the field of tly_caps that says whether a device
 * has it: at least one bit of `mask` at `field`, bytes from the start (capabilities.c). */
typedef struct tly_spv_capability {
    SpvCapability capability;
    const char *name;
    uint16_t fields[3]; /* any will do */
    uint32_t mask;      /* 0: every device has it */
} tly_spv_capability;

enum { TLY_SPV_CAPABILITIES = 14 };
extern const tly_spv_capability tly_spv_capabilities[TLY_SPV_CAPABILITIES];

void tly_spv_begin(tly_spv_module *m, uint32_t version, const char *kernel, tally_error *error);
/* The module's words, malloc'ed; frees the module's buffers in any case. */
tally_status tly_spv_finish(tly_spv_module *m, uint32_t **words, size_t *count);

/* Sets the sticky error, TALLY_INTERNAL, unless there is one; returns 0. */
uint32_t tly_spv_fail(tly_spv_module *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void tly_spv_need(tly_spv_module *m, SpvCapability capability);
uint32_t tly_spv_id(tly_spv_module *m);

/* An instruction without a result, or with its ids among the operands. */
void tly_spv_put(tly_spv_module *m, tly_spv_section section, SpvOp op, uint32_t count,
                 const uint32_t *operands);
/* The same with a text behind the operands. */
void tly_spv_put_text(tly_spv_module *m, tly_spv_section section, SpvOp op, uint32_t count,
                      const uint32_t *operands, const char *text);
/* An instruction of the body with a result. */
uint32_t tly_spv_op(tly_spv_module *m, SpvOp op, uint32_t type, uint32_t count,
                    const uint32_t *operands);

/* One of GLSL.std.450, of one operand. */
uint32_t tly_spv_glsl(tly_spv_module *m, uint32_t instruction, uint32_t type, uint32_t operand);

/* Types (type 0) and constants, each once; or, declared, anew each time. */
uint32_t tly_spv_intern(tly_spv_module *m, SpvOp op, uint32_t type, uint32_t count,
                        const uint32_t *operands);
uint32_t tly_spv_declare(tly_spv_module *m, SpvOp op, uint32_t type, uint32_t count,
                         const uint32_t *operands);

#define TLY_SPV_COUNT(...) (sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
#define TLY_SPV_LIST(...) \
    (uint32_t)TLY_SPV_COUNT(__VA_ARGS__), (uint32_t[]) \
    { \
        __VA_ARGS__ \
    }
#define TLY_SPV_PUT(m, section, op, ...) tly_spv_put(m, section, op, TLY_SPV_LIST(__VA_ARGS__))
#define TLY_SPV_OP(m, op, type, ...) tly_spv_op(m, op, type, TLY_SPV_LIST(__VA_ARGS__))
#define TLY_SPV_INTERN(m, op, type, ...) tly_spv_intern(m, op, type, TLY_SPV_LIST(__VA_ARGS__))
#define TLY_SPV_DECLARE(m, op, type, ...) tly_spv_declare(m, op, type, TLY_SPV_LIST(__VA_ARGS__))

uint32_t tly_spv_void(tly_spv_module *m);
uint32_t tly_spv_bool(tly_spv_module *m);
uint32_t tly_spv_uint(tly_spv_module *m, uint32_t bits);
uint32_t tly_spv_float(tly_spv_module *m, uint32_t bits);
uint32_t tly_spv_vector(tly_spv_module *m, uint32_t scalar, uint32_t lanes); /* 1: the scalar */
uint32_t tly_spv_pointer(tly_spv_module *m, SpvStorageClass storage, uint32_t to);
uint32_t tly_spv_u32(tly_spv_module *m, uint32_t value);

void tly_spv_decorate(tly_spv_module *m, uint32_t id, SpvDecoration decoration);
void tly_spv_decorate_with(tly_spv_module *m, uint32_t id, SpvDecoration decoration,
                           uint32_t value);
void tly_spv_name(tly_spv_module *m, uint32_t id, const char *name);
/* A global variable, named, in the entry point's interface where it belongs there. */
uint32_t tly_spv_variable(tly_spv_module *m, SpvStorageClass storage, uint32_t type,
                          const char *name);

#endif
