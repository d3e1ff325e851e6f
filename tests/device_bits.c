/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_bits PROFILE WORD [PLAN]: runs a kernel for a device that is not here, by the interpreter.
 * f32 come from the standard input, densely, and results go to the standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/descriptor.h>

#include "../runtime/vulkan/profile.h"
#include "engine_grid.h"

enum { LINE = 64 };

static int fail(const char *what, const tally_error *error)
{
    fprintf(stderr, "device_bits: %s: %s\n", what, error ? error->message : "cannot be read");
    return 1;
}

/* Zeros, aligned as a device's memory is. */
static float *room_for(int64_t count)
{
    const size_t bytes = ((size_t)count * sizeof(float) / LINE + 2) * LINE;
    float *room = aligned_alloc(LINE, bytes);
    return room ? memset(room, 0, bytes) : NULL;
}

static int64_t count_of(const tally_descriptor *d)
{
    int64_t count = 1;
    for (int32_t i = 0; i < d->rank; i++) {
        count *= d->sizes[i];
    }
    return count;
}

/* Of a scan all elements; a reduction's results are fewer. */
static int64_t results_of(const tally_descriptor *d)
{
    int64_t count = 1;
    for (int32_t i = 0; i < d->rank; i++) {
        count *= d->axes_given && !(d->axes >> i & 1) ? d->sizes[i] : 1;
    }
    return d->op == TALLY_SUM ? count : count_of(d);
}

static int run(tly_engine *engine, const tally_descriptor *d, const char *plan)
{
    tally_error error = TALLY_ERROR_INIT;
    const size_t count = (size_t)count_of(d), results = (size_t)results_of(d);
    float *in = room_for((int64_t)count), *out = room_for((int64_t)count);
    const tally_buffers buffers = tly_buffers(in, out);
    int status = 1;
    if (in && out && fread(in, sizeof *in, count, stdin) == count) {
        status = engine->prepare(engine, d, plan, &error) ||
                         engine->run(engine, &buffers, 1, &error)
                     ? fail("the kernel", &error)
                     : fwrite(out, sizeof *out, results, stdout) != results;
    }
    free(in);
    free(out);
    return status;
}

int main(int argc, char **argv)
{
    static char text[1 << 16];
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tly_profile profile;
    FILE *file = argc > 2 ? fopen(argv[1], "re") : NULL;
    if (!file) {
        return fail("the profile", NULL);
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    if (tly_profile_parse(text, &profile, &error)) {
        return fail(argv[1], &error);
    }
    if (tally_descriptor_parse(argv[2], &d, &error)) {
        return fail(argv[2], &error);
    }
    tly_engine *engine = tly_engine_grid(&profile.caps, &error);
    if (!engine) {
        return fail("the interpreter", &error);
    }
    const int status = run(engine, &d, argc > 3 ? argv[3] : "");
    engine->close(engine);
    return status;
}
