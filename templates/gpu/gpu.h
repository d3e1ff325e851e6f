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

struct tly_gpu_algorithm;

typedef struct tly_gpu_part {
    kir_value first, count;
} tly_gpu_part;

/* An offset as it is loaded: 64 bits by halves, 32 by `low` alone. */
typedef struct tly_gpu_border_bits {
    kir_value low, high;
} tly_gpu_border_bits;

typedef struct tly_gpu {
    tly_build c; /* for shared stages: one lane */
    const tly_gpu_plan *plan;
    const struct tly_gpu_algorithm *algorithm;
    const tly_caps *caps;
    tly_gpu_launch *launch;
    kir_type index;      /* of byte offsets: i32 or i64 */
    unsigned interleave; /* interleaved scans of a row; 1 in the form of lanes */
    unsigned lanes;      /* neighbours that an item takes; 1 in the form of rows */
    /* Scans that offsets cut: positions of the dispatch that lie in segments, [first, first +
     * count), u32s. All others have no result. Else 0. */
    tly_gpu_part part;
    tly_gpu_border_bits borders[2]; /* what `part` is made of */
    /* Arguments of words with marks; of those with offsets; else 0: loads that are not waited for
     * again. */
    kir_value marks, mark, segments, axis_size, position;
    kir_value outer[TLY_TENSOR_COUNT][TALLY_MAX_RANK - 1]; /* strides of scans' operands; else 0 */
} tly_gpu;

/* What the frame (frame.c) asks of a template. The record stands in the template's file; the frame
 * finds it by the name in TLY_GPU_TEMPLATES. */
typedef struct tly_gpu_algorithm {
    /* Builds one pass; the frame begins and ends the kernel. */
    void (*build)(tly_gpu *g, unsigned pass);
    /* Passes of a problem that is cut into chunks, by name. One that is not has the last alone. */
    const char *passes[TLY_GPU_PASSES];
    unsigned (*record_bytes)(const tly_gpu *g); /* of scratch, for each chunk; NULL: none */
    uint32_t ticket_bytes; /* in front of the records, all of which begin as zeros; 0: none */
    /* Of scans without chunks: the positions of a dispatch are a multiple of this. NULL: of a
     * tile, by lanes 1. */
    unsigned (*multiple)(const tly_gpu *g);
    uint32_t most_chunks;        /* of a dispatch; 0: any number */
    unsigned has_no_loop : 1,    /* no device's limit of trips applies */
        carries_late : 1,        /* a workgroup may load the last dispatch's carry when another has
                                    stored the next one's already */
        finds_part : 1,          /* it calls tly_gpu_find_part, once its loads are on their way */
        carries_apart : 1,       /* the middle pass is carries_apart.c even of one scan an item */
        carries_by_subgroup : 1; /* or else one subgroup makes the carries of a row */
} tly_gpu_algorithm;

#define TLY_GPU_ALGORITHM(ID, name, what) extern const tly_gpu_algorithm tly_gpu_##name##_algorithm;
TLY_GPU_TEMPLATES(TLY_GPU_ALGORITHM)
#undef TLY_GPU_ALGORITHM

/* The middle pass of three: from the chunks' totals to the carries before them. Apart: of several
 * scans an item, each by itself. */
void tly_gpu_build_carries(tly_gpu *g, unsigned pass);
void tly_gpu_build_carries_apart(tly_gpu *g, unsigned pass);

/* ---- segments (segments.c) ---- */

/* Where segment i begins along the axis, and the one before it ends: within the axis, whatever
 * offsets are. */
kir_value tly_gpu_border(tly_gpu *g, kir_value i);

/* The pass in front: a bit in the scratch for each position of the dispatch that is the first of a
 * segment. Of words with a carry, empty segments hand their state on. */
void tly_gpu_build_heads(tly_gpu *g, unsigned pass);
/* Loads what all invocations ask of segments: g->marks, and of words with offsets g->borders. */
void tly_gpu_load_marks(tly_gpu *g);
void tly_gpu_load_borders(tly_gpu *g);
/* Whether there are offsets, and g->part. That is made of borders where it is first used: nothing
 * that is loaded before then waits for them. i1: `count` positions from this one of the dispatch on
 * lie in it. */
