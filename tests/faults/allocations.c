/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The N-th allocation fails, for every N until all goes well, once or from there on, on every path
 * through the library. The status says so with a message, nothing is written, nothing leaks (under
 * AddressSanitizer), and the same path works when memory is back. Of the allocations of LLVM and
 * SPIRV-Tools every STRIDE-th fails: each costs a whole creation. `allocations --all` takes all.
 *
 * Runs with fail_alloc preloaded, or, built with FAULT_LINKED, with fail_wrap.c and the library's
 * insides linked: then what is opened is left in peace, and the generator's own parts are those of
 * this program. Before a first creation the process is forked, so that the
 * generator is opened anew for each N.
 */
#include "fail_alloc.h"

#include <tally.h>

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

#ifdef FAULT_LINKED
#include "../../runtime/context/internal.h"
const tly_generator *tally_codegen_generator(void);
extern const fault_functions fault_linked;
#endif

/* There in sanitizer builds. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static fault_functions fault;

enum { LENGTH = 40000, UNTOUCHED = 0x5a };

static int32_t in[LENGTH], out[LENGTH];

/* What a path does; `argument` is a word, or what else it wants. Ends whatever it began. */
typedef tally_status (*step)(const char *argument, tally_error *error);

/* --- paths ----------------------------------------------------------------------------------- */

static tally_status words(const char *word, tally_error *error)
{
    tally_descriptor d;
    char text[TALLY_WORD_MAX];
    const int64_t sizes[2] = { 3, 4 };
    tally_status status = tally_descriptor_parse(word, &d, error);
    if (status == TALLY_OK) {
        status = tally_descriptor_print(&d, text, sizeof text, NULL, error);
    }
    return status == TALLY_OK ? tally_word_complete("cumsum:axis=0", "f32", 2, sizes, text,
                                                    sizeof text, NULL, NULL, error)
                              : status;
}

static tally_status context_alone(const char *unused, tally_error *error)
{
    (void)unused;
    tally_context_options options = { .size = sizeof options, .generator = "/a/path" };
    tally_context *context = NULL;
    tally_status status = tally_context_create(&options, &context, error);
    tally_context_destroy(&context);
    return status;
}

static const char *device;      /* NULL: this CPU */
static const char *folder = ""; /* of the disk cache */

/* Makes a kernel and runs it with four threads. */
static tally_status make_and_run(const char *word, tally_error *error)
{
    tally_context_options options = { .size = sizeof options,
                                      .threads = 4,
                                      .cache_folder = folder };
    tally_context *context = NULL;
    tally_kernel_options on = { .size = sizeof on, .device = device };
    tally_kernel *kernel = NULL;
    tally_descriptor d;
    tally_status status = tally_descriptor_parse(word, &d, error);
    if (status == TALLY_OK) {
        status = tally_context_create(&options, &context, error);
    }
    if (status == TALLY_OK) {
        status = tally_kernel_create(context, &d, &on, &kernel, error);
    }
    if (status == TALLY_OK) {
        status = tally_kernel_run(kernel, in, out, error);
    }
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return status;
}

/* The same with the kernels of a gradient. What is on the way to its result is not looked at. */
static tally_status make_and_differentiate(const char *word, tally_error *error)
{
    tally_context_options options = { .size = sizeof options, .threads = 4, .cache_folder = "" };
    tally_context *context = NULL;
    tally_gradient_kernel *kernel = NULL;
    tally_gradient_buffers buffers = TALLY_GRADIENT_BUFFERS_INIT;
    tally_descriptor d;
    tally_status status = tally_descriptor_parse(word, &d, error);
    buffers.x = buffers.g = in;
    buffers.out = out;
    if (status == TALLY_OK) {
        status = tally_context_create(&options, &context, error);
    }
    if (status == TALLY_OK) {
        status = tally_gradient_kernel_create(context, &d, TALLY_SOURCE_X, NULL, &kernel, error);
    }
    if (status == TALLY_OK) {
        status = tally_gradient_kernel_run(kernel, &buffers, NULL, error);
    }
    tally_gradient_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return status;
}

/* The same with a disk cache, where the kernel lies after the first time: what fails there is only
 * a miss. */
static char own[] = P_tmpdir "/tally-allocations-XXXXXX";
static int there;

