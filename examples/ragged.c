/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of rows of different length that lie one behind the other without padding, as sequences of
 * a batch do. `cu_seqlens` says where each row begins and the last one ends; rows may be empty.
 *
 * A scan gives the running sums of each row, and its last state is the sum of the row.
 */
#include "word.h"

#include <stdio.h>

enum { ROWS = 5, COUNT = 12 };

int main(void)
{
    static const float x[COUNT] = { 1, 2, 3, 10, 20, 5, 5, 5, 5, 5, 7, 8 };
    static const int cu_seqlens[ROWS + 1] = { 0, 3, 5, 5, 10, 12 };
    static const float running_by_hand[COUNT] = { 1, 3, 6, 10, 30, 5, 10, 15, 20, 25, 7, 15 };
    static const float sums_by_hand[ROWS] = { 6, 30, 0, 25, 15 };
    float running[COUNT], sums[ROWS], reduced[ROWS];
    tally_context *context = open_context();

    if (!run_word(context, "cumsum:f32:12:axis=0,segments=i32/5,carry=out",
                  &(tally_buffers){ sizeof(tally_buffers), .in = x, .offsets = cu_seqlens,
                                    .out = running, .carry_out = sums })) {
        return 1;
    }
    /* If only the sums are needed, a reduction makes them. */
    if (!run_word(context, "sum:f32:12:axes=0,segments=i32/5",
                  &(tally_buffers){ sizeof(tally_buffers), .in = x, .offsets = cu_seqlens,
                                    .out = reduced })) {
        return 1;
    }
    tally_context_destroy(&context);

    for (int row = 0; row < ROWS; row++) { /* an empty row has the sum -0, which + 0 makes 0 */
        printf("%d elements, sum %g\n", cu_seqlens[row + 1] - cu_seqlens[row],
               (double)sums[row] + 0);
    }
    return !are_close("running sum", running, running_by_hand, COUNT, 0) ||
           !are_close("sum", sums, sums_by_hand, ROWS, 0) ||
           !are_close("sum by a reduction", reduced, sums_by_hand, ROWS, 0);
}