int tly_gpu_has_part(const tly_gpu *g);
void tly_gpu_find_part(tly_gpu *g);
kir_value tly_gpu_in_part(tly_gpu *g, kir_value position, unsigned count);
/* i1: the element at a place begins anew. */
kir_value tly_gpu_is_head_at(tly_gpu *g, const tly_place *at);
/* i1: a position of the dispatch is marked. */
kir_value tly_gpu_is_head(tly_gpu *g, kir_value position);
/* The address of the u32 that has the mark of this number. */
kir_value tly_gpu_marks_at(tly_gpu *g, kir_value number);
/* The number, in scan direction, of the last segment that begins at a position of the dispatch, or
 * before it; and where that ends. */
typedef struct tly_gpu_segment {
    kir_value number, end;
} tly_gpu_segment;
tly_gpu_segment tly_gpu_segment_at(tly_gpu *g, kir_value position);
/* Whether each segment has a state in the caller's tensors. */
static inline int tly_gpu_has_segment_states(const tly_gpu *g)
{
    return g->c.p->carry && g->c.p->segmented != TLY_SEGMENTED_NOT;
}

/* Three passes of a scan with chunks. */
enum { TLY_GPU_PASS_TOTALS, TLY_GPU_PASS_CARRIES, TLY_GPU_PASS_SCAN };
#define TLY_GPU_THREE_PASSES { "totals", "carries", "scan" }
static inline int tly_gpu_has_chunks(const tly_gpu *g)
{
    return g->plan->chunk > 0;
}

/* Scans that an item carries at once, and records hold states of. */
static inline unsigned tly_gpu_scans(const tly_gpu *g)
{
    return g->interleave * g->lanes;
}

/* Neighbours that an access takes; such vectors of an invocation; its elements of a tile. */
static inline unsigned vector_of(const tly_gpu *g)
{
    return (unsigned)g->plan->vector;
}
static inline unsigned segments_of(const tly_gpu *g)
{
    return (unsigned)g->plan->vectors_per_thread;
}
static inline unsigned tly_gpu_elements(const tly_gpu *g)
{
    return segments_of(g) * vector_of(g);
}

/* ---- how far products are from 1 (drift.c) ---- */

/* `product`: that of some elements, less 1. `lowest`: the upper bits of the lowest value that it
 * had on the way. */
typedef struct tly_excess {
    kir_value product, lowest;
} tly_excess;

/* Whether products of so many elements are corrected for their rounding errors. */
int tly_gpu_may_drift(const tly_gpu *g, int64_t count);
tly_excess tly_excess_none(tly_build *c);
void tly_excess_add(tly_build *c, tly_excess *e, kir_value x);
kir_value tly_excess_far(tly_build *c);
/* The excess as an accumulator: FAR if the product has not stayed near 1. */
kir_value tly_excess_of(tly_build *c, const tly_excess *e);
kir_value tly_excess_is_near(tly_build *c, kir_value excess); /* i1 */
/* The excess of the product of two products, symmetric in x and y. The joined one is FAR where it
 * is not near 1. */
kir_value tly_excess_product(tly_build *c, kir_value x, kir_value y);
kir_value tly_excess_join(tly_build *c, kir_value x, kir_value y);
/* `total` as its excess has it; `total` itself if the excess is FAR. */
kir_value tly_excess_correct(tly_build *c, kir_value excess, kir_value total);

/* ---- literals of 32 bits ---- */

static inline kir_value u32(tly_gpu *g, int64_t v)
{
    return constant(&g->c, KIR_TYPE(KIR_I32, 1), (uint32_t)v);
}

static inline kir_value is(tly_gpu *g, kir_value x, int64_t literal) /* i1 */
{
    return equal(&g->c, x, u32(g, literal));
}

/* ---- offsets, and what the launch says (address.c) ---- */

/* A literal offset, and a u32 as an offset. */
kir_value tly_gpu_offset(tly_gpu *g, int64_t bytes);
kir_value tly_gpu_as_offset(tly_gpu *g, kir_value v);
kir_value tly_gpu_flag(tly_gpu *g, uint32_t flag); /* i1 */

/* Loads what rows ask of operands where the kernel begins, so that nothing waits for one of these
 * loads after the other. */
void tly_gpu_load_operands(tly_gpu *g);

/* ---- items and addresses (address.c) ---- */

