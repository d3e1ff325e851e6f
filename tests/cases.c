/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: a text with a wrong count of elements is a failure, never a shorter check. */
#include "cases.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "engine.h"

static int list_levels(tly_levels *levels, char *why, size_t capacity)
{
    tally_device all[TLY_MOST_TARGETS] = { { .size = sizeof all[0] } };
    tally_error error = TALLY_ERROR_INIT;
    size_t count = 0;

    if (tally_devices(all, TLY_MOST_TARGETS, &count, &error)) {
        snprintf(why, capacity, "%s: %s", error.field, error.message);
        return -1;
    }
    for (size_t k = 0; k < count && k < TLY_MOST_TARGETS; k++)
        if (all[k].runs_here && !strcmp(all[k].kind, "cpu"))
            levels->levels[levels->level_count++] = all[k];
    snprintf(why, capacity, "this machine runs no level");
    return levels->level_count ? 0 : -1;
}

static int find_devices(tly_levels *levels, const char *names, char *why, size_t capacity)
{
    char copy[256], *rest = copy, *name;
    snprintf(copy, sizeof copy, "%s", names);
    while ((name = strsep(&rest, ",")) != NULL) {
        if (levels->level_count == TLY_MOST_TARGETS) {
            snprintf(why, capacity, "too many devices: %s", names);
            return -1;
        }
        if (tly_target_find(name, &levels->levels[levels->level_count++], why, capacity))
            return -1;
    }
    return 0;
}

int tly_levels_open(tly_levels *levels, char *why, size_t capacity)
{
    const tally_context_options options = { .size = sizeof options, .threads = 3 };
    const char *names = getenv("TALLY_TEST_DEVICES");
    tally_error error = TALLY_ERROR_INIT;

    memset(levels, 0, sizeof *levels);
    if (tally_context_create(&options, &levels->context, &error)) {
        snprintf(why, capacity, "%s: %s", error.field, error.message);
        return -1;
    }
    if (!(names ? find_devices(levels, names, why, capacity) : list_levels(levels, why, capacity)))
        return 0;
    tly_levels_close(levels);
    return -1;
}

void tly_levels_close(tly_levels *levels)
{
    tally_context_destroy(&levels->context);
}

/* ---- runs ---- */

typedef struct runner {
    const tly_case *c;
    tally_descriptor d;
    tally_dtype from_dtype, to_dtype;
    size_t from_bytes, to_bytes; /* of an element */
    tly_layout layout;
    tly_elements in, out;
    int subnormal; /* an element is */
    char *from, *to;
    char *why;
    size_t capacity;
} runner;

static int complain(runner *r, const char *format, ...)
{
    va_list list;
    int used = snprintf(r->why, r->capacity, "%s: ", r->c->word);
    va_start(list, format);
    if (used >= 0 && (size_t)used < r->capacity)
        vsnprintf(r->why + used, r->capacity - (size_t)used, format, list);
    va_end(list);
    return -1;
}

/* Subnormal in f32, which every dtype but f64 is computed in where a device flushes. */
static int has_subnormal(tally_dtype dtype, const tly_elements *e)
{
    for (int64_t k = 0; k < e->count && tly_is_float(dtype); k++) {
        const double value = tly_decode(dtype, e->bits[k]);
        if (value != 0 && fabs(value) < FLT_MIN)
            return 1;
    }
    return 0;
}

/* `from` holds the input of every run, those in place as well: the first one is not. */
static int judge_takes(const runner *r, uintptr_t out_at)
{
    const uintptr_t in_at = (uintptr_t)r->from - (uintptr_t)r->layout.in_low * r->from_bytes;
    tly_verdict verdict;
    return !tly_judge(&r->d, (const void *)in_at, (const void *)out_at, 1, &verdict);
}

static int run(runner *r, tly_engine *engine, const tally_device *target, int threads, int in_place)
{
    tally_error error = TALLY_ERROR_INIT;
    const char *device = target->selector;
    char *from = in_place ? r->to : r->from;

    for (int64_t k = 0; k < r->out.count; k++)
        tly_bits_store(r->to_dtype, r->to, k, tly_canary(r->to_dtype));
    for (int64_t k = 0; k < r->in.count; k++)
        if (!in_place || r->out.marks[k] != '_')
            tly_bits_store(r->from_dtype, from, k, r->in.bits[k]);
    const uintptr_t in_at = (uintptr_t)from - (uintptr_t)r->layout.in_low * r->from_bytes;
    const uintptr_t out_at = (uintptr_t)r->to - (uintptr_t)r->layout.out_low * r->to_bytes;
    const tally_buffers buffers = tly_buffers((const void *)in_at, (void *)out_at);
    if (engine->run(engine, &buffers, threads, &error))
        return complain(r, "%s, %s: %s: %s", device, engine->name, error.field, error.message);
    for (int64_t k = 0; k < r->out.count; k++) {
        uint64_t got = tly_bits_load(r->to_dtype, r->to, k);
        if (!tly_element_is_right(r->to_dtype, &r->out, k, got) &&
            !(r->subnormal && r->out.marks[k] != '_' && tly_target_flushes(target) &&
              judge_takes(r, out_at)))
            return complain(r, "%s, %s, %d threads, %s place: element %lld is 0x%llx, not 0x%llx",
                            device, engine->name, threads, in_place ? "in" : "out of", (long long)k,
                            (unsigned long long)got, (unsigned long long)r->out.bits[k]);
    }
    return 0;
}

