/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels are made for: the generator's own answer, which the runtime hands on. What it is
 * asked is a right problem; each refusal says what there is in its place.
 */
#include <stddef.h>

#include "../../runtime/host/error.h"
#include "../../runtime/host/suggest.h"
#include "operator.h"

enum { LIST = 160 };

#define RUNNING (TLY_BIT(I64) | TLY_BIT(I32))
#define INDICES (RUNNING | TLY_BIT(U64) | TLY_BIT(U32))

static uint32_t outputs_of(const tly_operator *o, const tly_problem *p)
{
    const tally_dtype dtype = (tally_dtype)p->tensor[TLY_IN].dtype;
    const uint32_t same = o->dtypes & 1u << dtype;
    const int is_narrow_float = dtype == TALLY_F16 || dtype == TALLY_BF16;
    const int is_float = tly_class_of(dtype) == TLY_FLOATING;
    const uint32_t single = is_narrow_float ? TLY_BIT(F32) : 0;
    /* Integers are added exactly, but not the floats that `map` makes of them. */
    const int has_map = tly_has_expression(p, TLY_EXPRESSION_MAP);
    const uint32_t real = is_float || has_map ? 0 : TLY_BIT(F32) | TLY_BIT(F64);
    const uint32_t fused = p->program.type != 0 ? tly_fused_outputs(dtype) : 0;
    switch ((tly_outputs)o->outputs) {
    case TLY_OUT_WIDER:
        return same | fused | tly_wider_of(dtype);
    case TLY_OUT_SINGLE:
        return same | fused | single;
    case TLY_OUT_MEANS:
        return same | fused | single | real;
    case TLY_OUT_INDICES:
        return same != 0 ? INDICES : 0;
    case TLY_OUT_RUNNING:
        return same != 0 ? RUNNING : 0;
    default:
        return same | fused;
    }
}

static const char *list_ops(char text[LIST])
{
    text[0] = 0;
    for (int op = 1; op < TALLY_OP_COUNT; op++)
        if (tly_operator_find(op) != NULL)
            tly_names_add(text, LIST, tally_op_name((tally_op)op));
    return text;
}

static const char *list_dtypes(uint32_t dtypes, char text[LIST])
{
    text[0] = 0;
    for (int dtype = 1; dtype < TALLY_DTYPE_COUNT; dtype++)
        if (dtypes >> dtype & 1)
            tly_names_add(text, LIST, tally_dtype_name((tally_dtype)dtype));
    return text;
}

static const char *first_dtype(uint32_t dtypes)
{
    return tally_dtype_name((tally_dtype)__builtin_ctz(dtypes));
}

tally_status tly_operator_check(const tly_problem *p, tally_error *error)
{
    const tly_operator *o = p->op < TALLY_OP_COUNT ? tly_operator_find(p->op) : NULL;
    const char *op = tally_op_name((tally_op)p->op);
    const char *dtype = tally_dtype_name((tally_dtype)p->tensor[TLY_IN].dtype);
    uint32_t outputs = o != NULL ? outputs_of(o, p) : 0;
    char made[LIST];
    if (o == NULL) {
        tly_fail(error, TALLY_UNSUPPORTED, "op", "no kernels exist for %s",
                 op != NULL ? op : "an operator of a later version");
        tly_error_hint(error, "kernels exist for %s", list_ops(made));
    } else if (outputs == 0) {
        tly_fail(error, TALLY_UNSUPPORTED, "dtype", "no kernels of %s exist for %s", op, dtype);
        tly_error_hint(error, "kernels of %s exist for %s", op, list_dtypes(o->dtypes, made));
    } else if ((outputs >> p->tensor[TLY_OUT].dtype & 1) == 0) {
        tly_fail(error, TALLY_UNSUPPORTED, "dtype", "no kernels of %s exist from %s to %s", op,
                 dtype, tally_dtype_name((tally_dtype)p->tensor[TLY_OUT].dtype));
        const int same = outputs >> p->tensor[TLY_IN].dtype & 1;
        tly_error_hint(error, "kernels of %s exist from %s to %s", op, dtype,
                       list_dtypes(outputs, made));
        tly_error_word(error, "%s%s%s", dtype, same ? "" : ">", same ? "" : first_dtype(outputs));
    } else if (p->order == TALLY_ORDER_EXACT) {
        tly_fail(error, TALLY_UNSUPPORTED, "order", "no kernels exist for order=exact");
        tly_error_hint(error, "kernels exist without order=, with the same bits on every run, and "
                              "with order=serial");
    } else {
        return TALLY_OK;
    }
    return TALLY_UNSUPPORTED;
}
