/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Tally uses of ONNX Runtime's C interface, so that a build needs no header of ONNX Runtime.
 *
 * Origin of every figure: onnxruntime_c_api.h of ONNX Runtime (ORT_API_VERSION 29, August 2026).
 * OrtApi is a table of function pointers to which versions only append, so that a function's place
 * never changes; PLACE below asserts each. A place is offsetof(OrtApi, NAME) / sizeof(void *). The
 * comment behind a function is its name there, and the version of ONNX Runtime that it came with
 * where that is above 1.11. The other structs and numbers never change, either.
 *
 * tests/python/test_ort_places.py reads this file and calls the functions by their places in the
 * library that is installed. Functions that only a running kernel can call are judged by what the
 * operators compute.
 */
#ifndef TALLY_BINDINGS_ORT_H
#define TALLY_BINDINGS_ORT_H

#include <stddef.h>
#include <stdint.h>

/* OrtCustomOp grew until version 18, so that ONNX Runtime 1.18 is the oldest that can be used. */
enum { ORT_VERSION = 18 };

/* OrtErrorCode */
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NOT_IMPLEMENTED = 9 };

/* OrtCustomOpInputOutputCharacteristic */
enum { ORT_REQUIRED = 0, ORT_OPTIONAL = 1 };

/* ONNXTensorElementDataType: the numbers are those of TensorProto.DataType in onnx.proto. */
typedef enum ort_type {
    ORT_ANY = 0, /* as the type of an input: every type is taken */
    ORT_F32 = 1,
    ORT_U8 = 2,
    ORT_I8 = 3,
    ORT_U16 = 4,
    ORT_I16 = 5,
    ORT_I32 = 6,
    ORT_I64 = 7,
    ORT_BOOL = 9,
    ORT_F16 = 10,
    ORT_F64 = 11,
    ORT_U32 = 12,
    ORT_U64 = 13,
    ORT_BF16 = 16,
    ORT_TYPES
} ort_type;

typedef struct ort_status ort_status; /* NULL is success; else it is released, or returned to ORT */
typedef struct ort_domain ort_domain;
typedef struct ort_options ort_options; /* OrtSessionOptions */
typedef struct ort_info ort_info;       /* OrtKernelInfo: a node's attributes */
typedef struct ort_call ort_call;       /* OrtKernelContext: one run of a node */
typedef struct ort_value ort_value;
typedef struct ort_shape ort_shape; /* OrtTensorTypeAndShapeInfo */
typedef struct ort_infer ort_infer; /* OrtShapeInferContext */
typedef struct ort_custom_op ort_custom_op;

typedef void (*ort_unused)(void);

/* OrtApi. `unused_P` are the functions from place P on that Tally does not call. */
typedef struct ort_api {
    ort_status *(*create_status)(int code, const char *text); /* CreateStatus */
    ort_unused unused_1[25];
    ort_status *(*create_domain)(const char *name, ort_domain **domain); /* CreateCustomOpDomain */
    ort_status *(*domain_add)(ort_domain *domain, const ort_custom_op *op); /* CustomOpDomain_Add */
    ort_status *(*add_domain)(ort_options *options, ort_domain *domain);    /* AddCustomOpDomain */
    ort_unused unused_29[22];
    ort_status *(*value_data)(const ort_value *value, void **data); /* GetTensorMutableData */
    ort_unused unused_52[8];
    ort_status *(*shape_type)(const ort_shape *shape, ort_type *type); /* GetTensorElementType */
    ort_status *(*shape_rank)(const ort_shape *shape, size_t *rank);   /* GetDimensionsCount */
    ort_status *(*shape_sizes)(const ort_shape *shape, int64_t *sizes,
                               size_t rank); /* GetDimensions: -1 where a size is not known */
    ort_status *(*shape_names)(const ort_shape *shape, const char **names,
                               size_t rank); /* GetSymbolicDimensions: "" where there is none */
    ort_status *(*shape_count)(const ort_shape *shape,
                               size_t *count); /* GetTensorShapeElementCount */
    ort_status *(*value_shape)(const ort_value *value,
                               ort_shape **shape); /* GetTensorTypeAndShape */
    ort_unused unused_66[20];
    ort_status *(*info_int)(const ort_info *info, const char *name,
                            int64_t *value); /* KernelInfoGetAttribute_int64 */
    ort_unused unused_87[1];
    ort_status *(*input_count)(const ort_call *call,
                               size_t *count); /* KernelContext_GetInputCount */
    ort_unused unused_89[1];
    ort_status *(*input)(const ort_call *call, size_t index,
                         const ort_value **value); /* KernelContext_GetInput: NULL if absent */
    ort_status *(*output)(ort_call *call, size_t index, const int64_t *sizes, size_t rank,
                          ort_value **value); /* KernelContext_GetOutput */
    ort_unused unused_92[1];
    void (*release_status)(ort_status *status); /* ReleaseStatus */
    ort_unused unused_94[5];
    void (*release_shape)(ort_shape *shape); /* ReleaseTensorTypeAndShapeInfo */
    ort_unused unused_100[1];
    void (*release_domain)(ort_domain *domain); /* ReleaseCustomOpDomain */
    ort_unused unused_102[61];
    ort_status *(*info_ints)(const ort_info *info, const char *name, int64_t *values,
                             size_t *count); /* KernelInfoGetAttributeArray_int64: values may be
                                                NULL to ask for the count */
    ort_unused unused_164[85];
    ort_status *(*info_constant)(const ort_info *info, size_t index, int *is_constant,
                                 const ort_value **value); /* KernelInfoGetConstantInput_tensor,
                                                              1.15 */
    ort_unused unused_250[18];
    ort_status *(*infer_input)(const ort_infer *infer, size_t index,
                               ort_shape **shape); /* ShapeInferContext_GetInputTypeShape, 1.17 */
    ort_unused unused_269[1];
    ort_status *(*infer_output)(const ort_infer *infer, size_t index,
                                const ort_shape *shape); /* ShapeInferContext_SetOutputTypeShape,
                                                            1.17 */
    ort_unused unused_271[3];
    ort_status *(*parallel_for)(const ort_call *call, void (*task)(void *user, size_t index),
                                size_t count, size_t batches,
                                void *user); /* KernelContext_ParallelFor, 1.17 */
} ort_api;

