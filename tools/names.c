/* SPDX-License-Identifier: Apache-2.0 */
/* What functions of objects and headers can be called; see batch.h. */
#include "batch.h"

#include <ctype.h>
#include <string.h>

static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* Of C11 and C++20, and what cannot be a function's name beside them: what objects themselves call,
 * what headers need, compilers' macros. */
static int is_keyword(const char *name)
{
    static const char *const keywords[] = {
        "alignas",     "alignof",      "and",       "and_eq",
        "asm",         "auto",         "bitand",    "bitor",
        "bool",        "break",        "case",      "catch",
        "char",        "char16_t",     "char32_t",  "char8_t",
        "class",       "co_await",     "co_return", "co_yield",
        "compl",       "concept",      "const",     "const_cast",
        "consteval",   "constexpr",    "constinit", "continue",
        "decltype",    "default",      "delete",    "do",
        "double",      "dynamic_cast", "else",      "enum",
        "explicit",    "export",       "extern",    "false",
        "float",       "for",          "friend",    "goto",
        "if",          "inline",       "int",       "long",
        "main",        "mutable",      "namespace", "new",
        "noexcept",    "not",          "not_eq",    "nullptr",
        "operator",    "or",           "or_eq",     "private",
        "protected",   "public",       "register",  "reinterpret_cast",
        "requires",    "restrict",     "return",    "short",
        "signed",      "sizeof",       "static",    "static_assert",
        "static_cast", "struct",       "switch",    "template",
        "this",        "thread_local", "throw",     "true",
        "try",         "typedef",      "typeid",    "typename",
        "union",       "unsigned",     "using",     "virtual",
        "void",        "volatile",     "wchar_t",   "while",
        "xor",         "xor_eq",       "malloc",    "free",
        "memcpy",      "memset",       "typeof",    "linux",
        "unix",        "NULL",         "size_t",    "ptrdiff_t",
        "offsetof",    "max_align_t",  "errno",     "EINVAL",
        "ENOMEM",      "ENOTSUP",      "SIZE_MAX",  "PTRDIFF_MIN",
        "PTRDIFF_MAX",
    };
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strcmp(keywords[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* What C keeps for itself and for <stdint.h>: int64_t, INT64_MAX, UINT64_C and their like. */
static int is_reserved(const char *name)
{
    static const struct {
        const char *begin, *end;
    } kept[] = {
        { "int", "_t" }, { "uint", "_t" },   { "INT", "_MIN" }, { "INT", "_MAX" },
        { "INT", "_C" }, { "UINT", "_MAX" }, { "UINT", "_C" },  { "__", "" },
    };
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const size_t begin = strlen(kept[i].begin), end = strlen(kept[i].end);
        if (length >= begin + end && strncmp(name, kept[i].begin, begin) == 0 &&
            strcmp(name + length - end, kept[i].end) == 0) {
            return 1;
        }
    }
    return name[0] == '_' && isupper((unsigned char)name[1]);
}

/* Whether one is the other's with _part behind it: both would name the same function. */
static int is_part_of(const char *name, const char *whole)
{
    const size_t length = strlen(whole);
    return strncmp(name, whole, length) == 0 && strcmp(name + length, "_part") == 0;
}

const char *tly_name_fault(const char *name)
{
    if (!name[0] || isdigit((unsigned char)name[0]) || name[strspn(name, letters)]) {
        return "is no C identifier";
    }
    return is_keyword(name) || is_reserved(name) ? "is a name of C's or C++'s own" : NULL;
}

const char *tly_name_clash(const char *name, const char *other)
{
    if (strcmp(other, name) == 0) {
        return "comes twice";
    }
    return is_part_of(name, other) || is_part_of(other, name) ? "collides with another's _part"
                                                              : NULL;
}

void tly_name_escape(char *name)
{
    for (; *name; name++) {
        *name = strchr(letters, *name) ? *name : '_';
    }
}
