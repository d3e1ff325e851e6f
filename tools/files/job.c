/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a word and a file to a descriptor; see job.h. Every contradiction between the two is found
 * here, before a kernel is requested: scripts tell "wrong" (2) from "not here" (3).
 */
#include "job.h"

#include "../common/about.h"

#include <string.h>

/* The shape that most words fit. */
static const int64_t ones[TALLY_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };

static int read_word(const char *word, const char *dtype, int32_t rank, const int64_t *sizes,
                     tally_descriptor *descriptor, int32_t *had_dtype, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    char full[TALLY_WORD_MAX];
    descriptor->size = sizeof *descriptor;
    if (tally_word_complete(word, dtype, rank, sizes, full, sizeof full, had_dtype, NULL, &error) !=
            TALLY_OK ||
        tally_descriptor_parse(full, descriptor, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    return EXIT_DONE;
}

static int has_open_size(const tally_descriptor *d)
{
    for (int i = 0; i < d->rank; i++) {
        if (d->sizes[i] == TALLY_OPEN_SIZE) {
            return 1;
        }
    }
    return 0;
}

int tly_job_need_sizes(const tally_descriptor *d, int file, tly_report *report)
{
    if (!has_open_size(d)) {
        return EXIT_DONE;
    }
    tly_refuse(report, EXIT_USAGE, "sizes", "a size is open ('?'), and here each is needed");
    tly_hint(report, file ? "leave the sizes out: the file has them; or put a number for each ?"
                          : "put a number for each ?; inspect takes it for word, plan and kir");
    return EXIT_USAGE;
}

/* Whether a word is right for some file: for one of these dtypes, of any rank. Operands and
 * expressions can need another dtype or rank than most words. */
static int fits_some_file(const char *word, tally_descriptor *any, int32_t *had_dtype)
{
    static const char *const dtypes[] = { "f32", "f64", "i64", "u64", "bool" };
    tly_report unused;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        for (int32_t rank = TALLY_MAX_RANK; rank >= 0; rank--) {
            if (read_word(word, dtypes[i], rank, ones, any, had_dtype, &unused) == EXIT_DONE) {
                return 1;
            }
        }
    }
    return 0;
}

int tly_job_check(const char *word, tally_dtype *dtype, tly_report *report)
{
    tally_descriptor any = TALLY_DESCRIPTOR_INIT;
    tly_operands operands;
    int32_t had_dtype;
    int status = read_word(word, "f32", TALLY_MAX_RANK, ones, &any, &had_dtype, report);
    if (status) {
        tly_operands_read(word, &operands);
        status = fits_some_file(operands.word, &any, &had_dtype) ? EXIT_DONE : status;
    }
    *dtype = !status && had_dtype ? (tally_dtype)any.dtype : TALLY_DTYPE_NONE;
    return status ? status : tly_job_need_sizes(&any, 1, report);
}

/* Options begin with `:` or `,`, so no other part of a word can look like one. */
static int has_option(const char *word, const char *name)
{
    for (const char *at = strpbrk(word, ":,"); at; at = strpbrk(at + 1, ":,")) {
        if (strncmp(at + 1, name, strlen(name)) == 0) {
            return 1;
        }
    }
    return 0;
}

static void print_sizes(char *text, size_t capacity, int rank, const int64_t *sizes)
{
    size_t length = (size_t)snprintf(text, capacity, "%s", rank ? "" : "scalar");
    for (int d = 0; d < rank && length < capacity; d++) {
        length += (size_t)snprintf(text + length, capacity - length, d ? "x%lld" : "%lld",
                                   (long long)sizes[d]);
    }
}

enum { DTYPE = 1, SIZES = 2 };

/* Suggests the word without a part, which then is the file's: DTYPE, that of the input, or SIZES,
 * which follow it if it is there. */
static void suggest_without(const char *word, int part, int had_dtype, tly_report *report)
{
    const char *from = strchr(word, ':');
    if (part == SIZES && from && (had_dtype || from[1] == '>')) {
        from = strchr(from + 1, ':');
    }
    if (!from) {
        return;
    }
    const char *to = from + 1 + strcspn(from + 1, part == DTYPE ? ":>" : ":");
    const int keeps_colon = *to == '>';
    const char *quote = tly_quote_of(word);
    tly_hint(report, "without %s the word takes the file's: %s%.*s%s%s",
             part == DTYPE ? "its dtype" : "sizes", quote, (int)(from - word) + keeps_colon, word,
             to, quote);
}

/* The file's dtype and shape against the word's. */
static int compare(const tly_job *job, const tly_npy *npy, const char *name, const char *word,
                   int had_dtype, tly_report *report)
{
    const tally_descriptor *d = &job->descriptor;
    char wanted[200], found[200];
    if ((int32_t)npy->dtype != d->dtype &&
        !(had_dtype && d->dtype == TALLY_BF16 && npy->dtype == TALLY_U16)) {
        tly_refuse(report, EXIT_USAGE, "dtype", "%s holds %s, the word says %s", name,
                   tally_dtype_name(npy->dtype), tally_dtype_name((tally_dtype)d->dtype));
        suggest_without(word, DTYPE, had_dtype, report);
        return EXIT_USAGE;
    }
    if (!job->flat_in && (npy->rank != d->rank ||
                          memcmp(npy->sizes, d->sizes, (size_t)d->rank * sizeof *d->sizes) != 0)) {
        print_sizes(wanted, sizeof wanted, d->rank, d->sizes);
        print_sizes(found, sizeof found, npy->rank, npy->sizes);
        tly_refuse(report, EXIT_USAGE, "sizes", "%s holds %s, the word says %s", name, found,
                   wanted);
        suggest_without(word, SIZES, had_dtype, report);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static int has_no_elements(const tally_descriptor *d)
{
    for (int i = 0; i < d->rank; i++) {
        if (d->sizes[i] == 0) {
            return 1;
        }
    }
    return 0;
}

/* A Fortran-order tensor as strides, unless C order has the same addresses. */
static void set_fortran_strides(tally_descriptor *d)
{
    int64_t stride = 1;
    int long_dims = 0;
    for (int i = 0; i < d->rank; i++) {
        long_dims += d->sizes[i] > 1;
    }
    if (long_dims < 2 || has_no_elements(d)) {
        return;
    }
    d->flags |= TALLY_IN_STRIDES;
    d->in_offset = 0;
    for (int i = 0; i < d->rank; i++) {
        d->in_strides[i] = stride;
        stride *= d->sizes[i];
    }
}

/* `given` is NULL where the tensor is packed. */
static void find_layout(tly_layout *layout, const int64_t *given, int64_t offset,
                        const tally_extent *extent)
{
    const int64_t *sizes = layout->sizes;
    int64_t packed = 1;
    layout->element = tally_dtype_bytes(layout->dtype);
    layout->count = extent->end > extent->low; /* 0: no elements */
    layout->offset = given ? offset : 0;
    layout->low = extent->low / (int64_t)layout->element;
    layout->high = extent->end / (int64_t)layout->element - 1;
    for (int i = layout->rank - 1; i >= 0; i--) {
        layout->strides[i] = given ? given[i] : packed;
        packed *= sizes[i] ? sizes[i] : 1;
    }
    layout->count *= packed;
}

static int check_reach(const tly_layout *layout, const char *field, tly_report *report)
{
    if (layout->low < 0) {
        return tly_refuse(report, EXIT_USAGE, field,
                          "the strides reach index %lld, below the buffer's start",
                          (long long)layout->low);
    }
    return EXIT_DONE;
}

static int lay_out(tly_job *job, tly_report *report)
{
    const tally_descriptor *d = &job->descriptor;
    const int64_t *in = d->flags & TALLY_IN_STRIDES ? d->in_strides : NULL;
    const int64_t *out = d->flags & TALLY_OUT_STRIDES ? d->out_strides : NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_extent in_bytes, out_bytes;
    int status;
    if (tally_descriptor_result(d, &job->out.rank, job->out.sizes, &job->out.dtype, &error) !=
            TALLY_OK ||
        tally_descriptor_extent(d, &in_bytes, &out_bytes, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    job->in.dtype = (tally_dtype)d->dtype;
    job->in.rank = d->rank;
    memcpy(job->in.sizes, d->sizes, sizeof d->sizes);
    find_layout(&job->in, in, d->in_offset, &in_bytes);
    find_layout(&job->out, out, d->out_offset, &out_bytes);
    status = check_reach(&job->in, "in", report);
    return status ? status : check_reach(&job->out, "out", report);
}

int tly_job_make(const char *word, const tly_npy *npy, const char *name, tly_operands *operands,
                 tly_job *job, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    int32_t had_dtype;
    int status;
    memset(job, 0, sizeof *job);
    status = read_word(operands ? operands->word : word, npy ? tally_dtype_name(npy->dtype) : NULL,
                       npy ? npy->rank : 0, npy ? npy->sizes : NULL, &job->descriptor, &had_dtype,
                       report);
    if (status) {
        return status;
    }
    job->scan = tally_op_is_scan((tally_op)job->descriptor.op);
    job->flat_in = has_option(word, "in=");
    job->flat_out = has_option(word, "out=");
    if (npy) {
        status = compare(job, npy, name, word, had_dtype, report);
        if (!status && npy->fortran && !job->flat_in) {
            set_fortran_strides(&job->descriptor);
        }
    }
    if (!status && operands) {
        status = tly_operands_place(operands, &job->descriptor, report);
    }
    if (!status && !has_open_size(&job->descriptor)) {
        status = lay_out(job, report);
    }
    if (!status && npy && job->flat_in && job->in.high >= npy->count) {
        status = tly_refuse(report, EXIT_USAGE, "in",
                            "the strides reach index %lld, %s holds %lld elements",
                            (long long)job->in.high, name, (long long)npy->count);
    }
    if (!status && tally_descriptor_print(&job->descriptor, job->word, sizeof job->word, NULL,
                                          &error) != TALLY_OK) {
        status = tly_adopt(report, &error);
    }
    return status;
}
