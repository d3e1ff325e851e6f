/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this program share: with exceptions and without, by any compiler. */
#ifndef EXPECT_HPP
#define EXPECT_HPP

#include <tally/tally.hpp>

#include <cstdio>
#include <cstring>

inline int failures = 0;

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            failures++; \
            std::printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition); \
        } \
    } while (0)

/* A call succeeds; the first that does not says why. */
#define WORKS(call) works((call), __FILE__, __LINE__)

template <class Result> bool works(const Result &result, const char *file, int line)
{
    if (!result) {
        failures++;
        std::printf("FAILED %s:%d: %s\n", file, line, result.error().text().c_str());
    }
    return result.has_value();
}

/* A call fails so. */
#define FAILS(call, status, field, message) \
    fails((call), status, field, message, __FILE__, __LINE__)

template <class Result>
void fails(const Result &result, tally::status status, const char *field, const char *message,
           const char *file, int line)
{
    if (result.has_value() || result.status() != status ||
        std::strcmp(result.error().field(), field) != 0 ||
        std::strstr(result.error().message(), message) == nullptr) {
        failures++;
        std::printf("FAILED %s:%d: %s: %s\n", file, line, tally::name(result.status()).data(),
                    result ? "it worked" : result.error().text().c_str());
    }
}

void test_elements();
void test_views();
void test_descriptors();
void test_directml();
void test_runs();
void test_operands();
void test_carry();
void test_dtypes();
void test_handles();
void test_exceptions();

#endif
