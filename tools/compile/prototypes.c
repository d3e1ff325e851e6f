/* SPDX-License-Identifier: Apache-2.0 */
/* The header of an object: its functions as C and C++ see them. */
#include "object.h"

#include "../common/about.h"

#include <inttypes.h>

/* A word's tensors that are made or handed on. */
typedef struct made {
    tally_dtype out;
    tally_dtype states; /* of a carry */
    int32_t rank;       /* likewise */
    int64_t sizes[TALLY_MAX_CARRY_RANK];
} made;

static void put_function(FILE *to, const tly_batch_line *line, const made *m, const char *end,
                         const char *more)
{
    const tally_descriptor *d = &line->descriptor;
    const char *states = d->carry ? tly_about_dtype_of(m->states)->c_type : NULL;
    fprintf(to, "int %s%s(const %s *in", line->name, end, tly_about_dtype_of(d->dtype)->c_type);
    for (int i = 0; i < TALLY_MAX_OPERANDS && d->operands[i].dtype != 0; i++) {
        fprintf(to, ", const %s *%c", tly_about_dtype_of(d->operands[i].dtype)->c_type, 'a' + i);
    }
    if (d->segment_dtype != 0) {
        fprintf(to, ", const %s *offsets", tly_about_dtype_of(d->segment_dtype)->c_type);
    }
    if (d->carry & TALLY_CARRY_IN) {
        fprintf(to, ", const %s *carry_in", states);
    }
    fprintf(to, ", %s *out", tly_about_dtype_of(m->out)->c_type);
    if (d->carry & TALLY_CARRY_OUT) {
        fprintf(to, ", %s *carry_out", states);
    }
    for (int32_t i = 0, n = 0; i < d->rank; i++) {
        if (d->sizes[i] == TALLY_OPEN_SIZE) {
            fprintf(to, ", int64_t n%d", n++);
        }
    }
    fprintf(to, "%s);\n", more);
}

/* One dim of a tensor in a comment: a number, or the name of the parameter that has it. */
typedef struct size {
    char text[24];
} size;

/* How many segments an axis has, whose size is known: others have no kernels. */
static size segments_of(const tally_descriptor *d, int64_t elements)
{
    size count;
    snprintf(count.text, sizeof count.text, "%" PRId64,
             d->segment_dtype ? d->segments : elements / d->every + (elements % d->every > 0));
    return count;
}

/* The input's sizes and those of the result, and how many dims the result has. */
static int32_t name_sizes(const tally_descriptor *d, size in[TALLY_MAX_RANK],
                          size out[TALLY_MAX_RANK])
{
    const int scan = tally_op_is_scan((tally_op)d->op);
    int32_t rank = 0;
    for (int32_t i = 0, n = 0; i < d->rank; i++) {
        const int reduced = !scan && (!d->axes_given || (d->axes >> i & 1));
        if (d->sizes[i] == TALLY_OPEN_SIZE) {
            snprintf(in[i].text, sizeof in[i].text, "n%d", (int)n++);
        } else {
            snprintf(in[i].text, sizeof in[i].text, "%" PRId64, d->sizes[i]);
        }
        if (!reduced) {
            out[rank++] = in[i];
        } else if (d->every != 0 || d->segment_dtype != 0) {
            out[rank++] = segments_of(d, d->sizes[i]);
        } else if (d->flags & TALLY_KEEPDIMS) {
            out[rank++] = (size){ "1" };
        }
    }
    return rank;
}

/* `strides` NULL: packed. */
static void put_tensor(FILE *to, const char *name, tally_dtype dtype, int32_t rank,
                       const size *sizes, const int64_t *strides, int64_t offset)
{
    fprintf(to, " * %s: %s", name, tally_dtype_name(dtype));
    for (int32_t i = 0; i < rank; i++) {
        fprintf(to, "%s%s", i > 0 ? " x " : " ", sizes[i].text);
    }
    if (strides && rank > 0) {
        fputs(", strides", to);
        for (int32_t i = 0; i < rank; i++) {
            fprintf(to, "%s%" PRId64, i > 0 ? " x " : " ", strides[i]);
        }
    }
    if (strides) {
        fprintf(to, ", from element %" PRId64 "\n", offset);
    } else {
        fputs(rank > 0 ? ", packed\n" : ", one element\n", to);
    }
}

