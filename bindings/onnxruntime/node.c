/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of a session: its attributes become a descriptor at each run, when shapes and axes are
 * known. Runs use the threads of the session. Threads change nothing of the result.
 */
#include "node.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const int32_t dtypes[ORT_TYPES] = {
    [ORT_F32] = TALLY_F32,   [ORT_U8] = TALLY_U8,   [ORT_I8] = TALLY_I8,   [ORT_U16] = TALLY_U16,
    [ORT_I16] = TALLY_I16,   [ORT_I32] = TALLY_I32, [ORT_I64] = TALLY_I64, [ORT_BOOL] = TALLY_BOOL,
    [ORT_F16] = TALLY_F16,   [ORT_F64] = TALLY_F64, [ORT_U32] = TALLY_U32, [ORT_U64] = TALLY_U64,
    [ORT_BF16] = TALLY_BF16,
};

/* An attribute that is 0 or 1. EMPTY_AXES is no flag of a descriptor. */
#define EMPTY_AXES (1u << 31)
static const struct {
    const char *name;
    uint32_t kinds; /* of operators that have it */
    int64_t otherwise;
    uint32_t flag;
} attributes[] = {
    { "exclusive", TLY_ORT_SCAN, 0, TALLY_EXCLUSIVE },
    { "reverse", TLY_ORT_SCAN, 0, TALLY_REVERSE },
    { "keepdims", TLY_ORT_REDUCE | TLY_ORT_PICK, 1, TALLY_KEEPDIMS },
    { "noop_with_empty_axes", TLY_ORT_REDUCE, 0, EMPTY_AXES },
    { "select_last_index", TLY_ORT_PICK, 0, TALLY_LAST },
};

/* A node of a session. Axes are as they were written, because no rank is known yet. */
typedef struct node {
    const tly_ort_custom *custom;
    uint32_t flags;
    int fixed; /* no run has other axes: there is no input for them, or it is a constant */
    size_t count;
    int64_t axes[];
} node;

ort_status *tly_ort_refuse(const ort_api *api, int code, const char *format, ...)
{
    char text[sizeof(tally_error) + 32];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return api->create_status(code, text);
}

static ort_status *refuse_as(const ort_api *api, tally_status status, const tally_error *error)
{
    int code = status == TALLY_INVALID       ? ORT_INVALID_ARGUMENT
               : status == TALLY_UNSUPPORTED ? ORT_NOT_IMPLEMENTED
                                             : ORT_FAIL;
    return tly_ort_refuse(api, code, "tally: %s: %s%s%s", error->field, error->message,
                          error->hint[0] == '\0' ? "" : "; hint: ", error->hint);
}

/* --- a node's attributes --- */

/* The numbers of a tensor, as read_number takes them. */
static ort_status *read_numbers(const ort_api *api, const ort_value *value, const void **numbers,
                                size_t *count)
{
    ort_shape *shape = NULL;
    void *data = NULL;
    TLY_ORT_TRY(api->value_shape(value, &shape));
    ort_status *failure = api->shape_count(shape, count);
    api->release_shape(shape);
    TLY_ORT_TRY(failure);
    TLY_ORT_TRY(api->value_data(value, &data));
    *numbers = data;
    return NULL;
}

static int64_t read_number(const tly_ort_custom *of, const void *numbers, size_t i)
{
    return of->axis == ORT_I32 ? ((const int32_t *)numbers)[i] : ((const int64_t *)numbers)[i];
}

/* An attribute that is missing, or no integer, is an error whose status must be released. */
static int64_t attribute(const ort_api *api, const ort_info *info, const char *key,
                         int64_t otherwise)
{
    int64_t value = otherwise;
    ort_status *missing = api->info_int(info, key, &value);
    if (missing != NULL) {
        api->release_status(missing);
        return otherwise;
    }
    return value;
}

/* How many axes attributes give. */
static size_t count_axes(const tly_ort_custom *of, const ort_info *info)
{
    size_t count = 0;
    if (of->row->kind != TLY_ORT_REDUCE) {
        return of->row->kind == TLY_ORT_PICK ? 1 : 0;
    }
    ort_status *missing = of->api->info_ints(info, "axes", NULL, &count);
    if (missing != NULL) {
        of->api->release_status(missing);
        return 0;
    }
    return count;
}

static ort_status *read_flags(const tly_ort_custom *of, const ort_info *info, uint32_t *flags)
{
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if ((attributes[i].kinds & of->row->kind) == 0) {
            continue;
        }
        int64_t value = attribute(of->api, info, attributes[i].name, attributes[i].otherwise);
        if (value != 0 && value != 1) {
            return tly_ort_refuse(of->api, ORT_INVALID_ARGUMENT,
                                  "tally: %s: the attribute is %" PRId64 " and must be 0 or 1",
                                  attributes[i].name, value);
        }
        *flags |= value != 0 ? attributes[i].flag : 0;
    }
    return NULL;
}

