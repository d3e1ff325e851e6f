/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the type tally.Gradient: the kernels of a word's gradient. As with tally.Kernel, every
 * array is compared with the word before its memory is used.
 */
#include "kernel.h"

#include <string.h>

/* Of each source, the tensor of the forward word that it lies as. */
static const int lies_as[TALLY_SOURCE_OFFSETS + 1] = {
    [TALLY_SOURCE_X] = TLY_PY_TENSOR_IN,
    [TALLY_SOURCE_G] = TLY_PY_TENSOR_OUT,
    [TALLY_SOURCE_Y] = TLY_PY_TENSOR_OUT,
    [TALLY_SOURCE_A] = TLY_PY_TENSOR_A,
    [TALLY_SOURCE_B] = TLY_PY_TENSOR_A + 1,
    [TALLY_SOURCE_C] = TLY_PY_TENSOR_A + 2,
    [TALLY_SOURCE_D] = TLY_PY_TENSOR_A + 3,
    [TALLY_SOURCE_CARRY_IN] = TLY_PY_TENSOR_CARRY_IN,
    [TALLY_SOURCE_G_CARRY] = TLY_PY_TENSOR_CARRY_OUT,
    [TALLY_SOURCE_OFFSETS] = TLY_PY_TENSOR_OFFSETS,
};

enum { OUT = TALLY_SOURCE_NONE, SOURCES = TALLY_SOURCE_OFFSETS + 1 };

typedef struct gradient {
    PyObject_HEAD tally_gradient_kernel *kernel; /* NULL while it is being made */
    tally_descriptor d;                          /* of the forward word */
    tally_source wrt;
    tly_py_shape result;
    PyObject *module;
} gradient;

static gradient *gradient_of(PyObject *self)
{
    return (gradient *)(void *)self;
}

static const char *name_of(int source)
{
    return source == OUT ? "out" : tally_source_name((tally_source)source);
}

/* --- a call ----------------------------------------------------------------------------------- */

typedef struct gradient_call {
    tly_py_state *s;
    const gradient *k;
    PyObject *given[SOURCES];
    int32_t threads;
    int viewed; /* a bit for each */
    void *at[SOURCES];
    tly_py_view views[SOURCES];
} gradient_call;

static int want(const gradient_call *c, int source, tly_py_wanted *w)
{
    if (source == OUT) {
        *w = (tly_py_wanted){ .is_there = 1, .shape = c->k->result };
        return 0;
    }
    return tly_py_want(c->s, &c->k->d, lies_as[source], w);
}

/* As which tensor of a kernel it is compared: what is read as one that is read. */
static int compared_as(int source)
{
    return source == OUT                                          ? TLY_PY_TENSOR_OUT
           : source == TALLY_SOURCE_G || source == TALLY_SOURCE_Y ? TLY_PY_TENSOR_IN
           : source == TALLY_SOURCE_G_CARRY                       ? TLY_PY_TENSOR_CARRY_IN
                                                                  : lies_as[source];
}

/* What is not read is ignored: callers may pass all that they have. */
static int view_one(gradient_call *c, int source)
{
    tly_py_wanted w;
    const char *name = name_of(source);
    const int gains = tally_gradient_kernel_gains(c->k->kernel) >> source & 1;
    const int is_read = gains || (tally_gradient_kernel_reads(c->k->kernel) >> source & 1);
    const int may_be_missing = source == OUT || source == TALLY_SOURCE_CARRY_IN ||
                               source == TALLY_SOURCE_G_CARRY || gains;
    PyObject *given = c->given[source];
    if (source != OUT && source != TALLY_SOURCE_G && !is_read) {
        return 0;
    }
    if (want(c, source, &w) != 0) {
        return -1;
    }
    if (given == NULL && !may_be_missing) {
        return tly_py_fail(c->s, name, NULL,
                           "the gradient reads %s, and the call has none: pass %s=", name, name);
    }
    if (given == NULL) {
        return 0;
    }
    if (tly_py_take_tensor(c->s, &c->views[source], given, name, compared_as(source), &w,
                           &c->at[source]) != 0) {
        return -1;
    }
    c->viewed |= 1 << source;
    return 0;
}

static int run(const gradient_call *c)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_gradient_buffers b = TALLY_GRADIENT_BUFFERS_INIT;
    tally_run_options options = TALLY_RUN_OPTIONS_INIT;
    PyThreadState *state = NULL;
    options.threads = c->threads;
    b.x = c->at[TALLY_SOURCE_X];
    b.g = c->at[TALLY_SOURCE_G];
    b.y = c->at[TALLY_SOURCE_Y];
    memcpy(b.operand, &c->at[TALLY_SOURCE_A], sizeof b.operand);
    b.carry_in = c->at[TALLY_SOURCE_CARRY_IN];
    b.g_carry = c->at[TALLY_SOURCE_G_CARRY];
    b.offsets = c->at[TALLY_SOURCE_OFFSETS];
    b.out = c->at[OUT];
    if (tly_py_is_large(&c->views[TALLY_SOURCE_G].shape) || tly_py_is_large(&c->k->result)) {
        state = tly_py_unlock(c->s);
    }
    const tally_status status = tally_gradient_kernel_run(c->k->kernel, &b, &options, &error);
    if (state != NULL) {
        tly_py_lock(c->s, state);
    }
    if (status != TALLY_OK) {
        tly_py_raise(c->s, &error);
        return -1;
    }
    return 0;
}

