#include "wire.h"

#include "ib/ib.h"
#include "topo/topo.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_TAG 8     /* below are the bench's own */
#define TAGS (1 << 14)
#define FLUSH_GRACE 2000 /* ms, as comm/teams/rdma.c */

/* --- the MPI's messages ----------------------------------------------------------------------- */

static struct bench_wire *
of(struct cs_wire *wire)
{
	return (struct bench_wire *)(void *)((char *)wire - offsetof(struct bench_wire, mpi));
}

static MPI_Request *
begin(struct cs_request *request)
{
	request->told = 0;
	return (MPI_Request *)(void *)request->host;
}

static int
mpi_tag(uint64_t tag)
{
	return FIRST_TAG + (int)(tag % TAGS);
}

static void
mpi_send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from,
	 size_t bytes)
{
	PMPI_Isend(from, (int)bytes, MPI_BYTE, of(wire)->ranks[peer], mpi_tag(tag), MPI_COMM_WORLD,
		   begin(request));
}

static void
mpi_recv(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	 size_t bytes)
{
	PMPI_Irecv(to, (int)bytes, MPI_BYTE, of(wire)->ranks[peer], mpi_tag(tag), MPI_COMM_WORLD,
		   begin(request));
}

static void
mpi_wait(struct cs_wire *wire, struct cs_request *request)
{
	PMPI_Wait((MPI_Request *)(void *)request->host, MPI_STATUS_IGNORE);
}

static bool
mpi_test(struct cs_wire *wire, struct cs_request *request)
{
	int is_over;
	PMPI_Test((MPI_Request *)(void *)request->host, &is_over, MPI_STATUS_IGNORE);
	return is_over;
}

void
bench_wire_open(struct bench_wire *wire, const int ranks[2], int rank)
{
	*wire = (struct bench_wire){
		.mpi = { .rank = rank == ranks[1], .ranks = 2, .send = mpi_send, .recv = mpi_recv,
			 .wait = mpi_wait, .test = mpi_test },
		.ranks = { ranks[0], ranks[1] },
		.used = &wire->mpi,
	};
}

/* --- verbs ------------------------------------------------------------------------------------ */

static void
progress(void)
{
	int is_there;
	PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

__attribute__((noreturn)) static void
end_job(const char *why)
{
	PMPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

static const struct cs_host host = { .progress = progress, .abort = end_job };

/* False, at all ranks, if one of them is not well: rank 0 says why the first such one is not. */
static bool
agree(bool is_well, char why[256], int rank)
{
	int mine = is_well ? INT_MAX : rank, first;
	PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (first == INT_MAX)
		return true;
	PMPI_Bcast(why, 256, MPI_CHAR, first, MPI_COMM_WORLD);
	if (rank == 0)
		fprintf(stderr, "collshim-bench: --wire ib: rank %d has no verbs: %s\n", first,
			why);
	return false;
}

static bool
open_device(struct bench_wire *wire, int rank, int ranks, char why[256])
{
	const struct cs_ib_options options = {
		.device = getenv("COLLSHIM_IB_DEVICE"),
		.distance = cs_topo_distance,
		.slots = 16,
		.slot_bytes = 2048,
		.memory = (size_t)64 << 20,
		.cache = (size_t)256 << 20,
		.timeout = 18,
		.flush_grace = FLUSH_GRACE,
		.spin = 200,
		.world_rank = rank,
		.world_size = ranks,
		.host = &host,
	};
	if (cs_ib_open(&wire->ib, NULL, &options, why, 256) != CS_OK) {
		wire->ib = NULL;
		return false;
	}
	snprintf(wire->name, sizeof wire->name, "%s", cs_ib_name(wire->ib));
	return true;
}

static bool
open_wire(struct bench_wire *wire, char why[256])
{
	const bool is_same_node[2] = { wire->mpi.rank == 0, wire->mpi.rank == 1 };
	const struct cs_ib_group group = { .rank = wire->mpi.rank, .ranks = 2,
					   .world = wire->ranks, .is_same_node = is_same_node,
					   .host = &wire->mpi };
	struct cs_wire *verbs = cs_ib_wire_open(wire->ib, &group);
	snprintf(why, 256, "no memory");
	if (verbs)
		wire->used = verbs;
	return verbs;
}

/* Connects both by a first message each. */
static bool
connect_both(struct bench_wire *wire, char why[256])
{
	struct cs_wire *verbs = wire->used;
	struct cs_request requests[2];
	char in, out = 0;
	int peer = !wire->mpi.rank;
	cs_ib_trial_begin(wire->ib);
	verbs->recv(verbs, &requests[0], peer, 0, &in, sizeof in);
	verbs->send(verbs, &requests[1], peer, 0, &out, sizeof out);
	verbs->wait(verbs, &requests[0]);
	verbs->wait(verbs, &requests[1]);
	cs_ib_trial_end(wire->ib, why, 256);
	return cs_ib_wire_way(verbs, peer) == CS_IB_BY_VERBS;
}

bool
bench_wire_use_verbs(struct bench_wire *wire, int rank, int ranks)
{
	char why[256] = "";
	bool is_in = rank == wire->ranks[0] || rank == wire->ranks[1];
	return agree(!is_in || open_device(wire, rank, ranks, why), why, rank) &&
	       agree(!is_in || open_wire(wire, why), why, rank) &&
	       agree(!is_in || connect_both(wire, why), why, rank);
}

void
bench_wire_close(struct bench_wire *wire)
{
	if (wire->used != &wire->mpi)
		cs_ib_wire_close(wire->used);
	if (wire->ib)
		cs_ib_close(wire->ib);
	wire->ib = NULL;
	wire->used = &wire->mpi;
}
