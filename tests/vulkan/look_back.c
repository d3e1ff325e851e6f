/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that wait for each other: look-back on SwiftShader, whose workgroups run side by side on as
 * many threads as SwiftShader.ini says, fewer or more than there are cores. Every run gives the
 * same bits, whatever the threads, and with every third tile stalled on purpose. A tile that waits
 * for ever ends the program as a failure.
 *
 * One process for each count of threads, as drivers read their settings once; this process has no
 * device, because drivers do not survive a fork.
 *
 *     look_back [RUNS [all]]
 *
 * RUNS of each kernel (20). Kernels of more than 2^20 tiles run on two threads only, unless `all`
 * is given. With 16 threads on two cores each tile that waits burns its time slice: on SwiftShader
 * and Zen 4 one run of 4,194,500 i32 takes 21 s, and a stalled one was not done after 20 minutes.
 */
#include "bed.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { SECONDS = 400, TILE = 128 };
static int runs = 20, all_counts;
/* Cases of more bytes are those of many tiles. They run twice: as they are, and stalled. */
enum { LARGE = 1 << 23, FEW = 2 };

static const int thread_counts[] = { 1, 2, 16 };
enum { COUNTS = sizeof thread_counts / sizeof thread_counts[0] };

/* Tiles are few where threads may outnumber cores: one that waits there burns its time slice. */
static const struct {
    const char *word, *plan;
    tly_data data;
    int bumps; /* some tiles leave the range */
} cases[] = {
    { "cumprod:f32:200000:axis=0", "workgroup=128,segments=4", TLY_DATA_BENIGN, 1 },
    { "cumprod:f32:20011:axis=0,reverse", "workgroup=32,segments=1", TLY_DATA_BENIGN, 1 },
    { "cumprod:f32:6007:axis=0,exclusive", "workgroup=16,segments=1", TLY_DATA_SPECIAL, 0 },
    { "cumprod:f32:9001:axis=0", "workgroup=4,segments=4", TLY_DATA_RANGE, 0 },
    { "cumsum:f32:200000:axis=0", "workgroup=128,segments=4,scan=1", TLY_DATA_SIGNED, 0 },
    { "cumsum:f32:3x3011:axis=1", "workgroup=32,segments=1", TLY_DATA_RANGE, 0 },
    { "cumsum:i32:200000:axis=0,exclusive", "workgroup=128,segments=2", TLY_DATA_BITS, 0 },
    { "cumsum:i32:5003:axis=0", "workgroup=4,segments=4", TLY_DATA_BITS, 0 },
    { "cumprod:u32:10007:axis=0", "workgroup=32,segments=1,scan=1", TLY_DATA_BENIGN, 0 },
    { "cumprod:f32:20011:axis=0", "workgroup=16,segments=2", TLY_DATA_ZEROS, 0 },
    { "cumprod:f32:20011:axis=0", "workgroup=16,segments=2", TLY_DATA_DECAY, 0 },
    { "cumprod:f32:20011:axis=0,exclusive", "workgroup=16,segments=2", TLY_DATA_GROW, 0 },
    { "cumsum:f32:9001:axis=0", "workgroup=32,segments=1", TLY_DATA_SPECIAL, 0 },
    /* Along lanes: those with a team. */
    { "cumprod:f32:2003x3:axis=0", "team=3,workgroup=32,segments=4", TLY_DATA_RANGE, 0 },
    { "cumprod:f32:1501x20:axis=0,exclusive", "team=20,workgroup=64,segments=8", TLY_DATA_DECAY,
      0 },
    { "cumprod:f32:801x17:axis=0,reverse", "team=16,workgroup=32,segments=16", TLY_DATA_SPECIAL,
      0 },
    { "cumprod:f32:2003x5:axis=0", "team=5,workgroup=16,segments=8", TLY_DATA_GROW, 0 },
    { "cumsum:f32:3x601x7:axis=1", "team=7,workgroup=32,segments=8", TLY_DATA_SIGNED, 0 },
    { "cumsum:f32:701x33:axis=0", "team=17,workgroup=64,segments=8", TLY_DATA_RANGE, 0 },
    { "cumsum:i32:3001x4:axis=0,exclusive", "team=4,workgroup=16,segments=16", TLY_DATA_BITS, 0 },
    { "cummax:f32:801x40:axis=0", "team=20,workgroup=64,segments=8", TLY_DATA_SPECIAL, 0 },
    /* Recurrences, whose order must be kept. */
    { "linrec:f32:20011:axis=0,coef=x", "workgroup=32,segments=1", TLY_DATA_SIGNED, 0 },
    { "linrec:f32:9001:axis=0,coef=1-x,exclusive", "workgroup=16,segments=2", TLY_DATA_RANGE, 0 },
    { "linrec:f32:9001:axis=0,coef=x,reverse", "workgroup=16,segments=2", TLY_DATA_SPECIAL, 0 },
    { "linrec:i32:20011:axis=0,coef=x+1", "workgroup=128,segments=2", TLY_DATA_BITS, 0 },
    { "linrec:f32:2003x3:axis=0,coef=x", "team=3,workgroup=32,segments=4", TLY_DATA_SIGNED, 0 },
    { "linrec:f32:801x17:axis=0,coef=-x,exclusive", "team=16,workgroup=32,segments=16",
      TLY_DATA_SPECIAL, 0 },
    { "linrec:f32:2003x5:axis=0,coef=x", "team=5,workgroup=16,segments=8", TLY_DATA_GROW, 0 },
    { "linrec:i32:3001x4:axis=0,coef=x", "team=4,workgroup=16,segments=16", TLY_DATA_BITS, 0 },
    /* More than 2^20 tiles, the smallest there are: four elements. */
    { "cumsum:i32:4194500:axis=0", "workgroup=4,vector=1,segments=1", TLY_DATA_BITS, 0 },
    { "cumprod:f32:4194500:axis=0", "workgroup=4,vector=1,segments=1", TLY_DATA_RANGE, 0 },
    { "cumsum:i32:2097250x2:axis=0", "team=2,workgroup=4,segments=1", TLY_DATA_BITS, 0 },
};
enum { CASES = sizeof cases / sizeof cases[0], MANY_TILES = 3 };

