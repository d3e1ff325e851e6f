/* SPDX-License-Identifier: Apache-2.0 */
/* Views: what they are made of, what they know, and descriptors that are made of them. */
#include "expect.hpp"

#include "../directml_stand_in.h"

#include <array>
#include <vector>
#if __has_include(<span>) && __cplusplus >= 202002L
#include <span>
#endif

using tally::dims;
using tally::status;
using tally::view;

static_assert(dims().rank() == 0 && dims().count() == 1 && dims(3).rank() == 1);
static_assert(dims(3, 4) == dims(3, 4) && dims(3, 4) != dims(4, 3) && dims(3) != dims(3, 1));
static_assert(dims(2, 3, 4).packed() == dims(12, 4, 1) && dims(2, 0, 4).packed() == dims(4, 4, 1));
static_assert(std::is_same_v<decltype(view(std::declval<int (&)[3][4]>())), view<int>>);
static_assert(
    std::is_same_v<decltype(view(std::declval<const std::vector<float> &>())), view<const float>>);
static_assert(
    std::is_same_v<decltype(view(std::declval<const double *>(), { 3, 4 })), view<const double>>);
static_assert(std::is_convertible_v<std::vector<float> &, view<const float>>);
static_assert(!std::is_convertible_v<const std::vector<float> &, view<float>>);
static_assert(!std::is_convertible_v<std::vector<double> &, view<float>>);
static_assert(!std::is_constructible_v<view<const bool>, std::vector<bool> &>);
static_assert(std::is_trivially_copyable_v<view<float>>);

void test_views()
{
    std::vector<float> v(12);
    std::array<int, 4> a = {};
    double cube[2][3][4] = {};
    const std::size_t rows = 3;
    const int columns = 4;

    const view whole(v);
    EXPECT(whole.rank() == 1 && whole.size(0) == 12 && whole.stride(0) == 1 && whole.count() == 12);
    const view matrix(v, { rows, columns }); /* integers of any type */
    EXPECT(matrix.sizes() == dims(3, 4) && matrix.strides() == dims(4, 1));
    matrix(2, 1) = 7;
    EXPECT(v[9] == 7 && &matrix(0, 0) == v.data());
    const view turned(v, { 4, 3 }, { 1, 4 });
    EXPECT(&turned(1, 2) == &v[9]);
    const view backwards(v, { 12 }, { -1 }, 11);
    EXPECT(&backwards(11) == v.data() && backwards.data() == &v[11]);
    const view all(cube);
    EXPECT(all.sizes() == dims(2, 3, 4) && &all(1, 2, 3) == &cube[1][2][3]);
    EXPECT(view(a).size(0) == 4 && view<const int>(a).data() == a.data());
    const view<const float> read = matrix;
    EXPECT(read.data() == matrix.data() && read.sizes() == matrix.sizes());
    float one = 1;
    EXPECT(tally::scalar(one).rank() == 0 && tally::scalar(one).count() == 1);
    EXPECT(&tally::scalar(one)() == &one);
    EXPECT(view<float>().count() == 0 && view<float>().data() == nullptr);
    const std::vector<int> numbers = { 5, 6, 7 };
    EXPECT(dims(numbers) == dims(5, 6, 7) && dims(std::vector<long>(9, 1)).rank() == 9);
    EXPECT(dims(0, 4).rank() == 2 && dims({ 0, 4 })[1] == 4); /* no pointer */
#if __has_include(<span>) && __cplusplus >= 202002L
    const std::span<float> span(v);
    EXPECT(view(span).data() == v.data() && view(span, { 3, 4 }).sizes() == dims(3, 4));
#endif

    tally::result<tally::tensor<int>> made = tally::tensor<int>::try_create({ 3, 4 });
    if (WORKS(made)) {
        tally::tensor<int> &t = *made;
        int next = 0;
        for (int &element : t)
            element = next++;
        const tally::tensor<int> moved = std::move(t);
        EXPECT(moved.size() == 12 && moved(2, 3) == 11 && moved.end() - moved.begin() == 12);
        EXPECT(t.size() == 0 && t.data() == nullptr);
        const view<const int> of = moved;
        EXPECT(of.sizes() == dims(3, 4) && of.data() == moved.data());
    }
    FAILS(tally::tensor<int>::try_create({ 3, -4 }), status::invalid, "sizes", "-4 is negative");
    FAILS(tally::tensor<int>::try_create(dims(std::vector<int>(9, 1))), status::invalid, "sizes",
          "rank 9");
    FAILS(tally::tensor<int>::try_create({ INT64_MAX / 4, 4 }), status::out_of_memory, "memory",
          "");
    EXPECT(tally::tensor<int>::try_create({ 0, INT64_MAX })->size() == 0);
}

