/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of bindings/xla without XLA: this file stands for it. tests/python/test_jax.py calls
 * the handler by JAX.
 */
#include "../bindings/xla/handler.c"
#include "../bindings/xla/prepared.c"

#include <criterion/criterion.h>
#include <unistd.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

/* ---- XLA ---------------------------------------------------------------------------------- */

struct xla_error {
    int32_t code;
    char message[512];
};

static atomic_int errors, scheduled;

static xla_error *create_error(xla_error_create *args)
{
    xla_error *e = calloc(1, sizeof *e);
    cr_assert_not_null(e);
    cr_assert_eq(args->size, XLA_ERROR_CREATE_BYTES);
    e->code = args->code;
    strncpy(e->message, args->message, sizeof e->message - 1);
    errors++;
    return e;
}

static void destroy_error(xla_error_destroy *args)
{
    cr_assert_eq(args->size, sizeof *args);
    free(args->error);
    errors--;
}

/* How the pool treats tasks. */
enum { RUN, REFUSE, WAIT };

enum { MOST_TASKS = 1024 };

struct xla_context {
    int way, count; /* of tasks */
    pthread_t threads[MOST_TASKS];
    xla_schedule tasks[MOST_TASKS];
};

static void *run_task(void *data)
{
    const xla_schedule *task = data;
    task->task(task->data);
    return NULL;
}

static xla_error *schedule(xla_schedule *args)
{
    xla_context *c = args->context;
    xla_error_create refusal = { XLA_ERROR_CREATE_BYTES, NULL, "no pool", 13 };
    cr_assert_eq(args->size, sizeof *args);
    scheduled++;
    if (c->way == REFUSE) {
        return create_error(&refusal);
    }
    cr_assert_lt(c->count, MOST_TASKS);
    xla_schedule *task = &c->tasks[c->count];
    *task = *args;
    if (c->way == RUN) {
        cr_assert_eq(pthread_create(&c->threads[c->count], NULL, run_task, task), 0);
    }
    c->count++;
    return NULL;
}

static void finish(xla_context *c)
{
    for (int i = 0; i < c->count; i++) {
        if (c->way == RUN) {
            pthread_join(c->threads[i], NULL);
        } else {
            run_task(&c->tasks[i]); /* long after the call */
        }
    }
    c->count = 0;
}

static const xla_api api = { .size = sizeof api,
                             .create_error = create_error,
                             .destroy_error = destroy_error,
                             .schedule = schedule };

/* ---- calls -------------------------------------------------------------------------------- */

static xla_buffer buffer(int32_t dtype, const void *data, int64_t rank, const int64_t *sizes)
{
    return (xla_buffer){ sizeof(xla_buffer),      NULL, dtype,
                         (void *)(uintptr_t)data, rank, (int64_t *)(uintptr_t)sizes };
}

#define BUFFER(dtype, data, ...) \
    buffer(dtype, data, COUNT(((int64_t[]){ __VA_ARGS__ })), (int64_t[]){ __VA_ARGS__ })

enum { MOST_BUFFERS = 8 };

static xla_error *call_in(xla_context *context, const char *word, int64_t arguments,
                          xla_buffer *argument, int64_t results, xla_buffer *result)
{
    static const char padding[] = "of another type";
    xla_span names[] = { { "other", 5 }, { "word", 4 } };
    xla_span values[] = { { padding, sizeof padding }, { word, word != NULL ? strlen(word) : 0 } };
    xla_buffer *buffers[2][MOST_BUFFERS];
    for (int i = 0; i < MOST_BUFFERS; i++) {
        buffers[0][i] = argument + i;
        buffers[1][i] = result + i;
    }
    const xla_call call = {
        .size = sizeof call,
        .api = &api,
        .context = context,
        .stage = 3,
        .arguments = { sizeof(xla_buffers), NULL, arguments, NULL, buffers[0] },
        .results = { sizeof(xla_buffers), NULL, results, NULL, buffers[1] },
        .attributes = { sizeof(xla_attributes), NULL, word != NULL ? 2 : 1,
                        (int32_t[]){ 3, XLA_ATTRIBUTE_STRING },
                        (xla_span *[]){ &names[0], &names[1] },
                        (void *[]){ &values[0], &values[1] } },
    };
    return tally_xla(&call);
}

#define CALL(word, ...) \
    call_in(&(xla_context){ .way = REFUSE }, word, COUNT(((xla_buffer[]){ __VA_ARGS__ })) - 1, \
            (xla_buffer[]){ __VA_ARGS__ }, 1, \
            &((xla_buffer[]){ __VA_ARGS__ })[COUNT(((xla_buffer[]){ __VA_ARGS__ })) - 1])

