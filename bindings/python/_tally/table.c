/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators as functions: names, signatures, docstrings, and the options that each takes. A
 * signature is text that inspect.signature reads; __init__.pyi has the same with types, and a test
 * compares the two.
 */
#include "call.h"

#include <string.h>

#define BIT(option) (1u << TLY_PY_##option)
#define RUNS (BIT(AXIS) | BIT(OUT) | BIT(THREADS) | BIT(DEVICE))
#define SCAN (RUNS | BIT(EXCLUSIVE) | BIT(REVERSE) | BIT(ORDER))
#define SCAN_WIDE (SCAN | BIT(DTYPE) | BIT(ACC))
#define SCAN_PICK (SCAN | BIT(NAN))
#define SCAN_INDEX (RUNS | BIT(DTYPE) | BIT(REVERSE) | BIT(LAST) | BIT(NAN))
#define CUMULATIVE (BIT(AXIS) | BIT(DTYPE) | BIT(INCLUDE_INITIAL) | BIT(OUT))
#define FOLD (RUNS | BIT(KEEPDIMS) | BIT(ORDER))
#define FOLD_LOG (FOLD | BIT(DTYPE))
#define FOLD_WIDE (FOLD_LOG | BIT(ACC))
#define FOLD_PICK (FOLD | BIT(NAN))
#define FOLD_INDEX (RUNS | BIT(DTYPE) | BIT(KEEPDIMS) | BIT(LAST) | BIT(NAN))

#define OUT "out: an array for the result, of its shape and dtype, which is returned."
#define AXIS_OF_SCAN \
    "axis: the axis; may be left out for one dimension.\n" OUT \
    " x itself will do, if\nit is such an array.\n"
#define REVERSE "reverse: from the axis' end to its start.\n"
#define DIRECTIONS \
    "exclusive: an element of the result does not include its own element of x.\n" REVERSE
#define AXES "axis: an axis, a tuple of axes, or None for all.\n" OUT "\n"
#define ORDER "order: 'run', or 'serial' for the order of a plain loop.\n"
#define ORDER_ACC ORDER "acc: 'f64' accumulates f32, f16 and bf16 in f64.\n"
#define RUN_OPTIONS \
    "threads: the most threads of this call.\n" \
    "device: 'cpu', a CPU level such as 'cpu:x86-64-v3', or a Vulkan device.\n"
#define WIDENED \
    "dtype: of the result. By default that of x; of bools and integers below 64 bits\n" \
    "the integer of 64 bits with the same sign.\n"
#define NANS "nan: 'propagate', or 'ignore' to skip NaN.\n"
#define RAISES "Raises tally.Error, tally.Unsupported, TypeError or BufferError.\n"
#define SCAN_SHAPE "The result has the shape of x.\n"
#define FOLD_SHAPE "The result lacks the reduced axes; with keepdims they stay, with size 1.\n"

#define SCAN_WIDE_TEXT(name, what, example) \
    name "(x, /, *, axis=None, dtype=None, out=None, exclusive=False, reverse=False, " \
         "order='run', acc=None, threads=None, device=None)\n--\n\n" what \
         " along an axis.\n\n" SCAN_SHAPE AXIS_OF_SCAN WIDENED DIRECTIONS ORDER_ACC \
             RUN_OPTIONS RAISES "\n" example
#define SCAN_PICK_TEXT(name, what, example) \
    name "(x, /, *, axis=None, out=None, exclusive=False, reverse=False, order='run', " \
         "nan='propagate', threads=None, device=None)\n--\n\n" what \
         " along an axis, of every dtype.\n\n" SCAN_SHAPE AXIS_OF_SCAN DIRECTIONS ORDER NANS \
             RUN_OPTIONS RAISES "\n" example
#define SCAN_INDEX_TEXT(name, what, example) \
    name "(x, /, *, axis=None, dtype=None, out=None, reverse=False, last=False, " \
         "nan='propagate', threads=None, device=None)\n--\n\n" what \
         " so far, along an axis, of every dtype.\n\n" SCAN_SHAPE \
         "Indices count from the start of the axis, also with reverse.\n" AXIS_OF_SCAN \
         "dtype: i64 (the default) or i32.\n" REVERSE \
         "last: of equal elements the last one so far wins, not the first.\n" NANS \
             RUN_OPTIONS RAISES "\n" example
#define FOLD_WIDE_TEXT(name, what, dtypes, example) \
    name "(x, /, *, axis=None, dtype=None, out=None, keepdims=False, order='run', acc=None, " \
         "threads=None, device=None)\n--\n\n" what \
         " over axes.\n\n" FOLD_SHAPE AXES dtypes ORDER_ACC RUN_OPTIONS RAISES "\n" example
