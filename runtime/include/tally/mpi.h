/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of tensors that several processes hold in parts, by MPI. This header is all there is: it
 * includes the program's <mpi.h>, and libtally knows nothing of MPI. It is C11 and C++17.
 *
 * The parts lie along the axis in the order of the ranks: rank 0 has the first elements, and with
 * TALLY_REVERSE it still has those of the lowest indices. Parts may be uneven and empty.
 * docs/many-machines.md has an example, and what is promised of bits.
 */
#ifndef TALLY_MPI_H
#define TALLY_MPI_H

#include <tally/mpi/totals.h>

/** How ranks learn the state that their parts go on from. */
typedef enum tally_mpi_way {
    /** Each rank first reduces its part along the axis. The ranks exchange these totals, and then
     *  all scan at the same time. Input is read twice, and three times in products of floats. The
     *  bits depend on how the axis is cut into parts; for integers, cummax and cummin they do not.
     *
     *  Where a total may not stand for its part (docs/range.md, Chunks), those lanes go on as by
     *  TALLY_MPI_CHAIN from there. So do words without a fitting reduction: f16 and bf16 with
     *  acc=f64, cummax and cummin of these with an expression, and words with `reset`. */
    TALLY_MPI_TOTALS = 0,
    /** Each rank waits for the state after the part before its own, scans, and hands its state on.
     *  Input is read once. Lanes go in blocks, so that ranks work at the same time where there are
     *  many lanes; a single lane takes as long as one process would. The bits are those of one
     *  kernel on the whole tensor where the order is the plain loop's: with order=serial, for
     *  integers, cummax and cummin, and along an axis with 16 packed elements or more of other
     *  dimensions inside. Else they are if parts end at multiples of tally_kernel_chunk, and each
     *  has so many elements along the axis. */
    TALLY_MPI_CHAIN = 1
} tally_mpi_way;

/* What follows, up to tally_mpi_scan, is its inside: names with two underscores may change. */

/* ---- preparing ------------------------------------------------------------------------------ */

static inline tally_status tally_mpi__take(tally_mpi__job *j, const tally_descriptor *part, int way,
                                           tally_error *error)
{
    int64_t sizes[TALLY_MAX_CARRY_RANK];
    int32_t rank = 0;
    if (part == NULL) {
        return tally_mpi__fail(error, TALLY_INVALID, "usage", "the descriptor is NULL", "");
    }
    if (way != TALLY_MPI_TOTALS && way != TALLY_MPI_CHAIN) {
        return tally_mpi__fail(error, TALLY_INVALID, "usage", "the way is none of tally_mpi_way",
                               "TALLY_MPI_TOTALS or TALLY_MPI_CHAIN");
    }
    tally_status status = tally_descriptor_check(part, error);
    if (status != TALLY_OK) {
        return status;
    }
    memcpy(&j->scan, part, part->size < sizeof j->scan ? part->size : sizeof j->scan);
    j->scan.size = sizeof j->scan;
    if (!tally_op_is_scan((tally_op)j->scan.op)) {
        return tally_mpi__fail(error, TALLY_INVALID, "op", "the operator is no scan",
                               "MPI_Allreduce combines the results of reductions");
    }
    if (j->scan.op == TALLY_CUMARGMAX || j->scan.op == TALLY_CUMARGMIN) {
        return tally_mpi__fail(error, TALLY_UNSUPPORTED, "op",
                               "running indices have no state that ranks could hand on",
                               "cummax and cummin have one");
    }
    if (j->scan.segment_dtype != 0 || j->scan.every != 0) {
        return tally_mpi__fail(error, TALLY_UNSUPPORTED, j->scan.every != 0 ? "every" : "segments",
                               "segments may not span ranks", "reset takes flags instead");
    }
    j->scan.axis += j->scan.axis < 0 ? j->scan.rank : 0;
    j->length = j->scan.sizes[j->scan.axis];
    j->carry = j->scan.carry;
    j->scan.carry = TALLY_CARRY_IN | TALLY_CARRY_OUT;
    status = tally_descriptor_carry(&j->scan, &rank, sizes, &j->dtype, error);
    j->numbers = rank > j->scan.rank ? 2 : 1;
    j->bytes = tally_dtype_bytes(j->dtype);
    j->lanes = 1;
    for (int32_t k = 0; k < j->scan.rank; k++) {
        j->lanes *= k == j->scan.axis ? 1 : (size_t)j->scan.sizes[k];
    }
    return status;
}

