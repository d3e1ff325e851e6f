/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the type tally.Kernel. */
#ifndef TLY_PY_KERNEL_H
#define TLY_PY_KERNEL_H

#include "view.h"

typedef struct tly_py_kernel {
    PyObject_HEAD tally_kernel *kernel; /* NULL while it is being made */
    tally_descriptor d;
    PyObject *device, *plan; /* None, or text */
    PyObject *module;
} tly_py_kernel;

static inline tly_py_kernel *tly_py_kernel_of(PyObject *self)
{
    return (tly_py_kernel *)(void *)self;
}

/* The tensors of a kernel. */
enum {
    TLY_PY_TENSOR_IN,
    TLY_PY_TENSOR_OUT,
    TLY_PY_TENSOR_A,
    TLY_PY_TENSOR_OFFSETS = TLY_PY_TENSOR_A + TALLY_MAX_OPERANDS,
    TLY_PY_TENSOR_CARRY_IN,
    TLY_PY_TENSOR_CARRY_OUT,
    TLY_PY_TENSOR_COUNT
};

extern const char *const tly_py_tensor_names[TLY_PY_TENSOR_COUNT];

/* What a word says of a tensor. An operand has size 1 where it does not extend. */
typedef struct tly_py_wanted {
    int is_there;
    tly_py_shape shape;
    const int64_t *strides; /* NULL: packed */
    int64_t offset;         /* with strides: elements from the pointer to the first */
} tly_py_wanted;

/* tensors.c: what a word says of a tensor; -1 with an exception. */
int tly_py_want(tly_py_state *s, const tally_descriptor *d, int tensor, tly_py_wanted *w);

/* kernel_call.c: views what was given for a tensor, and compares it with what a word says. `*at`
 * receives the pointer for a run. 0, and tly_py_view_end follows; or -1 with an exception. */
int tly_py_take_tensor(tly_py_state *s, tly_py_view *v, PyObject *given, const char *name,
                       int tensor, const tly_py_wanted *w, void **at);

/* words.c: parses a word, and prints a descriptor as one. -1, NULL: with an exception. */
int tly_py_parse(tly_py_state *s, PyObject *word, tally_descriptor *d);
PyObject *tly_py_printed(tly_py_state *s, const tally_descriptor *d);

/* words.c: the tally_source of a name; TALLY_SOURCE_NONE: there is none. */
tally_source tly_py_source_of(const char *name);

/* kernel_call.c: kernel(x, out=None, *, threads=None, **buffers). */
PyObject *tly_py_kernel_call(PyObject *self, PyObject *args, PyObject *options);

#endif
