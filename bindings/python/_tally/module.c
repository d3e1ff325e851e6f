/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally._tally: the module and its state. Importing it makes no context, starts no thread and
 * imports nothing: that happens when the first array is there.
 */
#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

/* The first number of OMP_NUM_THREADS, which may be a list; 0 if there is none. */
static int32_t omp_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    const char *own = getenv("TALLY_THREADS");
    const long number = text != NULL && (own == NULL || *own == 0) ? strtol(text, NULL, 10) : 0;
    return number > 0 && number <= 1024 ? (int32_t)number : 0;
}

tally_context *tly_py_context(tly_py_state *s)
{
    if (s->context == NULL) {
        tally_error error = TALLY_ERROR_INIT;
        const int32_t threads = omp_threads();
        if (tally_context_shared(&s->context, &error) != TALLY_OK) {
            tly_py_raise(s, &error);
            return NULL;
        }
        if (threads > 0) {
            (void)tally_context_set_threads(s->context, threads, NULL);
        }
    }
    return s->context;
}

static PyObject *stats(PyObject *module, PyObject *none)
{
    (void)none;
    tally_context *context = tly_py_context(PyModule_GetState(module));
    tally_stats t = TALLY_STATS_INIT;
    if (context == NULL) {
        return NULL;
    }
    tally_context_stats(context, &t);
    return Py_BuildValue("{sKsKsKsKsKsK}", "compiled", t.compiled, "hits", t.hits, "cached",
                         t.cached, "evicted", t.evicted, "loaded", t.loaded, "quick", t.quick);
}

static PyObject *set_threads(PyObject *module, PyObject *number)
{
    tly_py_state *s = PyModule_GetState(module);
    tally_context *context = tly_py_context(s);
    tally_error error = TALLY_ERROR_INIT;
    int overflow = 0;
    const long long n = context != NULL ? PyLong_AsLongLongAndOverflow(number, &overflow) : -1;
    if (PyErr_Occurred()) {
        return NULL;
    }
    const int32_t wanted = overflow > 0 || n > INT32_MAX ? INT32_MAX : n < 0 ? -1 : (int32_t)n;
    if (tally_context_set_threads(context, wanted, &error) != TALLY_OK) {
        return tly_py_raise(s, &error);
    }
    Py_RETURN_NONE;
}

static PyObject *get_threads(PyObject *module, PyObject *none)
{
    (void)none;
    tally_context *context = tly_py_context(PyModule_GetState(module));
    return context != NULL ? PyLong_FromLong(tally_context_threads(context)) : NULL;
}

static PyStructSequence_Field device_fields[] = {
    { "name", "for people: the name of the processor, or of the level" },
    { "kind", "'cpu' or 'vulkan'" },
    { "selector", "what device= takes" },
    { "lacks", "a tuple of dtypes and features that it lacks" },
    { "runs_here", "whether kernels for it run on this machine" },
    { "is_default", "whether it is the device that 'cpu' stands for" },
    { NULL, NULL },
};

static PyStructSequence_Desc device_desc = { "tally.Device", "One device that device= can name.",
                                             device_fields, 6 };

static PyObject *lacks_of(const tally_device *d)
{
    PyObject *text = PyUnicode_FromString(d->lacks);
    PyObject *list = text != NULL ? PyUnicode_Split(text, NULL, -1) : NULL;
    PyObject *made = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    Py_XDECREF(text);
    return made;
}

static PyObject *device_of(const tly_py_state *s, const tally_device *d)
{
    PyObject *made = PyStructSequence_New(s->device);
    PyObject *fields[] = { PyUnicode_FromString(d->name),     PyUnicode_FromString(d->kind),
                           PyUnicode_FromString(d->selector), lacks_of(d),
                           PyBool_FromLong(d->runs_here),     PyBool_FromLong(d->is_default) };
    for (int i = 0; i < 6; i++) {
        if (made == NULL || fields[i] == NULL) {
            Py_CLEAR(made);
            Py_XDECREF(fields[i]);
        } else {
            PyStructSequence_SetItem(made, i, fields[i]);
        }
    }
    return made;
}

enum { MOST_DEVICES = 64 };

