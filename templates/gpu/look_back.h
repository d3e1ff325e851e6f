/* SPDX-License-Identifier: Apache-2.0 */
/* What the tiles of look-back publish for each other (look_back_places.c). */
#ifndef TLY_GPU_LOOK_BACK_H
#define TLY_GPU_LOOK_BACK_H

#include "gpu.h"

/* Of a record. Record k holds these of tile k, and of group k, of which there are no more: groups
 * are looked at side by side. */
enum { TLY_TOTAL, TLY_CARRY, TLY_GROUP_TOTAL, TLY_GROUP_BASE, TLY_PLACES };

/* In a mark of classes the upper bits hold as many of the distance's upper word. */
enum { TLY_MARK_BITS = 2, TLY_MARK_VALUE = 1, TLY_MARK_CLASSES = 3, TLY_UPPER_BITS = 14 };

kir_value tly_place_at(tly_gpu *g, kir_value number, kir_value place);
/* By one invocation, once. */
void tly_place_publish(tly_gpu *g, kir_value at, kir_value v, kir_value mark);
/* The value, and its mark: 0 unless all of it was there. */
kir_value tly_place_look(tly_gpu *g, kir_value at, kir_value *mark);

#endif
