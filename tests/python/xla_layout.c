/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares bindings/xla/xla_ffi.h with XLA's own header, which jaxlib installs.
 * test_jax_functions.py compiles this file; there is nothing to run.
 */
#include "../../bindings/xla/xla_ffi.h"

#include <xla/ffi/api/c_api.h>

#define SAME(ours, theirs) _Static_assert((ours) == (theirs), #theirs)

/* A field has the same place and the same size. */
#define FIELD(type, field, original, their) \
    SAME(offsetof(type, field), offsetof(original, their)); \
    SAME(sizeof(((type *)0)->field), sizeof(((original *)0)->their));

#define FIELDS(ROW) \
    ROW(xla_extension, size, XLA_FFI_Extension_Base, struct_size) \
    ROW(xla_extension, type, XLA_FFI_Extension_Base, type) \
    ROW(xla_extension, next, XLA_FFI_Extension_Base, next) \
    ROW(xla_version, size, XLA_FFI_Api_Version, struct_size) \
    ROW(xla_version, extensions, XLA_FFI_Api_Version, extension_start) \
    ROW(xla_version, major, XLA_FFI_Api_Version, major_version) \
    ROW(xla_version, minor, XLA_FFI_Api_Version, minor_version) \
    ROW(xla_metadata, size, XLA_FFI_Metadata, struct_size) \
    ROW(xla_metadata, version, XLA_FFI_Metadata, api_version) \
    ROW(xla_metadata, traits, XLA_FFI_Metadata, traits) \
    ROW(xla_metadata_extension, base, XLA_FFI_Metadata_Extension, extension_base) \
    ROW(xla_metadata_extension, metadata, XLA_FFI_Metadata_Extension, metadata) \
    ROW(xla_span, text, XLA_FFI_ByteSpan, ptr) \
    ROW(xla_span, bytes, XLA_FFI_ByteSpan, len) \
    ROW(xla_buffer, size, XLA_FFI_Buffer, struct_size) \
    ROW(xla_buffer, extensions, XLA_FFI_Buffer, extension_start) \
    ROW(xla_buffer, dtype, XLA_FFI_Buffer, dtype) \
    ROW(xla_buffer, data, XLA_FFI_Buffer, data) \
    ROW(xla_buffer, rank, XLA_FFI_Buffer, rank) \
    ROW(xla_buffer, sizes, XLA_FFI_Buffer, dims) \
    ROW(xla_buffers, size, XLA_FFI_Args, struct_size) \
    ROW(xla_buffers, extensions, XLA_FFI_Args, extension_start) \
    ROW(xla_buffers, count, XLA_FFI_Args, size) \
    ROW(xla_buffers, types, XLA_FFI_Args, types) \
    ROW(xla_buffers, buffers, XLA_FFI_Args, args) \
    ROW(xla_buffers, size, XLA_FFI_Rets, struct_size) \
    ROW(xla_buffers, extensions, XLA_FFI_Rets, extension_start) \
    ROW(xla_buffers, count, XLA_FFI_Rets, size) \
    ROW(xla_buffers, types, XLA_FFI_Rets, types) \
    ROW(xla_buffers, buffers, XLA_FFI_Rets, rets) \
    ROW(xla_attributes, size, XLA_FFI_Attrs, struct_size) \
    ROW(xla_attributes, extensions, XLA_FFI_Attrs, extension_start) \
    ROW(xla_attributes, count, XLA_FFI_Attrs, size) \
    ROW(xla_attributes, types, XLA_FFI_Attrs, types) \
    ROW(xla_attributes, names, XLA_FFI_Attrs, names) \
    ROW(xla_attributes, values, XLA_FFI_Attrs, attrs) \
    ROW(xla_error_create, size, XLA_FFI_Error_Create_Args, struct_size) \
    ROW(xla_error_create, extensions, XLA_FFI_Error_Create_Args, extension_start) \
    ROW(xla_error_create, message, XLA_FFI_Error_Create_Args, message) \
    ROW(xla_error_create, code, XLA_FFI_Error_Create_Args, errc) \
    ROW(xla_error_destroy, size, XLA_FFI_Error_Destroy_Args, struct_size) \
    ROW(xla_error_destroy, extensions, XLA_FFI_Error_Destroy_Args, extension_start) \
    ROW(xla_error_destroy, error, XLA_FFI_Error_Destroy_Args, error) \
    ROW(xla_schedule, size, XLA_FFI_ThreadPool_Schedule_Args, struct_size) \
    ROW(xla_schedule, extensions, XLA_FFI_ThreadPool_Schedule_Args, extension_start) \
    ROW(xla_schedule, context, XLA_FFI_ThreadPool_Schedule_Args, ctx) \
    ROW(xla_schedule, task, XLA_FFI_ThreadPool_Schedule_Args, task) \
    ROW(xla_schedule, data, XLA_FFI_ThreadPool_Schedule_Args, data) \
    ROW(xla_api, size, XLA_FFI_Api, struct_size) \
    ROW(xla_api, extensions, XLA_FFI_Api, extension_start) \
    ROW(xla_api, version, XLA_FFI_Api, api_version) \
    ROW(xla_api, internal, XLA_FFI_Api, internal_api) \
    ROW(xla_api, create_error, XLA_FFI_Api, XLA_FFI_Error_Create) \
    ROW(xla_api, get_message, XLA_FFI_Api, XLA_FFI_Error_GetMessage) \
    ROW(xla_api, destroy_error, XLA_FFI_Api, XLA_FFI_Error_Destroy) \
    ROW(xla_api, unused[0], XLA_FFI_Api, XLA_FFI_Handler_Register) \
    ROW(xla_api, unused[7], XLA_FFI_Api, XLA_FFI_DeviceMemory_Free) \
    ROW(xla_api, schedule, XLA_FFI_Api, XLA_FFI_ThreadPool_Schedule) \
    ROW(xla_call, size, XLA_FFI_CallFrame, struct_size) \
    ROW(xla_call, extensions, XLA_FFI_CallFrame, extension_start) \
    ROW(xla_call, api, XLA_FFI_CallFrame, api) \
    ROW(xla_call, context, XLA_FFI_CallFrame, ctx) \
    ROW(xla_call, stage, XLA_FFI_CallFrame, stage) \
    ROW(xla_call, arguments, XLA_FFI_CallFrame, args) \
    ROW(xla_call, results, XLA_FFI_CallFrame, rets) \
    ROW(xla_call, attributes, XLA_FFI_CallFrame, attrs)

