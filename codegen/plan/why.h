/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why choices are what they are, of keys that several templates read alike.
 */
#ifndef TLY_PLAN_WHY_H
#define TLY_PLAN_WHY_H

#include "limits.h"

#define TLY_WHY_PREFETCH \
    TLY_WHY({ TLY_ELSE, "Past the cache, so many bytes are fetched ahead: far enough for memory " \
                        "to answer, near enough to stay in L1." })

#define TLY_WHY_SPLIT_BYTES \
    TLY_WHY( \
        { 0, \
          "Memory is the limit, so the machine says how many bytes are worth one more thread." }, \
        { TLY_ELSE, "So many bytes are worth one more thread, as computing is the limit here, " \
                    "not memory." })

#define TLY_WHY_LANES \
    TLY_WHY({ 1, "Elements go one by one, as they lie apart or the order is the plain loop's." }, \
            { TLY_ELSE, "A vector of this CPU level holds so many accumulators." })

#define TLY_WHY_TILE_LANES \
    TLY_WHY({ TLY_ELSE, "A tile has so many lanes. Threads share the work at its multiples, so " \
                        "that no two share a line." })

#define TLY_WHY_CHUNK \
    TLY_WHY( \
        { 0, \
          "The axis is never cut. It is one chain, whose state cannot be handed on or joined." }, \
        { TLY_ELSE, "A chunk is 128 KiB of input and has a state of its own, so that threads " \
                    "need not wait." })

#define TLY_WHY_ROWS \
    TLY_WHY({ TLY_ELSE, \
              "A pass takes so many steps of the axis. They are combined in a tree before " \
              "they meet the state, which is loaded and stored once for all of them." })

#define TLY_WHY_GPU_WORKGROUP \
    TLY_WHY({ TLY_ELSE, "A workgroup has so many invocations: 256 for teams that shuffle, 128 " \
                        "for lanes, 64 for others, and fewer where the device has a limit or a " \
                        "CPU plays it (reasoned, not measured on a GPU)." })

#define TLY_WHY_GPU_CHUNK \
    TLY_WHY( \
        { 0, "The axis is never cut, as there are enough rows to fill the device." }, \
        { TLY_ELSE, \
          "A team takes so many elements on its own, as rows are too few to fill the device." })

#define TLY_WHY_GPU_ADDRESSES \
    TLY_WHY( \
        { 0, "Tensors are storage buffers, which reach all of them." }, \
        { 1, "Tensors have device addresses, as one is larger than a storage buffer may be." }, \
        { TLY_ELSE, "" })

#define TLY_WHY_GPU_INDEX_BITS \
    TLY_WHY( \
        { 32, "Offsets have 32 bits, as no tensor spans 2 GiB or buffers bound them anyway." }, \
        { 64, "Offsets have 64 bits, as a tensor spans 2 GiB and more." }, { TLY_ELSE, "" })

#define TLY_WHY_GPU_SCAN \
    TLY_WHY( \
        { 0, \
          "Values go through workgroup memory, as the device has no shuffles of a known size." }, \
        { 1, "Values go by shuffles. The device's own scan of floats has no fixed order." }, \
        { 2, "The device's own instruction scans integers of 32 bits, whose order changes " \
             "nothing." }, \
        { TLY_ELSE, "" })

#define TLY_WHY_GPU_VECTOR \
    TLY_WHY( \
        { 1, "Elements go one by one, as scans are interleaved or the elements of a result are " \
             "shared out one by one." }, \
        { TLY_ELSE, \
          "An invocation takes so many neighbours at once: 16 bytes a load on GPUs, 16 elements " \
          "where a CPU plays the device (lavapipe, vectors of 16 103 ms, of 8 115)." })

#define TLY_WHY_GPU_SEGMENTS \
    TLY_WHY({ TLY_ELSE, "An invocation takes so many of these vectors in turn, so that several " \
                        "loads are on their way." })

#define TLY_WHY_GPU_WIDE \
    TLY_WHY( \
        { 0, "Where vectors are not aligned, elements go one by one, as a CPU plays the device " \
             "(lavapipe, which goes both ways of a branch, one row of i32 19 ms for 28)." }, \
        { 1, "Accesses take 16 bytes. Where memory is not aligned, single elements make up whole " \
             "vectors." }, \
        { TLY_ELSE, "" })

#define TLY_WHY_GPU_PARK \
    TLY_WHY({ 0, "Local results are in registers while a tile waits." }, \
            { 1, "Local results are in workgroup memory while a tile waits, so that registers " \
                 "let more tiles wait at once." }, \
            { TLY_ELSE, "" })

#define TLY_WHY_GPU_LENGTH \
    TLY_WHY( \
        { 0, "The elements of a row are counted at launch, as they are more than go at once." }, \
        { TLY_ELSE, \
          "A row has so few elements that they are loaded all at once, without a loop." })

#endif
