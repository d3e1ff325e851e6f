/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What templates for GPUs are built of, beside the tables and the arithmetic that they share with
 * the CPU's (template.h). A GPU template builds one kernel a pass: the program of one invocation.
 * It asks the plan for every choice and the caps for facts, never for a device's name.
 */
#ifndef TLY_GPU_TEMPLATE_H
#define TLY_GPU_TEMPLATE_H

#include "../../codegen/plan/gpu.h"
#include "../template.h"

typedef struct tly_gpu {
    tly_build c; /* for shared stages: one lane */
    const tly_gpu_plan *plan;
    const tly_caps *caps;
    tly_gpu_launch *launch;
    kir_type index; /* of byte offsets: i32 or i64 */
    unsigned unit;  /* interleaved scans of a row; 1 in the form of lanes */
    unsigned lanes; /* neighbours that an item takes; 1 in the form of rows */
} tly_gpu;

/* Each builds one pass; the frame (frame.c) begins and ends the kernel. */
void tly_gpu_build_columns(tly_gpu *g, unsigned pass);
void tly_gpu_build_rows(tly_gpu *g, unsigned pass);
void tly_gpu_build_look_back(tly_gpu *g, unsigned pass);
void tly_gpu_build_look_back_lanes(tly_gpu *g, unsigned pass);
void tly_gpu_build_turned(tly_gpu *g, unsigned pass);
void tly_gpu_build_staged(tly_gpu *g, unsigned pass);
void tly_gpu_build_copy(tly_gpu *g, unsigned pass);
void tly_gpu_build_read(tly_gpu *g, unsigned pass);
void tly_gpu_build_reduce_lanes(tly_gpu *g, unsigned pass);
void tly_gpu_build_reduce_rows(tly_gpu *g, unsigned pass);

/* The middle pass of those with chunks: from the chunks' totals to the carries before them. Apart:
 * of several scans an item, each by itself. */
void tly_gpu_build_carries(tly_gpu *g, unsigned pass);
void tly_gpu_build_carries_apart(tly_gpu *g, unsigned pass);

/* Passes of a template with chunks; one without has the last only. */
enum { TLY_GPU_PASS_TOTALS, TLY_GPU_PASS_CARRIES, TLY_GPU_PASS_SCAN };
static inline int tly_gpu_has_chunks(const tly_gpu *g)
{
    return g->plan->chunk > 0;
}

/* Scans that an item carries at once, and records hold states of. */
static inline unsigned tly_gpu_scans(const tly_gpu *g)
{
    return g->unit * g->lanes;
}

/* Neighbours that an access takes; such vectors of an invocation; its elements of a tile. */
static inline unsigned vector_of(const tly_gpu *g)
{
    return (unsigned)g->plan->vector;
}
static inline unsigned segments_of(const tly_gpu *g)
{
    return (unsigned)g->plan->segments;
}
static inline unsigned tly_gpu_elements(const tly_gpu *g)
{
    return segments_of(g) * vector_of(g);
}

/* ---- how far products are from 1 (drift.c) ---- */

/* The product of some elements, less 1; the upper bits of the lowest that this has been. */
typedef struct tly_excess {
    kir_value product, lowest;
} tly_excess;

/* Whether the rounding errors of products of so many elements are worth it. */
int tly_gpu_may_drift(const tly_gpu *g, int64_t count);
tly_excess tly_excess_none(tly_build *c);
void tly_excess_add(tly_build *c, tly_excess *e, kir_value x);
kir_value tly_excess_far(tly_build *c);
/* An accumulator, FAR where the product has not stayed near 1. */
kir_value tly_excess_of(tly_build *c, const tly_excess *e);
kir_value tly_excess_is_near(tly_build *c, kir_value excess); /* i1 */
/* Of both products together; the first whether near or not. Neither depends on which is x. */
kir_value tly_excess_product(tly_build *c, kir_value x, kir_value y);
kir_value tly_excess_join(tly_build *c, kir_value x, kir_value y);
/* The product by its excess, unless that is FAR. */
kir_value tly_excess_correct(tly_build *c, kir_value excess, kir_value total);

/* ---- words: i32 ---- */

static inline kir_value u32(tly_gpu *g, int64_t v)
{
    return constant(&g->c, KIR_TYPE(KIR_I32, 1), (uint32_t)v);
}

