/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and kernels: results, of every dtype; what is refused; moves and ends; exceptions. */
#include "expect.hpp"

#include <array>
#include <thread>
#include <vector>

using tally::context;
using tally::dims;
using tally::kernel;
using tally::status;
using tally::view;

static const float example[3][4] = { { 2, 1, 3, 5 }, { 3, 8, 7, 3 }, { 9, 6, 2, 4 } };
static const float products[12] = { 2, 2, 6, 30, 3, 24, 168, 504, 9, 54, 108, 432 };

static context make_context()
{
    tally::result<context> made = context::try_create();
    if (!WORKS(made))
        std::exit(1);
    return std::move(*made);
}

template <class T> static bool is_example(const T &y)
{
    return std::memcmp(&y[0], products, sizeof products) == 0;
}

void test_runs()
{
    const context c = make_context();
    float y[3][4] = {};
    std::vector<float> flat(12);
    WORKS(c.try_run("cumprod:axis=1", example, y));
    EXPECT(is_example(y));
    WORKS(c.try_run("cumprod:axis=1", example, view(flat, { 3, 4 })));
    EXPECT(is_example(flat));
    const auto made = c.try_run("cumprod:axis=-1", example);
    EXPECT(WORKS(made) && made->sizes() == dims(3, 4) && is_example(made->data()));
    const auto sums = c.try_run("sum:axes=0", *made);
    EXPECT(WORKS(sums) && sums->sizes() == dims(4) && (*sums)(0) == 14 && (*sums)(3) == 966);
    const auto at = c.try_run<std::int64_t>("argmax:axes=1", example);
    EXPECT(WORKS(at) && at->sizes() == dims(3) && (*at)(0) == 3 && (*at)(1) == 1 && (*at)(2) == 0);
    const auto record = c.try_run<std::int64_t>("cumargmax:axis=1", example);
    EXPECT(WORKS(record) && record->sizes() == dims(3, 4) && (*record)(0, 3) == 3 &&
           (*record)(1, 3) == 1 && (*record)(2, 3) == 0);
    float total = 0;
    WORKS(c.try_run("sum", example, tally::scalar(total)));
    EXPECT(total == 53);
    const auto scalar = c.try_run<double>("sum", example);
    EXPECT(WORKS(scalar) && scalar->sizes().rank() == 0 && (*scalar)() == 53);

    /* In place, by itself and by naming it twice. */
    std::memcpy(y, example, sizeof y);
    WORKS(c.try_run_in_place("cumprod:axis=1", y));
    EXPECT(is_example(y));
    std::memcpy(y, example, sizeof y);
    WORKS(c.try_run("cumprod:axis=1", y, y));
    EXPECT(is_example(y));
    FAILS(c.try_run_in_place("sum:axes=none", y), status::invalid, "out", "");
    FAILS(c.try_run("cumsum:axis=0", view(flat.data(), { 11 }), view(flat.data() + 1, { 11 })),
          status::invalid, "out", "overlap");

    /* Strides: columns of a matrix, backwards, into every second place. */
    std::vector<float> spread(6, -1);
    WORKS(
        c.try_run("cumsum:axis=0", view(&example[0][1], { 3 }, { 4 }), view(spread, { 3 }, { 2 })));
    EXPECT(spread == std::vector<float>({ 1, -1, 9, -1, 15, -1 }));
    WORKS(c.try_run("cumsum:axis=0", view(&example[0][0], { 3 }, { 0 }),
                    view(spread, { 3 }, { -2 }, 5)));
    EXPECT(spread == std::vector<float>({ 1, 6, 9, 4, 15, 2 }));

    /* A kernel, run by views, by pointers, by threads of its own. */
    const auto found = c.try_make("cumprod:axis=1", example, view(flat, { 3, 4 }));
    if (WORKS(found)) {
        const kernel &k = *found;
        const tally::run_options two = { 2, nullptr, nullptr };
        std::fill(flat.begin(), flat.end(), 0.0f);
        WORKS(k.try_run(example, view(flat, { 3, 4 }), two));
        EXPECT(is_example(flat));
        std::memset(y, 0, sizeof y);
        WORKS(k.try_run_unchecked(example, y));
        EXPECT(is_example(y));
        std::memcpy(y, example, sizeof y);
        WORKS(k.try_run_in_place(y));
        EXPECT(is_example(y));
        EXPECT(k.input().sizes == dims(3, 4) && k.output().type == tally::dtype::f32);
        const auto word = k.try_word();
        EXPECT(word && *word == "cumprod:f32:3x4:axis=1");
        FAILS(k.try_run(example, flat), status::invalid, "sizes",
              "out is 12, and the kernel's is 3x4");
        FAILS(k.try_run(flat, y), status::invalid, "sizes", "in is 12, and the kernel's is 3x4");
        double wide[3][4];
        FAILS(k.try_run(example, wide), status::invalid, "dtype",
              "out holds f64, and the kernel's is f32");
        FAILS(k.try_run(view(flat, { 3, 4 }, { 1, 3 }), y), status::invalid, "in",
              "stride 1 of axis 0 of in, and the kernel's is 4");
        FAILS(k.try_run(example, view(spread, { 3, 4 })), status::invalid, "out",
              "its container has 6");
        FAILS(k.try_run(view<const float>(static_cast<float *>(nullptr), { 3, 4 }), y),
              status::invalid, "in", "in is NULL");
    }
    /* An offset of the descriptor is in the view, whose pointer is that of element 0. */
    const auto offset = c.try_make("cumsum:f32:3:axis=0,in=-1@2,out=2@1");
    if (WORKS(offset)) {
        const float x[3] = { 1, 2, 4 };
        float z[6] = { -1, -1, -1, -1, -1, -1 };
        WORKS(offset->try_run(view(x, { 3 }, { -1 }, 2), view(z, { 3 }, { 2 }, 1)));
        EXPECT(z[0] == -1 && z[1] == 4 && z[3] == 6 && z[5] == 7 && z[4] == -1);
        FAILS(offset->try_run(view<const float>(static_cast<float *>(nullptr), { 3 }, { -1 }),
                              view(z, { 3 }, { 2 }, 1)),
              status::invalid, "in", "in is NULL");
        WORKS(offset->try_run_unchecked(x, z));
        EXPECT(z[1] == 4 && z[5] == 7);
    }
    /* What has no elements needs no memory. */
    std::vector<float> none;
    WORKS(c.try_run("cumsum:axis=0", none, none));
    EXPECT(c.try_run("sum:axes=1", view(none, { 3, 0 }))->size() == 3);

    FAILS(c.try_run("cumprod:axis=1,order=exact", example, y), status::unsupported, "order",
          "no kernels exist for order=exact");
}

