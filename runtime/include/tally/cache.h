/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk cache from outside: which folder it is, what lies there, and emptying it. `tally cache`
 * does all this; programs need none of it to use the cache (tally_context_options.cache_folder).
 * docs/cache.md is the manual.
 */
#ifndef TALLY_CACHE_H
#define TALLY_CACHE_H

#include <tally/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The folder's absolute path. Here and below `folder` is as in tally_context_options: NULL is the
 * environment's. An empty text: there is no disk cache; so it is with raised privileges.
 * TALLY_INVALID, if `capacity` bytes are too few. Thread-safe, as all calls here.
 */
TALLY_API tally_status tally_cache_path(const char *folder, char *text, size_t capacity,
                                        tally_error *error);

/** Most bytes that all entries together take; beyond, what was unused for longest goes. */
TALLY_API uint64_t tally_cache_limit(void);

/** One entry. Texts are borrowed until the visitor returns. `word` and `device` are the file's: any
 *  bytes, so escape them before a terminal or JSON gets them. */
typedef struct tally_cache_entry {
    size_t size;
    const char *name;   /**< of the file in the folder */
    const char *word;   /**< without sizes, such as "cumprod:f32:exclusive"; "" in a broken entry */
    const char *device; /**< such as "cpu:x86-64-v3", with " tuned" behind it where
                              tally_cache_keep put the entry; "" in a broken entry */
    const char *fault;  /**< what is wrong with it, so that it is never used; NULL: nothing */
    uint64_t bytes; /**< that it takes, in blocks of 4096; in a pack, squeezed as it lies there */
    int64_t used;   /**< when it was last used, in seconds since 1970 */
} tally_cache_entry;

/** Returns 0 to go on. */
typedef int (*tally_cache_visitor)(void *user, const tally_cache_entry *entry);

/** Reads and judges every entry, the one unused for longest first; none counts as used for that. A
 *  folder that is not there has no entries. TALLY_IO: it is not used, and the message says why; or
 *  the visitor returned non-zero. */
TALLY_API tally_status tally_cache_visit(const char *folder, tally_cache_visitor visit, void *user,
                                         tally_error *error);

/** The same of a pack, in no order of meaning. `name` is an entry's place in it, `used` the time at
 *  which the file was written. TALLY_IO as well: there is no such file, or it is no pack. */
TALLY_API tally_status tally_pack_visit(const char *path, tally_cache_visitor visit, void *user,
                                        tally_error *error);

/** Removes all entries, and nothing else. *removed (NULL: not wanted) becomes their number. Errors
 *  as above. */
TALLY_API tally_status tally_cache_clear(const char *folder, uint64_t *removed, tally_error *error);

/**
 * Makes the kernel for a descriptor with the overrides of options->plan, and puts it into the
 * context's disk cache, or the host's, as what this machine uses without overrides: later processes
 * find it, for as long as the entry is there (docs/tune.md). On a CPU that is for every descriptor
 * that has this kernel, on a Vulkan device for this shape. Without a plan: the library's own, again.
 * What this context holds in memory stays. TALLY_INVALID, field plan: results could differ in a bit;
 * TALLY_IO: the cache did not take it; other errors as tally_kernel_create.
 */
TALLY_API tally_status tally_cache_keep(tally_context *context, const tally_descriptor *descriptor,
                                        const tally_kernel_options *options, tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