static inline kir_value is(tly_gpu *g, kir_value x, int64_t literal) /* i1 */
{
    return equal(&g->c, x, u32(g, literal));
}

/* ---- truths: i1 ---- */

static inline kir_value yes(tly_gpu *g)
{
    return constant(&g->c, KIR_TYPE(KIR_I1, 1), 1);
}

static inline kir_value both(tly_gpu *g, kir_value x, kir_value y)
{
    return band(&g->c, x, y);
}

static inline kir_value negated(tly_gpu *g, kir_value i1)
{
    return bxor(&g->c, i1, yes(g));
}

/* ---- offsets, and what the launch says (address.c) ---- */

/* A literal offset, and a word as an offset. */
kir_value tly_gpu_offset(tly_gpu *g, int64_t bytes);
kir_value tly_gpu_widened(tly_gpu *g, kir_value word);
kir_value tly_gpu_flag(tly_gpu *g, uint32_t flag); /* i1 */

/* ---- items and addresses (address.c) ---- */

/* What one invocation or team works on. */
typedef struct tly_gpu_item {
    kir_value index;  /* of (row, lanes) within the dispatch */
    kir_value chunk;  /* 0 where there are no chunks */
    kir_value valid;  /* i1: it exists */
    kir_value record; /* its number among records: chunk * (rows * lanes) + index */
} tly_gpu_item;
/* The number of this workgroup, whatever way the grid is folded. */
kir_value tly_gpu_group(tly_gpu *g);
tly_gpu_item tly_gpu_item_of(tly_gpu *g, kir_value number, int chunks);
/* Items of one chunk: rows * lanes of the dispatch. */
kir_value tly_gpu_items(tly_gpu *g);

/* A position of a row in each tensor. */
typedef struct tly_gpu_axis {
    kir_value at;     /* the position's address */
    kir_value offset; /* bytes from the tensor's base to the row's start */
    kir_value step;   /* bytes to the next position */
    int64_t known;    /* the step where it is a literal; else 0 */
} tly_gpu_axis;
typedef struct tly_gpu_row {
    tly_gpu_axis tensor[TLY_TENSOR_COUNT];
} tly_gpu_row;
tly_gpu_row tly_gpu_row_of(tly_gpu *g, const tly_gpu_item *item);
/* The row moved on by `position` (a word). */
tly_gpu_row tly_gpu_at(tly_gpu *g, const tly_gpu_row *row, kir_value position);
kir_value tly_gpu_address(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value position);
/* A position so many after the one that `p` is the address of: its address but for *offset. */
kir_value tly_gpu_near(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value p, unsigned after,
                       int64_t *offset);

/* Positions of a row, of which `count` exist; 0: all that are asked for do. */
typedef struct tly_gpu_extent {
    const tly_gpu_row *row;
    kir_value count;
} tly_gpu_extent;
/* The place of one of them, a u32, and of the neighbours that an item takes. A position that does
 * not exist has the last one's place. */
tly_place tly_gpu_place(const tly_gpu_extent *extent, kir_value position);

/* The state after `count` positions of one scan that begins at `row`, in the plain loop's order
 * (columns.c). */
kir_value tly_gpu_along(tly_gpu *g, const tly_gpu_row *row, kir_value count, kir_value carry);

/* The first position of a chunk, and how many there are from there to its end. */
kir_value tly_gpu_chunk_begin(tly_gpu *g, kir_value chunk);
kir_value tly_gpu_chunk_count(tly_gpu *g, kir_value begin);

/* ---- elements (memory.c) ---- */

enum { TLY_GPU_ACCESS_BYTES = 16 }; /* the widest */

/* Elements as they are stored (f16 and bf16: an i32's lower half), to accumulators and back. */
kir_value tly_gpu_widen(tly_gpu *g, kir_value stored);
kir_value tly_gpu_narrow(tly_gpu *g, kir_value acc);
kir_value tly_gpu_fetch(tly_gpu *g, kir_value p, int64_t offset);
void tly_gpu_put(tly_gpu *g, kir_value p, int64_t offset, kir_value stored);
/* `count` neighbours by aligned accesses of 16 bytes, or of all of them where that is less. */
void tly_gpu_fetch_vector(tly_gpu *g, kir_value p, int64_t offset, kir_value *stored,
                          unsigned count);
void tly_gpu_put_vector(tly_gpu *g, kir_value p, int64_t offset, const kir_value *stored,
                        unsigned count);