/* Sets where each array begins in `memory`, and returns how many bytes all of them have. */
static inline size_t tally_mpi__lay_out(tally_mpi__job *j)
{
    const size_t states = (j->states + 63) / 64 * 64, ranks = (size_t)j->ranks;
    const struct {
        char **at;
        size_t bytes;
    } arrays[] = {
        { &j->given, states },
        { &j->from, states },
        { &j->to, states },
        { &j->told, j->has_totals ? j->row : 0 },
        { &j->rows, j->has_totals ? 2 * ranks * j->row : 0 },
        { &j->scratch, j->has_totals ? (j->scratch_bytes + 63) / 64 * 64 : 0 },
        { &j->folded, j->has_totals ? ranks * j->lanes * j->bytes : 0 },
    };
    size_t bytes = 64;
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        *arrays[k].at = j->memory != NULL ? j->memory + bytes : NULL;
        bytes += arrays[k].bytes;
    }
    return bytes;
}

/* Kernels for blocks. Few rows can have another order than many, and so other bits, which the
 * elements between cuts tell. Then there is one block. */
static inline tally_status tally_mpi__make_blocks(tally_mpi__job *j, tally_context *context,
                                                  tally_error *error)
{
    tally_status status = TALLY_OK;
    j->is_cut = j->blocks > 1;
    for (int b = 0; b < j->blocks && j->blocks > 1 && status == TALLY_OK; b++) {
        tally_descriptor d;
        const int64_t first = tally_mpi__first(j, b);
        const int64_t end = b + 1 < j->blocks ? tally_mpi__first(j, b + 1) : j->scan.sizes[j->cut];
        tally_mpi__slice(&j->scan, j->cut, first, end - first, &d);
        status = tally_kernel_create(context, &d, NULL, &j->block[b], error);
        j->is_cut = j->is_cut && tally_kernel_chunk(j->block[b]) == tally_kernel_chunk(j->whole);
    }
    return status;
}

