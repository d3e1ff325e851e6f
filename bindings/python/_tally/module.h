/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the extension's files share: the state of the module, which holds every Python object that
 * outlives a call, and the functions that one file has for another. The extension is built for the
 * limited API of CPython 3.11, so that one file serves it and all later versions.
 *
 *   call.c     an operator's call: options, descriptor, result, run
 *   table.c    which operator is called by which name, with which options
 *   dtypes.c   what dtypes are called, and which one a result has
 *   describe.c descriptors of calls
 *   view.c     any array as a pointer, sizes and strides
 *   dlpack.c   tensors of other libraries, by DLPack
 *   numpy.c    numpy's arrays, as results
 *   kernel.c   kernels by words
 *   gradient.c those of their gradients
 *   memory.c   memory for results of other namespaces
 *   bridge.c   tensors of torch that are more than their elements
 *   direct.c   functions of tally.torch for tensors that are not
 *   torch.c    new tensors of torch
 *   fork.c     forks
 *   tensors.c  what a word says of tensors
 *   words.c    words in full, and their gradients, for bridges
 *   arguments.c texts, numbers of threads, and the arrays of a call
 *   errors.c   exceptions
 */
#ifndef TLY_PY_MODULE_H
#define TLY_PY_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <tally.h>

/* Names that are looked up in objects, and those of options: XX(enumerator, text). */
#define TLY_PY_OPTIONS(XX) \
    XX(AXIS, axis) \
    XX(DTYPE, dtype) \
    XX(OUT, out) \
    XX(EXCLUSIVE, exclusive) \
    XX(REVERSE, reverse) \
    XX(KEEPDIMS, keepdims) \
    XX(LAST, last) \
    XX(ORDER, order) \
    XX(ACC, acc) \
    XX(NAN, nan) \
    XX(INCLUDE_INITIAL, include_initial) \
    XX(THREADS, threads) \
    XX(DEVICE, device)

#define TLY_PY_NAMES(XX) \
    XX(DLPACK, __dlpack__) \
    XX(EXCHANGE, __dlpack_c_exchange_api__) \
    XX(NAMESPACE, __array_namespace__) \
    XX(FROM_DLPACK, from_dlpack) \
    XX(ARRAY, __array__) \
    XX(ARRAY_INTERFACE, __array_interface__) \
    XX(ARRAY_WRAP, __array_wrap__) \
    XX(MODULE, __module__) \
    XX(MRO, __mro__) \
    XX(NAME, name) \
    XX(NAME_OF_TYPE, __name__) \
    XX(BYTEORDER, byteorder) \
    XX(REQUIRES_GRAD, requires_grad) \
    XX(IS_NEG, is_neg) \
    XX(CURRENT_LEVEL, _current_level)

enum {
#define TLY_PY_ENUMERATOR(enumerator, text) TLY_PY_##enumerator,
    TLY_PY_OPTIONS(TLY_PY_ENUMERATOR) TLY_PY_OPTION_COUNT,
    TLY_PY_BEFORE_NAMES = TLY_PY_OPTION_COUNT - 1,
    TLY_PY_NAMES(TLY_PY_ENUMERATOR) TLY_PY_NAME_COUNT
#undef TLY_PY_ENUMERATOR
};

struct dl_exchange;

/* What is known of a type of arrays; see view.c. */
typedef struct tly_py_type {
    PyTypeObject *type; /* NULL: this place is free */
    int kind;           /* tly_py_kind */
    const struct dl_exchange *exchange;
} tly_py_type;

enum { TLY_PY_TYPES = 16, TLY_PY_NAMED = 4 };

typedef struct tly_py_state {
    tally_context *context; /* NULL until it is needed */
    PyObject *error, *unsupported;
    PyTypeObject *kernel, *gradient, *device, *memory;
    PyObject *names[TLY_PY_NAME_COUNT];
    PyObject *empty_tuple;
    PyObject *numpy_empty, *numpy_asarray; /* NULL until numpy is needed, as is what follows */
    PyTypeObject *numpy_ndarray;
    PyObject *numpy_dtypes[TALLY_DTYPE_COUNT];
    PyObject *shape; /* the last one of a result, and what it holds; NULL: there was none */
    int32_t shape_rank;
    int64_t shape_sizes[TALLY_MAX_RANK + 1];
    PyObject *named[TLY_PY_NAMED]; /* what named a dtype lately, and which; NULL: nothing yet */
    int32_t named_dtypes[TLY_PY_NAMED];
    unsigned next_named;    /* the place that a new one takes */
    PyObject *torch_levels; /* names of torch.autograd.forward_ad, or None; NULL until then */
    PyObject *torch_requires_grad; /* Tensor.requires_grad, whose get this is; NULL until then */
    descrgetfunc torch_get;
    PyCFunction torch_is_neg; /* what Tensor.is_neg calls */
    PyObject *torch_askers;   /* functions of torch for direct.c; NULL until tally.torch is there */
    PyObject *jax_config;
    tly_py_type types[TLY_PY_TYPES];
    unsigned next_type; /* the place that a new type takes */
    int in_flight;      /* calls that gave up the interpreter's lock */
    int forking;        /* forks that wait for them */
} tly_py_state;

