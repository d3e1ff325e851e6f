/* SPDX-License-Identifier: Apache-2.0 */
/* An operator as a function: what it is called with, and what it computes. */
#ifndef TLY_PY_CALL_H
#define TLY_PY_CALL_H

#include "view.h"

/* Which dtype a result has. */
typedef enum tly_py_rule {
    TLY_PY_SAME,  /* the input's */
    TLY_PY_WIDE,  /* of integers 64 bits: sums and products, modulo 2 to their width */
    TLY_PY_INDEX, /* an integer that counts elements */
    TLY_PY_MEAN,  /* of integers a float */
    TLY_PY_REAL   /* integers are refused unless the dtype is given */
} tly_py_rule;

typedef struct tly_py_operator {
    tally_op op;
    const char *name;
    tly_py_rule rule;
    uint32_t options; /* bits 1 << TLY_PY_AXIS and so on */
} tly_py_operator;

/* One call. */
typedef struct tly_py_call {
    tly_py_state *s;
    const tly_py_operator *op;
    PyObject *x;
    PyObject *option[TLY_PY_OPTION_COUNT]; /* NULL: not given, or None */
    tly_py_view in;
    tally_descriptor d; /* as far as plain words go, which is what d.size says */
    int32_t shown_as;   /* the dtype of the result; d may say one of the same bits */
    tly_py_shape shape; /* of the result */
    int32_t threads;
    const char *device;
} tly_py_call;

/* call.c */
PyObject *tly_py_call_operator(PyObject *module, const tly_py_operator *op, PyObject *const *args,
                               Py_ssize_t count, PyObject *names);

/* describe.c: what the options say, in the descriptor, and the result's shape; -1 with an
 * exception. */
int tly_py_describe(tly_py_call *c);

/* dtypes.c: d.out_dtype and shown_as; -1 with an exception. */
int tly_py_choose_dtypes(tly_py_call *c);

/* call.c: the same for a tensor of which all but its elements may be ignored, by options that were
 * taken. */
PyObject *tly_py_call_on_elements(tly_py_call *c);

/* table.c: NULL if there is none. */
const tly_py_operator *tly_py_operator_named(PyObject *name);

/* bridge.c: whether an answer is true, which NULL with an exception is, too; then there is none
 * left. Steals the answer. */
int tly_py_truth(PyObject *value);

/* bridge.c: whether a tensor of torch requires a gradient, is to be negated, and whether a level of
 * forward mode is open, in which tensors may have tangents. */
int tly_py_wants_gradient(tly_py_state *s, PyObject *x);
int tly_py_is_negated(tly_py_state *s, PyObject *x);
int tly_py_has_tangents(tly_py_state *s);

/* bridge.c: whether a tensor of torch has a gradient or the like; the second one also asks whether
 * any tensor may have a tangent, so that it is for tally.torch. */
int tly_py_is_more(tly_py_state *s, PyObject *x, tly_py_kind kind);
int tly_py_needs_bridge(tly_py_state *s, PyObject *x, tly_py_kind kind);

/* bridge.c: what tally.torch says of a tensor that cannot be read or written, such as a nested one,
 * as the exception in place of the one that is set. Without tally.torch, of other arrays, and where
 * it says nothing, that stays. */
void tly_py_examine(tly_py_state *s, PyObject *x, const char *field);

/* bridge.c: what tally.torch answers; NULL with an exception. */
PyObject *tly_py_bridge(const tly_py_call *c);

/* bridge.c: the same for a tensor that torch's table refused, as it does those without memory; the
 * exception is set. Without tally.torch it stays. */
PyObject *tly_py_bridge_refused(const tly_py_call *c);

#endif
