/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of numbers: what is taken has rows of equal length, and what is not says where. */
#include "fuzz.h"

#include <math.h>

/* The command's parts are no library: they are compiled into the target. */
#include "../../tools/common/memory.c"
#include "../../tools/common/report.c"
#include "../../tools/files/csv.c"
#include "../../tools/files/csv_number.c"
#include "../../tools/files/floats.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tly_report report = { 0 };
    tly_npy npy;
    void *elements;
    size_t room;
    if (bytes < 1) {
        return 0;
    }
    /* The first byte chooses the dtype; the rest is exactly as long as the text. */
    const tally_dtype dtype = (tally_dtype)(1 + data[0] % (TALLY_DTYPE_COUNT - 1));
    char *text = malloc(bytes);
    HOLDS(text != NULL);
    memcpy(text, data + 1, bytes - 1);
    tly_csv_is_text(text, bytes - 1);
    const int status = tly_csv_read("x.csv", text, bytes - 1, dtype, &npy, &elements, &room,
                                    &report);
    if (status) {
        HOLDS(status == EXIT_FILE || status == EXIT_MEMORY);
        HOLDS(strncmp(report.message, "x.csv: ", 7) == 0);
    } else {
        HOLDS(npy.dtype == dtype && npy.rank >= 1 && npy.rank <= 2 && npy.sizes[0] > 0);
        HOLDS(npy.count == npy.sizes[0] * npy.sizes[1] && (size_t)npy.bytes <= room);
        HOLDS(npy.count <= (int64_t)bytes / 2 + 1);
        tly_memory_free(elements, room);
    }
    free(text);
    return 0;
}