/* What one invocation or group works on. */
typedef struct tly_gpu_item {
    kir_value index;  /* of (row, lanes) within the dispatch */
    kir_value chunk;  /* 0 where there are no chunks */
    kir_value valid;  /* i1: it exists */
    kir_value record; /* its number among records: chunk * (rows * lanes) + index */
} tly_gpu_item;
/* The number of this workgroup. The grid may be folded into two dimensions. */
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
    kir_value lane;   /* operands: bytes to the next of the lanes that an item takes */
} tly_gpu_axis;
typedef struct tly_gpu_row {
    tly_gpu_axis tensor[TLY_TENSOR_COUNT]; /* those that the kernel has */
    kir_value moved; /* a u32: positions that it was moved on by; 0: none, or nothing asks */
    kir_value index; /* the position's, of scans that tell one; else 0 */
} tly_gpu_row;
tly_gpu_row tly_gpu_row_of(tly_gpu *g, const tly_gpu_item *item);
/* The row moved on by `position`, a u32, and the address of that position in one tensor. */
tly_gpu_row tly_gpu_at(tly_gpu *g, const tly_gpu_row *row, kir_value position);
/* The position of the dispatch that it begins with. */
static inline kir_value tly_gpu_moved(tly_gpu *g, const tly_gpu_row *row)
{
    return row->moved ? row->moved : u32(g, 0);
}
kir_value tly_gpu_address(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value position);
/* The address of another of the lanes that an item takes, `lane` lanes on, an offset. */
kir_value tly_gpu_lane_address(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value lane);
/* The row of another of the lanes that an item takes, `lane` lanes on, an offset: in the tensors
 * that are read. */
tly_gpu_row tly_gpu_beside(tly_gpu *g, const tly_gpu_row *row, kir_value lane);
/* `p` is the address of a position. The one `after` it is at the returned address + *offset. */
kir_value tly_gpu_near(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value p, unsigned after,
                       int64_t *offset);

/* Positions of a row. `count` of them exist; 0: all that are named do. */
typedef struct tly_gpu_extent {
    const tly_gpu_row *row;
    kir_value count;
    kir_value heads; /* a tile's that are known (tile_heads.c); 0: places are asked */
} tly_gpu_extent;
/* The place of a position, a u32. Its lanes are the neighbours that an item takes. A position that
 * does not exist has the place of the last one, as loads read that in its stead. The place refers
 * to *extent. */
tly_place tly_gpu_place(const tly_gpu_extent *extent, kir_value position);

/* Scans `count` positions from `row` on in serial order, and returns the carry (columns.c). */
kir_value tly_gpu_scan_serially(tly_gpu *g, const tly_gpu_row *row, kir_value count,
                                kir_value carry);

/* The first position of a chunk, and how many there are from there to its end. */
kir_value tly_gpu_chunk_begin(tly_gpu *g, kir_value chunk);
kir_value tly_gpu_chunk_count(tly_gpu *g, kir_value begin);

/* ---- elements and records (memory.c) ---- */

enum { TLY_GPU_ACCESS_BYTES = 16 }; /* the widest */

/* Stored elements as accumulators, and results as stored elements. Elements of 8 and 16 bits are
 * the lower bits of a u32. What is loaded goes through `map`, which may read operands at its
 * place. */
kir_value tly_gpu_widen(tly_gpu *g, const tly_place *at, kir_value stored);
kir_value tly_gpu_narrow(tly_gpu *g, kir_value result);
/* A stored element as a window: tly_element of it, and what a first element needs. */
kir_value tly_gpu_element(tly_gpu *g, const tly_place *at, kir_value stored);
/* The same in steps, where elements may be heads: the element by itself; i1: whether it is one;
 * what it is then. */
kir_value tly_gpu_element_alone(tly_gpu *g, const tly_place *at, kir_value stored);
kir_value tly_gpu_head(tly_gpu *g, const tly_place *at, kir_value stored);
kir_value tly_gpu_begun(tly_gpu *g, kir_value head, kir_value element);
/* The result of the state that a scan shows of an element, before it is narrowed. */
kir_value tly_gpu_show(tly_gpu *g, const tly_place *at, kir_value state);
kir_value tly_gpu_fetch(tly_gpu *g, kir_value p, int64_t offset);
/* The i-th of the narrow elements in a u32. */
kir_value tly_gpu_element_of(tly_gpu *g, kir_value all, unsigned i, unsigned bytes);
void tly_gpu_put(tly_gpu *g, kir_value p, int64_t offset, kir_value stored);
/* `count` neighbours by aligned accesses of 16 bytes, or by one of less that holds all of them. */
void tly_gpu_fetch_vector(tly_gpu *g, kir_value p, int64_t offset, kir_value *stored,
                          unsigned count);
