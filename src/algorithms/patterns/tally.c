#include "algorithms/patterns/tally.h"

#include <stdlib.h>

void
cs_tally_init(struct cs_tally *tally, const struct cs_problem *problem)
{
	tally->problem = problem;
	tally->ranks = calloc((size_t)problem->ranks + 1, sizeof *tally->ranks);
	for (int rank = 0; tally->ranks && rank < problem->ranks; rank++)
		tally->ranks[rank + 1].before = tally->ranks[rank].before + cs_problem_size(problem, rank);
}

uint64_t
cs_tally_run(const struct cs_tally *tally, int first, int count)
{
	int p = tally->problem->ranks, end = first + count;
	if (!tally->ranks)
		return 0;
	if (end <= p)
		return tally->ranks[end].before - tally->ranks[first].before;
	return tally->ranks[p].before - tally->ranks[first].before + tally->ranks[end - p].before;
}

void
cs_tally_message(struct cs_tally *tally, int from, int to, uint64_t bytes)
{
	if (!tally->ranks || !bytes)
		return;
	struct cs_tally_rank *sender = &tally->ranks[from], *receiver = &tally->ranks[to];
	sender->sent += bytes;
	receiver->received += bytes;
	if (receiver->next < sender->chain + 1)
		receiver->next = sender->chain + 1;
}

void
cs_tally_round(struct cs_tally *tally)
{
	for (int rank = 0; tally->ranks && rank < tally->problem->ranks; rank++)
		if (tally->ranks[rank].chain < tally->ranks[rank].next)
			tally->ranks[rank].chain = tally->ranks[rank].next;
}

void
cs_tally_finish(struct cs_tally *tally, struct cs_price *price)
{
	price->rounds = price->bytes = tally->ranks ? 0 : UINT64_MAX;
	for (int rank = 0; tally->ranks && rank < tally->problem->ranks; rank++) {
		const struct cs_tally_rank *at = &tally->ranks[rank];
		uint64_t most = at->sent > at->received ? at->sent : at->received;
		price->rounds = at->next > price->rounds ? at->next : price->rounds;
		price->bytes = most > price->bytes ? most : price->bytes;
	}
	free(tally->ranks);
	tally->ranks = NULL;
}
