/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the files of operands to dtypes and places; see operands.h. A file is broadcast by numpy's
 * rule: its sizes are compared with the input's from the last one, and each is equal or 1.
 */
#include "operands.h"

#include "number.h"

#include <string.h>

/* What is being placed. */
typedef struct placing {
    tally_descriptor *descriptor;
    tly_operand_input *input;
    tally_operand *operand; /* of the descriptor */
    const char *letter;
    tly_report *report;
} placing;

static uint32_t all_axes(const tally_descriptor *d)
{
    return (1u << d->rank) - 1;
}

/* ---- dtypes ---- */

/* The type of the word's expressions: the first of these that the library takes for the operand,
 * since each fits no type of those that follow. */
static void set_expressions_type(const placing *p)
{
    static const tally_dtype types[] = { TALLY_F64, TALLY_F32, TALLY_I64, TALLY_U64, TALLY_I32,
                                         TALLY_U32, TALLY_I16, TALLY_U16, TALLY_I8,  TALLY_U8 };
    const int32_t before = p->operand->dtype;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tally_error error = TALLY_ERROR_INIT;
        p->operand->dtype = types[i];
        if (tally_descriptor_check(p->descriptor, &error) == TALLY_OK) {
            return;
        }
    }
    p->operand->dtype = before;
}

static int read_number(const placing *p)
{
    tly_operand_input *o = p->input;
    const tally_dtype dtype = (tally_dtype)p->operand->dtype;
    const char *why = o->says_dtype ? "the word says this dtype"
                                    : "the expressions of the word are computed in this dtype";
    return tly_read_number(o->given, dtype, p->letter, why, &o->number, p->report);
}

