/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page's frame: tools/page/page.html with its gaps filled, and the short parts: what the kernel
 * is, and the plan with the reason of each choice.
 */
#include "html.h"

#include "../common/about.h"

#include <string.h>

static const char frame[] = {
#include "page.inc"
    0
};

static void escape(tly_text *to, const char *text)
{
    tly_text_escape(to, text, strlen(text));
}

static void write_word(const tly_page *page, tly_text *to)
{
    escape(to, page->job->word);
}

static void write_sizes(const tly_layout *l, tly_text *to)
{
    for (int i = 0; i < l->rank; i++) {
        tly_text_print(to, i ? " × %s" : "%s", tly_count(l->sizes[i]));
    }
    tly_text_print(to, "%s%s", l->rank ? " " : "one ", tally_dtype_name(l->dtype));
}

/* "axis 1", "axes 0 and 2", "all axes". */
static void write_axes(const tally_descriptor *d, tly_text *to)
{
    int left = 0;
    for (int i = 0; i < d->rank; i++) {
        left += d->axes_given && (d->axes >> i & 1);
    }
    tly_text_print(to, left == 0 ? "all axes" : left == 1 ? "axis" : "axes");
    for (int i = 0; i < d->rank && left > 0; i++) {
        if (d->axes >> i & 1) {
            left--;
            tly_text_print(to, " %d%s", i, left > 1 ? "," : left == 1 ? " and" : "");
        }
    }
}

static void write_summary(const tly_page *page, tly_text *to)
{
    const tally_descriptor *d = &page->job->descriptor;
    tly_text_print(to, "This kernel computes %s%s%s ", tly_about_op(d->op)->results,
                   d->flags & TALLY_REVERSE ? " from the end" : "",
                   d->flags & TALLY_EXCLUSIVE ? ", each without its own element," : "");
    if (page->job->scan) {
        tly_text_print(to, "along axis %d of ", (int)d->axis);
        write_sizes(&page->job->in, to);
    } else {
        tly_text_print(to, "over ");
        write_axes(d, to);
        tly_text_print(to, " of ");
        write_sizes(&page->job->in, to);
        tly_text_print(to, ". The results are ");
        write_sizes(&page->job->out, to);
    }
    tly_text_print(to, ". It is made for <code>");
    escape(to, page->device);
    tly_text_print(to, "</code>.");
}

/* ---- plan ---- */

static void write_choice(const tly_page *page, const char *line, tly_text *to)
{
    const size_t key = strcspn(line, "\t"), value = strcspn(line + key + 1, "\t");
    const char *why = line + key + 1 + value + 1;
    const int by_hand = tly_is_by_hand(page, line, key);
    tly_text_print(to, "<tr%s><th scope=\"row\"><code>", by_hand ? " class=\"forced\"" : "");
    tly_text_escape(to, line, key);
    tly_text_print(to, "</code></th><td><code>");
    tly_text_escape(to, line + key + 1, value);
    tly_text_print(to, "</code></td><td>%s",
                   by_hand ? "<strong>This choice was forced.</strong> " : "");
    tly_text_escape(to, why, (size_t)(tly_line_end(why) - why));
    tly_text_print(to, "</td></tr>\n");
}

static void write_plan(const tly_page *page, tly_text *to)
{
    for (const char *line = page->reasons; *line; line = tly_line_end(line) + 1) {
        write_choice(page, line, to);
        if (!*tly_line_end(line)) {
            break;
        }
    }
}

static void write_version(const tly_page *page, tly_text *to)
{
    (void)page;
    escape(to, tally_version());
}

static void write_code_name(const tly_page *page, tly_text *to)
{
    tly_text_print(to, "%s", page->llvm ? "LLVM IR and assembly" : "SPIR-V");
}

/* ---- the frame ---- */

static const struct {
    const char *name;
    void (*write)(const tly_page *page, tly_text *to);
} gaps[] = {
    { "word", write_word },        { "summary", write_summary }, { "tensor", tly_html_tensor },
    { "cuts", tly_html_cuts },     { "order", tly_html_order },  { "plan", write_plan },
    { "code", tly_html_code },     { "bytes", tly_html_bytes },  { "version", write_version },
    { "stages", write_code_name },
};

void tly_html_write(const tly_page *page, tly_text *to)
{
    const char *at = frame;
    for (const char *gap; (gap = strstr(at, "{{")) != NULL;) {
        const char *name = gap + 2, *end = strstr(name, "}}");
        tly_text_add(to, at, (size_t)(gap - at));
        for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
            if (strlen(gaps[i].name) == (size_t)(end - name) &&
                strncmp(gaps[i].name, name, (size_t)(end - name)) == 0) {
                gaps[i].write(page, to);
            }
        }
        at = end + 2;
    }
    tly_text_add(to, at, strlen(at));
}
