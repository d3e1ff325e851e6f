/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operands of a word (docs/stages.md) as arguments of the command, NAME=FILE or NAME=NUMBER. A
 * word may leave out the dtype and the place of an operand; its file or number then decides them.
 */
#ifndef TLY_OPERANDS_H
#define TLY_OPERANDS_H

#include "../common/about.h"
#include "file.h"

/* How the text of a word places an operand. */
typedef enum tly_said_place {
    TLY_SAYS_NOTHING,
    TLY_SAYS_NONE,   /* `/none`: one element */
    TLY_SAYS_AXES,   /* `/0+2` */
    TLY_SAYS_STRIDES /* `/4096x0@0`: the file is a flat buffer */
} tly_said_place;

/* One operand; all zero: the word has none of this name. */
typedef struct tly_operand_input {
    int declared;         /* the word has it */
    int says_dtype;       /* the word has its dtype, too */
    tly_said_place place; /* likewise */
    const char *given;    /* FILE or NUMBER */
    const char *raw;      /* what --raw says of the file; NULL: nothing */
    int is_number;
    tly_input input;  /* the file, if it is none */
    uint64_t number;  /* the number as an element */
    const void *data; /* after tly_operands_load: the elements */
} tly_operand_input;

typedef struct tly_operands {
    char word[TALLY_WORD_MAX]; /* each operand whose place is not said is one element here, which
                                  breaks no rule that another place would keep */
    tly_operand_input of[TALLY_MAX_OPERANDS];
} tly_operands;

/* Reads which operands a word has and what it says of them, and returns how many there are. The
 * word may be wrong: then so is operands->word. */
int tly_operands_read(const char *word, tly_operands *operands);

/* Matches the arguments NAME=FILE or NAME=NUMBER, which must live on, with the operands of the
 * word. `verb` is what stands in front of the word in hints, such as "run". `raw` has an element
 * for each operand, `in` is the path of the input. EXIT_USAGE, with the letter as field, if an
 * operand is missing, given twice, unknown to the word, or a number that cannot be one. */
int tly_operands_match(tly_operands *operands, const char *verb, const char *word,
                       char *const *argument, int arguments, const char *const *raw, const char *in,
                       tly_report *report);

/* Opens the files, and sets dtypes and places of the descriptor's operands by them. The descriptor
 * is that of operands->word. EXIT_USAGE, with the letter as field, if a file contradicts the word
 * or cannot be broadcast to the input's shape. */
int tly_operands_place(tly_operands *operands, tally_descriptor *descriptor, tly_report *report);

/* Which indices of its buffer an operand of a checked descriptor reaches, and how many elements it
 * has, each counted once. Without elements high is -1. */
typedef struct tly_touched {
    int64_t low, high, count;
} tly_touched;
tly_touched tly_operand_reach(const tally_descriptor *descriptor, int operand);

/* As tly_input_load, tly_input_check and tly_input_close, for all files. */
int tly_operands_load(tly_operands *operands, tly_report *report);
int tly_operand_files_check(const tly_operands *operands, tly_report *report);
void tly_operands_close(tly_operands *operands);

#endif
