/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tuples: up to KIR_MAX_PARTS values under one handle, which the builder alone knows. Guarantees
 * that no instruction ever sees a handle: what treats parts alike is expanded here to one
 * instruction a part, loops and branches carry the parts side by side, and all else is refused by
 * kir_append.
 */
#include "internal.h"

#include <string.h>

#define TUPLE UINT32_C(0x80000000) /* values are fewer (kir_push) */

struct tuple {
    uint32_t count;
    kir_value part[KIR_MAX_PARTS];
};

static const struct tuple *tuple_of(const kir_builder *b, kir_value v)
{
    uint32_t index = v & ~TUPLE;
    return b == NULL || v < TUPLE || index >= b->tuples.count
               ? NULL
               : &((const struct tuple *)b->tuples.data)[index];
}

kir_value kir_tuple(kir_builder *b, unsigned parts, const kir_value *v)
{
    if (!kir_alive(b)) {
        return 0;
    }
    if (parts == 0 || parts > KIR_MAX_PARTS) {
        return kir_fault(b, "tuple: parts are 1 to %d", KIR_MAX_PARTS);
    }
    struct tuple made = { .count = parts };
    for (unsigned i = 0; i < parts; i++) {
        if (v[i] == 0 || v[i] >= b->values.count) {
            return kir_fault(b, "tuple: part %u is no single value", i);
        }
        made.part[i] = v[i];
    }
    if (parts == 1) {
        return v[0];
    }
    struct tuple *place = kir_push(b, &b->tuples, 1, sizeof *place);
    if (place == NULL) {
        return 0;
    }
    *place = made;
    return TUPLE | (b->tuples.count - 1);
}

unsigned kir_parts(const kir_builder *b, kir_value v)
{
    const struct tuple *t = tuple_of(b, v);
    return t == NULL ? 1 : t->count;
}

kir_value kir_first_part(const kir_builder *b, kir_value v)
{
    const struct tuple *t = tuple_of(b, v);
    return t == NULL ? v : t->part[0];
}

kir_value kir_part(kir_builder *b, kir_value v, unsigned i)
{
    if (!kir_alive(b)) {
        return 0;
    }
    if (i >= kir_parts(b, v)) {
        return kir_fault(b, "tuple: part %u of %u", i, kir_parts(b, v));
    }
    const struct tuple *t = tuple_of(b, v);
    return t == NULL ? v : t->part[i];
}

/* ---- instructions ---- */

/* What is done to each part alone; `shared`: the operand that all parts have in common, or -1. */
static const struct {
    uint8_t op;
    int8_t shared;
} by_parts[] = {
    { KIR_SELECT, 0 },   { KIR_SHUFFLE, -1 }, { KIR_KEEP, -1 },     { KIR_SPLAT, -1 },
    { KIR_EXTRACT, -1 }, { KIR_INSERT, -1 },  { KIR_FROM_LANE, 1 },
};

unsigned kir_parts_of(const kir_builder *b, uint32_t count, const kir_value *operands)
{
    unsigned most = 1;
    for (uint32_t i = 0; i < count; i++) {
        most = kir_parts(b, operands[i]) > most ? kir_parts(b, operands[i]) : most;
    }
    return most;
}

kir_value kir_emit_parts(kir_builder *b, kir_op op, kir_type type, int64_t imm, uint32_t count,
                         const kir_value *operands)
{
    size_t row = 0;
    while (row < sizeof by_parts / sizeof *by_parts && by_parts[row].op != op) {
        row++;
    }
    if (row == sizeof by_parts / sizeof *by_parts) {
        return kir_fault(b, "%s: an operand is a tuple", kir_op_text(op));
    }
    unsigned parts = kir_parts_of(b, count, operands);
    for (uint32_t i = 0; i < count; i++) {
        if (kir_parts(b, operands[i]) != ((int)i == by_parts[row].shared ? 1 : parts)) {
            return kir_fault(b, "%s: operand %u is of other parts than the rest", kir_op_text(op),
                             i);
        }
    }
    kir_value made[KIR_MAX_PARTS];
    for (unsigned p = 0; p < parts; p++) {
        kir_value part[3], any = 0;
        for (uint32_t i = 0; i < count; i++) {
            int shared = (int)i == by_parts[row].shared;
            part[i] = shared ? operands[i] : kir_part(b, operands[i], p);
            any = shared ? any : part[i];
        }
        made[p] = kir_emit(b, op, KIR_TYPE(kir_type_of(b, any).kind, type.lanes), imm, count, part);
    }
    return kir_tuple(b, parts, made);
}

/* ---- regions ---- */

uint32_t kir_flatten(kir_builder *b, kir_op op, uint32_t count, const kir_value *values,
                     uint8_t *parts, kir_value *flat)
{
    if (count > KIR_MAX_CARRIED) {
        kir_fault(b, "%s: more than %d values", kir_op_text(op), KIR_MAX_CARRIED);
        return 0;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = (uint8_t)kir_parts(b, values[i]);
        for (unsigned p = 0; p < parts[i]; p++) {
            flat[n++] = kir_part(b, values[i], p);
        }
    }
    return n;
}

void kir_regroup(kir_builder *b, uint32_t count, const uint8_t *parts, const kir_value *flat,
                 kir_value *values)
{
    for (uint32_t i = 0; i < count; i++) {
        values[i] = kir_tuple(b, parts[i], flat);
        flat += parts[i];
    }
}
