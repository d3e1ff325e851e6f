/* SPDX-License-Identifier: Apache-2.0 */
/* Words: what parses prints, and the print is canonical; what does not says why and where. */
#include "fuzz.h"

#include <tally.h>

static void check_failure(tally_status status, const tally_error *e, size_t length)
{
    HOLDS(status == TALLY_INVALID && e->status == status);
    HOLDS(e->field[0] != 0 && e->message[0] != 0);
    HOLDS(e->position >= 0 && (size_t)e->position <= length + 1);
}

static void check_word(const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT, again = TALLY_DESCRIPTOR_INIT;
    tally_error e = TALLY_ERROR_INIT;
    tally_status status = tally_descriptor_parse(word, &d, &e);
    if (status != TALLY_OK) {
        check_failure(status, &e, strlen(word));
        return;
    }
    char text[TALLY_WORD_MAX], second[TALLY_WORD_MAX];
    HOLDS(tally_descriptor_check(&d, &e) == TALLY_OK);
    HOLDS(tally_descriptor_print(&d, text, sizeof text, NULL, &e) == TALLY_OK);
    HOLDS(tally_descriptor_parse(text, &again, &e) == TALLY_OK);
    HOLDS(memcmp(&d, &again, sizeof d) == 0);
    HOLDS(tally_descriptor_print(&again, second, sizeof second, NULL, &e) == TALLY_OK);
    HOLDS(strcmp(text, second) == 0);
}

/* A line: what is typed in front of the name to complete, and a name that begins like it. */
static int check_next(void *user, const char *line, size_t length)
{
    const char *begun = user;
    char word[2 * TALLY_WORD_MAX];
    HOLDS(length > 1 && length < sizeof word && line[length - 1] == '\n');
    memcpy(word, line, length - 1);
    word[length - 1] = 0;
    const size_t kept = strcspn(begun, ":");
    HOLDS(strncmp(word, begun, begun[kept] ? kept + 1 : 0) == 0);
    HOLDS(strlen(word) >= strlen(begun));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const int64_t sizes[] = { 3, 4, 5 };
    char *word = fuzz_text(data, bytes);
    char full[TALLY_WORD_MAX];
    tally_error e = TALLY_ERROR_INIT;
    check_word(word);
    HOLDS(tally_word_next(word, check_next, word, &e) == TALLY_OK);
    tally_status status = tally_word_complete(word, "f32", (int32_t)(bytes % 4), sizes, full,
                                              sizeof full, NULL, NULL, &e);
    if (status == TALLY_OK) {
        check_word(full);
    } else {
        check_failure(status, &e, strlen(word));
    }
    free(word);
    return 0;
}
