/* SPDX-License-Identifier: Apache-2.0 */
/* What dtypes are called: by Tally, by other libraries, and in the formats of buffers. */
#include "call.h"

#include <string.h>

static const char *const names[TALLY_DTYPE_COUNT] = {
    NULL,    "float64", "float32", "float16", "bfloat16", "int64", "int32",
    "int16", "int8",    "uint64",  "uint32",  "uint16",   "uint8", "bool",
};

const uint8_t tly_py_dtype_bytes[TALLY_DTYPE_COUNT] = { 0, 8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1 };

const char *tly_py_dtype_name(int32_t dtype)
{
    return names[dtype];
}

/* Letters of the module struct, and the dtypes of 2, 4 or 8 bytes that those of C's integers
 * stand for. */
int32_t tly_py_dtype_of_format(const char *format, Py_ssize_t bytes)
{
    static const struct {
        char letter;
        int32_t dtype;
    } letters[] = {
        { 'd', TALLY_F64 }, { 'f', TALLY_F32 }, { 'e', TALLY_F16 }, { '?', TALLY_BOOL },
        { 'b', TALLY_I8 },  { 'B', TALLY_U8 },  { 'h', TALLY_I16 }, { 'H', TALLY_U16 },
    };
    if (*format == '@' || *format == '=' || *format == '<') {
        format++;
    }
    if (format[0] == 0 || format[1] != 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if (letters[i].letter == *format && bytes == tly_py_bytes(letters[i].dtype)) {
            return letters[i].dtype;
        }
    }
    if (strchr("ilqn", *format) != NULL) {
        return bytes == 8 ? TALLY_I64 : bytes == 4 ? TALLY_I32 : 0;
    }
    if (strchr("ILQN", *format) != NULL) {
        return bytes == 8 ? TALLY_U64 : bytes == 4 ? TALLY_U32 : 0;
    }
    return 0;
}

static int32_t dtype_named(const char *text)
{
    for (int32_t i = 1; i < TALLY_DTYPE_COUNT; i++) {
        if (strcmp(text, names[i]) == 0 || strcmp(text, tally_dtype_name((tally_dtype)i)) == 0) {
            return i;
        }
    }
    return 0;
}

/* An attribute that is text; NULL, and no exception, if there is none. */
static PyObject *text_attribute(PyObject *x, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(x, name);
    if (value != NULL && PyUnicode_Check(value)) {
        return value;
    }
    PyErr_Clear();
    Py_XDECREF(value);
    return NULL;
}

/* Python's own types, as numpy reads them. */
static int32_t dtype_of_python(PyObject *type)
{
    return type == (PyObject *)&PyFloat_Type  ? TALLY_F64
           : type == (PyObject *)&PyLong_Type ? TALLY_I64
           : type == (PyObject *)&PyBool_Type ? TALLY_BOOL
                                              : 0;
}

/* Of dtypes the name, as numpy's; of types theirs; of others the end of their text, which is
 * torch.float32 or the like. */
static PyObject *name_of(tly_py_state *s, PyObject *named)
{
    if (PyUnicode_Check(named)) {
        return Py_NewRef(named);
    }
    PyObject *name = text_attribute(named, s->names[TLY_PY_NAME]);
    if (name == NULL) {
        name = text_attribute(named, s->names[TLY_PY_NAME_OF_TYPE]);
    }
    return name != NULL ? name : PyObject_Str(named);
}

/* numpy.dtype('>f4') has the name of '<f4'. */
static int is_swapped(tly_py_state *s, PyObject *named)
{
    PyObject *order = PyUnicode_Check(named) ? NULL
                                             : text_attribute(named, s->names[TLY_PY_BYTEORDER]);
    const int swapped = order != NULL && PyUnicode_CompareWithASCIIString(order, ">") == 0;
    Py_XDECREF(order);
    return swapped;
}

/* Objects that name dtypes do not change. To read a name takes three times as long as a small call
 * does. */
static void remember(tly_py_state *s, PyObject *named, int32_t dtype)
{
    PyObject *before = s->named[s->next_named];
    s->named[s->next_named] = Py_NewRef(named);
    s->named_dtypes[s->next_named] = dtype;
    s->next_named = (s->next_named + 1) % TLY_PY_NAMED;
    Py_XDECREF(before);
}

