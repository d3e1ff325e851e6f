/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any array as a pointer, sizes and strides. What a type of arrays is gets found out once per type,
 * and remembered, that it has no table of DLPack's included: a failed look-up of an attribute takes
 * longer than a small scan.
 */
#include "view.h"

#include "dlpack.h"

#include <string.h>

/* --- what a type is --------------------------------------------------------------------------- */

/* Whether the module that a type names begins with this name. */
static int is_of(tly_py_state *s, PyObject *type, const char *library)
{
    PyObject *name = PyObject_GetAttr(type, s->names[TLY_PY_MODULE]);
    PyObject *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8String(name) : NULL;
    const size_t length = strlen(library);
    const int of = text != NULL && strncmp(PyBytes_AsString(text), library, length) == 0;
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(name);
    return of;
}

static int has_name(tly_py_state *s, PyObject *type, const char *wanted)
{
    PyObject *name = PyObject_GetAttr(type, s->names[TLY_PY_NAME_OF_TYPE]);
    const int has = name != NULL && PyUnicode_Check(name) &&
                    PyUnicode_CompareWithASCIIString(name, wanted) == 0;
    PyErr_Clear();
    Py_XDECREF(name);
    return has;
}

/* Whether the type is one of this library and name, or has such a base. */
static int has_base(tly_py_state *s, PyTypeObject *type, const char *library, const char *name)
{
    PyObject *bases = PyObject_GetAttr((PyObject *)type, s->names[TLY_PY_MRO]);
    int has = 0;
    for (Py_ssize_t i = 0; bases != NULL && !has && i < PyTuple_Size(bases); i++) {
        PyObject *base = PyTuple_GetItem(bases, i);
        has = has_name(s, base, name) && is_of(s, base, library);
    }
    PyErr_Clear();
    Py_XDECREF(bases);
    return has;
}

static int has_attribute(PyObject *x, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(x, name);
    PyErr_Clear();
    Py_XDECREF(value);
    return value != NULL;
}

static int is_plain_python(PyObject *x)
{
    return PyList_Check(x) || PyTuple_Check(x) || PyLong_Check(x) || PyFloat_Check(x) ||
           PyComplex_Check(x);
}

static tly_py_kind kind_of_numpy(tly_py_state *s, PyTypeObject *type)
{
    if (type == s->numpy_ndarray) {
        return TLY_PY_KIND_NUMPY;
    }
    return has_base(s, type, "numpy.ma", "MaskedArray") ? TLY_PY_KIND_MASKED : TLY_PY_KIND_SUBCLASS;
}

static tly_py_kind kind_of(tly_py_state *s, PyObject *x, const dl_exchange **table)
{
    PyTypeObject *type = Py_TYPE(x);
    if (has_base(s, type, "numpy", "ndarray") && tly_py_use_numpy(s) == 0) {
        return kind_of_numpy(s, type);
    }
    if (is_of(s, (PyObject *)type, "jax")) {
        return has_base(s, type, "jax", "Tracer") ? TLY_PY_KIND_TRACER : TLY_PY_KIND_JAX;
    }
    *table = tly_py_exchange_of(s, type);
    if (has_base(s, type, "torch", "Tensor")) {
        const int exact = is_of(s, (PyObject *)type, "torch") &&
                          (has_name(s, (PyObject *)type, "Tensor") ||
                           has_name(s, (PyObject *)type, "Parameter"));
        return exact ? TLY_PY_KIND_TORCH : TLY_PY_KIND_TORCH_OTHER;
    }
    if (*table != NULL) {
        return TLY_PY_KIND_TABLE;
    }
    if (is_plain_python(x)) {
        return TLY_PY_KIND_ASARRAY;
    }
    const int has_dlpack = has_attribute(x, s->names[TLY_PY_DLPACK]);
    if (has_dlpack && has_attribute(x, s->names[TLY_PY_NAMESPACE])) {
        return TLY_PY_KIND_NAMESPACE; /* even if it has a buffer, as array-api-strict's have */
    }
    if (PyObject_CheckBuffer(x)) {
        return TLY_PY_KIND_BUFFER;
    }
    if (has_dlpack) {
        return TLY_PY_KIND_DLPACK;
    }
    return has_attribute(x, s->names[TLY_PY_ARRAY]) ||
                   has_attribute(x, s->names[TLY_PY_ARRAY_INTERFACE])
               ? TLY_PY_KIND_ASARRAY
               : TLY_PY_KIND_NONE;
}