#define FOLD_LOG_TEXT(name, what, dtypes, example) \
    name "(x, /, *, axis=None, dtype=None, out=None, keepdims=False, order='run', " \
         "threads=None, device=None)\n--\n\n" what \
         " over axes.\n\n" FOLD_SHAPE AXES dtypes ORDER RUN_OPTIONS RAISES "\n" example
#define FOLD_PICK_TEXT(name, what, example) \
    name "(x, /, *, axis=None, out=None, keepdims=False, order='run', nan='propagate', " \
         "threads=None, device=None)\n--\n\n" what \
         " over axes, of every dtype.\n\n" FOLD_SHAPE AXES ORDER NANS RUN_OPTIONS RAISES \
         "\n" example
#define FOLD_INDEX_TEXT(name, what, example) \
    name "(x, /, *, axis=None, dtype=None, out=None, keepdims=False, last=False, " \
         "nan='propagate', threads=None, device=None)\n--\n\n" what \
         " among the elements of the reduced axes.\n\n" FOLD_SHAPE \
         "Over several axes an index counts their elements in C order.\n" AXES \
         "dtype: i64 (the default), i32, u64 or u32.\n" \
         "last: of equal elements the last one wins, not the first.\n" NANS RUN_OPTIONS RAISES \
         "\n" example
#define CUMULATIVE_TEXT(name, what, example) \
    name "(x, /, *, axis=None, dtype=None, include_initial=False, out=None)\n--\n\n" what \
         " along an axis, as the array API has it.\n\n" \
         "The result has the shape of x, or with include_initial one more along the " \
         "axis.\n" AXIS_OF_SCAN WIDENED \
         "include_initial: the axis begins with one more element, that of no elements.\n" RAISES \
         "\n" example

#define REALS "dtype: of the result, by default that of x. Integers need it, or a float x.\n"
#define MEANS "dtype: of the result. By default that of x; of bools and integers f64.\n"
#define SAME "dtype: of the result, by default that of x.\n"

