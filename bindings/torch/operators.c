/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU kernels of torch.ops.tally: from arguments on a stack to a descriptor. */
#include "call.h"

#include <stdio.h>
#include <string.h>

static int is_float(int32_t dtype)
{
    return dtype == TALLY_F64 || dtype == TALLY_F32 || dtype == TALLY_F16 || dtype == TALLY_BF16;
}

/* Sums and products of narrow integers are i64, as torch's are; those of unsigned ones are u64,
 * whose bits an i64 of torch's shows. Means of integers are floats. Returns the dtype of torch's,
 * -1: the result's. */
static int32_t promote(tally_descriptor *d)
{
    const int sums = d->op == TALLY_CUMSUM || d->op == TALLY_CUMPROD || d->op == TALLY_SUM ||
                     d->op == TALLY_PROD;
    const int is_unsigned = d->dtype == TALLY_U8 || d->dtype == TALLY_U16 || d->dtype == TALLY_U32;
    if (d->op == TALLY_MEAN && !is_float(d->dtype)) {
        d->out_dtype = TALLY_F64;
    } else if (sums && !is_float(d->dtype) && d->dtype != TALLY_U64) {
        d->out_dtype = is_unsigned ? TALLY_U64 : TALLY_I64;
    }
    return sums && is_unsigned ? tly_torch.dtypes[TALLY_I64] : -1;
}

/* The number of an axis, from 0 on; -1 with an error. As in PyTorch, a tensor of rank 0 has one. */
static int32_t axis_of(tly_torch_call *c, torch_value value)
{
    char message[96];
    const int64_t rank = c->x.rank > 0 ? c->x.rank : 1, given = (int64_t)value;
    if (given >= -rank && given < rank) {
        return (int32_t)(given < 0 ? given + rank : given);
    }
    (void)snprintf(message, sizeof message, "axis %lld is not in [-%lld, %lld]", (long long)given,
                   (long long)rank, (long long)rank - 1);
    (void)tly_torch_fail(c, TALLY_INVALID, "axis", message);
    return -1;
}

/* NAME(Tensor x, int dim, bool, bool), whose flags are these if they are true. */
static void scan(int32_t op, uint32_t first, uint32_t second, torch_value *stack)
{
    tly_torch_call c;
    torch_tensor *result = NULL;
    tally_status status = tly_torch_begin(&c, op, stack[0]);
    tally_descriptor *d = &c.descriptor;
    if (status == TALLY_OK) {
        d->axis = axis_of(&c, stack[1]);
        status = d->axis < 0 ? TALLY_INVALID : TALLY_OK;
    }
    d->flags = (tly_torch_truth(stack[2]) ? first : 0u) | (tly_torch_truth(stack[3]) ? second : 0u);
    if (status == TALLY_OK && c.x.rank == 0) {
        d->rank = 1;
        d->sizes[0] = 1;
    } else if (status == TALLY_OK) {
        tly_torch_place_input(&c);
    }
    const int32_t dtype = promote(d);
    if (status == TALLY_OK) {
        status = tly_torch_compute(&c, dtype, &result);
    }
    tly_torch_end(&c, status, result, stack);
}

static tally_status take_axes(tly_torch_call *c)
{
    char message[96];
    size_t count = 0;
    uint32_t named = 0;
    if (tly_torch.list_size(c->list, &count) != 0) {
        return tly_torch_refused(c, "a list of dims");
    }
    c->descriptor.axes_given = 1;
    for (size_t i = 0; i < count; i++) {
        torch_value value = 0;
        if (tly_torch.list_get(c->list, i, &value) != 0) {
            return tly_torch_refused(c, "a list of dims");
        }
        const int32_t axis = axis_of(c, value);
        if (axis < 0) {
            return TALLY_INVALID;
        }
        if ((named >> axis & 1) != 0) {
            (void)snprintf(message, sizeof message, "axis %d is named twice", (int)axis);
            return tly_torch_fail(c, TALLY_INVALID, "axis", message);
        }
        named |= 1u << axis;
    }
    c->descriptor.axes = c->x.rank > 0 ? named : 0;
    return TALLY_OK;
}

