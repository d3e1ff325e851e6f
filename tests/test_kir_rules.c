/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier's rules one by one. */
#include <stdio.h>

#include "must.h"

/* Each text breaks one rule; the message names the line and the rule. */
static const struct {
    const char *body, *message;
} faults[] = {
    { "", "line 2: expected a name" },
    { "}", "line 2: the kernel: the last instruction of a kernel is return" },
    { "%1 : i64 = const 1\n}", "line 2: const () : i64x1: the last instruction" },
    { "%1 : i64 = const 1\nreturn %1\nfence\n}", "line 3: return (%1 i64x1): return is the last" },
    { "%1 : i64 = const 1\n%1 : i64 = const 2\n", "line 3: a value is defined once" },
    { "%1 : i64 = const 1\n%7, %7 : i64 = const 2\n", "line 3: expected ':'" },
    { "%1000000 : i64 = const 1\n", "line 2: the number is too large here" },
    { "%2 : i64 = const 1\nreturn %1\n}", "line 3: a value is used before it is defined" },
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
    { "%1 : i64x2 = iota\n%2 : i32x2 = permute %1, %1, %1\nreturn %2}", "keeps their type" },
    { "%1 : i64x3 = iota\n%2 : i64x3 = permute %1, %1, %1\nreturn %2}", "keeps their type" },
    { "%1 : i16x2 = iota\n%2 : i16x2 = permute %1, %1, %1\nreturn %2}", "keeps their type" },
    { "%1 : i64x2 = iota\n%2 : i32x2 = iota\n%3 : i64x2 = permute %1, %1, %2\nreturn %3}",
      "lane numbers are integers" },
    { "%1 : i8x4 = iota\n%2 : i1 = any %1\nreturn %2}", "any goes from lanes of i1" },
    { "%1 : i64 = flags\nreturn %1}", "flags are an i32" },
    { "%1 : i32 = clear_flags\nreturn %1}", "another number of results" },
    { "%1 : i1 = const true\n%2 : i1 = keep %1\nreturn %2}", "keep is of anything but i1" },
    { "%1 : i32 = const 1\nfor %2 = %1 to %1 step %1 {\n}\nreturn %1}", "bounds and step are i64" },
    { "%1 : i64 = const 1\nfor %1 = %1 to %1 step %1 {\n", "a value is defined once" },
    { "%1 : i64 = const 1\n%2 : i64 = for %2 = %1 to %1 step %1 with %3 : i64 = %1 {\n",
      "a value is defined once" },
    { "%1 : i64 = const 1\n%2 : i64 = for %3 = %1 to %1 step %1 with %4 : i64 = %4 {\n",
      "a value is used before it is defined" },
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

/* Of a character, both counted from 1. */
static int line_of(const char *source, int32_t position)
{
    int line = 1;
    cr_assert(position >= 1 && (size_t)position <= strlen(source) + 1, "%d", (int)position);
    for (int32_t i = 0; i < position - 1; i++) {
        line += source[i] == '\n';
    }
    return line;
}

Test(kir, each_rule_has_its_message)
{
    for (size_t i = 0; i < COUNT(faults); i++) {
        char source[1024];
        tally_error error = TALLY_ERROR_INIT;
        kir_kernel *k = NULL;
        snprintf(source, sizeof source, "kernel broken {\n%s", faults[i].body);
        cr_assert_eq(kir_parse(source, strlen(source), &k, &error), TALLY_INVALID, "%s", source);
        cr_assert_null(k);
        char message[sizeof error.message + 32];
        snprintf(message, sizeof message, "line %d: %s", line_of(source, error.position),
                 error.message);
        cr_assert_not_null(strstr(message, faults[i].message), "%s\nsays: %s\nnot: %s", source,
                           message, faults[i].message);
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
