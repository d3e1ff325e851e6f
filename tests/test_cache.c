/* SPDX-License-Identifier: Apache-2.0 */
/* The memory cache by itself: keys, one making for many askers, failures, the bound. */
#include "fake.h"

#include <criterion/criterion.h>

typedef struct maker {
    atomic_int calls;
    int delay_us;
    tally_status status;
} maker;

typedef struct facts {
    int op;
    char level[12];
} facts;

typedef struct code {
    tly_object base;
    int op; /* -1: unloaded */
} code;

static tally_status make(const tly_object *object, tly_piece *made, tally_error *error)
{
    maker *m = object->key.owner;
    const facts *f = object->key.facts;
    m->calls++;
    fake_sleep(m->delay_us);
    if (m->status != TALLY_OK) {
        tly_fail(error, m->status, "device", "level %s, plan %s", f->level, object->key.plan);
        tly_error_hint(error, "a hint");
        return m->status;
    }
    made->bytes = malloc(made->count = sizeof f->op);
    memcpy(made->bytes, &f->op, sizeof f->op);
    return TALLY_OK;
}

static tally_status load(tly_object *object, const tly_piece *made, tally_error *error)
{
    (void)error;
    memcpy(&((code *)object)->op, made->bytes, sizeof(int));
    return TALLY_OK;
}

static void unload(tly_object *object)
{
    ((code *)object)->op = -1;
}

static void name(const tly_object *object, tly_store_name *n)
{
    (void)object;
    strcpy(n->word, "word");
    strcpy(n->device, "device");
}

static const tly_backend backend = {
    .kind = "test",
    .object_bytes = sizeof(code),
    .facts_bytes = sizeof(facts),
    .make = make,
    .load = load,
    .unload = unload,
    .name = name,
};

static facts facts_of(int op)
{
    facts f = { op, "level" };
    return f;
}

static tly_object *get(tly_cache *cache, int op, maker *m)
{
    facts f = facts_of(op);
    tly_key key = { &backend, m, &f, "" };
    tly_object *object = NULL;
    cr_assert_eq(tly_cache_get(cache, &key, &object, NULL, NULL), TALLY_OK);
    return object;
}

static void get_and_drop(tly_cache *cache, int op, maker *m)
{
    tly_object_drop(get(cache, op, m));
}

Test(cache, every_byte_of_a_key_counts)
{
    tly_cache cache;
    cr_assert_eq(tly_cache_init(&cache, 4096, NULL), TALLY_OK);
    maker m = { .status = TALLY_OK }, n = m;
    tly_backend another = backend;
    facts f = facts_of(1);
    tly_object *first = get(&cache, 1, &m), *object;
    for (size_t i = 0; i < sizeof f; i++) {
        facts other = f;
        ((unsigned char *)&other)[i] ^= 1;
        tly_key key = { &backend, &m, &other, "" };
        cr_assert_eq(tly_cache_get(&cache, &key, &object, NULL, NULL), TALLY_OK);
        cr_assert_neq(object, first, "byte %zu", i);
        tly_object_drop(object);
    }
    const tly_key keys[] = { { &backend, &m, &f, "a=1" },
                             { &backend, &n, &f, "" },
                             { &another, &m, &f, "" },
                             { &backend, &m, &f, "" } };
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(tly_cache_get(&cache, &keys[i], &object, NULL, NULL), TALLY_OK);
        cr_assert_eq(object == first, i == 3, "key %zu", i);
        tly_object_drop(object);
    }
    tly_object_drop(first);
    cr_assert_eq(m.calls, (int)sizeof f + 3);
    cr_assert_eq(n.calls, 1);
    cr_assert_eq(cache.hits, 1);
    tly_cache_end(&cache);
}

/* What an owner has goes with it, held or not; others' stays. */
Test(cache, forgets_an_owner)
{
    tly_cache cache;
    cr_assert_eq(tly_cache_init(&cache, 4096, NULL), TALLY_OK);
    maker m = { .status = TALLY_OK }, n = m;
    tly_object *held = get(&cache, 1, &m), *other = get(&cache, 1, &n);
    get_and_drop(&cache, 2, &m);
    tly_cache_forget(&cache, &m);
    cr_expect_eq(cache.cached, 1);
    cr_expect_eq(((code *)held)->op, -1);
    cr_expect_eq(((code *)other)->op, 1);
    tly_object_drop(held);
    tly_object_drop(other);
    get_and_drop(&cache, 1, &m);
    cr_expect_eq(m.calls, 3);
    tly_cache_end(&cache);
}

Test(cache, holds_more_than_its_first_table)
{
    tly_cache cache;
    cr_assert_eq(tly_cache_init(&cache, 4096, NULL), TALLY_OK);
    maker m = { .status = TALLY_OK };
    for (int round = 0; round < 2; round++) {
        for (int op = 0; op < 300; op++) {
            tly_object *object = get(&cache, op, &m);
            cr_assert_eq(((code *)object)->op, op);
            tly_object_drop(object);
        }
    }
    cr_assert_eq(m.calls, 300);
    cr_assert_eq(cache.cached, 300);
    cr_assert_gt(cache.bucket_count, 64);
    tly_cache_end(&cache);
}

