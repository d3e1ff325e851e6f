/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page's frame: tools/page.html with its gaps filled, and the short parts: what the kernel is, the
 * plan with the reason of each choice, and bytes.
 */
#include "html.h"

#include <string.h>

static const char frame[] = {
#include "page.inc"
    0
};

/* What an operator does, as a sentence begins. */
static const char *const operators[TALLY_OP_COUNT] = {
    [TALLY_CUMSUM] = "Cumulative sums",
    [TALLY_CUMPROD] = "Cumulative products",
    [TALLY_CUMMAX] = "Running maxima",
    [TALLY_CUMMIN] = "Running minima",
    [TALLY_CUMLOGSUMEXP] = "Cumulative log-sum-exps",
    [TALLY_SUM] = "Sums",
    [TALLY_PROD] = "Products",
    [TALLY_MEAN] = "Means",
    [TALLY_L1] = "Sums of magnitudes",
    [TALLY_L2] = "Euclidean norms",
    [TALLY_SUM_SQUARE] = "Sums of squares",
    [TALLY_LOG_SUM] = "Logarithms of sums",
    [TALLY_LOG_SUM_EXP] = "Log-sum-exps",
    [TALLY_MAX] = "Maxima",
    [TALLY_MIN] = "Minima",
    [TALLY_ARGMAX] = "Indices of maxima",
    [TALLY_ARGMIN] = "Indices of minima",
};

static void escape(tly_text *to, const char *text)
{
    tly_text_escape(to, text, strlen(text));
}

static void write_word(const tly_page *page, tly_text *to)
{
    escape(to, page->subject->word);
}

static void write_sizes(const tly_layout *l, tly_text *to)
{
    for (int i = 0; i < l->rank; i++) {
        tly_text_print(to, i ? " × %s" : "%s", tly_count(l->sizes[i]));
    }
    tly_text_print(to, "%s%s", l->rank ? " " : "one ", tally_dtype_name(l->dtype));
}

static void write_summary(const tly_page *page, tly_text *to)
{
    const tally_descriptor *d = &page->subject->descriptor;
    tly_text_print(to, "%s%s%s ", operators[d->op], d->flags & TALLY_REVERSE ? " from the end" : "",
                   d->flags & TALLY_EXCLUSIVE ? ", each without its own element," : "");
    if (page->subject->scan) {
        tly_text_print(to, "along axis %d of ", (int)d->axis);
    } else {
        tly_text_print(to, "over ");
    }
    write_sizes(&page->subject->in, to);
    if (!page->subject->scan) {
        tly_text_print(to, ", which makes ");
        write_sizes(&page->subject->out, to);
    }
    tly_text_print(to, ", for ");
    escape(to, page->device);
    tly_text_print(to, ".");
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
    tly_text_print(to, "</code></td><td>%s", by_hand ? "<strong>Chosen by hand.</strong> " : "");
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

/* ---- bytes ---- */

static void write_bytes_of(const char *name, const tly_layout *l, tly_text *to)
{
    tly_text_print(to, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%s</td></tr>", name,
                   tly_count(l->count), tally_dtype_name(l->dtype),
                   tly_size((double)l->count * (double)l->element));
}

static void write_time(const char *name, double seconds, double bytes, double part, tly_text *to)
{
    const tly_unit *unit = tly_unit_for(seconds);
    tly_text_print(to, "<tr><th scope=\"row\">");
    escape(to, name);
    tly_text_print(to,
                   "</th><td>%.2f %s</td><td>%.1f GB/s</td><td><span class=\"bar\"><span "
                   "style=\"width:%.0f%%\"></span></span> %.2f</td></tr>",
                   seconds * unit->scale, unit->name, 1e-9 * bytes / seconds,
                   part < 1 ? 100 * part : 100, part);
}

static void write_measured(const tly_page *page, tly_text *to)
{
    const tly_measurement *m = page->measured;
    const tly_timing *t = &m->timing;
    const int scan = page->subject->scan;
    const double best = t->ceiling.seconds.median;
    tly_text_print(
        to,
        "<p class=\"figure\"><strong>%.2f</strong> of the speed of the best %s of the same "
        "bytes.</p><div class=\"wide\"><table><caption>Medians of %d runs in turns on %d thread%s, "
        "data ",
        best / t->kernel.median, m->text, t->runs, (int)m->threads, m->threads == 1 ? "" : "s");
    escape(to, m->data);
    tly_text_print(
        to,
        "</caption><thead><tr><th scope=\"col\">What</th><th scope=\"col\">Time</th><th "
        "scope=\"col\">Bytes a second</th><th scope=\"col\">Of the best %s</th></tr></thead>"
        "<tbody>",
        m->text);
    write_time("this kernel", t->kernel.median, (double)m->bytes, best / t->kernel.median, to);
    for (int i = 0; i < t->ceilings; i++) {
        const double seconds = t->each[i].seconds.median;
        write_time(t->each[i].name, seconds, (double)(scan ? m->bytes : m->ceiling), best / seconds,
                   to);
    }
    tly_text_print(to, "</tbody></table></div>");
}

static void write_bytes(const tly_page *page, tly_text *to)
{
    const tly_layout *in = &page->subject->in, *out = &page->subject->out;
    const double bytes[] = { (double)in->count * (double)in->element,
                             (double)out->count * (double)out->element };
    tly_text_print(
        to, "<div class=\"wide\"><table><thead><tr><th scope=\"col\">What</th><th scope=\"col\">"
            "Elements</th><th scope=\"col\">Dtype</th><th scope=\"col\">Bytes</th></tr></thead>"
            "<tbody>");
    write_bytes_of("read", in, to);
    write_bytes_of("written", out, to);
    tly_text_print(
        to,
        "<tr class=\"total\"><th scope=\"row\">moved</th><td></td><td></td><td>%s</td></tr>"
        "</tbody></table></div>",
        tly_size(bytes[0] + bytes[1]));
    tly_text_print(
        to, page->subject->scan
                ? "<p>Each element read once and written once: what a copy moves, too, so that a "
                  "copy is the ceiling.</p>"
                : "<p>Each element read once: reading the input is the ceiling.</p>");
    if (page->measured) {
        write_measured(page, to);
    } else {
        tly_text_print(
            to,
            "<p class=\"note\">Not measured: <code>--measure</code> times the kernel beside "
            "%s.</p>",
            page->subject->scan ? "copies" : "reads");
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
    { "code", tly_html_code },     { "bytes", write_bytes },     { "version", write_version },
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
