/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Help for programs in which people type words. A word is the text form of a descriptor
 * (docs/word.md). One function completes a word by what a tensor file says. The other lists how a
 * word can go on.
 */
#ifndef TALLY_WORD_H
#define TALLY_WORD_H

#include <tally/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Completes a word by the dtype and the sizes of a file, and checks the result as
 * tally_descriptor_parse does. The word may leave out its dtype, its sizes or both:
 * "cumprod:axis=-1", "sum", "cumsum:bf16:axis=0". It may also leave out the input's dtype alone and
 * keep the output's: "cumsum:>i64:axis=0". docs/word.md, "With a file", has the rules.
 *
 * `dtype` is the file's dtype, such as "f32", or NULL if it is not known. `sizes` are the file's
 * `rank` sizes, or NULL if they are not known; then `rank` is ignored. Rank 0 with sizes that are
 * not NULL means "scalar".
 *
 * A dtype or sizes in the word take precedence over those of the file. A contradiction between the
 * two is no error. So that the caller can find one, `*had_dtype` becomes 1 if the word had the
 * input's dtype, and `*had_sizes` becomes 1 if it had sizes; otherwise they become 0. Either
 * pointer may be NULL.
 *
 * Writes the full word with its terminating zero to `full`, which holds `capacity` bytes and may be
 * `word` itself. Returns TALLY_INVALID
 *
 * - if the word breaks a rule, or leaves out something that is not known;
 * - if the word has in= or out= but no sizes of its own;
 * - if `rank` is out of range, or `capacity` is too small;
 * - if `word` has TALLY_WORD_MAX bytes or more;
 * - if `word` or `full` is NULL.
 *
 * error->position is a character of `word`, counted from 1. If a part from the file is wrong, the
 * position is where that part belongs. On failure nothing except *error is written. Thread-safe.
 */
TALLY_API tally_status tally_word_complete(const char *word, const char *dtype, int32_t rank,
                                           const int64_t *sizes, char *full, size_t capacity,
                                           int32_t *had_dtype, int32_t *had_sizes,
                                           tally_error *error);

/**
 * Lists how an unfinished word can go on, for completion on a command line. Calls `write` with one
 * line for each name that fits at the word's end. The line is the word from its first character up
 * to and including that name.
 *
 * "cump" gives "cumprod:", and "cumprod:f32:3x4:ax" gives "cumprod:f32:3x4:axis=". After a line
 * that ends with ':' or '=' the word must go on. The names are operators, dtypes, options, values
 * of options that have a list of values, and axes if the word has sizes. The word may leave out
 * dtype and sizes, as for tally_word_complete. Every line can be continued to a valid word.
 *
 * Returns TALLY_INVALID if `begun` or `write` is NULL, and TALLY_IO if `write` returns non-zero.
 * Thread-safe.
 */
TALLY_API tally_status tally_word_next(const char *begun, tally_write write, void *user,
                                       tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
