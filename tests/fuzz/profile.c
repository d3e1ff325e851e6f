/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of Vulkan devices: what parses prints, and the print parses to the same. */
#include "fuzz.h"

#include "../../runtime/vulkan/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes);
    char printed[4096];
    tly_profile first, second;
    tally_error e = TALLY_ERROR_INIT;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    tally_status status = tly_profile_parse(text, &first, &e);
    if (status == TALLY_OK) {
        HOLDS(tly_profile_print(&first, printed, sizeof printed) < sizeof printed);
        HOLDS(tly_profile_parse(printed, &second, &e) == TALLY_OK);
        HOLDS(memcmp(&first.caps, &second.caps, sizeof first.caps) == 0);
        HOLDS(strcmp(first.device, second.device) == 0);
    } else {
        HOLDS(status == TALLY_INVALID && e.message[0] != 0);
    }
    free(text);
    return 0;
}