static ort_status *read_axes(const ort_info *info, node *to)
{
    const tly_ort_custom *of = to->custom;
    if (of->row->kind == TLY_ORT_PICK) {
        to->axes[0] = attribute(of->api, info, "axis", 0);
    } else if (to->count > 0) {
        return of->api->info_ints(info, "axes", to->axes, &to->count);
    }
    return NULL;
}

ort_status *tly_ort_create(const ort_custom_op *op, const ort_api *api, const ort_info *info,
                           void **kernel)
{
    (void)api; /* that of the version which the operator names, as this file's own */
    const tly_ort_custom *self = (const tly_ort_custom *)(const void *)op;
    uint32_t flags = 0;
    const ort_value *constant = NULL;
    const void *numbers = NULL;
    size_t count = 0;
    int fixed = 0;
    TLY_ORT_TRY(read_flags(self, info, &flags));
    if (self->row->kind != TLY_ORT_PICK) {
        TLY_ORT_TRY(self->api->info_constant(info, 1, &fixed, &constant));
    }
    if (fixed) {
        TLY_ORT_TRY(read_numbers(self->api, constant, &numbers, &count));
    } else {
        count = count_axes(self, info);
    }
    node *made = malloc(sizeof *made + count * sizeof made->axes[0]);
    if (made == NULL) {
        return tly_ort_refuse(self->api, ORT_FAIL, "tally: memory: no memory for a node");
    }
    *made = (node){ .custom = self, .flags = flags, .fixed = fixed, .count = count };
    for (size_t i = 0; fixed && i < count; i++) {
        made->axes[i] = read_number(self, numbers, i);
    }
    ort_status *failure = fixed ? NULL : read_axes(info, made);
    if (failure != NULL) {
        free(made);
        return failure;
    }
    made->fixed = fixed || self->row->kind == TLY_ORT_PICK;
    *kernel = made;
    return NULL;
}

void tly_ort_destroy(void *kernel)
{
    free(kernel);
}

/* --- a run --- */

/* Threads of the session, lent for a run. */
typedef struct lent {
    const ort_api *api;
    const ort_call *call;
    void (*task)(void *state, int64_t index);
    void *state;
} lent;

static void run_task(void *user, size_t index)
{
    const lent *by = user;
    by->task(by->state, (int64_t)index);
}

static void on_session(void *user, int64_t count, void (*task)(void *state, int64_t index),
                       void *state)
{
    lent *by = user;
    by->task = task;
    by->state = state;
    ort_status *failure = by->api->parallel_for(by->call, run_task, (size_t)count, 0, by);
    if (failure != NULL) { /* it has no threads, and no task has begun */
        by->api->release_status(failure);
        for (int64_t i = 0; i < count; i++) {
            task(state, i);
        }
    }
}

static ort_status *read_shape(const ort_api *api, const ort_value *x, tally_descriptor *descriptor)
{
    ort_shape *shape = NULL;
    ort_type type = ORT_ANY;
    size_t rank = 0;
    TLY_ORT_TRY(api->value_shape(x, &shape));
    ort_status *failure = api->shape_type(shape, &type);
    if (failure == NULL) {
        failure = api->shape_rank(shape, &rank);
    }
    if (failure == NULL && rank <= TALLY_MAX_RANK) {
        failure = api->shape_sizes(shape, descriptor->sizes, rank);
    }
    api->release_shape(shape);
    TLY_ORT_TRY(failure);
    if (rank > TALLY_MAX_RANK) {
        return tly_ort_refuse(api, ORT_NOT_IMPLEMENTED, "tally: sizes: rank %zu is not in [0, %d]",
                              rank, TALLY_MAX_RANK);
    }
    descriptor->rank = (int32_t)rank;
    descriptor->dtype = type < ORT_TYPES ? dtypes[type] : TALLY_DTYPE_NONE;
    if (descriptor->dtype == TALLY_DTYPE_NONE) {
        return tly_ort_refuse(api, ORT_NOT_IMPLEMENTED,
                              "tally: dtype: elements of ONNX's type %d have no name in Tally",
                              (int)type);
    }
    return NULL;
}

/* Counts an axis from the start. As in numpy, 0 and -1 name an axis of a tensor of rank 0. */
static ort_status *place_axis(const ort_api *api, const char *field, int64_t axis, int32_t rank,
                              int32_t *placed)
{
    int32_t axes = rank == 0 ? 1 : rank;
    if (axis < -axes || axis >= axes) {
        return tly_ort_refuse(api, ORT_INVALID_ARGUMENT,
                              "tally: %s: axis %" PRId64 " is not in [%d, %d]", field, axis, -axes,
                              axes - 1);
    }
    *placed = (int32_t)(axis < 0 ? axis + axes : axis);
    return NULL;
}

