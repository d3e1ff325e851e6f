/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a word may be made of, for --help. Names are the library's, and which operators take an
 * option is found by having it read words that have it: no list here can be out of date. Only what
 * an option means is said here.
 */
#include "../common/tool.h"

#include <string.h>

enum { WIDTH = 92, NAME = 18 };

/* As it is shown, as it is tried, and what it means. */
static const struct {
    const char *shown, *tried, *meaning;
} options[] = {
    { "axis=INT", "axis=0", "the axis to scan; 0 is the first, -1 the last" },
    { "axes=INT+INT", "axes=0+1", "the axes to reduce; without it all of them; axes=none: none" },
    { "keepdims", "keepdims", "reduced axes stay, with size 1" },
    { "exclusive", "exclusive", "each result excludes its own element" },
    { "reverse", "reverse", "from the axis' end to its start" },
    { "in=INTxINT@INT", "in=4x1", "strides of the input in elements, and the offset of its first" },
    { "out=INTxINT@INT", NULL, "the same for the output" },
    { "a=DTYPE/AXES", "a,map=a", "a further tensor, as b=, c= and d=; AXES: INT+INT or none" },
    { "map=EXPR", "map=x", "what is combined, as map=(x-a)*b; docs/word.md has the grammar" },
    { "coef=EXPR", "coef=x", "the factor of a recurrence" },
    { "post=EXPR", "post=y", "what is stored, as post=y/2" },
    { "reset=EXPR", "reset=x", "the scan begins anew where this is not 0" },
    { "segments=i32/INT", NULL, "so many segments of the axis, by a tensor of offsets" },
    { "every=INT", NULL, "segments of so many elements" },
    { "carry=in+out", "carry=in", "the scan goes on from a state (in) and stores its own (out)" },
    { "last", "last", "the index of the last of equal elements, not of the first" },
    { "order=serial", "order=serial", "combine in the order of a plain loop, with its bits" },
    { "acc=f64", "acc=f64", "accumulate in f64" },
    { "nan=ignore", "nan=ignore", "ignore NaN" },
};

enum { OPTIONS = sizeof options / sizeof *options };

static int is_read(const char *op, const char *rest)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    char word[128];
    snprintf(word, sizeof word, "%s:f32:4x4%s%s", op, *rest ? ":" : "", rest);
    return tally_descriptor_parse(word, &d, NULL) == TALLY_OK;
}

/* A recurrence must have a factor. */
static int takes(int op, const char *tried)
{
    const char *name = tally_op_name((tally_op)op);
    char rest[64];
    const int axis = tally_op_is_scan((tally_op)op) && strncmp(tried, "axis=", 5) != 0;
    snprintf(rest, sizeof rest, "%s%s", axis ? "axis=0," : "", tried);
    if (is_read(name, rest)) {
        return 1;
    }
    const size_t length = strlen(rest);
    snprintf(rest + length, sizeof rest - length, ",coef=x");
    return is_read(name, rest);
}

/* Prints a word, on a line of its own where it does not fit behind what is there. */
static int print_word(int column, int indent, const char *word)
{
    const int length = (int)strlen(word);
    if (column > indent && column + 1 + length > WIDTH) {
        printf("\n%*s", indent, "");
        column = indent;
    }
    printf("%s%s", column > indent ? " " : "", word);
    return column + (column > indent) + length;
}

static void print_ops(int scans)
{
    int column = printf("  %-*s", NAME, scans ? "scans" : "reductions");
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        if (tally_op_is_scan((tally_op)op) == scans) {
            column = print_word(column, NAME + 2, tally_op_name((tally_op)op));
        }
    }
    puts("");
}

static void print_dtypes(void)
{
    int column = printf("  %-*s", NAME, "DTYPE");
    for (int dtype = 1; dtype < TALLY_DTYPE_COUNT; dtype++) {
        column = print_word(column, NAME + 2, tally_dtype_name((tally_dtype)dtype));
    }
    puts("");
}

static void add_word(char *text, size_t capacity, const char *word)
{
    const size_t length = strlen(text);
    snprintf(text + length, capacity - length, "%s%s", length ? " " : "", word);
}

/* Which operators take an option: a kind of them where it is all of that kind, "" where all do. */
static void list_takers(const char *tried, char *text, size_t capacity)
{
    int all[2] = { 0, 0 }, taking[2] = { 0, 0 }; /* reductions, scans */
    text[0] = 0;
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        const int scan = tally_op_is_scan((tally_op)op);
        all[scan]++;
        taking[scan] += takes(op, tried);
    }
    if (taking[0] == all[0] && taking[1] == all[1]) {
        return;
    }
    for (int scans = 1; scans >= 0; scans--) {
        if (taking[scans] == all[scans]) {
            add_word(text, capacity, scans ? "scans" : "reductions");
            continue;
        }
        for (int op = 1; op < TALLY_OP_COUNT; op++) {
            if (tally_op_is_scan((tally_op)op) == scans && takes(op, tried)) {
                add_word(text, capacity, tally_op_name((tally_op)op));
            }
        }
    }
}

static void print_option(const char *shown, const char *tried, const char *meaning)
{
    char takers[400] = "";
    int column = printf("  %-*s%s", NAME, shown, meaning);
    if (tried) {
        list_takers(tried, takers, sizeof takers);
    }
    if (takers[0]) {
        if (column + (int)strlen(takers) + 8 > WIDTH) {
            printf("\n%*s", NAME + 1, "");
        }
        printf(" (for %s)", takers);
    }
    puts("");
}

void tly_words_print(void)
{
    puts(
        "\nWORD is OP:DTYPE:SIZES:OPTION,OPTION, as in cumsum:f32:64x1024:axis=1,reverse. Without\n"
        "DTYPE and SIZES, those of the file are taken.\n");
    print_ops(1);
    print_ops(0);
    print_dtypes();
    printf("  %-*s%s\n", NAME, "DTYPE>DTYPE",
           "the input's and the output's; >DTYPE names only the output's");
    printf("  %-*s%s\n", NAME, "SIZES", "INTxINT, outermost first, or scalar");
    for (int i = 0; i < OPTIONS; i++) {
        print_option(options[i].shown, options[i].tried, options[i].meaning);
    }
    puts("\ndocs/word.md describes the word and the command, docs/stages.md operands and "
         "expressions,\n"
         "docs/recurrence.md linrec, docs/state.md the carry, and docs/segments.md segments.");
}
