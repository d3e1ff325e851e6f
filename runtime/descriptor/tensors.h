/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensors of a kernel, by number. Each is a row TENSOR(NAME, name, is_written, meaning);
 * whatever handles tensors has an array with one element for each, and loops over it.
 */
#ifndef TLY_TENSORS_H
#define TLY_TENSORS_H

#define TLY_TENSORS(TENSOR) \
    TENSOR(IN, in, 0, "what is read") \
    TENSOR(OUT, out, 1, "what is made")

typedef enum tly_tensor_number {
#define TLY_NUMBER(T, t, is_written, meaning) TLY_##T,
    TLY_TENSORS(TLY_NUMBER)
#undef TLY_NUMBER
        TLY_TENSOR_COUNT
} tly_tensor_number;

/* A bit for each that a kernel writes. */
enum {
#define TLY_WRITTEN_BIT(T, t, is_written, meaning) | (is_written) << TLY_##T
    TLY_WRITTEN = 0 TLY_TENSORS(TLY_WRITTEN_BIT)
#undef TLY_WRITTEN_BIT
};

static inline int tly_is_written(int tensor)
{
    return TLY_WRITTEN >> tensor & 1;
}

/* "in", "out": as fields of errors, of manifests and of tally_buffers. */
static inline const char *tly_tensor_name(int tensor)
{
    static const char *const names[] = {
#define TLY_NAME(T, t, is_written, meaning) #t,
        TLY_TENSORS(TLY_NAME)
#undef TLY_NAME
    };
    return names[tensor];
}

#endif