void test_operands()
{
    const context c = make_context();
    const float x[2][3] = { { .5f, .25f, 1 }, { 0, .5f, .5f } };
    const double scale[2] = { 2, 4 }, three[3] = { 1, 1, 1 };
    const std::int8_t shift[3] = { 1, 2, 3 };
    float y[2][3] = {};
    const char *const word = "cumprod:axis=1,exclusive,a=f64/0,b=i8/1,acc=f64,map=1-x,post=x*y*a+b";
    WORKS(c.try_run(word, x, tally::operands(scale, shift), y));
    EXPECT(y[0][0] == 2 && y[0][1] == 2.25f && y[0][2] == 3.75f && y[1][1] == 4 && y[1][2] == 4);
    const auto made = c.try_make(word, x, y);
    if (WORKS(made)) {
        const kernel &k = *made;
        std::memset(y, 0, sizeof y);
        WORKS(k.try_run(x, tally::operands(scale, shift), y, { 2, nullptr, nullptr }));
        EXPECT(y[0][1] == 2.25f);
        tally_buffers buffers = {};
        buffers.size = sizeof buffers;
        buffers.in = x, buffers.out = y, buffers.operand[0] = scale, buffers.operand[1] = shift;
        y[0][1] = 0;
        WORKS(k.try_run_buffers(buffers));
        EXPECT(y[0][1] == 2.25f);
        std::memset(y, 0, sizeof y);
        FAILS(k.try_run(x, y), status::invalid, "a", "0 operands, and the kernel has 2");
        FAILS(k.try_run(x, tally::operands(scale), y), status::invalid, "b", "1 operands");
        FAILS(k.try_run(x, tally::operands(scale, shift, shift), y), status::invalid, "c", "");
        FAILS(k.try_run(x, tally::operands(three, shift), y), status::invalid, "sizes", "a is 3");
        FAILS(k.try_run(x, tally::operands(scale, x[0]), y), status::invalid, "dtype",
              "b holds f32");
        FAILS(k.try_run(x, tally::operands(view(scale, { 2 }, { -1 }, 1), shift), y),
              status::invalid, "a", "stride -1");
        FAILS(k.try_run_unchecked(x, y), status::invalid, "a", "");
        FAILS(c.try_make(word, x, y)
                  ->try_run(y, tally::operands(scale, reinterpret_cast<std::int8_t(&)[3]>(y)), y),
              status::invalid, "b", "overlap");
        EXPECT(y[0][1] == 0 && y[1][2] == 0);
        kernel moved = std::move(const_cast<kernel &>(k));
        WORKS(moved.try_run(x, tally::operands(scale, shift), y));
        FAILS(k.try_run(x, tally::operands(scale, shift), y), status::invalid, "usage", "");
    }
    FAILS(c.try_make("cumsum:f32:3:axis=0")->try_run(x[0], tally::operands(x[1]), y[0]),
          status::invalid, "a", "1 operands, and the kernel has 0");

    /* Strides with an offset, one element, and a descriptor by its parts. */
    const auto turned = c.try_make("cumsum:f32:3:axis=0,a=f32/-1@2,b=f32/none,map=x*a+b");
    const float factors[3] = { 1, 2, 3 }, ones[3] = { 1, 1, 1 };
    float one = 10, sums[3];
    if (WORKS(turned)) {
        WORKS(turned->try_run(
            ones, tally::operands(view(factors, { 3 }, { -1 }, 2), tally::scalar(one)), sums));
        EXPECT(sums[0] == 13 && sums[1] == 25 && sums[2] == 36);
    }
    tally::descriptor d(tally::op::sum, tally::dtype::f32, { 2, 3 });
    d.axes({ 1 }).operand(tally::dtype::f32).operand(tally::dtype::f16, { 0 });
    d.operand(tally::dtype::f32, {}).map("x*a").post("y*b-c");
    const auto text = d.try_word();
    EXPECT(WORKS(text) &&
           *text == "sum:f32:2x3:axes=1,a=f32,b=f16/0,c=f32/none,map=x*a,post=y*b-c");
    FAILS(tally::descriptor(d).operand(tally::dtype::f32, { 9 }).try_check(), status::invalid, "d",
          "");
    FAILS(tally::descriptor(d).map(std::string(300, 'x')).try_check(), status::invalid, "map", "");
    d.operand(tally::dtype::f32).operand(tally::dtype::f32);
    FAILS(d.try_check(), status::invalid, "d", "");
}

