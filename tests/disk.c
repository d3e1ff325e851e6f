/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk cache gives what was stored, or nothing: damage to every byte, files and folders that
 * others could have written, other builds beside this one, the bound, the host's own functions. A
 * plain program; exit status 0: right. What only root can try is said, and not tried, without.
 */
#include "disk.h"

#include <errno.h>
#include <sys/wait.h>
#include <tally/cache.h>

enum { NOBODY = 65534, MOST = 4096 };

static const char *at(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%.3000s/%s", root, name);
    return path;
}

/* The one entry's path. */
static const char *entry_path(void)
{
    static char path[PATH_MAX];
    DIR *list = opendir(cache);
    int count = 0;
    for (const struct dirent *next; list != NULL && (next = readdir(list)) != NULL;) {
        if (next->d_name[0] != '.') {
            snprintf(path, sizeof path, "%.3800s/%s", cache, next->d_name);
            count++;
        }
    }
    if (list != NULL) {
        closedir(list);
    }
    EXPECT(count == 1, "%d files", count);
    return path;
}

static size_t read_file(const char *path, unsigned char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    size_t count = file != NULL ? fread(bytes, 1, most, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static void write_file(const char *path, const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    EXPECT(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0, "%s", path);
    chmod(path, 0600);
}

static void fresh(void)
{
    sh("rm -rf '%s'", cache);
    notices = 0;
}

/* A folder with one sound entry. */
static void with_entry(void)
{
    fresh();
    EXPECT(ask() == MADE, "it was not made");
    EXPECT(ask() == LOADED && notices == 0, "it was not found: %s", noticed);
}

/* --- what is right --------------------------------------------------------------------------- */

static void found_without_a_generator(void)
{
    struct stat folder, file;
    with_entry();
    EXPECT(ask_with(cache, "another build", NULL) == LOADED, "the generator was asked");
    EXPECT(stat(cache, &folder) == 0 && (folder.st_mode & 07777) == 0700, "%o", folder.st_mode);
    EXPECT(stat(entry_path(), &file) == 0 && (file.st_mode & 07777) == 0600, "%o", file.st_mode);
    tally_context_options options = { .size = sizeof options,
                                      .cache_folder = cache,
                                      .generator = "/no/such/generator" };
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    EXPECT(tally_context_create(&options, &context, &error) == TALLY_OK, "%s", error.message);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:40:axis=0", &error);
    EXPECT(kernel != NULL, "%s", error.message);
    tally_kernel_destroy(&kernel);
    kernel = fake_kernel(context, "cumsum:i64:40x30:axis=0", &error);
    EXPECT(kernel == NULL && error.status == TALLY_NO_GENERATOR, "%s", error.message);
    tally_context_destroy(&context);
}

static void refused(void)
{
    fresh();
    HOLDS(ask_with("", tly_identity, NULL) == MADE);
    HOLDS(ask_with("", tly_identity, NULL) == MADE);
    EXPECT(access(cache, F_OK) != 0, "there is a folder");
}

static void relative_and_new_folders(void)
{
    char here[PATH_MAX];
    fresh();
    HOLDS(getcwd(here, sizeof here) != NULL && chdir(root) == 0);
    HOLDS(ask_with("cache/below", tly_identity, NULL) == MADE);
    HOLDS(chdir(here) == 0);
    HOLDS(ask_with(at("cache/below"), tly_identity, NULL) == LOADED);
    /* Two folders are made, no more: the path of what is nowhere is a mistake. */
    HOLDS(ask_with(at("nowhere/at/all"), tly_identity, NULL) == MADE);
    EXPECT(access(at("nowhere"), F_OK) != 0, "it was made");
}

/* --- damage ---------------------------------------------------------------------------------- */

static void damaged(const char *path, const unsigned char *bytes, size_t count, const char *how,
                    size_t where)
{
    write_file(path, bytes, count);
    EXPECT(ask() == MADE, "%s at %zu was taken", how, where);
    EXPECT(ask() == LOADED, "%s at %zu was not mended", how, where);
}

static void every_byte_counts(void)
{
    unsigned char right[MOST], wrong[MOST];
    with_entry();
    const char *path = entry_path();
    size_t count = read_file(path, right, sizeof right);
    EXPECT(count > 100 && count < MOST - 1, "%zu bytes", count);
    for (size_t i = 0; i < count && failures < 10; i++) {
        damaged(path, right, i, "an end", i);
        memcpy(wrong, right, count);
        wrong[i] ^= 0xff;
        damaged(path, wrong, count, "a byte", i);
        wrong[i] = (unsigned char)(right[i] ^ 1u << i % 8);
        damaged(path, wrong, count, "a bit", i);
    }
    memcpy(wrong, right, count);
    wrong[count] = 0;
    damaged(path, wrong, count + 1, "a byte behind", count);
    EXPECT(notices == 0, "damage is nobody's fault: %s", noticed);
}

/* Fuzzed lengths must not lead the reader astray, even where the checksum is right. */
static void lengths_are_judged(void)
{
    unsigned char bytes[MOST], *copy;
    tly_stored entry;
    with_entry();
    size_t count = read_file(entry_path(), bytes, sizeof bytes);
    for (size_t i = 0; i < count; i++) {
        copy = malloc(i + 1); /* a sanitizer sees what is read beyond */
        memcpy(copy, bytes, i);
        EXPECT(tly_entry_read(copy, i, &entry) != NULL, "%zu bytes are an entry", i);
        free(copy);
    }
    for (size_t i = 16; i < 32; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1 << bit);
            EXPECT(tly_entry_read(bytes, count, &entry) != NULL, "byte %zu, bit %d", i, bit);
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    }
}

/* --- content --------------------------------------------------------------------------------- */

/* Writes the entry with another value, and a checksum that is right. */
static void write_value(const void *value, size_t value_bytes)
{
    unsigned char bytes[MOST];
    tly_stored stored;
    tly_store_key key = { .count = 0 };
    tly_store_name name;
    size_t count = read_file(entry_path(), bytes, sizeof bytes), all;
    HOLDS(tly_entry_read(bytes, count, &stored) == NULL);
    memcpy(key.bytes, stored.key, key.count = stored.key_bytes);
    snprintf(name.word, sizeof name.word, "%s", stored.word);
    snprintf(name.device, sizeof name.device, "%s", stored.device);
    void *made = tly_entry_write(&key, &name, value, value_bytes, &all);
    write_file(entry_path(), made, all);
    free(made);
}

static void write_launch(const tly_launch *launch, const tly_stored *stored)
{
    unsigned char value[MOST];
    memcpy(value, stored->value, stored->value_bytes);
    memcpy(value, launch, sizeof *launch);
    write_value(value, stored->value_bytes);
}

/* A checksum only finds damage: what somebody has written into a launch record on purpose is a
 * miss, or right, and never more than that. */
static void content_is_judged(void)
{
    static const int64_t numbers[] = { 0,         -1,           1, INT64_C(1) << 40, INT64_MAX,
                                       INT64_MIN, INT64_MIN + 1 };
    static const unsigned char zeros[MOST];
    unsigned char bytes[MOST];
    tly_stored stored;
    tly_launch launch;
    with_entry();
    size_t count = read_file(entry_path(), bytes, sizeof bytes);
    HOLDS(tly_entry_read(bytes, count, &stored) == NULL && stored.value_bytes > sizeof launch);
    int loaded = 0, tried = 0;
    write_value(zeros, stored.value_bytes);
    EXPECT(ask() == MADE, "zeros");
    write_value(zeros, 0);
    EXPECT(ask() == MADE, "no bytes");
    write_value(stored.value, sizeof launch);
    EXPECT(ask() == MADE, "no code");
    for (size_t at = 0; at + sizeof(int64_t) <= sizeof launch; at += sizeof(int64_t)) {
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++, tried++) {
            memcpy(&launch, stored.value, sizeof launch);
            memcpy((char *)&launch + at, &numbers[i], sizeof numbers[i]);
            write_launch(&launch, &stored);
            const origin from = ask(); /* and its result is judged */
            EXPECT(from != FAILED_TO, "byte %zu is %lld", at, (long long)numbers[i]);
            loaded += from == LOADED;
        }
    }
    EXPECT(loaded < tried / 2, "%d of %d are taken", loaded, tried);
    memcpy(&launch, stored.value, sizeof launch);
    memset(launch.template_name, 'x', sizeof launch.template_name);
    write_launch(&launch, &stored);
    EXPECT(ask() == MADE, "a name without an end");
    memcpy(&launch, stored.value, sizeof launch);
    snprintf(launch.level, sizeof launch.level, "x86-64-v9");
    write_launch(&launch, &stored);
    EXPECT(ask() == MADE, "another level");
    write_value(stored.value, stored.value_bytes);
    EXPECT(ask() == LOADED, "the true value");
}

