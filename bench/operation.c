#include "bench.h"

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define GUARD 64      /* bytes before and behind a receive buffer that nobody may touch */
#define GUARD_BYTE 0xa5
#define STALE_BYTE 0xee

/* --- known contents --------------------------------------------------------------------------- */

/* Byte i of a stream is key + 3i + 7(i/256) + 13(i/64K): no two neighbouring chunks of any size
 * that an algorithm might swap are alike. Whole runs of 256 bytes come from one table, so that
 * megabytes are filled and compared at memory speed. */
static unsigned char ramp[512];

static void
make_ramp(void)
{
	for (int i = 0; i < 512; i++)
		ramp[i] = (unsigned char)(3 * i);
}

static const unsigned char *
run_at(unsigned key, size_t run)
{
	unsigned char first = (unsigned char)(key + 7 * run + 13 * (run >> 8));
	return ramp + (unsigned char)(first * 171); /* 3 * 171 = 1 modulo 256: ramp[j] == first */
}

static unsigned
stream_key(int source, int destination, int buffer)
{
	return (unsigned)(source * 31 + destination * 17 + buffer * 101 + 1);
}

static void
fill_stream(unsigned char *to, unsigned key, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 256)
		memcpy(to + at, run_at(key, at / 256), bytes - at < 256 ? bytes - at : 256);
}

/* Offset of the first wrong byte, or `bytes`. */
static size_t
wrong_in_stream(const unsigned char *from, unsigned key, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 256) {
		const unsigned char *run = run_at(key, at / 256);
		size_t length = bytes - at < 256 ? bytes - at : 256;
		if (!memcmp(from + at, run, length))
			continue;
		while (from[at] == *run) {
			at++;
			run++;
		}
		return at;
	}
	return bytes;
}

/* Summands are small, so that no sum of ints overflows, nor one of an MPI that adds in another
 * order. */
static int
summand(int rank, int buffer, size_t i)
{
	return (int)(i % 1009) + 3 * rank + buffer;
}

/* Sum over the first `ranks` ranks of their element i. */
static int
sum_of(int ranks, int buffer, size_t i)
{
	return ranks * ((int)(i % 1009) + buffer) + 3 * (ranks * (ranks - 1) / 2);
}

/* --- shape ------------------------------------------------------------------------------------ */

bool
bench_is_irregular(enum cs_coll coll)
{
	switch (coll) {
	case CS_ALLGATHERV:
	case CS_ALLTOALLV:
	case CS_ALLTOALLW:
	case CS_GATHERV:
	case CS_REDUCE_SCATTER:
	case CS_SCATTERV:
		return true;
	default:
		return false;
	}
}

static bool
is_alltoall(enum cs_coll coll)
{
	return coll == CS_ALLTOALL || coll == CS_ALLTOALLV || coll == CS_ALLTOALLW;
}

static size_t
words_of(const struct bench_case *what, int ranks)
{
	size_t words = (what->size + sizeof(int) - 1) / sizeof(int);
	if (what->coll == CS_REDUCE_SCATTER_BLOCK)
		words = (words + (size_t)ranks - 1) / (size_t)ranks * (size_t)ranks;
	return words;
}

size_t
bench_operation_memory(const struct bench_case *what, int ranks)
{
	size_t total; /* no count, and no displacement, is larger */
	if (cs_colls[what->coll].reduces)
		total = words_of(what, ranks) * sizeof(int);
	else if (what->coll == CS_BCAST || what->coll == CS_BARRIER)
		total = what->size;
	else if (__builtin_mul_overflow(what->size, (size_t)ranks, &total))
		return SIZE_MAX;
	return total > INT_MAX ? SIZE_MAX : 2 * total;
}

static void
sum_up(const int *counts, int *offsets, int ranks)
{
	for (int i = 0, at = 0; i < ranks; at += counts[i++])
		offsets[i] = at;
}

