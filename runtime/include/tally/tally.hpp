/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tally for C++17 and later: one header over the C interface. A program includes only this header
 * and links only the C library. docs/cpp.md is its manual; docs/semantics.md defines what a scan
 * and a reduction compute.
 *
 *   const float x[3][4] = { { 2, 1, 3, 5 }, { 3, 8, 7, 3 }, { 9, 6, 2, 4 } };
 *   float y[3][4];
 *   tally::context context;
 *   context.run("cumprod:axis=1", x, y);
 *
 * Errors. A function that can fail exists in two forms. The form with `try_`, such as `try_run`,
 * returns a tally::result with the value or a tally::failure. The form without it, such as `run`,
 * throws this failure as a tally::error; it does not exist with -fno-exceptions. Neither form
 * writes to a tensor when it fails. The statuses are those of the C function that the comment
 * names.
 *
 * Memory. Strings and tensors that a function returns are allocated by `new`, which may throw
 * std::bad_alloc. If an allocation of Tally's own fails, the status is status::out_of_memory.
 *
 * Tensors are views: a pointer, and a size and a stride in elements for each dim. The dtype follows
 * from the element's type. Tally never keeps a view after the call.
 *
 * Handles (context, kernel) are movable and not copyable. A handle that was moved from is empty,
 * and so is kernel(). An empty handle can be assigned to and destroyed; a call that needs it
 * returns status::invalid. A context is destroyed after its last kernel, even if the handle of the
 * context is destroyed first.
 *
 * Threads. Many threads may call const member functions at once. All functions of a context or
 * kernel are const, except move, assignment and destructor. Other objects behave like an int:
 * threads may read them together, but not write them. fork has the same rules as in the C
 * interface.
 */
#ifndef TALLY_HPP
#define TALLY_HPP

#if __cplusplus < 201703L
#error "tally.hpp needs C++17 or later (-std=c++17)"
#endif

#include <tally.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if defined(__STDCPP_FLOAT16_T__) || defined(__STDCPP_BFLOAT16_T__)
#include <stdfloat>
#endif

/* 1 if the functions that throw exist, else 0. */
#if defined(__cpp_exceptions)
#define TALLY_EXCEPTIONS 1
#else
#define TALLY_EXCEPTIONS 0
#endif

namespace tally {

/* ---- names of the C interface, typed -------------------------------------------------------- */

/** The result of a call: tally_status. */
enum class status : std::int32_t {
    ok = TALLY_OK,
    invalid = TALLY_INVALID,         /**< an argument, word, view or descriptor breaks a rule */
    unsupported = TALLY_UNSUPPORTED, /**< the request is valid, but no kernel exists for it here */
    out_of_memory = TALLY_OUT_OF_MEMORY,
    device_lost = TALLY_DEVICE_LOST,
    io = TALLY_IO,
    no_generator = TALLY_NO_GENERATOR, /**< a kernel must be generated, and that is impossible */
    busy = TALLY_BUSY,                 /**< the parent had a call in flight at the fork */
    internal = TALLY_INTERNAL,         /**< Tally itself has a fault */
    timeout = TALLY_TIMEOUT
};

/** Operators, with the names that they have in words: tally_op. */
enum class op : std::int32_t {
    none = TALLY_OP_NONE,
#define TALLY_OP_ENUMERATOR(enumerator, name) name = enumerator,
    TALLY_OP_MAP(TALLY_OP_ENUMERATOR)
#undef TALLY_OP_ENUMERATOR
        count = TALLY_OP_COUNT
};

/** Element types: tally_dtype. */
enum class dtype : std::int32_t {
    none = TALLY_DTYPE_NONE,
    f64 = TALLY_F64,
    f32 = TALLY_F32,
    f16 = TALLY_F16,
    bf16 = TALLY_BF16,
    i64 = TALLY_I64,
    i32 = TALLY_I32,
    i16 = TALLY_I16,
    i8 = TALLY_I8,
    u64 = TALLY_U64,
    u32 = TALLY_U32,
    u16 = TALLY_U16,
    u8 = TALLY_U8,
    boolean = TALLY_BOOL,
    count = TALLY_BOOL + 1
};

static_assert(static_cast<int>(dtype::count) == TALLY_DTYPE_COUNT, "every dtype is above");

/** The order in which elements are combined: tally_order. */
enum class order : std::int32_t {
    run = TALLY_ORDER_RUN,
    exact = TALLY_ORDER_EXACT,
    serial = TALLY_ORDER_SERIAL
};

/** How a kernel is made that is neither in memory nor stored: tally_compile_mode. */
enum class compile : std::uint32_t {
    wait = TALLY_COMPILE_WAIT,
    background = TALLY_COMPILE_BACKGROUND,
    never = TALLY_COMPILE_NEVER
};

/** The name of a status, an operator or a dtype, such as "TALLY_INVALID", "cumsum" or "f32". It is
 *  "" if the value is no operator or dtype. A terminating zero follows the text. */
inline std::string_view name(status value) noexcept
{
    return tally_status_name(static_cast<tally_status>(value));
}
inline std::string_view name(op value) noexcept
{
    const char *text = tally_op_name(static_cast<tally_op>(value));
    return text != nullptr ? text : "";
}
inline std::string_view name(dtype value) noexcept
{
    const char *text = tally_dtype_name(static_cast<tally_dtype>(value));
    return text != nullptr ? text : "";
}

/** Returns true if an operator is a scan, and false if it is a reduction. */
inline bool is_scan(op value) noexcept
{
    return tally_op_is_scan(static_cast<tally_op>(value)) != 0;
}

/** Returns the bytes of one element; 0 if the value is no dtype. */
inline std::size_t bytes_of(dtype value) noexcept
{
    return tally_dtype_bytes(static_cast<tally_dtype>(value));
}

/* ---- elements ------------------------------------------------------------------------------- */

/**
 * IEEE binary16 in two bytes. A float is rounded to the nearest f16, ties to even; a float beyond
 * the range becomes infinite. Every f16 converts to a float exactly. `==` compares the bits, not
 * the values: a NaN equals itself, and -0 does not equal +0.
 */
struct f16 {
    std::uint16_t bits;

    f16() = default;
    explicit f16(float value) noexcept;
    explicit operator float() const noexcept;
    static constexpr f16 from_bits(std::uint16_t bits) noexcept { return f16(bits, 0); }
    friend constexpr bool operator==(f16 a, f16 b) noexcept { return a.bits == b.bits; }
    friend constexpr bool operator!=(f16 a, f16 b) noexcept { return a.bits != b.bits; }

private:
    constexpr f16(std::uint16_t from, int) noexcept : bits(from) {}
};

/** bfloat16, the upper half of a float, in two bytes. All else is as for f16. */
struct bf16 {
    std::uint16_t bits;

    bf16() = default;
    explicit bf16(float value) noexcept;
    explicit operator float() const noexcept;
    static constexpr bf16 from_bits(std::uint16_t bits) noexcept { return bf16(bits, 0); }
    friend constexpr bool operator==(bf16 a, bf16 b) noexcept { return a.bits == b.bits; }
    friend constexpr bool operator!=(bf16 a, bf16 b) noexcept { return a.bits != b.bits; }

private:
    constexpr bf16(std::uint16_t from, int) noexcept : bits(from) {}
};

namespace detail {

template <class To, class From> To bits_as(const From &from) noexcept
{
    static_assert(sizeof(To) == sizeof(From), "as many bytes");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline std::uint16_t half_of(float value) noexcept
{
    const std::uint32_t all = bits_as<std::uint32_t>(value), sign = all >> 16 & 0x8000u;
    std::uint32_t x = all & 0x7fffffffu;
    if (x > 0x7f800000u) {
        x = 0x7e00; /* NaN */
    } else if (x >= 0x47800000u) {
        x = 0x7c00; /* 65536 and more */
    } else if (x >= 0x38800000u) {
        x = (x + 0xfffu + (x >> 13 & 1) - 0x38000000u) >> 13; /* a carry may lead to infinity */
    } else if (x >= 0x33000000u) {
        /* The result is subnormal: a multiple of 2^-24. */
        const std::uint32_t mantissa = (x & 0x7fffffu) | 0x800000u, shift = 126 - (x >> 23);
        const std::uint32_t half = 1u << (shift - 1), rest = mantissa & (2 * half - 1);
        x = mantissa >> shift;
        x += rest > half || (rest == half && (x & 1)) ? 1 : 0;
    } else {
        x = 0;
    }
    return static_cast<std::uint16_t>(sign | x);
}

inline float float_of_half(std::uint16_t bits) noexcept
{
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = bits >> 10 & 31u, mantissa = bits & 0x3ffu;
    if (exponent == 0) {
        const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
        return bits_as<float>(bits_as<std::uint32_t>(tiny) | sign);
    }
    const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
    return bits_as<float>(sign | wide << 23 | mantissa << 13);
}

inline std::uint16_t bfloat_of(float value) noexcept
{
    const std::uint32_t x = bits_as<std::uint32_t>(value);
    return static_cast<std::uint16_t>(
        (x & 0x7fffffffu) > 0x7f800000u ? x >> 16 | 0x40u : (x + 0x7fffu + (x >> 16 & 1)) >> 16);
}

/* The dtype of an integer type by its size and sign. char is no number, because its sign depends on
 * the platform. */
template <class T> constexpr dtype integer_dtype() noexcept
{
    const bool is_signed = std::is_signed_v<T>;
    return sizeof(T) == 8   ? (is_signed ? dtype::i64 : dtype::u64)
           : sizeof(T) == 4 ? (is_signed ? dtype::i32 : dtype::u32)
           : sizeof(T) == 2 ? (is_signed ? dtype::i16 : dtype::u16)
                            : (is_signed ? dtype::i8 : dtype::u8);
}

template <class T, class... Of> constexpr bool is_one_of = (std::is_same_v<T, Of> || ...);

template <class T>
constexpr bool is_number = is_one_of<T, signed char, unsigned char, short, unsigned short, int,
                                     unsigned, long, unsigned long, long long, unsigned long long>;

} // namespace detail

inline f16::f16(float value) noexcept : bits(detail::half_of(value))
{
}
inline f16::operator float() const noexcept
{
    return detail::float_of_half(bits);
}
inline bf16::bf16(float value) noexcept : bits(detail::bfloat_of(value))
{
}
inline bf16::operator float() const noexcept
{
    return detail::bits_as<float>(static_cast<std::uint32_t>(bits) << 16);
}

/**
 * The dtype of an element's type: f64 for double, i8 for std::int8_t, boolean for bool, and so on.
 * For other types it is none, and they cannot have views. You can specialise it for your own type
 * if that has the bytes of an element:
 *
 *   template <> struct tally::dtype_of<my_half> : tally::dtype_is<tally::dtype::f16> {};
 */
template <dtype Value> using dtype_is = std::integral_constant<dtype, Value>;

template <class T>
struct dtype_of : dtype_is<detail::is_number<T> ? detail::integer_dtype<T>() : dtype::none> {};
template <> struct dtype_of<double> : dtype_is<dtype::f64> {};
template <> struct dtype_of<float> : dtype_is<dtype::f32> {};
template <> struct dtype_of<f16> : dtype_is<dtype::f16> {};
template <> struct dtype_of<bf16> : dtype_is<dtype::bf16> {};
template <> struct dtype_of<bool> : dtype_is<dtype::boolean> {};
#if defined(__STDCPP_FLOAT16_T__)
template <> struct dtype_of<std::float16_t> : dtype_is<dtype::f16> {};
#endif
#if defined(__STDCPP_BFLOAT16_T__)
template <> struct dtype_of<std::bfloat16_t> : dtype_is<dtype::bf16> {};
#endif

template <class T> constexpr dtype dtype_of_v = dtype_of<std::remove_cv_t<T>>::value;

static_assert(sizeof(bool) == 1 && sizeof(f16) == 2 && sizeof(bf16) == 2, "bytes of elements");

/* ---- failures and results ------------------------------------------------------------------- */

/** The reason why a call failed: the content of a tally_error. It allocates nothing. */
class failure {
public:
    failure() noexcept = default;
    explicit failure(const tally_error &from) noexcept : error_(from) {}

