/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of tally.torch without torch's dispatcher. An operator's call goes through it to a
 * Python function that looks for gradients, which takes 4 us more than this (12 elements, Zen 5).
 * A tensor that is nothing but its elements needs none of it, unless a transform, a mode or a
 * tracer wants to see the operator: torch's own functions, which tally.torch names, tell. In all
 * other cases, errors among them, the answer is None, and tally.torch calls the operator.
 */
#include "call.h"

#include <string.h>

/* Whether torch answers anything but 0 or false; an error counts as such an answer. */
static int says_something(PyObject *function)
{
    return tly_py_truth(PyCFunction_Check(function) && PyCFunction_GetFlags(function) == METH_NOARGS
                            ? PyCFunction_GetFunction(function)(PyCFunction_GetSelf(function), NULL)
                            : PyObject_CallNoArgs(function));
}

/* The first of torch's functions says whether gradients are recorded, the others whether anything
 * wants to see operators. */
static int is_plain(tly_py_state *s, PyObject *x)
{
    const tly_py_type *type = tly_py_type_of(s, x);
    if (type->kind != TLY_PY_KIND_TORCH || type->exchange == NULL || s->torch_askers == NULL ||
        tly_py_has_tangents(s)) {
        return 0;
    }
    const Py_ssize_t count = PyTuple_Size(s->torch_askers);
    for (Py_ssize_t i = 1; i < count; i++) {
        if (says_something(PyTuple_GetItem(s->torch_askers, i))) {
            return 0;
        }
    }
    return !tly_py_is_negated(s, x) &&
           (!tly_py_wants_gradient(s, x) || !says_something(PyTuple_GetItem(s->torch_askers, 0)));
}

/* The arguments of an operator: `dim`, which operators of torch take as ints alone, and flags, in
 * the order of the options. -1, and no exception, for all others. `held` keeps a list. */
static int take(tly_py_call *c, PyObject *const *args, Py_ssize_t count, PyObject **held)
{
    const int scan = tally_op_is_scan(c->op->op);
    int option = TLY_PY_EXCLUSIVE;
    if (PyList_Check(args[0]) && !scan) {
        *held = PyList_AsTuple(args[0]);
        c->option[TLY_PY_AXIS] = *held;
    } else if (PyLong_CheckExact(args[0]) || (PyTuple_Check(args[0]) && !scan)) {
        c->option[TLY_PY_AXIS] = args[0];
    } else if (scan || args[0] != Py_None) {
        return -1;
    }
    for (Py_ssize_t i = 1; i < count; i++, option++) {
        while (option <= TLY_PY_LAST && (c->op->options >> option & 1) == 0) {
            option++;
        }
        if (option > TLY_PY_LAST || !PyBool_Check(args[i])) {
            return -1;
        }
        c->option[option] = args[i];
    }
    return 0;
}

/* _direct(name, x, dim, flag, ...) */
static PyObject *direct(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    tly_py_call c;
    PyObject *held = NULL, *result = NULL;
    c.s = PyModule_GetState(module);
    c.op = count >= 3 ? tly_py_operator_named(args[0]) : NULL;
    if (c.op != NULL && is_plain(c.s, args[1])) {
        c.x = args[1];
        memset(c.option, 0, sizeof c.option);
        result = take(&c, args + 2, count - 2, &held) == 0 ? tly_py_call_on_elements(&c) : NULL;
    }
    Py_XDECREF(held);
    if (result == NULL) {
        PyErr_Clear();
        result = Py_NewRef(Py_None);
    }
    return result;
}

/* _direct_unless(functions): a tuple, as is_plain has it. */
static PyObject *direct_unless(PyObject *module, PyObject *functions)
{
    tly_py_state *s = PyModule_GetState(module);
    PyObject *before = s->torch_askers;
    if (!PyTuple_Check(functions) || PyTuple_Size(functions) == 0) {
        PyErr_SetString(PyExc_TypeError, "a tuple of functions is wanted");
        return NULL;
    }
    s->torch_askers = Py_NewRef(functions);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    { "_direct", (PyCFunction)(void (*)(void))direct, METH_FASTCALL,
      "_direct(name, x, dim, *flags)\n--\n\n"
      "What a function of tally.torch returns; None if its operator must be called." },
    { "_direct_unless", direct_unless, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

int tly_py_add_direct(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
