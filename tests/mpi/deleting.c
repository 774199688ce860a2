/* Delete callbacks of the program's that fail, or call MPI. Each case is played twice, by the MPI's
 * own PMPI names, on a communicator that the library never sees, and by the MPI names: all that the
 * program can tell must be the same, in both and in what the communicator can do where it was not
 * freed.
 *
 *   deleting [--calls N]    collectives before the communicator is freed
 */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct names {
	int (*dup)(MPI_Comm, MPI_Comm *);
	int (*free)(MPI_Comm *);
	int (*disconnect)(MPI_Comm *);
	int (*barrier)(MPI_Comm);
	int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
} own = { PMPI_Comm_dup, PMPI_Comm_free, PMPI_Comm_disconnect, PMPI_Barrier, PMPI_Allreduce },
  taken = { MPI_Comm_dup, MPI_Comm_free, MPI_Comm_disconnect, MPI_Barrier, MPI_Allreduce };

/* What a callback does. */
enum deed { NOTHING, FREES_OTHER, FREES_NESTED, USES_SAME, USES_OTHER, USES_WORLD, USES_SELF,
	    USES_NEW, DEEDS };
static const char *const deeds[DEEDS] = {
	"does nothing", "frees another", "frees one whose callback frees", "uses the same",
		"uses another", "uses the world",
	"uses itself", "makes one and uses it",
};

/* When ranks hang an attribute on the communicator: before its first collectives, after them, even
 * ranks before, odd ones after. */
enum { BEFORE, AFTER, MIXED, TIMES };
static const char *const times[TIMES] = { "before", "after", "mixed" };

struct seen {
	int code, again, called, sums;
	int is_null, is_null_again;
};

static struct play {
	const struct names *names;
	enum deed deed;
	int fails; /* so many calls of the callback do */
	MPI_Comm other, nested;
	struct seen seen;
} play;
static int keys[2], calls = 60;

/* One of each kind: what comes out depends on all ranks. */
static void
use(MPI_Comm comm)
{
	int mine = play.seen.called + 1, sum = 0;
	play.names->barrier(comm);
	play.names->allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
	play.seen.sums += sum;
}

static int
on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
	MPI_Comm made;
	play.seen.called++;
	if (play.deed == FREES_OTHER && play.other != MPI_COMM_NULL)
		play.names->free(&play.other);
	/* Its own callback, this one, frees the other. */
	if (play.deed == FREES_NESTED && play.nested != MPI_COMM_NULL) {
		MPI_Comm nested = play.nested;
		play.nested = MPI_COMM_NULL;
		play.names->free(&nested);
	} else if (play.deed == FREES_NESTED && play.other != MPI_COMM_NULL) {
		play.names->free(&play.other);
	}
	if (play.deed == USES_NEW) {
		play.names->dup(MPI_COMM_WORLD, &made);
		for (int i = 0; i < 10; i++)
			use(made);
		play.names->free(&made);
	}
	if (play.deed >= USES_SAME && play.deed <= USES_SELF)
		for (int i = 0; i < 3; i++)
			use(play.deed == USES_SAME    ? comm
			    : play.deed == USES_OTHER ? play.other
			    : play.deed == USES_WORLD ? MPI_COMM_WORLD
						      : MPI_COMM_SELF);
	return play.fails-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int
on_delete_well(MPI_Comm comm, int key, void *value, void *extra)
{
	play.seen.called += 100;
	return MPI_SUCCESS;
}

static MPI_Comm
made(void)
{
	MPI_Comm comm;
	play.names->dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	return comm;
}

/* Attribute 0 is the callback's, 1 that of one that never fails; `order` tells which is hung first,
 * or that there is no other. */
static void
hang(MPI_Comm comm, int order)
{
	if (order == 1)
		MPI_Comm_set_attr(comm, keys[1], NULL);
	MPI_Comm_set_attr(comm, keys[0], NULL);
	if (order == 2)
		MPI_Comm_set_attr(comm, keys[1], NULL);
}

