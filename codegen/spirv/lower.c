/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR to SPIR-V, one pass over the flat instruction array: structure, names, lines. A loop is
 * header, body, continue and merge, an if a selection; what they carry and yield are phis. What
 * computes is in lower_ops.c.
 *
 * A loop tests in its header. Where a driver counts trips, it takes all lanes through a body until
 * none is left, and so once more for nothing: there it tests at its end as well.
 */
#include <stdio.h>

#include "lower.h"

enum { PHI_WORDS = 7, PHI_AGAIN = 5 };

/* An open region. */
typedef struct frame {
    const kir_inst *open;
    const kir_inst *yield; /* that ended the region being left */
    const kir_inst *then_yield;
    uint32_t header, again, after; /* labels; again: for's continue block, if's else block */
    uint32_t then_end;             /* if: the block that left the first region */
    uint32_t phis;                 /* for: where the header's phis begin in the body */
} frame;

typedef struct walk {
    tly_spv_lowering *l;
    frame frames[KIR_MAX_DEPTH];
    uint32_t depth, block; /* the label of the block being written */
    uint32_t file, line;
} walk;

static void enter(walk *w, uint32_t label)
{
    TLY_SPV_PUT(&w->l->m, TLY_SPV_BODY, SpvOpLabel, label);
    w->block = label;
}

static void branch(walk *w, uint32_t label)
{
    TLY_SPV_PUT(&w->l->m, TLY_SPV_BODY, SpvOpBranch, label);
}

/* ---- names and lines ---- */

/* Names what an instruction made; what it merely passes on has a name. Numbers of the listing only
 * beside its lines: they are half the time of emission and a third of the words. */
static void name_value(tly_spv_lowering *l, uint32_t number, const char *name, uint32_t since)
{
    static const char *const address[] = { "offset", "low", "high" };
    char text[64];
    if (name == NULL && !l->options->lines) {
        return;
    }
    kir_type type = l->kernel->types[number];
    const tly_spv_value *value = &l->values[number];
    unsigned parts = type.kind == KIR_PTR ? 3 : type.kind == KIR_WPTR ? 1 : tly_spv_parts(l, type);
    for (unsigned i = 0; i < parts; i++) {
        if (value->id[i] < since) {
            continue;
        }
        int length = name != NULL ? snprintf(text, sizeof text, "%s", name)
                                  : snprintf(text, sizeof text, "v%u", number);
        if (type.kind == KIR_PTR) {
            snprintf(text + length, sizeof text - (size_t)length, "_%s", address[i]);
        } else if (parts > 1) {
            snprintf(text + length, sizeof text - (size_t)length, "_%u", i);
        }
        tly_spv_name(&l->m, value->id[i], text);
    }
}

static void mark_line(walk *w, const kir_inst *inst)
{
    if (w->file != 0 && inst->op != KIR_CONST && inst->op != KIR_YIELD) {
        TLY_SPV_PUT(&w->l->m, TLY_SPV_BODY, SpvOpLine, w->file, w->line, 0);
    }
    w->line += inst->op != KIR_YIELD || inst->operand_count > 0; /* kir_print */
}

/* ---- loops ---- */

static int carried_badly(walk *w, const kir_inst *inst, uint32_t first)
{
    for (uint32_t i = 0; i < inst->result_count; i++) {
        kir_kind kind = (kir_kind)w->l->kernel->types[first + i].kind;
        if (kind >= KIR_PTR) {
            tly_spv_fail(&w->l->m, "%s with a %s", kir_op_text((kir_op)inst->op),
                         kir_kind_text(kind));
            return 1;
        }
    }
    return 0;
}

/* A phi for each part: one value from a block, or another from another. */
static void join(walk *w, uint32_t number, const tly_spv_value *one, uint32_t from,
                 const tly_spv_value *other, uint32_t from_other)
{
    tly_spv_lowering *l = w->l;
    kir_type type = l->kernel->types[number];
    uint32_t shape = tly_spv_type(l, type), since = l->m.bound;
    for (unsigned i = 0; i < tly_spv_parts(l, type); i++) {
        l->values[number].id[i] = OP(l, Phi, shape, one->id[i], from, other->id[i], from_other);
    }
    name_value(l, number, NULL, since);
}

static int tests_twice(const walk *w)
{
    return w->l->options->caps->trip_limit > 0;
}

