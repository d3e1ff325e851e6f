/* SPDX-License-Identifier: Apache-2.0 */
/* What the library's texts say about a kernel; see html.h. */
#include "html.h"

#include <stdlib.h>
#include <string.h>

const char *tly_line_end(const char *line)
{
    return line + strcspn(line, "\n");
}

/* What follows `key` and `between` at a line's beginning, or NULL. */
static const char *value_of(const char *text, const char *key, const char *between)
{
    const size_t length = strlen(key), gap = strlen(between);
    for (const char *line = text; *line; line = tly_line_end(line) + 1) {
        if (strncmp(line, key, length) == 0 && strncmp(line + length, between, gap) == 0) {
            return line + length + gap;
        }
        if (!*tly_line_end(line)) {
            break;
        }
    }
    return NULL;
}

int64_t tly_fact(const tly_page *page, const char *key, int n, int64_t otherwise)
{
    const char *at = value_of(page->launch, key, " =");
    for (; at && n > 0; n--) {
        at = strpbrk(at + 1, " \n");
    }
    return at && *at == ' ' ? strtoll(at, NULL, 10) : otherwise;
}

static int is_value(const char *at, const char *value)
{
    const size_t length = strlen(value);
    return at && strncmp(at, value, length) == 0 && strchr("\n\t", at[length]);
}

int tly_fact_is(const tly_page *page, const char *key, const char *value)
{
    return is_value(value_of(page->launch, key, " = "), value);
}

int tly_choice(const tly_page *page, const char *key, int otherwise)
{
    const char *at = value_of(page->reasons, key, "\t");
    return at ? atoi(at) : otherwise;
}

int tly_template_is(const tly_page *page, const char *name)
{
    return is_value(value_of(page->reasons, "template", "\t"), name);
}

/* An override is key=value, or key = value, between commas or line ends. */
int tly_is_by_hand(const tly_page *page, const char *key, size_t length)
{
    for (const char *at = page->plan; *at; at += strcspn(at, ",\n"), at += *at != 0) {
        if (strncmp(at, key, length) == 0 && (at[length] == '=' || at[length] == ' ')) {
            return 1;
        }
    }
    return 0;
}

/* Texts in turns, so that one call of printf can have several. */
static char *next_text(void)
{
    static char texts[4][48];
    static unsigned next;
    return texts[next++ % 4];
}

enum { TEXT = 48 };

const char *tly_count(int64_t n)
{
    char digits[24], *text = next_text();
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-') {
            text[at++] = ',';
        }
        text[at++] = digits[i];
    }
    text[at] = 0;
    return text;
}

const char *tly_size(double bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    char *text = next_text();
    int unit = 0;
    for (; bytes >= 1024 && unit < 6; unit++) {
        bytes /= 1024;
    }
    snprintf(text, TEXT, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}
