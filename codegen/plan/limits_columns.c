/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns template can be built with. */
#include "limits.h"
#include "shared_keys.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key table[] = {
    TLY_KEY_LANES(TLY_LEAST_LANES, TLY_MOST_LANES),
    { KEY_AS("rows", pass_steps), 1, TLY_COLUMNS_MOST_STEPS, 1,
      TLY_WHY({ 1, "A pass takes one step of the axis. Instructions limit narrow results, and one "
                   "step has the fewest." },
              { TLY_ELSE,
                "A pass takes so many steps of the axis, so that accumulators are loaded and "
                "stored once for all of them (1 step .92 of a copy, 4 steps 1.2; Zen 3)." }) },
    { KEY_AS("lines", pass_lines), 1, TLY_COLUMNS_MOST_LINES, 1,
      TLY_WHY({ TLY_ELSE, "A pass of one step takes so many lines of 64 bytes (1: .90 of a copy, "
                          "2: 1.03, 4: .99; Zen 3)." }) },
    { KEY(slices), 1, TLY_MOST_SLICES, 1,
      TLY_WHY({ 1, "Outer slices go one after another." },
              { TLY_ELSE, "Past the cache, so many outer slices go side by side, as memory is read "
                          "and written faster in several streams." }) },
    TLY_KEY_TILE_LANES(8),
    { KEY(prefetch), 0, 65536, 0,
      TLY_WHY({ TLY_ELSE, "So many bytes of each row are fetched ahead (512x16384: 2 KiB .71 of a "
                          "copy, 6 KiB .78; Zen 4)." }) },
    { KEY(long_row), 0, 1 << 30, 0,
      TLY_WHY({ TLY_ELSE,
                "Past the cache, several steps pass together for rows of so many bytes and "
                "more (16 KiB: 1 step 1.12 of a copy, 4 steps 1.05; 32 KiB: .94, 1.06)." }) },
    { KEY(small), 0, 1 << 30, 0,
      TLY_WHY({ TLY_ELSE,
                "In the cache, several steps pass together for inputs of up to so many bytes "
                "(128 KiB: 1 step .80 of a copy, 4 steps .97; 512 KiB: .98, .83)." }) },
    TLY_KEY_SPLIT_BYTES,
};

static const char *refuses(const tly_problem *p)
{
    return p->form != TLY_COLUMNS ? "columns: no dim but the axis is innermost" : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    const char *lanes = tly_fault_of_lanes(p, plan);
    if (lanes != NULL)
        return lanes;
    if (plan->slices > 1 && !tly_takes_slices(p))
        return "slices: lanes are few, or not neighbours";
    return plan->tile_lanes % tly_line_elements(p) != 0 ? "a tile is whole lines of output" : NULL;
}

const tly_template_limits tly_columns_limits = {
    { "columns", table, sizeof table / sizeof *table,
      "Another dim than the axis is innermost in the output. Its elements become lanes, and each "
      "lane is the plain loop." },
    0,
    tly_choices_of_columns,
    "*",
    refuses,
    fault,
    NULL,
};
