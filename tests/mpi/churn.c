/* Nothing grows: ten thousand communicators made, used and freed, and a million small calls.
 * Between 10 % and the end the process has no more open files, mappings, shared memory or memory
 * than at 10 %, up to the bounds below.
 *
 *   churn [--comms N] [--calls N]
 *
 * What the host MPI itself keeps per communicator is not ours to change; the bounds leave room for
 * its pools. */
#include "check.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MORE 0
#define MAPS_MORE 16
#define SHARED_MORE_KB 1024
#define RESIDENT_MORE_KB 8192

struct usage {
	long files, maps, shared_kb, resident_kb;
};

static struct usage
measure(void)
{
	struct usage usage = {0};
	char line[1000];
	DIR *folder = opendir("/proc/self/fd");
	while (folder && readdir(folder))
		usage.files++;
	if (folder)
		closedir(folder);
	FILE *file = fopen("/proc/self/maps", "r");
	while (file && fgets(line, sizeof line, file))
		usage.maps++;
	if (file)
		fclose(file);
	file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof line, file)) {
		sscanf(line, "RssShmem: %ld", &usage.shared_kb);
		sscanf(line, "VmRSS: %ld", &usage.resident_kb);
	}
	if (file)
		fclose(file);
	return usage;
}

static void
compare(const char *what, struct usage then, struct usage now)
{
	CHECK(then.files > 0 && then.maps > 0 && then.resident_kb > 0, "%s: /proc cannot be read",
	      what);
	CHECK(now.files <= then.files + FILES_MORE, "%s: open files went from %ld to %ld", what,
	      then.files, now.files);
	CHECK(now.maps <= then.maps + MAPS_MORE, "%s: mappings went from %ld to %ld", what,
	      then.maps, now.maps);
	CHECK(now.shared_kb <= then.shared_kb + SHARED_MORE_KB, "%s: shared memory went from %ld "
								"to %ld KiB", what,
	      then.shared_kb, now.shared_kb);
	CHECK(now.resident_kb <= then.resident_kb + RESIDENT_MORE_KB, "%s: memory went from %ld to "
								      "%ld KiB", what,
	      then.resident_kb, now.resident_kb);
	if (check_rank == 0)
		printf("%s: files %ld -> %ld, mappings %ld -> %ld, shared %ld -> %ld KiB, resident "
		       "%ld -> %ld KiB\n", what, then.files, now.files, then.maps, now.maps,
		       then.shared_kb, now.shared_kb, then.resident_kb, now.resident_kb);
}

static void
use(MPI_Comm comm, long round)
{
	int rank, size, mine, sum = 0, all[64];
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_size(comm, &size);
	mine = rank + (int)(round % 1000);
	MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
	CHECK(sum == size * (int)(round % 1000) + size * (size - 1) / 2,
	      "allreduce in round %ld: %d", round, sum);
	MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
	CHECK(all[size - 1] == size - 1 + (int)(round % 1000), "allgather in round %ld", round);
	int root = (int)(round % size), told = rank == root ? 4711 : 0;
	MPI_Bcast(&told, 1, MPI_INT, root, comm);
	CHECK(told == 4711, "bcast in round %ld", round);
	MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_MAX, root, comm);
	CHECK(rank != root || sum == size - 1 + (int)(round % 1000), "reduce in round %ld: %d",
	      round, sum);
	MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, root, comm);
	MPI_Barrier(comm);
}

static void
make_and_free(long comms)
{
	struct usage then = {0};
	int rank = check_rank;
	for (long i = 0; i < comms; i++) {
		MPI_Comm made;
		if (i == comms / 10)
			then = measure();
		if (i % 3 == 0)
			MPI_Comm_split(MPI_COMM_WORLD, (rank + (int)i) % 2, -rank, &made);
		else
			MPI_Comm_dup(MPI_COMM_WORLD, &made);
		use(made, i);
		MPI_Comm_free(&made);
	}
	char what[60];
	snprintf(what, sizeof what, "%ld communicators", comms);
	compare(what, then, measure());
}

/* More than the pool keeps, of either kind in turn: some segments are closed each time, and where
 * the budget is short, idle ones make room. */
static void
make_several_and_free(long rounds)
{
	enum { SEVERAL = 6 };
	for (long i = 0; i < rounds; i++) {
		MPI_Comm made[SEVERAL];
		for (int k = 0; k < SEVERAL; k++) {
			MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? check_rank % 2 : 0, check_rank,
				       &made[k]);
			use(made[k], i);
		}
		for (int k = 0; k < SEVERAL; k++)
			MPI_Comm_free(&made[k]);
	}
}

static void
take(void *in, void *inout, int *count, MPI_Datatype *type)
{
	for (int i = 0; i < *count; i++)
		if (((int *)in)[i] > ((int *)inout)[i])
			((int *)inout)[i] = ((int *)in)[i];
}

static void
many_calls(long calls)
{
	struct usage then = {0};
	int rank = check_rank, size, value, sum;
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Op op;
	for (long i = 0; i < calls; i++) {
		if (i == calls / 10)
			then = measure();
		switch (i % 4) {
		case 0:
			value = rank == i / 4 % size ? (int)i : -1;
			MPI_Bcast(&value, 1, MPI_INT, (int)(i / 4 % size), MPI_COMM_WORLD);
			CHECK(value == (int)i, "bcast in call %ld", i);
			break;
		case 1:
			value = rank;
			MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			CHECK(sum == size * (size - 1) / 2, "allreduce in call %ld", i);
			break;
		case 2:
			value = rank;
			if (i % 400 == 2) { /* operations and types come and go, too */
				MPI_Datatype type;
				MPI_Op_create(take, 1, &op);
				MPI_Type_vector(2, 1, 2, MPI_INT, &type);
				MPI_Type_commit(&type);
				int pair[3] = {(int)i, 7, (int)i + 1};
				MPI_Bcast(pair, 1, type, 0, MPI_COMM_WORLD);
				MPI_Allreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
				CHECK(pair[0] == (int)i && pair[1] == 7 && sum == size - 1,
				      "bcast of a vector in call %ld", i);
				MPI_Type_free(&type);
				MPI_Op_free(&op);
			} else {
				MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
			}
			break;
		default:
			MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	char what[60];
	snprintf(what, sizeof what, "%ld calls", calls);
	compare(what, then, measure());
}

int
main(int argc, char **argv)
{
	long comms = 10000, calls = 1000000;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--comms") == 0)
			comms = atol(argv[i + 1]);
		else if (strcmp(argv[i], "--calls") == 0)
			calls = atol(argv[i + 1]);
	}
	MPI_Init(&argc, &argv);
	PMPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	make_several_and_free(comms / 100);
	make_and_free(comms);
	many_calls(calls);
	return check_finish("churn");
}
