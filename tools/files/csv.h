/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of numbers as text: a line is a row, and numbers are separated by commas, semicolons,
 * tabs or blanks. Knows nothing of files.
 */
#ifndef TLY_CSV_H
#define TLY_CSV_H

#include "npy.h"

/* Whether bytes look like text: there are some, and no control characters among the first. */
int tly_csv_is_text(const char *text, size_t bytes);

/*
 * Reads a table as a tensor of `dtype`: rows by columns, or one dim where there is one column.
 * The first line may name the columns; lines that begin with # are passed over, and so are empty
 * ones at the end. *elements is from tly_memory_get, *memory_bytes of it, and to be freed on
 * EXIT_DONE. EXIT_FILE, with line and column, where a line has more or fewer columns than the one
 * before it, where a field is empty or no number, or where a number does not fit an integer dtype.
 */
int tly_csv_read(const char *name, const char *text, size_t bytes, tally_dtype dtype, tly_npy *npy,
                 void **elements, size_t *memory_bytes, tly_report *report);

/* One field of a line, without blanks and quotes around it. */
typedef struct tly_csv_field {
    const char *at, *end;
} tly_csv_field;

typedef enum tly_csv_outcome {
    TLY_CSV_NUMBER,
    TLY_CSV_NO_NUMBER,
    TLY_CSV_TOO_LARGE
} tly_csv_outcome;

/* Writes a field's number to `to`, as an element of the dtype; of integers only what is one. */
tly_csv_outcome tly_csv_number(tly_csv_field field, tally_dtype dtype, void *to);

#endif