/* The axes of a run, for which `numbers` is NULL if they are the node's. */
static ort_status *find_axes(const node *of, const ort_call *call, const void **numbers,
                             size_t *count)
{
    const ort_api *api = of->custom->api;
    const ort_value *value = NULL;
    size_t inputs = 0;
    *count = of->count;
    if (of->fixed) {
        return NULL;
    }
    TLY_ORT_TRY(api->input_count(call, &inputs));
    if (inputs > 1) {
        TLY_ORT_TRY(api->input(call, 1, &value));
    }
    return value == NULL ? NULL : read_numbers(api, value, numbers, count);
}

static ort_status *place_axes(const node *of, const ort_call *call, tally_descriptor *descriptor)
{
    const tly_ort_custom *custom = of->custom;
    const tly_ort_kind kind = custom->row->kind;
    const void *numbers = NULL;
    size_t count = 0;
    TLY_ORT_TRY(find_axes(of, call, &numbers, &count));
    if (kind == TLY_ORT_SCAN && count != 1) {
        return tly_ort_refuse(custom->api, ORT_INVALID_ARGUMENT,
                              "tally: axis: a scan has one axis, and the input holds %zu", count);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t axis = numbers == NULL ? of->axes[i] : read_number(custom, numbers, i);
        TLY_ORT_TRY(place_axis(custom->api, kind == TLY_ORT_REDUCE ? "axes" : "axis", axis,
                               descriptor->rank, &descriptor->axis));
        descriptor->axes |= descriptor->rank == 0 ? 0 : 1u << descriptor->axis;
    }
    if (kind == TLY_ORT_SCAN) {
        descriptor->axes = 0;
    } else {
        descriptor->axis = 0;
        descriptor->axes_given = count > 0 || (of->flags & EMPTY_AXES) != 0;
    }
    return NULL;
}

/* The shape of the result. tally_descriptor_result takes .5 us of the 2 us of a small run (Zen 5),
 * as it checks all of the descriptor; the creation of the kernel has done that already. */
static size_t result_shape(const tally_descriptor *descriptor, int64_t *sizes)
{
    size_t rank = 0;
    for (int32_t d = 0; d < descriptor->rank; d++) {
        const int reduced = !tally_op_is_scan((tally_op)descriptor->op) &&
                            (!descriptor->axes_given || (descriptor->axes >> d & 1) != 0);
        if (!reduced || (descriptor->flags & TALLY_KEEPDIMS) != 0) {
            sizes[rank++] = reduced ? 1 : descriptor->sizes[d];
        }
    }
    return rank;
}

static ort_status *run(const node *of, ort_call *call, const ort_value *x,
                       const tally_descriptor *descriptor, const tally_kernel *kernel)
{
    const ort_api *api = of->custom->api;
    ort_value *y = NULL;
    void *in = NULL;
    void *out = NULL;
    int64_t sizes[TALLY_MAX_RANK];
    const size_t rank = result_shape(descriptor, sizes);
    TLY_ORT_TRY(api->output(call, 0, sizes, rank, &y));
    TLY_ORT_TRY(api->value_data(x, &in));
    TLY_ORT_TRY(api->value_data(y, &out));
    lent by = { .api = api, .call = call };
    tally_run_options options = TALLY_RUN_OPTIONS_INIT;
    options.parallel = on_session;
    options.parallel_user = &by;
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = tally_kernel_run_with(kernel, in, out, &options, &error);
    return status == TALLY_OK ? NULL : refuse_as(api, status, &error);
}

ort_status *tly_ort_compute(void *self, ort_call *call)
{
    const node *of = self;
    const ort_api *api = of->custom->api;
    const ort_value *x = NULL;
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    descriptor.op = of->custom->row->op;
    descriptor.flags = of->flags & TALLY_ALL_FLAGS;
    TLY_ORT_TRY(api->input(call, 0, &x));
    TLY_ORT_TRY(read_shape(api, x, &descriptor));
    TLY_ORT_TRY(place_axes(of, call, &descriptor));

    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    tally_status status = tally_context_shared(&context, &error);
    if (status == TALLY_OK) {
        status = tally_kernel_create(context, &descriptor, NULL, &kernel, &error);
    }
    if (status != TALLY_OK) {
        return refuse_as(api, status, &error);
    }
    ort_status *failure = run(of, call, x, &descriptor, kernel);
    tally_kernel_destroy(&kernel);
    return failure;
}