void tly_gpu_put_vector(tly_gpu *g, kir_value p, int64_t offset, const kir_value *stored,
                        unsigned count);
/* The same along an axis whose step is a literal, 1 or -1 elements. The first one is at `p`. */
void tly_gpu_fetch_along(tly_gpu *g, kir_value p, int64_t offset, int64_t step, kir_value *stored,
                         unsigned count);
void tly_gpu_put_along(tly_gpu *g, kir_value p, int64_t offset, int64_t step,
                       const kir_value *stored, unsigned count);
/* Whether the steps of all tensors allow that. */
int tly_gpu_has_vectors(const tly_gpu *g);

/* A record in scratch holds the states of all scans of an item, then the extremes of each. */
unsigned tly_gpu_record_bytes(const tly_gpu *g);
kir_value tly_gpu_record_at(tly_gpu *g, kir_value number);
kir_value tly_gpu_carry_at(tly_gpu *g, kir_value index);               /* of an item */
kir_value tly_gpu_state_at(tly_gpu *g, kir_value p, kir_value number); /* number-th state */
void tly_gpu_save_range(tly_gpu *g, kir_value record, kir_value number, const kir_value *range);
void tly_gpu_load_range(tly_gpu *g, kir_value record, kir_value number, kir_value *range);

/* Bytes in front of the records of tiles. Records of lanes fill lines, and so need a whole one. */
enum { TLY_GPU_TICKET_BYTES = 16, TLY_GPU_TICKET_LINE = 128 };
unsigned tly_gpu_look_back_bytes(const tly_gpu *g);       /* a tile's, in look-back (look_back.c) */
unsigned tly_gpu_look_back_lanes_bytes(const tly_gpu *g); /* of a lane of one (look_back_lanes.c) */

/* ---- what a scan starts from, and what it hands on (carry.c) ---- */

/* The state before position 0 where no dispatch comes before and the word has no carry. Exclusive
 * sums show it, as +0. It is no literal: compilers (lavapipe's) drop the addition of a literal 0,
 * and sums of -0 would be -0. */
kir_value tly_gpu_start(tly_gpu *g);
/* The state before position 0 of the dispatch: the last dispatch's carry, the state that the caller
 * hands in, or the start of a scan. `which` of the item's scans. */
kir_value tly_gpu_first_carry(tly_gpu *g, const tly_gpu_item *item, kir_value which);
/* Stores the carry for the next dispatch, or for the caller. This may be the place that the first
 * carry was loaded from. So no other invocation may load that, unless it has no use for it. */
void tly_gpu_last_carry(tly_gpu *g, const tly_gpu_item *item, kir_value which, kir_value carry);
/* The same of a segment, by its number in scan direction: the state that the caller hands in, or
 * the start of a scan; and what is stored for the caller. */
kir_value tly_gpu_segment_start(tly_gpu *g, const tly_gpu_item *item, kir_value which,
                                kir_value segment);
void tly_gpu_segment_finish(tly_gpu *g, const tly_gpu_item *item, kir_value which,
                            kir_value segment, kir_value state);

/* ---- groups: invocations that scan together (group.c) ---- */

typedef struct tly_group {
    unsigned width;     /* lanes of a cluster */
    unsigned used;      /* lanes of it that hold elements: a multiple of g->interleave */
    unsigned clusters;  /* of the group */
    unsigned tile;      /* elements a tile */
    kir_value lane;     /* in the cluster */
    kir_value first;    /* the subgroup's lane that is lane 0 */
    kir_value cluster;  /* in the group */
    kir_value number;   /* of the group in its workgroup */
    kir_value base;     /* position in the tile of its invocation's first element */
    kir_value exchange; /* workgroup memory, one slot for each lane or cluster; 0: none */
    unsigned turn;      /* which of two slots the next exchange takes */
} tly_group;

