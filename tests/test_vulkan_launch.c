/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From sizes and strides to dispatches. A model of what a kernel does with the push constants runs
 * every list: each element must be met once, at its own address, in the order of its scan.
 */
#include "../runtime/launch/dispatches.h"
#include "../runtime/problem/canonicalise.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const tly_caps roomy = {
    .invocations = 1024,
    .groups_x = 65535,
    .groups_y = 65535,
    .buffer_range = 1u << 27,
    .offset_align = 16,
};

typedef struct subject {
    tly_problem problem;
    tly_geometry geometry;
    tly_gpu_plan plan;
} subject;

static subject read_word(const char *word)
{
    subject s;
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    memset(&s, 0, sizeof s);
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    tly_canonicalise(&d, 1, &s.problem, &s.geometry);
    s.plan.outer_rank = s.geometry.outer_rank;
    s.plan.literal = s.geometry.outer_rank > TLY_GPU_OUTER;
    return s;
}

static tly_gpu_launch launch_of(tly_gpu_form form, uint32_t positions, uint32_t chunk)
{
    tly_gpu_launch l = { .abi = TLY_GPU_ABI_VERSION,
                         .form = form,
                         .passes = 1,
                         .positions = positions,
                         .chunk = chunk,
                         .lanes = 1,
                         .carry_bytes = 4 };
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        l.pass[i] = (tly_gpu_pass){ .items = chunk > 0 ? TLY_ITEMS_CHUNKS : TLY_ITEMS_ROWS,
                                    .per_group = 8,
                                    .workgroup = 64 };
    }
    return l;
}

/* --- the model ------------------------------------------------------------------------------- */

typedef struct model {
    const subject *s;
    int64_t *seen; /* by (out address - lowest) / element: position in its scan plus 1 */
    int64_t in_bytes, out_bytes;
} model;

/* The addresses of row `row` within a dispatch, by what the push constants and literals say. */
static void row_address(const model *m, const tly_push *p, int64_t row, int64_t *in, int64_t *out)
{
    const tly_gpu_plan *plan = &m->s->plan;
    const tly_geometry *g = &m->s->geometry;
    for (int d = g->outer_rank - 1; d >= 0; d--) {
        int64_t size = plan->literal ? g->outer[d].size : (int64_t)p->outer_size[d];
        int64_t at = d > 0 ? row % size : row;
        row = d > 0 ? row / size : 0;
        *in += at * (plan->literal ? g->outer[d].stride[TLY_IN] * m->in_bytes
                                   : p->tensor[TLY_IN].outer[d]);
        *out += at * (plan->literal ? g->outer[d].stride[TLY_OUT] * m->out_bytes
                                    : p->tensor[TLY_OUT].outer[d]);
    }
}

/* The element of the input that belongs to one of the output, by the geometry alone. */
static void expect_element(const model *m, int64_t in, int64_t out, int64_t position)
{
    const tly_geometry *g = &m->s->geometry;
    cr_assert_eq(out % m->out_bytes, 0);
    int64_t *seen = &m->seen[out / m->out_bytes - g->tensor[TLY_OUT].low];
    cr_assert_geq(out / m->out_bytes, g->tensor[TLY_OUT].low);
    cr_assert_leq(out / m->out_bytes, g->tensor[TLY_OUT].high);
    cr_assert_geq(in / m->in_bytes, g->tensor[TLY_IN].low);
    cr_assert_leq(in / m->in_bytes, g->tensor[TLY_IN].high);
    cr_assert_eq(*seen, 0, "an element is met twice");
    *seen = position + 1;
}

static void run_step(const model *m, const tly_gpu_step *step, const tly_gpu_launch *l,
                     int64_t from)
{
    const tly_push *p = &step->push;
    int64_t per_group = l->pass[step->pass].per_group, pairs = (int64_t)p->rows * p->inner;
    if (l->pass[step->pass].items == TLY_ITEMS_TILES) /* a workgroup's are of one chunk */
        pairs = (pairs + per_group - 1) / per_group * per_group;
    int64_t items = pairs * (l->pass[step->pass].items != TLY_ITEMS_ROWS ? p->chunks : 1);
    cr_assert_geq((int64_t)step->x * step->y * per_group, items, "groups are missing");
    cr_assert_lt((int64_t)step->x * step->y * per_group, items + per_group * (step->y + 1));
    cr_assert_eq(step->x, p->groups_x);
    cr_assert_eq(p->row_first, 0);
    for (int64_t row = 0; row < p->rows; row++) {
        for (int64_t lane = 0; lane < (int64_t)p->inner * l->lanes; lane++) {
            int64_t in = (int64_t)p->tensor[TLY_IN].base + lane * p->tensor[TLY_IN].lane / l->lanes;
            int64_t out = (int64_t)p->tensor[TLY_OUT].base +
                          lane * p->tensor[TLY_OUT].lane / l->lanes;
            row_address(m, p, row, &in, &out);
            for (int64_t i = 0; i < p->length; i++) {
                expect_element(m, in + i * p->tensor[TLY_IN].axis,
                               out + i * p->tensor[TLY_OUT].axis, from + i);
            }
        }
    }
}

