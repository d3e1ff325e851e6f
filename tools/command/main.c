/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `tally`: verbs, help, version, and the one place where an error is printed.
 * docs/word.md is its manual.
 */
#include "usage.h"

#include "../../runtime/host/suggest.h"

#include <signal.h>
#include <string.h>

#define DEVICE_HELP \
    "  --device D      cpu (the default), cpu:LEVEL, vulkan (the best Vulkan device), vulkan:N,\n" \
    "                  or part of a device's name; tally devices lists them\n"
#define PROFILE_HELP \
    "  --profile P     take a described Vulkan device and not one of this machine: a file, or\n" \
    "                  the name of an installed profile, such as nvidia-hopper\n"
#define THREADS_HELP \
    "  --threads N     use at most N threads; by default as many as the CPUs that this process\n" \
    "                  may use. No result depends on it\n"

static int show_help(const tly_options *options, tly_report *report);

static const tly_verb verbs[] = {
    { "run", "compute a tensor from a file, and print the result or write it",
      "WORD IN [NAME=FILE|NUMBER]... [-o OUT.npy] [--carry-out FILE] [--raw [NAME=]TENSOR]... "
      "[--device D] [--threads N] [--in-place] [--plan K=V]...",
      "Computes what WORD says on the tensor in IN. Prints the result as numpy does, or writes\n"
      "OUT.npy. IN is a .npy file, an array of an .npz file (IN.npz:NAME), a table of numbers as\n"
      "text (CSV), or with --raw any file; - is standard input. WORD may leave out dtype and\n"
      "sizes; the file supplies them.\n"
      "\n"
      "NAME is a, b, c or d, an operand of WORD. Its FILE has one of the same kinds and is\n"
      "broadcast to the input's shape as numpy does, or fits what WORD says. NUMBER is a scalar.\n"
      "If WORD has carry=in, carry_in=FILE has the states that the scan begins with, or a NUMBER\n"
      "is all of them; without it the scan begins from nothing. If WORD has segments=,\n"
      "offsets=FILE says where they begin.\n"
      "\n"
      "  -o OUT.npy      write the result there, whole or not at all; - is standard output\n"
      "  --carry-out FILE\n"
      "                  write the last states of a WORD with carry=out there, as .npy. FILE may\n"
      "                  be that of carry_in\n"
      "  --raw TENSOR    IN has only elements; TENSOR describes them, for instance f32:3x4. Type\n"
      "                  a=TENSOR for the file of operand a\n" DEVICE_HELP THREADS_HELP
      "  --in-place      compute in one buffer\n"
      "  --plan K=V      override a choice of the plan, for experiments\n"
      "\n"
      "  echo 2 3 5 7 | tally run cumprod:axis=-1 -\n"
      "  tally run mean:axes=0 table.csv\n"
      "  tally run cumsum:axis=-1,reverse in.npy -o out.npy\n"
      "  tally run 'cumsum:>i64:axis=0' arrays.npz:counts -o out.npy\n"
      "  tally run sum:axes=0+1 in.bin --raw f32:64x4096\n"
      "  tally run 'cumsum:axis=-1,a,map=where(a,x,0)' in.npy a=mask.npy -o out.npy\n"
      "  tally run mean:axes=1,a,map=x*a in.npy a=0.5\n"
      "  tally run cumsum:axis=0,carry=in+out part2.npy carry_in=state.npy --carry-out state.npy\n",
      OPTION_OUT | OPTION_DEVICE | OPTION_THREADS | OPTION_IN_PLACE | OPTION_PLAN | OPTION_RAW |
          OPTION_OPERANDS | OPTION_CARRY_OUT,
      2, 2, tly_verb_run },
    { "bench", "time a kernel beside copies or reads of the same bytes",
      "WORD [--device D] [--threads N] [--plan K=V]... [--data KIND] [--json]",
      "Times the kernel for WORD. It takes turns with copies of the same bytes, a reduction with\n"
      "reads of its input's bytes, a word with operands, expressions or offsets with loops that\n"
      "read and write all its tensors. On Vulkan devices such a word takes turns with copies of as "
      "many\n"
      "bytes. Each runs on the number of threads, up to N, on which it is fastest; the output has\n"
      "this number. A ratio of 1 is the speed of the best copy or read. Offsets cut segments of\n"
      "many lengths, the same in each run.\n"
      "\n" DEVICE_HELP THREADS_HELP
      "  --plan K=V      override a choice of the plan, for experiments\n"
      "  --data KIND     what the input holds; x=KIND,a=KIND: what input and operand a hold;\n"
      "                  carry_in=KIND: what a scan begins with. u is uniform in [0,1). Integers\n"
      "                  are uniform over their dtype with every kind\n"
      "      safe        the default: no partial result leaves the range\n"
      "      near1       1 - .01 to 1 + .01\n"
      "      survival    1 - .05 u\n"
      "      around1     .5 + u\n"
      "      uniform     u\n"
      "      growing     1 + u\n"
      "      normal      mean 0, deviation 1\n"
      "      mask        30 % ones, 2 % zeros, else 1 - u\n"
      "      zeros       one in 1000 is 0, else near1\n"
      "      specials    one in 1000 is inf, -inf or NaN, else near1\n"
      "      equal       all 1\n"
      "      ascending   from .5 to 1.5\n"
      "      descending  from 1.5 to .5\n"
      "  --json          print one JSON object\n"
      "\n"
      "  tally bench 'cumprod:f32:4096x4096:axis=1'\n"
      "  tally bench cumprod:f32:4096x1024:axis=1 --data uniform\n"
      "  tally bench sum:f32:4096x4096:axes=1\n",
      OPTION_DEVICE | OPTION_THREADS | OPTION_PLAN | OPTION_DATA | OPTION_JSON, 1, 1,
      tly_verb_bench },
    { "inspect", "show how a kernel is made: its plan, its code, or all of it as a page",

      "WORD [IN] [--raw TENSOR] --emit word|plan|kir|llvm|asm|spirv|spvasm | --html FILE "
      "[--measure] "
      "[--device D | --profile P] [--plan K=V]... [-o FILE]",
      "Shows one stage in which the kernel for WORD is made: the canonical word, the plan or the\n"
      "kernel IR; for a CPU also LLVM IR or assembly, for Vulkan SPIR-V (all passes, one after\n"
      "the other) or its disassembly. With IN, a file as for tally run, WORD may leave out dtype\n"
      "and sizes.\n"
      "\n"
      "  --emit STAGE    show this stage\n"
      "  --html FILE     write all stages as one page for a browser: the tensor, the order in\n"
      "                  which elements are combined, the plan with its reasons, the code, bytes\n"
      "  --measure       with --html: time the kernel as bench does\n" DEVICE_HELP PROFILE_HELP
      "  --plan K=V      override a choice of the plan; --emit plan shows the keys\n"
      "  --raw TENSOR    IN has only elements; TENSOR describes them, for instance f32:3x4\n"
      "  -o FILE         write the text there and not to standard output\n"
      "\n"
      "  tally inspect 'cumprod:f32:4096x4096:axis=0' --emit plan\n"
      "  tally inspect 'sum:f32:64x256x1024:axes=0+2' --html sum.html --measure\n",
      OPTION_EMIT | OPTION_HTML | OPTION_MEASURE | OPTION_DEVICE | OPTION_PROFILE | OPTION_PLAN |
          OPTION_OUT | OPTION_RAW,
      1, 2, tly_verb_inspect },
    { "devices", "list the CPUs and GPUs that kernels can be made for",
      "[--json] [--profile FILE [--device D]]",
      "Lists what --device can name. With --profile, describes a Vulkan device of this machine.\n"
      "\n"
      "  --json          print a JSON array\n"
      "  --profile FILE  write the device's profile, which tally inspect takes; list nothing\n"
      "  --device D      which device, if there are several: vulkan:N, or part of a name\n",
      OPTION_JSON | OPTION_PROFILE | OPTION_DEVICE, 0, 0, tly_verb_devices },
    { "compile", "make kernels ahead of time, for programs",

      "[NAME=]WORD... | --batch FILE -o OUT [--header FILE] [--prefix NAME_] [--depfile FILE] "
      "[--device D[,D]...] [--profile P[,P]...] [--plan K=V]... [-j N]",
      "Makes kernels ahead of time. The end of OUT's name decides the form:\n"
      "\n"
      "  OUT.pack        for programs with libtally, which find the pack by TALLY_PACK or beside\n"
      "                  libtally, and then make none of its kernels\n"
      "  OUT.o, OUT.a    functions int NAME(const T *in, T *out, ...) for any program, which then\n"
      "                  needs no library of Tally. A call chooses the best level of the machine.\n"
      "                  OUT.a is made on several threads, OUT.o on one\n"
      "  OUT.s, OUT.ll   the functions of one kernel, for reading\n"
      "  OUT.json        one kernel for a program with its own Vulkan code: a manifest. Its\n"
      "                  modules, OUT.0.spv and so on, lie beside it\n"
      "  OUT.h           any number of kernels for such a program, as C data\n"
      "\n"
      "Every file is written whole or not at all. A line of a batch is NAME = WORD, or include\n"
      "\"FILE\". Any number of --plan K=V may follow a WORD. # begins a comment.\n"
      "\n"
      "  --batch FILE    take the kernels from this list and not from words\n"
      "  --header FILE   OUT.o and so on: write declarations of the functions, for C99 and C++11\n"
      "  --prefix NAME_  put this in front of the name of each function, or kernel of OUT.h\n"
      "  --depfile FILE  write what OUT is made of, in make's form: the batch, the files that it\n"
      "                  includes, the profile\n"
      "  --device D,...  make kernels for these; by default cpu:x86-64-v2, -v3 and -v4, or\n"
      "                  cpu:aarch64 on AArch64. This machine need not have the level. For\n"
      "                  OUT.json and OUT.h it is a Vulkan device\n"
      "  --profile P,... OUT.json, OUT.h: make kernels for a described Vulkan device. OUT.pack:\n"
      "                  for one or more of them, in place of the default levels or in addition\n"
      "                  to --device; kernels that a device cannot compute are left out. P is a\n"
      "                  file or the name of an installed profile, such as nvidia-hopper\n"
      "  --plan K=V      override a choice of every kernel's plan, as tally tune finds them. In a\n"
      "                  pack, only programs that ask for this plan find these kernels\n"
      "  -j N            make a pack or an archive on N threads; by default as many as the CPUs\n"
      "                  that this process may use. No byte depends on N\n"
      "\n"
      "  tally compile 'cumprod:f32:4096x4096:axis=1' 'sum:f32:4096x4096:axes=1' -o mine.pack\n"
      "  TALLY_PACK=mine.pack tally run cumprod:axis=1 in.npy -o out.npy\n"
      "  tally compile 'rows=cumprod:f32:?x4096:axis=1' -o rows.o --header rows.h\n"
      "  tally compile rows=cumsum:f32:64x4096:axis=1 -o rows.h --device vulkan\n",
      OPTION_OUT | OPTION_DEVICE | OPTION_BATCH | OPTION_JOBS | OPTION_HEADER | OPTION_DEPFILE |
          OPTION_PROFILE | OPTION_PLAN | OPTION_PREFIX,
      0, INT32_MAX, tly_verb_compile },
    { "cache", "look after the kernels that are kept on disk",
      "path|list|stats|verify|clear [FILE.pack] [--json]",
      "Looks after the disk cache, where programs find the kernels that earlier programs made.\n"
      "\n"
      "  path            print the folder: TALLY_CACHE_DIR, or else tally in XDG_CACHE_HOME or\n"
      "                  ~/.cache. Prints nothing if there is no disk cache\n"
      "  list            print a line for each entry, the one that was unused for longest first:\n"
      "                  the word without sizes, device, bytes, last use\n"
      "  stats           print the number of entries, their bytes, the most bytes that are kept,\n"
      "                  and the number of broken entries\n"
      "  verify          read every entry and name the broken ones, which are never used; exit\n"
      "                  status 4 if there is one\n"
      "  clear           remove every entry and nothing else\n"
      "  FILE.pack       list, stats, verify: look at a pack and not at the folder\n"
      "\n"
      "  --json          print one JSON object or array\n"
      "\n"
      "  tally cache list\n"
      "  TALLY_CACHE_DIR=/var/cache/mine tally cache stats --json\n",
      OPTION_JSON, 1, 2, tly_verb_cache },
    { "tune", "try other plans for a kernel, and keep the fastest",
      "WORD | --words FILE [--plans FILE] [--seconds N] [--device D] [--keep] [--json]",
      "Tries other plans for the kernel of WORD, in turns with the library's own plan and with\n"
      "copies or reads of the same bytes. Compares the bits of their outputs.\n"
      "\n"
      "  --words FILE    take a word from each line of FILE and not WORD; # begins a comment\n"
      "  --plans FILE    try these plans, KEY=VALUE,KEY=VALUE a line; by default every single\n"
      "                  change that the library's own plan allows, then changes of the fastest\n"
      "  --seconds N     the time for each word; by default 20\n" DEVICE_HELP
      "  --keep          put the fastest plan into the disk cache, if no bit of any result can\n"
      "                  differ. Programs use it from then on. tally cache list shows it as\n"
      "                  tuned; tally cache clear removes it\n"
      "  --json          print one JSON object for each plan\n"
      "\n"
      "  tally tune 'cumsum:i32:4096x4096:axis=1' --seconds 10\n",
      OPTION_WORDS | OPTION_PLANS | OPTION_SECONDS | OPTION_DEVICE | OPTION_KEEP | OPTION_JSON, 0,
      1, tly_verb_tune },
    { "grad", "print the words that compute the gradient of a word",
      "WORD [--wrt x|a|b|c|d|carry_in]",
      "Prints a line for each kernel that the gradient of WORD takes, in the order in which they\n"
      "run: NAME = WORD  # in=SOURCE a=SOURCE ... SOURCE is x, the input of WORD; g, the gradient\n"
      "of its output; y, its output; a, b, c or d, an operand of WORD; the NAME of a line before;\n"
      "carry_in, the states that WORD begins with; gcarry, the gradient of those that it ends\n"
      "with; or offsets, those of WORD. The last line is the gradient. The output is a batch for\n"
      "tally compile.\n"
      "\n"
      "  --wrt NAME      with respect to the input, x, to operand a, b, c or d, or to the states\n"
      "                  carry_in; by default x\n"
      "\n"
      "  tally grad 'cumprod:f32:4096x192:axis=1'\n"
      "  tally grad 'sum:f32:64x512:axes=1,a=f32/1,map=x*a' --wrt a\n",
      OPTION_WRT, 1, 1, tly_verb_grad },
    { "kir", "change kernel IR in a file: lower or interpret it",
      "FILE.kir --emit kir|llvm|asm|spirv|spvasm | --run WORD IN [NAME=FILE|NUMBER]... "
      "[-o OUT.npy] [--carry-out FILE] [--raw [NAME=]TENSOR] [--device D | --profile P] "
      "[--plan K=V]... [--steps N]",
      "Reads kernel IR, such as tally inspect WORD --emit kir prints, and verifies it. --emit\n"
      "lowers it as the library would. --run interprets it in place of WORD's kernel, with the\n"
      "problem, the plan and the launch of WORD on the device, which need not be here. Errors in\n"
      "the text and errors of the kernel name FILE:LINE:COLUMN. - is standard input.\n"
      "\n"
      "  --emit STAGE    kir, the text again; for a CPU llvm or asm; for Vulkan spirv or spvasm\n"
      "  --run WORD      interpret it on the tensor in IN and on the operands, as tally run does\n"
      "  -o OUT          --emit: write the text there; --run: write OUT.npy and print "
      "nothing\n"
      "  --carry-out FILE\n"
      "                  --run: write the last states of WORD there, as tally run "
      "does\n" DEVICE_HELP PROFILE_HELP
      "  --plan K=V      --run: the same overrides as for the inspect that printed the kernel\n"
      "  --steps N       --run: stop the kernel after N instructions of single invocations; by\n"
      "                  default 10^9, about half a minute\n"
      "\n"
      "  tally inspect 'cumsum:f32:4x100:axis=1' --emit kir -o rows.kir\n"
      "  tally kir rows.kir --run cumsum:f32:4x100:axis=1 in.npy\n"
      "  tally kir rows.kir --emit asm\n",
      OPTION_EMIT | OPTION_RUN | OPTION_OUT | OPTION_DEVICE | OPTION_PROFILE | OPTION_PLAN |
          OPTION_STEPS | OPTION_RAW | OPTION_OPERANDS | OPTION_CARRY_OUT,
      1, 2, tly_verb_kir },
    { "help", "say more about a verb", "[VERB]",
      "Says what a verb does and what its options mean, as tally VERB --help does. Without VERB,\n"
      "says which verbs there are.\n"
      "\n"
      "  tally help run\n",
      0, 0, 1, show_help },
};

