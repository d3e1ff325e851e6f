/* SPDX-License-Identifier: Apache-2.0 */
/* An engine whose threads are there within one call alone, as ONNX Runtime's and XLA's are. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tally.h>

typedef struct part {
    void (*task)(void *state, int64_t index);
    void *state;
    int64_t index;
} part;

static void *run_part(void *argument)
{
    part *p = argument;
    p->task(p->state, p->index);
    return NULL;
}

/* In place of the engine's pool: a thread for each task but the first. */
static void on_threads(void *user, int64_t count, void (*task)(void *state, int64_t index),
                       void *state)
{
    enum { MOST = 16 };
    part parts[MOST];
    pthread_t threads[MOST];
    int64_t i, started = 1;
    (void)user;
    for (; started < count && started < MOST; started++) {
        parts[started] = (part){ task, state, started };
        if (pthread_create(&threads[started], NULL, run_part, &parts[started]) != 0) {
            break;
        }
    }
    task(state, 0);
    for (i = started; i < count; i++) {
        task(state, i); /* what found no thread */
    }
    for (i = 1; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(void)
{
    static const char *const words[] = { "cumsum:f32:1024x4096:axis=1",
                                         "max:f32:1024x4096:axes=0" };
    enum { ROWS = 1024, COLUMNS = 4096 };
    float *in = calloc(ROWS * COLUMNS, sizeof *in), *out = calloc(ROWS * COLUMNS, sizeof *out);
    tally_descriptor graph[2] = { TALLY_DESCRIPTOR_INIT, TALLY_DESCRIPTOR_INIT };
    tally_context_options options = TALLY_CONTEXT_OPTIONS_INIT;
    tally_run_options lent = TALLY_RUN_OPTIONS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    options.compile = TALLY_COMPILE_BACKGROUND; /* what is not warmed delays no call for long */
    lent.parallel = on_threads;
    if (in == NULL || out == NULL ||
        tally_descriptor_parse(words[0], &graph[0], &error) != TALLY_OK ||
        tally_descriptor_parse(words[1], &graph[1], &error) != TALLY_OK ||
        tally_context_create(&options, &context, &error) != TALLY_OK ||
        tally_context_warm(context, graph, 2, NULL, &error) != TALLY_OK) { /* when it is loaded */
        fprintf(stderr, "%s: %s\n", error.field, error.message);
        return 1;
    }
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        in[i] = 1;
    }
    if (tally_kernel_create(context, &graph[0], NULL, &kernel, &error) != TALLY_OK ||
        tally_kernel_run_with(kernel, in, out, &lent, &error) != TALLY_OK) { /* when it is called */
        fprintf(stderr, "%s: %s\n", error.field, error.message);
    }
    printf("the last row ends with %g\n", out[ROWS * COLUMNS - 1]);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    free(in);
    free(out);
    return error.status != TALLY_OK;
}