/* Checks everything about a list of one-pass kernels, and returns its length. */
static size_t run_model(const char *word, const tly_gpu_launch *l, const tly_caps *caps)
{
    subject s = read_word(word);
    tly_gpu_steps steps;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tly_gpu_steps_make(&s.problem, &s.geometry, &s.plan, l, caps, &steps, &error),
                 TALLY_OK, "%s: %s", word, error.message);
    const tly_geometry *g = &s.geometry;
    size_t span = (size_t)(g->tensor[TLY_OUT].high - g->tensor[TLY_OUT].low + 1);
    model m = { &s, calloc(span, sizeof(int64_t)), tly_element_bytes(&s.problem, TLY_IN),
                tly_element_bytes(&s.problem, TLY_OUT) };
    int64_t from = 0, total = g->rows * g->length * g->inner, met = 0;
    uint32_t is_odd = 0;
    for (size_t i = 0; i < steps.count; i++) {
        const tly_push *p = &steps.step[i].push;
        from = p->flags & TLY_GPU_CONTINUES ? from : 0;
        cr_assert_eq((p->flags & TLY_GPU_CONTINUES) != 0, from > 0, "%s", word);
        is_odd = from > 0 ? TLY_GPU_ODD ^ is_odd : 0;
        cr_assert_eq(p->flags & TLY_GPU_ODD, is_odd, "%s", word);
        cr_assert_leq(steps.step[i].x, caps->groups_x, "%s", word);
        cr_assert_leq(steps.step[i].y, caps->groups_y, "%s", word);
        cr_assert_leq(p->carries + (from > 0 ? (uint64_t)p->rows * p->inner * l->carry_bytes : 0),
                      steps.scratch_bytes, "%s", word);
        run_step(&m, &steps.step[i], l, from);
        from += p->length;
    }
    for (size_t i = 0; i < span; i++) {
        met += m.seen[i] > 0;
    }
    cr_assert_eq(met, total, "%s: %lld of %lld elements", word, (long long)met, (long long)total);
    size_t count = steps.count;
    free(m.seen);
    tly_gpu_steps_free(&steps);
    return count;
}

static const char *const words[] = {
    "cumsum:f32:1000:axis=0",
    "cumsum:f32:7x100:axis=1",
    "cumsum:f32:100x7:axis=0",
    "cumsum:f32:5x30x8:axis=1",
    "cumsum:f32:5x30x8:axis=1,reverse",
    "cumsum:f32:4x30x20:axis=0",
    "cumsum:f32:3x4x5x6x7:axis=2",
    "cumsum:f32:3x4x50:axis=2,in=1000x200x3,out=900x200x2",
    "cumsum:f32:3x4x50:axis=2,in=1000x200x-3@147",
    "cumsum:i64:6x40:axis=1,in=1x6",
    "cumsum:f32:2x3x4x5x2x2:axis=5,in=10000x2000x400x50x11x3,out=10000x2000x400x50x11x3",
    "cumsum:f16:9x11x13:axis=1,in=-200x-15x-1@2000,out=1000x-14x1@200",
};

/* --- operands --------------------------------------------------------------------------------- */

/* Words whose input is packed, with an operand whose element lies at `times` the input's index plus
 * `plus`. */
static const struct {
    const char *word;
    int64_t times, plus;
} with_operands[] = {
    { "cumsum:f32:1000:axis=0,a=f32,map=x*a", 1, 0 },
    { "cumsum:f32:7x100:axis=1,a=f32/300x3@7,map=x*a", 3, 7 },
    { "cumsum:f32:100x7:axis=0,a=f32/-7x-1@699,post=y*a", -1, 699 },
    { "cumsum:f32:5x30x8:axis=1,reverse,a=f32/480x16x2@1,map=x*a", 2, 1 },
    { "cumsum:f32:3x4x5x6x7:axis=2,a=f32/none,map=x*a", 0, 0 },
    { "cumsum:f32:3x4x5x6x7:axis=2,a=f32/1680x420x84x14x2@0,map=x*a", 2, 0 },
};

/* The address of operand a, by the block and the sizes that the kernel sees. */
static int64_t operand_address(const subject *s, const tly_gpu_block *b, const tly_push *p,
                               int64_t row)
{
    int64_t at = (int64_t)b->tensor[TLY_A].base;
    for (int d = s->geometry.outer_rank - 1; d >= 0; d--) {
        int64_t size = s->plan.literal ? s->geometry.outer[d].size : (int64_t)p->outer_size[d];
        at += (d > 0 ? row % size : row) * b->tensor[TLY_A].outer[d];
        row = d > 0 ? row / size : 0;
    }
    return at;
}

