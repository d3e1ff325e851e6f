/*
 * Kernel IR: the builder and its folding, the verifier's rules one by one, the text form to the
 * byte, the interpreter against C, and garbage. The kernels of docs/kir.md are read from there.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../codegen/kir/kir.h"
#include "../runtime/abi.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>

/* Criterion's processes end without the sanitizer's own look for leaks. */
static void look_for_leaks(void)
{
    cr_assert_eq(__lsan_do_recoverable_leak_check(), 0);
}

TestSuite(kir, .fini = look_for_leaks);
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const kir_type i64 = { KIR_I64, 1 }, i32x4 = { KIR_I32, 4 }, f32x4 = { KIR_F32, 4 };

struct text {
    char bytes[1 << 16];
    size_t used;
};

static int gather(void *user, const char *piece, size_t bytes)
{
    struct text *text = user;
    cr_assert_lt(text->used + bytes, sizeof text->bytes);
    memcpy(text->bytes + text->used, piece, bytes);
    text->used += bytes;
    text->bytes[text->used] = 0;
    return 0;
}

static void print_to(const kir_kernel *k, struct text *text)
{
    text->used = 0;
    cr_assert_eq(kir_print(k, gather, text), TALLY_OK);
}

static kir_kernel *must_parse(const char *source)
{
    tally_error error = TALLY_ERROR_INIT;
    kir_kernel *k = NULL;
    cr_assert_eq(kir_parse(source, strlen(source), &k, &error), TALLY_OK, "%s\n%s", error.message,
                 source);
    return k;
}

static kir_kernel *must_finish(kir_builder *b)
{
    tally_error error = TALLY_ERROR_INIT;
    kir_kernel *k = NULL;
    cr_assert_eq(kir_finish(b, &k, &error), TALLY_OK, "%s", error.message);
    return k;
}

static int64_t must_run(const kir_kernel *k, const tly_args *args, const tly_task *task)
{
    tally_error error = TALLY_ERROR_INIT;
    int64_t result = INT64_MIN;
    cr_assert_eq(kir_interpret(k, args, task, &result, &error), TALLY_OK, "%s", error.message);
    return result;
}

/* Prints, parses, prints again: the same bytes. */
static void check_round_trip(const kir_kernel *k)
{
    static struct text first, second;
    print_to(k, &first);
    kir_kernel *again = must_parse(first.bytes);
    print_to(again, &second);
    cr_assert_str_eq(second.bytes, first.bytes);
    cr_assert_eq(again->inst_count, k->inst_count);
    kir_free(again);
}

/* ---- text ---- */

/* Every operation, in the form that the printer gives. */
static const char every_op[] =
    "kernel every_op {\n"
    "  %1 : i64 = const 0\n"
    "  %2 : i64 = const -9223372036854775808\n"
    "  %3 : i8x4 = const -128\n"
    "  %4 : f32x4 = const 0x3f800000\n"
    "  %5 : f16x2 = const 0x0001\n"
    "  %6 : f64 = const 0x8000000000000000\n"
    "  %7 : i1 = const true\n"
    "  %8 : i1x3 = const false\n"
    "  %9 : i32x4 = iota\n"
    "  %10 : ptr = arg in\n"
    "  %11 : i64 = arg length\n"
    "  %12 : i64 = argv outer_size, %1\n"
    "  %13 : i64 = add %11, %12\n"
    "  %14 : f32x4 = sub %4, %4\n"
    "  %15 : i8x4 = mul %3, %3\n"
    "  %16 : i64 = udiv %11, %2\n"
    "  %17 : i1 = and %7, %7\n"
    "  %18 : i64 = or %11, %12\n"
    "  %19 : i64 = xor %11, %12\n"
    "  %20 : i32x4 = shl %9, %9\n"
    "  %21 : i32x4 = lshr %9, %9\n"
    "  %22 : i32x4 = ashr %9, %9\n"
    "  %23 : i32x4 = umin %9, %22\n"
    "  %24 : i32x4 = umax %9, %22\n"
    "  %25 : i1x4 = cmp slt %9, %24\n"
    "  %26 : i1x4 = cmp uno %4, %14\n"
    "  %27 : f32x4 = select %26, %4, %14\n"
    "  %28 : ptr = select %7, %10, %10\n"
    "  %29 : i64x4 = zext %9\n"
    "  %30 : i16x4 = sext %25\n"
    "  %31 : i1x4 = trunc %9\n"
    "  %32 : f32x2 = fpext %5\n"
    "  %33 : f32 = fptrunc %6\n"
    "  %34 : i64x2 = bitcast %4\n"
    "  %35 : ptr = ptradd %10, %11\n"
    "  %36 : i64 = addr %35\n"
    "  %37 : f32x4 = load %35 + 32, align 4\n"
    "  %38 : f32 = load %35 - 9223372036854775808, align 1\n"
    "  store %35, %37, align 4\n"
    "  store %35 + 64, %37, align 16, stream\n"
    "  %39 : f32x4 = mload %35 + 16, %11, %4\n"
    "  mstore %35 - 16, %11, %39\n"
    "  prefetch %35 + 4096\n"
    "  fence\n"
    "  %40 : i64x4 = splat %11\n"
    "  %41 : f32 = extract %39, 3\n"
    "  %42 : f32x4 = insert %39, %41, 0\n"
    "  %43 : f32x5 = shuffle %39, %42, [0 7 1 1 4]\n"
    "  %44 : f32x5 = keep %43\n"
    "  %45 : i64, %46 : f32x5 = for %47 = %1 to %11 step %13 with "
    "%48 : i64 = %1, %49 : f32x5 = %44 {\n"
    "    for %50 = %47 to %11 step %13 {\n"
    "      if %7 {\n"
    "        fence\n"
    "      }\n"
    "    }\n"
    "    %51 : f32x5 = if %17 {\n"
    "      yield %49\n"
    "    } else {\n"
    "      %52 : f32x5 = add %49, %49\n"
    "      yield %52\n"
    "    }\n"
    "    if %7 {\n"
    "    } else {\n"
    "      fence\n"
    "    }\n"
    "    yield %47, %51\n"
    "  }\n"
    "  return %45\n"
    "}\n";

Test(kir, text_round_trip)
{
    static struct text text;
    kir_kernel *k = must_parse(every_op);
    print_to(k, &text);
    cr_assert_str_eq(text.bytes, every_op);
    uint32_t seen[KIR_OP_COUNT] = { 0 };
    for (uint32_t i = 0; i < k->inst_count; i++) {
        seen[k->insts[i].op]++;
    }
    for (int op = 0; op < KIR_OP_COUNT; op++) {
        cr_assert_neq(seen[op], 0, "%s is in no line of the test", kir_op_text((kir_op)op));
    }
    kir_free(k);
}

