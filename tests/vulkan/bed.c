/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: no failure goes uncounted, whichever thread it happens in. */
#include "bed.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PRINTED = 20 };

static atomic_int expectations, failures;

int tly_expect(int holds, const char *format, ...)
{
    expectations++;
    if (holds)
        return 1;
    char text[700];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (failures++ < MOST_PRINTED)
        fprintf(stderr, "FAILED %s\n", text);
    return 0;
}

int tly_bed_end(const char *name, int least)
{
    tly_expect(expectations >= least, "%s: only %d expectations, %d are promised", name,
               expectations, least);
    printf("%s: %d expectations, %d failed\n", name, expectations, failures);
    return failures != 0;
}

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "FAILED %s: %s\n", what, why);
    exit(2);
}

const char *tly_bed_device(void)
{
    const char *name = getenv("TALLY_TEST_DEVICES");
    if (!name || !*name)
        give_up("TALLY_TEST_DEVICES", "names no device");
    return name;
}

tally_context *tly_bed_context(void)
{
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    if (tally_context_create(NULL, &context, &error))
        give_up("context", error.message);
    return context;
}

tally_vulkan *tly_bed_open(tally_context *context, const char *device)
{
    tally_vulkan *v = NULL;
    tally_error error = TALLY_ERROR_INIT;
    if (tally_vulkan_open(context, device, &v, &error))
        give_up(device, error.message);
    return v;
}

int tly_bed_flushes(const tally_vulkan *v)
{
    return !v->facts.caps.denorm32 && v->facts.caps.driver != VK_DRIVER_ID_MESA_LLVMPIPE;
}

/* ---- cases ---- */

/* The pointer that an index counts from, which may lie outside of the region. */
static void *origin(const char *region, int64_t low, size_t element)
{
    return (void *)((uintptr_t)region - (uintptr_t)low * element);
}

void tly_case_make(tly_case *c, const char *word, tly_data data, uint64_t seed)
{
    tally_error error = TALLY_ERROR_INIT;
    tly_random r = tly_random_seed(seed, 0);
    memset(c, 0, sizeof *c);
    c->word = word;
    if (tally_descriptor_parse(word, &c->d, &error))
        give_up(word, error.message);
    c->dtype = (tally_dtype)c->d.dtype;
    c->element = tally_dtype_bytes(c->dtype);
    c->out_dtype = tly_reference_output(&c->d);
    c->out_element = tally_dtype_bytes(c->out_dtype);
    tly_layout_of(&c->d, &c->l);
    c->in_bytes = (size_t)(c->l.in_high - c->l.in_low + 1) * c->element;
    c->out_bytes = (size_t)(c->l.out_high - c->l.out_low + 1) * c->out_element;
    c->in = malloc(c->in_bytes + 1);
    if (!c->in)
        give_up(word, "out of memory");
    memset(c->in, 0xff, c->in_bytes);
    tly_random_fill(&r, &c->d, data, (void *)(uintptr_t)tly_case_in(c));
}

void tly_case_end(tly_case *c)
{
    free(c->in);
    c->in = NULL;
}

const void *tly_case_in(const tly_case *c)
{
    return origin(c->in, c->l.in_low, c->element);
}

void *tly_case_out(const tly_case *c, char *region)
{
    return origin(region, c->l.out_low, c->out_element);
}

char *tly_case_blank(const tly_case *c)
{
    char *out = malloc(c->out_bytes + 1);
    if (!out)
        give_up(c->word, "out of memory");
    memset(out, 0xa5, c->out_bytes);
    return out;
}

tally_vulkan_kernel *tly_case_kernel(const tly_case *c, tally_vulkan *v, const char *plan,
                                     uint32_t flags)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .plan = plan && *plan ? plan : NULL };
    tally_vulkan_kernel *k = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = tally_vulkan_kernel_create(v, &c->d, &options, &k, &error);
    if (!tly_expect(status == TALLY_OK, "%s '%s': not made: %s: %s", c->word, plan ? plan : "",
                    error.field, error.message))
        return NULL;
    k->flags = flags;
    return k;
}

