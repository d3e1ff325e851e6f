/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradient [--count N] [--kernels N] [--seed S]: tally_gradient. Its words are run as plain loops
 * in f64 and compared with brute force: the derivative of each output by each element, by dual
 * numbers, which central differences check in turn. First words and values by hand, then random
 * words. `--kernels` also runs values by hand and the first N random words as kernels, and N random
 * words of larger tensors, which are not compared with brute force. From 100 on, it also runs words
 * by hand whose gradients have many steps.
 */
#include "gradient_draw.h"
#include "gradient_fail.h"
#include "gradient_kernels.h"
#include "gradient_texts.h"
#include "gradient_word.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally.h>

static int failures;

enum { MOST_SEGMENTS = 8 };

/* Memory of one tensor; `at` is its pointer. */
typedef struct tensor {
    double *memory, *at;
    int64_t count, low;
} tensor;

typedef struct trial {
    tally_descriptor d;
    char word[TALLY_WORD_MAX];
    tensor of[TLY_WORD_TENSORS]; /* input and operands */
    tensor g, y, gcarry;
    int64_t offsets[MOST_SEGMENTS + 1];
    int64_t out_low, outs;
    int is_smooth;    /* no value is special */
    int is_large;     /* too large for brute force: kernels alone */
    double magnitude; /* of the last forward run: of the terms of its sum */
    int state;        /* of the last forward run: TLY_WORD_... */
} trial;

#define UNWRITTEN (-123456.75) /* a derivative that no word has */

static uint64_t compared, differenced, undefined, steps_made, unsupported, by_kernels, in_blocks,
    from_results;
static int runs_kernels; /* whether steps are run as kernels, too */
static tally_context *context;

static void allocate(tensor *t, int64_t low, int64_t high)
{
    t->low = low;
    t->count = high - low + 1;
    t->memory = calloc((size_t)t->count, sizeof(double));
    if (!t->memory)
        exit(1);
    t->at = t->memory - low;
}

static void begin(trial *t)
{
    int64_t strides[TALLY_MAX_RANK], offset, low, high;
    memset(t->of, 0, sizeof t->of);
    for (int k = 0; k < TLY_WORD_TENSORS; k++) {
        if (tly_word_has(&t->d, k)) {
            const uint32_t dims = tly_word_place(&t->d, k, strides, &offset);
            int64_t sizes[TALLY_MAX_RANK];
            memcpy(sizes, t->d.sizes, sizeof sizes);
            if (k == TLY_WORD_CARRY)
                tly_word_sizes(&t->d, sizes);
            tly_word_extent(t->d.rank, sizes, dims, strides, offset, &low, &high);
            const int is_pair = k == TLY_WORD_CARRY && t->d.op == TALLY_CUMLOGSUMEXP;
            allocate(&t->of[k], low, is_pair ? 2 * high + 1 : high);
        }
    }
    const uint32_t dims = tly_word_output(&t->d, strides, &offset);
    int64_t sizes[TALLY_MAX_RANK], states[TALLY_MAX_RANK], packed[TALLY_MAX_RANK], from, to;
    (void)tly_word_place(&t->d, TLY_WORD_CARRY, packed, &from);
    tly_word_sizes(&t->d, states);
    memcpy(sizes, t->d.sizes, sizeof sizes);
    if (!tally_op_is_scan((tally_op)t->d.op))
        tly_word_sizes(&t->d, sizes);
    tly_word_extent(t->d.rank, sizes, dims, strides, offset, &low, &high);
    allocate(&t->g, low, high);
    tly_word_extent(t->d.rank, states, (1u << t->d.rank) - 1, packed, 0, &from, &to);
    allocate(&t->gcarry, from, to);
    allocate(&t->y, low, high);
    t->out_low = low;
    t->outs = high - low + 1;
}

static void end(trial *t)
{
    for (int k = 0; k < TLY_WORD_TENSORS; k++)
        free(t->of[k].memory);
    free(t->g.memory);
    free(t->gcarry.memory);
    free(t->y.memory);
}

/* Runs the forward word. Returns the sum of the outputs times g; *scale becomes the sum of the
 * magnitudes of its derivative's terms. `keeps`: the outputs become y. */
