/* SPDX-License-Identifier: Apache-2.0 */
#include "worth.h"

#include "../host/checked.h"

/* The first runs go both ways in turns, as any of them may have been held up. Then what is
 * better, and every now and then the other, so that nothing is held against it for good: seldom
 * where it took far longer, which a host should not meet again and again. */
enum { FIRST_RUNS = 6, OFTEN = 32, SELDOM = 4096 };

static int64_t best_of(const tly_worth *worth, int several)
{
    return atomic_load_explicit(&worth->best[several], memory_order_relaxed);
}

int tly_worth_several(tly_worth *worth)
{
    const uint32_t run = atomic_fetch_add_explicit(&worth->runs, 1, memory_order_relaxed);
    const int64_t one = best_of(worth, 0), several = best_of(worth, 1);
    if (run < FIRST_RUNS || one == 0 || several == 0) {
        return run % 2 == 0;
    }
    const int better = several < one - one / 16; /* for less a core is better left to others */
    const int64_t more = tly_larger(one, several), less = tly_smaller(one, several);
    const int close = more - less < less / 4;
    return run % (close ? OFTEN : SELDOM) == 0 ? !better : better;
}

/* The shortest, but what was once is forgotten little by little. */
void tly_worth_tell(tly_worth *worth, int several, uint64_t ns)
{
    const int64_t known = best_of(worth, several), now = (int64_t)ns;
    const int64_t best = known == 0 ? now : tly_smaller(now, known + known / 64);
    atomic_store_explicit(&worth->best[several], tly_larger(best, 1), memory_order_relaxed);
}
