/* SPDX-License-Identifier: Apache-2.0 */
/* Elements: dtypes of types, and the two halves, whose every value is tried. */
#include "expect.hpp"

#include <cmath>
#include <limits>

using tally::dtype;
using tally::dtype_of_v;

static_assert(dtype_of_v<double> == dtype::f64 && dtype_of_v<float> == dtype::f32);
static_assert(dtype_of_v<tally::f16> == dtype::f16 && dtype_of_v<tally::bf16> == dtype::bf16);
static_assert(dtype_of_v<std::int64_t> == dtype::i64 && dtype_of_v<std::uint64_t> == dtype::u64);
static_assert(dtype_of_v<long> == dtype::i64 && dtype_of_v<unsigned long long> == dtype::u64);
static_assert(dtype_of_v<std::int32_t> == dtype::i32 && dtype_of_v<std::uint32_t> == dtype::u32);
static_assert(dtype_of_v<std::int16_t> == dtype::i16 && dtype_of_v<std::uint16_t> == dtype::u16);
static_assert(dtype_of_v<std::int8_t> == dtype::i8 && dtype_of_v<std::uint8_t> == dtype::u8);
static_assert(dtype_of_v<bool> == dtype::boolean && dtype_of_v<const volatile float> == dtype::f32);
static_assert(dtype_of_v<char> == dtype::none && dtype_of_v<wchar_t> == dtype::none);
static_assert(dtype_of_v<long double> == dtype::none && dtype_of_v<void *> == dtype::none);
static_assert(std::is_trivially_copyable_v<tally::f16> && std::is_trivial_v<tally::bf16>);
#if defined(__STDCPP_FLOAT16_T__)
static_assert(dtype_of_v<std::float16_t> == dtype::f16);
#endif
#if defined(__STDCPP_BFLOAT16_T__)
static_assert(dtype_of_v<std::bfloat16_t> == dtype::bf16);
#endif

/* A type of somebody else's with the bytes of one of ours. */
struct my_half {
    std::uint16_t bits;
};
template <> struct tally::dtype_of<my_half> : tally::dtype_is<tally::dtype::f16> {};
static_assert(tally::view<const my_half>::type() == dtype::f16);

/* Every half is a float, between it and the next lies a float that goes to the even one, and those
 * just below and above go to their own. */
template <class Half> static void check_half(int mantissa_bits)
{
    const int infinite = (0xffff << mantissa_bits) & 0x7fff;
    for (int bits = 0; bits < 0x10000; bits++) {
        const Half half = Half::from_bits(static_cast<std::uint16_t>(bits));
        const float value = static_cast<float>(half);
        const int magnitude = bits & 0x7fff;
        if (magnitude > infinite) {
            EXPECT(std::isnan(value) && std::isnan(static_cast<float>(Half(value))));
            continue;
        }
        EXPECT(Half(value) == half && std::signbit(value) == (bits >= 0x8000));
        if (magnitude >= infinite - 1) {
            continue;
        }
        const Half next = Half::from_bits(static_cast<std::uint16_t>(bits + 1));
        const float other = static_cast<float>(next), middle = value + (other - value) / 2;
        EXPECT(Half(middle) == (bits & 1 ? next : half));
        EXPECT(Half(std::nextafter(middle, value)) == half);
        EXPECT(Half(std::nextafter(middle, other)) == next);
    }
    const float most = std::numeric_limits<float>::max();
    EXPECT(std::isinf(static_cast<float>(Half(most))));
    EXPECT(std::isinf(static_cast<float>(Half(-std::numeric_limits<float>::infinity()))));
    EXPECT(Half(std::numeric_limits<float>::denorm_min()) == Half::from_bits(0));
    EXPECT(Half(1.0f) != Half(2.0f));
}

void test_elements()
{
    check_half<tally::f16>(10);
    check_half<tally::bf16>(7);
    EXPECT(static_cast<float>(tally::f16(65519.0f)) == 65504 &&
           tally::f16(65520.0f).bits == 0x7c00);
    EXPECT(static_cast<float>(tally::f16(0x1p-24f)) == 0x1p-24f && tally::f16(0x1p-25f).bits == 0);
    EXPECT(tally::f16(0x1.8p-25f).bits == 1 && tally::f16(-0.0f).bits == 0x8000);

    for (int op = 1; op < TALLY_OP_COUNT; op++) { /* every one has the name of its enumerator */
        EXPECT(tally::name(static_cast<tally::op>(op)) == tally_op_name(static_cast<tally_op>(op)));
    }
    EXPECT(tally::name(tally::op::cumsum) == "cumsum" &&
           tally::name(tally::op::argmin) == "argmin");
    EXPECT(tally::name(tally::op::none).empty() && tally::name(dtype::none).empty());
    EXPECT(tally::name(dtype::boolean) == "bool" && tally::bytes_of(dtype::bf16) == 2);
    EXPECT(tally::name(tally::status::invalid) == "TALLY_INVALID");
    EXPECT(tally::is_scan(tally::op::cummax) && !tally::is_scan(tally::op::max));
    EXPECT(!tally::version().empty() && tally::version() == TALLY_VERSION);
}
