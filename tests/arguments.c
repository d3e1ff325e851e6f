/* SPDX-License-Identifier: Apache-2.0 */
/* See arguments.h. */
#include "arguments.h"

#include <stdlib.h>
#include <string.h>

static int take(const tly_argument *known, size_t count, const char *name, const char *value)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        if (known[i].text != NULL)
            *known[i].text = value;
        else
            *known[i].number = strtoll(value, NULL, 10);
        return 0;
    }
    return 1;
}

int tly_arguments_read(const tly_argument *known, size_t count, int argc, char **argv)
{
    for (int k = 1; k + 1 < argc; k += 2)
        if (take(known, count, argv[k], argv[k + 1]))
            return 1;
    return argc % 2 == 0;
}
