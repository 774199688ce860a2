#include "algorithms/plans/knomial.h"

/* Most digits other than 0 of a number up to ranks - 1. Among numbers with the same upper digits
 * the last one has them, or one with a smaller digit here and none 0 below. */
int
cs_knomial_depth(int ranks, int radix)
{
	int depth = 0, below = 0;
	for (int rest = ranks - 1; rest; rest /= radix, below++) {
		int digit = rest % radix, smaller = digit ? (digit > 1) + below : 0;
		depth += digit > 0;
		depth = smaller > depth ? smaller : depth;
	}
	return depth;
}

int
cs_knomial_children(int ranks, int radix)
{
	int64_t children = 0;
	for (int64_t weight = 1; weight < ranks; weight *= radix)
		children += (ranks - 1) / weight < radix - 1 ? (ranks - 1) / weight : radix - 1;
	return (int)children;
}

/* Top of the tree: commutative operations may rotate the ranks, others need rank 0 leftmost. */
static int
top_of(const struct cs_problem *problem)
{
	return problem->is_commutative ? problem->root : 0;
}

struct adder {
	struct cs_builder *builder;
	int top, relative, radix;
	struct cs_place sum;   /* of this rank so far: IN at first */
	struct cs_place into;  /* its place once a child is added */
	struct cs_place spare; /* for radix - 1 vectors, or as many as can come */
};

/* Add all children of one digit: their ranks follow each other, and those that are in `sum`. */
static void
add_children(struct adder *adder, int64_t weight)
{
	struct cs_builder *builder = adder->builder;
	int p = builder->problem->ranks, count = 0, requests[CS_KNOMIAL_MOST];
	size_t bytes = builder->problem->bytes;
	for (int64_t child = adder->relative + weight; count < adder->radix - 1 && child < p;
	     child += weight) {
		requests[count] = cs_build_recv(builder, (int)((child + adder->top) % p),
						cs_plus(adder->spare, (size_t)count * bytes),
						bytes);
		count++;
	}
	for (int i = 0; i < count; i++) {
		cs_build_wait(builder, requests[i]);
		cs_build_reduce(builder, adder->into, adder->sum,
				cs_plus(adder->spare, (size_t)i * bytes), bytes);
		adder->sum = adder->into;
	}
}

/* Move the sum from the top to the root's OUT. */
static void
hand_over(struct cs_builder *builder, int top, struct cs_place sum)
{
	const struct cs_problem *problem = builder->problem;
	if (top == problem->root) {
		if (problem->rank == top && sum.memory == CS_IN && !problem->is_in_place)
			cs_build_copy(builder, cs_out(0), sum, problem->bytes);
	} else if (problem->rank == top) {
		cs_build_wait(builder, cs_build_send(builder, problem->root, sum, problem->bytes));
	} else if (problem->rank == problem->root) {
		cs_build_wait(builder, cs_build_recv(builder, top, cs_out(0), problem->bytes));
	}
}

void
cs_knomial_reduce_build(struct cs_builder *builder, int radix)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, top = top_of(problem), relative = (problem->rank - top + p) % p;
	int64_t weight = cs_knomial_weight(relative, p, radix);
	size_t most = (size_t)(p < radix ? p : radix) - 1;
	bool has_children = weight > 1 && relative + 1 < p;
	struct adder adder = { .builder = builder, .top = top, .relative = relative, .radix = radix,
			       .sum = cs_in(0) };
	if (has_children) {
		adder.spare = cs_build_tmp(builder, most * problem->bytes);
		adder.into = problem->rank == problem->root
			     ? cs_out(0) : cs_build_tmp(builder, problem->bytes);
	}
	for (int64_t at = 1; at < weight; at *= radix) {
		add_children(&adder, at);
		builder->note++;
	}
	if (relative) {
		int parent = relative - (int)(relative % (weight * radix));
		cs_build_wait(builder, cs_build_send(builder, (parent + top) % p, adder.sum,
						     problem->bytes));
	}
	hand_over(builder, top, adder.sum);
}

/* A root that is not the top has at least one child less than the top, and gets one message
 * more. */
void
cs_knomial_reduce_cost(const struct cs_problem *problem, int radix, struct cs_cost *cost)
{
	int depth = cs_knomial_depth(problem->ranks, radix) + (top_of(problem) != problem->root);
	cost->rounds = problem->bytes ? (uint64_t)depth : 0;
	cost->bytes = (uint64_t)cs_knomial_children(problem->ranks, radix) * problem->bytes;
}
