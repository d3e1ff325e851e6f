/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far each of some prices has fallen from its highest so far, and the worst fall of each: a
 * kernel that is made once and runs on every batch; prices that lie day by day are a view, and
 * nothing is copied.
 */
#include <cmath>
#include <cstdio>
#include <random>
#include <tally/tally.hpp>
#include <vector>

namespace {

constexpr int assets = 5, days = 250, batches = 3;

/* Random walks, all assets of a day side by side. */
std::vector<double> walk(std::mt19937_64 &random)
{
    std::normal_distribution<double> change(0.0003, 0.02);
    std::vector<double> prices(assets * days, 100.0);
    for (std::size_t i = assets; i < prices.size(); i++) {
        prices[i] = prices[i - assets] * std::exp(change(random));
    }
    return prices;
}

void report(const tally::context &context)
{
    std::mt19937_64 random(7);
    std::vector<double> prices(assets * days), highest(assets * days), worst(assets);
    /* One row an asset: 1 element to the next asset, `assets` to the next day. */
    const tally::view rows(prices, { assets, days }, { 1, assets });
    const tally::view falls(highest, { assets, days });
    const tally::kernel peaks = context.make("cummax:axis=1", rows, falls);
    const tally::kernel least = context.make("min:axes=1", falls, worst);
    for (int batch = 0; batch < batches; batch++) {
        prices = walk(random);
        peaks.run(tally::view(prices, { assets, days }, { 1, assets }), falls);
        for (int a = 0; a < assets; a++) {
            for (int day = 0; day < days; day++) {
                falls(a, day) = prices[static_cast<std::size_t>(day * assets + a)] / falls(a, day) -
                                1;
            }
        }
        least.run(falls, worst);
        for (const double fall : worst) {
            std::printf("%7.1f%%", 100 * fall);
        }
        std::printf("\n");
    }
}

} // namespace

int main()
{
    try {
        report(tally::context());
    } catch (const tally::error &error) {
        std::fprintf(stderr, "drawdown: %s\n", error.what());
        return 1;
    }
    return 0;
}
