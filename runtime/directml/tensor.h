/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tensor of a description of DirectML's, by itself.
 */
#ifndef TLY_DML_TENSOR_H
#define TLY_DML_TENSOR_H

#include <tally/directml.h>

typedef struct tly_dml_tensor {
    const char *member, *field; /* "InputTensor" and "in", as errors call it */
    const tally_dml_tensor_desc *given;
    tally_dml_buffer_tensor_desc buffer; /* once it is checked */
} tly_dml_tensor;

/* Reads and checks several tensors: each rule for all of them before the next one. */
tally_status tly_dml_check_tensors(tly_dml_tensor *tensors, int count, tally_error *error);

#endif