    tally::status status() const noexcept { return static_cast<tally::status>(error_.status); }
    /** The part that is wrong: "axis", "sizes", "in", "device", ... */
    const char *field() const noexcept { return error_.field; }
    /** What is wrong, as one sentence without a final stop. */
    const char *message() const noexcept { return error_.message; }
    /** How to solve the problem; may be empty. */
    const char *hint() const noexcept { return error_.hint; }
    /** How a word says what the hint does; may be empty. */
    const char *word() const noexcept { return error_.word; }
    /** The character of the word that is wrong, counted from 1; 0 if there is none. */
    int position() const noexcept { return error_.position; }
    /** Field, message and hint in one line: "axis: axis 2 is not in [-2, 1] (hint)". */
    std::string text() const
    {
        std::string all = std::string(error_.field) + ": " + error_.message;
        return error_.hint[0] != 0 ? all + " (" + error_.hint + ")" : all;
    }

private:
    tally_error error_ = TALLY_ERROR_INIT;
};

/** The exception that functions throw. It can be caught in another library. what() is
 *  failure::text(). */
class TALLY_API error : public std::runtime_error {
public:
    explicit error(const tally::failure &why) : std::runtime_error(why.text()), why_(why) {}

    tally::status status() const noexcept { return why_.status(); }
    const char *field() const noexcept { return why_.field(); }
    const char *message() const noexcept { return why_.message(); }
    const char *hint() const noexcept { return why_.hint(); }
    int position() const noexcept { return why_.position(); }
    const tally::failure &failure() const noexcept { return why_; }

private:
    tally::failure why_;
};

/** A value, or the failure that says why there is none. `*` and `->` may be used only if there is a
 *  value, and error() only if there is a failure. */
template <class T> class [[nodiscard]] result {
public:
    /* Two constructors, so that early C++17 compilers move a local that is returned. */
    result(T &&value) : either_(std::in_place_index<0>, std::move(value)) {}
    result(const T &value) : either_(std::in_place_index<0>, value) {}
    result(const failure &why) noexcept : either_(std::in_place_index<1>, why) {}

    bool has_value() const noexcept { return either_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    /** status::ok if there is a value. */
    tally::status status() const noexcept
    {
        return has_value() ? tally::status::ok : error().status();
    }
    const failure &error() const noexcept { return *std::get_if<1>(&either_); }
    T &operator*() & noexcept { return *std::get_if<0>(&either_); }
    const T &operator*() const & noexcept { return *std::get_if<0>(&either_); }
    T &&operator*() && noexcept { return std::move(*std::get_if<0>(&either_)); }
    T *operator->() noexcept { return std::get_if<0>(&either_); }
    const T *operator->() const noexcept { return std::get_if<0>(&either_); }
#if TALLY_EXCEPTIONS
    /** Returns the value; throws tally::error if there is none. */
    T &value() &
    {
        check();
        return **this;
    }
    const T &value() const &
    {
        check();
        return **this;
    }
    T &&value() &&
    {
        check();
        return *std::move(*this);
    }

private:
    void check() const
    {
        if (!has_value())
            throw tally::error(error());
    }
#endif

private:
    std::variant<T, failure> either_;
};

/** Success without a value, or the failure of a call. */
template <> class [[nodiscard]] result<void> {
public:
    result() noexcept = default;
    result(const failure &why) noexcept : why_(why) {}

    bool has_value() const noexcept { return !why_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }
    tally::status status() const noexcept
    {
        return has_value() ? tally::status::ok : error().status();
    }
    const failure &error() const noexcept { return *why_; }
#if TALLY_EXCEPTIONS
    /** Throws tally::error if there is a failure. */
    void value() const
    {
        if (!has_value())
            throw tally::error(error());
    }
#endif

private:
    std::optional<failure> why_;
};

namespace detail {

/* An error for one call of the C interface. Only its size is initialised. The other fields are read
 * only if the call failed, and then it has written them. */
struct call_error : tally_error {
    call_error() noexcept { size = sizeof(tally_error); }
};

#if defined(__GNUC__)
failure fail(status code, const char *field, const char *format, ...) noexcept
    __attribute__((format(printf, 3, 4)));
#endif
inline failure fail(status code, const char *field, const char *format, ...) noexcept
{
    tally_error error = TALLY_ERROR_INIT;
    std::va_list arguments;
    va_start(arguments, format);
    (void)std::vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    (void)std::snprintf(error.field, sizeof error.field, "%s", field);
    error.status = static_cast<std::int32_t>(code);
    return failure(error);
}

inline failure no_memory(const char *what) noexcept
{
    return fail(status::out_of_memory, "memory", "no memory for %s", what);
}

/* The result of a call of the C interface. */
inline result<void> done(tally_status status, const tally_error &error) noexcept
{
    return status == TALLY_OK ? result<void>() : result<void>(failure(error));
}

} // namespace detail

/* ---- tensors -------------------------------------------------------------------------------- */

/** Sizes or strides of a tensor, the outermost first: { 3, 4 }. dims() describes a scalar. More
 *  than TALLY_MAX_RANK numbers are refused by the function that uses them. */
class dims {
public:
    constexpr dims() noexcept = default;
    template <class... Integers,
              std::enable_if_t<(sizeof...(Integers) > 0 && (std::is_integral_v<Integers> && ...)),
                               int> = 0>
    constexpr dims(Integers... each) noexcept
        : each_{ static_cast<std::int64_t>(each)... }, rank_(sizeof...(Integers))
    {
        static_assert(sizeof...(Integers) <= TALLY_MAX_RANK, "more than TALLY_MAX_RANK dims");
    }
    /** Takes the numbers of a range, such as a std::vector<int>. */
    template <class Range, class = decltype(std::begin(std::declval<const Range &>())),
              std::enable_if_t<!std::is_same_v<Range, dims>, int> = 0>
    explicit constexpr dims(const Range &range) noexcept
    {
        for (const auto number : range) {
            if (rank_ < TALLY_MAX_RANK)
                each_[rank_] = static_cast<std::int64_t>(number);
            rank_++;
        }
    }

    /** Takes `rank` numbers from an array. */
    constexpr dims(const std::int64_t *each, int rank) noexcept : rank_(rank)
    {
        for (int d = 0; d < rank && d < TALLY_MAX_RANK; d++)
            each_[d] = each[d];
    }

    constexpr int rank() const noexcept { return rank_; }
    constexpr std::int64_t operator[](int d) const noexcept { return each_[d]; }
    constexpr std::int64_t &operator[](int d) noexcept { return each_[d]; }
    constexpr const std::int64_t *data() const noexcept { return each_; }
    constexpr const std::int64_t *begin() const noexcept { return each_; }
    constexpr const std::int64_t *end() const noexcept
    {
        return each_ + (rank_ < TALLY_MAX_RANK ? rank_ : TALLY_MAX_RANK);
    }
    /** The product, which is the number of elements of a tensor of these sizes. */
    constexpr std::int64_t count() const noexcept
    {
        std::uint64_t all = 1;
        for (const std::int64_t n : *this)
            all *= static_cast<std::uint64_t>(n);
        return static_cast<std::int64_t>(all);
    }
    /** The strides of a packed tensor of these sizes: row-major, without gaps. */
    constexpr dims packed() const noexcept
    {
        dims strides = *this;
        std::uint64_t step = 1; /* unsigned: sizes that overflow are refused later */
        for (int d = (rank_ < TALLY_MAX_RANK ? rank_ : TALLY_MAX_RANK) - 1; d >= 0; d--) {
            strides.each_[d] = static_cast<std::int64_t>(step);
            step *= each_[d] > 0 ? static_cast<std::uint64_t>(each_[d]) : 1;
        }
        return strides;
    }
    friend constexpr bool operator==(const dims &a, const dims &b) noexcept
    {
        bool equal = a.rank_ == b.rank_;
        for (int d = 0; equal && d < a.rank_ && d < TALLY_MAX_RANK; d++)
            equal = a.each_[d] == b.each_[d];
        return equal;
    }
    friend constexpr bool operator!=(const dims &a, const dims &b) noexcept { return !(a == b); }

private:
    std::int64_t each_[TALLY_MAX_RANK] = {};
    int rank_ = 0;
};

template <class T> class view;
template <class T> class tensor;

namespace detail {

struct access; /* reads the private members of views */

constexpr std::int64_t most_bytes = INT64_MAX;

template <class T> constexpr bool is_view = false;
template <class T> constexpr bool is_view<view<T>> = true;
template <class T> constexpr bool is_tensor = false;
template <class T> constexpr bool is_tensor<tensor<T>> = true;

/* The element type of a container: an array of any rank, a vector, a span and others. */
template <class C, class = void> struct element_of {};
template <class C>
struct element_of<C, std::void_t<decltype(std::data(std::declval<C &>())),
                                 decltype(std::size(std::declval<C &>()))>> {
    using type =
        std::remove_all_extents_t<std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>>;
};
template <class C>
using element_t = typename element_of<
    std::enable_if_t<!is_view<std::remove_cv_t<C>> && !is_tensor<std::remove_cv_t<C>>, C>>::type;

template <class A, std::size_t... D> constexpr dims array_sizes(std::index_sequence<D...>) noexcept
{
    return dims(std::extent_v<A, D>...);
}

template <class C> constexpr dims sizes_of(const C &container) noexcept
{
    if constexpr (std::is_array_v<C>)
        return array_sizes<C>(std::make_index_sequence<std::rank_v<C>>());
    else
        return dims(std::size(container));
}

template <class C> constexpr auto first_of(C &container) noexcept -> element_t<C> *
{
    if constexpr (std::rank_v<C> > 1)
        return reinterpret_cast<element_t<C> *>(std::data(container));
    else
        return std::data(container);
}

} // namespace detail

/**
 * A tensor of the caller: the place of its element (0, ..., 0), its sizes, and its strides in
 * elements. Strides of an input may be 0 or negative, and strides of an output may be negative.
 * Without strides a tensor is packed, in row-major order. For inputs T is const. A view owns
 * nothing.
 *
 * A view of a container knows how many elements the container has. If sizes and strides reach
 * beyond them, a run returns status::invalid. A container is an array of any rank, a std::vector, a
 * std::array, a std::span, or any type with std::data and std::size. A view of a pointer has no
 * such check; the caller must make sure that the elements exist.
 */
template <class T> class view {
    static_assert(dtype_of_v<T> != dtype::none, "no dtype is of this type; see tally::dtype_of");

public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    /** Makes a view without elements. */
    constexpr view() noexcept : sizes_(0), strides_(1) {}

    /** Makes a view of a pointer; `data` points to element (0, ..., 0). */
    template <class Pointer,
              std::enable_if_t<std::is_pointer_v<Pointer> && std::is_convertible_v<Pointer, T *>,
                               int> = 0>
    constexpr view(const Pointer &data, const dims &sizes) noexcept
        : data_(data), sizes_(sizes), strides_(sizes.packed())
    {
    }
    template <class Pointer,
              std::enable_if_t<std::is_pointer_v<Pointer> && std::is_convertible_v<Pointer, T *>,
                               int> = 0>
    constexpr view(const Pointer &data, const dims &sizes, const dims &strides) noexcept
        : data_(data), sizes_(sizes), strides_(strides), is_strided_(true)
    {
    }

    /** Makes a view of all elements of a container, with rank 1, or an array's own rank. */
    template <class C,
              std::enable_if_t<std::is_convertible_v<detail::element_t<C> *, T *>, int> = 0>
    constexpr view(C &container) noexcept : view(container, detail::sizes_of(container))
    {
    }
    /** Makes a view of a container as a packed tensor of these sizes, from its first element on. */
    template <class C,
              std::enable_if_t<std::is_convertible_v<detail::element_t<C> *, T *>, int> = 0>
    constexpr view(C &container, const dims &sizes) noexcept
        : data_(detail::first_of(container)), sizes_(sizes), strides_(sizes.packed()),
          room_(detail::sizes_of(container).count())
    {
    }
    /** Makes a view of a container with strides. Element (0, ..., 0) is `offset` elements after the
     *  container's first. */
    template <class C,
              std::enable_if_t<std::is_convertible_v<detail::element_t<C> *, T *>, int> = 0>
    constexpr view(C &container, const dims &sizes, const dims &strides,
                   std::int64_t offset = 0) noexcept
        : data_(detail::first_of(container) + offset), sizes_(sizes), strides_(strides),
          room_(detail::sizes_of(container).count()), before_(offset), is_strided_(true)
    {
    }

    /** Converts a view of elements to a view of const elements. */
    template <class U, std::enable_if_t<std::is_same_v<const U, T>, int> = 0>
    constexpr view(const view<U> &other) noexcept
        : data_(other.data_), sizes_(other.sizes_), strides_(other.strides_), room_(other.room_),
          before_(other.before_), is_strided_(other.is_strided_)
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr int rank() const noexcept { return sizes_.rank(); }
    constexpr const dims &sizes() const noexcept { return sizes_; }
    constexpr std::int64_t size(int d) const noexcept { return sizes_[d]; }
    constexpr const dims &strides() const noexcept { return strides_; }
    constexpr std::int64_t stride(int d) const noexcept { return strides_[d]; }
    /** The number of elements. */
    constexpr std::int64_t count() const noexcept { return sizes_.count(); }
    static constexpr dtype type() noexcept { return dtype_of_v<T>; }
    /** The element at these indices, one for each dim. The indices are not checked. */
    template <class... Index> constexpr T &operator()(Index... index) const noexcept
    {
        std::int64_t at = 0;
        int d = 0;
        ((at += static_cast<std::int64_t>(index) * strides_[d++]), ...);
        return data_[at];
    }

private:
    template <class U> friend class view;
    friend struct detail::access;

    T *data_ = nullptr;
    dims sizes_, strides_;
    std::int64_t room_ = -1;  /* number of elements of the container; -1: not known */
    std::int64_t before_ = 0; /* number of these elements before data_ */
    bool is_strided_ = false;
};

template <class Pointer, std::enable_if_t<std::is_pointer_v<Pointer>, int> = 0>
view(const Pointer &, const dims &) -> view<std::remove_pointer_t<Pointer>>;
template <class Pointer, std::enable_if_t<std::is_pointer_v<Pointer>, int> = 0>
view(const Pointer &, const dims &, const dims &) -> view<std::remove_pointer_t<Pointer>>;
template <class C> view(C &) -> view<detail::element_t<C>>;
template <class C> view(C &, const dims &) -> view<detail::element_t<C>>;
template <class C> view(C &, const dims &, const dims &) -> view<detail::element_t<C>>;
template <class C>
view(C &, const dims &, const dims &, std::int64_t) -> view<detail::element_t<C>>;

/** Makes a view of one element as a tensor of rank 0, such as the result of a full reduction. */
template <class T> constexpr view<T> scalar(T &element) noexcept
{
    return view<T>(&element, dims());
}

/** A packed tensor that owns its elements. Runs without an output argument return it. */
template <class T> class tensor {
public:
    using value_type = T;

    /** Makes a tensor without elements. A tensor that was moved from has none, either. */
    tensor() noexcept : sizes_(0) {}
    tensor(tensor &&other) noexcept
        : elements_(std::move(other.elements_)), sizes_(std::exchange(other.sizes_, dims(0)))
    {
    }
    tensor &operator=(tensor &&other) noexcept
    {
        elements_ = std::move(other.elements_);
        sizes_ = std::exchange(other.sizes_, dims(0));
        return *this;
    }

    /** Makes a tensor with elements that are not initialised. Returns status::invalid if a size is
     *  negative or the rank is too large, and status::out_of_memory if there is no memory. */
    static result<tensor> try_create(const dims &sizes) noexcept
    {
        std::int64_t count = 1;
        if (sizes.rank() > TALLY_MAX_RANK)
            return detail::fail(status::invalid, "sizes", "rank %d, and the most is %d",
                                sizes.rank(), TALLY_MAX_RANK);
        for (const std::int64_t n : sizes) {
            if (n < 0)
                return detail::fail(status::invalid, "sizes", "size %lld is negative",
                                    static_cast<long long>(n));
            count = n != 0 && count > detail::most_bytes / n ? detail::most_bytes : count * n;
        }
        tensor made;
        made.sizes_ = sizes;
        if (count <= detail::most_bytes / static_cast<std::int64_t>(sizeof(T)) / 2)
            made.elements_.reset(new (std::nothrow) T[static_cast<std::size_t>(count)]);
        if (made.elements_ == nullptr)
            return detail::no_memory("a tensor");
        return made;
    }
#if TALLY_EXCEPTIONS
    explicit tensor(const dims &sizes) : tensor(try_create(sizes).value()) {}
#endif

    T *data() noexcept { return elements_.get(); }
    const T *data() const noexcept { return elements_.get(); }
    /** The number of elements. */
    std::size_t size() const noexcept { return static_cast<std::size_t>(sizes_.count()); }
    const dims &sizes() const noexcept { return sizes_; }
    T *begin() noexcept { return data(); }
    T *end() noexcept { return data() + size(); }
    const T *begin() const noexcept { return data(); }
    const T *end() const noexcept { return data() + size(); }
    /** The element at these indices, one for each dim. The indices are not checked. */
    template <class... Index> T &operator()(Index... index) noexcept { return as_view()(index...); }
    template <class... Index> const T &operator()(Index... index) const noexcept
    {
        return as_view()(index...);
    }
    view<T> as_view() noexcept { return view<T>(data(), sizes_); }
    view<const T> as_view() const noexcept { return view<const T>(data(), sizes_); }
    operator view<T>() noexcept { return as_view(); }
    operator view<const T>() const noexcept { return as_view(); }

private:
    std::unique_ptr<T[]> elements_;
    dims sizes_;
};

namespace detail {

/* A view without the type of its elements. It must not outlive the view, which it refers to. */
struct argument {
    const char *name; /* "in", "out", or an operand's */
    dtype type;
    const dims &sizes, &strides;
    std::int64_t room, before;
    bool is_strided;
};

struct access {
    template <class T> static argument of(const char *name, const view<T> &v) noexcept
    {
        return { name, v.type(), v.sizes_, v.strides_, v.room_, v.before_, v.is_strided_ };
    }
};

template <class T> constexpr const view<T> &viewed(const view<T> &v) noexcept
{
    return v;
}
template <class T> view<T> viewed(tensor<T> &t) noexcept
{
    return t.as_view();
}
template <class T> view<const T> viewed(const tensor<T> &t) noexcept
{
    return t.as_view();
}
template <class C> constexpr auto viewed(C &container) noexcept -> view<element_t<C>>
{
    return view<element_t<C>>(container);
}

/* The types that run takes as a tensor. */
/* The names of operands. */
constexpr const char *operand_names[TALLY_MAX_OPERANDS] = { "a", "b", "c", "d" };

template <class X> using viewed_t = std::decay_t<decltype(viewed(std::declval<X>()))>;
template <class X, class = void> constexpr bool is_tensor_like = false;
template <class X> constexpr bool is_tensor_like<X, std::void_t<viewed_t<X>>> = true;

template <class Element, class In>
using result_element =
    std::conditional_t<std::is_void_v<Element>, typename viewed_t<const In &>::value_type, Element>;

/* Refuses an output that cannot be written. X is the Out && of a call. It also refuses a
 * temporary that owns its elements, because the result would be lost with it. A type owns its
 * elements if they are const in a const object. */
template <class X> constexpr void must_be_written() noexcept
{
    using seen_as = std::conditional_t<std::is_lvalue_reference_v<X>, X, const std::decay_t<X> &>;
    static_assert(!std::is_const_v<typename viewed_t<seen_as>::element_type>,
                  "the output is const, or a temporary container that is gone after the call");
}

inline void print_sizes(const dims &sizes, char (&text)[80]) noexcept
{
    std::size_t length = 0;
    (void)std::snprintf(text, sizeof text, "%s", sizes.rank() == 0 ? "a scalar" : "");
    for (int d = 0; d < sizes.rank() && d < TALLY_MAX_RANK && length < sizeof text - 1; d++) {
        const int more = std::snprintf(text + length, sizeof text - length,
                                       d > 0 ? "x%lld" : "%lld", static_cast<long long>(sizes[d]));
        length += more > 0 ? static_cast<std::size_t>(more) : 0;
    }
}

inline result<void> same_type(const argument &a, dtype wanted, const char *whose) noexcept
{
    if (a.type == wanted)
        return {};
    return fail(status::invalid, "dtype", "%s holds %s, and %s is %s", a.name, name(a.type).data(),
                whose, name(wanted).data());
}

inline result<void> same_sizes(const argument &a, const dims &wanted, const char *whose) noexcept
{
    char has[80], needs[80];
    if (a.sizes == wanted)
        return {};
    print_sizes(a.sizes, has);
    print_sizes(wanted, needs);
    return fail(status::invalid, "sizes", "%s is %s, and %s is %s", a.name, has, whose, needs);
}

/* Checks that the rank is not too large and that there is a stride for each dim. */
inline result<void> whole(const argument &a) noexcept
{
    if (a.sizes.rank() > TALLY_MAX_RANK)
        return fail(status::invalid, "sizes", "%s has rank %d, and the most is %d", a.name,
                    a.sizes.rank(), TALLY_MAX_RANK);
    if (a.is_strided && a.strides.rank() != a.sizes.rank())
        return fail(status::invalid, a.name, "%d strides for the rank %d of %s", a.strides.rank(),
                    a.sizes.rank(), a.name);
    return {};
}

/* Checks that all elements are in the container. The descriptor was checked before, so int64 does
 * not overflow. */
inline result<void> within(const argument &a) noexcept
{
    std::int64_t low = 0, high = 0; /* from element (0, ..., 0) */
    for (int d = 0; d < a.sizes.rank(); d++) {
        if (a.sizes[d] == 0)
            return {};
        const std::int64_t reach = (a.sizes[d] - 1) * a.strides[d];
        (reach < 0 ? low : high) += reach;
    }
    if (a.room < 0)
        return {};
    if (a.before < 0 || a.before >= a.room)
        return fail(status::invalid, a.name,
                    "%s begins at element %lld, and its container has %lld", a.name,
                    static_cast<long long>(a.before), static_cast<long long>(a.room));
    low += a.before;
    high = high > INT64_MAX - a.before ? INT64_MAX : high + a.before;
    if (low >= 0 && high < a.room)
        return {};
    return fail(status::invalid, a.name,
                "%s reaches elements %lld to %lld, and its container has %lld", a.name,
                static_cast<long long>(low), static_cast<long long>(high),
                static_cast<long long>(a.room));
}

/* Copies a word and adds a terminating zero. */
inline result<void> terminate(std::string_view word, char (&text)[TALLY_WORD_MAX]) noexcept
{
    if (word.size() >= sizeof text || word.find('\0') != word.npos)
        return fail(status::invalid, "op", "the word has %zu characters, or a zero among them",
                    word.size());
    std::memcpy(text, word.data(), word.size());
    text[word.size()] = 0;
    return {};
}

} // namespace detail

/* ---- descriptors ---------------------------------------------------------------------------- */

/** The sizes and the dtype of a tensor. */
struct shape {
    dims sizes;
    dtype type = dtype::none;
};

/**
 * A descriptor: which operator is computed over which tensor (tally_descriptor). It is made from a
 * word, from a word and the tensors, or from operator, dtype and sizes. Functions that set an
 * option return the descriptor, so that calls can be chained:
 *
 *   tally::descriptor(tally::op::cumsum, tally::dtype::f32, { 3, 4 }).axis(1).exclusive()
 *
 * Setting an option never fails. check() and every function that uses the descriptor check the
 * rules (status::invalid).
 */
class descriptor {
public:
    /** Makes a descriptor without an operator. Every function that uses it refuses it. */
    descriptor() noexcept = default;
    descriptor(op what, dtype type, const dims &sizes) noexcept
    {
        raw_.op = static_cast<std::int32_t>(what);
        raw_.dtype = static_cast<std::int32_t>(type);
        raw_.rank = sizes.rank();
        std::copy(sizes.begin(), sizes.end(), raw_.sizes);
    }
    explicit descriptor(const tally_descriptor &raw) noexcept : raw_(raw) {}

    /** Parses a complete word, "cumprod:f32:3x4:axis=1" (docs/word.md): tally_descriptor_parse. */
    static result<descriptor> try_parse(std::string_view word) noexcept
    {
        char text[TALLY_WORD_MAX];
        detail::call_error error;
        descriptor made;
        const result<void> ended = detail::terminate(word, text);
        if (!ended)
            return ended.error();
        if (tally_descriptor_parse(text, &made.raw_, &error) != TALLY_OK)
            return failure(error);
        return made;
    }

    /**
     * Completes a word, such as "cumsum:axis=1", "mean:axes=0+2" or "sum", by its tensors. Dtypes,
     * sizes and strides are those of `in` and `out`. The word may repeat dtypes and sizes, but it
     * must not have in= or out=.
     *
     * `out` has the sizes of the result. Its dtype may be wider than the default dtype of the
     * result. If `in` or `out` is a container, its number of elements is checked. Returns
     * status::invalid, with a field of the word, if word and tensors do not fit.
     */
    template <class In, class Out>
    static result<descriptor> try_of(std::string_view word, const In &in, Out &&out) noexcept;

    /** Reads a description of DirectML's: tally_descriptor_from_dml. `what` is a DML_OPERATOR_DESC
     *  of DirectML.h, or the tally_dml_operator_desc of tally/directml.h. */
    template <class OperatorDesc>
    static result<descriptor> try_from_dml(const OperatorDesc &what,
                                           std::uint32_t level = 0) noexcept
    {
        const tally_dml_operator_desc raw = { static_cast<std::int32_t>(what.Type), what.Desc };
        detail::call_error error;
        descriptor made;
        if (tally_descriptor_from_dml(&raw, level, &made.raw_, &error) != TALLY_OK)
            return failure(error);
        return made;
    }

#if TALLY_EXCEPTIONS
    explicit descriptor(std::string_view word) : descriptor(try_parse(word).value()) {}
    explicit descriptor(const char *word) : descriptor(std::string_view(word)) {}
    template <class OperatorDesc>
    static descriptor from_dml(const OperatorDesc &what, std::uint32_t level = 0)
    {
        return try_from_dml(what, level).value();
    }
    template <class In, class Out>
    static descriptor of(std::string_view word, const In &in, Out &&out)
    {
        return try_of(word, in, out).value();
    }
#endif

    /** For scans: sets the axis; a negative one counts from the end. */
    descriptor &axis(int d) noexcept
    {
        raw_.axis = d;
        return *this;
    }
    /** For reductions: sets the axes, counted from 0. By default all axes are reduced. */
    descriptor &axes(const dims &which) noexcept
    {
        raw_.axes_given = 1;
        raw_.axes = 0;
        for (const std::int64_t d : which) /* an invalid one becomes 31, which check() refuses */
            raw_.axes |= 1u << (d >= 0 && d < TALLY_MAX_RANK ? d : 31);
        return *this;
    }
    /** Sets the dtype of the result, if it is not the operator's default. */
    descriptor &out(dtype type) noexcept
    {
        raw_.out_dtype = static_cast<std::int32_t>(type);
        return *this;
    }
    /** Sets the dtype of the accumulator: dtype::f64 accumulates f32, f16 and bf16 in f64. */
    descriptor &accumulate(dtype type) noexcept
    {
        raw_.acc = static_cast<std::int32_t>(type);
        return *this;
    }
    descriptor &order(tally::order how) noexcept
    {
        raw_.order = static_cast<std::int32_t>(how);
        return *this;
    }
    descriptor &exclusive(bool is = true) noexcept { return set(TALLY_EXCLUSIVE, is); }
    descriptor &reverse(bool is = true) noexcept { return set(TALLY_REVERSE, is); }
    descriptor &keepdims(bool is = true) noexcept { return set(TALLY_KEEPDIMS, is); }
    /** For argmax, argmin, cumargmax and cumargmin: among equal elements the last one wins. */
    descriptor &last(bool is = true) noexcept { return set(TALLY_LAST, is); }
    /** For max, min, argmax and argmin, and their scans: NaN are skipped. */
    descriptor &ignore_nan(bool is = true) noexcept { return set(TALLY_NAN_IGNORE, is); }
    /** Sets the expression of the value that is combined, such as "1-x" (docs/word.md). Text that
     * is
     *  too long is refused by check(). */
    descriptor &map(std::string_view expression) noexcept { return set(raw_.map, expression); }
    /** Sets the expression of the value that is stored, such as "x*y". */
    descriptor &post(std::string_view expression) noexcept { return set(raw_.post, expression); }
    /** Adds the next operand, a first, then b, c and d. It is packed like the input. A fifth
     * operand
     *  is refused by check(). */
    descriptor &operand(dtype type) noexcept
    {
        tally_operand *const next = next_operand();
        next->dtype = static_cast<std::int32_t>(type);
        return *this;
    }
    /** Adds the next operand, packed over the axes `which`, counted from 0, and the same along all
     *  others. Without axes, {}, it has one element. */
    descriptor &operand(dtype type, const dims &which) noexcept
    {
        tally_operand *const next = next_operand();
        next->dtype = static_cast<std::int32_t>(type);
        next->place = TALLY_PLACE_AXES;
        for (const std::int64_t d : which) /* an invalid one becomes 31, which check() refuses */
            next->axes |= 1u << (d >= 0 && d < TALLY_MAX_RANK ? d : 31);
        return *this;
    }
    /** Sets the place of the input's elements. `strides` has a number of elements for each dim.
     *  `offset` is the number of elements from the pointer of a run to element (0, ..., 0). By
     *  default the input is packed. */
    descriptor &in_strides(const dims &strides, std::int64_t offset = 0) noexcept
    {
        in_count_ = strides.rank();
        std::copy(strides.begin(), strides.end(), raw_.in_strides);
        raw_.in_offset = offset;
        return set(TALLY_IN_STRIDES, true);
    }
    /** Sets the place of the result's elements in the same way, with a stride for each of its
     *  dims. */
    descriptor &out_strides(const dims &strides, std::int64_t offset = 0) noexcept
    {
        out_count_ = strides.rank();
        std::copy(strides.begin(), strides.end(), raw_.out_strides);
        raw_.out_offset = offset;
        return set(TALLY_OUT_STRIDES, true);
    }

    /** Checks every rule: tally_descriptor_check. */
    result<void> try_check() const noexcept
    {
        const result<shape> made = try_output();
        return made ? result<void>() : result<void>(made.error());
    }
    /** Returns the canonical word: tally_descriptor_print. */
    result<std::string> try_word() const
    {
        char text[TALLY_WORD_MAX];
        std::size_t length = 0;
        detail::call_error error;
        const result<void> right = try_check();
        if (!right)
            return right.error();
        if (tally_descriptor_print(&raw_, text, sizeof text, &length, &error) != TALLY_OK)
            return failure(error);
        return std::string(text, length);
    }
    /** Returns the sizes and the dtype of the result: tally_descriptor_result. */
    result<shape> try_output() const noexcept
    {
        std::int32_t rank = 0;
        std::int64_t sizes[TALLY_MAX_RANK] = {};
        tally_dtype type = TALLY_DTYPE_NONE;
        detail::call_error error;
        if (tally_descriptor_result(&raw_, &rank, sizes, &type, &error) != TALLY_OK)
            return failure(error);
        if (in_count_ >= 0 && in_count_ != raw_.rank)
            return detail::fail(status::invalid, "in", "%d strides for the input's rank %d",
                                in_count_, static_cast<int>(raw_.rank));
        if (out_count_ >= 0 && out_count_ != rank)
            return detail::fail(status::invalid, "out", "%d strides for the output's rank %d",
                                out_count_, static_cast<int>(rank));
        return shape{ dims(sizes, rank), static_cast<dtype>(type) };
    }
    /** Returns the ranges of bytes in which the input (first) and the output (second) lie, counted
     *  from the pointers of a run: tally_descriptor_extent. */
    result<std::pair<tally_extent, tally_extent>> try_extent() const noexcept
    {
        std::pair<tally_extent, tally_extent> of{};
        detail::call_error error;
        const result<void> right = try_check();
        if (!right)
            return right.error();
        if (tally_descriptor_extent(&raw_, &of.first, &of.second, &error) != TALLY_OK)
            return failure(error);
        return of;
    }
    /** Returns the words that compute the gradient, and where their tensors come from:
     *  tally_gradient. */
    result<std::vector<tally_gradient_step>> try_gradient(tally_source wrt = TALLY_SOURCE_X) const
    {
        std::size_t count = 0;
        detail::call_error error;
        const result<void> right = try_check();
        if (!right)
            return right.error();
        if (tally_gradient(&raw_, wrt, nullptr, 0, &count, &error) != TALLY_OK)
            return failure(error);
        std::vector<tally_gradient_step> steps(count);
        steps[0].size = sizeof steps[0];
        if (tally_gradient(&raw_, wrt, steps.data(), count, &count, &error) != TALLY_OK)
            return failure(error);
        return steps;
    }
#if TALLY_EXCEPTIONS
    void check() const { try_check().value(); }
    std::string word() const { return try_word().value(); }
    shape output() const { return try_output().value(); }
    std::pair<tally_extent, tally_extent> extent() const { return try_extent().value(); }
    std::vector<tally_gradient_step> gradient(tally_source wrt = TALLY_SOURCE_X) const
    {
        return try_gradient(wrt).value();
    }
#endif

    /** Returns the descriptor for the C interface. */
    const tally_descriptor &raw() const noexcept { return raw_; }

private:
    descriptor &set(std::uint32_t flag, bool is) noexcept
    {
        raw_.flags = is ? raw_.flags | flag : raw_.flags & ~flag;
        return *this;
    }
    /* Text that is too long fills the field, and lacks the zero that check() asks for. */
    descriptor &set(char (&field)[TALLY_EXPRESSION_MAX], std::string_view text) noexcept
    {
        std::memset(field, 0, sizeof field);
        std::copy_n(text.data(), std::min(text.size(), sizeof field), field);
        return *this;
    }
    /* A fifth operand makes the fourth one wrong. */
    tally_operand *next_operand() noexcept
    {
        tally_operand *next = raw_.operands, *const last = next + TALLY_MAX_OPERANDS - 1;
        while (next < last && next->dtype != 0)
            next++;
        next->reserved = next->dtype != 0 ? 1 : 0;
        return next;
    }

    tally_descriptor raw_ = TALLY_DESCRIPTOR_INIT;
    int in_count_ = -1, out_count_ = -1; /* number of strides that were given; -1: none were */
};

namespace detail {

/* Input or output of a descriptor that was checked, and of its kernels. */
struct facts {
    dtype type = dtype::none;
    dims sizes, strides;
    std::int64_t offset = 0;
};

/* Those of a kernel; of dtype::none where there is no such operand. */
struct operand_facts {
    facts all[TALLY_MAX_OPERANDS];
};

/* Packed tensors beside the operands: offsets, or the two of a carry, which are the same. */
struct packed_facts {
    std::int32_t which = 0; /* of a carry TALLY_CARRY_..., of offsets 1; 0: there is none */
    dtype type = dtype::none;
    std::int64_t count = 0;
};

inline packed_facts offsets_of(const tally_descriptor &d) noexcept
{
    if (d.segment_dtype == 0)
        return {};
    return { 1, static_cast<dtype>(d.segment_dtype), d.segments + 1 };
}

inline packed_facts carry_of(const tally_descriptor &d) noexcept
{
    std::int64_t sizes[TALLY_MAX_CARRY_RANK] = {};
    std::int32_t rank = 0;
    tally_dtype type = TALLY_DTYPE_NONE;
    if (d.carry == 0 || tally_descriptor_carry(&d, &rank, sizes, &type, nullptr) != TALLY_OK)
        return {};
    std::int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= sizes[i];
    return { d.carry, static_cast<dtype>(type), count };
}

inline facts input_of(const tally_descriptor &d) noexcept
{
    const dims sizes(d.sizes, d.rank);
    const bool is_strided = (d.flags & TALLY_IN_STRIDES) != 0;
    return { static_cast<dtype>(d.dtype), sizes,
             is_strided ? dims(d.in_strides, d.rank) : sizes.packed(),
             is_strided ? d.in_offset : 0 };
}

inline facts output_of(const tally_descriptor &d, const shape &result) noexcept
{
    const bool is_strided = (d.flags & TALLY_OUT_STRIDES) != 0;
    return { result.type, result.sizes,
             is_strided ? dims(d.out_strides, result.sizes.rank()) : result.sizes.packed(),
             is_strided ? d.out_offset : 0 };
}

/* An operand that is packed over some axes has their sizes alone. */
inline facts operand_of(const tally_descriptor &d, int which) noexcept
{
    const tally_operand &o = d.operands[which];
    std::int64_t sizes[TALLY_MAX_RANK] = {};
    int rank = 0;
    for (int i = 0; i < d.rank; i++) {
        if (o.place != TALLY_PLACE_AXES || (o.axes >> i & 1) != 0)
            sizes[rank++] = d.sizes[i];
    }
    const dims kept(sizes, rank);
    const bool is_strided = o.place == TALLY_PLACE_STRIDES;
    return { static_cast<dtype>(o.dtype), kept, is_strided ? dims(o.strides, rank) : kept.packed(),
             is_strided ? o.offset : 0 };
}

/* Checks that a tensor fits a kernel. The stride of a dim of size 1 does not matter. */
inline result<void> fits(const argument &a, const facts &wanted) noexcept
{
    result<void> right = whole(a);
    if (right)
        right = same_type(a, wanted.type, "the kernel's");
    if (right)
        right = same_sizes(a, wanted.sizes, "the kernel's");
    if (!right || a.sizes.count() == 0)
        return right;
    for (int d = 0; d < a.sizes.rank(); d++) {
        if (a.sizes[d] > 1 && a.strides[d] != wanted.strides[d])
            return fail(status::invalid, a.name,
                        "stride %lld of axis %d of %s, and the kernel's is %lld",
                        static_cast<long long>(a.strides[d]), d, a.name,
                        static_cast<long long>(wanted.strides[d]));
    }
    return within(a);
}

/* Checks a packed tensor, which has as many elements as the kernel wants. */
inline result<void> fits(const argument &a, const packed_facts &wanted) noexcept
{
    result<void> right = whole(a);
    if (right)
        right = same_type(a, wanted.type, "the kernel's");
    if (right && a.sizes.count() != wanted.count)
        right = fail(status::invalid, "sizes", "%s has %lld elements, and the kernel's has %lld",
                     a.name, static_cast<long long>(a.sizes.count()),
                     static_cast<long long>(wanted.count));
    if (!right || wanted.count == 0)
        return right;
    const dims packed = a.sizes.packed();
    for (int d = 0; d < a.sizes.rank(); d++) {
        if (a.sizes[d] > 1 && a.strides[d] != packed[d])
            return fail(status::invalid, a.name, "%s is not packed", a.name);
    }
    return within(a);
}

/* Returns the pointer that the descriptor's offset counts from. NULL stays NULL, so that the run
 * can refuse it. */
template <class T> T *origin(T *first, std::int64_t offset) noexcept
{
    if (first == nullptr)
        return nullptr;
    const auto bytes = static_cast<std::uintptr_t>(offset) * sizeof(T);
    return reinterpret_cast<T *>(reinterpret_cast<std::uintptr_t>(first) - bytes);
}

inline result<void> complete(std::string_view word, const argument &in,
                             tally_descriptor &d) noexcept
{
    char text[TALLY_WORD_MAX], full[TALLY_WORD_MAX];
    detail::call_error error;
    result<void> right = terminate(word, text);
    if (right)
        right = whole(in);
    if (!right)
        return right;
    if (tally_word_complete(text, name(in.type).data(), in.sizes.rank(), in.sizes.data(), full,
                            sizeof full, nullptr, nullptr, &error) != TALLY_OK ||
        tally_descriptor_parse(full, &d, &error) != TALLY_OK)
        return failure(error);
    if ((d.flags & (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)) != 0)
        return fail(status::invalid, d.flags & TALLY_IN_STRIDES ? "in" : "out",
                    "the tensors say where their elements lie, so the word must not");
    right = same_type(in, static_cast<dtype>(d.dtype), "the word's");
    return right ? same_sizes(in, dims(d.sizes, d.rank), "the word's") : right;
}

/* Sets the dtype of the result, if it is not the default. */
inline result<void> widen(std::string_view word, const char *side, dtype type,
                          tally_descriptor &d) noexcept
{
    tally_dtype made = TALLY_DTYPE_NONE;
    detail::call_error error;
    if (tally_descriptor_result(&d, nullptr, nullptr, &made, &error) != TALLY_OK)
        return failure(error);
    if (static_cast<dtype>(made) == type)
        return {};
    if (word.find('>') != word.npos)
        return fail(status::invalid, "dtype", "%s holds %s, and the word's result is %s", side,
                    name(type).data(), tally_dtype_name(made));
    d.out_dtype = static_cast<std::int32_t>(type);
    return {};
}

inline void set_strides(const argument &a, std::uint32_t flag, std::int64_t *strides,
                        tally_descriptor &d) noexcept
{
    if (a.is_strided) {
        d.flags |= flag;
        for (int k = 0; k < a.strides.rank(); k++)
            strides[k] = a.strides[k];
    }
}

/* Completes a word by its input, and by the dtype of its output, unless that is none. */
inline result<descriptor> describe(std::string_view word, const argument &in, dtype out) noexcept
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    detail::call_error error;
    result<void> right = complete(word, in, d);
    if (right && out != dtype::none)
        right = widen(word, "out", out, d);
    if (!right)
        return right.error();
    set_strides(in, TALLY_IN_STRIDES, d.in_strides, d);
    if (tally_descriptor_check(&d, &error) != TALLY_OK)
        return failure(error);
    right = within(in);
    return right ? result<descriptor>(descriptor(d)) : right.error();
}

inline result<descriptor> describe(std::string_view word, const argument &in,
                                   const argument &out) noexcept
{
    detail::call_error error;
    const result<void> right = whole(out);
    if (!right)
        return right.error();
    const result<descriptor> made = describe(word, in, out.type);
    if (!made)
        return made;
    const result<shape> output = made->try_output();
    if (!output)
        return output.error();
    const result<void> same = same_sizes(out, output->sizes, "the result");
    if (!same)
        return same.error();
    tally_descriptor d = made->raw();
    set_strides(out, TALLY_OUT_STRIDES, d.out_strides, d);
    if (tally_descriptor_check(&d, &error) != TALLY_OK)
        return failure(error);
    const result<void> holds = within(out);
    return holds ? result<descriptor>(descriptor(d)) : holds.error();
}

} // namespace detail

template <class In, class Out>
result<descriptor> descriptor::try_of(std::string_view word, const In &in, Out &&out) noexcept
{
    return detail::describe(word, detail::access::of("in", detail::viewed(in)),
                            detail::access::of("out", detail::viewed(out)));
}

/* ---- kernels -------------------------------------------------------------------------------- */

/** How a kernel is made: tally_kernel_options. Strings are borrowed until the call returns. */
struct kernel_options {
    const char *device = nullptr;  /**< "cpu", "cpu:x86-64-v2", "vulkan", ...; nullptr: this CPU */
    const char *plan = nullptr;    /**< overrides, "key=value,key=value"; nullptr: none */
    const char *profile = nullptr; /**< text that describes a Vulkan device; for warm, supports */
};

/** How one run is done: tally_run_options. The result does not depend on it. */
struct run_options {
    int threads = 0; /**< most threads; 0: the context's */
    tally_parallel_for parallel = nullptr;
    void *parallel_user = nullptr;
};

namespace detail {

/* A context with a count of the handles that share it. */
class shared_context {
public:
    shared_context() noexcept = default;
    shared_context(const shared_context &other) noexcept : shared_(other.shared_)
    {
        if (shared_ != nullptr)
            shared_->handles.fetch_add(1, std::memory_order_relaxed);
    }
    shared_context(shared_context &&other) noexcept : shared_(std::exchange(other.shared_, nullptr))
    {
    }
    shared_context &operator=(shared_context other) noexcept
    {
        std::swap(shared_, other.shared_);
        return *this;
    }
    ~shared_context()
    {
        if (shared_ != nullptr && shared_->handles.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            tally_context_destroy(&shared_->context);
            delete shared_;
        }
    }