static tly_dual forward(trial *t, tly_seed seed, double *scale, int keeps)
{
    const double *tensors[TLY_WORD_TENSORS];
    tly_dual *out = calloc((size_t)t->outs, sizeof *out);
    tly_dual *last = calloc((size_t)t->gcarry.count, sizeof *last);
    tly_dual sum = { 0, 0 };
    for (int k = 0; k < TLY_WORD_TENSORS; k++)
        tensors[k] = t->of[k].at;
    if (!out || !last)
        exit(1);
    for (int64_t i = 0; i < t->outs; i++)
        out[i].d = UNWRITTEN;
    t->state = tly_word_run(&t->d, tensors, t->offsets, seed, out - t->out_low, last);
    *scale = t->magnitude = 0;
    for (int64_t i = 0; i < t->outs; i++) {
        if (out[i].d == UNWRITTEN) { /* nothing may depend on what lies there */
            if (keeps)
                t->y.memory[i] = t->g.memory[i] = NAN;
            continue;
        }
        const double d = out[i].d == 0 ? 0 : out[i].d * t->g.memory[i];
        sum.v += out[i].v * t->g.memory[i];
        t->magnitude += fabs(out[i].v * t->g.memory[i]);
        sum.d += d;
        *scale += fabs(d);
        if (keeps)
            t->y.memory[i] = out[i].v;
    }
    for (int64_t i = 0; i < t->gcarry.count && t->d.carry & TALLY_CARRY_OUT; i++) {
        sum.v += last[i].v * t->gcarry.memory[i];
        t->magnitude += fabs(last[i].v * t->gcarry.memory[i]);
        sum.d += last[i].d * t->gcarry.memory[i];
        *scale += fabs(last[i].d * t->gcarry.memory[i]);
    }
    free(last);
    free(out);
    return sum;
}

/* --- the steps -------------------------------------------------------------------------------- */

static int64_t count_results(const tally_descriptor *d)
{
    int64_t sizes[TALLY_MAX_RANK], count = 1;
    int32_t rank;
    if (tally_descriptor_result(d, &rank, sizes, NULL, NULL) != TALLY_OK)
        return 0;
    for (int k = 0; k < rank; k++)
        count *= sizes[k];
    return count;
}

/* Each word reads back as it prints, and has kernels. */
static void check_step(const trial *t, const tally_descriptor *d)
{
    char word[TALLY_WORD_MAX];
    tally_descriptor again = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_print(d, word, sizeof word, NULL, &error) != TALLY_OK ||
        tally_descriptor_parse(word, &again, &error) != TALLY_OK ||
        memcmp(&again, d, sizeof again) != 0) {
        FAIL("%s: a step is not as it is read: %s: %s", t->word, word, error.message);
    } else if (tally_context_supports(context, d, NULL, &error) != TALLY_OK) {
        FAIL("%s: no kernel for the step %s: %s: %s", t->word, word, error.field, error.message);
    }
}

/* The result of the last step, to be freed. */
static double *run_steps(const trial *t, const tally_gradient_step *steps, size_t count,
                         int64_t *results)
{
    double *made[TALLY_GRADIENT_MAX] = { NULL };
    for (size_t i = 0; i < count; i++) {
        const tally_descriptor *d = &steps[i].descriptor;
        const double *tensors[TLY_WORD_TENSORS] = { NULL };
        *results = count_results(d);
        tly_dual *out = calloc((size_t)*results, sizeof *out);
        made[i] = calloc((size_t)*results, sizeof **made);
        if (!out || !made[i])
            exit(1);
        for (int k = 0; k < TLY_WORD_TENSORS; k++) {
            const int source = k == TLY_WORD_X       ? steps[i].in
                               : k == TLY_WORD_CARRY ? steps[i].carry_in
                                                     : steps[i].operand[k - TLY_WORD_A];
            tensors[k] = source >= TALLY_SOURCE_STEP       ? made[source - TALLY_SOURCE_STEP]
                         : source == TALLY_SOURCE_G        ? t->g.at
                         : source == TALLY_SOURCE_Y        ? t->y.at
                         : source == TALLY_SOURCE_G_CARRY  ? t->gcarry.at
                         : source == TALLY_SOURCE_CARRY_IN ? t->of[TLY_WORD_CARRY].at
                         : source >= TALLY_SOURCE_A ? t->of[TLY_WORD_A + source - TALLY_SOURCE_A].at
                                                    : t->of[TLY_WORD_X].at;
        }
        check_step(t, d);
        tly_word_run(d, tensors, t->offsets, (tly_seed){ -1, 0, 0 }, out, NULL);
        for (int64_t k = 0; k < *results; k++)
            made[i][k] = out[k].v;
        free(out);
    }
    for (size_t i = 0; i + 1 < count; i++)
        free(made[i]);
    return made[count - 1];
}