static struct seen
played(const struct names *names, enum deed deed, int time, int order, int fails, bool disconnects)
{
	play = (struct play){ .names = names, .deed = deed };
	MPI_Comm comm = made(), again;
	play.other = made();
	play.nested = made();
	MPI_Comm_set_attr(play.nested, keys[0], NULL);
	bool is_early = time == BEFORE || (time == MIXED && check_rank % 2 == 0);
	if (is_early)
		hang(comm, order);
	for (int i = 0; i < calls; i++)
		use(comm);
	for (int i = 0; i < 10; i++) {
		use(play.other);
		use(play.nested);
	}
	if (!is_early)
		hang(comm, order);
	play.fails = fails;
	again = comm;
	play.seen.code = disconnects ? names->disconnect(&comm) : names->free(&comm);
	play.seen.is_null = comm == MPI_COMM_NULL;
	play.fails = 0;
	if (!play.seen.is_null) {
		for (int i = 0; i < 10; i++)
			use(again);
		hang(again, order);
		play.seen.again = names->free(&again);
		play.seen.is_null_again = again == MPI_COMM_NULL;
	}
	play.deed = NOTHING;
	if (play.nested != MPI_COMM_NULL)
		names->free(&play.nested);
	if (play.other != MPI_COMM_NULL)
		names->free(&play.other);
	use(MPI_COMM_WORLD);
	return play.seen;
}

/* The class: MPICH numbers each error that it tells. */
static int
class_of(int code)
{
	int class = code;
	if (code != MPI_SUCCESS)
		MPI_Error_class(code, &class);
	return class;
}

static void
compare(enum deed deed, int time, int order, int fails, bool disconnects)
{
	struct seen a = played(&own, deed, time, order, fails, disconnects);
	struct seen b = played(&taken, deed, time, order, fails, disconnects);
	const char *how = disconnects ? "MPI_Comm_disconnect" : "MPI_Comm_free";
	CHECK(class_of(a.code) == class_of(b.code) && class_of(a.again) == class_of(b.again),
	      "%s, callback set %s, order %d, %d fail, %s: errors %d and %d alone, %d and %d with "
	      "the library", how, times[time], order, fails, deeds[deed], class_of(a.code),
	      class_of(a.again), class_of(b.code), class_of(b.again));
	CHECK(a.called == b.called && a.sums == b.sums,
	      "%s, callback set %s, order %d, %d fail, %s: called %d, sums %d alone, %d and %d "
	      "with the library", how, times[time], order, fails, deeds[deed], a.called, a.sums,
	      b.called, b.sums);
	CHECK(a.is_null == b.is_null && a.is_null_again == b.is_null_again,
	      "%s, callback set %s, order %d, %d fail, %s: freed %d and %d alone, %d and %d with "
	      "the library", how, times[time], order, fails, deeds[deed], a.is_null,
	      a.is_null_again, b.is_null, b.is_null_again);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	if (argc > 2 && !strcmp(argv[1], "--calls"))
		calls = atoi(argv[2]);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keys[0], NULL);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete_well, &keys[1], NULL);
	/* Orders differ between ranks only in when, so all of them see the same errors. */
	for (int time = 0; time < TIMES; time++)
		for (int order = 0; order < 3; order++)
			for (int fails = 0; fails < 2; fails++) {
				compare(NOTHING, time, order, fails, false);
				compare(NOTHING, time, order, fails, true);
			}
	for (int deed = NOTHING + 1; deed < DEEDS; deed++)
		for (int time = 0; time < TIMES; time++) {
			compare(deed, time, 0, 0, false);
			compare(deed, time, 0, 1, false);
			compare(deed, time, 0, 0, true);
		}
	MPI_Comm_free_keyval(&keys[0]);
	MPI_Comm_free_keyval(&keys[1]);
	return check_finish("deleting");
}
