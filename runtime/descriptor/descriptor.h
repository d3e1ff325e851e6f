/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files about descriptors share: facts of operators and dtypes, packed strides, the shape
 * of a result, and the short form of a resolved descriptor. Internal; tally_descriptor itself is
 * in <tally/descriptor.h>.
 */
#ifndef TLY_DESCRIPTOR_H
#define TLY_DESCRIPTOR_H

#include <tally/descriptor.h>

#include "tensors.h"

/* What elements are computed in. */
typedef enum tly_computes {
    TLY_COMPUTES_OWN,     /* the descriptor's accumulator */
    TLY_COMPUTES_WIDEST,  /* of integers, whose sums are divided, or a function taken of, 64 bits */
    TLY_COMPUTES_EXACT,   /* the same; with a float output, too, integers are added as such */
    TLY_COMPUTES_REALS,   /* of integers f64: a function of each is taken */
    TLY_COMPUTES_KEYS,    /* integers that order as elements do (templates/stages/keys.c) */
    TLY_COMPUTES_INDICES, /* keys, no narrower than a count of elements: one is told of */
} tly_computes;

/* In which order the elements of a reduction may come; those of scans come in theirs. */
typedef enum tly_sequence {
    TLY_SEQUENCE_FREE,   /* any: they are combined in any */
    TLY_SEQUENCE_FLOATS, /* of integers and along rows any; in lanes a product of floats is the
                            plain loop's, which may leave the range on its way */
    TLY_SEQUENCE_TOLD,   /* the descriptor's: the result tells of it, or depends on it */
    TLY_SEQUENCE_EACH,   /* the descriptor's, one element after the other: states do not commute.
                            None of Tally's own; those of tests do (tests/states.c) */
} tly_sequence;

/* Element-wise stages of an operator (templates/stages/elementwise.h). A list of them is a byte, of
 * which the lower half is the first. */
typedef enum tly_stage_id {
    TLY_STAGE_END, /* none: ends a list */
    TLY_STAGE_ABS,
    TLY_STAGE_SQUARE,
    TLY_STAGE_EXP,
    TLY_STAGE_LOG,
    TLY_STAGE_SQRT,
    TLY_STAGE_SCALE, /* by one over the number of elements; integers towards zero, of none 0 */
    TLY_STAGE_CAST,  /* integers to f64, which the next one is a function of; floats as they are */
    TLY_STAGE_COUNT
} tly_stage_id;

#define TLY_STAGES(first, second) ((first) | (second) << 4)

/* Means of integers whose output is a float: the exact sum becomes an f64, which is divided. */
enum { TLY_STAGES_OF_REAL_MEAN = TLY_STAGES(TLY_STAGE_CAST, TLY_STAGE_SCALE) };

typedef struct tly_op_facts {
    uint8_t scan;      /* 1: scan, 0: reduction */
    uint8_t out_dtype; /* tally_dtype of the output by default; 0: the input's */
    uint32_t flags;    /* those that it takes */
    uint8_t wide;      /* 1: acc=f64 may be asked for, of dtypes that have it */
    uint8_t modular;   /* 1: of integers as many bits are right as an element has, sign or not */
    uint8_t computes;  /* tly_computes */
    uint8_t sequence;  /* tly_sequence */
    uint8_t costly;    /* 1: two states are combined by a function, as of exponentials */
    uint8_t before;    /* TLY_STAGES of each element before it is combined, */
    uint8_t after;     /* and of the result */
    uint8_t has_coef;  /* 1: a recurrence, whose factor is an expression */
} tly_op_facts;

typedef struct tly_dtype_facts {
    const char *name;
    uint8_t bytes;
    uint8_t accumulator; /* tally_dtype, without acc= */
    uint8_t wide;        /* 1: a float. acc=f64 may be asked for, of operators that take it */
    uint8_t compared;    /* tally_dtype: integers of as many bits, which order as the elements do */
    uint8_t digits;      /* all integers of so many bits are values, */
    uint8_t has_sign;    /* with a sign if this is 1 */
    uint64_t largest;    /* integers: the largest number; 0: no index can be told in it */
} tly_dtype_facts;

/* Indexed by tally_op and tally_dtype; entry 0 is all zero. */
extern const tly_op_facts tly_ops[TALLY_OP_COUNT];
extern const tly_dtype_facts tly_dtypes[TALLY_DTYPE_COUNT];

/* Of the dtype that a descriptor is computed in: its accumulator, and whether acc=f64 is taken. */
const tly_dtype_facts *tly_computed(const tally_descriptor *d);

/* Of a resolved descriptor, what its problem is computed in, by its operator's row. */
tally_dtype tly_problem_accumulator(const tally_descriptor *full);
/* The stages that its results go through (TLY_STAGES). */
uint8_t tly_problem_after(const tally_descriptor *full);

/* Whether results are positions of elements. */
int tly_tells_index(int op);

/* Of a resolved descriptor: TLY_SEQUENCE_FLOATS is of floats alone. */
tly_sequence tly_sequence_of(const tally_descriptor *full);

/* Normalises a caller's descriptor of any known size: copies it, resolves the axis, out_dtype, acc
 * and packed strides (so that in_strides and out_strides always hold real strides in *full; open
 * sizes count as 1 there), and checks it. What tally_descriptor_check does, keeping the result.
 * *full itself is none that a caller may have, as its flags say no strides where they are packed:
 * tly_descriptor_shorten makes it one again. */
tally_status tly_descriptor_resolve(const tally_descriptor *d, tally_descriptor *full,
                                    tally_error *error);

