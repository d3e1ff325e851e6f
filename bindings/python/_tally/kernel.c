/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels by words: everything that a word can say, operands, segments and carries included. The
 * shapes of all tensors are the word's, so each array is compared with what the word says before
 * its memory is used.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

/* --- words ----------------------------------------------------------------------------------- */

/* What words are taken with. */
typedef struct request {
    tally_descriptor d;
    tally_kernel_options options;
    PyObject *held[4]; /* word, device, plan, profile */
} request;

static void forget(request *r)
{
    for (int i = 0; i < 4; i++) {
        Py_CLEAR(r->held[i]);
    }
}

/* Parses the word; -1 with an exception, and nothing is held. */
static int take(tly_py_state *s, request *r, PyObject *word, PyObject *device, PyObject *plan,
                PyObject *profile)
{
    const char *text;
    tally_error error = TALLY_ERROR_INIT;
    memset(r, 0, sizeof *r);
    r->d.size = sizeof r->d;
    r->options.size = sizeof r->options;
    if (!PyUnicode_Check(word)) {
        return tly_py_refuse(PyExc_TypeError, "word", NULL, "%R is no text", word);
    }
    if (tly_py_text(word, "word", &r->held[0], &text) != 0 ||
        tly_py_text(device, "device", &r->held[1], &r->options.device) != 0 ||
        tly_py_text(plan, "plan", &r->held[2], &r->options.plan) != 0 ||
        tly_py_text(profile, "profile", &r->held[3], &r->options.profile) != 0) {
        forget(r);
        return -1;
    }
    if (tally_descriptor_parse(text, &r->d, &error) != TALLY_OK) {
        tly_py_raise(s, &error);
        forget(r);
        return -1;
    }
    return 0;
}

/* --- inspection ------------------------------------------------------------------------------- */

/* Text of a stage, gathered without the interpreter's lock. */
typedef struct gathered {
    char *bytes;
    size_t count, capacity;
} gathered;

static int gather(void *user, const char *text, size_t bytes)
{
    gathered *g = user;
    if (bytes > g->capacity - g->count) {
        const size_t capacity = 2 * (g->capacity + bytes) + 4096;
        char *wider = realloc(g->bytes, capacity);
        if (wider == NULL) {
            return -1;
        }
        g->bytes = wider;
        g->capacity = capacity;
    }
    memcpy(g->bytes + g->count, text, bytes);
    g->count += bytes;
    return 0;
}

static const char *const stages[] = { "word",   "plan",    "kir",        "llvm",      "asm",
                                      "spirv",  "spvasm",  "llvm_lines", "asm_lines", "reasons",
                                      "launch", "choices", "order" };

static int stage_of(PyObject *given)
{
    for (int i = 0; i < (int)(sizeof stages / sizeof stages[0]); i++) {
        if (given == NULL ? i == TALLY_STAGE_PLAN
                          : PyUnicode_Check(given) &&
                                PyUnicode_CompareWithASCIIString(given, stages[i]) == 0) {
            return i;
        }
    }
    return tly_py_refuse(
        PyExc_ValueError, "stage", NULL,
        "%R is none of word, plan, kir, llvm, asm, spirv, spvasm, reasons, launch, "
        "choices, order",
        given);
}

static PyObject *inspect_request(tly_py_state *s, const request *r, int stage)
{
    gathered g = { NULL, 0, 0 };
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = tly_py_context(s);
    if (context == NULL) {
        return NULL;
    }
    PyThreadState *state = tly_py_unlock(s);
    tally_status status = tally_inspect(context, &r->d, &r->options, (tally_stage)stage, gather, &g,
                                        &error);
    tly_py_lock(s, state);
    PyObject *made = status != TALLY_OK ? tly_py_raise_in_word(s, &error)
                     : stage == TALLY_STAGE_SPIRV
                         ? PyBytes_FromStringAndSize(g.bytes, (Py_ssize_t)g.count)
                         : PyUnicode_FromStringAndSize(g.bytes, (Py_ssize_t)g.count);
    free(g.bytes);
    return made;
}

static PyObject *inspect(PyObject *module, PyObject *args, PyObject *options)
{
    static char *names[] = { "word", "stage", "device", "profile", "plan", NULL };
    PyObject *word, *stage = NULL, *device = NULL, *profile = NULL, *plan = NULL;
    tly_py_state *s = PyModule_GetState(module);
    request r;
    if (!PyArg_ParseTupleAndKeywords(args, options, "O|O$OOO:inspect", names, &word, &stage,
                                     &device, &profile, &plan)) {
        return NULL;
    }
    const int which = stage_of(stage);
    if (which < 0 || take(s, &r, word, device, plan, profile) != 0) {
        return NULL;
    }
    PyObject *made = inspect_request(s, &r, which);
    forget(&r);
    return made;
}

