/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally cache: the disk cache's folder, what lies there, whether it is sound, and emptying it; of
 * packs what is in them, and whether it is sound.
 */
#include "../common/tool.h"

#include "../../runtime/host/suggest.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <tally/cache.h>

enum { MOST_PATH = 4096 };

/* What is asked for, and the answer as far as it goes over all entries. */
typedef struct survey {
    int json;
    const char *pack; /* NULL: the folder */
    uint64_t entries, bytes, broken;
    char first_broken[64], fault[64];
} survey;

static void print_time(int64_t seconds)
{
    char text[32] = "";
    struct tm when;
    time_t at = (time_t)seconds;
    if (gmtime_r(&at, &when)) {
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &when);
    }
    fputs(text, stdout);
}

static void print_pair(const char *name, const char *text, const char *end)
{
    printf("\"%s\": ", name);
    tly_json_string(stdout, text);
    fputs(end, stdout);
}

/* --- over all entries ------------------------------------------------------------------------ */

static void count(survey *s, const tally_cache_entry *entry)
{
    s->entries++;
    s->bytes += entry->bytes;
    if (entry->fault && !s->broken++) {
        snprintf(s->first_broken, sizeof s->first_broken, "%s", entry->name);
        snprintf(s->fault, sizeof s->fault, "%s", entry->fault);
    }
}

static int list_one(void *user, const tally_cache_entry *entry)
{
    survey *s = user;
    if (s->json) {
        fputs(s->entries ? ",\n {" : "{", stdout);
        print_pair("file", entry->name, ", ");
        print_pair("word", entry->word, ", ");
        print_pair("device", entry->device, ", ");
        printf("\"bytes\": %" PRIu64 ", \"used\": \"", entry->bytes);
        print_time(entry->used);
        fputs(entry->fault ? "\", \"broken\": true}" : "\", \"broken\": false}", stdout);
    } else {
        tly_text_show(stdout, entry->fault ? "(broken)" : entry->word, 32);
        fputs("  ", stdout);
        tly_text_show(stdout, entry->device, 24);
        printf("  %8" PRIu64 "  ", entry->bytes);
        print_time(entry->used);
        putchar('\n');
    }
    count(s, entry);
    return 0;
}

static int verify_one(void *user, const tally_cache_entry *entry)
{
    survey *s = user;
    if (entry->fault && s->json) {
        fputs(s->broken ? ",\n {" : "{", stdout);
        print_pair("file", entry->name, ", ");
        print_pair("fault", entry->fault, "}");
    } else if (entry->fault) {
        printf("%s: %s\n", entry->name, entry->fault);
    }
    count(s, entry);
    return 0;
}

static int count_one(void *user, const tally_cache_entry *entry)
{
    count(user, entry);
    return 0;
}

static int visit(tally_cache_visitor visitor, survey *s, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    const tally_status status = s->pack ? tally_pack_visit(s->pack, visitor, s, &error)
                                        : tally_cache_visit(NULL, visitor, s, &error);
    return status == TALLY_OK ? EXIT_DONE : tly_adopt(report, &error);
}

/* --- the actions ----------------------------------------------------------------------------- */

static int do_path(survey *s, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    char path[MOST_PATH];
    if (tally_cache_path(NULL, path, sizeof path, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    if (s->json && path[0]) {
        putchar('{');
        print_pair("path", path, "}\n");
    } else if (s->json) {
        puts("{\"path\": null}");
    } else if (path[0]) {
        puts(path);
    }
    return EXIT_DONE;
}

static int do_list(survey *s, tly_report *report)
{
    fputs(s->json ? "[" : "", stdout);
    int status = visit(list_one, s, report);
    fputs(s->json ? "]\n" : "", stdout);
    return status;
}

static int do_stats(survey *s, tly_report *report)
{
    int status = visit(count_one, s, report);
    if (!status && s->pack) {
        printf(s->json ? "{\"entries\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"broken\": %" PRIu64
                         "}\n"
                       : "entries  %" PRIu64 "\nbytes    %" PRIu64 "\nbroken   %" PRIu64 "\n",
               s->entries, s->bytes, s->broken);
    } else if (!status) {
        printf(s->json ? "{\"entries\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"limit\": %" PRIu64
                         ", \"broken\": %" PRIu64 "}\n"
                       : "entries  %" PRIu64 "\nbytes    %" PRIu64 "\nlimit    %" PRIu64
                         "\nbroken   %" PRIu64 "\n",
               s->entries, s->bytes, tally_cache_limit(), s->broken);
    }
    return status;
}

static int do_verify(survey *s, tly_report *report)
{
    fputs(s->json ? "[" : "", stdout);
    int status = visit(verify_one, s, report);
    fputs(s->json ? "]\n" : "", stdout);
    if (!status && s->broken) {
        status = tly_refuse(report, EXIT_FILE, "file",
                            "%" PRIu64 " of %" PRIu64 " entries are broken; %s: %s", s->broken,
                            s->entries, s->first_broken, s->fault);
        tly_hint(report, s->pack ? "such entries are never used"
                                 : "such entries are never used; tally cache clear removes all");
    }
    return status;
}

static int do_clear(survey *s, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    uint64_t removed = 0;
    if (tally_cache_clear(NULL, &removed, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    if (s->json) {
        printf("{\"removed\": %" PRIu64 "}\n", removed);
    }
    return EXIT_DONE;
}

static const struct {
    const char *name;
    int (*run)(survey *s, tly_report *report);
    int packs; /* goes for one, too */
} actions[] = {
    { "path", do_path, 0 },     { "list", do_list, 1 },   { "stats", do_stats, 1 },
    { "verify", do_verify, 1 }, { "clear", do_clear, 0 },
};

enum { ACTIONS = sizeof actions / sizeof *actions };

int tly_verb_cache(const tly_options *options, tly_report *report)
{
    const char *name = options->arg[0];
    tly_suggestion guess = tly_suggest_begin(name, strlen(name));
    survey s = { .json = (options->given & OPTION_JSON) != 0,
                 .pack = options->args > 1 ? options->arg[1] : NULL };
    for (int i = 0; i < ACTIONS; i++) {
        if (strcmp(actions[i].name, name) == 0) {
            if (s.pack && !actions[i].packs) {
                return tly_refuse(report, EXIT_USAGE, "usage", "cache %s is not for packs", name);
            }
            int status = actions[i].run(&s, report);
            return status ? status : tly_flush(report);
        }
        tly_suggest_try(&guess, actions[i].name);
    }
    tly_refuse(report, EXIT_USAGE, "usage", "cache does not '%s'" TLY_SUGGESTION, name,
               TLY_SUGGESTED(&guess));
    tly_hint(report,
             "tally cache path|list|stats|verify|clear, and of packs list|stats|verify FILE.pack");
    return EXIT_USAGE;
}