int tly_case_run(const tly_case *c, const tally_vulkan_kernel *kernel, char *out)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = tally_vulkan_run(kernel, tly_case_in(c), tly_case_out(c, out), &error);
    return tly_expect(status == TALLY_OK, "%s: not run: %s: %s", c->word, error.field,
                      error.message);
}

char *tly_case_result(const tly_case *c, tally_vulkan *v, const char *plan, uint32_t flags)
{
    tally_vulkan_kernel *k = tly_case_kernel(c, v, plan, flags);
    char *out = tly_case_blank(c);
    if (!k || !tly_case_run(c, k, out)) {
        free(out);
        out = NULL;
    }
    tally_vulkan_kernel_destroy(&k);
    return out;
}

int tly_case_right(const tly_case *c, const char *out, int flushes, int serial, const char *label)
{
    tly_verdict verdict;
    char text[400];
    tally_descriptor d = c->d;
    if (serial)
        d.order = TALLY_ORDER_SERIAL;
    const int may = TLY_CUTS_LANES | (flushes ? TLY_FLUSHES : 0);
    tly_judge(&d, tly_case_in(c), origin(out, c->l.out_low, c->out_element), may, &verdict);
    tly_verdict_print(&d, &verdict, text, sizeof text);
    return tly_expect(!verdict.reason && verdict.checked == c->l.rows * c->l.results, "%s %s: %s",
                      c->word, label, text);
}

/* Calls `f` with the index of every element of the output, from the region's start. */
static int each(const tly_case *c, int (*f)(void *user, int64_t index), void *user)
{
    int stop = 0;
    for (int64_t row = 0; row < c->l.rows && !stop; row++) {
        int64_t in, out;
        tly_layout_row(&c->l, row, &in, &out);
        for (int64_t i = 0; i < c->l.length && !stop; i++, out += c->l.out_step)
            stop = f(user, out - c->l.out_low);
    }
    return stop;
}

typedef struct pair {
    const tly_case *c;
    const char *a;
    const char *b;
    char *to;
    int64_t differs; /* index */
} pair;

static int compare(void *user, int64_t index)
{
    pair *p = user;
    p->differs = index;
    const tally_dtype dtype = p->c->out_dtype;
    return !tly_bits_same(dtype, tly_bits_load(dtype, p->a, index),
                          tly_bits_load(dtype, p->b, index));
}

int tly_case_same(const tly_case *c, const char *a, const char *b, const char *label)
{
    pair p = { c, a, b, NULL, -1 };
    const int differ = each(c, compare, &p);
    return tly_expect(!differ, "%s %s: element %lld: 0x%llx, not 0x%llx", c->word, label,
                      (long long)p.differs,
                      (unsigned long long)tly_bits_load(c->out_dtype, a, differ ? p.differs : 0),
                      (unsigned long long)tly_bits_load(c->out_dtype, b, differ ? p.differs : 0));
}

static int copy(void *user, int64_t index)
{
    pair *p = user;
    const size_t at = (size_t)index * p->c->out_element;
    memcpy(p->to + at, p->a + at, p->c->out_element);
    return 0;
}

void tly_case_copy(const tly_case *c, const char *from, char *to)
{
    pair p = { c, from, NULL, to, -1 };
    each(c, copy, &p);
}

/* ---- threads ---- */

enum { MOST_THREADS = 16 };

typedef struct runner {
    pthread_t thread;
    pthread_barrier_t *start;
    void (*body)(void *user, int index);
    void *user;
    int index;
} runner;

static void *run_body(void *argument)
{
    runner *r = argument;
    pthread_barrier_wait(r->start);
    r->body(r->user, r->index);
    return NULL;
}

void tly_bed_threads(int count, void (*body)(void *user, int index), void *user)
{
    runner all[MOST_THREADS];
    pthread_barrier_t start;
    if (count > MOST_THREADS)
        give_up("threads", "too many");
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (int k = 0; k < count; k++) {
        all[k] = (runner){ .start = &start, .body = body, .user = user, .index = k };
        if (pthread_create(&all[k].thread, NULL, run_body, &all[k]))
            give_up("threads", "one cannot be started");
    }
    for (int k = 0; k < count; k++)
        pthread_join(all[k].thread, NULL);
    pthread_barrier_destroy(&start);
}