static void expect_operands(const model *m, const tly_gpu_block *b, const tly_push *p,
                            uint32_t lanes, int64_t times, int64_t plus)
{
    for (int64_t row = 0; row < p->rows; row++) {
        for (int64_t lane = 0; lane < (int64_t)p->inner * lanes; lane++) {
            int64_t in = (int64_t)p->tensor[TLY_IN].base + lane * p->tensor[TLY_IN].lane / lanes;
            int64_t out = 0, a = operand_address(m->s, b, p, row);
            a += lane * b->tensor[TLY_A].lane / lanes;
            row_address(m, p, row, &in, &out);
            for (int64_t i = 0; i < p->length; i++) {
                const int64_t of = in + i * p->tensor[TLY_IN].axis;
                cr_assert_eq(a + i * b->tensor[TLY_A].axis, times * of + 4 * plus,
                             "%lld, %lld, %lld", (long long)row, (long long)lane, (long long)i);
            }
        }
    }
}

static tly_gpu_launch with_block(tly_gpu_launch l)
{
    l.block_bytes = sizeof(tly_gpu_block);
    l.header_bytes += l.block_bytes;
    return l;
}

/* The block is what the last step that asks for it has written. Returns how often that was. */
static size_t run_operands(size_t w, const tly_gpu_launch *l, const tly_caps *caps)
{
    const char *word = with_operands[w].word;
    subject s = read_word(word);
    tly_gpu_steps steps;
    tly_gpu_block block = { .steps = 0 };
    tally_error error = TALLY_ERROR_INIT;
    const model m = { &s, NULL, 4, 4 };
    size_t written = 0;
    cr_assert_eq(tly_gpu_steps_make(&s.problem, &s.geometry, &s.plan, l, caps, &steps, &error),
                 TALLY_OK, "%s: %s", word, error.message);
    cr_assert(steps.has_block && steps.step[0].block && steps.scratch_bytes >= sizeof block);
    for (size_t i = 0; i < steps.count; i++) {
        if (steps.step[i].block) {
            block = tly_gpu_step_block(&steps, i, &(tly_gpu_bases){ .scratch = 0 });
            written++;
        }
        expect_operands(&m, &block, &steps.step[i].push, l->lanes, with_operands[w].times,
                        with_operands[w].plus);
    }
    tly_gpu_steps_free(&steps);
    return written;
}

/* Windows of rows and lanes and cuts along the axis move operands, too. */
Test(vulkan_launch, operands_move)
{
    tly_caps small = roomy;
    small.groups_x = 3;
    small.groups_y = 1;
    for (size_t w = 0; w < sizeof with_operands / sizeof with_operands[0]; w++) {
        const tly_gpu_launch whole = with_block(launch_of(TLY_GPU_LANES, 0, 0));
        const tly_gpu_launch cut = with_block(launch_of(TLY_GPU_LANES, 16, 0));
        cr_expect_eq(run_operands(w, &whole, &roomy), 1, "%s", with_operands[w].word);
        run_operands(w, &cut, &roomy);
        run_operands(w, &whole, &small);
        const size_t written = run_operands(w, &cut, &small);
        cr_expect(with_operands[w].times == 0 ? written == 1 : written > 1, "%s: %zu blocks",
                  with_operands[w].word, written);
    }
    tly_gpu_launch four = with_block(launch_of(TLY_GPU_LANES, 0, 0));
    four.lanes = 4;
    run_operands(3, &four, &small);
}

/* The windows of a reduction, and the dims that its steps are counted through. */
Test(vulkan_launch, operands_of_reductions)
{
    tly_caps small = roomy;
    small.groups_x = small.groups_y = 1;
    subject s = read_word("sum:f32:20x3x5x100:axes=1+3,a=f32/4500x1500x300x3@7,map=x*a");
    tly_gpu_steps steps;
    tly_gpu_launch l = with_block(launch_of(TLY_GPU_ROWS, 0, 0));
    s.plan.steps_rank = s.geometry.reduced_rank;
    cr_assert_eq(tly_gpu_steps_make(&s.problem, &s.geometry, &s.plan, &l, &small, &steps, NULL),
                 TALLY_OK);
    cr_assert_gt(steps.count, 1);
    for (size_t i = 0; i < steps.count; i++) {
        const tly_gpu_block b = tly_gpu_step_block(&steps, i, &(tly_gpu_bases){ .scratch = 0 });
        const tly_push *p = &steps.step[i].push;
        cr_expect(steps.step[i].block);
        cr_expect_eq(b.tensor[TLY_A].base, 3 * p->tensor[TLY_IN].base + 28);
        cr_expect_eq(b.tensor[TLY_A].axis, 12);
        cr_expect_eq(b.tensor[TLY_A].reduced[0], 3 * b.tensor[TLY_IN].reduced[0]);
        cr_expect_eq(b.tensor[TLY_A].outer[0], 3 * p->tensor[TLY_IN].outer[0]);
    }
    tly_gpu_steps_free(&steps);
}

