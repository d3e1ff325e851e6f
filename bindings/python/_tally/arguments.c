/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that calls of functions and of kernels share: texts and numbers of threads. */
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
