/* SPDX-License-Identifier: Apache-2.0 */
/* See call.h. */
#include "call.h"

#include "../../runtime/host/huge_pages.h"

#include <stdio.h>
#include <string.h>

tally_status tly_torch_fail(tly_torch_call *c, tally_status status, const char *field,
                            const char *message)
{
    c->error.status = status;
    (void)snprintf(c->error.field, sizeof c->error.field, "%s", field);
    (void)snprintf(c->error.message, sizeof c->error.message, "%s", message);
    return status;
}

tally_status tly_torch_refused(tly_torch_call *c, const char *function)
{
    char message[96];
    (void)snprintf(message, sizeof message, "torch refuses %s", function);
    return tly_torch_fail(c, TALLY_INTERNAL, "torch", message);
}

/* The rank comes first: sizes beyond the most dims have no place in a descriptor. */
tally_status tly_torch_look_at(tly_torch_call *c, tly_torch_view *v, const char *field)
{
    char message[96];
    int64_t rank = 0, *sizes = NULL, *strides = NULL;
    int32_t dtype = -1;
    if (tly_torch.get_dim(v->handle, &rank) != 0 || tly_torch.get_dtype(v->handle, &dtype) != 0) {
        return tly_torch_refused(c, "a tensor's rank");
    }
    if (rank > TALLY_MAX_RANK) {
        (void)snprintf(message, sizeof message, "rank %lld is above %d", (long long)rank,
                       TALLY_MAX_RANK);
        return tly_torch_fail(c, TALLY_INVALID, field, message);
    }
    if (tly_torch.get_sizes(v->handle, &sizes) != 0 ||
        tly_torch.get_strides(v->handle, &strides) != 0 ||
        tly_torch.get_const_data(v->handle, &v->data) != 0) {
        return tly_torch_refused(c, "a tensor's memory");
    }
    v->rank = (int32_t)rank;
    v->sizes = sizes;
    v->strides = strides;
    for (int32_t i = 1; i < TALLY_DTYPE_COUNT; i++) {
        if (tly_torch.dtypes[i] == dtype) {
            v->dtype = i;
            return TALLY_OK;
        }
    }
    (void)snprintf(message, sizeof message, "number %d of torch's has no name in Tally",
                   (int)dtype);
    return tly_torch_fail(c, TALLY_INVALID, field[0] == 's' ? "dtype" : field, message);
}

/* Whether a tensor of these sizes has the strides of a packed one; those are stored. */
static int packed(int32_t rank, const int64_t *sizes, const int64_t *strides, int64_t *steps)
{
    int64_t step = 1;
    int same = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        steps[i] = step;
        same &= strides == NULL || sizes[i] == 1 || strides[i] == step;
        step *= sizes[i] > 0 ? sizes[i] : 1;
    }
    return same;
}

void tly_torch_place_input(tly_torch_call *c)
{
    tally_descriptor *d = &c->descriptor;
    int64_t steps[TALLY_MAX_RANK];
    if (!packed(c->x.rank, c->x.sizes, c->x.strides, steps)) {
        d->flags |= TALLY_IN_STRIDES;
        memcpy(d->in_strides, c->x.strides, (size_t)c->x.rank * sizeof(int64_t));
    }
    memcpy(d->sizes, c->x.sizes, (size_t)c->x.rank * sizeof(int64_t));
}

