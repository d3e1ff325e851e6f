/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensors of a kernel, by number. Each is a row TENSOR(NAME, name, member, is_written, home,
 * meaning). `member` is its field in tally_buffers. `home` says where a device finds its
 * parameters: in the push constants (PUSH), or in the block at the start of the scratch (BLOCK).
 * Whatever handles tensors has an array with an element for each, and loops over those that a
 * kernel has: the input, the output, so many operands, the offsets of segments, and the two of a
 * carry. These lie side by side: what a kernel lacks leaves no gap (tly_tensor_of, problem.h).
 *
 * Objects made ahead of time have one launch for words without operands, and one for all others
 * (making/ahead.h). The former is compiled with TLY_WITHOUT_OPERANDS, so that it has no arrays and
 * loops for operands. Nothing else defines this macro.
 */
#ifndef TLY_TENSORS_H
#define TLY_TENSORS_H

#ifdef TLY_WITHOUT_OPERANDS
#define TLY_OPERANDS(TENSOR)
#define TLY_OTHERS(TENSOR)
#define TLY_OTHER_TENSORS 0
#else
#define TLY_OPERANDS(TENSOR) \
    TENSOR(A, a, operand[0], 0, BLOCK, "operand a") \
    TENSOR(B, b, operand[1], 0, BLOCK, "operand b") \
    TENSOR(C, c, operand[2], 0, BLOCK, "operand c") \
    TENSOR(D, d, operand[3], 0, BLOCK, "operand d")
#define TLY_OTHERS(TENSOR) \
    TENSOR(OFFSETS, offsets, offsets, 0, BLOCK, "where segments begin and end") \
    TENSOR(STATES_IN, states_in, carry_in, 0, BLOCK, "the states before the first elements") \
    TENSOR(STATES_OUT, states_out, carry_out, 1, BLOCK, "the states after the last elements")
#define TLY_OTHER_TENSORS 3
#endif

#define TLY_ELEMENTS(TENSOR) \
    TENSOR(IN, in, in, 0, PUSH, "what is read") \
    TENSOR(OUT, out, out, 1, PUSH, "what is made") \
    TLY_OPERANDS(TENSOR)

#define TLY_TENSORS(TENSOR) TLY_ELEMENTS(TENSOR) TLY_OTHERS(TENSOR)

typedef enum tly_tensor_number {
#define TLY_NUMBER(T, t, member, is_written, home, meaning) TLY_##T,
    TLY_TENSORS(TLY_NUMBER)
#undef TLY_NUMBER
        TLY_TENSOR_COUNT,
    TLY_FIRST_OPERAND = TLY_OUT + 1,
    TLY_OPERANDS_END = TLY_TENSOR_COUNT - TLY_OTHER_TENSORS,
    /* Facts lie in whole words. */
    TLY_TENSOR_FACTS = (TLY_TENSOR_COUNT + 1) / 4 * 4 + 2
} tly_tensor_number;

/* A bit for each that a kernel writes. */
enum {
#define TLY_WRITTEN_BIT(T, t, member, is_written, home, meaning) | (is_written) << TLY_##T
    TLY_WRITTEN = 0 TLY_TENSORS(TLY_WRITTEN_BIT)
#undef TLY_WRITTEN_BIT
};

static inline int tly_is_written(int tensor)
{
    return TLY_WRITTEN >> tensor & 1;
}

/* The next tensor behind t that kernels move along as they read. Only the output moves by itself.
 * Loops over those tensors begin with TLY_IN. */
static inline int tly_next_read(int t)
{
    return t + 1 == TLY_OUT ? t + 2 : t + 1;
}

/* "in", "out", "a", "carry_in": as fields of errors, of manifests and of tally_buffers. */
static inline const char *tly_tensor_name(int tensor)
{
    static const char *const names[] = {
#define TLY_NAME(T, t, member, is_written, home, meaning) #t,
        TLY_ELEMENTS(TLY_NAME)
#undef TLY_NAME
#define TLY_NAME(T, t, member, is_written, home, meaning) #member,
            TLY_OTHERS(TLY_NAME)
#undef TLY_NAME
    };
    return names[tensor];
}

#endif
