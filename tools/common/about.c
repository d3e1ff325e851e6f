/* SPDX-License-Identifier: Apache-2.0 */
/* What the command knows of operators; see about.h. */
#include "about.h"

#define NOT TLY_MEASURED_NOT
#define SCAN TLY_MEASURED_SCAN
#define SUM TLY_MEASURED_SUM
#define MAX TLY_MEASURED_MAX

static const tly_about rows[TALLY_OP_COUNT] = {
    [TALLY_CUMSUM] = { "cumulative sums", "addition", TLY_ADDS, 0, SCAN },
    [TALLY_CUMPROD] = { "cumulative products", "multiplication", TLY_MULTIPLIES, 0, SCAN },
    [TALLY_CUMMAX] = { "running maxima", "the larger of two values", TLY_COMPARES, 0, NOT },
    [TALLY_CUMMIN] = { "running minima", "the smaller of two values", TLY_COMPARES, 0, NOT },
    [TALLY_CUMLOGSUMEXP] = { "cumulative log-sum-exps",
                             "the logarithm of the sum of two exponentials", TLY_ADDS_EXPONENTIALS,
                             0, NOT },
    [TALLY_SUM] = { "sums", "addition", TLY_ADDS, 1, SUM },
    [TALLY_PROD] = { "products", "multiplication", TLY_MULTIPLIES, 1, SUM },
    [TALLY_MEAN] = { "means", "addition, and a division by the number of elements follows",
                     TLY_ADDS, 1, SUM },
    [TALLY_L1] = { "sums of magnitudes", "the addition of magnitudes", TLY_ADDS, 0, SUM },
    [TALLY_L2] = { "Euclidean norms", "the addition of squares, and a square root follows",
                   TLY_ADDS, 0, SUM },
    [TALLY_SUM_SQUARE] = { "sums of squares", "the addition of squares", TLY_ADDS, 0, SUM },
    [TALLY_LOG_SUM] = { "logarithms of sums", "addition, and a logarithm follows", TLY_ADDS, 1,
                        NOT },
    [TALLY_LOG_SUM_EXP] = { "log-sum-exps", "the logarithm of the sum of two exponentials",
                            TLY_ADDS_EXPONENTIALS, 0, TLY_MEASURED_LSE },
    [TALLY_MAX] = { "maxima", "the larger of two values", TLY_COMPARES, 0, MAX },
    [TALLY_MIN] = { "minima", "the smaller of two values", TLY_COMPARES, 0, MAX },
    [TALLY_ARGMAX] = { "indices of maxima", "the larger of two values, with its index", TLY_FINDS,
                       0, TLY_MEASURED_ARG },
    [TALLY_ARGMIN] = { "indices of minima", "the smaller of two values, with its index", TLY_FINDS,
                       0, TLY_MEASURED_ARG },
};

const tly_about *tly_about_op(int32_t op)
{
    return &rows[op];
}