/* module.c: the shared context, made when it is first needed; NULL with an exception. */
tally_context *tly_py_context(tly_py_state *s);

/* fork.c: around calls of libtally without the interpreter's lock. */
PyThreadState *tly_py_unlock(tly_py_state *s);
void tly_py_lock(tly_py_state *s, PyThreadState *state);

/* fork.c: has Python say when it forks; -1 with an exception. */
int tly_py_watch_forks(PyObject *module);

/* errors.c: raises what a call of libtally failed with; always NULL. */
PyObject *tly_py_raise(tly_py_state *s, const tally_error *error);

/* The same for a call that was given a word: the hint is in a word, too. */
PyObject *tly_py_raise_in_word(tly_py_state *s, const tally_error *error);

/* errors.c: raises tally.Error with a message of the extension's own; -1. `hint` may be NULL. */
int tly_py_fail(tly_py_state *s, const char *field, const char *hint, const char *format, ...);

/* errors.c: raises TypeError or BufferError in the same form, with the attributes field and hint;
 * -1. `field` may be NULL as well. */
int tly_py_refuse(PyObject *type, const char *field, const char *hint, const char *format, ...);

/* errors.c: the types of exceptions; -1 with an exception. */
int tly_py_add_errors(PyObject *module, tly_py_state *s);

/* dtypes.c: the dtype that an object names, such as "f32", "float32", numpy.float32 or
 * torch.float32; 0 with an exception. `field` is the option's name. */
int32_t tly_py_dtype_of(tly_py_state *s, PyObject *named, const char *field);

/* dtypes.c: the dtype of elements that a buffer's format describes; 0 if Tally has none. */
int32_t tly_py_dtype_of_format(const char *format, Py_ssize_t bytes);

/* dtypes.c: the bytes of an element. */
extern const uint8_t tly_py_dtype_bytes[TALLY_DTYPE_COUNT];
static inline int64_t tly_py_bytes(int32_t dtype)
{
    return tly_py_dtype_bytes[dtype];
}

/* dtypes.c: the name that other libraries have for a dtype, such as "float32". */
const char *tly_py_dtype_name(int32_t dtype);

/* table.c: one function for each operator; -1 with an exception. */
int tly_py_add_operators(PyObject *module);

/* kernel.c: the type tally.Kernel, and the functions that take words; -1 with an exception. */
int tly_py_add_kernel(PyObject *module, tly_py_state *s);

/* gradient.c: the type tally.Gradient and its function; -1 with an exception. */
int tly_py_add_gradient(PyObject *module, tly_py_state *s);

/* tensors.c: the tensors of a word, for bridges; -1 with an exception. */
int tly_py_add_tensors(PyObject *module);

/* direct.c: what functions of tally.torch try first; -1 with an exception. */
int tly_py_add_direct(PyObject *module);

/* words.c: what bridges ask about words; -1 with an exception. */
int tly_py_add_words(PyObject *module);

/* arguments.c: the text of an argument that may be None; -1 with an exception. The text lives as
 * long as *held, which the caller releases. */
int tly_py_text(PyObject *given, const char *what, PyObject **held, const char **text);

/* arguments.c: threads, an option of runs; -1 with an exception. */
int tly_py_threads(PyObject *given, int32_t *threads);

/* How an object is called with arrays. Each has a number. */
typedef struct tly_py_form {
    const char *(*name_of)(int number);
    int first, out;            /* the two that may come by position */
    int named, count;          /* those from `named` on may come by name */
    int least;                 /* as many must come by position */
    const char *usage, *names; /* for messages: what comes by position, and what by name */
} tly_py_form;

/* arguments.c: takes the arrays of a call, by their numbers, and `threads`. What is not given stays
 * NULL. Returns -1 with an exception. */
int tly_py_take_arguments(const tly_py_form *form, PyObject *args, PyObject *options,
                          PyObject **given, int32_t *threads);

#endif
