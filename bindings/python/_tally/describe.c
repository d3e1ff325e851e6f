/* SPDX-License-Identifier: Apache-2.0 */
/* From a call's options to a descriptor, and to the shape of the result. */
#include "call.h"

#include <stdio.h>
#include <string.h>

void tly_py_shape_text(const tly_py_shape *shape, char *text, size_t capacity)
{
    size_t length = 0;
    text[length++] = '(';
    for (int i = 0; i < shape->rank && length + 24 < capacity; i++) {
        length += (size_t)snprintf(text + length, capacity - length, "%s%lld", i > 0 ? ", " : "",
                                   (long long)shape->sizes[i]);
    }
    snprintf(text + length, capacity - length, shape->rank == 1 ? ",)" : ")");
}

/* --- axes ------------------------------------------------------------------------------------- */

static int out_of_range(const tly_py_call *c, PyObject *number)
{
    const int rank = c->d.rank;
    PyObject *text = PyObject_Str(number), *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    if (bytes != NULL && rank > 0) {
        tly_py_fail(c->s, "axis", NULL, "axis %.40s is not in [%d, %d]", PyBytes_AsString(bytes),
                    -rank, rank - 1);
    } else if (bytes != NULL) {
        tly_py_fail(c->s, "axis", NULL, "axis %.40s, and the array has none",
                    PyBytes_AsString(bytes));
    }
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    return -1;
}

static int no_integer(const tly_py_call *c, PyObject *given)
{
    const int scan = tally_op_is_scan(c->op->op);
    const int several = PyTuple_Check(given) || PyList_Check(given);
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) { /* of its __index__ */
        return -1;
    }
    PyErr_Clear();
    return tly_py_refuse(PyExc_TypeError, "axis",
                         !several ? "axes count from 0: axis=1"
                         : scan   ? "a scan goes along one axis: axis=1"
                                  : "a tuple names several axes: axis=(0, 1)",
                         "%R is no integer", given);
}

/* Any integer but bools, from 0 on; -1 with an exception. */
static int axis_of(const tly_py_call *c, PyObject *given)
{
    int overflow = 0;
    if (PyBool_Check(given)) {
        return tly_py_refuse(PyExc_TypeError, "axis", NULL, "%R is a bool", given);
    }
    PyObject *number = PyNumber_Index(given);
    if (number == NULL) {
        return no_integer(c, given);
    }
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    int axis = -1;
    if (overflow != 0 || value < -c->d.rank || value >= c->d.rank) {
        out_of_range(c, number);
    } else {
        axis = (int)(value < 0 ? value + c->d.rank : value);
    }
    Py_DECREF(number);
    return axis;
}

static int take_scan_axis(tly_py_call *c)
{
    PyObject *given = c->option[TLY_PY_AXIS];
    if (given != NULL) {
        c->d.axis = axis_of(c, given);
        return c->d.axis < 0 ? -1 : 0;
    }
    if (c->d.rank != 1) {
        return tly_py_fail(c->s, "axis", "x.reshape(-1) scans all elements",
                           "an array of rank %d needs axis=", (int)c->d.rank);
    }
    c->d.axis = 0;
    return 0;
}

static int add_axis(tly_py_call *c, PyObject *given)
{
    const int axis = axis_of(c, given);
    if (axis < 0) {
        return -1;
    }
    if (c->d.axes >> axis & 1) {
        return tly_py_fail(c->s, "axis", NULL, "axis %d is named twice", axis);
    }
    c->d.axes |= 1u << axis;
    return 0;
}

static int take_reduced_axes(tly_py_call *c)
{
    PyObject *given = c->option[TLY_PY_AXIS];
    if (given == NULL) {
        return 0;
    }
    c->d.axes_given = 1;
    if (!PyTuple_Check(given)) {
        return add_axis(c, given);
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(given); i++) {
        if (add_axis(c, PyTuple_GetItem(given, i)) != 0) {
            return -1;
        }
    }
    return 0;
}

/* --- flags and choices ------------------------------------------------------------------------ */

static int take_flags(tly_py_call *c)
{
    static const struct {
        int option;
        uint32_t flag;
    } flags[] = {
        { TLY_PY_EXCLUSIVE, TALLY_EXCLUSIVE },
        { TLY_PY_REVERSE, TALLY_REVERSE },
        { TLY_PY_KEEPDIMS, TALLY_KEEPDIMS },
        { TLY_PY_LAST, TALLY_LAST },
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        PyObject *given = c->option[flags[i].option];
        const int is = given == NULL || given == Py_False ? 0 : PyObject_IsTrue(given);
        if (is < 0) {
            return -1;
        }
        c->d.flags |= is ? flags[i].flag : 0;
    }
    return 0;
}

