/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the differential driver: draws numbered cases and runs them in one process, on the
 * engines that are asked for, and keeps count where the count outlives the process.
 */
#ifndef TLY_DRIVER_H
#define TLY_DRIVER_H

#include "host.h"
#include "trial.h"

enum { TLY_MOST_ENGINES = 4, TLY_MOST_TEMPLATES = 16 };

/* Cases of one template. */
typedef struct tly_template_count {
    char name[24];
    long count;
} tly_template_count;

/* What outlives a case that ends its process. */
typedef struct tly_progress {
    tly_template_count templates[TLY_MOST_TEMPLATES];
    long data[TLY_DATA_COUNT];
    long next;                    /* the case after the one in work */
    long forced;                  /* passed by another plan than the planner's */
    long plans_refused;           /* plans that the library refused */
    long hosted;                  /* passed on the host's threads */
    long passed, refused, failed; /* refused: for a dtype that the device says it lacks */
    long unmade; /* of the refused: words with stages that there are no kernels of yet */
    long staged; /* of the passed: words with stages */
    int64_t checked, exact;
} tly_progress;

/* Which cases, where. */
typedef struct tly_course {
    uint64_t seed;
    int64_t most;        /* elements a tensor */
    uint32_t draws;      /* operators, as in random.h */
    const char *ops;     /* the same as they were asked for; NULL: those that are made */
    const char *engines; /* comma-separated */
    tally_device device;
    int quick; /* kernels for CPUs are made by LLVM's quick selection */
} tly_course;

typedef struct tly_driver {
    const tly_course *course;
    tally_context *context;
    tly_engine *engines[TLY_MOST_ENGINES];
    int engine_count;
    tly_host host;
    tally_context *host_context;
    /* The library on the host's threads, the context's or a run's; NULL where that means
     * nothing. */
    tly_engine *hosted[2];
    tly_arena in, out, operands[TALLY_MAX_OPERANDS];
    tly_progress *at;
} tly_driver;

/* Exit statuses of a process that runs cases. */
enum { TLY_RAN, TLY_RAN_WRONG, TLY_BROKEN, TLY_SIGNAL };

/* Signals, and a case that does not end, print the case in work and end the process with
 * TLY_SIGNAL. */
void tly_driver_catch_signals(void);

/* Without engines. Returns 0, or says why not. */
int tly_driver_open(tly_driver *v, const tly_course *course, tly_progress *at);
int tly_driver_open_engines(tly_driver *v);
void tly_driver_close(tly_driver *v);

/* Runs one case, counts it, and prints what is wrong with a line that repeats it. */
void tly_driver_run(tly_driver *v, long number);

#endif
