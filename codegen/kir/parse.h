/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel being read: what the file that reads instructions (parse.c) and the one that reads whole
 * texts (parse_text.c) share. Internal to these two. */
#ifndef KIR_PARSE_H
#define KIR_PARSE_H

#include "internal.h"
#include "reader.h"

struct parser {
    struct reader r;
    const char *text;
    const char *begun; /* where the statement being read begins */
    kir_builder *b;
    struct pool places;  /* of each instruction's statement: uint32_t, from the text's beginning */
    struct pool numbers; /* of each number of the text: uint32_t, its value; 0: not defined yet */
};

/* All behind the kernel's '{', with its '}'. */
int kir_parse_body(struct parser *p);

#endif
