/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's stages side by side. Each line that came of a line of the kernel IR carries its
 * number: LLVM's debug locations, assembly's .loc and SPIR-V's OpLine say which, and are taken out
 * again, so that what is shown is a kernel without them.
 */
#include "html.h"

#include <stdlib.h>
#include <string.h>

/* A pane on its way to the page. */
typedef struct pane {
    tly_text *to;
    int lines;      /* of the kernel IR */
    int *locations; /* LLVM: the line of each piece of metadata, 0: none */
    size_t location_count;
    int current; /* assembly, SPIR-V: the line that is being lowered */
    int *first;  /* SPIR-V: the line before each module's kernel */
    int modules; /* begun */
    int hidden;  /* assembly: inside a section of debug information */
    struct located *located;
    size_t located_count, next; /* the first that is not used */
    int moved, lost;            /* lines that were found elsewhere, or not */
} pane;

/* Shows a line of text if it is one; 0: it is none that is shown. */
typedef int (*shower)(pane *p, const char *line, size_t length);

static int begins(const char *line, size_t length, const char *with)
{
    const size_t n = strlen(with);
    return length >= n && memcmp(line, with, n) == 0;
}

static const char *find(const char *line, size_t length, const char *what)
{
    return memmem(line, length, what, strlen(what));
}

/* A line's span; what is in it follows, and close_line. */
static void open_line(pane *p, int kir_line)
{
    if (kir_line > 0 && kir_line <= p->lines) {
        tly_text_print(p->to, "<span data-k=\"%d\">", kir_line);
    } else {
        tly_text_print(p->to, "<span>");
    }
}

static void close_line(pane *p)
{
    tly_text_print(p->to, "\n</span>");
}

static void show(pane *p, const char *line, size_t length, int kir_line)
{
    open_line(p, kir_line);
    tly_text_escape(p->to, line, length);
    close_line(p);
}

/* ---- kernel IR ---- */

static int show_kir(pane *p, const char *line, size_t length)
{
    p->current++;
    tly_text_print(p->to, "<span data-k=\"%d\" id=\"k%d\">", p->current, p->current);
    tly_text_escape(p->to, line, length);
    close_line(p);
    return 1;
}

/* ---- LLVM ---- */

/* Reads `!N = !DILocation(line: L, ...`. */
static void read_location(pane *p, const char *line)
{
    char *end;
    const size_t n = strtoul(line + 1, &end, 10);
    if (n < p->location_count && strncmp(end, " = !DILocation(line: ", 21) == 0) {
        p->locations[n] = atoi(end + 21);
    }
}

static int is_metadata(const char *line, size_t length)
{
    static const char *const of_lines[] = { "!DI", "!llvm.dbg.cu", "!llvm.module.flags",
                                            "!\"Debug Info Version\"" };
    for (size_t i = 0; length && line[0] == '!' && i < sizeof of_lines / sizeof *of_lines; i++) {
        if (find(line, length, of_lines[i])) {
            return 1;
        }
    }
    return 0;
}

/* Takes `, !dbg !N` out; of a function's first line, which is the scope's, there is no comma. */
static int show_llvm(pane *p, const char *line, size_t length)
{
    const char *mark = find(line, length, "!dbg !"), *end = line + length;
    if (is_metadata(line, length)) {
        return 0;
    }
    if (!mark) {
        show(p, line, length, 0);
        return 1;
    }
    char *rest;
    const size_t n = strtoul(mark + 6, &rest, 10);
    const int is_function = begins(line, length, "define");
    open_line(p, is_function ? 1 : n < p->location_count ? p->locations[n] : 0);
    tly_text_escape(p->to, line, (size_t)(mark - line) - (is_function ? 1 : 2));
    tly_text_escape(p->to, rest, (size_t)(end - rest));
    close_line(p);
    return 1;
}

/* ---- assembly ---- */

/* A line of the assembly with locations that is one of the assembly without, too. */
typedef struct located {
    const char *line;
    size_t length;
    int kir_line, used;
} located;

/* What is there for debug locations alone. */
static int is_debug(const char *line, size_t length)
{
    static const char *const directives[] = { "\t.loc\t", "\t.file\t1 ", "\t.file\t0 ",
                                              "\t.cfi_",  ".Ltmp",       ".Lfunc_begin" };
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (begins(line, length, directives[i])) {
            return 1;
        }
    }
    return 0;
}

/* Labels and directives came of nothing. */
static int is_code(const char *line, size_t length)
{
    return length > 1 && line[0] == '\t' && line[1] != '.' && line[1] != '#';
}

static int read_assembly(pane *p, const char *line, size_t length)
{
    if (begins(line, length, "\t.section\t")) {
        p->hidden = find(line, length, ".debug_") != NULL;
    }
    if (begins(line, length, "\t.loc\t")) {
        char *end;
        strtol(line + 6, &end, 10); /* the file */
        p->current = (int)strtol(end, NULL, 10);
    }
    if (!p->hidden && !is_debug(line, length)) {
        p->located[p->located_count++] = (located){ line, length,
                                                    is_code(line, length) ? p->current : 0, 0 };
    }
    return 1;
}

