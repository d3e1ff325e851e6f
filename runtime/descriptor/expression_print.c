/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing expressions: the text with the fewest parentheses and the shortest decimals that reads
 * back as the same codes. Postfix codes become text on a stack whose entries lie end to end in one
 * buffer, so that an operation only inserts characters.
 */
#include "expression.h"

#include <string.h>

#include "../host/error.h"

/* Canonical text is never longer than what was read. Codes that no text was read for, as those of
 * gradients, may need more: the printer then stops. */
enum { ROOM = 2 * TALLY_EXPRESSION_MAX };

typedef struct entry {
    int at;
    int binds;
} entry;

typedef struct printer {
    char text[ROOM];
    int length;
    entry stack[TLY_MOST_ALIVE + 1];
    int alive;
    int is_full;
} printer;

static void insert(printer *p, int at, const char *text, int length)
{
    p->is_full |= p->length + length > ROOM;
    if (!p->is_full) {
        memmove(p->text + at + length, p->text + at, (size_t)(p->length - at));
        memcpy(p->text + at, text, (size_t)length);
        p->length += length;
    }
}

static void push(printer *p, const char *text, int length)
{
    p->stack[p->alive++] = (entry){ p->length, TLY_BINDS_FACTOR };
    insert(p, p->length, text, length);
}

/* Where the text of entry `i` ends. */
static int end_of(const printer *p, int i)
{
    return i + 1 < p->alive ? p->stack[i + 1].at : p->length;
}

/* Moves the entries behind `i`, whose text has grown. */
static void shift(printer *p, int i, int length)
{
    for (i++; i < p->alive; i++) {
        p->stack[i].at += length;
    }
}

static void enclose(printer *p, int i)
{
    insert(p, end_of(p, i), ")", 1);
    insert(p, p->stack[i].at, "(", 1);
    shift(p, i, 2);
}

static void print_call(printer *p, int first, const char *name)
{
    const int length = (int)strlen(name);
    for (int i = p->alive - 1; i > first; i--) {
        insert(p, p->stack[i].at, ",", 1);
    }
    insert(p, p->stack[first].at, "(", 1);
    insert(p, p->stack[first].at, name, length);
    insert(p, p->length, ")", 1);
}

/* A minus in front of digits would belong to the number. */
static void print_minus(printer *p, int only)
{
    const char begin = p->text[p->stack[only].at];
    if (p->stack[only].binds < TLY_BINDS_FACTOR || (begin >= '0' && begin <= '9')) {
        enclose(p, only);
    }
    insert(p, p->stack[only].at, "-", 1);
}

/* Operators of a sum or a product are read from left to right; comparisons have no order. */
static void print_binary(printer *p, int left, const tly_operation_facts *f)
{
    if (p->stack[left + 1].binds <= f->binds) {
        enclose(p, left + 1);
    }
    if (p->stack[left].binds < f->binds + (f->binds == TLY_BINDS_COMPARISON)) {
        enclose(p, left);
    }
    insert(p, p->stack[left + 1].at, f->text, (int)strlen(f->text));
}

static void print_constant(printer *p, const char *text, int length, int is_integer)
{
    char number[TLY_NUMBER_MAX];
    if (is_integer || text[0] == 'i' || text[0] == 'n') {
        push(p, text, length);
    } else {
        push(p, number, tly_number_write(tly_number_read(text, length), number));
    }
}

int tly_expression_print(const tly_expression *e, int is_integer, char text[TALLY_EXPRESSION_MAX])
{
    printer p = { .length = 0 };
    for (int i = 0; i < e->count && !p.is_full; i++) {
        const int code = e->code[i];
        const char *from = e->text + e->at[i];
        if (code == TLY_POSTFIX_CONSTANT) {
            print_constant(&p, from, e->length[i], is_integer);
            continue;
        }
        const tly_operation_facts *f = &tly_operation_of[code];
        const int first = p.alive - f->arguments;
        if (f->arguments == 0) {
            push(&p, from, e->length[i]);
            continue;
        }
        if (f->binds == TLY_BINDS_CALL) {
            print_call(&p, first, f->text);
        } else if (code == TLY_POSTFIX_NEG) {
            print_minus(&p, first);
        } else {
            print_binary(&p, first, f);
        }
        p.alive = first + 1;
        p.stack[first].binds = f->binds;
    }
    memset(text, 0, TALLY_EXPRESSION_MAX);
    if (p.is_full || p.length > TLY_MOST_TEXT) {
        return 0;
    }
    memcpy(text, p.text, (size_t)p.length);
    return 1;
}