/* What the processes leave. */
typedef struct shared {
    uint64_t bits[COUNTS][CASES]; /* a hash of the result */
    int tasks[COUNTS];            /* threads of the process while the device is open */
} shared;

static uint64_t hash(const char *bytes, size_t count)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t k = 0; k < count; k++)
        h = (h ^ (unsigned char)bytes[k]) * 0x100000001b3;
    return h;
}

static int count_tasks(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    if (!folder)
        return 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* Now and then a huge factor, and a tiny one soon after. */
static void fill_bumps(tly_case *c)
{
    float *in = (float *)(void *)c->in;
    tly_random r = tly_random_seed(7, 7);
    for (int64_t i = 0; i + 200 < c->l.length; i += 200 + tly_random_below(&r, 3000)) {
        in[i] *= 0x1p80f;
        in[i + 1 + tly_random_below(&r, 100)] *= 0x1p-80f;
    }
}

/* Tiles whose partial products leave the range in which others may combine them publish classes in
 * place of totals. There must be some, and not only such. */
static void expect_classes(const tly_case *c, int tile)
{
    const float *in = (const float *)(const void *)c->in;
    int bad = 0, tiles = 0;
    for (int64_t from = 0; from + tile <= c->l.length; from += tile, tiles++) {
        double local = 0, low = 0, high = 0;
        for (int k = 0; k < tile; k++) {
            local += log2(fabs(in[from + k]));
            low = fmin(low, local);
            high = fmax(high, local);
        }
        bad += low < -62 || high > 62;
    }
    tly_expect(bad >= 4 && bad <= tiles - 4, "%s: %d of %d tiles out of range: tests nothing",
               c->word, bad, tiles);
}

static void run_case(const tly_case *c, tally_vulkan *v, const char *choices, uint64_t *bits)
{
    char plan[80], label[120];
    const int lanes = strstr(choices, "team=") != NULL;
    const int turns = c->in_bytes > LARGE ? FEW : runs;
    snprintf(plan, sizeof plan, "template=look_back%s,%s%s", lanes ? "_lanes" : "", choices,
             lanes || strstr(choices, "vector=") ? "" : ",vector=4");
    snprintf(label, sizeof label, "'%s'", plan);
    char *first = tly_case_result(c, v, plan, 0), *again = tly_case_blank(c);
    tally_vulkan_kernel *kernels[2] = { tly_case_kernel(c, v, plan, 0),
                                        tly_case_kernel(c, v, plan, TLY_GPU_STALL) };
    if (!first || !kernels[0] || !kernels[1])
        exit(1);
    tally_vulkan_facts facts = { .size = sizeof facts };
    tally_vulkan_kernel_facts(kernels[0], &facts);
    tly_expect(!strcmp(facts.template_name, lanes ? "look_back_lanes" : "look_back"),
               "%s %s: template %s", c->word, label, facts.template_name);
    tly_case_right(c, first, tly_bed_flushes(v), 0, label);
    for (int run = 0; run < turns; run++) {
        snprintf(label, sizeof label, "'%s', %srun %d", plan, run % 2 ? "stalled, " : "", run);
        memset(again, 0xa5, c->out_bytes);
        if (tly_case_run(c, kernels[run % 2], again))
            tly_expect(!memcmp(first, again, c->out_bytes), "%s %s: other bits", c->word, label);
    }
    *bits = hash(first, c->out_bytes);
    for (int k = 0; k < 2; k++)
        tally_vulkan_kernel_destroy(&kernels[k]);
    free(first);
    free(again);
}

static int write_settings(const char *folder, int threads)
{
    FILE *file = chdir(folder) ? NULL : fopen("SwiftShader.ini", "w");
    if (!file)
        return -1;
    fprintf(file, "[Processor]\nThreadCount=%d\n", threads);
    return fclose(file);
}

static int run_threads(const char *folder, int index, shared *all)
{
    char name[40];
    if (!all_counts)
        alarm(SECONDS); /* a tile that waits for ever */
    if (!tly_expect(!write_settings(folder, thread_counts[index]), "no settings in %s", folder))
        return 1;
    tally_context *context = tly_bed_context();
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    for (int k = 0; k < CASES; k++) {
        tly_case c;
        tly_case_make(&c, cases[k].word, cases[k].data, 11 + (uint64_t)k);
        if (cases[k].bumps) {
            fill_bumps(&c);
            expect_classes(&c, k == 0 ? 2048 : 128);
        }
        if (c.in_bytes <= LARGE || thread_counts[index] == 2 || all_counts)
            run_case(&c, v, cases[k].plan, &all->bits[index][k]);
        all->tasks[index] = count_tasks();
        tly_case_end(&c);
    }
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    snprintf(name, sizeof name, "look-back, %d threads", thread_counts[index]);
    return tly_bed_end(name, (CASES - MANY_TILES) * runs);
}

static void in_child(const char *folder, int index, shared *all)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        status = run_threads(folder, index, all);
        fflush(stdout);
        _exit(status);
    }
    const int there = child > 0 && waitpid(child, &status, 0) == child;
    tly_expect(there && WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d threads: %s %d",
               thread_counts[index], WIFSIGNALED(status) ? "signal" : "exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/tally-look-back-XXXXXX", file[sizeof folder + 20];
    shared *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                       0);
    if (all == MAP_FAILED || !mkdtemp(folder))
        return 2;
    if (argc > 1)
        runs = (int)strtol(argv[1], NULL, 10);
    all_counts = argc > 2 && !strcmp(argv[2], "all");
    for (int k = 0; k < COUNTS; k++) {
        in_child(folder, k, all);
        tly_expect(all->tasks[k] - all->tasks[0] == thread_counts[k] - thread_counts[0],
                   "%d threads were asked for: %d tasks, %d with one", thread_counts[k],
                   all->tasks[k], all->tasks[0]);
        for (int c = 0; c < CASES; c++)
            tly_expect(all->bits[k][c] == all->bits[0][c] ||
                           (c >= CASES - MANY_TILES && !all_counts),
                       "%s '%s': %d threads give other bits than one", cases[c].word, cases[c].plan,
                       thread_counts[k]);
    }
    snprintf(file, sizeof file, "%s/SwiftShader.ini", folder);
    unlink(file);
    rmdir(folder);
    return tly_bed_end("look-back", COUNTS * CASES);
}
