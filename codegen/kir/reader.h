/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of the text form: blanks, punctuation, names, numbers, types, constants.
 * Guarantees: reads only [at, end); the first fault stays, with the place it speaks of.
 */
#ifndef KIR_READER_H
#define KIR_READER_H

#include <stddef.h>
#include <stdint.h>

#include "kir.h"

enum { KIR_WORD_MAX = 63 };

struct reader {
    const char *at, *end;
    const char *token;  /* where what was read last begins, or what is read next */
    const char *behind; /* the end of what stands before it */
    const char *broken; /* the token of the fault */
    char fault[200];    /* empty: none */
};

/* All that follow return 1, or 0 with a fault; accept and peek return 0 without one. */

/* Keeps the first fault; returns 0, so that a reader can be `return kir_broken(...)`. */
int kir_broken(struct reader *r, const char *rule);
void kir_skip_blanks(struct reader *r);
int kir_peek(struct reader *r, char c);
int kir_accept(struct reader *r, char c);
int kir_expect(struct reader *r, char c);
/* `text` holds KIR_WORD_MAX + 1 bytes. */
int kir_word(struct reader *r, char *text);
int kir_accept_word(struct reader *r, const char *text);
int kir_expect_word(struct reader *r, const char *text);
/* Digits of the base (10, or 16 in lower case), up to `limit`. */
int kir_number(struct reader *r, uint64_t base, uint64_t limit, uint64_t *value);

/* A word of a table that text_of reads: its index, or -1 with the fault `rule`. */
int kir_named(struct reader *r, const char *(*text_of)(int), int count, const char *rule);

/* literals.c: f32x8; what follows const; "+ 32", "- 32" or nothing. */
int kir_read_type(struct reader *r, kir_type *t);
int kir_read_constant(struct reader *r, kir_type t, int64_t *imm);
int kir_read_offset(struct reader *r, int64_t *imm);

#endif
