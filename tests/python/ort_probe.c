/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: says of each run whether it is in place, and goes on. */
#include <dlfcn.h>
#include <stdio.h>
#include <tally.h>

tally_status tally_kernel_run_with(const tally_kernel *kernel, const void *in, void *out,
                                   const tally_run_options *options, tally_error *error)
{
    tally_status (*real)(const tally_kernel *, const void *, void *, const tally_run_options *,
                         tally_error *) = NULL;
    void *library = dlopen("libtally.so.0", RTLD_LAZY | RTLD_NOLOAD);
    *(void **)&real = dlsym(library, "tally_kernel_run_with");
    fprintf(stderr, "%s\n", in == out ? "in place" : "apart");
    return real(kernel, in, out, options, error);
}