static PyObject *kernel_inspect(PyObject *self, PyObject *stage)
{
    tly_py_kernel *k = tly_py_kernel_of(self);
    tly_py_state *s = PyModule_GetState(k->module);
    request r = { .d = k->d, .options = { .size = sizeof r.options } };
    const int which = stage_of(stage);
    if (which < 0 || tly_py_text(k->device, "device", &r.held[1], &r.options.device) != 0 ||
        tly_py_text(k->plan, "plan", &r.held[2], &r.options.plan) != 0) {
        forget(&r);
        return NULL;
    }
    PyObject *made = inspect_request(s, &r, which);
    forget(&r);
    return made;
}

/* --- making ahead ----------------------------------------------------------------------------- */

static int warm_one(tly_py_state *s, PyObject *word, PyObject *device)
{
    request r;
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = tly_py_context(s);
    if (context == NULL || take(s, &r, word, device, NULL, NULL) != 0) {
        return -1;
    }
    PyThreadState *state = tly_py_unlock(s);
    tally_status status = tally_context_warm(context, &r.d, 1, &r.options, &error);
    tly_py_lock(s, state);
    forget(&r);
    if (status != TALLY_OK) {
        tly_py_raise_in_word(s, &error);
        return -1;
    }
    return PyErr_CheckSignals();
}

static PyObject *warm(PyObject *module, PyObject *args, PyObject *options)
{
    static char *names[] = { "words", "device", NULL };
    PyObject *words, *device = NULL;
    tly_py_state *s = PyModule_GetState(module);
    if (!PyArg_ParseTupleAndKeywords(args, options, "O|$O:warm", names, &words, &device)) {
        return NULL;
    }
    if (PyUnicode_Check(words)) { /* not its letters */
        return warm_one(s, words, device) == 0 ? Py_NewRef(Py_None) : NULL;
    }
    PyObject *each = PyObject_GetIter(words), *word;
    int status = each != NULL ? 0 : -1;
    while (status == 0 && (word = PyIter_Next(each)) != NULL) {
        status = warm_one(s, word, device);
        Py_DECREF(word);
    }
    Py_XDECREF(each);
    return status == 0 && !PyErr_Occurred() ? Py_NewRef(Py_None) : NULL;
}

/* --- kernels ---------------------------------------------------------------------------------- */

typedef PyObject *(*raiser)(tly_py_state *s, const tally_error *error);

static PyObject *make_kernel(PyObject *module, PyObject *args, PyObject *options, raiser fail)
{
    static char *names[] = { "word", "device", "plan", NULL };
    PyObject *word, *device = Py_None, *plan = Py_None;
    tly_py_state *s = PyModule_GetState(module);
    tally_context *context = tly_py_context(s);
    tally_error error = TALLY_ERROR_INIT;
    request r;
    if (context == NULL ||
        !PyArg_ParseTupleAndKeywords(args, options, "O|$OO:kernel", names, &word, &device, &plan) ||
        take(s, &r, word, device, plan, NULL) != 0) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)(uintptr_t)PyType_GetSlot(s->kernel, Py_tp_alloc);
    PyObject *self = allocate(s->kernel, 0);
    tly_py_kernel *k = tly_py_kernel_of(self);
    if (k != NULL) {
        k->d = r.d;
        k->device = Py_NewRef(device);
        k->plan = Py_NewRef(plan);
        k->module = Py_NewRef(module);
        PyThreadState *state = tly_py_unlock(s);
        tally_status status = tally_kernel_create(context, &k->d, &r.options, &k->kernel, &error);
        tly_py_lock(s, state);
        if (status != TALLY_OK) {
            fail(s, &error);
            Py_CLEAR(self);
        }
    }
    forget(&r);
    return self;
}

static PyObject *kernel(PyObject *module, PyObject *args, PyObject *options)
{
    return make_kernel(module, args, options, tly_py_raise_in_word);
}

static PyObject *kernel_of_call(PyObject *module, PyObject *args, PyObject *options)
{
    return make_kernel(module, args, options, tly_py_raise);
}