/* Of integers, the words truncate these results; users of torch expect floats. */
static tally_status refuse_integers(tly_torch_call *c)
{
    const int32_t op = c->descriptor.op;
    const int real = op == TALLY_L2 || op == TALLY_LOG_SUM || op == TALLY_LOG_SUM_EXP;
    if (!real || is_float(c->descriptor.dtype)) {
        return TALLY_OK;
    }
    (void)snprintf(c->error.hint, sizeof c->error.hint, "x.double()");
    return tly_torch_fail(c, TALLY_INVALID, "dtype", "results of integers would be truncated");
}

/* NAME(Tensor x, int[]? dim, bool keepdim[, bool last]) */
static void reduce(int32_t op, int last, torch_value *stack)
{
    tly_torch_call c;
    torch_tensor *result = NULL;
    tally_status status = tly_torch_begin(&c, op, stack[0]);
    tally_descriptor *d = &c.descriptor;
    c.boxed = tly_torch_pointer(stack[1]);
    c.list = c.boxed != NULL ? tly_torch_pointer(*c.boxed) : NULL;
    d->flags = (tly_torch_truth(stack[2]) ? TALLY_KEEPDIMS : 0u) | (last ? TALLY_LAST : 0u);
    if (status == TALLY_OK) {
        status = refuse_integers(&c);
    }
    if (status == TALLY_OK && c.list != NULL) {
        status = take_axes(&c);
    }
    if (status == TALLY_OK) {
        tly_torch_place_input(&c);
    }
    const int32_t dtype = promote(d);
    if (status == TALLY_OK) {
        status = tly_torch_compute(&c, dtype, &result);
    }
    tly_torch_end(&c, status, result, stack);
}

/* The word of `run` has open sizes, and operands without places: their tensors say how they lie. */
static tally_status take_word(tly_torch_call *c)
{
    tally_descriptor *d = &c->descriptor;
    const char *text = NULL;
    const int32_t dtype = d->dtype, rank = d->rank;
    if (tly_torch.string_text(c->word, &text) != 0) {
        return tly_torch_refused(c, "a word");
    }
    tally_status status = tally_descriptor_parse(text, d, &c->error);
    if (status != TALLY_OK) {
        return status;
    }
    if (d->dtype != dtype || d->rank != rank) {
        return tly_torch_fail(c, TALLY_INVALID, d->rank != rank ? "sizes" : "dtype",
                              "the word is not made for this tensor");
    }
    if (d->carry & TALLY_CARRY_OUT) {
        return tly_torch_fail(c, TALLY_UNSUPPORTED, "carry", "operators of torch have one result");
    }
    if (d->flags & (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)) {
        return tly_torch_fail(c, TALLY_UNSUPPORTED, d->flags & TALLY_IN_STRIDES ? "in" : "out",
                              "tensors say how they lie, and results are packed");
    }
    int32_t wanted = 0;
    while (wanted < TALLY_MAX_OPERANDS && d->operands[wanted].dtype != 0) {
        wanted++;
    }
    c->operand_count = wanted;
    c->offsets = d->segment_dtype != 0 ? &c->operands[wanted++] : NULL;
    c->carry_in = d->carry != 0 ? &c->operands[wanted++] : NULL;
    return wanted == c->tensor_count ? TALLY_OK
                                     : tly_torch_fail(c, TALLY_INVALID, "usage",
                                                      "the word has another number of operands");
}

