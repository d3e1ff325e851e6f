/*
 * The interface between launch and generated Vulkan kernels; docs/vulkan.md is its manual.
 * A kernel is one to three passes, each a SPIR-V module with one entry point "main", dispatched
 * one after the other with a memory barrier between. Descriptor set 0 of the buffer form: binding
 * 0 input, 1 output, 2 scratch, all storage buffers; the address form binds nothing. Both read
 * tly_push as push constants.
 */
#ifndef TLY_GPU_H
#define TLY_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "caps.h"
#include "problem.h"

#define TLY_GPU_ABI_VERSION 1u
#define TLY_GPU_PASSES 3
#define TLY_GPU_OUTER 2 /* outer dims that fit the push constants; more are literals of the code */

/* One dispatch. Strides are bytes. Little-endian, 128 bytes: what every device takes. */
typedef struct tly_push {
    uint64_t in, out, scratch;        /*   0   addresses of position 0 of row 0 and of the scratch;
                                                buffer form: bytes from the binding's start */
    int64_t in_axis, out_axis;        /*  24   from one position to the next */
    int64_t in_lane, out_lane;        /*  40   from one group of lanes to the next */
    int64_t outer_in[TLY_GPU_OUTER];  /*  56   outermost first */
    int64_t outer_out[TLY_GPU_OUTER]; /*  72 */
    uint32_t outer_size[TLY_GPU_OUTER]; /*  88 */
    uint32_t length;                    /*  96   positions of this dispatch, below 2^31 */
    uint32_t lanes;                     /* 100   groups of lanes; 1 where the form has none */
    uint32_t rows;                      /* 104   rows beyond this one are not there, below 2^31 */
    uint32_t row_first;                 /* 108   row of the first workgroup */
    uint32_t chunks;                    /* 112   a row, from 1 */
    uint32_t groups_x;                  /* 116   group number = y * groups_x + x */
    uint32_t flags;                     /* 120   TLY_GPU_... */
    uint32_t carries;                   /* 124   byte offset of the carries in the scratch */
} tly_push;

_Static_assert(sizeof(tly_push) == 128 && offsetof(tly_push, carries) == 124, "ABI");

/* tly_push.flags */
enum {
    TLY_GPU_ALIGNED = 1,   /* in, out and every stride are multiples of 16 bytes; the axis' only
                              where several lanes go together */
    TLY_GPU_CONTINUES = 2, /* position 0 is not the scan's start: carries hold what came before */
    TLY_GPU_CARRIES = 4,   /* another dispatch follows along the axis: store the carries */
    TLY_GPU_STALL = 8      /* look-back: every third tile withholds its total (tests) */
};

/* What kernels of reductions read beside tly_push: at the start of the scratch, the same for all
 * dispatches of a launch. The elements of an output are counted as steps times length; a chunk is
 * some whole steps, or a part of one. Little-endian. */
typedef struct tly_gpu_block {
    uint64_t count;                     /*   0  elements of an output */
    uint64_t real64;                    /*   8  the same as f64, */
    uint32_t real32;                    /*  16  and as f32 */
    uint32_t steps;                     /*  20 */
    uint32_t length;                    /*  24  of a step; its low half where there is one step */
    uint32_t chunk_length;              /*  28  of a chunk, in each of its steps */
    uint32_t chunk_steps;               /*  32 */
    uint32_t each;                      /*  36  chunks that chunk_steps steps have */
    uint32_t last;                      /*  40  elements of the last of these */
    uint32_t unused;                    /*  44 */
    int64_t reduced_in[TALLY_MAX_RANK]; /*  48  bytes; of the steps, outermost first */
    uint32_t reduced_size[TALLY_MAX_RANK]; /* 112 */
} tly_gpu_block;

_Static_assert(sizeof(tly_gpu_block) == 144 && offsetof(tly_gpu_block, reduced_size) == 112, "ABI");

/* What the workgroups of a pass share out. */
typedef enum tly_items {
    TLY_ITEMS_ROWS,  /* rows x lanes */
    TLY_ITEMS_CHUNKS /* rows x lanes x chunks; a workgroup's items may lie in several rows */
} tly_items;

typedef struct tly_gpu_pass {
    uint32_t items;     /* tly_items */
    uint32_t per_group; /* items a workgroup: groups = ceil(items / per_group) */
    uint32_t workgroup; /* invocations */
    uint32_t subgroup;  /* required size; 0: any */
} tly_gpu_pass;

/* How the geometry is given to a kernel. */
typedef enum tly_gpu_form {
    TLY_GPU_ROWS, /* length: stream elements (axis x unit), lanes 1 */
    TLY_GPU_LANES /* length: axis, lanes: inner; a TLY_ROWS problem of unit u is turned into
                      length / u positions of u lanes */
} tly_gpu_form;

typedef struct tly_gpu_launch {
    uint32_t abi, form;
    uint32_t passes;
    uint32_t addresses;    /* 1: address form; 0: buffer form */
    uint32_t positions;    /* most positions a dispatch, a multiple of every border; more are cut,
                               with carries; 0: 2^30 */
    uint32_t chunk;        /* positions a chunk; 0: no chunks */
    uint32_t lanes;        /* neighbouring lanes that go together, a group: divides their number */
    uint32_t carry_bytes;  /* of one (row, group of lanes) */
    uint32_t record_bytes; /* of one (row, group, chunk), from the scratch's start plus
                               header_bytes */
    uint32_t header_bytes; /* in front of the records */
    uint32_t zeroed;       /* 1: header and records must be zero before every dispatch */
    uint32_t block_bytes;  /* of the header that is a tly_gpu_block; 0: none */
    char template_name[16];
    tly_gpu_pass pass[TLY_GPU_PASSES];
} tly_gpu_launch;

/* Every choice for one kernel, and all of its key beside problem and caps: two geometries with
 * one plan share their code. Made by the generator; zero first, then fill. */
typedef struct tly_gpu_plan {
    int32_t template_id; /* tly_gpu_template (codegen/plan/gpu.h) */
    int32_t workgroup;   /* invocations */
    int32_t team;        /* invocations that scan together: a subgroup's or the workgroup's */
    int32_t vector;      /* neighbouring elements an invocation takes at once; columns: lanes */
    int32_t segments;    /* such vectors a tile, per invocation; columns: positions at once */
    int32_t scan;        /* across invocations: 0 workgroup memory, 1 shuffles, 2 arithmetic */
    int32_t chunk;       /* positions a chunk; 0: none */
    int32_t addresses;   /* 1: device addresses, 0: storage buffers */
    int32_t index_bits;  /* 32 or 64: width of offsets */
    int32_t outer_rank;  /* 0 to 7 */
    int32_t literal;     /* 1: sizes and strides of the outer dims are literals, below */
    int32_t steps_rank;  /* of reductions: dims that steps are counted through, 0 to 7 */
    int64_t outer_size[TALLY_MAX_RANK - 1], outer_in[TALLY_MAX_RANK - 1],
        outer_out[TALLY_MAX_RANK - 1]; /* bytes; zero unless literal */
} tly_gpu_plan;

_Static_assert(sizeof(tly_gpu_plan) == 12 * 4 + 3 * 8 * (TALLY_MAX_RANK - 1), "padding in a key");

typedef struct tly_gpu_artefact {
    tly_gpu_launch launch;
    uint32_t *words[TLY_GPU_PASSES];
    size_t word_count[TLY_GPU_PASSES];
} tly_gpu_artefact;

#endif
