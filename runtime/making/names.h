/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the functions of an object: whether a function can have a name, alone and beside the
 * other functions. Each function NAME has a second one, NAME_part. Pure text, so that library and
 * command share it.
 */
#ifndef TLY_NAMES_H
#define TLY_NAMES_H

#include <stddef.h>

/* Bytes of a name. */
enum { TLY_MOST_NAME = 1000 };

/* The names of one object. All zero is the empty set; names are borrowed. */
typedef struct tly_name_set {
    const char **slots;
    size_t count, room;
} tly_name_set;

/* Adds a name. *fault says in a few words why no function can have the name, or none beside those
 * of the set; the set is as before then. NULL: the name is good. Returns 0 without memory. */
int tly_name_set_add(tly_name_set *set, const char *name, const char **fault);
void tly_name_set_end(tly_name_set *set);

/* Replaces each character that an identifier cannot have by an underscore. */
void tly_name_escape(char *name);

#endif
