/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between launch and generated Vulkan kernels; docs/vulkan-internals.md is its
 * manual. A kernel is one to three passes, each a SPIR-V module with one entry point "main",
 * dispatched one after the other with a memory barrier between. Descriptor set 0 of the buffer
 * form: the input, the output, the scratch and the operands, all storage buffers; the address form
 * binds nothing. Both read tly_push as push constants.
 */
#ifndef TLY_GPU_H
#define TLY_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "caps.h"
#include "problem.h"

#define TLY_GPU_ABI_VERSION 4u
#define TLY_GPU_PASSES 3
#define TLY_GPU_SCRATCH TLY_FIRST_OPERAND /* its binding: operands come behind */
#define TLY_GPU_BINDINGS (TLY_TENSOR_COUNT + 1)
#define TLY_GPU_OPERANDS (TLY_TENSOR_COUNT - TLY_FIRST_OPERAND)
#define TLY_GPU_LEAST_BINDINGS 4 /* storage buffers that every device has for a kernel */
#define TLY_GPU_OUTER 2 /* outer dims that fit the push constants; more are literals of the code */

#define TLY_GPU_NO(name)
#define TLY_GPU_PTR(name) uint64_t name;
#define TLY_GPU_W32(name) uint32_t name;
#define TLY_GPU_L64(name) int64_t name;
#define TLY_GPU_F32(name) uint32_t name;
#define TLY_GPU_F64(name) uint64_t name;

/* One dispatch, as block.def describes it. Strides are bytes. Little-endian, 128 bytes: what every
 * device takes. Addresses are in the buffer form bytes from the binding's start. */
#define TLY_PUSH_FIELD(NAME, name, of, member, cpu, push, block, meaning) TLY_GPU_##push(member)
#define TLY_PUSH_DIMS(NAME, name, of, member, cpu, push, block, meaning) \
    TLY_GPU_##push(member[TLY_GPU_OUTER])
typedef struct tly_push_tensor {
    TLY_TENSOR_FIELDS(TLY_PUSH_FIELD, TLY_PUSH_DIMS, , , PUSH)
} tly_push_tensor;
typedef struct tly_push {
    TLY_LAUNCH_FIELDS(TLY_PUSH_FIELD, TLY_PUSH_DIMS)
    tly_push_tensor tensor[TLY_FIRST_OPERAND];
} tly_push;

/* What kernels of reductions, of indices, and with operands read beside tly_push: at the start of
 * the scratch. Only the bases of operands and the first index differ between the dispatches of a
 * launch. The elements of an output are counted as steps times length; a chunk is some whole steps,
 * or a part of one. Of input and output only `reduced` is here. Little-endian. */
#define TLY_BLOCK_FIELD(NAME, name, of, member, cpu, push, block, meaning) TLY_GPU_##block(member)
#define TLY_BLOCK_DIMS(NAME, name, of, member, cpu, push, block, meaning) \
    TLY_GPU_##block(member[TLY_DIMS])
typedef struct tly_block_tensor {
    TLY_TENSOR_FIELDS(TLY_BLOCK_FIELD, TLY_BLOCK_DIMS, , , BLOCK)
} tly_block_tensor;
typedef struct tly_gpu_block {
    TLY_LAUNCH_FIELDS(TLY_BLOCK_FIELD, TLY_BLOCK_DIMS)
    tly_block_tensor tensor[TLY_TENSOR_COUNT];
} tly_gpu_block;

_Static_assert(sizeof(tly_push) == 128 && sizeof(tly_gpu_block) == 1336, "ABI");

/* The binding of a tensor. */
static inline uint32_t tly_gpu_binding_of(int tensor)
{
    return (uint32_t)(tensor < TLY_GPU_SCRATCH ? tensor : tensor + 1);
}

/* How many bindings a kernel has; where this is a limit, it names the device's. */
static inline uint32_t tly_gpu_bindings(const tly_problem *p)
{
    return (uint32_t)tly_tensors_of(p) + 1;
}

static inline uint32_t tly_gpu_most_bindings(const tly_caps *caps)
{
    return caps->storage_buffers > TLY_GPU_LEAST_BINDINGS ? caps->storage_buffers
                                                          : TLY_GPU_LEAST_BINDINGS;
}