    result<void> create(const tally_context_options &options) noexcept
    {
        detail::call_error error;
        shared_ = new (std::nothrow) shared;
        if (shared_ == nullptr)
            return no_memory("a context");
        return done(tally_context_create(&options, &shared_->context, &error), error);
    }
    tally_context *get() const noexcept { return shared_ != nullptr ? shared_->context : nullptr; }

private:
    struct shared {
        std::atomic<std::size_t> handles{ 1 };
        tally_context *context = nullptr;
    };
    shared *shared_ = nullptr;
};

inline failure empty_handle(const char *what) noexcept
{
    return fail(status::invalid, "usage", "the %s is empty: made by default, or moved from", what);
}

inline tally_kernel_options raw_of(const kernel_options &from) noexcept
{
    tally_kernel_options raw = TALLY_KERNEL_OPTIONS_INIT;
    raw.device = from.device;
    raw.plan = from.plan;
    raw.profile = from.profile;
    return raw;
}

inline tally_run_options raw_of(const run_options &from) noexcept
{
    tally_run_options raw = TALLY_RUN_OPTIONS_INIT;
    raw.threads = from.threads;
    raw.parallel = from.parallel;
    raw.parallel_user = from.parallel_user;
    return raw;
}

} // namespace detail

/**
 * The operands of a run, a first, then b, c and d: views, tensors or containers. An operand that is
 * packed over some axes has the sizes of these axes; one element is a tally::scalar. Nothing is
 * copied: the tensors must be there until the run has ended.
 *
 *   kernel.run(x, tally::operands(mask, scale), y);
 *
 * The states of a carry are added by carry_in and carry_out. They are packed, and may leave out
 * the axis: one state of one scan is a tally::scalar or an array of one element. Both may be the
 * same tensor. Without carry_in a scan begins from nothing.
 *
 *   kernel.run(x, tally::operands().carry_in(state).carry_out(state), y);
 *
 * The offsets of a word with segments are added by offsets: one more than there are segments.
 *
 *   kernel.run(x, tally::operands().offsets(offsets), y);
 */
class operands {
public:
    operands() noexcept = default;
    template <class... Each,
              std::enable_if_t<(detail::is_tensor_like<const Each &> && ...), int> = 0>
    explicit operands(const Each &...each) noexcept
    {
        static_assert(sizeof...(Each) <= TALLY_MAX_OPERANDS, "a word has at most four operands");
        (add(detail::viewed(each)), ...);
    }
    int count() const noexcept { return count_; }

