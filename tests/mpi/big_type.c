/* One element of a derived type that is larger than 1 GiB, more than the host's packing takes at
 * once: a plain one (as programs make them for counts beyond int) and one with gaps, sent from the
 * one to the other in both directions. Its memory is 16 MiB that are mapped again and again; ours
 * is that of one packed element on each side. */
#include "check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK (1 << 20)
#define GAP 4096
#define REPEATED 16 /* blocks until the same memory comes again */
#define TIMES 65    /* 1040 MiB */
#define BLOCKS (REPEATED * TIMES)

static long
available_mib(void)
{
	char line[128];
	long kib = 0;
	FILE *file = fopen("/proc/meminfo", "r");
	while (file && fgets(line, sizeof line, file) &&
	       sscanf(line, "MemAvailable: %ld", &kib) != 1)
		;
	if (file)
		fclose(file);
	return kib >> 10;
}

/* TIMES times the same REPEATED blocks, `stride` apart. */
static unsigned char *
map(size_t stride)
{
	size_t unit = REPEATED * stride;
	int fd = memfd_create("big_type", MFD_CLOEXEC);
	unsigned char *base = mmap(NULL, TIMES * unit, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fd < 0 || base == MAP_FAILED || ftruncate(fd, (off_t)unit))
		return NULL;
	for (size_t i = 0; i < TIMES; i++)
		if (mmap(base + i * unit, unit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			return NULL;
	close(fd);
	return base;
}

static MPI_Datatype
plain_type(void)
{
	int lengths[3] = { BLOCKS - 1, BLOCK / 4 - 1, 4 };
	MPI_Aint at[3] = { 0, (MPI_Aint)(BLOCKS - 1) * BLOCK, (MPI_Aint)BLOCKS * BLOCK - 4 };
	MPI_Datatype parts[3] = { MPI_DATATYPE_NULL, MPI_INT, MPI_CHAR }, type;
	MPI_Type_contiguous(BLOCK, MPI_BYTE, &parts[0]);
	MPI_Type_create_struct(3, lengths, at, parts, &type);
	MPI_Type_commit(&type);
	MPI_Type_free(&parts[0]);
	return type;
}

static unsigned char
value(int round, int block, int i)
{
	return (unsigned char)(round * 31 + block * 7 + i % 251);
}

static void
fill(unsigned char *base, size_t stride, int round)
{
	for (int block = 0; block < REPEATED; block++)
		for (int i = 0; i < BLOCK; i++)
			base[(size_t)block * stride + (size_t)i] = value(round, block, i);
}

static void
check(const unsigned char *base, size_t stride, int round)
{
	long wrong = 0;
	for (int block = 0; block < REPEATED; block++) {
		for (int i = 0; i < BLOCK; i++)
			wrong += base[(size_t)block * stride + (size_t)i] != value(round, block, i);
		for (size_t i = BLOCK; i < stride; i++)
			wrong += base[(size_t)block * stride + i] != 0;
	}
	CHECK(wrong == 0, "round %d: %ld bytes are wrong", round, wrong);
}

int
main(int argc, char **argv)
{
	int rank, is_enough;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	check_rank = rank;
	is_enough = available_mib() >= 6 * 1024;
	PMPI_Bcast(&is_enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (!is_enough) {
		if (rank == 0)
			printf("less than 6 GiB of memory are available\n");
		MPI_Finalize();
		return 77;
	}
	unsigned char *plain = map(BLOCK), *gapped = map(BLOCK + GAP);
	MPI_Datatype plain_one = plain_type(), gapped_one;
	MPI_Type_vector(BLOCKS, BLOCK, BLOCK + GAP, MPI_BYTE, &gapped_one);
	MPI_Type_commit(&gapped_one);
	CHECK(plain && gapped, "no memory");
	for (int round = 0; plain && gapped && round < 2; round++) {
		int is_plain = rank == round;
		unsigned char *base = is_plain ? plain : gapped;
		if (rank == 0)
			fill(base, is_plain ? BLOCK : BLOCK + GAP, round);
		MPI_Bcast(base, 1, is_plain ? plain_one : gapped_one, 0, MPI_COMM_WORLD);
		check(base, is_plain ? BLOCK : BLOCK + GAP, round);
	}
	MPI_Type_free(&plain_one);
	MPI_Type_free(&gapped_one);
	return check_finish("big_type");
}