const tly_py_type *tly_py_type_of(tly_py_state *s, PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    for (unsigned i = 0; i < TLY_PY_TYPES; i++) {
        if (s->types[i].type == type) {
            return &s->types[i];
        }
    }
    const dl_exchange *table = NULL;
    const tly_py_kind kind = kind_of(s, x, &table);
    tly_py_type *place = &s->types[s->next_type++ % TLY_PY_TYPES];
    PyTypeObject *before = place->type;
    Py_INCREF((PyObject *)type); /* its address must stay its own */
    *place = (tly_py_type){ type, kind, table };
    Py_XDECREF((PyObject *)before);
    return place;
}

/* --- buffers ---------------------------------------------------------------------------------- */

/* The input's dtype has a name of its own in words. */
static const char *field_of_dtype(const char *field)
{
    return strcmp(field, "in") == 0 ? "dtype" : field;
}

static int refuse_format(const char *field, const char *format)
{
    const int swapped = *format == '>' || *format == '!';
    return tly_py_refuse(PyExc_TypeError, field_of_dtype(field),
                         swapped ? "x.astype(x.dtype.newbyteorder('='))" : NULL,
                         "elements of format '%s' have no name in Tally", format);
}

/* numpy has no format for these: arrays raise a ValueError, scalars a TypeError. 1: they are
 * bfloat16, and the buffer is there without one. */
static int without_format(tly_py_state *s, tly_py_view *v, PyObject *x)
{
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return -1;
    }
    PyErr_Fetch(&type, &value, &trace);
    const int bf16 = tly_py_has_dtype(s, x, "bfloat16");
    PyObject *dtype = bf16 ? NULL : PyObject_GetAttr(x, s->names[TLY_PY_DTYPE]);
    if (!bf16 && dtype == NULL) { /* the exporter's own error says more */
        PyErr_Restore(type, value, trace);
        return -1;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    if (bf16) {
        return PyObject_GetBuffer(x, &v->buffer, PyBUF_STRIDES) == 0 ? 1 : -1;
    }
    tly_py_refuse(PyExc_TypeError, field_of_dtype(v->field), NULL,
                  "elements of format '%S' have no name in Tally", dtype);
    Py_DECREF(dtype);
    return -1;
}

static void pack(tly_py_view *v, const Py_buffer *b)
{
    int64_t step = 1;
    for (int i = b->ndim < TALLY_MAX_RANK ? b->ndim - 1 : TALLY_MAX_RANK; i >= 0; i--) {
        v->shape.sizes[i] = b->shape[i];
        v->strides[i] = step;
        step *= b->shape[i];
    }
}

/* Buffers say that they are read-only; asked for a writable one, each exporter has an error of its
 * own. */
static int view_buffer(tly_py_state *s, tly_py_view *v, PyObject *x)
{
    int bf16 = 0;
    if (PyObject_GetBuffer(x, &v->buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        bf16 = without_format(s, v, x);
        if (bf16 < 0) {
            return -1;
        }
    }
    v->has_buffer = 1;
    const Py_buffer *b = &v->buffer;
    const char *format = b->format != NULL ? b->format : "B";
    v->shape.dtype = bf16 ? TALLY_BF16 : tly_py_dtype_of_format(format, b->itemsize);
    if (v->shape.dtype == 0) {
        return refuse_format(v->field, format);
    }
    const int shift = b->itemsize == 8 ? 3 : b->itemsize == 4 ? 2 : b->itemsize == 2;
    v->data = b->buf;
    v->readonly = b->readonly;
    v->shape.rank = b->ndim;
    if (b->strides == NULL) { /* as in ctypes, although they were asked for */
        pack(v, b);
        return 0;
    }
    for (int i = 0; i < b->ndim && i <= TALLY_MAX_RANK; i++) {
        v->shape.sizes[i] = b->shape[i];
        v->strides[i] = b->strides[i] >> shift; /* a division takes ten times as long */
        if ((b->strides[i] & (b->itemsize - 1)) != 0 && b->shape[i] > 1) {
            return tly_py_fail(s, v->field, "x.copy()",
                               "a stride of %lld bytes is no multiple of the element's %lld",
                               (long long)b->strides[i], (long long)b->itemsize);
        }
    }
    return 0;
}

/* --- views ------------------------------------------------------------------------------------ */

int tly_py_view_finish(tly_py_state *s, tly_py_view *v)
{
    const tly_py_shape *shape = &v->shape;
    const int is_state = shape->rank == TALLY_MAX_RANK + 1 && strncmp(v->field, "carry", 5) == 0;
    if (shape->rank > TALLY_MAX_RANK && !is_state) {
        return tly_py_fail(s, v->field, NULL, "rank %d is above %d", (int)shape->rank,
                           TALLY_MAX_RANK);
    }
    int64_t step = 1;
    int is_empty = 0;
    v->packed = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        v->packed &= shape->sizes[i] == 1 || v->strides[i] == step;
        is_empty |= shape->sizes[i] == 0;
        step *= shape->sizes[i];
    }
    v->packed |= is_empty;                           /* whatever its strides are */
    const size_t bytes = tly_py_bytes(shape->dtype); /* a power of two */
    if (((uintptr_t)v->data & (bytes - 1)) == 0) {
        return 0;
    }
    if (!is_empty) {
        return tly_py_fail(s, v->field, "x.copy()", "the array is not aligned to its elements");
    }
    v->data = NULL; /* such as the memory of b"" that an empty array was unpickled from */
    return 0;
}