    /** Sets where segments begin, and the last one ends. */
    template <class Offsets> operands &offsets(const Offsets &offsets) noexcept
    {
        set(offsets_, detail::viewed(offsets));
        return *this;
    }
    /** Sets the states that the scan begins with. */
    template <class States> operands &carry_in(const States &states) noexcept
    {
        set(carry_in_, detail::viewed(states));
        return *this;
    }
    /** Sets where the scan stores its last states. */
    template <class States> operands &carry_out(States &&states) noexcept
    {
        detail::must_be_written<States &&>();
        const auto seen = detail::viewed(states);
        set(carry_out_, seen);
        made_ = seen.data();
        return *this;
    }

private:
    friend class kernel;

    template <class T> void add(const view<T> &each) noexcept { set(all_[count_++], each); }

    /* A view of any element type. */
    struct one {
        dtype type = dtype::none;
        dims sizes, strides;
        std::int64_t room = 0, before = 0;
        bool is_strided = false;
        const void *data = nullptr;
    };

    template <class T> static void set(one &to, const view<T> &from) noexcept
    {
        const detail::argument a = detail::access::of("", from);
        to = { a.type, a.sizes, a.strides, a.room, a.before, a.is_strided, from.data() };
    }

    static detail::argument argument_of(const char *name, const one &o) noexcept
    {
        return { name, o.type, o.sizes, o.strides, o.room, o.before, o.is_strided };
    }

