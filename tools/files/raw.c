/* SPDX-License-Identifier: Apache-2.0 */
/* Raw bytes as a tensor; see raw.h. The library reads dtype and sizes, as parts of a word. */
#include "raw.h"

#include <string.h>

static int refuse(const char *text, const char *why, tly_report *report)
{
    tly_refuse(report, EXIT_USAGE, "usage", "--raw takes DTYPE:SIZES, not '%.100s'%s%s", text,
               why[0] ? ": " : "", why);
    tly_hint(report, "--raw f32:3x4, or --raw f32 for one dim as long as the file");
    return EXIT_USAGE;
}

int tly_raw_read(const char *text, tly_npy *npy, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    const char *colon = strchr(text, ':');
    char word[TALLY_WORD_MAX];
    const int length = snprintf(word, sizeof word, "sum:%s%s", text, colon ? "" : ":?");
    /* Of a word's parts, --raw has these two. */
    if (length >= (int)sizeof word || strpbrk(text, ">?") || (colon && strchr(colon + 1, ':'))) {
        return refuse(text, "", report);
    }
    if (tally_descriptor_parse(word, &d, &error) != TALLY_OK) {
        return refuse(text, error.message, report);
    }
    memset(npy, 0, sizeof *npy);
    npy->dtype = (tally_dtype)d.dtype;
    npy->rank = d.rank;
    if (!colon) {
        npy->count = -1;
        return EXIT_DONE;
    }
    npy->count = 1;
    for (int i = 0; i < d.rank; i++) {
        npy->sizes[i] = d.sizes[i];
        npy->count *= d.sizes[i]; /* the library has checked that it can be counted */
    }
    npy->bytes = npy->count * (int64_t)tally_dtype_bytes(npy->dtype);
    return EXIT_DONE;
}

int tly_raw_close(tly_npy *npy, const char *name, int64_t bytes, tly_report *report)
{
    const int64_t element = (int64_t)tally_dtype_bytes(npy->dtype);
    if (bytes % element != 0) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: %lld bytes are no whole number of %s",
                          name, (long long)bytes, tally_dtype_name(npy->dtype));
    }
    npy->sizes[0] = npy->count = bytes / element;
    npy->bytes = bytes;
    return EXIT_DONE;
}