static void dealloc(PyObject *self)
{
    tly_py_kernel *k = tly_py_kernel_of(self);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    tally_kernel_destroy(&k->kernel);
    Py_XDECREF(k->device);
    Py_XDECREF(k->plan);
    Py_XDECREF(k->module);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *get_word(PyObject *self, void *unused)
{
    (void)unused;
    tly_py_kernel *k = tly_py_kernel_of(self);
    tally_error error = TALLY_ERROR_INIT;
    char text[TALLY_WORD_MAX];
    return tally_kernel_word(k->kernel, text, sizeof text, NULL, &error) == TALLY_OK
               ? PyUnicode_FromString(text)
               : tly_py_raise(PyModule_GetState(k->module), &error);
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    tly_py_kernel *k = tly_py_kernel_of(self);
    return k->device != Py_None ? Py_NewRef(k->device) : PyUnicode_FromString("cpu");
}

static PyObject *repr(PyObject *self)
{
    PyObject *word = get_word(self, NULL), *device = get_device(self, NULL);
    PyObject *made = word != NULL && device != NULL
                         ? PyUnicode_FromFormat("<tally.Kernel %R for %U>", word, device)
                         : NULL;
    Py_XDECREF(word);
    Py_XDECREF(device);
    return made;
}

static PyObject *inspect_method(PyObject *self, PyObject *args, PyObject *options)
{
    static char *names[] = { "stage", NULL };
    PyObject *stage = NULL;
    return PyArg_ParseTupleAndKeywords(args, options, "|O:inspect", names, &stage)
               ? kernel_inspect(self, stage)
               : NULL;
}

static PyMethodDef kernel_methods[] = {
    { "inspect", (PyCFunction)(void (*)(void))inspect_method, METH_VARARGS | METH_KEYWORDS,
      "inspect($self, stage='plan')\n--\n\nA stage of this kernel; see tally.inspect." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef kernel_fields[] = {
    { "word", get_word, NULL, "The canonical word.", NULL },
    { "device", get_device, NULL, "What device= was; 'cpu' by default.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static const char kernel_doc[] =
    "A kernel of tally.kernel. Called with the arrays that its word names, it computes:\n"
    "kernel(x, out=None, *, threads=None, **buffers). The buffers are a, b, c, d, offsets,\n"
    "carry_in and carry_out. Shapes and dtypes are the word's; sizes of 1 may be left out.";

static PyType_Slot kernel_slots[] = {
    { Py_tp_dealloc, (void *)(uintptr_t)dealloc },
    { Py_tp_repr, (void *)(uintptr_t)repr },
    { Py_tp_call, (void *)(uintptr_t)tly_py_kernel_call },
    { Py_tp_methods, kernel_methods },
    { Py_tp_getset, kernel_fields },
    { Py_tp_doc, (void *)(uintptr_t)kernel_doc },
    { 0, NULL },
};

static PyType_Spec kernel_spec = {
    .name = "tally.Kernel",
    .basicsize = sizeof(tly_py_kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = kernel_slots,
};

static PyMethodDef functions[] = {
    { "kernel", (PyCFunction)(void (*)(void))kernel, METH_VARARGS | METH_KEYWORDS,
      "kernel(word, *, device=None, plan=None)\n--\n\nMakes the kernel of a word.\n\n"
      "device: 'cpu', a CPU level such as 'cpu:x86-64-v3', or a Vulkan device.\n"
      "plan: choices to force, such as 'unroll=1'.\n\n"
      ">>> k = tally.kernel('cumsum:f32:4:axis=0,a=f32,map=x*a')\n"
      ">>> k(numpy.ones(4, 'f4'), a=numpy.arange(4, dtype='f4'))\n"
      "array([0., 1., 3., 6.], dtype=float32)" },
    { "_kernel", (PyCFunction)(void (*)(void))kernel_of_call, METH_VARARGS | METH_KEYWORDS,
      "_kernel(word, *, device=None, plan=None)\n--\n\n"
      "As kernel, of a word that a function made of its options: errors do not speak of words." },
    { "inspect", (PyCFunction)(void (*)(void))inspect, METH_VARARGS | METH_KEYWORDS,
      "inspect(word, stage='plan', *, device=None, profile=None, plan=None)\n--\n\n"
      "Shows a stage of a kernel: word, plan, kir, llvm, asm, spirv (bytes), spvasm, reasons,\n"
      "launch, choices or order.\n\n"
      "device, plan: as of tally.kernel.\n"
      "profile: the text of a profile, which stands for a Vulkan device.\n\n"
      ">>> tally.inspect('cumsum:f32:4:axis=-1', 'word')\n'cumsum:f32:4:axis=0\\n'" },
    { "warm", (PyCFunction)(void (*)(void))warm, METH_VARARGS | METH_KEYWORDS,
      "warm(words, *, device=None)\n--\n\nMakes the kernels of words, so that later calls find "
      "them.\n\ndevice: as of tally.kernel.\n\n>>> tally.warm(['cumsum:f32:64x64:axis=1'])" },
    { NULL, NULL, 0, NULL },
};

int tly_py_add_kernel(PyObject *module, tly_py_state *s)
{
    s->kernel = (PyTypeObject *)PyType_FromModuleAndSpec(module, &kernel_spec, NULL);
    return s->kernel != NULL &&
                   PyModule_AddObjectRef(module, "Kernel", (PyObject *)s->kernel) == 0 &&
                   PyModule_AddFunctions(module, functions) == 0
               ? 0
               : -1;
}
