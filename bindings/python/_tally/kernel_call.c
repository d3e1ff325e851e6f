/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calling a kernel with arrays. The kernel trusts what it is given, so every array is compared with
 * the word first: its dtype, its shape, and that its elements lie where the word says.
 */
#include "kernel.h"

#include "call.h"

#include <string.h>

typedef struct kernel_call {
    tly_py_state *s;
    const tly_py_kernel *k;
    PyObject *given[TLY_PY_TENSOR_COUNT];
    tly_py_view views[TLY_PY_TENSOR_COUNT];
    int viewed; /* a bit for each */
    void *at[TLY_PY_TENSOR_COUNT];
    int32_t threads;
} kernel_call;

/* --- comparing -------------------------------------------------------------------------------- */

/* Input and output have exactly the word's shape. Of others sizes of 1 may be left out. */
static int same_shape(int tensor, const tly_py_shape *a, const tly_py_shape *b)
{
    int i = 0, j = 0;
    if (tensor == TLY_PY_TENSOR_IN || tensor == TLY_PY_TENSOR_OUT) {
        return a->rank == b->rank &&
               memcmp(a->sizes, b->sizes, (size_t)a->rank * sizeof(int64_t)) == 0;
    }
    for (;; i++, j++) {
        while (i < a->rank && a->sizes[i] == 1) {
            i++;
        }
        while (j < b->rank && b->sizes[j] == 1) {
            j++;
        }
        if (i == a->rank || j == b->rank) {
            return i == a->rank && j == b->rank;
        }
        if (a->sizes[i] != b->sizes[j]) {
            return 0;
        }
    }
}

static int same_strides(const tly_py_view *v, const tly_py_wanted *w)
{
    for (int i = 0; i < v->shape.rank; i++) {
        if (v->shape.sizes[i] != 1 && v->strides[i] != w->strides[i]) {
            return 0;
        }
    }
    return v->shape.rank == w->shape.rank;
}

/* An operand with strides may leave out, or have size 1, where the word's stride is 0. */
static int is_broadcast(const tly_py_view *v, const tly_py_wanted *w)
{
    const int more = w->shape.rank - v->shape.rank;
    for (int i = 0; i < w->shape.rank && more >= 0; i++) {
        const int64_t size = i < more ? 1 : v->shape.sizes[i - more];
        const int is_same = size == w->shape.sizes[i] &&
                            (size == 1 || v->strides[i - more] == w->strides[i]);
        if (!is_same && !(size == 1 && w->strides[i] == 0)) {
            return 0;
        }
    }
    return more >= 0;
}

static int is_operand(int tensor)
{
    return tensor >= TLY_PY_TENSOR_A && tensor < TLY_PY_TENSOR_OFFSETS;
}

static int is_output(int tensor)
{
    return tensor == TLY_PY_TENSOR_OUT || tensor == TLY_PY_TENSOR_CARRY_OUT;
}

static int compare(tly_py_state *s, const tly_py_view *v, int tensor, const tly_py_wanted *w)
{
    if (v->shape.dtype != w->shape.dtype) {
        const char *hint = tensor == TLY_PY_TENSOR_OFFSETS
                               ? "the word names the dtype of offsets: segments=i64/N or i32/N"
                               : NULL;
        return tly_py_fail(s, v->field, hint, "the array's dtype is %s, and the word's %s",
                           tally_dtype_name((tally_dtype)v->shape.dtype),
                           tally_dtype_name((tally_dtype)w->shape.dtype));
    }
    if (is_operand(tensor) && w->strides != NULL && is_broadcast(v, w)) {
        return 0;
    }
    if (!same_shape(tensor, &v->shape, &w->shape)) {
        char shapes[2][200];
        tly_py_shape_text(&v->shape, shapes[0], sizeof shapes[0]);
        tly_py_shape_text(&w->shape, shapes[1], sizeof shapes[1]);
        return tly_py_fail(s, v->field, NULL, "the array's shape is %s, and the word's %s",
                           shapes[0], shapes[1]);
    }
    if (w->strides == NULL ? !v->packed : !same_strides(v, w)) {
        const char *copy = is_output(tensor)              ? "pass an array that is packed"
                           : v->kind == TLY_PY_KIND_TORCH ? "x.contiguous()"
                                                          : "numpy.ascontiguousarray(x)";
        return tly_py_fail(s, v->field, w->strides == NULL ? copy : NULL,
                           "the array's strides are not the word's");
    }
    return 0;
}

/* --- lists of offsets ------------------------------------------------------------------------- */

/* A list becomes an array of i64. The view has it as one of i32, if the word wants that and all
 * numbers fit; if not, the comparison refuses it. -1 with an exception. */
