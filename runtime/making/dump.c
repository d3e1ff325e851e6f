/* SPDX-License-Identifier: Apache-2.0 */
/* Every stage of each new kernel as a file; see dump.h. */
#include "dump.h"

#include "../cache/folder.h"
#include "../host/byte_buffer.h"
#include "../host/env.h"
#include "../host/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Most of a file's name, but for the stage; the hash tells longer ones apart. */
enum { MOST_NAME = 200, HASH_DIGITS = 16 };

const char *tly_dump_folder(void)
{
    const char *folder;
    return tly_env_dump(&folder, NULL) == TALLY_OK ? folder : NULL;
}

static void print_name(char name[MOST_NAME + 1], const char *word, const char *plan,
                       const char *device)
{
    char text[4096], whole[sizeof text];
    snprintf(text, sizeof text, "%s%s%.2048s:%s", word, plan[0] != 0 ? "," : "", plan, device);
    tly_identifier(text, whole, sizeof whole);
    if (strlen(whole) <= MOST_NAME) {
        strcpy(name, whole);
    } else {
        snprintf(name, MOST_NAME + 1, "%.*s_%016" PRIx64, MOST_NAME - HASH_DIGITS - 1, whole,
                 tly_hash(0, text, strlen(text)));
    }
}

/* --- one file ------------------------------------------------------------------------------ */

static const char *put(int folder, const char *name, const char *stage, const char *bytes,
                       size_t count)
{
    char path[MOST_NAME + 16];
    snprintf(path, sizeof path, "%s.%s", name, stage);
    return tly_folder_write(folder, path, bytes, count) ? NULL : "it cannot be written to";
}

/* --- all ----------------------------------------------------------------------------------- */

/* NULL, or what went wrong. */
static const char *put_stages(int folder, const char *name, tally_context *context,
                              const tly_request *request, tally_error *error)
{
    for (int stage = TALLY_STAGE_PLAN; stage <= TALLY_STAGE_SPVASM; stage++) {
        tly_byte_buffer text = { .most = SIZE_MAX };
        const char *called = tly_stage_name(request, (tally_stage)stage), *why = NULL;
        if (called[0] == 0) {
            continue;
        }
        if (tly_stage_show(context, request, (tally_stage)stage, tly_byte_buffer_add, &text,
                           error) != TALLY_OK) {
            why = error->message;
        } else {
            why = put(folder, name, called, text.bytes, text.count);
        }
        free(text.bytes);
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

static const char *put_all(int folder, tally_context *context, const tly_request *request,
                           const char *word, const char *device, const char *from,
                           tally_error *error)
{
    char name[MOST_NAME + 1], text[4096];
    print_name(name, word, request->plan, device);
    int length = snprintf(text, sizeof text, "word %s\ndevice %s\nfrom %s\n", word, device, from);
    const char *why = put(folder, name, "word", text, (size_t)length);
    return why != NULL ? why : put_stages(folder, name, context, request, error);
}

void tly_dump(tally_context *context, const tly_request *request, const char *word,
              const char *device, const char *from)
{
    static atomic_int noticed;
    const char *path = tly_dump_folder();
    tally_error error = TALLY_ERROR_INIT;
    if (path == NULL) {
        return;
    }
    /* Anybody's folder will do: nothing is read from it, and what is written is new or renamed. */
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *why = folder < 0 ? strerror(errno)
                                 : put_all(folder, context, request, word, device, from, &error);
    if (why != NULL && !atomic_exchange(&noticed, 1)) {
        tly_log_say(&context->store.log, TALLY_LOG_WARNING,
                    "TALLY_DUMP=%.400s does not have all of %s: %s", path, word, why);
    }
    if (folder >= 0) {
        close(folder);
    }
}