static int can_run_in_place(const runner *r)
{
    const tly_layout *l = &r->layout;
    return l->is_scan && r->from_dtype == r->to_dtype && l->in_offset == l->out_offset &&
           !memcmp(l->in_strides, l->out_strides, (size_t)l->rank * sizeof l->in_strides[0]);
}

static int run_engine(runner *r, tly_engine *engine, const tally_device *target, int most_threads)
{
    const char *device = target->selector, *missing = tly_target_missing(target, &r->d);
    tally_error error = TALLY_ERROR_INIT;
    int wrong = 0;

    const tally_status status = engine->prepare(engine, &r->d, "", &error);
    if (missing && tly_refusal_is_right(target, &r->d, status, &error))
        return 0;
    if (status)
        return complain(r, "%s, %s: %s: %s", device, engine->name, error.field, error.message);
    if (missing && r->out.count)
        wrong = complain(r, "%s: made, though the device lacks %s", device, missing);
    for (int threads = 1; threads <= most_threads && !wrong; threads++) {
        wrong = run(r, engine, target, threads, 0);
        if (!wrong && can_run_in_place(r))
            wrong = run(r, engine, target, threads, 1);
    }
    return wrong;
}

typedef tly_engine *(*opener)(tally_context *context, const char *device, tally_error *error);

static int run_level(runner *r, tally_context *context, const tally_device *target, opener open,
                     int most_threads)
{
    tally_error error = TALLY_ERROR_INIT;
    tly_engine *engine = open(context, target->selector, &error);
    if (!engine)
        return complain(r, "%s: %s", target->selector, error.message);
    const int wrong = run_engine(r, engine, target, most_threads);
    engine->close(engine);
    return wrong;
}

static int prepare(runner *r)
{
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_parse(r->c->word, &r->d, &error))
        return complain(r, "%s: %s", error.field, error.message);
    r->from_dtype = (tally_dtype)r->d.dtype;
    r->to_dtype = tly_reference_output(&r->d);
    r->from_bytes = tally_dtype_bytes(r->from_dtype);
    r->to_bytes = tally_dtype_bytes(r->to_dtype);
    tly_layout_of(&r->d, &r->layout);
    const tly_layout *l = &r->layout;
    if (tly_elements_read(r->from_dtype, r->c->in, l->in_high - l->in_low + 1, &r->in) ||
        tly_elements_read(r->to_dtype, r->c->out, l->out_high - l->out_low + 1, &r->out))
        return complain(r, "wrong text: %lld and %lld elements", (long long)r->in.count,
                        (long long)r->out.count);
    r->subnormal = has_subnormal(r->from_dtype, &r->in) || has_subnormal(r->to_dtype, &r->out);
    r->from = malloc((size_t)r->in.count * r->from_bytes + 1);
    r->to = malloc((size_t)r->out.count * r->to_bytes + 1);
    return r->from && r->to ? 0 : complain(r, "out of memory");
}

static void release(runner *r)
{
    tly_elements_release(&r->in);
    tly_elements_release(&r->out);
    free(r->from);
    free(r->to);
}

int tly_case_run(tly_levels *levels, const tly_case *c, char *why, size_t capacity)
{
    runner r = { .c = c, .why = why, .capacity = capacity };
    int wrong = prepare(&r);
    for (size_t k = 0; k < levels->level_count && !wrong; k++)
        wrong = run_level(&r, levels->context, &levels->levels[k], tly_engine_library, 2);
    release(&r);
    return wrong;
}

int tly_case_run_tasks(tly_levels *levels, const tly_case *c, char *why, size_t capacity)
{
    static const opener ways[] = { tly_engine_native, tly_engine_interpret };
    runner r = { .c = c, .why = why, .capacity = capacity };
    int wrong = prepare(&r);
    for (size_t k = 0; k < levels->level_count && !wrong; k++)
        for (size_t way = 0; way < sizeof ways / sizeof ways[0] && !wrong; way++)
            if (!strcmp(levels->levels[k].kind, "cpu"))
                wrong = run_level(&r, levels->context, &levels->levels[k], ways[way], 3);
    release(&r);
    return wrong;
}
