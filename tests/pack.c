/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs give what is in them, or nothing: every entry by its hash; damage to every byte and ends at
 * every byte; files that others could have written; several packs, some of which are not there. A
 * plain program; exit status 0: right. What only root can try is said, and not tried, without.
 */
#include "disk.h"

#include "../runtime/hash.h"
#include "../runtime/pack.h"

static char path[PATH_MAX], missing[PATH_MAX];

/* --- the file alone ---------------------------------------------------------------------------- */

static void write_file(const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    EXPECT(file != NULL && fwrite(bytes, 1, count, file) == count, "%s", path);
    if (file != NULL) {
        fclose(file);
    }
}

enum { MANY = 1000 };

/* Hashes that meet in few places of the table, at its end and front, too. */
static uint64_t hash_of(int i)
{
    return ((uint64_t)i << 32) | (uint64_t)(i % 3 ? i % 17 + 2040 : i);
}

static void finds_all(int count)
{
    static tly_packed_entry entries[MANY + 1];
    static char bytes[MANY + 1][24];
    tly_pack pack;
    size_t size;
    for (int i = 0; i < count; i++) {
        const int length = snprintf(bytes[i], sizeof bytes[i], "entry %d", i);
        entries[i] = (tly_packed_entry){ hash_of(i), bytes[i], (size_t)length };
    }
    entries[count] = (tly_packed_entry){ hash_of(0), "another", count ? 7 : 0 };
    void *made = tly_pack_write(entries, (size_t)count + (count > 0), &size);
    EXPECT(made != NULL, "%d", count);
    write_file(made, size);
    free(made);
    const char *why = tly_pack_open(&pack, path);
    EXPECT(why == NULL, "%s", why);
    for (int i = 0; i < count + 50 && why == NULL; i++) {
        char *got = tly_pack_read(&pack, hash_of(i), &size);
        EXPECT((got != NULL) == (i < count), "%d of %d", i, count);
        EXPECT(got == NULL ||
                   (size == entries[i].count && (i == 0 || memcmp(got, bytes[i], size) == 0)),
               "%d", i);
        free(got);
    }
    tly_pack_close(&pack);
    EXPECT(tly_pack_read(&pack, hash_of(0), &size) == NULL, "closed");
}

/* The order in which kernels were made does not matter. */
static void has_one_order(void)
{
    const tly_packed_entry one[] = { { 7, "a", 1 }, { 9, "bc", 2 }, { 15, "d", 1 } };
    const tly_packed_entry other[] = { one[2], one[0], one[1] };
    size_t size[2];
    char *made[2] = { tly_pack_write(one, 3, &size[0]), tly_pack_write(other, 3, &size[1]) };
    EXPECT(made[0] != NULL && made[1] != NULL && size[0] == size[1] &&
               memcmp(made[0], made[1], size[0]) == 0,
           "%zu", size[0]);
    free(made[0]);
    free(made[1]);
}

/* --- kernels ----------------------------------------------------------------------------------- */

static tly_packed_entry kept;

static void keep(void *user, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    (void)user;
    void *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    kept = (tly_packed_entry){ tly_hash(0, key, key_bytes), copy, bytes };
}

/* The entry that a context would store, as `tally compile` gets it. */
static void make_entry(void)
{
    static tly_generator mine;
    tally_context_options options = { .size = sizeof options, .cache_save = keep };
    tally_context *context = fake_context(&options);
    tally_kernel *kernel = NULL;
    tally_descriptor d;
    mine = fake_generator;
    mine.identity = tly_identity;
    tly_context_set_generator(context, &mine);
    tally_descriptor_parse("cumsum:i64:40:axis=0", &d, NULL);
    EXPECT(tally_kernel_create(context, &d, NULL, &kernel, NULL) == TALLY_OK, "created");
    EXPECT(kept.bytes != NULL, "kept");
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

static origin ask_pack(void)
{
    notices = 0;
    noticed[0] = 0;
    return ask();
}

static void is_used_and_judged(void)
{
    size_t size;
    char *bytes = tly_pack_write(&kept, 1, &size);
    int loaded = 0;
    write_file(bytes, size);
    HOLDS(ask_pack() == LOADED);
    HOLDS(notices == 1 && strstr(noticed, "there is no such file") != NULL); /* the other one */
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (char)(1 << i % 8);
        write_file(bytes, size);
        loaded += ask_pack() == LOADED; /* and right, in any case */
        bytes[i] ^= (char)(1 << i % 8);
    }
    /* Only a slot that is free holds bytes that do not matter. */
    EXPECT(loaded <= (int)sizeof(tly_pack_slot), "%d bytes can be wrong", loaded);
    for (size_t i = 0; i < size; i++) {
        write_file(bytes, i);
        EXPECT(ask_pack() == MADE, "%zu bytes of %zu", i, size);
    }
    write_file(bytes, size);
    HOLDS(ask_pack() == LOADED);
    free(bytes);
}

static void is_trusted(void)
{
    static const struct {
        const char *before, *after, *why;
    } ways[] = {
        { "chmod 666 \"$P\"", "chmod 600 \"$P\"", "others may write" },
        { "chmod 620 \"$P\"", "chmod 600 \"$P\"", "others may write" },
        { "mv \"$P\" \"$P.x\" && ln -s \"$P.x\" \"$P\"", "mv \"$P.x\" \"$P\"", "it is a link" },
        { "mv \"$P\" \"$P.x\" && mkfifo \"$P\"", "mv \"$P.x\" \"$P\"", "it is no file" },
        { "mv \"$P\" \"$P.x\" && mkdir \"$P\"", "rmdir \"$P\" && mv \"$P.x\" \"$P\"",
          "it is no file" },
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        sh("%s", ways[i].before);
        EXPECT(ask_pack() == MADE && strstr(noticed, ways[i].why) != NULL, "%s: %s", ways[i].why,
               noticed);
        sh("%s", ways[i].after);
        HOLDS(ask_pack() == LOADED);
    }
    if (geteuid() != 0) {
        puts("pack: not root: files of other owners are not tried");
        return;
    }
    sh("chown 1 '%s'", path);
    HOLDS(ask_pack() == MADE && strstr(noticed, "another user") != NULL);
    sh("chown 0 '%s'", path);
}

int main(void)
{
    char both[3 * PATH_MAX];
    if (!begin_disk()) {
        return 2;
    }
    snprintf(path, sizeof path, "%.3000s/p.pack", root);
    snprintf(missing, sizeof missing, "%.3000s/none.pack", root);
    snprintf(both, sizeof both, "%s::%s", missing, path);
    setenv("TALLY_PACK", both, 1); /* read once, at the first kernel */
    setenv("P", path, 1);
    cache[0] = 0; /* no folder */
    finds_all(0);
    finds_all(1);
    finds_all(MANY);
    has_one_order();
    remove(path);
    make_entry();
    HOLDS(ask_pack() == MADE);
    is_used_and_judged();
    is_trusted();
    free((void *)(uintptr_t)kept.bytes);
    return end_disk("pack");
}
