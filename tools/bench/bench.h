/* SPDX-License-Identifier: Apache-2.0 */
/* Timing a kernel as `tally bench` does it, for those who tell it in another way. */
#ifndef TLY_BENCH_H
#define TLY_BENCH_H

#include "../files/job.h"
#include "bench_time.h"

typedef struct tly_measurement {
    tly_timing timing;
    size_t bytes;     /* each logical element of all tensors once */
    size_t ceiling;   /* what a copy takes from one buffer to the other, or what is read */
    const char *data; /* the kind of the input's elements */
    const char *text; /* "copy" or "read": what it is held against */
} tly_measurement;

/* Measures the kernel of a job whose sizes are known, on `selector`, with the options' threads,
 * plan and data. */
int tly_bench_measure(const tly_options *options, const tly_job *job, const char *selector,
                      tly_measurement *measured, tly_report *report);

#endif
