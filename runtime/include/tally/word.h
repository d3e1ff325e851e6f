/* SPDX-License-Identifier: Apache-2.0 */
/* Words that leave out what a file says (docs/word.md, "With a file"), and words as they are typed. */
#ifndef TALLY_WORD_H
#define TALLY_WORD_H

#include <tally/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Completes a word that may leave out its dtype, its sizes, or both ("cumprod:axis=-1", "sum",
 * "cumsum:bf16:axis=0"), or of its dtypes the input's ("cumsum:>i64:axis=0"), and checks the result
 * as tally_descriptor_parse does.
 *
 * `dtype` is the file's ("f32"), or NULL if not known; `sizes` are the file's `rank` sizes, or NULL
 * if not known (then `rank` is ignored; rank 0 with sizes not NULL is "scalar"). What the word
 * says itself wins: whether that contradicts the file is for the caller to judge, with
 * `*had_dtype` and `*had_sizes` (1 if the word had the input's dtype, and sizes; either may be NULL).
 *
 * Writes the full word with its terminating zero to `full`, which holds `capacity` bytes and may
 * be `word` itself. TALLY_INVALID if the word is wrong, lacks what is not known, or has in= or out=
 * but no sizes of its own; if `rank` is out of range; if `word` has TALLY_WORD_MAX bytes or more;
 * if `capacity` is too small; or if `word` or `full` is NULL. TALLY_UNSUPPORTED as
 * tally_descriptor_parse. error->position counts in `word`. If a part from the file is wrong, it is
 * the place where that part belongs.
 * On failure everything but *error is untouched. Thread-safe.
 */
TALLY_API tally_status tally_word_complete(const char *word, const char *dtype, int32_t rank,
                                           const int64_t *sizes, char *full, size_t capacity,
                                           int32_t *had_dtype, int32_t *had_sizes,
                                           tally_error *error);

/**
 * What a word that is only begun can become, for completion on a command line: writes a line for
 * each name that fits where it ends, as the word from its first character up to and with that name.
 * "cump" gives "cumprod:"; "cumprod:f32:3x4:ax" gives "cumprod:f32:3x4:axis=". A line that ends with
 * ':' or '=' goes on. Operators, dtypes, options and the values of options that have a list are
 * offered, and axes where the word has sizes; dtype and sizes may be left out, as above. No line is
 * written that cannot become a word. TALLY_INVALID where a pointer is NULL, TALLY_IO if `write` returns
 * non-zero. Thread-safe.
 */
TALLY_API tally_status tally_word_next(const char *begun, tally_write write, void *user,
                                       tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
