/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tables of docs/abi.md: the fields of the parameter block and where they lie. */
#include <stdio.h>

#include "../runtime/problem/gpu.h"

enum { NOWHERE = -1, IN_TASK = -2 };

#define AT_NO(type, path) NOWHERE
#define AT_TASK(type, path) IN_TASK
#define AT_I64(type, path) (int)offsetof(type, path)
#define AT_PTR AT_I64
#define AT_W32 AT_I64
#define AT_L64 AT_I64
#define AT_F64 AT_I64
#define AT_F32 AT_I64

/* Of a tensor's part of the push constants. */
#define TENSOR_AT_PUSH(at) (int)(at)
#define TENSOR_AT_BLOCK(at) NOWHERE

static void cell(int at)
{
    if (at == NOWHERE) {
        printf("| ");
    } else if (at == IN_TASK) {
        printf("| task ");
    } else {
        printf("| %d ", at);
    }
}

static void row(int cpu, int push, int block, const char *name, const char *meaning)
{
    cell(cpu);
    cell(push);
    cell(block);
    printf("| `%s` | %s |\n", name, meaning);
}

static void head(const char *name)
{
    printf("| CPU | push | block | %s | |\n|---|---|---|---|---|\n", name);
}

int main(void)
{
#define FIELD(NAME, name, of, member, cpu, push, block, meaning) \
    row(AT_##cpu(tly_args, member), AT_##push(tly_push, member), \
        AT_##block(tly_gpu_block, member), #member, meaning);
#define TENSOR(T, t, member, is_written, home, meaning) \
    row(offsetof(tly_args, tensor[TLY_##T]), \
        TENSOR_AT_##home(offsetof(tly_push, tensor[TLY_##T])), \
        offsetof(tly_gpu_block, tensor[TLY_##T]), #t, "a tensor: " meaning);
    head("field");
    TLY_LAUNCH_FIELDS(FIELD, FIELD)
    TLY_TENSORS(TENSOR)
#undef FIELD
#define FIELD(NAME, name, of, member, cpu, push, block, meaning) \
    row(AT_##cpu(tly_tensor, member), AT_##push(tly_push_tensor, member), \
        AT_##block(tly_block_tensor, member), #member, meaning);
    printf("\n");
    head("of a tensor");
    TLY_FIELDS_AT(FIELD, FIELD, , , PTR, L64, PTR, L64)
    return 0;
}