static tally_source source_of(int tensor)
{
    return tensor == TLY_WORD_X       ? TALLY_SOURCE_X
           : tensor == TLY_WORD_CARRY ? TALLY_SOURCE_CARRY_IN
                                      : (tally_source)(TALLY_SOURCE_A + tensor - TLY_WORD_A);
}

static int32_t dtype_of(const tally_descriptor *d, int tensor)
{
    tally_dtype states = TALLY_DTYPE_NONE;
    if (tensor == TLY_WORD_X)
        return d->dtype;
    if (tensor != TLY_WORD_CARRY)
        return d->operands[tensor - TLY_WORD_A].dtype;
    tally_descriptor_carry(d, NULL, NULL, &states, NULL);
    return (int32_t)states;
}

static tly_gradient_source source(const tensor *t, int32_t dtype)
{
    return (tly_gradient_source){ t->memory, t->low, t->count, (tally_dtype)dtype };
}

/* Whether kernels of the word differ from the plain loops by roundings alone. */
static int is_double(const trial *t)
{
    int all = t->d.dtype == TALLY_F64 && (t->d.out_dtype == 0 || t->d.out_dtype == TALLY_F64);
    for (int k = 0; k < TALLY_MAX_OPERANDS; k++)
        all &= t->d.operands[k].dtype == 0 || t->d.operands[k].dtype == TALLY_F64;
    return all;
}

/* Blocks are of other shapes than the whole, and may round otherwise. */
static int is_near(const double *made, const double *last, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = isfinite(last[i]) ? fmax(most, fabs(last[i])) : most;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(last[i]) && !(fabs(made[i] - last[i]) <= 1e-9 * most))
            return 0;
    }
    return 1;
}

/* The same by one call. As a whole it has the bits of the steps, which are in `last`. Of doubles
 * what blocks make, or y, takes the place of the steps' results, so that it is compared with brute
 * force, too. */
static void run_at_once(const trial *t, int tensor, const char *device,
                        const tly_gradient_source *sources, double *last, size_t count)
{
    static const int64_t between[] = { 1, 150, 1000, 5000 };
    const int64_t most = between[by_kernels % 4];
    char why[TALLY_WORD_MAX + 640] = "";
    double *made = malloc(count * sizeof *made + 1);
    int64_t blocks = 0;
    int gains = 0;
    if (!made)
        exit(1);
    if (tly_gradient_run_at_once(context, device, &t->d, source_of(tensor), 0, sources, t->offsets,
                                 made, &blocks, &gains, why, sizeof why)) {
        FAIL("%s: tensor %d: %s", t->word, tensor, why);
    } else if (blocks == 1 && memcmp(made, last, count * sizeof *made) != 0) {
        FAIL("%s: tensor %d: steps have other bits at once", t->word, tensor);
    }
    gains = by_kernels / 4 % 4 > 0;
    if (tly_gradient_run_at_once(context, device, &t->d, source_of(tensor), most, sources,
                                 t->offsets, made, &blocks, &gains, why, sizeof why))
        FAIL("%s: tensor %d: %s", t->word, tensor, why);
    else if (is_double(t) && !is_near(made, last, count))
        FAIL("%s: tensor %d: %lld blocks%s have another gradient", t->word, tensor,
             (long long)blocks, gains ? ", from the result," : "");
    from_results += gains != 0;
    if (is_double(t))
        memcpy(last, made, count * sizeof *last);
    in_blocks += blocks > 1;
    free(made);
}

/* The result of the last step by kernels, to be freed; NULL if kernels are not run. Words take
 * turns on the levels of this machine. */