    bool is_empty() const noexcept
    {
        return count_ == 0 && offsets_.type == dtype::none && carry_in_.type == dtype::none &&
               carry_out_.type == dtype::none;
    }

    int count_ = 0;
    one all_[TALLY_MAX_OPERANDS];
    one offsets_, carry_in_, carry_out_; /* of dtype::none: not set */
    void *made_ = nullptr;               /* the elements of carry_out_ */
};

/**
 * A kernel. A context makes it for one descriptor, and it runs on any tensors of that descriptor's
 * dtypes, sizes and strides. It is movable and destroys itself. Many threads may call its functions
 * at once, on different outputs, except move, assignment and destructor.
 */
class kernel {
public:
    /** Makes an empty handle. */
    kernel() noexcept = default;
    kernel(kernel &&other) noexcept
        : context_(std::move(other.context_)), kernel_(std::exchange(other.kernel_, nullptr)),
          in_(std::exchange(other.in_, {})), out_(std::exchange(other.out_, {})),
          operands_(std::exchange(other.operands_, {})),
          offsets_(std::exchange(other.offsets_, {})), carry_(std::exchange(other.carry_, {}))
    {
    }
    kernel &operator=(kernel &&other) noexcept
    {
        if (this != &other) {
            tally_kernel_destroy(&kernel_);
            context_ = std::move(other.context_);
            kernel_ = std::exchange(other.kernel_, nullptr);
            in_ = std::exchange(other.in_, {});
            out_ = std::exchange(other.out_, {});
            operands_ = std::exchange(other.operands_, {});
            offsets_ = std::exchange(other.offsets_, {});
            carry_ = std::exchange(other.carry_, {});
        }
        return *this;
    }
    ~kernel() { tally_kernel_destroy(&kernel_); /* the kernel first, then its context */ }

