#include "algorithms/patterns/ports.h"

#include "algorithms/patterns/tally.h"

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
	struct cs_tally tally;
	int p = problem->ranks;
	if (!problem->sizes) {
		price_equal(problem, k, price);
		return;
	}
	cs_tally_init(&tally, problem);
	for (int n = 1; n < p; n *= (int)k + 1) {
		for (int distance = n, port = 0; port < (int)k && distance < p; port++, distance += n) {
			int blocks = cs_ports_blocks(p, n, distance);
			for (int rank = 0; rank < p; rank++) {
				int first = is_up ? (rank - blocks + 1 + p) % p : rank;
				int peer = (is_up ? rank + distance : rank - distance + p) % p;
				cs_tally_message(&tally, rank, peer, cs_tally_run(&tally, first, blocks));
			}
		}
		cs_tally_round(&tally);
	}
	cs_tally_finish(&tally, price);
}
