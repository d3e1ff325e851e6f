/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each template can be built with, as data beside its builder: the keys of the plan that it
 * reads, their ranges, and what they must be together. Choices (codegen/plan) are held to it,
 * overrides are judged by it before anything is built, the printed plan lists these keys and no
 * others, and the arrays of the builders take their sizes from it. A new key of a template is a row
 * in its table here, a field of the plan, and a way to choose it.
 */
#ifndef TLY_LIMITS_H
#define TLY_LIMITS_H

#include "../../runtime/problem/specialise.h"
#include "gpu.h"
#include "plan.h"

/* Why a choice has a value: a sentence or two; "" where no problem has it. */
typedef struct tly_why {
    int32_t value; /* TLY_ELSE: all others */
    const char *text;
} tly_why;

enum { TLY_ELSE = INT32_MIN };

/* One choice: its name, its place in the plan (an int32_t), and its range. */
typedef struct tly_plan_key {
    const char *name;
    size_t at;
    int32_t least, most;
    int power;          /* powers of two (and 0) only */
    const tly_why *why; /* the last one is for TLY_ELSE */
} tly_plan_key;

#define TLY_WHY(...) \
    (const tly_why[]) \
    { \
        __VA_ARGS__ \
    }

/* Those that a template reads, in the order in which they are chosen and printed. */
typedef struct tly_plan_keys {
    const char *name; /* the template's */
    const tly_plan_key *key;
    size_t count;
    const char *why; /* the template is chosen */
} tly_plan_keys;

/* How a key's value is chosen: by a function, or one number for all. */
typedef struct tly_choice {
    size_t at; /* in a plan; 0 ends a table */
    int32_t (*choose)(const tly_problem *p, const tly_target *t, const tly_plan *plan);
    int32_t always;
} tly_choice;

/* A template for CPUs: its keys, and how they are chosen, each by a look at those before it. */
typedef struct tly_template_limits {
    tly_plan_keys keys;
    int reduces; /* 0: it scans */
    const tly_choice *choices;
    /* The keys that are about memory and threads alone, so that results have the same bits whatever
     * they are, with a blank around each; "*": all, as each result is the plain loop's. */
    const char *memory_keys;
    /* Why the template has no kernel for the problem, whatever its choices; else NULL. */
    const char *(*refuses)(const tly_problem *p);
    /* Why choices that are each in their range cannot be together; else NULL. */
    const char *(*fault)(const tly_problem *p, const tly_plan *plan);
    /* 1: it is chosen, unless one before it in TLY_TEMPLATES is. NULL: where it does not refuse. */
    int (*wanted)(const tly_problem *p, const tly_target *t);
} tly_template_limits;

#define TLY_TEMPLATE_FACTS(ID, name, what) \
    extern const tly_template_limits tly_##name##_limits; \
    extern const tly_choice tly_choices_of_##name[];
TLY_TEMPLATES(TLY_TEMPLATE_FACTS)
#undef TLY_TEMPLATE_FACTS

/* The same for Vulkan, where geometry and device have a say. */
typedef struct tly_gpu_limits {
    tly_plan_keys keys;
    const char *(*refuses)(const tly_problem *p, const tly_caps *caps);
    const char *(*fault)(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                         const tly_gpu_plan *plan);
} tly_gpu_limits;

#define TLY_GPU_TEMPLATE_FACTS(ID, name, what) extern const tly_gpu_limits tly_gpu_##name##_limits;
TLY_GPU_TEMPLATES(TLY_GPU_TEMPLATE_FACTS)
#undef TLY_GPU_TEMPLATE_FACTS

/* Checks of all of these (gpu_limits.c). */
const char *tly_gpu_fault_of_memory(const tly_geometry *g, const tly_problem *p,
                                    const tly_caps *caps, const tly_gpu_plan *plan);

/* Sizes of the builders' arrays. */
enum {
    /* Every template on CPUs. A vector of accumulators is at most a line of output wide, as no
     * output is wider than its accumulator: what turns, joins or cuts vectors counts on it. */
    TLY_LEAST_LANES = 2,
    TLY_MOST_VECTOR_BYTES = 64,
    TLY_MOST_LANES = TLY_MOST_VECTOR_BYTES / 4,
    /* Vectors that make a line of output, of elements of one byte in the narrowest vectors. */
    TLY_MOST_LINE_VECTORS = TLY_MOST_VECTOR_BYTES / TLY_LEAST_LANES,

