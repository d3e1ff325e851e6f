/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expressions of a word (docs/word.md, "Operands and expressions"): text to postfix codes and
 * back to the canonical text, and the typed program of a whole word. Nothing here allocates.
 *
 *   expression.c         reads text
 *   expression_number.c  reads decimals and writes the shortest ones
 *   expression_print.c   writes the canonical text
 *   expression_type.c    finds types, judges operations and constants, makes the program
 *
 * stages.h checks what expressions of a descriptor may see.
 */
#ifndef TLY_EXPRESSION_H
#define TLY_EXPRESSION_H

#include <tally/descriptor.h>

enum {
    TLY_MOST_TEXT = TALLY_EXPRESSION_MAX - 1, /* characters of an expression */
    TLY_MOST_OPERATIONS = 32,                 /* of an expression: operators and calls */
    TLY_MOST_ALIVE = 8,                       /* values on the stack of the postfix codes */
    TLY_MOST_CONSTANTS = 16,                  /* different ones, of a word */
    /* The end and 71 codes. A binary operator and its second argument take 2 characters, a call of
     * where with two more arguments 11. With 32 operations in 127 characters, 6 calls and 26
     * operators make the most codes. */
    TLY_MOST_CODES = 72,
};

/* The expressions of a word, in the order of its text. */
typedef enum tly_expression_id {
    TLY_EXPRESSION_MAP,
    TLY_EXPRESSION_COEF,
    TLY_EXPRESSION_POST,
    TLY_EXPRESSION_RESET,
    TLY_EXPRESSIONS
} tly_expression_id;

/* How tightly an operation binds. */
enum { TLY_BINDS_COMPARISON, TLY_BINDS_TERMS, TLY_BINDS_FACTORS, TLY_BINDS_FACTOR, TLY_BINDS_CALL };

/* Operations: ROW(NAME, text, arguments, how tightly it binds, whether integers have it). Where one
 * text begins another, the longer one comes first. */
#define TLY_OPERATIONS(ROW) \
    ROW(LE, "<=", 2, TLY_BINDS_COMPARISON, 1) \
    ROW(LT, "<", 2, TLY_BINDS_COMPARISON, 1) \
    ROW(GE, ">=", 2, TLY_BINDS_COMPARISON, 1) \
    ROW(GT, ">", 2, TLY_BINDS_COMPARISON, 1) \
    ROW(EQ, "==", 2, TLY_BINDS_COMPARISON, 1) \
    ROW(NE, "!=", 2, TLY_BINDS_COMPARISON, 1) \
    ROW(ADD, "+", 2, TLY_BINDS_TERMS, 1) \
    ROW(SUB, "-", 2, TLY_BINDS_TERMS, 1) \
    ROW(MUL, "*", 2, TLY_BINDS_FACTORS, 1) \
    ROW(DIV, "/", 2, TLY_BINDS_FACTORS, 0) \
    ROW(NEG, "-", 1, TLY_BINDS_FACTOR, 1) \
    ROW(ABS, "abs", 1, TLY_BINDS_CALL, 1) \
    ROW(SQRT, "sqrt", 1, TLY_BINDS_CALL, 0) \
    ROW(EXP, "exp", 1, TLY_BINDS_CALL, 0) \
    ROW(LOG, "log", 1, TLY_BINDS_CALL, 0) \
    ROW(SIG, "sig", 1, TLY_BINDS_CALL, 0) \
    ROW(FLOOR, "floor", 1, TLY_BINDS_CALL, 0) \
    ROW(ROUND, "round", 1, TLY_BINDS_CALL, 0) \
    ROW(MIN, "min", 2, TLY_BINDS_CALL, 1) \
    ROW(MAX, "max", 2, TLY_BINDS_CALL, 1) \
    ROW(WHERE, "where", 3, TLY_BINDS_CALL, 1)

/* Postfix codes, a byte each. In a tly_program, a constant's code is TLY_POSTFIX_CONSTANT plus the
 * constant's index. */
