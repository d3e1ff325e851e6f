/* The environment, read once and only here. docs/environment.md lists every variable. */
#ifndef TLY_ENV_H
#define TLY_ENV_H

/* TALLY_GENERATOR as it was at the first call; NULL if unset or empty. Thread-safe. */
const char *tly_env_generator(void);

#endif
