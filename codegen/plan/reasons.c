/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the plan for a CPU is what it is, for people who look at a kernel: a sentence for each key of
 * each template. The choices are plan.c's, and so are all their measurements; here is what they
 * come to. A row without a template is for all that have none of their own.
 */
#include "keys.h"

const tly_reason tly_reasons[] = {
    { "rows", "template",
      "The axis is innermost in the output, and rows are long or interleave several scans. So "
      "vectors go along the axis." },
    { "short", "template",
      "Rows are short and lie one behind the other. So they are one stream of vectors, whatever "
      "their length." },
    { "columns", "template",
      "Another dim than the axis is innermost in the output. Its elements become lanes, and each "
      "lane is the plain loop." },
    { "narrow", "template",
      "The columns are packed, and too few for passes of their own. So they are one stream, in "
      "which a result is the result one row before it, combined with the input." },
    { "transposed", "template",
      "The input has columns and the output rows. So columns are scanned in registers and turned "
      "there." },
    { "serial", "template",
      "The plain loop's order is asked for, or scalar chains side by side are quicker than vectors"
      " that wait for each other." },
    { "tiles", "template",
      "This is a view, in which neither axis nor lanes are neighbours in both tensors. So tiles "
      "are turned in registers, or elements go one by one." },
    { "reduce_rows", "template",
      "No result lies beside another in the input. So the elements of one result make vectors of "
      "states." },
    { "reduce_lanes", "template",
      "Results lie side by side in the input, and each is a lane of its own." },
    { "reduce_interleaved", "template",
      "Results lie side by side, but are too few for whole vectors. So several steps of the axis "
      "go together as one wide row." },

    { NULL, "lanes", "A vector of this CPU level holds so many accumulators." },
    { NULL, "lanes=1",
      "Elements go one by one, as they lie apart or the order is the plain loop's." },
    { "rows", "lanes=8",
      "A vector holds so many accumulators. Products of f32 whose elements are watched, not flags,"
      " take no more, as products of 16 leave the range far sooner." },
    { "tiles", "lanes",
      "A vector holds so many accumulators: at most 8 where tiles are turned, and no more than "
      "there are lanes or steps." },
    { NULL, "pairs=0",
      "A lane holds one element. Only bf16 as input and output could go by twos." },
    { NULL, "pairs=1",
      "Two bf16 neighbours share a lane of 32 bits. That takes half the shuffles, and none that "
      "widen." },
    { NULL, "scan=0",
      "Windows reach across vectors, which takes a shuffle a vector less than the other ways." },
    { NULL, "scan=1",
      "Each vector is scanned by itself, as scans are interleaved or go by pairs." },
    { NULL, "scan=2",
      "Scalars go by pairs of elements, as this level has no instruction for vectors of 64-bit "
      "products." },
    { NULL, "careful=0",
      "The quick order comes first. Only what has left the range is computed again, in the order "
      "of the plain loop." },
    { NULL, "careful=1", "The range is watched step by step." },
    { "rows", "unroll=4",
      "A step takes so many vectors, so that loads and shuffles of one hide behind another." },
    { "rows", "unroll=2",
      "A step takes so many vectors: products go by at most 32 elements, states have several "
      "parts, or registers are few (AVX2 products .207 ns an element by 2, .33 by 4; Zen 4)." },
    { "rows", "unroll", "A step takes so many vectors, or one scalar." },
    { "serial", "unroll",
      "So many rows go side by side, so that their chains do not wait for themselves." },
    { "narrow", "unroll",
      "A step takes so many lines: about as many vectors as the history holds, so that few are "
      "moved." },
    { NULL, "unroll=1",
      "There is one vector of states, as short rows stand side by side or the order is serial." },
    { NULL, "unroll",
      "So many vectors of states go side by side, which hides the latency of one." },
    { NULL, "window_loads=0",
      "No doubling is a load: one instruction shifts across two vectors here, elements are "
      "converted as they are loaded, or there are no windows." },
    { NULL, "window_loads",
      "The first doublings are overlapping loads, one instruction each, as a shuffle across "
      "vectors is several here (f32 in L2: 4.3 us without, 3.1 with 2; Zen 3)." },
    { "rows", "block",
      "The range is looked at after every 128 vectors, so that what is staged stays in L1 (64 "
      "vectors .85 of a copy, 128 .92, 256 .89; Zen 3)." },
    { "short", "block", "The range is looked at after so many elements." },
    { "narrow", "block",
      "Scratch holds 8 KiB of results, which stay in L1 with the input ahead (16 KiB .75 of a "
      "copy, 8 KiB .97; Zen 4)." },
    { NULL, "block", "So many steps go side by side, so that states fill eight vectors and more." },
    { NULL, "history=1", "The row before stays in registers." },
    { NULL, "history=0", "The row before is too long for registers, and stays in scratch." },
    { "rows", "chunk",
      "A chunk is 128 KiB of input. A thread that comes late reads it a second time, from L2 (32 "
      "KiB 21.8 ms, 128 KiB 19.8; Zen 3)." },
    { NULL, "chunk=0",
      "The axis is never cut. It is one chain, whose state cannot be handed on or joined." },
    { NULL, "chunk",
      "A chunk is 128 KiB of input and has a state of its own, so that threads need not wait." },
    { "columns", "rows=1",
      "A pass takes one step of the axis. Instructions limit narrow results, and one step has the "
      "fewest." },
    { "columns", "rows",
      "A pass takes so many steps of the axis, so that accumulators are loaded and stored once for"
      " all of them (1 step .92 of a copy, 4 steps 1.2; Zen 3)." },
    { "transposed", "rows",
      "A pass takes so many steps of the axis: whole lines of output, 32 at least." },
    { "tiles", "rows",
      "A tile has so many steps of the axis: as many as lanes, as it is turned, or several times "
      "that, so that lines of input are read whole." },
    { "tiles", "rows=1", "A tile has one step of the axis, as it is not turned." },
    { "reduce_rows", "rows=1",
      "Rows go one at a time, as they are long or vectors cannot be loaded in part." },
    { "reduce_rows", "rows",
      "So many short rows are folded together, so that results are neighbours." },
    { NULL, "rows",
      "A pass takes so many steps of the axis. They are combined in a tree before they meet the "
      "state, which is loaded and stored once for all of them." },
    { "columns", "lines",
      "A pass of one step takes so many lines of 64 bytes (1: .90 of a copy, 2: 1.03, 4: .99; Zen "
      "3)." },
    { "tiles", "lines=0",
      "A tile is as wide as a vector, as there are no lanes for a line of output." },
    { "tiles", "lines", "A tile is so many lines of output wide, as there are lanes enough." },
    { "tiles", "lines=2",
      "A tile is two lines of output wide, which are written side by side (rows in, columns out, "
      "16 steps: 1 .52 of a copy, 2 .70; Zen 5)." },
    { NULL, "slices=1", "Outer slices go one after another." },
    { NULL, "slices",
      "Past the cache, so many outer slices go side by side, as memory is read and written faster "
      "in several streams." },
    { "reduce_lanes", "tile_lanes", "A tile has so many results, whose states stay in L1." },
    { NULL, "tile_lanes",
      "A tile has so many lanes. Threads share the work at its multiples, so that no two share a "
      "line." },
    { "tiles", "prefetch=0", "Nothing is fetched ahead, as a tile takes the axis whole." },
    { "columns", "prefetch",
      "So many bytes of each row are fetched ahead (512x16384: 2 KiB .71 of a copy, 6 KiB .78; Zen"
      " 4)." },
    { NULL, "prefetch",
      "Past the cache, so many bytes are fetched ahead: far enough for memory to answer, near "
      "enough to stay in L1." },
    { NULL, "long_row",
      "Past the cache, several steps pass together for rows of so many bytes and more (16 KiB: 1 "
      "step 1.12 of a copy, 4 steps 1.05; 32 KiB: .94, 1.06)." },
    { NULL, "small",
      "In the cache, several steps pass together for inputs of up to so many bytes (128 KiB: 1 "
      "step .80 of a copy, 4 steps .97; 512 KiB: .98, .83)." },
    { NULL, "split_bytes=0",
      "Memory is the limit, so the machine says how many bytes are worth one more thread." },
    { NULL, "split_bytes",
      "So many bytes are worth one more thread, as computing is the limit here, not memory." },
    { NULL, NULL, NULL },
};