static int refuse(void *user, const char *piece, size_t bytes)
{
    (void)user;
    (void)piece;
    (void)bytes;
    return 1;
}

Test(kir, print_reports_the_writer)
{
    kir_kernel *k = must_parse(every_op);
    cr_assert_eq(kir_print(k, refuse, NULL), TALLY_IO);
    kir_free(k);
}

/* Each text breaks one rule; the message names the line and the rule. */
static const struct {
    const char *body, *message;
} faults[] = {
    { "", "line 2: expected a name" },
    { "}", "line 2: the kernel: the last instruction of a kernel is return" },
    { "%1 : i64 = const 1\n}", "line 2: const () : i64x1: the last instruction" },
    { "%1 : i64 = const 1\nreturn %1\nfence\n}", "line 3: return (%1 i64x1): return is the last" },
    { "%2 : i64 = const 1\n", "line 2: values are numbered" },
    { "%1 : i64 = add %1, %1\n", "line 2: a value is used before" },
    { "%1 : i64 = add %0, %0\n", "line 2: a value is used before" },
    { "\n\n%1 : i65 = const 1\n", "line 4: no such type" },
    { "%1 : i64x65 = const 1\n", "lanes are 2 to 64" },
    { "%1 : i64x1 = const 1\n", "lanes are 2 to 64" },
    { "%1 : i64x = const 1\n", "lanes are 2 to 64" },
    { "%1 : ptrx2 = arg in\nreturn %1}", "a type is a kind with 1 to 64 lanes" },
    { "%1 : i64 = cons 1\n", "no such operation" },
    { "%1 : i64 = arg inn\n", "no such argument" },
    { "%1 : i8 = const 128\n", "too large" },
    { "%1 : i8 = const -129\n", "too large" },
    { "%1 : i64 = const 9223372036854775808\n", "too large" },
    { "%1 : f32 = const 1\n", "a float constant is its bits" },
    { "%1 : f16 = const 0x10000\n", "too large" },
    { "%1 : i1 = const 1\n", "expected true or false" },
    { "%1 : ptr = const 1\nreturn %1}", "no constant is a ptr" },
    { "%1 : f32 = iota\nreturn %1}", "iota is of integers" },
    { "%1 : i64 = arg in\nreturn %1}", "the result has the argument's type" },
    { "%1 : i64 = arg outer_in\nreturn %1}", "read with argv" },
    { "%1 : i64 = const 0\n%2 : i64 = argv length, %1\nreturn %1}", "argv reads array" },
    { "%1 : i64 = const 0\n%2 : i32 = argv outer_in, %1\nreturn %1}", "index and result are i64" },
    { "%1 : i64 = const 0\n%2 : i64 = const 1, %1", "line 3: expected a name" },
    { "%1 : i64 = const 0\n%2 : i32 = add %1, %1\nreturn %1}",
      "line 3: add (%1 i64x1, %1 i64x1) : i32x1: operands and result have one type" },
    { "%1 : f16 = const 0x0000\n%2 : f16 = add %1, %1\nreturn %1}", "arithmetic is of" },
    { "%1 : i1 = const true\n%2 : i1 = mul %1, %1\nreturn %1}", "arithmetic is of" },
    { "%1 : i64x2 = const 0\n%2 : i64x2 = udiv %1, %1\nreturn %1}", "udiv is of scalar i64" },
    { "%1 : f32 = const 0x0\n%2 : f32 = and %1, %1\nreturn %1}", "and, or, xor are of" },
    { "%1 : i1 = const true\n%2 : i1 = shl %1, %1\nreturn %1}", "it is of i8 to i64" },
    { "%1 : f32 = const 0x0\n%2 : f32 = umin %1, %1\nreturn %1}", "it is of i8 to i64" },
    { "%1 : i8 = iota\n%2 : i1 = cmp olt %1, %1\nreturn %1}", "compares f32 and f64" },
    { "%1 : f64 = const 0x0\n%2 : i1 = cmp eq %1, %1\nreturn %1}", "compares i8 to i64" },
    { "%1 : i8x2 = iota\n%2 : i1 = cmp eq %1, %1\nreturn %1}", "i1 of the operands' lanes" },
    { "%1 : i8 = iota\n%2 : i1 = cmp lt %1, %1\nreturn %1}", "no such predicate" },
    { "%1 : i8x4 = iota\n%2 : i1x2 = const true\n%3 : i8x4 = select %2, %1, %1\nreturn %1}",
      "the condition is i1 of one lane" },
    { "%1 : i8x4 = iota\n%2 : i1 = const true\n%3 : i8x2 = select %2, %1, %1\nreturn %1}",
      "both choices and the result" },
    { "%1 : i8x4 = iota\n%2 : i16x2 = zext %1\nreturn %1}", "keeps the lanes" },
    { "%1 : i8x4 = iota\n%2 : i8x4 = zext %1\nreturn %1}", "to a wider integer" },
    { "%1 : i8x4 = iota\n%2 : i8x4 = trunc %1\nreturn %1}", "to a narrower one or i1" },
    { "%1 : f16 = const 0x0\n%2 : f64 = fpext %1\nreturn %1}", "between f16 and f32, f32 and f64" },
    { "%1 : f64 = const 0x0\n%2 : f16 = fptrunc %1\nreturn %1}", "between f16 and f32" },
    { "%1 : i64 = const 0\n%2 : f32 = bitcast %1\nreturn %1}", "bitcast keeps the total bits" },
    { "%1 : i64 = const 0\n%2 : ptr = bitcast %1\nreturn %1}", "bitcast is not of ptr" },
    { "%1 : i64 = const 0\n%2 : ptr = ptradd %1, %1\nreturn %1}", "ptradd adds i64 to ptr" },
    { "%1 : i64 = const 0\n%2 : i64 = addr %1\nreturn %1}", "addr goes from ptr" },
    { "%1 : i64 = const 0\n%2 : i8 = load %1, align 1\nreturn %1}", "the address is a ptr" },
    { "%1 : ptr = arg in\n%2 : i1 = load %1, align 1\nreturn %1}", "memory holds" },
    { "%1 : ptr = arg in\n%2 : ptr = load %1, align 8\nreturn %1}", "memory holds" },
    { "%1 : ptr = arg in\n%2 : i8 = load %1, align 3\nreturn %1}", "align is a power of two" },
    { "%1 : ptr = arg in\n%2 : i8 = load %1, align 0\nreturn %1}", "align is a power of two" },
    { "%1 : ptr = arg in\n%2 : i8 = load %1\nreturn %1}", "line 3: expected ','" },
    { "%1 : ptr = arg in\n%2 : i8 = load %1, align 1, stream\nreturn %1}", "only stores have" },
    { "%1 : ptr = arg in\n%2 : i64x4 = iota\nstore %1, %2, align 16, stream\nreturn %1}",
      "line 4: store (%1 ptrx1, %2 i64x4) : i64x4: a stream store is aligned" },
    { "%1 : ptr = arg in\n%2 : i64x3 = iota\nstore %1, %2, align 32, stream\nreturn %1}",
      "a stream store is aligned" },
    { "%1 : i32 = iota\n%2 : ptr = arg in\n%3 : i32 = mload %2, %1, %1\nreturn %1}",
      "the count is i64" },
    { "%1 : i64 = const 0\n%2 : ptr = arg in\n%3 : i32 = mload %2, %1, %1\nreturn %1}",
      "the value has the instruction's type" },
    { "%1 : i64 = const 0\nprefetch %1\nreturn %1}", "the address is a ptr" },
    { "%1 : i64 = prefetch\nreturn %1}", "another number of results" },
    { "fence %1\n", "line 2: expected ':'" },
    { "add %1, %1\n", "another number of results" },
    { "%1 : i64x2 = iota\n%2 : i64x2 = splat %1\nreturn %1}", "splat goes from a scalar" },
    { "%1 : i64x2 = iota\n%2 : i64 = extract %1, 2\nreturn %2}", "the lane is in the vector" },
    { "%1 : i64x2 = iota\n%2 : i32 = extract %1, 1\nreturn %2}", "scalar of the vector's kind" },
    { "%1 : i64x2 = iota\n%2 : i64x2 = insert %1, %1, 1\nreturn %2}", "a scalar goes into" },
    { "%1 : i64x2 = iota\n%2 : i64x2 = shuffle %1, %1, [0 4]\nreturn %2}", "every lane picked" },
    { "%1 : i64x2 = iota\n%2 : i64x2 = shuffle %1, %1, [0]\nreturn %2}", "expected a number" },
    { "%1 : i64x2 = iota\n%2 : i64x2 = shuffle %1, %1, [0 1 2]\nreturn %2}", "expected ']'" },
    { "%1 : i64x2 = iota\n%2 : i32x2 = shuffle %1, %1, [0 1]\nreturn %2}", "operands have one" },
    { "%1 : i1 = const true\n%2 : i1 = keep %1\nreturn %2}", "keep is of anything but i1" },
    { "%1 : i32 = const 1\nfor %2 = %1 to %1 step %1 {\n}\nreturn %1}", "bounds and step are i64" },
    { "%1 : i64 = const 1\nfor %3 = %1 to %1 step %1 {\n", "values are numbered" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 {\n", "expected 'with'" },
    { "%1 : i64 = const 1\n%2 : i32 = for %3 = %1 to %1 step %1 with %4 : i64 = %1 {\nyield %1\n}\n"
      "return %1}", "initial value, carried value and result have one type" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 with %4 : i64 = %1 {\n}\n"
      "return %1}",
      "line 4: yield (): a region yields one value for each result" },
    { "%1 : i64 = const 1\n%2 : i32 = iota\nfor %3 = %1 to %1 step %1 {\nyield %1\n}\nreturn %1}",
      "a region yields one value for each result" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 with %4 : i64 = %1 {\n"
      "%5 : i32 = iota\nyield %5\n}\nreturn %1}", "a yielded value has the result's type" },
    { "%1 : i64 = const 1\nfor %2 = %1 to %1 step %1 {\n}\nreturn %2}",
      "line 5: return (%2 i64x1): an operand's region has ended" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 with %4 : i64 = %1 {\nyield %2\n}\n"
      "return %2}", "an operand's region has ended, or is the one whose result it is" },
    { "%1 : i1 = const true\nif %1 {\n%2 : i64 = const 1\n} else {\nreturn %2\n}\n}",
      "an operand's region has ended" },
    { "%1 : i1 = const true\nif %1 {\nreturn %1\n}\nreturn %1}", "a kernel returns i64" },
    { "%1 : i64 = const 1\n%2 : i1 = const true\nif %2 {\nreturn %1\n}\nreturn %1}",
      "line 5: return (%1 i64x1): return is the last instruction" },
    { "%1 : i1x2 = const true\nif %1 {\n}\nreturn %1}", "the condition is one i1" },
    { "%1 : i1 = const true\n%2 : i1 = if %1 {\nyield %1\n}\nreturn %1}",
      "an if with results has an else" },
    { "%1 : i1 = const true\nif %1 {\n} else {\n} else {\n}\nreturn %1}", "else belongs to an if" },
    { "%1 : i64 = const 1\nfor %2 = %1 to %1 step %1 {\n} else {\n}\nreturn %1}",
      "else belongs to an if" },
    { "%1 : i64 = const 1\nyield %1\nreturn %1}", "only a region yields" },
    { "%1 : i64 = const 1\n%2 : i1 = const true\nif %2 {\nyield %1\nfence\n}\nreturn %1}",
      "yield is the last of its region" },
    { "%1 : i64 = const 1\nend\nreturn %1}", "a region ends with }" },
    { "%1 : i64 = const 1\nreturn %1\n} x", "nothing follows the kernel" },
};

Test(kir, each_rule_has_its_message)
{
    for (size_t i = 0; i < COUNT(faults); i++) {
        char source[1024];
        tally_error error = TALLY_ERROR_INIT;
        kir_kernel *k = NULL;
        snprintf(source, sizeof source, "kernel broken {\n%s", faults[i].body);
        cr_assert_eq(kir_parse(source, strlen(source), &k, &error), TALLY_INVALID, "%s", source);
        cr_assert_null(k);
        cr_assert_not_null(strstr(error.message, faults[i].message), "%s\nsays: %s\nnot: %s",
                           source, error.message, faults[i].message);
    }
    const char *heads[] = { "", "kernel", "kernel {", "kernel 1a {", "kern x {", "kernel x" };
    for (size_t i = 0; i < COUNT(heads); i++) {
        kir_kernel *k = NULL;
        cr_assert_eq(kir_parse(heads[i], strlen(heads[i]), &k, NULL), TALLY_INVALID);
    }
}

Test(kir, nesting_has_a_bound)
{
    for (int depth = 30; depth <= 40; depth++) {
        char source[4096];
        size_t used = (size_t)sprintf(source, "kernel deep {\n%%1 : i1 = const true\n"
                                              "%%2 : i64 = const 0\n");
        for (int i = 0; i < depth; i++) {
            used += (size_t)sprintf(source + used, "if %%1 {\n");
        }
        for (int i = 0; i < depth; i++) {
            used += (size_t)sprintf(source + used, "}\n");
        }
        used += (size_t)sprintf(source + used, "return %%2\n}\n");
        kir_kernel *k = NULL;
        cr_assert_eq(kir_parse(source, used, &k, NULL), depth <= 32 ? TALLY_OK : TALLY_INVALID);
        kir_free(k);
    }
}

/* What a parser cannot write, but a program that fills the struct can. */
Test(kir, verify_trusts_no_field)
{
    kir_kernel *k = must_parse(every_op);
    uint64_t seed = 1;
    unsigned refused = 0;
    kir_inst *saved = malloc(k->inst_count * sizeof *saved);
    cr_assert_not_null(saved);
    memcpy(saved, k->insts, k->inst_count * sizeof *saved);
    for (int round = 0; round < 20000; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t at = (uint32_t)(seed >> 33) % k->inst_count;
        uint32_t byte = (uint32_t)(seed >> 20) % sizeof *saved;
        ((unsigned char *)&k->insts[at])[byte] ^= (unsigned char)(1u << (seed >> 60 & 7));
        refused += kir_verify(k, NULL) != TALLY_OK;
        k->insts[at] = saved[at];
    }
    cr_assert_gt(refused, 15000, "%u", refused);
    cr_assert_eq(kir_verify(k, NULL), TALLY_OK);
    free(saved);
    kir_free(k);
}

Test(kir, garbage_never_crashes)
{
    static char source[sizeof every_op];
    static const char splinters[] = "%{}[]=:,+- \n0123456789abcdefxkirptrload\x80\xff";
    uint64_t seed = 7;
    unsigned accepted = 0;
    for (int round = 0; round < 6000; round++) {
        memcpy(source, every_op, sizeof source);
        size_t bytes = sizeof source - 1;
        for (int change = round % 4; change >= 0; change--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(seed >> 33) % bytes;
            if ((seed >> 60) < 4) {
                memmove(source + at, source + at + 1, bytes - at - 1);
                bytes--;
            } else if ((seed >> 60) == 4) {
                bytes = at + 1;
            } else {
                source[at] = splinters[(seed >> 12) % (sizeof splinters - 1)];
            }
        }
        char *exact = malloc(bytes); /* so that a sanitizer sees the first byte too far */
        cr_assert_not_null(exact);
        memcpy(exact, source, bytes);
        kir_kernel *k = NULL;
        if (kir_parse(exact, bytes, &k, NULL) == TALLY_OK) {
            accepted++;
            check_round_trip(k);
        }
        kir_free(k);
        free(exact);
    }
    cr_assert_gt(accepted, 0);
}

/* The manual's example computes what it says, for whole steps and under the mask. */
static void run_example(const kir_kernel *k)
{
    for (int64_t length = 0; length <= 11; length++) {
        float in[11], out[12], sum = 0;
        for (int i = 0; i < 11; i++) {
            in[i] = (float)(i * i - 20);
        }
        for (int i = 0; i < 12; i++) {
            out[i] = 77;
        }
        tly_args args = { .in = (char *)in, .out = (char *)out, .length = length };
        cr_assert_eq(must_run(k, &args, &(tly_task){ 0 }), 0);
        for (int i = 0; i < 12; i++) {
            sum += i < 11 ? in[i] : 0;
            cr_assert_eq(out[i], i < length ? sum : 77);
        }
    }
}

/* The fenced blocks of docs/kir.md that are marked kir are kernels, to the byte. */
Test(kir, manual)
{
    char path[4096];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/../docs/kir.md", slash ? (int)(slash - __FILE__) : 1,
             slash ? __FILE__ : ".");
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s: run tests in the build folder", path);
    static char manual[1 << 16];
    size_t bytes = fread(manual, 1, sizeof manual - 1, file);
    fclose(file);
    cr_assert_gt(sizeof manual - 1, bytes);
    manual[bytes] = 0;
    int examples = 0;
    static struct text text;
    for (char *at = manual; (at = strstr(at, "```kir\n")) != NULL;) {
        at += strlen("```kir\n");
        char *end = strstr(at, "```\n");
        cr_assert_not_null(end);
        *end = 0;
        kir_kernel *k = must_parse(at);
        print_to(k, &text);
        cr_assert_str_eq(text.bytes, at);
        if (strcmp(k->name, "cumsum_f32_row") == 0) {
            run_example(k);
            examples++;
        }
        kir_free(k);
        at = end + 1;
    }
    cr_assert_eq(examples, 1);
}

/* ---- building ---- */

Test(kir, builder_folds_and_shares)
{
    static struct text text;
    kir_builder *b = kir_begin("folds");
    kir_value a = kir_get(b, KIR_ARG_LENGTH), two = kir_int(b, 2);
    cr_assert_eq(kir_int(b, 2), two);
    cr_assert_eq(kir_const(b, i64, 2), two);
    cr_assert_eq(kir_const(b, KIR_TYPE(KIR_I8, 1), 0x1ff), kir_const(b, KIR_TYPE(KIR_I8, 1), 0xff));
    cr_assert_neq(kir_const(b, i32x4, 2), kir_const(b, f32x4, 2));
    cr_assert_neq(kir_iota(b, i32x4), kir_const(b, i32x4, 0));
    cr_assert_eq(kir_get(b, KIR_ARG_LENGTH), a);
    static const struct {
        kir_op op;
        int64_t x, y, result;
    } folded[] = {
        { KIR_ADD, INT64_MAX, 1, INT64_MIN }, { KIR_SUB, 3, 5, -2 }, { KIR_MUL, -3, 5, -15 },
        { KIR_UDIV, -1, 2, INT64_MAX },       { KIR_AND, 12, 10, 8 }, { KIR_OR, 12, 10, 14 },
        { KIR_XOR, 12, 10, 6 },               { KIR_SHL, 3, 62, INT64_MIN | 1ll << 62 },
        { KIR_LSHR, -1, 63, 1 },              { KIR_ASHR, -8, 2, -2 }, { KIR_UMIN, -1, 7, 7 },
        { KIR_UMAX, -1, 7, -1 },
    };
    for (size_t i = 0; i < COUNT(folded); i++) {
        kir_value v = kir_bin(b, folded[i].op, kir_int(b, folded[i].x), kir_int(b, folded[i].y));
        cr_assert_eq(v, kir_int(b, folded[i].result), "%s", kir_op_text(folded[i].op));
    }
    kir_value zero = kir_int(b, 0), one = kir_int(b, 1);
    cr_assert_eq(kir_bin(b, KIR_ADD, a, zero), a);
    cr_assert_eq(kir_bin(b, KIR_ADD, zero, a), a);
    cr_assert_eq(kir_bin(b, KIR_SUB, a, zero), a);
    cr_assert_neq(kir_bin(b, KIR_SUB, zero, a), a);
    cr_assert_eq(kir_bin(b, KIR_MUL, one, a), a);
    cr_assert_neq(kir_bin(b, KIR_UDIV, one, zero), one); /* left to run time */
    kir_value vector = kir_splat(b, a, 3);
    cr_assert_eq(kir_bin(b, KIR_MUL, vector, kir_const(b, KIR_TYPE(KIR_I64, 3), 1)), vector);
    kir_value real = kir_const(b, KIR_TYPE(KIR_F32, 1), 0x3f800000);
    cr_assert_neq(kir_bin(b, KIR_ADD, real, kir_const(b, KIR_TYPE(KIR_F32, 1), 0)), real);
    cr_assert_eq(kir_splat(b, a, 1), a);
    cr_assert_eq(kir_extract(b, a, 0), a);
    kir_value in = kir_get(b, KIR_ARG_IN);
    cr_assert_eq(kir_ptradd(b, in, zero), in);
    kir_return(b, a);
    kir_kernel *k = must_finish(b);
    print_to(k, &text);
    cr_assert_null(strstr(text.bytes, "const -15"), "an unused constant stayed");
    check_round_trip(k);
    kir_free(k);
}

/* An argument is read where first wanted, again only where that read is not visible. */
Test(kir, arguments_and_results_are_numbered_as_they_appear)
{
    static struct text text;
    kir_builder *b = kir_begin("order");
    kir_branch c;
    kir_value mode = kir_get(b, KIR_ARG_MODE);
    kir_if(b, &c, kir_cmp(b, KIR_EQ, mode, kir_int(b, 5)));
    kir_value then = kir_get(b, KIR_ARG_LENGTH);
    cr_assert_eq(kir_get(b, KIR_ARG_MODE), mode);
    kir_else(b, &c, 1, &then);
    kir_value other = kir_get(b, KIR_ARG_LENGTH);
    cr_assert_neq(then, other);
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), other, kir_int(b, 5), 1, &other);
    cr_assert_eq(kir_get(b, KIR_ARG_LENGTH), other);
    kir_value next = kir_bin(b, KIR_ADD, l.carried[0], l.i);
    kir_for_end(b, &l, &next);
    kir_if_end(b, &c, 1, &l.result[0]);
    kir_return(b, c.result[0]);
    kir_kernel *k = must_finish(b);
    print_to(k, &text);
    cr_assert_str_eq(text.bytes, "kernel order {\n"
                                 "  %1 : i64 = const 5\n"
                                 "  %2 : i64 = const 0\n"
                                 "  %3 : i64 = arg mode\n"
                                 "  %4 : i1 = cmp eq %3, %1\n"
                                 "  %5 : i64 = if %4 {\n"
                                 "    %6 : i64 = arg length\n"
                                 "    yield %6\n"
                                 "  } else {\n"
                                 "    %7 : i64 = arg length\n"
                                 "    %8 : i64 = for %9 = %2 to %7 step %1 with %10 : i64 = %7 {\n"
                                 "      %11 : i64 = add %10, %9\n"
                                 "      yield %11\n"
                                 "    }\n"
                                 "    yield %8\n"
                                 "  }\n"
                                 "  return %5\n"
                                 "}\n");
    check_round_trip(k);
    tly_args args = { .length = 11 };
    tly_task task = { .mode = 5 };
    cr_assert_eq(must_run(k, &args, &task), 11);
    task.mode = 0;
    cr_assert_eq(must_run(k, &args, &task), 11 + 0 + 5 + 10);
    kir_free(k);
}

