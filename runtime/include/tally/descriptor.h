/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors. A descriptor says which operator is computed over which tensor. It is a plain struct
 * that is cheap to fill and to compare. Its text form of one line is called the word
 * (docs/word.md).
 */
#ifndef TALLY_DESCRIPTOR_H
#define TALLY_DESCRIPTOR_H

#include <tally/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most dimensions that a tensor can have. */
#define TALLY_MAX_RANK 8

/** A size that is not known yet, "?" in a word. A descriptor with an open size can be parsed,
 *  checked and printed. tally_inspect shows the CPU kernel for it up to the kernel IR. To create a
 *  kernel that runs, every size must be known. */
#define TALLY_OPEN_SIZE (-1)

/** All operators, numbered from 1: XX(enumerator of tally_op, name in a word). Later versions
 *  append new operators. */
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
    XX(TALLY_ARGMIN, argmin) \
    XX(TALLY_LINREC, linrec) \
    XX(TALLY_CUMARGMAX, cumargmax) \
    XX(TALLY_CUMARGMIN, cumargmin)

/** An operator. Zero means that there is none, so that a descriptor that was not filled is
 *  refused. */
typedef enum tally_op {
    TALLY_OP_NONE = 0,
#define TALLY_OP_ENUMERATOR(enumerator, name) enumerator,
    TALLY_OP_MAP(TALLY_OP_ENUMERATOR)
#undef TALLY_OP_ENUMERATOR
        TALLY_OP_COUNT
} tally_op;

/** Element types. Zero means that none is given: as a dtype it is refused, and in other fields it
 *  selects the default. */
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

/** The order in which elements are combined (docs/semantics.md, "Order"). */
typedef enum tally_order {
    TALLY_ORDER_RUN = 0,   /**< fixed for each kernel: every run gives the same bits, with any
                                number of threads */
    TALLY_ORDER_EXACT = 1, /**< a published tree that is the same on every device; this version has
                                no kernels for it */
    TALLY_ORDER_SERIAL = 2 /**< the order of a simple loop over the elements */
} tally_order;

/** Bits of tally_descriptor.flags. */
enum {
    TALLY_EXCLUSIVE = 1u << 0,   /**< scans: y[i] does not include x[i] */
    TALLY_REVERSE = 1u << 1,     /**< scans: from the end of the axis to its start */
    TALLY_KEEPDIMS = 1u << 2,    /**< reductions: the result keeps reduced axes, with size 1 */
    TALLY_LAST = 1u << 3,        /**< argmax, argmin and their scans: among equal elements the last
                                      one wins */
    TALLY_NAN_IGNORE = 1u << 4,  /**< max, min, argmax, argmin and their scans: NaN are skipped */
    TALLY_IN_STRIDES = 1u << 5,  /**< in_strides and in_offset are used; without this flag both must
                                      be zero, and the input is packed */
    TALLY_OUT_STRIDES = 1u << 6, /**< out_strides and out_offset are used; without this flag both
                                      must be zero, and the output is packed */
    TALLY_ALL_FLAGS = (1u << 7) - 1
};

/** The most operands that a descriptor can have: a, b, c and d. */
#define TALLY_MAX_OPERANDS 4

/** Bytes of an expression with its terminating zero. */
#define TALLY_EXPRESSION_MAX 128

/** How an operand lies in memory. */
typedef enum tally_place {
    TALLY_PLACE_PACKED = 0, /**< row-major over all dims of the input */
    TALLY_PLACE_AXES = 1,   /**< row-major over the dims in `axes`, and the same along all others.
                                 Without a bit in `axes` it is one element */
    TALLY_PLACE_STRIDES = 2 /**< by `strides` and `offset`; no size may be open */
} tally_place;

/** A further tensor, which expressions read. All zero: there is no such operand. */
typedef struct tally_operand {
    int32_t dtype;     /**< a tally_dtype; 0: there is no such operand */
    int32_t place;     /**< a tally_place */
    uint32_t axes;     /**< TALLY_PLACE_AXES: bit d is set if the operand extends along dim d */
    uint32_t reserved; /**< must be 0 */
    int64_t strides[TALLY_MAX_RANK]; /**< TALLY_PLACE_STRIDES: in elements, one for each dim of the
                                          input; may be 0 or negative */
    int64_t offset;                  /**< TALLY_PLACE_STRIDES: elements from the operand's pointer
                                          to element (0, ..., 0) */
} tally_operand;

/** Bits of tally_descriptor.carry. */
enum {
    TALLY_CARRY_IN = 1u << 0, /**< the scan begins with a state that a tensor holds */
    TALLY_CARRY_OUT = 1u << 1 /**< the state after the last element is stored */
};

