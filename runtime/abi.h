/*
 * The binary interface between launch and generated CPU kernels; docs/abi.md is its manual.
 * Kernels read these structs at fixed offsets: any change raises TLY_ABI_VERSION.
 */
#ifndef TLY_ABI_H
#define TLY_ABI_H

#include <stddef.h>
#include <stdint.h>

#define TLY_ABI_VERSION 3u

/* One launch; read-only, shared by all its tasks. Strides are bytes here. */
typedef struct tly_args {
    const char *in;            /*   0  address of position 0 of row 0 */
    char *out;                 /*   8 */
    int64_t length;            /*  16  see tly_geometry */
    int64_t inner;             /*  24  lanes */
    int64_t in_axis, out_axis; /*  32, 40  bytes */
    int64_t in_lane, out_lane; /*  48, 56  bytes */
    int64_t chunks;            /*  64  TLY_ROWS: chunks a row, from 1 */
    int64_t blocks;            /*  72  other forms: lane blocks, ceil(inner / tile_lanes) */
    int64_t flags;             /*  80  TLY_LAUNCH_... */
    int64_t outer_rank;        /*  88  0 to 7 */
    int64_t outer_size[7];     /*  96  outermost first */
    int64_t outer_in[7];       /* 152  bytes */
    int64_t outer_out[7];      /* 208  bytes */
    /* Reductions alone. The kernel takes `steps` times `length` elements for each of the output, in
     * chunks: of chunk_steps steps, or of chunk_length elements of one. */
    int64_t steps;           /* 264  from 1; 0: nothing is reduced to a value */
    int64_t chunk_length;    /* 272  from 1, up to length */
    int64_t chunk_steps;     /* 280  from 1; 1 where chunk_length is below length */
    int64_t reduced_rank;    /* 288  0 to 7 */
    int64_t reduced_size[7]; /* 296  their product is `steps`, outermost first */
    int64_t reduced_in[7];   /* 352  bytes */
} tly_args;                  /* 408 */

/* Facts of the machine and the launch that change no bit of the result. */
enum {
    TLY_LAUNCH_STREAM = 1, /* out of place and beyond the cache: non-temporal stores, prefetch */
    /* Out of place, in the cache: stores would wait for their lines, which are fetched ahead. */
    TLY_LAUNCH_CLAIM = 2
};

/* What a call does with its tiles. */
enum {
    TLY_MODE_SCAN = 0,   /* compute and store tiles [begin, end) */
    TLY_MODE_TOTAL = 1,  /* TLY_ROWS, one chunk: store its total and range to the carry_out
                             record, nothing else */
    TLY_MODE_COMBINE = 2 /* carry_out = carry_in combined with the total record in `total`; returns
                             1, nothing stored, if only a scan of the chunk can tell the carry */
    /* Of reductions: SCAN makes elements of the output, of whole runs of chunks; TOTAL stores the
     * states of tiles [begin, end) to records from carry_out on; COMBINE makes the output of such
     * records, from carry_in on. */
};

/* One call of the kernel: a range of tiles by one thread.
 * A tile is, in TLY_ROWS, chunk (t mod chunks) of row (t div chunks); in the other forms of scans,
 * lane block (t mod blocks) of row (t div blocks); of reductions, chunk (t mod chunks) of lane block
 * (t div chunks mod blocks) of row (t div chunks div blocks). */
typedef struct tly_task {
    int64_t begin, end;   /*  0, 8 */
    int64_t mode;         /* 16 */
    char *scratch;        /* 24  64-byte aligned, its size: see tly_launch */
    const char *carry_in; /* 32  carry record before tile `begin`, or NULL at a row's start */
    char *carry_out;      /* 40  carry record after tile end - 1, or NULL if not wanted */
    const char *total;    /* 48  TLY_MODE_COMBINE: what TLY_MODE_TOTAL stored */
    int64_t ahead;        /* 56  TLY_ROWS: bytes from what is read to what is prefetched; 0: the
                                   plan's distance */
} tly_task;               /* 64 */

/* A carry record is the operator's state after a chunk, whose bytes the launch record says; a total
 * record is a carry record followed by what the range check needs. Opaque to the launch. At most: */
#define TLY_CARRY_BYTES 128
#define TLY_TOTAL_BYTES 192

/* Records of lanes have room for a multiple of so many. */
#define TLY_RECORD_LANES 64

/* Returns 0; 1 as TLY_MODE_COMBINE says. Calls nothing, keeps nothing, needs the default
 * floating-point environment. */
typedef int64_t (*tly_entry)(const tly_args *args, const tly_task *task);

/* What a launch must know of a kernel. Stored in front of the code in every artefact. */
typedef struct tly_launch {
    uint32_t abi;               /* TLY_ABI_VERSION */
    uint32_t form;              /* tly_form */
    int64_t chunk;              /* TLY_ROWS, reductions: elements a chunk, of lanes those of all
                                   of a tile; 0: never cut */
    int64_t tile_lanes;         /* other forms: lanes a tile */
    int64_t scratch_bytes;      /* a task */
    int64_t scratch_lane_bytes; /* and for each lane of a row that the task takes */
    int64_t record_bytes;       /* reductions: of a tile's states, of lanes of one lane's;
                                   TLY_ROWS: of a carry record */
    int64_t split_bytes;        /* bytes read and written worth one more thread where computing
                                   is the limit; 0: memory is, and the machine decides */
    char template_name[16];
    char level[16];
} tly_launch;

_Static_assert(sizeof(tly_args) == 408 && offsetof(tly_args, reduced_in) == 352, "ABI");
_Static_assert(sizeof(tly_task) == 64, "ABI");

#endif
