/* SPDX-License-Identifier: Apache-2.0 */
/* The linear template: what steps fetch ahead. */
#include "linear.h"

enum { LINE = 64 };

/* 1: elements of a tensor are read as steps go on. A map may do without the input; offsets and
 * states are no elements. */
static int is_read(const tly_build *c, int tensor)
{
    uint64_t names = tly_has_expression(c->p, TLY_EXPRESSION_MAP) ? 0 : 1 << TLY_POSTFIX_X;
    for (int which = 0; which < TLY_EXPRESSIONS; which++)
        names |= tly_codes_of(c->p, which);
    return tensor == TLY_IN ? (int)(names >> TLY_POSTFIX_X & 1)
                            : tensor != TLY_OUT && tensor < tly_operands_end(c->p);
}

void tly_linear_prefetch(tly_linear *k, kir_value i, unsigned n)
{
    tly_build *c = k->c;
    tly_region far = { 0 };
    emit_if(c, &far, k->streams);
    for (int t = 0; t < c->tensors; t++) {
        const int up = c->p->tensor[t].step == 1, down = c->p->tensor[t].step == -1;
        if (!is_read(c, t) || tly_is_uneven(c->p, t) || !(up || down))
            continue;
        kir_value from = ptradd(c, k->row.at[t], mul(c, i, tly_step(c, t)));
        const int64_t bytes = (int64_t)n * c->lanes * c->bytes[t];
        for (int64_t byte = 0; byte < bytes; byte += LINE)
            kir_prefetch(c->b, from, (up - down) * (c->plan->prefetch + byte));
    }
    emit_end(c, &far);
}