/**
 * A descriptor. Initialise it with TALLY_DESCRIPTOR_INIT, or set `size` to sizeof(tally_descriptor)
 * and all else to zero. Then fill the fields that you need: zero is the default of every field.
 *
 * A field that has no effect must be zero, otherwise the descriptor is refused. These are strides
 * and an offset without their flag, `axes` without `axes_given`, `axis` for a reduction, and `axes`
 * for a scan. Array elements beyond the tensor's rank are never read.
 *
 * The expressions `map`, `coef`, `post` and `reset` are text in the grammar of docs/word.md. All
 * bytes behind the text must be zero, so at most 127 characters fit.
 *
 * `size` makes versions compatible. If it is smaller, as with an older header, the missing fields
 * count as zero. If it is larger, all bytes that this version does not know must be zero.
 */
typedef struct tally_descriptor {
    size_t size;                   /**< sizeof(tally_descriptor) */
    int32_t op;                    /**< a tally_op */
    int32_t dtype;                 /**< the tally_dtype of the input */
    int32_t out_dtype;             /**< the tally_dtype of the output; 0: the operator's default,
                                        which for scans is `dtype` */
    int32_t acc;                   /**< the tally_dtype of the accumulator: TALLY_F64 if f32, f16 or
                                        bf16 are accumulated in f64; 0: the default */
    int32_t order;                 /**< a tally_order */
    uint32_t flags;                /**< TALLY_EXCLUSIVE, ..., combined by | */
    int32_t rank;                  /**< number of dims: 1 to 8 for scans, 0 to 8 for reductions */
    int32_t axis;                  /**< scans: the axis; a negative one counts from the end */
    uint32_t axes;                 /**< reductions: bit d is set if axis d is reduced */
    uint32_t axes_given;           /**< reductions: 1 if `axes` is used; 0: all axes are reduced */
    int64_t sizes[TALLY_MAX_RANK]; /**< sizes in elements, or TALLY_OPEN_SIZE */
    int64_t in_strides[TALLY_MAX_RANK];  /**< in elements; may be 0 or negative */
    int64_t in_offset;                   /**< elements from `in` to element (0, ..., 0) */
    int64_t out_strides[TALLY_MAX_RANK]; /**< in elements; may be negative. No two output elements
                                              may have one address */
    int64_t out_offset;                  /**< elements from `out` to element (0, ..., 0) */

    /* This version makes no kernels for open sizes beside segments (TALLY_UNSUPPORTED). */

    tally_operand operands[TALLY_MAX_OPERANDS]; /**< a, b, c, d, without gaps */
    char map[TALLY_EXPRESSION_MAX];   /**< the value that is combined; empty: x, the element */
    char coef[TALLY_EXPRESSION_MAX];  /**< linrec: the factor; empty: operand a */
    char post[TALLY_EXPRESSION_MAX];  /**< the value that is stored; empty: y, the result */
    char reset[TALLY_EXPRESSION_MAX]; /**< scans: the state is dropped before each element where
                                           this is not 0; empty: nowhere */
    int32_t carry;                    /**< scans: TALLY_CARRY_IN, TALLY_CARRY_OUT or both */
    int32_t segment_dtype;            /**< TALLY_I32 or TALLY_I64: offsets of this dtype cut the
                                           axis into segments; 0: they do not */
    int64_t segments;                 /**< the number of segments that offsets cut, or
                                           TALLY_OPEN_SIZE */
    int64_t every;                    /**< segments have so many elements; 0: they do not */
} tally_descriptor;

/* clang-format off */
#define TALLY_DESCRIPTOR_INIT \
    { sizeof(tally_descriptor), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 }, 0, { 0 }, 0, \
      { { 0, 0, 0, 0, { 0 }, 0 } }, { 0 }, { 0 }, { 0 }, { 0 }, 0, 0, 0, 0 }
/* clang-format on */

/**
 * Parses a word, such as "cumprod:f32:1x1x3x4:axis=3", into `*descriptor`. The descriptor is
 * checked as by tally_descriptor_check and normalised: its axis is not negative, and its flags for
 * strides are cleared if the strides are packed.
 *
 * Returns TALLY_INVALID if the text is no word or breaks a rule. error->position is then the
 * character, counted from 1, that the message is about. On failure `*descriptor` is not changed.
 *
 * The syntax covers words of later versions. If no kernel exists for such a word, parsing succeeds
 * and creating the kernel fails. Thread-safe.
 */
TALLY_API tally_status tally_descriptor_parse(const char *word, tally_descriptor *descriptor,
                                              tally_error *error);

/** The bytes that always suffice for a word with its terminating zero. */
#define TALLY_WORD_MAX 4096

/**
 * Writes the canonical word of a descriptor and a terminating zero to `text`, which holds
 * `capacity` bytes. TALLY_WORD_MAX bytes always suffice. Sets `*length` to the length without the
 * zero; `length` may be NULL. Returns TALLY_INVALID if the descriptor breaks a rule or the text
 * does not fit; then `text` is not changed. Thread-safe.
 */
TALLY_API tally_status tally_descriptor_print(const tally_descriptor *descriptor, char *text,
                                              size_t capacity, size_t *length, tally_error *error);

