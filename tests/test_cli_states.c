/* SPDX-License-Identifier: Apache-2.0 */
/* `tally run` with a carry: states that come from a file and go to one (docs/state.md). */
#include <criterion/criterion.h>

#include "command.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const float x[6] = { 2, 1, 3, 5, 3, 8 };
static const float start[2] = { 10, 20 }, sums[6] = { 12, 13, 16, 25, 28, 36 };
static const float ends[2] = { 16, 36 }, short_ends[2] = { 6, 16 };

static void put_files(void)
{
    static const float transposed[4] = { 10, 30, 20, 40 };
    static const unsigned char big_endian[8] = { 0x41, 0x20, 0, 0, 0x41, 0xa0, 0, 0 };
    tly_put_npy("x.npy", "<f4", "False", "(2, 3)", x, sizeof x);
    tly_put_npy("start.npy", "<f4", "False", "(2, 1)", start, sizeof start);
    tly_put_npy("line.npy", "<f4", "False", "(2,)", start, sizeof start);
    tly_put_npy("swapped.npy", ">f4", "False", "(2, 1)", big_endian, sizeof big_endian);
    tly_put_npy("fortran.npy", "<f4", "True", "(2, 1, 2)", transposed, sizeof transposed);
    tly_put_npy("wide.npy", "<f8", "False", "(2, 1)", x, 16);
    tly_put_npy("row.npy", "<f4", "False", "(1, 2)", start, sizeof start);
    tly_put_npy("short.npy", "<f4", "False", "(2, 1)", start, 4);
    tly_put_npy("i.npy", "<i4", "False", "(2, 1)", x, 8);
    tly_write_file("start.csv", "10\n20\n", 6);
    tly_write_file("start.bin", start, sizeof start);
}

Test(cli, states_of_every_kind)
{
    static const char *const cases[] = { "start.npy", "line.npy", "swapped.npy", "start.csv",
                                         "start.bin --raw carry_in=f32:2x1" };
    char line[256];
    put_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line,
                 "run cumsum:axis=-1,carry=in+out x.npy carry_in=%s -o out.npy --carry-out end.npy",
                 cases[i]);
        unlink("out.npy");
        unlink("end.npy");
        tly_expect_success("/dev/null", line);
        tly_expect_npy("out.npy", "<f4", "(2, 3)", sums, sizeof sums);
        tly_expect_npy("end.npy", "<f4", "(2, 1)", ends, sizeof ends);
    }
    tly_expect_success("start.npy", "run cumsum:axis=1,carry=in x.npy carry_in=- -o -");
    tly_expect_npy(NULL, "<f4", "(2, 3)", sums, sizeof sums);
    tly_expect_success("/dev/null", "run cumsum:axis=1,carry=out x.npy --carry-out - -o out.npy");
    tly_expect_npy(NULL, "<f4", "(2, 1)", short_ends, sizeof short_ends);
    tly_expect_success("/dev/null", "run cumsum:axis=1,carry=in x.npy");
    cr_expect_str_eq(tly_last.out, "[[ 2.  3.  6.]\n [ 5.  8. 16.]]\n");
    tly_expect_success("/dev/null", "run cumsum:axis=1,carry=in x.npy carry_in=5");
    cr_expect_str_eq(tly_last.out, "[[ 7.  8. 11.]\n [10. 13. 21.]]\n");
    tly_expect_success("/dev/null", "run cumprod:axis=0,every=1,carry=in+out x.npy carry_in=-.5 "
                                    "--carry-out end.npy");
    cr_expect_str_eq(tly_last.out, "[[-1.  -0.5 -1.5]\n [-2.5 -1.5 -4. ]]\n");
    tly_expect_success("/dev/null", "run cumsum:axis=1,carry=in+out x.npy --in-place "
                                    "carry_in=start.npy --carry-out=start.npy");
    tly_expect_npy("start.npy", "<f4", "(2, 1)", ends, sizeof ends);
}

