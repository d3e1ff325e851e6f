/*
 * The environment, read once and only here, so that what the library obeys can be listed
 * (docs/environment.md) and never changes under a running program. A process with raised
 * privileges obeys none of it: TALLY_GENERATOR names code to load.
 */
#include "env.h"

#include "error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int known;
static char *generator;

tally_status tly_env_generator(const char **value, tally_error *error)
{
    pthread_mutex_lock(&lock);
    const char *now = known ? NULL : secure_getenv("TALLY_GENERATOR");
    if (now != NULL && now[0] != 0) {
        generator = strdup(now); /* the program may change its environment later */
        known = generator != NULL;
    } else {
        known = 1;
    }
    *value = generator;
    tally_status status = known ? TALLY_OK
                                : tly_out_of_memory(error, "TALLY_GENERATOR", strlen(now) + 1);
    pthread_mutex_unlock(&lock);
    return status;
}
