/* Why the plan for Vulkan is what it is (gpu_choose.c), as reasons.c does for CPUs. */
#include "keys.h"

const tly_reason tly_gpu_reasons[] = {
    { "columns", "template",
      "one invocation goes along each lane: the axis is not innermost, the plain loop's order is "
      "asked "
      "for, rows have up to 8 elements, or a CPU plays the device and is filled by rows alone" },
    { "subgroups", "template",
      "rows fit a tile of a subgroup: a part of it scans each, by shuffles and without barriers" },
    { "workgroups", "template", "rows are longer than a subgroup's tile: a workgroup scans each" },
    { "look_back", "template",
      "rows are too few to fill the device, and its workgroups make progress: one pass, in which "
      "each "
      "tile looks back for its carry" },
    { "copy", "template", "no scan, but a copy by the same tiles, to measure scans by" },
    { "reduce_lanes", "template",
      "an invocation makes an output: outputs lie side by side, have few elements, or fill the "
      "device" },
    { "reduce_rows", "template", "a team makes an output: there are fewer than fill the device" },

    { NULL, "scan",
      "how values go between invocations: 0 through workgroup memory, 1 by shuffles, 2 by the "
      "device's "
      "own scan, for integers of 32 bits alone, as that of floats has no fixed order" },
    { NULL, "workgroup",
      "invocations of a workgroup: 256 for teams that shuffle, 128 for lanes, 64 for other teams; "
      "fewer "
      "where the device has a limit or a CPU plays it (reasoned, not measured on a GPU)" },
    { "reduce_lanes", "workgroup", "64, which leaves no invocation idle for long (reasoned)" },
    { NULL, "team",
      "invocations that scan together: as few as still hold the row at once, so that more rows "
      "share a "
      "subgroup" },
    { NULL, "vector",
      "neighbouring elements an invocation takes at once: 16 bytes a load on GPUs, 16 elements "
      "where a "
      "CPU plays the device (lavapipe: 4 450 ms, 16 103)" },
    { "columns", "vector",
      "neighbouring lanes an invocation takes at once, as far as they lie together and leave the "
      "device "
      "busy" },
    { NULL, "segments",
      "such vectors a tile and invocation: several loads are on their way at once" },
    { "columns", "segments", "positions loaded at once, so that several loads are on their way" },
    { NULL, "chunk",
      "elements that a team scans on its own where rows are too few to fill the device; 0: never "
      "cut" },
    { NULL, "addresses",
      "0: tensors are storage buffers; 1: device addresses, as one is larger than a buffer may "
      "be" },
    { NULL, "index_bits", "offsets of 32 bits, unless a tensor spans 2 GiB" },
    { NULL, NULL, NULL },
};
