/* SPDX-License-Identifier: Apache-2.0 */
/* Names of statuses and the library's version. */
#include <tally/status.h>
#include <tally/version.h>

static const char *const names[] = {
    [-TALLY_OK] = "TALLY_OK",
    [-TALLY_INVALID] = "TALLY_INVALID",
    [-TALLY_UNSUPPORTED] = "TALLY_UNSUPPORTED",
    [-TALLY_OUT_OF_MEMORY] = "TALLY_OUT_OF_MEMORY",
    [-TALLY_DEVICE_LOST] = "TALLY_DEVICE_LOST",
    [-TALLY_IO] = "TALLY_IO",
    [-TALLY_NO_GENERATOR] = "TALLY_NO_GENERATOR",
    [-TALLY_BUSY] = "TALLY_BUSY",
    [-TALLY_INTERNAL] = "TALLY_INTERNAL",
    [-TALLY_TIMEOUT] = "TALLY_TIMEOUT",
};

const char *tally_status_name(tally_status status)
{
    int count = (int)(sizeof names / sizeof names[0]);
    int value = (int)status;
    return value <= 0 && value > -count ? names[-value] : "TALLY_?";
}

const char *tally_version(void)
{
    return TALLY_VERSION;
}
