/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of samples along rays, as volume rendering and radiance fields need them. Samples in
 * empty space are left out, so rays have different numbers of samples and lie one behind the other.
 * A sample of opacity x sends x times the light that passes all samples before it. Some light
 * passes all samples of a ray: it shows the background.
 */
#include "word.h"

#include <stdio.h>

enum { RAYS = 300, MOST_SAMPLES = RAYS * 16 };

static int offsets[RAYS + 1];
static float opacity[MOST_SAMPLES], weight[MOST_SAMPLES], left[RAYS];

/* Every fifth ray meets nothing. */
static void march(void)
{
    for (int ray = 0; ray < RAYS; ray++) {
        const int samples = ray % 5 == 0 ? 0 : ray * 7 % 16;
        offsets[ray + 1] = offsets[ray] + samples;
        for (int i = 0; i < samples; i++) {
            opacity[offsets[ray] + i] = (float)((ray + i * 3) % 10) / 10;
        }
    }
}

int main(void)
{
    static float weight_by_loop[MOST_SAMPLES], left_by_loop[RAYS];
    char word[TALLY_WORD_MAX];
    tally_context *context = open_context();
    march();
    for (int ray = 0; ray < RAYS; ray++) {
        float light = 1;
        for (int i = offsets[ray]; i < offsets[ray + 1]; i++) {
            weight_by_loop[i] = light * opacity[i];
            light *= 1 - opacity[i];
        }
        left_by_loop[ray] = light;
    }

    /* The last state of a ray is the product of all its factors: the light that is left. */
    snprintf(word, sizeof word,
             "cumprod:f32:%d:axis=0,exclusive,map=1-x,post=x*y,segments=i32/%d,carry=out",
             offsets[RAYS], RAYS);
    if (!run_word(context, word,
                  &(tally_buffers){ sizeof(tally_buffers), .in = opacity, .offsets = offsets,
                                    .out = weight, .carry_out = left })) {
        return 1;
    }
    tally_context_destroy(&context);

    for (int ray = 0; ray < 6; ray++) {
        printf("ray %d: %2d samples, %.3f of the background\n", ray,
               offsets[ray + 1] - offsets[ray], (double)left[ray]);
    }
    return !are_close("weight", weight, weight_by_loop, (size_t)offsets[RAYS], 1e-6f) ||
           !are_close("light", left, left_by_loop, RAYS, 1e-6f);
}
