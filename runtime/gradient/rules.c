/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradients of operators. gradient.h says what the names stand for; docs/gradients.md has the
 * same tables and their reasons.
 */
#include "gradient.h"

#include <stddef.h>

static const tly_scan_rule scan_rules[] = {
    { TALLY_CUMSUM, 0, TALLY_CUMSUM, 1, "a", "", "y" },
    { TALLY_CUMSUM, 1, TALLY_CUMSUM, 0, "a", "", "y" },
    { TALLY_CUMPROD, 0, TALLY_LINREC, 0, "x*a", "x", "b*(a+y)" },
    { TALLY_CUMPROD, 1, TALLY_LINREC, 0, "a", "x", "b*y" },
    { TALLY_CUMMAX, 0, TALLY_LINREC, 0, "where(x>b,0,a)", "where(x>b,0,1)", "where(x>b,a+y,0)" },
    { TALLY_CUMMAX, 1, TALLY_LINREC, 0, "a", "where(x>b,0,1)", "where(x>b,y,0)" },
    { TALLY_CUMMIN, 0, TALLY_LINREC, 0, "where(x<b,0,a)", "where(x<b,0,1)", "where(x<b,a+y,0)" },
    { TALLY_CUMMIN, 1, TALLY_LINREC, 0, "a", "where(x<b,0,1)", "where(x<b,y,0)" },
    { TALLY_CUMLOGSUMEXP, 0, TALLY_LINREC, 0, "sig(b-x)*a", "sig(b-x)", "sig(x-b)*(a+y)" },
    { TALLY_CUMLOGSUMEXP, 1, TALLY_LINREC, 0, "a", "sig(b-x)", "sig(x-b)*y" },
    { TALLY_LINREC, 0, TALLY_LINREC, 0, "c*a", "c", "a+y" },
    { TALLY_LINREC, 1, TALLY_LINREC, 0, "a", "c", "y" },
};

/* Products have none: plan.c makes exclusive products of them. */
static const char *const reduction_rules[TALLY_OP_COUNT] = {
    [TALLY_SUM] = "a",
    [TALLY_MEAN] = "a/c",
    [TALLY_L1] = "a*where(x<0,-1,where(x>0,1,0))",
    [TALLY_L2] = "where(b==0,0,a*x/b)",
    [TALLY_SUM_SQUARE] = "2*a*x",
    [TALLY_LOG_SUM] = "a*exp(-b)",
    [TALLY_LOG_SUM_EXP] = "a*exp(x-b)",
    [TALLY_MAX] = "where(x==b,a/c,0)",
    [TALLY_MIN] = "where(x==b,a/c,0)",
};

static const uint8_t outputs[TALLY_OP_COUNT] = {
    [TALLY_CUMSUM] = TLY_OUTPUTS_WIDER,       [TALLY_CUMPROD] = TLY_OUTPUTS_WIDER,
    [TALLY_LINREC] = TLY_OUTPUTS_WIDER,       [TALLY_SUM] = TLY_OUTPUTS_WIDER,
    [TALLY_PROD] = TLY_OUTPUTS_WIDER,         [TALLY_MEAN] = TLY_OUTPUTS_SINGLE,
    [TALLY_L2] = TLY_OUTPUTS_SINGLE,          [TALLY_LOG_SUM] = TLY_OUTPUTS_SINGLE,
    [TALLY_LOG_SUM_EXP] = TLY_OUTPUTS_SINGLE,
};

const tly_scan_rule *tly_scan_rule_of(int32_t op, int exclusive)
{
    for (size_t i = 0; i < sizeof scan_rules / sizeof *scan_rules; i++) {
        if (scan_rules[i].op == op && scan_rules[i].exclusive == exclusive) {
            return &scan_rules[i];
        }
    }
    return NULL;
}

const char *tly_reduction_rule_of(int32_t op)
{
    return reduction_rules[op];
}

int tly_has_rule(int32_t op)
{
    return op == TALLY_PROD || reduction_rules[op] != NULL || tly_scan_rule_of(op, 0) != NULL;
}

tly_outputs tly_outputs_of(int32_t op)
{
    return (tly_outputs)outputs[op];
}

int tly_picks(int32_t op)
{
    return op == TALLY_CUMMAX || op == TALLY_CUMMIN || op == TALLY_MAX || op == TALLY_MIN;
}
