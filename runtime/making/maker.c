/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally-maker: makes one kernel for a libtally whose host must survive whatever happens while it is
 * made (tally_context_options.isolate). Reads one request from standard input, a socket, and
 * answers there. It says nothing elsewhere, leaves no core file, and ends with the thread that
 * started it or when its time is over.
 */
#include "maker.h"

#include "../host/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { LINK = 0, MOST_TEXT = 1 << 20 };

static int read_all(void *to, size_t bytes)
{
    char *p = to;
    while (bytes > 0) {
        ssize_t got = read(LINK, p, bytes);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return 0;
        }
        p += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return 1;
}

static int write_all(const void *from, size_t bytes)
{
    const char *p = from;
    while (bytes > 0) {
        ssize_t sent = write(LINK, p, bytes);
        if (sent < 0 && errno != EINTR) {
            return 0;
        }
        p += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return 1;
}

/* The host's descriptors, its core files and its end. */
static void leave_host(void)
{
    const struct rlimit none = { 0, 0 };
#ifdef SYS_close_range
    syscall(SYS_close_range, 3u, ~0u, 0u);
#endif
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
}

static void limit_time(uint32_t ms)
{
    const struct itimerval once = { .it_value = { ms / 1000, (suseconds_t)(ms % 1000) * 1000 } };
    setitimer(ITIMER_REAL, &once, NULL); /* SIGALRM ends the process */
}

/* A string behind the request; NULL if it is none. */
static char *read_text(uint32_t bytes)
{
    char *text = bytes > 0 && bytes <= MOST_TEXT ? malloc(bytes) : NULL;
    if (text != NULL && (!read_all(text, bytes) || text[bytes - 1] != 0)) {
        free(text);
        text = NULL;
    }
    return text;
}

static const tly_generator *open_generator(const char *path, tally_error *error)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, TLY_GENERATOR_SYMBOL) : NULL;
    if (symbol == NULL) {
        const char *why = dlerror();
        tly_fail(error, TALLY_NO_GENERATOR, "device", "%s",
                 why != NULL ? why : "libtally-codegen cannot be opened");
        return NULL;
    }
    tly_generator_get get;
    memcpy(&get, &symbol, sizeof get);
    return get();
}

/* --- what is asked for ----------------------------------------------------------------------- */

typedef struct job {
    tly_make_request request;
    char *plan;
    const tly_generator *generator;
    tly_make_reply reply;
    void *bytes[TLY_GPU_PASSES];
} job;

static tally_status make_cpu(job *j)
{
    tly_artifact made = { .code = NULL };
    const tly_generator *g = j->generator;
    int quick = j->request.what == TLY_MAKE_CPU_QUICK && g->generate_quick != NULL;
    tally_status status = (quick ? g->generate_quick : g->generate)(
        &j->request.problem, j->request.level, j->plan, &made, &j->reply.error);
    if (status == TALLY_OK) {
        j->reply.launch = made.launch;
        j->bytes[0] = made.code;
        j->reply.bytes[0] = made.code_bytes;
    }
    return status;
}

static tally_status no_vulkan(job *j)
{
    return tly_fail(&j->reply.error, TALLY_NO_GENERATOR, "device",
                    "this libtally-codegen makes no Vulkan kernels");
}

static tally_status make_gpu(job *j)
{
    tly_gpu_artifact made;
    memset(&made, 0, sizeof made);
    if (j->generator->generate_gpu == NULL) {
        return no_vulkan(j);
    }
    tally_status status = j->generator->generate_gpu(&j->request.problem, &j->request.caps,
                                                     &j->request.plan, &made, &j->reply.error);
    for (int i = 0; i < TLY_GPU_PASSES && status == TALLY_OK; i++) {
        j->reply.gpu = made.launch;
        j->bytes[i] = made.words[i];
        j->reply.bytes[i] = made.word_count[i] * sizeof(uint32_t);
    }
    return status;
}

static int gather(void *user, const char *text, size_t bytes)
{
    job *j = user;
    char *longer = realloc(j->bytes[0], (size_t)j->reply.bytes[0] + bytes + 1);
    if (longer == NULL) {
        return 1;
    }
    memcpy(longer + j->reply.bytes[0], text, bytes);
    j->bytes[0] = longer;
    j->reply.bytes[0] += bytes;
    return 0;
}

static tally_status show_cpu(job *j)
{
    return j->generator->show(&j->request.problem, j->request.level, j->plan,
                              (tally_stage)j->request.stage, gather, j, &j->reply.error);
}

static tally_status show_gpu(job *j)
{
    return j->generator->show_gpu == NULL
               ? no_vulkan(j)
               : j->generator->show_gpu(&j->request.problem, &j->request.caps, &j->request.plan,
                                        (tally_stage)j->request.stage, gather, j, &j->reply.error);
}

static tally_status (*const makers[TLY_MAKE_COUNT])(job *) = {
    [TLY_MAKE_CPU] = make_cpu,      [TLY_MAKE_CPU_QUICK] = make_cpu, [TLY_MAKE_GPU] = make_gpu,
    [TLY_MAKE_SHOW_CPU] = show_cpu, [TLY_MAKE_SHOW_GPU] = show_gpu,
};

static void answer(job *j)
{
    j->reply.shape = TLY_MAKER_SHAPE;
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        if (j->reply.status != TALLY_OK) {
            j->reply.bytes[i] = 0;
        }
    }
    int told = write_all(&j->reply, sizeof j->reply);
    for (int i = 0; i < TLY_GPU_PASSES && told; i++) {
        told = write_all(j->bytes[i], (size_t)j->reply.bytes[i]);
    }
}

/* --- the request ----------------------------------------------------------------------------- */

enum { TAKEN, FOREIGN, NONE };

/* Reads the request. FOREIGN: another build sent it; NONE: it is not whole. */
static int take_request(job *j)
{
    if (!read_all(&j->request, sizeof j->request)) {
        return NONE;
    }
    j->request.level[sizeof j->request.level - 1] = 0;
    return j->request.shape == TLY_MAKER_SHAPE && j->request.what < TLY_MAKE_COUNT ? TAKEN
                                                                                   : FOREIGN;
}

/* Reads the two strings behind it, from malloc. The caller frees both, whatever is returned. */
static int take_texts(job *j, char **path)
{
    *path = read_text(j->request.generator_bytes);
    j->plan = *path != NULL ? read_text(j->request.plan_bytes) : NULL;
    return j->plan != NULL ? TAKEN : NONE;
}

int main(void)
{
    static job j; /* static: zero, padding and all */
    char *path = NULL;
    leave_host();
    j.reply.error.size = sizeof j.reply.error;
    const int what = take_request(&j);
    if (what == FOREIGN) {
        j.reply.status = tly_fail(&j.reply.error, TALLY_NO_GENERATOR, "device",
                                  TLY_MAKER_NAME " is of another version");
        answer(&j);
    }
    if (what != TAKEN) {
        return 1;
    }
    limit_time(j.request.limit_ms);
    if (take_texts(&j, &path) != TAKEN) {
        return 1;
    }
    j.generator = open_generator(path, &j.reply.error);
    j.reply.status = j.generator != NULL ? makers[j.request.what](&j) : TALLY_NO_GENERATOR;
    answer(&j);
    _exit(0); /* LLVM does not end well */
}
