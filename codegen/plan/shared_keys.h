/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that several templates read alike: their ranges, and why their choices are what they are.
 */
#ifndef TLY_PLAN_SHARED_KEYS_H
#define TLY_PLAN_SHARED_KEYS_H

#include "limits.h"

#define TLY_KEY_PREFETCH \
    { TLY_KEY(tly_plan, prefetch), 0, 65536, 0, \
      TLY_WHY({ TLY_ELSE, "Past the cache, so many bytes are fetched ahead: far enough for " \
                          "memory to answer, near enough to stay in L1." }) }

#define TLY_KEY_SPLIT_BYTES \
    { TLY_KEY(tly_plan, split_bytes), 0, 1 << 30, 0, \
      TLY_WHY({ 0, "Memory is the limit, so the machine says how many bytes are worth one more " \
                   "thread." }, \
              { TLY_ELSE, "So many bytes are worth one more thread, as computing is the limit " \
                          "here, not memory." }) }

#define TLY_KEY_LANES(least_, most_) \
    { TLY_KEY(tly_plan, lanes), least_, most_, 1, \
      TLY_WHY( \
          { 1, "Elements go one by one, as they lie apart or the order is the plain loop's." }, \
          { TLY_ELSE, "A vector of this CPU level holds so many accumulators." }) }

#define TLY_KEY_TILE_LANES(least_) \
    { TLY_KEY(tly_plan, tile_lanes), least_, 65536, 1, \
      TLY_WHY({ TLY_ELSE, "A tile has so many lanes. Threads share the work at its multiples, so " \
                          "that no two share a line." }) }

#define TLY_KEY_CHUNK \
    { TLY_KEY(tly_plan, chunk), 0, 1 << 24, 0, \
      TLY_WHY({ 0, "The axis is never cut. It is one chain, whose state cannot be handed on or " \
                   "joined." }, \
              { TLY_ELSE, "A chunk is 128 KiB of input and has a state of its own, so that " \
                          "threads need not wait." }) }

#define TLY_KEY_ROWS \
    { TLY_KEY_AS(tly_plan, "rows", pass_steps), 1, TLY_REDUCE_MOST_STEPS, 1, \
      TLY_WHY({ TLY_ELSE, \
                "A pass takes so many steps of the axis. They are combined in a tree before they " \
                "meet the state, which is loaded and stored once for all of them." }) }

#define TLY_GPU_KEY_WORKGROUP \
    { TLY_KEY(tly_gpu_plan, workgroup), 4, TLY_GPU_MOST_WORKGROUP, 1, \
      TLY_WHY({ TLY_ELSE, "A workgroup has so many invocations: 256 for teams that shuffle, 128 " \
                          "for lanes, 64 for others, and fewer where the device has a limit or a " \
                          "CPU plays it (reasoned, not measured on a GPU)." }) }

#define TLY_GPU_KEY_CHUNK(power_) \
    { TLY_KEY(tly_gpu_plan, chunk), 0, TLY_GPU_MOST_CHUNK, power_, \
      TLY_WHY({ 0, "The axis is never cut, as there are enough rows to fill the device." }, \
              { TLY_ELSE, "A team takes so many elements on its own, as rows are too few to fill " \
                          "the device." }) }

#define TLY_GPU_KEY_ADDRESSES \
    { TLY_KEY(tly_gpu_plan, addresses), 0, 1, 0, \
      TLY_WHY( \
          { 0, "Tensors are storage buffers, which reach all of them." }, \
          { 1, "Tensors have device addresses, as storage buffers are too small or too few." }, \
          { TLY_ELSE, "" }) }

#define TLY_GPU_KEY_INDEX_BITS \
    { TLY_KEY(tly_gpu_plan, index_bits), 32, 64, 1, \
      TLY_WHY( \
          { 32, "Offsets have 32 bits, as no tensor spans 2 GiB or buffers bound them anyway." }, \
          { 64, "Offsets have 64 bits, as a tensor spans 2 GiB and more." }, { TLY_ELSE, "" }) }

#define TLY_GPU_KEY_SCAN(least_, most_) \
    { TLY_KEY(tly_gpu_plan, scan), least_, most_, 0, \
      TLY_WHY({ 0, "Values go through workgroup memory, as the device has no shuffles of a known " \
                   "size." }, \
              { 1, "Values go by shuffles. The device's own scan of floats has no fixed order." }, \
              { 2, "The device's own instruction scans integers of 32 bits, whose order changes " \
                   "nothing." }, \
              { TLY_ELSE, "" }) }

#define TLY_GPU_KEY_VECTOR \
    { TLY_KEY(tly_gpu_plan, vector), 1, TLY_GPU_MOST_ELEMENTS, 1, \
      TLY_WHY({ 1, "Elements go one by one, as scans are interleaved or the elements of a result " \
                   "are shared out one by one." }, \
              { TLY_ELSE, "An invocation takes so many neighbours at once: 16 bytes a load on " \
                          "GPUs, 16 elements where a CPU plays the device (lavapipe, vectors of " \
                          "16 103 ms, of 8 115)." }) }

#define TLY_GPU_KEY_SEGMENTS(power_) \
    { TLY_KEY_AS(tly_gpu_plan, "segments", vectors_per_thread), 1, TLY_GPU_MOST_SEGMENTS, power_, \
      TLY_WHY({ TLY_ELSE, "An invocation takes so many of these vectors in turn, so that several " \
                          "loads are on their way." }) }

#define TLY_GPU_KEY_WIDE \
    { TLY_KEY(tly_gpu_plan, wide), 0, 1, 0, \
      TLY_WHY( \
          { 0, "Where vectors are not aligned, elements go one by one, as a CPU plays the device " \
               "(lavapipe, which goes both ways of a branch, one row of i32 19 ms for 28)." }, \
          { 1, "Accesses take 16 bytes. Where memory is not aligned, single elements make up " \
               "whole vectors." }, \
          { TLY_ELSE, "" }) }

#define TLY_GPU_KEY_PARK \
    { TLY_KEY_AS(tly_gpu_plan, "park", spill), 0, 1, 0, \
      TLY_WHY({ 0, "Local results are in registers while a tile waits." }, \
              { 1, "Local results are in workgroup memory while a tile waits, so that registers " \
                   "let more tiles wait at once." }, \
              { TLY_ELSE, "" }) }

#define TLY_GPU_KEY_LENGTH \
    { TLY_KEY(tly_gpu_plan, length), 0, TLY_GPU_MOST_ELEMENTS * TLY_GPU_MOST_WORKGROUP, 0, \
      TLY_WHY( \
          { 0, "The elements of a row are counted at launch, as they are more than go at once." }, \
          { TLY_ELSE, \
            "A row has so few elements that they are loaded all at once, without a loop." }) }

/* Where the tensors are, of every template. */
#define TLY_GPU_KEY_MEMORY TLY_GPU_KEY_ADDRESSES, TLY_GPU_KEY_INDEX_BITS

#endif
