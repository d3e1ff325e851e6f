/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages about a wrong name suggest the one that was meant, and list the names that exist. Works
 * on text alone and allocates nothing, so that library, generator and command share it.
 *
 *   tly_suggestion s = tly_suggest_begin(text, length);
 *   for each name that would have been right: tly_suggest_try(&s, name);
 *   tly_fail(error, ..., "'%.*s' is no operator" TLY_SUGGESTION, ..., TLY_SUGGESTED(&s));
 */
#ifndef TLY_SUGGEST_H
#define TLY_SUGGEST_H

#include <stddef.h>

typedef struct tly_suggestion {
    const char *text;
    size_t length;
    const char *best; /* NULL: no name is near */
    size_t distance;
} tly_suggestion;

tly_suggestion tly_suggest_begin(const char *text, size_t length);

/* Takes a name that is nearer than those before: few letters wrong, missing, too many or swapped,
 * whatever their case; the beginning of a name; or, as float32 for f32, its first letter and its
 * number. `name` must live on. */
void tly_suggest_try(tly_suggestion *s, const char *name);

/* Takes a name under another one that means the same, such as dim for axis: in small letters, and
 * without the '_' that the text may have. Both must live on. */
void tly_suggest_alias(tly_suggestion *s, const char *other, const char *name);

/* The end of a message, and its arguments. */
#define TLY_SUGGESTION "%s%s%s"
#define TLY_SUGGESTED(s) \
    ((s)->best != NULL ? ", did you mean " : ""), ((s)->best != NULL ? (s)->best : ""), \
        ((s)->best != NULL ? "?" : "")

/* Adds a name and, before it, a blank to a list of names; where it does not fit, "..." ends the
 * list and what follows changes nothing. Begin with text[0] = 0; capacity is at least 8. */
void tly_names_add(char *text, size_t capacity, const char *name);

#endif