static tally_status make_or_find(const char *word, tally_error *error)
{
    there = there || mkdtemp(own) != NULL;
    folder = own;
    tally_status status = make_and_run(word, error);
    folder = "";
    return status;
}

static tally_status look_after(const char *unused, tally_error *error)
{
    (void)unused;
    char path[PATH_MAX];
    tally_status status = tally_cache_path("a/folder", path, sizeof path, error);
    return status == TALLY_OK ? tally_cache_clear(path, NULL, error) : status;
}

static tally_status devices(const char *unused, tally_error *error)
{
    (void)unused;
    tally_device list[4];
    list[0].size = sizeof list[0];
    return tally_devices(list, 4, NULL, error);
}

static int no_text(void *user, const char *text, size_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 0;
}

/* A word's descriptor, and a context that inspects. */
static tally_status begin(const char *word, tally_descriptor *d, tally_context **context,
                          tally_error *error)
{
    tally_status status = tally_descriptor_parse(word, d, error);
    if (status == TALLY_OK) {
        status = tally_context_create(NULL, context, error);
    }
#ifdef FAULT_LINKED
    if (status == TALLY_OK) {
        tly_context_set_generator(*context, tally_codegen_generator());
    }
#endif
    return status;
}

static tally_status inspect(const char *word, const tally_kernel_options *options,
                            tally_stage first, tally_stage last, tally_error *error)
{
    tally_context *context = NULL;
    tally_descriptor d;
    tally_status status = begin(word, &d, &context, error);
    for (int stage = (int)first; stage <= (int)last && status == TALLY_OK; stage++) {
        status = tally_inspect(context, &d, options, (tally_stage)stage, no_text, NULL, error);
    }
    tally_context_destroy(&context);
    return status;
}

#ifndef FAULT_LINKED
static tally_status inspect_cpu(const char *word, tally_error *error)
{
    return inspect(word, NULL, TALLY_STAGE_WORD, TALLY_STAGE_ASM, error);
}
#endif

static tally_status inspect_kir(const char *word, tally_error *error)
{
    tally_kernel_options options = { .size = sizeof options, .device = "cpu:x86-64-v2" };
    return inspect(word, &options, TALLY_STAGE_WORD, TALLY_STAGE_KIR, error);
}

/* A kernel from text, printed and run. */
static tally_status kernel_ir(const char *word, tally_error *error)
{
    static const char text[] = "kernel k {\n%1 : i64 = const 0\n%2 : i64 = const 4\n"
                               "%3 : ptr = arg out\n%4 : i64 = for %5 = %1 to %2 step %2 with "
                               "%6 : i64 = %1 {\nyield %5\n}\nstore %3, %4, align 8\n"
                               "return %4\n}\n";
    static int64_t in[64], out[64];
    tally_context *context = NULL;
    tally_descriptor d;
    tally_status status = begin(word, &d, &context, error);
    if (status == TALLY_OK) {
        status = tally_kir_inspect(context, text, strlen(text), NULL, TALLY_STAGE_KIR, no_text,
                                   NULL, error);
    }
    if (status == TALLY_OK) {
        status = tally_kir_run(context, text, strlen(text), &d, NULL, in, out, 0, error);
    }
    tally_context_destroy(&context);
    return status;
}

static char profile[1 << 16]; /* empty where kernels for Vulkan are not made */

static tally_status inspect_gpu(const char *word, tally_error *error)
{
    tally_kernel_options options = { .size = sizeof options, .profile = profile };
    tally_status status = inspect(word, &options, TALLY_STAGE_WORD, TALLY_STAGE_KIR, error);
#ifndef FAULT_LINKED /* SPIRV-Tools would be linked, too, without their reserve */
    if (status == TALLY_OK) {
        status = inspect(word, &options, TALLY_STAGE_SPIRV, TALLY_STAGE_SPVASM, error);
    }
#endif
    return status;
}

#ifndef FAULT_LINKED
static tally_status manifest(const char *word, tally_error *error)
{
    tally_kernel_options options = { .size = sizeof options, .profile = profile };
    tally_context *context = NULL;
    tally_manifest *made = NULL;
    tally_descriptor d;
    tally_status status = tally_descriptor_parse(word, &d, error);
    if (status == TALLY_OK) {
        status = tally_context_create(NULL, &context, error);
    }
    if (status == TALLY_OK) {
        status = tally_manifest_create(context, &d, &options, &made, error);
    }
    tally_manifest_destroy(&made);
    tally_context_destroy(&context);
    return status;
}
#endif

