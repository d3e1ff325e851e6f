/* SPDX-License-Identifier: Apache-2.0 */
/* Running few long rows: threads hand the carry of each chunk to the next; see chain.c. */
#ifndef TLY_CHAIN_H
#define TLY_CHAIN_H

#include "run.h"

/* Makes room for the hand-over of all tickets; tly_chain_end frees it. Returns 0 without memory:
 * then run->slots is NULL, and the run must do without a chain. */
int tly_chain_begin(tly_run *run);
void tly_chain_end(tly_run *run);

/* One task of a chain. */
void tly_chain_work(tly_run *run, char *scratch);

#endif