tly_group tly_group_make(tly_gpu *g);
/* Writes a value or a state to workgroup memory, and reads one of the type of `like`. */
void tly_group_put(tly_gpu *g, kir_value slot, int64_t offset, kir_value v);
kir_value tly_group_get(tly_gpu *g, kir_value slot, int64_t offset, kir_value like);
/* The value of another lane of the cluster. Every lane must call it. */
kir_value tly_group_from(tly_gpu *g, tly_group *t, kir_value v, kir_value lane);
/* i1: the lane is one of the group's first, each of which stores for one interleaved scan. */
kir_value tly_group_leads(tly_gpu *g, const tly_group *t);
/* The value that lane 0 of cluster 0 has, for the whole group. */
kir_value tly_group_broadcast(tly_gpu *g, tly_group *t, kir_value v);
/* Ends a loop's trip, so that the next one may write to all slots that this one has read. */
void tly_group_rest(tly_gpu *g, tly_group *t);
/* tly_gpu_first_carry for a group. Each invocation asks for one of the item's scans. In words with
 * a carry, an invocation loads the first state only if it stores the last one. */
kir_value tly_group_first_carry(tly_gpu *g, tly_group *t, const tly_gpu_item *item,
                                kir_value which);
/* Inclusive over the lanes of each interleaved scan. `sound`, or NULL: a u32 of each lane, 0 or 1.
 * A lane's stays 1 if it is 1 in all lanes that its sum is of, and each partial sum fits
 * (tly_gpu_fits_half). */
kir_value tly_group_scan_lanes(tly_gpu *g, tly_group *t, kir_value v, kir_value *sound);
/* Reduces v over the cluster by an operation that is exact in every order. */
kir_value tly_group_fold_lanes(tly_gpu *g, tly_group *t, kir_op op, kir_value v);
/* i1: `holds` is true in every lane of the cluster, or of the group. */
kir_value tly_group_all(tly_gpu *g, tly_group *t, kir_value holds);
kir_value tly_group_every(tly_gpu *g, tly_group *t, kir_value holds);
/* Groups of several clusters: the value that lane 0 of this one has. */
kir_value tly_group_from_group(tly_gpu *g, tly_group *t, kir_value v, kir_value group);
/* Groups of several clusters: the values that lane 0 of each has. */
void tly_group_gather(tly_gpu *g, tly_group *t, kir_value v, kir_value *all);
/* Reduces v over the group's lanes of each scan by an operation that is exact in every order. */
kir_value tly_group_fold(tly_gpu *g, tly_group *t, kir_op op, kir_value v);
/* The extremes over the group's lanes of each scan. */
void tly_group_fold_range(tly_gpu *g, tly_group *t, kir_value *range);

/* The local scan of one tile. An invocation has several segments of `vector` neighbours each. */
typedef struct tly_tile tly_tile;
struct tly_tile {
    kir_value x[TLY_GPU_MOST_ELEMENTS];         /* elements' states, neutral beyond the end */
    kir_value heads;                            /* a bit for each that is a head (tile_heads.c) */
    kir_value covered;                          /* and for each result that a head comes before */
    kir_value y[TLY_GPU_MOST_ELEMENTS];         /* inclusive prefixes from the tile's start */
    kir_value before[TLY_GPU_MOST_SEGMENTS];    /* the prefix before each vector */
    kir_value total;                            /* of the tile; of several scans, each lane's own */
    kir_value ranges[TLY_GPU_MOST_SEGMENTS][2]; /* extremes of each of this invocation's vectors */
    kir_value range[2];                         /* of these and the total */
    int folded;                                 /* `range` is that of the whole group */
    kir_value summary;                          /* look-back: classes that others combine; else 0 */
    int silent;                                 /* the carry alone is wanted, no results */
    int goes_on;                                /* the excess is wanted, as tiles follow ... */
    kir_value more;                             /* ... where this (i1) holds; 0: always */
    kir_value excess;                           /* of the total (drift.c); 0: none */
    /* Called with the carry after the tile before the results are stored; NULL: not called. */
    void (*publish)(tly_gpu *g, void *user, kir_value after);
    void *user;
    int rereads;       /* done again, it loads its elements again, and stores by itself (redo.c) */
    kir_value spilled; /* workgroup memory for an invocation's states; 0: none */
    int64_t apart;     /* bytes from one of these states to the next */
    int staged;        /* elements are in `spilled` from the start, and results go there */
};
void tly_group_scan(tly_gpu *g, tly_group *t, tly_tile *tile);
/* How many positions behind its first element an invocation's i-th lies. */
unsigned tly_group_after(const tly_gpu *g, const tly_group *t, unsigned i);
/* Which of the interleaved scans a lane belongs to: lane mod g->interleave. */
kir_value tly_group_scan_of(tly_gpu *g, const tly_group *t);
/* The place of an invocation's i-th element, in a tile of such an extent. */
tly_place tly_group_place(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent, unsigned i);

