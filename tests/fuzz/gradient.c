/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of words: each step is a word that prints and reads back as itself, reads only what was
 * there before, and follows the forward word's rules; what has no gradient says why. */
#include "fuzz.h"

#include <tally.h>

static int is_source(int32_t source, size_t before, const tally_descriptor *d)
{
    return source >= TALLY_SOURCE_STEP       ? (size_t)(source - TALLY_SOURCE_STEP) < before
           : source == TALLY_SOURCE_CARRY_IN ? (d->carry & TALLY_CARRY_IN) != 0
           : source == TALLY_SOURCE_G_CARRY  ? (d->carry & TALLY_CARRY_OUT) != 0
           : source >= TALLY_SOURCE_A        ? source - TALLY_SOURCE_A < TALLY_MAX_OPERANDS &&
                                            d->operands[source - TALLY_SOURCE_A].dtype != 0
                                      : source > TALLY_SOURCE_NONE;
}

static void check_step(const tally_gradient_step *step, size_t before, const tally_descriptor *d)
{
    tally_descriptor again = TALLY_DESCRIPTOR_INIT;
    char text[TALLY_WORD_MAX];
    HOLDS(step->size == sizeof *step && step->name[0] != 0);
    HOLDS(tally_descriptor_print(&step->descriptor, text, sizeof text, NULL, NULL) == TALLY_OK);
    HOLDS(tally_descriptor_parse(text, &again, NULL) == TALLY_OK);
    HOLDS(memcmp(&again, &step->descriptor, sizeof again) == 0);
    HOLDS(is_source(step->in, before, d));
    HOLDS((step->descriptor.carry & TALLY_CARRY_OUT) == 0);
    HOLDS(step->descriptor.carry != 0 ? is_source(step->carry_in, before, d)
                                      : step->carry_in == TALLY_SOURCE_NONE);
    HOLDS(step->descriptor.segment_dtype == 0 ||
          (step->descriptor.segment_dtype == d->segment_dtype &&
           step->descriptor.segments == d->segments));
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        HOLDS(step->descriptor.operands[i].dtype != 0 ? is_source(step->operand[i], before, d)
                                                      : step->operand[i] == TALLY_SOURCE_NONE);
    }
}

static void check_gradient(const tally_descriptor *d, tally_source wrt)
{
    static tally_gradient_step steps[TALLY_GRADIENT_MAX];
    tally_error e = TALLY_ERROR_INIT;
    size_t count = 0, again = 0;
    steps[0].size = sizeof steps[0];
    const tally_status status = tally_gradient(d, wrt, steps, TALLY_GRADIENT_MAX, &count, &e);
    HOLDS(tally_gradient(d, wrt, NULL, 0, &again, NULL) == status && again == count);
    if (status != TALLY_OK) {
        HOLDS((status == TALLY_INVALID || status == TALLY_UNSUPPORTED) && e.status == status);
        HOLDS(e.field[0] != 0 && e.message[0] != 0 && count == 0);
        return;
    }
    HOLDS(count >= 1 && count <= TALLY_GRADIENT_MAX);
    for (size_t i = 0; i < count; i++) {
        check_step(&steps[i], i, d);
    }
    const tally_descriptor *last = &steps[count - 1].descriptor;
    tally_dtype states = TALLY_DTYPE_NONE;
    (void)tally_descriptor_carry(d, NULL, NULL, &states, NULL);
    HOLDS((last->out_dtype ? last->out_dtype : last->dtype) ==
          (wrt == TALLY_SOURCE_X          ? d->dtype
           : wrt == TALLY_SOURCE_CARRY_IN ? (int32_t)states
                                          : d->operands[wrt - TALLY_SOURCE_A].dtype));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *word = fuzz_text(data, bytes);
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    if (tally_descriptor_parse(word, &d, NULL) == TALLY_OK) {
        check_gradient(&d, TALLY_SOURCE_X);
        check_gradient(&d, TALLY_SOURCE_CARRY_IN);
        for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
            check_gradient(&d, (tally_source)(TALLY_SOURCE_A + i));
        }
    }
    free(word);
    return 0;
}