/* One way each to misuse the builder; every one is an internal error at the end, and no crash. */
static void misuse_none(kir_builder *b)
{
    kir_bin(b, KIR_ADD, 0, kir_int(b, 1));
}

static void misuse_types(kir_builder *b)
{
    kir_bin(b, KIR_ADD, kir_get(b, KIR_ARG_LENGTH), kir_const(b, i32x4, 1));
}

static void misuse_op(kir_builder *b)
{
    kir_bin(b, KIR_SELECT, kir_int(b, 1), kir_int(b, 1));
}

static void misuse_open(kir_builder *b)
{
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), 0, NULL);
}

static void misuse_crossed(kir_builder *b)
{
    kir_loop l;
    kir_branch c;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), 0, NULL);
    kir_if(b, &c, kir_const(b, KIR_TYPE(KIR_I1, 1), 1));
    kir_for_end(b, &l, NULL);
}

static void misuse_ended_twice(kir_builder *b)
{
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), 0, NULL);
    kir_for_end(b, &l, NULL);
    kir_for_end(b, &l, NULL);
}

static void misuse_else(kir_builder *b)
{
    kir_branch c;
    kir_value one = kir_int(b, 1);
    kir_if(b, &c, kir_const(b, KIR_TYPE(KIR_I1, 1), 1));
    kir_else(b, &c, 1, &one);
    kir_if_end(b, &c, 0, NULL);
}

