/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the requirements of modules; see spirv_requirements.h. The instructions that state them
 * come before the first function. */
#include "spirv_requirements.h"

#include "../host/error.h"
#include "../problem/caps.h"

#include <string.h>

enum { HEADER = 5, MAGIC = 0x07230203, VERSION = 0x10300 };

/* Of the SPIR-V specification. */
enum {
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_FUNCTION = 54,
    OP_VARIABLE = 59,
    OP_DECORATE = 71
};
enum { DECORATION_BINDING = 33, CLASS_WORKGROUP = 4 };

/* Neither operations nor a feature: every device has it, or, of float controls, modes say more. */
static const struct {
    uint32_t capability, operations;
    const char *feature;
} capabilities[] = {
    { 1, 0, NULL }, /* Shader */
    { 9, 0, "shaderFloat16" },
    { 10, 0, "shaderFloat64" },
    { 11, 0, "shaderInt64" },
    { 61, TLY_SUBGROUP_BASIC, NULL },
    { 63, TLY_SUBGROUP_ARITHMETIC, NULL },
    { 64, TLY_SUBGROUP_BALLOT, NULL },
    { 65, TLY_SUBGROUP_SHUFFLE, NULL },
    { 4433, 0, "storageBuffer16BitAccess" },
    { 4448, 0, "storageBuffer8BitAccess" },
    { 4464, 0, NULL }, /* DenormPreserve */
    { 4466, 0, NULL }, /* SignedZeroInfNanPreserve */
    { 4467, 0, NULL }, /* RoundingModeRTE */
};

static const struct {
    uint32_t mode, width;
    const char *property;
} modes[] = {
    { 4459, 16, "shaderDenormPreserveFloat16" },
    { 4459, 32, "shaderDenormPreserveFloat32" },
    { 4459, 64, "shaderDenormPreserveFloat64" },
    { 4461, 16, "shaderSignedZeroInfNanPreserveFloat16" },
    { 4461, 32, "shaderSignedZeroInfNanPreserveFloat32" },
    { 4461, 64, "shaderSignedZeroInfNanPreserveFloat64" },
    { 4462, 16, "shaderRoundingModeRTEFloat16" },
    { 4462, 32, "shaderRoundingModeRTEFloat32" },
    { 4462, 64, "shaderRoundingModeRTEFloat64" },
};

static void add_name(const char **names, uint32_t *count, const char *name)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(names[i], name) == 0) {
            return;
        }
    }
    names[(*count)++] = name;
}

void tly_spirv_requirements_feature(tly_spirv_requirements *required, const char *name)
{
    add_name(required->feature, &required->feature_count, name);
}

static int add_capability(tly_spirv_requirements *required, uint32_t capability)
{
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        if (capabilities[i].capability == capability) {
            required->subgroup_operations |= capabilities[i].operations;
            if (capabilities[i].feature != NULL) {
                tly_spirv_requirements_feature(required, capabilities[i].feature);
            }
            return 1;
        }
    }
    return 0;
}

static void add_mode(tly_spirv_requirements *required, uint32_t mode, uint32_t width)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (modes[i].mode == mode && modes[i].width == width) {
            add_name(required->property, &required->property_count, modes[i].property);
        }
    }
}

/* The operands of the instruction `op` whose operand `place` is `id`; NULL if there is none. */
static const uint32_t *find(const uint32_t *words, size_t count, uint32_t op, uint32_t place,
                            uint32_t id)
{
    for (size_t at = HEADER; at < count && (words[at] & 0xffff) != OP_FUNCTION;
         at += words[at] >> 16) {
        if ((words[at] & 0xffff) == op && words[at] >> 16 > 3 && words[at + 1 + place] == id) {
            return words + at + 1;
        }
    }
    return NULL;
}

/* Operands: of a variable type, result, class; of a pointer result, class, type; of an array
 * result, element, length; of a constant type, result, value. */
static uint64_t bytes_of_variable(const uint32_t *words, size_t count, uint32_t type)
{
    const uint32_t *pointer = find(words, count, OP_TYPE_POINTER, 0, type);
    const uint32_t *array = pointer ? find(words, count, OP_TYPE_ARRAY, 0, pointer[2]) : NULL;
    const uint32_t *length = array ? find(words, count, OP_CONSTANT, 1, array[2]) : NULL;
    return length ? (uint64_t)length[2] * sizeof(uint32_t) : 0;
}

uint32_t tly_spirv_requirements_workgroup_bytes(const uint32_t *words, size_t count)
{
    uint64_t bytes = 0;
    for (size_t at = HEADER; at < count && (words[at] & 0xffff) != OP_FUNCTION;
         at += words[at] >> 16) {
        if ((words[at] & 0xffff) == OP_VARIABLE && words[at] >> 16 > 3 &&
            words[at + 3] == CLASS_WORKGROUP) {
            bytes += bytes_of_variable(words, count, words[at + 1]);
        }
    }
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

tally_status tly_spirv_requirements_add(tly_spirv_requirements *required, const uint32_t *words,
                                        size_t count, tally_error *error)
{
    int sound = count > HEADER && words[0] == MAGIC && words[1] == VERSION;
    for (size_t at = HEADER; sound && at < count; at += words[at] >> 16) {
        const uint32_t op = words[at] & 0xffff, length = words[at] >> 16;
        const uint32_t *operands = words + at + 1;
        if (op == OP_FUNCTION) {
            return TALLY_OK;
        }
        sound = length > 0 && length <= count - at;
        if (sound && op == OP_CAPABILITY && length == 2) {
            sound = add_capability(required, operands[0]);
        } else if (sound && op == OP_EXECUTION_MODE && length == 4) {
            add_mode(required, operands[1], operands[2]);
        } else if (sound && op == OP_DECORATE && length == 4 && operands[1] == DECORATION_BINDING) {
            required->bindings |= 1u << (operands[2] & 31);
        }
    }
    return tly_fail(error, TALLY_INTERNAL, "device", "a module of the kernel's is bad");
}
