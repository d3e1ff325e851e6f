/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flattening of relocatable objects. The object is looked at as untrusted bytes: every offset,
 * size and index is checked before it is used.
 */
#include "flatten.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/host/error.h"

enum {
    MAX_SECTIONS = 64, /* a kernel's object has about ten */
    MAX_ALIGN = 64,
    MAX_BLOB = 16 << 20,
    NOT_PLACED = -1
};

typedef struct image {
    const unsigned char *object;
    size_t object_bytes;
    tally_error *error;
    Elf64_Ehdr header;
    Elf64_Shdr sections[MAX_SECTIONS];
    int64_t place[MAX_SECTIONS]; /* offset in the blob, or NOT_PLACED */
    uint32_t section_count;
    uint32_t symbol_section;
    uint64_t symbol_count;
    unsigned char *blob;
    uint64_t blob_bytes;
} image;

#define FAIL(im, ...) tly_fail((im)->error, TALLY_INTERNAL, "code", __VA_ARGS__)

static int inside(const image *im, uint64_t offset, uint64_t bytes)
{
    return offset <= im->object_bytes && bytes <= im->object_bytes - offset;
}

/* A string of a string table; "?" where there is none. */
static const char *string_at(const image *im, uint32_t table, uint32_t offset)
{
    if (table >= im->section_count) {
        return "?";
    }
    const Elf64_Shdr *s = &im->sections[table];
    if (s->sh_type != SHT_STRTAB || offset >= s->sh_size) {
        return "?";
    }
    const char *text = (const char *)im->object + s->sh_offset + offset;
    return memchr(text, 0, (size_t)(s->sh_size - offset)) != NULL ? text : "?";
}

static const char *section_name(const image *im, uint32_t i)
{
    return string_at(im, im->header.e_shstrndx, im->sections[i].sh_name);
}

/* ---- relocations ---- */

/* `at` is the patched field, which lies `from` bytes into the blob; `to` is where it points. Both
 * return 0 where the distance does not fit. */
static int patch_pc32(unsigned char *at, int64_t from, int64_t to)
{
    const int64_t distance = to - from;
    if (distance < INT32_MIN || distance > INT32_MAX) {
        return 0;
    }
    const int32_t value = (int32_t)distance;
    memcpy(at, &value, sizeof value);
    return 1;
}

/* Puts `bits` in the place of those of the instruction that `mask` names. Always 1. */
static int put_field(unsigned char *at, uint32_t mask, uint32_t bits)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    word = (word & ~mask) | (bits & mask);
    memcpy(at, &word, sizeof word);
    return 1;
}

static int patch_adr(unsigned char *at, int64_t from, int64_t to)
{
    const int64_t distance = to - from;
    const uint32_t value = (uint32_t)distance;
    if (distance < -(1 << 20) || distance >= 1 << 20) {
        return 0;
    }
    return put_field(at, 0x60ffffe0u, (value & 3) << 29 | (value >> 2 & 0x7ffff) << 5);
}

static int patch_literal(unsigned char *at, int64_t from, int64_t to)
{
    const int64_t distance = to - from;
    if (distance < -(1 << 20) || distance >= 1 << 20 || distance % 4 != 0) {
        return 0;
    }
    return put_field(at, 0x00ffffe0u, (uint32_t)(distance / 4) << 5);
}

/* The two halves of a distance: auipc's is rounded, as the other is signed. */
static int patch_upper(unsigned char *at, int64_t from, int64_t to)
{
    const int64_t distance = to - from;
    if (distance < -(1 << 30) || distance >= 1 << 30) {
        return 0;
    }
    return put_field(at, 0xfffff000u, (uint32_t)distance + 0x800);
}

static int patch_lower(unsigned char *at, int64_t from, int64_t to)
{
    return put_field(at, 0xfff00000u, (uint32_t)(to - from) << 20);
}

static int patch_lower_of_store(unsigned char *at, int64_t from, int64_t to)
{
    const uint32_t value = (uint32_t)(to - from);
    return put_field(at, 0xfe000f80u, value >> 5 << 25 | (value & 0x1f) << 7);
}

static const struct {
    uint16_t machine;
    uint32_t type, upper; /* upper: its symbol is the place of such a relocation, whose distance
                             this one completes */
    int (*patch)(unsigned char *at, int64_t from, int64_t to);
} relocations[] = {
    { EM_X86_64, R_X86_64_PC32, 0, patch_pc32 },
    { EM_X86_64, R_X86_64_PLT32, 0, patch_pc32 },
    { EM_AARCH64, R_AARCH64_ADR_PREL_LO21, 0, patch_adr },
    { EM_AARCH64, R_AARCH64_LD_PREL_LO19, 0, patch_literal },
    { EM_RISCV, R_RISCV_PCREL_HI20, 0, patch_upper },
    { EM_RISCV, R_RISCV_PCREL_LO12_I, R_RISCV_PCREL_HI20, patch_lower },
    { EM_RISCV, R_RISCV_PCREL_LO12_S, R_RISCV_PCREL_HI20, patch_lower_of_store },
};

