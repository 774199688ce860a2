/* operation_fault.c does wrong what a case is to see. */
#include "operation_run.h"

#include "algorithms/node/rounds.h"
#include "shm/arrive.h"

static void
shift_areas(struct cs_node *node)
{
	node->areas[CS_AREA_SMALL_SLOTS].slots.next++;
	node->areas[CS_AREA_LARGE_SLOTS].slots.next++;
}

/* The lines of ranks that have not begun the call say that they are of it: who looks takes what was
 * there 64 calls ago. */
static void
renew_lines(struct run *run, int rank, int call)
{
	struct cs_team *team = &run->world.teams[rank];
	const struct cs_node_op *op = &run->parts[rank][call].op.node;
	uint64_t number = team->node.calls + 1;
	for (int local = 0; local < team->node.shape.size; local++) {
		struct cs_line *line = &cs_node_rank(&team->node, local)->lines[number % CS_LINES];
		if (local == team->node.shape.local ||
		    run->begun[cs_team_local_rank(team, local)] > call)
			continue;
		line->said =
			op->signature | (line->said & ((UINT64_C(1) << CS_SIGNATURE_SHIFT) - 1));
		atomic_store(&line->seq, number << CS_STEP_BITS | 1);
	}
}

void
fault_before(struct run *run, int rank, int call)
{
	struct cs_team *team = &run->world.teams[rank];
	if (run->setting.fault == WINDOW_OUT_OF_ORDER && rank == 1 && call % 2)
		shift_areas(&team->node);
	/* Who comes is the first of its node, whoever was there before. */
	if (run->setting.fault == TICKET_LOST)
		memset(team->node.arrivals, 0, cs_arrive_bytes(team->node.shape.size));
}

void
fault_at_begin(struct run *run, int rank, int call)
{
	if (run->setting.fault == TAG_REUSED)
		run->parts[rank][call].op.tag = 0;
	if (run->setting.fault == OLD_LINE && rank == 1)
		renew_lines(run, rank, call);
}

/* Of an exchange one rank is taken for served that is not. */
static void
lose_pending(struct part *part)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, &part->op);
	bool is_exchange = part->op.node.extras & CS_OP_GOES_ON &&
			   *part->op.phase == cs_rounds_get;
	if (is_exchange && exchange->is_open)
		exchange->pending[0] &= exchange->pending[0] - 1;
}

/* No slot of the ring is taken for one that others still read. */
static void
free_slots(struct cs_node *node, struct cs_node_op *op)
{
	memset(node->ring.until, 0, sizeof node->ring.until);
	memset(node->ring.step, 0, sizeof node->ring.step);
	op->ring.after = node->shared_after = 0;
}

/* A sender that does not wait for what others have received. */
static bool
hear_nothing(const struct cs_senders *senders, int sender, uint64_t times, unsigned *errors,
	     bool may_wait)
{
	(void)senders, (void)sender, (void)times, (void)errors, (void)may_wait;
	return true;
}

void
fault_after(struct run *run, int rank, struct part *part)
{
	struct cs_node *node = &run->world.teams[rank].node;
	uint64_t number = part->op.node.number;
	if (run->setting.fault == DONE_TOO_EARLY && rank == 1)
		atomic_store(&node->self->done, (number + 1) << CS_STEP_BITS);
	for (int kind = 0; run->setting.fault == AREA_DONE_TOO_EARLY && kind < 2; kind++)
		atomic_store(&node->self->area_done[kind], (number + 1) << CS_STEP_BITS);
	if (run->setting.fault == PENDING_LOST && rank == 1)
		lose_pending(part);
	if (run->setting.fault == SENDER_DEAF && part->op.node.extras & CS_OP_SENDERS)
		part->op.senders.has_told = hear_nothing;
	if (run->setting.fault == SLOT_TOO_EARLY)
		free_slots(node, &part->op.node);
}
