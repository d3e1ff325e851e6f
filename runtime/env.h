/* The environment, read once and only here. docs/environment.md lists every variable. */
#ifndef TLY_ENV_H
#define TLY_ENV_H

#include <tally/status.h>

/* *value becomes TALLY_GENERATOR as it was at the first call that could keep it; NULL if it is
 * unset or empty, or if privileges are raised. TALLY_OUT_OF_MEMORY passes. Thread-safe. */
tally_status tly_env_generator(const char **value, tally_error *error);

#endif
