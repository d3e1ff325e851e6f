/* SPDX-License-Identifier: Apache-2.0 */
/* Running a reduction; see reduce.c. */
#ifndef TLY_REDUCE_H
#define TLY_REDUCE_H

#include "run.h"

/* Tickets a thread where chunks go out one by one. */
enum { TLY_REDUCE_TICKETS = 8 };

/* Outputs are fewer than threads, and each is made of chunks: cuts the run so that tasks make their
 * states. 0: it need not be, or there is no memory for that. */
int tly_reduce_cut(tly_run *run);
void tly_reduce_work(tly_run *run, char *scratch); /* one task of it */
void tly_reduce_end(tly_run *run, char *scratch);  /* combines; frees the states */

#endif