static PyObject *devices(PyObject *module, PyObject *none)
{
    (void)none;
    tly_py_state *s = PyModule_GetState(module);
    tally_error error = TALLY_ERROR_INIT;
    tally_device *all = calloc(MOST_DEVICES, sizeof *all);
    size_t count = 0;
    if (all == NULL) {
        return PyErr_NoMemory();
    }
    all[0].size = sizeof *all;
    PyThreadState *state = tly_py_unlock(s); /* drivers may take their time */
    tally_status status = tally_devices(all, MOST_DEVICES, &count, &error);
    tly_py_lock(s, state);
    PyObject *list = status == TALLY_OK ? PyList_New(0) : tly_py_raise(s, &error);
    for (size_t i = 0; list != NULL && i < count && i < MOST_DEVICES; i++) {
        PyObject *one = device_of(s, &all[i]);
        if (one == NULL || PyList_Append(list, one) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    free(all);
    return list;
}

static PyMethodDef methods[] = {
    { "stats", stats, METH_NOARGS,
      "stats()\n--\n\nCounters of kernels: compiled, hits, cached, evicted, loaded, quick." },
    { "set_threads", set_threads, METH_O,
      "set_threads(n, /)\n--\n\nSets the most threads of calls without threads=; 0: the default." },
    { "get_threads", get_threads, METH_NOARGS,
      "get_threads()\n--\n\nThe most threads of calls without threads=." },
    { "devices", devices, METH_NOARGS,
      "devices()\n--\n\nThe devices that device= can name, CPU levels first, as tally.Device." },
    { NULL, NULL, 0, NULL },
};

/* --- the module ------------------------------------------------------------------------------- */

static int intern_names(tly_py_state *s)
{
    static const char *const texts[] = {
#define TEXT(enumerator, text) #text,
        TLY_PY_OPTIONS(TEXT) TLY_PY_NAMES(TEXT)
#undef TEXT
    };
    for (int i = 0; i < TLY_PY_NAME_COUNT; i++) {
        s->names[i] = PyUnicode_InternFromString(texts[i]);
        if (s->names[i] == NULL) {
            return -1;
        }
    }
    s->empty_tuple = PyTuple_New(0);
    return s->empty_tuple != NULL ? 0 : -1;
}

/* One libtally serves a process: that which was loaded first, by its soname. */
static int check_version(void)
{
    if (strcmp(tally_version(), TALLY_VERSION) == 0) {
        return 0;
    }
    PyErr_Format(PyExc_ImportError,
                 "this is Tally %s for Python, and the process has libtally %s loaded",
                 TALLY_VERSION, tally_version());
    return -1;
}

static int fill(PyObject *module)
{
    tly_py_state *s = PyModule_GetState(module);
    if (check_version() != 0 || intern_names(s) != 0 || tly_py_add_errors(module, s) != 0 ||
        tly_py_add_memory(module, s) != 0 || tly_py_add_operators(module) != 0 ||
        tly_py_add_kernel(module, s) != 0 || tly_py_add_gradient(module, s) != 0 ||
        tly_py_add_tensors(module) != 0 || tly_py_add_words(module) != 0 ||
        tly_py_add_torch(module) != 0 || tly_py_add_direct(module) != 0 ||
        tly_py_watch_forks(module) != 0) {
        return -1;
    }
    s->device = PyStructSequence_NewType(&device_desc);
    return s->device != NULL &&
                   PyModule_AddObjectRef(module, "Device", (PyObject *)s->device) == 0 &&
                   PyModule_AddStringConstant(module, "__version__", tally_version()) == 0
               ? 0
               : -1;
}

/* Every object of the state. */
static int traverse(PyObject *module, visitproc visit, void *arg)
{
    tly_py_state *s = PyModule_GetState(module);
    Py_VISIT(s->error);
    Py_VISIT(s->unsupported);
    Py_VISIT((PyObject *)s->kernel);
    Py_VISIT((PyObject *)s->gradient);
    Py_VISIT((PyObject *)s->device);
    Py_VISIT((PyObject *)s->memory);
    Py_VISIT(s->numpy_empty);
    Py_VISIT(s->numpy_asarray);
    Py_VISIT((PyObject *)s->numpy_ndarray);
    Py_VISIT(s->shape);
    Py_VISIT(s->torch_levels);
    Py_VISIT(s->torch_requires_grad);
    Py_VISIT(s->torch_askers);
    Py_VISIT(s->jax_config);
    for (int i = 0; i < TALLY_DTYPE_COUNT; i++) {
        Py_VISIT(s->numpy_dtypes[i]);
    }
    for (int i = 0; i < TLY_PY_TYPES; i++) {
        Py_VISIT((PyObject *)s->types[i].type);
    }
    for (int i = 0; i < TLY_PY_NAMED; i++) {
        Py_VISIT(s->named[i]);
    }
    return 0;
}

static int clear(PyObject *module)
{
    tly_py_state *s = PyModule_GetState(module);
    Py_CLEAR(s->error);
    Py_CLEAR(s->unsupported);
    Py_CLEAR(s->kernel);
    Py_CLEAR(s->gradient);
    Py_CLEAR(s->device);
    Py_CLEAR(s->memory);
    Py_CLEAR(s->numpy_empty);
    Py_CLEAR(s->numpy_asarray);
    Py_CLEAR(s->numpy_ndarray);
    Py_CLEAR(s->shape);
    Py_CLEAR(s->torch_levels);
    Py_CLEAR(s->torch_requires_grad);
    Py_CLEAR(s->torch_askers);
    Py_CLEAR(s->jax_config);
    for (int i = 0; i < TALLY_DTYPE_COUNT; i++) {
        Py_CLEAR(s->numpy_dtypes[i]);
    }
    for (int i = 0; i < TLY_PY_TYPES; i++) {
        Py_CLEAR(s->types[i].type);
    }
    for (int i = 0; i < TLY_PY_NAMED; i++) {
        Py_CLEAR(s->named[i]);
    }
    for (int i = 0; i < TLY_PY_NAME_COUNT; i++) {
        Py_CLEAR(s->names[i]);
    }
    Py_CLEAR(s->empty_tuple);
    return 0;
}

static void release(void *module)
{
    (void)clear(module);
}

static PyModuleDef_Slot slots[] = { { Py_mod_exec, (void *)(uintptr_t)fill }, { 0, NULL } };

static PyModuleDef definition = { PyModuleDef_HEAD_INIT,
                                  "_tally",
                                  "Tally's core: scans and reductions of arrays. See tally.",
                                  sizeof(tly_py_state),
                                  methods,
                                  slots,
                                  traverse,
                                  clear,
                                  release };

PyMODINIT_FUNC PyInit__tally(void)
{
    return PyModuleDef_Init(&definition);
}
