/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs give what is in them, or nothing: every entry by its hash; what was compressed, whatever it
 * is; damage to every byte, ends at every byte, and lies; files that others could have written;
 * several packs, some of which are not there. A plain program; exit status 0: right. What only root
 * can try is said, and not tried, without.
 */
#include "disk.h"

#include "../runtime/cache/compress.h"
#include "../runtime/cache/pack.h"
#include "../runtime/host/hash.h"
#include "splitmix.h"

#include <tally/cache.h>

static char path[PATH_MAX], missing[PATH_MAX];

/* --- the file alone
 * ---------------------------------------------------------------------------- */

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

/* --- files that promise more than they have ------------------------------------------------------
 */

static int visited;

static int visit_one(void *user, const tally_cache_entry *entry)
{
    (void)user, (void)entry;
    visited++;
    return 0;
}

/* A file of so many bytes, of which only the head is written: all else are zeros. 0: the file
 * system has no such files. */
static int write_sparse(uint64_t slots, uint64_t bytes)
{
    tly_pack_head head = { .magic = TLY_PACK_MAGIC, .slots = slots, .bytes = bytes };
    head.checksum = tly_pack_sum(&head);
    write_file(&head, sizeof head);
    return truncate(path, (off_t)bytes) == 0;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void ends_soon(void)
{
    const uint64_t all = sizeof(tly_pack_head), slot = sizeof(tly_pack_slot);
    static const struct {
        int bits; /* of the number of slots */
        int opens;
    } files[] = { { 36, 0 }, { 31, 0 }, { 27, 1 }, { 10, 1 } };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const uint64_t slots = UINT64_C(1) << files[i].bits;
        if (!write_sparse(slots, all + slots * slot)) {
            printf("pack: no sparse files of 2^%d slots here\n", files[i].bits);
            continue;
        }
        const double begun = seconds();
        const tally_status status = tally_pack_visit(path, visit_one, NULL, NULL);
        EXPECT(status == (files[i].opens ? TALLY_OK : TALLY_IO), "2^%d slots: %d", files[i].bits,
               status);
        EXPECT(seconds() - begun < 10 && visited == 0, "2^%d slots take %.1f s", files[i].bits,
               seconds() - begun);
    }
    /* The last slot, or a dictionary, does not lie in the file. */
    tly_pack pack;
    HOLDS(write_sparse(16, all + 16 * slot - 1) && tly_pack_open(&pack, path) != NULL);
    for (uint32_t at = 0; at < 2; at++) {
        tly_pack_head head = { .magic = TLY_PACK_MAGIC, .slots = 16, .bytes = all + 16 * slot + 9 };
        head.dictionaries[3] = (tly_pack_part){ (uint32_t)(all + 16 * slot) + at, 9 };
        head.checksum = tly_pack_sum(&head);
        write_file(&head, sizeof head);
        HOLDS(truncate(path, (off_t)head.bytes) == 0);
        EXPECT((tly_pack_open(&pack, path) == NULL) == (at == 0), "a dictionary at %u", at);
        tly_pack_close(&pack);
    }
}

/* Slots none of which is free: a hash that is not there is not looked for in all of them. */
static void looks_up_soon(void)
{
    enum { SLOTS = 1 << 20, ASKED = 100 };
    const size_t bytes = sizeof(tly_pack_head) + SLOTS * sizeof(tly_pack_slot) + 1;
    unsigned char *file = calloc(1, bytes);
    tly_pack_head head = { .magic = TLY_PACK_MAGIC, .slots = SLOTS, .bytes = bytes };
    tly_pack_slot *slots = (tly_pack_slot *)(void *)(file + sizeof head);
    tly_pack pack;
    head.checksum = tly_pack_sum(&head);
    memcpy(file, &head, sizeof head);
    for (uint32_t i = 0; i < SLOTS; i++) {
        slots[i] = (tly_pack_slot){ .hash = i,
                                    .compressed = { (uint32_t)bytes - 1, 1 },
                                    .count = 99 };
    }
    write_file(file, bytes);
    free(file);
    const char *why = tly_pack_open(&pack, path);
    EXPECT(why == NULL, "%s", why);
    const double begun = seconds();
    for (uint64_t i = 0; i < ASKED && why == NULL; i++) {
        size_t size;
        EXPECT(tly_pack_read(&pack, SLOTS + (i << 13), &size) == NULL, "%d", (int)i);
    }
    EXPECT(seconds() - begun < 1, "%d lookups take %.2f s", ASKED, seconds() - begun);
    tly_pack_close(&pack);
}