static int open_file(const placing *p)
{
    tly_operand_input *o = p->input;
    const tally_dtype dtype = (tally_dtype)p->operand->dtype;
    const int status = tly_input_open(&o->input, o->given, o->raw, dtype, p->report);
    const tally_dtype found = o->input.npy.dtype;
    if (status) {
        return status;
    }
    if (!o->says_dtype) {
        p->operand->dtype = (int32_t)found;
    } else if (found != dtype && !(dtype == TALLY_BF16 && found == TALLY_U16)) {
        tly_refuse(p->report, EXIT_USAGE, p->letter, "%s holds %s, the word says %s", o->input.name,
                   tally_dtype_name(found), tally_dtype_name(dtype));
        tly_hint(p->report, "without its dtype in the word, %s takes the file's%s", p->letter,
                 o->place == TLY_SAYS_NOTHING ? "" : ": its place stands behind the / alone");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* ---- places ---- */

/* Which dim of the input each dim of a file is. */
typedef struct fit {
    uint32_t axes; /* those that the file extends along */
    int dim[TALLY_MAX_RANK];
} fit;

/* By numpy's rule. Along a dim of one element nothing extends. */
static int broadcasts(const tly_npy *npy, const tally_descriptor *d, fit *f)
{
    f->axes = 0;
    for (int k = 0; k < npy->rank; k++) {
        const int dim = d->rank - npy->rank + k;
        if (dim < 0 || (npy->sizes[k] != 1 && npy->sizes[k] != d->sizes[dim])) {
            return 0;
        }
        f->dim[k] = dim;
        f->axes |= npy->sizes[k] != 1 ? 1u << dim : 0;
    }
    return 1;
}

/* Whether the file has the sizes of these axes alone. */
static int has_sizes_of(const tly_npy *npy, const tally_descriptor *d, uint32_t axes, fit *f)
{
    int k = 0;
    for (int dim = 0; dim < d->rank; dim++) {
        if (axes >> dim & 1) {
            if (k == npy->rank || npy->sizes[k] != d->sizes[dim]) {
                return 0;
            }
            f->dim[k++] = dim;
        }
    }
    f->axes = axes;
    return k == npy->rank;
}

/* Whether the file fits a place that the word says. */
static int fits_axes(const tly_npy *npy, const tally_descriptor *d, uint32_t axes, fit *f)
{
    uint32_t needed = 0;
    for (int dim = 0; dim < d->rank; dim++) {
        needed |= d->sizes[dim] != 1 ? axes & 1u << dim : 0;
    }
    if (has_sizes_of(npy, d, axes, f)) {
        return 1;
    }
    if (axes == 0 && npy->count == 1) {
        f->axes = 0;
        return 1;
    }
    if (!broadcasts(npy, d, f) || f->axes != needed) {
        return 0;
    }
    f->axes = axes;
    return 1;
}

static void print_sizes(char text[200], int rank, const int64_t *sizes, uint32_t axes)
{
    size_t used = 0;
    snprintf(text, 200, "one element");
    for (int k = 0; k < rank && used < 200; k++) {
        if (axes >> k & 1) {
            used += (size_t)snprintf(text + used, 200 - used, used ? "x%lld" : "%lld",
                                     (long long)sizes[k]);
        }
    }
}

static int refuse_shape(const placing *p, uint32_t axes)
{
    const tally_descriptor *d = p->descriptor;
    const tly_npy *npy = &p->input->input.npy;
    char found[200], wanted[200], input[200];
    print_sizes(found, npy->rank < 32 ? npy->rank : 32, npy->sizes, UINT32_MAX);
    print_sizes(input, d->rank, d->sizes, UINT32_MAX);
    print_sizes(wanted, d->rank, d->sizes, axes);
    if (p->input->place == TLY_SAYS_NOTHING) {
        tly_refuse(p->report, EXIT_USAGE, p->letter,
                   "%s holds %s, which cannot be broadcast to the input's %s", p->input->input.name,
                   found, input);
        tly_hint(p->report,
                 "from the last one, each size must be the input's or 1; or the word "
                 "says the axes, as in %s=/0",
                 p->letter);
    } else {
        tly_refuse(p->report, EXIT_USAGE, p->letter, "%s holds %s, the word says %s",
                   p->input->input.name, found, wanted);
        tly_hint(p->report, "the file has the sizes of the operand's axes, or the input's rank "
                            "with 1 elsewhere");
    }
    return EXIT_USAGE;
}

/* A file in Fortran order is read as strides, as an input is. */
static int needs_strides(const tly_npy *npy)
{
    int long_dims = 0;
    for (int k = 0; k < npy->rank; k++) {
        long_dims += npy->sizes[k] > 1;
    }
    return npy->fortran && npy->count > 0 && long_dims > 1;
}

static int place_file(const placing *p)
{
    const tally_descriptor *d = p->descriptor;
    const tly_npy *npy = &p->input->input.npy;
    tally_operand *o = p->operand;
    const uint32_t axes = o->place == TALLY_PLACE_PACKED ? all_axes(d) : o->axes;
    fit f = { 0 };
    if (!(p->input->place == TLY_SAYS_NOTHING ? broadcasts(npy, d, &f)
                                              : fits_axes(npy, d, axes, &f))) {
        return refuse_shape(p, axes);
    }
    *o = (tally_operand){ .dtype = o->dtype, .place = TALLY_PLACE_AXES, .axes = f.axes };
    if (needs_strides(npy)) {
        int64_t stride = 1;
        *o = (tally_operand){ .dtype = o->dtype, .place = TALLY_PLACE_STRIDES };
        for (int k = 0; k < npy->rank; k++) {
            o->strides[f.dim[k]] = npy->sizes[k] > 1 ? stride : 0;
            stride *= npy->sizes[k];
        }
    }
    return EXIT_DONE;
}

tly_touched tly_operand_reach(const tally_descriptor *d, int operand)
{
    const tally_operand *o = &d->operands[operand];
    const int rank = d->rank < TALLY_MAX_RANK ? d->rank : TALLY_MAX_RANK;
    tly_touched reach = { o->offset, o->offset, 1 };
    for (int dim = rank - 1; dim >= 0; dim--) {
        const int extends = o->place == TALLY_PLACE_PACKED || o->axes & 1u << (dim & 31);
        const int64_t stride = o->place == TALLY_PLACE_STRIDES ? o->strides[dim]
                               : extends                       ? reach.count
                                                               : 0;
        const int64_t last = stride * (d->sizes[dim] - 1); /* the library has checked it */
        if (d->sizes[dim] == 0 && stride == 0) {
            continue; /* the same for each of no indices */
        }
        if (d->sizes[dim] == 0) {
            return (tly_touched){ 0, -1, 0 };
        }
        reach.count *= stride != 0 ? d->sizes[dim] : 1;
        reach.low += last < 0 ? last : 0;
        reach.high += last > 0 ? last : 0;
    }
    return reach;
}

/* A flat buffer must have every element that the strides reach. The descriptor may have a place in
 * place of strides that are packed over it. */
static int check_buffer(const placing *p)
{
    const int operand = (int)(p->operand - p->descriptor->operands);
    const tly_touched reach = tly_operand_reach(p->descriptor, operand);
    const int64_t low = reach.low, high = reach.high;
    if (low >= 0 && high < p->input->input.npy.count) {
        return EXIT_DONE;
    }
    tly_refuse(p->report, EXIT_USAGE, p->letter,
               "the strides reach index %lld, %s holds %lld "
               "elements",
               (long long)(low < 0 ? low : high), p->input->input.name,
               (long long)p->input->input.npy.count);
    tly_hint(p->report,
             low < 0 ? "raise the offset behind @: a file has nothing below index 0"
                     : "without strides the file's shape decides: %s",
             p->letter);
    return EXIT_USAGE;
}

static int place(const placing *p)
{
    if (!p->input->says_dtype) {
        set_expressions_type(p);
    }
    if (p->input->is_number) {
        return read_number(p);
    }
    const int status = open_file(p);
    if (status) {
        return status;
    }
    return p->input->place == TLY_SAYS_STRIDES ? check_buffer(p) : place_file(p);
}

int tly_operands_place(tly_operands *operands, tally_descriptor *descriptor, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    int status = EXIT_DONE;
    for (int i = 0; i < TALLY_MAX_OPERANDS && !status; i++) {
        const placing p = { descriptor, &operands->of[i], &descriptor->operands[i],
                            tly_operand_letter(i), report };
        status = p.input->declared ? place(&p) : EXIT_DONE;
    }
    if (!status && tally_descriptor_check(descriptor, &error) != TALLY_OK) {
        error.position = 0; /* of an expression, and not of the word */
        status = tly_adopt(report, &error);
    }
    return status;
}