/* --- strangers ------------------------------------------------------------------------------- */

/* Something is wrong with the folder or the file: kernels are made all the same, and one line tells
 * of it, whatever a context asks for. */
static void expect_refused(const char *how)
{
    notices = 0;
    tally_context *context = open_context(cache, tly_identity);
    tally_error error = TALLY_ERROR_INIT;
    tally_stats stats = TALLY_STATS_INIT;
    static const char *const words[] = { "cumsum:i64:40:axis=0", "cumsum:i64:40x30:axis=0" };
    for (int i = 0; i < 2; i++) {
        tally_kernel *kernel = fake_kernel(context, words[i], &error);
        EXPECT(kernel != NULL, "%s: %s", how, error.message);
        tally_kernel_destroy(&kernel);
    }
    tally_context_stats(context, &stats);
    EXPECT(stats.loaded == 0 && stats.compiled == 2, "%s: it was used", how);
    EXPECT(notices == 1 && strstr(noticed, "cache") != NULL, "%s: %d notices: %s", how, notices,
           noticed);
    tally_context_destroy(&context);
}

static void modes(void)
{
    static const mode_t bad[] = { 0720, 0702, 0777, 01777 };
    for (int i = 0; i < 4; i++) {
        with_entry();
        chmod(cache, bad[i]);
        expect_refused("a folder's mode");
        with_entry();
        chmod(entry_path(), bad[i] & 0666);
        expect_refused("a file's mode");
    }
    with_entry();
    chmod(cache, 0755);
    chmod(entry_path(), 0644);
    EXPECT(ask() == LOADED, "others may read");
}

