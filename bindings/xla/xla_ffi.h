/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the handler uses of XLA's foreign function interface, version 0.1. No header of XLA is
 * needed to build it, and one library serves every jaxlib that takes this version.
 *
 * Source: xla/ffi/api/c_api.h of OpenXLA, as jaxlib installs it below jax.ffi.include_dir(). Each
 * struct and enumeration names its original there. Fields behind the last one that is used are left
 * out: XLA only appends within a major version. tests/python/xla_layout.c compares every figure and
 * place with that header.
 */
#ifndef TALLY_XLA_FFI_H
#define TALLY_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

/** The version that the handler states: the oldest that has all that is declared here. */
enum { XLA_MAJOR = 0, XLA_MINOR = 1 };

/** XLA_FFI_Extension_Type: a call that asks for the version. */
enum { XLA_METADATA = 1 };

/** XLA_FFI_AttrType: a text. Arguments and results are always buffers. */
enum { XLA_ATTRIBUTE_STRING = 4 };

/** XLA_FFI_Error_Code. */
enum {
    XLA_INVALID_ARGUMENT = 3,
    XLA_RESOURCE_EXHAUSTED = 8,
    XLA_FAILED_PRECONDITION = 9,
    XLA_UNIMPLEMENTED = 12,
    XLA_INTERNAL = 13
};

/** XLA_FFI_DataType: those that have a name in Tally. */
enum {
    XLA_PRED = 1,
    XLA_S8 = 2,
    XLA_S16 = 3,
    XLA_S32 = 4,
    XLA_S64 = 5,
    XLA_U8 = 6,
    XLA_U16 = 7,
    XLA_U32 = 8,
    XLA_U64 = 9,
    XLA_F16 = 10,
    XLA_F32 = 11,
    XLA_F64 = 12,
    XLA_BF16 = 16,
    XLA_DTYPES
};

/** XLA_FFI_Extension_Base. */
typedef struct xla_extension {
    size_t size;
    int32_t type;
    struct xla_extension *next;
} xla_extension;

/** XLA_FFI_Api_Version. */
typedef struct xla_version {
    size_t size;
    xla_extension *extensions;
    int32_t major, minor;
} xla_version;

/** XLA_FFI_Metadata, which a handler fills. */
typedef struct xla_metadata {
    size_t size;
    xla_version version;
    uint32_t traits;
} xla_metadata;

/** XLA_FFI_Metadata_Extension. */
typedef struct xla_metadata_extension {
    xla_extension base;
    xla_metadata *metadata;
} xla_metadata_extension;

/** XLA_FFI_ByteSpan: a text without a final zero. */
typedef struct xla_span {
    const char *text;
    size_t bytes;
} xla_span;

/** XLA_FFI_Buffer: a packed tensor. */
typedef struct xla_buffer {
    size_t size;
    xla_extension *extensions;
    int32_t dtype;
    void *data;
    int64_t rank;
    int64_t *sizes;
} xla_buffer;

/** XLA_FFI_Args and XLA_FFI_Rets. */
typedef struct xla_buffers {
    size_t size;
    xla_extension *extensions;
    int64_t count;
    int32_t *types;
    xla_buffer **buffers;
} xla_buffers;

/** XLA_FFI_Attrs. What an attribute is depends on its type; a string's is an xla_span. */
typedef struct xla_attributes {
    size_t size;
    xla_extension *extensions;
    int64_t count;
    int32_t *types;
    xla_span **names;
    void **values;
} xla_attributes;

/** XLA_FFI_Error and XLA_FFI_ExecutionContext, which only XLA knows. */
typedef struct xla_error xla_error;
typedef struct xla_context xla_context;

/** XLA_FFI_Error_Create_Args. */
typedef struct xla_error_create {
    size_t size;
    xla_extension *extensions;
    const char *message;
    int32_t code;
} xla_error_create;

/** XLA counts the bytes of a struct to the end of its last field, without padding. */
enum { XLA_ERROR_CREATE_BYTES = offsetof(xla_error_create, code) + sizeof(int32_t) };

/** XLA_FFI_Error_Destroy_Args. */
typedef struct xla_error_destroy {
    size_t size;
    xla_extension *extensions;
    xla_error *error;
} xla_error_destroy;

/** XLA_FFI_ThreadPool_Schedule_Args: task(data) runs on a thread of XLA's, now or later. */
typedef struct xla_schedule {
    size_t size;
    xla_extension *extensions;
    xla_context *context;
    void (*task)(void *data);
    void *data;
} xla_schedule;

/** XLA_FFI_Api, to the last function that is used. */
typedef struct xla_api {
    size_t size;
    xla_extension *extensions;
    xla_version version;
    const void *internal;
    xla_error *(*create_error)(xla_error_create *);
    void (*get_message)(void);
    void (*destroy_error)(xla_error_destroy *);
    void (*unused[8])(void); /* from XLA_FFI_Handler_Register to XLA_FFI_DeviceMemory_Free */
    xla_error *(*schedule)(xla_schedule *);
} xla_api;

/** XLA_FFI_CallFrame. */
typedef struct xla_call {
    size_t size;
    xla_extension *extensions;
    const xla_api *api;
    xla_context *context;
    int32_t stage;
    xla_buffers arguments, results;
    xla_attributes attributes;
} xla_call;

#endif
