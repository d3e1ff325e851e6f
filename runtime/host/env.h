/* SPDX-License-Identifier: Apache-2.0 */
/* The environment, read once and only here. docs/environment.md lists every variable. */
#ifndef TLY_ENV_H
#define TLY_ENV_H

#include <tally/status.h>

/* *value becomes TALLY_GENERATOR as it was at the first call that could keep it; NULL if it is
 * unset or empty, or if privileges are raised. TALLY_OUT_OF_MEMORY passes. Thread-safe. */
tally_status tly_env_generator(const char **value, tally_error *error);

/* The same for the folder of the disk cache, which is *value with *below behind it:
 * TALLY_CACHE_DIR, where "" is none; else tally below XDG_CACHE_HOME or .cache of HOME,
 * whichever is an absolute path. NULL: none. */
tally_status tly_env_cache(const char **value, const char **below, tally_error *error);

/* The same for TALLY_PACK, the files of packs with colons between them; "" is none. */
tally_status tly_env_packs(const char **value, tally_error *error);

/* The same for TALLY_DUMP, the folder that keeps every stage; NULL also where it is empty. */
tally_status tly_env_dump(const char **value, tally_error *error);

/* TALLY_VERBOSE: 0 where it is unset, empty or 0, 1 where it is 1, else 2; and 0 if privileges are
 * raised. TALLY_PERF: the same. Thread-safe. */
int tly_env_verbose(void);
int tly_env_perf(void);

/* TALLY_THREADS, if it is a number from 0 to `most`; 0 where it is unset or empty, or if privileges
 * are raised; -1 where it is anything else. Thread-safe. */
int tly_env_threads(int most);

#endif