static void misuse_scope(kir_builder *b)
{
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), 0, NULL);
    kir_for_end(b, &l, NULL);
    kir_bin(b, KIR_ADD, l.i, l.i);
}

static void misuse_align(kir_builder *b)
{
    kir_load(b, f32x4, kir_get(b, KIR_ARG_IN), 0, 1u << 16);
}

static void misuse_carried(kir_builder *b)
{
    kir_value many[KIR_MAX_CARRIED + 1];
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = kir_int(b, 1);
    }
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), kir_int(b, 1), kir_int(b, 1), COUNT(many), many);
    cr_assert_eq(l.i, 0);
    cr_assert_eq(l.result[0], 0);
}

Test(kir, misuse_is_an_error_at_the_end)
{
    static const struct {
        void (*misuse)(kir_builder *b);
        const char *message;
    } cases[] = {
        { misuse_none, "kernel misused: add: operand 0 is no value" },
        { misuse_types, "instruction 3: add (%3 i64x1, %1 i32x4) : i64x1: operands and result" },
        { misuse_op, "select is no two-operand arithmetic" },
        { misuse_open, "return is the last" },
        { misuse_crossed, "for: ended where another region is the innermost" },
        { misuse_ended_twice, "for: ended where another region is the innermost" },
        { misuse_else, "both regions yield equally many values" },
        { misuse_scope, "an operand's region has ended" },
        { misuse_align, "align is a power of two" },
        { misuse_carried, "for: more than 40 carried values" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tally_error error = TALLY_ERROR_INIT;
        kir_kernel *k = NULL;
        kir_builder *b = kir_begin("misused");
        cases[i].misuse(b);
        kir_return(b, kir_int(b, 0));
        cr_assert_eq(kir_finish(b, &k, &error), TALLY_INTERNAL, "case %zu", i);
        cr_assert_null(k);
        cr_assert_not_null(strstr(error.message, cases[i].message), "%zu: %s", i, error.message);
    }
    const char *names[] = { "", "1a", "a-b",
                            "a123456789a123456789a123456789a123456789a123456789a123456789abcd" };
    for (size_t i = 0; i < COUNT(names); i++) {
        kir_kernel *k = NULL;
        kir_builder *b = kir_begin(names[i]);
        cr_assert_eq(kir_int(b, 1), 0);
        cr_assert_eq(kir_finish(b, &k, NULL), TALLY_INTERNAL);
    }
    /* A builder that could not be had. */
    kir_kernel *k = NULL;
    kir_branch c;
    kir_if(NULL, &c, 1);
    kir_else(NULL, &c, 0, NULL);
    kir_if_end(NULL, &c, 0, NULL);
    kir_store(NULL, kir_get(NULL, KIR_ARG_OUT), 0, kir_splat(NULL, kir_int(NULL, 1), 4), 4, 0);
    cr_assert_eq(kir_ptradd(NULL, 1, 1) | kir_bin(NULL, KIR_ADD, 1, 1), 0);
    cr_assert_eq(kir_finish(NULL, &k, NULL), TALLY_OUT_OF_MEMORY);
}

/* ---- interpreting ---- */

/* Runs "store op(...)": loads x, y of `type` from `in`, stores `lanes` of the result at `out`. */
static void run_lines(const char *lines, const void *in, void *out)
{
    char source[2048];
    snprintf(source, sizeof source,
             "kernel one {\n%%1 : i64 = const 0\n%%2 : ptr = arg in\n%%3 : ptr = arg out\n%s"
             "return %%1\n}\n", lines);
    kir_kernel *k = must_parse(source);
    tly_args args = { .in = in, .out = out };
    cr_assert_eq(must_run(k, &args, &(tly_task){ 0 }), 0);
    kir_free(k);
}

/* op, kind, x, y as bits, result as bits (i1: 0 or 1) */
static const struct {
    const char *op, *kind, *result_kind;
    uint64_t x, y, result;
} arithmetic[] = {
    { "add", "i8", "i8", 0xff, 0x02, 0x01 },
    { "add", "i64", "i64", UINT64_MAX, 2, 1 },
    { "add", "f32", "f32", 0x3f800000, 0x33800000, 0x3f800000 }, /* 1 + 2^-24: to even */
    { "add", "f32", "f32", 0x3f800001, 0x33800000, 0x3f800002 },
    { "add", "f32", "f32", 0x80000000, 0x80000000, 0x80000000 },
    { "add", "f32", "f32", 0x80000000, 0x00000000, 0x00000000 },
    { "sub", "i16", "i16", 0, 1, 0xffff },
    { "sub", "f64", "f64", 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000 },
    { "mul", "i16", "i16", 0xffff, 0xffff, 1 },
    { "mul", "i32", "i32", 0x10000, 0x10000, 0 },
    { "mul", "i64", "i64", 0x100000001, 0x100000001, 0x200000001 },
    { "mul", "f32", "f32", 0x00800000, 0x3f000000, 0x00400000 }, /* subnormals are kept */
    { "udiv", "i64", "i64", UINT64_MAX, 3, 0x5555555555555555 },
    { "and", "i8", "i8", 0xf0, 0x3c, 0x30 },
    { "or", "i32", "i32", 0xf0, 0x3c, 0xfc },
    { "xor", "i64", "i64", 0xf0, 0x3c, 0xcc },
    { "shl", "i8", "i8", 0x81, 1, 0x02 },
    { "shl", "i32", "i32", 1, 31, 0x80000000 },
    { "lshr", "i16", "i16", 0x8000, 15, 1 },
    { "ashr", "i16", "i16", 0x8000, 15, 0xffff },
    { "ashr", "i64", "i64", 0x8000000000000000, 63, UINT64_MAX },
    { "umin", "i8", "i8", 0x80, 0x7f, 0x7f },
    { "umax", "i32", "i32", 0x80000000, 0x7fffffff, 0x80000000 },
    { "cmp eq", "i8", "i1", 5, 5, 1 },
    { "cmp ne", "i64", "i1", 5, 5, 0 },
    { "cmp slt", "i16", "i1", 0x8000, 1, 1 },
    { "cmp sle", "i32", "i1", 5, 5, 1 },
    { "cmp ult", "i16", "i1", 0x8000, 1, 0 },
    { "cmp ule", "i8", "i1", 0xff, 0xff, 1 },
    { "cmp slt", "i64", "i1", 0x8000000000000000, 0, 1 },
    { "cmp oeq", "f32", "i1", 0, 0x80000000, 1 },
    { "cmp oeq", "f32", "i1", 0x7fc00000, 0x7fc00000, 0 },
    { "cmp une", "f64", "i1", 0x7ff8000000000000, 0, 1 },
    { "cmp olt", "f64", "i1", 0xbff0000000000000, 0, 1 },
    { "cmp olt", "f32", "i1", 0x7fc00000, 0, 0 },
    { "cmp ole", "f32", "i1", 0x3f800000, 0x3f800000, 1 },
    { "cmp uno", "f32", "i1", 0, 0x7fc00000, 1 },
    { "cmp uno", "f32", "i1", 0, 0x7f800000, 0 },
};

Test(kir, arithmetic_is_c)
{
    for (size_t i = 0; i < COUNT(arithmetic); i++) {
        char lines[512];
        uint64_t in[2] = { arithmetic[i].x, arithmetic[i].y }, out = 0;
        int is_bit = strcmp(arithmetic[i].result_kind, "i1") == 0;
        snprintf(lines, sizeof lines,
                 "%%4 : %s = load %%2, align 8\n%%5 : %s = load %%2 + 8, align 8\n"
                 "%%6 : %s = %s %%4, %%5\n%sstore %%3, %%%d, align 8\n",
                 arithmetic[i].kind, arithmetic[i].kind, arithmetic[i].result_kind,
                 arithmetic[i].op, is_bit ? "%7 : i64 = zext %6\n" : "", is_bit ? 7 : 6);
        run_lines(lines, in, &out);
        cr_assert_eq(out, arithmetic[i].result, "%s %s: %#llx", arithmetic[i].op,
                     arithmetic[i].kind, (unsigned long long)out);
    }
}

/* What lanes do: each program writes four i32 (or as many bytes of another type) to out. */
static const struct {
    const char *lines;
    uint32_t result[4];
} lane_programs[] = {
    { "%4 : i32x4 = iota\nstore %3, %4, align 4\n", { 0, 1, 2, 3 } },
    { "%4 : i32x4 = load %2, align 4\nstore %3, %4, align 1\n", { 10, 20, 30, 40 } },
    { "%4 : i32x4 = load %2 + 16, align 16\nstore %3, %4, align 16, stream\nfence\n",
      { 50, 60, 70, 80 } },
    { "%4 : i32 = load %2 + 4, align 4\n%5 : i32x4 = splat %4\nstore %3, %5, align 4\n",
      { 20, 20, 20, 20 } },
    { "%4 : i32x4 = iota\n%5 : i32x4 = load %2, align 4\n"
      "%6 : i32x4 = shuffle %4, %5, [7 0 4 3]\nstore %3, %6, align 4\n", { 40, 0, 10, 3 } },
    { "%4 : i32x2 = load %2, align 4\n%5 : i32x4 = shuffle %4, %4, [3 2 1 0]\n"
      "store %3, %5, align 4\n", { 20, 10, 20, 10 } },
    { "%4 : i32x4 = load %2, align 4\n%5 : i32 = extract %4, 2\n%6 : i32x4 = iota\n"
      "%7 : i32x4 = insert %6, %5, 1\nstore %3, %7, align 4\n", { 0, 30, 2, 3 } },
    { "%4 : i32x4 = iota\n%5 : i32x4 = load %2, align 4\n%6 : i32x4 = const 2\n"
      "%7 : i1x4 = cmp ult %4, %6\n%8 : i32x4 = select %7, %5, %4\nstore %3, %8, align 4\n",
      { 10, 20, 2, 3 } },
    { "%4 : i32x4 = iota\n%5 : i32x4 = load %2, align 4\n%6 : i1 = const false\n"
      "%7 : i32x4 = select %6, %5, %4\n%8 : i32x4 = keep %7\nstore %3, %8, align 4\n",
      { 0, 1, 2, 3 } },
    { "%4 : i16x4 = iota\n%5 : i16x4 = const -2\n%6 : i16x4 = add %4, %5\n%7 : i32x4 = sext %6\n"
      "store %3, %7, align 4\n", { -2u, -1u, 0, 1 } },
    { "%4 : i16x4 = iota\n%5 : i16x4 = const -2\n%6 : i16x4 = add %4, %5\n%7 : i32x4 = zext %6\n"
      "store %3, %7, align 4\n", { 0xfffe, 0xffff, 0, 1 } },
    { "%4 : i32x4 = iota\n%5 : i1x4 = trunc %4\n%6 : i32x4 = sext %5\nstore %3, %6, align 4\n",
      { 0, -1u, 0, -1u } },
    { "%4 : i64x4 = const -4294967295\n%5 : i32x4 = trunc %4\nstore %3, %5, align 4\n",
      { 1, 1, 1, 1 } },
    { "%4 : i32x4 = iota\n%5 : i64x2 = bitcast %4\n%6 : i64 = extract %5, 1\n"
      "%7 : i32x2 = bitcast %6\n"
      "%8 : i32x4 = shuffle %7, %7, [0 1 2 3]\nstore %3, %8, align 4\n", { 2, 3, 2, 3 } },
    { "%4 : i8x8 = iota\n%5 : i8x8 = const 1\n%6 : i8x8 = and %4, %5\n%7 : i1x8 = cmp eq %6, %5\n"
      "%8 : i8 = bitcast %7\n%9 : i32 = zext %8\n%10 : i1x8 = bitcast %8\n"
      "%11 : i1 = extract %10, 3\n"
      "%12 : i32 = zext %11\n%13 : i32x4 = splat %9\n%14 : i32x4 = insert %13, %12, 3\n"
      "store %3, %14, align 4\n", { 0xaa, 0xaa, 0xaa, 1 } },
    { "%4 : f32 = const 0x3fc00000\n%5 : f64 = fpext %4\n%6 : f64 = add %5, %5\n"
      "%7 : f32 = fptrunc %6\n%8 : f16 = fptrunc %7\n%9 : i16 = bitcast %8\n%10 : i32 = zext %9\n"
      "%11 : i32x4 = splat %10\nstore %3, %11, align 4\n", { 0x4200, 0x4200, 0x4200, 0x4200 } },
    { "%4 : i64 = addr %3\n%5 : i64 = const 8\n%6 : ptr = ptradd %3, %5\n%7 : i64 = addr %6\n"
      "%8 : i64 = sub %7, %4\n%9 : i32 = trunc %8\nprefetch %2 - 1\nstore %6 + 4, %9, align 4\n",
      { 7, 7, 7, 8 } },
};

Test(kir, lanes_move_as_told)
{
    _Alignas(16) uint32_t in[8] = { 10, 20, 30, 40, 50, 60, 70, 80 };
    for (size_t i = 0; i < COUNT(lane_programs); i++) {
        _Alignas(16) uint32_t out[4] = { 7, 7, 7, 7 };
        run_lines(lane_programs[i].lines, in, out);
        cr_assert_arr_eq(out, lane_programs[i].result, sizeof out, "%s", lane_programs[i].lines);
    }
}

/* Lanes from the count on are neither read nor written: they lie on a page that may not be. */
Test(kir, masked_access_stays_below_the_count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(pages, MAP_FAILED);
    cr_assert_eq(mprotect(pages + page, page, PROT_NONE), 0);
    kir_kernel *k = must_parse("kernel masked {\n"
                               "%1 : ptr = arg in\n%2 : ptr = arg out\n%3 : i64 = arg length\n"
                               "%4 : i32x4 = const 99\n%5 : i32x4 = mload %1, %3, %4\n"
                               "%6 : i32x4 = iota\n%7 : i32x4 = add %5, %6\n"
                               "store %2, %7, align 4\nmstore %1, %3, %7\nreturn %3\n}\n");
    for (int64_t count = -2; count <= 5; count++) {
        uint32_t lanes = count < 0 ? 0 : count > 4 ? 4 : (uint32_t)count, out[4];
        uint32_t *in = (uint32_t *)(void *)(pages + page) - lanes;
        for (uint32_t i = 0; i < lanes; i++) {
            in[i] = 5 * i;
        }
        tly_args args = { .in = (char *)in, .out = (char *)out, .length = count };
        must_run(k, &args, &(tly_task){ 0 });
        for (uint32_t i = 0; i < 4; i++) {
            cr_assert_eq(out[i], i < lanes ? 6 * i : 99 + i);
            cr_assert(i >= lanes || in[i] == 6 * i);
        }
    }
    kir_free(k);
    munmap(pages, 2 * page);
}

/* Carried values that change places, loops that never run, bounds near the end of i64. */
Test(kir, loops_count_and_carry)
{
    kir_kernel *k = must_parse("kernel loops {\n"
                               "%1 : i64 = arg begin\n%2 : i64 = arg end\n%3 : i64 = arg length\n"
                               "%4 : i64 = const 1000\n%5 : i64 = const 7\n%6 : i64 = const 0\n"
                               "%7 : i64, %8 : i64, %9 : i64 = for %10 = %1 to %2 step %3 with "
                               "%11 : i64 = %4, %12 : i64 = %5, %13 : i64 = %6 {\n"
                               "%14 : i64 = add %13, %10\nyield %12, %11, %14\n}\n"
                               "%15 : i64 = mul %7, %4\n%16 : i64 = add %15, %9\nreturn %16\n}\n");
    static const struct {
        int64_t begin, end, step, result;
    } cases[] = {
        { 0, 0, 1, 1000000 },     { 5, 0, 1, 1000000 },  { 0, 1, 1, 7000 },
        { 0, 2, 1, 1000001 },     { -3, 4, 3, 7000 },    { 0, 10, 4, 7012 },
        { INT64_MAX - 7000, INT64_MAX, 9000, INT64_MAX },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tly_args args = { .length = cases[i].step };
        tly_task task = { .begin = cases[i].begin, .end = cases[i].end };
        uint64_t wanted = (uint64_t)cases[i].result;
        cr_assert_eq((uint64_t)must_run(k, &args, &task), wanted, "case %zu", i);
    }
    tly_args args = { .length = 0 };
    tally_error error = TALLY_ERROR_INIT;
    int64_t result = 42;
    cr_assert_eq(kir_interpret(k, &args, &(tly_task){ .end = 1 }, &result, &error), TALLY_INTERNAL);
    cr_assert_not_null(strstr(error.message, "kernel loops, instruction 6: for: the step is not"),
                       "%s", error.message);
    cr_assert_eq(result, 42);
    kir_free(k);
}

Test(kir, faults_at_run_time_have_messages)
{
    static const struct {
        const char *lines, *message;
    } cases[] = {
        { "%3 : i64 = const 5\n%4 : i64 = udiv %3, %2\n", "udiv: a shift by the width or" },
        { "%3 : i32x2 = const 32\n%4 : i32x2 = shl %3, %3\n", "shl: a shift by the width" },
        { "%3 : i8 = const -1\n%4 : i8 = ashr %3, %3\n", "ashr: a shift by the width" },
        { "%3 : i64 = const 7\n%4 : i64 = argv outer_size, %3\n", "argv: the index is outside" },
        { "%3 : i64 = const -1\n%4 : i64 = argv outer_size, %3\n", "argv: the index is outside" },
        { "%3 : i8 = load %1 + 1, align 2\n", "load: the address is no multiple" },
        { "%3 : i64x2 = iota\nstore %1 + 8, %3, align 16\n", "store: the address is no multiple" },
    };
    _Alignas(16) char memory[32] = { 0 };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char source[512];
        tally_error error = TALLY_ERROR_INIT;
        int64_t result;
        snprintf(source, sizeof source, "kernel faulty {\n%%1 : ptr = arg in\n%%2 : i64 = const 0\n"
                 "%sreturn %%2\n}\n", cases[i].lines);
        kir_kernel *k = must_parse(source);
        tly_args args = { .in = memory };
        cr_assert_eq(kir_interpret(k, &args, &(tly_task){ 0 }, &result, &error), TALLY_INTERNAL);
        cr_assert_not_null(strstr(error.message, cases[i].message), "%s", error.message);
        kir_free(k);
    }
}

