/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans and reductions as custom operators of ONNX Runtime, for CPUs: which there are, what ONNX
 * Runtime asks of them while it reads a model, and their registration.
 *
 * The files of this folder make two libraries, because Python's register_custom_ops_library calls
 * one symbol of a library and passes no argument: TALLY_ORT_DOMAIN is "tally" in one. In the other
 * it is "", ONNX's own domain, where an operator takes the place of ONNX Runtime's.
 */
#include "node.h"

#include <pthread.h>
#include <stdlib.h>

static const tly_ort_row rows[] = {
    { TALLY_CUMSUM, TLY_ORT_SCAN, "CumSum", 0 },
    { TALLY_CUMPROD, TLY_ORT_SCAN, "CumProd", 0 },
    { TALLY_CUMMAX, TLY_ORT_SCAN, "CumMax", 1 },
    { TALLY_CUMMIN, TLY_ORT_SCAN, "CumMin", 1 },
    { TALLY_CUMLOGSUMEXP, TLY_ORT_SCAN, "CumLogSumExp", 1 },
    { TALLY_SUM, TLY_ORT_REDUCE, "ReduceSum", 0 },
    { TALLY_PROD, TLY_ORT_REDUCE, "ReduceProd", 0 },
    { TALLY_MEAN, TLY_ORT_REDUCE, "ReduceMean", 0 },
    { TALLY_L1, TLY_ORT_REDUCE, "ReduceL1", 0 },
    { TALLY_L2, TLY_ORT_REDUCE, "ReduceL2", 0 },
    { TALLY_SUM_SQUARE, TLY_ORT_REDUCE, "ReduceSumSquare", 0 },
    { TALLY_LOG_SUM, TLY_ORT_REDUCE, "ReduceLogSum", 0 },
    { TALLY_LOG_SUM_EXP, TLY_ORT_REDUCE, "ReduceLogSumExp", 0 },
    { TALLY_MAX, TLY_ORT_REDUCE, "ReduceMax", 0 },
    { TALLY_MIN, TLY_ORT_REDUCE, "ReduceMin", 0 },
    { TALLY_ARGMAX, TLY_ORT_PICK, "ArgMax", 0 },
    { TALLY_ARGMIN, TLY_ORT_PICK, "ArgMin", 0 },
};
enum { ROWS = sizeof rows / sizeof rows[0], MOST_CUSTOMS = 2 * ROWS };

/* --- what an operator is --- */

static const tly_ort_custom *of(const ort_custom_op *op)
{
    return (const tly_ort_custom *)(const void *)op;
}

static const char *name(const ort_custom_op *op)
{
    return of(op)->row->name;
}

static const char *provider(const ort_custom_op *op)
{
    (void)op;
    return NULL;
}

static ort_type input_type(const ort_custom_op *op, size_t index)
{
    return index == 0 ? ORT_ANY : of(op)->axis;
}

static size_t input_count(const ort_custom_op *op)
{
    return of(op)->row->kind == TLY_ORT_PICK ? 1 : 2;
}

/* ORT_ANY: that of the input. */
static ort_type output_type(const ort_custom_op *op, size_t index)
{
    (void)index;
    return of(op)->row->kind == TLY_ORT_PICK ? ORT_I64 : ORT_ANY;
}

static size_t output_count(const ort_custom_op *op)
{
    (void)op;
    return 1;
}

static int input_kind(const ort_custom_op *op, size_t index)
{
    return index == 1 && of(op)->row->kind == TLY_ORT_REDUCE ? ORT_OPTIONAL : ORT_REQUIRED;
}

static int output_kind(const ort_custom_op *op, size_t index)
{
    (void)op;
    (void)index;
    return ORT_REQUIRED;
}

static int input_memory(const ort_custom_op *op, size_t index)
{
    (void)op;
    (void)index;
    return 0;
}

static int one(const ort_custom_op *op)
{
    (void)op;
    return 1;
}

static int last(const ort_custom_op *op)
{
    (void)op;
    return INT32_MAX;
}

/* Input 0 and output 0. */
static size_t in_place(int **inputs, int **outputs)
{
    static int first = 0;
    *inputs = &first;
    *outputs = &first;
    return 1;
}

static void in_place_end(int *inputs, int *outputs)
{
    (void)inputs;
    (void)outputs;
}

/* The result of a scan has the shape of its input. ONNX Runtime works in place only where it knows
 * that. A rank of 0 also stands for one that is not known. */
