/* patterns/ledger.h — a price by writing down the messages of all ranks, for algorithms whose messages are of sizes
 * that no formula has.
 *
 * Messages are written down round by round: those of one round all begin before any of them is waited for. Ranks that
 * have no message with each other may be in different rounds. */
#ifndef CS_ALGORITHMS_PATTERNS_LEDGER_H
#define CS_ALGORITHMS_PATTERNS_LEDGER_H

#include "algorithms/algorithm.h"

#include <stddef.h>
#include <stdint.h>

struct cs_ledger_rank {
	uint64_t chain, next; /* messages on the longest way to this rank: before this round, and with it */
	uint64_t sent, received;
};

struct cs_ledger {
	int ranks;
	struct cs_ledger_rank *of; /* NULL: no memory; then the price is the highest there is */
};

void cs_ledger_init(struct cs_ledger *ledger, int ranks);
/* One of no bytes is none. */
void cs_ledger_message(struct cs_ledger *ledger, int from, int to, size_t bytes);
/* The round of ranks [first, first + count) is over. */
void cs_ledger_end_round(struct cs_ledger *ledger, int first, int count);
/* The price; and the ledger is gone. */
void cs_ledger_close(struct cs_ledger *ledger, struct cs_price *price);

#endif