/* Whether a first pass marks the heads of segments in the scratch: a bit for each position. */
static inline int tly_gpu_has_marks(const tly_problem *p)
{
    return p->segmented != 0 && !tly_reduces(p->form);
}

/* Whether a kernel's scratch begins with a tly_gpu_block (codegen/plan/operator_facts.c). */
int tly_gpu_has_block(const tly_problem *p);

/* tly_push.flags */
enum {
    TLY_GPU_ALIGNED = 1,   /* in, out and every stride of them are multiples of 16 bytes; the axis'
                              only where several lanes go together; of reductions only the input's;
                              of axes that go downwards in or out less one step of the axis */
    TLY_GPU_CONTINUES = 2, /* position 0 is not the scan's start: carries hold what came before */
    TLY_GPU_CARRIES = 4,   /* another dispatch follows along the axis: store the carries */
    TLY_GPU_STALL = 8,     /* look-back: every third tile withholds its total (tests) */
    /* Words with a carry: the run has the tensor with the states before the first element, and
     * position 0 is the scan's start; that with those after the last, and this is its end. */
    TLY_GPU_STATES_IN = 16,
    TLY_GPU_STATES_OUT = 32,
    TLY_GPU_FLAGS_ALIGNED =
        128,         /* operands that flags are made of: what lies beside a vector begins
                                    at a multiple of its bytes (tly_gpu_flag_bytes) */
    TLY_GPU_ODD = 64 /* of the dispatches along an axis the second, fourth, ... */
};

/* What the workgroups of a pass share out. */
typedef enum tly_items {
    TLY_ITEMS_ROWS,     /* rows x lanes */
    TLY_ITEMS_CHUNKS,   /* rows x lanes x chunks; a workgroup's items may lie in several rows */
    TLY_ITEMS_TILES,    /* the same, but that a workgroup's are of one chunk */
    TLY_ITEMS_SEGMENTS, /* segments of the axis, whatever rows and lanes there are */
    TLY_ITEMS_STATES,   /* rows x lanes x segments, which are counted as chunks */
    TLY_ITEMS_CELLS     /* rows x lanes x cells, counted as chunks: one more than there are chunks
                           beyond segments */
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
    TLY_GPU_LANES /* length: axis, lanes: inner; a TLY_ROWS problem of u interleaved scans has
                     length / u positions of u lanes here */
} tly_gpu_form;

typedef struct tly_gpu_launch {
    uint32_t abi, form;
    uint32_t passes;
    uint32_t addresses;    /* 1: address form; 0: buffer form */
    uint32_t positions;    /* most positions a dispatch, a multiple of every border; more are cut,
                               with carries; 0: 2^30 */
    uint32_t chunk;        /* positions a chunk; 0: no chunks */
    uint32_t lanes;        /* neighbouring lanes that go together, a group: divides their number */
    uint32_t carry_bytes;  /* of one (row, group of lanes); those loaded and those stored, if these
                              may not share a place */
    uint32_t record_bytes; /* of one (row, group, chunk), from the scratch's start plus
                               header_bytes */
    uint32_t header_bytes; /* in front of the records */
    uint32_t zeroed;       /* 1: header, but the block, and records must be zero before every
                               dispatch */
    uint32_t marked;       /* 1: a bit for each position follows the records, zero before the first
                               pass */
    uint32_t loose;        /* 1 << TLY_TENSOR_...: those whose strides, but the axis', need not be
                               multiples of 16 bytes for TLY_GPU_ALIGNED */
    uint32_t block_bytes;  /* of the header that is a tly_gpu_block; 0: none */
    uint32_t tensors;      /* 1 << TLY_TENSOR_...: those that the kernel takes */
    char template_name[16];
    tly_gpu_pass pass[TLY_GPU_PASSES];
} tly_gpu_launch;

/* Every choice for one kernel, and all of its key beside problem and caps: two geometries with
 * one plan share their code. Made by the generator; zero first, then fill. */