static double *run_kernels(const trial *t, int tensor, const tally_gradient_step *steps,
                           size_t count)
{
    static const char *const devices[] = { "cpu", "cpu:x86-64-v3", "cpu:x86-64-v2" };
    tly_gradient_source sources[TALLY_SOURCE_STEP] = { { NULL, 0, 0, 0 } };
    const int32_t out = t->d.out_dtype ? t->d.out_dtype : t->d.dtype;
    const char *device = devices[by_kernels % 3];
    const tally_kernel_options options = { .size = sizeof options, .device = device };
    char why[TALLY_WORD_MAX + 640] = "";
    if (!runs_kernels)
        return NULL;
    if (tally_context_supports(context, &steps[0].descriptor, &options, NULL) != TALLY_OK)
        device = "cpu";
    for (int k = 0; k < TLY_WORD_TENSORS; k++) {
        if (tly_word_has(&t->d, k))
            sources[source_of(k)] = source(&t->of[k], dtype_of(&t->d, k));
    }
    sources[TALLY_SOURCE_G] = source(&t->g, out);
    sources[TALLY_SOURCE_Y] = source(&t->y, out);
    if (t->d.carry & TALLY_CARRY_OUT)
        sources[TALLY_SOURCE_G_CARRY] = source(&t->gcarry, dtype_of(&t->d, TLY_WORD_CARRY));
    double *last = calloc((size_t)count_results(&steps[count - 1].descriptor), sizeof *last);
    if (!last)
        exit(1);
    by_kernels++;
    if (tly_gradient_run_kernels(context, device, steps, count, sources, t->offsets, last, why,
                                 sizeof why))
        FAIL("%s: %s", t->word, why);
    else
        run_at_once(t, tensor, device, sources, last,
                    (size_t)count_results(&steps[count - 1].descriptor));
    return last;
}

/* Each step but the last one is read by a later one. */
static void check_use(const trial *t, const tally_gradient_step *steps, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        const int32_t source = TALLY_SOURCE_STEP + (int32_t)i;
        int uses = 0;
        for (size_t k = i + 1; k < count; k++) {
            uses += steps[k].in == source;
            uses += steps[k].carry_in == source;
            for (int n = 0; n < TALLY_MAX_OPERANDS; n++)
                uses += steps[k].operand[n] == source;
        }
        if (uses == 0)
            FAIL("%s: nothing reads step %s", t->word, steps[i].name);
    }
}

static void print_steps(const tally_gradient_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char word[TALLY_WORD_MAX];
        tally_descriptor_print(&steps[i].descriptor, word, sizeof word, NULL, NULL);
        printf("    %s = %s  # %d %d %d %d %d\n", steps[i].name, word, steps[i].in,
               steps[i].operand[0], steps[i].operand[1], steps[i].operand[2], steps[i].operand[3]);
    }
}

/* --- comparison ------------------------------------------------------------------------------- */

/* A difference of the outputs, where differences to both sides and of different size agree. */
static void check_difference(trial *t, int tensor, int64_t key, double want, double scale)
{
    double slopes[2], unused;
    const double middle = forward(t, (tly_seed){ -1, 0, 0 }, &unused, 0).v;
    if (t->magnitude > 1e3 * (scale + 1e-2)) /* differences have too few digits */
        return;
    for (int i = 0; i < 2; i++) {
        const double step = i ? 1e-5 : 2e-5;
        const tly_dual up = forward(t, (tly_seed){ tensor, key, step }, &unused, 0);
        const tly_dual down = forward(t, (tly_seed){ tensor, key, -step }, &unused, 0);
        slopes[i] = (up.v - down.v) / (2 * step);
        if (!(fabs((up.v - middle) - (middle - down.v)) <= 1e-4 * step * (scale + 1e-2)))
            return;
    }
    if (fabs(slopes[0] - slopes[1]) > 1e-6 * (scale + 1e-3))
        return;
    differenced++;
    if (fabs(slopes[1] - want) > 2e-4 * (scale + 1e-1))
        FAIL("%s: tensor %d, element %lld: the difference is %g, the derivative %g", t->word,
             tensor, (long long)key, slopes[1], want);
}

static int64_t count_keys(const trial *t, int tensor)
{
    int64_t strides[TALLY_MAX_RANK], sizes[TALLY_MAX_RANK], offset, count = 1;
    const uint32_t dims = tly_word_place(&t->d, tensor, strides, &offset);
    memcpy(sizes, t->d.sizes, sizeof sizes);
    if (tensor == TLY_WORD_CARRY)
        tly_word_sizes(&t->d, sizes);
    for (int k = 0; k < t->d.rank; k++)
        count *= dims >> k & 1 ? sizes[k] : 1;
    return count;
}

