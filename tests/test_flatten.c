/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flattening, on objects made here by hand: what is laid out and patched where, what is refused
 * and how, and that no damaged object is read beyond its end.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/llvm/flatten.h"

enum {
    S_NULL,
    S_TEXT,
    S_CONST,
    S_WIDE,
    S_EXTRA,
    S_RELA,
    S_SYMTAB,
    S_STRTAB,
    S_COUNT,
    TEXT = 40,
    CONST = 32,
    WIDE = 64,
    EXTRA = 8,
    MAX_RELA = 4,
    SYMBOLS = 7
};

/* Section names and symbol names share a table. */
static const char strings[] = "\0.text\0.rodata.cst16\0.rodata\0.data\0.rela.text\0.symtab\0"
                              ".strtab\0kernel\0memset\0.LC0";

static uint32_t string(const char *text)
{
    for (size_t at = 0; at < sizeof strings; at += strlen(strings + at) + 1) {
        if (strcmp(strings + at, text) == 0) {
            return (uint32_t)at;
        }
    }
    cr_assert_fail("no string %s", text);
    return 0;
}

typedef struct object {
    Elf64_Ehdr header;
    Elf64_Shdr sections[S_COUNT];
    unsigned char text[TEXT], constants[CONST], wide[WIDE], extra[EXTRA];
    Elf64_Rela rela[MAX_RELA];
    Elf64_Sym symbols[SYMBOLS];
    char strings[sizeof strings];
} object;

/* Symbols: a section's for each of the first three, the kernel, one that is missing, a label. */
enum { Y_NULL, Y_TEXT, Y_CONST, Y_WIDE, Y_KERNEL, Y_MISSING, Y_LABEL };

static void section(object *o, int i, const char *name, uint32_t type, uint64_t flags,
                    const void *data, size_t bytes, uint64_t align, uint64_t entry)
{
    o->sections[i] = (Elf64_Shdr){ .sh_name = string(name),
                                   .sh_type = type,
                                   .sh_flags = flags,
                                   .sh_offset = (uint64_t)((const char *)data - (char *)o),
                                   .sh_size = bytes,
                                   .sh_addralign = align,
                                   .sh_entsize = entry };
}

static object make(uint16_t machine)
{
    object o = { .header = { .e_type = ET_REL,
                             .e_machine = machine,
                             .e_version = EV_CURRENT,
                             .e_ehsize = sizeof(Elf64_Ehdr),
                             .e_shentsize = sizeof(Elf64_Shdr),
                             .e_shnum = S_COUNT,
                             .e_shstrndx = S_STRTAB,
                             .e_shoff = offsetof(object, sections) } };
    memcpy(o.header.e_ident, ELFMAG, SELFMAG);
    o.header.e_ident[EI_CLASS] = ELFCLASS64;
    o.header.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(o.strings, strings, sizeof strings);
    for (int i = 0; i < TEXT; i++) {
        o.text[i] = (unsigned char)(0x90 + i % 4);
    }
    memset(o.constants, 0xc1, CONST);
    memset(o.wide, 0xc2, WIDE);
    memset(o.extra, 0xc3, EXTRA);
    const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
    section(&o, S_TEXT, ".text", SHT_PROGBITS, code, o.text, TEXT, 16, 0);
    section(&o, S_CONST, ".rodata.cst16", SHT_PROGBITS, SHF_ALLOC | SHF_MERGE, o.constants, CONST,
            16, 16);
    section(&o, S_WIDE, ".rodata", SHT_PROGBITS, SHF_ALLOC, o.wide, WIDE, 64, 0);
    section(&o, S_EXTRA, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, o.extra, 0, 1, 0);
    section(&o, S_RELA, ".rela.text", SHT_RELA, 0, o.rela, 0, 8, sizeof(Elf64_Rela));
    o.sections[S_RELA].sh_info = S_TEXT;
    o.sections[S_RELA].sh_link = S_SYMTAB;
    section(&o, S_SYMTAB, ".symtab", SHT_SYMTAB, 0, o.symbols, sizeof o.symbols, 8,
            sizeof(Elf64_Sym));
    o.sections[S_SYMTAB].sh_link = S_STRTAB;
    section(&o, S_STRTAB, ".strtab", SHT_STRTAB, 0, o.strings, sizeof strings, 1, 0);
    for (int i = Y_TEXT; i <= Y_WIDE; i++) {
        o.symbols[i] = (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION),
                                    .st_shndx = (uint16_t)i };
    }
    o.symbols[Y_KERNEL] = (Elf64_Sym){ .st_name = string("kernel"),
                                       .st_shndx = S_TEXT,
                                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };
    o.symbols[Y_MISSING] = (Elf64_Sym){ .st_name = string("memset"),
                                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE) };
    o.symbols[Y_LABEL] = (Elf64_Sym){ .st_name = string(".LC0"),
                                      .st_shndx = S_WIDE,
                                      .st_value = 32,
                                      .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT) };
    return o;
}

