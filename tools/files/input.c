/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a tensor from a file of any kind. The first bytes say which kind it is, whatever its
 * name. Guarantees that exactly the elements that a header or an option promises are there: a short
 * or an overlong file is refused, before anything is computed.
 */
#include "csv.h"
#include "file.h"
#include "raw.h"

#include <stdlib.h>
#include <string.h>

static int refuse_kind(const tly_input *input, tly_report *report)
{
    tly_refuse(report, EXIT_FILE, "file", "%s: %s", input->name,
               input->source.head_bytes == 0 ? "is empty" : "is of no kind that is read");
    tly_hint(report, TLY_READABLE);
    return EXIT_FILE;
}

static int check_length(const tly_input *input, int64_t bytes, int more, tly_report *report)
{
    if (bytes < input->npy.bytes) {
        return tly_refuse(report, EXIT_FILE, "file",
                          "%s: is short: %lld bytes of elements in place of %lld", input->name,
                          (long long)bytes, (long long)input->npy.bytes);
    }
    if (bytes > input->npy.bytes || more) {
        return tly_refuse(report, EXIT_FILE, "file",
                          "%s: is overlong: something follows its %lld bytes of elements",
                          input->name, (long long)input->npy.bytes);
    }
    return EXIT_DONE;
}

/* ---- kinds of files ---- */

static int check_regular(const tly_input *input, tly_report *report)
{
    const int64_t left = tly_source_left(&input->source);
    return left >= 0 ? check_length(input, left, 0, report) : EXIT_DONE;
}

static int open_npy(tly_input *input, tly_report *report)
{
    int status = tly_npy_read(tly_source_pull, &input->source, input->name, &input->npy, report);
    return status ? status : check_regular(input, report);
}

/* All of the file: what it holds is found only there. */
static int bring_all(tly_input *input, size_t element, char **data, int64_t *bytes,
                     tly_report *report)
{
    int more;
    return tly_source_bring(&input->source, TLY_TO_THE_END, element, data, bytes, &more, report);
}

static int open_raw(tly_input *input, tly_report *report)
{
    const size_t element = tally_dtype_bytes(input->npy.dtype);
    char *data;
    int64_t bytes;
    if (input->npy.count >= 0) {
        return check_regular(input, report);
    }
    int status = bring_all(input, element, &data, &bytes, report);
    input->data = data;
    return status ? status : tly_raw_close(&input->npy, input->name, bytes, report);
}

static int open_npz(tly_input *input, const char *array, tly_report *report)
{
    char *data;
    int64_t bytes;
    int status = bring_all(input, 1, &data, &bytes, report);
    if (!status) {
        status = tly_npz_open(&input->npz, input->source.name, data, (size_t)bytes, report);
    }
    if (!status) {
        status = tly_npz_find(&input->npz, array, &input->array, report);
    }
    return status ? status : tly_npz_header(&input->array, &input->npy, report);
}

static int open_text(tly_input *input, tally_dtype dtype, tly_report *report)
{
    char *data;
    int64_t bytes;
    int status = tly_csv_is_text(input->source.head, input->source.head_bytes)
                     ? bring_all(input, 1, &data, &bytes, report)
                     : refuse_kind(input, report);
    if (!status && !tly_csv_is_text(data, (size_t)bytes)) {
        status = refuse_kind(input, report);
    }
    if (!status) {
        status = tly_csv_read(input->name, data, (size_t)bytes,
                              dtype == TALLY_DTYPE_NONE ? TALLY_F64 : dtype, &input->npy,
                              &input->elements, &input->elements_bytes, report);
        input->data = input->elements;
    }
    if (!status) {
        tly_source_release(&input->source);
    }
    return status;
}

static int begins_with(const tly_input *input, const char *bytes)
{
    const size_t length = strlen(bytes);
    return input->source.head_bytes >= length && memcmp(input->source.head, bytes, length) == 0;
}

