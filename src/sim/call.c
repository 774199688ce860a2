/* sim/call.c — lays out the blocks of a simulated call, and shows them as one rank sees them. */
#include "sim/call.h"

#include <stdlib.h>

const char *const cs_distribution_names[CS_DISTRIBUTIONS] = {
	[CS_REGULAR] = "regular", [CS_BROADCAST] = "broadcast",   [CS_SPIKE] = "spike",
	[CS_HALF] = "half",       [CS_DECREASING] = "decreasing", [CS_GEOMETRIC] = "geometric",
};

static bool
has_pairs(enum cs_coll coll)
{
	return cs_colls[coll].sizes == CS_SIZES_BY_PAIR;
}

bool
cs_sim_call_has_sizes(enum cs_coll coll)
{
	return cs_colls[coll].sizes != CS_SIZES_EQUAL;
}

size_t
cs_distribution_size(enum cs_distribution distribution, size_t c, size_t p, size_t i)
{
	size_t log_p = 0, row = 1;
	while ((size_t)1 << log_p < p)
		log_p++;
	while (2 * row <= i + 1) /* 1, 2, 4, ... ranks with the same size */
		row *= 2;
	if (p < 2)
		return c;
	switch (distribution) {
	case CS_BROADCAST: return i ? 0 : c;
	case CS_SPIKE: return i ? c / 2 / (p - 1) : c / 2;
	case CS_HALF: return i % 2 ? 0 : 2 * c;
	case CS_DECREASING: return (size_t)(2.0 * (double)c * (double)(p - 1 - i) /
					    (double)(p - 1));
	case CS_GEOMETRIC: return (size_t)((double)c * (double)p / (double)row / (double)log_p);
	case CS_REGULAR:
	case CS_DISTRIBUTIONS: break;
	}
	return c;
}

static void
place(const size_t *sizes, size_t *at, int ranks)
{
	size_t next = 0;
	for (int rank = 0; rank < ranks; next += sizes[rank++])
		at[rank] = next;
}

static bool
take_memory(struct cs_sim_call *call)
{
	size_t ranks = (size_t)call->ranks;
	call->node_of = calloc(ranks, sizeof *call->node_of);
	call->dealt = calloc(ranks, sizeof *call->dealt);
	call->at = calloc(ranks, sizeof *call->at);
	bool is_good = call->node_of && call->dealt && call->at;
	for (int i = 0; is_good && has_pairs(call->coll) && i < 4; i++)
		is_good = (call->pairs[i] = calloc(ranks, sizeof *call->pairs[i])) != NULL;
	return is_good;
}

static void
deal(struct cs_sim_call *call, size_t unit)
{
	const struct cs_coll_info *info = &cs_colls[call->coll];
	size_t ranks = (size_t)call->ranks;
	size_t c = cs_coll_is_scattered(info) ? call->bytes / ranks : call->bytes;
	bool has_blocks = cs_coll_has_blocks(info);
	call->problem.bytes = c;
	call->total = has_blocks ? 0 : call->bytes;
	for (size_t rank = 0; rank < ranks; rank++) {
		call->dealt[rank] = cs_distribution_size(call->distribution, c, ranks, rank) /
				    unit * unit;
		call->total += has_blocks ? call->dealt[rank] : 0;
	}
	place(call->dealt, call->at, call->ranks);
}

enum cs_status
cs_sim_call_init(struct cs_sim_call *call)
{
	bool reduces = cs_colls[call->coll].reduces;
	call->ranks = call->nodes * call->ppn;
	if (!take_memory(call))
		return CS_NO_MEMORY;
	for (int rank = 0; rank < call->ranks; rank++)
		call->node_of[rank] = call->is_cyclic ? rank % call->nodes : rank / call->ppn;
	struct cs_problem *problem = &call->problem;
	*problem = (struct cs_problem){ .coll = call->coll, .ranks = call->ranks,
					.root = call->root, .unit = reduces ? CS_CALL_UNIT : 1,
					.node_of = call->node_of, .is_commutative = !reduces ||
					call->is_commutative };
	deal(call, problem->unit);
	if (has_pairs(call->coll)) {
		problem->sizes = call->pairs[0];
		problem->at = call->pairs[1];
		problem->recv_sizes = call->pairs[2];
		problem->recv_at = call->pairs[3];
		/* Each rank sends them all, the first to itself: the largest of the others. */
		problem->bytes = 0;
		for (int i = 1; i < call->ranks; i++)
			problem->bytes = call->dealt[i] > problem->bytes
					 ? call->dealt[i] : problem->bytes;
	} else if (cs_sim_call_has_sizes(call->coll)) {
		problem->sizes = call->dealt;
		problem->at = reduces ? NULL : call->at;
	}
	return CS_OK;
}

void
cs_sim_call_fini(struct cs_sim_call *call)
{
	free(call->node_of);
	free(call->dealt);
	free(call->at);
	for (int i = 0; i < 4; i++)
		free(call->pairs[i]);
	call->node_of = NULL;
	call->dealt = call->at = NULL;
	call->pairs[0] = call->pairs[1] = call->pairs[2] = call->pairs[3] = NULL;
}

const struct cs_problem *
cs_sim_call_seen_by(struct cs_sim_call *call, int rank)
{
	call->problem.rank = rank;
	if (!has_pairs(call->coll))
		return &call->problem;
	for (int other = 0; other < call->ranks; other++) {
		call->pairs[0][other] = cs_sim_call_pair(call, rank, other);
		call->pairs[2][other] = cs_sim_call_pair(call, other, rank);
	}
	place(call->pairs[0], call->pairs[1], call->ranks);
	place(call->pairs[2], call->pairs[3], call->ranks);
	return &call->problem;
}
