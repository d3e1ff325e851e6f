/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as arguments; see number.h. */
#include "number.h"

#include "csv.h"

#include <string.h>

static tly_csv_field field_of(const char *given)
{
    return (tly_csv_field){ given, given + strlen(given) };
}

int tly_is_number(const char *given)
{
    double any;
    return tly_csv_number(field_of(given), TALLY_F64, &any) != TLY_CSV_NO_NUMBER;
}

int tly_read_number(const char *given, tally_dtype dtype, const char *field, const char *why,
                    void *to, tly_report *report)
{
    const tly_csv_outcome outcome = tly_csv_number(field_of(given), dtype, to);
    if (outcome == TLY_CSV_NUMBER) {
        return EXIT_DONE;
    }
    tly_refuse(report, EXIT_USAGE, field, "%s is %s %s", given,
               outcome == TLY_CSV_TOO_LARGE ? "too large for" : "no", tally_dtype_name(dtype));
    tly_hint(report, "%s. If it is a file's name, type ./%s", why, given);
    return EXIT_USAGE;
}