/* Which of the texts it is; -1 with an exception. */
static int choose(const tly_py_call *c, int option, const char *const *texts, int count)
{
    PyObject *given = c->option[option];
    for (int i = 0; i < count; i++) {
        if (given == NULL ||
            (PyUnicode_Check(given) && PyUnicode_CompareWithASCIIString(given, texts[i]) == 0)) {
            return given == NULL ? 0 : i;
        }
    }
    PyObject *name = c->s->names[option];
    return tly_py_refuse(PyExc_ValueError, NULL, NULL, "%U: %R is neither '%s' nor '%s'", name,
                         given, texts[0], texts[1]);
}

static int take_choices(tly_py_call *c)
{
    static const char *const orders[] = { "run", "serial", "exact" };
    static const int32_t order_of[] = { TALLY_ORDER_RUN, TALLY_ORDER_SERIAL, TALLY_ORDER_EXACT };
    static const char *const nans[] = { "propagate", "ignore" };
    const int order = choose(c, TLY_PY_ORDER, orders, 3);
    const int nan = order >= 0 ? choose(c, TLY_PY_NAN, nans, 2) : -1;
    if (nan < 0) {
        return -1;
    }
    c->d.order = order_of[order];
    c->d.flags |= nan ? TALLY_NAN_IGNORE : 0;
    if (c->option[TLY_PY_ACC] != NULL) {
        c->d.acc = tly_py_dtype_of(c->s, c->option[TLY_PY_ACC], "acc");
        return c->d.acc == 0 ? -1 : 0;
    }
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void take_input(tly_py_call *c, int scan)
{
    tally_descriptor *d = &c->d;
    memset(d, 0, offsetof(tally_descriptor, operands));
    d->size = offsetof(tally_descriptor, operands);
    d->op = (int32_t)c->op->op;
    d->dtype = c->in.shape.dtype;
    d->rank = c->in.shape.rank;
    memcpy(d->sizes, c->in.shape.sizes, sizeof d->sizes); /* beyond the rank nothing is read */
    if (!c->in.packed) {
        d->flags |= TALLY_IN_STRIDES;
        memcpy(d->in_strides, c->in.strides, (size_t)d->rank * sizeof(int64_t));
    }
    if (scan && d->rank == 0) { /* a scan of one element */
        d->rank = 1;
        d->sizes[0] = 1;
    }
}

static int shape_of_scan(tly_py_call *c)
{
    tly_py_shape *shape = &c->shape;
    /* torch alone has scans of rank 0. */
    shape->rank = c->in.shape.rank == 0 && c->in.kind == TLY_PY_KIND_TORCH ? 0 : c->d.rank;
    memcpy(shape->sizes, c->d.sizes, sizeof c->d.sizes);
    if (c->option[TLY_PY_INCLUDE_INITIAL] != NULL) {
        const int initial = PyObject_IsTrue(c->option[TLY_PY_INCLUDE_INITIAL]);
        if (initial < 0) {
            return -1;
        }
        shape->rank = initial ? c->d.rank : shape->rank;
        shape->sizes[c->d.axis] += initial;
    }
    return 0;
}

static int shape_of_reduction(tly_py_call *c)
{
    const tally_descriptor *d = &c->d;
    tly_py_shape *shape = &c->shape;
    shape->rank = 0;
    for (int i = 0; i < d->rank; i++) {
        const int reduced = !d->axes_given || (d->axes >> i & 1);
        if (!reduced || (d->flags & TALLY_KEEPDIMS) != 0) {
            shape->sizes[shape->rank++] = reduced ? 1 : d->sizes[i];
        }
    }
    return 0;
}

int tly_py_describe(tly_py_call *c)
{
    const int scan = tally_op_is_scan(c->op->op);
    take_input(c, scan);
    if ((scan ? take_scan_axis(c) : take_reduced_axes(c)) != 0 || take_flags(c) != 0 ||
        take_choices(c) != 0 || tly_py_choose_dtypes(c) != 0) {
        return -1;
    }
    c->shape.dtype = c->shown_as;
    return scan ? shape_of_scan(c) : shape_of_reduction(c);
}