static void add_rela(object *o, uint64_t offset, uint32_t symbol, uint32_t type, int64_t addend)
{
    Elf64_Shdr *s = &o->sections[S_RELA];
    o->rela[s->sh_size / sizeof *o->rela] = (Elf64_Rela){ offset,
                                                          ELF64_R_INFO((uint64_t)symbol, type),
                                                          addend };
    s->sh_size += sizeof *o->rela;
}

/* From exactly as many bytes of the heap, so that a sanitizer sees a step beyond them. */
static tally_status flatten(const object *o, size_t bytes, unsigned char **code, size_t *code_bytes,
                            tally_error *error)
{
    unsigned char *copy = malloc(bytes + !bytes);
    cr_assert_not_null(copy);
    memcpy(copy, o, bytes);
    tally_status status = tly_flatten(copy, bytes, code, code_bytes, error);
    free(copy);
    return status;
}

static void expect_layout(const object *o, unsigned char **code)
{
    tally_error error = TALLY_ERROR_INIT;
    size_t bytes;
    cr_assert_eq(flatten(o, sizeof *o, code, &bytes, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(bytes, 192); /* 40 of code, constants at 48, wide ones at 128 */
    for (int i = 0; i < CONST; i++) {
        cr_assert_eq((*code)[48 + i], 0xc1);
    }
    for (int i = 0; i < WIDE; i++) {
        cr_assert_eq((*code)[128 + i], 0xc2);
    }
}

static uint32_t word_at(const unsigned char *code, size_t offset)
{
    uint32_t word;
    memcpy(&word, code + offset, sizeof word);
    return word;
}

Test(flatten, x86)
{
    unsigned char *code;
    object o = make(EM_X86_64);
    add_rela(&o, 3, Y_CONST, R_X86_64_PC32, -4);
    add_rela(&o, 10, Y_WIDE, R_X86_64_PC32, 16 - 4);
    add_rela(&o, 36, Y_LABEL, R_X86_64_PC32, -5);
    add_rela(&o, 20, Y_TEXT, R_X86_64_PLT32, 8 - 4);
    expect_layout(&o, &code);
    cr_assert_eq(word_at(code, 3), 48 - 3 - 4);
    cr_assert_eq(word_at(code, 10), 128 + 16 - 10 - 4);
    cr_assert_eq(word_at(code, 36), 128 + 32 - 36 - 5);
    cr_assert_eq(word_at(code, 20), (uint32_t)(8 - 20 - 4));
    cr_assert_eq(memcmp(code, o.text, 3), 0);
    cr_assert_eq(code[7], o.text[7]);
    free(code);
}

Test(flatten, aarch64)
{
    unsigned char *code;
    object o = make(EM_AARCH64);
    const uint32_t adr = 0x10000008, ldr = 0x9c000003, ldr_back = 0x58000001;
    memcpy(o.text + 4, &adr, 4);
    memcpy(o.text + 8, &ldr, 4);
    memcpy(o.text + 16, &ldr_back, 4);
    add_rela(&o, 4, Y_WIDE, R_AARCH64_ADR_PREL_LO21, 7);
    add_rela(&o, 8, Y_CONST, R_AARCH64_LD_PREL_LO19, 0);
    add_rela(&o, 16, Y_KERNEL, R_AARCH64_LD_PREL_LO19, 0);
    expect_layout(&o, &code);
    const uint32_t distance = 128 + 7 - 4; /* 131: low bits 3, the rest 32 */
    cr_assert_eq(word_at(code, 4), adr | (distance & 3) << 29 | (distance >> 2) << 5);
    cr_assert_eq(word_at(code, 8), ldr | (48 - 8) / 4 << 5);
    cr_assert_eq(word_at(code, 16), ldr_back | (0x7ffff & (uint32_t)-4) << 5);
    free(code);
}

Test(flatten, riscv)
{
    unsigned char *code;
    object o = make(EM_RISCV);
    const uint32_t auipc = 0x00000517, addi = 0x00050513, sd = 0x00b53023;
    memcpy(o.text, &auipc, 4);
    memcpy(o.text + 4, &addi, 4);
    memcpy(o.text + 12, &sd, 4);
    add_rela(&o, 4, Y_KERNEL, R_RISCV_PCREL_LO12_I, 0); /* the other half is at byte 0 */
    add_rela(&o, 0, Y_WIDE, R_RISCV_PCREL_HI20, 7);
    add_rela(&o, 12, Y_KERNEL, R_RISCV_PCREL_LO12_S, 0);
    expect_layout(&o, &code);
    const uint32_t distance = 128 + 7;
    cr_assert_eq(word_at(code, 0), auipc);
    cr_assert_eq(word_at(code, 4), addi | distance << 20);
    cr_assert_eq(word_at(code, 12), sd | (distance >> 5) << 25 | (distance & 31) << 7);
    free(code);
    o = make(EM_RISCV); /* no other half there */
    add_rela(&o, 4, Y_KERNEL, R_RISCV_PCREL_LO12_I, 0);
    add_rela(&o, 8, Y_WIDE, R_RISCV_PCREL_HI20, 0);
    size_t bytes;
    cr_assert_eq(flatten(&o, sizeof o, &code, &bytes, NULL), TALLY_INTERNAL);
}

/* ---- refusals ---- */

static void call_memset(object *o)
{
    add_rela(o, 4, Y_MISSING, R_X86_64_PLT32, -4);
}
static void through_got(object *o)
{
    add_rela(o, 4, Y_CONST, R_X86_64_GOTPCREL, -4);
}
static void absolute(object *o)
{
    add_rela(o, 4, Y_CONST, R_X86_64_64, 0);
}
static void before_code(object *o)
{
    add_rela(o, 4, Y_TEXT, R_X86_64_PC32, -100);
}
static void beyond(object *o)
{
    add_rela(o, 4, Y_CONST, R_X86_64_PC32, CONST + 1);
}
static void field_outside(object *o)
{
    add_rela(o, TEXT - 3, Y_CONST, R_X86_64_PC32, -4);
}
static void no_symbol(object *o)
{
    add_rela(o, 4, SYMBOLS, R_X86_64_PC32, -4);
}
static void data(object *o)
{
    o->sections[S_EXTRA].sh_size = EXTRA;
}
static void bss(object *o)
{
    o->sections[S_EXTRA].sh_type = SHT_NOBITS;
    o->sections[S_EXTRA].sh_size = 1u << 20;
}
static void late_entry(object *o)
{
    o->symbols[Y_KERNEL].st_value = 4;
}
static void two_functions(object *o)
{
    o->symbols[Y_LABEL] = o->symbols[Y_KERNEL];
}
static void no_function(object *o)
{
    o->symbols[Y_KERNEL].st_info = 0;
}
static void no_text(object *o)
{
    o->sections[S_TEXT].sh_name = string(".data");
}
static void wide_align(object *o)
{
    o->sections[S_WIDE].sh_addralign = 4096;
}
static void odd_align(object *o)
{
    o->sections[S_WIDE].sh_addralign = 48;
}
static void huge(object *o)
{
    o->sections[S_WIDE].sh_size = UINT64_MAX;
}
static void other_machine(object *o)
{
    o->header.e_machine = EM_PPC64;
}
static void executable(object *o)
{
    o->header.e_type = ET_EXEC;
}
static void old_form(object *o)
{
    add_rela(o, 4, Y_CONST, R_X86_64_PC32, 0);
    o->sections[S_RELA].sh_type = SHT_REL;
}

static const struct {
    void (*spoil)(object *o);
    const char *says;
} refusals[] = {
    { call_memset, "memset" },
    { through_got, "relocation 9" },
    { absolute, "relocation 1" },
    { before_code, "outside" },
    { beyond, "outside" },
    { field_outside, "outside its section .text" },
    { no_symbol, "symbol 7 of 7" },
    { data, ".data" },
    { bss, ".data" },
    { late_entry, "kernel" },
    { two_functions, "kernel" },
    { no_function, "without a function" },
    { no_text, "without code" },
    { wide_align, "alignment 4096" },
    { odd_align, "alignment 48" },
    { huge, "outside the object" },
    { other_machine, "machine" },
    { executable, "relocatable" },
    { old_form, ".rela.text" },
};

Test(flatten, refusals)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        unsigned char *code = NULL;
        size_t bytes = 77;
        tally_error error = TALLY_ERROR_INIT;
        object o = make(EM_X86_64);
        refusals[i].spoil(&o);
        cr_assert_eq(flatten(&o, sizeof o, &code, &bytes, &error), TALLY_INTERNAL, "%zu (%s)", i,
                     refusals[i].says);
        cr_assert_not_null(strstr(error.message, refusals[i].says), "%s: %s", refusals[i].says,
                           error.message);
        cr_assert(code == NULL && bytes == 77);
    }
    /* What the small and large code models would need, and a literal that is not aligned. */
    static const struct {
        uint32_t type;
        int64_t addend;
    } arm[] = { { R_AARCH64_ADR_PREL_PG_HI21, 0 },
                { R_AARCH64_ADD_ABS_LO12_NC, 0 },
                { R_AARCH64_LDST128_ABS_LO12_NC, 0 },
                { R_AARCH64_CALL26, 0 },
                { R_AARCH64_LD_PREL_LO19, 2 } };
    for (size_t i = 0; i < sizeof arm / sizeof arm[0]; i++) {
        unsigned char *code;
        size_t bytes;
        object o = make(EM_AARCH64);
        add_rela(&o, 8, Y_CONST, arm[i].type, arm[i].addend);
        cr_assert_eq(flatten(&o, sizeof o, &code, &bytes, NULL), TALLY_INTERNAL, "%zu", i);
    }
}

