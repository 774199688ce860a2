/* comm/calls/dry.c — dry calls of reductions. */
#include "comm/calls/dry.h"

#include "base/clock.h"
#include "comm/calls/serve_common.h"
#include "comm/host/pmpi.h"
#include "run/trial.h"
#include "shm/arrived.h"

#include <string.h>

/* Does the host have the function, and does the call succeed? */
#define CALL(name, ...) (cs_pmpi.name && cs_pmpi.name(__VA_ARGS__) == MPI_SUCCESS)

/* A call of the host's own. `counts`: memory for an int of each rank. Returns false if the host
 * refuses. */
static bool
call_host(const struct cs_comm *communicator, const struct cs_call *call, int *counts)
{
	MPI_Comm comm = communicator->comm;
	MPI_Datatype type = (MPI_Datatype)call->reduction.type;
	MPI_Op op = (MPI_Op)call->reduction.op;
	const void *in = call->send.base;
	void *out = call->recv.base;
	int count = (int)call->count, size = communicator->size;
	switch (call->coll) {
	case CS_REDUCE: return CALL(Reduce, in, out, count, type, op, call->root, comm);
	case CS_SCAN: return CALL(Scan, in, out, count, type, op, comm);
	case CS_EXSCAN: return CALL(Exscan, in, out, count, type, op, comm);
	case CS_REDUCE_SCATTER_BLOCK:
		return CALL(Reduce_scatter_block, in, out, count / size, type, op, comm);
	case CS_REDUCE_SCATTER:
		for (int rank = 0; rank < size; rank++)
			counts[rank] = (int)call->counts[rank];
		return CALL(Reduce_scatter, in, out, counts, type, op, comm);
	default: return CALL(Allreduce, in, out, count, type, op, comm);
	}
}

/* As the program's call, on memory of its own. */
static void
call_dry(struct cs_serving *serving, struct cs_cached_choice *way)
{
	struct cs_comm *communicator = serving->communicator;
	struct cs_selection *selection = &communicator->seat->selection;
	struct cs_serving one; /* so that a long wait is told as a call's (comm/calls/stall.c) */
	struct cs_op *dry = &one.op;
	cs_serving_init(&one, communicator);
	dry->node.outcome = (struct cs_outcome){ 0 };
	cs_op_join(dry, selection->team, cs_serve_reduction_signature(&serving->op.call));
	dry->call = serving->op.call;
	struct cs_call *call = &dry->call;
	size_t ints = (size_t)communicator->size * sizeof(int) / CS_APART * CS_APART + CS_APART,
	       bytes = ints + 2 * call->bytes;
	char *memory = cs_op_memory_of(dry, &communicator->idle, CS_OP_INPUT, bytes);
	if (!memory)
		cs_op_no_memory(dry, bytes);
	memset(memory, 0, bytes);
	call->send = (struct cs_blocks){ .base = memory + ints };
	call->recv = (struct cs_blocks){ .base = memory + ints + call->bytes };
	/* As the program's call, which the host may have done, has left them. */
	if (call->coll == CS_REDUCE_SCATTER)
		call->counts = communicator->sizes;
	uint64_t start = cs_clock_ns();
	bool is_valid = true;
	cs_arrived_say(dry->node.node, dry->tag, start);
	if (way->choice.algorithm) {
		if (!cs_flow_reaches(cs_colls[call->coll].out, communicator->rank, call->root))
			call->recv.base = NULL;
		cs_selection_run_quietly(way, dry);
		if (dry->node.extras & CS_OP_GOES_ON)
			cs_op_finish(dry);
		is_valid = !(dry->node.outcome.bits & CS_OUTCOME_LEFT);
	} else {
		cs_op_pass(dry);
		is_valid = call_host(communicator, call, (int *)(void *)memory);
	}
	cs_trials_note(selection, dry, start, cs_clock_ns(), is_valid);
	cs_node_op_fini(&dry->node);
	cs_op_give_back(dry, &communicator->idle);
}

void
cs_serve_tried(struct cs_serving *serving, uint64_t arrived_ns, uint64_t left_ns, bool is_valid)
{
	struct cs_selection *selection = &serving->communicator->seat->selection;
	if (!(selection->is_timed & CS_TIMED_ON_TRIAL))
		return;
	selection->is_timed &= (unsigned char)~CS_TIMED_ON_TRIAL;
	if (!(serving->op.node.extras & CS_OP_ON_TRIAL))
		return; /* a former call's, which never ended */
	struct cs_cached_choice *way = cs_trials_dry(selection);
	/* Only predefined types and operations, the same on all ranks, and no call after which
	 * some rank may not come. */
	bool may_be_dry = serving->op.call.reduction.kind & CS_KIND_OPERATION &&
			  !(serving->op.node.outcome.bits & CS_OUTCOME_STOPPED);
	if (way && may_be_dry) {
		cs_icalls_occupy(serving);
		call_dry(serving, way);
		cs_serving_fini(serving);
	} else {
		cs_trials_note(selection, &serving->op, arrived_ns, left_ns, is_valid && !way);
	}
}
