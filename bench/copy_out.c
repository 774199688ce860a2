/* bench/copy_out.c — ways of a result from the memory that a node's ranks share to each rank
 * (copy-out, seed 002, 2.3.3 and figure 2.8), by size: also what the first access, and a write, to
 * each of its pages takes then.
 *
 *   copy    all ranks copy at the same time, to memory in use; or, "fresh", never touched
 *   bcast   the MPI's own on the node
 *   hybrid  the first rank of each cache copies, and sends its copy to the others there
 *   shared  the shared memory is the result: a barrier, and the first reads
 *   mapped  the first rank writes a file, all map it copy-on-write (COLLSHIM_COW)
 */
#include "bench.h"
#include "node.h"

#include "base/parse.h"
#include "shm/cow.h"

#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST ((size_t)256 << 10)
#define LARGEST ((size_t)16 << 20)
#define TRIALS 15
#define PAGE 4096

enum way { COPY, FRESH, BCAST, HYBRID, SHARED, MAPPED, WAYS };
static const char *const names[WAYS] = { "copy", "fresh", "bcast", "hybrid", "shared", "mapped" };
enum part { TAKES, READS, WRITES, PARTS };

struct job {
	MPI_Comm node, group;
	int local, groups;
	char *shared, *used;
	size_t bytes;
	bool is_mapped; /* so far */
};

struct mapped {
	struct cs_cow_told told;
	int64_t pid;
};

/* True: it was mapped, or is the first rank's. */
static bool
take_mapped(struct job *job, char *to)
{
	struct mapped mapped = { .pid = getpid() };
	int file = job->local ? -1 : cs_cow_open(to, job->bytes, &mapped.told);
	bool is_good = file < 0 || cs_cow_write(file, to, 0, job->shared, job->bytes);
	if (file >= 0)
		cs_cow_seal(file);
	PMPI_Bcast(&mapped, sizeof mapped, MPI_BYTE, 0, job->node);
	if (job->local && mapped.told.file)
		file = cs_cow_attach(mapped.pid, mapped.told, job->bytes);
	is_good = is_good && file >= 0 &&
		  cs_cow_take(file, cs_cow_told_offset(mapped.told), to, job->bytes);
	if (job->local && file >= 0)
		close(file);
	PMPI_Barrier(job->node); /* the first rank's file is open until then */
	if (!job->local && file >= 0)
		close(file);
	return is_good;
}

/* As seed 002 has it, by messages in the group. */
static void
take_hybrid(struct job *job, char *to)
{
	int self, size;
	PMPI_Comm_rank(job->group, &self);
	PMPI_Comm_size(job->group, &size);
	if (self) {
		PMPI_Recv(to, (int)job->bytes, MPI_BYTE, 0, 0, job->group, MPI_STATUS_IGNORE);
		return;
	}
	MPI_Request requests[size];
	memcpy(to, job->shared, job->bytes);
	for (int rank = 1; rank < size; rank++)
		PMPI_Isend(to, (int)job->bytes, MPI_BYTE, rank, 0, job->group, &requests[rank - 1]);
	for (int rank = 1; rank < size; rank++)
		PMPI_Wait(&requests[rank - 1], MPI_STATUS_IGNORE);
}

static void
take(struct job *job, enum way way, char *to)
{
	if (way == MAPPED)
		job->is_mapped = take_mapped(job, to) && job->is_mapped;
	else if (way == BCAST)
		PMPI_Bcast(job->local ? to : job->shared, (int)job->bytes, MPI_BYTE, 0, job->node);
	else if (way == HYBRID)
		take_hybrid(job, to);
	else if (way == SHARED)
		PMPI_Barrier(job->node);
	else
		memcpy(to, job->shared, job->bytes);
}

/* Reads a byte of each page, or writes to it. */
static void
touch(char *at, size_t bytes, bool writes)
{
	volatile char *memory = at;
	for (size_t page = 0; page < bytes; page += PAGE)
		if (writes)
			memory[page] = (char)page;
		else
			(void)memory[page];
}

/* One trial: ns of each part, of the rank that it takes longest. */
static void
try_it(struct job *job, enum way way, int64_t longest[PARTS])
{
	int64_t took[PARTS], from;
	bool is_fresh = way == FRESH || way == MAPPED;
	char *to = is_fresh ? malloc(job->bytes) : way == SHARED ? job->shared : job->used;
	if (!to)
		PMPI_Abort(MPI_COMM_WORLD, 1);
	for (enum part part = TAKES; part < PARTS; part++) {
		PMPI_Barrier(job->node);
		from = bench_now();
		if (part == TAKES)
			take(job, way, to);
		else if (way != SHARED || part != WRITES) /* all would see it */
			touch(to, job->bytes, part == WRITES);
		took[part] = bench_now() - from;
	}
	PMPI_Allreduce(took, longest, PARTS, MPI_INT64_T, MPI_MAX, job->node);
	if (is_fresh)
		free(to);
}

static void
measure(struct job *job, enum way way, double us[PARTS])
{
	double trials[PARTS][TRIALS];
	for (int trial = 0; trial < TRIALS; trial++) {
		int64_t longest[PARTS];
		try_it(job, way, longest);
		for (enum part part = TAKES; part < PARTS; part++)
			trials[part][trial] = (double)longest[part] * 1e-3;
	}
	for (enum part part = TAKES; part < PARTS; part++)
		us[part] = bench_median(trials[part], TRIALS);
}

