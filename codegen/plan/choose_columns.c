/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of lanes side by side: columns, narrow ones, views and tiles; see choose.h. */
#include "choose.h"

/* Axis steps a pass. f32 of 4096x16384, of a copy: 1 step .92, 2 1.0, 4 1.2. Narrow results are
 * rather limited by their instructions, of which one step a pass has the fewest: bf16 of 4096x32768
 * 1 step .99, 4 .61 to .67; f16 of 65536x2048 1.03 and .87, of 4096x32768 alike (Zen 3). With
 * vectors of a line they are not: 1024x32768 of f16 1 step .48, 4 .69; bf16 .48, .81 (Zen 4). */
static int32_t choose_steps(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)plan;
    return t->vector_bytes < 64 && tly_element_bytes(p, TLY_OUT) == 2 ? 1 : 4;
}

static int has_operands(const tly_problem *p)
{
    return tly_operands_end(p) > TLY_FIRST_OPERAND;
}

/* f32 of 4096x2048 and 512x16384, of a copy: 2 KiB .84, .71; 6 KiB .91, .78 (Zen 4); of 4096x16381,
 * 16384x4096, 65536x1024 by 2, 4, 6 KiB .76, .82, .86 and .84, .86, .92 and .85, .88, .93, of
 * 4096x16384 .98, .98, .98; f16 of 4096x32768 .95, .96, .89, bf16 .93, .92, .89, of 32768x1024 .94,
 * .99, 1.01 (Zen 5). With operands, whose rows are prefetched, too, linrec of f32, 4096x4096, and
 * in reverse, of a move: 6 KiB .93, .73, 4 KiB with passes of one line 1.07, .88; AVX2 2 KiB .94,
 * .77, 4 KiB 1.12, .95 (Zen 5). */
static int32_t choose_ahead(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)plan;
    if (has_operands(p) || (t->vector_bytes == 64 && tly_element_bytes(p, TLY_IN) == 2))
        return 4096;
    return t->vector_bytes < 64 ? 2048 : 6144;
}

/* f32 past the cache, of a copy: rows of 1, 4, 8, 16, 32 KiB by one step a pass 1.08, 1.05, 1.02,
 * 1.12, .94; by four .68, .95, .97, 1.05, 1.06. With operands all go by one, as four steps read
 * too many streams: linrec of 1000x16384, of a move, by four and by one f32 .70, .96, f16 .71, .99,
 * AVX2 .69, 1.05; of 64x262144 .70, 1.02, .82, 1.0, .75, 1.06 (Zen 5). */
static int32_t choose_long_row(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return has_operands(p) ? 1 << 30 : 16384;
}

/* f16 with an operand, AVX2, 4 KiB ahead: 2 lines 1.10 of a move, 1 line 1.05 (Zen 5). */
static int32_t choose_lines(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return has_operands(p) && tly_element_bytes(p, TLY_OUT) > 2 ? 1 : 2;
}

/* f32 of 64x256x1024 past the cache, of a copy: 1, 2, 4 slices .85, 1.02, .99; AVX2 1, 2 .82, .98;
 * f16 1, 2 .88, .99, AVX2 .77, .96 (Emerald Rapids). By 2 and 4 f32 of 64x1024x1024 .88, .99, AVX2
 * .88, .97, f64 of 1024 lanes .84, .92, f16 of 2048 .84, .89, 64x1024x512 .89, .99 (Zen 5).
 * Operators that compute for longer than that have nothing of it, nor do words that read operands:
 * linrec of 500x32x1024, of a move, by 1, 2, 4 slices 1.05, .80, .76 (Zen 5). */
static int32_t choose_slices(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return tly_takes_slices(p) && tly_is_plain(p) && !has_operands(p) ? TLY_MOST_SLICES : 1;
}

static int32_t choose_turned(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return tly_larger_of(tly_line_elements(p), 32);
}

static int32_t choose_tile(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    return tly_larger_of(4 * tly_line_elements(p), plan->lanes);
}

static int32_t choose_history(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    return p->lanes.count > 0 && tly_few_columns_vectors(p, plan) <= t->registers * 5 / 8;
}

/* Lines a step: about as many vectors as the history has, so that few are moved between steps. */
static int32_t choose_few_columns_lines(const tly_problem *p, const tly_target *t,
                                        const tly_plan *plan)
{
    int32_t line = tly_line_elements(p), vectors = line > plan->lanes ? line / plan->lanes : 1;
    (void)t;
    return vectors >= 16 ? 1 : vectors > 4 ? 2 : 4;
}

/* 8 KiB of results, which with the input ahead stay in L1. f32 of 300, 129, 749 columns, of a copy:
 * 16 KiB .75, .78, .75; 8 KiB .97, .96, .96; 2 KiB .96, .98, .88 (Zen 4). */