/* An operand has the rank of x and the sizes of x, or 1 where it is the same along a dim. */
tally_status tly_torch_place_operand(tly_torch_call *c, int32_t number)
{
    const tly_torch_view *x = &c->x, *v = &c->operands[number];
    tally_operand *operand = &c->descriptor.operands[number];
    char field[2] = { (char)('a' + number), 0 }, message[96];
    if (v->dtype != operand->dtype || v->rank != x->rank) {
        (void)snprintf(message, sizeof message, "rank %d of %s, and not rank %d of %s",
                       (int)v->rank, tally_dtype_name(v->dtype), (int)x->rank,
                       tally_dtype_name(operand->dtype));
        return tly_torch_fail(c, TALLY_INVALID, field, message);
    }
    operand->place = TALLY_PLACE_STRIDES;
    operand->axes = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        if (v->sizes[i] != x->sizes[i] && v->sizes[i] != 1) {
            (void)snprintf(message, sizeof message, "size %lld of dim %d is neither 1 nor %lld",
                           (long long)v->sizes[i], (int)i, (long long)x->sizes[i]);
            return tly_torch_fail(c, TALLY_INVALID, field, message);
        }
        operand->strides[i] = v->sizes[i] == 1 ? 0 : v->strides[i];
    }
    return TALLY_OK;
}

/* "[2, 3]" */
static void write_sizes(char *text, size_t size, int32_t rank, const int64_t *sizes)
{
    size_t used = 0;
    for (int32_t i = 0; i < rank && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i > 0 ? ", " : "",
                                 (long long)sizes[i]);
    }
    text[rank > 0 ? size - 1 : 0] = 0;
}

static tally_status check_packed(tly_torch_call *c, const tly_torch_view *v, const char *field,
                                 int32_t dtype, int32_t rank, const int64_t *sizes)
{
    char message[160], have[48], want[48];
    int64_t steps[TALLY_MAX_RANK];
    if (v->dtype == dtype && v->rank == rank &&
        memcmp(v->sizes, sizes, (size_t)rank * sizeof *sizes) == 0 &&
        packed(v->rank, v->sizes, v->strides, steps)) {
        return TALLY_OK;
    }
    write_sizes(have, sizeof have, v->rank, v->sizes);
    write_sizes(want, sizeof want, rank, sizes);
    (void)snprintf(message, sizeof message, "%s of shape [%s], and not packed %s of shape [%s]",
                   tally_dtype_name((tally_dtype)v->dtype), have,
                   tally_dtype_name((tally_dtype)dtype), want);
    return tly_torch_fail(c, TALLY_INVALID, field, message);
}

tally_status tly_torch_place_segments(tly_torch_call *c)
{
    tally_descriptor *d = &c->descriptor;
    tally_status status = TALLY_OK;
    if (c->offsets != NULL) {
        const int64_t count = c->offsets->rank == 1 ? c->offsets->sizes[0] : 0;
        if (count < 1) {
            return tly_torch_fail(c, TALLY_INVALID, "offsets",
                                  "they have one dim, and one element more than segments");
        }
        d->segments = count - 1;
        status = check_packed(c, c->offsets, "offsets", d->segment_dtype, 1, &count);
    }
    if (status == TALLY_OK && c->carry_in != NULL) {
        int64_t sizes[TALLY_MAX_CARRY_RANK];
        int32_t rank = 0;
        tally_dtype dtype = TALLY_DTYPE_NONE;
        status = tally_descriptor_carry(d, &rank, sizes, &dtype, &c->error);
        status = status == TALLY_OK
                     ? check_packed(c, c->carry_in, "carry_in", (int32_t)dtype, rank, sizes)
                     : status;
    }
    return status;
}

/* Whether offsets, which need not be right, say that elements lie outside of all segments. Results
 * there are 0. */
static int leaves_elements(const tly_torch_call *c)
{
    const tally_descriptor *d = &c->descriptor;
    if (c->offsets == NULL || !tally_op_is_scan((tally_op)d->op)) {
        return 0;
    }
    const int64_t size = d->sizes[d->axis < 0 ? d->axis + d->rank : d->axis];
    if (d->segment_dtype == TALLY_I32) {
        const int32_t *offsets = c->offsets->data;
        return offsets[0] != 0 || offsets[d->segments] != size;
    }
    const int64_t *offsets = c->offsets->data;
    return offsets[0] != 0 || offsets[d->segments] != size;
}

