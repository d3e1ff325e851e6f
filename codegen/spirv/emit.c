/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's way to a module: what is looked at before, the entry point's execution modes, and the
 * checks without which no module is handed out.
 */
#include <stdlib.h>

#include "../../runtime/host/error.h"
#include "lower.h"

/* ---- execution modes ---- */

/* A mode for each width computed with that has it; where the device knows one for all widths only,
 * for all of them or none. */
static void float_mode(tly_spv_lowering *l, SpvExecutionMode mode, SpvCapability capability,
                       uint32_t has32, uint32_t has64, uint32_t together)
{
    unsigned has = (l->options->caps->half_exact ? 16u : 0) | (has32 ? 32u : 0) | (has64 ? 64u : 0);
    unsigned wanted = l->widths & has;
    if (together && wanted != l->widths) {
        return;
    }
    for (unsigned width = 16; width <= 64; width *= 2) {
        if ((wanted & width) != 0) {
            tly_spv_need(&l->m, capability);
            TLY_SPV_PUT(&l->m, TLY_SPV_MODES, SpvOpExecutionMode, l->m.main, (uint32_t)mode, width);
        }
    }
}

static void add_modes(tly_spv_lowering *l)
{
    const tly_caps *c = l->options->caps;
    TLY_SPV_PUT(&l->m, TLY_SPV_MODES, SpvOpExecutionMode, l->m.main, SpvExecutionModeLocalSize,
                l->kernel->workgroup, 1, 1);
    float_mode(l, SpvExecutionModeDenormPreserve, SpvCapabilityDenormPreserve, c->denorm32,
               c->denorm64, c->denorm_together);
    float_mode(l, SpvExecutionModeSignedZeroInfNanPreserve, SpvCapabilitySignedZeroInfNanPreserve,
               c->preserve32, c->preserve64, 0);
    float_mode(l, SpvExecutionModeRoundingModeRTE, SpvCapabilityRoundingModeRTE, c->rte32, c->rte64,
               c->rounding_together);
}

/* What no file of the lowering expects. */
static void check_types(tly_spv_lowering *l)
{
    if (l->kernel->workgroup == 0) {
        tly_spv_fail(&l->m, "a kernel without a workgroup is for CPUs");
    }
    for (uint32_t i = 1; i < l->kernel->value_count; i++) {
        kir_type type = l->kernel->types[i];
        if (type.lanes > (type.kind == KIR_I8 ? 1 : TLY_SPV_LANES)) {
            tly_spv_fail(&l->m, "%%%u is %sx%u: an i8 stands alone, and there are at most %d lanes",
                         i, kir_kind_text((kir_kind)type.kind), type.lanes, TLY_SPV_LANES);
        }
    }
}

/* An i8 is moved and converted: there are no devices that compute in it alone. */
static void check_bytes(tly_spv_lowering *l)
{
    for (uint32_t i = 0; i < l->kernel->inst_count; i++) {
        const kir_inst *inst = &l->kernel->insts[i];
        int moves = inst->op == KIR_CONST || inst->op == KIR_LOAD || inst->op == KIR_STORE ||
                    inst->op == KIR_ZEXT || inst->op == KIR_SEXT || inst->op == KIR_TRUNC;
        int is_byte = inst->type.kind == KIR_I8;
        for (uint32_t k = 0; k < inst->operand_count; k++) {
            is_byte |= tly_spv_operand_type(l, inst, k).kind == KIR_I8;
        }
        if (is_byte && !moves) {
            tly_spv_fail(&l->m, "%s of i8", kir_op_text((kir_op)inst->op));
        }
    }
}

tally_status tly_spirv_emit(const kir_kernel *kernel, const tly_spirv_options *options,
                            uint32_t **words, size_t *count, tally_error *error)
{
    tly_spv_lowering l = { .kernel = kernel, .options = options, .pairs = !options->caps->int64 };
    tly_spv_begin(&l.m, options->addresses ? TLY_SPV_1_5 : TLY_SPV_1_3, kernel->name, error);
    l.values = calloc(kernel->value_count + (size_t)1, sizeof *l.values);
    if (l.values == NULL) {
        l.m.status = tly_out_of_memory(error, "lowering", kernel->value_count * sizeof *l.values);
    }
    check_types(&l);
    check_bytes(&l);
    if (options->addresses) {
        tly_spv_need(&l.m, SpvCapabilityPhysicalStorageBufferAddresses);
    }
    LITERAL(&l, 0); /* with its type first: no order of evaluation decides where they stand */
    tly_spv_lower_function(&l);
    tly_spv_decorate_buffers(&l);
    add_modes(&l);
    free(l.values);
    return tly_spv_finish(&l.m, words, count);
}

tally_status tly_spirv_lower(const kir_kernel *kernel, const tly_spirv_options *options,
                             uint32_t **words, size_t *count, tally_error *error)
{
    uint32_t *made = NULL;
    size_t made_count = 0;
    tally_status status = tly_spirv_emit(kernel, options, &made, &made_count, error);
    if (status != TALLY_OK) {
        return status;
    }
    const char *lacks = tly_spirv_lacks(made, made_count, options->caps);
    status = lacks != NULL
                 ? tly_fail(error, TALLY_INTERNAL, "spirv",
                            "kernel %s: capability %s, which the device lacks", kernel->name, lacks)
                 : tly_spirv_validate(made, made_count, options->addresses, kernel->name, error);
    if (status != TALLY_OK) {
        free(made);
        return status;
    }
    *words = made;
    *count = made_count;
    return TALLY_OK;
}
