/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of the text form; docs/kir.md has the grammar. Built on the builder's core, without
 * its folding: what is written is what is made.
 */
#include "parse.h"

#include <string.h>

static const char *op_text(int i)
{
    return kir_op_text((kir_op)i);
}

static const char *pred_text(int i)
{
    return kir_pred_text((kir_pred)i);
}

static const char *arg_text(int i)
{
    return kir_arg_text((kir_arg)i);
}

static const char *id_text(int i)
{
    return kir_id_text((kir_id)i);
}

/* ---- values ---- */

enum { MOST_NUMBER = 999999 };

/* %7: what the text calls so; NULL with a fault. */
static uint32_t *called(struct parser *p)
{
    uint64_t n;
    if (!kir_expect(&p->r, '%')) {
        return NULL;
    }
    const char *begun = p->r.token;
    if (!kir_number(&p->r, 10, MOST_NUMBER, &n)) {
        return NULL;
    }
    p->r.token = begun; /* it is one word */
    if (n >= p->numbers.count) {
        const uint32_t more = (uint32_t)n + 1 - p->numbers.count;
        void *room = kir_push(p->b, &p->numbers, more, sizeof(uint32_t));
        if (room == NULL) {
            return NULL;
        }
        memset(room, 0, more * sizeof(uint32_t));
    }
    return (uint32_t *)p->numbers.data + n;
}

/* An operand, which an instruction above has made. */
static int use(struct parser *p, kir_value *v)
{
    const uint32_t *value = called(p);
    if (value == NULL) {
        return 0;
    }
    if (*value == 0 || *value >= p->b->values.count) {
        return kir_broken(&p->r, "a value is used before it is defined");
    }
    *v = *value;
    return 1;
}

/* A result, the `ahead`-th of those that the caller makes next. */
static int define(struct parser *p, uint32_t ahead)
{
    uint32_t *value = called(p);
    if (value == NULL) {
        return 0;
    }
    if (*value != 0) {
        return kir_broken(&p->r, "a value is defined once");
    }
    *value = p->b->values.count + ahead;
    return 1;
}

/* ": f32x8" */
static int typed(struct parser *p, kir_type *t)
{
    return kir_expect(&p->r, ':') && kir_read_type(&p->r, t);
}

struct results {
    uint32_t count;
    kir_type types[KIR_MAX_RESULTS];
};

/* %9 : i64, %10 : f32x8 = */
static int results(struct parser *p, struct results *made)
{
    made->count = 0;
    if (!kir_peek(&p->r, '%')) {
        return 1;
    }
    do {
        if (made->count == KIR_MAX_RESULTS) {
            return kir_broken(&p->r, "too many results");
        }
        if (!define(p, made->count) || !typed(p, &made->types[made->count])) {
            return 0;
        }
        made->count++;
    } while (kir_accept(&p->r, ','));
    return kir_expect(&p->r, '=');
}

/* Makes the results the values of `inst`, from the next number on. */
static int number_results(struct parser *p, kir_inst *inst, const struct results *made)
{
    if (inst == NULL) {
        return 0;
    }
    inst->result_count = made->count;
    inst->result_first = made->count > 0 ? p->b->values.count : 0;
    for (uint32_t i = 0; i < made->count; i++) {
        kir_new_value(p->b, made->types[i]);
    }
    return kir_alive(p->b);
}

/* Every instruction goes through here, so that the verifier's findings can be given a place. */
static kir_inst *append(struct parser *p, kir_op op, kir_type t, uint32_t count,
                        const kir_value *operands)
{
    uint32_t *place = kir_push(p->b, &p->places, 1, sizeof *place);
    if (place == NULL) {
        return NULL;
    }
    *place = (uint32_t)(p->begun - p->text);
    return kir_append(p->b, op, t, count, operands);
}

/* ---- instructions ---- */

/* [0 1 2 3], one for each lane of the result */
static int lanes_picked(struct parser *p, unsigned lanes, int64_t *imm)
{
    uint64_t index;
    *imm = p->b->indices.count;
    if (!kir_expect(&p->r, '[')) {
        return 0;
    }
    for (unsigned i = 0; i < lanes; i++) {
        if (!kir_number(&p->r, 10, UINT8_MAX, &index)) {
            return 0;
        }
        uint8_t *place = kir_push(p->b, &p->b->indices, 1, 1);
        if (place == NULL) {
            return 0;
        }
        *place = (uint8_t)index;
    }
    return kir_expect(&p->r, ']');
}

