/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that calls of functions, kernels and gradients share. */
#include "module.h"

#include <string.h>

int tly_py_text(PyObject *given, const char *what, PyObject **held, const char **text)
{
    *held = NULL;
    *text = NULL;
    if (given == NULL || given == Py_None) {
        return 0;
    }
    if (!PyUnicode_Check(given)) {
        return tly_py_refuse(PyExc_TypeError, what, NULL, "%R is no text", given);
    }
    *held = PyUnicode_AsUTF8String(given);
    *text = *held != NULL ? PyBytes_AsString(*held) : NULL;
    if (*text != NULL && strlen(*text) != (size_t)PyBytes_Size(*held)) {
        Py_CLEAR(*held);
        return tly_py_refuse(PyExc_ValueError, what, NULL, "%R has a zero in it", given);
    }
    return *text != NULL ? 0 : -1;
}

int tly_py_threads(PyObject *given, int32_t *threads)
{
    int overflow = 0;
    *threads = 0;
    if (given == NULL || given == Py_None) {
        return 0;
    }
    PyObject *number = PyNumber_Index(given);
    if (number == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) { /* of its __index__ */
            return -1;
        }
        PyErr_Clear();
        return tly_py_refuse(PyExc_TypeError, "threads", NULL, "%R is no integer", given);
    }
    const long long n = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow < 0 || (overflow == 0 && n < 1)) {
        return tly_py_refuse(PyExc_ValueError, "threads", NULL, "%R is not 1 or more", given);
    }
    *threads = overflow > 0 || n > INT32_MAX ? INT32_MAX : (int32_t)n;
    return 0;
}

static int take_option(const tly_py_form *form, PyObject *name, PyObject *value, PyObject **given,
                       int32_t *threads)
{
    if (PyUnicode_CompareWithASCIIString(name, "threads") == 0) {
        return tly_py_threads(value, threads);
    }
    for (int i = form->named; i < form->count; i++) {
        if (PyUnicode_CompareWithASCIIString(name, form->name_of(i)) == 0) {
            if (given[i] != NULL) {
                return tly_py_refuse(PyExc_TypeError, form->name_of(i), NULL, "it is given twice");
            }
            given[i] = value != Py_None ? value : NULL;
            return 0;
        }
    }
    return tly_py_refuse(PyExc_TypeError, NULL, NULL, "%R is none of out, threads, %s", name,
                         form->names);
}

int tly_py_take_arguments(const tly_py_form *form, PyObject *args, PyObject *options,
                          PyObject **given, int32_t *threads)
{
    const Py_ssize_t count = PyTuple_Size(args);
    Py_ssize_t at = 0;
    PyObject *name, *value;
    if (count < form->least || count > 2) {
        PyErr_Format(PyExc_TypeError, "%s by name; %zd arguments were given", form->usage, count);
        return -1;
    }
    given[form->first] = count > 0 ? PyTuple_GetItem(args, 0) : NULL;
    given[form->out] = count > 1 && PyTuple_GetItem(args, 1) != Py_None ? PyTuple_GetItem(args, 1)
                                                                        : NULL;
    while (options != NULL && PyDict_Next(options, &at, &name, &value)) {
        if (take_option(form, name, value, given, threads) != 0) {
            return -1;
        }
    }
    return 0;
}
