/* SPDX-License-Identifier: Apache-2.0 */
/* Computing a tensor from a file, for verbs that compute it in another way than `tally run`. */
#ifndef TLY_RUN_H
#define TLY_RUN_H

#include "../common/tool.h"

/* What computes in place of the word's kernel: buffers as in tally_kernel_run_buffers. Returns an
 * exit status. */
typedef struct tly_computer {
    int (*compute)(void *user, const tally_descriptor *descriptor, const tally_buffers *buffers,
                   tly_report *report);
    void *user;
    const char *verb; /* what stands in front of the word in hints */
} tly_computer;

/* What tally run does, with the word and the input's name given apart from the options' arguments.
 * `computer` NULL: the word's kernel. */
int tly_run_word(const tly_options *options, const char *word, const char *in,
                 const tly_computer *computer, tly_report *report);

#endif