/* , align 32, stream */
static int placement(struct parser *p, unsigned *align, unsigned *flags)
{
    uint64_t n;
    if (!kir_expect(&p->r, ',') || !kir_expect_word(&p->r, "align") ||
        !kir_number(&p->r, 10, UINT16_MAX, &n)) {
        return 0;
    }
    *align = (unsigned)n;
    *flags = 0;
    if (kir_accept(&p->r, ',')) {
        *flags = KIR_STREAM;
        return kir_expect_word(&p->r, "stream");
    }
    return 1;
}

/* What an operation's immediate is, where it stands in front of the operands. */
static int leading_immediate(struct parser *p, int letter, kir_type t, int64_t *imm)
{
    if (letter == 'p') {
        *imm = kir_named(&p->r, pred_text, KIR_PRED_COUNT, "no such predicate");
    } else if (letter == 'a') {
        *imm = kir_named(&p->r, arg_text, KIR_ARG_COUNT, "no such argument");
    } else if (letter == 'i') {
        *imm = kir_named(&p->r, id_text, KIR_ID_COUNT, "no such id");
    } else if (letter == 'b') {
        return kir_read_constant(&p->r, t, imm);
    } else if (letter == 'n') {
        uint64_t bytes;
        int read = kir_number(&p->r, 10, UINT32_MAX, &bytes);
        *imm = read ? (int64_t)bytes : -1;
    }
    return *imm >= 0;
}

static int trailing_immediate(struct parser *p, int letter, kir_type t, int64_t *imm)
{
    uint64_t lane;
    if (letter == 'l') {
        if (!kir_expect(&p->r, ',') || !kir_number(&p->r, 10, KIR_MAX_LANES, &lane)) {
            return 0;
        }
        *imm = (int64_t)lane;
    } else if (letter == 's') {
        return kir_expect(&p->r, ',') && lanes_picked(p, t.lanes, imm);
    }
    return 1;
}

/* All operations with a fixed number of operands but if. */
static int plain(struct parser *p, kir_op op, const struct results *made)
{
    int letter = kir_op_immediate(op), count = kir_op_operands(op);
    if (made->count != (uint32_t)kir_op_results(op)) {
        return kir_broken(&p->r, "the operation has another number of results");
    }
    kir_type t = made->count == 1 ? made->types[0] : KIR_TYPE(KIR_NONE, 0);
    kir_value operands[3];
    int64_t imm = 0;
    unsigned align = 0, flags = 0;
    if (!leading_immediate(p, letter, t, &imm)) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (((i > 0 || letter == 'a') && !kir_expect(&p->r, ',')) || !use(p, &operands[i]) ||
            ((letter == 'o' || letter == 'm') && i == 0 && !kir_read_offset(&p->r, &imm))) {
            return 0;
        }
    }
    if (!trailing_immediate(p, letter, t, &imm) ||
        (letter == 'm' && !placement(p, &align, &flags))) {
        return 0;
    }
    if (kir_op_stores(op)) {
        t = kir_type_of(p->b, operands[count - 1]);
    }
    kir_inst *inst = append(p, op, t, (uint32_t)count, operands);
    if (!number_results(p, inst, made)) {
        return 0;
    }
    inst->imm = imm;
    inst->align = (uint16_t)align;
    inst->flags = (uint8_t)flags;
    return 1;
}

static int open_region(struct parser *p, uint32_t inst)
{
    kir_open(p->b, inst);
    return kir_expect(&p->r, '{');
}