static ort_status *infer_scan(const ort_custom_op *op, ort_infer *infer)
{
    const ort_api *api = of(op)->api;
    ort_shape *shape = NULL; /* ONNX Runtime's own */
    size_t rank = 0;
    int64_t sizes[TALLY_MAX_RANK];
    const char *names[TALLY_MAX_RANK];
    TLY_ORT_TRY(api->infer_input(infer, 0, &shape));
    TLY_ORT_TRY(api->shape_rank(shape, &rank));
    if (rank == 0 || rank > TALLY_MAX_RANK) {
        return NULL;
    }
    TLY_ORT_TRY(api->shape_sizes(shape, sizes, rank));
    TLY_ORT_TRY(api->shape_names(shape, names, rank));
    for (size_t d = 0; d < rank; d++) {
        if (sizes[d] < 0 && names[d][0] == '\0') { /* it would become a size of -1 */
            return NULL;
        }
    }
    return api->infer_output(infer, 0, shape);
}

/* clang-format off */
static const ort_custom_op every_op = {
    .version = ORT_VERSION, .name = name, .provider = provider,
    .input_type = input_type, .input_count = input_count,
    .output_type = output_type, .output_count = output_count,
    .input_kind = input_kind, .output_kind = output_kind, .input_memory = input_memory,
    .input_least = one, .input_same = one, .output_least = one, .output_same = one,
    .create = tly_ort_create, .compute = tly_ort_compute, .destroy = tly_ort_destroy,
    .first = one, .last = last
};
/* clang-format on */

/* --- registration --- */

/* What one library of ONNX Runtime was given: mostly there is one. ONNX Runtime keeps pointers to
 * operators for as long as a session lives, and nothing says when the last one ends. So all of
 * this stays, and later sessions use it again. */
typedef struct domain {
    struct domain *next;
    const ort_api *api;
    ort_domain *made;
    size_t count;
    tly_ort_custom customs[MOST_CUSTOMS];
} domain;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static domain *domains;

static void add_custom(domain *to, const tly_ort_row *row, ort_type axis)
{
    tly_ort_custom *made = &to->customs[to->count++];
    *made = (tly_ort_custom){ .base = every_op, .api = to->api, .row = row, .axis = axis };
    if (row->kind == TLY_ORT_SCAN) {
        made->base.infer = infer_scan;
        made->base.in_place = in_place;
        made->base.in_place_end = in_place_end;
    }
}

static ort_status *fill_domain(domain *to)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].own && TALLY_ORT_DOMAIN[0] == '\0') {
            continue;
        }
        if (rows[i].kind == TLY_ORT_SCAN) {
            add_custom(to, &rows[i], ORT_I32);
        }
        add_custom(to, &rows[i], ORT_I64);
    }
    TLY_ORT_TRY(to->api->create_domain(TALLY_ORT_DOMAIN, &to->made));
    for (size_t i = 0; i < to->count; i++) {
        TLY_ORT_TRY(to->api->domain_add(to->made, &to->customs[i].base));
    }
    return NULL;
}

/* NULL: it could not be made, and *failure says why. */
static domain *find_domain(const ort_api *api, ort_status **failure)
{
    for (domain *at = domains; at != NULL; at = at->next) {
        if (at->api == api) {
            return at;
        }
    }
    domain *made = calloc(1, sizeof *made);
    if (made == NULL) {
        *failure = tly_ort_refuse(api, ORT_FAIL, "tally: memory: no memory for operators");
        return NULL;
    }
    made->api = api;
    *failure = fill_domain(made);
    if (*failure != NULL) {
        api->release_domain(made->made);
        free(made);
        return NULL;
    }
    made->next = domains;
    domains = made;
    return made;
}

/** The symbol that ONNX Runtime calls in a library of custom operators. Thread-safe. */
TALLY_API ort_status *RegisterCustomOps(ort_options *options, const ort_base *base);
ort_status *RegisterCustomOps(ort_options *options, const ort_base *base)
{
    const ort_api *api = base->get(ORT_VERSION);
    ort_status *failure = NULL;
    if (api == NULL) { /* each version has the first function of the table */
        return tly_ort_refuse(base->get(1), ORT_FAIL,
                              "tally: usage: ONNX Runtime %s is older than 1.%d", base->version(),
                              ORT_VERSION);
    }
    pthread_mutex_lock(&lock);
    const domain *found = find_domain(api, &failure);
    pthread_mutex_unlock(&lock);
    return found == NULL ? failure : api->add_domain(options, found->made);
}