static void compare(trial *t, int tensor, const tally_gradient_step *steps, size_t count)
{
    int64_t results = 0;
    double *got = run_steps(t, steps, count, &results);
    double *kernels = run_kernels(t, tensor, steps, count);
    const int64_t keys = count_keys(t, tensor);
    const tally_descriptor *last = &steps[count - 1].descriptor;
    const int32_t dtype = dtype_of(&t->d, tensor);
    if (results != keys || (last->out_dtype ? last->out_dtype : last->dtype) != dtype)
        FAIL("%s: tensor %d: the gradient has %lld elements, not %lld, or another dtype", t->word,
             tensor, (long long)results, (long long)keys);
    for (int64_t key = 0; key < keys && results == keys; key++) {
        double scale;
        const double want = forward(t, (tly_seed){ tensor, key, 0 }, &scale, 0).d;
        if (!isfinite(want) || scale > 1e9 ||
            (t->state == TLY_WORD_SINGULAR && !isfinite(got[key]))) {
            undefined++;
            continue;
        }
        compared++;
        if (!(fabs(got[key] - want) <= 1e-8 * (scale + 1e-1))) {
            FAIL("%s: tensor %d, element %lld: %.17g, not %.17g", t->word, tensor, (long long)key,
                 got[key], want);
            print_steps(steps, count);
            break;
        }
        if (kernels && is_double(t) && !(fabs(kernels[key] - want) <= 1e-8 * (scale + 1e-1))) {
            FAIL("%s: tensor %d, element %lld: kernels make %.17g, not %.17g", t->word, tensor,
                 (long long)key, kernels[key], want);
            print_steps(steps, count);
            break;
        }
        if (t->is_smooth)
            check_difference(t, tensor, key, want, scale);
    }
    free(kernels);
    free(got);
}

/* The gradient of a word with respect to a tensor. */
static void check(trial *t, int tensor)
{
    static tally_gradient_step steps[TALLY_GRADIENT_MAX];
    tally_error error = TALLY_ERROR_INIT;
    size_t count = 0;
    steps[0].size = sizeof steps[0];
    if (tally_gradient(&t->d, source_of(tensor), steps, TALLY_GRADIENT_MAX, &count, &error) !=
        TALLY_OK) {
        unsupported++;
        printf("%s: tensor %d: %s: %s\n", t->word, tensor, error.field, error.message);
        if (error.status != TALLY_UNSUPPORTED)
            FAIL("%s: tensor %d: %s: %s", t->word, tensor, error.field, error.message);
        return;
    }
    steps_made += count;
    check_use(t, steps, count);
    if (t->is_large)
        free(run_kernels(t, tensor, steps, count));
    else
        compare(t, tensor, steps, count);
}

/* --- by hand ---------------------------------------------------------------------------------- */

