/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of any library as a pointer, sizes and strides, and new arrays of the same library. */
#ifndef TLY_PY_VIEW_H
#define TLY_PY_VIEW_H

#include "module.h"

/* How arrays of a type are read, and what results for them are. */
typedef enum tly_py_kind {
    TLY_PY_KIND_NONE,        /* it is no array */
    TLY_PY_KIND_NUMPY,       /* exactly numpy.ndarray */
    TLY_PY_KIND_SUBCLASS,    /* of it; results go through __array_wrap__ */
    TLY_PY_KIND_MASKED,      /* numpy.ma: refused */
    TLY_PY_KIND_TABLE,       /* DLPack's table of C functions */
    TLY_PY_KIND_TORCH,       /* exactly torch.Tensor or Parameter: the same, or __dlpack__ */
    TLY_PY_KIND_TORCH_OTHER, /* a subclass: for tally.torch */
    TLY_PY_KIND_JAX,         /* a buffer, else __dlpack__ */
    TLY_PY_KIND_TRACER,      /* what stands for an array in JAX: refused */
    TLY_PY_KIND_BUFFER,      /* the buffer protocol; results are numpy's */
    TLY_PY_KIND_NAMESPACE,   /* __dlpack__, and results from its namespace */
    TLY_PY_KIND_DLPACK,      /* __dlpack__ alone; results are numpy's */
    TLY_PY_KIND_ASARRAY      /* what numpy.asarray makes an array of */
} tly_py_kind;

typedef struct tly_py_shape {
    int32_t dtype, rank;
    int64_t sizes[TALLY_MAX_RANK + 1]; /* a carry's states may have one more */
} tly_py_shape;

typedef struct tly_py_view {
    char *data;
    const char *field; /* what messages call it: "in", "out", "a", ... */
    tly_py_kind kind;
    int32_t readonly;
    int32_t packed;
    tly_py_shape shape;
    int64_t strides[TALLY_MAX_RANK + 1]; /* in elements */
    const struct dl_exchange *exchange;
    /* What is held until tly_py_view_end; NULL each if nothing is. */
    PyObject *array; /* what numpy.asarray made */
    struct dl_managed *managed;
    struct dl_managed_old *old;
    int has_buffer;
    Py_buffer buffer;
} tly_py_view;

/* Views an array. `writable`: it is written to, and read-only ones are refused. -1 with an
 * exception; then nothing is held. Otherwise tly_py_view_end follows. */
int tly_py_view_of(tly_py_state *s, tly_py_view *v, PyObject *x, const char *field, int writable);
void tly_py_view_end(tly_py_view *v);

/* What a type is; remembered in the state. */
const tly_py_type *tly_py_type_of(tly_py_state *s, PyObject *x);

/* Sets `packed`, and checks that elements are aligned; -1 with an exception. */
int tly_py_view_finish(tly_py_state *s, tly_py_view *v);

/* The bytes of an array that there is, so that nothing overflows. */
static inline int64_t tly_py_bytes_of(const tly_py_shape *shape)
{
    int64_t bytes = tly_py_bytes(shape->dtype);
    for (int i = 0; i < shape->rank; i++) {
        bytes *= shape->sizes[i];
    }
    return bytes;
}

/* Whether a run on so many elements takes some microseconds, in which other threads may go on. */
static inline int tly_py_is_large(const tly_py_shape *shape)
{
    return tly_py_bytes_of(shape) >= 16384;
}

/* describe.c: sizes as numpy writes them, such as (3, 4). */
void tly_py_shape_text(const tly_py_shape *shape, char *text, size_t capacity);

/* numpy.c: imports numpy if that was not done; -1 with an exception. */
int tly_py_use_numpy(tly_py_state *s);

/* numpy.c: whether x is an array whose dtype has this name. */
int tly_py_has_dtype(tly_py_state *s, PyObject *x, const char *name);

/* A result that is being made: `object` is what holds the memory at `data`. */
typedef struct tly_py_fresh {
    PyObject *object;
    void *data;
} tly_py_fresh;

/* numpy.c: memory for a result beside x, which was viewed as v; -1 with an exception. `shown_as`:
 * the dtype that it has for its library, mostly that of the shape. `strides`, in elements: of an
 * array of numpy that is not in C order; or NULL. */
int tly_py_fresh_make(tly_py_state *s, tly_py_fresh *f, PyObject *x, const tly_py_view *v,
                      const tly_py_shape *shape, int32_t shown_as, const int64_t *strides);

/* Whether new arrays beside one of this kind are numpy's. */
static inline int tly_py_makes_numpy(tly_py_kind kind)
{
    return kind != TLY_PY_KIND_TABLE && kind != TLY_PY_KIND_TORCH && kind != TLY_PY_KIND_JAX &&
           kind != TLY_PY_KIND_NAMESPACE;
}

/* numpy.c: the filled memory as the array that the caller gets. Steals f->object. `scalars`: a
 * result of rank 0 is a scalar where the library has some. */
PyObject *tly_py_fresh_take(tly_py_state *s, tly_py_fresh *f, PyObject *x, const tly_py_view *v,
                            const tly_py_shape *shape, int scalars);

#endif