/* The first step. */
static tly_push place(const tly_gpu_steps *steps, uint64_t in, uint64_t out, uint64_t scratch)
{
    const tly_gpu_bases bases = { .tensor = { [TLY_IN] = in, [TLY_OUT] = out },
                                  .scratch = scratch };
    return tly_gpu_step_place(steps, 0, &bases);
}

Test(vulkan_launch, every_element_once)
{
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        tly_gpu_launch lanes = launch_of(TLY_GPU_LANES, 0, 0);
        tly_gpu_launch cut = launch_of(TLY_GPU_LANES, 16, 0);
        run_model(words[w], &lanes, &roomy);
        run_model(words[w], &cut, &roomy);
        if (read_word(words[w]).problem.form == TLY_ROWS) {
            tly_gpu_launch rows = launch_of(TLY_GPU_ROWS, 60, 0);
            run_model(words[w], &rows, &roomy);
        }
    }
}

static tly_gpu_launch tiles_of(uint32_t positions, uint32_t chunk)
{
    tly_gpu_launch l = launch_of(TLY_GPU_LANES, positions, chunk);
    l.pass[0].items = TLY_ITEMS_TILES;
    l.record_bytes = 16;
    return l;
}

/* Tiles of neighbouring pairs, as many as there are chunks, also where windows are small. */
Test(vulkan_launch, tiles)
{
    tly_caps small = roomy;
    small.groups_x = 3;
    small.groups_y = 5;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        tly_gpu_launch whole = tiles_of(0, 15), cut = tiles_of(32, 4);
        run_model(words[w], &whole, &roomy);
        run_model(words[w], &cut, &roomy);
        run_model(words[w], &cut, &small);
    }
}

/* Few groups, so that rows and lanes must be cut in windows. */
Test(vulkan_launch, windows)
{
    for (uint32_t x = 1; x <= 5; x += 2) {
        tly_caps small = roomy;
        small.groups_x = x;
        small.groups_y = 2;
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            tly_gpu_launch lanes = launch_of(TLY_GPU_LANES, 0, 0);
            tly_gpu_launch cut = launch_of(TLY_GPU_LANES, 16, 0);
            run_model(words[w], &lanes, &small);
            run_model(words[w], &cut, &small);
        }
    }
    tly_caps small = roomy;
    small.groups_x = small.groups_y = 1;
    tly_gpu_launch rows = launch_of(TLY_GPU_ROWS, 0, 0);
    cr_assert_eq(run_model("cumsum:f32:20x100:axis=1", &rows, &small), 3);
    cr_assert_eq(run_model("cumsum:f32:20x100:axis=1", &rows, &roomy), 1);
}

static tly_gpu_steps make(const char *word, const tly_gpu_launch *l, const tly_caps *caps,
                          tally_status status, const char *message)
{
    subject s = read_word(word);
    tly_gpu_steps steps = { 0 };
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tly_gpu_steps_make(&s.problem, &s.geometry, &s.plan, l, caps, &steps, &error),
                 status, "%s: %s", word, error.message);
    cr_assert_not_null(strstr(error.message, message), "%s", error.message);
    return steps;
}

/* Whole accesses ask for strides of 16 bytes of those tensors alone that are not loose. */
Test(vulkan_launch, loose_tensors)
{
    enum { IN = 1 << TLY_IN, OUT = 1 << TLY_OUT };
    static const struct {
        const char *word;
        uint32_t loose, flags;
    } table[] = {
        { "cumsum:f32:100x3:axis=1", IN | OUT, TLY_GPU_ALIGNED },
        { "cumsum:f32:100x3:axis=1", IN, 0 },
        { "cumsum:f32:100x3:axis=1", 0, 0 },
        { "cumsum:f32:100x40:axis=1,in=1x100", IN, TLY_GPU_ALIGNED },
        { "cumsum:f32:100x40:axis=1,in=1x100", OUT, 0 },
        { "cumsum:f32:100x41:axis=1,in=1x100", IN, 0 },
        { "cumsum:f32:100x40:axis=1,in=40x1,out=1x100", OUT, TLY_GPU_ALIGNED },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        tly_gpu_launch l = launch_of(TLY_GPU_LANES, 0, 0);
        l.loose = table[i].loose;
        tly_gpu_steps s = make(table[i].word, &l, &roomy, TALLY_OK, "");
        cr_expect_eq(s.step->push.flags & TLY_GPU_ALIGNED, table[i].flags, "%s", table[i].word);
        tly_gpu_steps_free(&s);
    }
}

