/* SPDX-License-Identifier: Apache-2.0 */
/* What --raw says of bytes: a tensor whose elements can be counted, or a reason. */
#include "fuzz.h"

/* The command's parts are no library: they are compiled into the target. */
#include "../../tools/common/report.c"
#include "../../tools/files/raw.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes);
    tly_report report = { 0 };
    tly_npy npy;
    const int status = tly_raw_read(text, &npy, &report);
    if (status) {
        HOLDS(status == EXIT_USAGE && report.message[0] != 0 && report.hint[0] != 0);
    } else {
        HOLDS(tally_dtype_name(npy.dtype) != NULL && npy.rank >= 0 && npy.rank <= TALLY_MAX_RANK);
        HOLDS(npy.count == -1 ? npy.rank == 1
                              : npy.bytes == npy.count * (int64_t)tally_dtype_bytes(npy.dtype));
        HOLDS(npy.count != -1 ||
              tly_raw_close(&npy, "x", (int64_t)bytes * 8, &report) == EXIT_DONE);
    }
    free(text);
    return 0;
}
