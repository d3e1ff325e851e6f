/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of files reaches terminals, logs and JSON only as text: the escapes alone, over every
 * character of Unicode; and the command (TALLY_TOOL), which is given packs, folders, lists and
 * names of files that hold escape sequences and bytes that are no UTF-8. A plain program; exit
 * status 0: right.
 */
#include "disk.h"

#include "../runtime/cache/pack.h"
#include "../runtime/host/hash.h"
#include "../runtime/host/printable.h"

/* --- the escapes ------------------------------------------------------------------------------ */

static size_t encode(uint32_t number, char bytes[4])
{
    static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
    const size_t more = number < 0x80 ? 0 : number < 0x800 ? 1 : number < 0x10000 ? 2 : 3;
    for (size_t i = 0; i <= more; i++) {
        const unsigned part = number >> 6 * (more - i);
        bytes[i] = (char)(i == 0 ? first[more] | part : 0x80 | (part & 0x3f));
    }
    return more + 1;
}

static void reads_every_character(void)
{
    for (uint32_t n = 0; n < 0x110000; n++) {
        char bytes[4];
        uint32_t number = 0;
        const size_t count = encode(n, bytes), read = tly_utf8(bytes, count, &number);
        const int surrogate = n >= 0xd800 && n < 0xe000;
        EXPECT(surrogate ? number == TLY_NO_CHARACTER && read == 1 : number == n && read == count,
               "%x", (unsigned)n);
        for (size_t cut = 1; cut < count; cut++) {
            EXPECT(tly_utf8(bytes, cut, &number) == 1 && number == TLY_NO_CHARACTER, "%x", n);
        }
    }
    static const char *const wrong[] = { "\x80",
                                         "\xbf",
                                         "\xc0\x80",
                                         "\xc1\xbf",
                                         "\xe0\x9f\xbf",
                                         "\xf0\x8f\xbf\xbf",
                                         "\xf4\x90\x80\x80",
                                         "\xf8\x88\x80\x80\x80",
                                         "\xff",
                                         "\xc3\x28",
                                         "\xe2\x28\xa1",
                                         "\xf0\x9f\x92\x28" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint32_t number = 0;
        EXPECT(tly_utf8(wrong[i], strlen(wrong[i]), &number) == 1 && number == TLY_NO_CHARACTER,
               "%zu", i);
    }
}

static void escapes(void)
{
    static const struct {
        const char *from, *to;
    } texts[] = {
        { "", "" },
        { "plain \\ text", "plain \\ text" },
        { "\x1b[31mred", "\\x1b[31mred" },
        { "a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f" },
        { "gr\xc3\xb6\xc3\x9f\xe2\x82\xac\xf0\x9f\x92\xa9",
          "gr\xc3\xb6\xc3\x9f\xe2\x82\xac\xf0\x9f\x92\xa9" },
        { "\xc2\x9b"
          "31m",
          "\\xc2\\x9b31m" },
        { "\x9b"
          "31m\xff",
          "\\x9b31m\\xff" },
        { "a\xe2\x80\xae-\xe2\x81\xa6", "a\\xe2\\x80\\xae-\\xe2\\x81\\xa6" },
        { "\xe2\x80\xa8\xef\xbb\xbf", "\\xe2\\x80\\xa8\\xef\\xbb\\xbf" },
        { "\xe2\x82", "\\xe2\\x82" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char whole[128], again[128];
        const size_t length = tly_printable(whole, sizeof whole, texts[i].from);
        EXPECT(strcmp(whole, texts[i].to) == 0 && length == strlen(whole), "%zu: %s", i, whole);
        tly_printable(again, sizeof again, whole);
        EXPECT(strcmp(again, whole) == 0, "%zu: twice: %s", i, again);
        for (size_t room = 0; room <= length; room++) {
            char *cut = malloc(room + !room); /* ASan sees its end */
            const size_t got = tly_printable(cut, room, texts[i].from);
            EXPECT(room == 0 || (got < room && cut[got] == 0 && strncmp(whole, cut, got) == 0),
                   "%zu in %zu", i, room);
            /* What is left out is a character or an escape, of 12 bytes at most. */
            EXPECT(room == 0 || got + 12 >= room, "%zu in %zu: %zu", i, room, got);
            free(cut);
        }
    }
}

/* --- the command ------------------------------------------------------------------------------ */

/* A colour, a title, the same in one byte and in two, a direction, no UTF-8, a new line. */
#define HOSTILE \
    "a\x1b[31mb\x1b]0;t\x07\xc2\x9b" \
    "1m\x9b" \
    "1m\xe2\x80\xae\xff\xc3\n\"\\z"

static const char *tool;

/* What the command prints, on either file: characters that are shown, and line ends. The output has
 * `part`. */
static void shows(const char *arguments, const char *part)
{
    static char text[1 << 16];
    char command[4096];
    snprintf(command, sizeof command, "\"%s\" %s 2>&1", tool, arguments);
    FILE *pipe = popen(command, "r");
    size_t length = pipe != NULL ? fread(text, 1, sizeof text - 1, pipe) : 0;
    text[length] = 0;
    EXPECT(pipe != NULL && pclose(pipe) >= 0 && strlen(text) == length, "%s", command);
    EXPECT(strstr(text, part) != NULL, "%s: %s", command, text);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        uint32_t number;
        bytes = tly_utf8(text + i, length - i, &number);
        EXPECT(number == '\n' || tly_is_shown(number), "%s: byte %zu is %x", command, i,
               (unsigned)(unsigned char)text[i]);
    }
}