static int narrow_list(tly_py_state *s, tly_py_view *v)
{
    const int64_t *offsets = (const int64_t *)(const void *)v->data;
    for (int64_t i = 0; i < v->shape.sizes[0]; i++) {
        if (offsets[i] != (int32_t)offsets[i]) {
            return 0;
        }
    }
    PyObject *narrow = PyObject_CallMethod(v->array, "astype", "s", "i4");
    const char *field = v->field;
    tly_py_view_end(v);
    const int status = narrow != NULL ? tly_py_view_of(s, v, narrow, field, 0) : -1;
    if (status == 0) {
        v->array = narrow;
    } else {
        Py_XDECREF(narrow);
    }
    return status;
}

static int is_list_to_narrow(const tly_py_view *v, int tensor, const tly_py_wanted *w)
{
    return tensor == TLY_PY_TENSOR_OFFSETS && v->kind == TLY_PY_KIND_ASARRAY &&
           v->shape.dtype == TALLY_I64 && w->shape.dtype == TALLY_I32 && v->shape.rank == 1 &&
           v->packed;
}

/* --- the call --------------------------------------------------------------------------------- */

static int view_given(tly_py_state *s, tly_py_view *v, PyObject *given, const char *name,
                      int tensor)
{
    if (tly_py_needs_bridge(s, given, (tly_py_kind)tly_py_type_of(s, given)->kind)) {
        tly_py_fail(s, name, "x.detach().resolve_neg()",
                    "the tensor has more than its elements, such as a gradient");
    } else if (tly_py_view_of(s, v, given, name, is_output(tensor)) == 0) {
        return 0;
    }
    tly_py_examine(s, given, name);
    return -1;
}

/* Whether an operand is one of Python's numbers, or of numpy's that are such. */
static int is_number(PyObject *given, int tensor)
{
    return is_operand(tensor) && (PyFloat_Check(given) || PyLong_Check(given));
}

static int view_number(tly_py_state *s, tly_py_view *v, PyObject *given, const char *name,
                       const tly_py_wanted *w)
{
    const char *dtype = tally_dtype_name((tally_dtype)w->shape.dtype);
    for (int i = 0; i < w->shape.rank; i++) {
        if (w->shape.sizes[i] != 1) {
            return tly_py_fail(s, name, "/none behind its dtype in the word",
                               "a number is one element, and the word has more");
        }
    }
    PyObject *run = PyImport_ImportModule("tally._run");
    PyObject *made = run != NULL ? PyObject_CallMethod(run, "number_of", "sOs", name, given, dtype)
                                 : NULL;
    const int status = made != NULL ? tly_py_view_of(s, v, made, name, 0) : -1;
    Py_XDECREF(made);
    Py_XDECREF(run);
    return status;
}

int tly_py_take_tensor(tly_py_state *s, tly_py_view *v, PyObject *given, const char *name,
                       int tensor, const tly_py_wanted *w, void **at)
{
    if ((is_number(given, tensor) ? view_number(s, v, given, name, w)
                                  : view_given(s, v, given, name, tensor)) != 0) {
        return -1;
    }
    if (is_list_to_narrow(v, tensor, w) && narrow_list(s, v) != 0) {
        return -1;
    }
    if (compare(s, v, tensor, w) != 0) {
        tly_py_view_end(v);
        return -1;
    }
    *at = v->data - (w->strides != NULL ? w->offset : 0) * tly_py_bytes(w->shape.dtype);
    return 0;
}

static int view_one(kernel_call *c, int tensor)
{
    tly_py_wanted w;
    PyObject *given = c->given[tensor];
    if (tly_py_want(c->s, &c->k->d, tensor, &w) != 0) {
        return -1;
    }
    const int is_needed = is_operand(tensor) || tensor == TLY_PY_TENSOR_OFFSETS ||
                          tensor == TLY_PY_TENSOR_CARRY_OUT;
    if (given == NULL && is_needed && w.is_there && tly_py_bytes_of(&w.shape) > 0) {
        return tly_py_fail(c->s, tly_py_tensor_names[tensor], NULL,
                           "the word has %s, and the call does not: pass %s=",
                           tly_py_tensor_names[tensor], tly_py_tensor_names[tensor]);
    }
    if (given == NULL) {
        return 0;
    }
    if (!w.is_there) {
        return tly_py_refuse(PyExc_TypeError, NULL, NULL, "the kernel's word has no %s",
                             tly_py_tensor_names[tensor]);
    }
    if (tly_py_take_tensor(c->s, &c->views[tensor], given, tly_py_tensor_names[tensor], tensor, &w,
                           &c->at[tensor]) != 0) {
        return -1;
    }
    c->viewed |= 1 << tensor;
    return 0;
}

