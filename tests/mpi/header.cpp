/* SPDX-License-Identifier: Apache-2.0 */
/* tally/mpi.h is C++17, too. */
#include <tally/mpi.h>

tally_status scan(MPI_Comm comm, tally_context *context, const tally_descriptor &part,
                  const tally_buffers &buffers);

tally_status scan(MPI_Comm comm, tally_context *context, const tally_descriptor &part,
                  const tally_buffers &buffers)
{
    return tally_mpi_scan(comm, context, &part, &buffers, TALLY_MPI_CHAIN, nullptr);
}