/** Checks a descriptor by every rule of docs/semantics.md, section "Tensors": ranks, axis, sizes
 * and distinct output addresses. No size, stride, offset or number of bytes may overflow int64.
 * argmax and argmin need at least one element, and they and their scans at most 1 + the largest
 * number of their output's dtype. Expressions, operands, carry and segments are checked by the
 * rules of docs/word.md. Returns TALLY_INVALID if a rule is broken; the error names the field, the
 * value and the rule. If the field is an expression, or a letter that an expression uses,
 * error->position is the character of that expression. Thread-safe. */
TALLY_API tally_status tally_descriptor_check(const tally_descriptor *descriptor,
                                              tally_error *error);

/** Computes the shape of the result: its rank, its sizes and its dtype.
 *
 * The result of a scan has the shape of its input. The result of a reduction lacks the reduced
 * axes; with TALLY_KEEPDIMS it keeps them with size 1. A reduction of all axes without
 * TALLY_KEEPDIMS has rank 0 and one element. With `segments` or `every`, the reduced axis stays,
 * and its size is the number of segments. A size that is open in the descriptor is
 * TALLY_OPEN_SIZE here. sizes[d] is 0 for every d from `*rank` on.
 *
 * The elements of the result are packed in row-major order, unless TALLY_OUT_STRIDES is set.
 * Each of `rank`, `sizes` and `dtype` may be NULL. Returns TALLY_INVALID as
 * tally_descriptor_check; then nothing is written. Thread-safe. */
TALLY_API tally_status tally_descriptor_result(const tally_descriptor *descriptor, int32_t *rank,
                                               int64_t sizes[TALLY_MAX_RANK], tally_dtype *dtype,
                                               tally_error *error);

/** The largest rank of a carry's tensors. */
#define TALLY_MAX_CARRY_RANK (TALLY_MAX_RANK + 1)

/** Computes the shape of the two tensors of a carry, `carry_in` and `carry_out` of tally_buffers:
 * their rank, their sizes and their dtype.
 *
 * They have the sizes of the input, but 1 on the axis, or with segments their number. They are
 * packed in row-major order. Those of cumlogsumexp have one more, innermost dimension of 2: the
 * largest element, and the sum of the exponentials of all elements less the largest. A state {v, 1}
 * stands for the value v, and {-inf, 0} for no elements. The dtype is the accumulator's (f32 for
 * f16 and bf16); that of cummax and cummin is the input's, or that of the expressions. A size that
 * is open in the descriptor is TALLY_OPEN_SIZE here. sizes[d] is 0 for every d from `*rank` on.
 *
 * Each of `rank`, `sizes` and `dtype` may be NULL. Returns TALLY_INVALID as tally_descriptor_check,
 * and with field "carry" if the descriptor has no carry; then nothing is written. Thread-safe. */
TALLY_API tally_status tally_descriptor_carry(const tally_descriptor *descriptor, int32_t *rank,
                                              int64_t sizes[TALLY_MAX_CARRY_RANK],
                                              tally_dtype *dtype, tally_error *error);

/** The range of bytes, [low, end), in which the elements of a tensor lie. It is counted from the
 *  pointer that is passed to a run. If the tensor has no elements, both are 0. */
typedef struct tally_extent {
    int64_t low; /**< the first byte; negative if elements lie before the pointer */
    int64_t end; /**< one beyond the last byte */
} tally_extent;

/**
 * Computes which bytes a run touches. It reads the input in [in->low, in->end), counted from the
 * `in` of tally_kernel_run, and writes the output in [out->low, out->end), counted from its `out`.
 * A buffer of end - low bytes is therefore large enough; pass the buffer's start minus `low`.
 *
 * The ranges include gaps that strides leave between elements. Gaps of the output are never
 * written. Either of `in` and `out` may be NULL. Returns TALLY_INVALID as tally_descriptor_check,
 * which refuses what overflows int64, and with field "sizes" if a size is open; then nothing is
 * written. Thread-safe.
 */
TALLY_API tally_status tally_descriptor_extent(const tally_descriptor *descriptor, tally_extent *in,
                                               tally_extent *out, tally_error *error);

/** Returns 1 if an operator is a scan, which has an axis and a result of its input's shape. Returns
 *  0 for reductions, which have axes, and for values that are no operator. Thread-safe. */
TALLY_API int32_t tally_op_is_scan(tally_op op);

/** Returns the bytes of one element; 0 if the value is no dtype. Thread-safe. */
TALLY_API size_t tally_dtype_bytes(tally_dtype dtype);

/** Return the name that a dtype ("f32") or an operator ("cumsum") has in words, or NULL if the
 *  value is none. Thread-safe. */
TALLY_API const char *tally_dtype_name(tally_dtype dtype);
TALLY_API const char *tally_op_name(tally_op op);

#ifdef __cplusplus
}
#endif
#endif