static int view_jax(tly_py_state *s, tly_py_view *v, PyObject *x)
{
    if (view_buffer(s, v, x) == 0) {
        return 0;
    }
    PyErr_Clear(); /* on a device, or bfloat16 */
    if (v->has_buffer) {
        PyBuffer_Release(&v->buffer);
        v->has_buffer = 0;
    }
    return tly_py_view_by_dlpack(s, v, x);
}

static int view_asarray(tly_py_state *s, tly_py_view *v, PyObject *x, int writable)
{
    if (writable) {
        return tly_py_refuse(PyExc_TypeError, v->field, NULL, "%R is no array that can be written",
                             (PyObject *)Py_TYPE(x));
    }
    v->array = tly_py_use_numpy(s) == 0 ? PyObject_CallFunctionObjArgs(s->numpy_asarray, x, NULL)
                                        : NULL;
    return v->array != NULL ? view_buffer(s, v, v->array) : -1;
}

static int view_by_kind(tly_py_state *s, tly_py_view *v, PyObject *x, int writable)
{
    switch (v->kind) {
    case TLY_PY_KIND_NUMPY:
    case TLY_PY_KIND_SUBCLASS:
    case TLY_PY_KIND_BUFFER:
        return view_buffer(s, v, x);
    case TLY_PY_KIND_TABLE:
    case TLY_PY_KIND_TORCH:
        return v->exchange != NULL ? tly_py_view_by_exchange(s, v, x)
                                   : tly_py_view_by_dlpack(s, v, x);
    case TLY_PY_KIND_JAX:
        return view_jax(s, v, x);
    case TLY_PY_KIND_NAMESPACE:
    case TLY_PY_KIND_DLPACK:
        return tly_py_view_by_dlpack(s, v, x);
    case TLY_PY_KIND_ASARRAY:
        return view_asarray(s, v, x, writable);
    case TLY_PY_KIND_MASKED:
        return tly_py_refuse(PyExc_TypeError, v->field, "x.filled(...)",
                             "the mask of a MaskedArray would be ignored");
    case TLY_PY_KIND_TRACER:
        return tly_py_refuse(PyExc_TypeError, v->field, "tally.jax.cumsum and its like",
                             "JAX traces this function, and there are no elements yet");
    case TLY_PY_KIND_TORCH_OTHER:
    case TLY_PY_KIND_NONE:
        break;
    }
    return tly_py_refuse(PyExc_TypeError, NULL, NULL,
                         "%R is no array: it has neither a buffer nor __dlpack__",
                         (PyObject *)Py_TYPE(x));
}

int tly_py_view_of(tly_py_state *s, tly_py_view *v, PyObject *x, const char *field, int writable)
{
    const tly_py_type *type = tly_py_type_of(s, x);
    v->field = field;
    v->kind = (tly_py_kind)type->kind;
    v->exchange = type->exchange;
    v->readonly = 0;
    v->has_buffer = 0;
    v->array = NULL;
    v->managed = NULL;
    v->old = NULL;
    int status = view_by_kind(s, v, x, writable);
    if (status == 0 && writable && v->readonly) {
        status = tly_py_refuse(PyExc_BufferError, field, NULL, "the array is read-only");
    }
    if (status == 0) {
        status = tly_py_view_finish(s, v);
    }
    if (status != 0) {
        tly_py_view_end(v);
    }
    return status;
}

void tly_py_view_end(tly_py_view *v)
{
    if (v->has_buffer) {
        PyBuffer_Release(&v->buffer);
        v->has_buffer = 0;
    }
    if (v->managed != NULL || v->old != NULL) {
        tly_py_dlpack_end(v);
    }
    Py_CLEAR(v->array);
}
