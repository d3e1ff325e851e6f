/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: what is read has a canonical text that is a fixed point and reads as the same codes;
 * what is not says why and where. */
#include "fuzz.h"

#include <tally.h>

#include "../../runtime/descriptor/expression.h"

static void check_types(const tly_expression *e)
{
    static const tally_dtype types[] = { TALLY_F64, TALLY_F32, TALLY_I64, TALLY_U8 };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tly_expression again;
        tly_program program, second;
        char text[TALLY_EXPRESSION_MAX];
        memset(&program, 0, sizeof program);
        memset(&second, 0, sizeof second);
        if (tly_program_add(&program, TLY_EXPRESSION_MAP, e, types[i], NULL) != TALLY_OK) {
            continue;
        }
        tly_expression_print(e, tly_type_is_integer(types[i]), text);
        HOLDS(tly_expression_parse(text, strlen(text), "map", &again, NULL) == TALLY_OK);
        HOLDS(tly_program_add(&second, TLY_EXPRESSION_MAP, &again, types[i], NULL) == TALLY_OK);
        HOLDS(memcmp(&program, &second, sizeof program) == 0);
        char shown[TALLY_EXPRESSION_MAX];
        tly_expression_print(&again, tly_type_is_integer(types[i]), shown);
        HOLDS(strcmp(text, shown) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes);
    tally_error e = TALLY_ERROR_INIT;
    tly_expression read;
    if (tly_expression_parse(text, strlen(text), "map", &read, &e) == TALLY_OK) {
        check_types(&read);
    } else {
        HOLDS(strcmp(e.field, "map") == 0 && e.message[0] != 0);
        HOLDS(e.position >= 1 && (size_t)e.position <= strlen(text) + 1);
    }
    free(text);
    return 0;
}
