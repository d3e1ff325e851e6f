/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtally-torch: the CPU kernels of torch.ops.tally in C. tally/torch.py declares the operators,
 * and has all that is not arithmetic: fakes, derivatives, vmap, and kernels that take the place of
 * these where a function of torch's is missing.
 */
#include "call.h"

tly_torch_functions tly_torch;
tally_context *tly_torch_context;

/**
 * Registers the kernels of all operators, which must be declared. Call it once, after torch was
 * imported. Returns NULL, or what is missing: then nothing was registered, unless it names an
 * operator.
 */
TALLY_API const char *tally_torch_start(void);
const char *tally_torch_start(void)
{
    void *cpu = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (cpu == NULL) {
        return "libtorch_cpu.so";
    }
#define FIND(name, arguments, symbol) \
    if (!torch_find(cpu, #symbol, (void *)&tly_torch.name)) { \
        return #symbol; \
    }
    TORCH_FUNCTIONS(FIND)
    FIND(check, , aoti_torch_check)
#define NUMBER(dtype, symbol) \
    if (!torch_number(cpu, #symbol, &tly_torch.dtypes[dtype])) { \
        return #symbol; \
    }
    TORCH_DTYPES(NUMBER)
    if (!torch_number(cpu, "aoti_torch_device_type_cpu", &tly_torch.cpu)) {
        return "aoti_torch_device_type_cpu";
    }
    tly_torch.dtypes[TALLY_DTYPE_NONE] = -1;
    torch_library *library = NULL;
    if (tally_context_shared(&tly_torch_context, NULL) != TALLY_OK) {
        return "memory";
    }
    if (tly_torch.library_init("tally", "CPU", __FILE__, __LINE__, &library) != 0) {
        return "a library";
    }
    for (const tly_torch_operator *o = tly_torch_operators; o->name != NULL; o++) {
        if (tly_torch.library_impl(library, o->name, o->kernel, TORCH_WRITTEN_FOR) != 0) {
            return o->name;
        }
    }
    return NULL;
}
