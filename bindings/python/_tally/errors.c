/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exceptions. tally.Error says what tally_error says, as attributes and as one line of text:
 * FIELD: MESSAGE; hint: HINT. What numpy and Python have exceptions for, such as a wrong type or a
 * read-only output, keeps these, with text of the same form.
 */
#include "module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct fault {
    const char *field, *message, *hint, *status;
    int position;
} fault;

static PyObject *text_of(const fault *f)
{
    const char *before = f->hint[0] != 0 ? "; hint: " : "";
    return PyUnicode_FromFormat("%s: %s%s%s", f->field, f->message, before, f->hint);
}

/* Sets an attribute, and drops the reference to its value. */
static int set(PyObject *object, const char *name, PyObject *value)
{
    int status = value != NULL ? PyObject_SetAttrString(object, name, value) : -1;
    Py_XDECREF(value);
    return status;
}

static void raise_fault(PyObject *type, const fault *f)
{
    PyObject *text = text_of(f);
    PyObject *e = text != NULL ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    Py_XDECREF(text);
    if (e == NULL) {
        return;
    }
    if (set(e, "field", PyUnicode_FromString(f->field)) == 0 &&
        set(e, "position", PyLong_FromLong(f->position)) == 0 &&
        set(e, "hint", PyUnicode_FromString(f->hint)) == 0 &&
        set(e, "status", PyUnicode_FromString(f->status)) == 0) {
        PyErr_SetObject(type, e);
    }
    Py_DECREF(e);
}

static PyObject *raise_error(tly_py_state *s, const tally_error *error, const char *hint)
{
    if (error->status == TALLY_OUT_OF_MEMORY) {
        return PyErr_NoMemory();
    }
    const fault f = { error->field, error->message, hint,
                      tally_status_name((tally_status)error->status), error->position };
    raise_fault(error->status == TALLY_UNSUPPORTED ? s->unsupported : s->error, &f);
    return NULL;
}

PyObject *tly_py_raise(tly_py_state *s, const tally_error *error)
{
    return raise_error(s, error, error->hint);
}

PyObject *tly_py_raise_in_word(tly_py_state *s, const tally_error *error)
{
    char hint[sizeof error->hint + sizeof error->word + 24];
    snprintf(hint, sizeof hint, "%s; in a word: '%s'", error->hint, error->word);
    return raise_error(s, error, error->word[0] != 0 ? hint : error->hint);
}

int tly_py_fail(tly_py_state *s, const char *field, const char *hint, const char *format, ...)
{
    char message[240];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const fault f = { field, message, hint != NULL ? hint : "", tally_status_name(TALLY_INVALID),
                      0 };
    raise_fault(s->error, &f);
    return -1;
}

int tly_py_refuse(PyObject *type, const char *field, const char *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *message = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    const char *of = field != NULL ? field : "", *with = hint != NULL ? hint : "";
    PyObject *text = message == NULL
                         ? NULL
                         : PyUnicode_FromFormat("%s%s%U%s%s", of, *of != 0 ? ": " : "", message,
                                                *with != 0 ? "; hint: " : "", with);
    PyObject *e = text != NULL ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    if (e != NULL && set(e, "field", PyUnicode_FromString(of)) == 0 &&
        set(e, "hint", PyUnicode_FromString(with)) == 0) {
        PyErr_SetObject(type, e);
    }
    Py_XDECREF(e);
    Py_XDECREF(text);
    Py_XDECREF(message);
    return -1;
}

static const char error_doc[] =
    "What Tally refuses. str(e) is 'FIELD: MESSAGE; hint: HINT'.\n\n"
    "field: the part that is wrong, such as 'axis', 'dtype', 'in' or 'out'.\n"
    "position: the character of a word, counted from 1; 0 if there is none.\n"
    "hint: how to solve the problem; may be empty.\n"
    "status: the name of the library's status, such as 'TALLY_INVALID'.";

static const char unsupported_doc[] =
    "What is right, but has no kernel on this device. See tally.Error.";

/* An instance that Python code made has the attributes, too. */
static int set_defaults(PyObject *type)
{
    return set(type, "field", PyUnicode_FromString("")) == 0 &&
                   set(type, "position", PyLong_FromLong(0)) == 0 &&
                   set(type, "hint", PyUnicode_FromString("")) == 0 &&
                   set(type, "status", PyUnicode_FromString(tally_status_name(TALLY_INVALID))) == 0
               ? 0
               : -1;
}

int tly_py_add_errors(PyObject *module, tly_py_state *s)
{
    s->error = PyErr_NewExceptionWithDoc("tally.Error", error_doc, PyExc_ValueError, NULL);
    if (s->error == NULL || set_defaults(s->error) != 0) {
        return -1;
    }
    PyObject *bases = PyTuple_Pack(2, s->error, PyExc_NotImplementedError);
    if (bases == NULL) {
        return -1;
    }
    s->unsupported = PyErr_NewExceptionWithDoc("tally.Unsupported", unsupported_doc, bases, NULL);
    Py_DECREF(bases);
    return s->unsupported != NULL && PyModule_AddObjectRef(module, "Error", s->error) == 0 &&
                   PyModule_AddObjectRef(module, "Unsupported", s->unsupported) == 0
               ? 0
               : -1;
}
