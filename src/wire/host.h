/* wire/host.h — what the core borrows from the MPI underneath. comm/ fills it; the core never sees mpi.h.
 *
 * "Leaders" is a communicator with one rank per node, in node order, that belongs to one team; only leaders call the
 * functions that take it. Datatypes and operations travel as opaque words from the entry point to here. Every
 * function that moves data blocks until done and does not return on failure: the job ends through abort(). */
#ifndef CS_WIRE_HOST_H
#define CS_WIRE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reduction as the host knows it. */
struct cs_reduction {
	uintptr_t op, type; /* the host's handles */
	size_t unit;        /* bytes from one element to the next in the buffers handed over */
	unsigned kind;      /* operation, kind of numbers and unit: the same on all ranks, as handles need not be */
	/* out[i] = a[i] op b[i]; NULL if only the host can do it. */
	void (*kernel)(void *out, const void *a, const void *b, size_t count);
};

struct cs_wire;

struct cs_host {
	/* Lets the host progress its own traffic. Called from waits, any thread, never blocks. */
	void (*progress)(void);
	/* Ends the job (MPI_Abort); does not return. One clear line has been printed before. */
	void (*abort)(const char *why) __attribute__((noreturn));

	/* inout[i] = in[i] op inout[i], i < count (MPI_Reduce_local, MPI 4.0, 6.9.7). */
	void (*reduce_local)(const struct cs_reduction *reduction, const void *in, void *inout, size_t count);

	/* Makes what the group's ranks talk by if it is not there yet; all of them call it together. NULL, or, on all of them,
	 * why there is none: another way is to be taken then. */
	const char *(*open)(void *group);

	/* The wire between a group's ranks (the leaders, or all of a team, for whom `open` has told NULL), with room for that
	 * many requests. Blocks at the group's first call, which all of its ranks make together. */
	struct cs_wire *(*wire)(void *group, int requests);

	/* Has a collective between leaders told in this call that more came than there was room for? The program's ranks then
	 * disagree about a size, which is the program's error (MPI 4.0, 6.4), and this process reports it. */
	bool (*is_truncated)(void *leaders);
	/* Or that less came than was expected, of which some say nothing. */
	bool (*is_short)(void *leaders);

	/* Between leaders; `nodes` values in each array; sizes and offsets in bytes. */
	void (*barrier)(void *leaders);
	void (*bcast)(void *leaders, void *buffer, size_t bytes, int root);
	/* In place: own part already at buffer + at[node]. */
	void (*allgatherv)(void *leaders, void *buffer, const size_t *bytes, const size_t *at);
	/* At the root in place as in allgatherv; others send `bytes[own node]` from buffer. */
	void (*gatherv)(void *leaders, void *buffer, const size_t *bytes, const size_t *at, int root);
	/* The reverse: the root's own part stays where it is; others receive to buffer. */
	void (*scatterv)(void *leaders, void *buffer, const size_t *bytes, const size_t *at, int root);
	void (*alltoallv)(void *leaders, const void *send, const size_t *send_bytes, const size_t *send_at,
			  void *recv, const size_t *recv_bytes, const size_t *recv_at);
	/* In place; elements are reduction->unit apart. */
	void (*allreduce)(void *leaders, void *buffer, size_t count, const struct cs_reduction *reduction);
	/* `out` at the root only, apart from `in`. (Not in place: MPICH 4.0.2 crashes in MPI_Reduce with MPI_IN_PLACE at a
	 * root that is not the first of its processes on a machine, as with fake nodes.) */
	void (*reduce)(void *leaders, const void *in, void *out, size_t count, const struct cs_reduction *reduction,
		       int root);
	/* In place; the first node's stays as it is. */
	void (*exscan)(void *leaders, void *buffer, size_t count, const struct cs_reduction *reduction);
	/* counts[n] elements for node n, in node order; own result to the start of buffer. */
	void (*reduce_scatter)(void *leaders, void *buffer, const size_t *counts,
			       const struct cs_reduction *reduction);
	/* The largest of all leaders' values. */
	uint64_t (*max)(void *leaders, uint64_t value);
};

#endif
