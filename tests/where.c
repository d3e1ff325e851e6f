/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that holds libtally, or opens it as a library, asks for a kernel and says which
 * libtally-codegen that has brought into the process. tests/test_library.c puts it and the
 * libraries in many places.
 *
 *   where [--library LIBTALLY] [--chdir FOLDER] [--generator PATH]
 *
 * Prints three lines: whether the process has raised privileges, the status and message of the
 * creation, and the path of libtally-codegen or "none". `where --cache` prints the first of them
 * and the folder of the disk cache.
 */
#include <tally.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static struct api {
    tally_status (*parse)(const char *, tally_descriptor *, tally_error *);
    tally_status (*context)(const tally_context_options *, tally_context **, tally_error *);
    tally_status (*kernel)(tally_context *, const tally_descriptor *, const tally_kernel_options *,
                           tally_kernel **, tally_error *);
} api = { tally_descriptor_parse, tally_context_create, tally_kernel_create };

static int open_library(const char *path)
{
    static const char *const names[] = { "tally_descriptor_parse", "tally_context_create",
                                         "tally_kernel_create" };
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found[3];
    for (int i = 0; library != NULL && i < 3; i++) {
        found[i] = dlsym(library, names[i]);
        if (found[i] == NULL) {
            return 0;
        }
    }
    if (library == NULL) {
        puts(dlerror());
        return 0;
    }
    memcpy(&api, found, sizeof api);
    return 1;
}

static int show(struct dl_phdr_info *info, size_t size, void *shown)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (strcmp(slash != NULL ? slash + 1 : info->dlpi_name, "libtally-codegen.so") == 0) {
        puts(info->dlpi_name);
        *(int *)shown = 1;
    }
    return 0;
}

static int show_cache(void)
{
    char path[4096];
    printf("raised %d\n", getauxval(AT_SECURE) != 0);
    if (tally_cache_path(NULL, path, sizeof path, NULL) != TALLY_OK) {
        return 1;
    }
    printf("cache %s\n", path);
    fflush(stdout); /* see below */
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--cache") == 0) {
        return show_cache();
    }
    tally_context_options options = { .size = sizeof options };
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    int shown = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--generator") == 0) {
            options.generator = argv[i + 1];
        } else if (strcmp(argv[i], "--chdir") == 0 ? chdir(argv[i + 1]) != 0
                                                   : !open_library(argv[i + 1])) {
            return 1;
        }
    }
    printf("raised %d\n", getauxval(AT_SECURE) != 0);
    if (api.parse("cumsum:f32:100:axis=0", &descriptor, &error) == TALLY_OK &&
        api.context(&options, &context, &error) == TALLY_OK) {
        api.kernel(context, &descriptor, NULL, &kernel, &error);
    }
    printf("%d %s\n", error.status, error.message);
    dl_iterate_phdr(show, &shown);
    if (!shown) {
        puts("none");
    }
    fflush(stdout); /* a leak checker cannot work with raised privileges, and ends the program */
    return 0;
}