static int run(const kernel_call *c)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_buffers b = TALLY_BUFFERS_INIT;
    tally_run_options options = TALLY_RUN_OPTIONS_INIT;
    PyThreadState *state = NULL;
    options.threads = c->threads;
    b.in = c->at[TLY_PY_TENSOR_IN];
    b.out = c->at[TLY_PY_TENSOR_OUT];
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        b.operand[i] = c->at[TLY_PY_TENSOR_A + i];
    }
    b.offsets = c->at[TLY_PY_TENSOR_OFFSETS];
    b.carry_in = c->at[TLY_PY_TENSOR_CARRY_IN];
    b.carry_out = c->at[TLY_PY_TENSOR_CARRY_OUT];
    if (tly_py_is_large(&c->views[TLY_PY_TENSOR_IN].shape)) {
        state = tly_py_unlock(c->s);
    }
    tally_status status = tally_kernel_run_buffers(c->k->kernel, &b, &options, &error);
    if (state != NULL) {
        tly_py_lock(c->s, state);
    }
    if (status != TALLY_OK) {
        tly_py_raise(c->s, &error);
        return -1;
    }
    return 0;
}

/* Scans write nothing in front of the first segment and behind the last. Of a new array these
 * elements are zeros: all of it is where there are some, which is rare. */
static void clear_between(const kernel_call *c, void *data, const tly_py_shape *shape)
{
    const tally_descriptor *d = &c->k->d;
    const char *offsets = c->at[TLY_PY_TENSOR_OFFSETS];
    int64_t wide[2] = { 0 };
    if (offsets == NULL || !tally_op_is_scan((tally_op)d->op)) {
        return;
    }
    for (int k = 0; k < 2; k++) {
        int32_t narrow = 0;
        if (d->segment_dtype == TALLY_I64) {
            memcpy(&wide[k], offsets + 8 * k * d->segments, 8);
        } else {
            memcpy(&narrow, offsets + 4 * k * d->segments, 4);
            wide[k] = narrow;
        }
    }
    const int axis = d->axis < 0 ? d->axis + d->rank : d->axis;
    if (wide[0] != 0 || wide[1] != d->sizes[axis]) {
        memset(data, 0, (size_t)tly_py_bytes_of(shape));
    }
}

static PyObject *result_new(kernel_call *c)
{
    tly_py_wanted w;
    tly_py_fresh f;
    if (tly_py_want(c->s, &c->k->d, TLY_PY_TENSOR_OUT, &w) != 0) {
        return NULL;
    }
    if (w.strides != NULL) {
        tly_py_fail(c->s, "out", "pass out=", "the word has strides, which no new array has");
        return NULL;
    }
    PyObject *x = c->given[TLY_PY_TENSOR_IN];
    if (tly_py_fresh_make(c->s, &f, x, &c->views[TLY_PY_TENSOR_IN], &w.shape, w.shape.dtype,
                          NULL) != 0) {
        return NULL;
    }
    c->at[TLY_PY_TENSOR_OUT] = f.data;
    clear_between(c, f.data, &w.shape);
    if (run(c) != 0) {
        Py_DECREF(f.object);
        return NULL;
    }
    return tly_py_fresh_take(c->s, &f, x, &c->views[TLY_PY_TENSOR_IN], &w.shape,
                             !tally_op_is_scan((tally_op)c->k->d.op));
}

static const char *name_of(int tensor)
{
    return tly_py_tensor_names[tensor];
}

static const tly_py_form form = { .name_of = name_of,
                                  .first = TLY_PY_TENSOR_IN,
                                  .out = TLY_PY_TENSOR_OUT,
                                  .named = TLY_PY_TENSOR_OUT,
                                  .count = TLY_PY_TENSOR_COUNT,
                                  .least = 1,
                                  .usage = "a kernel takes one array, out, and options",
                                  .names = "a, b, c, d, offsets, carry_in, carry_out" };

PyObject *tly_py_kernel_call(PyObject *self, PyObject *args, PyObject *options)
{
    kernel_call c;
    PyObject *result = NULL;
    memset(&c, 0, offsetof(kernel_call, views));
    memset(&c.viewed, 0, sizeof c - offsetof(kernel_call, viewed));
    c.k = tly_py_kernel_of(self);
    c.s = PyModule_GetState(c.k->module);
    int status = tly_py_take_arguments(&form, args, options, c.given, &c.threads);
    for (int i = 0; status == 0 && i < TLY_PY_TENSOR_COUNT; i++) {
        status = view_one(&c, i);
    }
    if (status == 0 && c.given[TLY_PY_TENSOR_OUT] != NULL) {
        result = run(&c) == 0 ? Py_NewRef(c.given[TLY_PY_TENSOR_OUT]) : NULL;
    } else if (status == 0) {
        result = result_new(&c);
    }
    for (int i = 0; i < TLY_PY_TENSOR_COUNT; i++) {
        if (c.viewed >> i & 1) {
            tly_py_view_end(&c.views[i]);
        }
    }
    return result;
}
