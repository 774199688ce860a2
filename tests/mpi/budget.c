/* What the job has in shared segments on a node, all processes together, is never more than its
 * budget, and most of that can be had, by all in pairs or by one pair.
 *
 *   budget MEBIBYTES seen       a team of all ranks first, in which they see each other's segments
 *   budget MEBIBYTES unseen     none: each has its share
 *   budget MEBIBYTES one-pair   a team of all ranks, then the first two ranks only
 *
 * Counted from what each process has mapped while all of them wait. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define COMMS 30
#define MOST_MAPS 400

struct map {
	unsigned long inode, bytes;
};

static int
by_inode(const void *a, const void *b)
{
	const struct map *one = a, *other = b;
	return one->inode < other->inode ? -1 : one->inode > other->inode;
}

/* Bytes of the segments of all ranks, each counted once. At rank 0; 0 at the others. */
static unsigned long
bytes_of_all(int size)
{
	static struct map own[MOST_MAPS];
	struct map *all = check_rank == 0 ? calloc((size_t)size * MOST_MAPS, sizeof *all) : NULL;
	char line[1000];
	int count = 0;
	memset(own, 0, sizeof own);
	PMPI_Barrier(MPI_COMM_WORLD);
	FILE *file = fopen("/proc/self/maps", "r");
	while (file && fgets(line, sizeof line, file)) {
		unsigned long from, to, inode;
		if (!strstr(line, "/memfd:collshim") ||
		    sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) != 3)
			continue;
		CHECK(count < MOST_MAPS, "more segments than this test counts");
		if (count < MOST_MAPS)
			own[count++] = (struct map){ inode, to - from };
	}
	CHECK(file != NULL, "/proc/self/maps cannot be read");
	if (file)
		fclose(file);
	PMPI_Gather(own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, 0,
		    MPI_COMM_WORLD);
	PMPI_Barrier(MPI_COMM_WORLD);
	unsigned long sum = 0;
	if (all) {
		qsort(all, (size_t)size * MOST_MAPS, sizeof *all, by_inode);
		for (int i = 0; i < size * MOST_MAPS; i++)
			if (i == 0 || all[i].inode != all[i - 1].inode)
				sum += all[i].bytes;
		free(all);
	}
	return sum;
}

static void
make(MPI_Comm pair, MPI_Comm *comms)
{
	for (int i = 0; i < COMMS; i++) {
		MPI_Comm_dup(pair, &comms[i]);
		for (int call = 0; call < 8; call++) {
			int mine = check_rank % 2 + i, sum = 0;
			MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
			CHECK(sum == 2 * i + 1, "communicator %d: sum %d", i, sum);
		}
	}
}

int
main(int argc, char **argv)
{
	static MPI_Comm comms[COMMS];
	MPI_Comm pair;
	int size, mine = 1, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 3 || size % 2) {
		fprintf(stderr, "usage: budget MEBIBYTES seen|unseen|one-pair, with an even number "
				"of ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	unsigned long budget = strtoul(argv[1], NULL, 10) << 20;
	int is_seen = strcmp(argv[2], "unseen") != 0, is_one = strcmp(argv[2], "one-pair") == 0;
	if (is_seen) {
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(sum == size, "sum %d", sum);
	}
	PMPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, check_rank, &pair);
	int takes_part = !is_one || check_rank < 2;
	for (int turn = 0; turn < 2; turn++) {
		if (takes_part)
			make(pair, comms);
		unsigned long bytes = bytes_of_all(size);
		if (check_rank == 0) {
			printf("%lu KiB of %lu\n", bytes >> 10, budget >> 10);
			CHECK(bytes <= budget, "%lu bytes of a budget of %lu", bytes, budget);
			CHECK(bytes >= budget / 2, "only %lu bytes of a budget of %lu", bytes,
			      budget);
		}
		for (int i = 0; takes_part && i < COMMS; i++)
			MPI_Comm_free(&comms[i]);
		bytes = bytes_of_all(size);
		CHECK(bytes <= budget, "%lu bytes of a budget of %lu, when all are freed", bytes,
		      budget);
	}
	MPI_Comm_free(&pair);
	return check_finish("budget");
}