static int32_t choose_few_columns_block(const tly_problem *p, const tly_target *t,
                                        const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return 8192 / (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
}

/* ---- tiles ---- */

/* No more lanes than there are, or steps in a short row. */
static int32_t choose_tile_vector(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t lanes = tly_choose_lanes(p, t, plan);
    /* Tiles of 8 by 8 take short axes, too: f32 of 4096x4096, rows in and columns out, of a copy,
     * 16 lanes .49, 8 lanes .52 (Zen 4). */
    if (tly_tiles_turn(p) && lanes > 8)
        lanes = 8;
    int32_t least = tly_tiles_least(p);
    while (least > 0 && lanes > TLY_LEAST_LANES && lanes > least)
        lanes /= 2;
    return lanes;
}

/* Lines of input are read whole, so that none is out of the cache before its other half is read,
 * and two lines of output written side by side: rows in and columns out, f32 of 4096x4096, of a
 * copy, 8 steps by 1, 2, 4 lines .43, .57, .40; 16 steps .52, .70, .44; rows across, 256x256x256 by
 * 2, 1, 0 along axis 1, 1, 2 lines .41, .61 (Zen 5). */
static int32_t choose_tile_steps(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t line = 64 / (int32_t)tly_element_bytes(p, TLY_IN);
    (void)t;
    if (!tly_tiles_large(p))
        return tly_tiles_turn(p) ? plan->lanes : 1;
    return tly_larger_of(plan->lanes, line < TLY_MOST_LANES ? line : TLY_MOST_LANES);
}

/* Whole lines where there are lanes enough for them, or rows that make them together. Rows of two
 * lanes, 64x64x1024x2 along axis 1 of memory 1024x64x2x64, ns an element (and of a copy): by lines
 * i32 .48
 * (.36), i16 .77 (.115), u8 1.0 (.036), row by row u8 2.1 (.018) (Zen 4). */
static int32_t choose_tile_lines(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    if (p->form == TLY_COLUMNS && p->lanes.lines)
        return 1;
    int crosses = p->form == TLY_COLUMNS && p->lanes.packing == TLY_ROWS_UP && p->lanes.least == 0;
    if ((tly_tiles_large(p) || crosses) && tly_line_elements(p) <= TLY_MOST_LANES)
        return 2;
    return p->form == TLY_COLUMNS && p->lanes.least == 0 && p->tensor[TLY_OUT].step == 1;
}

static int32_t choose_tile_ahead(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return tly_tiles_least(p) > 0 ? 0 : 256;
}

/* ---- all of them ---- */

const tly_choice tly_choices_of_columns[] = {
    { KEY(lanes), tly_choose_lanes, 0 },
    { KEY(pass_steps), choose_steps, 0 },
    { KEY(pass_lines), choose_lines, 0 },
    { KEY(slices), choose_slices, 0 },
    { KEY(tile_lanes), choose_tile, 0 },
    { KEY(prefetch), choose_ahead, 0 },
    { KEY(long_row), choose_long_row, 0 },
    /* Inputs of 16, 128, 512, 1024 KiB by one step a pass .43, .80, .98, .99; by four .76, .97,
     * .83, .85. */
    { KEY(small), NULL, 131072 },
    { KEY(split_bytes), tly_choose_split, 0 },
    { 0, NULL, 0 },
};

const tly_choice tly_choices_of_transposed[] = {
    { KEY(lanes), tly_choose_lanes, 0 },       { KEY(pass_steps), choose_turned, 0 },
    { KEY(tile_lanes), choose_tile, 0 },       { KEY(prefetch), NULL, 128 },
    { KEY(split_bytes), tly_choose_split, 0 }, { 0, NULL, 0 },
};

const tly_choice tly_choices_of_tiles[] = {
    { KEY(lanes), choose_tile_vector, 0 },
    { KEY(tile_steps), choose_tile_steps, 0 },
    { KEY(tile_lines), choose_tile_lines, 0 },
    { KEY(tile_lanes), choose_tile, 0 },
    { KEY(prefetch), choose_tile_ahead, 0 },
    { KEY(split_bytes), tly_choose_split, 0 },
    { 0, NULL, 0 },
};

const tly_choice tly_choices_of_few_columns[] = {
    { KEY(lanes), tly_choose_lanes, 0 },
    { KEY(history), choose_history, 0 },
    { KEY(step_lines), choose_few_columns_lines, 0 },
    { KEY(kept_results), choose_few_columns_block, 0 },
    { KEY(prefetch), NULL, 4096 },
    { KEY(split_bytes), tly_choose_split, 0 },
    { 0, NULL, 0 },
};
