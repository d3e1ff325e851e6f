/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What newcomers type: the error says what was meant, and the hint is a line to type, or what there
 * is. Whole words that a hint suggests are tried.
 */
#include <criterion/criterion.h>

#include "command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

typedef struct mistake {
    const char *arguments;
    int status;
    const char *field, *message, *hint; /* pieces */
} mistake;

static void put_inputs(void)
{
    static char file[TLY_MOST_BYTES];
    static const char zeros[64];
    tly_put_inputs();
    tly_put_npy("m.npy", "<f4", "False", "(3, 4)", tly_example, sizeof tly_example);
    tly_put_npy("i8.npy", "|i1", "False", "(4,)", zeros, 4);
    tly_write_file("i16.npy", file, tly_make_npy(file, 1, "<i2", "False", "(4,)", zeros, 8));
    tly_write_file("complex.npy", file, tly_make_npy(file, 1, "<c8", "False", "(4,)", zeros, 32));
}

static void expect_mistakes(const mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const mistake *m = &mistakes[i];
        tly_expect_failure("/dev/null", m->arguments, m->status, m->field);
        const char *second = strchr(tly_last.err, '\n');
        const char *message = strstr(tly_last.err, m->message);
        cr_expect(message && message < second, "tally %s: no '%s': %s", m->arguments, m->message,
                  tly_last.err);
        cr_expect_not_null(strstr(second, m->hint), "tally %s: no '%s': %s", m->arguments, m->hint,
                           tly_last.err);
        cr_expect_null(strstr(second, " ..."), "tally %s: a hint that is cut: %s", m->arguments,
                       tly_last.err);
    }
}