/* --- one allocation after the other ---------------------------------------------------------- */

static void check(const char *name, const char *argument, tally_status status,
                  const tally_error *error, long n)
{
    if (status == TALLY_OK) {
        return;
    }
    /* NO_GENERATOR: the dynamic linker says why, and says it well enough. */
    EXPECT(status == TALLY_OUT_OF_MEMORY || status == TALLY_NO_GENERATOR,
           "%s %s, allocation %ld: %s: %s", name, argument, n, tally_status_name(status),
           error->message);
    EXPECT(error->status == (int32_t)status && error->message[0] != 0 && error->field[0] != 0,
           "%s %s, allocation %ld: no message", name, argument, n);
    for (int i = 0; i < LENGTH; i++) {
        if (((const unsigned char *)out)[4 * (size_t)i] != UNTOUCHED) {
            EXPECT(0, "%s %s, allocation %ld: it wrote", name, argument, n);
            return;
        }
    }
}

/* Whether the N-th allocation was reached. */
static int fail_nth(const char *name, step path, const char *argument, long n, int on, int which)
{
    tally_error error = TALLY_ERROR_INIT;
    memset(out, UNTOUCHED, sizeof out);
    fault.arm(n, on, which);
    tally_status status = path(argument, &error);
    const long counted = fault.disarm();
    check(name, argument, status, &error, n);
    EXPECT(counted > n || status == TALLY_OK, "%s %s: %s: %s, and nothing failed", name, argument,
           tally_status_name(status), error.message);
    if (counted > n && n % 16 == 0) {
        tally_error again = TALLY_ERROR_INIT;
        EXPECT(path(argument, &again) == TALLY_OK, "%s %s, after allocation %ld failed: %s", name,
               argument, n, again.message);
    }
    return counted > n;
}

#ifndef FAULT_LINKED
/* The same in a child, for what a process does once. */
static int fail_nth_anew(const char *name, step path, const char *argument, long n, int on,
                         int which)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        int reached = fail_nth(name, path, argument, n, on, which);
        fflush(stdout);
        _exit(failures > 0 ? 2 : !reached);
    }
    int how = 0;
    waitpid(child, &how, 0);
    EXPECT(WIFEXITED(how) && WEXITSTATUS(how) < 2, "%s %s, allocation %ld%s of kind %d: %s %d",
           name, argument, n, on ? " and all that follow" : "", which,
           WIFEXITED(how) ? "exit" : "signal", WIFEXITED(how) ? WEXITSTATUS(how) : WTERMSIG(how));
    return WIFEXITED(how) && WEXITSTATUS(how) != 1;
}
#endif

typedef int (*injector)(const char *, step, const char *, long, int, int);

static long fail_each(const char *name, step path, const char *argument, injector inject, int which,
                      long stride)
{
    long points = 0;
    for (int on = 0; on < 2; on++) {
        long n = 0;
        while (inject(name, path, argument, n, on, which) && failures < 20) {
            n += stride;
            points++;
        }
    }
    return points;
}

/* --- all ------------------------------------------------------------------------------------- */

enum { STRIDE = 4001 };

#ifdef FAULT_LINKED
#define LEAST(preloaded, linked) linked
#define ANEW fail_nth /* what a leak checker sees in a child that ends at once is nothing */
#define CPU_STAGES inspect_kir
#else
#define LEAST(preloaded, linked) preloaded
#define ANEW fail_nth_anew
#define CPU_STAGES inspect_cpu
#endif

/* With a Vulkan device in TALLY_TEST_DEVICES. What libc and the dynamic linker allocate, they do
 * for drivers, too, which are not ours to judge. Children first: none may use Vulkan after its
 * parent. */
static int on_device(void)
{
    static const char word[] = "cumsum:i32:4000:axis=0";
    const int which = FAULT_OURS | FAULT_MAPS;
    long first = fail_each(device, make_and_run, word, ANEW, which, 1);
    long later = fail_each(device, make_and_run, word, fail_nth, which, 1);
    EXPECT(first > 60 && later > 60, "%s: only %ld and %ld allocations", device, first, later);
    printf("%s %s: %ld and %ld of ours\n%d failures\n", device, word, first, later, failures);
    return failures != 0;
}

