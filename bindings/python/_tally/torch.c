/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New tensors of torch by its stable C functions. The allocator of DLPack's table makes a tensor, a
 * description of it, and a second tensor of this, which makes a call on 12 elements take .97 us for
 * .73 (Zen 5). The functions are looked up in the libtorch_cpu that the process has loaded. Where
 * one is missing, as in torch before 2.14, the table serves.
 */
#include "dlpack.h"

#include "../../torch/torch_abi.h"

#define DECLARE(name, arguments, symbol) int32_t(*name) arguments;
static struct {
    int looked_up, found;
    TORCH_TENSOR_FUNCTIONS(DECLARE)
    TORCH_OBJECT_FUNCTIONS(DECLARE)
    int32_t cpu;
    int32_t dtypes[TALLY_DTYPE_COUNT]; /* torch's numbers */
} torch;                               /* whoever reads or writes it holds the interpreter's lock */

static int look_up(void)
{
    void *cpu = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    torch.looked_up = 1;
    if (cpu == NULL || !torch_number(cpu, "aoti_torch_device_type_cpu", &torch.cpu)) {
        return 0;
    }
#define FIND(name, arguments, symbol) \
    if (!torch_find(cpu, #symbol, (void *)&torch.name)) { \
        return 0; \
    }
    TORCH_TENSOR_FUNCTIONS(FIND)
    TORCH_OBJECT_FUNCTIONS(FIND)
#define NUMBER(dtype, symbol) \
    if (!torch_number(cpu, #symbol, &torch.dtypes[dtype])) { \
        return 0; \
    }
    TORCH_DTYPES(NUMBER)
    torch.found = 1;
    return 1;
}

PyObject *tly_py_torch_new(const tly_py_shape *shape, int32_t shown_as, void **data)
{
    int64_t steps[TALLY_MAX_RANK + 1], step = 1;
    torch_tensor *made = NULL;
    void *object = NULL;
    if (!torch.found && (torch.looked_up || !look_up())) {
        return NULL;
    }
    for (int i = shape->rank - 1; i >= 0; i--) {
        steps[i] = step;
        step *= shape->sizes[i] > 0 ? shape->sizes[i] : 1;
    }
    if (torch.empty_strided(shape->rank, shape->sizes, steps, torch.dtypes[shown_as], torch.cpu, 0,
                            &made) != 0) {
        return NULL;
    }
    if (torch.get_data(made, data) != 0 || torch.to_object(made, NULL, &object) != 0) {
        object = NULL;
    }
    (void)torch.delete_tensor(made);
    return object;
}

/* _torch_functions(on): off, the table makes tensors, as for older versions of torch. True if the
 * functions are on, which those versions lack. For tests. */
static PyObject *switch_functions(PyObject *module, PyObject *on)
{
    (void)module;
    torch.found = on == Py_True && look_up();
    return PyBool_FromLong(torch.found);
}

static PyMethodDef functions[] = { { "_torch_functions", switch_functions, METH_O, NULL },
                                   { NULL, NULL, 0, NULL } };

int tly_py_add_torch(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