/* --- compressed ------------------------------------------------------------------------------ */

enum { PIECE = 3000, WORDS = 2048 };

/* Bytes in which much, little or nothing comes again, from the dictionary too. */
static void draw(uint64_t *random, tly_dictionary dictionary, unsigned char *bytes, size_t count)
{
    const uint64_t likely = tly_splitmix(random) % 4;
    for (size_t i = 0; i < count;) {
        const size_t most = count - i,
                     n = 1 + tly_splitmix(random) % (tly_splitmix(random) % 8 ? 40 : 900);
        const size_t copied = n < most ? n : most;
        const int old = tly_splitmix(random) % 4 < likely && i > 0;
        const int known = tly_splitmix(random) % 4 < likely && copied <= dictionary.count;
        const size_t places = old ? i : known ? dictionary.count - copied + 1 : 1;
        const size_t from = tly_splitmix(random) % places;
        for (size_t k = 0; k < copied; k++) {
            bytes[i + k] = old     ? bytes[from + k]
                           : known ? dictionary.bytes[from + k]
                                   : (unsigned char)tly_splitmix(random);
        }
        i += copied;
    }
}

/* Nothing is written behind the end; returns whether it was decompressed. */
static int decompresses(tly_dictionary d, const unsigned char *from, size_t bytes,
                        unsigned char *to, size_t count)
{
    memset(to + count, 0xa5, 16);
    const int good = tly_decompress(d, from, bytes, to, count);
    for (int i = 0; i < 16; i++) {
        EXPECT(to[count + (size_t)i] == 0xa5, "written behind %zu bytes", count);
    }
    return good;
}

static void compresses(uint64_t seed)
{
    static unsigned char known[WORDS], bytes[PIECE], again[PIECE + 16];
    uint64_t random = seed;
    for (int i = 0; i < WORDS; i++) {
        known[i] = (unsigned char)tly_splitmix(&random);
    }
    const tly_dictionary d = { known, seed % 3 ? WORDS : 0 };
    const size_t count = seed % 5 ? tly_splitmix(&random) % (PIECE + 1) : (size_t)(seed % 40);
    draw(&random, d, bytes, count);
    unsigned char *compressed = malloc(tly_compressed_most(count));
    tly_compressor *compressor = tly_compressor_new(d, PIECE);
    size_t size = tly_compress(compressor, bytes, count, compressed);
    EXPECT(size == tly_compress(compressor, bytes, count, compressed), "seed %d", (int)seed);
    EXPECT(size <= tly_compressed_most(count), "seed %d: %zu", (int)seed, size);
    /* What ASan sees the ends of. */
    compressed = realloc(compressed, size + !size);
    EXPECT(decompresses(d, compressed, size, again, count) && memcmp(again, bytes, count) == 0,
           "seed %d", (int)seed);
    EXPECT(count == 0 || !decompresses(d, compressed, size, again, count - 1), "seed %d",
           (int)seed);
    EXPECT(count == PIECE || !decompresses(d, compressed, size, again, count + 1), "seed %d",
           (int)seed);
    for (int i = 0; i < 20 && size > 0; i++) {
        unsigned char *part = malloc(size);
        const size_t end = tly_splitmix(&random) % size;
        memcpy(part, compressed, size);
        part = realloc(part, end + !end);
        EXPECT(!decompresses(d, part, end, again, count), "seed %d: %zu of %zu", (int)seed, end,
               size);
        free(part);
    }
    for (int i = 0; i < 20 && size > 0; i++) {
        compressed[tly_splitmix(&random) % size] ^= (unsigned char)(1 +
                                                                    tly_splitmix(&random) % 255);
        decompresses(d, compressed, size, again, count); /* to whatever it may be */
    }
    free(compressed);
    tly_compressor_free(compressor);
}

