/* wire/host.h — what the core borrows from the MPI. comm/ fills it; the core never sees
 * mpi.h.
 *
 * "Leaders" is a communicator with one rank per node, in node order, that belongs to one team; only
 * leaders call the functions that take it. Datatypes and operations travel as opaque words from the
 * entry point to here. No function returns on failure: the job ends through abort(). */
#ifndef CS_WIRE_HOST_H
#define CS_WIRE_HOST_H

#include "wire/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reduction as the host knows it. */
struct cs_reduction {
	uintptr_t op, type; /* the host's handles */
	size_t unit;        /* bytes from one element to the next in the buffers handed over */
	unsigned kind;      /* operation, kind of numbers and unit: the same on all ranks, as
			     * handles need not be */
	bool is_exact;      /* any order gives the same bits, as on integers */
	/* out[i] = a[i] op b[i]; NULL if only the host can do it. */
	void (*kernel)(void *out, const void *a, const void *b, size_t count);
};

struct cs_wire;
struct cs_rma_window;

struct cs_host {
	/* Lets the host progress its own traffic. Called from waits, any thread, never blocks. */
	void (*progress)(void);
	/* Ends the job (MPI_Abort); does not return. One clear line has been printed before. */
	void (*abort)(const char *why) __attribute__((noreturn));

	/* inout[i] = in[i] op inout[i], i < count (MPI_Reduce_local, MPI 4.0, 6.9.7). */
	void (*reduce_local)(const struct cs_reduction *reduction, const void *in, void *inout,
			     size_t count);

	/* Makes what the group's ranks talk by if it is not there yet; all of them call it
	 * together. NULL, or, on all of them, why there is none: another way is to be taken
	 * then. */
	const char *(*open)(void *group);

	/* The wire between a group's ranks (the leaders, or all of a team, for whom `open` has told
	 * NULL). Blocks at the group's first call, which all of its ranks make together. */
	struct cs_wire *(*wire)(void *group);

	/* The same by the host's own messages, also where `wire` gives another one: it has messages
	 * from any source (wire/wire.h). Does not block. */
	struct cs_wire *(*messages)(void *group);

	/* The window of all of a team's ranks (wire/rma_window.h), for whom `open` has told NULL;
	 * NULL, on all alike: there is none. Blocks at the first call, which all make together, in
	 * the same operation. A host without any has no such function. */
	struct cs_rma_window *(*window)(void *everyone);

	/* Makes more lanes of the team of that group, so many in all, or leaves it as it is, on all
	 * ranks alike, and then for good (algorithms/team.h). All make the call together, in the
	 * same operation. Blocks. A host without any has no such function. */
	void (*make_lanes)(void *everyone, int lanes);

	/* Collectives between leaders, each in two forms, which do not match each other: all
	 * leaders take the same one. With `request` NULL it blocks, and returns bits of enum
	 * cs_told. Else it is only begun, and returns 0: the buffer and the request are in use
	 * until `test` says true, the arrays and *reduction only in the call itself. `nodes` values
	 * in each array; sizes and offsets in bytes. */
	unsigned (*barrier)(void *leaders, struct cs_request *request);
	unsigned (*bcast)(void *leaders, void *buffer, size_t bytes, int root,
			  struct cs_request *request);
	/* In place: own part already at buffer + at[node]. */
	unsigned (*allgatherv)(void *leaders, void *buffer, const size_t *bytes, const size_t *at,
			       struct cs_request *request);
	/* At the root in place as in allgatherv; others send `bytes[own node]` from buffer + at[own
	 * node]. */
	unsigned (*gatherv)(void *leaders, void *buffer, const size_t *bytes, const size_t *at,
			    int root, struct cs_request *request);
	/* The reverse: the root's own part stays where it is; others receive to buffer + at[own
	 * node]. */
	unsigned (*scatterv)(void *leaders, void *buffer, const size_t *bytes, const size_t *at,
			     int root, struct cs_request *request);
	unsigned (*alltoallv)(void *leaders, const void *send, const size_t *send_bytes,
			      const size_t *send_at, void *recv, const size_t *recv_bytes,
			      const size_t *recv_at, struct cs_request *request);
	/* In place; elements are reduction->unit apart. */
	unsigned (*allreduce)(void *leaders, void *buffer, size_t count,
			      const struct cs_reduction *reduction, struct cs_request *request);
	/* `out` at the root only, apart from `in`. (Not in place: MPICH 4.0.2 crashes in MPI_Reduce
	 * with MPI_IN_PLACE at a root that is not the first of its processes on a machine, as with
	 * fake nodes.) */
	unsigned (*reduce)(void *leaders, const void *in, void *out, size_t count,
			   const struct cs_reduction *reduction, int root,
			   struct cs_request *request);
	/* In place; the first node's stays as it is. */
	unsigned (*exscan)(void *leaders, void *buffer, size_t count,
			   const struct cs_reduction *reduction, struct cs_request *request);
	/* counts[n] elements for node n, in node order, in `in`; own result to `out`. Not in place:
	 * MPICH 4.0 is wrong there with unequal counts of 512 KiB together (docs/hosts.md). */
	unsigned (*reduce_scatter)(void *leaders, const void *in, void *out, const size_t *counts,
				   const struct cs_reduction *reduction,
				   struct cs_request *request);
	/* Each of `count` values becomes the largest of all leaders'. */
	unsigned (*max)(void *leaders, uint64_t *values, size_t count, struct cs_request *request);
	/* Is a collective over that was begun? Then request->told says what it told. Progresses;
	 * does not block. Not asked again once it was true. */
	bool (*test)(struct cs_request *request);
};

#endif
