/* SPDX-License-Identifier: Apache-2.0 */
/* Why the plan for Vulkan is what it is (gpu_choose.c), as reasons.c does for CPUs. */
#include "keys.h"

const tly_reason tly_gpu_reasons[] = {
    { "columns", "template",
      "One invocation goes along each lane. The axis is not innermost, the order is the plain "
      "loop's, or a CPU plays the device and rows alone fill it." },
    { "turned", "template",
      "One invocation goes along each lane, and a lane's elements are neighbours in memory: rows "
      "of up to 32, transposed views, or rows in the order of the plain loop. Tiles are turned in "
      "workgroup memory, so that memory is accessed in its own order." },
    { "staged", "template",
      "A row fits one tile, and vectors do not fit rows. So a team scans each row, neighbouring "
      "invocations access neighbouring elements, and workgroup memory passes these to the "
      "invocations that scan them." },
    { "subgroups", "template",
      "A row fits the tile of a subgroup. So a part of a subgroup scans each row, by shuffles and "
      "without barriers." },
    { "workgroups", "template",
      "Rows are longer than the tile of a subgroup. So a workgroup scans each row." },
    { "look_back", "template",
      "Rows are too few to fill the device, its workgroups make progress, and an estimate says "
      "that waiting for carries takes less than reading twice. So there is one pass, in which each"
      " tile looks back for its carry." },
    { "look_back_lanes", "template",
      "Lanes are too few to fill the device, its workgroups make progress, and an estimate says "
      "that waiting for carries takes less than reading twice. So there is one pass, in which each"
      " lane of a tile looks back for its carry." },
    { "copy", "template", "This is no scan, but a copy by the same tiles, to measure scans by." },
    { "reduce_lanes", "template",
      "An invocation makes a result, as results lie side by side, have few elements, or fill the "
      "device." },
    { "reduce_rows", "template",
      "A team makes a result, as results are too few to fill the device." },

    { NULL, "scan=0",
      "Values go through workgroup memory, as the device has no shuffles of a known size." },
    { NULL, "scan=1",
      "Values go by shuffles. The device's own scan of floats has no fixed order." },
    { NULL, "scan=2",
      "The device's own instruction scans integers of 32 bits, whose order changes nothing." },
    { "look_back", "workgroup",
      "A workgroup has so many invocations. Small ones, as many as registers allow, hide the "
      "waiting for carries (static figures of compilers, not measured on a GPU)." },
    { "look_back_lanes", "workgroup",
      "A workgroup has so many invocations that carries go by few records an element (a model, not"
      " measured on a GPU)." },
    { "turned", "workgroup",
      "A workgroup has so many invocations, and a tile as many lanes: as few as still let a "
      "device's limit of workgroups hold all invocations (reasoned, not measured on a GPU)." },
    { "staged", "workgroup",
      "A workgroup has so many invocations: 128, or a team of more, and fewer where workgroup "
      "memory is small (a model, not measured on a GPU)." },
    { NULL, "workgroup",
      "A workgroup has so many invocations: 256 for teams that shuffle, 128 for lanes, 64 for "
      "others, and fewer where the device has a limit or a CPU plays it (reasoned, not measured on"
      " a GPU)." },
    { "look_back_lanes", "team",
      "A tile has so many lanes: a line of 32, or as many blocks as hold all lanes, of as many "
      "each. Fewer than 16 are turned in workgroup memory." },
    { "staged", "team",
      "So many invocations scan together: as few as hold the row by up to 25 elements each, or 13 "
      "where accumulators have 8 bytes." },
    { "subgroups", "team",
      "So many invocations scan together: a subgroup, or a part of one where fewer than three "
      "quarters would have elements." },
    { NULL, "team",
      "So many invocations work together: as few as still hold the row at once, so that more rows "
      "share a subgroup." },
    { "staged", "vector",
      "An invocation scans so many elements: an odd number, for the banks of workgroup memory, and"
      " a multiple of 4 and 1, so that few kernels serve all lengths (of 8 bytes of 2 and 1)." },
    { "columns", "vector",
      "An invocation takes so many neighbouring lanes at once, as far as they lie together and "
      "leave the device busy." },
    { NULL, "vector=1",
      "Elements go one by one, as scans are interleaved or the elements of a result are shared out"
      " one by one." },
    { NULL, "vector",
      "An invocation takes so many neighbours at once: 16 bytes a load on GPUs, 16 elements where "
      "a CPU plays the device (lavapipe, vectors of 16 103 ms, of 8 115)." },
    { "columns", "segments",
      "So many positions are loaded at once, so that several loads are on their way." },
    { "look_back_lanes", "segments", "An invocation holds so many positions in registers." },
    { "turned", "segments",
      "A tile has so many positions: all of a lane up to 32, else what keeps memory busy, 16 of "
      "many lanes and 32 of fewer." },
    { NULL, "segments",
      "An invocation takes so many of these vectors in turn, so that several loads are on their "
      "way." },
    { NULL, "wide=0",
      "Where vectors are not aligned, elements go one by one, as a CPU plays the device (lavapipe,"
      " which goes both ways of a branch, one row of i32 19 ms for 28)." },
    { NULL, "wide=1",
      "Accesses take 16 bytes. Where memory is not aligned, single elements make up whole "
      "vectors." },
    { NULL, "park=0", "Local results are in registers while a tile waits." },
    { NULL, "park=1",
      "Local results are in workgroup memory while a tile waits, so that registers let more tiles "
      "wait at once." },
    { NULL, "length=0",
      "The elements of a row are counted at launch, as they are more than go at once." },
    { NULL, "length",
      "A row has so few elements that they are loaded all at once, without a loop." },
    { NULL, "chunk=0", "The axis is never cut, as there are enough rows to fill the device." },
    { "look_back", "chunk", "A tile has so many elements." },
    { NULL, "chunk",
      "A team takes so many elements on its own, as rows are too few to fill the device." },
    { NULL, "addresses=0", "Tensors are storage buffers, which reach all of them." },
    { NULL, "addresses=1",
      "Tensors have device addresses, as one is larger than a storage buffer may be." },
    { NULL, "index_bits=32",
      "Offsets have 32 bits, as no tensor spans 2 GiB or buffers bound them anyway." },
    { NULL, "index_bits=64", "Offsets have 64 bits, as a tensor spans 2 GiB and more." },
    { NULL, NULL, NULL },
};
