/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of arrays: nothing is read beyond them, and what is taken is all there. */
#include "fuzz.h"

/* The command's parts are no library: they are compiled into the target. */
#include "../../tools/common/report.c"
#include "../../tools/files/npy.c"
#define refuse refuse_npz /* names that several files have */
#define damaged damaged_list
#include "../../tools/files/npz.c"
#undef damaged
#define pull pull_array
#include "../../tools/files/npz_load.c"

enum { MOST_BYTES = 1 << 20 };

static void check_refusal(int status, const tly_report *report)
{
    HOLDS(status == EXIT_FILE || status == EXIT_USAGE || status == EXIT_MEMORY ||
          status == EXIT_UNSUPPORTED);
    HOLDS(report->message[0] != 0);
}

static void check_array(const tly_npz *npz, const char *name)
{
    tly_report report = { 0 };
    tly_npz_array array;
    tly_npy npy;
    int status = tly_npz_find(npz, name, &array, &report);
    if (!status) {
        HOLDS(array.data >= npz->data && array.stored <= npz->bytes);
        status = tly_npz_header(&array, &npy, &report);
    }
    if (!status) {
        HOLDS(npy.bytes >= 0 && (size_t)npy.bytes <= array.bytes);
    }
    if (!status && npy.bytes <= MOST_BYTES) {
        void *elements = malloc((size_t)npy.bytes + 1);
        HOLDS(elements != NULL);
        status = tly_npz_load(&array, &npy, elements, &report);
        free(elements);
    }
    if (status) {
        check_refusal(status, &report);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const names[] = { NULL, "x", "arr_0", "" };
    tly_report report = { 0 };
    tly_npz npz;
    const int status = tly_npz_open(&npz, "x.npz", data, bytes, &report);
    if (status) {
        check_refusal(status, &report);
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_array(&npz, names[i]);
    }
    return 0;
}
