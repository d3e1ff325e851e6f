/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading expressions: a parser by precedence, which looks one character ahead and writes postfix
 * codes. Operators and functions are rows of TLY_OPERATIONS. The text is at most
 * TALLY_EXPRESSION_MAX - 1 characters long, which bounds the depth of the recursion.
 */
#include "expression.h"

#include <string.h>

#include "../host/error.h"
#include "../host/suggest.h"

const tly_operation_facts tly_operation_of[TLY_POSTFIX_CONSTANT] = {
#define FACTS(NAME, text, arguments, binds, integers) \
    [TLY_POSTFIX_##NAME] = { text, arguments, binds, integers },
    TLY_OPERATIONS(FACTS)
#undef FACTS
};

static const char *const names[] = {
    [TLY_POSTFIX_X] = "x",     [TLY_POSTFIX_Y] = "y",     [TLY_POSTFIX_A] = "a",
    [TLY_POSTFIX_A + 1] = "b", [TLY_POSTFIX_A + 2] = "c", [TLY_POSTFIX_A + 3] = "d",
};

static const char *const constants[] = { "inf", "nan" };

const char *tly_operand_name(int operand)
{
    return names[TLY_POSTFIX_A + operand];
}

const char *tly_expression_name(int id)
{
    static const char *const fields[] = { "map", "coef", "post", "reset" };
    return fields[id];
}

typedef struct parser {
    tly_expression *e;
    int at, end;
    int operations, alive, most_alive;
    const char *field;
    tally_error *error;
    int failed;
} parser;

/* The first error stays. */
#define REFUSE(p, where, ...) \
    do { \
        if (!(p)->failed) { \
            (p)->failed = 1; \
            tly_fail((p)->error, TALLY_INVALID, (p)->field, __VA_ARGS__); \
            tly_error_position((p)->error, (where) + 1); \
        } \
    } while (0)

static int here(const parser *p)
{
    return p->at < p->end ? (unsigned char)p->e->text[p->at] : 0;
}

static int is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int digit_at(const parser *p, int at)
{
    return at < p->end && is_digit((unsigned char)p->e->text[at]);
}

static int starts(const parser *p, const char *text)
{
    const size_t length = strlen(text);
    return length <= (size_t)(p->end - p->at) && memcmp(p->e->text + p->at, text, length) == 0;
}

/* What stands at a place, as far as a message shows it: a name, or one character. */
static int shown(const parser *p, int at)
{
    int length = 1;
    if (is_letter((unsigned char)p->e->text[at])) {
        while (at + length < p->end &&
               (is_letter((unsigned char)p->e->text[at + length]) || digit_at(p, at + length))) {
            length++;
        }
    }
    return length;
}

/* What other languages write, and how it is written here. */
static void hint_here(parser *p)
{
    static const struct {
        char character;
        const char *hint;
    } hints[] = {
        { '^', "a power is a product, as in x*x" },
        { '*', "a power is a product, as in x*x" },
        { '.', "a number begins with a digit, as in 0.5" },
        { ' ', "an expression has no blanks" },
        { '&', "the product of two conditions holds where both do" },
        { '|', "max of two conditions holds where one does" },
        { '?', "where(condition,a,b) chooses" },
    };
    const char *text = p->e->text + p->at;
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (*text == hints[i].character && (*text != '*' || (p->at > 0 && text[-1] == '*'))) {
            tly_error_hint(p->error, "%s", hints[i].hint);
        }
    }
}

static void refuse_here(parser *p, const char *wanted)
{
    const int is_first = !p->failed;
    if (p->at < p->end) {
        REFUSE(p, p->at, "'%.*s' stands where %s belongs", shown(p, p->at), p->e->text + p->at,
               wanted);
        if (is_first) {
            hint_here(p);
        }
    } else {
        REFUSE(p, p->at, "the expression ends where %s belongs", wanted);
    }
}

