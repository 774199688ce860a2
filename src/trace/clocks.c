/* trace/clocks.c — brings clocks together by a binomial tree of questions and answers. */
#include "trace/clocks.h"

/* The first ones make the connection, and some meet a busy processor. */
#define QUESTIONS 40

/* Answer of a rank to the ranks below it in the tree. */
struct told {
	int64_t offset_ns;    /* of the one above, towards rank 0 */
	uint64_t residual_ns; /* and by how much that may be wrong */
};

static bool
answer(const struct cs_clocks_wire *wire, int below, const struct cs_arrivals_clock *own)
{
	for (int i = 0; i < QUESTIONS; i++) {
		uint64_t word;
		if (!wire->receive(wire->context, &word, sizeof word, below))
			return false;
		word = wire->now(wire->context);
		if (!wire->send(wire->context, &word, sizeof word, below))
			return false;
	}
	struct told told = { own->offset_ns, own->residual_ns };
	return wire->send(wire->context, &told, sizeof told, below);
}

static bool
ask(const struct cs_clocks_wire *wire, int above, struct cs_arrivals_clock *clock)
{
	uint64_t shortest = UINT64_MAX;
	for (int i = 0; i < QUESTIONS; i++) {
		uint64_t before = wire->now(wire->context), there = 0;
		if (!wire->send(wire->context, &before, sizeof before, above) ||
		    !wire->receive(wire->context, &there, sizeof there, above))
			return false;
		uint64_t took = wire->now(wire->context) - before;
		if (took >= shortest)
			continue;
		shortest = took;
		clock->at_ns = before + took / 2;
		clock->offset_ns = (int64_t)(there - clock->at_ns);
	}
	struct told told;
	if (!wire->receive(wire->context, &told, sizeof told, above))
		return false;
	clock->offset_ns += told.offset_ns;
	clock->residual_ns = told.residual_ns + (shortest + 1) / 2;
	return true;
}

bool
cs_clocks_synchronise(const struct cs_clocks_wire *wire, struct cs_arrivals_clock *clock)
{
	struct cs_arrivals_clock own = { .offset_ns = 0 };
	int bit = 1;
	while (bit < wire->size && !(wire->rank & bit))
		bit <<= 1;
	if (wire->rank == 0)
		own.at_ns = wire->now(wire->context);
	else if (!ask(wire, wire->rank - bit, &own))
		return false;
	/* The ones with most below them first. */
	while (bit >>= 1)
		if (wire->rank + bit < wire->size && !answer(wire, wire->rank + bit, &own))
			return false;
	*clock = own;
	return true;
}