Test(cache, drops_the_least_recently_used)
{
    tly_cache cache;
    cr_assert_eq(tly_cache_init(&cache, 3, NULL), TALLY_OK);
    maker m = { .status = TALLY_OK };
    tly_object *held = get(&cache, 0, &m);
    get_and_drop(&cache, 1, &m);
    get_and_drop(&cache, 2, &m);
    get_and_drop(&cache, 1, &m); /* now 2 is the oldest that nobody holds */
    get_and_drop(&cache, 3, &m);
    cr_assert_eq(cache.cached, 3);
    cr_assert_eq(cache.evicted, 1);
    cr_assert_eq(m.calls, 4);
    cr_assert_eq(get(&cache, 0, &m), held);
    tly_object_drop(held);
    get_and_drop(&cache, 1, &m);
    cr_assert_eq(m.calls, 4);
    get_and_drop(&cache, 2, &m);
    cr_assert_eq(m.calls, 5);
    tly_object_drop(held);
    tly_cache_end(&cache);
}

/* What only its holders kept goes when it is asked for, once they are gone. */
Test(cache, comes_back_to_its_bound)
{
    tly_cache cache;
    cr_assert_eq(tly_cache_init(&cache, 2, NULL), TALLY_OK);
    maker m = { .status = TALLY_OK };
    tly_object *held[5];
    for (int op = 0; op < 5; op++) {
        held[op] = get(&cache, op, &m);
        cr_expect_eq(tly_cache_above(&cache), op >= 2);
    }
    for (int op = 0; op < 5; op++) {
        tly_object_drop(held[op]);
        tly_cache_trim(&cache);
        cr_expect_eq(cache.cached, op < 3 ? 4u - (unsigned)op : 2u);
    }
    cr_expect(!tly_cache_above(&cache));
    cr_expect_eq(cache.evicted, 3);
    tly_cache_end(&cache);
}

Test(cache, exceeds_its_bound_while_all_is_held)
{
    tly_cache cache;
    cr_assert_eq(tly_cache_init(&cache, 1, NULL), TALLY_OK);
    maker m = { .status = TALLY_OK };
    tly_object *held[5];
    for (int op = 0; op < 5; op++) {
        held[op] = get(&cache, op, &m);
    }
    cr_assert_eq(cache.cached, 5);
    cr_assert_eq(cache.evicted, 0);
    for (int op = 0; op < 5; op++) {
        tly_object_drop(held[op]);
    }
    get_and_drop(&cache, 9, &m);
    cr_assert_eq(cache.cached, 1);
    cr_assert_eq(cache.evicted, 5);
    tly_object *last = get(&cache, 9, &m);
    tly_cache_end(&cache); /* its holder still may call it */
    cr_assert_eq(((code *)last)->op, 9);
    tly_object_drop(last);
}

typedef struct idle {
    tly_cache *cache;
    tly_object *object;
    int used;
} idle;

static void release(void *user)
{
    idle *i = user;
    if (i->object != NULL) {
        if (i->used) {
            tly_cache_touch(i->cache, i->object);
        }
        tly_object_drop(i->object);
        i->object = NULL;
    }
}

Test(cache, references_kept_for_speed_give_way)
{
    for (int used = 0; used < 2; used++) {
        tly_cache cache;
        cr_assert_eq(tly_cache_init(&cache, 2, NULL), TALLY_OK);
        maker m = { .status = TALLY_OK };
        idle i = { &cache, get(&cache, 0, &m), used };
        cache.release = release;
        cache.release_user = &i;
        get_and_drop(&cache, 1, &m);
        get_and_drop(&cache, 2, &m);
        cr_assert_eq(cache.cached, 2);
        get_and_drop(&cache, 0, &m);
        cr_assert_eq(m.calls, used ? 3 : 4);
        tly_cache_end(&cache);
    }
}

typedef struct asker {
    tly_cache *cache;
    maker *m;
    pthread_barrier_t *start;
    tly_object *object;
    tally_status status;
    tally_error error;
} asker;

static void *ask(void *argument)
{
    asker *a = argument;
    facts f = facts_of(7);
    tly_key key = { &backend, a->m, &f, "" };
    pthread_barrier_wait(a->start);
    a->status = tly_cache_get(a->cache, &key, &a->object, NULL, &a->error);
    return NULL;
}

Test(cache, one_making_for_many_threads)
{
    enum { THREADS = 8 };
    const tally_status outcomes[] = { TALLY_OK, TALLY_INTERNAL, TALLY_NO_GENERATOR };
    for (size_t o = 0; o < sizeof outcomes / sizeof outcomes[0]; o++) {
        tly_cache cache;
        cr_assert_eq(tly_cache_init(&cache, 10, NULL), TALLY_OK);
        maker m = { .delay_us = 100000, .status = outcomes[o] };
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, THREADS);
        asker askers[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            askers[i] = (asker){
                .cache = &cache, .m = &m, .start = &start, .error = TALLY_ERROR_INIT
            };
            cr_assert_eq(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            cr_assert_eq(askers[i].status, outcomes[o]);
            if (outcomes[o] == TALLY_OK) {
                cr_assert_eq(askers[i].object, askers[0].object);
            } else {
                cr_assert_eq(askers[i].error.status, outcomes[o]);
                cr_assert_str_eq(askers[i].error.message, "level level, plan ");
                cr_assert_str_eq(askers[i].error.hint, "a hint");
            }
        }
        cr_assert_eq(m.calls, 1);
        cr_assert_eq(cache.compiled, outcomes[o] == TALLY_OK);
        cr_assert_eq(cache.cached, outcomes[o] == TALLY_OK);
        m.status = TALLY_OK;
        m.delay_us = 0;
        get_and_drop(&cache, 7, &m); /* a failure is not remembered */
        cr_assert_eq(m.calls, outcomes[o] == TALLY_OK ? 1 : 2);
        for (int i = 0; i < THREADS && outcomes[o] == TALLY_OK; i++) {
            tly_object_drop(askers[i].object);
        }
        pthread_barrier_destroy(&start);
        tly_cache_end(&cache);
    }
}