typedef struct tly_gpu_plan {
    int32_t template_id; /* tly_gpu_template (codegen/plan/gpu.h) */
    int32_t workgroup;   /* invocations */
    int32_t group;       /* invocations that scan together: a subgroup's or the workgroup's */
    int32_t vector;      /* neighbouring elements an invocation takes at once; columns: lanes;
                            reductions: of a row, or of outputs side by side */
    int32_t vectors_per_thread; /* such vectors a tile, per invocation; columns: positions at once;
                            reductions: such vectors at once */
    int32_t scan;       /* across invocations: 0 workgroup memory, 1 shuffles, 2 arithmetic */
    int32_t chunk;      /* positions a chunk; 0: none */
    int32_t addresses;  /* 1: device addresses, 0: storage buffers */
    int32_t index_bits; /* 32 or 64: width of offsets */
    int32_t outer_rank; /* 0 to 7 */
    int32_t literal;    /* 1: sizes and strides of the outer dims are literals, below */
    int32_t steps_rank; /* of reductions: dims that steps are counted through, 0 to 7 */
    int32_t wide;       /* of reductions: 1: accesses of 16 bytes where the input is aligned, and
                            single elements where it is not; 0: single elements */
    int32_t length;     /* of reductions: elements of a row, as a literal: all are loaded at once;
                            0: counted at launch */
    int32_t spill;      /* of look-back: 1: local results, states of 4 bytes, lie in workgroup
                            memory while a tile waits; 0: in registers */
    int32_t reserved;   /* 0: the offsets below need no padding */
    int64_t outer_size[TALLY_MAX_RANK - 1], outer_in[TALLY_MAX_RANK - 1],
        outer_out[TALLY_MAX_RANK - 1]; /* bytes; zero unless literal */
} tly_gpu_plan;

_Static_assert(sizeof(tly_gpu_plan) == 16 * 4 + 3 * 8 * (TALLY_MAX_RANK - 1), "padding in a key");

/* What is left of a device's facts where the plan is made: all that the code still depends on,
 * so that it is the same for devices that are the same in this. What only plans and launches ask
 * for is 0. */
static inline void tly_caps_of_code(const tly_caps *caps, const tly_gpu_plan *plan, tly_caps *code)
{
    enum { SHUFFLES = TLY_SUBGROUP_BASIC | TLY_SUBGROUP_BALLOT | TLY_SUBGROUP_SHUFFLE };
    *code = *caps;
    code->vendor = code->driver = code->size_control = code->progress = code->saturation = 0;
    code->invocations = code->groups_x = code->groups_y = code->shared_bytes = 0;
    code->buffer_range = code->offset_align = code->storage_buffers = 0;
    code->addresses = (uint32_t)plan->addresses;
    code->subgroup = plan->scan > 0 ? caps->subgroup : 0;
    code->subgroup_ops &= plan->scan == 0   ? 0u
                          : plan->scan == 1 ? (uint32_t)SHUFFLES
                                            : (uint32_t)(SHUFFLES | TLY_SUBGROUP_ARITHMETIC);
}

typedef struct tly_gpu_artifact {
    tly_gpu_launch launch;
    uint32_t *words[TLY_GPU_PASSES];
    size_t word_count[TLY_GPU_PASSES];
} tly_gpu_artifact;

/* Bytes of an operand beside a vector of a row's elements, where flags are made of it and one
 * access takes them as u32s; else 0. */
static inline uint32_t tly_gpu_flag_bytes(const tly_problem *p, const tly_gpu_plan *plan, int t)
{
    enum { MOST = 16 };
    const int8_t step = p->tensor[t].step;
    if (!p->resets || p->form != TLY_ROWS || t < TLY_FIRST_OPERAND || t >= tly_operands_end(p) ||
        (step != 1 && step != -1) ||
        !(tly_codes_of(p, TLY_EXPRESSION_RESET) >> (TLY_POSTFIX_A + t - TLY_FIRST_OPERAND) & 1)) {
        return 0;
    }
    const uint32_t bytes = (uint32_t)tly_element_bytes(p, t);
    const uint32_t all = bytes * (uint32_t)plan->vector;
    return bytes < 4 && all >= 4 && all <= MOST && (all & (all - 1)) == 0 ? all : 0;
}

#endif
