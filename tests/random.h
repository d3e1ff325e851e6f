/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random problems and random data, from a seed alone: the same seed gives the same case on every
 * machine. What is drawn aims at the borders of the kernels: vector widths, blocks, chunks, the
 * range of the dtype.
 */
#ifndef TLY_RANDOM_H
#define TLY_RANDOM_H

#include <tally/descriptor.h>

typedef struct tly_random {
    uint64_t state;
} tly_random;

/* An independent stream for each (seed, number). */
tly_random tly_random_seed(uint64_t seed, uint64_t number);
uint64_t tly_random_next(tly_random *r);
int64_t tly_random_below(tly_random *r, int64_t bound);               /* [0, bound), bound > 0 */
int64_t tly_random_between(tly_random *r, int64_t low, int64_t high); /* both included */
int tly_random_one_in(tly_random *r, int64_t n);                      /* true once in n */

typedef enum tly_data {
    TLY_DATA_EXACT, /* nothing rounds in any order: floats are judged as sharply as integers */
    TLY_DATA_BENIGN,
    TLY_DATA_SIGNED,  /* both signs, three decades of magnitude */
    TLY_DATA_SPECIAL, /* benign, with inf, NaN, -0, subnormals and extremes strewn in */
    TLY_DATA_RANGE,   /* the loop stays in range, partial results of other orders leave it */
    TLY_DATA_GROW,    /* leaves the range upwards */
    TLY_DATA_DECAY,   /* leaves it downwards */
    TLY_DATA_ZEROS,   /* zeros of both signs between huge values */
    TLY_DATA_BITS,    /* any bits */
    TLY_DATA_NATURAL, /* the kinds of `tally bench --data`, one a case */
    TLY_DATA_DRIFT,   /* crosses the range once in 40, 400, 4000 elements: up, down, to and fro */
    TLY_DATA_LANE,    /* one of these, with zeros, inf, NaN and extremes in one or two scans */
    TLY_DATA_MIXED,   /* each scan has a class of its own */
    TLY_DATA_TIES,    /* three values, zeros of both signs among them, and NaN in one case of two */
    TLY_DATA_SORTED,  /* ascending or descending */
    TLY_DATA_CANCEL, /* sums: huge numbers that all have their negatives, so that nothing is left */
    TLY_DATA_SCALED, /* sums: of one magnitude, or a few, from all that the dtype has */
    TLY_DATA_COUNT
} tly_data;

const char *tly_data_name(tly_data data);

/* What may be drawn: a bit 1 << op for each operator, and outputs wider than the input. */
#define TLY_DRAW_WIDER (1u << 31)
/* Operands, `map` and `post`. Without this bit, cases are the same as before it was there. */
#define TLY_DRAW_STAGES (1u << 30)
#define TLY_DRAW_ALL (TLY_DRAW_WIDER | ((1u << TALLY_OP_COUNT) - 2))
/* Every scan, 1, or every reduction, 0. */
uint32_t tly_draw_ops(int scans);
#define TLY_DRAW_SCANS tly_draw_ops(1)
#define TLY_DRAW_REDUCTIONS tly_draw_ops(0)
/* Those that kernels exist for. */
#define TLY_DRAW_MADE (TLY_DRAW_WIDER | TLY_DRAW_SCANS | TLY_DRAW_REDUCTIONS)

/* A valid descriptor with at most `most` elements, whose tensors span at most 8 * most elements
 * each. */
void tly_random_problem(tly_random *r, int64_t most, uint32_t draws, tally_descriptor *d);
/* The same of up to eight dims, most of them short, in views of all kinds, and scans that compare
 * of narrow types more often: for plans, which no tensor is needed for. */
void tly_random_view(tly_random *r, int64_t most, uint32_t draws, tally_descriptor *d);
/* Whether an operator is ever drawn without TLY_DRAW_STAGES: kernels of it exist. */
int tly_is_drawn(int op);

/* tly_random_problem of TLY_DRAW_SCANS. */
void tly_random_descriptor(tly_random *r, int64_t most, tally_descriptor *d);

/* Operator, dtypes, accumulator, order and flags; and then which axes of what has a shape are
 * reduced, `axis` being the one that the shape was made for. */
void tly_random_operator(tly_random *r, uint32_t draws, tally_descriptor *d);
void tly_random_axes(tly_random *r, tally_descriptor *d);

/* What an expression may name. Operands come into being as they are named, so that the letters have
 * no gaps. */
typedef struct tly_random_names {
    tally_dtype type; /* that it is computed in */
    int sees_x, sees_y;
    int operands;  /* so far, of the word; the expression may add some */
    uint32_t used; /* afterwards, bit k: this expression names operand k */
} tly_random_names;

void tly_random_expression(tly_random *r, tly_random_names *names, char text[TALLY_EXPRESSION_MAX]);

/* Adds operands, `map` and `post` to a problem without them; now and then, none. An operand
 * spans at most `limit` elements. Then the same of a problem that has no shape yet: now and
 * then, an operator of `draws` that shows what is mapped takes its place. */
void tly_random_stages(tly_random *r, int64_t limit, tally_descriptor *d);
void tly_random_shown(tly_random *r, uint32_t draws, tally_descriptor *d);

/* Writes an operand's elements; `at` is its pointer. What lies between stays. */
void tly_random_fill_operand(tly_random *r, const tally_descriptor *d, int operand, void *at);

/* Draws a class that suits `d`. */
tly_data tly_random_data(tly_random *r, const tally_descriptor *d);

/* Writes the elements of one scan; `natural_kind` -1 draws one. */
void tly_random_fill_row(tly_random *r, const tally_descriptor *d, tly_data data, int natural_kind,
                         int64_t row, void *in);

/* Writes the elements of all scans but `kept`: each a class of its own, or all of them NaN, zero,
 * infinite, the largest or a subnormal number. Elements that `kept` shares with others stay. */
void tly_random_fill_others(tly_random *r, const tally_descriptor *d, int64_t kept, void *in);

/* Writes the input's elements; `in` as for tally_kernel_run. What lies between stays. */
void tly_random_fill(tly_random *r, const tally_descriptor *d, tly_data data, void *in);

/* One to four overrides, comma-separated, of the printed `plan` for a problem: keys that it has and
 * some that it has not, values inside and outside of their ranges. */
void tly_random_plan(tly_random *r, const char *plan, char *overrides, size_t room);

#endif