/* Sets counts, offsets, count, bytes and the sizes of the two buffers. */
static void
lay_out(struct bench_operation *op)
{
	const struct bench_case *what = &op->what;
	size_t ranks = (size_t)op->ranks, size = what->size, words = words_of(what, op->ranks);
	op->bytes = cs_colls[what->coll].reduces ? words * sizeof(int) : size;
	op->count = (int)size;
	if (bench_is_irregular(what->coll)) {
		bench_distribute(what->distribution, what->coll == CS_REDUCE_SCATTER
				 ? words : size * ranks, op->ranks, op->counts);
		if (is_alltoall(what->coll)) {
			/* Rank r sends to i what rank i sends to r: as much as the (r+i)-th of the
			 * distribution. */
			for (int i = 0; i < op->ranks; i++)
				op->send_counts[i] = op->counts[(op->rank + i) % op->ranks];
			memcpy(op->counts, op->send_counts, ranks * sizeof(int));
			sum_up(op->send_counts, op->send_offsets, op->ranks);
		}
		sum_up(op->counts, op->offsets, op->ranks);
	}
	switch (what->coll) {
	case CS_ALLGATHER:
	case CS_GATHER:
		op->send_bytes = size;
		op->recv_bytes = size * ranks;
		break;
	case CS_ALLGATHERV:
	case CS_GATHERV:
		op->send_bytes = (size_t)op->counts[op->rank];
		op->recv_bytes = size * ranks;
		break;
	case CS_ALLTOALL:
	case CS_ALLTOALLV:
	case CS_ALLTOALLW:
		op->send_bytes = op->recv_bytes = size * ranks;
		break;
	case CS_ALLREDUCE:
	case CS_EXSCAN:
	case CS_REDUCE:
	case CS_SCAN:
		op->count = (int)words;
		op->send_bytes = op->recv_bytes = words * sizeof(int);
		break;
	case CS_REDUCE_SCATTER:
		op->send_bytes = words * sizeof(int);
		op->recv_bytes = (size_t)op->counts[op->rank] * sizeof(int);
		break;
	case CS_REDUCE_SCATTER_BLOCK:
		op->count = (int)(words / ranks);
		op->send_bytes = words * sizeof(int);
		op->recv_bytes = (size_t)op->count * sizeof(int);
		break;
	case CS_BCAST:
		op->send_bytes = op->recv_bytes = size;
		break;
	case CS_SCATTER:
		op->send_bytes = size * ranks;
		op->recv_bytes = size;
		break;
	case CS_SCATTERV:
		op->send_bytes = size * ranks;
		op->recv_bytes = (size_t)op->counts[op->rank];
		break;
	case CS_BARRIER:
	case CS_COLL_COUNT:
		op->send_bytes = op->recv_bytes = op->bytes = 0;
		break;
	}
}

/* --- blocks: which stream stands where -------------------------------------------------------- */

struct block {
	size_t offset, bytes;
	int source, destination; /* of the stream */
};

/* The i-th block of the send buffer, were this rank the root. */
static struct block
sent_block(const struct bench_operation *op, int i)
{
	size_t size = op->what.size;
	switch (op->what.coll) {
	case CS_ALLTOALL:
	case CS_SCATTER:
		return (struct block){ (size_t)i * size, size, op->rank, i };
	case CS_ALLTOALLV:
	case CS_ALLTOALLW:
		return (struct block){ (size_t)op->send_offsets[i], (size_t)op->send_counts[i],
				       op->rank, i };
	case CS_SCATTERV:
		return (struct block){ (size_t)op->offsets[i], (size_t)op->counts[i], op->rank, i };
	default: /* one block, for everybody */
		return (struct block){ 0, i == 0 ? op->send_bytes : 0, op->rank, 0 };
	}
}

/* The i-th block of the receive buffer after a call with that root. */
static struct block
received_block(const struct bench_operation *op, int i, int root)
{
	size_t size = op->what.size;
	switch (op->what.coll) {
	case CS_ALLTOALL:
		return (struct block){ (size_t)i * size, size, i, op->rank };
	case CS_ALLTOALLV:
	case CS_ALLTOALLW:
		return (struct block){ (size_t)op->offsets[i], (size_t)op->counts[i], i, op->rank };
	case CS_ALLGATHER:
	case CS_GATHER:
		return (struct block){ (size_t)i * size, size, i, 0 };
	case CS_ALLGATHERV:
	case CS_GATHERV:
		return (struct block){ (size_t)op->offsets[i], (size_t)op->counts[i], i, 0 };
	case CS_SCATTER:
	case CS_SCATTERV:
		return (struct block){ 0, i == 0 ? op->recv_bytes : 0, root, op->rank };
	default: /* bcast */
		return (struct block){ 0, i == 0 ? op->recv_bytes : 0, root, 0 };
	}
}