void test_offsets()
{
    const context c = make_context();
    const float x[6] = { 1, 2, 3, 10, 20, 30 };
    const std::int32_t right[3] = { 1, 3, 5 }, falling[3] = { 1, 3, 2 }, two[2] = { 0, 6 };
    const std::int64_t wide[3] = { 1, 3, 5 };
    float y[6] = {}, last[2] = {}, sums[2] = { 7, 7 };
    const auto made = c.try_make("sum:f32:6:segments=i32/2");
    if (WORKS(made)) {
        const kernel &k = *made;
        FAILS(k.try_run(x, sums), status::invalid, "offsets", "NULL");
        FAILS(k.try_run(x, tally::operands().offsets(wide), sums), status::invalid, "dtype",
              "offsets holds i64");
        FAILS(k.try_run(x, tally::operands().offsets(two), sums), status::invalid, "sizes",
              "offsets has 2");
        FAILS(k.try_run(x, tally::operands().offsets(falling), sums), status::invalid, "offsets",
              "below the 3");
        EXPECT(sums[0] == 7);
        kernel moved = std::move(const_cast<kernel &>(k));
        WORKS(moved.try_run(x, tally::operands().offsets(right), sums));
        EXPECT(sums[0] == 5 && sums[1] == 30);
    }
    FAILS(c.try_make("sum:f32:6")
              ->try_run(x, tally::operands().offsets(right), tally::scalar(sums[0])),
          status::invalid, "offsets", "does not name");
    WORKS(c.try_run("cumsum:axis=0,segments=i64/2,carry=out", x,
                    tally::operands().offsets(wide).carry_out(last), y));
    EXPECT(y[2] == 5 && y[4] == 30 && last[0] == 5 && last[1] == 30);

    /* A tensor that is made, in memory that was something else. */
    tally::result<tally::tensor<float>> running = c.try_run("cumsum:axis=0,map=9", x);
    running = c.try_run("cumsum:axis=0,segments=i32/2", x, tally::operands().offsets(right));
    EXPECT(WORKS(running) && (*running)(0) == 0 && (*running)(2) == 5 && (*running)(5) == 0);
}

