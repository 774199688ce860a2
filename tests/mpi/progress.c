/* Waiting is progressing: rank A waits in a collective while its peer cannot enter it before a
 * large message of A has arrived, one that A has only begun to send. If the wait does not keep the
 * host MPI moving, this hangs (and the launcher's clock ends it). For every collective in which A
 * waits for the peer, every A, and several sizes. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE (1 << 22) /* bytes: rendezvous in both MPIs */

static int rank, size;
static int *in, *out;

static void
collective(int which, int count)
{
	memset(in, 0, (size_t)count * (size_t)size * sizeof *in);
	for (int i = 0; i < count * size; i++)
		out[i] = rank + 1;
	int total = size * (size + 1) / 2;
	switch (which) {
	case 0:
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	case 1:
		MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(in[0] == total && in[count - 1] == total, "allreduce of %d: %d", count,
		      in[0]);
		return;
	case 2:
		MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
		CHECK(in[0] == 1 && in[count * size - 1] == size, "allgather of %d", count);
		return;
	case 3:
		MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
		CHECK(in[0] == 1 && in[count * size - 1] == size, "alltoall of %d", count);
		return;
	case 4:
		MPI_Reduce_scatter_block(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(in[0] == total && in[count - 1] == total, "reduce_scatter_block of %d",
		      count);
		return;
	default: /* rooted: the last rank is the root, once for each rank as receiver or sender */
		MPI_Bcast(out, count, MPI_INT, size - 1, MPI_COMM_WORLD);
		CHECK(out[count - 1] == size, "bcast of %d", count);
		for (int i = 0; i < count; i++)
			out[i] = rank + 1;
		MPI_Reduce(out, in, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
		CHECK(rank != 0 || in[count - 1] == total, "reduce of %d", count);
	}
}

int
main(int argc, char **argv)
{
	static const int counts[] = {1, 2000, 60000};
	check_begin(&argc, &argv, &rank, &size);
	int most = 60000 * size;
	in = malloc((size_t)most * sizeof *in);
	out = malloc((size_t)most * sizeof *out);
	char *message = malloc(MESSAGE);
	for (int which = 0; which < 6; which++) {
		for (int c = 0; c < 3; c++) {
			for (int a = 0; a < size; a++) {
				MPI_Request request = MPI_REQUEST_NULL;
				int peer = (a + 1) % size;
				if (rank == a && peer != a) {
					memset(message, which * 16 + a, MESSAGE);
					MPI_Isend(message, MESSAGE, MPI_CHAR, peer, 5,
						  MPI_COMM_WORLD, &request);
				} else if (rank == peer && peer != a) {
					MPI_Recv(message, MESSAGE, MPI_CHAR, a, 5, MPI_COMM_WORLD,
						 MPI_STATUS_IGNORE);
					CHECK(message[MESSAGE - 1] == (char)(which * 16 + a),
					      "the message from %d", a);
				}
				collective(which, counts[c]);
				MPI_Wait(&request, MPI_STATUS_IGNORE);
			}
		}
	}
	return check_finish("progress");
}