/* Flags of a vector of elements go together where all such begin at a multiple of their bytes. */
Test(vulkan_launch, flags_beside_vectors)
{
    static const struct {
        const char *word;
        int32_t vector;
        uint64_t base;
        int is_aligned;
    } table[] = {
        { "cumsum:f16:100x40:axis=1,a=u8,reset=a", 8, 0, 1 },
        { "cumsum:f16:100x40:axis=1,a=u8,reset=a", 8, 8, 1 },
        { "cumsum:f16:100x40:axis=1,a=u8,reset=a", 8, 4, 0 },
        { "cumsum:f16:100x44:axis=1,a=u8,reset=a", 8, 0, 0 },
        { "cumsum:f32:100x44:axis=1,a=u8,reset=a", 4, 4, 1 },
        { "cumsum:f32:100x44:axis=1,reverse,a=u8,reset=a", 4, 4, 1 },
        { "cumsum:f32:100x44:axis=1,reverse,a=u8,reset=a", 4, 5, 0 },
        { "cumsum:f32:100x44:axis=1,a=i16,reset=a", 4, 4, 0 },
        { "cumsum:f32:100x44:axis=1,a=i16,reset=a", 4, 8, 1 },
        { "cumsum:f32:100x44:axis=1,a=f32,reset=a>0", 4, 0, 0 }, /* by elements */
        { "cumsum:f32:100x44:axis=1,a=u8,reset=a", 17, 0, 0 },
        { "cumsum:f32:100x44:axis=1,a=u8,map=x*a", 4, 0, 0 }, /* no flag */
        { "cumsum:f32:100x44:axis=1", 4, 0, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        subject s = read_word(table[i].word);
        tly_gpu_launch l = launch_of(TLY_GPU_ROWS, 0, 0);
        tly_gpu_steps steps;
        const tly_gpu_bases bases = { .tensor = { [TLY_A] = table[i].base } };
        l.header_bytes = l.block_bytes = tly_gpu_has_block(&s.problem) ? sizeof(tly_gpu_block) : 0;
        s.plan.vector = table[i].vector;
        cr_assert_eq(tly_gpu_steps_make(&s.problem, &s.geometry, &s.plan, &l, &roomy, &steps, NULL),
                     TALLY_OK, "%s", table[i].word);
        const tly_push push = tly_gpu_step_place(&steps, 0, &bases);
        cr_expect_eq((push.flags & TLY_GPU_FLAGS_ALIGNED) != 0, table[i].is_aligned, "%zu: %s", i,
                     table[i].word);
        tly_gpu_steps_free(&steps);
    }
}

/* Lanes in groups: as many fewer items, each with as many addresses. */
Test(vulkan_launch, lanes_together)
{
    static const struct {
        const char *word;
        uint32_t flags;
    } table[] = {
        { "cumsum:f32:5x30x8:axis=1", TLY_GPU_ALIGNED },
        { "cumsum:f32:5x30x8:axis=1,reverse", TLY_GPU_ALIGNED },
        { "cumsum:f32:4x30x20:axis=0,in=600x20x1,out=1000x32x1", TLY_GPU_ALIGNED },
        { "cumsum:f32:4x30x4:axis=1,in=150x5x1", 0 }, /* the axis' stride, too */
        { "cumsum:f32:4x30x4:axis=1,in=122x4x1", 0 },
    };
    tly_caps small = roomy;
    small.groups_x = small.groups_y = 1;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        tly_gpu_launch four = launch_of(TLY_GPU_LANES, 0, 0);
        four.lanes = 4;
        run_model(table[i].word, &four, &roomy);
        run_model(table[i].word, &four, &small);
        tly_gpu_steps s = make(table[i].word, &four, &roomy, TALLY_OK, "");
        cr_assert_eq(s.step->push.flags & TLY_GPU_ALIGNED, table[i].flags, "%s", table[i].word);
        tly_gpu_steps_free(&s);
    }
}

Test(vulkan_launch, passes_scratch_and_barriers)
{
    tly_gpu_launch l = launch_of(TLY_GPU_ROWS, 6000, 100);
    l.passes = 3;
    l.record_bytes = 12;
    l.header_bytes = 20;
    l.zeroed = 1;
    tly_gpu_steps s = make("cumsum:f32:7x10000:axis=1", &l, &roomy, TALLY_OK, "");
    cr_assert_eq(s.count, 6);
    /* 20 + 7 rows x 60 chunks x 12 bytes, aligned; then 7 carries. */
    cr_assert_eq(s.zeroed, 5060);
    cr_assert_eq(s.step[0].push.carries, 5072);
    cr_assert_eq(s.scratch_bytes, 5104);
    for (uint32_t i = 0; i < 6; i++) {
        const tly_gpu_step *step = &s.step[i];
        cr_assert_eq(step->pass, i % 3);
        cr_assert_eq(step->zero, i % 3 == 0);
        cr_assert_eq(step->barrier, i > 0);
        cr_assert_eq(step->push.length, i < 3 ? 6000 : 4000);
        cr_assert_eq(step->push.chunks, i < 3 ? 60 : 40);
        cr_assert_eq(step->push.tensor[TLY_IN].base, i < 3 ? 0 : 24000);
        cr_assert_eq(step->push.flags & ~(uint32_t)TLY_GPU_ALIGNED,
                     i < 3 ? TLY_GPU_CARRIES : TLY_GPU_CONTINUES | TLY_GPU_ODD);
        cr_assert_eq(step->x, (7 * step->push.chunks + 7) / 8);
    }
    tly_gpu_steps_free(&s);

    /* Independent windows need no barrier. */
    tly_caps small = roomy;
    small.groups_x = small.groups_y = 1;
    tly_gpu_launch one = launch_of(TLY_GPU_ROWS, 0, 0);
    s = make("cumsum:f32:20x100:axis=1", &one, &small, TALLY_OK, "");
    cr_assert_eq(s.count, 3);
    cr_assert_eq(s.scratch_bytes, 0);
    cr_assert_eq(s.step[1].barrier, 0);
    tly_gpu_steps_free(&s);
}