static void *hostile_entry(const tly_store_key *key, size_t *count)
{
    const tly_store_name name = { HOSTILE, "device " HOSTILE };
    return tly_entry_write(key, &name, "value", 5, count);
}

static void write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    EXPECT(file != NULL && fwrite(bytes, 1, count, file) == count, "%s", path);
    if (file != NULL) {
        fclose(file);
    }
}

static void at(char path[PATH_MAX], const char *name)
{
    snprintf(path, PATH_MAX, "%.3000s/%s", root, name);
}

static void lists_of_entries(void)
{
    char path[PATH_MAX], name[TLY_FOLDER_NAME];
    tly_store_key key;
    size_t count, size;
    tly_store_key_make(&key, "kind", "facts", 5, "");
    void *entry = hostile_entry(&key, &count);
    const tly_packed_entry packed = { key.hash, entry, count };
    void *pack = tly_pack_write(&packed, 1, &size);
    at(path, "hostile \x1b[31m\xff.pack");
    write_bytes(path, pack, size);
    setenv("P", path, 1);
    shows("cache list \"$P\"", "a\\x1b[31mb\\x1b]0;t\\x07");
    shows("cache list --json \"$P\"", "a\\u001b[31mb\\u001b]0;t\\u0007\\u009b1m\\ufffd1m\\u202e");
    shows("cache stats \"$P\"", "entries  1");
    shows("cache verify --json \"$P\"", "[]");
    shows("cache list \"$P.none\"", "hostile \\x1b[31m\\xff.pack.none");
    shows("cache verify \"$P.none\"", "hostile \\x1b[31m\\xff.pack.none");
    HOLDS(mkdir(cache, 0700) == 0);
    tly_folder_name(name, key.hash);
    snprintf(path, sizeof path, "%.3000s/%s", cache, name);
    write_bytes(path, entry, count);
    chmod(path, 0600);
    setenv("TALLY_CACHE_DIR", cache, 1);
    shows("cache list", "a\\x1b[31mb");
    shows("cache list --json", "\"word\": \"a\\u001b[31mb");
    setenv("TALLY_CACHE_DIR", "", 1);
    free(entry);
    free(pack);
}

static void lists_of_words(void)
{
    static const char *const lines[] = {
        "x" HOSTILE,
        "name\x1b[31m = sum:i32:4",
        "n = sum\x1b[31m:i32:4",
        "n = sum:i32:4 --plan \xc2\x9bx=1",
        "include \"no\x1b[31m\xff.tally\"",
    };
    char path[PATH_MAX];
    at(path, "list\x1b[31m\xff.tally");
    setenv("P", path, 1);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        write_bytes(path, lines[i], strlen(lines[i]));
        shows("compile --batch \"$P\" -o \"$P.pack\"", "list\\x1b[31m\\xff.tally:1: ");
    }
    write_bytes(path, "x\x1b[31m=1\n", strlen("x\x1b[31m=1\n"));
    shows("tune sum:i32:4 --plans \"$P\" --seconds 1", "x\\x1b[31m");
    shows("tune --words \"$P\" --seconds 1", "list\\x1b[31m\\xff.tally:1: ");
    shows("inspect sum:i32:4 --emit spirv --profile \"$P\"", "x\\x1b[31m");
    shows("run sum:i32:4 \"$P\" -o /dev/null", "list\\x1b[31m\\xff.tally: ");
    setenv("P", HOSTILE, 1);
    shows("run sum:i32:4 x.npy -o y.npy --device \"$P\"", "a\\x1b[31mb");
    shows("run \"$P\" x.npy -o y.npy", "a\\x1b[31mb");
    shows("\"$P\"", "a\\x1b[31mb");
    shows("cache \"$P\"", "a\\x1b[31mb");
}

static void logs(void)
{
    tally_context_options options = { .size = sizeof options, .cache_folder = "/no\x1b[31m\xff" };
    options.log = on_log;
    options.log_level = TALLY_LOG_REASON;
    tally_context *context = NULL;
    HOLDS(tally_context_create(&options, &context, NULL) == TALLY_OK);
    EXPECT(strstr(noticed, "disk cache: /no\\x1b[31m\\xff") != NULL, "%s", noticed);
    tally_context_destroy(&context);
}

int main(void)
{
    tool = getenv("TALLY_TOOL");
    if (tool == NULL || !begin_disk()) {
        return 2;
    }
    reads_every_character();
    escapes();
    lists_of_entries();
    lists_of_words();
    logs();
    return end_disk("printable");
}
