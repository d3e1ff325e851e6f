/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the special tests of Vulkan devices share: plain programs, since drivers have threads and
 * Criterion forks. A case is a descriptor with an image of its input; its results are images of
 * the output's region, judged by the reference or compared with each other. Failures are printed
 * and counted; a test ends with tly_bed_end's exit status.
 */
#ifndef TLY_BED_H
#define TLY_BED_H

#include "../../runtime/vulkan/internal.h"
#include "../compare.h"
#include "../random.h"

/* Prints the message and counts a failure unless `holds`; returns `holds`. Thread-safe. */
int tly_expect(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit status: 0 if nothing failed and `least` expectations were looked at. */
int tly_bed_end(const char *name, int least);

/* The environment's TALLY_TEST_DEVICES, a part of a device's name. */
const char *tly_bed_device(void);

/* Both end the program where they fail: without a device there is nothing to test. */
tally_context *tly_bed_context(void);
tally_vulkan *tly_bed_open(tally_context *context, const char *device);

/* Subnormals may count as zeros there; lavapipe promises nothing, but keeps them. */
int tly_bed_flushes(const tally_vulkan *v);

typedef struct tly_case {
    const char *word;
    tally_descriptor d;
    tly_layout l;
    tally_dtype dtype, out_dtype;
    size_t element, out_element; /* bytes */
    size_t in_bytes, out_bytes;  /* of the regions, lowest to highest element */
    char *in;                    /* the input's region; 0xff between the elements */
} tly_case;

/* Ends the program if the word is none. Free with tly_case_end. */
void tly_case_make(tly_case *c, const char *word, tly_data data, uint64_t seed);
void tly_case_end(tly_case *c);

/* What tally_kernel_run takes for a region that starts at `low`: element 0, maybe outside. */
const void *tly_case_in(const tly_case *c);
void *tly_case_out(const tly_case *c, char *region);

/* An image for a result, filled with a pattern. */
char *tly_case_blank(const tly_case *c);

/* A kernel with `flags` for every dispatch; NULL and a failure if it is not made. */
tally_vulkan_kernel *tly_case_kernel(const tly_case *c, tally_vulkan *v, const char *plan,
                                     uint32_t flags);

/* One run on host memory; returns whether it succeeded, else a failure is counted. */
int tly_case_run(const tly_case *c, const tally_vulkan_kernel *kernel, char *out);

/* Makes, runs and drops a kernel; NULL after a failure. */
char *tly_case_result(const tly_case *c, tally_vulkan *v, const char *plan, uint32_t flags);

/* Judged as docs/semantics.md says; `serial`: by the plain loop's bits alone. Counts a failure. */
int tly_case_right(const tly_case *c, const char *out, int flushes, int serial, const char *label);

/* Equal bits in every element, or both NaN. Counts a failure. */
int tly_case_same(const tly_case *c, const char *a, const char *b, const char *label);

/* Puts the elements of `from` into `to`; both are images of the output. */
void tly_case_copy(const tly_case *c, const char *from, char *to);

/* Runs body(user, index) in `count` threads at once. */
void tly_bed_threads(int count, void (*body)(void *user, int index), void *user);

#endif