/* Each code has a character of its own, so that the arrays have room for all. */
static void emit(parser *p, int code, int at, int length)
{
    tly_expression *e = p->e;
    if (p->failed) {
        return;
    }
    e->code[e->count] = (uint8_t)code;
    e->at[e->count] = (uint8_t)at;
    e->length[e->count++] = (uint8_t)length;
    if (code < TLY_POSTFIX_CONSTANT && tly_operation_of[code].arguments > 0) {
        p->operations++;
        p->alive -= tly_operation_of[code].arguments - 1;
    } else {
        e->names |= code < TLY_POSTFIX_CONSTANT ? 1u << code : 0;
        p->alive++;
        p->most_alive = p->alive > p->most_alive ? p->alive : p->most_alive;
    }
}

/* Reads DIGITS. A number has no leading zeros, a fraction may (`zeros`). */
static void digits(parser *p, int zeros, const char *what)
{
    const int begin = p->at;
    if (!digit_at(p, p->at)) {
        if (here(p) == '+') {
            const int is_first = !p->failed;
            REFUSE(p, p->at, "a number has no '+'");
            if (is_first) {
                tly_error_hint(p->error, "1e3 is 1000");
            }
        } else {
            REFUSE(p, p->at, "a digit is missing behind '%s'", what);
        }
        return;
    }
    while (digit_at(p, p->at)) {
        p->at++;
    }
    if (!zeros && p->e->text[begin] == '0' && p->at - begin > 1) {
        REFUSE(p, begin, "'%.*s' has leading zeros", p->at - begin, p->e->text + begin);
    }
}

static void number(parser *p)
{
    const int begin = p->at;
    p->at += here(p) == '-';
    digits(p, 0, "-");
    if (!p->failed && here(p) == '.') {
        p->at++;
        digits(p, 1, ".");
    }
    if (!p->failed && here(p) == 'e') {
        p->at++;
        p->at += here(p) == '-';
        digits(p, 0, "e");
    }
    emit(p, TLY_POSTFIX_CONSTANT, begin, p->at - begin);
}

static void climb(parser *p, int least);

/* From the '(' on. */
static void call(parser *p, int code, int begin)
{
    const tly_operation_facts *f = &tly_operation_of[code];
    const int open = p->at;
    int count = 0;
    if (here(p) != '(') {
        REFUSE(p, begin, "'%s' is a function, and no '(' follows", f->text);
        return;
    }
    do {
        p->at++;
        climb(p, TLY_BINDS_COMPARISON);
        count++;
    } while (!p->failed && here(p) == ',');
    if (!p->failed && p->at == p->end) {
        REFUSE(p, open, "'(' is not closed");
    } else if (!p->failed && here(p) != ')') {
        refuse_here(p, "an operator");
    } else if (count != f->arguments) {
        REFUSE(p, begin, "%s takes %d argument%s, not %d", f->text, f->arguments,
               f->arguments > 1 ? "s" : "", count);
    }
    p->at++;
    emit(p, code, begin, (int)strlen(f->text));
}

static void refuse_name(parser *p, int length)
{
    const char *text = p->e->text + p->at;
    tly_suggestion guess = tly_suggest_begin(text, (size_t)length);
    char functions[96] = "";
    if (p->failed) {
        return;
    }
    for (int code = TLY_POSTFIX_A; code < TLY_POSTFIX_CONSTANT; code++) {
        if (tly_operation_of[code].arguments > 0 &&
            tly_operation_of[code].binds == TLY_BINDS_CALL) {
            tly_suggest_try(&guess, tly_operation_of[code].text);
            tly_names_add(functions, sizeof functions, tly_operation_of[code].text);
        }
    }
    REFUSE(p, p->at, "'%.*s' is no name here" TLY_SUGGESTION, length, text, TLY_SUGGESTED(&guess));
    tly_error_hint(p->error, "names: x y a b c d inf nan; functions: %s", functions);
}

static int is_text(const char *text, int length, const char *name)
{
    return strlen(name) == (size_t)length && memcmp(text, name, (size_t)length) == 0;
}

