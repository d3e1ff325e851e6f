/* SPDX-License-Identifier: Apache-2.0 */
/* Why the plan for Vulkan is what it is (gpu_choose.c), as reasons.c does for CPUs. */
#include "keys.h"

const tly_reason tly_gpu_reasons[] = {
    { "columns", "template",
      "one invocation goes along each lane: the axis is not innermost, the plain loop's order is "
      "asked "
      "for, or a CPU plays the device and is filled by rows alone" },
    { "turned", "template",
      "one invocation goes along each lane, and a lane's elements are neighbours in memory: rows "
      "of "
      "up "
      "to 32, transposed views, rows in the plain loop's order; tiles are turned in workgroup "
      "memory, "
      "so that memory is accessed in its own order" },
    { "staged", "template",
      "rows fit one tile, and no vectors fit them: a team scans each, neighbouring invocations "
      "access neighbouring elements, which go through workgroup memory to who scans them" },
    { "subgroups", "template",
      "rows fit a tile of a subgroup: a part of it scans each, by shuffles and without barriers" },
    { "workgroups", "template", "rows are longer than a subgroup's tile: a workgroup scans each" },
    { "look_back", "template",
      "rows are too few to fill the device, its workgroups make progress, and waiting for carries "
      "takes less than reading twice, by an estimate: one pass, in which each tile looks back for "
      "its carry" },
    { "look_back_lanes", "template",
      "lanes are too few to fill the device, its workgroups make progress, and waiting for carries "
      "takes less than reading twice, by an estimate: one pass, in which each lane of a tile looks "
      "back for its carry" },
    { "copy", "template", "no scan, but a copy by the same tiles, to measure scans by" },
    { "reduce_lanes", "template",
      "an invocation makes an output: outputs lie side by side, have few elements, or fill the "
      "device" },
    { "reduce_rows", "template", "a team makes an output: there are fewer than fill the device" },

    { NULL, "scan=0",
      "values go through workgroup memory: the device has no shuffles of a known size" },
    { NULL, "scan=1", "values go by shuffles; the device's own scan of floats has no fixed order" },
    { NULL, "scan=2",
      "the device's own scan, of integers of 32 bits, whose order changes nothing" },
    { "look_back", "workgroup",
      "invocations of a workgroup: small ones, as many as registers allow, hide the waiting for "
      "carries (static figures of compilers, not measured on a GPU)" },
    { "look_back_lanes", "workgroup",
      "invocations of a tile, so many that carries go by few records an element (a model, not "
      "measured on a GPU)" },
    { "turned", "workgroup",
      "invocations of a workgroup, and lanes of a tile: as few as still let a device's limit of "
      "workgroups hold all invocations (reasoned, not measured on a GPU)" },
    { "staged", "workgroup",
      "invocations of a workgroup: 128, or a team of more; fewer where the device's workgroup "
      "memory "
      "is small (a model, not measured on a GPU)" },
    { NULL, "workgroup",
      "invocations of a workgroup: 256 for teams that shuffle, 128 for lanes, 64 for others; fewer "
      "where the device has a limit or a CPU plays it (reasoned, not measured on a GPU)" },
    { "look_back_lanes", "team",
      "lanes of a tile: a line of 32, or as many blocks as hold all lanes, of as many each; fewer "
      "than 16 are turned in workgroup memory" },
    { "staged", "team",
      "invocations that scan together: as few as hold the row by up to 25 elements each, 13 of "
      "accumulators of 8 bytes" },
    { "subgroups", "team",
      "invocations that scan together: a subgroup, or a part of one where fewer than three "
      "quarters "
      "would have elements" },
    { NULL, "team",
      "invocations that scan together: as few as still hold the row at once, so that more rows "
      "share a "
      "subgroup" },
    { "staged", "vector",
      "elements that an invocation scans: an odd number, for the banks of workgroup memory, and a "
      "multiple of 4 and 1, so that few kernels serve all lengths (of 8 bytes of 2 and 1)" },
    { "columns", "vector",
      "neighbouring lanes an invocation takes at once, as far as they lie together and leave the "
      "device "
      "busy" },
    { NULL, "vector=1",
      "single elements: several scans are interleaved, or an output's elements are "
      "shared out one by one" },
    { NULL, "vector",
      "neighbouring elements an invocation takes at once: 16 bytes a load on GPUs, 16 elements "
      "where a "
      "CPU plays the device (lavapipe, vectors of 16 103 ms, of 8 115)" },
    { "columns", "segments", "positions loaded at once, so that several loads are on their way" },
    { "look_back_lanes", "segments", "positions that an invocation holds in registers" },
    { "turned", "segments",
      "positions of a tile: all of a lane up to 32; else what keeps memory busy, 16 of many lanes "
      "and "
      "32 of fewer" },
    { NULL, "segments",
      "such vectors a tile and invocation, so that several loads are on their way" },
    { NULL, "wide=0",
      "single elements, each by itself, where vectors are not aligned: a CPU plays the device "
      "(lavapipe, which goes both ways of a branch, one row of i32 19 ms for 28)" },
    { NULL, "wide=1",
      "accesses of 16 bytes, and single elements, by whole vectors of them, where memory is not "
      "aligned" },
    { NULL, "park=0", "local results are in registers while a tile waits" },
    { NULL, "park=1",
      "local results are in workgroup memory while a tile waits, so that registers let more tiles "
      "wait at once" },
    { NULL, "length=0", "elements of a row are counted at launch: there are more than go at once" },
    { NULL, "length", "elements of a row: so few are loaded all at once, without a loop" },
    { NULL, "chunk=0", "never cut: there are enough rows to fill the device" },
    { "look_back", "chunk", "elements of a tile" },
    { NULL, "chunk",
      "elements that a team takes on its own, as rows are too few to fill the device" },
    { NULL, "addresses=0", "tensors are storage buffers, which reach all of them" },
    { NULL, "addresses=1", "device addresses, as a tensor is larger than a storage buffer may be" },
    { NULL, "index_bits=32",
      "width of offsets: no tensor spans 2 GiB, or buffers bound them anyway" },
    { NULL, "index_bits=64", "width of offsets: a tensor spans 2 GiB and more" },
    { NULL, NULL, NULL },
};
