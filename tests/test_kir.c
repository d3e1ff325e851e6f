/*
 * Kernel IR: the builder and its folding, the verifier's rules one by one, the text form to the
 * byte, and garbage. The kernels of docs/kir.md are read from there.
 */
#include <stdio.h>

#include "../codegen/kir/internal.h"
#include "../runtime/gpu.h"
#include "must.h"

static const kir_type i64 = { KIR_I64, 1 }, i32x4 = { KIR_I32, 4 }, f32x4 = { KIR_F32, 4 };

static void print_to(const kir_kernel *k, struct text *text)
{
    text->used = 0;
    cr_assert_eq(kir_print(k, gather, text), TALLY_OK);
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
static const char every_op[] = "kernel every_op {\n"
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
                               "  claim %35 - 64\n"
                               "  fence\n"
                               "  %40 : i64x4 = splat %11\n"
                               "  %41 : f32 = extract %39, 3\n"
                               "  %42 : f32x4 = insert %39, %41, 0\n"
                               "  %43 : f32x5 = shuffle %39, %42, [0 7 1 1 4]\n"
                               "  %44 : f32x5 = keep %43\n"
                               "  %45 : i1 = any %8\n"
                               "  clear_flags\n"
                               "  %46 : i32 = flags\n"
                               "  %47 : i32x4 = smin %9, %22\n"
                               "  %48 : i32x4 = smax %9, %22\n"
                               "  %49 : f32x4 = div %4, %14\n"
                               "  %50 : f32x4 = minimum %4, %14\n"
                               "  %51 : f32x4 = maximum %4, %14\n"
                               "  %52 : f32x4 = minimum_number %4, %14\n"
                               "  %53 : f32x4 = maximum_number %4, %14\n"
                               "  %54 : f32x4 = sqrt %4\n"
                               "  %55 : f64 = round %6\n"
                               "  %56 : f32x4 = floor %4\n"
                               "  %57 : f32x4 = sitofp %9\n"
                               "  %58 : f64 = uitofp %11\n"
                               "  %59 : i64 = fptosi %6\n"
                               "  %60 : i32x4 = fptoui %4\n"
                               "  %61 : i64, %62 : f32x5 = for %63 = %1 to %11 step %13 with "
                               "%64 : i64 = %1, %65 : f32x5 = %44 {\n"
                               "    for %66 = %63 to %11 step %13 {\n"
                               "      if %7 {\n"
                               "        fence\n"
                               "      }\n"
                               "    }\n"
                               "    %67 : f32x5 = if %17 {\n"
                               "      yield %65\n"
                               "    } else {\n"
                               "      %68 : f32x5 = add %65, %65\n"
                               "      yield %68\n"
                               "    }\n"
                               "    if %7 {\n"
                               "    } else {\n"
                               "      fence\n"
                               "    }\n"
                               "    yield %63, %67\n"
                               "  }\n"
                               "  return %61\n"
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
    for (int op = 0; op < KIR_OP_COUNT; op++) { /* test_kir_gpu.c has the others */
        cr_assert((seen[op] != 0) == (kir_op_targets((kir_op)op) != KIR_ON_GPU),
                  "%s is in no line of the test", kir_op_text((kir_op)op));
    }
    kir_free(k);
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
    { "%1 : i8x4 = iota\n%2 : i1 = any %1\nreturn %2}", "any goes from lanes of i1" },
    { "%1 : i64 = flags\nreturn %1}", "flags are an i32" },
    { "%1 : i32 = clear_flags\nreturn %1}", "another number of results" },
    { "%1 : i1 = const true\n%2 : i1 = keep %1\nreturn %2}", "keep is of anything but i1" },
    { "%1 : i32 = const 1\nfor %2 = %1 to %1 step %1 {\n}\nreturn %1}", "bounds and step are i64" },
    { "%1 : i64 = const 1\nfor %3 = %1 to %1 step %1 {\n", "values are numbered" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 {\n", "expected 'with'" },
    { "%1 : i64 = const 1\n%2 : i32 = for %3 = %1 to %1 step %1 with %4 : i64 = %1 {\nyield %1\n}\n"
      "return %1}",
      "initial value, carried value and result have one type" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 with %4 : i64 = %1 {\n}\n"
      "return %1}",
      "line 4: yield (): a region yields one value for each result" },
    { "%1 : i64 = const 1\n%2 : i32 = iota\nfor %3 = %1 to %1 step %1 {\nyield %1\n}\nreturn %1}",
      "a region yields one value for each result" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 with %4 : i64 = %1 {\n"
      "%5 : i32 = iota\nyield %5\n}\nreturn %1}",
      "a yielded value has the result's type" },
    { "%1 : i64 = const 1\nfor %2 = %1 to %1 step %1 {\n}\nreturn %2}",
      "line 5: return (%2 i64x1): an operand's region has ended" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 with %4 : i64 = %1 {\nyield %2\n}\n"
      "return %2}",
      "an operand's region has ended, or is the one whose result it is" },
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
        for (int change = round % 4; change >= 0 && bytes > 0; change--) {
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
        tly_args args = { .in.base = (char *)in, .out.base = (char *)out, .length = length };
        tly_push push = { .in.base = (uintptr_t)in,
                          .out.base = (uintptr_t)out,
                          .length = (uint32_t)length };
        kir_grid grid = { .push = &push, .groups_x = 1, .groups_y = 1, .subgroup = 8 };
        if (k->workgroup > 0) {
            cr_assert_eq(kir_interpret_grid(k, &grid, NULL), TALLY_OK);
        } else {
            cr_assert_eq(must_run(k, &args, &(tly_task){ 0 }), 0);
        }
        for (int i = 0; i < 12; i++) {
            sum += i < 11 ? in[i] : 0;
            cr_assert_eq(out[i], i < length ? sum : 77);
        }
    }
}

static char *read_manual(void)
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
    return manual;
}

/* 1 if a table of the manual has the word in the first cell of a row. */
static int has_row(const char *manual, const char *word)
{
    const size_t length = strlen(word);
    for (const char *row = manual; (row = strstr(row, "\n| ")) != NULL; row++) {
        const char *cell = row + 2, *end = strchr(cell, '|');
        while (end != NULL && (cell = strstr(cell, word)) != NULL && cell < end) {
            if (cell[-1] == ' ' && (cell[length] == ' ' || cell[length] == ',')) {
                return 1;
            }
            cell += length;
        }
    }
    return 0;
}

Test(kir, manual_has_every_operation)
{
    const char *manual = read_manual();
    for (int op = 0; op < KIR_OP_COUNT; op++) {
        int in_structure = op == KIR_ELSE || op == KIR_YIELD || op == KIR_END; /* of for and if */
        cr_assert(in_structure || has_row(manual, kir_op_text((kir_op)op)), "%s",
                  kir_op_text((kir_op)op));
    }
}

/* The fenced blocks of docs/kir.md that are marked kir are kernels, to the byte. */
Test(kir, manual)
{
    char *manual = read_manual();
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
        run_example(k);
        examples++;
        kir_free(k);
        at = end + 1;
    }
    cr_assert_eq(examples, 2);
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
        { KIR_ADD, INT64_MAX, 1, INT64_MIN },
        { KIR_SUB, 3, 5, -2 },
        { KIR_MUL, -3, 5, -15 },
        { KIR_UDIV, -1, 2, INT64_MAX },
        { KIR_AND, 12, 10, 8 },
        { KIR_OR, 12, 10, 14 },
        { KIR_XOR, 12, 10, 6 },
        { KIR_SHL, 3, 62, INT64_MIN | 1ll << 62 },
        { KIR_LSHR, -1, 63, 1 },
        { KIR_ASHR, -8, 2, -2 },
        { KIR_UMIN, -1, 7, 7 },
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

/* What takes tuples does to them what it would do to each part, in loops and branches, too; */
static kir_value all_of_parts(kir_builder *b, kir_value v, kir_value cond)
{
    static const uint8_t turned[] = { 3, 2, 1, 0 };
    kir_value x = kir_keep(b, kir_splat(b, v, 4));
    x = kir_shuffle(b, x, x, turned, 4);
    x = kir_insert(b, x, kir_select(b, cond, kir_extract(b, x, 2), v), 1);
    return kir_extract(b, x, 1);
}

Test(kir, tuples_are_their_parts)
{
    kir_builder *b = kir_begin("tuples");
    kir_value v[2] = { kir_get(b, KIR_ARG_LENGTH), kir_const(b, KIR_TYPE(KIR_I32, 1), 7) };
    kir_value cond = kir_cmp(b, KIR_EQ, v[0], kir_int(b, 5)), pair = kir_tuple(b, 2, v), next[2];
    cr_assert_eq(kir_parts(b, pair), 2);
    cr_assert_eq(kir_parts(b, v[1]), 1);
    cr_assert_eq(kir_tuple(b, 1, v), v[0]);
    cr_assert_eq(kir_part(b, v[1], 0), v[1]);
    cr_assert_eq(kir_part(b, pair, 1), v[1]);
    cr_assert_eq(kir_type_of(b, pair).kind, KIR_I64);
    cr_assert_eq(kir_splat(b, pair, 1), pair);
    kir_loop l;
    kir_value first[2] = { kir_int(b, 0), pair };
    kir_for(b, &l, kir_int(b, 0), v[0], kir_int(b, 1), 2, first);
    cr_assert_eq(kir_parts(b, l.carried[1]), 2);
    kir_value other = all_of_parts(b, l.carried[1], cond);
    kir_branch c;
    kir_if(b, &c, cond);
    kir_else(b, &c, 1, &other);
    v[0] = kir_bin(b, KIR_MUL, kir_part(b, other, 0), kir_int(b, 3));
    v[1] = kir_part(b, l.carried[1], 1);
    pair = kir_tuple(b, 2, v);
    kir_if_end(b, &c, 1, &pair);
    next[0] = kir_bin(b, KIR_ADD, l.carried[0], kir_part(b, c.result[0], 0));
    next[1] = c.result[0];
    kir_for_end(b, &l, next);
    kir_value wide = kir_convert(b, KIR_ZEXT, i64, kir_part(b, l.result[1], 1));
    kir_return(b, kir_bin(b, KIR_ADD, l.result[0], wide));
    kir_kernel *k = must_finish(b);
    check_round_trip(k);
    for (uint32_t i = 0; i < k->inst_count; i++)
        cr_assert(k->insts[i].op != KIR_FOR || k->insts[i].result_count == 3);
    tly_args args = { .length = 4 };
    tly_task task = { 0 };
    cr_assert_eq(must_run(k, &args, &task), 12 + 36 + 108 + 324 + 7);
    args.length = 5;
    cr_assert_eq(must_run(k, &args, &task), 5 * 5 + 7);
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

static kir_value pair_of(kir_builder *b)
{
    kir_value v[2] = { kir_get(b, KIR_ARG_LENGTH), kir_const(b, KIR_TYPE(KIR_I32, 1), 7) };
    return kir_tuple(b, 2, v);
}

static void misuse_tuple_add(kir_builder *b)
{
    kir_bin(b, KIR_ADD, pair_of(b), kir_int(b, 1));
}

static void misuse_tuple_zero(kir_builder *b)
{
    kir_bin(b, KIR_ADD, pair_of(b), kir_int(b, 0));
}

static void misuse_tuple_store(kir_builder *b)
{
    kir_store(b, kir_get(b, KIR_ARG_OUT), 0, pair_of(b), 8, 0);
}

static void misuse_tuple_any(kir_builder *b)
{
    kir_value truth = kir_const(b, KIR_TYPE(KIR_I1, 1), 1), v[2] = { truth, truth };
    kir_any(b, kir_tuple(b, 2, v));
}

static void misuse_tuple_move(kir_builder *b)
{
    kir_value p = kir_get(b, KIR_ARG_IN), v[2] = { p, p };
    kir_ptradd(b, kir_tuple(b, 2, v), kir_int(b, 0));
}

static void misuse_tuple_condition(kir_builder *b)
{
    kir_select(b, pair_of(b), pair_of(b), pair_of(b));
}

static void misuse_tuple_mixed(kir_builder *b)
{
    kir_insert(b, kir_splat(b, pair_of(b), 4), kir_int(b, 1), 0);
}

static void misuse_tuple_of_tuples(kir_builder *b)
{
    kir_value pair = pair_of(b);
    kir_tuple(b, 1, &pair);
}

static void misuse_tuple_parts(kir_builder *b)
{
    kir_value one = kir_int(b, 1), v[KIR_MAX_PARTS + 1] = { one, one, one, one };
    kir_tuple(b, COUNT(v), v);
}

static void misuse_tuple_part(kir_builder *b)
{
    kir_part(b, pair_of(b), 2);
}

static void misuse_tuple_next(kir_builder *b)
{
    kir_value pair = pair_of(b), one = kir_int(b, 1);
    kir_loop l;
    kir_for(b, &l, kir_int(b, 0), one, one, 1, &pair);
    kir_for_end(b, &l, &one);
}

static void misuse_tuple_else(kir_builder *b)
{
    kir_value pair = pair_of(b), one = kir_int(b, 1);
    kir_branch c;
    kir_if(b, &c, kir_const(b, KIR_TYPE(KIR_I1, 1), 1));
    kir_else(b, &c, 1, &pair);
    kir_if_end(b, &c, 1, &one);
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
        { misuse_carried, "for: more than 40 values" },
        { misuse_tuple_add, "add: an operand is a tuple" },
        { misuse_tuple_zero, "add: an operand is a tuple" },
        { misuse_tuple_store, "store: operand 1 is a tuple" },
        { misuse_tuple_any, "any: an operand is a tuple" },
        { misuse_tuple_move, "ptradd: an operand is a tuple" },
        { misuse_tuple_condition, "select: operand 0 is of other parts than the rest" },
        { misuse_tuple_mixed, "insert: operand 1 is of other parts than the rest" },
        { misuse_tuple_of_tuples, "tuple: part 0 is no single value" },
        { misuse_tuple_parts, "tuple: parts are 1 to 3" },
        { misuse_tuple_part, "tuple: part 2 of 2" },
        { misuse_tuple_next, "for: a value's parts are not what they were before" },
        { misuse_tuple_else, "if: a value's parts are not what they were before" },
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