static void
fill_send(const struct bench_operation *op, int buffer)
{
	if (cs_colls[op->what.coll].reduces) {
		int *words = (int *)(void *)op->send[buffer];
		for (size_t i = 0; i < op->send_bytes / sizeof(int); i++)
			words[i] = summand(op->rank, buffer, i);
		return;
	}
	for (int i = 0; i < op->ranks; i++) {
		struct block block = sent_block(op, i);
		fill_stream(op->send[buffer] + block.offset,
			    stream_key(block.source, block.destination, buffer), block.bytes);
	}
}

/* --- life ------------------------------------------------------------------------------------- */

/* `bytes` on a page of their own with a guard on either side; all of it touched, so that no call
 * pays for that. */
static unsigned char *
allocate_guarded(size_t bytes, void **allocation)
{
	size_t whole = PAGE + (bytes + GUARD + PAGE - 1) / PAGE * PAGE;
	*allocation = aligned_alloc(PAGE, whole);
	if (!*allocation)
		return NULL;
	memset(*allocation, GUARD_BYTE, whole);
	return (unsigned char *)*allocation + PAGE;
}

enum cs_status
bench_operation_create(struct bench_operation **operation, const struct bench_case *what, int rank,
		       int ranks, int buffers)
{
	make_ramp();
	struct bench_operation *op = calloc(1, sizeof *op);
	if (!op)
		return CS_NO_MEMORY;
	op->what = *what;
	op->rank = rank;
	op->ranks = ranks;
	op->buffers = buffers;
	int *counts = calloc(4 * (size_t)ranks, sizeof *counts);
	MPI_Datatype *types = calloc((size_t)ranks, sizeof *types);
	op->counts = counts;
	op->types = types;
	if (!counts || !types) {
		bench_operation_destroy(op);
		return CS_NO_MEMORY;
	}
	op->offsets = counts + ranks;
	op->send_counts = counts + 2 * ranks;
	op->send_offsets = counts + 3 * ranks;
	for (int i = 0; i < ranks; i++)
		types[i] = MPI_BYTE;
	lay_out(op);
	for (int i = 0; i < buffers; i++) {
		op->send[i] = allocate_guarded(op->send_bytes, &op->allocation[2 * i]);
		op->recv[i] = allocate_guarded(op->recv_bytes, &op->allocation[2 * i + 1]);
		if (!op->send[i] || !op->recv[i]) {
			bench_operation_destroy(op);
			return CS_NO_MEMORY;
		}
		fill_send(op, i);
	}
	*operation = op;
	return CS_OK;
}

void
bench_operation_destroy(struct bench_operation *op)
{
	if (!op)
		return;
	for (int i = 0; i < 2 * op->buffers; i++)
		free(op->allocation[i]);
	free(op->counts);
	free(op->types);
	free(op);
}

/* --- the calls -------------------------------------------------------------------------------- */

int
bench_operation_root(const struct bench_operation *op, int n)
{
	switch (op->what.root) {
	case BENCH_ROOT_ROTATE:
		return n % op->ranks;
	case BENCH_ROOT_LAST:
		return op->ranks - 1;
	default:
		return op->what.root;
	}
}