/* Only the scan's first dispatch takes states from the tensor of a carry, and only its last one
 * makes some. The tensors stay where they are along the axis. */
Test(vulkan_launch, states_at_the_ends)
{
    static const char *const words[] = { "cumsum:f32:7x10000:axis=1,carry=in+out",
                                         "cumsum:f32:7x10000x2:axis=1,carry=in+out" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        tly_gpu_launch l = launch_of(i == 0 ? TLY_GPU_ROWS : TLY_GPU_LANES, 6000, 0);
        l.header_bytes = l.block_bytes = sizeof(tly_gpu_block);
        tly_gpu_steps s = make(words[i], &l, &roomy, TALLY_OK, "");
        tly_gpu_bases bases = { .tensor = { [2] = 1000, [3] = 2000 } };
        cr_assert_eq(s.count, 2, "%s", words[i]);
        for (size_t k = 0; k < 2; k++) {
            const tly_gpu_block b = tly_gpu_step_block(&s, k, &bases);
            cr_expect_eq(tly_gpu_step_place(&s, k, &bases).flags & ~(uint32_t)TLY_GPU_ALIGNED,
                         k == 0 ? TLY_GPU_STATES_IN | TLY_GPU_CARRIES
                                : TLY_GPU_CONTINUES | TLY_GPU_ODD | TLY_GPU_STATES_OUT);
            cr_expect_eq(b.tensor[2].base, 1000, "%s", words[i]);
            cr_expect_eq(b.tensor[3].base, 2000, "%s", words[i]);
        }
        bases.lacking = TLY_GPU_STATES_IN;
        cr_expect_eq(tly_gpu_step_place(&s, 0, &bases).flags & TLY_GPU_STATES_IN, 0);
        tly_gpu_steps_free(&s);
    }
    tly_gpu_launch l = launch_of(TLY_GPU_ROWS, 6000, 0);
    l.header_bytes = l.block_bytes = sizeof(tly_gpu_block);
    tly_gpu_steps s = make("cumsum:f32:7x0:axis=1,carry=out", &l, &roomy, TALLY_OK, "");
    cr_assert_eq(s.count, 1, "states of no elements");
    cr_expect_eq(s.step[0].push.flags & ~(uint32_t)TLY_GPU_ALIGNED, TLY_GPU_STATES_OUT);
    cr_expect_eq(s.step[0].push.length, 0);
    tly_gpu_steps_free(&s);
}

/* Zeros begin behind the block; bases are added to the operands'. */
Test(vulkan_launch, block_and_zeros)
{
    tly_gpu_launch l = launch_of(TLY_GPU_ROWS, 6000, 100);
    l.passes = 3;
    l.record_bytes = 12;
    l.header_bytes = 20;
    l.zeroed = 1;
    tly_gpu_steps plain = make("cumsum:f32:7x10000:axis=1", &l, &roomy, TALLY_OK, "");
    cr_expect_eq(plain.zero_first, 0);
    cr_expect_eq(plain.has_block, 0);
    make("cumsum:f32:7x10000:axis=1,a=f32,map=x*a", &l, &roomy, TALLY_INTERNAL, "launch record");
    l = with_block(l);
    make("cumsum:f32:7x10000:axis=1", &l, &roomy, TALLY_INTERNAL, "launch record");
    tly_gpu_steps s = make("cumsum:f32:7x10000:axis=1,a=f32,map=x*a", &l, &roomy, TALLY_OK, "");
    cr_expect_eq(s.zero_first, sizeof(tly_gpu_block));
    cr_expect_eq(s.zeroed, plain.zeroed);
    cr_expect_geq(s.step[0].push.carries, s.zero_first + s.zeroed);
    cr_assert_eq(s.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        const tly_gpu_bases bases = { .tensor = { [TLY_A] = 64 } };
        const tly_gpu_block b = tly_gpu_step_block(&s, i, &bases);
        cr_expect_eq(s.step[i].block, i % 3 == 0, "once a cut");
        cr_expect_eq(b.tensor[TLY_A].base, i < 3 ? 64 : 24064);
    }
    tly_gpu_steps_free(&plain);
    tly_gpu_steps_free(&s);
}