/* The two texts go in step, but for functions' beginnings on AArch64: with locations there are
 * directives about the frame as well, which instructions are not moved across. */
static int show_assembly(pane *p, const char *line, size_t length)
{
    enum { NEAR = 400 };
    located *found = NULL;
    while (p->next < p->located_count && p->located[p->next].used) {
        p->next++;
    }
    for (size_t i = p->next; i < p->located_count && i < p->next + NEAR && !found; i++) {
        located *l = &p->located[i];
        if (!l->used && l->length == length && memcmp(l->line, line, length) == 0) {
            found = l;
            p->moved += i != p->next;
        }
    }
    if (found) {
        found->used = 1;
    }
    p->lost += !found;
    show(p, line, length, found ? found->kir_line : 0);
    return 1;
}

/* ---- SPIR-V ---- */

static int show_spirv(pane *p, const char *line, size_t length)
{
    const char *op = find(line, length, "OpLine ");
    p->modules += find(line, length, "OpMemoryModel") != NULL; /* one a module */
    if (op) {
        const char *number = strchr(op + 7, ' ');
        p->current = p->first[p->modules > 0 ? p->modules - 1 : 0] + (number ? atoi(number) : 0);
        return 0;
    }
    if (find(line, length, "OpFunctionEnd") || find(line, length, "OpNoLine")) {
        p->current = 0;
    }
    show(p, line, length, p->current);
    return 1;
}

/* ---- panes ---- */

static void each_line(pane *p, const char *text, shower show_line)
{
    for (const char *line = text; *line;) {
        const char *end = tly_line_end(line);
        show_line(p, line, (size_t)(end - line));
        line = *end ? end + 1 : end;
    }
}

/* `code`: what the page's script colours it as. The buttons are the script's, too. */
static void write_pane(pane *p, const char *id, const char *name, const char *code,
                       const char *text, shower show_line)
{
    tly_text_print(p->to,
                   "<section class=\"pane\" aria-labelledby=\"%s-name\"><header><h3 "
                   "id=\"%s-name\">%s</h3><div class=\"tools\"><button type=\"button\" "
                   "class=\"wider\" aria-pressed=\"false\" aria-label=\"Wider: %s\">Wider</button>"
                   "<button type=\"button\" class=\"one-pane\" aria-pressed=\"false\" "
                   "aria-label=\"Alone: %s\">Alone</button></div></header>",
                   id, id, name, name, name);
    tly_text_print(p->to,
                   "<pre id=\"%s\" data-code=\"%s\" tabindex=\"0\" role=\"group\" "
                   "aria-labelledby=\"%s-name\" aria-describedby=\"code-help\"><code>",
                   id, code, id);
    each_line(p, text, show_line);
    tly_text_print(p->to, "</code></pre></section>");
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void write_llvm(pane *p, const char *text)
{
    p->location_count = (size_t)count_lines(text) + 1;
    p->locations = calloc(p->location_count, sizeof *p->locations);
    if (!p->locations) {
        p->to->failed = 1;
        return;
    }
    for (const char *line = text; *line; line = *tly_line_end(line) ? tly_line_end(line) + 1 : "") {
        if (line[0] == '!') {
            read_location(p, line);
        }
    }
    write_pane(p, "llvm", "LLVM IR", "llvm", text, show_llvm);
    free(p->locations);
}

static void write_assembly(pane *p, const tly_page *page)
{
    p->located = calloc((size_t)count_lines(page->code_lines) + 1, sizeof *p->located);
    if (!p->located) {
        p->to->failed = 1;
        return;
    }
    each_line(p, page->code_lines, read_assembly);
    write_pane(p, "code-text", "assembly", "asm", page->code, show_assembly);
    tly_text_print(p->to, "<!-- assembly: %d lines moved, %d lost -->", p->moved, p->lost);
    free(p->located);
}

/* Kernels follow each other in the text of the kernel IR, as modules do in that of SPIR-V. */
static void write_spirv(pane *p, const tly_page *page)
{
    int line = 0, kernels = 0;
    p->first = calloc((size_t)p->lines + 1, sizeof *p->first);
    if (!p->first) {
        p->to->failed = 1;
        return;
    }
    for (const char *at = page->kir; *at;
         at = *tly_line_end(at) ? tly_line_end(at) + 1 : "", line++) {
        if (strncmp(at, "kernel ", 7) == 0) {
            p->first[kernels++] = line;
        }
    }
    write_pane(p, "code-text", "SPIR-V", "spirv", page->code, show_spirv);
    free(p->first);
}

void tly_html_code(const tly_page *page, tly_text *to)
{
    pane p = { .to = to, .lines = count_lines(page->kir) };
    tly_text_print(to, "<div class=\"panes\">");
    write_pane(&p, "kir", "Kernel IR", "kir", page->kir, show_kir);
    p.current = 0;
    if (page->llvm) {
        write_llvm(&p, page->llvm);
        write_assembly(&p, page);
    } else {
        write_spirv(&p, page);
    }
    tly_text_print(to, "</div>");
}
