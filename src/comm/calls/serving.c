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
count_host(struct cs_serving *serving, enum cs_coll coll, size_t bytes, uint64_t nanoseconds)
{
	const struct cs_comm *communicator = serving->communicator;
	struct cs_selection *selection = &communicator->seat->selection;
	if (selection->team && serving->cached)
		return cs_selection_count(selection, serving->cached, coll, bytes, nanoseconds);
	const char *why = selection->team ? serving->unasked : communicator->reason;
	struct cs_report_row *row = cs_report_row((int)coll, bytes, true, "host",
						  why ? why : "team not made yet");
	cs_report_count(row, bytes, nanoseconds);
	return row;
}

/* Keeps some calls for the report's waiting times: by their number among those of the communicator
 * that the host did, which is the same on all ranks. */
static void
keep(struct cs_serving *serving, enum cs_coll coll, int root)
{
	enum { LEFT_TO_HOST = 1 }; /* tells numbers from those of served calls */
	struct cs_op *op = &serving->op;
	uint64_t number = serving->communicator->left_calls++;
	if (!cs_samples_want(number))
		return;
	op->call.coll = coll;
	op->call.root = root;
	cs_recording_keep(serving->communicator, (uint64_t)LEFT_TO_HOST << 63 | number, op, true);
}

uint64_t
cs_serving_arrived(const struct cs_serving *serving)
{
	return serving->op.node.extras & CS_OP_TIMED ? serving->op.arrived_ns : cs_clock_ns();
}

/* Records only calls that succeeded: a call that the host refuses may be this rank's alone, and
 * must get no number. */
void
cs_serving_end_host(struct cs_serving *serving, enum cs_coll coll, int root, size_t bytes,
		    uint64_t arrived_ns, int result, const void *caller)
{
	struct cs_selection *selection = &serving->communicator->seat->selection;
	uint64_t left_ns = cs_clock_ns();
	if (selection->is_timed & CS_TIMED_ON_TRIAL) {
		serving->op.call.coll = coll;
		serving->op.call.root = root;
		cs_serve_tried(serving, arrived_ns, left_ns, result == MPI_SUCCESS);
	}
	if (selection->is_reporting) {
		serving->op.row = count_host(serving, coll, bytes, left_ns - arrived_ns);
		serving->op.arrived_ns = arrived_ns;
		serving->op.left_ns = left_ns;
		if (serving->op.row)
			cs_report_site(cs_report_caller(caller), serving->op.row, arrived_ns,
				       left_ns, CS_REPORT_NOT_KNOWN);
		if (result == MPI_SUCCESS && cs_recording_keeps())
			keep(serving, coll, root);
	}
	if (selection->is_recording && result == MPI_SUCCESS)
		cs_recording_add(serving->communicator, coll, root, bytes, true, arrived_ns,
				 left_ns);
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