/* Fortran order, a map's type, and pairs of numbers. */
Test(cli, states_have_their_own_shape)
{
    static const float two[4] = { 1, 2, 3, 4 }, moved[4] = { 11, 22, 33, 44 };
    static const uint16_t half[2] = { 0, 0 };
    static const float pairs[2] = { 0, 2 }, four[2] = { 0, 4 };
    static const double added[1] = { 10 };
    put_files();
    tly_put_npy("two.npy", "<f4", "False", "(2, 1, 2)", two, sizeof two);
    tly_expect_success("/dev/null", "run cumsum:axis=1,carry=in two.npy carry_in=fortran.npy -o -");
    tly_expect_npy(NULL, "<f4", "(2, 1, 2)", moved, sizeof moved);
    tly_put_npy("half.npy", "<f2", "False", "(2,)", half, sizeof half);
    tly_expect_success("/dev/null", "run cumlogsumexp:axis=0,carry=in+out half.npy --carry-out "
                                    "s.npy -o out.npy");
    tly_expect_npy("s.npy", "<f4", "(1, 2)", pairs, sizeof pairs);
    tly_expect_success("/dev/null", "run cumlogsumexp:axis=0,carry=in+out half.npy carry_in=s.npy "
                                    "--carry-out s.npy -o out.npy");
    tly_expect_npy("s.npy", "<f4", "(1, 2)", four, sizeof four);
    tly_put_npy("ints.npy", "<i4", "False", "(2,)", (int32_t[2]){ 4, 1 }, 8);
    tly_expect_success("/dev/null", "run cumsum:>f64:axis=0,a=/none,map=x*a,carry=out ints.npy a=2 "
                                    "--carry-out s.npy -o out.npy");
    tly_expect_npy("s.npy", "<f8", "(1,)", added, sizeof added);
}

/* A tensor without elements hands on its states. */
Test(cli, states_of_nothing)
{
    static const float zeros[2] = { -0.f, -0.f };
    put_files();
    tly_put_npy("none.npy", "<f4", "False", "(2, 0)", NULL, 0);
    tly_expect_success("/dev/null", "run cumsum:axis=1,carry=in+out none.npy carry_in=start.npy "
                                    "--carry-out end.npy -o out.npy");
    tly_expect_npy("out.npy", "<f4", "(2, 0)", NULL, 0);
    tly_expect_npy("end.npy", "<f4", "(2, 1)", start, sizeof start);
    tly_expect_success("/dev/null",
                       "run cumsum:axis=1,carry=out none.npy --carry-out end.npy -o out.npy");
    tly_expect_npy("end.npy", "<f4", "(2, 1)", zeros, sizeof zeros);
    tly_expect_success("/dev/null",
                       "run cumsum:axis=0,carry=out none.npy --carry-out end.npy -o out.npy");
    tly_expect_npy("end.npy", "<f4", "(1, 0)", NULL, 0);
}

Test(cli, states_that_contradict)
{
    static const struct {
        const char *arguments, *field, *said;
    } cases[] = {
        { "cumsum:axis=1,carry=out x.npy", "carry_out", "x.npy --carry-out FILE" },
        { "cumsum:axis=1 x.npy --carry-out e.npy", "carry_out", "'cumsum:axis=1,carry=out'" },
        { "cumsum:axis=1,carry=in,order=serial x.npy --carry-out e.npy", "carry_out",
          "'cumsum:axis=1,carry=in+out,order=serial'" },
        { "cumsum:axis=1 x.npy carry_in=start.npy", "carry_in", "'cumsum:axis=1,carry=in'" },
        { "cumsum:axis=1,carry=out x.npy carry_in=start.npy --carry-out e.npy", "carry_in",
          "'cumsum:axis=1,carry=in+out'" },
        { "cumsum:axis=1,carry=in x.npy carry_in=", "carry_in", "nothing stands behind" },
        { "cumsum:axis=1,carry=in x.npy --raw carry_in=f32", "carry_in", "missing" },
        { "cumsum:axis=1,carry=in x.npy carry_in=5 --raw carry_in=f32:2x1", "carry_in", "./5" },
        { "cumsum:axis=1,carry=in i.npy carry_in=3000000000", "carry_in", "too large for i32" },
        { "cumsum:axis=1,carry=in i.npy carry_in=1.5", "carry_in", "1.5 is no i32" },
        { "cumlogsumexp:axis=1,carry=in x.npy carry_in=0", "carry_in", "is several" },
        { "cumsum:axis=1,carry=in x.npy carry_in=wide.npy", "carry_in", "holds f64" },
        { "cumsum:axis=1,carry=in x.npy carry_in=row.npy", "carry_in", "holds 1x2" },
        { "cumsum:axis=1,carry=in x.npy carry_in=x.npy", "carry_in", "holds 2x3" },
        { "cumsum:axis=1,carry=in x.npy carry_in=start.npy carry_in=line.npy", "carry_in",
          "twice: start.npy and line.npy" },
        { "cumsum:axis=1,carry=in - carry_in=-", "carry_in", "only once" },
        { "cumsum:axis=1,carry=in carry_in=start.npy x.npy", "usage",
          "tally run 'cumsum:axis=1,carry=in' x.npy carry_in=start.npy" },
        { "cumsum:axis=1,carry=in x.npy --carry-in start.npy", "usage", "carry_in=FILE" },
        { "cumsum:axis=1,carry=out x.npy carry_out=e.npy", "usage", "--carry-out e.npy" },
        { "cumsum:axis=1,carry=out x.npy --carry_out e.npy", "usage", "did you mean --carry-out?" },
        { "cumsum:axis=1,carry=out x.npy --carry-out -", "usage", "one file" },
        { "cumsum:axis=1,carry=out x.npy -o e.npy --carry-out ./e.npy", "usage", "one file" },
        { "sum:axes=1,carry=in x.npy", "carry", "" },
        { "cumsum:axis=1,every=1,carry=in x.npy carry_in=line.npy", "carry_in", "are 2x3" },
    };
    char line[256];
    put_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "run %s", cases[i].arguments);
        tly_expect_failure("/dev/null", line, 2, cases[i].field);
        cr_expect_not_null(strstr(tly_last.err, cases[i].said), "%s: %s", line, tly_last.err);
    }
    cr_expect_neq(access("e.npy", F_OK), 0);
    tly_expect_failure("/dev/null", "bench cumsum:f32:9:axis=0,carry=in carry_in=x.npy", 2,
                       "usage");
    tly_expect_failure("/dev/null", "kir x.kir --emit kir --carry-out e.npy", 2, "usage");
}

