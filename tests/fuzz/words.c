/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of SPIR-V as they are stored. Any bytes give words, and these words, coded and read
 * again, are the same. Whatever the words are, neither the check of a module nor the list of its
 * needs reads past them. The input's first two bytes are the number of words.
 */
#include "fuzz.h"

#include <tally/status.h>

#include "../../runtime/making/spirv_requirements.h"
#include "../../runtime/vulkan/judge.h"
#include "../../runtime/vulkan/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    enum { FRONT = 2, LEAST = 5 };
    if (bytes < FRONT) {
        return 0;
    }
    const size_t count = LEAST + ((size_t)data[0] << 8 | data[1]) % (4 * bytes + 1);
    unsigned char *from = fuzz_copy(data + FRONT, bytes - FRONT, 0);
    uint32_t *words = malloc(count * sizeof *words), *again = malloc(count * sizeof *words);
    unsigned char *coded = malloc(tly_words_most(count));
    HOLDS(words != NULL && again != NULL && coded != NULL);
    HOLDS(tly_words_read(from, bytes - FRONT, words, count) <= bytes - FRONT);
    const size_t length = tly_words_write(words, count, coded);
    HOLDS(length <= tly_words_most(count));
    HOLDS(tly_words_read(coded, length, again, count) == length);
    HOLDS(memcmp(words, again, count * sizeof *words) == 0);
    tly_spirv_requirements required = { .feature_count = 0 };
    tally_error e = TALLY_ERROR_INIT;
    const int stands = tly_vk_module_stands(words, count);
    const tally_status status = tly_spirv_requirements_add(&required, words, count, &e);
    HOLDS(status == TALLY_OK || (status == TALLY_INTERNAL && e.message[0] != 0));
    HOLDS(status != TALLY_OK || stands || words[0] == 0x07230203);
    HOLDS(required.feature_count <= TLY_MOST_FEATURES &&
          required.property_count <= TLY_MOST_PROPERTIES);
    free(from);
    free(words);
    free(again);
    free(coded);
    return 0;
}
