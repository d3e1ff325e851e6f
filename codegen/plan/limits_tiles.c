/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of tiles can be built with. */
#include "limits.h"
#include "shared_keys.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key table[] = {
    { KEY(lanes), TLY_LEAST_LANES, TLY_MOST_LANES, 1,
      TLY_WHY({ 1, "Elements go one by one, as they lie apart or the order is the plain loop's." },
              { TLY_ELSE, "A vector holds so many accumulators: at most 8 where tiles are turned, "
                          "and no more than there are lanes or steps." }) },
    { KEY_AS("rows", tile_steps), 1, TLY_MOST_LANES, 1,
      TLY_WHY({ 1, "A tile has one step of the axis, as it is not turned." },
              { TLY_ELSE,
                "A tile has so many steps of the axis: as many as lanes, as it is turned, or "
                "several times that, so that lines of input are read whole." }) },
    { KEY_AS("lines", tile_lines), 0, TLY_TILES_MOST_LINES, 1,
      TLY_WHY({ 0, "A tile is as wide as a vector, as there are no lanes for a line of output." },
              { 2, "A tile is two lines of output wide, which are written side by side (rows in, "
                   "columns out, 16 steps: 1 .52 of a copy, 2 .70; Zen 5)." },
              { TLY_ELSE, "A tile is so many lines of output wide, as there are lanes enough." }) },
    TLY_KEY_TILE_LANES(1),
    { KEY(prefetch), 0, 65536, 0,
      TLY_WHY({ 0, "Nothing is fetched ahead, as a tile takes the axis whole." },
              { TLY_ELSE, "Past the cache, so many bytes are fetched ahead: far enough for memory "
                          "to answer, near enough to stay in L1." }) },
    TLY_KEY_SPLIT_BYTES,
};

int32_t tly_tiles_parts(const tly_problem *p, const tly_plan *plan)
{
    return plan->tile_lines > 0 ? plan->tile_lines * tly_line_elements(p) / plan->lanes : 1;
}

tly_way tly_tiles_in(const tly_problem *p)
{
    if (p->form == TLY_ROWS)
        return p->tensor[TLY_IN].step == 1    ? TLY_ALONG_UP
               : p->tensor[TLY_IN].step == -1 ? TLY_ALONG_DOWN
                                              : TLY_APART;
    if (p->tensor[TLY_IN].step != TLY_ANY_STEP && p->tensor[TLY_IN].step >= -1 &&
        p->tensor[TLY_IN].step <= TLY_NEAR_STEP)
        return TLY_ACROSS;
    return p->lanes.packing == TLY_AXIS_UP     ? TLY_ALONG_UP
           : p->lanes.packing == TLY_AXIS_DOWN ? TLY_ALONG_DOWN
                                               : TLY_APART;
}

tly_way tly_tiles_out(const tly_problem *p)
{
    if (p->form == TLY_ROWS)
        return p->tensor[TLY_OUT].step == 1    ? TLY_ALONG_UP
               : p->tensor[TLY_OUT].step == -1 ? TLY_ALONG_DOWN
                                               : TLY_APART;
    if (p->form == TLY_TRANSPOSED)
        return p->lanes.packing == TLY_AXIS_DOWN ? TLY_ALONG_DOWN : TLY_ALONG_UP;
    return p->tensor[TLY_OUT].step == 1 ? TLY_ACROSS : TLY_APART;
}

int tly_tiles_turn(const tly_problem *p)
{
    return tly_is_along(tly_tiles_in(p)) || tly_is_along(tly_tiles_out(p));
}

int tly_tiles_least(const tly_problem *p)
{
    return p->form == TLY_ROWS ? p->rows.least : p->lanes.least;
}

int tly_tiles_large(const tly_problem *p)
{
    return p->form == TLY_COLUMNS && p->lanes.least == 0 && tly_is_along(tly_tiles_in(p)) &&
           tly_tiles_out(p) == TLY_ACROSS;
}

static const char *refuses(const tly_problem *p)
{
    return p->segmented                                ? "tiles: the axis is not cut"
           : p->form == TLY_ROWS && p->rows.least == 0 ? "tiles: long or dense rows"
                                                       : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    int32_t line = tly_line_elements(p);
    const char *lanes = tly_fault_of_lanes(p, plan);
    if (lanes != NULL)
        return lanes;
    int large = tly_tiles_large(p) && plan->tile_steps % plan->lanes == 0;
    if (tly_tiles_turn(p) && plan->tile_steps != plan->lanes && !large)
        return "tiles that are turned are square, or several of these along lines of long rows";
    int lined = p->form == TLY_COLUMNS && p->lanes.lines;
    if (lined && (plan->tile_lines != 1 || plan->lanes > p->lanes.least))
        return "rows that make a line are a line together";
    if (tly_tiles_parts(p, plan) > TLY_TILES_MOST_PARTS)
        return "so many lines are too much";
    return plan->tile_lines > 0 && plan->tile_lanes % line != 0 ? "a tile is whole lines of output"
                                                                : NULL;
}

/* Lanes that are too few for passes of their own, or views of which nothing better is known. */
static int is_wanted(const tly_problem *p, const tly_target *t)
{
    if (p->segmented != TLY_SEGMENTED_NOT)
        return 0;
    if (p->form == TLY_COLUMNS)
        return p->lanes.least > 0 || p->tensor[TLY_IN].step == TLY_ANY_STEP;
    if (p->form == TLY_TRANSPOSED)
        return p->lanes.least > 0 || p->lanes.packing != TLY_PACKED_NOT;
    return p->form == TLY_ROWS && p->rows.least > 0 && !(p->carry && tly_linear_serves(p)) &&
           !tly_carries_in_stream(p, t);
}

const tly_template_limits tly_tiles_limits = {
    { "tiles", table, sizeof table / sizeof *table,
      "Neither axis nor lanes are neighbours in all tensors, as in views and with broadcast "
      "operands. So tiles "
      "are turned in registers, or elements go one by one." },
    0,
    tly_choices_of_tiles,
    "*",
    refuses,
    fault,
    is_wanted,
};