static void expect_floats(const float *got, const float *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_expect_eq(got[i], wanted[i], "at %zu: %g, not %g", i, got[i], wanted[i]);
    }
}

static const float x[12] = { 2, 1, 3, 5, 3, 8, 7, 3, 9, 6, 2, 4 };

Test(xla, tells_its_version)
{
    xla_metadata m = { .size = sizeof m, .version = { .major = 7, .minor = 7 }, .traits = 7 };
    xla_metadata_extension e = { { sizeof e, XLA_METADATA, NULL }, &m };
    const xla_call call = { .size = sizeof call, .extensions = &e.base };
    cr_assert_null(tally_xla(&call));
    cr_expect_eq(m.version.major, 0);
    cr_expect_eq(m.version.minor, 1);
    cr_expect_eq(m.traits, 0);
}

Test(xla, runs_scans_and_reductions)
{
    float y[12];
    cr_assert_null(CALL("cumprod:f32:3x4:axis=1,exclusive,reverse", BUFFER(XLA_F32, x, 3, 4),
                        BUFFER(XLA_F32, y, 3, 4)));
    expect_floats(y, (float[]){ 15, 15, 5, 1, 168, 21, 3, 1, 48, 8, 4, 1 }, 12);
    cr_assert_null(CALL("sum:f32:3x4:axes=0", BUFFER(XLA_F32, x, 3, 4), BUFFER(XLA_F32, y, 4)));
    expect_floats(y, (float[]){ 14, 15, 12, 12 }, 4);
    cr_assert_null(
        CALL("max:f32:scalar", buffer(XLA_F32, x, 0, NULL), buffer(XLA_F32, y, 0, NULL)));
    cr_expect_eq(y[0], 2);
    int64_t i[3];
    cr_assert_null(CALL("argmax:f32:3x4:axes=1", BUFFER(XLA_F32, x, 3, 4), BUFFER(XLA_S64, i, 3)));
    cr_expect(i[0] == 3 && i[1] == 1 && i[2] == 0);
}

/* The dimensions of vmap come first, in all buffers. */
Test(xla, takes_more_dimensions)
{
    float y[12];
    cr_assert_null(CALL("sum:f32:2", BUFFER(XLA_F32, x, 3, 2, 2), BUFFER(XLA_F32, y, 3, 2)));
    expect_floats(y, (float[]){ 3, 8, 11, 10, 15, 6 }, 6);
    cr_assert_null(
        CALL("cumsum:f32:2x2:axis=0", BUFFER(XLA_F32, x, 3, 2, 2), BUFFER(XLA_F32, y, 3, 2, 2)));
    expect_floats(y, (float[]){ 2, 1, 5, 6, 3, 8, 10, 11, 9, 6, 11, 10 }, 12);
    const float a[6] = { 1, 2, 3, 4, 5, 6 }, one[3] = { 1, 10, 100 };
    cr_assert_null(CALL("sum:f32:2x2:axes=none,a=f32/0,map=x*a", BUFFER(XLA_F32, x, 3, 2, 2),
                        BUFFER(XLA_F32, a, 3, 2), BUFFER(XLA_F32, y, 3, 2, 2)));
    expect_floats(y, (float[]){ 2, 1, 6, 10, 9, 24, 28, 12, 45, 30, 12, 24 }, 12);
    cr_assert_null(CALL("sum:f32:2x2:axes=1,a=f32/none,map=x*a", BUFFER(XLA_F32, x, 3, 2, 2),
                        BUFFER(XLA_F32, one, 3), BUFFER(XLA_F32, y, 3, 2)));
    expect_floats(y, (float[]){ 3, 8, 110, 100, 1500, 600 }, 6);
    cr_assert_null(CALL("cumsum:f32:4:axis=0", BUFFER(XLA_F32, x, 0, 4), BUFFER(XLA_F32, y, 0, 4)));
}

