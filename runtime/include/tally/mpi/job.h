/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of tally/mpi.h: what one call has, and how ranks agree on errors. */
#ifndef TALLY_MPI_JOB_H
#define TALLY_MPI_JOB_H

#include <mpi.h>
#include <tally.h>

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TALLY_MPI__BLOCKS = 64, TALLY_MPI__HEAD = 64, TALLY_MPI__AGREED = 7 };

/* Everything that a call has. Zeroed, it owns nothing. */
typedef struct tally_mpi__job {
    MPI_Comm comm; /* the caller's */
    MPI_Comm own;  /* for messages between two ranks; MPI_COMM_NULL until there are any */
    int rank, ranks;
    int before, after;     /* the neighbours in scan direction, or MPI_PROC_NULL */
    int place;             /* this rank's place in scan direction */
    tally_descriptor scan; /* the part, with a carry both ways */
    int32_t carry;         /* what its word has of them */
    int64_t length;        /* of this part */
    tally_dtype dtype;     /* of a state's numbers */
    size_t bytes;          /* of a number */
    size_t numbers;        /* of a state */
    size_t lanes, states;  /* and the bytes of the states of all lanes */
    int32_t cut;           /* the dimension that blocks cut */
    int blocks;
    size_t outer, inner; /* lanes outside of and inside of that dimension */
    int is_cut;          /* blocks have the bits of the whole part */
    int is_guarded;      /* floats whose totals may leave the range */
    int has_totals;
    size_t row;                         /* bytes of what one rank tells all others */
    tally_kernel *whole, *total, *mark; /* mark: of cumprod, products of all magnitudes below 1; of
                                         * linrec, products of factors */
    tally_kernel *fold;
    tally_kernel *block[TALLY_MPI__BLOCKS];
    int chained[TALLY_MPI__BLOCKS]; /* the first place whose total a block may not use */
    char *memory;
    char *given;     /* the state before the whole tensor */
    char *from, *to; /* states before and after the part, as blocks where there are several */
    char *told;      /* what this rank tells */
    char *rows;      /* what all tell, by places; empty parts are left out */
    char *scratch;   /* linrec: results that are made for their last state alone */
    size_t scratch_bytes;
    char *folded; /* the states that totals add up to */
    int is_given; /* there is a state before the whole tensor, on all ranks */
    int has_from; /* there is a state before this part */
} tally_mpi__job;

/* ---- errors ------------------------------------------------------------------------------- */

static inline tally_status tally_mpi__fail(tally_error *error, tally_status status,
                                           const char *field, const char *message, const char *hint)
{
    if (error != NULL) {
        error->status = status;
        error->position = 0;
        snprintf(error->field, sizeof error->field, "%.15s", field);
        snprintf(error->message, sizeof error->message, "%.231s", message);
        snprintf(error->hint, sizeof error->hint, "%.119s", hint);
        error->word[0] = 0;
    }
    return status;
}

/* A communicator whose errors return: there is no agreement by one that does not work. */
static inline tally_status tally_mpi__code(int code, tally_error *error)
{
    char text[MPI_MAX_ERROR_STRING + 1] = { 0 };
    int length = 0;
    if (code == MPI_SUCCESS) {
        return TALLY_OK;
    }
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        snprintf(text, sizeof text, "MPI failed with code %d", code);
    }
    return tally_mpi__fail(error, TALLY_IO, "comm", text, "other ranks may still wait");
}

/* The status that all ranks go on with. `values` become the least of all ranks'. A rank that has
 * not failed says which one did. */
static inline tally_status tally_mpi__agree(const tally_mpi__job *j, tally_status status,
                                            int64_t values[TALLY_MPI__AGREED], tally_error *error)
{
    int64_t least[TALLY_MPI__AGREED];
    char text[96];
    values[0] = (int64_t)status * ((int64_t)1 << 32) + j->rank;
    tally_status sent = tally_mpi__code(
        MPI_Allreduce(values, least, TALLY_MPI__AGREED, MPI_INT64_T, MPI_MIN, j->comm), error);
    if (sent != TALLY_OK) {
        return sent;
    }
    memcpy(values, least, sizeof least);
    if (status != TALLY_OK || least[0] >= 0) {
        return status;
    }
    const int failed = (int)(least[0] & 0x7fffffff);
    status = (tally_status)((least[0] - failed) / ((int64_t)1 << 32));
    snprintf(text, sizeof text, "rank %d failed with %s", failed, tally_status_name(status));
    return tally_mpi__fail(error, status, "comm", text, "the error of that rank says why");
}

#endif
