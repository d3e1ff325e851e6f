/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a wrong name was meant to be, and what there is instead: for messages. Pure text, without
 * memory of its own, so that library, generator and command share it.
 *
 *   tly_guess g = tly_guess_begin(text, length);
 *   for each name that would have been right: tly_guess_try(&g, name);
 *   tly_fail(error, ..., "'%.*s' is no operator" TLY_GUESS, ..., TLY_GUESSED(&g));
 */
#ifndef TLY_GUESS_H
#define TLY_GUESS_H

#include <stddef.h>

typedef struct tly_guess {
    const char *text;
    size_t length;
    const char *best; /* NULL: no name is near */
    size_t distance;
} tly_guess;

tly_guess tly_guess_begin(const char *text, size_t length);

/* Takes a name that is nearer than those before: few letters wrong, missing, too many or swapped,
 * whatever their case; the beginning of a name; or, as float32 for f32, its first letter and its
 * number. `name` must live on. */
void tly_guess_try(tly_guess *guess, const char *name);

/* Takes a name under another one that means the same, such as dim for axis: in small letters, and
 * without the '_' that the text may have. Both must live on. */
void tly_guess_alias(tly_guess *guess, const char *other, const char *name);

/* The end of a message, and its arguments. */
#define TLY_GUESS "%s%s%s"
#define TLY_GUESSED(guess) \
    ((guess)->best != NULL ? ", did you mean " : ""), \
        ((guess)->best != NULL ? (guess)->best : ""), ((guess)->best != NULL ? "?" : "")

/* Adds a name and, before it, a blank to a list of names; where it does not fit, "..." ends the
 * list and what follows changes nothing. Begin with text[0] = 0; capacity is at least 8. */
void tly_names_add(char *text, size_t capacity, const char *name);

#endif