void test_gradients()
{
    const context c = make_context();
    const float x[2][4] = { { 2, 0, 3, 5 }, { 2, 1, 3, 5 } };
    const float g[2][4] = { { 1, 1, 1, 1 }, { 1, 1, 1, 1 } };
    float dx[2][4] = {};
    tally_gradient_buffers buffers = TALLY_GRADIENT_BUFFERS_INIT;
    auto made = c.try_make_gradient(
        tally::descriptor(tally::op::cumprod, tally::dtype::f32, { 2, 4 }).axis(1));
    buffers.x = x;
    buffers.g = g;
    buffers.out = dx;
    if (WORKS(made)) {
        EXPECT(made->reads() == (1u << TALLY_SOURCE_X | 1u << TALLY_SOURCE_G));
        EXPECT(made->memory() >= sizeof dx && made->get() != nullptr);
        WORKS(made->try_run(buffers));
        EXPECT(dx[0][0] == 1 && dx[0][1] == 38 && dx[1][0] == 20 && dx[1][3] == 6);
        buffers.g = nullptr;
        FAILS(made->try_run(buffers, { 2, nullptr, nullptr }), status::invalid, "g", "NULL");
        buffers.g = g;
        tally::gradient_kernel moved = std::move(*made);
        tally::gradient_kernel other;
        EXPECT(!*made && moved && !other);
        FAILS(made->try_run(buffers), status::invalid, "usage", "the gradient's kernel is empty");
        other = std::move(moved);
        dx[1][3] = 0;
        WORKS(other.try_run(buffers));
        EXPECT(dx[1][3] == 6);
    }
    FAILS(
        c.try_make_gradient(tally::descriptor(tally::op::cumsum, tally::dtype::i32, { 3 }).axis(0)),
        status::invalid, "dtype", "no gradient");
    FAILS(
        c.try_make_gradient(tally::descriptor(tally::op::cumsum, tally::dtype::f32, { 3 }).axis(0),
                            TALLY_SOURCE_A),
        status::invalid, "a", "no operand a");
}

