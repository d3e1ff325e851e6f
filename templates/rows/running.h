/* SPDX-License-Identifier: Apache-2.0 */
/* Running indices along rows, a step of several vectors at a time. */
#ifndef TLY_RUNNING_H
#define TLY_RUNNING_H

#include "../template.h"

/* In place: `n` vectors of elements that follow one another become the states after each. `last`:
 * the state before them, in all lanes. Returns that behind them. The keys of states are those of
 * some element. */
kir_value tly_running_step(tly_build *c, kir_value last, kir_value *v, unsigned n);

/* The states that come to each lane's best, `best` before, after `n` such vectors. */
kir_value tly_running_best(tly_build *c, kir_value best, const kir_value *v, unsigned n);
/* The best of all lanes, in all lanes. */
kir_value tly_running_best_of_all(tly_build *c, kir_value best);

#endif
