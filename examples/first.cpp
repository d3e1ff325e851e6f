/* SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <tally/tally.hpp>

int main()
{
    const float in[3][4] = { { 2, 1, 3, 5 }, { 3, 8, 7, 3 }, { 9, 6, 2, 4 } };
    float out[3][4];
    tally::context context;
    context.run("cumprod:axis=1", in, out);
    for (const auto &row : out) {
        std::printf("%4g%4g%4g%4g\n", row[0], row[1], row[2], row[3]);
    }
}