/* The gradient g is 1. */
static const struct {
    const char *word;
    double x[6], want[6];
} values[] = {
    { "cumprod:f64:5:axis=0", { 2, 0, 3, 0, 5 }, { 1, 8, 0, 0, 0 } },
    { "cumprod:f64:3:axis=0,reverse", { 5, 0, 2 }, { 0, 12, 1 } },
    { "cumprod:f64:3:axis=0,exclusive", { 0, 2, 7 }, { 3, 0, 0 } },
    { "prod:f64:3", { 2, 0, 3 }, { 0, 6, 0 } },
    { "prod:f64:3", { 0, 0, 3 }, { 0, 0, 0 } },
    { "prod:f64:2x2", { 2, 0, 3, 5 }, { 0, 30, 0, 0 } },
    { "max:f64:4", { 1, 3, 3, 2 }, { 0, .5, .5, 0 } },
    { "min:f64:4", { 3, 1, 1, 1.5 }, { 0, .5, .5, 0 } },
    { "max:f64:3", { -INFINITY, INFINITY, INFINITY }, { 0, .5, .5 } },
    { "max:f64:3:nan=ignore", { NAN, 2, 1 }, { 0, 1, 0 } },
    { "cummax:f64:4:axis=0", { 1, 3, 3, 2 }, { 1, 3, 0, 0 } },
    { "cummin:f64:4:axis=0", { 3, 1, 1, 2 }, { 1, 3, 0, 0 } },
    { "cummax:f64:4:axis=0,exclusive", { 1, 3, 3, 2 }, { 1, 2, 0, 0 } },
    { "cummax:f64:3:axis=0", { -INFINITY, 0, INFINITY }, { 0, 1, 1 } },
    { "cummin:f64:4:axis=0,nan=ignore", { 3, NAN, 1, 2 }, { 2, 0, 2, 0 } },
    { "cumlogsumexp:f64:3:axis=0", { 0, -INFINITY, 0 }, { 2.5, 0, .5 } },
    { "log_sum_exp:f64:2", { -INFINITY, 0 }, { 0, 1 } },
    { "cumprod:f64:3:axis=0,exclusive,map=1-x,post=x*y", { .5, 1, 0 }, { 0, .5, 0 } },
    { "cumprod:f64:3:axis=0,exclusive,map=1-x,post=x*y", { 0, 1, 1 }, { 0, 0, 0 } },
    { "l1:f64:3", { -2, 0, 3 }, { -1, 0, 1 } },
    { "l2:f64:2", { 0, 0 }, { 0, 0 } },
    { "l2:f64:2", { 3, -4 }, { .6, -.8 } },
    { "sum:f64:3:map=abs(x)", { -1, 0, 2 }, { -1, 1, 1 } },
    { "sum:f64:3:map=min(x,1)", { 1, 2, 0 }, { 1, 0, 1 } },
    { "sum:f64:3:map=max(1,x)", { 1, 2, 0 }, { 0, 1, 0 } },
    { "sum:f64:3:map=floor(x)+round(x)+(x>0)", { 1, 2, 0 }, { 0, 0, 0 } },
    { "sum:f64:3:map=where(x>0,log(x),0)", { 0, 2, -1 }, { 0, .5, 0 } },
    { "cumprod:f64:5:axis=0,reset=x==3", { 2, 3, 0, 5, 3 }, { 1, 1, 18, 0, 1 } },
    { "cumsum:f64:5:axis=0,exclusive,reverse,reset=x==3", { 2, 3, 0, 5, 3 }, { 0, 1, 0, 1, 2 } },
    { "cumprod:f64:4:axis=0,every=2", { 2, 3, 5, 0 }, { 4, 2, 1, 5 } },
    { "prod:f64:5:axes=0,every=3", { 0, 3, 5, 2, 7 }, { 15, 0, 0, 7, 2 } },
    { "max:f64:5:axes=0,every=3", { 2, 2, 1, 4, 5 }, { .5, .5, 0, 0, 1 } },
    { "mean:f64:5:axes=0,every=3,post=y*y", { 1, 2, 3, 4, 6 }, { 4 / 3., 4 / 3., 4 / 3., 5, 5 } },
};

static void check_values(void)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        static tally_gradient_step steps[TALLY_GRADIENT_MAX];
        trial t = { .is_smooth = 0 };
        size_t count = 0;
        int64_t results = 0;
        double scale;
        snprintf(t.word, sizeof t.word, "%s", values[i].word);
        steps[0].size = sizeof steps[0];
        if (tally_descriptor_parse(t.word, &t.d, NULL) != TALLY_OK ||
            tally_gradient(&t.d, TALLY_SOURCE_X, steps, TALLY_GRADIENT_MAX, &count, NULL) !=
                TALLY_OK) {
            FAIL("%s: no gradient", t.word);
            continue;
        }
        begin(&t);
        memcpy(t.of[0].memory, values[i].x, (size_t)t.of[0].count * sizeof(double));
        for (int64_t k = 0; k < t.outs; k++)
            t.g.memory[k] = 1;
        (void)forward(&t, (tly_seed){ -1, 0, 0 }, &scale, 1);
        double *got = run_steps(&t, steps, count, &results);
        for (int64_t k = 0; k < results; k++) {
            if (!(fabs(got[k] - values[i].want[k]) < 1e-12))
                FAIL("%s: element %lld: %g, not %g", t.word, (long long)k, got[k],
                     values[i].want[k]);
        }
        free(got);
        compare(&t, TLY_WORD_X, steps, count);
        end(&t);
    }
}