/* The same of neighbours along an axis, the first of them at `p`: its step, a literal, may go
 * downwards in memory. */
void tly_gpu_fetch_along(tly_gpu *g, kir_value p, int64_t offset, int64_t step, kir_value *stored,
                         unsigned count);
void tly_gpu_put_along(tly_gpu *g, kir_value p, int64_t offset, int64_t step,
                       const kir_value *stored, unsigned count);
/* Whether the problem's steps allow that. */
int tly_gpu_has_vectors(const tly_gpu *g);

/* States and range extremes in scratch: a record is the scans' states, then each one's extremes. */
unsigned tly_gpu_record_bytes(const tly_gpu *g);
kir_value tly_gpu_record_at(tly_gpu *g, kir_value number);
kir_value tly_gpu_carry_at(tly_gpu *g, kir_value index);               /* of an item */
kir_value tly_gpu_state_at(tly_gpu *g, kir_value p, kir_value number); /* number-th state */
void tly_gpu_save_range(tly_gpu *g, kir_value record, kir_value number, const kir_value *range);
void tly_gpu_load_range(tly_gpu *g, kir_value record, kir_value number, kir_value *range);

/* In front of the tiles'; where lanes' words fill lines, a line. */
enum { TLY_GPU_TICKET_BYTES = 16, TLY_GPU_TICKET_LINE = 128 };
unsigned tly_gpu_look_back_bytes(const tly_gpu *g);       /* a tile's, in look-back (look_back.c) */
unsigned tly_gpu_look_back_lanes_bytes(const tly_gpu *g); /* of a lane of one (look_back_lanes.c) */

/* What position 0 begins with where no dispatch comes before. Of sums that show it first it is
 * +0, and no literal: adding one is taken for nothing by compilers (lavapipe's), so that sums of
 * -0 would be -0. */
kir_value tly_gpu_start(tly_gpu *g);
/* What position 0 of the dispatch continues: the carries, or the start of a scan. `which`: which
 * of the item's scans. */
kir_value tly_gpu_first_carry(tly_gpu *g, const tly_gpu_item *item, kir_value which);
/* Stores it if another dispatch follows. */
void tly_gpu_last_carry(tly_gpu *g, const tly_gpu_item *item, kir_value which, kir_value carry);

/* ---- teams: invocations that scan together (team.c) ---- */

typedef struct tly_team {
    unsigned width;     /* lanes of a lane group */
    unsigned used;      /* lanes of it that hold elements: a multiple of the unit */
    unsigned groups;    /* lane groups of a team */
    unsigned tile;      /* elements a tile */
    kir_value lane;     /* in the lane group */
    kir_value first;    /* the subgroup's lane that is lane 0 */
    kir_value group;    /* lane group in the team */
    kir_value number;   /* of the team in its workgroup */
    kir_value base;     /* position in the tile of its invocation's first element */
    kir_value exchange; /* workgroup memory, one slot for each lane or lane group; 0: none */
    unsigned turn;      /* which of two slots the next exchange takes */
} tly_team;

tly_team tly_team_make(tly_gpu *g);
/* A value or a state in workgroup memory, and one like it. */
void tly_team_put(tly_gpu *g, kir_value slot, int64_t offset, kir_value v);
kir_value tly_team_get(tly_gpu *g, kir_value slot, int64_t offset, kir_value like);
/* The value of another lane of the lane group. Every lane takes part. */
kir_value tly_team_from(tly_gpu *g, tly_team *t, kir_value v, kir_value lane);
/* i1: one of the team's first lanes, of which each speaks for one of the interleaved scans. */
kir_value tly_team_leads(tly_gpu *g, const tly_team *t);
/* The value that lane 0 of lane group 0 has, for the whole team. */
kir_value tly_team_broadcast(tly_gpu *g, tly_team *t, kir_value v);
/* Ends a loop's trip: the next one may write again to all that this one has exchanged. */
void tly_team_rest(tly_gpu *g, tly_team *t);
/* Inclusive over the lanes of a class. `sound`, or NULL: a word that is 0 or 1 in each lane, and
 * stays 1 where it is in all that goes into the lane's sum and each sum on the way fits
 * (tly_gpu_fits_half). */
