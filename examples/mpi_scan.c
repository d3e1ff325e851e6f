/* SPDX-License-Identifier: Apache-2.0 */
/* Scans a file that no process could hold. In each round every rank reads a piece, all scan them as
 * one tensor, and each writes its piece of results. The state goes on to the next round.
 *
 *     mpirun -n RANKS mpi_scan WORD IN OUT
 *
 * WORD is a scan of one axis, whose size is the elements of a piece. Both files hold elements and
 * nothing else. */
#include <fcntl.h>
#include <sys/stat.h>
#include <tally/mpi.h>
#include <unistd.h>

static _Noreturn void stop(const char *what, const char *why)
{
    fprintf(stderr, "mpi_scan: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

int main(int argc, char **argv)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_dtype shown;
    struct stat file;
    char state[16]; /* as large as any */
    int threads, rank, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4) {
        stop("usage", "mpi_scan WORD IN OUT");
    }
    if (tally_descriptor_parse(argv[1], &d, &error) != TALLY_OK ||
        tally_context_create(NULL, &context, &error) != TALLY_OK ||
        tally_descriptor_result(&d, NULL, NULL, &shown, &error) != TALLY_OK) {
        stop(error.field, error.message);
    }
    if (d.rank != 1 || d.sizes[0] < 1 || d.flags & TALLY_REVERSE || d.operands[0].dtype != 0) {
        stop(argv[1], "a scan of one axis in its direction, without operands, is wanted");
    }
    const int in = open(argv[2], O_RDONLY), out = open(argv[3], O_WRONLY | O_CREAT, 0666);
    if (in < 0 || out < 0 || fstat(in, &file) != 0) {
        stop("file", "IN or OUT cannot be opened");
    }
    const int64_t piece = d.sizes[0], read_size = (int64_t)tally_dtype_bytes((tally_dtype)d.dtype),
                  write_size = (int64_t)tally_dtype_bytes(shown);
    const int64_t length = file.st_size / read_size;
    char *const x = malloc((size_t)(piece * read_size)), *y = malloc((size_t)(piece * write_size));
    if (x == NULL || y == NULL) {
        stop("memory", "a piece is too large");
    }
    d.carry = TALLY_CARRY_IN | TALLY_CARRY_OUT;
    for (int64_t begun = 0; begun < length; begun += piece * ranks) {
        const int64_t first = begun + piece * rank < length ? begun + piece * rank : length;
        tally_buffers buffers = TALLY_BUFFERS_INIT;
        d.sizes[0] = piece < length - first ? piece : length - first;
        buffers.in = x;
        buffers.out = y;
        buffers.carry_in = begun > 0 ? state : NULL; /* of the first rank */
        buffers.carry_out = state;                   /* of the last rank */
        if (pread(in, x, (size_t)(d.sizes[0] * read_size), first * read_size) !=
            d.sizes[0] * read_size) {
            stop(argv[2], "cannot be read");
        }
        if (tally_mpi_scan(MPI_COMM_WORLD, context, &d, &buffers, TALLY_MPI_TOTALS, &error) !=
            TALLY_OK) {
            stop(error.field, error.message);
        }
        if (pwrite(out, y, (size_t)(d.sizes[0] * write_size), first * write_size) !=
            d.sizes[0] * write_size) {
            stop(argv[3], "cannot be written");
        }
        MPI_Bcast(state, sizeof state, MPI_BYTE, ranks - 1, MPI_COMM_WORLD);
    }
    free(x);
    free(y);
    close(in);
    if (close(out) != 0) {
        stop(argv[3], "cannot be written");
    }
    tally_context_destroy(&context);
    MPI_Finalize();
    return 0;
}
