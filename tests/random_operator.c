/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operators and axes. Guarantees: every combination of operator and dtypes is one of
 * docs/semantics.md, section 1, written down here once more; those of TLY_DRAW_MADE are drawn as if
 * there were no others.
 */
#include "random.h"

#include "reference.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* The more often a dtype is written, the more often it is drawn. */
static const uint8_t floats[] = { TALLY_F32, TALLY_F64, TALLY_F16, TALLY_BF16 };
static const uint8_t numbers[] = { TALLY_F32, TALLY_F32, TALLY_F32,  TALLY_F64,  TALLY_F64,
                                   TALLY_F16, TALLY_F16, TALLY_BF16, TALLY_BF16, TALLY_I32,
                                   TALLY_I64, TALLY_U32, TALLY_U64 };
static const uint8_t all[] = { TALLY_F32, TALLY_F32, TALLY_F64, TALLY_F16, TALLY_BF16,
                               TALLY_I64, TALLY_I32, TALLY_I16, TALLY_I8,  TALLY_U64,
                               TALLY_U32, TALLY_U16, TALLY_U8,  TALLY_BOOL };
static const uint8_t indices[] = { TALLY_I64, TALLY_I32, TALLY_U32, TALLY_U64 };
enum { RUNNING = 2 }; /* the first ones are of scans, too */
static const uint8_t wider[][2] = {
    { TALLY_I8, TALLY_I64 },   { TALLY_I16, TALLY_I64 },  { TALLY_I32, TALLY_I64 },
    { TALLY_BOOL, TALLY_I64 }, { TALLY_U8, TALLY_U64 },   { TALLY_U16, TALLY_U64 },
    { TALLY_U32, TALLY_U64 },  { TALLY_I8, TALLY_I32 },   { TALLY_I16, TALLY_I32 },
    { TALLY_U8, TALLY_U32 },   { TALLY_U16, TALLY_U32 },  { TALLY_F16, TALLY_F32 },
    { TALLY_BF16, TALLY_F32 }, { TALLY_F32, TALLY_F64 },  { TALLY_U8, TALLY_I32 },
    { TALLY_U16, TALLY_I32 },  { TALLY_BOOL, TALLY_I32 }, { TALLY_BOOL, TALLY_U32 }
};
/* Of functions of sums, and of means of integers. */
static const uint8_t single[][2] = { { TALLY_F16, TALLY_F32 }, { TALLY_BF16, TALLY_F32 } };
static const uint8_t means[][2] = {
    { TALLY_F16, TALLY_F32 }, { TALLY_BF16, TALLY_F32 }, { TALLY_I8, TALLY_F32 },
    { TALLY_I16, TALLY_F32 }, { TALLY_I32, TALLY_F32 },  { TALLY_I64, TALLY_F32 },
    { TALLY_U8, TALLY_F32 },  { TALLY_U16, TALLY_F32 },  { TALLY_U32, TALLY_F32 },
    { TALLY_U64, TALLY_F32 }, { TALLY_BOOL, TALLY_F32 }, { TALLY_I8, TALLY_F64 },
    { TALLY_I16, TALLY_F64 }, { TALLY_I32, TALLY_F64 },  { TALLY_I64, TALLY_F64 },
    { TALLY_U8, TALLY_F64 },  { TALLY_U16, TALLY_F64 },  { TALLY_U32, TALLY_F64 },
    { TALLY_U64, TALLY_F64 }, { TALLY_BOOL, TALLY_F64 }
};

#define LIST(list) list, COUNT(list)
static const struct {
    const uint8_t *dtypes;
    int64_t count;
    const uint8_t (*pairs)[2]; /* of input and output; NULL: there are none */
    int64_t pair_count;
    uint8_t takes_acc;
} inputs[TALLY_OP_COUNT] = { [TALLY_CUMSUM] = { LIST(numbers), LIST(wider), 1 },
                             [TALLY_CUMPROD] = { LIST(numbers), LIST(wider), 1 },
                             [TALLY_CUMMAX] = { LIST(all), NULL, 0, 0 },
                             [TALLY_CUMMIN] = { LIST(all), NULL, 0, 0 },
                             [TALLY_SUM] = { LIST(numbers), LIST(wider), 1 },
                             [TALLY_PROD] = { LIST(numbers), LIST(wider), 1 },
                             [TALLY_MEAN] = { LIST(numbers), LIST(means), 1 },
                             [TALLY_L1] = { LIST(numbers), NULL, 0, 1 },
                             [TALLY_L2] = { LIST(numbers), LIST(single), 1 },
                             [TALLY_SUM_SQUARE] = { LIST(numbers), NULL, 0, 1 },
                             [TALLY_LOG_SUM] = { LIST(numbers), LIST(single), 0 },
                             [TALLY_LOG_SUM_EXP] = { LIST(numbers), LIST(single), 0 },
                             [TALLY_MAX] = { LIST(all), NULL, 0, 0 },
                             [TALLY_MIN] = { LIST(all), NULL, 0, 0 },
                             [TALLY_ARGMAX] = { LIST(all), NULL, 0, 0 },
                             [TALLY_ARGMIN] = { LIST(all), NULL, 0, 0 },
                             [TALLY_CUMARGMAX] = { LIST(all), NULL, 0, 0 },
                             [TALLY_CUMARGMIN] = { LIST(all), NULL, 0, 0 },
                             [TALLY_LINREC] = { LIST(numbers), LIST(wider), 1 },
                             [TALLY_CUMLOGSUMEXP] = { LIST(floats), NULL, 0, 0 } };

