/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A minGRU layer and its gradient. The layer is h[t] = (1-z)*h[t-1] + z*x[t] with the gate
 * z = sig(a). Tally has no operator for its gradient: `tally_gradient` writes it as further words,
 * and these run like all others. The loss is the sum of g*h; differences of the loss check the
 * gradients of inputs x and gates a.
 */
#include "word.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 12, CHANNELS = 5, COUNT = STEPS * CHANNELS };

static const char *const layer = "linrec:f64:12x5:axis=0,a=f64,map=sig(a)*x,coef=1-sig(a)";
static double x[COUNT], a[COUNT], g[COUNT], h[COUNT];
static tally_context *context;
static tally_kernel *forward;

static double loss(void)
{
    double sum = 0;
    run_kernel(forward,
               &(tally_buffers){ sizeof(tally_buffers), .in = x, .operand = { a }, .out = h });
    for (int i = 0; i < COUNT; i++) {
        sum += g[i] * h[i];
    }
    return sum;
}

/* Each step is a word. It reads tensors of the layer, or results of steps before it, by number. */
static const double *backward(const tally_descriptor *descriptor, tally_source wrt)
{
    static double results[TALLY_GRADIENT_MAX][COUNT];
    static tally_gradient_step steps[TALLY_GRADIENT_MAX];
    const double *tensors[TALLY_SOURCE_STEP + TALLY_GRADIENT_MAX] = { NULL };
    size_t count = 0;
    tensors[TALLY_SOURCE_X] = x;
    tensors[TALLY_SOURCE_A] = a;
    tensors[TALLY_SOURCE_G] = g;
    tensors[TALLY_SOURCE_Y] = h;
    steps[0].size = sizeof steps[0];
    if (tally_gradient(descriptor, wrt, steps, TALLY_GRADIENT_MAX, &count, NULL) != TALLY_OK) {
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        tally_buffers buffers = { sizeof buffers, .in = tensors[steps[i].in], .out = results[i] };
        char word[TALLY_WORD_MAX];
        for (int k = 0; k < TALLY_MAX_OPERANDS; k++) {
            buffers.operand[k] = tensors[steps[i].operand[k]];
        }
        tally_descriptor_print(&steps[i].descriptor, word, sizeof word, NULL, NULL);
        printf("%s = %s\n", steps[i].name, word);
        run_word(context, word, &buffers);
        tensors[TALLY_SOURCE_STEP + i] = results[i];
    }
    return results[count - 1];
}

/* Whether the gradient is what a small change of each element changes. */
static int agrees(const double *gradient, double *of)
{
    int good = 1;
    for (int i = 0; i < COUNT; i++) {
        const double was = of[i], step = 1e-5;
        of[i] = was + step;
        const double up = loss();
        of[i] = was - step;
        const double down = loss();
        of[i] = was;
        good &= fabs((up - down) / (2 * step) - gradient[i]) < 1e-8;
    }
    return good;
}

int main(void)
{
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    context = open_context();
    forward = make_kernel(context, layer);
    if (!forward || tally_descriptor_parse(layer, &descriptor, NULL) != TALLY_OK) {
        return 1;
    }
    for (int i = 0; i < COUNT; i++) {
        x[i] = sin(i);
        a[i] = 2 * sin(3 * i);
        g[i] = cos(5 * i);
    }
    loss(); /* h, which the gradient may read */
    const int dx = agrees(backward(&descriptor, TALLY_SOURCE_X), x);
    const int da = agrees(backward(&descriptor, TALLY_SOURCE_A), a);
    printf("differences of the loss %s dx and da\n", dx && da ? "agree with" : "contradict");
    tally_kernel_destroy(&forward);
    tally_context_destroy(&context);
    return !dx || !da;
}
