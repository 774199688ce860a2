#include "algorithms/patterns/ledger.h"

#include <stdlib.h>

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void
cs_ledger_init(struct cs_ledger *ledger, int ranks)
{
	ledger->ranks = ranks;
	ledger->of = calloc((size_t)ranks, sizeof *ledger->of);
}

void
cs_ledger_message(struct cs_ledger *ledger, int from, int to, size_t bytes)
{
	if (!bytes || !ledger->of)
		return;
	ledger->of[from].sent += bytes;
	ledger->of[to].received += bytes;
	ledger->of[to].next = larger(ledger->of[to].next, ledger->of[from].chain + 1);
}

void
cs_ledger_end_round(struct cs_ledger *ledger, int first, int count)
{
	for (int rank = first; ledger->of && rank < first + count; rank++)
		ledger->of[rank].chain = larger(ledger->of[rank].chain, ledger->of[rank].next);
}

void
cs_ledger_close(struct cs_ledger *ledger, struct cs_price *price)
{
	price->rounds = price->bytes = ledger->of ? 0 : UINT64_MAX;
	for (int rank = 0; ledger->of && rank < ledger->ranks; rank++) {
		const struct cs_ledger_rank *of = &ledger->of[rank];
		price->rounds = larger(price->rounds, of->chain);
		price->bytes = larger(price->bytes, larger(of->sent, of->received));
	}
	free(ledger->of);
	ledger->of = NULL;
}
