/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Little address space: under every limit from nothing to enough a first kernel is made, or the
 * status says that there is no room, and the same creation works when the limit is gone. And what a
 * process loads: one that makes kernels for CPUs never opens libtally-spirv.
 *
 *   room [PROFILE]
 */
#include <tally.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

static int made, refused;

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%zu", &pages) != 1) {
        return 0;
    }
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static tally_status make(tally_context *context, const char *word, tally_error *error)
{
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    tally_status status = tally_descriptor_parse(word, &d, error);
    if (status == TALLY_OK) {
        status = tally_kernel_create(context, &d, NULL, &kernel, error);
    }
    tally_kernel_destroy(&kernel);
    return status;
}

enum { MADE, REFUSED, WRONG };

/* In a child: with so many bytes of address space beyond what it has. */
static int under_limit(size_t more)
{
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    struct rlimit limit, before;
    if (tally_context_create(NULL, &context, &error) != TALLY_OK ||
        getrlimit(RLIMIT_AS, &before) != 0) {
        return WRONG;
    }
    limit = before;
    limit.rlim_cur = address_space() + more;
    setrlimit(RLIMIT_AS, &limit);
    tally_status status = make(context, "cumprod:f32:4096x4096:axis=1", &error);
    setrlimit(RLIMIT_AS, &before);
    /* The dynamic linker says itself why it opens nothing. */
    if (status != TALLY_OK && status != TALLY_OUT_OF_MEMORY && status != TALLY_NO_GENERATOR) {
        printf("%s: %s\n", tally_status_name(status), error.message);
        return WRONG;
    }
    tally_error again = TALLY_ERROR_INIT;
    if (make(context, "cumprod:f32:4096x4096:axis=1", &again) != TALLY_OK) {
        printf("without a limit: %s, after: %s\n", again.message, error.message);
        return WRONG;
    }
    tally_context_destroy(&context);
    return status == TALLY_OK ? MADE : REFUSED;
}

static void try_limit(size_t more)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int how = under_limit(more);
        fflush(stdout);
        _exit(how);
    }
    int how = 0;
    waitpid(child, &how, 0);
    EXPECT(WIFEXITED(how) && WEXITSTATUS(how) < WRONG, "%zu bytes: %s %d", more,
           WIFEXITED(how) ? "status" : "signal", WIFEXITED(how) ? WEXITSTATUS(how) : WTERMSIG(how));
    made += WIFEXITED(how) && WEXITSTATUS(how) == MADE;
    refused += WIFEXITED(how) && WEXITSTATUS(how) == REFUSED;
}

static int is_loaded(const char *name)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        found |= strstr(line, name) != NULL;
    }
    fclose(maps);
    return found;
}

static int no_text(void *user, const char *text, size_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 0;
}

static void what_is_loaded(const char *profile)
{
    tally_kernel_options options = { .size = sizeof options, .profile = profile };
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_descriptor d;
    tally_context_create(NULL, &context, NULL);
    EXPECT(!is_loaded("libtally-codegen"), "libtally-codegen is opened before it is needed");
    EXPECT(make(context, "cumsum:i32:100:axis=0", &error) == TALLY_OK, "%s", error.message);
    EXPECT(is_loaded("libtally-llvm") && !is_loaded("libtally-spirv"),
           "not what a kernel for a CPU needs");
    tally_descriptor_parse("cumsum:i32:100:axis=0", &d, NULL);
    if (profile[0] != 0) {
        EXPECT(tally_inspect(context, &d, &options, TALLY_STAGE_SPIRV, no_text, NULL, &error) ==
                   TALLY_OK,
               "%s", error.message);
        EXPECT(is_loaded("libtally-spirv"), "who has validated?");
    }
    tally_context_destroy(&context);
}

static char profile[1 << 16];

int main(int argc, char **argv)
{
    enum { MOST = 160 << 20, STEP = 3000000, FINE = 100000 };
    FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
    if (file != NULL) {
        profile[fread(profile, 1, sizeof profile - 1, file)] = 0;
        fclose(file);
    }
    for (size_t more = 0; more < MOST && failures < 10; more += STEP) {
        const int before = made;
        try_limit(more);
        /* Closer where it begins to suffice: there LLVM runs short while it works. */
        for (size_t fine = 0; before == 0 && made == 1 && fine < 30; fine++) {
            try_limit(more - STEP + fine * FINE);
        }
    }
    EXPECT(made > 10 && refused > 10, "%d made, %d refused", made, refused);
    what_is_loaded(profile);
    printf("%d made, %d refused, %d failures\n", made, refused, failures);
    return failures != 0;
}
