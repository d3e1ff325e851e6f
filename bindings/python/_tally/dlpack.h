/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DLPack 1.x as far as it is used. The structs are those of its specification
 * (https://dmlc.github.io/dlpack/latest/c_api.html); they only grow, so no header of its is needed.
 */
#ifndef TLY_PY_DLPACK_H
#define TLY_PY_DLPACK_H

#include "view.h"

typedef struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
} dl_dtype;

/* Kinds of dtypes, and of devices whose memory the host reads. */
enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_BOOL = 6 };
enum { DL_CPU = 1, DL_CUDA_HOST = 3, DL_ROCM_HOST = 11 };

typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    dl_dtype dtype;
    int64_t *shape, *strides; /* in elements; NULL: row-major */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_version {
    uint32_t major, minor;
} dl_version;

typedef struct dl_managed {
    dl_version version;
    void *owner;
    void (*deleter)(struct dl_managed *);
    uint64_t flags;
    dl_tensor tensor;
} dl_managed;

enum { DL_READ_ONLY = 1 }; /* a bit of flags */

/* Before DLPack 1.0. */
typedef struct dl_managed_old {
    dl_tensor tensor;
    void *owner;
    void (*deleter)(struct dl_managed_old *);
} dl_managed_old;

/* The table of C functions that a type of tensors has since DLPack 1.2. */
typedef void (*dl_set_error)(void *user, const char *kind, const char *message);
typedef struct dl_exchange {
    dl_version version;
    struct dl_exchange *older;
    int (*allocate)(dl_tensor *like, dl_managed **made, void *user, dl_set_error set_error);
    int (*from_object)(void *object, dl_managed **made);
    int (*to_object)(dl_managed *tensor, void **object);
    int (*view_object)(void *object, dl_tensor *tensor); /* may be NULL */
    int (*stream)(int32_t device_type, int32_t device_id, void **stream);
} dl_exchange;

/* The dtype as DLPack writes it. */
dl_dtype tly_py_dl_of(int32_t dtype);

/* The table of a type; NULL, and no exception, if it has none. */
const dl_exchange *tly_py_exchange_of(tly_py_state *s, PyTypeObject *type);

/* Views by the table and by __dlpack__; -1 with an exception. */
int tly_py_view_by_exchange(tly_py_state *s, tly_py_view *v, PyObject *x);
int tly_py_view_by_dlpack(tly_py_state *s, tly_py_view *v, PyObject *x);

/* Gives back what those two hold. */
void tly_py_dlpack_end(tly_py_view *v);

/* A new tensor of the library whose table it is: *data is its memory. */
PyObject *tly_py_exchange_new(const dl_exchange *table, const tly_py_shape *shape, int32_t shown_as,
                              void **data);

/* torch.c: a new tensor of torch; NULL, and no exception, where the table must make it. */
PyObject *tly_py_torch_new(const tly_py_shape *shape, int32_t shown_as, void **data);
int tly_py_add_torch(PyObject *module); /* a switch for tests; -1 with an exception */

/* memory.c: memory for a tensor, and the array that the namespace of `like` makes of it, once it is
 * filled. */
PyObject *tly_py_memory_new(tly_py_state *s, const tly_py_shape *shape, void **data);
PyObject *tly_py_namespace_take(tly_py_state *s, PyObject *like, PyObject *memory);
PyObject *tly_py_torch_take(PyObject *memory); /* torch names no namespace */

/* memory.c: the type of such memory; -1 with an exception. */
int tly_py_add_memory(PyObject *module, tly_py_state *s);

#endif
