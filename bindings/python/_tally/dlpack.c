/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of other libraries: by the table of C functions that their type has, or by the capsule
 * that __dlpack__ returns. Results go back the same way: from the table's allocator, or as memory
 * that the array's own namespace takes over.
 */
#include "dlpack.h"

#include <string.h>

/* --- dtypes ----------------------------------------------------------------------------------- */

static const uint8_t codes[TALLY_DTYPE_COUNT] = {
    0,      DL_FLOAT, DL_FLOAT, DL_FLOAT, DL_BFLOAT, DL_INT,  DL_INT,
    DL_INT, DL_INT,   DL_UINT,  DL_UINT,  DL_UINT,   DL_UINT, DL_BOOL,
};

dl_dtype tly_py_dl_of(int32_t dtype)
{
    return (dl_dtype){ codes[dtype], (uint8_t)(8 * tly_py_bytes(dtype)), 1 };
}

static int32_t dtype_of(dl_dtype d)
{
    for (int32_t i = 1; i < TALLY_DTYPE_COUNT; i++) {
        const dl_dtype known = tly_py_dl_of(i);
        if (d.lanes == 1 && d.code == known.code && d.bits == known.bits) {
            return i;
        }
    }
    return 0;
}

/* --- views ------------------------------------------------------------------------------------ */

/* By the name that the array has for its dtype, or by DLPack's numbers. */
static int refuse_dtype(tly_py_state *s, const tly_py_view *v, PyObject *x, dl_dtype d)
{
    const char *field = strcmp(v->field, "in") == 0 ? "dtype" : v->field;
    PyObject *dtype = PyObject_GetAttr(x, s->names[TLY_PY_DTYPE]);
    if (dtype == NULL) {
        PyErr_Clear();
        return tly_py_refuse(PyExc_TypeError, field, NULL,
                             "elements of DLPack code %d with %d bits and %d lanes have no name in "
                             "Tally",
                             d.code, d.bits, d.lanes);
    }
    tly_py_refuse(PyExc_TypeError, field, NULL, "elements of %S have no name in Tally", dtype);
    Py_DECREF(dtype);
    return -1;
}

static int take(tly_py_state *s, tly_py_view *v, PyObject *x, const dl_tensor *t)
{
    if (t->device_type != DL_CPU && t->device_type != DL_CUDA_HOST &&
        t->device_type != DL_ROCM_HOST) {
        return tly_py_refuse(PyExc_BufferError, "device", "copy it to host memory",
                             "the array lies on a device (DLPack type %d)", (int)t->device_type);
    }
    v->shape.dtype = dtype_of(t->dtype);
    if (v->shape.dtype == 0) {
        return refuse_dtype(s, v, x, t->dtype);
    }
    v->shape.rank = t->ndim;
    if (t->ndim > TALLY_MAX_RANK + 1) {
        return tly_py_view_finish(s, v);
    }
    int64_t step = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        v->shape.sizes[i] = t->shape[i];
        v->strides[i] = t->strides != NULL ? t->strides[i] : step;
        step *= t->shape[i];
    }
    if (t->data == NULL && step > 0) { /* such as the zeros that torch makes without memory */
        return tly_py_refuse(PyExc_BufferError, v->field, NULL, "the array has no memory");
    }
    v->data = t->data != NULL ? (char *)t->data + t->byte_offset : NULL;
    return 0;
}

static int take_managed(tly_py_state *s, tly_py_view *v, PyObject *x)
{
    if (v->managed->version.major != 1) {
        return tly_py_refuse(PyExc_BufferError, v->field, NULL,
                             "the array speaks DLPack %d, and Tally DLPack 1",
                             (int)v->managed->version.major);
    }
    v->readonly = (v->managed->flags & DL_READ_ONLY) != 0;
    return take(s, v, x, &v->managed->tensor);
}

