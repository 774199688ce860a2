/* Buffers lie in memory that is watched by page protection, as garbage collectors and incremental
 * checkpoints do it: a handler of SIGSEGV lets the access through. */
#include "case.h"

#include <signal.h>
#include <sys/mman.h>

#define ROOM ((size_t)24 << 20)

static char *watched;
static size_t page;
static volatile sig_atomic_t hits;

static void
let_through(int number, siginfo_t *info, void *context)
{
	char *at = (char *)((uintptr_t)info->si_addr & ~(page - 1));
	(void)number;
	(void)context;
	if (at < watched || at >= watched + ROOM)
		_exit(99);
	hits++;
	mprotect(at, page, PROT_READ | PROT_WRITE);
	if (is("lazy") || is("holes"))
		for (size_t i = 0; i < page; i++)
			at[i] = (char)byte_of(rank, (size_t)(at - watched) + i);
}

static void
protect(char *from, size_t bytes, int how)
{
	CHECK(!mprotect(from, bytes, how), "mprotect");
}

/* The root's buffer may be read and never written. */
static void
read_only_root(char *plain, size_t bytes, int root)
{
	protect(watched, ROOM, PROT_READ);
	MPI_Bcast(rank == root ? watched : plain, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
	CHECK(is_of(rank == root ? watched : plain, root, bytes), "bcast of %zu", bytes);
	CHECK(!hits, "a bcast of %zu wrote the root's buffer", bytes);
}

static void
written_results(char *plain, size_t bytes, int root)
{
	protect(watched, ROOM, PROT_READ);
	MPI_Allgather(plain, (int)bytes, MPI_BYTE, watched, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		CHECK(is_of(watched + (size_t)r * bytes, r, bytes), "allgather of %zu from %d",
		      bytes, r);
	protect(watched, ROOM, PROT_READ);
	MPI_Bcast(rank == root ? plain : watched, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
	CHECK(is_of(rank == root ? plain : watched, root, bytes), "bcast of %zu", bytes);
}

/* What nobody has touched yet is made at the first access. */
static void
made_when_touched(char *plain, size_t bytes)
{
	protect(watched, ROOM, PROT_NONE);
	if (is("holes")) { /* both ends are there, the middle is not */
		protect(watched, page, PROT_READ | PROT_WRITE);
		protect(watched + (bytes & ~(page - 1)), 2 * page, PROT_READ | PROT_WRITE);
	}
	MPI_Allgather(watched, (int)bytes, MPI_BYTE, plain, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		CHECK(is_of(plain + (size_t)r * bytes, r, bytes), "allgather of %zu from %d", bytes,
		      r);
}

int
main(int argc, char **argv)
{
	static const size_t sizes[] = { 100, 5000, 20000, 70000, 300000, 2000000 };
	struct sigaction action = { .sa_sigaction = let_through,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };
	begin(&argc, &argv);
	page = (size_t)sysconf(_SC_PAGESIZE);
	watched = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *plain = room(ROOM);
	sigaction(SIGSEGV, &action, NULL);
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		for (int turn = 0; turn < 3; turn++) {
			protect(watched, ROOM, PROT_READ | PROT_WRITE);
			fill(watched, rank, sizes[k] + 2 * page);
			fill(plain, rank, sizes[k]);
			if (is("read_only"))
				read_only_root(plain, sizes[k], turn % size);
			else if (is("results"))
				written_results(plain, sizes[k], turn % size);
			else
				made_when_touched(plain, sizes[k]);
		}
	free(plain);
	return end();
}
