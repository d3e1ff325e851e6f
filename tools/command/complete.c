/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tally --complete WHAT TEXT`: what a shell offers in place of TEXT, a line each. Scripts of
 * completion (install/completion) ask for it, so that they know what this command knows.
 */
#include "../compile/profile.h"

#include "../../runtime/host/suggest.h"

#include <stdlib.h>
#include <string.h>

/* One of several names with commas between them: those in front stay. */
static void offer(const char *text, const char *name)
{
    const char *comma = strrchr(text, ','), *last = comma ? comma + 1 : text;
    if (strncmp(name, last, strlen(last)) == 0) {
        printf("%.*s%s\n", (int)(last - text), text, name);
    }
}

/* What stands in front of a word, and its end. */
typedef struct front {
    const char *text;
    size_t length;
} front;

static int put_word(void *user, const char *line, size_t bytes)
{
    const front *before = user;
    fwrite(before->text, 1, before->length, stdout);
    return fwrite(line, 1, bytes, stdout) != bytes;
}

/* NAME= before a word, as tally compile takes it, has no colon in it. */
static int complete_word(const char *text, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    const size_t name = strcspn(text, "=:");
    front before = { text, text[name] == '=' ? name + 1 : 0 };
    return tally_word_next(text + before.length, put_word, &before, &error) == TALLY_OK
               ? EXIT_DONE
               : tly_adopt(report, &error);
}

/* Without the Vulkan devices that are here, which it would take a while to ask for. */
static int complete_device(const char *text, tly_report *report)
{
    tally_device device[TLY_CPU_DEVICES];
    tally_error error = TALLY_ERROR_INIT;
    device[0].size = sizeof device[0];
    if (tally_devices(device, TLY_CPU_DEVICES, NULL, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    offer(text, "cpu");
    for (int i = 0; i < TLY_CPU_DEVICES; i++) {
        offer(text, device[i].selector);
    }
    offer(text, "vulkan");
    return EXIT_DONE;
}

static int complete_profile(const char *text, tly_report *report)
{
    char *names[TLY_MOST_PROFILES];
    const size_t count = tly_profile_names(names);
    (void)report;
    for (size_t i = 0; i < count; i++) {
        offer(text, names[i]);
        free(names[i]);
    }
    return EXIT_DONE;
}

static const struct {
    const char *name;
    int (*run)(const char *text, tly_report *report);
} kinds[] = {
    { "word", complete_word },
    { "device", complete_device },
    { "profile", complete_profile },
};

int tly_complete(int argc, char **argv, tly_report *report)
{
    char list[64] = "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        tly_names_add(list, sizeof list, kinds[i].name);
        if (argc > 0 && strcmp(argv[0], kinds[i].name) == 0) {
            const int status = kinds[i].run(argc > 1 ? argv[1] : "", report);
            return status ? status : tly_flush(report);
        }
    }
    return tly_refuse(report, EXIT_USAGE, "usage", "--complete takes one of %s, and a text", list);
}
