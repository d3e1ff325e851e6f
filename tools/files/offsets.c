/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets of segments as a file; see offsets.h. */
#include "offsets.h"

#include "../common/about.h"

/* A word that leaves the number of segments open. The file tells it, in the hint. */
static int refuse_open(const tly_offsets *o, const tally_descriptor *d, tly_report *report)
{
    const char *dtype = tally_dtype_name((tally_dtype)d->segment_dtype);
    const long long count = (long long)o->input.npy.count;
    tly_refuse(report, EXIT_USAGE, "segments",
               "the number of segments is open ('?'), and here it is needed");
    if (count > 0) {
        tly_hint(report, "%s holds %lld offsets: segments=%s/%lld", o->input.name, count, dtype,
                 count - 1);
    } else {
        tly_hint(report, "N + 1 offsets make N segments: segments=%s/N", dtype);
    }
    return EXIT_USAGE;
}

int tly_offsets_place(tly_offsets *o, const tally_descriptor *descriptor, const char *word,
                      tly_report *report)
{
    const tally_dtype dtype = (tally_dtype)descriptor->segment_dtype;
    const int64_t wanted = descriptor->segments + 1;
    const char *quote = tly_quote_of(word);
    if (!o->given && !dtype) {
        return EXIT_DONE;
    }
    if (!dtype) {
        tly_refuse(report, EXIT_USAGE, "offsets", "offsets is given, and the word has no segments");
        tly_hint(report, "segments=i32/N cuts the axis into N segments, by N + 1 offsets");
        return EXIT_USAGE;
    }
    const int is_open = descriptor->segments == TALLY_OPEN_SIZE;
    if (is_open && !o->given) {
        return refuse_open(o, descriptor, report);
    }
    if (!o->given || !*o->given) {
        tly_refuse(report, EXIT_USAGE, "offsets",
                   "the word has segments, and no file says where they begin");
        tly_hint(report, "tally run %s%s%s IN offsets=FILE, of %lld indices", quote, word, quote,
                 (long long)wanted);
        return EXIT_USAGE;
    }
    const int status = tly_input_open(&o->input, o->given, NULL, dtype, report);
    if (status) {
        return status;
    }
    if (is_open) {
        return refuse_open(o, descriptor, report);
    }
    if (o->input.npy.dtype != dtype || o->input.npy.count != wanted) {
        tly_refuse(report, EXIT_USAGE, "offsets",
                   "%s holds %lld of %s, and the word has %lld of %s", o->input.name,
                   (long long)o->input.npy.count, tally_dtype_name(o->input.npy.dtype),
                   (long long)wanted, tally_dtype_name(dtype));
        tly_hint(report, "N segments have N + 1 offsets: where each begins, and the last one ends");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

int tly_offsets_load(tly_offsets *o, tly_report *report)
{
    const int status = o->given ? tly_input_load(&o->input, report) : EXIT_DONE;
    o->from = o->given ? o->input.data : NULL;
    return status;
}

int tly_offsets_check(const tly_offsets *o, tly_report *report)
{
    return tly_input_check(&o->input, report);
}

void tly_offsets_close(tly_offsets *o)
{
    tly_input_close(&o->input);
}
