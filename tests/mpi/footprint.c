/* What a communicator costs in memory of this process: little where it stays with the host, and no
 * more once it is freed.
 *
 *   footprint hosted       each gets two calls, fewer than a team waits for
 *   footprint served       each gets a team
 *
 * Counted by malloc itself. The same is done by PMPI_ names first, with an attribute as ours on
 * each communicator, and with the comparison by which we ask MPICH whether a handle is good: it
 * keeps a communicator's group from then on. */
#include "check.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define HOSTED 1000
#define SERVED 24
/* Bytes each, alive without a team, and gone, when those of ours wait for other communicators: 300,
 * and what malloc adds. */
#define MOST 350
/* Of few communicators the lists of the host itself make a difference; a team takes 15,000. */
#define SERVED_MOST 1000

typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int scatter_reduced(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm);

static MPI_Comm comms[HOSTED];
static int key;

static long
in_use(void)
{
	return (long)mallinfo2().uordblks;
}

/* Bytes that so many communicators hold while they live, and after that. */
static void
measure(int count, int calls, allreduce *reduce, scatter_reduced *scatter, long *alive, long *left)
{
	static int in[64], out[64], ones[64];
	int size;
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 64; i++)
		ones[i] = 1;
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
	long before = in_use();
	for (int i = 0; i < count; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		if (reduce == PMPI_Allreduce) {
			int relation;
			MPI_Comm_set_attr(comms[i], key, &key);
			MPI_Comm_compare(MPI_COMM_SELF, comms[i], &relation);
		}
		for (int call = 0; call < calls; call += 2) {
			in[0] = check_rank + i;
			reduce(in, out, 1, MPI_INT, MPI_SUM, comms[i]);
			CHECK(out[0] == size * i + size * (size - 1) / 2, "communicator %d: sum %d",
			      i, out[0]);
			scatter(in, out, ones, MPI_INT, MPI_MAX, comms[i]);
		}
	}
	*alive = in_use() - before;
	for (int i = 0; i < count; i++)
		MPI_Comm_free(&comms[i]);
	*left = in_use() - before;
	MPI_Comm_free_keyval(&key);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	int is_served = argc > 1 && strcmp(argv[1], "served") == 0;
	int count = is_served ? SERVED : HOSTED, calls = is_served ? 10 : 2;
	long host, host_left, ours, ours_left;
	/* First times fill lists and pools, ours when teams are no longer put off. */
	for (int time = 0; time < (is_served ? 4 : 2); time++) {
		measure(count, calls, PMPI_Allreduce, PMPI_Reduce_scatter, &host, &host_left);
		measure(count, calls, MPI_Allreduce, MPI_Reduce_scatter, &ours, &ours_left);
	}
	if (check_rank == 0)
		printf("%d communicators: %ld bytes each, %ld more than without us; freed: %ld and "
		       "%ld more\n", count, host / count, (ours - host) / count, host_left / count,
		       (ours_left - host_left) / count);
	CHECK(is_served || (ours - host) / count <= MOST, "%ld bytes more each, over %d",
	      (ours - host) / count, MOST);
	int most = is_served ? SERVED_MOST : MOST;
	CHECK((ours_left - host_left) / count <= most, "%ld bytes more each stay, over %d",
	      (ours_left - host_left) / count, most);
	return check_finish("footprint");
}
