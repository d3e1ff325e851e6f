/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of an operator: what a kernel owns while it runs, and how that becomes a result or an
 * exception.
 *
 * A kernel owns its arguments and gives them back in every case. It leaves a defined tensor, or
 * throws: a message of Tally's becomes an exception of torch's, which passes through its frames.
 */
#ifndef TLY_TORCH_CALL_H
#define TLY_TORCH_CALL_H

#include <tally.h>

#include "torch_abi.h"

/* What was found in the torch that is loaded. */
#define DECLARE(name, arguments, symbol) int32_t(*name) arguments;
typedef struct tly_torch_functions {
    TORCH_FUNCTIONS(DECLARE)
    torch_check check;
    int32_t cpu;                       /* the number of this device type */
    int32_t dtypes[TALLY_DTYPE_COUNT]; /* torch's numbers of Tally's dtypes */
} tly_torch_functions;
#undef DECLARE

extern tly_torch_functions tly_torch;
extern tally_context *tly_torch_context;

/* A tensor of torch's as Tally sees it. */
typedef struct tly_torch_view {
    torch_tensor *handle;
    const void *data;
    int32_t dtype, rank;
    const int64_t *sizes, *strides;
} tly_torch_view;

enum { TLY_TORCH_TENSORS = TALLY_MAX_OPERANDS + 2 };

/* What a kernel owns while it runs. */
typedef struct tly_torch_call {
    tally_descriptor descriptor;
    tally_error error;
    tly_torch_view x, operands[TLY_TORCH_TENSORS]; /* then offsets and states, if there are */
    int32_t tensor_count, operand_count;
    const tly_torch_view *offsets, *carry_in; /* among them, or NULL */
    torch_list *list;                         /* of operands or axes */
    torch_value *boxed;                       /* holds a list that is optional */
    torch_string *word;
} tly_torch_call;

/* Begins a call with its tensor, which the descriptor gets the dtype and the rank of. */
tally_status tly_torch_begin(tly_torch_call *c, int32_t op, torch_value x);

/* Views the tensor that v->handle has. `field` names it in messages. */
tally_status tly_torch_look_at(tly_torch_call *c, tly_torch_view *v, const char *field);

/* Writes the sizes and strides of x, or of an operand, to the descriptor. An operand has the rank
 * of x, and the sizes of x or 1. */
void tly_torch_place_input(tly_torch_call *c);
tally_status tly_torch_place_operand(tly_torch_call *c, int32_t number);

/* Checks offsets and states, which are packed, and counts the segments. The sizes are known. */
tally_status tly_torch_place_segments(tly_torch_call *c);

/* Makes the result, of `dtype` of torch's unless that is -1, and fills it. */
tally_status tly_torch_compute(tly_torch_call *c, int32_t dtype, torch_tensor **result);

/* Gives back what the call owns, and leaves its result on the stack or throws. */
void tly_torch_end(tly_torch_call *c, tally_status status, torch_tensor *result,
                   torch_value *stack);

/* Write the error, and return its status. */
tally_status tly_torch_fail(tly_torch_call *c, tally_status status, const char *field,
                            const char *message);
tally_status tly_torch_refused(tly_torch_call *c, const char *what);

/* What a place of the stack holds. */
void *tly_torch_pointer(torch_value value);
int tly_torch_truth(torch_value value);

/* operators.c: declared operators and their kernels; the end has no name. */
typedef struct tly_torch_operator {
    const char *name;
    torch_kernel kernel;
} tly_torch_operator;

extern const tly_torch_operator tly_torch_operators[];

#endif
