/* patterns/tally.h — the price of an algorithm whose ranks all act in rounds, counted message by message.
 *
 * For algorithms of few rounds over blocks of several sizes: a message of no bytes is none, and then what it would have
 * made wait does not. Takes memory by rank while it counts. */
#ifndef CS_ALGORITHMS_PATTERNS_TALLY_H
#define CS_ALGORITHMS_PATTERNS_TALLY_H

#include "algorithms/algorithm.h"
#include "coll/problem.h"

struct cs_tally {
	const struct cs_problem *problem;
	struct cs_tally_rank {
		uint64_t chain, next;    /* messages on the longest way here before this round, and with it */
		uint64_t sent, received; /* bytes */
		uint64_t before;         /* bytes of the blocks of lower ranks */
	} *ranks; /* and one more, whose `before` is the total; NULL: no memory */
};

void cs_tally_init(struct cs_tally *tally, const struct cs_problem *problem);
/* The rest does nothing if there was no memory. */
uint64_t cs_tally_run(const struct cs_tally *tally, int first, int count); /* bytes; indices modulo ranks */
void cs_tally_message(struct cs_tally *tally, int from, int to, uint64_t bytes);
/* Every rank has waited for what it received in this round. */
void cs_tally_round(struct cs_tally *tally);
/* Frees. No memory: the highest price there is. */
void cs_tally_finish(struct cs_tally *tally, struct cs_price *price);

#endif
