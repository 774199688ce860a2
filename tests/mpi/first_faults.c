/* How much memory a rank's first calls touch: page faults in a row of small calls, from the first
 * on, which makes the team.
 *
 *   first_faults [CALLS [NODES]]
 *
 * A row of calls may touch what is in flight, at most 64 calls' blocks, and beyond that a quarter
 * of what a rank sends, never what its ring has; and of each other rank as much, by 16 pages a
 * fault, since those have mapped their pages before they say where they are. Over several nodes the
 * area is touched, too: all ranks' blocks of the calls in flight. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINES 64        /* calls that may be in flight */
#define AROUND 16       /* pages that a fault of a reader brings */
#define SLOTS 4         /* of the ring: each is used from its front */
#define AT_LEAST 65536  /* bytes of a slot that are mapped at once */
/* Pages of the team, of lines and of libraries that are used for the first time */
#define OTHERS 160
#define OTHERS_PER_RANK 48

static long
faults(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* Linux 5.14 and later. */
static bool
can_populate(long page)
{
	void *memory = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	bool can = memory != MAP_FAILED && madvise(memory, (size_t)page, 23) == 0;
	if (memory != MAP_FAILED)
		munmap(memory, (size_t)page);
	return can;
}

static long
most_faults(long calls, long bytes, int ranks, long nodes, long page)
{
	long area = nodes > 1 ? LINES * ranks * bytes / page : 0;
	long in_flight = LINES * bytes, part = calls * bytes / 4, least = (long)SLOTS * AT_LEAST;
	long touched = in_flight > part ? in_flight : part;
	touched = touched > least ? touched : least;
	long own = touched / page;
	return own + area + (ranks - 1) * (own / AROUND + OTHERS_PER_RANK) + OTHERS;
}

int
main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1000, nodes = argc > 2 ? atol(argv[2]) : 1;
	long page = sysconf(_SC_PAGESIZE);
	int ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!can_populate(page)) {
		MPI_Finalize();
		return 77;
	}
	enum { BYTES = 4096 };
	char *in = malloc((size_t)ranks * BYTES), *out = malloc((size_t)ranks * BYTES);
	memset(in, check_rank, (size_t)ranks * BYTES);
	memset(out, 0, (size_t)ranks * BYTES);
	/* What the host touches for the first time is not the library's. */
	for (long call = 0; call < calls; call++)
		PMPI_Allgather(in, BYTES, MPI_BYTE, out, BYTES, MPI_BYTE, MPI_COMM_WORLD);
	memset(out, 0, (size_t)ranks * BYTES);
	PMPI_Barrier(MPI_COMM_WORLD);
	long before = faults();
	for (long call = 0; call < calls; call++)
		MPI_Allgather(in, BYTES, MPI_BYTE, out, BYTES, MPI_BYTE, MPI_COMM_WORLD);
	long seen = faults() - before, most = most_faults(calls, BYTES, ranks, nodes, page);
	for (int rank = 0; rank < ranks; rank++)
		CHECK(out[rank * BYTES] == (char)rank &&
		      out[rank * BYTES + BYTES - 1] == (char)rank, "block %d", rank);
	CHECK(seen <= most, "%ld page faults in %ld allgathers of %d bytes of %d ranks, at most "
			    "%ld are needed", seen, calls,
	      BYTES, ranks, most);
	if (check_rank == 0)
		printf("%ld page faults of %ld\n", seen, most);
	free(in);
	free(out);
	return check_finish("first_faults");
}