/* Words whose gradients are cut into many steps. */
static const char *const cut_words[] = {
    "max:f64:4x3:axes=0,out=1@2,a=f64/none,b=f64/1,map=abs(0-a>=round(b)),post=abs(abs(a)/sqrt(a))",
    "cumprod:f64:3x4:axis=1,a=f64,b=f64,c=f64,d=f64,map=exp(sig(x)*x*a-b*b)+sqrt(x)/log(x*c+2),"
    "post=y*y*exp(-x*d)+max(a,y)*b-c/y*d",
    "sum:f64:4x5:axes=1,a=f64,b=f64/0,"
    "map=sig(sig(sig(sig(sig(sig(sig(sig(sig(sig(sig(sig(x*a)))))))))))),post=sqrt(y)*b",
    "cumlogsumexp:f64:4x5:axis=0,exclusive,a=f64,map=x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*a,"
    "post=x*exp(y)",
};

static void check_cuts(void)
{
    for (size_t i = 0; i < sizeof cut_words / sizeof *cut_words; i++) {
        trial t = { .is_smooth = 1 };
        double scale;
        snprintf(t.word, sizeof t.word, "%s", cut_words[i]);
        if (tally_descriptor_parse(t.word, &t.d, NULL) != TALLY_OK) {
            FAIL("%s: no word", t.word);
            continue;
        }
        begin(&t);
        for (int k = 0; k <= TLY_WORD_TENSORS; k++) {
            tensor *of = k < TLY_WORD_TENSORS ? &t.of[k] : &t.g;
            for (int64_t n = 0; n < of->count; n++)
                of->memory[n] = .5 + (double)((n * 7 + k * 3) % 11) / 16;
        }
        (void)forward(&t, (tly_seed){ -1, 0, 0 }, &scale, 1);
        for (int k = 0; k < TLY_WORD_TENSORS; k++) {
            if (tly_word_has(&t.d, k))
                check(&t, k);
        }
        end(&t);
    }
    if (unsupported > 0)
        FAIL("%d words that need cuts have no gradient", (int)unsupported);
}

/* --- random words ----------------------------------------------------------------------------- */

static void fill(tly_random *r, tensor *t, int is_smooth)
{
    static const double special[] = { 0, 0, 1, -1, .5, 2, 1, .25 };
    for (int64_t i = 0; i < t->count; i++) {
        const double unit = (double)tly_random_below(r, 1 << 30) / (1 << 30);
        t->memory[i] = is_smooth ? (tly_random_one_in(r, 3) ? -1 : 1) * (.3 + 1.5 * unit)
                                 : special[tly_random_below(r, 8)];
    }
}

/* Some segments are empty, and some elements may lie outside of all. The input has NaN there. */
static void draw_offsets(tly_random *r, trial *t)
{
    const tally_descriptor *d = &t->d;
    const int axis = tly_word_axis_of(d);
    const int covers = tly_random_one_in(r, 3);
    int64_t strides[TALLY_MAX_RANK], offset, index[TALLY_MAX_RANK] = { 0 };
    if (d->segment_dtype == 0)
        return;
    const int64_t size = d->sizes[axis];
    int64_t at = covers ? 0 : tly_random_below(r, 1 + size / 2);
    for (int64_t s = 0; s <= d->segments; s++) {
        t->offsets[s] = at;
        at += tly_random_one_in(r, 3) ? 0 : tly_random_below(r, size - at + 1);
        at = covers && s + 1 == d->segments ? size : at;
    }
    (void)tly_word_place(d, TLY_WORD_X, strides, &offset);
    if (strides[axis] == 0 || covers)
        return;
    for (int k = 0; k < d->rank;) { /* all indices, one after the other */
        int64_t place = offset;
        for (int n = 0; n < d->rank; n++)
            place += index[n] * strides[n];
        if (index[axis] < t->offsets[0] || index[axis] >= t->offsets[d->segments])
            t->of[TLY_WORD_X].at[place] = NAN;
        for (k = 0; k < d->rank && ++index[k] == d->sizes[k]; k++)
            index[k] = 0;
    }
}

/* Whether rounding in f64 may matter more than the test allows. */
static int is_extreme(const tally_descriptor *d)
{
    static const char *const numbers[] = { "1e30", "e-40", "e38", "e-45", "16777217" };
    const char *const expressions[] = { d->map, d->coef, d->post };
    for (int i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            if (strstr(expressions[i], numbers[k]))
                return 1;
        }
    }
    return 0;
}

