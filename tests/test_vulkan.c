/* Running on a Vulkan device, through the public API, with a generator of one kernel. */
#include "fake_gpu.h"

#include "../runtime/vulkan/internal.h"

#include <criterion/criterion.h>

static tally_context *make_context(void)
{
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    tly_context_set_generator(context, &fake_gpu_generator);
    return context;
}

static tally_kernel *make_kernel(tally_context *context, const char *word, const char *plan,
                                 tally_error *error)
{
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    tally_kernel_options options = { .size = sizeof options, .device = "vulkan:0", .plan = plan };
    cr_assert_eq(tally_descriptor_parse(word, &d, error), TALLY_OK, "%s", error->message);
    tally_kernel_create(context, &d, &options, &kernel, error);
    return kernel;
}

Test(vulkan, runs_on_host_memory)
{
    tally_context *context = make_context();
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *k = make_kernel(context, "cumsum:f32:100x70:axis=0", NULL, &error);
    cr_assert_not_null(k, "%s", error.message);
    static float in[7000], out[7000];
    for (int i = 0; i < 7000; i++) {
        in[i] = (float)(i % 13);
    }
    cr_assert_eq(tally_kernel_run(k, in, out, &error), TALLY_OK, "%s", error.message);
    for (int lane = 0; lane < 70; lane++) {
        float sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += in[70 * i + lane];
            cr_assert_eq(out[70 * i + lane], sum, "%d %d %g %g", i, lane, out[70*i+lane], sum);
        }
    }
    tally_kernel_destroy(&k);
    tally_context_destroy(&context);
}