/* XX(function, operator, rule, options, text) */
#define OPERATORS(XX) \
    XX(cumsum, CUMSUM, WIDE, SCAN_WIDE, \
       SCAN_WIDE_TEXT("cumsum", "Cumulative sums", \
                      ">>> tally.cumsum([1, 2, 3])\narray([1, 3, 6])")) \
    XX(cumprod, CUMPROD, WIDE, SCAN_WIDE, \
       SCAN_WIDE_TEXT("cumprod", "Cumulative products", \
                      ">>> tally.cumprod([1, 2, 3], exclusive=True)\narray([1, 1, 2])")) \
    XX(cummax, CUMMAX, SAME, SCAN_PICK, \
       SCAN_PICK_TEXT("cummax", "Running maxima", \
                      ">>> tally.cummax([1, 3, 2])\narray([1, 3, 3])")) \
    XX(cummin, CUMMIN, SAME, SCAN_PICK, \
       SCAN_PICK_TEXT("cummin", "Running minima", \
                      ">>> tally.cummin([3, 1, 2])\narray([3, 1, 1])")) \
    XX(cumlogsumexp, CUMLOGSUMEXP, SAME, SCAN, \
       "cumlogsumexp(x, /, *, axis=None, out=None, exclusive=False, reverse=False, " \
       "order='run', threads=None, device=None)\n--\n\n" \
       "Logarithms of cumulative sums of exponentials along an axis, of floats.\n\n" SCAN_SHAPE \
           AXIS_OF_SCAN DIRECTIONS ORDER RUN_OPTIONS RAISES "\n" \
       ">>> tally.cumlogsumexp([0.0, 0.0])\narray([0.        , 0.69314718])") \
    XX(cumargmax, CUMARGMAX, INDEX, SCAN_INDEX, \
       SCAN_INDEX_TEXT("cumargmax", "Indices of the largest elements", \
                       ">>> tally.cumargmax([1, 3, 2, 3])\narray([0, 1, 1, 1])")) \
    XX(cumargmin, CUMARGMIN, INDEX, SCAN_INDEX, \
       SCAN_INDEX_TEXT("cumargmin", "Indices of the smallest elements", \
                       ">>> tally.cumargmin([3, 1, 2, 1], last=True)\narray([0, 1, 1, 3])")) \
    XX(cumulative_sum, CUMSUM, WIDE, CUMULATIVE, \
       CUMULATIVE_TEXT("cumulative_sum", "Cumulative sums", \
                       ">>> tally.cumulative_sum([1, 2], include_initial=True)\n" \
                       "array([0, 1, 3])")) \
    XX(cumulative_prod, CUMPROD, WIDE, CUMULATIVE, \
       CUMULATIVE_TEXT("cumulative_prod", "Cumulative products", \
                       ">>> tally.cumulative_prod([2, 3], include_initial=True)\n" \
                       "array([1, 2, 6])")) \
    XX(sum, SUM, WIDE, FOLD_WIDE, \
       FOLD_WIDE_TEXT("sum", "Sums", WIDENED, \
                      ">>> tally.sum([[1, 2], [3, 4]], axis=1)\narray([3, 7])")) \
    XX(prod, PROD, WIDE, FOLD_WIDE, \
       FOLD_WIDE_TEXT("prod", "Products", WIDENED, \
                      ">>> tally.prod([[1, 2], [3, 4]], axis=0)\narray([3, 8])")) \
    XX(mean, MEAN, MEAN, FOLD_WIDE, \
       FOLD_WIDE_TEXT("mean", "Means", MEANS, \
                      ">>> tally.mean([[1, 2], [3, 5]], axis=1)\narray([1.5, 4. ])")) \
    XX(l1, L1, SAME, FOLD_WIDE, \
       FOLD_WIDE_TEXT("l1", "Sums of magnitudes", SAME, \
                      ">>> tally.l1([[3.0, -4.0]], axis=1)\narray([7.])")) \
    XX(l2, L2, REAL, FOLD_WIDE, \
       FOLD_WIDE_TEXT("l2", "Roots of sums of squares", REALS, \
                      ">>> tally.l2([[3.0, -4.0]], axis=1)\narray([5.])")) \
    XX(sum_square, SUM_SQUARE, SAME, FOLD_WIDE, \
       FOLD_WIDE_TEXT("sum_square", "Sums of squares", SAME, \
                      ">>> tally.sum_square([[3.0, -4.0]], axis=1)\narray([25.])")) \
    XX(log_sum, LOG_SUM, REAL, FOLD_LOG, \
       FOLD_LOG_TEXT("log_sum", "Logarithms of sums", REALS, \
                     ">>> tally.log_sum([[0.5, 0.5]], axis=1)\narray([0.])")) \
    XX(log_sum_exp, LOG_SUM_EXP, REAL, FOLD_LOG, \
       FOLD_LOG_TEXT("log_sum_exp", "Logarithms of sums of exponentials", REALS, \
                     ">>> tally.log_sum_exp([[0.0, 0.0]], axis=1)\narray([0.69314718])")) \
    XX(max, MAX, SAME, FOLD_PICK, \
       FOLD_PICK_TEXT("max", "Maxima", ">>> tally.max([[1, 3], [4, 2]], axis=1)\narray([3, 4])")) \
    XX(min, MIN, SAME, FOLD_PICK, \
       FOLD_PICK_TEXT("min", "Minima", ">>> tally.min([[1, 3], [4, 2]], axis=1)\narray([1, 2])")) \
    XX(argmax, ARGMAX, INDEX, FOLD_INDEX, \
       FOLD_INDEX_TEXT("argmax", "Indices of the largest", \
                       ">>> tally.argmax([[1, 3], [4, 2]], axis=1)\narray([1, 0])")) \
    XX(argmin, ARGMIN, INDEX, FOLD_INDEX, \
       FOLD_INDEX_TEXT("argmin", "Indices of the smallest", \
                       ">>> tally.argmin([[1, 3], [4, 2]], axis=1)\narray([0, 1])"))

#define NUMBER(function, op, rule, options, text) NUMBER_##function,
enum { OPERATORS(NUMBER) COUNT };
#define ROW(function, op, rule, options, text) { TALLY_##op, #function, TLY_PY_##rule, options },
static const tly_py_operator rows[] = { OPERATORS(ROW) };

const tly_py_operator *tly_py_operator_named(PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    for (int i = 0; text != NULL && i < COUNT; i++) {
        if (strcmp(rows[i].name, text) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

#define FUNCTION(function, op, rule, options, text) \
    static PyObject *function##_of(PyObject *module, PyObject *const *args, Py_ssize_t count, \
                                   PyObject *names) \
    { \
        return tly_py_call_operator(module, &rows[NUMBER_##function], args, count, names); \
    }
OPERATORS(FUNCTION)

#define METHOD(function, op, rule, options, text) \
    { #function, (PyCFunction)(void (*)(void))function##_of, METH_FASTCALL | METH_KEYWORDS, text },
static PyMethodDef methods[] = { OPERATORS(METHOD){ NULL, NULL, 0, NULL } };

int tly_py_add_operators(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
