/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads kernels from text. Every text that kir_print gave is read back to the same kernel. Any
 * other text is either a verified kernel or an error with a place and a rule, never a crash.
 */
#include "parse.h"

#include <stdlib.h>
#include <string.h>

/* Seals and verifies what was read without a fault. */
static kir_kernel *checked(struct parser *p)
{
    struct kir_breach breach;
    kir_kernel *k = kir_seal(p->b);
    tally_status status = k != NULL ? kir_check(k, &breach) : TALLY_OUT_OF_MEMORY;
    if (status == TALLY_OK) {
        return k;
    }
    if (status == TALLY_OUT_OF_MEMORY) {
        p->b->status = status;
    } else {
        const uint32_t *places = p->places.data;
        p->r.token = breach.inst < p->places.count ? p->text + places[breach.inst] : p->begun;
        kir_broken(&p->r, breach.text);
    }
    kir_free(k);
    return NULL;
}

/* kernel NAME workgroup 64 apart addresses { */
static int head(struct parser *p)
{
    char name[KIR_WORD_MAX + 1];
    uint64_t workgroup = 0;
    uint32_t facts = 0;
    if (!kir_expect_word(&p->r, "kernel") || !kir_word(&p->r, name)) {
        return 0;
    }
    if (kir_accept_word(&p->r, "workgroup")) {
        if (!kir_number(&p->r, 10, KIR_MAX_WORKGROUP, &workgroup)) {
            return 0;
        }
        for (uint32_t fact = 1; fact <= KIR_FACTS; fact <<= 1) {
            facts |= kir_accept_word(&p->r, kir_fact_text(fact)) ? fact : 0;
        }
    }
    if (!kir_expect(&p->r, '{')) {
        return 0;
    }
    p->b = kir_begin_workgroup(name, (uint32_t)workgroup);
    kir_declare(p->b, facts);
    return p->b != NULL;
}

static tally_status fail(const struct parser *p, tally_error *error)
{
    if (p->r.fault[0] == 0 && (p->b == NULL || p->b->status == TALLY_OUT_OF_MEMORY)) {
        return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "no memory to parse a kernel");
    }
    /* What the builder's core refuses (too deep a nest) is a fault of the text as well. */
    const int read = p->r.fault[0] != 0;
    tly_fail(error, TALLY_INVALID, "kir", "%s", read ? p->r.fault : p->b->fault);
    tly_error_position(error, (int32_t)((read ? p->r.broken : p->begun) - p->text) + 1);
    return TALLY_INVALID;
}

/* One kernel, from *at on, which is moved behind it. */
static tally_status parse(const char *text, const char *end, const char **at, kir_source *source,
                          tally_error *error)
{
    struct parser p = { .r = { .at = *at, .end = end, .token = *at, .behind = *at },
                        .text = text,
                        .begun = *at };
    tally_status status = TALLY_OK;
    source->kernel = head(&p) && kir_parse_body(&p) ? checked(&p) : NULL;
    if (source->kernel == NULL) {
        status = fail(&p, error);
        free(p.places.data);
    } else {
        source->places = p.places.data;
    }
    *at = p.r.at;
    free(p.numbers.data);
    kir_builder_free(p.b);
    return status;
}

void kir_source_free(kir_source *source)
{
    kir_free(source->kernel);
    free(source->places);
    *source = (kir_source){ NULL, NULL };
}

tally_status kir_parse_all(const char *text, size_t bytes, kir_source *sources, uint32_t most,
                           uint32_t *count, tally_error *error)
{
    if (bytes > INT32_MAX - 1) {
        return tly_fail(error, TALLY_INVALID, "kir", "a text of %zu bytes is longer than any",
                        bytes);
    }
    const char *end = text + bytes, *at = text;
    tally_status status = TALLY_OK;
    *count = 0;
    do {
        status = parse(text, end, &at, &sources[*count], error);
        *count += status == TALLY_OK;
        while (at < end && memchr(" \t\r\n", *at, 4) != NULL) {
            at++;
        }
    } while (status == TALLY_OK && at < end && *count < most);
    if (status == TALLY_OK && at < end) {
        status = tly_fail(error, TALLY_INVALID, "kir", "nothing follows the %s",
                          most > 1 ? "last kernel" : "kernel");
        tly_error_position(error, (int32_t)(at - text) + 1);
    }
    while (status != TALLY_OK && *count > 0) {
        kir_source_free(&sources[--*count]);
    }
    return status;
}

tally_status kir_parse(const char *text, size_t bytes, kir_kernel **kernel, tally_error *error)
{
    kir_source source;
    uint32_t count;
    tally_status status = kir_parse_all(text, bytes, &source, 1, &count, error);
    if (status == TALLY_OK) {
        *kernel = source.kernel;
        free(source.places);
    }
    return status;
}
