/* leaders.c — what ranks do between nodes by the host, on all ranks of the job. The collectives
 * between leaders (wire/host.h) in both forms: as they block, and begun and tested, several at once
 * and different ones. And messages by tags (comm/host/wire.c), received in another order than sent.
 * Every result is compared with what it has to be.
 *
 * 	leaders [SEED [TURNS]] */
#include "comm/engine.h"
#include "comm/host/flavour.h"
#include "comm/host/host.h"
#include "comm/host/pmpi.h"
#include "comm/teams/rdma.h"
#include "comm/teams/rma_window.h"
#include "comm/types/types.h"

#include "check.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What the room's other files have. */
struct cs_engine cs_engine;
MPI_Comm cs_self;

struct cs_rma_window *
cs_host_window(void *everyone)
{
	(void)everyone;
	return NULL;
}

struct cs_ib *
cs_rdma_here(void)
{
	return NULL;
}

void
cs_host_make_lanes(void *everyone, int lanes)
{
	(void)everyone, (void)lanes;
}

#define MOST_NODES 8
#define MOST_AT_ONCE 4

enum kind { BARRIER, BCAST, ALLGATHERV, GATHERV, SCATTERV, ALLTOALLV, ALLREDUCE, REDUCE, EXSCAN,
	    REDUCE_SCATTER, MAX, KINDS };

/* Reductions of int64: MPI_SUM, and two of the program's own of a derived type. */
enum operation { SUM, OWN_SUM, CHAIN, OPERATIONS };

/* One collective, of which all but the buffers is equal on all ranks. */
struct call {
	enum kind kind;
	enum operation operation;
	int root;
	size_t sizes[MOST_NODES][MOST_NODES]; /* bytes, or numbers, from one to another; row 0 is
					       * all that most have */
	size_t at[MOST_NODES], back_at[MOST_NODES], column[MOST_NODES];
	unsigned salt;
	unsigned char *in, *out;
	uint64_t value;
	struct cs_request request;
	bool is_over;
};

static struct cs_group group;
static uint64_t random_state;
static MPI_Datatype number_type;
static MPI_Op operations[OPERATIONS];
static int nodes, self;

static uint64_t
draw(uint64_t below)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % below;
}

static unsigned char
byte_of(const struct call *call, int from, int to, size_t i)
{
	return (unsigned char)(i * 7 + i / 253 + (size_t)from * 31 + (size_t)to * 101 + call->salt);
}

/* A rank's number in a vector. */
static int64_t
number_of(const struct call *call, int from, size_t i)
{
	uint64_t number = (i % 1000) * ((uint64_t)from + 1) + (uint64_t)from + call->salt;
	return (int64_t)(number + (number << 33));
}

/* Two maps x -> a x + b one after the other (a and b are a number's halves): associative, not
 * commutative. */
static int64_t
chained(int64_t first, int64_t then)
{
	uint32_t a1 = (uint32_t)first, b1 = (uint32_t)((uint64_t)first >> 32),
		 a2 = (uint32_t)then, b2 = (uint32_t)((uint64_t)then >> 32);
	return (int64_t)((uint64_t)(a2 * b1 + b2) << 32 | a1 * a2);
}

static void
own_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *count; i++)
		((int64_t *)inout)[i] += ((const int64_t *)in)[i];
}

static void
chain(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *count; i++)
		((int64_t *)inout)[i] = chained(((const int64_t *)in)[i], ((int64_t *)inout)[i]);
}

/* The reduction of element i of the first so many ranks. */
static int64_t
sum_of(const struct call *call, int below, size_t i)
{
	int64_t sum = number_of(call, 0, i);
	for (int node = 1; node < below; node++)
		sum = call->operation == CHAIN ? chained(sum, number_of(call, node, i))
					       : sum + number_of(call, node, i);
	return sum;
}

static size_t
sum_up(const size_t *sizes, size_t *at, size_t gap)
{
	size_t all = 0;
	for (int node = 0; node < nodes; node++) {
		at[node] = all;
		all += sizes[node] + gap;
	}
	return all;
}

