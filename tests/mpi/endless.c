/* endless: non-blocking calls and starts of persistent ones without end: after a tenth of them,
 * neither heap, private memory, mappings nor descriptors grow any more.
 *
 *   endless [CALLS]    default 100000
 *
 * Hosts lose memory: MPICH 4.0.2 over UCX 56 bytes of each derived type, in processes whose heap is
 * at addresses with bit 31, Open MPI 4.1.4 some 180 in each MPIX_X_init. */
#include "check.h"
#include "each.h"

#include <dirent.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

EACH(begin, MPI_I, , , , WITH_REQUEST)
EACH(make, PERSISTENT, _init, _init, , WITH_INFO)

enum { COUNT = 3, BURST = 20, LONG_BURST = 100, REMADE = 50, SLACK = 256 << 10 };

#ifdef OPEN_MPI
static const int has_gaps = 1;
#else
static const int has_gaps = 0;
#endif
static int rank, size;

struct usage {
	long heap, resident, mappings, descriptors;
};

static long
lines_of(const char *path)
{
	long lines = 0;
	FILE *file = fopen(path, "r");
	for (int c; file && (c = getc(file)) != EOF;)
		lines += c == '\n';
	if (file)
		fclose(file);
	return lines;
}

static struct usage
look(void)
{
	struct mallinfo2 info = mallinfo2();
	struct usage usage = { .heap = (long)(info.uordblks + info.hblkhd) };
	FILE *file = fopen("/proc/self/statm", "r");
	long all = 0, shared = 0; /* pages; shared ones are touched when a rank is late */
	if (!file || fscanf(file, "%*d %ld %ld", &all, &shared) != 2)
		CHECK(false, "/proc/self/statm cannot be read");
	if (file)
		fclose(file);
	usage.resident = (all - shared) * sysconf(_SC_PAGESIZE);
	usage.mappings = lines_of("/proc/self/maps");
	DIR *folder = opendir("/proc/self/fd");
	while (folder && readdir(folder))
		usage.descriptors++;
	if (folder)
		closedir(folder);
	return usage;
}

int
main(int argc, char **argv)
{
	enum { INTS = EACH_RANKS * (COUNT + 1) };
	static int in[LONG_BURST][INTS], out[LONG_BURST][INTS];
	MPI_Request requests[LONG_BURST], started[EACH_COLLS];
	MPI_Status statuses[LONG_BURST];
	struct each each[EACH_COLLS];
	check_begin(&argc, &argv, &rank, &size);
	long calls = argc > 1 ? atol(argv[1]) : 100000, done = 0;
	struct usage before = { 0 };
	MPI_Datatype gapped;
	MPI_Type_vector(COUNT, 1, 2, MPI_INT, &gapped);
	MPI_Type_commit(&gapped);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int which = 0; which < EACH_COLLS; which++) {
		each[which] = each_with(which, rank, COUNT, which % size);
		make(which, &each[which], in[which], out[which], &started[which]);
	}
	for (long burst = 0; done < calls; burst++) {
		int count = burst % 16 ? BURST : LONG_BURST, one = (int)(burst % EACH_COLLS);
		if (!before.heap && done >= calls / 10)
			before = look();
		for (int i = 0; i < count; i++) {
			int which = (one + i) % EACH_COLLS;
			if (i % 4 || !has_gaps)
				begin(which, &each[which], in[i], out[i], &requests[i]);
			else
				MPI_Ibcast(out[i], 1, gapped, one % size, MPI_COMM_WORLD,
					   &requests[i]);
		}
		MPI_Waitall(count, requests, statuses);
		MPI_Startall(EACH_COLLS, started);
		MPI_Waitall(EACH_COLLS, started, statuses);
		if (burst % REMADE == REMADE - 1) {
			MPI_Request_free(&started[one]);
			make(one, &each[one], in[one], out[one], &started[one]);
		}
		done += count + EACH_COLLS;
	}
	struct usage after = look();
	CHECK(after.heap <= before.heap + SLACK, "the heap grew from %ld to %ld bytes",
	      before.heap, after.heap);
	CHECK(after.resident <= before.resident + SLACK,
	      "private memory grew from %ld to %ld bytes", before.resident, after.resident);
	CHECK(after.mappings <= before.mappings + 2, "%ld mappings became %ld", before.mappings,
	      after.mappings);
	CHECK(after.descriptors <= before.descriptors, "%ld descriptors became %ld",
	      before.descriptors, after.descriptors);
	for (int which = 0; which < EACH_COLLS; which++)
		MPI_Request_free(&started[which]);
	MPI_Type_free(&gapped);
	return check_finish("endless");
}
