/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of kernels that include each other. Bytes 0x1c divide the input into the files a, b and so
 * on of one folder, and a is read. Each line of an accepted list has a valid descriptor, a place
 * and a name of its own. A refusal says why and where.
 */
#include "fuzz.h"

#include "../../tools/compile/batch.h"

#include <unistd.h>

enum { FILES = 8 };

static void enter_folder(void)
{
    static char folder[4096];
    if (folder[0] == 0) {
        const char *tmp = getenv("TMPDIR"); /* tools/fuzz sets it, and removes the folder */
        snprintf(folder, sizeof folder, "%s/list-XXXXXX", tmp != NULL ? tmp : "/tmp");
        HOLDS(mkdtemp(folder) != NULL && chdir(folder) == 0);
    }
}

static void write_files(const uint8_t *data, size_t bytes)
{
    for (int i = 0; i < FILES; i++) {
        const char name[] = { (char)('a' + i), 0 };
        const uint8_t *end = bytes > 0 && i < FILES - 1 ? memchr(data, 0x1c, bytes) : NULL;
        const size_t count = end != NULL ? (size_t)(end - data) : bytes;
        FILE *file = fopen(name, "wb");
        HOLDS(file != NULL && fwrite(data, 1, count, file) == count && fclose(file) == 0);
        data += count + (end != NULL);
        bytes -= count + (end != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tly_batch batch = { 0 };
    tly_report report = { 0 };
    enter_folder();
    write_files(data, bytes);
    const int status = tly_batch_read(&batch, "a", "", &report);
    if (status) {
        HOLDS(status == EXIT_USAGE || status == EXIT_FILE || status == EXIT_UNSUPPORTED);
        HOLDS(report.status == status && report.field[0] != 0 && report.message[0] != 0);
    }
    tly_name_set names = { .count = 0 };
    for (size_t i = 0; i < batch.count; i++) {
        const tly_batch_line *line = &batch.lines[i];
        const char *fault = "";
        HOLDS(tly_name_set_add(&names, line->name, &fault) && fault == NULL);
        HOLDS(line->where[0] != 0 && tally_descriptor_check(&line->descriptor, NULL) == TALLY_OK);
    }
    tly_name_set_end(&names);
    tly_batch_end(&batch);
    return 0;
}