int32_t tly_py_dtype_of(tly_py_state *s, PyObject *named, const char *field)
{
    for (int i = 0; i < TLY_PY_NAMED; i++) {
        if (s->named[i] == named) {
            return s->named_dtypes[i];
        }
    }
    int32_t dtype = dtype_of_python(named);
    PyObject *name = dtype == 0 && !is_swapped(s, named) ? name_of(s, named) : NULL;
    PyObject *bytes = name != NULL ? PyUnicode_AsUTF8String(name) : NULL;
    if (bytes != NULL) {
        const char *text = PyBytes_AsString(bytes), *dot = strrchr(text, '.');
        dtype = dtype_named(dot != NULL && !PyUnicode_Check(named) ? dot + 1 : text);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    if (dtype == 0 && !PyErr_Occurred()) {
        tly_py_refuse(PyExc_TypeError, field,
                      "names count bits: 'f32', 'float32', 'i64', 'int64', ...",
                      "%R is no dtype of Tally", named);
    } else if (dtype != 0) {
        remember(s, named, dtype);
    }
    return dtype;
}

/* --- the dtypes of results -------------------------------------------------------------------- */

static int is_float(int32_t dtype)
{
    return dtype >= TALLY_F64 && dtype <= TALLY_BF16;
}

static int is_unsigned(int32_t dtype)
{
    return dtype >= TALLY_U64 && dtype <= TALLY_U8;
}

/* The integer of so many bytes; bools count as signed. */
static int32_t integer(int is_unsigned_one, int64_t bytes)
{
    for (int32_t i = TALLY_I64; i <= TALLY_U8; i++) {
        if (is_unsigned(i) == is_unsigned_one && tly_py_bytes(i) == bytes) {
            return i;
        }
    }
    return 0;
}

/* Whether JAX has 64 bits, which is an option of its. */
static int jax_has_64(tly_py_state *s)
{
    if (s->jax_config == NULL) {
        PyObject *jax = PyImport_ImportModule("jax");
        s->jax_config = jax != NULL ? PyObject_GetAttrString(jax, "config") : NULL;
        Py_XDECREF(jax);
    }
    PyObject *value = s->jax_config != NULL
                          ? PyObject_GetAttrString(s->jax_config, "jax_enable_x64")
                          : NULL;
    const int has = value != NULL && PyObject_IsTrue(value) == 1;
    PyErr_Clear();
    Py_XDECREF(value);
    return has;
}

/* What the result has if the caller names nothing; 0 with an exception. */
static int32_t default_dtype(const tly_py_call *c, int32_t in)
{
    const tly_py_rule rule = c->op->rule;
    const int narrow = c->in.kind == TLY_PY_KIND_JAX && !jax_has_64(c->s);
    const int64_t bytes = narrow ? 4 : 8;
    if (rule == TLY_PY_INDEX) {
        return integer(0, bytes);
    }
    if (is_float(in) || rule == TLY_PY_SAME) {
        return in;
    }
    if (rule == TLY_PY_MEAN) {
        return narrow ? TALLY_F32 : TALLY_F64;
    }
    if (rule == TLY_PY_REAL) {
        tly_py_refuse(PyExc_TypeError, "dtype", "x.astype('f8')",
                      "%s of integers is no integer; dtype=x.dtype cuts it to one", c->op->name);
        return 0;
    }
    if (tly_py_bytes(in) >= bytes) {
        return in;
    }
    return integer(is_unsigned(in) && c->in.kind != TLY_PY_KIND_TORCH, bytes);
}

int tly_py_choose_dtypes(tly_py_call *c)
{
    const int32_t in = c->d.dtype;
    PyObject *given = c->option[TLY_PY_DTYPE];
    c->shown_as = given != NULL ? tly_py_dtype_of(c->s, given, "dtype") : default_dtype(c, in);
    if (c->shown_as == 0) {
        return -1;
    }
    int32_t made = c->shown_as;
    if (c->op->rule == TLY_PY_WIDE && !is_float(in) && !is_float(made) && made != TALLY_BOOL) {
        /* Kernels keep the sign of their input. The bits are those of the other sign. */
        made = integer(is_unsigned(in), tly_py_bytes(made));
    }
    c->d.out_dtype = made == in && c->op->rule != TLY_PY_INDEX ? 0 : made;
    return 0;
}
