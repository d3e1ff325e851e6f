/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library tells, with kernels of the fake generator: the callback's levels, each event and
 * its fields, where a kernel was found; the files of TALLY_DUMP; and what gdb and perf see. The
 * lines of TALLY_VERBOSE, and real kernels, are in tests/log_commands.
 */
#include "disk.h"

#include "../runtime/cpu/cpu.h"

#include <elf.h>
#include <inttypes.h>
#include <sys/wait.h>

enum { MOST_LINES = 64 };

/* What a callback was told. */
static struct told {
    tally_log_level level;
    char text[2048];
} told[MOST_LINES];
static int lines;

static void listen(void *user, tally_log_level level, const char *message)
{
    EXPECT(user == told, "the user's pointer");
    if (lines < MOST_LINES) {
        told[lines].level = level;
        snprintf(told[lines].text, sizeof told[lines].text, "%s", message);
        lines++;
    }
}

static int count(tally_log_level level)
{
    int found = 0;
    for (int i = 0; i < lines; i++) {
        found += told[i].level == level;
    }
    return found;
}

/* How many lines have this text. */
static int having(const char *text)
{
    int found = 0;
    for (int i = 0; i < lines; i++) {
        found += strstr(told[i].text, text) != NULL;
    }
    return found;
}

/* A context whose kernels may be stored in `folder`, with a log of this level. */
static tally_context *begin(const char *folder, uint32_t level)
{
    static tly_generator mine;
    tally_context_options options = {
        .size = sizeof options,
        .threads = 1,
        .cache_folder = folder,
        .log = listen,
        .log_user = told,
        .log_level = level,
    };
    tally_context *context = fake_context(&options);
    mine = fake_generator;
    mine.identity = tly_identity;
    tly_context_set_generator(context, &mine);
    return context;
}

#define WORD "cumsum:i64:40:axis=0"

static void run(tally_kernel *kernel)
{
    int64_t in[40] = { 1 }, out[40];
    EXPECT(tally_kernel_run(kernel, in, out, NULL) == TALLY_OK && out[39] == 1, "a run");
}

/* Twice created, twice run. */
static void twice(tally_context *context)
{
    for (int turn = 0; turn < 2; turn++) {
        tally_kernel *kernel = fake_kernel(context, WORD, NULL);
        run(kernel);
        tally_kernel_destroy(&kernel);
    }
}

/* --- lines ----------------------------------------------------------------------------------- */

/* An event of these fields, whose time is a number of microseconds. */
static void expect_event(int line, const char *what, const char *how)
{
    const char *level = tly_level_name(tly_level_host());
    char wanted[256], *text = told[line].text;
    int length = snprintf(wanted, sizeof wanted, "%s,cpu:%s,%s,", what, level, how);
    EXPECT(strncmp(text, wanted, (size_t)length) == 0, "%s begins with %s", text, wanted);
    size_t whole = strspn(text + length, "0123456789");
    const char *rest = text + length + whole;
    EXPECT(whole > 0 && rest[0] == '.' && strspn(rest + 1, "0123456789") == 3, "the time in %s",
           text);
    EXPECT(strcmp(rest + 4, "," WORD) == 0, "the word in %s", text);
}

static void events(void)
{
    static const char *const from[] = { "made", "disk" };
    sh("rm -rf '%s' && mkdir -m 700 '%s'", cache, cache);
    for (int turn = 0; turn < 2; turn++) {
        tally_context *context = begin(cache, TALLY_LOG_EVENT);
        lines = 0;
        twice(context);
        EXPECT(lines == 4 && count(TALLY_LOG_EVENT) == 4, "%d lines", lines);
        expect_event(0, "create", from[turn]);
        expect_event(1, "run", "threads=1");
        expect_event(2, "create", "memory");
        expect_event(3, "run", "threads=1");
        tally_context_destroy(&context);
    }
}

static void levels(void)
{
    tally_context *context = begin(cache, 0);
    lines = 0;
    twice(context);
    EXPECT(lines == 0, "a log of warnings was told %s", told[0].text);
    tally_context_destroy(&context);

    lines = 0;
    sh("rm -rf '%s'", cache);
    context = begin(cache, TALLY_LOG_REASON);
    twice(context);
    EXPECT(having("cpu is ") == 1, "the level");
    EXPECT(having(WORD ": from no pack: there is none") == 1, "the packs");
    EXPECT(having(WORD ": not from the disk cache: it is not there") == 1, "the disk");
    EXPECT(having(WORD ": plan: ") == 1, "the plan");
    EXPECT(having(WORD ": threads: ") == 2, "the threads");
    EXPECT(count(TALLY_LOG_EVENT) == 4 && count(TALLY_LOG_WARNING) == 0, "%d lines", lines);
    tally_context_destroy(&context);

    tally_error error = TALLY_ERROR_INIT;
    tally_context_options options = { .size = sizeof options, .log_level = 4 };
    EXPECT(tally_context_create(&options, &context, &error) == TALLY_INVALID, "level 4");
    EXPECT(strcmp(error.field, "usage") == 0, "%s", error.field);
    /* A struct of before there were levels. */
    options = (tally_context_options){ .size = offsetof(tally_context_options, log_level),
                                       .log = listen,
                                       .log_user = told };
    lines = 0;
    context = fake_context(&options);
    twice(context);
    EXPECT(lines == 0, "an older program was told %s", told[0].text);
    tally_context_destroy(&context);
}