enum { VERBS = sizeof verbs / sizeof *verbs };

static void print_overview(void)
{
    puts("usage: tally VERB ...\n");
    for (int i = 0; i < VERBS; i++) {
        printf("  tally %-9s %s\n", verbs[i].name, verbs[i].summary);
    }
    puts("\nTally computes cumulative sums, products and extremes, and reductions, by kernels that "
         "it\n"
         "makes for the operator and the layout of the tensor. For example:\n\n"
         "  echo 2 3 5 7 | tally run cumsum:axis=-1 -\n\n"
         "tally help run lists all operators and options. With TALLY_VERBOSE=1 the command says\n"
         "which kernels it makes and runs, with TALLY_VERBOSE=2 also why. TALLY_DUMP=FOLDER keeps\n"
         "each stage of a kernel (docs/environment.md). tally --version prints the version.");
}

static void print_help(const tly_verb *verb)
{
    if (!verb) {
        print_overview();
        return;
    }
    printf("usage: tally %s %s\n\n%s", verb->name, verb->usage, verb->help);
    if (verb->run == tly_verb_run) {
        tly_words_print();
    } else if (strstr(verb->usage, "WORD")) {
        puts("\nWORD is OP:DTYPE:SIZES:OPTIONS; tally help run lists the choices for each.");
    }
}