Test(cli, errors_leave_nobody_stuck)
{
    static const mistake mistakes[] = {
        { "runn", 2, "usage", "did you mean run?", "verbs are run bench inspect devices" },
        { "Run a.npy", 2, "usage", "did you mean run?", "tally --help" },
        { "halp", 2, "usage", "did you mean help?", "verbs are run" },
        { "help rnu", 2, "usage", "did you mean run?", "verbs are run" },
        { "cumsum:axis=1 a.npy", 2, "usage", "no verb", "tally run cumsum:axis=1 IN.npy" },
        { "run", 2, "usage", "WORD is missing", "tally run WORD IN" },
        { "run cumsum:axis=1", 2, "usage", "IN is missing", "tally run WORD IN" },
        { "run a.npy cumsum:axis=1", 2, "op", "'a.npy'", "tally run cumsum:axis=1 a.npy" },
        { "run cumsum:axis=1 a.npy o.npy", 2, "usage", "o.npy", "-o o.npy" },
        { "run cumsum:axis=1 a.npy --thread 2", 2, "usage", "did you mean --threads?",
          "tally run WORD" },
        { "run cumsum:axis=1 a.npy --inplace", 2, "usage", "did you mean --in-place?",
          "--in-place" },
        { "run cumsum:axis=1 a.npy --output o.npy", 2, "usage", "did you mean -o?", "-o OUT.npy" },
        { "run cumsum:axis=1 a.npy --gpu", 2, "usage", "did you mean --device vulkan?", "" },
        { "bench cumsum:f32:4:axis=0 --in-place", 2, "usage", "bench has no option",
          "tally bench" },
        { "run cumsum:axis=1 a.npy --device vulcan", 2, "device", "did you mean vulkan?",
          "cpu:x86-64-v2" },
        { "run cumsum:axis=1 a.npy --device gpu", 2, "device", "did you mean vulkan?",
          "--device vulkan" },
        { "run cumsum:axis=1 a.npy --device cuda:0", 2, "device", "'cuda:0'", "--device vulkan" },
        { "run cumsum:axis=1 a.npy --device cpu:avx2", 2, "device", "'cpu:avx2'",
          "cpu cpu:x86-64-v2 cpu:x86-64-v3 cpu:x86-64-v4 cpu:aarch64 cpu:riscv64" },
        { "run cumsum,axis=1 a.npy", 2, "op", "did you mean cumsum?", "OP:DTYPE:SIZES" },
        { "run cumadd:axis=1 a.npy", 2, "op", "'cumadd'", "scans: cumsum cumprod " },
        { "run std a.npy", 2, "op", "'std'", "; scans begin with cum" },
        { "run cumsum:axis=1,order=sorted a.npy", 2, "order", "'sorted'", "exact serial" },
        { "run cumsum:axis=1:reverse a.npy", 2, "option", "':'", "axis=1,reverse" },
        { "run cumsum:3x4:f32:axis=1 a.npy", 2, "option", "behind the sizes", "OP:DTYPE:SIZES" },
        { "run cumsum:axis=1,order=exact a.npy", 3, "order", "order=exact", "order=serial" },
        { "run cumsum:axis=1,keepdims a.npy", 2, "keepdims", "not an option of cumsum",
          "cumsum takes axis= exclusive" },
        { "run cumsum:axis=last a.npy", 2, "axis", "'last'", "-1 the last" },
        { "run sum:axes=all a.npy", 2, "axes", "'all'", "left out: all" },
        { "run cumsum:axis=1,segments=4 a.npy", 2, "segments", "cannot be '4'",
          "segments=i32/N has N segments, by N + 1 offsets of i32 or i64" },
        { "run cumsum:axis=1,segments=int32/4 a.npy", 2, "segments", "did you mean i32?",
          "segments=i32/N has" },
        { "run cumsum:axis=1,segments=i32 a.npy", 2, "segments", "is missing",
          "segments=i32/N has" },
        { "run cumsum:axis=1,segments=i32/four a.npy", 2, "segments", "'four'",
          "segments=i32/N has" },
        { "inspect cumsum:f32:3x4:axis=1,segments=i32/? --emit plan", 3, "segments",
          "need the number of segments, which '?' leaves open", "segments=i32/N" },
        { "inspect cumsum:f32:3x?:axis=1,segments=i32/2 --emit plan", 3, "segments",
          "need the size of the axis, which '?' leaves open", "?x100" },
        { "inspect cumsum:f32:1x1x1x1x1x1x1x4:axis=7,segments=i32/2 --emit plan", 3, "segments",
          "have 7 dims at most", "" },
        { "run cumsum:axis=1,segments=i32/2 a.npy offset=o.npy", 2, "usage",
          "no tensor is named offset, did you mean offsets=?", "type offsets=o.npy" },
        { "run cumsum:axis=1,carry=in a.npy carryin=o.npy", 2, "usage", "did you mean carry_in=?",
          "type carry_in=o.npy" },
        { "run cumsum:axis=0,1 a.npy", 2, "option", "'1'", "along one axis" },
        { "run sum:0,1 a.npy", 2, "sizes", "'0,1'", "" },
        { "run sum:f99 a.npy", 2, "dtype", "'f99'", "u8 bool" },
        { "run cumsum:axis=1,dtype=f64 a.npy", 2, "option", "'dtype'", "'cumsum:>f64'" },
        { "run l2 i8.npy", 3, "dtype", "for i8", "f64 f32 f16 bf16 i64 i32 u64 u32" },
        { "run cumsum:i16:4:axis=0 i16.npy", 3, "dtype", "i16",
          "from i16 to i64 i32; in a word: 'i16>i64'" },
        { "run sum i8.npy", 3, "dtype", "from i8 to i8", "in a word: 'i8>i64'" },
        { "run cumsum:axis=0 complex.npy", 4, "file", "'<c8'", "f64 f32 f16 bf16" },
        { "run cumsum:axis=1 a.npy --plan unrol=2", 2, "usage", "did you mean unroll?", "reads" },
        { "run cumsum:axis=1 a.npy --plan template=row", 2, "usage", "did you mean rows?",
          "templates: reduce_rows reduce" },
        { "inspect cumsum:f32:3x4:axis=1 --emit ir", 2, "usage", "did you mean kir?",
          "for a CPU llvm|asm" },
        { "inspect cumsum:axis=1 --emit kir", 2, "dtype", "ends before its dtype",
          "cumsum:f32:1024x512:axis=1" },
        { "inspect cumsum:>f64:4:axis=1 --emit kir", 2, "dtype", "missing before '>'",
          "'sum:i8>i64:1024'" },
        { "compile cumsum:axis=-1,a,map=x*a -o z.o", 2, "dtype", "is no dtype",
          "a word looks like" },
        { "bench sum:i64", 2, "sizes", "ends before its sizes", "sum:i64:1024x512" },
    };
    put_inputs();
    expect_mistakes(mistakes, sizeof mistakes / sizeof *mistakes);
}