void test_carry()
{
    const context c = make_context();
    const float x[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }, scale[2] = { 1, 10 };
    float y[2][3] = {}, sums[2] = { 100, 200 }, four[4] = { 1, 2, 3, 4 };
    double wide[2] = {};
    const char *const word = "cumsum:f32:2x3:axis=1,carry=in+out";
    const auto made = c.try_make(word);
    if (WORKS(made)) {
        const kernel &k = *made;
        WORKS(k.try_run(x, tally::operands().carry_in(sums).carry_out(sums), y));
        EXPECT(y[0][0] == 101 && y[1][2] == 215 && sums[0] == 106 && sums[1] == 215);
        WORKS(k.try_run(x, tally::operands().carry_out(view(sums, { 2, 1 })), y,
                        { 2, nullptr, nullptr }));
        EXPECT(y[0][0] == 1 && sums[0] == 6 && sums[1] == 15);
        std::memset(y, 0, sizeof y);
        FAILS(k.try_run(x, y), status::invalid, "carry_out", "");
        FAILS(k.try_run(x, tally::operands().carry_in(sums), y), status::invalid, "carry_out", "");
        FAILS(k.try_run(x, tally::operands().carry_out(wide), y), status::invalid, "dtype",
              "carry_out holds f64");
        FAILS(k.try_run(x, tally::operands().carry_out(sums).carry_in(four), y), status::invalid,
              "sizes", "carry_in has 4");
        FAILS(k.try_run(x, tally::operands().carry_out(view(four, { 2 }, { 2 })), y),
              status::invalid, "carry_out", "packed");
        FAILS(k.try_run(x, tally::operands().carry_out(y[0]), y), status::invalid, "sizes", "");
        FAILS(k.try_run(x, tally::operands().carry_out(view(&y[1][1], { 2 })), y), status::invalid,
              "carry_out", "overlap");
        EXPECT(y[0][0] == 0 && sums[0] == 6);
        kernel moved = std::move(const_cast<kernel &>(k));
        WORKS(moved.try_run(x, tally::operands().carry_in(sums).carry_out(sums), y));
        EXPECT(sums[1] == 30);
    }
    FAILS(c.try_make("cumsum:f32:2x3:axis=1")->try_run(x, tally::operands().carry_in(sums), y),
          status::invalid, "carry_in", "does not name");
    float total = 0;
    WORKS(c.try_run("cumsum:axis=0,carry=out", x[1],
                    tally::operands().carry_out(tally::scalar(total)), y[0]));
    EXPECT(total == 15 && y[0][1] == 9);

    /* A tensor that is made, of operands and states. */
    const auto scaled = c.try_run("cumsum:axis=1,a=f32/0,map=x*a,carry=in", x,
                                  tally::operands(scale).carry_in(sums));
    EXPECT(WORKS(scaled) && scaled->size() == 6 && (*scaled)(0, 0) == 13 && (*scaled)(1, 2) == 180);
    const auto doubles = c.try_run<double>("sum:axes=1,a=f32/0,map=x*a", x, tally::operands(scale));
    EXPECT(WORKS(doubles) && (*doubles)(1) == 150);
    FAILS(c.try_run("sum:axes=1,a=f32/0,map=x*a", x, tally::operands(four)), status::invalid,
          "sizes", "a is 4");
    FAILS(c.try_run("sum:axes=5", x, tally::operands()), status::invalid, "axes", "");
}

/* ---- every dtype ---- */

template <class T> static void check_dtype(const context &c, T one)
{
    const std::vector<T> x(9, one);
    std::vector<T> y(9), most(1);
    const bool adds = tally::bytes_of(tally::dtype_of_v<T>) >= 4 || !std::is_integral_v<T>;
    if (adds) {
        WORKS(c.try_run("cumprod:axis=0", x, y));
        EXPECT(std::memcmp(y.data(), x.data(), 9 * sizeof(T)) == 0);
        std::fill(y.begin(), y.end(), T{});
        const auto wider = c.try_run("cumsum:axis=0", x);
        EXPECT(WORKS(wider) && wider->size() == 9);
    } else {
        FAILS(c.try_run("cumprod:axis=0", x, y), status::unsupported, "dtype", "");
        EXPECT(y == std::vector<T>(9));
    }
    WORKS(c.try_run("cummax:axis=0", x, y));
    EXPECT(std::memcmp(y.data(), x.data(), 9 * sizeof(T)) == 0);
    WORKS(c.try_run("max:keepdims", x, most));
    EXPECT(std::memcmp(most.data(), x.data(), sizeof(T)) == 0);
}

