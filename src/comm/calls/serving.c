/* comm/calls/serving.c — the state of one collective call: types, times, and counts of calls of
 * the host. */
#include "comm/calls/serving.h"

#include "base/clock.h"
#include "comm/calls/dry.h"
#include "comm/calls/icall.h"
#include "comm/teams/recording.h"
#include "run/trial.h"
#include "trace/samples.h"

const struct cs_type *
cs_serving_type_slow(struct cs_serving *serving, MPI_Datatype handle, int which)
{
	const struct cs_type *known = cs_comm_known_type(serving->communicator, handle);
	return known ? known : cs_type_look_slow(handle, &serving->types[which]);
}

/* The row that counts it, NULL without memory. */
static struct cs_report_row *
host_row(const struct cs_serving *serving, enum cs_coll coll, size_t bytes)
{
	const struct cs_comm *communicator = serving->communicator;
	const struct cs_selection *selection = &communicator->seat->selection;
	if (selection->team && serving->cached)
		return cs_selection_cached_row(selection, serving->cached, coll, bytes);
	const char *why = selection->team ? serving->unasked : communicator->reason;
	return cs_report_host_row((int)coll, bytes, why ? why : "team not made yet");
}

/* Is the next call on that communicator one whose times are kept? */
static bool
is_kept(const struct cs_comm *communicator)
{
	return cs_recording_has_room() && cs_samples_want(communicator->left_calls);
}

/* Keeps some calls for the report's waiting times: by their number among those of the communicator
 * that the host did, which is the same on all ranks. */
static void
keep(struct cs_serving *serving, enum cs_coll coll, int root)
{
	enum { LEFT_TO_HOST = 1 }; /* tells numbers from those of served calls */
	struct cs_op *op = &serving->op;
	uint64_t number = serving->communicator->left_calls;
	op->call.coll = coll;
	op->call.root = root;
	cs_recording_keep(serving->communicator, (uint64_t)LEFT_TO_HOST << 63 | number, op, true);
}

uint64_t
cs_serving_arrived(struct cs_serving *serving, enum cs_coll coll, size_t bytes)
{
	const struct cs_selection *selection = &serving->communicator->seat->selection;
	bool is_timed = serving->op.node.extras & CS_OP_TIMED;
	if (serving->op.node.outcome.bits & CS_OUTCOME_ERROR)
		return 0; /* counted at its end */
	serving->bytes = bytes;
	serving->op.row = selection->is_reporting ? host_row(serving, coll, bytes) : NULL;
	uint64_t now = cs_report_call(serving->op.row, bytes, is_timed || selection->is_recording ||
				      is_kept(serving->communicator));
	return is_timed ? serving->op.arrived_ns : now;
}

/* Records only calls that succeeded: a call that the host refuses may be this rank's alone, and
 * must get no number. */
void
cs_serving_end_host(struct cs_serving *serving, enum cs_coll coll, int root, uint64_t arrived_ns,
		    int result, const void *caller)
{
	struct cs_selection *selection = &serving->communicator->seat->selection;
	bool is_numbered = selection->is_reporting && result == MPI_SUCCESS;
	if (!arrived_ns) {
		serving->communicator->left_calls += is_numbered;
		return;
	}
	uint64_t left_ns = cs_clock_ns();
	if (selection->is_timed & CS_TIMED_ON_TRIAL) {
		serving->op.call.coll = coll;
		serving->op.call.root = root;
		cs_serve_tried(serving, arrived_ns, left_ns, result == MPI_SUCCESS);
	}
	if (selection->is_reporting) {
		serving->op.arrived_ns = arrived_ns;
		serving->op.left_ns = left_ns;
		cs_report_called(serving->op.row, cs_report_caller(caller), arrived_ns, left_ns);
		if (result == MPI_SUCCESS && is_kept(serving->communicator))
			keep(serving, coll, root);
		serving->communicator->left_calls += is_numbered;
	}
	if (selection->is_recording && result == MPI_SUCCESS)
		cs_recording_add(serving->communicator, coll, root, serving->bytes, true,
				 arrived_ns, left_ns);
}

void
cs_serving_fini_slow(struct cs_serving *serving)
{
	if (serving->op.node.extras & CS_OP_MEMORY)
		cs_op_give_back(&serving->op, &serving->communicator->idle);
	if (serving->op.node.extras & CS_OP_BUSY)
		cs_icalls_release(serving);
	/* A communicator without a team keeps no memory. */
	if (!serving->communicator->seat->selection.team)
		cs_op_memory_free(&serving->communicator->idle);
}