/* The same, and tells the expression that the position of an error counts in: its name goes to
 * *where, which becomes NULL if the position counts in none. */
tally_status tly_descriptor_judge(const tally_descriptor *d, tally_descriptor *full,
                                  const char **where, tally_error *error);

/* The accumulator a descriptor asks for: itself for f64 and integers, f32 for f16 and bf16. */
tally_dtype tly_accumulator(const tally_descriptor *d);

/* Lowest and highest element index that a tensor's elements have; nothing where a size is 0. */
void tly_extent(int32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                int64_t *low, int64_t *high);

/* The magnitude of a stride. */
static inline uint64_t tly_distance(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* Whether segments cut the axis at indices that are the same for all lanes. */
static inline int tly_is_segmented(const tally_descriptor *d)
{
    return d->segment_dtype != 0 || d->every != 0;
}

/* The axis of a scan, or the first one that is reduced. */
static inline int32_t tly_axis_of(const tally_descriptor *full)
{
    return tly_ops[full->op].scan ? full->axis : full->axes != 0 ? __builtin_ctz(full->axes) : 0;
}

/* Whether segments of an axis of this size may differ in their sizes. Those of one size are one
 * more dim, unless results are indices, which count from the axis' start. */
static inline int tly_is_ragged(const tally_descriptor *full, int64_t size)
{
    return full->segment_dtype != 0 || (full->every > 0 && full->every < size &&
                                        (size % full->every != 0 || tly_tells_index(full->op)));
}

/* How many segments an axis of this size has, of a descriptor that is segmented. TALLY_OPEN_SIZE
 * if an open size decides it. */
int64_t tly_segment_count(const tally_descriptor *full, int64_t size);

/* The strides of an operand, whose place was checked, over the dims of the input. 0: it has more
 * elements than int64 can count. */
int tly_operand_strides(const tally_descriptor *full, int operand, int64_t *strides);

/* The plain launch of objects knows none (making/ahead.h). */
static inline int tly_has_carry(const tally_descriptor *d)
{
    return TLY_OTHER_TENSORS > 0 && d->carry != 0;
}

/* Tensors of a descriptor: the input, the output, and its operands. */
static inline int tly_tensors_named(const tally_descriptor *d)
{
    int count = TLY_FIRST_OPERAND;
    while (count < TLY_OPERANDS_END && d->operands[count - TLY_FIRST_OPERAND].dtype != 0) {
        count++;
    }
    return count;
}

/* Which of a kernel's tensors is the first of a carry, behind the offsets of segments. */
static inline int tly_carry_named(const tally_descriptor *d)
{
    return tly_tensors_named(d) + (d->segment_dtype != 0);
}

/* Which operands have places that differ along a dim, a bit each. Sizes may be open. */
uint32_t tly_moves_operands(const tally_descriptor *full, int32_t d);

/* Row major, a size 0 counted as 1. False if a stride or the count of elements overflows. */
int tly_packed_strides(int32_t rank, const int64_t *sizes, int64_t *strides);

/* Whether the elements that strides reach can be counted, in elements and in bytes, from the
 * caller's pointer and from the lowest of them. A size 0 counts as 1, as in packed strides. */
int tly_extent_fits(int32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                    int64_t bytes);

/* Rank and sizes of the output of a descriptor whose axes are resolved. */
int32_t tly_result_shape(const tally_descriptor *full, int64_t sizes[TALLY_MAX_RANK]);

/* argmax and its kin: an index needs an element, and a dtype that holds the last one's. `open` has
 * a bit for each open size, and TLY_OPEN_SEGMENTS; a 1 stands in their places here. What they
 * decide is left to those who close them. */
#define TLY_OPEN_SEGMENTS (1u << TALLY_MAX_RANK)
tally_status tly_check_index(const tally_descriptor *full, uint32_t open, tally_error *error);

/* The same as a number; *extent is how many elements are told apart. */
typedef enum tly_index { TLY_INDEX_FITS, TLY_INDEX_OF_NOTHING, TLY_INDEX_TOO_FAR } tly_index;
tly_index tly_index_fault(const tally_descriptor *full, uint32_t open, uint64_t *extent);

/* Whether no two elements of an output share an address, by the rule of docs/semantics.md. The
 * extent fits (tly_extent_fits). */
int tly_addresses_distinct(int32_t rank, const int64_t *sizes, const int64_t *strides);

/* Puts `sizes` in the place of the open ones of a resolved descriptor. Sizes and strides become
 * what tly_descriptor_resolve would make of them. 0: that function would refuse the descriptor. */
int tly_close_sizes(tally_descriptor *full, const int64_t *sizes);

/* Whether some size of a resolved descriptor is open. */
int tly_has_open_size(const tally_descriptor *full);

/* Every axis of a rank. */
uint32_t tly_all_axes(int32_t rank);

/* Sets back to zero what is the default in a resolved descriptor: the form that parsing returns
 * and printing prints. Two descriptors of equal meaning become byte-equal. */
void tly_descriptor_shorten(tally_descriptor *full);

/* word_print.c: tally_descriptor_print of a resolved descriptor, which fails only where the text
 * does not fit. */
tally_status tly_word_print(const tally_descriptor *full, char *text, size_t capacity,
                            size_t *length, tally_error *error);

/* What is said of an option that is not for the operator: option, operator. */
#define TLY_NOT_AN_OPTION "%s is not an option of %s"
#define TLY_NO_COEF "only linrec has one"

#endif
