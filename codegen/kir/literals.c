/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types, constants and offsets as text; see reader.h.
 */
#include "internal.h"
#include "reader.h"

#include <string.h>

/* f32x8: a kind's name with its lanes. */
int kir_read_type(struct reader *r, kir_type *t)
{
    char text[KIR_WORD_MAX + 1];
    if (!kir_word(r, text)) {
        return 0;
    }
    char *x = strchr(text, 'x');
    uint64_t lanes = 1;
    if (x != NULL) {
        struct reader digits = { .at = x + 1, .end = x + strlen(x) };
        if (*digits.at == '0' || !kir_number(&digits, 10, KIR_MAX_LANES, &lanes) || lanes < 2 ||
            digits.at != digits.end) {
            return kir_broken(r, "lanes are 2 to 64");
        }
        *x = 0;
    }
    for (int kind = KIR_I1; kind < KIR_KIND_COUNT; kind++) {
        if (strcmp(text, kir_kind_text((kir_kind)kind)) == 0) {
            *t = KIR_TYPE(kind, lanes);
            return 1;
        }
    }
    return kir_broken(r, "no such type");
}

int kir_read_constant(struct reader *r, kir_type t, int64_t *imm)
{
    kir_kind kind = (kir_kind)t.kind;
    uint64_t bits, top = kir_low_bits(kind, UINT64_MAX);
    if (kind == KIR_I1) {
        *imm = kir_accept_word(r, "true");
        return *imm != 0 || kir_accept_word(r, "false") ? 1
                                                        : kir_broken(r, "expected true or false");
    }
    if (kir_is_float(t)) {
        if (!kir_accept(r, '0') || r->at == r->end || *r->at != 'x') {
            return kir_broken(r, "a float constant is its bits, as 0x3f800000");
        }
        r->at++;
        if (!kir_number(r, 16, top, &bits)) {
            return 0;
        }
    } else {
        int negative = kir_accept(r, '-');
        if (!kir_number(r, 10, top / 2 + (uint64_t)negative, &bits)) {
            return 0;
        }
        bits = negative ? 0 - bits : bits;
    }
    *imm = (int64_t)kir_low_bits(kind, bits);
    return 1;
}

int kir_read_offset(struct reader *r, int64_t *imm)
{
    int negative = kir_accept(r, '-');
    uint64_t magnitude = 0;
    if (negative || kir_accept(r, '+')) {
        if (!kir_number(r, 10, (uint64_t)INT64_MAX + (uint64_t)negative, &magnitude)) {
            return 0;
        }
    }
    *imm = (int64_t)(negative ? 0 - magnitude : magnitude);
    return 1;
}