    TLY_ROWS_SAFE_UNROLL = 4, /* vectors between two looks at the range */
    TLY_ROWS_MOST_UNROLL = 8,
    TLY_ROWS_MOST_LOADS = 2,    /* doublings by overlapping loads */
    TLY_ROWS_MOST_SCALARS = 64, /* elements a step of scalars */
    TLY_ROWS_MOST_TOTALS = 7,   /* vectors of totals of interleaved scans */
    /* Vectors that the chain, and all doublings together, look back on: twice the most scans in
     * the narrowest vectors. */
    TLY_ROWS_MOST_VECTORS_BACK = (TLY_MAX_INTERLEAVE + 1) / TLY_LEAST_LANES * 2,

    TLY_SHORT_MOST_VECTORS = TLY_MEDIUM_ROW / TLY_LEAST_LANES + 1, /* a row */

    TLY_COLUMNS_MOST_STEPS = 8, /* a pass */
    TLY_COLUMNS_MOST_LINES = 4,
    TLY_COLUMNS_MOST_VECTORS = TLY_COLUMNS_MOST_LINES * TLY_MOST_LINE_VECTORS,

    TLY_MOST_SLICES = 4, /* of columns, side by side */

    TLY_TRANSPOSED_MOST_STEPS = 64, /* a pass */

    TLY_SERIAL_MOST_ROWS = 8,
    TLY_LINEAR_MOST_VECTORS = 8,
    TLY_LINEAR_MOST_HISTORY = (TLY_MAX_INTERLEAVE + 1) / TLY_LEAST_LANES,
    TLY_LINEAR_LEAST = 16,           /* elements of a row */
    TLY_LINEAR_LEAST_SEGMENTED = 32, /* ... that offsets cut */

    TLY_TILES_MOST_LINES = 2,
    TLY_TILES_MOST_PARTS = TLY_MOST_LINE_VECTORS, /* of a tile */
    /* States of rows that are crossed, about what the first cache holds beside lines on their
     * way. */
    TLY_TILES_CROSSED_BYTES = 32768,

    TLY_FEW_COLUMNS_MOST_HISTORY = 20, /* vectors of results */
    TLY_FEW_COLUMNS_MOST_VECTORS = 64, /* a step */
    TLY_FEW_COLUMNS_MOST_LINES = 8,

    TLY_REDUCE_MOST_UNROLL = 8, /* vectors of states side by side */
    TLY_REDUCE_MOST_GROUP = 16, /* short rows at once */
    TLY_REDUCE_MOST_STEPS = 16, /* of lanes, a pass */

    TLY_GPU_MOST_ELEMENTS = 32, /* of an invocation */
    TLY_GPU_MOST_SEGMENTS = 16,
    TLY_GPU_MOST_CUT_LANES = 8, /* of columns in chunks: a loop carries three values a lane */
    TLY_GPU_MOST_WORKGROUP = 1024,
    TLY_GPU_MOST_APART = 128, /* invocations of a middle pass by groups of chunks (gpu/frame.c) */
    TLY_GPU_MOST_TILE_LANES = 128, /* of look-back along lanes */
    /* Of that, tiles of a group, groups that are looked at at once, and records of both. */
    TLY_GPU_LANES_GROUP = 16,
    TLY_GPU_LANES_WINDOW = 16,
    TLY_GPU_LANES_FOUND = TLY_GPU_LANES_GROUP + TLY_GPU_LANES_WINDOW,
    /* Lanes of a tile: those of one byte begin whole accesses, whatever their length. */
    TLY_GPU_LEAST_TRANSPOSED = 16,
    TLY_GPU_MOST_CLUSTERS = TLY_GPU_MOST_WORKGROUP / TLY_LEAST_SUBGROUP, /* clusters */
    TLY_GPU_MOST_CHUNK = 1 << 24
};

/* Of what groups exchange, a value (gpu_limits.c). */
unsigned tly_gpu_slot_bytes(const tly_problem *p);

/* Segments of rows of which several short ones go at once, if vectors can be loaded in part. */
int tly_takes_segments(const tly_problem *p);

