/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators.c and node.c of this folder share: operators as they are registered, and their
 * nodes.
 */
#ifndef TALLY_BINDINGS_ORT_NODE_H
#define TALLY_BINDINGS_ORT_NODE_H

#include "ort.h"

#include <tally.h>

/* Where a model gives axes. Opsets before 18 (ReduceSum: before 13) give those of reductions by an
 * attribute, later ones by an input that may be absent. ONNX Runtime knows one form of a custom
 * operator for all opsets, so that both are taken in each. */
typedef enum tly_ort_kind {
    TLY_ORT_SCAN = 1,   /* an input */
    TLY_ORT_REDUCE = 2, /* an input or the attribute `axes` */
    TLY_ORT_PICK = 4    /* the attribute `axis` */
} tly_ort_kind;

typedef struct tly_ort_row {
    tally_op op;
    tly_ort_kind kind;
    const char *name;
    int own; /* no operator of ONNX: in domain "tally" alone */
} tly_ort_row;

/* An operator as it is registered. A scan is two of one name, whose axis is an i32 or an i64. */
typedef struct tly_ort_custom {
    ort_custom_op base; /* first: ONNX Runtime's pointer is this struct's */
    const ort_api *api;
    const tly_ort_row *row;
    ort_type axis;
} tly_ort_custom;

/* Functions of ort_custom_op. A node is made of the attributes that a model gives, and then runs
 * in any number of threads at once. */
ort_status *tly_ort_create(const ort_custom_op *op, const ort_api *api, const ort_info *info,
                           void **node);
ort_status *tly_ort_compute(void *node, ort_call *call);
void tly_ort_destroy(void *node);

/* Returns an error whose text is the format's. */
__attribute__((format(printf, 3, 4))) ort_status *tly_ort_refuse(const ort_api *api, int code,
                                                                 const char *format, ...);

/* Returns the error of a call from a function that can return one. */
#define TLY_ORT_TRY(call) \
    do { \
        ort_status *tried = (call); \
        if (tried != NULL) { \
            return tried; \
        } \
    } while (0)

#endif