/* All outputs appear or none. */
Test(cli, states_and_result_appear_together)
{
    static const char old[3] = { 'o', 'l', 'd' };
    char now[8];
    put_files();
    tly_write_file("e.npy", old, sizeof old);
    tly_write_file("out.npy", old, sizeof old);
    tly_expect_failure("/dev/null",
                       "run cumsum:axis=1,carry=in+out x.npy carry_in=short.npy --carry-out e.npy "
                       "-o out.npy",
                       4, "file");
    tly_expect_failure("/dev/null",
                       "run cumsum:axis=1,carry=out x.npy --carry-out nowhere/e.npy -o out.npy", 4,
                       "file");
    tly_expect_failure("/dev/null",
                       "run cumsum:axis=1,carry=out x.npy --carry-out /dev/full -o out.npy", 4,
                       "file");
    tly_expect_failure(
        "/dev/null", "run cumsum:axis=1,carry=out x.npy --carry-out e.npy -o /dev/full", 4, "file");
    cr_expect(tly_read_file("e.npy", now, sizeof now) == 3 && strcmp(now, "old") == 0);
    cr_expect(tly_read_file("out.npy", now, sizeof now) == 3 && strcmp(now, "old") == 0);
}

/* Chunks of a stream, where the order is the plain loop's: serial rows, columns, integers, maxima.
 * `along` 0: chunks are of rows of memory; 1: of columns. */
static void expect_stream(const char *word, int along, const char *descr, size_t element,
                          const void *data)
{
    enum { ROWS = 16, LENGTH = 40 }; /* fewer columns go along the axis, in vectors */
    static const int cuts[] = { 0, 1, 17, 17, 40 };
    static char whole[ROWS * LENGTH * 8], joined[ROWS * LENGTH * 8], piece[ROWS * LENGTH * 8];
    static char file[sizeof piece + 256], state[1024], last[1024];
    const size_t bytes = ROWS * LENGTH * element;
    const char *shape = along ? "(16, 40)" : "(40, 16)";
    char line[256], count[32];
    tly_put_npy("all.npy", descr, "False", shape, data, bytes);
    snprintf(line, sizeof line, "run %s=out all.npy -o out.npy --carry-out all_end.npy", word);
    tly_expect_success("/dev/null", line);
    tly_read_file("out.npy", file, sizeof file);
    memcpy(whole, file + 128, bytes);
    for (int k = 0; k < 4; k++) {
        const int from = cuts[k], n = cuts[k + 1] - from, rows = along ? ROWS : n;
        const size_t width = (size_t)(along ? n : ROWS) * element;
        const size_t pitch = (along ? LENGTH : ROWS) * element;
        const size_t first = (size_t)from * (along ? element : pitch);
        for (int r = 0; r < rows; r++) {
            memcpy(piece + (size_t)r * width, (const char *)data + first + (size_t)r * pitch,
                   width);
        }
        snprintf(count, sizeof count, along ? "(16, %d)" : "(%d, 16)", n);
        tly_put_npy("piece.npy", descr, "False", count, piece, (size_t)rows * width);
        snprintf(line, sizeof line, "run %s=in+out piece.npy -o out.npy%s --carry-out state.npy",
                 word, k > 0 ? " carry_in=state.npy" : "");
        tly_expect_success("/dev/null", line);
        tly_read_file("out.npy", file, sizeof file);
        for (int r = 0; r < rows; r++) {
            memcpy(joined + first + (size_t)r * pitch, file + 128 + (size_t)r * width, width);
        }
    }
    cr_expect(memcmp(whole, joined, bytes) == 0, "%s: other bits in pieces", word);
    const size_t length = tly_read_file("state.npy", state, sizeof state);
    cr_expect(length == tly_read_file("all_end.npy", last, sizeof last) &&
                  memcmp(state, last, length) == 0,
              "%s: other states", word);
}

