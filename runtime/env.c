/*
 * The environment, read once and only here, so that what the library obeys can be listed
 * (docs/environment.md) and never changes under a running program. A process with raised
 * privileges obeys none of it: TALLY_GENERATOR names code to load.
 */
#include "env.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *generator;

static void read_once(void)
{
    const char *value = secure_getenv("TALLY_GENERATOR");
    if (value != NULL && value[0] != 0) {
        generator = strdup(value); /* the program may change its environment later */
    }
}

const char *tly_env_generator(void)
{
    pthread_once(&once, read_once);
    return generator;
}