static void
draw_call(struct call *call)
{
	/* Bytes at which MPICH (4.0) or Open MPI (4.1) take another algorithm. */
	static const size_t borders[] = { 256, 2048, 8192, 12288, 32768, 81920, 131072, 524288 };
	*call = (struct call){ .kind = (enum kind)draw(KINDS),
			       .operation = (enum operation)draw(OPERATIONS),
			       .root = (int)draw((uint64_t)nodes), .salt = (unsigned)draw(256) };
	bool is_even = draw(2), is_at_border = draw(6) == 0,
	     is_reduction = call->kind >= ALLREDUCE;
	size_t most = draw(4) ? 100 : 20000, same = draw(most), parts = (size_t)nodes;
	if (is_at_border) { /* of one part, or of all */
		same = borders[draw(sizeof borders / sizeof *borders)];
		same = same / (is_reduction ? sizeof(int64_t) : 1) / (draw(2) ? parts : 1);
		same = same - 1 + draw(3);
		most = 2 * same + 1;
	}
	for (int from = 0; from < nodes; from++)
		for (int to = 0; to < nodes; to++)
			call->sizes[from][to] = is_even ? same : draw(3) ? draw(most) : 0;
}

static void
fill(unsigned char *to, const struct call *call, int from, int to_node, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = byte_of(call, from, to_node, i);
}

static void
fill_numbers(unsigned char *to, const struct call *call, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t number = number_of(call, self, i);
		memcpy(to + i * sizeof number, &number, sizeof number);
	}
}

/* The elements of all nodes' parts of a reduce_scatter; of other reductions the first part is
 * all. */
static size_t
count_of(const struct call *call)
{
	size_t count = 0;
	for (int node = 0; node < (call->kind == REDUCE_SCATTER ? nodes : 1); node++)
		count += call->sizes[0][node];
	return count;
}

static unsigned
make(struct call *call, struct cs_request *request)
{
	static const struct cs_reduction none;
	struct cs_reduction sum = none;
	const struct cs_host *host = &cs_host_mpi;
	size_t *row = call->sizes[0], gap = call->salt % 3 ? 0 : 5, count = count_of(call);
	size_t bytes = sum_up(row, call->at, gap), number = sizeof(int64_t);
	sum.op = (uintptr_t)operations[call->operation];
	sum.type = (uintptr_t)(call->operation ? number_type : MPI_INT64_T);
	sum.unit = number;
	for (int node = 0; node < nodes; node++)
		call->column[node] = call->sizes[node][self];
	size_t sent = sum_up(call->sizes[self], call->at, gap),
	       received = sum_up(call->column, call->back_at, gap);
	if (call->kind != ALLTOALLV)
		sum_up(row, call->at, gap);
	size_t room = bytes + sent + received + (count + 1) * number;
	call->in = calloc(1, room);
	call->out = calloc(1, room);
	switch (call->kind) {
	case BARRIER: return host->barrier(&group, request);
	case BCAST:
		if (self == call->root)
			fill(call->out, call, self, 0, row[0]);
		return host->bcast(&group, call->out, row[0], call->root, request);
	case ALLGATHERV:
		fill(call->out + call->at[self], call, self, 0, row[self]);
		return host->allgatherv(&group, call->out, row, call->at, request);
	case GATHERV:
		fill(call->out + call->at[self], call, self, 0, row[self]);
		return host->gatherv(&group, call->out, row, call->at, call->root, request);
	case SCATTERV:
		for (int node = 0; self == call->root && node < nodes; node++)
			fill(call->out + call->at[node], call, self, node, row[node]);
		return host->scatterv(&group, call->out, row, call->at, call->root, request);
	case ALLTOALLV:
		for (int node = 0; node < nodes; node++)
			fill(call->in + call->at[node], call, self, node, call->sizes[self][node]);
		return host->alltoallv(&group, call->in, call->sizes[self], call->at, call->out,
				       call->column, call->back_at, request);
	case ALLREDUCE: fill_numbers(call->out, call, count);
		return host->allreduce(&group, call->out, count, &sum, request);
	case REDUCE:
		fill_numbers(call->in, call, count);
		return host->reduce(&group, call->in, call->out, count, &sum, call->root, request);
	case EXSCAN: fill_numbers(call->out, call, count);
		return host->exscan(&group, call->out, count, &sum, request);
	case REDUCE_SCATTER:
		fill_numbers(call->in, call, count);
		return host->reduce_scatter(&group, call->in, call->out, row, &sum, request);
	case MAX: call->value = (uint64_t)(self * 17 % nodes);
				return host->max(&group, &call->value, 1, request);
	case KINDS: break;
	}
	return 0;
}

