/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the command share: exit statuses, the one error that a failing command tells,
 * options, progress. The command uses only Tally's public headers; what a user of the library
 * would miss belongs there, not here.
 *
 * Functions that can fail return an exit status, EXIT_DONE being zero, and fill the report; only
 * main prints it, so that there is one error, in one form, and parts can be tested alone.
 */
#ifndef TLY_TOOL_H
#define TLY_TOOL_H

#include <stdint.h>
#include <stdio.h>

#include <tally.h>

/* Scripts rely on these numbers (docs/word.md, The command). */
enum {
    EXIT_DONE = 0,
    EXIT_FAULT = 1,       /* anything that has no number of its own */
    EXIT_USAGE = 2,       /* the command line, the word, or a file that contradicts the word */
    EXIT_UNSUPPORTED = 3, /* valid, but no kernel, device or generator for it */
    EXIT_FILE = 4,        /* cannot be opened, read, taken or written */
    EXIT_MEMORY = 5
};

/* Longer than a tally_error, because it names files. */
typedef struct tly_report {
    int status;
    int pipe_closed; /* who would have read the output is gone: the command ends silently */
    char field[16];
    char message[1024];
    char hint[1024];
} tly_report;

/* Fills the report, without a hint, and returns `status`, to be returned in turn. */
int tly_refuse(tly_report *report, int status, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* After tly_refuse: what to do about it. */
void tly_hint(tly_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After either: where it was, before the message; nothing is added for "". */
void tly_report_where(tly_report *report, const char *where);

/* Takes over the library's error and returns the exit status that stands for it. */
int tly_adopt(tly_report *report, const tally_error *error);

/* Prints `tally: FIELD: message` and at most one `hint: ` line. */
void tly_report_print(const tly_report *report, FILE *to);

/* Text as a JSON string, quotes included: UTF-8, whatever its bytes are. */
void tly_json_string(FILE *to, const char *text);

/* Text of a file or a driver, for people: as in messages, and filled up to `width` with blanks. */
void tly_text_show(FILE *to, const char *text, int width);

/* Ends standard output: what is still buffered is written now, or it is EXIT_FILE. */
int tly_flush(tly_report *report);

/* Progress of work in stages, shown on standard error from the second second on and only if that
 * is a terminal. `stage` must live on; `total` 0 means that nobody knows how far it is. */
void tly_progress(const char *stage, uint64_t total);
void tly_progress_at(uint64_t done);
void tly_progress_end(void);  /* leaves a clean line */
void tly_progress_wipe(void); /* the same from a signal handler that ends the process */

/* One bit for each option of any verb. */
enum {
    OPTION_DEVICE = 1 << 0,
    OPTION_THREADS = 1 << 1,
    OPTION_IN_PLACE = 1 << 2,
    OPTION_PLAN = 1 << 3,
    OPTION_JSON = 1 << 4,
    OPTION_EMIT = 1 << 5,
    OPTION_PROFILE = 1 << 6,
    OPTION_OUT = 1 << 7,
    OPTION_HELP = 1 << 8,
    OPTION_DATA = 1 << 9,
    OPTION_BATCH = 1 << 10,
    OPTION_JOBS = 1 << 11,
    OPTION_HTML = 1 << 12,
    OPTION_MEASURE = 1 << 13,
    OPTION_WORDS = 1 << 14,
    OPTION_PLANS = 1 << 15,
    OPTION_SECONDS = 1 << 16,
    OPTION_KEEP = 1 << 17,
    OPTION_DEPFILE = 1 << 18,
    OPTION_HEADER = 1 << 19,
    OPTION_RAW = 1 << 20,
    OPTION_RUN = 1 << 21,
    OPTION_STEPS = 1 << 22,
    OPTION_PREFIX = 1 << 23,
    OPTION_OPERANDS = 1 << 24, /* no option: NAME=FILE or NAME=NUMBER may follow the arguments */
    OPTION_WRT = 1 << 25,
    OPTION_CARRY_OUT = 1 << 26
};

enum { TLY_MOST_PLAN = 512 };

typedef struct tly_options {
    unsigned given; /* OPTION_... */
    char **arg;     /* the arguments that are no options, at the front of main's */
    int args;
    int named; /* arguments NAME=... of operands that follow them */
    const char *device, *emit, *profile, *out, *data, *batch, *depfile, *header, *html, *words;
    const char *plans, *prefix, *raw, *run, *wrt;
    const char *operand_data[TALLY_MAX_OPERANDS];  /* --data NAME=KIND */
    const char *operand_raw[TALLY_MAX_OPERANDS];   /* --raw NAME=TENSOR */
    const char *carry_in, *carry_data, *carry_raw; /* carry_in=FILE, and the two of that name */
    const char *carry_out, *offsets;               /* --carry-out FILE, offsets=FILE */
    int32_t threads, jobs, seconds;                /* 0: not given */
    int64_t steps;                                 /* likewise */
    char plan[TLY_MOST_PLAN];                      /* every --plan K=V, comma-separated */
} tly_options;

/* One verb of the command. */
typedef struct tly_verb {
    const char *name;
    const char *summary; /* what it does, in a line */
    const char *usage;   /* what follows the name */
    const char *help;    /* the lines of --help below the usage */
    unsigned options;    /* which it takes */
    int least, most;     /* how many arguments */
    int (*run)(const tly_options *options, tly_report *report);
} tly_verb;

/* Prints what a word may be made of. */
void tly_words_print(void);

/* Reads the arguments after the verb. */
int tly_options_read(const tly_verb *verb, int argc, char **argv, tly_options *options,
                     tly_report *report);

/* Adds KEY=VALUE to the overrides of a plan, "" or comma-separated. */
int tly_plan_add(char plan[TLY_MOST_PLAN], const char *value, tly_report *report);

int tly_verb_run(const tly_options *options, tly_report *report);
int tly_verb_inspect(const tly_options *options, tly_report *report);
int tly_verb_bench(const tly_options *options, tly_report *report);
int tly_verb_devices(const tly_options *options, tly_report *report);
int tly_verb_compile(const tly_options *options, tly_report *report);
int tly_verb_cache(const tly_options *options, tly_report *report);
int tly_verb_tune(const tly_options *options, tly_report *report);
int tly_verb_grad(const tly_options *options, tly_report *report);
int tly_verb_kir(const tly_options *options, tly_report *report);

/* What follows `--complete`: for shells. */
int tly_complete(int argc, char **argv, tly_report *report);

/* Of the list of devices, those that are levels of CPUs: the first. */
enum { TLY_CPU_DEVICES = 5 };

/* What --device names, as a selector that the library takes; NULL is the default. EXIT_USAGE if
 * it names nothing. A Vulkan selector passes: the library says that it has no such device. */
int tly_device_find(const char *wanted, char selector[32], tly_report *report);

/* EXIT_UNSUPPORTED if such a selector is of a CPU's level that this machine does not have. */
int tly_device_must_run(const char *selector, tly_report *report);

/* Room in an array, from malloc, for one item behind `count` of them: 1, or 0 without memory. */
int tly_memory_room(void **items, size_t count, size_t bytes);

/* Page-aligned (from 2 MiB on huge-page-aligned and so advised), zeroed memory of at least one
 * byte. NULL if there is none. */
void *tly_memory_get(size_t bytes);
void tly_memory_free(void *memory, size_t bytes);

#endif