static Elf64_Rela rela_at(const image *im, const Elf64_Shdr *table, uint64_t n)
{
    Elf64_Rela rela;
    memcpy(&rela, im->object + table->sh_offset + n * sizeof rela, sizeof rela);
    return rela;
}

/* Where in the blob a relocation points. */
static tally_status find_place(const image *im, const Elf64_Rela *rela, int64_t *to)
{
    const uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
    const uint64_t number = ELF64_R_SYM(rela->r_info);
    const Elf64_Shdr *table = &im->sections[im->symbol_section];
    if (number >= im->symbol_count) {
        return FAIL(im, "relocation of symbol %llu of %llu", (unsigned long long)number,
                    (unsigned long long)im->symbol_count);
    }
    Elf64_Sym symbol;
    memcpy(&symbol, im->object + table->sh_offset + number * sizeof symbol, sizeof symbol);
    const char *name = string_at(im, table->sh_link, symbol.st_name);
    if (symbol.st_shndx >= im->section_count || im->place[symbol.st_shndx] == NOT_PLACED) {
        return FAIL(im, "the code needs \"%s\", which is no part of it (relocation %u)", name,
                    (unsigned)type);
    }
    /* x86 counts from the instruction's end, so that a reference to the first byte looks as if it
     * lay before it: up to four bytes of the field and four of an immediate operand behind it. */
    const uint64_t room = im->sections[symbol.st_shndx].sh_size;
    const int64_t addend = rela->r_addend;
    if (symbol.st_value > room || addend < -(int64_t)symbol.st_value - 8 ||
        addend > (int64_t)(room - symbol.st_value)) {
        return FAIL(im, "relocation %u points outside \"%s\"", (unsigned)type, name);
    }
    *to = im->place[symbol.st_shndx] + (int64_t)symbol.st_value + addend;
    return TALLY_OK;
}

/* The other half's place is *from, and where that points will be *to. */
static tally_status find_upper(const image *im, const Elf64_Shdr *table, uint32_t type,
                               int64_t from, int64_t *to)
{
    for (uint64_t n = 0; n < table->sh_size / sizeof(Elf64_Rela); n++) {
        const Elf64_Rela rela = rela_at(im, table, n);
        if (ELF64_R_TYPE(rela.r_info) == type &&
            rela.r_offset == (uint64_t)(from - im->place[table->sh_info])) {
            return find_place(im, &rela, to);
        }
    }
    return FAIL(im, "half a relocation at byte %lld", (long long)from);
}

static tally_status relocate(const image *im, const Elf64_Shdr *table, const Elf64_Rela *rela)
{
    const uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info), target = table->sh_info;
    const Elf64_Shdr *section = &im->sections[target];
    if (section->sh_size < 4 || rela->r_offset > section->sh_size - 4) {
        return FAIL(im, "relocation outside its section %s", section_name(im, target));
    }
    const int64_t at = im->place[target] + (int64_t)rela->r_offset;
    int64_t from = at, to = 0;
    tally_status status = find_place(im, rela, &to);
    for (size_t i = 0; status == TALLY_OK && i < sizeof relocations / sizeof *relocations; i++) {
        if (relocations[i].machine != im->header.e_machine || relocations[i].type != type) {
            continue;
        }
        if (relocations[i].upper != 0) {
            from = to;
            status = find_upper(im, table, relocations[i].upper, from, &to);
        }
        if (status == TALLY_OK && !relocations[i].patch(im->blob + at, from, to)) {
            return FAIL(im, "relocation %u is out of range", (unsigned)type);
        }
        return status;
    }
    return status != TALLY_OK ? status : FAIL(im, "relocation %u needs a linker", (unsigned)type);
}

static tally_status relocate_all(const image *im)
{
    for (uint32_t i = 0; i < im->section_count; i++) {
        const Elf64_Shdr *s = &im->sections[i];
        if (s->sh_type != SHT_RELA && s->sh_type != SHT_REL) {
            continue;
        }
        if (s->sh_info >= im->section_count) {
            return FAIL(im, "relocations of a section that is missing");
        }
        if (im->place[s->sh_info] == NOT_PLACED) {
            continue; /* of something that is not loaded */
        }
        if (s->sh_type == SHT_REL || s->sh_entsize != sizeof(Elf64_Rela)) {
            return FAIL(im, "relocations of an unknown form in %s", section_name(im, i));
        }
        for (uint64_t n = 0; n < s->sh_size / sizeof(Elf64_Rela); n++) {
            const Elf64_Rela rela = rela_at(im, s, n);
            tally_status status = relocate(im, s, &rela);
            if (status != TALLY_OK) {
                return status;
            }
        }
    }
    return TALLY_OK;
}

/* ---- sections ---- */

