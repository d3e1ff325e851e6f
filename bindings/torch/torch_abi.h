/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libtally-torch uses of torch's stable C functions. They are looked up in the libtorch_cpu
 * that the process has loaded, so no header of torch's is needed, and one file serves all versions
 * from 2.13 on. The declarations are those of torch/csrc/inductor/aoti_torch/c/shim.h and
 * torch/csrc/stable/c/shim.h of torch 2.15.0; torch only adds to them.
 */
#ifndef TALLY_TORCH_ABI_H
#define TALLY_TORCH_ABI_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** A place of an operator's stack (StableIValue): a number or bool in its low bytes, a handle of a
 *  tensor, list or string, or the address of a torch_value that is optional, 0 for None. A kernel
 *  owns all that lies on its stack. */
typedef uint64_t torch_value;

typedef struct torch_tensor torch_tensor;   /**< AtenTensorHandle */
typedef struct torch_library torch_library; /**< TorchLibraryHandle */
typedef struct torch_list torch_list;       /**< StableListHandle: of torch_values */
typedef struct torch_string torch_string;   /**< StringHandle */

/** A kernel: takes its arguments from the stack, and leaves its results there. */
typedef void (*torch_kernel)(torch_value *stack, uint64_t arguments, uint64_t results);

/** The version that the kernels are written for, 2.13.0, as torch counts it. */
#define TORCH_WRITTEN_FOR ((UINT64_C(2) << 56) | (UINT64_C(13) << 48))

/** XX(name here, arguments, name in libtorch_cpu). All return 0 on success. These make a tensor. */
#define TORCH_TENSOR_FUNCTIONS(XX) \
    XX(get_data, (torch_tensor * tensor, void **data), torch_get_mutable_data_ptr) \
    XX(delete_tensor, (torch_tensor * tensor), aoti_torch_delete_tensor_object) \
    XX(empty_strided, \
       (int64_t rank, const int64_t *sizes, const int64_t *strides, int32_t dtype, \
        int32_t device_type, int32_t device_index, torch_tensor **tensor), \
       aoti_torch_empty_strided)

/** And makes it an object of Python's, since torch 2.14; `type` may be NULL. */
#define TORCH_OBJECT_FUNCTIONS(XX) \
    XX(to_object, (torch_tensor * tensor, void *type, void **object), torch_tensor_to_pyobject)

/** All that operators take. */
#define TORCH_FUNCTIONS(XX) \
    TORCH_TENSOR_FUNCTIONS(XX) \
    XX(library_init, \
       (const char *space, const char *key, const char *file, uint32_t line, \
        torch_library **library), \
       aoti_torch_library_init_impl) \
    XX(library_impl, \
       (torch_library * library, const char *name, torch_kernel kernel, uint64_t version), \
       torch_library_impl) \
    XX(get_dim, (torch_tensor * tensor, int64_t *rank), aoti_torch_get_dim) \
    XX(get_sizes, (torch_tensor * tensor, int64_t **sizes), aoti_torch_get_sizes) \
    XX(get_strides, (torch_tensor * tensor, int64_t **strides), aoti_torch_get_strides) \
    XX(get_dtype, (torch_tensor * tensor, int32_t *dtype), aoti_torch_get_dtype) \
    XX(get_const_data, (torch_tensor * tensor, const void **data), torch_get_const_data_ptr) \
    XX(list_size, (torch_list * list, size_t *count), torch_list_size) \
    XX(list_get, (torch_list * list, size_t index, torch_value *value), torch_list_get_item) \
    XX(delete_list, (torch_list * list), torch_delete_list) \
    XX(delete_value, (torch_value * value), torch_delete_stable_ivalue) \
    XX(string_text, (torch_string * string, const char **text), torch_string_c_str) \
    XX(delete_string, (torch_string * string), torch_delete_string)

/** Throws a C++ exception with the message unless `condition` is true, so what calls it is compiled
 *  with -fexceptions. */
typedef void (*torch_check)(_Bool condition, const char *function, const char *file, uint32_t line,
                            const char *message);

/** Functions without arguments that return numbers. XX(dtype of Tally's, name in libtorch_cpu) */
#define TORCH_DTYPES(XX) \
    XX(TALLY_F64, aoti_torch_dtype_float64) \
    XX(TALLY_F32, aoti_torch_dtype_float32) \
    XX(TALLY_F16, aoti_torch_dtype_float16) \
    XX(TALLY_BF16, aoti_torch_dtype_bfloat16) \
    XX(TALLY_I64, aoti_torch_dtype_int64) \
    XX(TALLY_I32, aoti_torch_dtype_int32) \
    XX(TALLY_I16, aoti_torch_dtype_int16) \
    XX(TALLY_I8, aoti_torch_dtype_int8) \
    XX(TALLY_U64, aoti_torch_dtype_uint64) \
    XX(TALLY_U32, aoti_torch_dtype_uint32) \
    XX(TALLY_U16, aoti_torch_dtype_uint16) \
    XX(TALLY_U8, aoti_torch_dtype_uint8) \
    XX(TALLY_BOOL, aoti_torch_dtype_bool)

/** Looks a function up; 0 if it is missing. ISO C converts no result of dlsym to a function. */
static inline int torch_find(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/** Calls one that has no arguments and returns a number. */
static inline int torch_number(void *library, const char *symbol, int32_t *value)
{
    int32_t (*get)(void) = NULL;
    if (!torch_find(library, symbol, &get)) {
        return 0;
    }
    *value = get();
    return 1;
}

#endif