/* A new array beside g, which every call has. */
static PyObject *result_new(gradient_call *c)
{
    tly_py_fresh f;
    const tly_py_shape *shape = &c->k->result;
    PyObject *g = c->given[TALLY_SOURCE_G];
    const tly_py_view *v = &c->views[TALLY_SOURCE_G];
    if (tly_py_fresh_make(c->s, &f, g, v, shape, shape->dtype, NULL) != 0) {
        return NULL;
    }
    c->at[OUT] = f.data;
    if (run(c) != 0) {
        Py_DECREF(f.object);
        return NULL;
    }
    return tly_py_fresh_take(c->s, &f, g, v, shape, 0);
}

static const tly_py_form form = { .name_of = name_of,
                                  .first = TALLY_SOURCE_G,
                                  .out = OUT,
                                  .named = OUT,
                                  .count = SOURCES,
                                  .least = 0,
                                  .usage = "a gradient takes g, out, and the rest",
                                  .names = "x, g, y, a, b, c, d, carry_in, gcarry, offsets" };

static PyObject *call(PyObject *self, PyObject *args, PyObject *options)
{
    gradient_call c;
    PyObject *result = NULL;
    memset(&c, 0, offsetof(gradient_call, views));
    c.k = gradient_of(self);
    c.s = PyModule_GetState(c.k->module);
    int status = tly_py_take_arguments(&form, args, options, c.given, &c.threads);
    for (int i = 0; status == 0 && i < SOURCES; i++) {
        status = view_one(&c, i);
    }
    if (status == 0 && c.given[OUT] != NULL) {
        result = run(&c) == 0 ? Py_NewRef(c.given[OUT]) : NULL;
    } else if (status == 0) {
        result = result_new(&c);
    }
    for (int i = 0; i < SOURCES; i++) {
        if (c.viewed >> i & 1) {
            tly_py_view_end(&c.views[i]);
        }
    }
    return result;
}

/* --- the object ------------------------------------------------------------------------------- */

static int make(tly_py_state *s, gradient *k, const char *device)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    tally_context *context = tly_py_context(s);
    if (context == NULL) {
        return -1;
    }
    options.device = device;
    PyThreadState *state = tly_py_unlock(s);
    tally_status status = tally_gradient_kernel_create(context, &k->d, k->wrt, &options, &k->kernel,
                                                       &error);
    tly_py_lock(s, state);
    if (status != TALLY_OK) {
        tly_py_raise_in_word(s, &error);
        return -1;
    }
    return 0;
}

/* The shape of the gradient is that of the last step's result. */
static int find_result(tly_py_state *s, gradient *k)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_dtype dtype = TALLY_DTYPE_NONE;
    size_t count = 0;
    tally_gradient_step *steps = PyMem_Calloc(TALLY_GRADIENT_MAX, sizeof *steps);
    if (steps == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    steps[0].size = sizeof *steps;
    tally_status status = tally_gradient(&k->d, k->wrt, steps, TALLY_GRADIENT_MAX, &count, &error);
    if (status == TALLY_OK) {
        status = tally_descriptor_result(&steps[count - 1].descriptor, &k->result.rank,
                                         k->result.sizes, &dtype, &error);
    }
    PyMem_Free(steps);
    if (status != TALLY_OK) {
        tly_py_raise_in_word(s, &error);
        return -1;
    }
    k->result.dtype = (int32_t)dtype;
    return 0;
}

static int is_differentiable(tally_source source)
{
    return source == TALLY_SOURCE_X || source == TALLY_SOURCE_CARRY_IN ||
           (source >= TALLY_SOURCE_A && source <= TALLY_SOURCE_D);
}

static PyObject *gradient_new(PyObject *module, PyObject *args, PyObject *options)
{
    static char *names[] = { "word", "wrt", "device", NULL };
    PyObject *word, *wrt = NULL, *device = Py_None, *held[2] = { NULL, NULL };
    const char *text = NULL, *name = "x";
    tly_py_state *s = PyModule_GetState(module);
    if (!PyArg_ParseTupleAndKeywords(args, options, "O|O$O:gradient", names, &word, &wrt,
                                     &device)) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)(uintptr_t)PyType_GetSlot(s->gradient, Py_tp_alloc);
    PyObject *self = allocate(s->gradient, 0);
    gradient *k = gradient_of(self);
    if (k != NULL) {
        k->module = Py_NewRef(module);
        int status = tly_py_parse(s, word, &k->d) == 0 &&
                             (wrt == NULL || tly_py_text(wrt, "wrt", &held[0], &name) == 0) &&
                             tly_py_text(device, "device", &held[1], &text) == 0
                         ? 0
                         : -1;
        k->wrt = status == 0 && name != NULL ? tly_py_source_of(name) : TALLY_SOURCE_NONE;
        if (status == 0 && !is_differentiable(k->wrt)) {
            status = tly_py_refuse(PyExc_ValueError, "wrt", NULL,
                                   "%R is none of x, a, b, c, d, carry_in", wrt);
        }
        if (status != 0 || find_result(s, k) != 0 || make(s, k, text) != 0) {
            Py_CLEAR(self);
        }
    }
    Py_XDECREF(held[0]);
    Py_XDECREF(held[1]);
    return self;
}

