/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor: what is to be computed, over which tensor. A descriptor is plain data, cheap to
 * fill and to compare, and has a one-line text form, the word (docs/word.md).
 */
#ifndef TALLY_DESCRIPTOR_H
#define TALLY_DESCRIPTOR_H

#include <tally/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TALLY_MAX_RANK 8

/** A size that is open, "?" in a word. Such a descriptor can be read, checked, printed and, as far
 *  as the kernel IR for a CPU, inspected. A kernel that runs needs every size. */
#define TALLY_OPEN_SIZE (-1)

/** Operators, from 1 on: XX(enumerator of tally_op, name in a word). New ones come at the end. */
#define TALLY_OP_MAP(XX) \
    XX(TALLY_CUMSUM, cumsum) \
    XX(TALLY_CUMPROD, cumprod) \
    XX(TALLY_CUMMAX, cummax) \
    XX(TALLY_CUMMIN, cummin) \
    XX(TALLY_CUMLOGSUMEXP, cumlogsumexp) \
    XX(TALLY_SUM, sum) \
    XX(TALLY_PROD, prod) \
    XX(TALLY_MEAN, mean) \
    XX(TALLY_L1, l1) \
    XX(TALLY_L2, l2) \
    XX(TALLY_SUM_SQUARE, sum_square) \
    XX(TALLY_LOG_SUM, log_sum) \
    XX(TALLY_LOG_SUM_EXP, log_sum_exp) \
    XX(TALLY_MAX, max) \
    XX(TALLY_MIN, min) \
    XX(TALLY_ARGMAX, argmax) \
    XX(TALLY_ARGMIN, argmin)

/** An operator. Zero is none, so that an unfilled descriptor is refused. */
typedef enum tally_op {
    TALLY_OP_NONE = 0,
#define TALLY_OP_ENUMERATOR(enumerator, name) enumerator,
    TALLY_OP_MAP(TALLY_OP_ENUMERATOR)
#undef TALLY_OP_ENUMERATOR
        TALLY_OP_COUNT
} tally_op;

/** Element types. Zero means "not said": refused as dtype, the default elsewhere. */
typedef enum tally_dtype {
    TALLY_DTYPE_NONE = 0,
    TALLY_F64,
    TALLY_F32,
    TALLY_F16,
    TALLY_BF16,
    TALLY_I64,
    TALLY_I32,
    TALLY_I16,
    TALLY_I8,
    TALLY_U64,
    TALLY_U32,
    TALLY_U16,
    TALLY_U8,
    TALLY_BOOL,
    TALLY_DTYPE_COUNT
} tally_dtype;

/** In which order elements are combined (see docs/semantics.md, order). */
typedef enum tally_order {
    TALLY_ORDER_RUN = 0,   /**< fixed per kernel: same bits on every run and thread count */
    TALLY_ORDER_EXACT = 1, /**< a published tree, the same on every backend */
    TALLY_ORDER_SERIAL = 2 /**< the plain loop's */
} tally_order;

/** Bits of tally_descriptor.flags. */
enum {
    TALLY_EXCLUSIVE = 1u << 0,   /**< scans: y[i] excludes x[i] */
    TALLY_REVERSE = 1u << 1,     /**< scans: from the axis' end to its start */
    TALLY_KEEPDIMS = 1u << 2,    /**< reductions: keep size-1 dims */
    TALLY_LAST = 1u << 3,        /**< arg: the last index on ties */
    TALLY_NAN_IGNORE = 1u << 4,  /**< max, min and their kin: skip NaN */
    TALLY_IN_STRIDES = 1u << 5,  /**< in_strides and in_offset hold. Without it both must be zero:
                                       the input is packed */
    TALLY_OUT_STRIDES = 1u << 6, /**< the same of out_strides and out_offset */
    TALLY_ALL_FLAGS = (1u << 7) - 1
};

/**
 * A descriptor. Begin with TALLY_DESCRIPTOR_INIT, or set `size` to sizeof(tally_descriptor) and the
 * rest to zero; then fill what is wanted: zero is every field's default. A field that would not
 * count is refused unless it is zero: strides and offset without their flag, axes without
 * axes_given, an axis of a reduction, axes of a scan. Array elements beyond the tensor's rank are
 * never read. A shorter `size` from an older header is accepted, the missing tail being zero; a
 * longer one only if the unknown tail is zero.
 */