/* ---- heads of a tile (tile_heads.c) ---- */

/* Marks of an invocation's elements: u32s that have them, and the number of each vector's first. */
typedef struct tly_marks {
    kir_value word[TLY_GPU_MOST_SEGMENTS], number[TLY_GPU_MOST_SEGMENTS];
} tly_marks;
/* Loads them, and makes bits of those that exist: in a tile, or of `count` neighbours from a
 * position on. */
void tly_tile_load_marks(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                         tly_marks *marks);
kir_value tly_tile_marked(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                          const tly_marks *marks);
void tly_gpu_load_marks_along(tly_gpu *g, const tly_gpu_extent *extent, kir_value position,
                              unsigned count, tly_marks *marks);
kir_value tly_gpu_marked_along(tly_gpu *g, const tly_gpu_extent *extent, kir_value position,
                               unsigned count, const tly_marks *marks);
/* Operands that flags are made of (tile_flags.c): u32s that hold several neighbours, or else one
 * element each; 0: not asked for. */
typedef struct tly_flags {
    kir_value word[TLY_TENSOR_COUNT][TLY_GPU_MOST_ELEMENTS];
} tly_flags;
/* Loads them, and makes a bit for each element that has a flag. */
void tly_tile_load_flags(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                         tly_flags *flags);
kir_value tly_tile_flagged(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                           const kir_value *stored, const tly_flags *flags);
/* Positions of a tile that exist, of `count`: none for a lane that interleaved scans leave without
 * elements. */
kir_value tly_tile_reach(tly_gpu *g, const tly_group *t, kir_value count);
/* The i-th element as a window, of an element by itself. */
kir_value tly_tile_window(tly_gpu *g, kir_value heads, unsigned i, kir_value element);
/* Bits of the i-th element, and of those of its vector up to it: not 0 where there is a head. */
kir_value tly_tile_head(tly_gpu *g, kir_value heads, unsigned i);
kir_value tly_tile_heads_up_to(tly_gpu *g, kir_value heads, unsigned i);
/* Heads that compilers do not know to be the same, so that a tile that is done again makes truths
 * of them by itself: else all tiles keep those that they have made in registers. `again`: 1 for
 * those that are hidden already. */
void tly_tile_hide_heads(tly_gpu *g, tly_tile *tile, int again);
/* A bit for each element that is a head or comes behind one in its vector, or whose vector comes
 * behind a window with one. */
kir_value tly_tile_heads_before(tly_gpu *g, kir_value heads, const kir_value *before);

/* ---- tiles in memory (tile.c) ---- */

/* `count`: positions from the tile's start that exist, a u32. */
void tly_tile_load(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                   tly_tile *tile);
/* Stores one segment where `when` (i1) holds. Little code, for rare paths (tile_vector.c). */
void tly_tile_store_vector(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                           unsigned segment, kir_value when, const kir_value *stored);
/* Spills local results to workgroup memory while the tile waits, if the plan says so. A tile that
 * is done again keeps its elements there (tile_vector.c). */
void tly_tile_spill(tly_gpu *g, tly_tile *tile);
void tly_tile_restore(tly_gpu *g, tly_tile *tile);
/* One segment: states, or the results of a staged tile. */
void tly_tile_spill_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, const kir_value *v);
/* `heads`: tile->heads of elements, tile->covered of results. */
void tly_tile_restore_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, kir_value heads,
                             kir_value *v);
/* After the scan: the extremes of this invocation's local results, then those of the group's. */
void tly_tile_find_range(tly_gpu *g, tly_tile *tile);
void tly_tile_fold(tly_gpu *g, tly_group *t, tly_tile *tile);
/* Loads, scans, and finds the range. */
void tly_tile_scan(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                   tly_tile *tile);
/* Turns states into stored elements, in place. `numbers`: none is a NaN. */
void tly_tile_narrow(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent, int numbers,
                     kir_value *shown);