/* Scratch is bounded: rows beyond it wait for the next window. */
Test(vulkan_launch, large)
{
    tly_gpu_launch l = launch_of(TLY_GPU_ROWS, 0, 1024);
    l.record_bytes = 64;
    tly_caps caps = roomy;
    caps.buffer_range = UINT32_MAX;
    tly_gpu_steps s = make("cumsum:f32:1000000x65536:axis=1", &l, &caps, TALLY_OK, "");
    int64_t rows = 0;
    for (size_t i = 0; i < s.count; i++) {
        cr_assert_eq(s.step[i].push.tensor[TLY_IN].base, (uint64_t)rows * 65536 * 4);
        rows += s.step[i].push.rows;
    }
    cr_assert_eq(rows, 1000000);
    cr_assert_leq(s.scratch_bytes, UINT64_C(256) << 20);
    cr_assert_gt(s.count, 1);
    tly_gpu_steps_free(&s);

    /* 2^33 rows of two, and one row of 2^35 positions. */
    l = launch_of(TLY_GPU_LANES, 0, 0);
    s = make("cumsum:f32:8589934592x3:axis=1,in=4x1,out=4x1", &l, &caps, TALLY_OK, "");
    rows = 0;
    for (size_t i = 0; i < s.count; i++) {
        cr_assert_eq(s.step[i].push.tensor[TLY_OUT].base, (uint64_t)rows * 16);
        cr_assert_eq(s.step[i].push.flags & TLY_GPU_CONTINUES, 0);
        rows += s.step[i].push.rows;
    }
    cr_assert_eq(rows, INT64_C(8589934592));
    tly_gpu_steps_free(&s);
    s = make("cumsum:f16:34359738368:axis=0", &l, &caps, TALLY_OK, "");
    cr_assert_eq(s.count, 32);
    cr_assert_eq(s.step[31].push.tensor[TLY_IN].base, UINT64_C(31) << 31);
    cr_assert_eq(s.step[31].push.flags, TLY_GPU_ALIGNED | TLY_GPU_CONTINUES | TLY_GPU_ODD);
    tly_gpu_steps_free(&s);
}

Test(vulkan_launch, refuses)
{
    tly_gpu_launch bad = launch_of(TLY_GPU_ROWS, 0, 0);
    make("cumsum:f32:3x100x20:axis=1", &bad, &roomy, TALLY_INTERNAL, "launch record");
    bad = launch_of(TLY_GPU_LANES, 0, 0);
    bad.abi = 7;
    make("cumsum:f32:100:axis=0", &bad, &roomy, TALLY_INTERNAL, "launch record");
    bad.abi = TLY_GPU_ABI_VERSION;
    bad.lanes = 0;
    make("cumsum:f32:100:axis=0", &bad, &roomy, TALLY_INTERNAL, "launch record");
    bad.lanes = 4;
    make("cumsum:f32:100x6:axis=0", &bad, &roomy, TALLY_INTERNAL, "launch record");
    bad.lanes = 1;
    bad.passes = 4;
    make("cumsum:f32:100:axis=0", &bad, &roomy, TALLY_INTERNAL, "launch record");
    bad.passes = 1;
    bad.pass[0].workgroup = 2048;
    make("cumsum:f32:100:axis=0", &bad, &roomy, TALLY_UNSUPPORTED, "workgroups of 2048");
    tly_caps small = roomy;
    small.groups_x = small.groups_y = 1;
    tly_gpu_launch chunks = launch_of(TLY_GPU_ROWS, 0, 2);
    make("cumsum:f32:100:axis=0", &chunks, &small, TALLY_UNSUPPORTED, "50 chunks");
    small.groups_x = 2;
    tly_gpu_launch rows = launch_of(TLY_GPU_LANES, 16, 0);
    make("cumsum:f32:100000000x100:axis=1", &rows, &small, TALLY_UNSUPPORTED, "dispatches");
}

/* What is beyond the last element, or saturates, is computed without overflow (the undefined
 * behaviour sanitizer judges). */
Test(vulkan_launch, the_ends_of_64_bits)
{
    static const char *const far[] = {
        "cumsum:f32:2:axis=0,in=1152921504606846976",
        "cumsum:f32:2x3:axis=1,in=1152921504606846976x1",
        "cumsum:f32:3x2:axis=0,in=1x1152921504606846976",
        "cumsum:f32:2x3x4:axis=1,in=1152921504606846976x4x1,out=1152921504606846976x4x1",
        "cumsum:f32:4:axis=0,in=1@2305843009213693947",
        "cumsum:f32:4:axis=0,in=1@-2305843009213693952",
        "cumsum:f64:2x2x2:axis=2,in=500000000000000000x2x1,out=500000000000000000x2x1",
    };
    tly_caps small = roomy;
    small.groups_x = small.groups_y = 1;
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        for (uint32_t lanes = 1; lanes <= 2; lanes++) {
            tly_gpu_launch l = launch_of(TLY_GPU_LANES, 16, 0);
            subject s = read_word(far[i]);
            l.lanes = s.geometry.inner % lanes == 0 ? lanes : 1;
            l.pass[0].per_group = 1;
            tly_gpu_steps steps = make(far[i], &l, &small, TALLY_OK, "");
            cr_assert_gt(steps.count, 0);
            place(&steps, 0, 0, 0);
            tly_gpu_bind((int64_t)(0 - (uint64_t)steps.low[TLY_IN]), steps.low[TLY_IN],
                         steps.end[TLY_IN], 16);
            tly_gpu_steps_free(&steps);
        }
    }
    /* The scratch of one row, and the number of dispatches. */
    tly_gpu_launch l = launch_of(TLY_GPU_ROWS, 1u << 30, 1);
    l.record_bytes = l.carry_bytes = UINT32_MAX;
    make("cumsum:f32:1000000000000000000:axis=0", &l, &roomy, TALLY_UNSUPPORTED, "chunks");
    l = launch_of(TLY_GPU_LANES, 1, 0);
    l.passes = 3;
    make("cumsum:f16:4000000000000000000:axis=0", &l, &roomy, TALLY_UNSUPPORTED, "dispatches");
}

