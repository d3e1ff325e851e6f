/*
 * The clock of the C competitors: calls one of them `count` times in a row and returns the seconds
 * of a call. In C, because a call through Python's ctypes costs a hundred times what a small
 * kernel takes.
 */
#include <stdint.h>
#include <time.h>

#include <tally/kernel.h>

struct loop_shape;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double repeat_loop(void (*run)(const void *, void *, const struct loop_shape *), const void *in,
                   void *out, const struct loop_shape *shape, int64_t count)
{
    double start = now();
    for (int64_t i = 0; i < count; i++)
        run(in, out, shape);
    return (now() - start) / (double)count;
}

/* `run` is tally_kernel_run_threads. Negative, the status, if it failed. */
double repeat_kernel(tally_status (*run)(const tally_kernel *, const void *, void *, int32_t,
                                         tally_error *),
                     const tally_kernel *kernel, const void *in, void *out, int32_t threads,
                     int64_t count)
{
    double start = now();
    for (int64_t i = 0; i < count; i++) {
        tally_status status = run(kernel, in, out, threads, 0);
        if (status != TALLY_OK)
            return status;
    }
    return (now() - start) / (double)count;
}

double repeat_copy(int (*run)(int, char *, const char *, uint64_t, int), int index, char *out,
                   const char *in, uint64_t bytes, int threads, int64_t count)
{
    double start = now();
    for (int64_t i = 0; i < count; i++)
        if (run(index, out, in, bytes, threads) != 0)
            return -1;
    return (now() - start) / (double)count;
}
