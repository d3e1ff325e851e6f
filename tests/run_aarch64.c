/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner behind remote.h, built for AArch64 (or any machine): loads kernels as the library
 * does, gives them copies of the client's memory, and reports faults in place of dying of them.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "../runtime/launch/load.h"
#include "remote.h"

enum { PATIENCE = 60 /* seconds of processor time a case, as machines are busy and pause */ };

typedef struct region {
    remote_span client;
    char *data;    /* the copy */
    char *mapping; /* with the inaccessible pages around it */
    size_t mapped;
} region;

static region regions[REMOTE_MAX_REGIONS];
static size_t region_count;
static tly_task tasks[REMOTE_MAX_TASKS];
static int64_t results[REMOTE_MAX_TASKS];
static sigjmp_buf recovery;
static volatile uintptr_t fault_address;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    fault_address = signal == SIGPROF ? 0 : (uintptr_t)info->si_addr;
    siglongjmp(recovery, 1);
}

static int take(void *data, size_t bytes)
{
    return bytes == 0 || fread(data, bytes, 1, stdin) == 1;
}

static int give(const void *data, size_t bytes)
{
    return bytes == 0 || fwrite(data, bytes, 1, stdout) == 1;
}

/* Room for a region between inaccessible pages, at the same offset in its page as in the client,
 * so that alignments are alike. Whatever has no page of its own is marked with 0x5a. */
static int map_region(region *r, size_t page)
{
    const size_t skew = r->client.address % page;
    const size_t inner = (skew + r->client.bytes + page - 1) / page * page;
    r->mapped = inner + 2 * page;
    r->mapping = mmap(NULL, r->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->mapping == MAP_FAILED) {
        r->mapped = 0;
        return 0;
    }
    if (inner != 0 && mprotect(r->mapping + page, inner, PROT_READ | PROT_WRITE) != 0) {
        return 0;
    }
    r->data = r->mapping + page + skew;
    memset(r->mapping + page, 0x5a, inner);
    return 1;
}

/* Where an address lies in a region, or at its end. */
static char *within(const region *r, uint64_t address, int at_end)
{
    const uint64_t offset = address - r->client.address;
    const int inside = address >= r->client.address && offset < r->client.bytes + (size_t)at_end;
    return inside ? r->data + offset : NULL;
}

/* A pointer of the client as one of ours; what points into no region stays as it is. One region's
 * end may be the next one's start: it is the latter that is meant. */
static void *translate(const void *pointer)
{
    const uint64_t address = (uint64_t)(uintptr_t)pointer;
    for (int at_end = 0; at_end <= 1; at_end++) {
        for (size_t i = 0; i < region_count; i++) {
            char *ours = within(&regions[i], address, at_end);
            if (ours != NULL) {
                return ours;
            }
        }
    }
    return (void *)(uintptr_t)address;
}

static uint64_t client_address(uintptr_t address)
{
    for (size_t i = 0; i < region_count; i++) {
        const uintptr_t start = (uintptr_t)regions[i].mapping;
        if (address >= start && address - start < regions[i].mapped) {
            return regions[i].client.address + (address - (uintptr_t)regions[i].data);
        }
    }
    return address;
}

/* A signal after so many seconds; 0: none. */
static void be_patient(int seconds)
{
    const struct itimerval timer = { .it_value = { .tv_sec = seconds } };
    setitimer(ITIMER_PROF, &timer, NULL);
}

static int run(const tly_code *code, const tly_args *args, size_t task_count)
{
    int status = REMOTE_FAULT;
    be_patient(PATIENCE);
    if (sigsetjmp(recovery, 1) == 0) {
        for (size_t i = 0; i < task_count; i++) {
            results[i] = code->entry(args, &tasks[i]);
        }
        status = REMOTE_OK;
    }
    be_patient(0);
    return status;
}

/* Reads what follows a request. 1: a case is there; 0: input ended; -1: no memory for it. */
static int receive(const remote_request *request, tly_args *args, tly_code *code)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int refused = 0;
    region_count = request->region_count;
    if (!take(args, sizeof *args) || !take(tasks, request->task_count * sizeof *tasks)) {
        return 0;
    }
    for (size_t i = 0; i < region_count; i++) {
        regions[i] = (region){ 0 };
        if (!take(&regions[i].client, sizeof regions[i].client)) {
            return 0;
        }
    }
    if (request->code_bytes != 0) {
        unsigned char *blob = malloc(request->code_bytes);
        if (blob == NULL || !take(blob, request->code_bytes)) {
            free(blob);
            return 0;
        }
        tly_code_unload(code);
        refused = tly_code_load(blob, request->code_bytes, code, NULL) != TALLY_OK;
        free(blob);
    }
    for (size_t i = 0; i < region_count; i++) {
        if (!map_region(&regions[i], page) || !take(regions[i].data, regions[i].client.bytes)) {
            return 0;
        }
    }
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        args->tensor[t].base = translate(args->tensor[t].base);
    }
    for (size_t i = 0; i < request->task_count; i++) {
        tasks[i].scratch = translate(tasks[i].scratch);
        tasks[i].carry_in = translate(tasks[i].carry_in);
        tasks[i].carry_out = translate(tasks[i].carry_out);
        tasks[i].total = translate(tasks[i].total);
    }
    return refused || code->entry == NULL ? -1 : 1;
}

static int answer(int status, size_t task_count)
{
    remote_reply reply = { REMOTE_MAGIC, (uint64_t)status, 0 };
    if (status == REMOTE_FAULT) {
        reply.fault = client_address(fault_address);
    }
    int sent = give(&reply, sizeof reply);
    if (status != REMOTE_REFUSED) {
        sent = sent && give(results, task_count * sizeof *results);
        for (size_t i = 0; i < region_count; i++) {
            sent = sent && give(regions[i].data, regions[i].client.bytes);
        }
    }
    return sent && fflush(stdout) == 0;
}

int main(void)
{
    static char stack[65536]; /* a kernel may have run its own into the ground */
    const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaltstack(&alternate, NULL);
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGPROF };
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &action, NULL);
    }
    remote_request request;
    tly_code code = { 0 };
    while (take(&request, sizeof request)) {
        if (request.magic != REMOTE_MAGIC || request.task_count > REMOTE_MAX_TASKS ||
            request.region_count > REMOTE_MAX_REGIONS) {
            return 1;
        }
        tly_args args;
        memset(results, 0, sizeof results);
        const int got = receive(&request, &args, &code);
        if (got == 0) {
            return 1;
        }
        const int status = got < 0 ? REMOTE_REFUSED : run(&code, &args, request.task_count);
        if (!answer(status, request.task_count)) {
            return 1;
        }
        for (size_t i = 0; i < region_count; i++) {
            munmap(regions[i].mapping, regions[i].mapped);
        }
    }
    tly_code_unload(&code);
    return 0;
}