typedef struct tally_descriptor {
    size_t size;                         /**< bytes of this struct */
    int32_t op;                          /**< tally_op */
    int32_t dtype;                       /**< tally_dtype of the input */
    int32_t out_dtype;                   /**< 0: the operator's default (scans: dtype) */
    int32_t acc;                         /**< TALLY_F64: f32, f16, bf16 in f64; 0: default */
    int32_t order;                       /**< tally_order */
    uint32_t flags;                      /**< TALLY_EXCLUSIVE | ... */
    int32_t rank;                        /**< dims: 1 to 8 for scans, 0 to 8 for reductions */
    int32_t axis;                        /**< scans: negative counts from the end */
    uint32_t axes;                       /**< reductions: bit d for axis d; see axes_given */
    uint32_t axes_given;                 /**< reductions: 0 means all axes, 1 that `axes` holds */
    int64_t sizes[TALLY_MAX_RANK];       /**< elements, or TALLY_OPEN_SIZE */
    int64_t in_strides[TALLY_MAX_RANK];  /**< elements; 0 and negative allowed */
    int64_t in_offset;                   /**< elements from `in` to element (0, ..., 0) */
    int64_t out_strides[TALLY_MAX_RANK]; /**< elements; negative allowed, distinct addresses */
    int64_t out_offset;                  /**< elements from `out` to element (0, ..., 0) */
} tally_descriptor;

#define TALLY_DESCRIPTOR_INIT \
    { sizeof(tally_descriptor), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 }, 0, { 0 }, 0 }

/**
 * Reads a word, such as "cumprod:f32:1x1x3x4:axis=3". The descriptor is checked as by
 * tally_descriptor_check and normalised: axis non-negative, flags for packed strides cleared. It
 * is untouched on failure; error->position is the character (from 1) the message speaks of.
 * TALLY_INVALID: not a word, or a rule broken. Valid words of later versions parse, too:
 * what no kernel exists for is refused at creation. Thread-safe.
 */
TALLY_API tally_status tally_descriptor_parse(const char *word, tally_descriptor *descriptor,
                                              tally_error *error);

/**
 * Writes the canonical word and a terminating zero to `text`, which holds `capacity` bytes, and
 * its length without the zero to `*length` (may be NULL). TALLY_INVALID where the descriptor
 * breaks a rule or the text does not fit; then `text` is untouched. TALLY_WORD_MAX bytes always
 * suffice. Thread-safe.
 */
#define TALLY_WORD_MAX 1024
TALLY_API tally_status tally_descriptor_print(const tally_descriptor *descriptor, char *text,
                                              size_t capacity, size_t *length, tally_error *error);

/**
 * Checks every rule of docs/semantics.md, section Tensors: ranks, axis, sizes, distinct output
 * addresses, no overflow of int64 in any size, stride, offset or byte count; argmax and argmin have
 * an element to tell, and no more than 1 + the largest number of their output's dtype.
 * TALLY_INVALID with field, value and rule. Thread-safe.
 */
TALLY_API tally_status tally_descriptor_check(const tally_descriptor *descriptor,
                                              tally_error *error);

/**
 * What must be allocated for the result: its rank, its sizes and its dtype. A scan's result has its
 * input's shape. A reduction's lacks the reduced axes, or has them with size 1 where
 * TALLY_KEEPDIMS asks for that; of all axes without it, rank 0 and one element. A size that is open
 * in the descriptor is TALLY_OPEN_SIZE here, and sizes from `*rank` on are 0. Elements are packed
 * row major unless TALLY_OUT_STRIDES says where they lie. Each of `rank`, `sizes` and `dtype` may
 * be NULL. TALLY_INVALID as by tally_descriptor_check; then nothing is written. Thread-safe.
 */
TALLY_API tally_status tally_descriptor_result(const tally_descriptor *descriptor, int32_t *rank,
                                               int64_t sizes[TALLY_MAX_RANK], tally_dtype *dtype,
                                               tally_error *error);

/** Where a tensor lies: the bytes that its elements have, counted from the pointer that is given to
 *  a run. `end` is one beyond the last; of a tensor without elements both are 0. */
typedef struct tally_extent {
    int64_t low; /**< negative where strides or the offset reach below the pointer */
    int64_t end;
} tally_extent;

/**
 * Which bytes a run touches: those of the input that it reads lie in [in->low, in->end), those of
 * the output that it writes in [out->low, out->end), from the `in` and the `out` of
 * tally_kernel_run. So a buffer of end - low bytes holds a tensor, with `low` below the pointer.
 * Gaps between elements that strides leave count as touched; of the output they are never written.
 * Either of `in` and `out` may be NULL. TALLY_INVALID as by tally_descriptor_check, which refuses
 * what overflows int64, and field "sizes" where a size is open; then nothing is written.
 * Thread-safe.
 */
TALLY_API tally_status tally_descriptor_extent(const tally_descriptor *descriptor, tally_extent *in,
                                               tally_extent *out, tally_error *error);

/** Whether an operator is a scan, which has an axis and a result of its input's shape: 1. 0 for
 *  reductions, which have axes, and for what is no operator. Thread-safe. */
TALLY_API int32_t tally_op_is_scan(tally_op op);

/** Bytes of one element; 0 for no dtype. Thread-safe. */
TALLY_API size_t tally_dtype_bytes(tally_dtype dtype);

/** The word's name of a dtype or operator ("f32", "cumsum"); NULL if there is none. Thread-safe. */
TALLY_API const char *tally_dtype_name(tally_dtype dtype);
TALLY_API const char *tally_op_name(tally_op op);

#ifdef __cplusplus
}
#endif
#endif