static void links_and_others(void)
{
    char entry[PATH_MAX];
    with_entry();
    sh("mv '%s' '%s' && ln -s real '%s'", cache, at("real"), cache);
    expect_refused("a link to a folder");
    sh("rm '%s' && rm -r '%s'", cache, at("real"));
    sh("touch '%s'", cache);
    expect_refused("no folder");
    with_entry();
    strcpy(entry, entry_path());
    sh("mv '%s' '%s' && ln -s ../kept '%s'", entry, at("kept"), entry);
    expect_refused("a link to a file");
    const char *const others[] = { "mkfifo", "mkdir" };
    for (int i = 0; i < 2; i++) {
        with_entry();
        strcpy(entry, entry_path());
        sh("rm '%s' && %s -m 600 '%s'", entry, others[i], entry);
        expect_refused(others[i]);
    }
}

static void owners(void)
{
    char entry[PATH_MAX];
    if (geteuid() != 0) {
        puts("disk: not root: other owners were not tried");
        return;
    }
    with_entry();
    strcpy(entry, entry_path());
    HOLDS(chown(entry, NOBODY, NOBODY) == 0);
    expect_refused("a file of another's");
    with_entry();
    HOLDS(chown(cache, NOBODY, NOBODY) == 0);
    expect_refused("a folder of another's");
    /* A user takes what is root's, and cannot add to it. */
    with_entry();
    strcpy(entry, entry_path());
    HOLDS(chmod(cache, 0755) == 0 && chmod(entry, 0644) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        HOLDS(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
        EXPECT(ask() == LOADED, "root's is not taken");
        HOLDS(ask_with(cache, tly_identity, "key=1") == MADE);
        EXPECT(ask_with(cache, tly_identity, "key=1") == MADE, "a read-only folder");
        _exit(failures);
    }
    int how = 1;
    waitpid(child, &how, 0);
    EXPECT(how == 0, "as another user: %d", how);
}

/* --- other builds ---------------------------------------------------------------------------- */

static void builds_side_by_side(void)
{
    unsigned char bytes[MOST];
    int entries;
    with_entry();
    /* What another build made lies beside, under its own name, and neither disturbs the other. */
    tly_store_key key, theirs;
    size_t length = strlen(tly_identity);
    tly_store_name name = { "cumsum:i64", "cpu" };
    HOLDS(tly_store_key_make(&key, "cpu", "facts", 5, ""));
    theirs = key;
    theirs.bytes[length - 1] ^= 1;
    theirs.hash = key.hash ^ 1;
    tly_store store = { .folder = cache, .limit = TLY_STORE_LIMIT };
    void *value;
    size_t count;
    tly_store_save(&store, &theirs, &name, "older", 5);
    EXPECT(!tly_store_load(&store, &key, &value, &count, NULL), "an older build's was taken");
    tly_store_save(&store, &key, &name, "newer one", 9);
    EXPECT(tly_store_load(&store, &theirs, &value, &count, NULL) && count == 5,
           "the older one is gone");
    free(value);
    EXPECT(tly_store_load(&store, &key, &value, &count, NULL) && count == 9 &&
               memcmp(value, "newer one", 9) == 0,
           "the newer one is gone");
    free(value);
    /* Even under the same name, as where hashes collide, the key decides. */
    theirs.hash = key.hash;
    EXPECT(!tly_store_load(&store, &theirs, &value, &count, NULL), "a collision was taken");
    EXPECT(ask() == LOADED, "ours is gone");
    EXPECT(count_wrong(&entries) == 0 && entries == 3, "%d entries", entries);
    /* A later layout of files. */
    with_entry();
    count = read_file(entry_path(), bytes, sizeof bytes);
    bytes[7]++;
    write_file(entry_path(), bytes, count);
    EXPECT(ask() == MADE && ask() == LOADED, "another layout");
    /* A generator of another build fills memory, not the disk. */
    fresh();
    HOLDS(ask_with(cache, "another build", NULL) == MADE);
    HOLDS(ask_with(cache, NULL, NULL) == MADE);
    EXPECT(access(cache, F_OK) != 0, "it was stored");
}

/* --- the bound ------------------------------------------------------------------------------- */

static void save_numbered(tly_store *store, int number)
{
    tly_store_key key;
    tly_store_name name = { "word", "device" };
    char value[100] = "";
    tly_store_key_make(&key, "test", &number, sizeof number, "");
    tly_store_save(store, &key, &name, value, sizeof value);
}

static int load_numbered(tly_store *store, int number)
{
    tly_store_key key;
    void *value;
    size_t count;
    tly_store_key_make(&key, "test", &number, sizeof number, "");
    int found = tly_store_load(store, &key, &value, &count, NULL);
    free(value);
    return found;
}

static void the_oldest_go(void)
{
    enum { LIMIT = 32 };
    tly_store store = { .folder = cache, .limit = LIMIT * 4096 };
    int entries, found = 0;
    fresh();
    for (int i = 0; i < 3 * LIMIT; i++) {
        save_numbered(&store, i);
        EXPECT(load_numbered(&store, 0), "in use and gone after %d", i);
        EXPECT(count_wrong(&entries) == 0 && entries <= LIMIT, "%d entries", entries);
    }
    for (int i = 2 * LIMIT + 4; i < 3 * LIMIT; i++) {
        found += load_numbered(&store, i);
    }
    EXPECT(found == LIMIT - 4, "%d of the latest", found); /* a share of two, one in use */
    EXPECT(!load_numbered(&store, 1), "the first that nobody used is there");
    /* What killed writers left goes when nobody can be writing it any more. */
    sh("touch -d '1 hour ago' '%s'", at("cache/0123456789abcdef.0123456789abcdef.tmp"));
    sh("touch '%s'", at("cache/0123456789abcdef.0000000000000000.tmp"));
    sh("touch -d '1 hour ago' '%s'", at("cache/somebodys.tmp"));
    store.written = 0;
    save_numbered(&store, -1);
    EXPECT(access(at("cache/0123456789abcdef.0123456789abcdef.tmp"), F_OK) != 0, "left behind");
    EXPECT(access(at("cache/0123456789abcdef.0000000000000000.tmp"), F_OK) == 0, "in use");
    EXPECT(access(at("cache/somebodys.tmp"), F_OK) == 0, "somebody's");
}

static void clear_takes_entries_alone(void)
{
    uint64_t removed = 0;
    with_entry();
    HOLDS(ask_with(cache, tly_identity, "key=1") == MADE);
    sh("touch '%s' '%s'", at("cache/notes.tally"), at("cache/0123456789abcdef.tally.old"));
    EXPECT(tally_cache_clear(cache, &removed, NULL) == TALLY_OK && removed == 2, "%d",
           (int)removed);
    EXPECT(access(at("cache/notes.tally"), F_OK) == 0, "it took more");
    EXPECT(access(at("cache/0123456789abcdef.tally.old"), F_OK) == 0, "it took more");
    HOLDS(ask() == MADE);
    fresh();
    EXPECT(tally_cache_clear(cache, NULL, NULL) == TALLY_OK, "no folder");
}

/* --- the host's ------------------------------------------------------------------------------ */

typedef struct host {
    unsigned char key[MOST], data[MOST];
    size_t key_bytes, bytes;
    int loads, saves, pieces;
} host;

static int host_load(void *user, const void *key, size_t key_bytes, tally_write give, void *to)
{
    host *h = user;
    h->loads++;
    if (h->bytes == 0 || key_bytes != h->key_bytes || memcmp(key, h->key, key_bytes) != 0) {
        return 1;
    }
    for (size_t i = 0, step = h->bytes / (size_t)h->pieces + 1; i < h->bytes; i += step) {
        size_t count = step < h->bytes - i ? step : h->bytes - i;
        HOLDS(give(to, (const char *)h->data + i, count) == 0);
    }
    return 0;
}

static void host_save(void *user, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    host *h = user;
    h->saves++;
    memcpy(h->key, key, h->key_bytes = key_bytes);
    memcpy(h->data, data, h->bytes = bytes);
}

static void the_hosts_functions(void)
{
    static host h = { .pieces = 1 };
    tally_context_options options = {
        .size = sizeof options, .cache_load = host_load, .cache_save = host_save, .cache_user = &h
    };
    tly_generator mine = fake_generator;
    mine.identity = tly_identity;
    for (int turn = 0; turn < 4; turn++) {
        tally_stats stats = TALLY_STATS_INIT;
        tally_context *context = fake_context(&options);
        tly_context_set_generator(context, &mine);
        if (turn == 3) {
            h.data[h.bytes / 2] ^= 4; /* judged as files are */
        }
        tally_kernel *kernel = fake_kernel(context, "cumsum:i64:40:axis=0", NULL);
        HOLDS(kernel != NULL);
        tally_context_stats(context, &stats);
        EXPECT((int)stats.loaded == (turn == 1 || turn == 2), "turn %d", turn);
        EXPECT(h.loads == turn + 1 && h.saves == (turn < 3 ? 1 : 2), "turn %d", turn);
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
        h.pieces = 7;
    }
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    options.cache_folder = cache;
    EXPECT(tally_context_create(&options, &context, &error) == TALLY_INVALID, "both");
    EXPECT(strcmp(error.field, "usage") == 0 && error.message[0] != 0, "%s", error.field);
}

int main(void)
{
    static void (*const cases[])(void) = {
        found_without_a_generator,
        refused,
        relative_and_new_folders,
        every_byte_counts,
        content_is_judged,
        lengths_are_judged,
        modes,
        links_and_others,
        owners,
        builds_side_by_side,
        the_oldest_go,
        clear_takes_entries_alone,
        the_hosts_functions,
    };
    if (!begin_disk()) {
        perror("disk");
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cases[i]();
    }
    return end_disk("disk");
}
