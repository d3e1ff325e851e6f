/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for a result that a namespace takes over by from_dlpack, such as JAX's or that of
 * array-api-strict. It is aligned as JAX wants it, which copies what is not.
 */
#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* An object of the type _Memory. */
typedef struct memory {
    PyObject_HEAD void *data;
    tly_py_shape shape;
} memory;

/* What a consumer holds: the tensor, its sizes, and a reference to the memory. */
typedef struct lent {
    dl_managed versioned;
    dl_managed_old old;
    int64_t sizes[TALLY_MAX_RANK + 1], strides[TALLY_MAX_RANK + 1];
} lent;

static void give_back(PyObject *owner)
{
    PyGILState_STATE state = PyGILState_Ensure(); /* a consumer may be on any thread */
    Py_DECREF(owner);
    PyGILState_Release(state);
}

static void delete_versioned(dl_managed *m)
{
    PyObject *owner = m->owner;
    free(m);
    give_back(owner);
}

static void delete_old(dl_managed_old *m)
{
    PyObject *owner = m->owner;
    free((char *)m - offsetof(lent, old));
    give_back(owner);
}

/* Destroys the tensor of a capsule that no consumer has taken. */
static void forget_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        delete_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        delete_old(PyCapsule_GetPointer(capsule, "dltensor"));
    }
}

static dl_tensor describe(const memory *m, lent *l)
{
    const tly_py_shape *shape = &m->shape;
    int64_t step = 1;
    memcpy(l->sizes, shape->sizes, sizeof l->sizes);
    for (int i = shape->rank - 1; i >= 0; i--) {
        l->strides[i] = step;
        step *= shape->sizes[i] > 0 ? shape->sizes[i] : 1;
    }
    return (dl_tensor){ .data = m->data,
                        .device_type = DL_CPU,
                        .ndim = shape->rank,
                        .dtype = tly_py_dl_of(shape->dtype),
                        .shape = l->sizes,
                        .strides = l->strides };
}

/* Consumers of DLPack 1 name the versions that they know. */
static int wants_version(PyObject *options)
{
    PyObject *most = options != NULL ? PyDict_GetItemString(options, "max_version") : NULL;
    return most != NULL && PyTuple_Check(most) && PyTuple_Size(most) > 0 &&
           PyLong_AsLong(PyTuple_GetItem(most, 0)) >= 1;
}

static PyObject *dlpack(PyObject *self, PyObject *arguments, PyObject *options)
{
    (void)arguments;
    lent *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return PyErr_NoMemory();
    }
    l->versioned = (dl_managed){ .version = { 1, 0 },
                                 .owner = self,
                                 .deleter = delete_versioned,
                                 .tensor = describe((const memory *)(const void *)self, l) };
    l->old = (dl_managed_old){ l->versioned.tensor, self, delete_old };
    PyObject *capsule = wants_version(options)
                            ? PyCapsule_New(&l->versioned, "dltensor_versioned", forget_capsule)
                            : PyCapsule_New(&l->old, "dltensor", forget_capsule);
    if (capsule == NULL) {
        free(l);
        return NULL;
    }
    Py_INCREF(self);
    return capsule;
}

static PyObject *dlpack_device(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    free(((memory *)(void *)self)->data);
    release(self);
    Py_DECREF((PyObject *)type);
}

/* NULL also if there can be no so many bytes, as of an input that is repeated by strides of 0. */
static void *allocate_for(const tly_py_shape *shape)
{
    const int64_t most = INT64_MAX / 16;
    int64_t bytes = tly_py_bytes(shape->dtype);
    for (int i = 0; i < shape->rank; i++) {
        const int64_t size = shape->sizes[i];
        if (size > 0 && bytes > most / size) {
            return NULL;
        }
        bytes *= size;
    }
    return aligned_alloc(ALIGNMENT, ((size_t)bytes / ALIGNMENT + 1) * ALIGNMENT);
}

PyObject *tly_py_memory_new(tly_py_state *s, const tly_py_shape *shape, void **data)
{
    allocfunc allocate = (allocfunc)(uintptr_t)PyType_GetSlot(s->memory, Py_tp_alloc);
    PyObject *self = allocate(s->memory, 0);
    if (self == NULL) {
        return NULL;
    }
    memory *m = (memory *)(void *)self;
    m->shape = *shape;
    m->data = allocate_for(shape);
    if (m->data == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    *data = m->data;
    return self;
}

PyObject *tly_py_namespace_take(tly_py_state *s, PyObject *like, PyObject *made)
{
    PyObject *method = PyObject_GetAttr(like, s->names[TLY_PY_NAMESPACE]);
    PyObject *space = method != NULL ? PyObject_CallNoArgs(method) : NULL;
    PyObject *take = space != NULL ? PyObject_GetAttr(space, s->names[TLY_PY_FROM_DLPACK]) : NULL;
    PyObject *result = take != NULL ? PyObject_CallFunctionObjArgs(take, made, NULL) : NULL;
    Py_XDECREF(take);
    Py_XDECREF(space);
    Py_XDECREF(method);
    return result;
}

PyObject *tly_py_torch_take(PyObject *made)
{
    PyObject *torch = PyImport_ImportModule("torch");
    PyObject *result = torch != NULL ? PyObject_CallMethod(torch, "from_dlpack", "O", made) : NULL;
    Py_XDECREF(torch);
    return result;
}

static PyMethodDef methods[] = {
    { "__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_VARARGS | METH_KEYWORDS, NULL },
    { "__dlpack_device__", dlpack_device, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_dealloc, (void *)(uintptr_t)dealloc },
    { Py_tp_methods, methods },
    { 0, NULL },
};

static PyType_Spec spec = {
    .name = "tally._tally._Memory",
    .basicsize = sizeof(memory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int tly_py_add_memory(PyObject *module, tly_py_state *s)
{
    s->memory = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return s->memory != NULL ? 0 : -1;
}