static void
print_row(const struct job *job, double us[WAYS][PARTS])
{
	char size[CS_NUMBER_TEXT];
	const double *mapped = us[MAPPED];
	printf("%8s", cs_bytes_text(size, job->bytes));
	for (enum way way = COPY; way < MAPPED; way++)
		printf(" %10.1f", us[way][TAKES] + (way == SHARED ? us[way][READS] : 0));
	if (job->is_mapped)
		printf(" %10.1f %10.1f %10.1f", mapped[TAKES], mapped[READS], mapped[WRITES]);
	else
		printf(" %10s %10s %10s", "-", "-", "-");
	printf("\n");
}

/* Notes from which size on mapping takes less, with so many of its parts. */
static void
note_gain(size_t *gains, size_t bytes, double copy, const double mapped[PARTS], enum part last)
{
	double sum = 0;
	for (enum part part = TAKES; part <= last; part++)
		sum += mapped[part];
	*gains = sum >= copy ? 0 : *gains ? *gains : bytes;
}

static void
print_gains(const size_t gains[PARTS], enum way against)
{
	static const char *const then[PARTS] = { "not touched", "read", "read and written" };
	printf("# mapped takes less than a copy to %s memory:", against == COPY ? "used" : "fresh");
	for (enum part part = TAKES; part < PARTS; part++) {
		char size[CS_NUMBER_TEXT];
		printf("%s %s%s%s", part ? "," : "", gains[part] ? "from " : "never",
		       gains[part] ? cs_bytes_text(size, gains[part]) : "",
		       gains[part] ? " on" : "");
		printf(" if %s", then[part]);
	}
	printf("\n");
}

/* The way that takes least to memory in use, or mapped; shared memory takes nothing. */
static enum way
fastest(const struct job *job, double us[WAYS][PARTS])
{
	enum way best = COPY;
	for (enum way way = BCAST; way < WAYS; way++)
		if (way != SHARED && (way != MAPPED || job->is_mapped) &&
		    us[way][TAKES] < us[best][TAKES])
			best = way;
	return best;
}

/* "copy up to 256K, hybrid from 1M on", of the fastest way of each size. */
static void
print_fastest(const enum way *best, int sizes)
{
	char text[CS_NUMBER_TEXT];
	printf("# by size:");
	for (int first = 0, next; first < sizes; first = next) {
		for (next = first; next < sizes && best[next] == best[first];)
			next++;
		bool is_last = next == sizes;
		size_t bytes = LEAST << 2 * (first && is_last ? first : next - 1);
		printf("%s %s%s%s%s", first ? "," : "", names[best[first]],
		       !is_last ? " up to " : first ? " from " : "",
		       !is_last || first ? cs_bytes_text(text, bytes) : "",
		       first && is_last ? " on" : "");
	}
	printf("\n");
}

static void
measure_sizes(struct job *job)
{
	size_t gains[WAYS][PARTS] = { 0 };
	enum way best[16];
	int locals, sizes = 0;
	PMPI_Comm_size(job->node, &locals);
	bool speaks = !job->local;
	if (speaks)
		printf("# copy-out to %d ranks of a node, %d group%s: us of the slowest, medians "
		       "of %d\n#   size       copy      fresh      bcast     hybrid     shared     "
		       "mapped    +reads   +writes\n",
		       locals, job->groups, job->groups > 1 ? "s" : "", TRIALS);
	for (job->bytes = LEAST; job->bytes <= LARGEST; job->bytes *= 4) {
		double us[WAYS][PARTS];
		int mine;
		job->is_mapped = true;
		for (enum way way = COPY; way < WAYS; way++)
			measure(job, way, us[way]);
		mine = job->is_mapped;
		PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MIN, job->node);
		job->is_mapped = mine;
		for (enum way way = COPY; way <= FRESH && mine; way++)
			for (enum part part = TAKES; part < PARTS; part++)
				note_gain(&gains[way][part], job->bytes, us[way][TAKES],
					  us[MAPPED], part);
		best[sizes++] = fastest(job, us);
		if (speaks)
			print_row(job, us);
	}
	if (speaks) {
		print_fastest(best, sizes);
		print_gains(gains[COPY], COPY);
		print_gains(gains[FRESH], FRESH);
	}
}

/* Splits the node's ranks by cache. */
static void
make_groups(struct job *job)
{
	int self;
	PMPI_Comm_split(job->node, bench_place(job->local).cache + 1, job->local, &job->group);
	PMPI_Comm_rank(job->group, &self);
	int is_first = !self;
	PMPI_Allreduce(&is_first, &job->groups, 1, MPI_INT, MPI_SUM, job->node);
}

void
bench_copy_out_print(const struct bench_world *world)
{
	struct job job = { .local = 0 };
	MPI_Win window = MPI_WIN_NULL;
	MPI_Aint bytes;
	int unit, rank = world->rank, first = rank;
	bench_node(&job.node);
	PMPI_Comm_rank(job.node, &job.local);
	PMPI_Bcast(&first, 1, MPI_INT, 0, job.node);
	make_groups(&job);
	/* A block of its own for each result, as in programs that have not freed any. */
	mallopt(M_MMAP_THRESHOLD, (int)LEAST / 2);
	job.used = malloc(LARGEST);
	if (!job.used || PMPI_Win_allocate_shared(job.local ? 0 : (MPI_Aint)LARGEST, 1,
						  MPI_INFO_NULL, job.node, &job.shared, &window))
		PMPI_Abort(MPI_COMM_WORLD, 1);
	PMPI_Win_shared_query(window, 0, &bytes, &unit, &job.shared);
	memset(job.used, 1, LARGEST);
	if (!job.local)
		memset(job.shared, 2, LARGEST);
	if (!first)
		measure_sizes(&job);
	PMPI_Win_free(&window);
	free(job.used);
	PMPI_Comm_free(&job.group);
	PMPI_Comm_free(&job.node);
}