FIELDS(FIELD)

#define SIZES(ROW) \
    ROW(XLA_ERROR_CREATE_BYTES, XLA_FFI_Error_Create_Args_STRUCT_SIZE) \
    ROW(sizeof(xla_error_destroy), XLA_FFI_Error_Destroy_Args_STRUCT_SIZE) \
    ROW(sizeof(xla_schedule), XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE)

#define VALUES(ROW) \
    ROW(XLA_MAJOR, XLA_FFI_API_MAJOR) \
    ROW(XLA_METADATA, XLA_FFI_Extension_Metadata) \
    ROW(XLA_ATTRIBUTE_STRING, XLA_FFI_AttrType_STRING) \
    ROW(XLA_INVALID_ARGUMENT, XLA_FFI_Error_Code_INVALID_ARGUMENT) \
    ROW(XLA_RESOURCE_EXHAUSTED, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED) \
    ROW(XLA_FAILED_PRECONDITION, XLA_FFI_Error_Code_FAILED_PRECONDITION) \
    ROW(XLA_UNIMPLEMENTED, XLA_FFI_Error_Code_UNIMPLEMENTED) \
    ROW(XLA_INTERNAL, XLA_FFI_Error_Code_INTERNAL) \
    ROW(XLA_PRED, XLA_FFI_DataType_PRED) \
    ROW(XLA_S8, XLA_FFI_DataType_S8) \
    ROW(XLA_S16, XLA_FFI_DataType_S16) \
    ROW(XLA_S32, XLA_FFI_DataType_S32) \
    ROW(XLA_S64, XLA_FFI_DataType_S64) \
    ROW(XLA_U8, XLA_FFI_DataType_U8) \
    ROW(XLA_U16, XLA_FFI_DataType_U16) \
    ROW(XLA_U32, XLA_FFI_DataType_U32) \
    ROW(XLA_U64, XLA_FFI_DataType_U64) \
    ROW(XLA_F16, XLA_FFI_DataType_F16) \
    ROW(XLA_F32, XLA_FFI_DataType_F32) \
    ROW(XLA_F64, XLA_FFI_DataType_F64) \
    ROW(XLA_BF16, XLA_FFI_DataType_BF16)

#define ROW_SAME(ours, theirs) SAME((int)(ours), (int)(theirs));
SIZES(ROW_SAME)
VALUES(ROW_SAME)

_Static_assert((int)XLA_MINOR <= (int)XLA_FFI_API_MINOR, "the stated version is not newer");