typedef enum tly_postfix {
    TLY_POSTFIX_END,
    TLY_POSTFIX_X,
    TLY_POSTFIX_Y,
    TLY_POSTFIX_A, /* operand i is TLY_POSTFIX_A + i */
    TLY_POSTFIX_LAST_NAME = TLY_POSTFIX_A + TALLY_MAX_OPERANDS - 1,
#define TLY_CODE(NAME, text, arguments, binds, integers) TLY_POSTFIX_##NAME,
    TLY_OPERATIONS(TLY_CODE)
#undef TLY_CODE
        TLY_POSTFIX_CONSTANT
} tly_postfix;

typedef struct tly_operation_facts {
    const char *text;
    uint8_t arguments;
    uint8_t binds;
    uint8_t integers;
} tly_operation_facts;

/* Indexed by tly_postfix; codes that are no operation have no arguments. */
extern const tly_operation_facts tly_operation_of[TLY_POSTFIX_CONSTANT];

/* An expression that was read. It has no type yet, so a constant is a part of the text. */
typedef struct tly_expression {
    const char *text;                     /* the caller's */
    int32_t count;                        /* of codes, without TLY_POSTFIX_END */
    uint32_t names;                       /* bit c: code c, which is a name, is used */
    uint8_t code[TALLY_EXPRESSION_MAX];   /* TLY_POSTFIX_CONSTANT: any constant */
    uint8_t at[TALLY_EXPRESSION_MAX];     /* where the code's text begins */
    uint8_t length[TALLY_EXPRESSION_MAX]; /* characters of that text */
} tly_expression;

/* What a word's expressions compute: plain bytes, equal for equal programs. */
typedef struct tly_program {
    uint64_t constants[TLY_MOST_CONSTANTS]; /* floats: the bits of an f64 that the type can hold;
                                               integers: 64 bits, with the sign if there is one */
    uint8_t code[TLY_EXPRESSIONS][TLY_MOST_CODES]; /* empty: the default, or none */
    uint8_t constant_count;
    uint8_t type;       /* tally_dtype in which expressions are computed */
    uint8_t reset_type; /* the same for reset */
    uint8_t operands;   /* how many there are */
    uint8_t operand_dtype[TALLY_MAX_OPERANDS];
} tly_program;

_Static_assert(sizeof(tly_program) == TLY_MOST_CONSTANTS * 8 + TLY_EXPRESSIONS * TLY_MOST_CODES + 8,
               "a program has no padding");

/* "map", ... */
const char *tly_expression_name(int id);

/* "a", ... */
const char *tly_operand_name(int operand);

/* expression.c: reads `length` characters. What is wrong is TALLY_INVALID under `field`, with the
 * position, from 1, in the text. Types and names are not judged beyond the grammar. */
tally_status tly_expression_parse(const char *text, size_t length, const char *field,
                                  tly_expression *e, tally_error *error);

/* expression_number.c: the f64 nearest to a decimal of the grammar, which may be infinite. A minus
 * may precede it. */
double tly_number_read(const char *text, int length);

/* expression_number.c: the shortest decimal of the grammar that reads back as a finite f64. */
#define TLY_NUMBER_MAX 32
int tly_number_write(double value, char text[TLY_NUMBER_MAX]);

/* expression_number.c: an integer of the grammar. 0: `type`, which is an integer, cannot hold it,
 * or it is -0. */
int tly_integer_read(const char *text, int length, tally_dtype type, uint64_t *bits);

/* expression_print.c: the canonical text, zero padded. It is never longer than what was read.
 * `is_integer`: constants are integers. Returns 0, with an empty text, if codes that were not read
 * from text need more than TLY_MOST_TEXT characters. */
int tly_expression_print(const tly_expression *e, int is_integer, char text[TALLY_EXPRESSION_MAX]);

/* descriptor_facts.c: whether every value of a dtype is one of another. */
int tly_dtype_fits(tally_dtype dtype, tally_dtype type);

/* The hint where an integer does not fit. */
#define TLY_FLAGS_FIT "flags of u8 or bool fit every type"

/* Whether a type of expressions is an integer. */
int tly_type_is_integer(tally_dtype type);

/* descriptor_facts.c: the type of the expressions of a descriptor whose acc is resolved. */
tally_dtype tly_expressions_type(const tally_descriptor *full);

/* expression_type.c: judges the operations and constants of expression `id` for a type, and adds
 * them to a program. */
tally_status tly_program_add(tly_program *program, int id, const tly_expression *e,
                             tally_dtype type, tally_error *error);

#endif
