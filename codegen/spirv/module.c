/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing SPIR-V modules: buffers, interning, and putting the sections together. Capabilities come
 * out in the order of their table and everything else in the order of the calls, so that the same
 * calls give the same words.
 */
#include "module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/host/error.h"

void tly_spv_begin(tly_spv_module *m, uint32_t version, const char *kernel, tally_error *error)
{
    memset(m, 0, sizeof *m);
    m->kernel = kernel;
    m->version = version;
    m->error = error;
    m->bound = 1;
    m->main = tly_spv_id(m);
    tly_spv_need(m, SpvCapabilityShader);
}

uint32_t tly_spv_fail(tly_spv_module *m, const char *format, ...)
{
    if (m->status == TALLY_OK) {
        char why[200];
        va_list args;
        va_start(args, format);
        vsnprintf(why, sizeof why, format, args);
        va_end(args);
        m->status = tly_fail(m->error, TALLY_INTERNAL, "spirv", "kernel %s: %s", m->kernel, why);
    }
    return 0;
}

/* ---- words ---- */

/* Room for `count` more words, which count as added; NULL and the sticky error if there is none. */
static uint32_t *grow(tly_spv_module *m, tly_spv_words *words, uint32_t count)
{
    if (m->status != TALLY_OK) {
        return NULL;
    }
    if (words->capacity - words->count < count) {
        uint32_t capacity = words->capacity < 256 ? 256 : words->capacity * 2;
        while (capacity - words->count < count) {
            capacity *= 2;
        }
        uint32_t *data = realloc(words->data, capacity * sizeof *data);
        if (data == NULL) {
            m->status = tly_out_of_memory(m->error, "a SPIR-V module", capacity * sizeof *data);
            return NULL;
        }
        words->data = data;
        words->capacity = capacity;
    }
    words->count += count;
    return words->data + words->count - count;
}

uint32_t tly_spv_id(tly_spv_module *m)
{
    return m->status == TALLY_OK ? m->bound++ : 0;
}

static uint32_t head(SpvOp op, uint32_t words)
{
    return words << SpvWordCountShift | (uint32_t)op;
}

/* An instruction whose first operands are `fixed` ones that are not 0. */
static void put(tly_spv_module *m, tly_spv_words *to, SpvOp op, const uint32_t fixed[2],
                uint32_t count, const uint32_t *operands)
{
    uint32_t before = (fixed[0] != 0) + (fixed[1] != 0);
    uint32_t *at = grow(m, to, 1 + before + count);
    if (at != NULL) {
        *at++ = head(op, 1 + before + count);
        for (int i = 0; i < 2; i++) {
            if (fixed[i] != 0) {
                *at++ = fixed[i];
            }
        }
        if (count > 0) {
            memcpy(at, operands, count * sizeof *at);
        }
    }
}

void tly_spv_put(tly_spv_module *m, tly_spv_section section, SpvOp op, uint32_t count,
                 const uint32_t *operands)
{
    put(m, &m->section[section], op, (uint32_t[2]){ 0 }, count, operands);
}

static void put_text(tly_spv_module *m, tly_spv_words *to, SpvOp op, uint32_t count,
                     const uint32_t *operands, const char *text)
{
    uint32_t words = (uint32_t)strlen(text) / 4 + 1;
    uint32_t *at = grow(m, to, 1 + count + words);
    if (at != NULL) {
        *at++ = head(op, 1 + count + words);
        for (uint32_t i = 0; i < count; i++) {
            *at++ = operands[i];
        }
        memset(at, 0, words * sizeof *at);
        for (uint32_t i = 0; text[i] != 0; i++) { /* lowest byte first on every host */
            at[i / 4] |= (uint32_t)(unsigned char)text[i] << i % 4 * 8;
        }
    }
}

void tly_spv_put_text(tly_spv_module *m, tly_spv_section section, SpvOp op, uint32_t count,
                      const uint32_t *operands, const char *text)
{
    put_text(m, &m->section[section], op, count, operands, text);
}

uint32_t tly_spv_op(tly_spv_module *m, SpvOp op, uint32_t type, uint32_t count,
                    const uint32_t *operands)
{
    uint32_t id = tly_spv_id(m);
    put(m, &m->section[TLY_SPV_BODY], op, (uint32_t[2]){ type, id }, count, operands);
    return id;
}

/* ---- types and constants ---- */