static tally_status take_operands(tly_torch_call *c)
{
    size_t count = 0;
    if (tly_torch.list_size(c->list, &count) != 0) {
        return tly_torch_refused(c, "a list of operands");
    }
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < count; i++) {
        torch_value value = 0;
        if (tly_torch.list_get(c->list, i, &value) != 0) {
            status = tly_torch_refused(c, "an operand");
        } else if (i < TLY_TORCH_TENSORS) {
            const char field[2] = { (char)('a' + (int)i), 0 };
            tly_torch_view *v = &c->operands[c->tensor_count++];
            v->handle = tly_torch_pointer(value);
            status = status == TALLY_OK ? tly_torch_look_at(c, v, field) : status;
        } else {
            (void)tly_torch.delete_tensor(tly_torch_pointer(value));
            status = tly_torch_fail(c, TALLY_INVALID, "usage",
                                    "a word has at most 4 operands, offsets and states");
        }
    }
    return status;
}

/* run(Tensor x, Tensor[] operands, str word): operands, then offsets and states, if the word has
 * them. */
static void run(torch_value *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments;
    (void)results;
    tly_torch_call c;
    torch_tensor *result = NULL;
    tally_status status = tly_torch_begin(&c, TALLY_OP_NONE, stack[0]);
    c.list = tly_torch_pointer(stack[1]);
    c.word = tly_torch_pointer(stack[2]);
    const tally_status taken = take_operands(&c);
    status = status == TALLY_OK ? taken : status;
    if (status == TALLY_OK) {
        status = take_word(&c);
    }
    if (status == TALLY_OK) {
        tly_torch_place_input(&c);
    }
    for (int32_t i = 0; status == TALLY_OK && i < c.operand_count; i++) {
        status = tly_torch_place_operand(&c, i);
    }
    if (status == TALLY_OK) {
        status = tly_torch_place_segments(&c);
    }
    if (status == TALLY_OK) {
        status = tly_torch_compute(&c, -1, &result);
    }
    tly_torch_end(&c, status, result, stack);
}

#define SCAN(op) scan(op, TALLY_EXCLUSIVE, TALLY_REVERSE, stack)
#define SCAN_INDEX(op) scan(op, TALLY_REVERSE, TALLY_LAST, stack)

/* XX(name, what computes it) */
#define OPERATORS(XX) \
    XX(cumsum, SCAN(TALLY_CUMSUM)) \
    XX(cumprod, SCAN(TALLY_CUMPROD)) \
    XX(cumlogsumexp, SCAN(TALLY_CUMLOGSUMEXP)) \
    XX(cummax, SCAN(TALLY_CUMMAX)) \
    XX(cummin, SCAN(TALLY_CUMMIN)) \
    XX(cumargmax, SCAN_INDEX(TALLY_CUMARGMAX)) \
    XX(cumargmin, SCAN_INDEX(TALLY_CUMARGMIN)) \
    XX(sum, reduce(TALLY_SUM, 0, stack)) \
    XX(prod, reduce(TALLY_PROD, 0, stack)) \
    XX(mean, reduce(TALLY_MEAN, 0, stack)) \
    XX(l1, reduce(TALLY_L1, 0, stack)) \
    XX(l2, reduce(TALLY_L2, 0, stack)) \
    XX(sum_square, reduce(TALLY_SUM_SQUARE, 0, stack)) \
    XX(log_sum, reduce(TALLY_LOG_SUM, 0, stack)) \
    XX(log_sum_exp, reduce(TALLY_LOG_SUM_EXP, 0, stack)) \
    XX(max, reduce(TALLY_MAX, 0, stack)) \
    XX(min, reduce(TALLY_MIN, 0, stack)) \
    XX(argmax, reduce(TALLY_ARGMAX, tly_torch_truth(stack[3]), stack)) \
    XX(argmin, reduce(TALLY_ARGMIN, tly_torch_truth(stack[3]), stack))

#define KERNEL(name, computed) \
    static void kernel_##name(torch_value *stack, uint64_t arguments, uint64_t results) \
    { \
        (void)arguments; \
        (void)results; \
        computed; \
    }
OPERATORS(KERNEL)

const tly_torch_operator tly_torch_operators[] = {
#define ROW(name, computed) { #name, kernel_##name },
    OPERATORS(ROW){ "run", run },
    { NULL, NULL },
};