const dl_exchange *tly_py_exchange_of(tly_py_state *s, PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttr((PyObject *)type, s->names[TLY_PY_EXCHANGE]);
    const dl_exchange *table = NULL;
    if (capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api")) {
        table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
        while (table != NULL && table->version.major != 1) {
            table = table->older;
        }
    }
    PyErr_Clear();
    Py_XDECREF(capsule); /* the type holds it, and the state the type */
    return table;
}

int tly_py_view_by_exchange(tly_py_state *s, tly_py_view *v, PyObject *x)
{
    dl_tensor t;
    const int by_view = v->exchange->view_object != NULL;
    const int status = by_view ? v->exchange->view_object(x, &t)
                               : v->exchange->from_object(x, &v->managed);
    if (status == 0) {
        return by_view ? take(s, v, x, &t) : take_managed(s, v, x);
    }
    v->managed = NULL;
    return PyErr_Occurred() ? -1
                            : tly_py_refuse(PyExc_BufferError, v->field, NULL,
                                            "the table of its type refuses the array");
}

/* x.__dlpack__(max_version=(1, 3)); producers older than 2023 know no options. An output must not
 * be a copy. */
static PyObject *capsule_of(tly_py_state *s, const tly_py_view *v, PyObject *x)
{
    PyObject *method = PyObject_GetAttr(x, s->names[TLY_PY_DLPACK]);
    const int writable = strcmp(v->field, "out") == 0 || strcmp(v->field, "carry_out") == 0;
    PyObject *options = writable ? Py_BuildValue("{s(ii)sO}", "max_version", 1, 3, "copy", Py_False)
                                 : Py_BuildValue("{s(ii)}", "max_version", 1, 3);
    PyObject *capsule = method != NULL && options != NULL
                            ? PyObject_Call(method, s->empty_tuple, options)
                            : NULL;
    if (capsule == NULL && method != NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, s->empty_tuple, NULL);
    }
    Py_XDECREF(options);
    Py_XDECREF(method);
    return capsule;
}

int tly_py_view_by_dlpack(tly_py_state *s, tly_py_view *v, PyObject *x)
{
    PyObject *capsule = capsule_of(s, v, x);
    if (capsule == NULL) {
        return -1;
    }
    int status = -1;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        v->managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        status = take_managed(s, v, x);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        v->old = PyCapsule_GetPointer(capsule, "dltensor");
        PyCapsule_SetName(capsule, "used_dltensor");
        status = take(s, v, x, &v->old->tensor);
    } else {
        tly_py_refuse(PyExc_BufferError, v->field, NULL, "__dlpack__ returned %R", capsule);
    }
    Py_DECREF(capsule);
    return status;
}

void tly_py_dlpack_end(tly_py_view *v)
{
    if (v->managed != NULL && v->managed->deleter != NULL) {
        v->managed->deleter(v->managed);
    }
    if (v->old != NULL && v->old->deleter != NULL) {
        v->old->deleter(v->old);
    }
    v->managed = NULL;
    v->old = NULL;
}

/* --- results by the table --------------------------------------------------------------------- */

static void set_error(void *user, const char *kind, const char *message)
{
    (void)user;
    PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
}

PyObject *tly_py_exchange_new(const dl_exchange *table, const tly_py_shape *shape, int32_t shown_as,
                              void **data)
{
    int64_t sizes[TALLY_MAX_RANK + 1];
    memcpy(sizes, shape->sizes, sizeof sizes);
    dl_tensor like = {
        .device_type = DL_CPU, .ndim = shape->rank, .dtype = tly_py_dl_of(shown_as), .shape = sizes
    };
    dl_managed *made = NULL;
    void *object = NULL;
    if (table->allocate(&like, &made, NULL, set_error) != 0) {
        return NULL;
    }
    *data = (char *)made->tensor.data + made->tensor.byte_offset;
    if (table->to_object(made, &object) != 0) {
        if (made->deleter != NULL) {
            made->deleter(made);
        }
        return NULL;
    }
    return object;
}
