/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the word: what the file that reads its parts (word_parse.c) and the one that reads its
 * options (word_options.c) share. Internal to these two.
 */
#ifndef TLY_WORD_READER_H
#define TLY_WORD_READER_H

#include "descriptor.h"

/* A part of the word: from `at`, before `end`. */
typedef struct tly_span {
    const char *at, *end;
} tly_span;

enum { TLY_IN, TLY_OUT };

#define TLY_WORD_OPTIONS 16 /* room for the grammar's options */

typedef struct tly_reader {
    const char *word;
    tally_error *error;
    tally_descriptor d;
    tly_span op, dtype, sizes;
    int32_t strides[2];                /* how many were given for TLY_IN and TLY_OUT */
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

/* The part up to `separator` or the end; `rest` is moved behind it, or to NULL at the end. */
tly_span tly_word_cut(tly_span *rest, char separator);

/* INT of the grammar, the whole part. */
tally_status tly_word_int(tly_reader *r, tly_span part, const char *field, int64_t *value);

/* One option; operator and rank are known. */
tally_status tly_word_option(tly_reader *r, tly_span text);

/* Where the value of an option stands that was read, or the option, if it takes none; else NULL. */
const char *tly_word_option_place(const tly_reader *r, const char *name);

#endif