/* CALL(B, b, cast, ...): MPI_Bcast, or MPI_Ibcast with a request, of that side. */
#define CALL(B, b, cast, ...) \
	(request ? side == BENCH_HOST ? PMPI_I##b##cast(__VA_ARGS__, request) \
				      : MPI_I##b##cast(__VA_ARGS__, request) \
		 : side == BENCH_HOST ? PMPI_##B##cast(__VA_ARGS__) : MPI_##B##cast(__VA_ARGS__))

void
bench_operation_call(const struct bench_operation *op, enum bench_side side, int n)
{
	bench_operation_start(op, side, n, NULL);
}

void
bench_wait(enum bench_side side, void *request)
{
	side == BENCH_HOST ? PMPI_Wait(request, MPI_STATUS_IGNORE)
			   : MPI_Wait(request, MPI_STATUS_IGNORE);
}

void
bench_operation_start(const struct bench_operation *op, enum bench_side side, int n,
		      void *for_request)
{
	MPI_Request *request = for_request;
	int buffer = n % op->buffers, root = bench_operation_root(op, n), count = op->count;
	unsigned char *send = op->send[buffer], *recv = op->recv[buffer];
	MPI_Comm comm = op->comm ? *(const MPI_Comm *)op->comm : MPI_COMM_WORLD;
	switch (op->what.coll) {
	case CS_ALLGATHER:
		CALL(A, a, llgather, send, count, MPI_BYTE, recv, count, MPI_BYTE, comm);
		break;
	case CS_ALLGATHERV:
		CALL(A, a, llgatherv, send, op->counts[op->rank], MPI_BYTE, recv, op->counts,
		     op->offsets, MPI_BYTE, comm);
		break;
	case CS_ALLREDUCE:
		CALL(A, a, llreduce, send, recv, count, MPI_INT, MPI_SUM, comm);
		break;
	case CS_ALLTOALL:
		CALL(A, a, lltoall, send, count, MPI_BYTE, recv, count, MPI_BYTE, comm);
		break;
	case CS_ALLTOALLV:
		CALL(A, a, lltoallv, send, op->send_counts, op->send_offsets, MPI_BYTE, recv,
		     op->counts, op->offsets, MPI_BYTE, comm);
		break;
	case CS_ALLTOALLW:
		CALL(A, a, lltoallw, send, op->send_counts, op->send_offsets, op->types, recv,
		     op->counts, op->offsets, op->types, comm);
		break;
	case CS_BARRIER:
		CALL(B, b, arrier, comm);
		break;
	case CS_BCAST: /* the root sends from one buffer, so that its pattern is its own however
			* roots rotate */
		CALL(B, b, cast, op->rank == root ? send : recv, count, MPI_BYTE, root, comm);
		break;
	case CS_EXSCAN:
		CALL(E, e, xscan, send, recv, count, MPI_INT, MPI_SUM, comm);
		break;
	case CS_GATHER:
		CALL(G, g, ather, send, count, MPI_BYTE, recv, count, MPI_BYTE, root, comm);
		break;
	case CS_GATHERV:
		CALL(G, g, atherv, send, op->counts[op->rank], MPI_BYTE, recv, op->counts,
		     op->offsets, MPI_BYTE, root, comm);
		break;
	case CS_REDUCE:
		CALL(R, r, educe, send, recv, count, MPI_INT, MPI_SUM, root, comm);
		break;
	case CS_REDUCE_SCATTER:
		CALL(R, r, educe_scatter, send, recv, op->counts, MPI_INT, MPI_SUM, comm);
		break;
	case CS_REDUCE_SCATTER_BLOCK:
		CALL(R, r, educe_scatter_block, send, recv, count, MPI_INT, MPI_SUM, comm);
		break;
	case CS_SCAN:
		CALL(S, s, can, send, recv, count, MPI_INT, MPI_SUM, comm);
		break;
	case CS_SCATTER:
		CALL(S, s, catter, send, count, MPI_BYTE, recv, count, MPI_BYTE, root, comm);
		break;
	case CS_SCATTERV:
		CALL(S, s, catterv, send, op->counts, op->offsets, MPI_BYTE, recv,
		     op->counts[op->rank], MPI_BYTE, root, comm);
		break;
	case CS_COLL_COUNT:
		break;
	}
}

/* --- the answers ------------------------------------------------------------------------------ */

static bool
check_sums(const struct bench_operation *op, int buffer, struct bench_fault *fault)
{
	size_t first = 0; /* element of the vector with which this rank's part begins */
	if (op->what.coll == CS_REDUCE_SCATTER)
		first = (size_t)op->offsets[op->rank];
	else if (op->what.coll == CS_REDUCE_SCATTER_BLOCK)
		first = (size_t)op->rank * (size_t)op->count;
	int ranks = op->what.coll == CS_SCAN ? op->rank + 1 : op->what.coll == CS_EXSCAN
		    ? op->rank : op->ranks;
	const int *words = (const int *)(const void *)op->recv[buffer];
	for (size_t i = 0; i < op->recv_bytes / sizeof(int); i++) {
		int expected = sum_of(ranks, buffer, first + i);
		if (words[i] == expected)
			continue;
		snprintf(fault->text, sizeof fault->text, "element %zu of the vector is %d and "
							  "must be %d", first + i,
			 words[i], expected);
		return false;
	}
	return true;
}

static bool
check_blocks(const struct bench_operation *op, int buffer, int root, struct bench_fault *fault)
{
	for (int i = 0; i < op->ranks; i++) {
		struct block block = received_block(op, i, root);
		unsigned key = stream_key(block.source, block.destination, buffer);
		const unsigned char *data = op->recv[buffer] + block.offset;
		size_t at = wrong_in_stream(data, key, block.bytes);
		if (at == block.bytes)
			continue;
		snprintf(fault->text, sizeof fault->text,
			 "byte %zu of the %zu from rank %d is 0x%02x and must be 0x%02x%s", at,
			 block.bytes, block.source, data[at], run_at(key, at / 256)[at % 256],
			 data[at] == STALE_BYTE ? " (0xee: perhaps never written)" : "");
		return false;
	}
	return true;
}

static bool
check_guards(const struct bench_operation *op, int buffer, struct bench_fault *fault)
{
	const unsigned char *recv = op->recv[buffer];
	for (size_t i = 0; i < GUARD; i++) {
		if (recv[op->recv_bytes + i] == GUARD_BYTE && recv[-1 - (long)i] == GUARD_BYTE)
			continue;
		snprintf(fault->text, sizeof fault->text, "something was written outside the "
							  "receive buffer");
		return false;
	}
	return true;
}

static bool
check_send(const struct bench_operation *op, int buffer, struct bench_fault *fault)
{
	bool is_same = true;
	if (cs_colls[op->what.coll].reduces) {
		const int *words = (const int *)(const void *)op->send[buffer];
		for (size_t i = 0; i < op->send_bytes / sizeof(int) && is_same; i++)
			is_same = words[i] == summand(op->rank, buffer, i);
	} else {
		for (int i = 0; i < op->ranks && is_same; i++) {
			struct block block = sent_block(op, i);
			unsigned key = stream_key(block.source, block.destination, buffer);
			is_same = wrong_in_stream(op->send[buffer] + block.offset, key,
						  block.bytes) == block.bytes;
		}
	}
	if (!is_same)
		snprintf(fault->text, sizeof fault->text, "the send buffer has been changed");
	return is_same;
}

bool
bench_operation_check(const struct bench_operation *op, enum bench_side side, int n,
		      bool is_nonblocking, struct bench_fault *fault)
{
	MPI_Request request;
	int buffer = n % op->buffers, root = bench_operation_root(op, n);
	enum cs_coll coll = op->what.coll;
	memset(op->recv[buffer], STALE_BYTE, op->recv_bytes);
	bench_operation_start(op, side, n, is_nonblocking ? &request : NULL);
	if (is_nonblocking)
		bench_wait(side, &request);

	bool has_result = coll != CS_BARRIER;
	if (coll == CS_GATHER || coll == CS_GATHERV || coll == CS_REDUCE)
		has_result = op->rank == root;
	else if (coll == CS_BCAST)
		has_result = op->rank != root;
	else if (coll == CS_EXSCAN)
		has_result = op->rank != 0;
	if (has_result && cs_colls[coll].reduces && !check_sums(op, buffer, fault))
		return false;
	if (has_result && !cs_colls[coll].reduces && !check_blocks(op, buffer, root, fault))
		return false;
	return check_guards(op, buffer, fault) && check_send(op, buffer, fault);
}

double
bench_operation_least_bytes(const struct bench_operation *op)
{
	double ranks = op->ranks, size = (double)op->bytes;
	switch (op->what.coll) {
	case CS_ALLGATHER: /* every rank writes every block */
	case CS_ALLGATHERV:
	case CS_ALLTOALL:
	case CS_ALLTOALLV:
	case CS_ALLTOALLW:
		return ranks * ranks * size;
	case CS_ALLREDUCE: /* every rank's vector is read, or written, once */
	case CS_EXSCAN:
	case CS_SCAN:
	case CS_REDUCE:
	case CS_REDUCE_SCATTER:
	case CS_REDUCE_SCATTER_BLOCK:
	case CS_GATHER: /* every block is written once */
	case CS_GATHERV:
	case CS_SCATTER:
	case CS_SCATTERV:
		return ranks * size;
	case CS_BCAST:
		return (ranks - 1) * size;
	default:
		return 0;
	}
}