/* i1: there is a trip with this i, and with what the loop carries first. */
static uint32_t has_trip(walk *w, const kir_inst *inst, const tly_spv_value *i,
                         const tly_spv_value *carried)
{
    tly_spv_lowering *l = w->l;
    const tly_spv_value *hi = tly_spv_operand(l, inst, 1);
    uint32_t more = tly_spv_compare(l, KIR_SLT, l->kernel->types[inst->params_first], i, hi);
    int has_while = (inst->flags & KIR_WHILE) != 0;
    return has_while ? OP(l, LogicalAnd, tly_spv_bool(&l->m), more, carried->id[0]) : more;
}

static void open_for(walk *w, const kir_inst *inst, frame *f)
{
    tly_spv_lowering *l = w->l;
    const tly_spv_value none = { 0 }, *initial[1 + KIR_MAX_RESULTS];
    if (carried_badly(w, inst, inst->result_first)) {
        return;
    }
    for (uint32_t i = 0; i <= inst->result_count;
         i++) { /* constants are made outside of the phis */
        initial[i] = tly_spv_operand(l, inst, i == 0 ? 0 : 2 + i);
    }
    f->header = tly_spv_id(&l->m);
    f->again = tly_spv_id(&l->m);
    f->after = tly_spv_id(&l->m);
    uint32_t body = tly_spv_id(&l->m), first = inst->params_first, before = w->block;
    branch(w, f->header);
    enter(w, f->header);
    f->phis = l->m.section[TLY_SPV_BODY].count;
    for (uint32_t i = 0; i <= inst->result_count; i++) { /* what comes again is patched in */
        join(w, first + i, initial[i], before, &none, 0);
    }
    uint32_t more = has_trip(w, inst, &l->values[first], &l->values[first + 1]);
    TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpLoopMerge, f->after, f->again, SpvLoopControlMaskNone);
    TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpBranchConditional, more, body, f->after);
    enter(w, body);
}

/* 1 if i + step cannot go beyond the type's range, as i is below hi. */
static int stays_in_range(kir_type type, const tly_spv_value *hi, const tly_spv_value *step)
{
    int64_t most = type.kind == KIR_I32 ? INT32_MAX : INT64_MAX;
    int64_t end = type.kind == KIR_I32 ? (int32_t)hi->bits : (int64_t)hi->bits;
    return hi->constant && step->constant && (end <= 0 || (int64_t)step->bits <= most - end);
}

/* The next i; hi where that would be beyond the type's range or hi, so that the loop ends. */
static void next_i(walk *w, const kir_inst *inst, tly_spv_value *next)
{
    tly_spv_lowering *l = w->l;
    kir_type type = l->kernel->types[inst->params_first];
    const tly_spv_value *i = &l->values[inst->params_first];
    const tly_spv_value *hi = tly_spv_operand(l, inst, 1), *step = tly_spv_operand(l, inst, 2);
    tly_spv_value sum = { 0 }, left = { 0 };
    tly_spv_binary(l, KIR_ADD, type, i, step, &sum);
    if (stays_in_range(type, hi, step)) {
        *next = sum;
        return;
    }
    tly_spv_binary(l, KIR_SUB, type, hi, i, &left);
    uint32_t fits = tly_spv_compare(l, KIR_ULT, type, step, &left);
    tly_spv_select(l, type, fits, 1, &sum, hi, next);
}

static uint32_t patch_phi(walk *w, uint32_t at, kir_type type, const tly_spv_value *again)
{
    uint32_t *words = w->l->m.section[TLY_SPV_BODY].data;
    for (unsigned i = 0; i < tly_spv_parts(w->l, type); i++, at += PHI_WORDS) {
        words[at + PHI_AGAIN] = again->id[i];
        words[at + PHI_AGAIN + 1] = w->block;
    }
    return at;
}

static void close_for(walk *w, frame *f)
{
    tly_spv_lowering *l = w->l;
    const kir_inst *inst = f->open;
    tly_spv_value next = { 0 };
    const tly_spv_value *yielded[1 + KIR_MAX_RESULTS] = { NULL };
    for (uint32_t i = 0; i < inst->result_count; i++) {
        yielded[i] = tly_spv_operand(l, f->yield, i);
    }
    uint32_t last = w->block;
    if (tests_twice(w)) {
        next_i(w, inst, &next);
        uint32_t more = has_trip(w, inst, &next, yielded[0]);
        TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpBranchConditional, more, f->again, f->after);
        enter(w, f->again);
    } else {
        branch(w, f->again);
        enter(w, f->again);
        next_i(w, inst, &next);
    }
    branch(w, f->header);
    if (l->m.status != TALLY_OK) {
        return; /* there may be nothing to patch */
    }
    uint32_t at = patch_phi(w, f->phis, l->kernel->types[inst->params_first], &next);
    for (uint32_t i = 0; i < inst->result_count; i++) {
        uint32_t carried = inst->params_first + 1 + i;
        at = patch_phi(w, at, l->kernel->types[carried], yielded[i]);
        l->values[inst->result_first + i] = l->values[carried];
    }
    enter(w, f->after);
    for (uint32_t i = 0; i < inst->result_count && tests_twice(w); i++) {
        const tly_spv_value *carried = &l->values[inst->params_first + 1 + i];
        join(w, inst->result_first + i, carried, f->header, yielded[i], last);
    }
}

