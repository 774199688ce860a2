/* comm/calls/dry.c — dry calls of allreduce and reduce. */
#include "comm/calls/dry.h"

#include "base/clock.h"
#include "comm/calls/serve_common.h"
#include "comm/host/pmpi.h"
#include "run/trial.h"
#include "shm/arrived.h"

#include <string.h>

/* A call of the host's own. Returns false if the host refuses. */
static bool
call_host(MPI_Comm comm, const struct cs_call *call)
{
	MPI_Datatype type = (MPI_Datatype)call->reduction.type;
	MPI_Op op = (MPI_Op)call->reduction.op;
	int count = (int)call->count;
	if (call->coll == CS_ALLREDUCE)
		return cs_pmpi.Allreduce(call->send.base, call->recv.base, count, type, op,
					 comm) == MPI_SUCCESS;
	return cs_pmpi.Reduce(call->send.base, call->recv.base, count, type, op, call->root,
			      comm) == MPI_SUCCESS;
}

/* As the program's call, on memory of its own. */
static void
call_dry(struct cs_serving *serving, struct cs_cached_choice *way)
{
	struct cs_comm *communicator = serving->communicator;
	struct cs_selection *selection = &communicator->seat->selection;
	struct cs_op dry;
	dry.node.outcome = (struct cs_outcome){ 0 };
	dry.node.extras = 0;
	cs_op_join(&dry, selection->team, cs_serve_reduction_signature(&serving->op.call));
	dry.call = serving->op.call;
	struct cs_call *call = &dry.call;
	char *memory = cs_op_memory_of(&dry, &communicator->idle, CS_OP_INPUT, 2 * call->bytes);
	if (!memory)
		cs_op_no_memory(&dry, 2 * call->bytes);
	memset(memory, 0, 2 * call->bytes);
	call->send = (struct cs_blocks){ .base = memory };
	call->recv = (struct cs_blocks){ .base = memory + call->bytes };
	if (call->coll == CS_REDUCE && communicator->rank != call->root)
		call->recv.base = NULL;
	uint64_t start = cs_clock_ns();
	bool is_valid = true;
	cs_arrived_say(dry.node.node, dry.tag, start);
	if (way->choice.algorithm) {
		cs_selection_run_quietly(way, &dry);
		if (dry.node.extras & CS_OP_GOES_ON)
			cs_op_finish(&dry);
		is_valid = !(dry.node.outcome.bits & CS_OUTCOME_LEFT);
	} else {
		cs_op_pass(&dry);
		is_valid = call_host(communicator->comm, call);
	}
	cs_trials_note(selection, &dry, start, cs_clock_ns(), is_valid);
	cs_node_op_fini(&dry.node);
	cs_op_give_back(&dry, &communicator->idle);
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
	/* Only predefined types and operations: the same on all ranks. */
	bool may_be_dry = serving->op.call.reduction.kind & CS_KIND_OPERATION;
	if (way && may_be_dry)
		call_dry(serving, way);
	else
		cs_trials_note(selection, &serving->op, arrived_ns, left_ns, is_valid && !way);
}
