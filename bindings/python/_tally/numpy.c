/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results as arrays of the library that the input came from. numpy is imported when the first
 * array needs it, and no header of its is: arrays come and go by the buffer protocol.
 */
#include "dlpack.h"

#include "../../../runtime/host/huge_pages.h"

#include <string.h>

int tly_py_use_numpy(tly_py_state *s)
{
    if (s->numpy_empty != NULL) {
        return 0;
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *dtype = numpy != NULL ? PyObject_GetAttr(numpy, s->names[TLY_PY_DTYPE]) : NULL;
    PyObject *empty = dtype != NULL ? PyObject_GetAttrString(numpy, "empty") : NULL;
    for (int32_t i = 1; empty != NULL && i < TALLY_DTYPE_COUNT; i++) {
        if (i != TALLY_BF16 && s->numpy_dtypes[i] == NULL) { /* which is ml_dtypes' */
            s->numpy_dtypes[i] = PyObject_CallFunction(dtype, "s", tly_py_dtype_name(i));
        }
    }
    if (empty != NULL && s->numpy_ndarray == NULL) {
        s->numpy_ndarray = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
    }
    if (empty != NULL && s->numpy_asarray == NULL) {
        s->numpy_asarray = PyObject_GetAttrString(numpy, "asarray");
    }
    Py_XDECREF(dtype);
    Py_XDECREF(numpy);
    if (PyErr_Occurred()) {
        Py_XDECREF(empty);
        return -1;
    }
    s->numpy_empty = empty; /* last: now all of it is there */
    return 0;
}

int tly_py_has_dtype(tly_py_state *s, PyObject *x, const char *wanted)
{
    PyObject *dtype = PyObject_GetAttr(x, s->names[TLY_PY_DTYPE]);
    PyObject *name = dtype != NULL ? PyObject_GetAttr(dtype, s->names[TLY_PY_NAME]) : NULL;
    const int has = name != NULL && PyUnicode_Check(name) &&
                    PyUnicode_CompareWithASCIIString(name, wanted) == 0;
    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    return has;
}

/* A bfloat16 array brings its dtype along. */
static PyObject *dtype_for(tly_py_state *s, PyObject *x, const tly_py_view *v, int32_t dtype)
{
    if (dtype != TALLY_BF16) {
        return Py_NewRef(s->numpy_dtypes[dtype]);
    }
    if (v->shape.dtype == TALLY_BF16 && v->has_buffer) {
        return PyObject_GetAttr(v->array != NULL ? v->array : x, s->names[TLY_PY_DTYPE]);
    }
    PyObject *library = PyImport_ImportModule("ml_dtypes");
    PyObject *made = library != NULL ? PyObject_GetAttrString(library, "bfloat16") : NULL;
    Py_XDECREF(library);
    return made;
}

static PyObject *tuple_of(const int64_t *numbers, int rank, int64_t unit)
{
    PyObject *made = PyTuple_New(rank);
    for (int i = 0; made != NULL && i < rank; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i] * unit);
        if (number == NULL || PyTuple_SetItem(made, i, number) != 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

/* Calls come with one shape again and again, mostly: a tenth of a small call. */
static PyObject *shape_for(tly_py_state *s, const tly_py_shape *shape)
{
    const size_t bytes = (size_t)shape->rank * sizeof(int64_t);
    if (s->shape == NULL || s->shape_rank != shape->rank ||
        memcmp(s->shape_sizes, shape->sizes, bytes) != 0) {
        PyObject *made = tuple_of(shape->sizes, shape->rank, 1), *before = s->shape;
        if (made == NULL) {
            return NULL;
        }
        s->shape = made;
        s->shape_rank = shape->rank;
        memcpy(s->shape_sizes, shape->sizes, bytes);
        Py_XDECREF(before);
    }
    return Py_NewRef(s->shape);
}

static PyObject *empty_of(tly_py_state *s, PyObject *sizes, PyObject *dtype,
                          const tly_py_shape *shape, int32_t shown_as, const int64_t *strides)
{
    if (strides == NULL) {
        return PyObject_CallFunctionObjArgs(s->numpy_empty, sizes, dtype, NULL);
    }
    PyObject *bytes = tuple_of(strides, shape->rank, tly_py_bytes(shown_as));
    PyObject *made = bytes != NULL ? PyObject_CallFunction((PyObject *)s->numpy_ndarray, "OOOiO",
                                                           sizes, dtype, Py_None, 0, bytes)
                                   : NULL;
    Py_XDECREF(bytes);
    return made;
}

static int new_array(tly_py_state *s, tly_py_fresh *f, PyObject *x, const tly_py_view *v,
                     const tly_py_shape *shape, int32_t shown_as, const int64_t *strides)
{
    Py_buffer b;
    if (tly_py_use_numpy(s) != 0) {
        return -1;
    }
    PyObject *sizes = shape_for(s, shape), *dtype = dtype_for(s, x, v, shown_as);
    f->object = sizes != NULL && dtype != NULL ? empty_of(s, sizes, dtype, shape, shown_as, strides)
                                               : NULL;
    Py_XDECREF(sizes);
    Py_XDECREF(dtype);
    if (f->object == NULL || PyObject_GetBuffer(f->object, &b, PyBUF_STRIDES) != 0) {
        Py_CLEAR(f->object);
        return -1;
    }
    f->data = b.buf;
    PyBuffer_Release(&b); /* the array keeps its memory where it is */
    return 0;
}

static PyObject *new_tensor(tly_py_state *s, const tly_py_view *v, const tly_py_shape *shape,
                            int32_t shown_as, void **data)
{
    if (v->exchange == NULL) {
        return tly_py_memory_new(s, shape, data);
    }
    PyObject *made = v->kind == TLY_PY_KIND_TORCH ? tly_py_torch_new(shape, shown_as, data) : NULL;
    return made != NULL ? made : tly_py_exchange_new(v->exchange, shape, shown_as, data);
}

int tly_py_fresh_make(tly_py_state *s, tly_py_fresh *f, PyObject *x, const tly_py_view *v,
                      const tly_py_shape *shape, int32_t shown_as, const int64_t *strides)
{
    switch (v->kind) {
    case TLY_PY_KIND_TABLE:
    case TLY_PY_KIND_TORCH:
        f->object = new_tensor(s, v, shape, shown_as, &f->data);
        break;
    case TLY_PY_KIND_JAX:
    case TLY_PY_KIND_NAMESPACE:
        f->object = tly_py_memory_new(s, shape, &f->data);
        break;
    default: /* numpy asks for huge pages itself */
        return new_array(s, f, x, v, shape, shown_as, strides);
    }
    if (f->object == NULL) {
        return -1;
    }
    tly_huge_pages(f->data, (size_t)tly_py_bytes_of(shape));
    return 0;
}

PyObject *tly_py_fresh_take(tly_py_state *s, tly_py_fresh *f, PyObject *x, const tly_py_view *v,
                            const tly_py_shape *shape, int scalars)
{
    PyObject *made = f->object, *taken;
    f->object = NULL;
    switch (v->kind) {
    case TLY_PY_KIND_TABLE:
    case TLY_PY_KIND_TORCH:
        if (v->exchange != NULL) {
            return made;
        }
        taken = tly_py_torch_take(made);
        break;
    case TLY_PY_KIND_JAX:
    case TLY_PY_KIND_NAMESPACE:
        taken = tly_py_namespace_take(s, x, made);
        break;
    case TLY_PY_KIND_SUBCLASS:
        taken = PyObject_CallMethodObjArgs(x, s->names[TLY_PY_ARRAY_WRAP], made, NULL);
        break;
    default:
        if (!scalars || shape->rank > 0) {
            return made;
        }
        taken = PyObject_GetItem(made, s->empty_tuple);
        break;
    }
    Py_DECREF(made);
    return taken;
}
