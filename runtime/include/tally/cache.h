/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to the disk cache: its folder, its entries, and how to empty it. The command `tally cache`
 * does all this. A program that only uses the cache does not need this header, see
 * tally_context_options.cache_folder. docs/cache.md is the manual.
 *
 * All calls are thread-safe.
 */
#ifndef TALLY_CACHE_H
#define TALLY_CACHE_H

#include <tally/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes the absolute path of the cache's folder to `text`, which holds `capacity` bytes. In this
 * header `folder` is as in tally_context_options.cache_folder: NULL means the folder that the
 * environment names.
 *
 * Writes an empty text if there is no disk cache. This is also so with raised privileges. Returns
 * TALLY_INVALID if `capacity` is too small.
 */
TALLY_API tally_status tally_cache_path(const char *folder, char *text, size_t capacity,
                                        tally_error *error);

/** Returns the most bytes that all entries may take together. If they take more, Tally removes
 *  those that were not used for the longest time. */
TALLY_API uint64_t tally_cache_limit(void);

/** One entry of the cache or of a pack. Its texts are borrowed until the visitor returns. `word`
 *  and `device` come from the file and may contain any bytes. Escape them before you show them on a
 *  terminal or write them as JSON. */
typedef struct tally_cache_entry {
    size_t size;        /**< sizeof(tally_cache_entry) */
    const char *name;   /**< name of the file in the folder */
    const char *word;   /**< the word without sizes, such as "cumprod:f32:exclusive"; "" if the
                             entry is broken */
    const char *device; /**< the device, such as "cpu:x86-64-v3"; " tuned" follows if
                             tally_cache_keep wrote the entry; "" if the entry is broken */
    const char *fault;  /**< why the entry is never used; NULL: it has no fault */
    uint64_t bytes;     /**< the space it takes on disk, a multiple of 4096; in a pack, its
                             compressed size */
    int64_t used;       /**< the time of its last use, in seconds since 1970 */
} tally_cache_entry;

/** A function of the caller that receives one entry. It returns 0 to go on; any other value stops
 *  the visit. */
typedef int (*tally_cache_visitor)(void *user, const tally_cache_entry *entry);

/**
 * Reads and checks every entry of a folder and calls `visit` for each. The entry that was not used
 * for the longest time comes first. A visit is not a use. A folder that does not exist has no
 * entries.
 *
 * Returns TALLY_IO if Tally does not use the folder; the message says why. Also returns TALLY_IO if
 * the visitor returned non-zero.
 */
TALLY_API tally_status tally_cache_visit(const char *folder, tally_cache_visitor visit, void *user,
                                         tally_error *error);

/**
 * Reads and checks every entry of a pack, as tally_cache_visit. `path` is the pack's file. The
 * order of the entries has no meaning. tally_cache_entry.name is an entry's position in the pack,
 * and `used` is the time at which the file was written. Also returns TALLY_IO if there is no such
 * file, or the file is no pack.
 */
TALLY_API tally_status tally_pack_visit(const char *path, tally_cache_visitor visit, void *user,
                                        tally_error *error);

/** Removes all entries of a folder, and no other files. Sets *removed to their number; `removed`
 *  may be NULL. Errors are those of tally_cache_visit. */
TALLY_API tally_status tally_cache_clear(const char *folder, uint64_t *removed, tally_error *error);

/**
 * Stores a tuned kernel. Makes the kernel for a descriptor with the overrides of options->plan, and
 * writes it to the context's disk cache, or to the host's. It then takes the place of the kernel
 * that this machine uses without overrides. Later processes find it as long as the entry exists
 * (docs/tune.md).
 *
 * On a CPU this applies to every descriptor that has this kernel, on a Vulkan device to this shape.
 * Without a plan, the library's own kernel is stored again. Kernels that this context has in memory
 * stay as they are.
 *
 * Returns TALLY_INVALID with field "plan" if the result could differ in a bit. Returns TALLY_IO if
 * the cache did not take the kernel. Other errors are those of tally_kernel_create.
 */
TALLY_API tally_status tally_cache_keep(tally_context *context, const tally_descriptor *descriptor,
                                        const tally_kernel_options *options, tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