kir_value tly_team_scan_lanes(tly_gpu *g, tly_team *t, kir_value v, kir_value *sound);
/* v of all lanes of the lane group together, by an operation that minds no order. */
kir_value tly_team_fold_lanes(tly_gpu *g, tly_team *t, kir_op op, kir_value v);
/* i1: it holds in every lane of the lane group; of the team. */
kir_value tly_team_all(tly_gpu *g, tly_team *t, kir_value holds);
kir_value tly_team_every(tly_gpu *g, tly_team *t, kir_value holds);
/* The value that lane 0 of this lane group has, for a team of several. */
kir_value tly_team_from_group(tly_gpu *g, tly_team *t, kir_value v, kir_value group);
/* The values that lane 0 of each lane group has, for a team of several. */
void tly_team_gather(tly_gpu *g, tly_team *t, kir_value v, kir_value *all);
/* v of all of a scan's lanes together, by an operation that minds no order. */
kir_value tly_team_fold(tly_gpu *g, tly_team *t, kir_op op, kir_value v);
/* Extremes over all of a scan's lanes. */
void tly_team_fold_range(tly_gpu *g, tly_team *t, kir_value *range);

/* The local scan of one tile: elements x (segment by segment, `vector` neighbours each). */
typedef struct tly_tile tly_tile;
struct tly_tile {
    kir_value x[TLY_GPU_MOST_ELEMENTS];         /* lifted, neutral beyond the end */
    kir_value y[TLY_GPU_MOST_ELEMENTS];         /* inclusive prefixes from the tile's start */
    kir_value before[TLY_GPU_MOST_SEGMENTS];    /* the prefix before each vector */
    kir_value total;                            /* of the tile; of several scans, each lane's own */
    kir_value ranges[TLY_GPU_MOST_SEGMENTS][2]; /* extremes of each of this invocation's vectors */
    kir_value range[2];                         /* of all that, and the total; or `folded` */
    int folded;                                 /* of the scan's y in the whole team */
    kir_value summary;                          /* look-back: what others may combine; else 0 */
    int silent;                                 /* the carry alone is asked for */
    int goes_on;                                /* the excess is asked for, as tiles follow ... */
    kir_value more;                             /* ... where this (i1) holds; 0: always */
    kir_value excess;                           /* of the total (drift.c); 0: none */
    /* Told the carry after the tile as soon as it is known, before the results are stored; NULL:
     * nobody asks. */
    void (*publish)(tly_gpu *g, void *user, kir_value after);
    void *user;
    int rereads;       /* done again, it reads its elements again, and stores by itself (redo.c) */
    kir_value spilled; /* workgroup memory for an invocation's states; 0: none */
    int64_t apart;     /* bytes from one of these to the next */
    int staged;        /* elements are there from the start, and results go there */
};
void tly_team_scan(tly_gpu *g, tly_team *t, tly_tile *tile);
/* How many positions behind its first element an invocation's i-th lies. */
unsigned tly_team_after(const tly_gpu *g, const tly_team *t, unsigned i);
/* Which of the interleaved scans a lane belongs to: lane mod unit. */
kir_value tly_team_scan_of(tly_gpu *g, const tly_team *t);
/* The place of an invocation's i-th element, in a tile of such an extent. */
tly_place tly_team_place(const tly_gpu *g, const tly_team *t, const tly_gpu_extent *extent,
                         unsigned i);

/* ---- tiles in memory (tile.c) ---- */

/* `count`: positions from the tile's start that exist, as a word. */
void tly_tile_load(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count, tly_tile *tile);
/* One segment's vector alone, where `when` (i1), for what is rare: little code (tile_vector.c). */
void tly_tile_store_vector(tly_gpu *g, const tly_team *t, const tly_gpu_extent *extent,
                           unsigned segment, kir_value when, const kir_value *stored);
/* Local results in workgroup memory while the tile waits, if the plan says so, and then in their
 * place the elements of one that is done again (tile_vector.c). */
void tly_tile_spill(tly_gpu *g, tly_tile *tile);
void tly_tile_restore(tly_gpu *g, tly_tile *tile);
/* One segment's vector of these: states, or results of one that is staged. */
void tly_tile_spill_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, const kir_value *v);
void tly_tile_restore_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, kir_value *v);
/* After the scan: extremes of this invocation's local results; of all of the team's. */
void tly_tile_find_range(tly_gpu *g, tly_tile *tile);
void tly_tile_fold(tly_gpu *g, tly_team *t, tly_tile *tile);
/* Load, scan, watch. */
void tly_tile_scan(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count, tly_tile *tile);
/* In place, from states that a tile shows to what is stored; `numbers`: no NaN is among it. */
void tly_tile_narrow(tly_gpu *g, const tly_team *t, const tly_gpu_extent *extent, int numbers,
                     kir_value *shown);
