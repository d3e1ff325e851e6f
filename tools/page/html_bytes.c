/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page's last part: what is moved, and what part of a copy's or a read's speed that comes to:
 * expected, by what was measured of such kernels, and measured, where that was asked for.
 */
#include "html.h"

#include "../common/about.h"
#include "../files/operands.h"

#include <string.h>

/* Returns the bytes of so many elements. */
static double write_bytes_of(const char *name, int64_t count, tally_dtype dtype, tly_text *to)
{
    const double bytes = (double)count * (double)tally_dtype_bytes(dtype);
    tly_text_print(to, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%s</td></tr>", name,
                   tly_count(count), tally_dtype_name(dtype), tly_size(bytes));
    return bytes;
}

/* Whether the word has operands or expressions. */
static int has_stages(const tally_descriptor *d)
{
    return d->map[0] || d->post[0] || d->operands[0].dtype != 0;
}

/* ---- expected ---- */

/* What was measured on one thread, past the caches; tools/expected makes it (docs/benchmark.md). */
typedef struct expected {
    const char *level;
    tly_measured kind;
    const char *name; /* of the template */
    size_t element;
    int is_short;
    int least, middle, most, cases; /* all but the last in hundredths */
} expected;

#define EXPECTED(level, kind, name, element, is_short, least, middle, most, cases) \
    { level, TLY_MEASURED_##kind, name, element, is_short, least, middle, most, cases },
static const expected all_expected[] = {
#include "expected.def"
};

/* Where that was. */
static const struct {
    const char *level;
    int scan;
    const char *machine;
} sources[] = {
    { "x86-64-v4", 1, "an AMD Zen 5 with AVX-512" },
    { "x86-64-v3", 1, "an Intel Emerald Rapids that was busy" },
    { "x86-64-v4", 0, "an AMD Zen 5 with AVX-512" },
    { "x86-64-v3", 0, "an AMD Zen 5" },
};

enum { MEASURED_FROM = 1 << 24, SHORT = 32 };

/* Behind "cpu:", or "" for what is no CPU. */
static const char *level_of(const tly_page *page)
{
    static const char cpu[] = "cpu:";
    const int is_cpu = page->llvm && strncmp(page->device, cpu, sizeof cpu - 1) == 0;
    return is_cpu ? page->device + sizeof cpu - 1 : "";
}

static const expected *find_expected(const tly_page *page)
{
    const tly_layout *in = &page->job->in, *out = &page->job->out;
    const tly_measured kind = tly_about_op(page->job->descriptor.op)->measured;
    const int is_short = !page->job->scan && in->count / (out->count ? out->count : 1) <= SHORT;
    for (size_t i = 0; i < sizeof all_expected / sizeof *all_expected; i++) {
        const expected *e = &all_expected[i];
        if (e->kind == kind && e->element == in->element && e->is_short == is_short &&
            strcmp(e->level, level_of(page)) == 0 && tly_template_is(page, e->name)) {
            return e;
        }
    }
    return NULL;
}

static void write_found(const tly_page *page, const expected *e, double bytes, tly_text *to)
{
    const int scan = page->job->scan;
    size_t i = 0;
    while (strcmp(sources[i].level, e->level) != 0 || sources[i].scan != scan) {
        i++;
    }
    tly_text_print(to, "<p class=\"figure\">This kernel should reach <strong>%.2f",
                   e->middle / 100.);
    tly_text_print(
        to,
        "</strong> of the speed of the best %s.</p><p>That is the median of %d measured case%s of "
        "this template with elements of %zu byte%s, which reached %.2f to %.2f on one thread of %s "
        "(<code>docs/performance.md</code>).%s</p>",
        scan ? "copy" : "read", e->cases, e->cases > 1 ? "s" : "", e->element,
        e->element > 1 ? "s" : "", e->least / 100., e->most / 100., sources[i].machine,
        bytes < MEASURED_FROM ? " Their tensors had 16 MiB and more. A tensor in a cache reaches "
                                "less, as copies and reads are faster there."
                              : "");
}

/* No GPU was measured: what the bytes allow. Two passes of a scan read what they go through
 * twice. */
static void write_most(const tly_page *page, tly_text *to)
{
    tly_page last = *page;
    int64_t passes = 0;
    for (const char *at = page->launch; (at = strstr(at, "\ndispatch =")) != NULL;) {
        last.launch = ++at;
        const int64_t pass = tly_fact(&last, "dispatch", 0, 0);
        passes = pass + 1 > passes ? pass + 1 : passes;
    }
    const int twice = page->job->scan && passes > 1;
    tly_text_print(to,
                   "<p class=\"figure\">This kernel should reach at most <strong>%.2f</strong> of "
                   "the speed of "
                   "the best %s.</p><p>The bytes allow no more%s. No GPU was measured "
                   "(<code>docs/performance.md</code>).</p>",
                   twice ? 2. / 3 : 1., page->job->scan ? "copy" : "read",
                   twice ? ", as the input is read in two passes" : "");
}

static void write_expected(const tly_page *page, double bytes, tly_text *to)
{
    const expected *e = find_expected(page);
    if (tly_fact(page, "empty", 0, 0)) {
        return;
    }
    if (!page->llvm) {
        write_most(page, to);
    } else if (e && !has_stages(&page->job->descriptor)) {
        write_found(page, e, bytes, to);
    } else {
        tly_text_print(to, "<p>The expected speed is not known, as no such kernel was measured for "
                           "this level. <code>docs/performance.md</code> has those that were.</p>");
    }
}

/* ---- measured ---- */

static void write_time(const char *name, double seconds, double bytes, double part, tly_text *to)
{
    const tly_unit *unit = tly_unit_for(seconds);
    tly_text_print(to, "<tr><th scope=\"row\">");
    tly_text_escape(to, name, strlen(name));
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
    const int scan = page->job->scan;
    const double best = t->ceiling.seconds.median;
    char kernel_on[32], best_on[32], on[32], name[96];
    tly_on_threads(t->threads, kernel_on);
    tly_on_threads(t->ceiling.threads, best_on);
    tly_text_print(to,
                   "<p class=\"figure\">This kernel reached <strong>%.2f</strong>%s of the speed "
                   "of the best %s "
                   "of the same bytes%s.</p><div class=\"wide\"><table><caption>Times are medians "
                   "of %d runs in "
                   "turns, with data of the kind <code>",
                   best / t->kernel.median, kernel_on, m->text, best_on, t->runs);
    tly_text_escape(to, m->data, strlen(m->data));
    tly_text_print(
        to,
        "</code>.</caption><thead><tr><th scope=\"col\">What</th><th scope=\"col\">Time</th><th "
        "scope=\"col\">Bytes a second</th><th scope=\"col\">Of the best %s</th></tr></thead>"
        "<tbody>",
        m->text);
    snprintf(name, sizeof name, "this kernel%s", kernel_on);
    write_time(name, t->kernel.median, (double)m->bytes, best / t->kernel.median, to);
    for (int i = 0; i < t->ceilings; i++) {
        const double seconds = t->each[i].seconds.median;
        snprintf(name, sizeof name, "%.48s%s", t->each[i].name,
                 tly_on_threads(t->each[i].threads, on));
        write_time(name, seconds, (double)(scan ? m->bytes : m->ceiling), best / seconds, to);
    }
    tly_text_print(to, "</tbody></table></div>");
}

/* ---- all of it ---- */

/* `which` of the two tensors of a carry. */
static double write_bytes_of_states(const tally_descriptor *d, int32_t which, const char *name,
                                    tly_text *to)
{
    int64_t sizes[TALLY_MAX_CARRY_RANK], count = 1;
    int32_t rank;
    tally_dtype dtype;
    if (!(d->carry & which) || tally_descriptor_carry(d, &rank, sizes, &dtype, NULL) != TALLY_OK) {
        return 0;
    }
    for (int32_t k = 0; k < rank; k++) {
        count *= sizes[k];
    }
    return write_bytes_of(name, count, dtype, to);
}

void tly_html_bytes(const tly_page *page, tly_text *to)
{
    const tally_descriptor *d = &page->job->descriptor;
    const tly_layout *in = &page->job->in, *out = &page->job->out;
    double bytes = 0;
    tly_text_print(
        to, "<div class=\"wide\"><table><thead><tr><th scope=\"col\">What</th><th scope=\"col\">"
            "Elements</th><th scope=\"col\">Dtype</th><th scope=\"col\">Bytes</th></tr></thead>"
            "<tbody>");
    bytes += write_bytes_of("read", (int64_t)in->count, in->dtype, to);
    for (int i = 0; i < TALLY_MAX_OPERANDS && d->operands[i].dtype != 0; i++) {
        char name[16];
        snprintf(name, sizeof name, "read, %s", tly_operand_letter(i));
        bytes += write_bytes_of(name, tly_operand_reach(d, i).count,
                                (tally_dtype)d->operands[i].dtype, to);
    }
    bytes += write_bytes_of_states(d, TALLY_CARRY_IN, "read, carry_in", to);
    bytes += write_bytes_of("written", (int64_t)out->count, out->dtype, to);
    bytes += write_bytes_of_states(d, TALLY_CARRY_OUT, "written, carry_out", to);
    tly_text_print(
        to,
        "<tr class=\"total\"><th scope=\"row\">moved</th><td></td><td></td><td>%s</td></tr>"
        "</tbody></table></div>",
        tly_size(bytes));
    tly_text_print(
        to, has_stages(d)
                ? "<p>Each element is read once and written once. A loop that only moves these "
                  "bytes is the ceiling.</p>"
            : page->job->scan
                ? "<p>Each element is read once and written once. A copy moves the same bytes, so "
                  "that its speed is the ceiling.</p>"
                : "<p>Each element is read once, so that the speed of reading the input is the "
                  "ceiling.</p>");
    write_expected(page, bytes, to);
    if (page->measured) {
        write_measured(page, to);
    } else {
        tly_text_print(
            to,
            "<p class=\"note\">This kernel was not timed. <code>--measure</code> times it beside "
            "%s.</p>",
            has_stages(d)     ? "moves"
            : page->job->scan ? "copies"
                              : "reads");
    }
}