static const struct {
    const char *name;
    step path;
    const char *argument;
    injector inject;
    int least; /* allocations of ours and the system's that must have failed */
    int gpu;
} paths[] = {
    { "words", words, "cumsum:i32:3x4:axis=1,in=1x3", fail_nth, 0, 0 },
    { "context", context_alone, "", fail_nth, LEAST(6, 6), 0 },
    { "devices", devices, "", fail_nth, 0, 0 },
    { "first kernel", make_and_run, "cumsum:i32:40000:axis=0", ANEW, LEAST(40, 10), 0 },
    { "kernel", make_and_run, "cumsum:i32:40000:axis=0", fail_nth, LEAST(20, 10), 0 },
    { "kernel", make_and_run, "cumprod:i32:100x400:axis=0", fail_nth, LEAST(20, 10), 0 },
    { "kernel", make_and_run, "cumsum:i32:200x200:axis=0,in=1x200", fail_nth, LEAST(20, 10), 0 },
    { "kernel", make_and_run, "sum:i32:40000", fail_nth, LEAST(20, 10), 0 },
    { "gradient", make_and_differentiate, "cumprod:f32:100x400:axis=1", fail_nth, LEAST(40, 20),
      0 },
    { "inspect", inspect_kir, "argmax:f32:100x333:axes=0", fail_nth, LEAST(20, 20), 0 },
    { "kernel IR", kernel_ir, "cumsum:i64:64:axis=0", fail_nth, LEAST(20, 20), 0 },
    { "kernel on disk", make_or_find, "cumsum:i32:300x100:axis=1", fail_nth, LEAST(20, 10), 0 },
    { "disk cache", look_after, "", fail_nth, LEAST(2, 0), 0 },
    { "inspect", inspect_kir, "cumprod:bf16:100x333:axis=1,reverse", fail_nth, LEAST(20, 20), 0 },
    { "inspect", CPU_STAGES, "cumprod:f32:30x40:axis=1", fail_nth, LEAST(20, 20), 0 },
    { "first inspect", inspect_gpu, "cumprod:f32:300x400:axis=1", ANEW, LEAST(40, 20), 1 },
    { "inspect", inspect_gpu, "cumsum:i32:30:axis=0", fail_nth, LEAST(40, 20), 1 },
#ifndef FAULT_LINKED
    { "manifest", manifest, "sum:i32:300x40:axes=0", fail_nth, 20, 1 },
#endif
};

static int read_profile(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    profile[fread(profile, 1, sizeof profile - 1, file)] = 0;
    fclose(file);
    return profile[0] != 0;
}

int main(int argc, char **argv)
{
    long stride = argc > 1 && strcmp(argv[1], "--all") == 0 ? 1 : STRIDE;
    const char *with = argc > 1 ? argv[argc - 1] : "";
#ifdef FAULT_LINKED
    fault = fault_linked;
#else
    if (!fault_find(&fault)) {
        puts("allocations: fail_alloc is not preloaded");
        return 2;
    }
#endif
    device = getenv("TALLY_TEST_DEVICES");
    if (device != NULL) {
        return on_device();
    }
    const int gpu = read_profile(with);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && failures < 20; i++) {
        if (paths[i].gpu && !gpu) {
            continue;
        }
        long points = fail_each(paths[i].name, paths[i].path, paths[i].argument, paths[i].inject,
                                FAULT_OURS | FAULT_SYSTEM | FAULT_MAPS, 1);
        long theirs = fail_each(paths[i].name, paths[i].path, paths[i].argument, paths[i].inject,
                                FAULT_THEIRS, stride);
        EXPECT(points >= paths[i].least, "%s %s: only %ld allocations", paths[i].name,
               paths[i].argument, points);
        EXPECT(__lsan_do_recoverable_leak_check == NULL || __lsan_do_recoverable_leak_check() == 0,
               "%s %s: memory is lost", paths[i].name, paths[i].argument);
        printf("%s %s: %ld of ours and the system's, %ld of LLVM and SPIRV-Tools\n", paths[i].name,
               paths[i].argument, points, theirs);
        fflush(stdout);
    }
    tally_cache_clear(own, NULL, NULL);
    rmdir(own);
    printf("%d failures\n", failures);
    return failures != 0;
}
