/* operation_fault.c does wrong what a case is to see. */
#include "operation_run.h"

/* In a copy of what other ranks see, or of what this one keeps, as a wrong order of steps would leave it. */
void
fault_before(struct run *run, int rank, int call)
{
	struct cs_node *node = &run->world.teams[rank].node;
	if (run->setting.fault == WINDOW_OUT_OF_ORDER && rank == 1 && call % 2) {
		node->areas[CS_AREA_SMALL_SLOTS].slots.next++;
		node->areas[CS_AREA_LARGE_SLOTS].slots.next++;
	}
}

void
fault_at_begin(struct run *run, int rank, int call)
{
	if (run->setting.fault == TAG_REUSED)
		run->parts[rank][call].op.tag = 0;
}

void
fault_after(struct run *run, int rank, struct part *part)
{
	struct cs_rank_head *self = run->world.teams[rank].node.self;
	uint64_t number = part->op.node.number;
	if (run->setting.fault == DONE_TOO_EARLY && rank == 1)
		atomic_store(&self->done, (number + 1) << CS_STEP_BITS);
	for (int kind = 0; run->setting.fault == AREA_DONE_TOO_EARLY && kind < 2; kind++)
		atomic_store(&self->area_done[kind], (number + 1) << CS_STEP_BITS);
}