static void dealloc(PyObject *self)
{
    gradient *k = gradient_of(self);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    tally_gradient_kernel_destroy(&k->kernel);
    Py_XDECREF(k->module);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *get_word(PyObject *self, void *unused)
{
    (void)unused;
    gradient *k = gradient_of(self);
    return tly_py_printed(PyModule_GetState(k->module), &k->d);
}

static PyObject *get_wrt(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(name_of((int)gradient_of(self)->wrt));
}

static PyObject *names_of(uint32_t sources)
{
    PyObject *list = PyList_New(0);
    for (int i = TALLY_SOURCE_X; list != NULL && i < SOURCES; i++) {
        PyObject *name = sources >> i & 1 ? PyUnicode_FromString(name_of(i)) : NULL;
        if (sources >> i & 1 && (name == NULL || PyList_Append(list, name) != 0)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    PyObject *names = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return names;
}

static PyObject *get_reads(PyObject *self, void *unused)
{
    (void)unused;
    return names_of(tally_gradient_kernel_reads(gradient_of(self)->kernel));
}

static PyObject *get_gains(PyObject *self, void *unused)
{
    (void)unused;
    return names_of(tally_gradient_kernel_gains(gradient_of(self)->kernel));
}

static PyObject *get_memory(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(tally_gradient_kernel_memory(gradient_of(self)->kernel));
}

static PyObject *repr(PyObject *self)
{
    PyObject *word = get_word(self, NULL), *wrt = get_wrt(self, NULL);
    PyObject *made = word != NULL && wrt != NULL
                         ? PyUnicode_FromFormat("<tally.Gradient of %R for %U>", word, wrt)
                         : NULL;
    Py_XDECREF(word);
    Py_XDECREF(wrt);
    return made;
}

static PyGetSetDef fields[] = {
    { "word", get_word, NULL, "The canonical word whose gradient it is.", NULL },
    { "wrt", get_wrt, NULL, "The tensor that it is the gradient for.", NULL },
    { "reads", get_reads, NULL, "The names of the arrays that a call needs.", NULL },
    { "gains", get_gains, NULL,
      "The names of arrays that a call need not have, but is faster with.", NULL },
    { "memory", get_memory, NULL,
      "Bytes that a call with what it reads takes between its steps, on each thread.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static const char gradient_doc[] =
    "The kernels of tally.gradient. Called with the gradient g of the word's result, and with the\n"
    "arrays that `reads` names, it computes the gradient of the word's tensor:\n"
    "gradient(g, out=None, *, threads=None, **arrays). Arrays are x, y (the result), a, b, c, d,\n"
    "offsets, carry_in and gcarry (the gradient of carry_out). What is not read is ignored. Where\n"
    "`gains` names y, a call that has it is faster.";

static PyType_Slot slots[] = {
    { Py_tp_dealloc, (void *)(uintptr_t)dealloc },  { Py_tp_repr, (void *)(uintptr_t)repr },
    { Py_tp_call, (void *)(uintptr_t)call },        { Py_tp_getset, fields },
    { Py_tp_doc, (void *)(uintptr_t)gradient_doc }, { 0, NULL },
};

static PyType_Spec spec = {
    .name = "tally.Gradient",
    .basicsize = sizeof(gradient),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

static PyMethodDef functions[] = {
    { "gradient", (PyCFunction)(void (*)(void))gradient_new, METH_VARARGS | METH_KEYWORDS,
      "gradient(word, wrt='x', *, device=None)\n--\n\n"
      "Makes the kernels that compute the gradient of a word.\n\n"
      "wrt: the tensor that it is the gradient for: 'x', an operand's letter, or 'carry_in'.\n"
      "device: as of tally.kernel.\n\n"
      ">>> dx = tally.gradient('cumprod:f32:4:axis=0')\n"
      ">>> dx(numpy.ones(4, 'f4'), x=numpy.array([2, 0, 3, 5], 'f4'))\n"
      "array([ 1., 38.,  0.,  0.], dtype=float32)" },
    { NULL, NULL, 0, NULL },
};

int tly_py_add_gradient(PyObject *module, tly_py_state *s)
{
    s->gradient = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return s->gradient != NULL &&
                   PyModule_AddObjectRef(module, "Gradient", (PyObject *)s->gradient) == 0 &&
                   PyModule_AddFunctions(module, functions) == 0
               ? 0
               : -1;
}