/* 1: vectors of elements can be loaded in part (limits_reduce.c). */
int tly_is_masked(const tly_problem *p, const tly_target *t);
/* 1: lanes of several outer slices of few steps, which go by the plain loop. */
int tly_has_slices(const tly_problem *p);
/* 1: the lanes of several slices can make a vector. */
int tly_merges_slices(const tly_problem *p, const tly_target *t);
/* The most bytes of accumulators of a row of those that can be dealt with several at once, and 0 of
 * others; 1: they are (limits_reduce.c). */
int32_t tly_reduced_bytes(const tly_problem *p);
int tly_reduces_together(const tly_problem *p, const tly_target *t);

/* 1: outputs side by side are the plain loop's, whose partial products leave no range that it does
 * not (limits_reduce.c). */
int tly_reduces_plainly(const tly_problem *p);

/* Checks of several templates (limits.c). */
const char *tly_fault_of_lanes(const tly_problem *p, const tly_plan *plan);
/* 1: the word has expressions, and its results are not stored at once: either `post` raises flags,
 * so that it must wait until those of the scan are read, or results are keys. */
int tly_shows_otherwise(const tly_problem *p);
/* 1: outer slices can go side by side. */
int tly_takes_slices(const tly_problem *p);
int32_t tly_line_elements(const tly_problem *p); /* of output */
/* 1 where neighbours are bf16 in and out, accumulated in f32: a lane of 32 bits can take two. */
int tly_plan_pairs(const tly_problem *p);
/* Elements of a step, the longest of its ways: scans side by side begin a block in lane 0 whichever
 * way the block before went (limits_rows.c). */
int32_t tly_rows_step(const tly_problem *p, const tly_plan *plan);
/* 1: rows are cut in chunks: a carry record holds what their scans hand on, and there are totals
 * (limits_rows.c). */
int tly_rows_cuts(const tly_problem *p, const tly_plan *plan);
/* 1: the same of the linear template's (limits_linear.c). */
int tly_linear_cuts(const tly_problem *p);
/* 1: of them, those whose segment that goes on beyond a chunk is scanned apart from others. */
int tly_linear_goes_apart(const tly_problem *p);
/* Vectors from one to the next whose lanes belong to the same scans. */
int32_t tly_rows_period(int32_t unit, int32_t lanes);
/* 1: columns are packed, and neither few nor many (limits_few_columns.c). */
int tly_are_packed(const tly_problem *p);
/* Whether a recurrence goes along rows in vectors, as that is faster (limits_linear.c). */
int tly_linear_serves(const tly_problem *p);
/* 1: short dense rows are one stream of vectors, in which each has a head. */
int tly_linear_streams(const tly_problem *p, const tly_target *t);
/* SHORT: vectors of whole lines of output and of whole rows of several vectors each; 0: they are
 * many. */
int tly_short_vectors_by_rows(const tly_problem *p, int lanes);
/* 1: dense short rows of a word with a carry are one stream of vectors (SHORT), too. */
int tly_carries_in_stream(const tly_problem *p, const tly_target *t);
/* Vectors that hold the results of packed columns, one before (limits_few_columns.c). */
int32_t tly_few_columns_vectors(const tly_problem *p, const tly_plan *plan);
/* Vectors of lanes side by side in a tile (limits_tiles.c). */
int32_t tly_tiles_parts(const tly_problem *p, const tly_plan *plan);
/* How a tensor's elements lie in a tile. */
typedef enum tly_way { TLY_ACROSS, TLY_ALONG_UP, TLY_ALONG_DOWN, TLY_APART } tly_way;
static inline int tly_is_along(tly_way way)
{
    return way == TLY_ALONG_UP || way == TLY_ALONG_DOWN;
}
/* How the problem's elements lie in tiles of the input, of the output. */
tly_way tly_tiles_in(const tly_problem *p);
tly_way tly_tiles_out(const tly_problem *p);
int tly_tiles_turn(const tly_problem *p); /* 1: tiles are turned, so they are square */
/* What is known of the lanes that are few, or steps of a short row: a power of two; 0: nothing. */
int tly_tiles_least(const tly_problem *p);
/* 1: of a long axis along which the input runs, and lanes that are many: tiles can be several
 * squares along it. */
int tly_tiles_large(const tly_problem *p);

#define TLY_KEY(type, field) TLY_KEY_AS(type, #field, field)
/* By the name that users know, which is one for choices that are alike. */
#define TLY_KEY_AS(type, name, field) name, offsetof(type, field)

#endif
