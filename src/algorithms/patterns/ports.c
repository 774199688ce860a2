#include "algorithms/patterns/ports.h"

#include "algorithms/patterns/ledger.h"
#include "algorithms/patterns/pieces.h"

/* Equal blocks: everybody sends and receives all but one, and every round counts. */
static void
price_equal(const struct cs_problem *problem, size_t k, struct cs_price *price)
{
	*price = (struct cs_price){ .bytes = ((uint64_t)problem->ranks - 1) * problem->bytes };
	for (size_t n = 1; n < (size_t)problem->ranks && problem->bytes; n *= k + 1)
		price->rounds++;
}

void
cs_ports_price(const struct cs_problem *problem, size_t k, bool is_up, struct cs_price *price)
{
	struct cs_pieces sizes;
	struct cs_ledger ledger;
	int p = problem->ranks;
	if (!problem->sizes) {
		price_equal(problem, k, price);
		return;
	}
	if (cs_pieces_of_blocks(&sizes, problem) != CS_OK) {
		*price = (struct cs_price){ .rounds = UINT64_MAX, .bytes = UINT64_MAX };
		return;
	}
	cs_ledger_init(&ledger, p);
	for (int n = 1; n < p; n *= (int)k + 1) {
		for (int distance = n, port = 0; port < (int)k && distance < p; port++, distance += n) {
			int blocks = cs_ports_blocks(p, n, distance);
			for (int rank = 0; rank < p; rank++) {
				int first = is_up ? (rank - blocks + 1 + p) % p : rank;
				int peer = (is_up ? rank + distance : rank - distance + p) % p;
				cs_ledger_message(&ledger, rank, peer, cs_pieces_run(&sizes, p, first, blocks));
			}
		}
		cs_ledger_end_round(&ledger, 0, p);
	}
	cs_ledger_close(&ledger, price);
	cs_pieces_fini(&sizes);
}