uint32_t tly_spv_declare(tly_spv_module *m, SpvOp op, uint32_t type, uint32_t count,
                         const uint32_t *operands)
{
    uint32_t id = tly_spv_id(m);
    put(m, &m->section[TLY_SPV_GLOBALS], op, (uint32_t[2]){ type, id }, count, operands);
    return id;
}

/* Is the instruction at `at` this one, whatever its id? */
static int same(const uint32_t *at, SpvOp op, uint32_t type, uint32_t count,
                const uint32_t *operands)
{
    uint32_t before = type != 0 ? 3 : 2;
    return at[0] == head(op, before + count) && (type == 0 || at[1] == type) &&
           (count == 0 || memcmp(at + before, operands, count * sizeof *at) == 0);
}

uint32_t tly_spv_glsl(tly_spv_module *m, uint32_t instruction, uint32_t type, uint32_t operand)
{
    m->glsl = m->glsl != 0 ? m->glsl : tly_spv_id(m);
    return TLY_SPV_OP(m, SpvOpExtInst, type, m->glsl, instruction, operand);
}

uint32_t tly_spv_intern(tly_spv_module *m, SpvOp op, uint32_t type, uint32_t count,
                        const uint32_t *operands)
{
    enum { HASH, PLACE, ID, NEXT, FIELDS };
    if (m->status != TALLY_OK) {
        return 0;
    }
    uint32_t hash = ((uint32_t)op * 31 + type) * 0x9e3779b1u;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ operands[i]) * 0x01000193u;
    }
    hash ^= hash >> 15;
    uint32_t *chain = &m->chains[hash % TLY_SPV_CHAINS];
    for (uint32_t i = *chain; i != 0;) {
        const uint32_t *entry = m->interned.data + (size_t)(i - 1) * FIELDS;
        const uint32_t *at = m->section[TLY_SPV_GLOBALS].data + entry[PLACE];
        if (entry[HASH] == hash && same(at, op, type, count, operands)) {
            return entry[ID];
        }
        i = entry[NEXT];
    }
    uint32_t place = m->section[TLY_SPV_GLOBALS].count;
    uint32_t id = tly_spv_declare(m, op, type, count, operands);
    uint32_t *entry = grow(m, &m->interned, FIELDS);
    if (entry == NULL) {
        return 0;
    }
    entry[HASH] = hash;
    entry[PLACE] = place;
    entry[ID] = id;
    entry[NEXT] = *chain;
    *chain = m->interned.count / FIELDS;
    return id;
}

uint32_t tly_spv_void(tly_spv_module *m)
{
    return tly_spv_intern(m, SpvOpTypeVoid, 0, 0, NULL);
}

uint32_t tly_spv_bool(tly_spv_module *m)
{
    return tly_spv_intern(m, SpvOpTypeBool, 0, 0, NULL);
}

uint32_t tly_spv_uint(tly_spv_module *m, uint32_t bits)
{
    if (bits != 32) { /* 8 and 16 bits are in memory only */
        tly_spv_need(m, bits == 64   ? SpvCapabilityInt64
                        : bits == 16 ? SpvCapabilityStorageBuffer16BitAccess
                                     : SpvCapabilityStorageBuffer8BitAccess);
    }
    return TLY_SPV_INTERN(m, SpvOpTypeInt, 0, bits, 0);
}

uint32_t tly_spv_float(tly_spv_module *m, uint32_t bits)
{
    if (bits != 32) {
        tly_spv_need(m, bits == 16 ? SpvCapabilityFloat16 : SpvCapabilityFloat64);
    }
    return TLY_SPV_INTERN(m, SpvOpTypeFloat, 0, bits);
}

uint32_t tly_spv_vector(tly_spv_module *m, uint32_t scalar, uint32_t lanes)
{
    return lanes == 1 ? scalar : TLY_SPV_INTERN(m, SpvOpTypeVector, 0, scalar, lanes);
}

uint32_t tly_spv_pointer(tly_spv_module *m, SpvStorageClass storage, uint32_t to)
{
    return TLY_SPV_INTERN(m, SpvOpTypePointer, 0, (uint32_t)storage, to);
}

uint32_t tly_spv_u32(tly_spv_module *m, uint32_t value)
{
    return TLY_SPV_INTERN(m, SpvOpConstant, tly_spv_uint(m, 32), value);
}

