/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference, before it judges: cases written by hand for each line of docs/semantics.md that
 * speaks of reductions, and published examples, all of them on the plain loop itself.
 */
#include <criterion/criterion.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "elements.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct named {
    const char *name;
    tly_case c;
} named;

#define CASE(name, word, in, out) { name, { word, in, out } },
static const named semantics[] = {
#include "data/semantics_reductions.def"
};
static const named onnx[] = {
#include "data/onnx_reductions.def"
};
static const named onnx_scans[] = {
#include "data/onnx.def"
};
static const named directml[] = {
#include "data/directml_reductions.def"
};
static const named directml_scans[] = {
#include "data/directml.def"
};
#undef CASE

typedef struct target {
    tally_dtype dtype;
    void *out;
} target;

static int store(void *user, const tly_fact *fact)
{
    const target *t = user;
    tly_bits_store(t->dtype, t->out, fact->out, fact->bits);
    return 0;
}

/* The pointer that indices count from. */
static void *origin(void *low, int64_t index, tally_dtype dtype)
{
    return (void *)((uintptr_t)low - (uintptr_t)index * tally_dtype_bytes(dtype));
}

static void check(const named *n)
{
    const char *word = n->c.word;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error e = TALLY_ERROR_INIT;
    tly_elements in, out;
    tly_layout l;
    tly_verdict verdict;
    cr_assert_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK, "%s: %s", word, e.message);
    const tally_dtype from = (tally_dtype)d.dtype, to = tly_reference_output(&d);
    tly_layout_of(&d, &l);
    const int wrong_in = tly_elements_read(from, n->c.in, l.in_high - l.in_low + 1, &in);
    const int wrong_out = tly_elements_read(to, n->c.out, l.out_high - l.out_low + 1, &out);
    cr_assert(!wrong_in && !wrong_out, "%s, %s: %d, %d elements", n->name, word, (int)in.count,
              (int)out.count);
    void *raw_in = malloc((size_t)(in.count + 1) * 8), *raw_out = malloc((size_t)out.count * 8 + 8);
    cr_assert(raw_in && raw_out);
    for (int64_t k = 0; k < in.count; k++)
        tly_bits_store(from, raw_in, k, in.bits[k]);
    for (int64_t k = 0; k < out.count; k++)
        tly_bits_store(to, raw_out, k, tly_canary(to));
    const void *in_at = origin(raw_in, l.in_low, from);
    target t = { to, origin(raw_out, l.out_low, to) };
    tly_reference(&d, in_at, store, &t);
    for (int64_t k = 0; k < out.count; k++) {
        const uint64_t got = tly_bits_load(to, raw_out, k);
        cr_expect(tly_element_is_right(to, &out, k, got), "%s, %s: element %d is 0x%llx (%g)",
                  n->name, word, (int)k, (unsigned long long)got,
                  tly_is_float(to) ? tly_decode(to, got) : (double)(int64_t)got);
    }
    cr_expect_eq(tly_judge(&d, in_at, t.out, 0, &verdict), 0, "%s: the judge", word);
    free(raw_in);
    free(raw_out);
    tly_elements_release(&in);
    tly_elements_release(&out);
}

static void check_all(const named *cases, size_t count)
{
    for (size_t k = 0; k < count; k++)
        check(&cases[k]);
}

Test(reference, semantics)
{
    check_all(semantics, COUNT(semantics));
}

/* All of the node tests that are one operator of ours. */
Test(reference, onnx)
{
    cr_expect_eq(COUNT(onnx) + COUNT(onnx_scans), 141u);
    check_all(onnx, COUNT(onnx));
    check_all(onnx_scans, COUNT(onnx_scans));
}

Test(reference, directml)
{
    cr_expect_eq(COUNT(directml) + COUNT(directml_scans), 23u);
    check_all(directml, COUNT(directml));
    check_all(directml_scans, COUNT(directml_scans));
}
