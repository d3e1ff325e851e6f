/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a word says of the tensors that its kernel takes and gives. Bridges to other frameworks ask
 * for them before they have arrays. No kernel is made.
 */
#include "kernel.h"

#include "call.h"

#include <string.h>

const char *const tly_py_tensor_names[TLY_PY_TENSOR_COUNT] = { "in",      "out",      "a",
                                                               "b",       "c",        "d",
                                                               "offsets", "carry_in", "carry_out" };

/* --- tensors ---------------------------------------------------------------------------------- */

static tly_py_wanted want_operand(const tally_descriptor *d, int i)
{
    const tally_operand *o = &d->operands[i];
    tly_py_wanted w = { .is_there = o->dtype != 0,
                        .shape = { .dtype = o->dtype, .rank = d->rank } };
    for (int k = 0; k < d->rank; k++) {
        const int along = o->place != TALLY_PLACE_AXES || (o->axes >> k & 1);
        w.shape.sizes[k] = along ? d->sizes[k] : 1;
    }
    if (o->place == TALLY_PLACE_STRIDES) {
        w.strides = o->strides;
        w.offset = o->offset;
    }
    return w;
}

static int want_result(tly_py_state *s, const tally_descriptor *d, tly_py_wanted *w)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_dtype dtype;
    if (tally_descriptor_result(d, &w->shape.rank, w->shape.sizes, &dtype, &error) != TALLY_OK) {
        tly_py_raise(s, &error);
        return -1;
    }
    w->shape.dtype = (int32_t)dtype;
    w->is_there = 1;
    if ((d->flags & TALLY_OUT_STRIDES) != 0) {
        w->strides = d->out_strides;
        w->offset = d->out_offset;
    }
    return 0;
}

static int want_carry(tly_py_state *s, const tally_descriptor *d, int32_t which, tly_py_wanted *w)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_dtype dtype;
    w->is_there = (d->carry & which) != 0;
    if (!w->is_there) {
        return 0;
    }
    if (tally_descriptor_carry(d, &w->shape.rank, w->shape.sizes, &dtype, &error) != TALLY_OK) {
        tly_py_raise(s, &error);
        return -1;
    }
    w->shape.dtype = (int32_t)dtype;
    return 0;
}

int tly_py_want(tly_py_state *s, const tally_descriptor *d, int tensor, tly_py_wanted *w)
{
    memset(w, 0, sizeof *w);
    if (tensor == TLY_PY_TENSOR_IN) {
        w->is_there = 1;
        w->shape.dtype = d->dtype;
        w->shape.rank = d->rank;
        memcpy(w->shape.sizes, d->sizes, sizeof d->sizes);
        w->strides = (d->flags & TALLY_IN_STRIDES) != 0 ? d->in_strides : NULL;
        w->offset = d->in_offset;
    } else if (tensor == TLY_PY_TENSOR_OUT) {
        return want_result(s, d, w);
    } else if (tensor < TLY_PY_TENSOR_OFFSETS) {
        *w = want_operand(d, tensor - TLY_PY_TENSOR_A);
    } else if (tensor == TLY_PY_TENSOR_OFFSETS) {
        w->is_there = d->segment_dtype != 0;
        w->shape = (tly_py_shape){ d->segment_dtype, 1, { d->segments + 1 } };
    } else {
        return want_carry(s, d, tensor == TLY_PY_TENSOR_CARRY_IN ? TALLY_CARRY_IN : TALLY_CARRY_OUT,
                          w);
    }
    return 0;
}

/* --- the list of tensors ---------------------------------------------------------------------- */

/* Appends an object, which it takes; -1 with an exception. */
static int append(PyObject *list, PyObject *object)
{
    const int status = object == NULL ? -1 : PyList_Append(list, object);
    Py_XDECREF(object);
    return status;
}

static PyObject *numbers(const int64_t *from, int32_t count)
{
    PyObject *list = PyList_New(0);
    int status = list == NULL ? -1 : 0;
    for (int32_t i = 0; i < count && status == 0; i++) {
        status = append(list, PyLong_FromLongLong(from[i]));
    }
    PyObject *made = status == 0 ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return made;
}

/* (name, dtype, sizes) */
static PyObject *describe(int tensor, const tly_py_shape *shape)
{
    PyObject *sizes = numbers(shape->sizes, shape->rank);
    return sizes == NULL ? NULL
                         : Py_BuildValue("(ssN)", tly_py_tensor_names[tensor],
                                         tally_dtype_name((tally_dtype)shape->dtype), sizes);
}

/* Those that are read, in the order of tally_buffers, then those that are written. */
static PyObject *list_tensors(tly_py_state *s, const tally_descriptor *d)
{
    PyObject *list = PyList_New(0);
    for (int k = 0; k < 2 * TLY_PY_TENSOR_COUNT && list != NULL; k++) {
        const int tensor = k % TLY_PY_TENSOR_COUNT;
        const int is_written = tensor == TLY_PY_TENSOR_OUT || tensor == TLY_PY_TENSOR_CARRY_OUT;
        tly_py_wanted w = { .is_there = 0 };
        if (is_written == (k >= TLY_PY_TENSOR_COUNT) &&
            (tly_py_want(s, d, tensor, &w) != 0 ||
             (w.is_there && append(list, describe(tensor, &w.shape)) != 0))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* _tensors(word) -> [(name, dtype, sizes), ...]. Words that have no kernel are refused. */
static PyObject *tensors(PyObject *module, PyObject *word)
{
    tly_py_state *s = PyModule_GetState(module);
    tally_context *context = tly_py_context(s);
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error e = TALLY_ERROR_INIT;
    const char *text = context != NULL ? PyUnicode_AsUTF8AndSize(word, NULL) : NULL;
    if (text == NULL) {
        return NULL;
    }
    PyThreadState *state = tly_py_unlock(s); /* it may open the generator */
    tally_status status = tally_descriptor_parse(text, &d, &e);
    if (status == TALLY_OK) {
        status = tally_context_supports(context, &d, NULL, &e);
    }
    tly_py_lock(s, state);
    return status == TALLY_OK ? list_tensors(s, &d) : tly_py_raise(s, &e);
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* _look(array, field) -> (dtype, sizes, strides in elements, or None if it is packed); None for a
 * tensor of torch that is more than its elements. */
static PyObject *look(PyObject *module, PyObject *args)
{
    tly_py_state *s = PyModule_GetState(module);
    tly_py_view v;
    PyObject *array;
    const char *field;
    if (!PyArg_ParseTuple(args, "Os:_look", &array, &field)) {
        return NULL;
    }
    if (tly_py_needs_bridge(s, array, (tly_py_kind)tly_py_type_of(s, array)->kind)) {
        return Py_NewRef(Py_None);
    }
    if (tly_py_view_of(s, &v, array, field, 0) != 0) {
        tly_py_examine(s, array, field);
        return NULL;
    }
    const char *dtype = tally_dtype_name((tally_dtype)v.shape.dtype);
    PyObject *sizes = numbers(v.shape.sizes, v.shape.rank);
    PyObject *strides = v.packed ? Py_NewRef(Py_None) : numbers(v.strides, v.shape.rank);
    tly_py_view_end(&v);
    if (sizes == NULL || strides == NULL) {
        Py_XDECREF(sizes);
        Py_XDECREF(strides);
        return NULL;
    }
    return Py_BuildValue("(sNN)", dtype, sizes, strides);
}

static PyMethodDef functions[] = { { "_tensors", tensors, METH_O, NULL },
                                   { "_look", look, METH_VARARGS, NULL },
                                   { NULL, NULL, 0, NULL } };

int tly_py_add_tensors(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
