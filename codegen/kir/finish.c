/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a builder to a kernel: constants that are used go in front, in the order in which they were
 * first asked for, and values are numbered in order of appearance. So equal building gives equal
 * kernels, and a kernel equals the one that its printed text parses to.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

void kir_free(kir_kernel *kernel)
{
    if (kernel != NULL) {
        free(kernel->insts);
        free(kernel->operands);
        free(kernel->indices);
        free(kernel->types);
        free(kernel);
    }
}

/* malloc(0) may be NULL: an empty array takes a byte. */
static void *room(size_t count, size_t size)
{
    return malloc(count * size + 1);
}

/* Gives `count` consecutive values their numbers; old ones start at *first, which becomes new. */
static void renumber(const kir_builder *b, kir_kernel *k, uint32_t *map, uint32_t *first,
                     uint32_t count)
{
    if (count == 0) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        map[*first + i] = k->value_count;
        k->types[k->value_count++] = kir_type_of(b, *first + i);
    }
    *first = map[*first];
}

static void fill(const kir_builder *b, kir_kernel *k, uint32_t *map)
{
    const uint32_t *operands = b->operands.data;
    for (uint32_t i = 0; i < b->operands.count; i++) {
        map[operands[i]] = 1; /* used; its number comes below */
    }
    k->types[0] = KIR_TYPE(KIR_NONE, 0);
    k->value_count = 1;
    const struct constant *constants = b->constants.data;
    for (uint32_t i = 0; i < b->constants.count; i++) {
        if (map[constants[i].value] != 0) {
            kir_inst *inst = &k->insts[k->inst_count++];
            *inst = constants[i].inst;
            inst->result_first = constants[i].value;
            renumber(b, k, map, &inst->result_first, 1);
        }
    }
    uint32_t shift = k->inst_count;
    const kir_inst *body = b->insts.data;
    for (uint32_t i = 0; i < b->insts.count; i++) {
        kir_inst *inst = &k->insts[k->inst_count++];
        *inst = body[i];
        renumber(b, k, map, &inst->result_first, inst->result_count);
        if (inst->op == KIR_FOR) {
            renumber(b, k, map, &inst->params_first, 1 + inst->result_count);
        }
        if (inst->op == KIR_FOR || inst->op == KIR_IF || inst->op == KIR_ELSE ||
            inst->op == KIR_END) {
            inst->match += shift;
        }
    }
    for (uint32_t i = 0; i < b->operands.count; i++) {
        k->operands[i] = map[operands[i]];
    }
    if (b->indices.count > 0) {
        memcpy(k->indices, b->indices.data, b->indices.count);
    }
}

kir_kernel *kir_seal(kir_builder *b)
{
    if (!kir_alive(b)) {
        return NULL;
    }
    kir_kernel *k = calloc(1, sizeof *k);
    uint32_t *map = calloc(b->values.count, sizeof *map);
    if (k != NULL && map != NULL) {
        memcpy(k->name, b->name, sizeof k->name);
        k->workgroup = b->workgroup;
        k->facts = b->facts;
        k->insts = room((size_t)b->insts.count + b->constants.count, sizeof *k->insts);
        k->operands = room(b->operands.count, sizeof *k->operands);
        k->indices = room(b->indices.count, 1);
        k->types = room(b->values.count, sizeof *k->types);
        k->operand_count = b->operands.count;
        k->index_count = b->indices.count;
    }
    if (k == NULL || map == NULL || k->insts == NULL || k->operands == NULL || k->indices == NULL ||
        k->types == NULL) {
        b->status = TALLY_OUT_OF_MEMORY;
        kir_free(k);
        k = NULL;
    } else {
        fill(b, k, map);
    }
    free(map);
    return k;
}

tally_status kir_finish(kir_builder *b, kir_kernel **kernel, tally_error *error)
{
    kir_kernel *k = kir_seal(b);
    tally_status status = b == NULL ? TALLY_OUT_OF_MEMORY : b->status;
    if (status == TALLY_OUT_OF_MEMORY) {
        tly_fail(error, status, "memory", "out of memory while a kernel was built");
    } else if (status != TALLY_OK) {
        tly_fail(error, status, "kir", "kernel %s: %s", b->name, b->fault);
    } else {
        status = kir_verify(k, error);
    }
    if (status == TALLY_OK) {
        *kernel = k;
    } else {
        kir_free(k);
    }
    kir_builder_free(b);
    return status;
}