#define PLACE(function, place) \
    _Static_assert(offsetof(ort_api, function) == (place) * sizeof(void *), #function)
PLACE(create_status, 0);
PLACE(create_domain, 26);
PLACE(domain_add, 27);
PLACE(add_domain, 28);
PLACE(value_data, 51);
PLACE(shape_type, 60);
PLACE(shape_rank, 61);
PLACE(shape_sizes, 62);
PLACE(shape_names, 63);
PLACE(shape_count, 64);
PLACE(value_shape, 65);
PLACE(info_int, 86);
PLACE(input_count, 88);
PLACE(input, 90);
PLACE(output, 91);
PLACE(release_status, 93);
PLACE(release_shape, 99);
PLACE(release_domain, 101);
PLACE(info_ints, 163);
PLACE(info_constant, 249);
PLACE(infer_input, 268);
PLACE(infer_output, 270);
PLACE(parallel_for, 274);
#undef PLACE

/* OrtApiBase, which RegisterCustomOps receives. */
typedef struct ort_base {
    const ort_api *(*get)(uint32_t version); /* GetApi: NULL if the library is older */
    const char *(*version)(void);            /* GetVersionString */
} ort_base;

/* OrtCustomOp: an operator that a library registers. Functions that may be NULL say so. */
struct ort_custom_op {
    uint32_t version;
    void *(*create_old)(const ort_custom_op *, const ort_api *, const ort_info *); /* NULL */
    const char *(*name)(const ort_custom_op *);
    const char *(*provider)(const ort_custom_op *); /* returns NULL: the CPU */
    ort_type (*input_type)(const ort_custom_op *, size_t index);
    size_t (*input_count)(const ort_custom_op *);
    ort_type (*output_type)(const ort_custom_op *, size_t index);
    size_t (*output_count)(const ort_custom_op *);
    void (*compute_old)(void *kernel, ort_call *); /* NULL */
    void (*destroy)(void *kernel);
    int (*input_kind)(const ort_custom_op *, size_t index);
    int (*output_kind)(const ort_custom_op *, size_t index);
    int (*input_memory)(const ort_custom_op *, size_t index); /* returns 0: OrtMemTypeDefault */
    int (*input_least)(const ort_custom_op *); /* these four are for operators with */
    int (*input_same)(const ort_custom_op *);  /* any number of inputs or outputs */
    int (*output_least)(const ort_custom_op *);
    int (*output_same)(const ort_custom_op *);
    ort_status *(*create)(const ort_custom_op *, const ort_api *, const ort_info *, void **kernel);
    ort_status *(*compute)(void *kernel, ort_call *);
    ort_status *(*infer)(const ort_custom_op *, ort_infer *); /* may be NULL */
    int (*first)(const ort_custom_op *);                      /* the first and the last opset */
    int (*last)(const ort_custom_op *);
    /* Pairs of an input and an output that may share memory; may be NULL. */
    size_t (*in_place)(int **inputs, int **outputs);
    void (*in_place_end)(int *inputs, int *outputs);
    size_t (*aliases)(int **inputs, int **outputs); /* NULL */
    void (*aliases_end)(int *inputs, int *outputs); /* NULL */
};
_Static_assert(sizeof(ort_custom_op) == 26 * sizeof(void *), "OrtCustomOp of version 18");

#endif