void tly_tile_store(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                    const kir_value *stored);
/* Stores what the scan shows after `carry`, and returns the carry after the tile; where the range
 * of the local results does not allow it, the tile is done again (redo.c). */
kir_value tly_tile_finish(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                          const tly_tile *tile, kir_value carry);
/* All of it, to the end. */
kir_value tly_tile_pass(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                        tly_tile *tile, kir_value carry);
/* The carry after it, with the rounding errors of one product, if its excess is known (drift.c). */
kir_value tly_tile_after(tly_gpu *g, const tly_tile *tile, kir_value carry);
/* The local result that an invocation's i-th element shows, exclusive or not. */
kir_value tly_tile_shown(const tly_gpu *g, const tly_tile *tile, unsigned i);
/* What the elements show after `carry`, unless they have been stored (rereads), and the carry
 * after the tile, where the local results do not fit; `fits`: those of interleaved scans that do
 * (redo.c). */
kir_value tly_tile_redo(tly_gpu *g, tly_team *t, const tly_gpu_extent *extent, const tly_tile *tile,
                        kir_value carry, kir_value fits, kir_value *shown);

/* ---- where the range guard has failed (range.c) ---- */

kir_value tly_gpu_finite(tly_gpu *g, kir_value x); /* i1 */
/* What the element leaves of an infinite or zero prefix: products: -1, 1, or the element itself if
 * it is zero, infinite or NaN; sums: nothing, or what is infinite or NaN. Exact in every order. */
kir_value tly_gpu_class(tly_gpu *g, kir_value x);
/* Products: the upper word of ||x| - 1|, 0 of what is zero, infinite or NaN. */
kir_value tly_gpu_distance(tly_gpu *g, kir_value x);
int tly_gpu_has_distance(const tly_gpu *g);
/* Of what has told nothing of its distance: that of large finite elements, f32 or f64. All bits set
 * would not do: tly_gpu_settled takes one more as the bits of a number, which then is -0. */
enum { TLY_GPU_FAR = 0x7f000000 };
/* i1: elements no farther from 1 move this prefix by their class alone: it is infinite, NaN, or of
 * products zero or so small that it rounds to itself. */
kir_value tly_gpu_settled(tly_gpu *g, kir_value carry, kir_value distance);
/* The combination of classes, and the largest distance. */
void tly_gpu_summary_begin(tly_gpu *g, kir_value *summary);
void tly_gpu_summary_add(tly_gpu *g, kir_value *summary, kir_value x);
void tly_gpu_summary_fold(tly_gpu *g, tly_team *t, kir_value *summary);
/* i1: the classes decide, whatever the carry: NaN, of products zero, of sums infinite. */
kir_value tly_gpu_prevails(tly_gpu *g, kir_value classes);
/* i1: local results with these extremes hold after the carry. */
kir_value tly_gpu_fits(tly_gpu *g, const kir_value *range, kir_value carry);
/* i1: all local results that are good by themselves hold after the carry. */
kir_value tly_gpu_fits_any(tly_gpu *g, kir_value carry);
/* i1: two of these combined, a carry and a total, are such a carry. */
kir_value tly_gpu_fits_half(tly_gpu *g, kir_value x);
/* What is published of a stretch: its total and extremes, or, where they are bad, its classes, a
 * mark that fits no carry, and the distance. `summary` is of any value where `good`. */
void tly_gpu_publish(tly_gpu *g, kir_value good, const kir_value *summary, kir_value *total,
                     kir_value *range);
/* i1: so published, it may be combined with the carry. */
kir_value tly_gpu_combines(tly_gpu *g, kir_value total, const kir_value *range, kir_value carry);
/* i1: and so may the totals within it, one after the other, if it was published of several. */
kir_value tly_gpu_combines_all(tly_gpu *g, const kir_value *range, kir_value carry);
/* The summary goes on with what has been published of the next stretch. */
void tly_gpu_summary_join(tly_gpu *g, kir_value *summary, kir_value total, const kir_value *range);

#endif