/* An operand that is packed over some axes has the sizes of these alone. */
static void put_operand(FILE *to, const tally_descriptor *d, int operand, const size *sizes)
{
    const tally_operand *o = &d->operands[operand];
    const char name[2] = { (char)('a' + operand), 0 };
    const int32_t all = o->place != TALLY_PLACE_AXES;
    size kept[TALLY_MAX_RANK];
    int32_t rank = 0;
    for (int32_t i = 0; i < d->rank; i++) {
        if (all || (o->axes >> i & 1)) {
            kept[rank++] = sizes[i];
        }
    }
    put_tensor(to, name, (tally_dtype)o->dtype, rank, kept,
               o->place == TALLY_PLACE_STRIDES ? o->strides : NULL, o->offset);
}

/* The states are those of the input's sizes, but for the axis. */
static void put_carry(FILE *to, const tally_descriptor *d, const made *m, int32_t which,
                      const char *name, const size *sizes)
{
    size kept[TALLY_MAX_CARRY_RANK];
    for (int32_t i = 0; i < m->rank; i++) {
        if (m->sizes[i] == TALLY_OPEN_SIZE) {
            kept[i] = sizes[i];
        } else {
            snprintf(kept[i].text, sizeof kept[i].text, "%" PRId64, m->sizes[i]);
        }
    }
    if (d->carry & which) {
        put_tensor(to, name, m->states, m->rank, kept, NULL, 0);
    }
}

static int put_comment(FILE *to, const tly_batch_line *line, const tly_targets *targets,
                       const made *m, tly_report *report)
{
    const tally_descriptor *d = &line->descriptor;
    char word[TALLY_WORD_MAX];
    size in_sizes[TALLY_MAX_RANK], out_sizes[TALLY_MAX_RANK];
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_print(d, word, sizeof word, NULL, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    const int32_t out_rank = name_sizes(d, in_sizes, out_sizes);
    fprintf(to, "\n/*\n * %s = %s\n", line->name, word);
    put_tensor(to, "in", (tally_dtype)d->dtype, d->rank, in_sizes,
               d->flags & TALLY_IN_STRIDES ? d->in_strides : NULL, d->in_offset);
    for (int i = 0; i < TALLY_MAX_OPERANDS && d->operands[i].dtype != 0; i++) {
        put_operand(to, d, i, in_sizes);
    }
    if (d->segment_dtype != 0) {
        fprintf(to, " * offsets: %s %" PRId64 ", packed\n",
                tally_dtype_name((tally_dtype)d->segment_dtype), d->segments + 1);
    }
    put_carry(to, d, m, TALLY_CARRY_IN, "carry_in", in_sizes);
    put_tensor(to, "out", m->out, out_rank, out_sizes,
               d->flags & TALLY_OUT_STRIDES ? d->out_strides : NULL, d->out_offset);
    put_carry(to, d, m, TALLY_CARRY_OUT, "carry_out", in_sizes);
    fputs(" * levels:", to);
    for (size_t i = 0; i < targets->count; i++) {
        fprintf(to, "%s%s", i > 0 ? ", " : " ", targets->selectors[i]);
    }
    fprintf(to, "\n * Tally %s\n */\n", tally_version());
    return EXIT_DONE;
}

static int put_line(FILE *to, const tly_batch_line *line, const tly_targets *targets,
                    tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    const tally_descriptor *d = &line->descriptor;
    made m = { .rank = 0 };
    if (tally_descriptor_result(d, NULL, NULL, &m.out, &error) != TALLY_OK ||
        (d->carry != 0 &&
         tally_descriptor_carry(d, &m.rank, m.sizes, &m.states, &error) != TALLY_OK)) {
        return tly_adopt(report, &error);
    }
    const int status = put_comment(to, line, targets, &m, report);
    if (!status) {
        put_function(to, line, &m, "", "");
        put_function(to, line, &m, "_part", ", int64_t part, int64_t parts");
    }
    return status;
}

/* What a header is made of. */
typedef struct header {
    const tly_batch *batch;
    const tly_targets *targets;
} header;

static int put_all(FILE *to, const void *state, tly_report *report)
{
    const header *h = state;
    const tly_batch *batch = h->batch;
    int status = EXIT_DONE;
    fputs("\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n", to);
    for (size_t i = 0; i < batch->count && !status; i++) {
        status = put_line(to, &batch->lines[i], h->targets, report);
    }
    fputs("\n#ifdef __cplusplus\n}\n#endif\n", to);
    return status;
}

int tly_prototypes_write(FILE *to, const char *path, const tly_batch *batch,
                         const tly_targets *targets, tly_report *report)
{
    const header h = { batch, targets };
    fputs("/* Written by tally compile. Each function returns 0, EINVAL, ENOMEM or ENOTSUP. */\n",
          to);
    return tly_guarded_put(to, path, batch->prefix, put_all, &h, report);
}
