/* Results in a window of MPI_Win_allocate_shared: of all ranks, of some, at places of their own, in
 * place, of parts of the ranks; windows that are freed and made again, and memory that comes where
 * they were. */
#include "check.h"

#include <stdlib.h>

#define MOST (1 << 18) /* ints of a rank's block */

static int rank, size, *base, *own;
static MPI_Win win;

static void
open_window(size_t ints)
{
	MPI_Aint bytes;
	int unit, made = MPI_Win_allocate_shared(rank ? 0 : (MPI_Aint)(ints * sizeof(int)),
						 sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
						 &win);
	CHECK(!made, "no window");
	MPI_Win_shared_query(win, 0, &bytes, &unit, &base);
	MPI_Win_lock_all(0, win);
}

static void
close_window(void)
{
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

/* All ranks see what all have stored. */
static void
meet(void)
{
	MPI_Win_sync(win);
	PMPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(win);
}

static int
value(int of, int i, int turn)
{
	return of * 1000003 + i * 7 + turn;
}

static void
fill(int *block, int each, int turn)
{
	for (int i = 0; i < each; i++)
		block[i] = value(rank, i, turn);
}

static void
check(const char *what, const int *result, int first, int ranks, int step, int each, int turn)
{
	int bad = 0;
	for (int r = 0; r < ranks; r++)
		for (int i = 0; i < each; i++)
			bad += result[r * each + i] != value(first + r * step, i, turn);
	CHECK(!bad, "%s of %d ints, turn %d: %d are wrong", what, each, turn, bad);
}

enum who { ALL, ODD, NOT_ROOT, APART, NOBODY, WHOS };
static const char *const whos[] = { "all in the window", "odd ones in the window",
				    "all but one in the window", "each at its own place",
				    "nobody in the window" };

static int *
place_of(enum who who, int each)
{
	int is_in = who == ALL || (who == ODD && rank % 2) || (who == NOT_ROOT && rank != size / 2);
	return who == APART ? base + (size_t)rank * (size_t)(size * each) : is_in ? base : own;
}

static void
gather(enum who who, int each, int turn, int in_place)
{
	int *result = place_of(who, each), *block = result + rank * each, *from = own + size * MOST;
	memset(own, 0, (size_t)(size * each) * sizeof *own);
	if (!rank)
		memset(base, 0, (size_t)(size * each) * sizeof *base);
	meet();
	fill(in_place ? block : from, each, turn);
	MPI_Allgather(in_place ? MPI_IN_PLACE : from, each, MPI_INT, result, each, MPI_INT,
		      MPI_COMM_WORLD);
	MPI_Win_sync(win);
	check(whos[who], result, 0, size, 1, each, turn);
	meet();
}

static void
gather_odd(enum who who, int each, int turn)
{
	int counts[size], at[size], *result = place_of(who, each), *from = own + size * MOST;
	for (int r = 0; r < size; r++) { /* in memory of its own as each rank likes */
		counts[r] = each;
		at[r] = (rank % 2 && who >= APART ? size - 1 - r : r) * each;
	}
	meet();
	fill(from, each, turn);
	MPI_Allgatherv(from, each, MPI_INT, result, counts, at, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check(whos[who], result + at[r], r, 1, 1, each, turn);
	meet();
}

static void
cast(enum who who, int each, int turn, int root)
{
	int *result = place_of(who, each);
	meet();
	if (rank == root)
		fill(result, each, turn);
	MPI_Bcast(result, each, MPI_INT, root, MPI_COMM_WORLD);
	check(whos[who], result, root, 1, 1, each, turn);
	meet();
}

/* Ints that lie two apart. */
static void
cast_strided(int each, int turn)
{
	MPI_Datatype type;
	MPI_Type_vector(each, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	meet();
	for (int i = 0; i < each && !rank; i++) {
		base[2 * i] = value(0, i, turn);
		base[2 * i + 1] = -i;
	}
	MPI_Bcast(base, 1, type, 0, MPI_COMM_WORLD);
	int bad = 0;
	for (int i = 0; i < each; i++)
		bad += base[2 * i] != value(0, i, turn) || base[2 * i + 1] != -i;
	CHECK(!bad, "strided: %d are wrong", bad);
	meet();
	MPI_Type_free(&type);
}

/* The odd ranks and the even ones have a part of the window each. */
static void
parts(int each)
{
	MPI_Comm part;
	int members;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
	MPI_Comm_size(part, &members);
	for (int turn = 0; turn < 3; turn++) {
		int *result = base + (size_t)(rank % 2) * (size_t)(size * each);
		meet();
		fill(own, each, turn);
		MPI_Allgather(own, each, MPI_INT, result, each, MPI_INT, part);
		check("parts", result, rank % 2, members, 2, each, turn);
		meet();
		if (rank < 2)
			fill(result, each, turn);
		MPI_Bcast(result, each, MPI_INT, 0, part);
		check("parts", result, rank % 2, 1, 1, each, turn);
	}
	meet();
	MPI_Comm_free(&part);
}

/* Memory of each rank's own that comes where a window was. */
static void
freed(int each)
{
	for (int turn = 0; turn < 6; turn++) {
		open_window((size_t)(size * each));
		cast(ALL, each, turn, turn % size);
		close_window();
		int *mine = malloc((size_t)(size * each) * sizeof *mine);
		fill(own, each, turn);
		memset(mine, 0, (size_t)(size * each) * sizeof *mine);
		MPI_Allgather(own, each, MPI_INT, mine, each, MPI_INT, MPI_COMM_WORLD);
		check("after a window", mine, 0, size, 1, each, turn);
		free(mine);
	}
}

int
main(int argc, char **argv)
{
	static const int eaches[] = { 1, 20, 700, 30000, MOST };
	check_begin(&argc, &argv, &rank, &size);
	own = malloc((size_t)(size + 1) * MOST * sizeof *own);
	open_window((size_t)size * (size_t)size * MOST);
	for (size_t k = 0; own && k < sizeof eaches / sizeof *eaches; k++)
		for (enum who who = ALL; who < WHOS; who++)
			for (int turn = 0; turn < (eaches[k] < MOST ? 4 : 2); turn++) {
				gather(who, eaches[k], turn, turn % 2);
				gather_odd(who, eaches[k], turn);
				cast(who, eaches[k], turn, turn % 2 ? size / 2 : 0);
			}
	cast_strided(30000, 1);
	parts(30000);
	close_window();
	freed(30000);
	free(own);
	return check_finish("shared_result");
}
