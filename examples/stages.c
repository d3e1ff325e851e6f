/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <tally.h>

/* Running sums of the elements that a mask selects, along rows of four. */
int main(void)
{
    const float in[8] = { 2, 1, 3, 5, 3, 8, 7, 3 };
    const unsigned char mask[8] = { 1, 0, 1, 1, 0, 1, 1, 0 };
    float out[8] = { 0 };
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    d.op = TALLY_CUMSUM;
    d.dtype = TALLY_F32;
    d.rank = 2;
    d.sizes[0] = 2;
    d.sizes[1] = 4;
    d.axis = 1;
    d.operands[0].dtype = TALLY_BOOL; /* operand a, packed like the input */
    strcpy(d.map, "where(a,x,0)");
    buffers.in = in;
    buffers.out = out;
    buffers.operand[0] = mask;
    if (tally_context_create(NULL, &context, &error) != TALLY_OK ||
        tally_kernel_create(context, &d, NULL, &kernel, &error) != TALLY_OK ||
        tally_kernel_run_buffers(kernel, &buffers, NULL, &error) != TALLY_OK) {
        fprintf(stderr, "%s: %s\n%s\n", error.field, error.message, error.hint);
    }
    for (int i = 0; i < 8 && error.status == TALLY_OK; i++) {
        printf("%4g%s", out[i], i % 4 == 3 ? "\n" : "");
    }
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return error.status != TALLY_OK;
}
