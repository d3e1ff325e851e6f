/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every stage of each new kernel as a file of the folder that TALLY_DUMP names. What comes from
 * disk or from a pack is made once more for that, as long as there is a generator.
 */
#ifndef TLY_DUMP_H
#define TLY_DUMP_H

#include "../context/internal.h"

/* The folder; NULL: nothing is kept. */
const char *tly_dump_folder(void);

/* The files of one kernel: WORD.stage, where WORD is the word, the plan's overrides and the
 * device as one identifier, and "word" a stage that says in full what the kernel is and where it
 * came from. The log is told, once, of what cannot be written. Needs the stack of a generator. */
void tly_dump(tally_context *context, const tly_request *request, const char *word,
              const char *device, const char *from);

#endif