/* A pack, and a folder, that are not used: one notice each, without a log_level, however many
 * kernels are asked for; nothing on standard error. */
static void notices_of_default(void)
{
    char folder[PATH_MAX];
    int status = 1;
    const pid_t child = fork(); /* the environment is read once */
    if (child != 0) {
        EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the notices");
        return;
    }
    snprintf(folder, sizeof folder, "%.3000s/open", root);
    sh("mkdir '%s' && chmod 777 '%s'", folder, folder);
    setenv("TALLY_PACK", "/no/such.pack", 1);
    unsetenv("TALLY_DUMP");
    tally_context *context = begin(folder, 0);
    lines = 0;
    twice(context);
    tally_kernel *other = fake_kernel(context, "cumsum:i64:3x40:axis=0", NULL);
    tally_kernel_destroy(&other);
    EXPECT(lines == 2 && count(TALLY_LOG_WARNING) == 2, "%d lines", lines);
    EXPECT(having("the pack /no/such.pack is not used: ") == 1, "the pack");
    EXPECT(having("the disk cache does not use ") == 1, "the folder");
    tally_context_destroy(&context);
    _exit(failures != 0);
}

static void failures_and_nothing(void)
{
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_context_options options = { .size = sizeof options,
                                      .generator = "/no/such/file",
                                      .log = listen,
                                      .log_user = told,
                                      .log_level = TALLY_LOG_REASON };
    EXPECT(tally_context_create(&options, &context, &error) == TALLY_OK, "%s", error.message);
    lines = 0;
    tally_kernel *kernel = fake_kernel(context, WORD, &error);
    EXPECT(kernel == NULL && having("create,cpu:") == 1, "a failure");
    EXPECT(having(tally_status_name((tally_status)error.status)) == 1, "its status: %s",
           told[0].text);
    EXPECT(having(error.message) == 1, "its message: %s", error.message);
    tally_context_destroy(&context);
    context = begin("", TALLY_LOG_REASON);
    lines = 0;
    kernel = fake_kernel(context, "cumsum:i64:0:axis=0", &error);
    EXPECT(tally_kernel_run(kernel, NULL, NULL, &error) == TALLY_OK, "%s", error.message);
    EXPECT(having(",empty,") == 1 && having(",threads=0,") == 1, "of nothing");
    tally_kernel_destroy(&kernel);
    /* What is refused is no run. */
    lines = 0;
    kernel = fake_kernel(context, WORD, &error);
    EXPECT(tally_kernel_run(kernel, NULL, NULL, &error) == TALLY_INVALID, "NULL");
    EXPECT(having("run,") == 0, "a run that was refused");
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* --- files ----------------------------------------------------------------------------------- */

static char dump[PATH_MAX];

static void expect_file(const char *name, const char *holds)
{
    char path[PATH_MAX + 256], text[4096] = "";
    snprintf(path, sizeof path, "%s/%s", dump, name);
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL, "%s", path);
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        EXPECT(strstr(text, holds) != NULL, "%s: %s", path, text);
        fclose(file);
    }
}

static int count_files(void)
{
    DIR *list = opendir(dump);
    int found = 0;
    for (const struct dirent *next; list != NULL && (next = readdir(list)) != NULL;) {
        found += next->d_name[0] != '.';
    }
    if (list != NULL) {
        closedir(list);
    }
    return found;
}

static void stages(void)
{
    static const char *const shown[] = { "plan", "kir", "llvm", "asm" };
    char level[32], name[128], says[256], word[1024];
    tally_context *context = begin("", TALLY_LOG_WARNING);
    lines = 0;
    twice(context);
    EXPECT(lines == 1 && having("TALLY_DUMP=") == 1 && having("No such file") == 1,
           "a folder that is not there: %d, %s", lines, told[0].text);
    sh("mkdir '%s'", dump);
    tally_context_destroy(&context);

    context = begin("", TALLY_LOG_WARNING);
    lines = 0;
    twice(context);
    EXPECT(lines == 0, "%s", told[0].text);
    EXPECT(count_files() == 5, "%d files", count_files());
    tly_identifier(tly_level_name(tly_level_host()), level, sizeof level);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        snprintf(name, sizeof name, "cumsum_i64_40_axis_0_cpu_%s.%s", level, shown[i]);
        expect_file(name, "");
    }
    snprintf(name, sizeof name, "cumsum_i64_40_axis_0_cpu_%s.word", level);
    snprintf(says, sizeof says, "word " WORD "\ndevice cpu:%s\nfrom made\n",
             tly_level_name(tly_level_host()));
    expect_file(name, says);

    /* A name too long ends with a hash, and two of them are two. */
    for (int last = 1; last <= 2; last++) {
        snprintf(word, sizeof word, "cumsum:i64:1x1x1x1x1x1x1x3:axis=7,in=");
        for (int d = 0; d < 7; d++) {
            strcat(word, "1000000000000000000x");
        }
        snprintf(word + strlen(word), sizeof word - strlen(word), "%d,out=", last);
        for (int d = 0; d < 7; d++) {
            strcat(word, "1000000000000000000x");
        }
        strcat(word, "1");
        tally_error error = TALLY_ERROR_INIT;
        tally_kernel *kernel = fake_kernel(context, word, &error);
        EXPECT(kernel != NULL, "%s: %s", word, error.message);
        tally_kernel_destroy(&kernel);
    }
    EXPECT(count_files() == 15, "%d files", count_files());
    EXPECT(lines == 0, "%s", told[0].text);
    tally_context_destroy(&context);
}