Test(kir, arguments_are_where_the_abi_says)
{
    tly_args args;
    tly_task task;
    for (size_t i = 0; i < sizeof args / 8; i++) {
        ((int64_t *)(void *)&args)[i] = (int64_t)i + 100;
    }
    for (size_t i = 0; i < sizeof task / 8; i++) {
        ((int64_t *)(void *)&task)[i] = (int64_t)i + 200;
    }
    static const struct {
        kir_arg arg;
        int64_t index, result;
    } cases[] = {
        { KIR_ARG_IN, -1, 100 },         { KIR_ARG_OUT, -1, 101 },
        { KIR_ARG_FLAGS, -1, 110 },      { KIR_ARG_OUTER_RANK, -1, 111 },
        { KIR_ARG_OUTER_SIZE, 0, 112 },  { KIR_ARG_OUTER_IN, 1, 120 },
        { KIR_ARG_OUTER_OUT, 6, 132 },   { KIR_ARG_BEGIN, -1, 200 },
        { KIR_ARG_TASK_END, -1, 201 },   { KIR_ARG_SCRATCH, -1, 203 },
        { KIR_ARG_TOTAL, -1, 206 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kir_builder *b = kir_begin("argument");
        kir_value v = cases[i].index < 0 ? kir_get(b, cases[i].arg)
                                         : kir_get_at(b, cases[i].arg, kir_int(b, cases[i].index));
        kir_return(b, kir_type_of(b, v).kind == KIR_PTR ? kir_addr(b, v) : v);
        kir_kernel *k = must_finish(b);
        cr_assert_eq(must_run(k, &args, &task), cases[i].result, "%s", kir_arg_text(cases[i].arg));
        kir_free(k);
    }
}

/* ---- f16 ---- */

static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double fraction = h & 1023;
    double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -value : value;
}