static void name(parser *p)
{
    const int begin = p->at, length = shown(p, p->at);
    const char *text = p->e->text + begin;
    for (int code = TLY_POSTFIX_X; code <= TLY_POSTFIX_LAST_NAME; code++) {
        if (is_text(text, length, names[code])) {
            p->at += length;
            emit(p, code, begin, length);
            return;
        }
    }
    for (int i = 0; i < 2; i++) {
        if (is_text(text, length, constants[i])) {
            p->at += length;
            emit(p, TLY_POSTFIX_CONSTANT, begin, length);
            return;
        }
    }
    for (int code = TLY_POSTFIX_LAST_NAME + 1; code < TLY_POSTFIX_CONSTANT; code++) {
        if (tly_operation_of[code].binds == TLY_BINDS_CALL &&
            is_text(text, length, tly_operation_of[code].text)) {
            p->at += length;
            call(p, code, begin);
            return;
        }
    }
    refuse_name(p, length);
}

static void factor(parser *p)
{
    const int begin = p->at, c = here(p);
    if (is_digit(c) || (c == '-' && digit_at(p, p->at + 1))) {
        number(p);
    } else if (c == '-') {
        p->at++;
        factor(p);
        emit(p, TLY_POSTFIX_NEG, begin, 1);
    } else if (is_letter(c)) {
        name(p);
    } else if (c == '(') {
        p->at++;
        climb(p, TLY_BINDS_COMPARISON);
        if (!p->failed && p->at == p->end) {
            REFUSE(p, begin, "'(' is not closed");
        } else if (!p->failed && here(p) != ')') {
            refuse_here(p, "an operator");
        }
        p->at++;
    } else {
        refuse_here(p, "a value");
    }
}

/* The binary operator at this place, or TLY_POSTFIX_END. */
static int operator_here(const parser *p)
{
    for (int code = TLY_POSTFIX_LAST_NAME + 1; code < TLY_POSTFIX_CONSTANT; code++) {
        const tly_operation_facts *f = &tly_operation_of[code];
        if (f->binds < TLY_BINDS_FACTOR && starts(p, f->text)) {
            return code;
        }
    }
    return TLY_POSTFIX_END;
}

/* Operators that bind at least so tightly, of equal ones the left one first. */
static void climb(parser *p, int least)
{
    int compared = 0;
    factor(p);
    while (!p->failed) {
        const int code = operator_here(p), begin = p->at;
        const int binds = tly_operation_of[code].binds;
        if (code == TLY_POSTFIX_END || binds < least) {
            return;
        }
        if (binds == TLY_BINDS_COMPARISON && compared) {
            REFUSE(p, begin, "a comparison of a comparison needs parentheses");
            return;
        }
        compared = binds == TLY_BINDS_COMPARISON;
        p->at += (int)strlen(tly_operation_of[code].text);
        climb(p, binds + 1);
        emit(p, code, begin, (int)strlen(tly_operation_of[code].text));
    }
}

static void check_limits(parser *p)
{
    const struct {
        int value, limit;
        const char *what;
    } limits[] = {
        { p->operations, TLY_MOST_OPERATIONS, "operations" },
        { p->most_alive, TLY_MOST_ALIVE, "values alive at once" },
    };
    for (int i = 0; i < 2; i++) {
        if (limits[i].value > limits[i].limit) {
            REFUSE(p, 0, "%d %s, and the limit is %d", limits[i].value, limits[i].what,
                   limits[i].limit);
        }
    }
}

tally_status tly_expression_parse(const char *text, size_t length, const char *field,
                                  tly_expression *e, tally_error *error)
{
    memset(e, 0, sizeof *e);
    e->text = text;
    parser p = { .e = e, .field = field, .error = error };
    if (length > TLY_MOST_TEXT) {
        REFUSE(&p, 0, "%zu characters, and the limit is %d", length, TLY_MOST_TEXT);
        return TALLY_INVALID;
    }
    p.end = (int)length;
    climb(&p, TLY_BINDS_COMPARISON);
    if (!p.failed && p.at < p.end) {
        if (here(&p) == ')') {
            REFUSE(&p, p.at, "')' closes nothing");
        }
        refuse_here(&p, "an operator");
    }
    if (!p.failed) {
        check_limits(&p);
    }
    return p.failed ? TALLY_INVALID : TALLY_OK;
}