static int is_zip(const tly_input *input)
{
    return begins_with(input, "PK\3\4") || begins_with(input, "PK\5\6"); /* without members */
}

/* ---- paths ---- */

/* Opens the path, or of PATH:NAME the archive: *array is then the name, else NULL. */
static int open_source(tly_input *input, const char *path, const char **array, tly_report *report)
{
    int absent, status = tly_source_open(&input->source, path, &absent, report);
    *array = NULL;
    for (const char *colon = strchr(path, ':'); status && absent && colon;
         colon = strchr(colon + 1, ':')) {
        tly_report other;
        free(input->path);
        input->path = strndup(path, (size_t)(colon - path));
        if (!input->path) {
            return tly_refuse(report, EXIT_MEMORY, "file", "no memory for a path");
        }
        status = tly_source_open(&input->source, input->path, &absent, &other);
        if (!absent) {
            *array = colon + 1;
            *report = status ? other : *report;
        }
    }
    input->name = *array ? path : input->source.name;
    return status;
}

int tly_input_open(tly_input *input, const char *path, const char *raw, tally_dtype dtype,
                   tly_report *report)
{
    const char *array;
    memset(input, 0, sizeof *input);
    input->source.fd = -1;
    int status = raw ? tly_raw_read(raw, &input->npy, report) : EXIT_DONE;
    if (!status) {
        status = open_source(input, path, &array, report);
    }
    if (status) {
        return status;
    }
    if (is_zip(input) && !raw) {
        return open_npz(input, array, report);
    }
    if (array) {
        tly_refuse(report, EXIT_USAGE, "file", "%s is no .npz file: it has no array '%s'",
                   input->source.name, array);
        tly_hint(report, "leave :%s out", array);
        return EXIT_USAGE;
    }
    return raw                               ? open_raw(input, report)
           : begins_with(input, "\x93NUMPY") ? open_npy(input, report)
                                             : open_text(input, dtype, report);
}

/* ---- elements ---- */

static void swap_bytes(char *at, int64_t count, size_t element)
{
    for (; count > 0; count--, at += element) {
        for (size_t low = 0, high = element - 1; low < high; low++, high--) {
            const char other = at[low];
            at[low] = at[high];
            at[high] = other;
        }
    }
}

static int load_source(tly_input *input, tly_report *report)
{
    const size_t element = tally_dtype_bytes(input->npy.dtype);
    char *data;
    int64_t bytes;
    int more;
    int status = tly_source_bring(&input->source, input->npy.bytes, element, &data, &bytes, &more,
                                  report);
    input->data = data;
    return status ? status : check_length(input, bytes, more, report);
}

static int load_array(tly_input *input, tly_report *report)
{
    input->elements_bytes = (size_t)input->npy.bytes;
    input->data = input->elements = tly_memory_get(input->elements_bytes);
    if (!input->elements) {
        return tly_refuse(report, EXIT_MEMORY, "file", "%s: no memory for its %lld bytes",
                          input->name, (long long)input->npy.bytes);
    }
    tly_progress("reading", (uint64_t)input->npy.bytes);
    int status = tly_npz_load(&input->array, &input->npy, input->data, report);
    if (!status) {
        tly_source_release(&input->source);
    }
    return status;
}

int tly_input_load(tly_input *input, tly_report *report)
{
    int status = input->data       ? EXIT_DONE
                 : input->npz.name ? load_array(input, report)
                                   : load_source(input, report);
    if (!status && input->npy.swapped) {
        swap_bytes(input->data, input->npy.count, tally_dtype_bytes(input->npy.dtype));
    }
    return status;
}

int tly_input_check(const tly_input *input, tly_report *report)
{
    return tly_source_check(&input->source, report);
}

void tly_input_close(tly_input *input)
{
    tly_source_close(&input->source);
    tly_memory_free(input->elements, input->elements_bytes);
    free(input->path);
}