Test(cli, streams_in_pieces)
{
    float reals[640];
    int32_t integers[640];
    for (int i = 0; i < 640; i++) {
        reals[i] = sinf((float)i) + 1.25f;
        integers[i] = i * 7919 % 1000 - 300;
    }
    expect_stream("cumsum:axis=1,order=serial,carry", 1, "<f4", 4, reals);
    expect_stream("cumprod:axis=0,exclusive,map=x*0.75,carry", 0, "<f4", 4, reals);
    expect_stream("cumlogsumexp:axis=0,carry", 0, "<f4", 4, reals);
    expect_stream("cumsum:axis=1,carry", 1, "<i4", 4, integers);
    expect_stream("cummax:axis=1,carry", 1, "<f4", 4, reals);
    expect_stream("cummin:axis=0,exclusive,carry", 0, "<i4", 4, integers);
}

/* Made data for the states, and both tensors on the page. */
Test(cli, states_of_other_verbs)
{
    static char page[1 << 20];
    tly_expect_success("/dev/null", "bench cumlogsumexp:f16:4x30:axis=1,carry=in+out --json "
                                    "--data carry_in=normal");
    cr_expect_not_null(strstr(tly_last.out, "\"data\": \"x=safe,carry_in=normal\""));
    cr_expect_not_null(strstr(tly_last.out, "\"bytes\": 544,"), "%s", tly_last.out);
    tly_expect_success("/dev/null", "bench cumsum:i32:0x5:axis=0,carry=out,a=/1,map=x*a");
    tly_expect_failure("/dev/null", "bench cumsum:f32:9:axis=0,carry=out --data carry_in=normal", 2,
                       "usage");
    tly_expect_success("/dev/null", "inspect cumsum:f16:4x30:axis=1,carry=in+out --html p.html");
    tly_read_file("p.html", page, sizeof page);
    cr_expect_not_null(strstr(page, ">carry_in</text>"));
    cr_expect_not_null(strstr(page, "4 × 1 f32"));
    cr_expect_not_null(strstr(page, "written, carry_out"));
    tly_expect_success("/dev/null", "inspect cumsum:f16:4x30:axis=1,carry=out --html p.html");
    tly_read_file("p.html", page, sizeof page);
    cr_expect_null(strstr(page, "carry_in"));
    tly_put_npy("x.npy", "<f4", "False", "(2, 3)", x, sizeof x);
    tly_put_npy("start.npy", "<f4", "False", "(2, 1)", start, sizeof start);
    tly_expect_success("/dev/null",
                       "inspect cumsum:f32:2x3:axis=1,carry=in+out --emit kir -o k.kir");
    tly_expect_success("/dev/null", "kir k.kir --run cumsum:f32:2x3:axis=1,carry=in+out x.npy "
                                    "carry_in=start.npy -o out.npy --carry-out end.npy");
    tly_expect_npy("out.npy", "<f4", "(2, 3)", sums, sizeof sums);
    tly_expect_npy("end.npy", "<f4", "(2, 1)", ends, sizeof ends);
    tly_expect_success("/dev/null",
                       "kir k.kir --run cumsum:f32:2x3:axis=1,carry=in x.npy -o out.npy");
}

/* Offsets are made: of scans and reductions, of more segments than elements, and of none. */
Test(cli, bench_makes_offsets)
{
    static const struct {
        const char *command, *bytes;
    } cases[] = {
        { "bench cumsum:f32:3x50:axis=1,segments=i64/7 --json", "\"bytes\": 1264," },
        { "bench sum:i32:50x3:axes=0,segments=i32/99 --json", "\"bytes\": 2188," },
        { "bench max:f16:50:segments=i32/4,a,map=a*x --json", "\"bytes\": 228," },
        { "bench cumsum:f32:0:axis=0,segments=i32/0 --json", "\"bytes\": 4," },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tly_expect_success("/dev/null", cases[k].command);
        cr_expect(strstr(tly_last.out, cases[k].bytes), "%s\n%s", cases[k].command, tly_last.out);
    }
}
