/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exponential moving average of a stream. Samples of four sensors arrive in chunks, and the
 * average goes on where the last chunk ended: the kernel takes its state from a buffer and leaves
 * the new one there. Memory for the whole stream is never needed.
 */
#include "word.h"

#include <stdio.h>
#include <string.h>

enum { SENSORS = 4, CHUNK = 5, CHUNKS = 2, SAMPLES = CHUNK * CHUNKS };

/* The mean of `pandas.Series(temperature).ewm(alpha=0.25, adjust=False)`. */
static const float temperature[SAMPLES] = { 20, 20.5f, 21, 24, 23, 22, 21, 20.5f, 20, 19.75f };
static const float by_pandas[SAMPLES] = { 20,           20.125f,      20.34375f,   21.2578125f,
                                          21.69335938f, 21.77001953f, 21.5775146f, 21.308136f,
                                          20.9811011f,  20.6733265f };

int main(void)
{
    float samples[CHUNK][SENSORS], averages[CHUNK][SENSORS], first[SAMPLES], state[SENSORS];
    tally_context *context = open_context();
    /* y[t] = 0.75*y[t-1] + 0.25*x[t] along axis 0, which is time. */
    tally_kernel *kernel = make_kernel(context,
                                       "linrec:f32:5x4:axis=0,map=0.25*x,coef=0.75,carry=in+out");
    if (!kernel) {
        return 1;
    }
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        for (int t = 0; t < CHUNK; t++) {
            for (int s = 0; s < SENSORS; s++) {
                samples[t][s] = temperature[chunk * CHUNK + t] + (float)s; /* each a bit warmer */
            }
        }
        if (chunk == 0) {
            memcpy(state, samples[0], sizeof state); /* the average begins at the first sample */
        }
        run_kernel(kernel, &(tally_buffers){ sizeof(tally_buffers), .in = samples, .out = averages,
                                             .carry_in = state, .carry_out = state });
        for (int t = 0; t < CHUNK; t++) {
            first[chunk * CHUNK + t] = averages[t][0];
            printf("%8.4f %8.4f %8.4f %8.4f\n", (double)averages[t][0], (double)averages[t][1],
                   (double)averages[t][2], (double)averages[t][3]);
        }
    }
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return !are_close("average", first, by_pandas, SAMPLES, 1e-5f) ||
           !are_close("state", state, averages[CHUNK - 1], SENSORS, 0);
}
