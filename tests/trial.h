/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case of the differential driver: a descriptor, its data, and every way in which a kernel may
 * be called for it, all of which must give the same right bits and touch nothing else.
 */
#ifndef TLY_TRIAL_H
#define TLY_TRIAL_H

#include "arena.h"
#include "compare.h"
#include "engine.h"
#include "random.h"
#include "targets.h"

typedef struct tly_trial {
    tally_descriptor d;
    tly_data data;
    const char *plan;  /* overrides; "" for none, and after the run if they were refused */
    tly_random random; /* for the data and the places */
    const tly_arena *in, *out;
    const tly_arena *operands;  /* TALLY_MAX_OPERANDS; NULL: the word has none */
    const tally_device *target; /* what it may refuse and flush; NULL: nothing */
    int refused;                /* after the run: the target lacks a dtype, and said so */
    int unmade;          /* ... there are no kernels of words with stages yet, and it said so */
    int plan_refused;    /* ... the overrides were TALLY_INVALID; the planner's own plan ran */
    tly_verdict verdict; /* of the first run */
    char why[640];       /* on failure: what is wrong; during a run: how it is called */
} tly_trial;

/* Runs the trial on every engine; returns 0 if all is right. The engines' results must agree. What
 * the target lacks must be refused. */
int tly_trial_run(tly_trial *t, tly_engine *const *engines, int count);

#endif
