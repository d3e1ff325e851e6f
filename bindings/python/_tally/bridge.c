/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of torch that are more than their elements. DLPack drops gradients and the tangents of
 * forward mode, and reads a lazily negated tensor as if it were none, all without a word. Such
 * tensors go to tally.torch, whose function `plain(name, x, options)` knows torch's ways. Where
 * that module is missing they are refused.
 */
#include "call.h"

int tly_py_truth(PyObject *value)
{
    const int is = value == NULL ? -1 : value == Py_False ? 0 : PyObject_IsTrue(value);
    if (is < 0) { /* clearing no error takes 3 ns, and a call asks up to nine times */
        PyErr_Clear();
    }
    Py_XDECREF(value);
    return is != 0;
}

int tly_py_has_tangents(tly_py_state *s)
{
    if (s->torch_levels == NULL) {
        PyObject *module = PyImport_ImportModule("torch.autograd.forward_ad");
        s->torch_levels = Py_NewRef(module != NULL ? PyModule_GetDict(module) : Py_None);
        PyErr_Clear();
        Py_XDECREF(module);
    }
    PyObject *level = s->torch_levels != Py_None /* borrowed */
                          ? PyDict_GetItemWithError(s->torch_levels, s->names[TLY_PY_CURRENT_LEVEL])
                          : NULL;
    int overflow = 0; /* the name is torch's own, and may go, or be something else */
    return level != NULL && PyLong_CheckExact(level) &&
           PyLong_AsLongAndOverflow(level, &overflow) >= 0;
}

/* What Tensor.requires_grad and Tensor.is_neg call: looking up is a tenth of a small call. */
static void look_up(tly_py_state *s, PyObject *x)
{
    PyObject *descriptor = PyObject_GetAttr((PyObject *)Py_TYPE(x), s->names[TLY_PY_REQUIRES_GRAD]);
    PyObject *method = PyObject_GetAttr(x, s->names[TLY_PY_IS_NEG]);
    descrgetfunc get = descriptor != NULL ? (descrgetfunc)(uintptr_t)PyType_GetSlot(
                                                Py_TYPE(descriptor), Py_tp_descr_get)
                                          : NULL;
    if (get != NULL && method != NULL && PyCFunction_Check(method) &&
        PyCFunction_GetFlags(method) == METH_NOARGS) {
        s->torch_requires_grad = Py_NewRef(descriptor);
        s->torch_get = get;
        s->torch_is_neg = PyCFunction_GetFunction(method);
    }
    PyErr_Clear();
    Py_XDECREF(descriptor);
    Py_XDECREF(method);
}

int tly_py_wants_gradient(tly_py_state *s, PyObject *x)
{
    if (s->torch_requires_grad == NULL) {
        look_up(s, x);
    }
    return tly_py_truth(s->torch_requires_grad != NULL
                            ? s->torch_get(s->torch_requires_grad, x, (PyObject *)Py_TYPE(x))
                            : PyObject_GetAttr(x, s->names[TLY_PY_REQUIRES_GRAD]));
}

int tly_py_is_negated(tly_py_state *s, PyObject *x)
{
    if (s->torch_requires_grad == NULL) {
        look_up(s, x);
    }
    return tly_py_truth(s->torch_requires_grad != NULL
                            ? s->torch_is_neg(x, NULL)
                            : PyObject_CallMethodObjArgs(x, s->names[TLY_PY_IS_NEG], NULL));
}

int tly_py_is_more(tly_py_state *s, PyObject *x, tly_py_kind kind)
{
    return kind == TLY_PY_KIND_TORCH ? tly_py_wants_gradient(s, x) || tly_py_is_negated(s, x)
                                     : kind == TLY_PY_KIND_TORCH_OTHER;
}

int tly_py_needs_bridge(tly_py_state *s, PyObject *x, tly_py_kind kind)
{
    return tly_py_is_more(s, x, kind) || (kind == TLY_PY_KIND_TORCH && tly_py_has_tangents(s));
}

static PyObject *options_of(const tly_py_call *c)
{
    PyObject *options = PyDict_New();
    for (int i = 0; options != NULL && i < TLY_PY_OPTION_COUNT; i++) {
        if (c->option[i] != NULL && PyDict_SetItem(options, c->s->names[i], c->option[i]) != 0) {
            Py_CLEAR(options);
        }
    }
    return options;
}

static PyObject *ask(const tly_py_call *c, PyObject *bridge)
{
    PyObject *options = options_of(c), *name = PyUnicode_FromString(c->op->name);
    PyObject *plain = PyObject_GetAttrString(bridge, "plain");
    PyObject *result = options != NULL && name != NULL && plain != NULL
                           ? PyObject_CallFunctionObjArgs(plain, name, c->x, options, NULL)
                           : NULL;
    Py_XDECREF(plain);
    Py_XDECREF(name);
    Py_XDECREF(options);
    return result;
}

/* tally.torch; NULL, and no exception, if there is none. */
static PyObject *import_bridge(void)
{
    PyObject *bridge = PyImport_ImportModule("tally.torch");
    if (bridge == NULL && PyErr_ExceptionMatches(PyExc_ImportError)) {
        PyErr_Clear();
    }
    return bridge;
}

void tly_py_examine(tly_py_state *s, PyObject *x, const char *field)
{
    PyObject *type, *value, *trace;
    const int kind = tly_py_type_of(s, x)->kind;
    if (kind != TLY_PY_KIND_TORCH && kind != TLY_PY_KIND_TORCH_OTHER) {
        return;
    }
    PyErr_Fetch(&type, &value, &trace);
    PyObject *bridge = import_bridge();
    PyObject *none = bridge != NULL ? PyObject_CallMethod(bridge, "examine", "Os", x, field) : NULL;
    Py_XDECREF(bridge);
    Py_XDECREF(none);
    if (!PyErr_Occurred()) {
        PyErr_Restore(type, value, trace);
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

PyObject *tly_py_bridge(const tly_py_call *c)
{
    PyObject *bridge = import_bridge(), *result = NULL;
    if (bridge != NULL) {
        result = ask(c, bridge);
        Py_DECREF(bridge);
    } else if (!PyErr_Occurred()) {
        tly_py_fail(c->s, "in", "x.detach().resolve_neg()",
                    "the tensor has a gradient, a tangent or a negative bit, or is of a subclass, "
                    "which the result would lack");
    }
    return result;
}

PyObject *tly_py_bridge_refused(const tly_py_call *c)
{
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_RuntimeError) && !PyErr_ExceptionMatches(PyExc_BufferError)) {
        return NULL;
    }
    PyErr_Fetch(&type, &value, &trace);
    PyObject *bridge = import_bridge();
    if (bridge == NULL) {
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    PyObject *result = ask(c, bridge);
    Py_DECREF(bridge);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}
