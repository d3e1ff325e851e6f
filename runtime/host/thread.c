/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library's own, and what stack a caller has; see thread.h. */
#include "thread.h"

#include "error.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

/* Opening both libraries and making a kernel took 48 KiB at most, the thread's own block included,
 * of any template and level; opening and compiling on SwiftShader 34, on lavapipe 39 (Zen 4, LLVM
 * 19, a painted stack). Five times as much is asked for. */
#define NEED ((size_t)256 << 10)
#define OWN_STACK ((size_t)2 << 20)

int tly_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument)
{
    static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
    pthread_attr_t attributes;
    int reason = pthread_attr_init(&attributes);
    if (reason != 0) {
        return reason;
    }
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        sigdelset(&all, faults[i]); /* blocked, they would end the process past its handlers */
    }
    if (stack_bytes > 0) {
        reason = pthread_attr_setstacksize(&attributes, stack_bytes);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (reason == 0) {
        reason = pthread_create(thread, &attributes, run, argument);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return reason;
}

/* Bytes of the first thread's stack below `here`; 0 if that lies elsewhere. It grows down from what
 * the kernel put on it up to a limit, which also counts arguments and environment. */
static size_t left_of_first(uintptr_t here)
{
    uintptr_t top = (uintptr_t)getauxval(AT_RANDOM);
    struct rlimit limit;
    if (here >= top || getrlimit(RLIMIT_STACK, &limit) != 0) {
        return 0;
    }
    size_t room = limit.rlim_cur < SIZE_MAX ? (size_t)limit.rlim_cur / 4 * 3 : SIZE_MAX / 2;
    return top - here < room ? room - (top - here) : 0;
}

/* Bytes of this thread's stack that a call can use; 0 on a stack that no thread began with. */
static size_t left(void)
{
    /* No local variable's address would do: clang's ASan keeps such variables in memory of its own.
     */
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (gettid() == getpid()) { /* pthread_getattr_np would read a file */
        return left_of_first(here);
    }
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return 0;
    }
    int known = pthread_attr_getstack(&attributes, &lowest, &bytes) == 0;
    pthread_attr_destroy(&attributes);
    return known && here - (uintptr_t)lowest < bytes ? here - (uintptr_t)lowest : 0;
}

tally_status tly_stack_check(tally_error *error)
{
    size_t have = left();
    return have >= NEED ? TALLY_OK
                        : tly_fail(error, TALLY_OUT_OF_MEMORY, "memory",
                                   "this thread has %zu KiB of stack left; generating a kernel "
                                   "asks for %zu",
                                   have >> 10, NEED >> 10);
}

typedef struct call {
    tally_status (*work)(void *, tally_error *);
    void *state;
    tally_error *error;
    tally_status status;
} call;

static void *answer(void *argument)
{
    call *c = argument;
    c->status = c->work(c->state, c->error);
    return NULL;
}

tally_status tly_stack_call(tally_status (*work)(void *state, tally_error *error), void *state,
                            tally_error *error)
{
    size_t have = left();
    if (have >= NEED) {
        return work(state, error);
    }
    call c = { .work = work, .state = state, .error = error };
    pthread_t thread;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* the thread uses this stack */
    int reason = tly_thread_start(&thread, OWN_STACK, answer, &c);
    if (reason == 0) {
        pthread_join(thread, NULL);
    }
    pthread_setcancelstate(cancel, NULL);
    if (reason == 0) {
        return c.status;
    }
    return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory",
                    "this thread has %zu KiB of stack left, generating a kernel asks for %zu, and "
                    "there is no other thread: %s",
                    have >> 10, NEED >> 10, strerror(reason));
}
