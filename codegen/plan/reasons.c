/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the plan for a CPU is what it is, for people who look at a kernel: a sentence for each key of
 * each template. The choices are plan.c's, and so are all their measurements; here is what they come
 * to. A row without a template is for all that have none of their own.
 */
#include "keys.h"

const tly_reason tly_reasons[] = {
    { "rows", "template",
      "the axis is innermost in the output, and rows are long or several scans are interleaved in "
      "them: vectors along the axis" },
    { "short", "template",
      "rows are short and lie one behind the other: one stream of vectors, whatever the length" },
    { "columns", "template",
      "another dim than the axis is innermost in the output: its elements become lanes, and each "
      "lane is the plain loop" },
    { "narrow", "template",
      "packed columns, too few for passes of their own: one stream in which each result is the one "
      "a "
      "row before it, combined with the input" },
    { "transposed", "template",
      "columns in and rows out: a column scan in registers, turned there" },
    { "serial", "template",
      "the plain loop's order is asked for, or chains of scalars side by side are quicker than "
      "vectors that wait for each other" },
    { "tiles", "template",
      "a view: neither axis nor lanes are neighbours in both tensors, so tiles are turned in "
      "registers, or elements go one by one" },
    { "reduce_rows", "template",
      "no output lies beside another in the input: the elements of one make vectors of states" },
    { "reduce_lanes", "template",
      "outputs lie side by side in the input: each is a lane of its own" },
    { "reduce_interleaved", "template",
      "outputs lie side by side but are too few for whole vectors: several steps of the axis go "
      "together as one wide row" },

    { NULL, "lanes", "accumulators that a vector of this CPU level holds" },
    { NULL, "lanes=1", "elements lie apart, or the order is the plain loop's: one by one" },
    { "rows", "lanes=8",
      "accumulators of a vector; of f32 products whose elements are watched, not flags, no more: "
      "those of "
      "16 leave the range far sooner" },
    { "tiles", "lanes",
      "accumulators of a vector, at most 8 where tiles are turned, and no more than there are "
      "lanes "
      "or steps" },
    { NULL, "pairs=0", "a lane holds one element: only bf16 in and out could go by twos" },
    { NULL, "pairs=1",
      "bf16 neighbours share a lane of 32 bits: half the shuffles, and none that widen" },
    { NULL, "scan=0",
      "windows that reach across vectors: a shuffle a vector less than the others" },
    { NULL, "scan=1", "each vector by itself, as scans are interleaved or go by pairs" },
    { NULL, "scan=2",
      "scalars by pairs of elements: this level has no instruction for vectors of 64-bit "
      "products" },
    { NULL, "careful=0",
      "the quick order first; only what left the range is computed again, in the plain loop's" },
    { NULL, "careful=1", "the range is watched step by step" },
    { "rows", "unroll=4", "vectors a step, so that loads and shuffles of one hide behind another" },
    { "rows", "unroll=2",
      "vectors a step: products go by at most 32 elements, states have several parts, or registers "
      "are "
      "few (AVX2 products .207 ns an element by 2, .33 by 4; Zen 4)" },
    { "rows", "unroll", "vectors a step; of scalars one" },
    { "serial", "unroll", "rows side by side, so that chains do not wait for themselves" },
    { "narrow", "unroll",
      "lines a step: about as many vectors as the history holds, so that few are moved" },
    { NULL, "unroll=1",
      "a vector of states: short rows stand side by side, or the order is serial" },
    { NULL, "unroll", "vectors of states side by side, which hide the latency of one" },
    { NULL, "window_loads=0",
      "no doubling is a load: one instruction shifts across two vectors here, elements are "
      "converted "
      "as they are loaded, or there are no windows" },
    { NULL, "window_loads",
      "the first doublings are overlapping loads, one instruction each, where shuffles across "
      "vectors "
      "are several (f32 in L2: 4.3 us without, 3.1 with 2; Zen 3)" },
    { "rows", "block",
      "128 vectors between two looks at the range: what is staged stays in L1 (64 vectors .85 of a "
      "copy, 128 .92, 256 .89; Zen 3)" },
    { "short", "block", "elements between two looks at the range" },
    { "narrow", "block",
      "8 KiB of results in scratch, which stay in L1 with the input ahead (16 KiB .75 of a copy, 8 "
      "KiB .97; Zen 4)" },
    { NULL, "block", "steps side by side, so that states fill eight vectors and more" },
    { NULL, "history=1", "the row before stays in registers" },
    { NULL, "history=0", "the row before is too long for registers, and is in scratch" },
    { "rows", "chunk",
      "128 KiB of input: its second reading, by a thread that comes late, is from L2 (32 KiB 21.8 "
      "ms, "
      "128 KiB 19.8; Zen 3)" },
    { NULL, "chunk=0", "never cut: one chain, whose state cannot be handed on or joined" },
    { NULL, "chunk",
      "128 KiB of input, each chunk a state of its own, so that threads need not wait" },
    { "columns", "rows=1",
      "axis steps a pass: narrow results are limited by instructions, of which one step has the "
      "fewest" },
    { "columns", "rows",
      "axis steps a pass, so that accumulators are loaded and stored once for several (1 step .92 "
      "of a "
      "copy, 4 steps 1.2; Zen 3)" },
    { "transposed", "rows", "axis steps a pass: whole lines of output, 32 at least" },
    { "tiles", "rows",
      "axis steps of a tile: as many as lanes, as it is turned, or several times that, so that "
      "lines "
      "of input are read whole" },
    { "tiles", "rows=1", "axis steps of a tile, which is not turned" },
    { "reduce_rows", "rows=1",
      "rows one at a time: they are long, or vectors cannot be loaded in part" },
    { "reduce_rows", "rows", "short rows folded together, so that results are neighbours" },
    { NULL, "rows",
      "axis steps a pass, combined in a tree before they meet the state, which is loaded and "
      "stored "
      "once for all" },
    { "columns", "lines",
      "lines of 64 bytes a pass of one step takes (1: .90 of a copy, 2: 1.03, 4: .99; Zen 3)" },
    { "tiles", "lines=0",
      "lines of output across a tile: there are no lanes for one, so a vector is all" },
    { "tiles", "lines", "lines of output across a tile, as there are lanes enough" },
    { "tiles", "lines=2",
      "two lines of output across a tile, written side by side (rows in, columns out, 16 steps: 1 "
      ".52 of a copy, 2 .70; Zen 5)" },
    { NULL, "slices=1", "outer slices one after another" },
    { NULL, "slices",
      "outer slices side by side past the cache, as memory is read and written faster in several "
      "streams" },
    { "reduce_lanes", "tile_lanes", "outputs a tile, whose states stay in L1" },
    { NULL, "tile_lanes",
      "lanes a tile: threads share the work at its multiples, so none shares a line with another" },
    { "tiles", "prefetch=0", "nothing is fetched ahead: a tile takes the axis whole" },
    { "columns", "prefetch",
      "bytes fetched ahead of each row (512x16384: 2 KiB .71 of a copy, 6 KiB .78; Zen 4)" },
    { NULL, "prefetch",
      "bytes fetched ahead past the cache: far enough for memory to answer, near enough to stay in "
      "L1" },
    { NULL, "long_row",
      "bytes of a row from which several steps pass together past the cache (16 KiB: 1 step 1.12 "
      "of a "
      "copy, 4 steps 1.05; 32 KiB: .94, 1.06)" },
    { NULL, "small",
      "bytes of input up to which several steps pass together in the cache (128 KiB: 1 step .80 of "
      "a "
      "copy, 4 steps .97; 512 KiB: .98, .83)" },
    { NULL, "split_bytes=0",
      "memory is the limit, so the machine says how many bytes are worth one more thread" },
    { NULL, "split_bytes",
      "bytes that are worth one more thread: computing is the limit here, not memory" },
    { NULL, NULL, NULL },
};