Test(xla, takes_all_tensors_of_a_word)
{
    float y[12], after[3];
    const float before[3] = { 1, 2, 3 };
    const int32_t offsets[3] = { 0, 1, 4 };
    cr_assert_null(
        call_in(NULL, "cumsum:f32:3x4:axis=1,carry=in+out", 2,
                (xla_buffer[]){ BUFFER(XLA_F32, x, 3, 4), BUFFER(XLA_F32, before, 3, 1) }, 2,
                (xla_buffer[]){ BUFFER(XLA_F32, y, 3, 4), BUFFER(XLA_F32, after, 3, 1) }));
    expect_floats(y, (float[]){ 3, 4, 7, 12, 5, 13, 20, 23, 12, 18, 20, 24 }, 12);
    expect_floats(after, (float[]){ 12, 23, 24 }, 3);
    cr_assert_null(CALL("sum:f32:3x4:axes=1,segments=i32/2", BUFFER(XLA_F32, x, 3, 4),
                        BUFFER(XLA_S32, offsets, 3), BUFFER(XLA_F32, y, 3, 2)));
    expect_floats(y, (float[]){ 2, 9, 3, 18, 9, 12 }, 6);
}

Test(xla, refuses)
{
    static const struct {
        const char *word;
        int32_t in, out;
        int64_t in_size, out_size;
        int32_t code;
        const char *message;
    } rows[] = {
        { NULL, XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT, "usage: the call has no attribute" },
        { "frob", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT, "op: " },
        { "cumsum:f32:4:axis=1", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT,
          "axis: axis 1 is not in [-1, 0]; hint: " },
        { "cumsum:f32:5:axis=0", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT, "sizes: the array" },
        { "cumsum:f32:?:axis=0", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT, "sizes: the array" },
        { "cumsum:f32:1x4:axis=0", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT, "sizes: the arr" },
        { "cumsum:f32:4:axis=0", XLA_F64, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT, "in: the array" },
        { "cumsum:f32:4:axis=0", 15, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT, "in: the array" },
        { "cumsum:f32:4:axis=0", 99, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT, "in: the array" },
        { "cumsum:f32:4:axis=0", XLA_F32, XLA_F32, 4, 3, XLA_INVALID_ARGUMENT, "out: the array" },
        { "cumsum:f32:4:axis=0", XLA_F32, XLA_S32, 4, 4, XLA_INVALID_ARGUMENT, "out: the array" },
        { "cumsum:f32:4:axis=0,a,map=x*a", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT,
          "usage: the word has another number" },
        { "cumsum:f32:4:axis=0,carry=out", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT,
          "usage: the word has another number" },
        { "cumsum:f32:4:axis=0,in=2@0", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT,
          "in: strides" },
        { "cumsum:f32:4:axis=0,out=2@0", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT,
          "out: strides" },
        { "cumsum:f32:4:axis=0,a=f32/2@0,map=x*a", XLA_F32, XLA_F32, 4, 4, XLA_INVALID_ARGUMENT,
          "a: strides" },
        { "cumsum:f32:4:axis=0,order=exact", XLA_F32, XLA_F32, 4, 4, XLA_UNIMPLEMENTED, "order: " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float y[4] = { -1, -1, -1, -1 };
        xla_error *e = CALL(rows[i].word, BUFFER(rows[i].in, x, rows[i].in_size),
                            BUFFER(rows[i].out, y, rows[i].out_size));
        cr_assert_not_null(e, "row %zu", i);
        cr_expect_eq(e->code, rows[i].code, "row %zu: %s", i, e->message);
        cr_expect_eq(strncmp(e->message, "tally: ", 7), 0);
        cr_expect_eq(strncmp(e->message + 7, rows[i].message, strlen(rows[i].message)), 0,
                     "row %zu: %s", i, e->message);
        expect_floats(y, (float[]){ -1, -1, -1, -1 }, 4);
        free(e);
    }
    xla_error *e = call_in(NULL, "cumsum:f32:4:axis=0", 0, NULL, 0, NULL);
    cr_assert_not_null(e);
    cr_expect_str_eq(e->message, "tally: usage: the call has no array");
    free(e);
}

Test(xla, refuses_a_ninth_dimension)
{
    float y[4];
    xla_error *e = CALL("cumsum:f32:1x1x1x1x1x1x1x2:axis=7",
                        BUFFER(XLA_F32, x, 2, 1, 1, 1, 1, 1, 1, 1, 2),
                        BUFFER(XLA_F32, y, 2, 1, 1, 1, 1, 1, 1, 1, 2));
    cr_assert_not_null(e);
    cr_expect_str_eq(e->message, "tally: sizes: with the dimensions of vmap there are more than 8");
    free(e);
    /* Any number of them is one dimension of the word. */
    cr_assert_null(CALL("cumsum:f32:2:axis=0",
                        BUFFER(XLA_F32, x, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2),
                        BUFFER(XLA_F32, y, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2)));
    expect_floats(y, (float[]){ 2, 3, 3, 8 }, 4);
}

/* ---- threads ------------------------------------------------------------------------------ */

enum { LONG = 1 << 23 };

/* The sum of each row up to its end. */
static void expect_sums(const int32_t *in, const int32_t *out)
{
    int32_t sum = 0, wrong = 0;
    for (int i = 0; i < 2 * LONG; i++) {
        sum = (i == LONG ? 0 : sum) + in[i];
        wrong += out[i] != sum;
    }
    cr_expect_eq(wrong, 0);
}

Test(xla, large_runs_borrow_threads)
{
    static xla_context context;
    int32_t *in = malloc(2 * LONG * sizeof *in), *out = malloc(2 * LONG * sizeof *out);
    tally_context *shared = NULL;
    cr_assert_eq(tally_context_shared(&shared, NULL), TALLY_OK);
    for (int i = 0; i < 2 * LONG; i++) {
        in[i] = i % 7 - 3;
    }
    for (int way = RUN; way <= WAIT; way++) {
        context = (xla_context){ .way = way };
        xla_buffer from = BUFFER(XLA_S32, in, 2, LONG), to = BUFFER(XLA_S32, out, 2, LONG);
        memset(out, 0xff, 2 * LONG * sizeof *out);
        errors = scheduled = 0;
        cr_assert_null(call_in(&context, "cumsum:i32:2x8388608:axis=1", 1, &from, 1, &to));
        cr_expect_eq(errors, 0, "each error of the pool is destroyed");
        cr_expect(scheduled > 0 || tally_context_threads(shared) == 1);
        finish(&context);
        expect_sums(in, out);
    }
    free(in);
    free(out);
}

/* A task that the caller does not do ends late. */
typedef struct slow {
    pthread_t caller;
    atomic_int begun, ended;
} slow;

static void be_slow(void *state, int64_t index)
{
    slow *s = state;
    (void)index;
    s->begun++;
    for (int i = 0; i < 1000 && s->begun < 2; i++) {
        usleep(1000); /* till both run */
    }
    if (!pthread_equal(pthread_self(), s->caller)) {
        usleep(50000);
    }
    s->ended++;
}

Test(xla, all_tasks_have_ended)
{
    xla_context context = { .way = RUN };
    const xla_call call = { .api = &api, .context = &context };
    slow s = { .caller = pthread_self() };
    run_on_xla((void *)(uintptr_t)&call, 2, be_slow, &s);
    cr_expect_eq(s.ended, 2);
    finish(&context);
}

Test(xla, kept_calls_are_told_apart)
{
    int64_t sizes[2] = { 3, 4 };
    const xla_span word = { "sum:i64:4", 9 };
    const xla_buffer in = buffer(XLA_S64, NULL, 2, sizes);
    tly_xla_prepared *p = calloc(1, sizeof *p + 16);
    cr_assert_not_null(p);
    *p = (tly_xla_prepared){ .rank = 2, .sizes = { 3, 4 }, .bytes = 9 };
    memcpy(p->word, "sum:i64:4", 9);
    cr_expect(is_for(p, &word, &in));
    cr_expect_not(is_for(p, &(xla_span){ "max:i64:4", 9 }, &in));
    cr_expect_not(is_for(p, &(xla_span){ "sum:i64:4:", 10 }, &in));
    cr_expect_not(is_for(p, &word, &(xla_buffer){ .rank = 1, .sizes = sizes }));
    sizes[0] = 2;
    cr_expect_not(is_for(p, &word, &in));
    free(p);
}

/* More calls than are kept, in several threads at once, each twice. */
enum { CALLS = 700 };

static void *call_many(void *unused)
{
    int64_t in[CALLS], out[CALLS];
    (void)unused;
    for (int i = 0; i < CALLS; i++) {
        in[i] = 3 * i - CALLS;
    }
    for (int i = 0; i < 4 * CALLS; i++) {
        const int64_t n = i / 2 % CALLS + 1;
        cr_assert_null(CALL(i % 2 ? "sum:i64:1:map=3*x" : "sum:i64:1:map=2*x",
                            BUFFER(XLA_S64, in, n, 1), BUFFER(XLA_S64, out, n)));
        for (int64_t k = 0; k < n; k++) {
            cr_assert_eq(out[k], (i % 2 ? 3 : 2) * in[k]);
        }
    }
    return NULL;
}

Test(xla, more_words_than_are_kept)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, call_many, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}
