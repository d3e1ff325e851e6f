/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about words, for the bridges to frameworks that compute derivatives: what a word is in
 * full, and which words compute its gradient. Sizes may be open. No kernel is made.
 */
#include "kernel.h"

#include <string.h>

static const char *text_of(PyObject *word, PyObject **held)
{
    *held = PyUnicode_AsUTF8String(word);
    return *held != NULL ? PyBytes_AsString(*held) : NULL;
}

int tly_py_parse(tly_py_state *s, PyObject *word, tally_descriptor *d)
{
    tally_error error = TALLY_ERROR_INIT;
    PyObject *held = NULL;
    const char *text = text_of(word, &held);
    const tally_status status = text != NULL ? tally_descriptor_parse(text, d, &error)
                                             : TALLY_INVALID;
    Py_XDECREF(held);
    if (text != NULL && status != TALLY_OK) {
        (void)tly_py_raise(s, &error);
    }
    return status == TALLY_OK ? 0 : -1;
}

PyObject *tly_py_printed(tly_py_state *s, const tally_descriptor *d)
{
    tally_error error = TALLY_ERROR_INIT;
    char text[TALLY_WORD_MAX];
    return tally_descriptor_print(d, text, sizeof text, NULL, &error) == TALLY_OK
               ? PyUnicode_FromString(text)
               : tly_py_raise(s, &error);
}

static PyObject *describe(PyObject *module, PyObject *word)
{
    tly_py_state *s = PyModule_GetState(module);
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    tally_dtype made = TALLY_DTYPE_NONE;
    if (tly_py_parse(s, word, &d) != 0) {
        return NULL;
    }
    if (tally_descriptor_result(&d, NULL, NULL, &made, &error) != TALLY_OK) {
        return tly_py_raise(s, &error);
    }
    PyObject *full = tly_py_printed(s, &d);
    return full != NULL ? Py_BuildValue("(Ns)", full, tally_dtype_name(made)) : NULL;
}

/* A source as text; an earlier step as its number. */
static PyObject *source(int32_t from)
{
    return from >= TALLY_SOURCE_STEP ? PyLong_FromLong(from - TALLY_SOURCE_STEP)
                                     : PyUnicode_FromString(tally_source_name((tally_source)from));
}

static PyObject *sources(const tally_gradient_step *step)
{
    int32_t all[TALLY_MAX_OPERANDS + 3] = { step->in };
    PyObject *list = PyList_New(0);
    memcpy(all + 1, step->operand, sizeof step->operand);
    all[TALLY_MAX_OPERANDS + 1] = step->descriptor.segment_dtype != 0 ? TALLY_SOURCE_OFFSETS
                                                                      : TALLY_SOURCE_NONE;
    all[TALLY_MAX_OPERANDS + 2] = step->carry_in;
    for (int i = 0; list != NULL && i < TALLY_MAX_OPERANDS + 3; i++) {
        PyObject *item = all[i] != TALLY_SOURCE_NONE ? source(all[i]) : NULL;
        if (all[i] != TALLY_SOURCE_NONE && (item == NULL || PyList_Append(list, item) != 0)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

tally_source tly_py_source_of(const char *name)
{
    for (int i = TALLY_SOURCE_X; i < TALLY_SOURCE_OFFSETS; i++) {
        if (strcmp(name, tally_source_name((tally_source)i)) == 0) {
            return (tally_source)i;
        }
    }
    return TALLY_SOURCE_NONE;
}

static PyObject *steps_as_list(tly_py_state *s, const tally_gradient_step *steps, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *word = tly_py_printed(s, &steps[i].descriptor);
        PyObject *from = word != NULL ? sources(&steps[i]) : NULL;
        PyObject *pair = from != NULL ? PyTuple_Pack(2, word, from) : NULL;
        if (pair == NULL || PyList_Append(list, pair) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
        Py_XDECREF(from);
        Py_XDECREF(word);
    }
    return list;
}

static PyObject *gradient(PyObject *module, PyObject *arguments)
{
    tly_py_state *s = PyModule_GetState(module);
    PyObject *word = NULL;
    const char *wrt = NULL;
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    size_t count = 0;
    if (!PyArg_ParseTuple(arguments, "Os:_gradient", &word, &wrt) ||
        tly_py_parse(s, word, &d) != 0) {
        return NULL;
    }
    tally_gradient_step *steps = PyMem_Calloc(TALLY_GRADIENT_MAX, sizeof *steps);
    if (steps == NULL) {
        return PyErr_NoMemory();
    }
    steps[0].size = sizeof *steps;
    const tally_status status = tally_gradient(&d, tly_py_source_of(wrt), steps, TALLY_GRADIENT_MAX,
                                               &count, &error);
    PyObject *list = status == TALLY_OK ? steps_as_list(s, steps, count) : tly_py_raise(s, &error);
    PyMem_Free(steps);
    return list;
}

static PyMethodDef functions[] = {
    { "_describe", describe, METH_O,
      "_describe(word)\n--\n\nThe canonical word, and the name of its result's dtype." },
    { "_gradient", gradient, METH_VARARGS,
      "_gradient(word, wrt)\n--\n\n"
      "The words that compute the gradient with respect to 'x', an operand's letter or "
      "'carry_in',\n"
      "as pairs of a word and its sources: those of the input, of operands, of offsets and of\n"
      "states. A source is 'x', 'g', 'y', a letter, 'offsets', 'carry_in', 'gcarry', or the "
      "number\n"
      "of an earlier word." },
    { NULL, NULL, 0, NULL },
};

int tly_py_add_words(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
