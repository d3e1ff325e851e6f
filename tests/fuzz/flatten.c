/* SPDX-License-Identifier: Apache-2.0 */
/* Objects: none is read past its end, whatever its tables say. */
#include "fuzz.h"

#include "../../codegen/llvm/flatten.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    unsigned char *code = NULL;
    size_t code_bytes = 0;
    tally_error e = TALLY_ERROR_INIT;
    tally_status status = tly_flatten(data, bytes, &code, &code_bytes, &e);
    HOLDS(status == TALLY_OK ? code != NULL && code_bytes > 0
                             : status == TALLY_INTERNAL && e.message[0] != 0);
    free(code);
    return 0;
}
