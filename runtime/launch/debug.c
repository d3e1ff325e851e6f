/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels as debuggers and profilers show them; see debug.h. */
#include "debug.h"

#include "../host/env.h"
#include "../host/fork.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void tly_identifier(const char *text, char *name, size_t capacity)
{
    size_t length = 0;
    for (; text[length] != 0 && length + 1 < capacity; length++) {
        char c = text[length];
        int plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        name[length] = plain ? c : '_';
    }
    name[length] = 0;
}

/* --- gdb's interface: names and layouts are gdb's
 * ------------------------------------------------ */

struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
};

struct jit_descriptor {
    uint32_t version, action_flag;
    struct jit_code_entry *relevant_entry, *first_entry;
};

enum { NO_ACTION, REGISTERED, UNREGISTERED };

/* gdb looks for these two in each file of the process and asks for the symbols that all may see.
 * Weak: in a program that links LLVM statically, too, its are taken for both. The shared library
 * gives them a version of their own (export.map), lest a shared LLVM finds ours. */
#define FOR_GDB __attribute__((visibility("default"), weak))
FOR_GDB void __jit_debug_register_code(void);
FOR_GDB struct jit_descriptor __jit_debug_descriptor = { 1, NO_ACTION, NULL, NULL };

/* gdb has a breakpoint here. */
__attribute__((noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken within the fork gate alone */

static void tell_gdb(uint32_t action, struct jit_code_entry *entry)
{
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = NO_ACTION;
    __jit_debug_descriptor.relevant_entry = NULL;
}

/* --- an image with one symbol
 * -------------------------------------------------------------------- */

enum { NONE, TEXT, SYMBOLS, STRINGS, SECTIONS };

static const char section_names[] = "\0.text\0.symtab\0.strtab"; /* the symbol's name follows */

struct tly_shown {
    struct jit_code_entry entry;
    /* The image: */
    Elf64_Ehdr head;
    Elf64_Shdr section[SECTIONS];
    Elf64_Sym symbol[2];
    char strings[];
};

/* Bytes from the image's beginning. */
#define WITHIN(member) (offsetof(tly_shown, member) - offsetof(tly_shown, head))

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#else
#define MACHINE EM_X86_64
#endif

static void fill(tly_shown *i, const void *code, size_t bytes, const char *name, size_t strings)
{
    i->head = (Elf64_Ehdr){
        .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
        .e_type = ET_REL,
        .e_machine = MACHINE,
        .e_version = EV_CURRENT,
        .e_shoff = WITHIN(section),
        .e_ehsize = sizeof i->head,
        .e_shentsize = sizeof i->section[0],
        .e_shnum = SECTIONS,
        .e_shstrndx = STRINGS,
    };
    i->section[TEXT] = (Elf64_Shdr){
        .sh_name = 1,
        .sh_type = SHT_NOBITS, /* gdb reads the code where it is */
        .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
        .sh_addr = (Elf64_Addr)(uintptr_t)code,
        .sh_size = bytes,
        .sh_addralign = 1,
    };
    i->section[SYMBOLS] = (Elf64_Shdr){
        .sh_name = sizeof "\0.text",
        .sh_type = SHT_SYMTAB,
        .sh_offset = WITHIN(symbol),
        .sh_size = sizeof i->symbol,
        .sh_link = STRINGS,
        .sh_info = 1, /* the first that is not local */
        .sh_addralign = sizeof(uint64_t),
        .sh_entsize = sizeof i->symbol[0],
    };
    i->section[STRINGS] = (Elf64_Shdr){
        .sh_name = sizeof "\0.text\0.symtab",
        .sh_type = SHT_STRTAB,
        .sh_offset = WITHIN(strings),
        .sh_size = strings,
        .sh_addralign = 1,
    };
    i->symbol[1] = (Elf64_Sym){
        .st_name = sizeof section_names,
        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
        .st_shndx = TEXT,
        .st_size = bytes,
    };
    memcpy(i->strings, section_names, sizeof section_names);
    strcpy(i->strings + sizeof section_names, name);
}

static tly_shown *show_gdb(const void *code, size_t bytes, const char *name)
{
    const size_t strings = sizeof section_names + strlen(name) + 1;
    tly_shown *s = calloc(1, offsetof(tly_shown, strings) + strings);
    if (s == NULL) {
        return NULL;
    }
    fill(s, code, bytes, name, strings);
    s->entry.symfile_addr = (const char *)&s->head;
    s->entry.symfile_size = WITHIN(strings) + strings;
    pthread_mutex_lock(&lock);
    s->entry.next_entry = __jit_debug_descriptor.first_entry;
    if (s->entry.next_entry != NULL) {
        s->entry.next_entry->prev_entry = &s->entry;
    }
    __jit_debug_descriptor.first_entry = &s->entry;
    tell_gdb(REGISTERED, &s->entry);
    pthread_mutex_unlock(&lock);
    return s;
}

void tly_debug_hide(tly_shown *s)
{
    /* An orphan does without the lock, and leaves the name where it is. */
    if (s == NULL || !tly_fork_enter()) {
        return;
    }
    pthread_mutex_lock(&lock);
    struct jit_code_entry *next = s->entry.next_entry, *before = s->entry.prev_entry;
    *(before != NULL ? &before->next_entry : &__jit_debug_descriptor.first_entry) = next;
    if (next != NULL) {
        next->prev_entry = before;
    }
    tell_gdb(UNREGISTERED, &s->entry);
    pthread_mutex_unlock(&lock);
    tly_fork_leave();
    free(s);
}

/* --- perf's map
 * ---------------------------------------------------------------------------------- */

/* NULL, or why the line was not written. Anybody may have made a file of this name. */
static const char *write_map(const char *path, const char *line, size_t length)
{
    struct stat facts;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                    0600);
    if (file < 0) {
        return errno == ELOOP ? "it is a link" : strerror(errno);
    }
    const char *why = fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) ? "it is no file"
                      : facts.st_uid != geteuid() ? "it belongs to another user"
                      : facts.st_nlink != 1       ? "it has another name, too"
                                                  : NULL;
    if (why == NULL && write(file, line, length) != (ssize_t)length) {
        why = "it cannot be written";
    }
    close(file);
    return why;
}

static void show_perf(const void *code, size_t bytes, const char *name, const tly_log *log)
{
    static atomic_int noticed;
    char path[64], line[512];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int length = snprintf(line, sizeof line, "%llx %zx %.400s\n",
                          (unsigned long long)(uintptr_t)code, bytes, name);
    const char *why = write_map(path, line, (size_t)length);
    if (why != NULL && !atomic_exchange(&noticed, 1)) {
        tly_log_say(log, TALLY_LOG_WARNING, "perf's map %s is not used: %s", path, why);
    }
}

/* --- both
 * ---------------------------------------------------------------------------------------- */

tly_shown *tly_debug_show(const tly_code *code, size_t bytes, const char *name, const tly_log *log)
{
    void *base;
    memcpy(&base, &code->entry, sizeof base); /* ISO C has no cast from a function to void * */
    if (tly_env_perf() > 0) {
        show_perf(base, bytes, name, log);
    }
    return show_gdb(base, bytes, name);
}
