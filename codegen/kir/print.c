/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text form; docs/kir.md has the grammar. One line an instruction, two blanks a level. Reads
 * verified kernels only.
 */
#include "internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct out {
    tally_write write;
    void *user;
    int failed;
    size_t used;
    char text[4096]; /* so that a kernel is a few writes, not thousands */
};

static void flush(struct out *o)
{
    if (o->used > 0 && !o->failed) {
        o->failed = o->write(o->user, o->text, o->used) != 0;
    }
    o->used = 0;
}

/* Each piece is far shorter than PIECE. */
#define PIECE 128

static void put(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct out *o, const char *format, ...)
{
    if (sizeof o->text - o->used < PIECE) {
        flush(o);
    }
    va_list args;
    va_start(args, format);
    int length = vsnprintf(o->text + o->used, PIECE, format, args);
    va_end(args);
    if (length > 0) {
        o->used += (size_t)length;
    }
}

static void put_type(struct out *o, kir_type t)
{
    put(o, "%s", kir_kind_text((kir_kind)t.kind));
    if (t.lanes != 1) {
        put(o, "x%u", t.lanes);
    }
}

/* "%9 : i64" */
static void put_typed(struct out *o, const kir_kernel *k, uint32_t v)
{
    put(o, "%%%" PRIu32 " : ", v);
    put_type(o, k->types[v]);
}

static void put_constant(struct out *o, kir_type type, int64_t bits)
{
    unsigned width = kir_kind_bits((kir_kind)type.kind);
    if (type.kind == KIR_I1) {
        put(o, " %s", bits != 0 ? "true" : "false");
    } else if (kir_is_float(type)) {
        put(o, " 0x%0*" PRIx64, (int)width / 4, (uint64_t)bits);
    } else {
        uint64_t sign = UINT64_C(1) << (width - 1);
        put(o, " %" PRId64, (int64_t)(((uint64_t)bits ^ sign) - sign));
    }
}

static void put_offset(struct out *o, int64_t offset)
{
    if (offset != 0) {
        put(o, " %c %" PRIu64, offset < 0 ? '-' : '+',
            offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset);
    }
}

static void put_for(struct out *o, const kir_kernel *k, const kir_inst *inst)
{
    const uint32_t *v = k->operands + inst->operand_first;
    put(o, " %%%" PRIu32 " = %%%" PRIu32 " to %%%" PRIu32 " step %%%" PRIu32, inst->params_first,
        v[0], v[1], v[2]);
    if ((inst->flags & KIR_WHILE) != 0) {
        put(o, " while");
    }
    for (uint32_t i = 0; i < inst->result_count; i++) {
        put(o, "%s", i == 0 ? " with " : ", ");
        put_typed(o, k, inst->params_first + 1 + i);
        put(o, " = %%%" PRIu32, v[3 + i]);
    }
}

/* What follows the operation's name, by the letter of its immediate. */
static void put_rest(struct out *o, const kir_kernel *k, const kir_inst *inst)
{
    int letter = kir_op_immediate((kir_op)inst->op);
    const char *between = " ";
    if (letter == 'p') {
        put(o, " %s", kir_pred_text((kir_pred)inst->imm));
    } else if (letter == 'a') {
        put(o, " %s", kir_arg_text((kir_arg)inst->imm));
        between = ", ";
    } else if (letter == 'b') {
        put_constant(o, inst->type, inst->imm);
    } else if (letter == 'i') {
        put(o, " %s", kir_id_text((kir_id)inst->imm));
    } else if (letter == 'n') {
        put(o, " %" PRId64, inst->imm);
    }
    for (uint32_t i = 0; i < inst->operand_count; i++) {
        put(o, "%s%%%" PRIu32, between, k->operands[inst->operand_first + i]);
        if ((letter == 'o' || letter == 'm') && i == 0) {
            put_offset(o, inst->imm);
        }
        between = ", ";
    }
    if (letter == 'l') {
        put(o, ", %" PRId64, inst->imm);
    } else if (letter == 's') {
        for (unsigned i = 0; i < inst->type.lanes; i++) {
            put(o, "%s%u", i == 0 ? ", [" : " ", k->indices[inst->imm + i]);
        }
        put(o, "]");
    }
    if (inst->align != 0) {
        put(o, ", align %u", inst->align);
    }
    if ((inst->flags & KIR_STREAM) != 0) {
        put(o, ", stream");
    }
}

static void put_inst(struct out *o, const kir_kernel *k, const kir_inst *inst, unsigned depth)
{
    put(o, "%*s", (int)(depth * 2), "");
    for (uint32_t i = 0; i < inst->result_count; i++) {
        put(o, "%s", i == 0 ? "" : ", ");
        put_typed(o, k, inst->result_first + i);
    }
    put(o, "%s%s", inst->result_count > 0 ? " = " : "", kir_op_text((kir_op)inst->op));
    if (inst->op == KIR_FOR) {
        put_for(o, k, inst);
    } else {
        put_rest(o, k, inst);
    }
    put(o, "%s\n", inst->op == KIR_FOR || inst->op == KIR_IF ? " {" : "");
}

tally_status kir_print(const kir_kernel *kernel, tally_write write, void *user)
{
    struct out o;
    o.write = write;
    o.user = user;
    o.failed = 0;
    o.used = 0;
    unsigned depth = 1;
    put(&o, "kernel %s ", kernel->name);
    if (kernel->workgroup > 0) {
        put(&o, "workgroup %" PRIu32 " ", kernel->workgroup);
    }
    for (uint32_t fact = 1; fact <= KIR_FACTS; fact <<= 1) {
        if (kernel->facts & fact) {
            put(&o, "%s ", kir_fact_text(fact));
        }
    }
    put(&o, "{\n");
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const kir_inst *inst = &kernel->insts[i];
        if (inst->op == KIR_END) {
            depth--;
            put(&o, "%*s}\n", (int)(depth * 2), "");
        } else if (inst->op == KIR_ELSE) {
            put(&o, "%*s} else {\n", (int)(depth * 2) - 2, "");
        } else if (inst->op != KIR_YIELD || inst->operand_count > 0) {
            put_inst(&o, kernel, inst, depth);
        }
        depth += inst->op == KIR_FOR || inst->op == KIR_IF;
    }
    put(&o, "}\n");
    flush(&o);
    return o.failed ? TALLY_IO : TALLY_OK;
}
