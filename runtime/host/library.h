/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the libraries that Tally is made of. Code is loaded from where Tally was installed or
 * from where the program says, never from where a name happens to lead: no argv[0], no current
 * folder, no search path has a part in it. Nothing is remembered of a failure.
 */
#ifndef TLY_LIBRARY_H
#define TLY_LIBRARY_H

#include <tally/status.h>

/* Finds `symbol` in the library `name`, looked for in `places`: folders that end in a slash, NULL
 * after the last, either absolute or seen from the folder of the file that this code is part of. ""
 * is that folder itself. What lies elsewhere must be safe from strangers, and in a process with
 * raised privileges everything must: the file and all folders above belong to root or to the owner
 * of this code (else also to this process's user), and nobody else may write them. Failing is
 * TALLY_NO_GENERATOR or TALLY_OUT_OF_MEMORY, and the message has the first reason. The library is
 * never closed. Thread-safe. */
tally_status tly_library_find(const char *name, const char *const *places, const char *symbol,
                              void **found, tally_error *error);

/* The same in the file that a program or its user named; a relative path counts from the current
 * folder, and is refused with raised privileges. */
tally_status tly_library_open(const char *path, const char *symbol, void **found,
                              tally_error *error);

/* The path of a file of Tally's own, looked for like a library, from malloc; NULL: there is none
 * that is safe. */
char *tly_library_file(const char *name, const char *const *places);

/* Whether this program can open libraries at all. A program that glibc was linked into with -static
 * cannot: a second libc would come along with them, and LLVM and drivers end the process in it. */
int tly_can_open(void);

/* Whether this process has privileges that its user has not: setuid, setgid, capabilities of a
 * file. */
int tly_raised(void);

#endif