/* --- kernels
 * ----------------------------------------------------------------------------------- */

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
    tly_pack_head head;
    memcpy(&head, bytes, sizeof head);
    const size_t entries = sizeof head + (size_t)head.slots * sizeof(tly_pack_slot);
    write_file(bytes, size);
    HOLDS(ask_pack() == LOADED);
    HOLDS(notices == 1 && strstr(noticed, "there is no such file") != NULL); /* the other one */
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (char)(1 << i % 8);
        write_file(bytes, size);
        /* Right, in any case. Compressed bytes may say the same in another way. */
        loaded += ask_pack() == LOADED && i < entries;
        bytes[i] ^= (char)(1 << i % 8);
    }
    /* In front of them only a slot that is free holds bytes that do not matter. */
    EXPECT(loaded <= (int)sizeof(tly_pack_slot), "%d bytes can be wrong", loaded);
    for (size_t i = 0; i < size; i++) {
        write_file(bytes, i);
        EXPECT(ask_pack() == MADE, "%zu bytes of %zu", i, size);
    }
    write_file(bytes, size);
    HOLDS(ask_pack() == LOADED);
    free(bytes);
}

enum { ALIKE = 60 };

static tly_pack_slot *slot_of(char *bytes, uint64_t hash)
{
    tly_pack_slot *slot = (tly_pack_slot *)(void *)(bytes + sizeof(tly_pack_head));
    while (slot->hash != hash) {
        slot++;
    }
    return slot;
}

/* Many that are alike, so that there is a dictionary. */
static char *pack_of_many(size_t *size)
{
    tly_packed_entry entries[ALIKE];
    for (uint64_t i = 0; i < ALIKE; i++) {
        entries[i] = (tly_packed_entry){ kept.hash + i * i, kept.bytes, kept.count };
    }
    return tly_pack_write(entries, ALIKE, size);
}

static void is_compressed_and_judged(void)
{
    size_t size;
    char *bytes = pack_of_many(&size);
    const tly_pack_head *head = (const tly_pack_head *)(void *)bytes;
    const tly_pack_part known = head->dictionaries[0];
    HOLDS(known.count > 0 && head->dictionaries[1].count == 0);
    EXPECT(size < ALIKE * kept.count / 2, "%zu bytes", size);
    write_file(bytes, size);
    HOLDS(ask_pack() == LOADED);
    size_t missed = 0;
    for (size_t i = known.at; i < known.at + known.count; i++) {
        bytes[i] ^= (char)(1 << i % 8);
        write_file(bytes, size);
        missed += ask_pack() == MADE; /* else right */
        bytes[i] ^= (char)(1 << i % 8);
    }
    EXPECT(missed > 0, "the dictionary does not matter");
    tly_pack_slot *slot = slot_of(bytes, kept.hash);
    const tly_pack_slot true_slot = *slot;
    tly_pack_slot lies[12];
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        lies[i] = true_slot;
    }
    lies[0].count++;
    lies[1].count--;
    lies[2].count = UINT32_MAX;
    lies[3].count = 0;
    lies[4].compressed.count++;
    lies[5].compressed.count--;
    lies[6].compressed.count = UINT32_MAX;
    lies[7].compressed.at = (uint32_t)size - 1;
    lies[8].compressed.at = UINT32_MAX;
    lies[9].dictionary = 1;
    lies[10].dictionary = TLY_PACK_DICTIONARIES;
    lies[11].dictionary = UINT32_MAX;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        *slot = lies[i];
        write_file(bytes, size);
        EXPECT(ask_pack() == MADE, "lie %zu", i);
    }
    *slot = true_slot;
    for (size_t i = 0; i < size; i += 1 + i / 32) {
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
    ends_soon();
    looks_up_soon();
    for (uint64_t seed = 1; seed <= 400; seed++) {
        compresses(seed);
    }
    remove(path);
    make_entry();
    HOLDS(ask_pack() == MADE);
    is_used_and_judged();
    is_compressed_and_judged();
    is_trusted();
    free((void *)(uintptr_t)kept.bytes);
    return end_disk("pack");
}
