/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment, read once and only here, so that what the library obeys can be listed
 * (docs/environment.md) and never changes under a running program. A process with raised
 * privileges obeys none of it: the variables name code to load.
 */
#include "env.h"

#include "error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A value as it was when it was first asked for: the program may change its environment later. */
typedef struct setting {
    int known;
    char *value;
} setting;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static setting generator, cache, packs, dump;

static tally_status remember(setting *s, const char *now, const char **value, tally_error *error)
{
    tally_status status = TALLY_OK;
    if (!s->known) {
        s->value = now != NULL ? strdup(now) : NULL;
        s->known = now == NULL || s->value != NULL;
        status = s->known ? TALLY_OK : tly_out_of_memory(error, "a variable", strlen(now) + 1);
    }
    *value = s->value;
    return status;
}

/* A path, which is none where it is empty. */
static tally_status path(setting *s, const char *variable, const char **value, tally_error *error)
{
    pthread_mutex_lock(&lock);
    const char *now = secure_getenv(variable);
    now = now != NULL && now[0] != 0 ? now : NULL;
    tally_status status = remember(s, now, value, error);
    pthread_mutex_unlock(&lock);
    return status;
}

tally_status tly_env_generator(const char **value, tally_error *error)
{
    return path(&generator, "TALLY_GENERATOR", value, error);
}

tally_status tly_env_dump(const char **value, tally_error *error)
{
    return path(&dump, "TALLY_DUMP", value, error);
}

tally_status tly_env_cache(const char **value, const char **below, tally_error *error)
{
    static const struct {
        const char *variable, *below;
        int absolute; /* else it is ignored */
    } places[] = {
        { "TALLY_CACHE_DIR", "", 0 },
        { "XDG_CACHE_HOME", "/tally", 1 },
        { "HOME", "/.cache/tally", 1 },
    };
    static size_t which;
    const char *base = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !cache.known && base == NULL && i < sizeof places / sizeof places[0]; i++) {
        which = i;
        base = secure_getenv(places[i].variable);
        base = base != NULL && places[i].absolute && base[0] != '/' ? NULL : base;
    }
    tally_status status = remember(&cache, base, value, error);
    *below = places[which].below;
    pthread_mutex_unlock(&lock);
    return status;
}

tally_status tly_env_packs(const char **value, tally_error *error)
{
    pthread_mutex_lock(&lock);
    tally_status status = remember(&packs, secure_getenv("TALLY_PACK"), value, error);
    pthread_mutex_unlock(&lock);
    return status;
}

/* What is none of the levels is the most of them: who asks for it by mistake sees that he did. */
static int level(int *known, const char *variable)
{
    pthread_mutex_lock(&lock);
    if (*known < 0) {
        const char *now = secure_getenv(variable);
        int none = now == NULL || now[0] == 0 || strcmp(now, "0") == 0;
        *known = none ? 0 : strcmp(now, "1") == 0 ? 1 : 2;
    }
    int value = *known;
    pthread_mutex_unlock(&lock);
    return value;
}

int tly_env_verbose(void)
{
    static int known = -1;
    return level(&known, "TALLY_VERBOSE");
}

int tly_env_perf(void)
{
    static int known = -1;
    return level(&known, "TALLY_PERF");
}

int tly_env_threads(int most)
{
    static int known = -2;
    pthread_mutex_lock(&lock);
    if (known == -2) {
        const char *now = secure_getenv("TALLY_THREADS");
        char *end = NULL;
        const int number = now != NULL && now[0] >= '0' && now[0] <= '9';
        long value = number ? strtol(now, &end, 10) : -1;
        known = now == NULL || now[0] == 0             ? 0
                : number && *end == 0 && value <= most ? (int)value
                                                       : -1;
    }
    int value = known;
    pthread_mutex_unlock(&lock);
    return value;
}