/* for %11 = %1 to %2 step %3 with %12 : i64 = %4 { */
static int for_loop(struct parser *p, const struct results *made)
{
    kir_value operands[3 + KIR_MAX_RESULTS];
    struct results carried = { .count = made->count };
    if (!define(p, made->count) || !kir_expect(&p->r, '=') || !use(p, &operands[0]) ||
        !kir_expect_word(&p->r, "to") || !use(p, &operands[1]) || !kir_expect_word(&p->r, "step") ||
        !use(p, &operands[2])) {
        return 0;
    }
    int asks = kir_accept_word(&p->r, "while");
    if (made->count > 0 && !kir_expect_word(&p->r, "with")) {
        return 0;
    }
    for (uint32_t i = 0; i < made->count; i++) {
        if ((i > 0 && !kir_expect(&p->r, ',')) || !define(p, made->count + 1 + i) ||
            !typed(p, &carried.types[i]) || !kir_expect(&p->r, '=') || !use(p, &operands[3 + i])) {
            return 0;
        }
    }
    uint32_t at = p->b->insts.count;
    kir_inst *inst = append(p, KIR_FOR, KIR_TYPE(KIR_NONE, 0), 3 + made->count, operands);
    if (!number_results(p, inst, made)) {
        return 0;
    }
    inst->flags = asks ? KIR_WHILE : 0;
    inst->params_first = kir_new_value(p->b, kir_type_of(p->b, operands[0]));
    for (uint32_t i = 0; i < carried.count; i++) {
        kir_new_value(p->b, carried.types[i]);
    }
    return open_region(p, at);
}

static int branch(struct parser *p, const struct results *made)
{
    kir_value cond;
    uint32_t at = p->b->insts.count;
    return use(p, &cond) &&
           number_results(p, append(p, KIR_IF, KIR_TYPE(KIR_NONE, 0), 1, &cond), made) &&
           open_region(p, at);
}

static int yield(struct parser *p)
{
    kir_value operands[KIR_MAX_RESULTS];
    uint32_t count = 0;
    do {
        if (count == KIR_MAX_RESULTS) {
            return kir_broken(&p->r, "too many values");
        }
        if (!use(p, &operands[count++])) {
            return 0;
        }
    } while (kir_accept(&p->r, ','));
    return append(p, KIR_YIELD, KIR_TYPE(KIR_NONE, 0), count, operands) != NULL;
}

/* A region's '}' has been read. One that yields nothing does not say so. */
static int close_region(struct parser *p)
{
    kir_type none = KIR_TYPE(KIR_NONE, 0);
    if (kir_at(p->b, p->b->insts.count - 1)->op != KIR_YIELD &&
        append(p, KIR_YIELD, none, 0, NULL) == NULL) {
        return 0;
    }
    uint32_t opener = p->b->open[p->b->depth].inst, at = p->b->insts.count;
    int more = kir_accept_word(&p->r, "else");
    kir_inst *inst = append(p, more ? KIR_ELSE : KIR_END, none, 0, NULL);
    if (inst == NULL) {
        return 0;
    }
    kir_inst *first = kir_at(p->b, opener);
    if (more) {
        if (first->op != KIR_IF || first->match != 0) {
            return kir_broken(&p->r, "else belongs to an if, once");
        }
        first->match = at;
        return kir_expect(&p->r, '{');
    }
    inst->match = opener;
    kir_at(p->b, first->match != 0 ? first->match : opener)->match = at;
    kir_close(p->b);
    return 1;
}

static int statement(struct parser *p)
{
    struct results made;
    if (!results(p, &made)) {
        return 0;
    }
    int op = kir_named(&p->r, op_text, KIR_OP_COUNT, "no such operation");
    switch (op) {
    case KIR_FOR:
        return for_loop(p, &made);
    case KIR_IF:
        return branch(p, &made);
    case KIR_YIELD:
        return made.count == 0 ? yield(p) : kir_broken(&p->r, "yield has no results");
    case KIR_ELSE:
    case KIR_END:
        return kir_broken(&p->r, "a region ends with }");
    default:
        return op >= 0 && plain(p, (kir_op)op, &made);
    }
}

int kir_parse_body(struct parser *p)
{
    while (kir_alive(p->b)) {
        kir_skip_blanks(&p->r);
        p->begun = p->r.at;
        if (!kir_accept(&p->r, '}')) {
            if (!statement(p)) {
                return 0;
            }
        } else if (p->b->depth == 0) {
            return 1;
        } else if (!close_region(p)) {
            return 0;
        }
    }
    return 0;
}
