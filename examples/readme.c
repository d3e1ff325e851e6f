/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tally.h>

int main(void)
{
    const float in[12] = { 2, 1, 3, 5, 3, 8, 7, 3, 9, 6, 2, 4 };
    float out[12] = { 0 };
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    if (tally_descriptor_parse("cumprod:f32:3x4:axis=1", &descriptor, &error) != TALLY_OK ||
        tally_context_create(NULL, &context, &error) != TALLY_OK ||
        tally_kernel_create(context, &descriptor, NULL, &kernel, &error) != TALLY_OK ||
        tally_kernel_run(kernel, in, out, &error) != TALLY_OK) {
        fprintf(stderr, "%s: %s\n%s\n", error.field, error.message, error.hint);
    }
    for (int i = 0; i < 12 && error.status == TALLY_OK; i++) {
        printf("%4g%s", out[i], i % 4 == 3 ? "\n" : "");
    }
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return error.status != TALLY_OK;
}