/* ---- damage ---- */

static void survive(const object *o, size_t bytes)
{
    unsigned char *code = NULL;
    size_t code_bytes = 0;
    if (flatten(o, bytes, &code, &code_bytes, NULL) == TALLY_OK) {
        cr_assert_geq(code_bytes, 1);
        free(code);
    } else {
        cr_assert_null(code);
    }
}

Test(flatten, damage)
{
    static const unsigned char bits[] = { 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff };
    static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };
    for (int m = 0; m < 2; m++) {
        object o = make(machines[m]);
        add_rela(&o, 4, Y_LABEL, m == 0 ? R_X86_64_PC32 : R_AARCH64_ADR_PREL_LO21, -4);
        add_rela(&o, 12, Y_CONST, m == 0 ? R_X86_64_PC32 : R_AARCH64_LD_PREL_LO19, 0);
        survive(&o, sizeof o);
        for (size_t bytes = 0; bytes < sizeof o; bytes++) {
            survive(&o, bytes);
        }
        for (size_t at = 0; at < sizeof o; at++) {
            for (size_t b = 0; b < sizeof bits; b++) {
                unsigned char *byte = (unsigned char *)&o + at;
                *byte ^= bits[b];
                survive(&o, sizeof o);
                *byte ^= bits[b];
            }
        }
    }
}