static std::string word_of(const tally::descriptor &d)
{
    const tally::result<std::string> word = d.try_word();
    return word ? *word : word.error().text();
}

void test_descriptors()
{
    using tally::descriptor;
    using tally::dtype;
    using tally::op;
    EXPECT(word_of(descriptor(op::cumsum, dtype::f32, { 3, 4 }).axis(-1)) ==
           "cumsum:f32:3x4:axis=1");
    EXPECT(
        word_of(descriptor(op::cumprod, dtype::i8, { 5 }).out(dtype::i64).exclusive().reverse()) ==
        "cumprod:i8>i64:5:axis=0,exclusive,reverse");
    EXPECT(word_of(descriptor(op::argmax, dtype::f16, { 3, 4 })
                       .axes({ 1 })
                       .keepdims()
                       .last()
                       .ignore_nan()) == "argmax:f16>i64:3x4:axes=1,keepdims,last,nan=ignore");
    EXPECT(word_of(descriptor(op::sum, dtype::bf16, {}).accumulate(dtype::f64)) ==
           "sum:bf16:scalar:acc=f64");
    EXPECT(word_of(descriptor(op::cumsum, dtype::f64, { 2, 3 }).order(tally::order::serial)) ==
           "cumsum:f64:2x3:axis=0,order=serial");
    EXPECT(
        word_of(
            descriptor(op::cumsum, dtype::f64, { 5 }).in_strides({ -1 }, 4).out_strides({ 2 })) ==
        "cumsum:f64:5:axis=0,in=-1@4,out=2");
    EXPECT(word_of(descriptor(op::cumsum, dtype::f32, { 5 }).exclusive().exclusive(false)) ==
           "cumsum:f32:5:axis=0");

    FAILS(descriptor().try_check(), status::invalid, "op", "0 is no operator");
    FAILS(descriptor(op::cumsum, dtype::f32, { 3 }).axis(1).try_check(), status::invalid, "axis",
          "axis 1 is not in");
    FAILS(descriptor(op::sum, dtype::f32, { 3 }).axes({ 1 }).try_check(), status::invalid, "axes",
          "");
    FAILS(descriptor(op::sum, dtype::f32, { 3 }).axes({ -1 }).try_check(), status::invalid, "axes",
          "");
    FAILS(descriptor(op::cumsum, dtype::f32, dims(std::vector<int>(9, 1))).try_check(),
          status::invalid, "sizes", "rank 1 to 8, not 9");
    FAILS(descriptor(op::cumsum, dtype::f32, { 3, 4 }).in_strides({ 1 }).try_check(),
          status::invalid, "in", "1 strides for the input's rank 2");
    FAILS(descriptor(op::sum, dtype::f32, { 3, 4 }).axes({ 0 }).out_strides({ 1, 1 }).try_word(),
          status::invalid, "out", "2 strides for the output's rank 1");
    FAILS(descriptor::try_parse("cumsum:f32:3"), status::invalid, "axis", "needs axis=");
    FAILS(descriptor::try_parse(std::string(5000, 'x')), status::invalid, "op", "5000 characters");
    FAILS(descriptor::try_parse(std::string_view("cumsum:f32:3:axis=0\0", 20)), status::invalid,
          "op", "a zero among them");
    const auto wrong = descriptor::try_parse("cumsum:f32:3x4:axis=7");
    EXPECT(!wrong && wrong.error().position() == 21);

    const auto parsed = descriptor::try_parse("mean:f16:3x4x5:axes=0+2,keepdims");
    if (WORKS(parsed)) {
        const auto output = parsed->try_output();
        EXPECT(output && output->sizes == dims(1, 4, 1) && output->type == dtype::f16);
        const auto extent = parsed->try_extent();
        EXPECT(extent && extent->first.end == 120 && extent->second.end == 8);
    }

    /* By tensors. */
    const std::vector<float> x(12);
    std::vector<float> y(12), three(3);
    std::vector<double> wide(4);
    std::vector<std::int64_t> indices(3);
    const view matrix(x, { 3, 4 });
    const auto by = [&](std::string_view word, auto in, auto out) {
        const auto made = descriptor::try_of(word, in, out);
        return made ? word_of(*made) : made.error().text();
    };
    EXPECT(by("cumprod:axis=-1", matrix, view(y, { 3, 4 })) == "cumprod:f32:3x4:axis=1");
    EXPECT(by("cumprod:f32:3x4:axis=-1", matrix, view(y, { 3, 4 })) == "cumprod:f32:3x4:axis=1");
    EXPECT(by("sum:axes=0", matrix, view(wide)) == "sum:f32>f64:3x4:axes=0");
    EXPECT(by("argmin:axes=1", matrix, view(indices)) == "argmin:f32>i64:3x4:axes=1");
    EXPECT(by("cumsum:axis=1", view(x, { 4, 3 }, { 1, 4 }), view(y, { 4, 3 })) ==
           "cumsum:f32:4x3:axis=1,in=1x4");
    EXPECT(by("sum:axes=1", matrix, view(y, { 3 }, { -2 }, 9)) == "sum:f32:3x4:axes=1,out=-2");
    FAILS(descriptor::try_of("cumsum:f64:axis=0", x, y), status::invalid, "dtype",
          "in holds f32, and the word's is f64");
    FAILS(descriptor::try_of("cumsum:3x4:axis=0", x, y), status::invalid, "sizes",
          "in is 12, and the word's is 3x4");
    FAILS(descriptor::try_of("cumsum:f32>f32:axis=0", x, view(wide)), status::invalid, "dtype",
          "out holds f64, and the word's result is f32");
    FAILS(descriptor::try_of("cumsum:axis=0", x, view(y, { 3, 4 })), status::invalid, "sizes",
          "out is 3x4, and the result is 12");
    FAILS(descriptor::try_of("sum", x, y), status::invalid, "sizes",
          "out is 12, and the result is a scalar");
    FAILS(descriptor::try_of("cumsum:12:axis=0,in=-1@11", x, y), status::invalid, "in",
          "the word must not");
    FAILS(descriptor::try_of("cumsum:axis=1", x, y), status::invalid, "axis", "axis 1");
    FAILS(descriptor::try_of("cumsum:axis=0", view(x, { 13 }), view(y.data(), { 13 })),
          status::invalid, "in", "in reaches elements 0 to 12, and its container has 12");
    FAILS(descriptor::try_of("cumsum:axis=0", x, view(y, { 12 }, { -1 })), status::invalid, "out",
          "elements -11 to 0");
    FAILS(descriptor::try_of("cumsum:axis=0", view(x, { 2 }, { 1 }, 12), three), status::invalid,
          "in", "in begins at element 12, and its container has 12");
    std::uint8_t bytes[4] = {};
    FAILS(descriptor::try_of("cumsum:axis=0", view(bytes, { 2 }, { INT64_MAX - 1 }, 3),
                             view(bytes, { 2 })),
          status::invalid, "in", "elements 3 to 9223372036854775807");
    FAILS(descriptor::try_of("cumsum:axis=0", view(x, { 2 }, { INT64_MAX }), three),
          status::invalid, "in", "overflows");
    FAILS(descriptor::try_of("cumsum:axis=0", view(x, { 3, 4 }, { 1 }), three), status::invalid,
          "in", "1 strides for the rank 2");
    FAILS(descriptor::try_of("cumsum:axis=0", view(x, dims(std::vector<int>(9, 1))), three),
          status::invalid, "sizes", "in has rank 9");
    FAILS(descriptor::try_of("cumsum:axis=0", x, view(y, { 12 }, { 0 })), status::invalid, "out",
          "share an address");
    const auto steps = descriptor(op::cumprod, dtype::f32, { 3, 4 }).axis(1).try_gradient();
    EXPECT(steps && steps->size() == 2 && (*steps)[1].operand[1] == TALLY_SOURCE_STEP);
    EXPECT(word_of(descriptor((*steps)[0].descriptor)) == "cumprod:f32:3x4:axis=1,exclusive");
    FAILS(descriptor(op::cumsum, dtype::i32, { 3 }).axis(0).try_gradient(), tally::status::invalid,
          "dtype", "");
}

/* Structs of a DirectML.h, which have types of their own. */
void test_directml()
{
    const unsigned int sizes[] = { 3, 4 };
    const DML_BUFFER_TENSOR_DESC buffer = {
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, sizes, nullptr, 48, 0
    };
    const DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &buffer };
    const DML_CUMULATIVE_PRODUCT_OPERATOR_DESC product = { &tensor, &tensor, 1, 1, 1 };
    const DML_OPERATOR_DESC what = { DML_OPERATOR_CUMULATIVE_PRODUCT, &product };
    const auto made = tally::descriptor::try_from_dml(what);
    EXPECT(made && word_of(*made) == "cumprod:f32:3x4:axis=1,exclusive,reverse");
    FAILS(tally::descriptor::try_from_dml(what, TALLY_DML_FEATURE_LEVEL_3_1), status::unsupported,
          "sizes", "DimensionCount 2");
    const tally_dml_operator_desc wrong = { TALLY_DML_REDUCE, nullptr };
    FAILS(tally::descriptor::try_from_dml(wrong), status::invalid, "op", "Desc is NULL");
#if TALLY_EXCEPTIONS
    EXPECT(tally::descriptor::from_dml(what).raw().op == TALLY_CUMPROD);
#endif
}
