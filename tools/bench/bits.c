/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the bits of two outputs say: the same, within what another order of combination changes, or
 * wrong.
 */
#include "../common/about.h"
#include "../files/floats.h"
#include "search.h"

#include <math.h>
#include <string.h>

/* Half a unit in the last place of 1; narrow outputs are rounded once more. */
static double epsilon_of(const tally_descriptor *d, tally_dtype out)
{
    const int bits = out == TALLY_F64 && d->acc != TALLY_F32 ? 53
                     : out == TALLY_F16                      ? 11
                     : out == TALLY_BF16                     ? 8
                                                             : 24;
    return ldexp(1, -bits);
}

/* `n` elements of about 1, signs drawn, make partial results of about sqrt(n) with errors of so
 * many epsilons of it. */
static int is_near(double a, double b, double epsilon, double n)
{
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) {
        return (isnan(a) && isnan(b)) || a == b;
    }
    return fabs(a - b) <= 16 * epsilon * sqrt(n) * fmax(fmax(fabs(a), fabs(b)), sqrt(n));
}

/* States that are handed on. They hold what the last results do: within a tolerance of another
 * order where those are, but for integers. */
static tly_bits bits_of_states(const tly_bench_target *target, const char *expected,
                               const char *got)
{
    const size_t at = target->states_at;
    const tally_dtype out = target->job.out.dtype;
    const int is_same = !(target->job.descriptor.carry & TALLY_CARRY_OUT) ||
                        memcmp(expected + at, got + at, target->states_bytes) == 0;
    return is_same ? TLY_BITS_SAME : tly_about_is_float(out) ? TLY_BITS_TOLERANCE : TLY_BITS_WRONG;
}

tly_bits tly_bits_of(const tly_bench_target *target, const char *expected, const char *got)
{
    const tly_layout *out = &target->job.out, *in = &target->job.in;
    const tally_descriptor *d = &target->job.descriptor;
    const size_t bytes = (size_t)(out->high + 1) * out->element;
    if (memcmp(expected, got, bytes) == 0) {
        return bits_of_states(target, expected, got);
    }
    if (out->dtype != TALLY_F64 && out->dtype != TALLY_F32 && out->dtype != TALLY_F16 &&
        out->dtype != TALLY_BF16) {
        return TLY_BITS_WRONG;
    }
    const double epsilon = epsilon_of(d, out->dtype);
    const double n = target->job.scan ? (double)d->sizes[d->axis]
                                      : (double)in->count / (double)out->count;
    for (size_t at = 0; at < bytes; at += out->element) {
        if (memcmp(expected + at, got + at, out->element) != 0 &&
            !is_near(tly_float_load(out->dtype, expected + at),
                     tly_float_load(out->dtype, got + at), epsilon, n + 1)) {
            return TLY_BITS_WRONG;
        }
    }
    return TLY_BITS_TOLERANCE;
}