#ifdef TALLY_VULKAN
/* A described device has templates of its own. */
Test(cli, templates_are_listed)
{
    const char *profiles = getenv("TALLY_TEST_PROFILES");
    char call[512];
    cr_assert_not_null(profiles);
    snprintf(call, sizeof call,
             "inspect sum:f32:64x64:axes=1 --emit plan --plan template=zzz "
             "--profile %s/nvidia-hopper.profile",
             profiles);
    tly_expect_failure("/dev/null", call, 2, "usage");
    cr_expect_not_null(strstr(tly_last.err, " reduce_rows"), "%s", tly_last.err);
    cr_expect_null(strstr(tly_last.err, "..."), "%s", tly_last.err);
}

Test(cli, devices_without_i64_have_indices_of_i32)
{
    const char *profiles = getenv("TALLY_TEST_PROFILES");
    char call[512];
    cr_assert_not_null(profiles);
    snprintf(call, sizeof call,
             "inspect argmax:f32:64 --emit plan --profile %s/swiftshader.profile", profiles);
    tly_expect_failure("/dev/null", call, 3, "dtype");
    cr_expect_not_null(strstr(tly_last.err, "indices of i32; in a word: 'argmax:f32>i32'"), "%s",
                       tly_last.err);
}
#endif

/* Words that are nearly right: what the hint says in their place is. */
Test(cli, words_are_suggested)
{
    static const struct {
        const char *word, *suggested;
    } cases[] = {
        { "CUMSUM:axis=1", "cumsum:axis=1" },
        { "cumsm:axis=1", "cumsum:axis=1" },
        { "np.cumsum:axis=1", "cumsum:axis=1" },
        { "cumulative_prod:axis=0", "cumprod:axis=0" },
        { "logcumsumexp:axis=0", "cumlogsumexp:axis=0" },
        { "logsumexp", "log_sum_exp" },
        { "ReduceSumSquare:axes=0", "sum_square:axes=0" },
        { "amax:axes=0", "max:axes=0" },
        { "average", "mean" },
        { "cumsum:float32:axis=1", "cumsum:f32:axis=1" },
        { "cumsum:fp32:3x4:axis=1", "cumsum:f32:3x4:axis=1" },
        { "sum:float", "sum:f32" },
        { "sum:f4", "sum:f32" },
        { "sum:f32>double", "sum:f32>f64" },
        { "sum:>float64", "sum:>f64" },
        { "cumsum:dim=1", "cumsum:axis=1" },
        { "cumsum:axes=1", "cumsum:axis=1" },
        { "sum:axis=1", "sum:axes=1" },
        { "sum:dim=1,keepdims", "sum:axes=1,keepdims" },
        { "sum:keepdim", "sum:keepdims" },
        { "sum:axes=0,keep_dims", "sum:axes=0,keepdims" },
        { "sum:keepdims=True", "sum:keepdims" },
        { "cumsum:axis=1,exclusiv", "cumsum:axis=1,exclusive" },
        { "cumsum:axis=1,order=seriel", "cumsum:axis=1,order=serial" },
        { "sum:axes=0,1", "sum:axes=0+1" },
        { "sum:axes=0,1,keepdims", "sum:axes=0+1,keepdims" },
        { "sum:axes=(0,1)", "sum:axes=0+1" },
        { "sum:axes=0x1", "sum:axes=0+1" },
        { "sum:f32:3,4:axes=0", "sum:f32:3x4:axes=0" },
        { "sum:f32:[3,4]", "sum:f32:3x4" },
        { "sum:f32:3X4", "sum:f32:3x4" },
        { "sum:3*4", "sum:3x4" },
        { "sum:f32,keepdims", "sum:f32:keepdims" },
        { "cumsum:f32,axis=0", "cumsum:f32:axis=0" },
        { "cumsum", "cumsum:axis=-1" },
        { "cumsum:reverse", "cumsum:reverse,axis=-1" },
        { "cumsum:f32:3x4", "cumsum:f32:3x4:axis=-1" },
        { "cumsum:axis", "cumsum:axis=0" },
        { "cumsum:0", "cumsum:axis=0" },
        { "cumsum:-1", "cumsum:axis=-1" },
        { "cumsum:axis=2", "cumsum:axis=-1" },
        { "cumsum:f32:3x4:axis=3", "cumsum:f32:3x4:axis=-1" },
        { "cumsum:f64:axis=1", "cumsum:axis=1" },
        { "cumsum:f64>f64:axis=1", "cumsum:>f64:axis=1" },
        { "cumsum:f32:9x9:axis=1", "cumsum:f32:axis=1" },
        { "cumsum:9x9:axis=1", "cumsum:axis=1" },
        { "sum:4x3", "sum" },
    };
    char call[256];
    put_inputs();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(call, sizeof call, "run %s m.npy", cases[i].word);
        cr_expect_eq(tly_call(call), 2, "%s", cases[i].word);
        /* It ends the hint, in quotes where a shell needs them. */
        char *hint = strstr(tly_last.err, "hint: ");
        cr_assert_not_null(hint, "%s: %s", cases[i].word, tly_last.err);
        hint[strcspn(hint, "\n")] = 0;
        char *word = strrchr(hint, ' ') + 1;
        if (*word == '\'') {
            word[strlen(word) - 1] = 0;
            word++;
        } else {
            cr_expect_null(strpbrk(word, ">?*()[];"), "%s", word);
        }
        cr_expect_str_eq(word, cases[i].suggested, "%s: %s", cases[i].word, hint);
        snprintf(call, sizeof call, "inspect %s m.npy --emit word", cases[i].suggested);
        tly_expect_success("/dev/null", call);
    }
}