/* ---- what is said about ids ---- */

void tly_spv_decorate(tly_spv_module *m, uint32_t id, SpvDecoration decoration)
{
    TLY_SPV_PUT(m, TLY_SPV_DECORATIONS, SpvOpDecorate, id, (uint32_t)decoration);
}

void tly_spv_decorate_with(tly_spv_module *m, uint32_t id, SpvDecoration decoration, uint32_t value)
{
    TLY_SPV_PUT(m, TLY_SPV_DECORATIONS, SpvOpDecorate, id, (uint32_t)decoration, value);
}

void tly_spv_name(tly_spv_module *m, uint32_t id, const char *name)
{
    tly_spv_put_text(m, TLY_SPV_NAMES, SpvOpName, 1, &id, name);
}

uint32_t tly_spv_variable(tly_spv_module *m, SpvStorageClass storage, uint32_t type,
                          const char *name)
{
    uint32_t id = TLY_SPV_DECLARE(m, SpvOpVariable, tly_spv_pointer(m, storage, type),
                                  (uint32_t)storage);
    if (storage == SpvStorageClassInput || m->version >= TLY_SPV_1_5) {
        if (m->interface_count == TLY_SPV_INTERFACE) {
            return tly_spv_fail(m, "more than %d global variables", TLY_SPV_INTERFACE);
        }
        m->interface[m->interface_count++] = id;
    }
    tly_spv_name(m, id, name);
    return id;
}

/* ---- the module ---- */

static void put_front(tly_spv_module *m, tly_spv_words *to)
{
    static const uint32_t controls = SpvCapabilityDenormPreserve;
    int float_controls = 0, addresses = 0, bytes = 0;
    uint32_t *at = grow(m, to, 5);
    if (at != NULL) {
        memcpy(at, (uint32_t[5]){ SpvMagicNumber, m->version, 0, m->bound, 0 }, 5 * sizeof *at);
    }
    for (uint32_t i = 0; i < TLY_SPV_CAPABILITIES; i++) {
        uint32_t capability = (uint32_t)tly_spv_capabilities[i].capability;
        if ((m->capabilities >> i & 1) != 0) {
            put(m, to, SpvOpCapability, (uint32_t[2]){ 0 }, 1, &capability);
            float_controls |= capability >= controls && capability <= controls + 4;
            addresses |= capability == SpvCapabilityPhysicalStorageBufferAddresses;
            bytes |= capability == SpvCapabilityStorageBuffer8BitAccess;
        }
    }
    if (float_controls && m->version < TLY_SPV_1_5) {
        put_text(m, to, SpvOpExtension, 0, NULL, "SPV_KHR_float_controls");
    }
    if (bytes && m->version < TLY_SPV_1_5) {
        put_text(m, to, SpvOpExtension, 0, NULL, "SPV_KHR_8bit_storage");
    }
    if (m->glsl != 0) {
        put_text(m, to, SpvOpExtInstImport, 1, &m->glsl, "GLSL.std.450");
    }
    uint32_t model[2] = { addresses ? SpvAddressingModelPhysicalStorageBuffer64
                                    : SpvAddressingModelLogical,
                          SpvMemoryModelGLSL450 };
    put(m, to, SpvOpMemoryModel, (uint32_t[2]){ 0 }, 2, model);
    uint32_t entry[4 + TLY_SPV_INTERFACE] = { SpvExecutionModelGLCompute, m->main,
                                              0x6e69616d /* "main" */, 0 };
    memcpy(entry + 4, m->interface, m->interface_count * sizeof *entry);
    put(m, to, SpvOpEntryPoint, (uint32_t[2]){ 0 }, 4 + m->interface_count, entry);
}

tally_status tly_spv_finish(tly_spv_module *m, uint32_t **words, size_t *count)
{
    tly_spv_words all = { 0 };
    put_front(m, &all);
    for (int i = 0; i < TLY_SPV_SECTIONS; i++) {
        const tly_spv_words *section = &m->section[i];
        uint32_t *at = grow(m, &all, section->count);
        if (at != NULL && section->count > 0) {
            memcpy(at, section->data, section->count * sizeof *at);
        }
        free(section->data);
    }
    free(m->interned.data);
    if (m->status != TALLY_OK) {
        free(all.data);
        return m->status;
    }
    *words = all.data;
    *count = all.count;
    return TALLY_OK;
}
