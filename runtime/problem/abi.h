/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface between launch and generated CPU kernels; docs/abi.md is its manual.
 * Kernels read these structs at fixed offsets: any change but a new tensor behind the others raises
 * TLY_ABI_VERSION, and so does one of what an order for objects holds (generator.h).
 */
#ifndef TLY_ABI_H
#define TLY_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "../descriptor/tensors.h"
#include "block.def"

#define TLY_ABI_VERSION 5u

/* Dims of one kind, but for the axis or the lanes. */
enum { TLY_DIMS = 7 };

/* One launch, as block.def describes it; read-only, shared by all its tasks. Strides are bytes. */
#define TLY_CPU_NO(name)
#define TLY_CPU_TASK(name)
#define TLY_CPU_I64(name) int64_t name;
#define TLY_CPU_PTR(name) char *name;

#define TLY_CPU_FIELD(NAME, name, of, member, cpu, push, block, meaning) TLY_CPU_##cpu(member)
#define TLY_CPU_DIMS(NAME, name, of, member, cpu, push, block, meaning) \
    TLY_CPU_##cpu(member[TLY_DIMS])
typedef struct tly_tensor {
    TLY_TENSOR_FIELDS(TLY_CPU_FIELD, TLY_CPU_DIMS, , , PUSH)
} tly_tensor;
typedef struct tly_args {
    TLY_LAUNCH_FIELDS(TLY_CPU_FIELD, TLY_CPU_DIMS)
    tly_tensor tensor[TLY_TENSOR_COUNT];
} tly_args;

/* Whether a launch has all tensors of a record, which has a bit for each that its kernel takes. */
static inline int tly_has_tensors(uint64_t tensors)
{
    return tensors >> TLY_TENSOR_COUNT == 0;
}

/* Facts of the machine and the launch that change no bit of the result. */
enum {
    TLY_LAUNCH_STREAM = 1, /* out of place and beyond the cache: non-temporal stores, prefetch */
    /* Out of place, in the cache: stores would wait for their lines, which are fetched ahead. */
    TLY_LAUNCH_PREFETCHW = 2
};

/* Segments of rows that have more elements are reduced in chunks of so many. */
enum { TLY_SEGMENT_CHUNK = 1 << 15 };

/* What a call does with its tiles. */
enum {
    TLY_MODE_SCAN = 0,   /* compute and store tiles [begin, end) */
    TLY_MODE_TOTAL = 1,  /* TLY_ROWS, one chunk: store its total and range to the carry_out
                             record, nothing else */
    TLY_MODE_COMBINE = 2 /* carry_out = carry_in combined with the total record in `total`; returns
                             1, nothing stored, if only a scan of the chunk can tell the carry */
    /* Of reductions: SCAN makes elements of the output, of whole runs of chunks; TOTAL stores the
     * states of tiles [begin, end) to records from carry_out on; COMBINE makes the output of such
     * records, from carry_in on. Of segments of rows, the latter two are of chunks [begin, end) of
     * segment number `ahead` (row times segments, plus segment), and COMBINE of all of them. */
};

/* One call of the kernel: a range of tiles by one thread. A tile is, in TLY_ROWS, chunk (t mod
 * chunks) of row (t div chunks); in the other forms of scans, lane block (t mod blocks) of row
 * (t div blocks); of reductions, chunk (t mod chunks) of lane block (t div chunks mod blocks) of
 * row (t div chunks div blocks). */
typedef struct tly_task {
    int64_t begin, end;   /*  0, 8 */
    int64_t mode;         /* 16 */
    char *scratch;        /* 24  64-byte aligned, its size: see tly_launch */
    const char *carry_in; /* 32  carry record before tile `begin`, or NULL at a row's start */
    char *carry_out;      /* 40  carry record after tile end - 1, or NULL if not wanted */
    const char *total;    /* 48  TLY_MODE_COMBINE: what TLY_MODE_TOTAL stored */
    int64_t ahead;        /* 56  TLY_ROWS: bytes from what is read to what is prefetched; 0: the
                                   plan's distance. Segments: see TLY_MODE_COMBINE */
} tly_task;               /* 64 */

/* A carry record is the operator's state after a chunk, whose bytes the launch record says; a
 * total record is a carry record followed by what the range check needs. Opaque to the launch.
 * At most: */
#define TLY_CARRY_BYTES 128
#define TLY_TOTAL_BYTES 192

/* Records of lanes have room for a multiple of so many. */
#define TLY_RECORD_LANES 64

/* Returns 0; 1 as TLY_MODE_COMBINE says. Calls nothing, keeps nothing, needs the default
 * floating-point environment. */
typedef int64_t (*tly_entry)(const tly_args *args, const tly_task *task);

/* What a launch must know of a kernel. Stored in front of the code in every artifact. */
typedef struct tly_launch {
    uint32_t abi;               /* TLY_ABI_VERSION */
    uint32_t form;              /* tly_form */
    int64_t chunk;              /* TLY_ROWS, reductions: elements a chunk, of lanes those of all
                                   of a tile; 0: never cut */
    int64_t tile_lanes;         /* other forms: lanes a tile */
    int64_t scratch_bytes;      /* a task */
    int64_t scratch_lane_bytes; /* and for each lane of a row that the task takes */
    int64_t record_bytes;       /* reductions: of a tile's states, of lanes of one lane's;
                                   TLY_ROWS: of a carry record; 0: chunks hand on none */
    int64_t split_bytes;        /* bytes read and written worth one more thread where computing
                                   is the limit; 0: memory is, and the machine decides */
    uint64_t tensors;           /* 1 << TLY_TENSOR_...: those that the kernel takes */
    char template_name[16];
    char level[16];
} tly_launch;

_Static_assert(sizeof(tly_tensor) == 136, "ABI");
_Static_assert(sizeof(tly_args) == 208 + TLY_TENSOR_COUNT * sizeof(tly_tensor), "ABI");
_Static_assert(sizeof(tly_task) == 64, "ABI");

#endif
