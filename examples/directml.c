/* SPDX-License-Identifier: Apache-2.0 */
#define TALLY_DML_NAMES /* DirectML's own names: there is no DirectML.h here */
#include <stdio.h>
#include <tally.h>

int main(void)
{
    const float in[12] = { 2, 1, 3, 5, 3, 8, 7, 3, 9, 6, 2, 4 };
    float out[12] = { 0 };

    /* As a program fills it for DirectML. */
    const uint32_t sizes[4] = { 1, 1, 3, 4 };
    DML_BUFFER_TENSOR_DESC buffer = { 0 };
    buffer.DataType = DML_TENSOR_DATA_TYPE_FLOAT32;
    buffer.DimensionCount = 4;
    buffer.Sizes = sizes;
    buffer.TotalTensorSizeInBytes = tally_dml_buffer_tensor_size(buffer.DataType, 4, sizes, NULL);
    const DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &buffer };
    DML_CUMULATIVE_PRODUCT_OPERATOR_DESC product = { 0 };
    product.InputTensor = &tensor;
    product.OutputTensor = &tensor;
    product.Axis = 3;
    product.AxisDirection = DML_AXIS_DIRECTION_DECREASING;
    const DML_OPERATOR_DESC what = { DML_OPERATOR_CUMULATIVE_PRODUCT, &product };

    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    char word[TALLY_WORD_MAX];
    if (tally_descriptor_from_dml(&what, DML_FEATURE_LEVEL_3_1, &descriptor, &error) != TALLY_OK ||
        tally_descriptor_print(&descriptor, word, sizeof word, NULL, &error) != TALLY_OK ||
        tally_context_create(NULL, &context, &error) != TALLY_OK ||
        tally_kernel_create(context, &descriptor, NULL, &kernel, &error) != TALLY_OK ||
        tally_kernel_run(kernel, in, out, &error) != TALLY_OK) {
        fprintf(stderr, "%s: %s\n%s\n", error.field, error.message, error.hint);
    } else {
        puts(word);
        for (int i = 0; i < 12; i++) {
            printf("%4g%s", out[i], i % 4 == 3 ? "\n" : "");
        }
    }
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return error.status != TALLY_OK;
}
