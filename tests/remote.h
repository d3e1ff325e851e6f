/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running kernels of another architecture: a runner (run_aarch64.c) stays alive under an emulator
 * and takes case after case through its standard input, as starting an emulator for each would
 * take longer than the cases. Memory is sent along, and comes back as the kernel left it.
 */
#ifndef TLY_REMOTE_H
#define TLY_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "../runtime/problem/abi.h"

typedef struct remote remote;

/* Memory that the kernel may touch. It gets a copy with the same place in its page and
 * inaccessible pages around, and pointers in args and tasks are translated from here to there. */
typedef struct remote_region {
    void *data;
    size_t bytes;
} remote_region;

enum {
    REMOTE_OK = 0,
    REMOTE_FAULT = 1,   /* the kernel touched memory that is none of its own, or ran away */
    REMOTE_REFUSED = 2, /* the runner could not load the code or have the memory */
    REMOTE_LOST = -1    /* the runner is gone or talks nonsense; remote_close is all that is left */
};

/* Starts a runner by its command line; NULL if that fails. One thread at a time. */
remote *remote_open(const char *const command[]);

/* The level's runner, which the build names in TALLY_TEST_AARCH64 or TALLY_TEST_RISCV64, under
 * qemu-user; NULL where there is none, and the test is to be skipped. */
remote *remote_open_level(const char *level);

/* Ends the runner; NULL is valid. */
void remote_close(remote *r);

/* Calls the kernel once for each task, in order, and copies the regions and results back. After
 * REMOTE_FAULT the regions are as at the fault, and *fault (may be NULL) is the address, in this
 * process's terms where it lies near a region. `code` NULL: that of the call before. */
int remote_run(remote *r, const unsigned char *code, size_t code_bytes, const tly_args *args,
               const tly_task *tasks, size_t task_count, const remote_region *regions,
               size_t region_count, int64_t *results, uint64_t *fault);

/* ---- what goes through the pipe, in the byte order that both ends share ---- */

#define REMOTE_MAGIC UINT64_C(0x31796c6c6174)
enum { REMOTE_MAX_REGIONS = 16, REMOTE_MAX_TASKS = 4096 };

/* Then: args, tasks, remote_span for each region, code, and every region's bytes. */
typedef struct remote_request {
    uint64_t magic, code_bytes, task_count, region_count;
} remote_request;

typedef struct remote_span {
    uint64_t address, bytes; /* in the client */
} remote_span;

/* Then, if status is REMOTE_OK or REMOTE_FAULT: task_count results, every region's bytes. */
typedef struct remote_reply {
    uint64_t magic, status, fault;
} remote_reply;

#endif