void tly_tile_store(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                    const kir_value *stored);
/* Stores the results after `carry`, and returns the carry after the tile. If the range of the local
 * results forbids combining them with the carry, the tile is done again (redo.c). */
kir_value tly_tile_finish(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                          const tly_tile *tile, kir_value carry);
/* Loads, scans and finishes. */
kir_value tly_tile_pass(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                        tly_tile *tile, kir_value carry);
/* The carry after the tile. A known excess corrects its rounding errors (drift.c). */
kir_value tly_tile_after(tly_gpu *g, const tly_tile *tile, kir_value carry);
/* The local result of an invocation's i-th element, of an exclusive scan the prefix before it. */
kir_value tly_tile_shown(const tly_gpu *g, const tly_tile *tile, unsigned i);
/* For a tile whose local results do not fit: finds the results after `carry`, or stores them
 * (rereads), and returns the carry after the tile. `fits`, i1: of several scans, this one's results
 * do fit (redo.c). */
kir_value tly_tile_redo(tly_gpu *g, tly_group *t, const tly_gpu_extent *extent,
                        const tly_tile *tile, kir_value carry, kir_value fits, kir_value *shown);

/* ---- where the range guard has failed (range.c) ---- */

kir_value tly_gpu_finite(tly_gpu *g, kir_value x); /* i1 */
/* The class of an element: what it does to a prefix that is zero or infinite. Products: the element
 * itself if it is zero, infinite or NaN, else its sign as 1 or -1. Sums: the element if it is
 * infinite or NaN, else neutral. Classes combine exactly in every order. */
kir_value tly_gpu_class(tly_gpu *g, kir_value x);
/* Products: the upper 32 bits of ||x| - 1|; 0 if x is zero, infinite or NaN. */
kir_value tly_gpu_distance(tly_gpu *g, kir_value x);
int tly_gpu_has_distance(const tly_gpu *g);
/* Whether there are classes: of recurrences, what follows an infinity depends on signs and on the
 * order. They have a neutral window for a class, and only a NaN settles a prefix. */
int tly_gpu_has_classes(const tly_gpu *g);
/* Stands for an unknown distance: that of large finite elements, f32 or f64. It cannot have all
 * bits set, as tly_gpu_settled takes FAR + 1 as the bits of a number. */
enum { TLY_GPU_FAR = 0x7f000000 };
/* i1: elements within this distance change the prefix by their class alone. It is infinite or NaN,
 * or, of products, zero or so small that it rounds to itself. */
kir_value tly_gpu_settled(tly_gpu *g, kir_value carry, kir_value distance);
/* A summary is the combined class of elements, then their largest distance. */
void tly_gpu_summary_begin(tly_gpu *g, kir_value *summary);
void tly_gpu_summary_add(tly_gpu *g, kir_value *summary, kir_value x);
void tly_gpu_summary_fold(tly_gpu *g, tly_group *t, kir_value *summary);
/* i1: the result is this class whatever the carry: NaN, of products zero, of sums infinite. */
kir_value tly_gpu_prevails(tly_gpu *g, kir_value classes);
/* i1: local results with these extremes may be combined with the carry. */
kir_value tly_gpu_fits(tly_gpu *g, const kir_value *range, kir_value carry);
/* i1: all local results that are good by themselves may be combined with the carry. */
kir_value tly_gpu_fits_any(tly_gpu *g, kir_value carry);
/* i1 of a carry and of a total: combined they make such a carry. */
kir_value tly_gpu_fits_half(tly_gpu *g, kir_value x);
/* Makes what a stretch publishes, in place: its total and extremes if they are `good`, else its
 * class, a mark that fits no carry, and its distance. `summary` may be anything where `good`. */
void tly_gpu_publish(tly_gpu *g, kir_value good, const kir_value *summary, kir_value *total,
                     kir_value *range);
/* i1: what a stretch has published may be combined with the carry. */
kir_value tly_gpu_combines(tly_gpu *g, kir_value total, const kir_value *range, kir_value carry);
/* i1: so may each of the totals that it was made of. */
kir_value tly_gpu_combines_all(tly_gpu *g, const kir_value *range, kir_value carry);
/* Adds to the summary what the next stretch has published. */
void tly_gpu_summary_join(tly_gpu *g, kir_value *summary, kir_value total, const kir_value *range);

#endif