enum { BRUTE_FORCE = 4, LARGE = 50 }; /* most elements of a dim */

/* 0: the word that was drawn is none. */
static int check_random(uint64_t seed, uint64_t number, int64_t most_size, int is_simple)
{
    tly_random r = tly_random_seed(seed, number);
    trial t;
    double scale;
    tly_gradient_draw(&r, most_size, is_simple, &t.d);
    if (tally_descriptor_print(&t.d, t.word, sizeof t.word, NULL, NULL) != TALLY_OK ||
        tally_descriptor_parse(t.word, &t.d, NULL) != TALLY_OK || is_extreme(&t.d))
        return 0;
    begin(&t);
    t.is_large = most_size > BRUTE_FORCE;
    t.is_smooth = !tly_random_one_in(&r, 3);
    for (int k = 0; k < TLY_WORD_TENSORS; k++)
        fill(&r, &t.of[k], t.is_smooth);
    fill(&r, &t.g, 1);
    fill(&r, &t.gcarry, 1);
    if (t.d.op == TALLY_CUMLOGSUMEXP) { /* the state's sum is positive */
        for (int64_t i = 0; i < t.of[TLY_WORD_CARRY].count; i++)
            t.of[TLY_WORD_CARRY].memory[i] = fabs(t.of[TLY_WORD_CARRY].memory[i]) + .1;
    }
    draw_offsets(&r, &t);
    (void)forward(&t, (tly_seed){ -1, 0, 0 }, &scale, 1);
    const int before = failures;
    if (t.state == TLY_WORD_EXTREME && !t.is_large) {
        end(&t);
        return 0;
    }
    for (int k = 0; k < TLY_WORD_TENSORS; k++) {
        const int is_pair = k == TLY_WORD_CARRY && t.d.op == TALLY_CUMLOGSUMEXP;
        if (tly_word_has(&t.d, k) && !is_pair && (k != TLY_WORD_X || t.d.dtype != TALLY_I8))
            check(&t, k);
    }
    if (failures > before)
        printf("  --seed %llu, case %llu%s\n", (unsigned long long)seed, (unsigned long long)number,
               is_simple    ? ", simple"
               : t.is_large ? ", large"
                            : "");
    end(&t);
    return 1;
}

int main(int argc, char **argv)
{
    uint64_t count = 1000, seed = 1, kernels = 0, words = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t *to = strcmp(argv[i], "--count") == 0     ? &count
                       : strcmp(argv[i], "--kernels") == 0 ? &kernels
                                                           : &seed;
        *to = strtoull(argv[i + 1], NULL, 10);
    }
    runs_kernels = kernels > 0;
    if (tally_context_create(NULL, &context, NULL) != TALLY_OK)
        return 1;
    check_values();
    failures += tly_gradient_check_texts();
    runs_kernels = kernels >= 100;
    check_cuts();
    failures += tly_gradient_check_refusals();
    for (uint64_t number = 0; number < count && failures < 20; number++) {
        runs_kernels = number < kernels;
        words += (uint64_t)check_random(seed, number, BRUTE_FORCE, 0);
    }
    runs_kernels = 1;
    for (uint64_t number = 0; number < kernels && failures < 20; number++) {
        words += (uint64_t)check_random(seed, number, LARGE, 0);
        words += (uint64_t)check_random(seed, number, number % 2 ? LARGE : BRUTE_FORCE, 1);
    }
    tally_context_destroy(&context);
    printf(
        "gradient: %llu random words, %llu steps, %llu gradients by kernels, %llu in blocks, %llu "
        "from results, %llu elements compared, %llu differences, %llu not finite, %llu "
        "unsupported, %d failures\n",
        (unsigned long long)words, (unsigned long long)steps_made, (unsigned long long)by_kernels,
        (unsigned long long)in_blocks, (unsigned long long)from_results,
        (unsigned long long)compared, (unsigned long long)differenced,
        (unsigned long long)undefined, (unsigned long long)unsupported, failures);
    return failures > 0 || by_kernels < kernels || in_blocks * 20 < kernels ||
           from_results * 10 < kernels || compared < count || differenced < count ||
           undefined * 20 > compared || unsupported * 50 > count;
}
