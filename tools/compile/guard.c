/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps a header from being read twice; see new_files.h. */
#include "../files/new_files.h"

#include "../../runtime/host/hash.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_upper(FILE *to, const char *text)
{
    for (const char *c = text; *c; c++) {
        const unsigned char byte = (unsigned char)*c;
        fputc(isascii(byte) && isalnum(byte) ? toupper(byte) : '_', to);
    }
}

static void put_name(FILE *to, const char *before, const char *prefix, const char *path,
                     uint64_t number)
{
    const char *slash = strrchr(path, '/');
    fprintf(to, "%s TALLY_", before);
    put_upper(to, prefix ? prefix : "");
    put_upper(to, slash ? slash + 1 : path);
    fprintf(to, "_%016" PRIX64 "\n", number);
}

int tly_guarded_put(FILE *to, const char *path, const char *prefix, tly_fill fill,
                    const void *state, tly_report *report)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *inside = open_memstream(&text, &bytes);
    int status = inside ? fill(inside, state, report) : EXIT_DONE;
    if (!inside || (ferror(inside) | fclose(inside))) {
        status = tly_refuse(report, EXIT_MEMORY, "file", "no memory for %s", path);
    }
    if (!status) {
        const uint64_t hash = tly_hash(0, text, bytes);
        put_name(to, "#ifndef", prefix, path, hash);
        put_name(to, "#define", prefix, path, hash);
        fwrite(text, 1, bytes, to);
        fputs("\n#endif\n", to);
    }
    free(text);
    return status;
}