/* ---- ifs ---- */

static void open_if(walk *w, const kir_inst *inst, frame *f)
{
    tly_spv_lowering *l = w->l;
    if (inst->result_count > 0 && carried_badly(w, inst, inst->result_first)) {
        return;
    }
    uint32_t condition = tly_spv_operand(l, inst, 0)->id[0], then = tly_spv_id(&l->m);
    f->after = tly_spv_id(&l->m);
    f->again = l->kernel->insts[inst->match].op == KIR_ELSE ? tly_spv_id(&l->m) : f->after;
    TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpSelectionMerge, f->after, SpvSelectionControlMaskNone);
    TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpBranchConditional, condition, then, f->again);
    enter(w, then);
}

static void open_else(walk *w, frame *f)
{
    f->then_end = w->block;
    f->then_yield = f->yield;
    branch(w, f->after);
    enter(w, f->again);
}

static void close_if(walk *w, frame *f)
{
    tly_spv_lowering *l = w->l;
    const kir_inst *inst = f->open;
    uint32_t end = w->block;
    branch(w, f->after);
    enter(w, f->after);
    for (uint32_t i = 0; i < inst->result_count; i++) {
        join(w, inst->result_first + i, tly_spv_operand(l, f->then_yield, i), f->then_end,
             tly_spv_operand(l, f->yield, i), end);
    }
}

/* ---- the kernel ---- */

static void lower_inst(walk *w, const kir_inst *inst)
{
    tly_spv_lowering *l = w->l;
    tly_spv_value value = { 0 };
    uint32_t since = l->m.bound;
    tly_spv_lower_op(l, inst, &value);
    if (inst->result_count != 0) {
        l->values[inst->result_first] = value;
        name_value(l, inst->result_first,
                   inst->op == KIR_ARG ? kir_arg_text((kir_arg)inst->imm) : NULL, since);
    }
}

static void lower_body(walk *w)
{
    const kir_kernel *kernel = w->l->kernel;
    for (uint32_t n = 0; n < kernel->inst_count && w->l->m.status == TALLY_OK; n++) {
        const kir_inst *inst = &kernel->insts[n];
        mark_line(w, inst);
        switch (inst->op) {
        case KIR_FOR:
        case KIR_IF:
            w->frames[w->depth] = (frame){ .open = inst };
            (inst->op == KIR_FOR ? open_for : open_if)(w, inst, &w->frames[w->depth++]);
            break;
        case KIR_ELSE:
            open_else(w, &w->frames[w->depth - 1]);
            break;
        case KIR_YIELD:
            w->frames[w->depth - 1].yield = inst;
            break;
        case KIR_END: {
            const kir_inst *opener = &kernel->insts[inst->match];
            (opener->op == KIR_FOR ? close_for : close_if)(w, &w->frames[--w->depth]);
            break;
        }
        case KIR_RETURN:
            tly_spv_put(&w->l->m, TLY_SPV_BODY, SpvOpReturn, 0, NULL);
            break;
        default:
            lower_inst(w, inst);
        }
    }
}

void tly_spv_lower_function(tly_spv_lowering *l)
{
    tly_spv_module *m = &l->m;
    walk w = { .l = l, .line = 2 }; /* line 1 is the kernel's name */
    uint32_t nothing = tly_spv_void(m);
    uint32_t type = TLY_SPV_INTERN(m, SpvOpTypeFunction, 0, nothing);
    if (l->options->lines) {
        char file[72];
        snprintf(file, sizeof file, "%s.kir", l->kernel->name);
        w.file = tly_spv_id(m);
        tly_spv_put_text(m, TLY_SPV_STRINGS, SpvOpString, 1, &w.file, file);
    }
    tly_spv_name(m, m->main, l->kernel->name);
    TLY_SPV_PUT(m, TLY_SPV_BODY, SpvOpFunction, nothing, m->main, SpvFunctionControlMaskNone, type);
    enter(&w, tly_spv_id(m));
    lower_body(&w);
    tly_spv_put(m, TLY_SPV_BODY, SpvOpFunctionEnd, 0, NULL);
}