    /** Returns false for an empty handle. */
    explicit operator bool() const noexcept { return kernel_ != nullptr; }

    /**
     * Runs the kernel on tensors in host memory and blocks until the result is there:
     * tally_kernel_run_with. `in` and `out` are views, tensors or containers of the kernel's
     * dtypes, sizes and strides. Otherwise the call returns status::invalid and has written
     * nothing. For a scan both may be the same tensor.
     */
    template <class In, class Out>
    result<void> try_run(const In &in, Out &&out, const run_options &options = {}) const noexcept
    {
        detail::must_be_written<Out &&>();
        return run_views(detail::viewed(in), operands(), detail::viewed(out), options);
    }
    /** The same for kernels with operands, offsets or a carry. Their tensors are checked as the
     *  input is, and none may overlap the output. */
    template <class In, class Out>
    result<void> try_run(const In &in, const operands &with, Out &&out,
                         const run_options &options = {}) const noexcept
    {
        detail::must_be_written<Out &&>();
        return run_views(detail::viewed(in), with, detail::viewed(out), options);
    }
    /** Runs a scan in place: its result replaces its input. */
    template <class InOut>
    result<void> try_run_in_place(InOut &&x, const run_options &options = {}) const noexcept
    {
        detail::must_be_written<InOut &&>();
        return run_views(detail::viewed(x), operands(), detail::viewed(x), options);
    }
    /** Runs the kernel on all the pointers that it takes, without checking the tensors:
     *  tally_kernel_run_buffers. Set `buffers.size` to sizeof(tally_buffers). */
    result<void> try_run_buffers(const tally_buffers &buffers,
                                 const run_options &options = {}) const noexcept
    {
        detail::call_error error;
        if (kernel_ == nullptr)
            return detail::empty_handle("kernel");
        const tally_run_options raw = detail::raw_of(options);
        return detail::done(tally_kernel_run_buffers(kernel_, &buffers, &raw, &error), error);
    }
    /** Runs the kernel without checking the tensors, which is the fastest way. The descriptor's
     *  offsets count from these pointers. The caller must make sure that dtypes, sizes and strides
     *  are right. */
    result<void> try_run_unchecked(const void *in, void *out,
                                   const run_options &options = {}) const noexcept
    {
        detail::call_error error;
        if (kernel_ == nullptr)
            return detail::empty_handle("kernel");
        if (options.threads == 0 && options.parallel == nullptr)
            return detail::done(tally_kernel_run(kernel_, in, out, &error), error);
        const tally_run_options raw = detail::raw_of(options);
        return detail::done(tally_kernel_run_with(kernel_, in, out, &raw, &error), error);
    }
    /** Returns the canonical word: tally_kernel_word. */
    result<std::string> try_word() const
    {
        char text[TALLY_WORD_MAX];
        std::size_t length = 0;
        detail::call_error error;
        if (kernel_ == nullptr)
            return detail::empty_handle("kernel");
        if (tally_kernel_word(kernel_, text, sizeof text, &length, &error) != TALLY_OK)
            return failure(error);
        return std::string(text, length);
    }
#if TALLY_EXCEPTIONS
    template <class In, class Out>
    void run(const In &in, Out &&out, const run_options &options = {}) const
    {
        try_run(in, out, options).value();
    }
    template <class In, class Out>
    void run(const In &in, const operands &with, Out &&out, const run_options &options = {}) const
    {
        try_run(in, with, out, options).value();
    }
    void run_buffers(const tally_buffers &buffers, const run_options &options = {}) const
    {
        try_run_buffers(buffers, options).value();
    }
    template <class InOut> void run_in_place(InOut &&x, const run_options &options = {}) const
    {
        try_run_in_place(x, options).value();
    }
    void run_unchecked(const void *in, void *out, const run_options &options = {}) const
    {
        try_run_unchecked(in, out, options).value();
    }
    std::string word() const { return try_word().value(); }
#endif