static const tly_verb *find_verb(const char *name)
{
    for (int i = 0; i < VERBS; i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

enum { MOST_NAMES = 200 };

static const char *list_verbs(char names[MOST_NAMES])
{
    names[0] = 0;
    for (int i = 0; i < VERBS; i++) {
        tly_names_add(names, MOST_NAMES, verbs[i].name);
    }
    return names;
}

static int refuse_verb(const char *name, tly_report *report)
{
    tly_suggestion guess = tly_suggest_begin(name, strlen(name));
    char names[MOST_NAMES];
    for (int i = 0; i < VERBS; i++) {
        tly_suggest_try(&guess, verbs[i].name);
    }
    tly_suggest_try(&guess, "--version");
    tly_refuse(report, EXIT_USAGE, "usage", "there is no verb '%s'" TLY_SUGGESTION, name,
               TLY_SUGGESTED(&guess));
    if (tly_usage_is_word(name)) {
        tly_hint(report, "a word comes after its verb: tally run %s IN.npy", name);
    } else {
        tly_hint(report, "verbs are %s; tally --help says what they do", list_verbs(names));
    }
    return EXIT_USAGE;
}

static int show_help(const tly_options *options, tly_report *report)
{
    const tly_verb *verb = options->args ? find_verb(options->arg[0]) : NULL;
    if (options->args && !verb) {
        return refuse_verb(options->arg[0], report);
    }
    print_help(verb);
    return tly_flush(report);
}

static int start(int argc, char **argv, tly_report *report)
{
    tly_options options;
    const tly_verb *verb = NULL;
    char names[MOST_NAMES];
    int status = EXIT_DONE;
    if (argc < 2) {
        tly_refuse(report, EXIT_USAGE, "usage", "a verb is missing");
        tly_hint(report, "verbs are %s; tally --help says what they do", list_verbs(names));
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tally %s\n", tally_version());
        return tly_flush(report);
    }
    if (strcmp(argv[1], "--complete") == 0) {
        return tly_complete(argc - 2, argv + 2, report);
    }
    if (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) {
        verb = find_verb(argv[1]);
        if (!verb) {
            return refuse_verb(argv[1], report);
        }
        status = tly_options_read(verb, argc - 2, argv + 2, &options, report);
        if (!status && !(options.given & OPTION_HELP)) {
            status = verb->run(&options, report);
            tly_usage_order(verb, &options, report);
            return status;
        }
        if (status) {
            return status;
        }
    }
    print_help(verb);
    return tly_flush(report);
}

int main(int argc, char **argv)
{
    tly_report report = { .status = EXIT_DONE };
    int status;
    /* A reader that goes away, or a limit of file sizes, is a failed write like any other: what is
     * unfinished is taken away. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    status = start(argc, argv, &report);
    tly_progress_end();
    if (status && report.pipe_closed) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    } else if (status) {
        tly_report_print(&report, stderr);
    }
    return status;
}
