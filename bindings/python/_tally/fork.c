/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks. A child of a process with a call of libtally's in flight could run what it has and make
 * nothing new, as the thread that held the locks is gone. Python says when it forks, so a fork
 * waits until the calls that gave up the interpreter's lock are back, and meanwhile none begins.
 * Neither waits for ever: who forks may hold a lock that a call is waiting for.
 */
#include "module.h"

#include <time.h>

enum { STEP_US = 50, MOST_STEPS = 2000000 / STEP_US };

/* Lets other threads go on while `number` is not 0. The interpreter's lock guards it. */
static void wait_for_zero(const int *number)
{
    const struct timespec step = { .tv_nsec = STEP_US * 1000L };
    for (int i = 0; *number != 0 && i < MOST_STEPS; i++) {
        PyThreadState *state = PyEval_SaveThread();
        nanosleep(&step, NULL);
        PyEval_RestoreThread(state);
    }
}

PyThreadState *tly_py_unlock(tly_py_state *s)
{
    wait_for_zero(&s->forking);
    s->in_flight++;
    return PyEval_SaveThread();
}

void tly_py_lock(tly_py_state *s, PyThreadState *state)
{
    PyEval_RestoreThread(state);
    s->in_flight--;
}

static PyObject *before_fork(PyObject *module, PyObject *none)
{
    (void)none;
    tly_py_state *s = PyModule_GetState(module);
    s->forking++;
    wait_for_zero(&s->in_flight);
    Py_RETURN_NONE;
}

static PyObject *after_in_parent(PyObject *module, PyObject *none)
{
    (void)none;
    ((tly_py_state *)PyModule_GetState(module))->forking--;
    Py_RETURN_NONE;
}

static PyObject *after_in_child(PyObject *module, PyObject *none)
{
    (void)none;
    tly_py_state *s = PyModule_GetState(module);
    s->forking = 0;
    s->in_flight = 0; /* other threads are gone */
    Py_RETURN_NONE;
}

static PyMethodDef hooks[] = {
    { "before", before_fork, METH_NOARGS, NULL },
    { "after_in_parent", after_in_parent, METH_NOARGS, NULL },
    { "after_in_child", after_in_child, METH_NOARGS, NULL },
};

int tly_py_watch_forks(PyObject *module)
{
    PyObject *os = PyImport_ImportModule("os"), *none = PyTuple_New(0), *options = PyDict_New();
    PyObject *hook_up = os != NULL ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    int status = none != NULL && options != NULL && hook_up != NULL ? 0 : -1;
    for (size_t i = 0; status == 0 && i < sizeof hooks / sizeof hooks[0]; i++) {
        PyObject *hook = PyCFunction_New(&hooks[i], module);
        status = hook != NULL ? PyDict_SetItemString(options, hooks[i].ml_name, hook) : -1;
        Py_XDECREF(hook);
    }
    PyObject *done = status == 0 ? PyObject_Call(hook_up, none, options) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(hook_up);
    Py_XDECREF(options);
    Py_XDECREF(none);
    Py_XDECREF(os);
    return done != NULL ? 0 : -1;
}
