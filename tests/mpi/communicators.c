/* Communicators that come and go beside teams: collectives in delete callbacks, MPI_Comm_idup
 * pending over a team's making, more communicators than an MPI with few of them has left for teams,
 * none left at all, and teams of ranks of which one keeps no more segments. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, key;

static void
exercise(MPI_Comm comm, const char *what)
{
	int ranks, mine, seen[64];
	PMPI_Comm_size(comm, &ranks);
	PMPI_Comm_rank(comm, &mine);
	for (int i = 0; i < 6; i++) {
		int one = 1, sum = 0, word = 100 * i + mine;
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
		CHECK(sum == ranks, "%s: allreduce gives %d of %d", what, sum, ranks);
		MPI_Allgather(&word, 1, MPI_INT, seen, 1, MPI_INT, comm);
		for (int r = 0; r < ranks; r++)
			CHECK(seen[r] == 100 * i + r, "%s: allgather gives %d for rank %d", what,
			      seen[r], r);
	}
}

/* MPI 4.0, 7.7.2: the communicator is still there; and all ranks are here, since MPI_Comm_free is
 * collective. */
static int
on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	++*(int *)value;
	exercise(comm, "in the delete callback");
	return MPI_SUCCESS;
}

/* The attribute is set before or after ours, which comes with the first collective; on half of the
 * ranks each in the last case. The handles of freed communicators are used again. */
static void
delete_callbacks(void)
{
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
	for (int round = 0; round < 24; round++) {
		MPI_Comm comm, other;
		int calls = 0, way = round % 4;
		int is_early = way == 0 || way == 1 || (way == 3 && rank % 2);
		MPI_Comm_split(MPI_COMM_WORLD, way == 1 ? rank % 2 : 0, round % 3 ? rank : -rank,
			       &comm);
		if (is_early)
			MPI_Comm_set_attr(comm, key, &calls);
		if (round % 5)
			exercise(comm, "before");
		if (!is_early)
			MPI_Comm_set_attr(comm, key, &calls);
		round % 2 ? MPI_Comm_disconnect(&comm) : MPI_Comm_free(&comm);
		CHECK(calls == 1 && comm == MPI_COMM_NULL, "the callback was called %d times",
		      calls);
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &other);
		exercise(other, "after");
		MPI_Comm_free(&other);
	}
	MPI_Comm_free_keyval(&key);
}

/* Segments that this process has, in use or idle. */
static int
segments(void)
{
	char line[1000];
	int count = 0;
	FILE *file = fopen("/proc/self/maps", "r");
	CHECK(file, "/proc cannot be read");
	while (file && fgets(line, sizeof line, file))
		count += strstr(line, "memfd:collshim") != NULL;
	if (file)
		fclose(file);
	return count;
}

/* The second time there is a team already. On one node the first time as well: it needs no
 * communicator of its own. */
static void
pending_idups(void)
{
	bool has_several_nodes = getenv("COLLSHIM_FAKE_NODES") != NULL;
	MPI_Comm from;
	MPI_Comm_dup(MPI_COMM_WORLD, &from);
	for (int round = 0; round < 4; round++) {
		MPI_Comm old = round < 2 ? from : MPI_COMM_WORLD, copy;
		MPI_Request request;
		MPI_Comm_idup(old, &copy, &request);
		exercise(old, "while idup is pending");
		CHECK(has_several_nodes || segments() > 0, "no team while idup is pending");
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		exercise(copy, "on the copy");
		MPI_Comm_free(&copy);
	}
	MPI_Comm_free(&from);
}

/* Rank 0 duplicates one communicator before its first collectives on another, the others after
 * them. */
static void
pending_elsewhere(void)
{
	MPI_Comm from, with_team, other;
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &with_team);
	exercise(with_team, "before");
	for (int round = 0; round < 4; round++) {
		MPI_Comm copy;
		MPI_Request request;
		MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &from);
		MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
		if (rank == 0)
			MPI_Comm_idup(from, &copy, &request);
		exercise(other, "while idup is pending on one rank");
		exercise(with_team, "that had a team");
		if (rank != 0)
			MPI_Comm_idup(from, &copy, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		exercise(copy, "on the copy");
		MPI_Comm_free(&copy);
		MPI_Comm_free(&other);
		MPI_Comm_free(&from);
	}
	MPI_Comm_free(&with_team);
}

static void
many(int wanted)
{
	MPI_Comm *comms = malloc((size_t)wanted * sizeof(MPI_Comm));
	int made = 0;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	while (made < wanted && MPI_Comm_dup(MPI_COMM_WORLD, &comms[made]) == MPI_SUCCESS)
		exercise(comms[made++], "one of many");
	CHECK(made == wanted, "only %d communicators of %d", made, wanted);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	for (int i = 0; i < made; i++)
		MPI_Comm_free(&comms[i]);
	free(comms);
}

/* Of ranks `first` and the next one; MPI_COMM_NULL elsewhere. */
static MPI_Comm
pair(int first)
{
	MPI_Comm comm;
	MPI_Comm_split(MPI_COMM_WORLD, rank == first || rank == first + 1 ? 0 : MPI_UNDEFINED, rank,
		       &comm);
	if (comm != MPI_COMM_NULL)
		exercise(comm, "a pair");
	return comm;
}

/* Rank 1 keeps as many idle segments as it may, shared with rank 2. So it gives up each that it had
 * with rank 0, which must then not keep its own end of it for good. */
static void
full_pool(void)
{
	MPI_Comm pairs[4];
	for (int i = 0; i < 4; i++)
		pairs[i] = pair(1);
	for (int i = 0; i < 4; i++)
		if (pairs[i] != MPI_COMM_NULL)
			MPI_Comm_free(&pairs[i]);
	for (int i = 0; i < 8; i++) {
		MPI_Comm comm = pair(0);
		if (comm == MPI_COMM_NULL)
			continue;
		CHECK(segments() == (rank ? 5 : 1), "%d segments with the pair's team number %d",
		      segments(), i);
		MPI_Comm_free(&comm);
	}
}

/* On one node a team needs no communicator of its own: it is made where the MPI has none left. */
static void
exhausted(void)
{
	enum { MOST = 4000 };
	static MPI_Comm comms[MOST];
	int made = 0;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	while (made < MOST && MPI_Comm_dup(MPI_COMM_WORLD, &comms[made]) == MPI_SUCCESS)
		made++;
	CHECK(made > 0 && made < MOST, "%d communicators could be made", made);
	exercise(MPI_COMM_WORLD, "with no communicator left");
	exercise(comms[made - 1], "the last");
	CHECK(segments() == 2, "%d segments for two teams", segments());
	while (made)
		MPI_Comm_free(&comms[--made]);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	check_begin(&argc, &argv, &rank, &size);
	if (!strcmp(what, "delete"))
		delete_callbacks();
	else if (!strcmp(what, "idup"))
		pending_idups();
	else if (!strcmp(what, "idup-elsewhere"))
		pending_elsewhere();
	else if (!strcmp(what, "pool"))
		full_pool();
	else if (!strcmp(what, "exhausted"))
		exhausted();
	else
		many(atoi(what));
	return check_finish("communicators");
}