/* Only the input's strides and address count: results are stored one by one. */
Test(vulkan_launch, alignment_of_reductions)
{
    static const struct {
        const char *word;
        uint32_t flags;
    } table[] = {
        { "sum:f32:7x100:axes=1", TLY_GPU_ALIGNED },
        { "sum:f32:7x99:axes=1", 0 },
        { "sum:f32:3x7x100:axes=0+2", TLY_GPU_ALIGNED },
        { "sum:f32:3x7x100:axes=0+2,in=701x100x1", 0 },
        { "sum:f32:7x100:axes=1,out=3", TLY_GPU_ALIGNED },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_gpu_launch l = launch_of(TLY_GPU_ROWS, 0, 0);
        subject u = read_word(table[i].word);
        tally_error error = TALLY_ERROR_INIT;
        tly_gpu_steps s = { 0 };
        l.header_bytes = l.block_bytes = sizeof(tly_gpu_block);
        u.plan.steps_rank = u.geometry.reduced_rank;
        cr_assert_eq(tly_gpu_steps_make(&u.problem, &u.geometry, &u.plan, &l, &roomy, &s, &error),
                     TALLY_OK, "%s", error.message);
        cr_expect_eq(place(&s, 32, 4, 0).flags, table[i].flags, "%s", table[i].word);
        cr_expect_eq(place(&s, 36, 64, 0).flags, 0, "%s", table[i].word);
        tly_gpu_steps_free(&s);
    }
}

Test(vulkan_launch, placing)
{
    tly_gpu_launch l = launch_of(TLY_GPU_ROWS, 0, 0);
    tly_gpu_steps s = make("cumsum:f32:7x100:axis=1", &l, &roomy, TALLY_OK, "");
    cr_assert_eq(place(&s, 32, 64, 5).flags, TLY_GPU_ALIGNED);
    cr_assert_eq(place(&s, 32, 64, 5).scratch, 5);
    cr_assert_eq(place(&s, 36, 64, 5).flags, 0);
    cr_assert_eq(place(&s, 32, 72, 5).flags, 0);
    tly_gpu_steps_free(&s);
    s = make("cumsum:f32:7x100:axis=1,reverse", &l, &roomy, TALLY_OK, "");
    cr_assert_eq(place(&s, 32, 64, 5).flags, TLY_GPU_ALIGNED);
    cr_assert_eq(place(&s, 36, 64, 5).flags, 0);
    cr_assert_eq(place(&s, 32, 68, 5).flags, 0);
    tly_gpu_steps_free(&s);
    s = make("cumsum:f32:7x99:axis=1", &l, &roomy, TALLY_OK, "");
    cr_assert_eq(s.step->push.flags, 0, "a row's stride is no multiple of 16 bytes");
    tly_gpu_steps_free(&s);

    static const struct {
        int64_t zero, low, end;
        uint32_t align;
        uint64_t offset, range, base;
    } cases[] = {
        { 0, 0, 100, 16, 0, 100, 0 },
        { 0, 0, 6, 4, 0, 8, 0 },
        { 1000, -10, 6, 256, 768, 240, 232 },
        { -4096, 4100, 4108, 16, 0, 12, UINT64_MAX - 4095 },
        { 40, 8, 16, 4, 48, 8, UINT64_MAX - 7 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tly_gpu_binding b = tly_gpu_bind(cases[i].zero, cases[i].low, cases[i].end, cases[i].align);
        cr_assert_eq(b.offset, cases[i].offset, "case %zu", i);
        cr_assert_eq(b.range, cases[i].range, "case %zu: %llu", i, (unsigned long long)b.range);
        cr_assert_eq(b.base, cases[i].base, "case %zu", i);
        /* The lowest element lies in the binding, at the same place modulo 16 as in the buffer. */
        cr_assert_lt(b.base + (uint64_t)cases[i].low, b.range);
        cr_assert_eq((b.base - (uint64_t)cases[i].zero) % 16, 0);
    }
}