/* --- gdb and perf ---------------------------------------------------------------------------- */

/* gdb's own layouts. */
struct jit_code_entry {
    const struct jit_code_entry *next, *before;
    const char *image;
    uint64_t bytes;
};
extern struct jit_descriptor {
    uint32_t version, action;
    const struct jit_code_entry *relevant, *first;
} __jit_debug_descriptor;

static int shown_to_gdb(void)
{
    int found = 0;
    const struct jit_code_entry *before = NULL;
    for (const struct jit_code_entry *e = __jit_debug_descriptor.first; e != NULL; e = e->next) {
        EXPECT(e->before == before, "the list is broken");
        before = e;
        found++;
    }
    return found;
}

static void expect_image(const struct jit_code_entry *e, uintptr_t code)
{
    Elf64_Ehdr head;
    Elf64_Shdr section[4];
    Elf64_Sym symbol[2];
    memcpy(&head, e->image, sizeof head);
    EXPECT(memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_shnum == 4, "an ELF head");
    memcpy(section, e->image + head.e_shoff, sizeof section);
    EXPECT(section[1].sh_addr == code && section[1].sh_size > 0, "the code's section");
    EXPECT(section[3].sh_offset + section[3].sh_size == e->bytes, "its length");
    memcpy(symbol, e->image + section[2].sh_offset, sizeof symbol);
    const char *name = e->image + section[3].sh_offset + symbol[1].st_name;
    EXPECT(strncmp(name, "tally_cumsum_i64_", 17) == 0, "its name: %s", name);
    EXPECT(symbol[1].st_size == section[1].sh_size, "its size");
}

static void debuggers(void)
{
    char path[64], line[256] = "", name[128] = "";
    uint64_t begins = 0, bytes = 0;
    const int before = shown_to_gdb();
    tally_context *context = begin("", TALLY_LOG_WARNING);
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    unlink(path);
    lines = 0;
    tally_kernel *kernel = fake_kernel(context, WORD, NULL);
    uintptr_t code;
    memcpy(&code, &kernel->object->code.entry, sizeof code);
    EXPECT(shown_to_gdb() == before + 1, "%d names", shown_to_gdb());
    expect_image(__jit_debug_descriptor.first, code);
    FILE *map = fopen(path, "r");
    EXPECT(map != NULL && fgets(line, sizeof line, map) != NULL, "%s", path);
    EXPECT(sscanf(line, "%" SCNx64 " %" SCNx64 " %127s", &begins, &bytes, name) == 3, "%s", line);
    EXPECT(begins == code && bytes > 0 && strncmp(name, "tally_cumsum_i64_", 17) == 0, "%s", line);
    if (map != NULL) {
        fclose(map);
    }
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    EXPECT(shown_to_gdb() == before, "%d names are left", shown_to_gdb() - before);
    EXPECT(lines == 0, "%s", told[0].text);

    /* A stranger's file of that name is left alone. */
    EXPECT(unlink(path) == 0 && symlink("/dev/null", path) == 0, "%s", path);
    context = begin("", TALLY_LOG_WARNING);
    twice(context);
    EXPECT(lines == 1 && having("it is a link") == 1, "%d: %s", lines, told[0].text);
    tally_context_destroy(&context);
    unlink(path);
}

int main(void)
{
    static void (*const cases[])(void) = { notices_of_default,   stages,   events, levels,
                                           failures_and_nothing, debuggers };
    if (!begin_disk()) {
        perror("log");
        return 1;
    }
    snprintf(dump, sizeof dump, "%.3000s/dump", root);
    setenv("TALLY_DUMP", dump, 1);
    setenv("TALLY_PERF", "1", 1);
    unsetenv("TALLY_VERBOSE");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cases[i]();
        sh("rm -f '%s'/*", dump); /* later cases would have the same kernels there, too */
    }
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    unlink(path);
    return end_disk("log");
}