static tally_status read_sections(image *im)
{
    Elf64_Ehdr *h = &im->header;
    if (im->object_bytes < sizeof *h) {
        return FAIL(im, "an object of %zu bytes", im->object_bytes);
    }
    memcpy(h, im->object, sizeof *h);
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL ||
        (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64 && h->e_machine != EM_RISCV)) {
        return FAIL(im, "not a relocatable ELF object of a known machine");
    }
    if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum > MAX_SECTIONS ||
        !inside(im, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr))) {
        return FAIL(im, "a section table that cannot be");
    }
    im->section_count = h->e_shnum;
    memcpy(im->sections, im->object + h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr));
    for (uint32_t i = 0; i < im->section_count; i++) {
        const Elf64_Shdr *s = &im->sections[i];
        im->place[i] = NOT_PLACED;
        if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL &&
            !inside(im, s->sh_offset, s->sh_size)) {
            return FAIL(im, "section %u lies outside the object", (unsigned)i);
        }
        if (s->sh_type == SHT_SYMTAB && s->sh_entsize == sizeof(Elf64_Sym)) {
            im->symbol_section = i;
            im->symbol_count = s->sh_size / sizeof(Elf64_Sym);
        }
    }
    return TALLY_OK;
}

/* Gives a section its place at the blob's end. */
static tally_status place(image *im, uint32_t i)
{
    const Elf64_Shdr *s = &im->sections[i];
    const uint64_t align = s->sh_addralign > 1 ? s->sh_addralign : 1;
    if (align > MAX_ALIGN || (align & (align - 1)) != 0) {
        return FAIL(im, "section %s wants alignment %llu", section_name(im, i),
                    (unsigned long long)align);
    }
    const uint64_t start = (im->blob_bytes + align - 1) & ~(align - 1);
    if (s->sh_size > MAX_BLOB - start) {
        return FAIL(im, "code beyond %d bytes", MAX_BLOB);
    }
    im->place[i] = (int64_t)start;
    im->blob_bytes = start + s->sh_size;
    return TALLY_OK;
}

/* .text first, then what is constant; anything else that has bytes in memory is refused. */
static tally_status lay_out(image *im)
{
    uint32_t text = 0;
    for (uint32_t i = 1; i < im->section_count; i++) {
        if (im->sections[i].sh_size != 0 && strcmp(section_name(im, i), ".text") == 0) {
            text = i;
        }
    }
    if (text == 0 || im->sections[text].sh_type != SHT_PROGBITS) {
        return FAIL(im, "an object without code");
    }
    tally_status status = place(im, text);
    for (uint32_t i = 1; i < im->section_count && status == TALLY_OK; i++) {
        const Elf64_Shdr *s = &im->sections[i];
        if (i == text || s->sh_size == 0 || !(s->sh_flags & SHF_ALLOC)) {
            continue;
        }
        const char *name = section_name(im, i);
        if (s->sh_type != SHT_PROGBITS || s->sh_flags & (SHF_WRITE | SHF_EXECINSTR) ||
            (strncmp(name, ".rodata", 7) != 0 && strncmp(name, ".srodata", 8) != 0)) {
            return FAIL(im, "section %s, where only code and constants may be", name);
        }
        status = place(im, i);
    }
    return status;
}

/* The one function that others can see must be at byte 0. */
static tally_status check_entry(const image *im)
{
    const Elf64_Shdr *table = &im->sections[im->symbol_section];
    unsigned functions = 0;
    for (uint64_t n = 0; n < im->symbol_count; n++) {
        Elf64_Sym symbol;
        memcpy(&symbol, im->object + table->sh_offset + n * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) {
            continue;
        }
        if (symbol.st_shndx >= im->section_count || im->place[symbol.st_shndx] != 0 ||
            symbol.st_value != 0 || ++functions > 1) {
            return FAIL(im, "function %s is not the entry",
                        string_at(im, table->sh_link, symbol.st_name));
        }
    }
    return functions == 1 ? TALLY_OK : FAIL(im, "an object without a function");
}

static tally_status fill(image *im)
{
    for (uint32_t i = 0; i < im->section_count; i++) {
        if (im->place[i] != NOT_PLACED) {
            memcpy(im->blob + im->place[i], im->object + im->sections[i].sh_offset,
                   (size_t)im->sections[i].sh_size);
        }
    }
    return relocate_all(im);
}

tally_status tly_flatten(const unsigned char *object, size_t object_bytes, unsigned char **code,
                         size_t *code_bytes, tally_error *error)
{
    image im = { .object = object, .object_bytes = object_bytes, .error = error };
    tally_status status = read_sections(&im);
    if (status == TALLY_OK) {
        status = lay_out(&im);
    }
    if (status == TALLY_OK) {
        status = check_entry(&im);
    }
    if (status != TALLY_OK) {
        return status;
    }
    im.blob = calloc(1, (size_t)im.blob_bytes);
    if (im.blob == NULL) {
        return tly_out_of_memory(error, "code", (size_t)im.blob_bytes);
    }
    status = fill(&im);
    if (status != TALLY_OK) {
        free(im.blob);
        return status;
    }
    *code = im.blob;
    *code_bytes = (size_t)im.blob_bytes;
    return TALLY_OK;
}