void test_dtypes()
{
    const context c = make_context();
    check_dtype<double>(c, 1);
    check_dtype<float>(c, 1);
    check_dtype(c, tally::f16(1.0f));
    check_dtype(c, tally::bf16(1.0f));
    check_dtype<std::int64_t>(c, 1);
    check_dtype<std::int32_t>(c, 1);
    check_dtype<std::int16_t>(c, 1);
    check_dtype<std::int8_t>(c, 1);
    check_dtype<std::uint64_t>(c, 1);
    check_dtype<std::uint32_t>(c, 1);
    check_dtype<std::uint16_t>(c, 1);
    check_dtype<std::uint8_t>(c, 1);
    const bool mask[6] = { false, true, true, false, true, false };
    bool any[6];
    WORKS(c.try_run("cummax:axis=0", mask, any));
    EXPECT(!any[0] && any[1] && any[5]);
    const auto count = c.try_run<std::int64_t>("sum", mask);
    EXPECT(WORKS(count) && (*count)() == 3);
    const tally::f16 halves[3] = { tally::f16(1.5f), tally::f16(2.0f), tally::f16(-0.25f) };
    const auto sum = c.try_run<float>("cumsum:axis=0", halves);
    EXPECT(WORKS(sum) && (*sum)(0) == 1.5f && (*sum)(2) == 3.25f);
}

/* ---- handles ---- */

static_assert(!std::is_copy_constructible_v<context> && !std::is_copy_assignable_v<context>);
static_assert(!std::is_copy_constructible_v<kernel> && !std::is_copy_assignable_v<kernel>);
static_assert(std::is_nothrow_move_constructible_v<context> &&
              std::is_nothrow_move_assignable_v<kernel>);