static size_t bytes_of(tally_dtype dtype, int32_t rank, const int64_t *sizes)
{
    size_t bytes = tally_dtype_bytes(dtype);
    for (int32_t i = 0; i < rank; i++) {
        bytes *= (size_t)sizes[i];
    }
    return bytes;
}

/* Makes the result, of `dtype` of torch's unless that is -1, and fills it. */
tally_status tly_torch_compute(tly_torch_call *c, int32_t dtype, torch_tensor **result)
{
    int32_t rank = 0;
    int64_t sizes[TALLY_MAX_RANK] = { 0 }, steps[TALLY_MAX_RANK] = { 0 };
    tally_dtype made = TALLY_DTYPE_NONE;
    tally_kernel *kernel = NULL;
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    tally_status status = tally_descriptor_result(&c->descriptor, &rank, sizes, &made, &c->error);
    if (status == TALLY_OK) {
        status = tally_kernel_create(tly_torch_context, &c->descriptor, NULL, &kernel, &c->error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    (void)packed(rank, sizes, NULL, steps);
    rank = c->x.rank == 0 ? 0 : rank;
    if (tly_torch.empty_strided(rank, sizes, steps, dtype >= 0 ? dtype : tly_torch.dtypes[made],
                                tly_torch.cpu, 0, result) != 0 ||
        tly_torch.get_data(*result, &buffers.out) != 0) {
        status = tly_torch_refused(c, "memory for the result");
    } else {
        tly_huge_pages(buffers.out, bytes_of(made, rank, sizes));
        if (leaves_elements(c)) {
            memset(buffers.out, 0, bytes_of(made, rank, sizes));
        }
        buffers.in = c->x.data;
        buffers.offsets = c->offsets != NULL ? c->offsets->data : NULL;
        buffers.carry_in = c->carry_in != NULL ? c->carry_in->data : NULL;
        for (int32_t i = 0; i < c->operand_count; i++) {
            buffers.operand[i] = c->operands[i].data;
        }
        status = tally_kernel_run_buffers(kernel, &buffers, NULL, &c->error);
    }
    tally_kernel_destroy(&kernel);
    return status;
}

/* Gives back what the call owns, and leaves its result or throws. */
void tly_torch_end(tly_torch_call *c, tally_status status, torch_tensor *result, torch_value *stack)
{
    char text[sizeof c->error];
    (void)tly_torch.delete_tensor(c->x.handle);
    for (int32_t i = 0; i < c->tensor_count; i++) {
        (void)tly_torch.delete_tensor(c->operands[i].handle);
    }
    if (c->list != NULL) {
        (void)tly_torch.delete_list(c->list);
    }
    if (c->boxed != NULL) {
        (void)tly_torch.delete_value(c->boxed);
    }
    if (c->word != NULL) {
        (void)tly_torch.delete_string(c->word);
    }
    if (status != TALLY_OK) {
        if (result != NULL) {
            (void)tly_torch.delete_tensor(result);
        }
        (void)snprintf(text, sizeof text, "%s: %s%s%s", c->error.field, c->error.message,
                       c->error.hint[0] != 0 ? "; hint: " : "", c->error.hint);
        tly_torch.check(0, "tally", __FILE__, __LINE__, text);
    }
    stack[0] = (torch_value)(uintptr_t)result;
}

void *tly_torch_pointer(torch_value value)
{
    return (void *)(uintptr_t)value; /* NOLINT(performance-no-int-to-ptr): torch's representation */
}

int tly_torch_truth(torch_value value)
{
    return (value & 0xff) != 0;
}

tally_status tly_torch_begin(tly_torch_call *c, int32_t op, torch_value x)
{
    *c = (tly_torch_call){ .descriptor = TALLY_DESCRIPTOR_INIT, .error = TALLY_ERROR_INIT };
    c->descriptor.op = op;
    c->x.handle = tly_torch_pointer(x);
    tally_status status = tly_torch_look_at(c, &c->x, "sizes");
    c->descriptor.dtype = c->x.dtype;
    c->descriptor.rank = c->x.rank;
    return status;
}