static bool
are_bytes(const unsigned char *bytes, const struct call *call, int from, int to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != byte_of(call, from, to, i))
			return false;
	return true;
}

static bool
are_sums(const struct call *call, int below, size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t number;
		memcpy(&number, call->out + i * sizeof number, sizeof number);
		if (number != sum_of(call, below, first + i))
			return false;
	}
	return true;
}

static bool
is_right(const struct call *call)
{
	const size_t *row = call->sizes[0];
	size_t first = 0;
	bool is_right = true;
	switch (call->kind) {
	case BARRIER: break;
	case BCAST: return are_bytes(call->out, call, call->root, 0, row[0]);
	case ALLGATHERV:
	case GATHERV:
		for (int node = 0; (call->kind == ALLGATHERV || self == call->root) && node < nodes;
		     node++)
			is_right &= are_bytes(call->out + call->at[node], call, node, 0, row[node]);
		break;
	case SCATTERV: return are_bytes(call->out + call->at[self], call, call->root, self,
					row[self]);
	case ALLTOALLV:
		for (int node = 0; node < nodes; node++)
			is_right &= are_bytes(call->out + call->back_at[node], call, node, self,
					      call->column[node]);
		break;
	case ALLREDUCE: return are_sums(call, nodes, 0, row[0]);
	case REDUCE: return self != call->root || are_sums(call, nodes, 0, row[0]);
	case EXSCAN: return are_sums(call, self ? self : 1, 0, row[0]);
	case REDUCE_SCATTER:
		for (int node = 0; node < self; node++)
			first += row[node];
		return are_sums(call, nodes, first, row[self]);
	case MAX: return call->value == (uint64_t)nodes - 1;
	case KINDS: break;
	}
	return is_right;
}

static void
finish(struct call *call, unsigned told, const char *form)
{
	CHECK(!told, "collective %d, %s: told %u", call->kind, form, told);
	CHECK(is_right(call), "collective %d with root %d, operation %d, %zu and %zu from ranks 0 "
			      "and 1, %s: wrong result", call->kind, call->root, call->operation,
	      call->sizes[0][0], call->sizes[0][1], form);
	free(call->in);
	free(call->out);
}

/* Which is looked at next is this rank's own matter. */
static void
make_several(struct call *calls, int count, uint64_t *own)
{
	int left = count;
	for (int i = 0; i < count; i++) {
		CHECK(!make(&calls[i], &calls[i].request), "something was told of collective %d "
							   "when it began", calls[i].kind);
		calls[i].is_over = false;
	}
	while (left) {
		*own = *own * 6364136223846793005u + 1442695040888963407u;
		struct call *call = &calls[(*own >> 33) % (uint64_t)count];
		sched_yield(); /* there may be more ranks than cores */
		if (call->is_over || !cs_host_mpi.test(&call->request))
			continue;
		call->is_over = true;
		left--;
	}
	for (int i = 0; i < count; i++)
		finish(&calls[i], calls[i].request.told, "begun");
}

