/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of .npy files: none is read past its end, and what is taken makes sense as a tensor. */
#include "fuzz.h"

/* The command's parts are no library: they are compiled into the target. */
#include "../../tools/common/report.c"
#include "../../tools/files/npy.c"
#include "../memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    memory_file file = { (const char *)data, bytes };
    tly_npy npy;
    tly_report report = { 0 };
    int status = tly_npy_read(pull_memory, &file, "x.npy", &npy, &report);
    if (status != EXIT_DONE) {
        HOLDS(status == EXIT_FILE || status == EXIT_MEMORY);
        HOLDS(report.message[0] != 0);
        return 0;
    }
    HOLDS(npy.rank >= 0 && npy.rank <= NPY_MAX_RANK && npy.count >= 0 && npy.bytes >= 0);
    HOLDS(tally_dtype_name(npy.dtype) != NULL);
    int64_t count = 1;
    for (int d = 0; d < npy.rank; d++) {
        HOLDS(npy.sizes[d] >= 0);
        count = __builtin_mul_overflow(count, npy.sizes[d], &count) ? INT64_MAX : count;
    }
    HOLDS(npy.count == count || npy.count == 0);
    return 0;
}