/* Whether a rank has all that the call needs: nothing is written before all ranks have. */
static inline tally_status tally_mpi__prepare(tally_mpi__job *j, tally_context *context,
                                              const tally_descriptor *part,
                                              const tally_buffers *buffers, int way,
                                              tally_buffers *taken, tally_error *error)
{
    const tally_buffers none = TALLY_BUFFERS_INIT;
    tally_status status = tally_mpi__take(j, part, way, error);
    if (status == TALLY_OK) {
        status = tally_kernel_create(context, &j->scan, NULL, &j->whole, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    if (buffers == NULL) {
        return tally_mpi__fail(error, TALLY_INVALID, "usage", "the buffers are NULL", "");
    }
    *taken = none;
    memcpy(taken, buffers, buffers->size < sizeof none ? buffers->size : sizeof none);
    taken->size = sizeof none;
    taken->carry_in = j->carry & TALLY_CARRY_IN && j->place == 0 ? taken->carry_in : NULL;
    if (!(j->carry & TALLY_CARRY_OUT) || j->place < j->ranks - 1) {
        taken->carry_out = NULL;
    }
    j->is_given = taken->carry_in != NULL;
    if (j->lanes == 0) {
        j->has_totals = way == TALLY_MPI_TOTALS;
        return TALLY_OK;
    }
    if (j->lanes > (size_t)INT_MAX / (j->numbers * j->bytes) / 2) {
        return tally_mpi__fail(error, TALLY_UNSUPPORTED, "sizes", "the states have 1 GiB or more",
                               "scan fewer lanes at a time");
    }
    j->states = j->lanes * j->numbers * j->bytes;
    j->is_guarded = tally_mpi__leaves_range(j);
    tally_mpi__find_blocks(j);
    status = way == TALLY_MPI_TOTALS && j->ranks > 1 ? tally_mpi__make_totals(j, context, error)
                                                     : TALLY_OK;
    if (status == TALLY_OK) {
        status = tally_mpi__make_blocks(j, context, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    j->memory = (char *)calloc(1, tally_mpi__lay_out(j));
    if (j->memory == NULL) {
        return tally_mpi__fail(error, TALLY_OUT_OF_MEMORY, "memory", "no memory for the states",
                               "");
    }
    (void)tally_mpi__lay_out(j);
    tally_buffers check = *taken;
    check.carry_out = check.carry_out != NULL ? check.carry_out : j->to;
    if (taken->carry_in != NULL) {
        memcpy(j->given, taken->carry_in, j->states);
    }
    return tally_kernel_check_buffers(j->whole, &check, error);
}

/* ---- scanning ------------------------------------------------------------------------------- */

/* The blocks of a part, from states that are here or that come from the rank before. A rank whose
 * run fails hands on what it has, so that no rank waits for it. */
static inline tally_status tally_mpi__scan_blocks(tally_mpi__job *j, const tally_buffers *buffers,
                                                  MPI_Request requests[2 * TALLY_MPI__BLOCKS],
                                                  tally_error *error)
{
    MPI_Request *const sent = requests + TALLY_MPI__BLOCKS;
    tally_status status = TALLY_OK;
    int code = MPI_SUCCESS;
    for (int b = 0; b < j->blocks && code == MPI_SUCCESS; b++) {
        const size_t at = tally_mpi__offset(j, b), end = tally_mpi__offset(j, b + 1);
        if (j->place > j->chained[b]) {
            code = MPI_Irecv(j->from + at, (int)(end - at), MPI_BYTE, j->before, b, j->own,
                             &requests[b]);
        }
    }
    for (int b = 0; b < j->blocks && code == MPI_SUCCESS; b++) {
        const size_t at = tally_mpi__offset(j, b), end = tally_mpi__offset(j, b + 1);
        tally_buffers of = *buffers;
        code = MPI_Wait(&requests[b], MPI_STATUS_IGNORE);
        of.carry_in = j->has_from || j->place > j->chained[b] ? j->from + at : NULL;
        of.carry_out = j->to + at;
        if (code == MPI_SUCCESS && status == TALLY_OK) {
            status = tally_kernel_run_buffers(j->blocks > 1 ? j->block[b] : j->whole, &of, NULL,
                                              error);
        }
        if (code == MPI_SUCCESS && j->place >= j->chained[b] && j->after != MPI_PROC_NULL) {
            code = MPI_Isend(j->to + at, (int)(end - at), MPI_BYTE, j->after, b, j->own, &sent[b]);
        }
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Waitall(j->blocks, sent, MPI_STATUSES_IGNORE);
    }
    return code == MPI_SUCCESS ? status : tally_mpi__code(code, error);
}

static inline tally_status tally_mpi__scan_part(tally_mpi__job *j, const tally_buffers *buffers,
                                                tally_error *error)
{
    MPI_Request requests[2 * TALLY_MPI__BLOCKS];
    tally_buffers all = *buffers;
    int is_chained = 0;
    for (int b = 0; b < j->blocks; b++) {
        is_chained |= j->chained[b] < j->ranks - 1;
    }
    if (!is_chained) {
        all.carry_in = j->has_from ? j->from : NULL;
        all.carry_out = j->to;
        return tally_kernel_run_buffers(j->whole, &all, NULL, error);
    }
    for (int k = 0; k < 2 * TALLY_MPI__BLOCKS; k++) {
        requests[k] = MPI_REQUEST_NULL;
    }
    tally_status status = tally_mpi__code(MPI_Comm_dup(j->comm, &j->own), error);
    if (status != TALLY_OK) {
        return status;
    }
    if (j->has_from) { /* `to` is not in use yet */
        memcpy(j->to, j->from, j->states);
        tally_mpi__turn(j, j->to, j->from, 0);
    }
    status = tally_mpi__scan_blocks(j, &all, requests, error);
    if (all.carry_out != NULL && status == TALLY_OK) {
        memcpy(j->from, j->to, j->states);
        tally_mpi__turn(j, j->from, j->to, 1);
    }
    return status;
}

static inline tally_status tally_mpi__run(tally_mpi__job *j, tally_context *context,
                                          const tally_descriptor *part,
                                          const tally_buffers *buffers, int way, tally_error *error)
{
    tally_buffers taken;
    tally_status status = tally_mpi__prepare(j, context, part, buffers, way, &taken, error);
    int64_t values[TALLY_MPI__AGREED] = { 0 };
    values[1] = tally_mpi__hash(j, way);
    values[2] = -values[1];
    values[3] = j->has_totals;
    values[4] = j->length > 0 || j->is_given ? j->place : j->ranks;
    values[5] = -j->is_given;
    values[6] = j->is_cut;
    status = tally_mpi__agree(j, status, values, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (values[1] != -values[2]) {
        return tally_mpi__fail(error, TALLY_INVALID, "comm",
                               "ranks have different words, shapes or ways",
                               "only the axis' size may differ");
    }
    if (j->lanes == 0) {
        return TALLY_OK;
    }
    const int has_totals = values[3] == 1;
    j->is_given = values[5] < 0;
    j->blocks = values[6] == 1 ? j->blocks : 1;
    for (int b = 0; b < j->blocks; b++) {
        j->chained[b] = has_totals ? j->ranks : (int)values[4];
    }
    if (has_totals) {
        status = tally_mpi__exchange(j, context, &taken, error);
        if (status != TALLY_OK) {
            return status;
        }
    } else if (j->is_given && j->place == 0) {
        memcpy(j->from, j->given, j->states);
        j->has_from = 1;
    }
    status = tally_mpi__scan_part(j, &taken, error);
    status = tally_mpi__agree(j, status, values, error);
    if (status == TALLY_OK && taken.carry_out != NULL) {
        memcpy(taken.carry_out, j->to, j->states);
    }
    return status;
}

/**
 * Scans a tensor whose parts along the axis the ranks of `comm` hold. All ranks call it: it is
 * collective, and it blocks.
 *
 * `part` is this rank's descriptor. All ranks have the same word and the same sizes but that of the
 * axis, which may be 0; each has strides and offsets of its own. `buffers` are this rank's, as for
 * tally_kernel_run_buffers, and may be in place. `context` is this rank's; kernels are for its CPU
 * and take the context's threads.
 *
 * If the word has carry=in, the first rank in scan direction (with TALLY_REVERSE the last of
 * `comm`) has the state before the whole tensor in carry_in, or NULL. If it has carry=out, the last
 * one in scan direction gets the state after it in carry_out, which may be NULL. Other ranks'
 * pointers to states are not used. tally_descriptor_carry tells their shape, which is that for a
 * kernel. Programs scan what no memory holds by handing them from call to call.
 *
 * `comm` is an intracommunicator. Messages between two ranks go by a duplicate of it, so that the
 * program's own cannot meet them. Of MPI's threads, MPI_THREAD_FUNNELED suffices: the caller's
 * thread alone calls MPI. Two calls at once need two communicators.
 *
 * Before the first tensor is written, all ranks agree that none has failed. If one has, it returns
 * its own error, all others return the same status with field "comm" and name the rank, and
 * nothing is written anywhere:
 * - TALLY_INVALID: as tally_kernel_create and tally_kernel_run_buffers, for a word that is no scan,
 *   and for ranks that differ in more than they may;
 * - TALLY_UNSUPPORTED: as tally_kernel_create, for segments, for cumargmax and cumargmin, and if
 *   the states of all lanes have 1 GiB or more;
 * - TALLY_OUT_OF_MEMORY, TALLY_NO_GENERATOR: as tally_kernel_create;
 * - TALLY_IO: MPI returned an error, to communicators that do not end the program then. Other
 *   ranks may still wait.
 * A kernel that finds no memory for a thread's scratch can still fail while others write. All ranks
 * return TALLY_OUT_OF_MEMORY then, and the outputs hold no result.
 */
static inline tally_status tally_mpi_scan(MPI_Comm comm, tally_context *context,
                                          const tally_descriptor *part,
                                          const tally_buffers *buffers, tally_mpi_way way,
                                          tally_error *error)
{
    tally_mpi__job j;
    int is_inter = 1;
    memset(&j, 0, sizeof j);
    j.comm = comm;
    j.own = MPI_COMM_NULL;
    if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter) {
        return tally_mpi__fail(error, TALLY_INVALID, "comm", "comm is no intracommunicator", "");
    }
    tally_status status = tally_mpi__code(MPI_Comm_size(comm, &j.ranks), error);
    if (status == TALLY_OK) {
        status = tally_mpi__code(MPI_Comm_rank(comm, &j.rank), error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    const int is_reverse = part != NULL && part->flags & TALLY_REVERSE;
    j.place = is_reverse ? j.ranks - 1 - j.rank : j.rank;
    const int next = j.rank + (is_reverse ? -1 : 1), last = j.rank - (is_reverse ? -1 : 1);
    j.after = next >= 0 && next < j.ranks ? next : MPI_PROC_NULL;
    j.before = last >= 0 && last < j.ranks ? last : MPI_PROC_NULL;
    status = tally_mpi__run(&j, context, part, buffers, (int)way, error);
    tally_kernel_destroy(&j.whole);
    tally_kernel_destroy(&j.total);
    tally_kernel_destroy(&j.mark);
    tally_kernel_destroy(&j.fold);
    for (int b = 0; b < TALLY_MPI__BLOCKS; b++) {
        tally_kernel_destroy(&j.block[b]);
    }
    if (j.own != MPI_COMM_NULL) {
        MPI_Comm_free(&j.own);
    }
    free(j.memory);
    return status;
}

#endif