    /** Return the sizes and the dtype of the input and of the output; the dtype of an empty handle
     *  is dtype::none. */
    shape input() const noexcept { return { in_.sizes, in_.type }; }
    shape output() const noexcept { return { out_.sizes, out_.type }; }

    /** Returns the handle for the C interface, or nullptr if this one is empty. It still belongs to
     *  this object. */
    tally_kernel *get() const noexcept { return kernel_; }

private:
    friend class context;

    int operand_count() const noexcept
    {
        int count = 0;
        while (count < TALLY_MAX_OPERANDS && operands_.all[count].type != dtype::none)
            count++;
        return count;
    }

    result<void> fit(const operands &with) const noexcept
    {
        const int count = operand_count();
        if (with.count_ != count)
            return detail::fail(status::invalid,
                                detail::operand_names[std::min(with.count_, count)],
                                "%d operands, and the kernel has %d", with.count_, count);
        result<void> right;
        for (int i = 0; i < count && right; i++)
            right = detail::fits(operands::argument_of(detail::operand_names[i], with.all_[i]),
                                 operands_.all[i]);
        if (right)
            right = fit_packed("offsets", 1, with.offsets_, offsets_);
        if (right)
            right = fit_packed("carry_in", TALLY_CARRY_IN, with.carry_in_, carry_);
        return right ? fit_packed("carry_out", TALLY_CARRY_OUT, with.carry_out_, carry_) : right;
    }

    static result<void> fit_packed(const char *name, std::int32_t which, const operands::one &given,
                                   const detail::packed_facts &wanted) noexcept
    {
        if (given.type == dtype::none)
            return {}; /* the library knows whether it may be missing */
        if ((wanted.which & which) == 0)
            return detail::fail(status::invalid, name, "the kernel's word does not name %s", name);
        return detail::fits(operands::argument_of(name, given), wanted);
    }

    template <class T, class U>
    result<void> run_views(const view<T> &in, const operands &with, const view<U> &out,
                           const run_options &options) const noexcept
    {
        result<void> right = kernel_ != nullptr ? detail::fits(detail::access::of("in", in), in_)
                                                : result<void>(detail::empty_handle("kernel"));
        if (right)
            right = detail::fits(detail::access::of("out", out), out_);
        if (right)
            right = fit(with);
        if (!right)
            return right;
        const T *const first = detail::origin(in.data(), in_.offset);
        if (with.is_empty())
            return try_run_unchecked(first, detail::origin(out.data(), out_.offset), options);
        tally_buffers buffers = {};
        buffers.size = sizeof buffers;
        buffers.in = first;
        buffers.out = detail::origin(out.data(), out_.offset);
        for (int i = 0; i < with.count_; i++) {
            const auto bytes = static_cast<std::int64_t>(bytes_of(operands_.all[i].type));
            buffers.operand[i] = detail::origin(static_cast<const char *>(with.all_[i].data),
                                                operands_.all[i].offset * bytes);
        }
        buffers.offsets = with.offsets_.data;
        buffers.carry_in = with.carry_in_.data;
        buffers.carry_out = with.made_;
        return try_run_buffers(buffers, options);
    }

    detail::shared_context context_;
    tally_kernel *kernel_ = nullptr;
    detail::facts in_, out_;
    detail::operand_facts operands_;
    detail::packed_facts offsets_, carry_;
};

/* ---- contexts ------------------------------------------------------------------------------- */

/**
 * The kernels of all steps of a gradient: tally_gradient_kernel. It is movable and destroys itself.
 * Many threads may call its functions at once, on different results, except move, assignment and
 * destructor.
 */
class gradient_kernel {
public:
    /** Makes an empty handle. */
    gradient_kernel() noexcept = default;
    gradient_kernel(gradient_kernel &&other) noexcept
        : context_(std::move(other.context_)), kernel_(std::exchange(other.kernel_, nullptr))
    {
    }
    gradient_kernel &operator=(gradient_kernel &&other) noexcept
    {
        if (this != &other) {
            tally_gradient_kernel_destroy(&kernel_);
            context_ = std::move(other.context_);
            kernel_ = std::exchange(other.kernel_, nullptr);
        }
        return *this;
    }
    ~gradient_kernel() { tally_gradient_kernel_destroy(&kernel_); }

    /** Returns false for an empty handle. */
    explicit operator bool() const noexcept { return kernel_ != nullptr; }

    /** Computes the gradient: tally_gradient_kernel_run, which checks pointers and no sizes. Set
     *  `buffers.size` to sizeof(tally_gradient_buffers). */
    result<void> try_run(const tally_gradient_buffers &buffers,
                         const run_options &options = {}) const noexcept
    {
        detail::call_error error;
        if (kernel_ == nullptr)
            return detail::empty_handle("gradient's kernel");
        const tally_run_options raw = detail::raw_of(options);
        return detail::done(tally_gradient_kernel_run(kernel_, &buffers, &raw, &error), error);
    }
#if TALLY_EXCEPTIONS
    void run(const tally_gradient_buffers &buffers, const run_options &options = {}) const
    {
        try_run(buffers, options).value();
    }
#endif

    /** Returns what a run reads, a bit 1 << tally_source for each tensor: what a host keeps from
     *  the forward run. */
    std::uint32_t reads() const noexcept { return tally_gradient_kernel_reads(kernel_); }
    /** Returns what a run is faster with, as bits: y, where it spares a step, or nothing. */
    std::uint32_t gains() const noexcept { return tally_gradient_kernel_gains(kernel_); }
    /** Returns the bytes between the steps, on each thread of a run that has only what it reads. */
    std::size_t memory() const noexcept { return tally_gradient_kernel_memory(kernel_); }

    /** Returns the handle for the C interface, or nullptr if this one is empty. It still belongs to
     *  this object. */
    tally_gradient_kernel *get() const noexcept { return kernel_; }

private:
    friend class context;

    detail::shared_context context_; /* destroyed behind the kernel */
    tally_gradient_kernel *kernel_ = nullptr;
};

/** The options of a context: tally_context_options explains each field. Strings are borrowed until
 *  the context is made. Functions and the pointers that are passed to them must live as long as the
 *  context. */
struct context_options {
    int threads = 0;
    std::uint32_t cache_kernels = 0;
    tally::compile compile = tally::compile::wait;
    const char *cache_folder = nullptr;
    const char *generator = nullptr;
    std::uint32_t isolate = 0; /**< milliseconds for the helper process; 0: not used */
    tally_parallel_for parallel = nullptr;
    void *parallel_user = nullptr;
    tally_cache_load cache_load = nullptr;
    tally_cache_save cache_save = nullptr;
    void *cache_user = nullptr;
    tally_log log = nullptr;
    void *log_user = nullptr;
    std::uint32_t log_level = 0; /**< a tally_log_level */
};

/**
 * A context: the kernels that were made, and the threads that run them. One context serves a whole
 * program. It is movable. Many threads may call its functions at once, except move, assignment and
 * destructor.
 */
class context {
public:
    /** Makes a context: tally_context_create. It opens no library and starts no thread until it
     *  needs them. */
    static result<context> try_create(const context_options &options = {}) noexcept
    {
        context made(nullptr);
        const result<void> right = made.context_.create(raw_of(options));
        if (!right)
            return right.error();
        return made;
    }
#if TALLY_EXCEPTIONS
    explicit context(const context_options &options = {}) : context(try_create(options).value()) {}
#endif
    context(context &&) noexcept = default;
    context &operator=(context &&) noexcept = default;
    ~context() = default;

    /** Returns false for a handle that was moved from. */
    explicit operator bool() const noexcept { return get() != nullptr; }

    /* -- running a word -- */