/* Recurrences need an operand or an expression. */
int tly_is_drawn(int op)
{
    return inputs[op].count > 0 && op != TALLY_LINREC;
}

static int is_drawn_of(int op, uint32_t draws)
{
    return tly_is_drawn(op) || (op == TALLY_LINREC && draws & TLY_DRAW_STAGES);
}

static int32_t draw_op(tly_random *r, uint32_t draws)
{
    int32_t ops[TALLY_OP_COUNT];
    int64_t count = 0;
    for (int op = 1; op < TALLY_OP_COUNT; op++)
        if (draws >> op & 1 && is_drawn_of(op, draws))
            ops[count++] = op;
    return ops[tly_random_below(r, count)];
}

static void draw_dtypes(tly_random *r, uint32_t draws, tally_descriptor *d)
{
    const int op = d->op;
    if (inputs[op].pairs && draws & TLY_DRAW_WIDER && tly_random_one_in(r, 3)) {
        const uint8_t *pair = inputs[op].pairs[tly_random_below(r, inputs[op].pair_count)];
        d->dtype = pair[0];
        d->out_dtype = pair[1];
        return;
    }
    d->dtype = inputs[op].dtypes[tly_random_below(r, inputs[op].count)];
    if (tly_operations[op].family == TLY_INDICES)
        d->out_dtype =
            indices[tly_random_below(r, tally_op_is_scan((tally_op)op) ? RUNNING : COUNT(indices))];
}

static uint32_t maybe(tly_random *r, int64_t n, uint32_t flag)
{
    return tly_random_one_in(r, n) ? flag : 0;
}

uint32_t tly_draw_ops(int scans)
{
    uint32_t draws = 0;
    for (int op = 1; op < TALLY_OP_COUNT; op++)
        draws |= tally_op_is_scan((tally_op)op) == scans ? 1u << op : 0;
    return draws;
}

void tly_random_operator(tly_random *r, uint32_t draws, tally_descriptor *d)
{
    d->op = draw_op(r, draws);
    draw_dtypes(r, draws, d);
    const tly_family family = tly_operations[d->op].family;
    const tally_dtype out = tly_reference_output(d);
    if (inputs[d->op].takes_acc && tly_is_float(out) && out != TALLY_F64 && tly_random_one_in(r, 5))
        d->acc = TALLY_F64;
    d->order = tly_random_one_in(r, 5) ? TALLY_ORDER_SERIAL : TALLY_ORDER_RUN;
    if (tally_op_is_scan((tally_op)d->op))
        d->flags = (family == TLY_INDICES ? 0 : maybe(r, 3, TALLY_EXCLUSIVE)) |
                   maybe(r, 3, TALLY_REVERSE);
    else
        d->flags = maybe(r, 2, TALLY_KEEPDIMS);
    if (family == TLY_INDICES)
        d->flags |= maybe(r, 2, TALLY_LAST);
    if (family >= TLY_PICKS && tly_is_float((tally_dtype)d->dtype))
        d->flags |= maybe(r, 2, TALLY_NAN_IGNORE);
}

/* The axis alone, with its neighbour, all, none, or any set. */
void tly_random_axes(tly_random *r, tally_descriptor *d)
{
    const uint32_t every = (1u << d->rank) - 1, one = 1u << d->axis & every;
    const uint32_t sets[] = { one,
                              one,
                              (one | one << 1) & every,
                              (one | one >> 1) & every,
                              every,
                              0,
                              (uint32_t)tly_random_next(r) & every };
    d->axis = 0;
    d->axes_given = !tly_random_one_in(r, 8);
    d->axes = d->axes_given ? sets[tly_random_below(r, COUNT(sets))] : 0;
    for (int k = 0; k < d->rank && tly_operations[d->op].family == TLY_INDICES; k++)
        d->sizes[k] += d->sizes[k] == 0; /* no element has no index */
}