/* The root of a broadcast has more than the others expect, of whom one at least hears it. */
static void
disagree(struct cs_request *request)
{
	char bytes[200] = "";
	size_t count = self == 0 ? sizeof bytes : sizeof bytes / 2;
	unsigned told = cs_host_mpi.bcast(&group, bytes, count, 0, request);
	while (request && !cs_host_mpi.test(request))
		sched_yield();
	told = request ? request->told : told;
	CHECK(self || !told, "the root of a broadcast was told %u", told);
	CHECK(nodes > 2 || !self || told == CS_TOLD_MORE, "%s: the one that expects less was told "
							  "%u",
	      request ? "begun" : "blocking", told);
}

/* To the next rank and from the one before: of each tag two, which come in their order. */
static void
exchange(uint64_t first_tag)
{
	enum { TAGS = CS_TAGS };
	static char out[TAGS][2][8], in[TAGS][2][8];
	static struct cs_request sends[TAGS][2], receives[TAGS][2];
	struct cs_wire *wire = cs_host_wire(&group);
	int next = (self + 1) % nodes, before = (self + nodes - 1) % nodes;
	for (int i = 0; i < TAGS; i++)
		for (int k = 0; k < 2; k++) {
			snprintf(out[i][k], sizeof out[i][k], "%d %d", i, k);
			wire->send(wire, &sends[i][k], next, first_tag + (uint64_t)i, out[i][k],
				   sizeof out[i][k]);
		}
	for (int i = TAGS; i-- > 0;)
		for (int k = 0; k < 2; k++)
			wire->recv(wire, &receives[i][k], before, first_tag + (uint64_t)i, in[i][k],
				   sizeof in[i][k]);
	for (int i = 0; i < TAGS; i++)
		for (int k = 0; k < 2; k++) {
			wire->wait(wire, &receives[i][k]);
			wire->wait(wire, &sends[i][k]);
			CHECK(!strcmp(in[i][k], out[i][k]), "tag %d, message %d: \"%.8s\"", i, k,
			      in[i][k]);
			CHECK(!receives[i][k].told && !sends[i][k].told,
			      "tag %d, message %d: told %u", i, k, receives[i][k].told);
		}
}

static void *
lookup(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int turns = argc > 2 ? atoi(argv[2]) : 200;
	struct call calls[MOST_AT_ONCE];
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nodes);
	self = check_rank;
	cs_flavour_learn(NULL);
	if (nodes > MOST_NODES || !cs_pmpi_load(lookup))
		MPI_Abort(MPI_COMM_WORLD, 2);
	if (self == 0)
		printf("leaders: seed %s\n", argc > 1 ? argv[1] : "1");
	operations[SUM] = MPI_SUM;
	MPI_Op_create(own_sum, 1, &operations[OWN_SUM]);
	MPI_Op_create(chain, 0, &operations[CHAIN]);
	MPI_Type_contiguous(8, MPI_BYTE, &number_type);
	MPI_Type_commit(&number_type);
	uint64_t own = (uint64_t)self;
	group = (struct cs_group){ .comm = MPI_COMM_NULL, .parent = MPI_COMM_WORLD };
	CHECK(!cs_group_open(&group), "no communicator");
	for (int turn = 0; turn < turns; turn++) {
		int count = 1 + (int)draw(MOST_AT_ONCE);
		for (int i = 0; i < count; i++)
			draw_call(&calls[i]);
		if (turn % 2) {
			make_several(calls, count, &own);
			continue;
		}
		cs_host_waits = turn % 4 == 0;
		for (int i = 0; i < count; i++)
			finish(&calls[i], make(&calls[i], NULL), "blocking");
		cs_host_waits = false;
	}
	/* Among four and more that disagree Open MPI's own broadcast hangs, and one that was begun
	 * ends the job (4.1). */
	if (nodes < 4)
		disagree(NULL);
#ifndef OPEN_MPI
	disagree(&calls[0].request);
#endif
	exchange(0);
	exchange(16384 - CS_TAGS / 2);
	exchange((UINT64_C(1) << CS_TAG_BITS) - CS_TAGS / 2);
	cs_group_close(&group);
	MPI_Type_free(&number_type);
	MPI_Op_free(&operations[OWN_SUM]);
	MPI_Op_free(&operations[CHAIN]);
	return check_finish("leaders");
}
