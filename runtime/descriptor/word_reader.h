/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the word: what the files share that read its parts (word_parse.c) and its options
 * (word_options.c, word_values.c, word_stages.c), complete it (word_complete.c, word_next.c) and
 * suggest what it should be (word_hints.c). Internal to these.
 */
#ifndef TLY_WORD_READER_H
#define TLY_WORD_READER_H

#include "../host/suggest.h"
#include "descriptor.h"
#include "tensors.h"

/* A part of the word: from `at`, before `end`. */
typedef struct tly_span {
    const char *at, *end;
} tly_span;

#define TLY_WORD_OPTIONS 32 /* room for the grammar's options */

typedef struct tly_reader {
    const char *word;
    const char *written; /* the same, or less of it, as its author wrote it: for hints */
    tally_error *error;
    tally_descriptor d;
    tly_span op, dtype, sizes;
    int32_t strides[TLY_TENSOR_COUNT]; /* how many were given, of each tensor */
    int32_t operand_strides[TALLY_MAX_OPERANDS];
    tly_span values[TLY_WORD_OPTIONS]; /* where each option's value stands; at == NULL: not read */
} tly_reader;

/* The printf arguments of a part, for "%.*s": as much of it as a message repeats. */
#define TLY_SHOWN 40
#define TLY_SHOW(part) \
    (int)((part).end - (part).at > TLY_SHOWN ? TLY_SHOWN : (part).end - (part).at), (part).at

/* TALLY_INVALID with field, message and the position of `where`. */
tally_status tly_word_refuse(const tly_reader *r, const char *where, const char *field,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));

int tly_word_equals(tly_span part, const char *name);

/* The part up to `separator` or the end; `rest` is moved behind it, or to NULL at the end. A
 * separator in parentheses belongs to the part, unless a parenthesis is not closed. */
tly_span tly_word_cut(tly_span *rest, char separator);

/* INT of the grammar, the whole part. */
tally_status tly_word_int(tly_reader *r, tly_span part, const char *field, int64_t *value);

/* tally_descriptor_parse of a word that was completed: `written` is what its author wrote. */
tally_status tly_word_parse(const char *word, const char *written, tally_descriptor *descriptor,
                            tally_error *error);

/* tly_suggest_try, and other libraries' names for this one. */
void tly_word_try(tly_suggestion *guess, const char *name);

/*
 * Hints that are words to be typed, after `why`: what the author wrote with a part replaced, with
 * an option added, with one character between the numbers from `numbers` on, or with a colon in
 * place of the first comma from `part` on. 0, and no hint, where it is too long, or where the part
 * is none that the author wrote.
 */
int tly_word_suggest(const tly_reader *r, const char *why, tly_span wrong, const char *right);
int tly_word_suggest_option(const tly_reader *r, const char *why, const char *option);
int tly_word_suggest_joined(const tly_reader *r, const char *why, const char *numbers, char joint);
int tly_word_suggest_colon(const tly_reader *r, const char *why, const char *part);

/* A lone number in the place of the sizes may have been meant for an axis: suggests it, where it is
 * all that follows the operator. 0, and no hint, elsewhere. */
int tly_word_suggest_axis(const tly_reader *r);

/* Hints that list what there is: operators of the kind that was meant; and a word of this operator
 * and dtype, as far as they are known, that has all parts. */
void tly_word_hint_ops(const tly_reader *r);
void tly_word_hint_parts(const tly_reader *r);

enum { TLY_MOST_NAMES = sizeof(((tally_error *)NULL)->hint) - 40 }; /* of a list in a hint */

/* The name of option number i; NULL behind the last. */
const char *tly_word_option_at(int i, int *has_value);

/* The values of options: each sets its part of the descriptor. */
tally_status tly_word_axis(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_axes(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_in(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_out(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_order(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_acc(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_nan(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_operand(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_expression(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_segments(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_every(tly_reader *r, tly_span value, const char *field);
tally_status tly_word_carry(tly_reader *r, tly_span value, const char *field);

/* Closed lists of values. */
extern const char *const tly_no_axes[],
    *const tly_orders[], *const tly_wide[], *const tly_ignored[], *const tly_carries[];

/* Parts of values: axes as bits, which are added to *axes; strides with an offset; a name of a
 * closed list, as its index; a dtype. */
tally_status tly_word_axis_list(tly_reader *r, tly_span value, const char *field, uint32_t *axes);
tally_status tly_word_strides(tly_reader *r, tly_span value, const char *field, int64_t *strides,
                              int64_t *offset, int32_t *count);
tally_status tly_word_one_of(tly_reader *r, tly_span value, const char *field,
                             const char *const *names, int32_t *index);
tally_status tly_word_dtype(tly_reader *r, tly_span name, const char *field, int32_t *dtype);

/* After a refusal of what stands between axes, the first of which is at `first`. */
tally_status tly_word_refuse_axes(const tly_reader *r, const char *first);

/* Hands on an error about an expression whose first character is at `from`. */
tally_status tly_word_pass(const tly_reader *r, const char *from, const tally_error *why);

/* One option; operator and rank are known. */
tally_status tly_word_option(tly_reader *r, tly_span text);

/* An option as others name it. */
typedef struct tly_word_name {
    const char *name;
    const char *const *values; /* the closed list that its value is from; NULL: there is none */
    int takes_value, is_axes, is_operand, is_expression;
    const char *example; /* a value that may be right for any tensor; NULL: there is none */
} tly_word_name;

/* The operator's option number `index`, in the order of the grammar; 0: there are fewer. */
int tly_word_option_name(int index, int op, tly_word_name *name);

/* Where the value of an option stands that was read, or the option, if it takes none; else NULL. */
const char *tly_word_option_place(const tly_reader *r, const char *name);

#endif
