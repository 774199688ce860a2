#include "algorithms/plans/cyclic_sum.h"

/* Does the vector of this round come after the own one in rank order? */
static bool
is_high(const struct cs_cyclic_sum *sum, int round)
{
	return !sum->builder->problem->is_commutative && round > sum->self;
}

void
cs_cyclic_sum_begin(struct cs_cyclic_sum *sum, struct cs_builder *builder, int self, int count,
		    struct cs_place own, struct cs_place into, size_t bytes, int rooms)
{
	*sum = (struct cs_cyclic_sum){ .builder = builder, .self = self, .count = count,
				       .bytes = bytes, .low = own, .into = into, .rooms = rooms,
				       .stride = (bytes + 63) & ~(size_t)63 };
	int used = rooms < count - 1 ? rooms : count - 1;
	sum->spares = cs_build_tmp(builder, used > 0 ? (size_t)used * sum->stride : 0);
	sum->high = cs_build_tmp(builder, is_high(sum, count - 1) ? bytes : 0);
}

struct cs_place
cs_cyclic_sum_room(const struct cs_cyclic_sum *sum, int round)
{
	return is_high(sum, round) && round == sum->self + 1
	       ? sum->high
	       : cs_plus(sum->spares, (size_t)((round - 1) % sum->rooms) * sum->stride);
}

void
cs_cyclic_sum_add(struct cs_cyclic_sum *sum, int round)
{
	struct cs_place come = cs_cyclic_sum_room(sum, round);
	if (!is_high(sum, round)) {
		cs_build_reduce(sum->builder, sum->into, come, sum->low, sum->bytes);
		sum->low = sum->into;
	} else if (round > sum->self + 1) {
		cs_build_reduce(sum->builder, sum->high, come, sum->high, sum->bytes);
	}
}

void
cs_cyclic_sum_end(struct cs_cyclic_sum *sum)
{
	if (is_high(sum, sum->count - 1))
		cs_build_reduce(sum->builder, sum->into, sum->low, sum->high, sum->bytes);
	else
		cs_build_copy(sum->builder, sum->into, sum->low, sum->bytes);
}
