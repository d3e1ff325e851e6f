/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generalised advantage estimation, as reinforcement learning needs it: from rewards, values and
 * done flags of some environments to the advantage of each step. An advantage is a sum of temporal
 * differences that walks backwards through time, and begins anew where an episode is done.
 *
 * Two words compute it in two steps. One word then does the same in one pass over memory.
 */
#include "word.h"

#include <stdio.h>

enum { STEPS = 64, ENVIRONMENTS = 8, COUNT = STEPS * ENVIRONMENTS };

/* Tensors have a row for each step. Values have one row more: of the state behind the last step. */
static float reward[COUNT], value[COUNT + ENVIRONMENTS];
static unsigned char done[COUNT];

static void play(void)
{
    for (int i = 0; i < COUNT + ENVIRONMENTS; i++) {
        value[i] = (float)(i * 7 % 13) / 13;
    }
    for (int i = 0; i < COUNT; i++) {
        reward[i] = (float)(i * 5 % 11) / 11 - 0.25f;
        done[i] = i % 37 == 36;
    }
}

/* The loop that the words replace: discount 0.99, lambda 0.95. */
static void loop(float *advantage)
{
    for (int i = COUNT - 1; i >= 0; i--) {
        const float alive = done[i] ? 0 : 1;
        const float later = i + ENVIRONMENTS < COUNT ? advantage[i + ENVIRONMENTS] : 0;
        const float delta = reward[i] + 0.99f * alive * value[i + ENVIRONMENTS] - value[i];
        advantage[i] = delta + 0.99f * 0.95f * alive * later;
    }
}

int main(void)
{
    static float delta[COUNT], advantage[COUNT], fused[COUNT], want[COUNT];
    tally_context *context = open_context();
    play();
    loop(want);

    /* A sum over no axis changes elements and adds none. Operand b is the values of one step
     * later: the same buffer, one row further. */
    run_word(context, "sum:f32:64x8:axes=none,a=f32,b=f32,c=u8,map=x+0.99*(1-c)*b-a",
             &(tally_buffers){ sizeof(tally_buffers), .in = reward,
                               .operand = { value, value + ENVIRONMENTS, done }, .out = delta });
    run_word(context, "linrec:f32:64x8:axis=0,reverse,a=u8,coef=0.99*0.95*(1-a)",
             &(tally_buffers){ sizeof(tally_buffers), .in = delta, .operand = { done },
                               .out = advantage });
    run_word(context,
             "linrec:f32:64x8:axis=0,reverse,a=f32,b=f32,c=u8,"
             "map=x+0.99*(1-c)*b-a,coef=0.99*0.95*(1-c)",
             &(tally_buffers){ sizeof(tally_buffers), .in = reward,
                               .operand = { value, value + ENVIRONMENTS, done }, .out = fused });
    tally_context_destroy(&context);

    printf("advantages of the first step:");
    for (int i = 0; i < ENVIRONMENTS; i++) {
        printf(" %.4f", (double)fused[i]);
    }
    printf("\n");
    return !are_close("advantage", advantage, want, COUNT, 1e-5f) ||
           !are_close("advantage in one pass", fused, advantage, COUNT, 0); /* the same numbers */
}