    /**
     * Computes `out` from `in`. The word leaves out what the tensors tell: "cumprod:axis=1",
     * "sum:axes=0", "argmax". descriptor::try_of has the rules for the word; tally_kernel_create
     * and tally_kernel_run have all others.
     *
     * The first call for a problem makes the kernel, in tens of milliseconds, and later calls find
     * it. A program that calls often should make a kernel object, which saves the search.
     */
    template <class In, class Out, std::enable_if_t<detail::is_tensor_like<Out &>, int> = 0>
    result<void> try_run(std::string_view word, const In &in, Out &&out,
                         const kernel_options &options = {}) const noexcept
    {
        detail::must_be_written<Out &&>();
        const auto x = detail::viewed(in);
        const auto y = detail::viewed(out);
        const result<descriptor> what = detail::describe(word, detail::access::of("in", x),
                                                         detail::access::of("out", y));
        return what ? run_once(*what, x.data(), y.data(), options) : result<void>(what.error());
    }
    /** Computes a new tensor from `in`, in the same way. Its element type is that of the input, or
     *  Element if it is given, as in run<std::int64_t>("argmax", x). */
    template <class Element = void, class In>
    auto try_run(std::string_view word, const In &in,
                 const kernel_options &options = {}) const noexcept
        -> result<tensor<detail::result_element<Element, In>>>
    {
        using made_of = detail::result_element<Element, In>;
        const auto x = detail::viewed(in);
        const result<descriptor> what = detail::describe(word, detail::access::of("in", x),
                                                         dtype_of_v<made_of>);
        if (!what)
            return what.error();
        const result<shape> output = what->try_output();
        if (!output)
            return output.error();
        result<tensor<made_of>> made = tensor<made_of>::try_create(output->sizes);
        const result<void> right = made ? run_once(*what, x.data(), made->data(), options)
                                        : result<void>(made.error());
        return right ? std::move(made) : result<tensor<made_of>>(right.error());
    }
    /** The same for words with operands. The word says their dtypes and places, as in
     *  "cumsum:axis=1,a=f32/0,map=x*a"; those without a dtype have the input's. */
    template <class In, class Out, std::enable_if_t<detail::is_tensor_like<Out &>, int> = 0>
    result<void> try_run(std::string_view word, const In &in, const operands &with, Out &&out,
                         const kernel_options &options = {}) const noexcept
    {
        const result<kernel> made = try_make(word, in, out, options);
        return made ? made->try_run(in, with, out) : result<void>(made.error());
    }
    /** Computes a new tensor from `in` and operands, in the same ways. What lies in no segment of a
     *  scan is 0. */
    template <class Element = void, class In>
    auto try_run(std::string_view word, const In &in, const operands &with,
                 const kernel_options &options = {}) const noexcept
        -> result<tensor<detail::result_element<Element, In>>>
    {
        using made_of = detail::result_element<Element, In>;
        const result<descriptor> what = detail::describe(
            word, detail::access::of("in", detail::viewed(in)), dtype_of_v<made_of>);
        const result<kernel> k = what ? try_make(*what, options) : result<kernel>(what.error());
        if (!k)
            return k.error();
        result<tensor<made_of>> made = tensor<made_of>::try_create(k->output().sizes);
        if (made && k->offsets_.which != 0)
            std::fill(made->begin(), made->end(), made_of());
        const result<void> right = made ? k->try_run(in, with, *made) : result<void>(made.error());
        return right ? std::move(made) : result<tensor<made_of>>(right.error());
    }
    /** Runs a scan in place: its result replaces its input. */
    template <class InOut>
    result<void> try_run_in_place(std::string_view word, InOut &&x,
                                  const kernel_options &options = {}) const noexcept
    {
        return try_run(word, x, x, options);
    }

    /* -- kernels -- */

    /** Makes the kernel for a descriptor: tally_kernel_create. */
    result<kernel> try_make(const descriptor &what,
                            const kernel_options &options = {}) const noexcept
    {
        const tally_kernel_options raw = detail::raw_of(options);
        detail::call_error error;
        kernel made;
        if (get() == nullptr)
            return detail::empty_handle("context");
        const result<shape> output = what.try_output();
        if (!output)
            return output.error();
        if (tally_kernel_create(get(), &what.raw(), &raw, &made.kernel_, &error) != TALLY_OK)
            return failure(error);
        made.context_ = context_;
        made.in_ = detail::input_of(what.raw());
        made.out_ = detail::output_of(what.raw(), *output);
        for (int i = 0; i < TALLY_MAX_OPERANDS && what.raw().operands[i].dtype != 0; i++)
            made.operands_.all[i] = detail::operand_of(what.raw(), i);
        made.offsets_ = detail::offsets_of(what.raw());
        made.carry_ = detail::carry_of(what.raw());
        return made;
    }
    /** Makes the kernel for a complete word, "cumprod:f32:3x4:axis=1". */
    result<kernel> try_make(std::string_view word,
                            const kernel_options &options = {}) const noexcept
    {
        const result<descriptor> what = descriptor::try_parse(word);
        return what ? try_make(*what, options) : result<kernel>(what.error());
    }
    /** Makes the kernel for a word that the tensors complete, as descriptor::try_of. The elements
     *  of the tensors are neither read nor written. */
    template <class In, class Out, std::enable_if_t<detail::is_tensor_like<Out &>, int> = 0>
    result<kernel> try_make(std::string_view word, const In &in, Out &&out,
                            const kernel_options &options = {}) const noexcept
    {
        const result<descriptor> what = descriptor::try_of(word, in, out);
        return what ? try_make(*what, options) : result<kernel>(what.error());
    }
    /** Makes the kernels for a descriptor's gradient with respect to one of its tensors:
     *  tally_gradient_kernel_create. */
    result<gradient_kernel> try_make_gradient(const descriptor &what,
                                              tally_source wrt = TALLY_SOURCE_X,
                                              const kernel_options &options = {}) const noexcept
    {
        const tally_kernel_options raw = detail::raw_of(options);
        detail::call_error error;
        gradient_kernel made;
        if (get() == nullptr)
            return detail::empty_handle("context");
        const result<void> right = what.try_check();
        if (!right)
            return right.error();
        if (tally_gradient_kernel_create(get(), &what.raw(), wrt, &raw, &made.kernel_, &error) !=
            TALLY_OK)
            return failure(error);
        made.context_ = context_;
        return made;
    }
    /** Tests whether there is a kernel, without making it: tally_context_supports. If there is
     *  none, the failure says why. */
    result<void> try_supports(const descriptor &what,
                              const kernel_options &options = {}) const noexcept
    {
        const tally_kernel_options raw = detail::raw_of(options);
        detail::call_error error;
        if (get() == nullptr)
            return detail::empty_handle("context");
        const result<void> right = what.try_check();
        return right ? detail::done(tally_context_supports(get(), &what.raw(), &raw, &error), error)
                     : right;
    }
    /** Returns true if there is a kernel. */
    bool supports(const descriptor &what, const kernel_options &options = {}) const noexcept
    {
        return try_supports(what, options).has_value();
    }
    /** Makes the kernels for all descriptors of a range, on all threads of the context:
     *  tally_context_warm. */
    template <class Range>
    result<void> try_warm(const Range &descriptors, const kernel_options &options = {}) const
    {
        std::vector<tally_descriptor> all;
        const tally_kernel_options raw = detail::raw_of(options);
        detail::call_error error;
        if (get() == nullptr)
            return detail::empty_handle("context");
        for (const descriptor &each : descriptors) {
            const result<void> right = each.try_check();
            if (!right)
                return right;
            all.push_back(each.raw());
        }
        return detail::done(tally_context_warm(get(), all.data(), all.size(), &raw, &error), error);
    }
    result<void> try_warm(std::initializer_list<descriptor> descriptors,
                          const kernel_options &options = {}) const
    {
        return try_warm<std::initializer_list<descriptor>>(descriptors, options);
    }

#if TALLY_EXCEPTIONS
    template <class In, class Out, std::enable_if_t<detail::is_tensor_like<Out &>, int> = 0>
    void run(std::string_view word, const In &in, Out &&out,
             const kernel_options &options = {}) const
    {
        try_run(word, in, out, options).value();
    }
    template <class In, class Out, std::enable_if_t<detail::is_tensor_like<Out &>, int> = 0>
    void run(std::string_view word, const In &in, const operands &with, Out &&out,
             const kernel_options &options = {}) const
    {
        try_run(word, in, with, out, options).value();
    }
    template <class Element = void, class In>
    auto run(std::string_view word, const In &in, const operands &with,
             const kernel_options &options = {}) const
        -> tensor<detail::result_element<Element, In>>
    {
        return try_run<Element>(word, in, with, options).value();
    }
    template <class Element = void, class In>
    auto run(std::string_view word, const In &in, const kernel_options &options = {}) const
        -> tensor<detail::result_element<Element, In>>
    {
        return try_run<Element>(word, in, options).value();
    }
    template <class InOut>
    void run_in_place(std::string_view word, InOut &&x, const kernel_options &options = {}) const
    {
        try_run_in_place(word, x, options).value();
    }
    kernel make(const descriptor &what, const kernel_options &options = {}) const
    {
        return try_make(what, options).value();
    }
    kernel make(std::string_view word, const kernel_options &options = {}) const
    {
        return try_make(word, options).value();
    }
    template <class In, class Out, std::enable_if_t<detail::is_tensor_like<Out &>, int> = 0>
    kernel make(std::string_view word, const In &in, Out &&out,
                const kernel_options &options = {}) const
    {
        return try_make(word, in, out, options).value();
    }
    gradient_kernel make_gradient(const descriptor &what, tally_source wrt = TALLY_SOURCE_X,
                                  const kernel_options &options = {}) const
    {
        return try_make_gradient(what, wrt, options).value();
    }
    template <class Range>
    void warm(const Range &descriptors, const kernel_options &options = {}) const
    {
        try_warm(descriptors, options).value();
    }
    void warm(std::initializer_list<descriptor> descriptors,
              const kernel_options &options = {}) const
    {
        try_warm(descriptors, options).value();
    }
#endif

    /** Returns the counters: tally_context_stats. For an empty handle they are 0. */
    tally_stats stats() const noexcept
    {
        tally_stats all = TALLY_STATS_INIT;
        if (get() != nullptr)
            tally_context_stats(get(), &all);
        return all;
    }

    /** Returns the handle for the C interface, or nullptr if this one is empty. It still belongs to
     *  this object. */
    tally_context *get() const noexcept { return context_.get(); }

private:
    explicit context(std::nullptr_t) noexcept {}

    static tally_context_options raw_of(const context_options &from) noexcept
    {
        tally_context_options raw = TALLY_CONTEXT_OPTIONS_INIT;
        raw.threads = from.threads;
        raw.cache_kernels = from.cache_kernels;
        raw.compile = static_cast<std::uint32_t>(from.compile);
        raw.cache_folder = from.cache_folder;
        raw.generator = from.generator;
        raw.isolate = from.isolate;
        raw.parallel = from.parallel;
        raw.parallel_user = from.parallel_user;
        raw.cache_load = from.cache_load;
        raw.cache_save = from.cache_save;
        raw.cache_user = from.cache_user;
        raw.log = from.log;
        raw.log_user = from.log_user;
        raw.log_level = from.log_level;
        return raw;
    }

    result<void> run_once(const descriptor &what, const void *in, void *out,
                          const kernel_options &options) const noexcept
    {
        const tally_kernel_options raw = detail::raw_of(options);
        tally_kernel *made = nullptr;
        detail::call_error error;
        if (get() == nullptr)
            return detail::empty_handle("context");
        tally_status status = tally_kernel_create(get(), &what.raw(), &raw, &made, &error);
        if (status == TALLY_OK)
            status = tally_kernel_run(made, in, out, &error);
        tally_kernel_destroy(&made);
        return detail::done(status, error);
    }

    detail::shared_context context_;
};

/** Returns the version of the library, such as "0.1.0". TALLY_VERSION is the version of the
 *  header. */
inline std::string_view version() noexcept
{
    return tally_version();
}

} // namespace tally

#endif
