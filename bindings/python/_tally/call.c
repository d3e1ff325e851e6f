/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of an operator: array in, array out. Small runs keep the interpreter's lock, as numpy's
 * do, because giving it up takes longer; large ones, and the making of kernels, give it up.
 */
#include "call.h"

#include <string.h>

/* --- options ---------------------------------------------------------------------------------- */

static int find_option(const tly_py_state *s, PyObject *name)
{
    for (int i = 0; i < TLY_PY_OPTION_COUNT; i++) {
        if (s->names[i] == name) { /* both are interned, mostly */
            return i;
        }
    }
    for (int i = 0; i < TLY_PY_OPTION_COUNT; i++) {
        if (PyUnicode_Compare(s->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static int take_options(tly_py_call *c, PyObject *const *values, PyObject *names)
{
    const Py_ssize_t count = names != NULL ? PyTuple_Size(names) : 0;
    memset(c->option, 0, sizeof c->option);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        const int option = find_option(c->s, name);
        if (option < 0 || (c->op->options >> option & 1) == 0) {
            return tly_py_refuse(PyExc_TypeError, NULL, NULL, "%s() has no option %R", c->op->name,
                                 name);
        }
        c->option[option] = values[i] != Py_None ? values[i] : NULL;
    }
    return 0;
}

/* --- runs ------------------------------------------------------------------------------------- */

static tally_status run(const tally_kernel *kernel, const tly_py_call *c, void *out,
                        tally_error *error)
{
    return tally_kernel_run_threads(kernel, c->in.data, out, c->threads, error);
}

static int compute(const tly_py_call *c, void *out)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    const tally_kernel_options device = { .size = sizeof device, .device = c->device };
    const tally_kernel_options *options = c->device != NULL ? &device : NULL;
    tally_context *context = tly_py_context(c->s);
    if (context == NULL) {
        return -1;
    }
    tally_status status = tally_kernel_find(context, &c->d, options, &kernel, &error);
    if (status == TALLY_OK && kernel != NULL && !tly_py_is_large(&c->in.shape)) {
        status = run(kernel, c, out, &error);
    } else if (status == TALLY_OK) {
        PyThreadState *state = tly_py_unlock(c->s);
        if (kernel == NULL) {
            status = tally_kernel_create(context, &c->d, options, &kernel, &error);
        }
        if (status == TALLY_OK) {
            status = run(kernel, c, out, &error);
        }
        tly_py_lock(c->s, state);
    }
    tally_kernel_destroy(&kernel);
    if (status != TALLY_OK) {
        tly_py_raise(c->s, &error);
        return -1;
    }
    return 0;
}

/* --- the first element of include_initial ----------------------------------------------------- */

static int64_t identity_bits(const tly_py_call *c)
{
    static const int64_t ones[TALLY_DTYPE_COUNT] = {
        [TALLY_F64] = 0x3ff0000000000000,
        [TALLY_F32] = 0x3f800000,
        [TALLY_F16] = 0x3c00,
        [TALLY_BF16] = 0x3f80,
    };
    const int64_t one = ones[c->shown_as] != 0 ? ones[c->shown_as] : 1;
    return c->op->op == TALLY_CUMPROD ? one : 0;
}

/* Writes the identity to index 0 of the axis, whatever the others are. */
static void fill_initial(const tly_py_call *c, char *out)
{
    const int64_t bits = identity_bits(c);
    const size_t bytes = tly_py_bytes(c->shown_as);
    int64_t at[TALLY_MAX_RANK] = { 0 };
    for (int d = 0; d < c->d.rank; d++) {
        if (d != c->d.axis && c->d.sizes[d] == 0) {
            return;
        }
    }
    for (int d = c->d.rank; d >= 0;) {
        int64_t offset = 0;
        for (d = 0; d < c->d.rank; d++) {
            offset += at[d] * c->d.out_strides[d];
        }
        memcpy(out + offset * (int64_t)bytes, &bits, bytes);
        for (d = c->d.rank - 1; d >= 0; d--) {
            at[d] = d != c->d.axis && at[d] + 1 < c->d.sizes[d] ? at[d] + 1 : 0;
            if (at[d] > 0) {
                break;
            }
        }
    }
}

/* What a run checks of the output, for all of it, as the kernel knows nothing of the first
 * elements: no two share an address, and none lies in the input's region, unless the scan is in
 * place. */
static int check_whole(const tly_py_call *c, const char *out)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_extent in, whole;
    tally_descriptor d;
    memcpy(&d, &c->d, (size_t)c->d.size);
    d.sizes[d.axis]++;
    if (tally_descriptor_extent(&c->d, &in, NULL, &error) != TALLY_OK ||
        tally_descriptor_extent(&d, NULL, &whole, &error) != TALLY_OK) {
        tly_py_raise(c->s, &error);
        return -1;
    }
    const int64_t distance = (intptr_t)out - (intptr_t)c->in.data;
    const int64_t first = d.out_strides[d.axis] * tly_py_bytes(c->shown_as);
    if (distance + first != 0 && distance + whole.low < in.end && in.low < distance + whole.end) {
        return tly_py_fail(c->s, "out", "pass an array of its own",
                           "the regions of input and output overlap");
    }
    return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

static void take_strides(tly_py_call *c, const int64_t *strides)
{
    c->d.flags |= TALLY_OUT_STRIDES;
    memcpy(c->d.out_strides, strides, (size_t)c->shape.rank * sizeof(int64_t));
}

/* Computes into memory with the result's shape; strides are NULL if it is packed. */
static int compute_to(tly_py_call *c, char *out, const int64_t *strides)
{
    if (c->option[TLY_PY_INCLUDE_INITIAL] == NULL ||
        PyObject_IsTrue(c->option[TLY_PY_INCLUDE_INITIAL]) == 0) {
        if (strides != NULL) {
            take_strides(c, strides);
        }
        return compute(c, out);
    }
    int64_t packed[TALLY_MAX_RANK], step = 1;
    for (int d = c->shape.rank - 1; d >= 0; d--) {
        packed[d] = step;
        step *= c->shape.sizes[d] > 0 ? c->shape.sizes[d] : 1;
    }
    take_strides(c, strides != NULL ? strides : packed);
    const int64_t bytes = tly_py_bytes(c->shown_as);
    if (check_whole(c, out) != 0 || compute(c, out + c->d.out_strides[c->d.axis] * bytes) != 0) {
        return -1;
    }
    fill_initial(c, out);
    return 0;
}

static int fits(const tly_py_call *c, const tly_py_view *o)
{
    if (o->shape.dtype != c->shown_as) {
        const int asks = o->shape.dtype == c->in.shape.dtype && c->op->rule == TLY_PY_WIDE;
        return tly_py_fail(c->s, "out", asks ? "dtype=x.dtype computes in it" : NULL,
                           "its dtype is %s, and the result's is %s",
                           tally_dtype_name((tally_dtype)o->shape.dtype),
                           tally_dtype_name((tally_dtype)c->shown_as));
    }
    if (o->shape.rank != c->shape.rank ||
        memcmp(o->shape.sizes, c->shape.sizes, (size_t)o->shape.rank * sizeof(int64_t)) != 0) {
        char shapes[2][200];
        tly_py_shape_text(&o->shape, shapes[0], sizeof shapes[0]);
        tly_py_shape_text(&c->shape, shapes[1], sizeof shapes[1]);
        return tly_py_fail(c->s, "out", NULL, "its shape is %s, and the result's is %s", shapes[0],
                           shapes[1]);
    }
    return 0;
}

static PyObject *result_given(tly_py_call *c, PyObject *given)
{
    tly_py_view o;
    if (tly_py_is_more(c->s, given, (tly_py_kind)tly_py_type_of(c->s, given)->kind)) {
        tly_py_fail(c->s, "out", NULL,
                    "the tensor has a gradient or a negative bit, or is of a subclass");
        tly_py_examine(c->s, given, "out");
        return NULL;
    }
    if (tly_py_view_of(c->s, &o, given, "out", 1) != 0) {
        tly_py_examine(c->s, given, "out");
        return NULL;
    }
    const int status = fits(c, &o) == 0 ? compute_to(c, o.data, o.packed ? NULL : o.strides) : -1;
    tly_py_view_end(&o);
    return status == 0 ? Py_NewRef(given) : NULL;
}

/* How far apart neighbours along dim i of the result are in the input; 0: that is open. */
static int64_t distance_of(const tly_py_call *c, int i)
{
    int d = i;
    if (!tally_op_is_scan(c->op->op) && (c->d.flags & TALLY_KEEPDIMS) == 0) {
        int before = i; /* kept dims */
        for (d = 0; (c->d.axes >> d & 1) != 0 || before > 0; d++) {
            before -= (c->d.axes >> d & 1) == 0;
        }
    }
    const int64_t stride = c->shape.sizes[i] > 1 ? c->in.strides[d] : 0;
    return stride < 0 ? -stride : stride;
}

/* A new array of numpy has the order of the input's dims in memory, as numpy's own results do. 0:
 * that is C order. */
static int order_as_input(const tly_py_call *c, int64_t *strides)
{
    int order[TALLY_MAX_RANK], count = 0, differs = 0; /* the nearest first */
    if (c->in.packed || !tly_py_makes_numpy(c->in.kind) || c->in.shape.rank != c->d.rank) {
        return 0;
    }
    for (int i = c->shape.rank - 1; i >= 0; i--, count++) {
        const int64_t own = distance_of(c, i);
        int to = count;
        for (int at = count; own > 0 && at > 0; at--) { /* past those that are open */
            const int64_t before = distance_of(c, order[at - 1]);
            if (before > 0 && before <= own) {
                break;
            }
            to = before > 0 ? at - 1 : to;
        }
        memmove(&order[to + 1], &order[to], (size_t)(count - to) * sizeof *order);
        order[to] = i;
        differs |= to != count;
    }
    int64_t step = 1;
    for (int k = 0; differs && k < count; k++) {
        strides[order[k]] = step;
        step *= c->shape.sizes[order[k]] > 0 ? c->shape.sizes[order[k]] : 1;
    }
    return differs;
}

static PyObject *result_new(tly_py_call *c)
{
    int64_t own[TALLY_MAX_RANK];
    const int64_t *strides = order_as_input(c, own) ? own : NULL;
    tly_py_fresh f;
    if (tly_py_fresh_make(c->s, &f, c->x, &c->in, &c->shape, c->shown_as, strides) != 0) {
        return NULL;
    }
    if (compute_to(c, f.data, strides) != 0) {
        Py_DECREF(f.object);
        return NULL;
    }
    return tly_py_fresh_take(c->s, &f, c->x, &c->in, &c->shape, !tally_op_is_scan(c->op->op));
}

/* Ends the view of the input. */
static PyObject *call_viewed(tly_py_call *c)
{
    PyObject *held = NULL, *result = NULL;
    if (tly_py_describe(c) == 0 && tly_py_threads(c->option[TLY_PY_THREADS], &c->threads) == 0 &&
        tly_py_text(c->option[TLY_PY_DEVICE], "device", &held, &c->device) == 0) {
        PyObject *out = c->option[TLY_PY_OUT];
        result = out != NULL ? result_given(c, out) : result_new(c);
    }
    Py_XDECREF(held);
    tly_py_view_end(&c->in);
    return result;
}

PyObject *tly_py_call_operator(PyObject *module, const tly_py_operator *op, PyObject *const *args,
                               Py_ssize_t count, PyObject *names)
{
    tly_py_call c;
    if (count != 1) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes one array, and options by name, such as axis=1; %zd arguments "
                     "were given",
                     op->name, count);
        return NULL;
    }
    c.s = PyModule_GetState(module);
    c.op = op;
    c.x = args[0];
    if (take_options(&c, args + 1, names) != 0) {
        return NULL;
    }
    if (tly_py_needs_bridge(c.s, c.x, (tly_py_kind)tly_py_type_of(c.s, c.x)->kind)) {
        return tly_py_bridge(&c);
    }
    if (tly_py_view_of(c.s, &c.in, c.x, "in", 0) != 0) {
        return c.in.kind == TLY_PY_KIND_TORCH ? tly_py_bridge_refused(&c) : NULL;
    }
    return call_viewed(&c);
}

PyObject *tly_py_call_on_elements(tly_py_call *c)
{
    return tly_py_view_of(c->s, &c->in, c->x, "in", 0) == 0 ? call_viewed(c) : NULL;
}