void test_handles()
{
    float y[3][4];
    kernel kept;
    EXPECT(!kept && kept.get() == nullptr);
    FAILS(kept.try_run(example, y), status::invalid, "usage", "the kernel is empty");
    FAILS(kept.try_run_unchecked(example, y), status::invalid, "usage", "the kernel is empty");
    FAILS(kept.try_word(), status::invalid, "usage", "the kernel is empty");
    {
        context c = make_context();
        EXPECT(c && c.stats().compiled == 0);
        const auto d = tally::descriptor::try_parse("cumprod:f32:3x4:axis=1");
        WORKS(c.try_supports(*d));
        EXPECT(c.supports(*d) && c.stats().compiled == 0);
        const auto unknown = tally::descriptor::try_parse("cumprod:i8:3x4:axis=1");
        EXPECT(!c.supports(*unknown));
        FAILS(c.try_supports(*unknown), status::unsupported, "dtype", "no kernels of cumprod");
        WORKS(c.try_warm({ *d }));
        WORKS(c.try_warm(std::vector<tally::descriptor>{ *d, *d }));
        FAILS(c.try_warm({ *d, *unknown }), status::unsupported, "dtype", "1: no kernels");
        EXPECT(c.stats().compiled == 1);
        auto made = c.try_make(*d);
        WORKS(made);
        kernel other = std::move(*made);
        EXPECT(other && !*made);
        kept = std::move(other);
        EXPECT(kept && !other);
        EXPECT(kept.output().sizes == tally::dims(3, 4) &&
               other.output().type == tally::dtype::none);
        kernel &same = kept;
        kept = std::move(same);
        EXPECT(kept);
        const context moved = std::move(c);
        EXPECT(moved && !c && c.stats().compiled == 0);
        FAILS(c.try_make(*d), status::invalid, "usage", "the context is empty");
        FAILS(c.try_run("cumprod:axis=1", example, y), status::invalid, "usage",
              "the context is empty");
        FAILS(c.try_supports(*d), status::invalid, "usage", "the context is empty");
        FAILS(c.try_warm({ *d }), status::invalid, "usage", "the context is empty");
        FAILS(moved.try_make(*d, { "pdp-11", nullptr, nullptr }), status::invalid, "device",
              "pdp-11");
        FAILS(moved.try_run("cumprod:axis=1", example, y, { nullptr, "no=1", nullptr }),
              status::invalid, "plan", "");
    }
    /* Its context has no other handle. */
    std::memset(y, 0, sizeof y);
    WORKS(kept.try_run(example, y));
    EXPECT(is_example(y));

    tally::context_options options;
    options.threads = -1;
    FAILS(context::try_create(options), status::invalid, "usage", "threads is -1");
    options.threads = 0;
    options.compile = tally::compile::never;
    options.cache_folder = "";
    auto never = context::try_create(options);
    if (WORKS(never)) {
        FAILS(never->try_run("cumprod:axis=1", example, y), status::no_generator, "device",
              "cumprod:f32:3x4:axis=1");
    }

    /* From many threads. */
    const context shared = make_context();
    std::array<std::thread, 4> threads;
    std::array<int, 4> wrong = {};
    for (std::size_t i = 0; i < threads.size(); i++) {
        threads[i] = std::thread([&shared, &kept, &wrong, i] {
            for (int turn = 0; turn < 50; turn++) {
                float z[3][4] = {};
                wrong[i] += !shared.try_run("cumprod:axis=1", example, z) || !is_example(z);
                std::memset(z, 0, sizeof z);
                wrong[i] += !kept.try_run(example, z) || !is_example(z);
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    EXPECT(wrong == (std::array<int, 4>{}));
}

/* ---- exceptions ---- */

#if TALLY_EXCEPTIONS
void test_exceptions()
{
    context c;
    float y[3][4] = {};
    c.run("cumprod:axis=1", example, y);
    EXPECT(is_example(y));
    const tally::tensor<float> made = c.run("cumprod:axis=1", example);
    EXPECT(is_example(made.data()));
    std::memcpy(y, example, sizeof y);
    c.run_in_place("cumprod:axis=1", y);
    EXPECT(is_example(y));
    const kernel k = c.make("cumprod:axis=1", example, y);
    k.run(example, y);
    k.run_unchecked(example, y);
    EXPECT(is_example(y) && k.word() == "cumprod:f32:3x4:axis=1");
    EXPECT(c.make("sum:f32:3").word() == "sum:f32:3");
    const tally::descriptor d("cumprod:f32:3x4:axis=1");
    EXPECT(c.make(d).word() == d.word() && d.output().sizes == dims(3, 4) &&
           d.extent().first.end == 48);
    d.check();
    c.warm({ d });
    EXPECT(tally::tensor<int>({ 2, 3 }).size() == 6);
    EXPECT(tally::descriptor::of("sum", example, tally::scalar(y[0][0])).word() == "sum:f32:3x4");
    int caught = 0;
    try {
        c.run("cumprod:axis=2", example, y);
    } catch (const tally::error &error) {
        caught++;
        EXPECT(error.status() == status::invalid && std::strcmp(error.field(), "axis") == 0);
        EXPECT(std::strstr(error.message(), "axis 2 is not in") != nullptr && error.position() > 0);
        EXPECT(error.failure().text() == error.what());
        EXPECT(std::strstr(error.hint(), "cumprod:axis=-1") != nullptr);
        EXPECT(std::strncmp(error.what(), "axis: axis 2", 12) == 0);
    }
    try {
        const tally::descriptor wrong("cumsom:f32:3:axis=0");
    } catch (const std::runtime_error &error) {
        caught++;
        EXPECT(std::strstr(error.what(), "cumsum?") != nullptr ||
               std::strstr(error.what(), "cumsum"));
        EXPECT(std::strstr(error.what(), " (type cumsum:f32:3:axis=0)") != nullptr);
    }
    try {
        tally::context_options options;
        options.threads = -1;
        const context none(options);
    } catch (const tally::error &) {
        caught++;
    }
    try {
        (void)context::try_create({}).value().try_make("sum").value();
    } catch (const tally::error &) {
        caught++;
    }
    try {
        c.try_run("nothing", example, y).value();
    } catch (const tally::error &error) {
        caught++;
    }
    EXPECT(caught == 5);
    const std::exception *base = nullptr;
    const tally::error copy{ tally::failure() };
    base = &copy;
    EXPECT(base->what() != nullptr);
}
#else
void test_exceptions()
{
}
#endif

int main()
{
    test_elements();
    test_views();
    test_descriptors();
    test_directml();
    test_runs();
    test_operands();
    test_offsets();
    test_gradients();
    test_carry();
    test_dtypes();
    test_handles();
    test_exceptions();
    std::printf("%d failures\n", failures);
    return failures != 0;
}