/* Options of the operator that were given to the command. */
Test(cli, options_that_belong_to_the_word)
{
    static const struct {
        const char *arguments, *suggested;
    } cases[] = {
        { "run cumsum m.npy --axis 1", "tally run cumsum:axis=1 " },
        { "run cumsum m.npy --axis=-1", "tally run cumsum:axis=-1 " },
        { "run sum m.npy --axis 1", "tally run sum:axes=1 " },
        { "run sum m.npy --dim 1", "tally run sum:axes=1 " },
        { "run sum:axes=1 m.npy --keepdims", "tally run sum:axes=1,keepdims " },
        { "run sum:axes=1 --keepdims m.npy", "tally run sum:axes=1,keepdims " },
        { "run sum m.npy axes=1", "tally run sum:axes=1 " },
        { "run cumsum:axis=1 m.npy carry=in", "tally run cumsum:axis=1,carry=in " },
        { "run sum m.npy axis=1", "tally run sum:axes=1 " },
    };
    put_inputs();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_expect_failure("/dev/null", cases[i].arguments, 2, "usage");
        cr_expect_not_null(strstr(tly_last.err, cases[i].suggested), "%s: %s", cases[i].arguments,
                           tly_last.err);
    }
}

/* The help has every operator, dtype and verb, and every option that the library reads: those that
 * it lists for a word with an unknown one. */
Test(cli, help_is_complete)
{
    static char help[TLY_MOST_BYTES];
    char word[64], piece[64];
    tly_expect_success("/dev/null", "help run");
    memcpy(help, tly_last.out, tly_last.out_bytes + 1);
    for (int dtype = 1; dtype < TALLY_DTYPE_COUNT; dtype++) {
        snprintf(piece, sizeof piece, " %s", tally_dtype_name((tally_dtype)dtype));
        cr_expect_not_null(strstr(help, piece), "no%s", piece);
    }
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        tally_error error = TALLY_ERROR_INIT;
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        char *rest, *names;
        snprintf(piece, sizeof piece, " %s", tally_op_name((tally_op)op));
        cr_expect_not_null(strstr(help, piece), "no%s", piece);
        snprintf(word, sizeof word, "%s:f32:4x4:zzzzzz", tally_op_name((tally_op)op));
        cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_INVALID);
        names = strstr(error.hint, " takes ");
        cr_assert_not_null(names, "%s", error.hint);
        for (char *name = strtok_r(names + 7, " ", &rest); name;
             name = strtok_r(NULL, " ", &rest)) {
            cr_expect_str_neq(name, "...", "%s", error.hint);
            snprintf(piece, sizeof piece, "\n  %s", name);
            cr_expect_not_null(strstr(help, piece), "no %s", name);
        }
    }
    tly_expect_success("/dev/null", "--help");
    memcpy(help, tly_last.out, tly_last.out_bytes + 1);
    for (char *at = strstr(help, "\n  tally "); at; at = strstr(at + 1, "\n  tally ")) {
        char verb[32], call[64];
        cr_assert_eq(sscanf(at, " tally %31s", verb), 1);
        cr_expect_lt(strcspn(at + 1, "\n"), 93, "%s", verb);
        snprintf(call, sizeof call, "help %s", verb);
        tly_expect_success("/dev/null", call);
        snprintf(call, sizeof call, "usage: tally %s ", verb);
        cr_expect_eq(strncmp(tly_last.out, call, strlen(call)), 0, "%s", tly_last.out);
    }
}
