/* SPDX-License-Identifier: Apache-2.0 */
/* The header of an object: its functions as C and C++ see them. */
#include "object.h"

static const char *const types[TALLY_DTYPE_COUNT] = {
    [TALLY_F64] = "double",    [TALLY_F32] = "float",    [TALLY_F16] = "uint16_t",
    [TALLY_BF16] = "uint16_t", [TALLY_I64] = "int64_t",  [TALLY_I32] = "int32_t",
    [TALLY_I16] = "int16_t",   [TALLY_I8] = "int8_t",    [TALLY_U64] = "uint64_t",
    [TALLY_U32] = "uint32_t",  [TALLY_U16] = "uint16_t", [TALLY_U8] = "uint8_t",
    [TALLY_BOOL] = "uint8_t",
};

static void put_function(FILE *to, const tly_batch_line *line, tally_dtype out, const char *end,
                         const char *more)
{
    const tally_descriptor *d = &line->descriptor;
    fprintf(to, "int %s%s(const %s *in, %s *out", line->name, end, types[d->dtype], types[out]);
    for (int32_t i = 0, n = 0; i < d->rank; i++) {
        if (d->sizes[i] == TALLY_OPEN_SIZE) {
            fprintf(to, ", int64_t n%d", n++);
        }
    }
    fprintf(to, "%s);\n", more);
}

static int put_line(FILE *to, const tly_batch_line *line, tly_report *report)
{
    char word[TALLY_WORD_MAX];
    tally_error error = TALLY_ERROR_INIT;
    tally_dtype out;
    if (tally_descriptor_print(&line->descriptor, word, sizeof word, NULL, &error) != TALLY_OK ||
        tally_descriptor_result(&line->descriptor, NULL, NULL, &out, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    fprintf(to, "\n/* %s = %s */\n", line->name, word);
    put_function(to, line, out, "", "");
    put_function(to, line, out, "_part", ", int64_t part, int64_t parts");
    return EXIT_DONE;
}

static int put_all(FILE *to, const void *state, tly_report *report)
{
    const tly_batch *batch = state;
    int status = EXIT_DONE;
    fputs("\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n", to);
    for (size_t i = 0; i < batch->count && !status; i++) {
        status = put_line(to, &batch->lines[i], report);
    }
    fputs("\n#ifdef __cplusplus\n}\n#endif\n", to);
    return status;
}

int tly_prototypes_write(FILE *to, const char *path, const tly_batch *batch, tly_report *report)
{
    fputs("/* Written by tally compile. Each function returns 0, EINVAL, ENOMEM or ENOTSUP. */\n",
          to);
    return tly_guarded_put(to, path, put_all, batch, report);
}
