/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored plans and kernels whose checksum is right and whose content is not: each is a miss, and
 * what is made then is right. The program's own store hands them over, as a folder or a pack would.
 */
#include "bed.h"

#include "../../runtime/cache/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAN = 0, KERNEL = 1, KINDS };

static const char *const kinds[KINDS] = { "vulkan plan", "vulkan" };

/* What a context stored, by kind: the entry's bytes. */
static struct {
    unsigned char *bytes;
    size_t count;
} kept[KINDS];
static unsigned char *given; /* in place of the kept entry of `give_kind` */
static size_t given_count;
static int give_kind;

/* The key begins with the build's identity, then the kind. */
static int kind_of(const void *key)
{
    const char *kind = (const char *)key + strlen(key) + 1;
    return strcmp(kind, kinds[PLAN]) == 0 ? PLAN : KERNEL;
}

static void save(void *user, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    const int kind = kind_of(key);
    (void)user, (void)key_bytes;
    if (kept[kind].bytes == NULL) {
        kept[kind].bytes = malloc(bytes);
        memcpy(kept[kind].bytes, data, kept[kind].count = bytes);
    }
}

static int load(void *user, const void *key, size_t key_bytes, tally_write give, void *to)
{
    const int kind = kind_of(key), other = given != NULL && kind == give_kind;
    (void)user, (void)key_bytes;
    const void *bytes = other ? given : kept[kind].bytes;
    return bytes == NULL || give(to, bytes, other ? given_count : kept[kind].count) != 0;
}

/* A context of its own makes, runs and drops the kernel; returns how many entries were taken. */
static int turn(const char *word, const char *label)
{
    const tally_context_options options = { .size = sizeof options,
                                            .cache_load = load,
                                            .cache_save = save };
    tally_context *context = NULL;
    tally_stats stats = TALLY_STATS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tly_case c;
    if (!tly_expect(!tally_context_create(&options, &context, &error), "%s", error.message))
        return -1;
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    tly_case_make(&c, word, TLY_DATA_BENIGN, 3);
    char *out = tly_case_result(&c, v, NULL, 0);
    if (tly_expect(out != NULL, "%s: %s", word, label))
        tly_case_right(&c, out, tly_bed_flushes(v), 0, label);
    free(out);
    tly_case_end(&c);
    tally_context_stats(context, &stats);
    const int taken = (int)(stats.loaded + v->context->plans.loaded);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return taken;
}

static void put(int kind, const void *value, size_t value_bytes)
{
    tly_stored stored;
    tly_store_key key = { .count = 0 };
    tly_store_name name = { "word", "device" };
    tly_expect(!tly_entry_read(kept[kind].bytes, kept[kind].count, &stored), "an entry");
    memcpy(key.bytes, stored.key, key.count = stored.key_bytes);
    free(given);
    give_kind = kind;
    given = tly_entry_write(&key, &name, value, value_bytes, &given_count);
}

/* Changes so many bytes of the value, and expects a miss. */
static void with(const char *word, int kind, size_t at, const void *bytes, size_t count,
                 const char *label)
{
    tly_stored stored;
    tly_expect(!tly_entry_read(kept[kind].bytes, kept[kind].count, &stored), "an entry");
    unsigned char *value = malloc(stored.value_bytes);
    memcpy(value, stored.value, stored.value_bytes);
    memcpy(value + at, bytes, count);
    put(kind, value, stored.value_bytes);
    const int taken = turn(word, label);
    tly_expect(taken == 1, "%s: %s %s: %d entries are taken", word, kinds[kind], label, taken);
    free(value);
}

static void cut(const char *word, int kind, long more, const char *label)
{
    tly_stored stored;
    tly_expect(!tly_entry_read(kept[kind].bytes, kept[kind].count, &stored), "an entry");
    unsigned char *value = calloc(1, stored.value_bytes + 16);
    memcpy(value, stored.value, stored.value_bytes);
    put(kind, value, (size_t)((long)stored.value_bytes + more));
    const int taken = turn(word, label);
    tly_expect(taken == 1, "%s: %s %s: %d entries are taken", word, kinds[kind], label, taken);
    free(value);
}

#define PLAN_AT(field) PLAN, offsetof(tly_gpu_plan, field)
#define LAUNCH_AT(field) KERNEL, offsetof(tly_gpu_launch, field)

static void judged(const char *word)
{
    static const unsigned char zeros[512];
    static unsigned char ones[512];
    const uint32_t nought = 0, one = 1, huge = 0x7fffffff, all = UINT32_MAX;
    const size_t words = sizeof(tly_gpu_launch) + 4 * TLY_GPU_PASSES;
    memset(ones, 0xff, sizeof ones);
    for (int kind = 0; kind < KINDS; kind++) {
        free(kept[kind].bytes);
        kept[kind].bytes = NULL;
    }
    free(given);
    given = NULL;
    tly_expect(turn(word, "made") == 0, "%s: from nowhere", word);
    if (!tly_expect(kept[PLAN].bytes && kept[KERNEL].bytes, "%s: stored", word))
        return;
    tly_expect(turn(word, "stored") == 2, "%s: what is stored is not taken", word);
    with(word, PLAN, 0, zeros, sizeof(tly_gpu_plan), "zeros");
    with(word, PLAN, 0, ones, sizeof(tly_gpu_plan), "ones");
    with(word, PLAN_AT(template_id), &huge, 4, "no template");
    with(word, PLAN_AT(group), &nought, 4, "no team");
    with(word, PLAN_AT(reserved), &one, 4, "what is reserved");
    cut(word, PLAN, -1, "a byte less");
    with(word, KERNEL, 0, zeros, sizeof(tly_gpu_launch), "zeros");
    with(word, KERNEL, 0, ones, sizeof(tly_gpu_launch), "ones");
    with(word, LAUNCH_AT(lanes), &nought, 4, "no lanes");
    with(word, LAUNCH_AT(record_bytes), &all, 4, "records");
    with(word, LAUNCH_AT(pass[0].per_group), &nought, 4, "no items");
    with(word, KERNEL, words, zeros, 64, "no head of a module");
    with(word, KERNEL, words + 40, ones, 64, "instructions without an end");
    cut(word, KERNEL, 1, "a byte more");
}

int main(void)
{
    judged("cumsum:f32:20x3000:axis=1");
    for (int kind = 0; kind < KINDS; kind++)
        free(kept[kind].bytes);
    free(given);
    return tly_bed_end("stored", 15);
}
