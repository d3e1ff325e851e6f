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

/* kernel_call.c: kernel(x, out=None, *, threads=None, **buffers). */
PyObject *tly_py_kernel_call(PyObject *self, PyObject *args, PyObject *options);

#endif