/* All f16 to f32 and back; and around every border between two neighbours. */
Test(kir, f16_rounds_to_nearest_even)
{
    kir_kernel *widen = must_parse("kernel widen {\n%1 : ptr = arg in\n%2 : ptr = arg out\n"
                                   "%3 : i64 = const 0\n%4 : f16 = load %1, align 2\n"
                                   "%5 : f32 = fpext %4\nstore %2, %5, align 4\nreturn %3\n}\n");
    kir_kernel *narrow = must_parse("kernel narrow {\n%1 : ptr = arg in\n%2 : ptr = arg out\n"
                                    "%3 : i64 = const 0\n%4 : f32x3 = load %1, align 4\n"
                                    "%5 : f16x3 = fptrunc %4\nstore %2, %5, align 2\n"
                                    "return %3\n}\n");
    for (uint32_t h = 0; h < 0x10000; h++) {
        uint16_t half = (uint16_t)h, back[3];
        float wide = 0;
        tly_args args = { .in = (char *)&half, .out = (char *)&wide };
        must_run(widen, &args, &(tly_task){ 0 });
        if ((h & 0x7fff) > 0x7c00) {
            cr_assert(isnan(wide));
        } else if ((h & 0x7fff) == 0x7c00) {
            cr_assert(isinf(wide) && (wide < 0) == (h > 0x7fff));
        } else {
            cr_assert(wide == (float)half_value(half) && !signbit(wide) == !(h & 0x8000));
        }
        float around[3] = { wide, wide, wide };
        int finite = (h & 0x7fff) < 0x7c00;
        if (finite) { /* up to the next in magnitude; infinity stands where 65536 would be */
            float middle = (float)(half_value(half) +
                                   (half_value((uint16_t)(h + 1)) - half_value(half)) / 2);
            around[0] = nextafterf(middle, wide);
            around[1] = middle;
            around[2] = nextafterf(middle, middle < 0 || h >= 0x8000 ? -INFINITY : INFINITY);
        }
        args = (tly_args){ .in = (char *)around, .out = (char *)back };
        must_run(narrow, &args, &(tly_task){ 0 });
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t wanted = !finite ? h : i == 0 ? h : i == 2 ? h + 1 : h + (h & 1);
            int both_nan = (wanted & 0x7fff) > 0x7c00 && (back[i] & 0x7fff) > 0x7c00;
            cr_assert(both_nan || back[i] == wanted, "%#x, %u: %#x", h, i, back[i]);
        }
    }
    kir_free(widen);
    kir_free(narrow);
}
