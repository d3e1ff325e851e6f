/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that last for one piece of work; see workers.h. */
#include "workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* What a first thread has as a rule; LLVM's recursion is made for it. Where the C library gives
 * other threads less, kernels would be refused. */
#define STACK ((size_t)8 << 20)

int32_t tly_workers_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                       : (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

void tly_workers_run(size_t threads, void *(*work)(void *state), void *state)
{
    pthread_attr_t attributes;
    pthread_t *others = threads > 1 ? calloc(threads - 1, sizeof *others) : NULL;
    size_t started = 0;
    if (others && pthread_attr_init(&attributes) == 0) {
        int failed = pthread_attr_setstacksize(&attributes, STACK);
        while (!failed && started + 1 < threads) {
            failed = pthread_create(&others[started], &attributes, work, state);
            started += !failed;
        }
        pthread_attr_destroy(&attributes);
    }
    work(state);
    while (started > 0) {
        pthread_join(others[--started], NULL);
    }
    free(others);
}
