#include "algorithms/plans/butterfly.h"

static int
number_of(const struct cs_butterfly *fly, int rank)
{
	return rank < 2 * fly->folds ? rank / 2 : rank - fly->folds;
}

static int
rank_of(const struct cs_butterfly *fly, int number)
{
	return number < fly->folds ? 2 * number + (fly->keep == 2 * number + 1)
				   : number + fly->folds;
}

static int
mate_of(const struct cs_butterfly *fly, int rank)
{
	return rank < 2 * fly->folds ? rank ^ 1 : -1;
}

void
cs_butterfly_shape(struct cs_butterfly *fly, const struct cs_problem *problem, int keep)
{
	*fly = (struct cs_butterfly){ .size = 1, .keep = keep };
	while (fly->size <= problem->ranks / 2) {
		fly->size *= 2;
		fly->levels++;
	}
	fly->folds = problem->ranks - fly->size;
	fly->flip = (fly->size - 1) ^ number_of(fly, keep);
	fly->pieces = cs_pieces_of_vector(problem, fly->size);
}

void
cs_butterfly_begin(struct cs_butterfly *fly, struct cs_builder *builder, int keep, bool halves)
{
	const struct cs_problem *problem = builder->problem;
	cs_butterfly_shape(fly, problem, keep);
	fly->builder = builder;
	fly->number = number_of(fly, problem->rank);
	fly->mate = mate_of(fly, problem->rank);
	fly->sum = cs_in(0);
	fly->into = cs_out(0);
	if (rank_of(fly, fly->number) != problem->rank) {
		fly->number = -1;
		return;
	}
	if (problem->coll == CS_REDUCE && problem->rank != problem->root)
		fly->into = cs_build_tmp(builder, problem->bytes);
	bool is_whole = !halves || fly->mate >= 0;
	size_t half = cs_pieces_bytes(&fly->pieces, 0, (fly->size + 1) / 2);
	fly->spare = cs_build_tmp(builder, is_whole ? problem->bytes : half);
}

struct cs_butterfly_range
cs_butterfly_range(const struct cs_butterfly *fly, int number, int level)
{
	struct cs_butterfly_range range = { 0, fly->size };
	for (int bit = 0; bit < level; bit++) {
		range.count /= 2;
		range.first += ((number ^ fly->flip) >> bit & 1) * range.count;
	}
	return range;
}

struct cs_butterfly_range
cs_butterfly_sibling(const struct cs_butterfly *fly, int number, int level)
{
	return cs_butterfly_range(fly, number ^ 1 << (level - 1), level);
}

static struct cs_place
at(const struct cs_butterfly *fly, struct cs_place vector, struct cs_butterfly_range range)
{
	return cs_plus(vector, cs_pieces_before(&fly->pieces, range.first));
}

static size_t
bytes_of(const struct cs_butterfly *fly, struct cs_butterfly_range range)
{
	return cs_pieces_bytes(&fly->pieces, range.first, range.count);
}

/* Add `spare`, the sum of the ranks before, or after, those of the own sum. */
static void
add(struct cs_butterfly *fly, struct cs_butterfly_range range, bool is_before)
{
	struct cs_place own = at(fly, fly->sum, range), into = at(fly, fly->into, range);
	struct cs_place left = is_before ? fly->spare : own, right = is_before ? own : fly->spare;
	cs_build_reduce(fly->builder, into, left, right, bytes_of(fly, range));
}

void
cs_butterfly_fold(struct cs_butterfly *fly)
{
	const struct cs_problem *problem = fly->builder->problem;
	if (fly->mate < 0)
		return;
	if (fly->number < 0) {
		cs_build_wait(fly->builder,
			      cs_build_send(fly->builder, fly->mate, fly->sum, problem->bytes));
		return;
	}
	cs_build_wait(fly->builder,
		      cs_build_recv(fly->builder, fly->mate, fly->spare, problem->bytes));
	add(fly, (struct cs_butterfly_range){ 0, fly->size }, fly->mate < problem->rank);
	fly->sum = fly->into;
}

void
cs_butterfly_unfold(struct cs_butterfly *fly)
{
	struct cs_builder *builder = fly->builder;
	builder->note++;
	if (fly->mate >= 0 && fly->number < 0)
		cs_build_wait(builder, cs_build_recv(builder, fly->mate, fly->into,
						     builder->problem->bytes));
	else if (fly->mate >= 0)
		cs_build_wait(builder,
			      cs_build_send(builder, fly->mate, fly->sum, builder->problem->bytes));
}

/* Send one range of the own sum, and add the partner's sum of another range. */
static void
exchange(struct cs_butterfly *fly, int bit, struct cs_butterfly_range give,
	 struct cs_butterfly_range take)
{
	int partner = rank_of(fly, fly->number ^ 1 << bit);
	fly->builder->note++;
	cs_build_sendrecv(fly->builder, partner, at(fly, fly->sum, give), bytes_of(fly, give),
			  partner, fly->spare, bytes_of(fly, take));
	add(fly, take, fly->number >> bit & 1);
	fly->sum = fly->into;
}

void
cs_butterfly_combine(struct cs_butterfly *fly)
{
	struct cs_butterfly_range all = { 0, fly->size };
	for (int bit = 0; fly->number >= 0 && bit < fly->levels; bit++)
		exchange(fly, bit, all, all);
}

void
cs_butterfly_scatter(struct cs_butterfly *fly)
{
	for (int bit = 0; fly->number >= 0 && bit < fly->levels; bit++)
		exchange(fly, bit, cs_butterfly_sibling(fly, fly->number, bit + 1),
			 cs_butterfly_range(fly, fly->number, bit + 1));
}

void
cs_butterfly_allgather(struct cs_butterfly *fly)
{
	for (int level = fly->levels; fly->number >= 0 && level; level--) {
		struct cs_butterfly_range own = cs_butterfly_range(fly, fly->number, level);
		struct cs_butterfly_range other = cs_butterfly_sibling(fly, fly->number, level);
		int partner = rank_of(fly, fly->number ^ 1 << (level - 1));
		fly->builder->note++;
		cs_build_sendrecv(fly->builder, partner, at(fly, fly->sum, own), bytes_of(fly, own),
				  partner, at(fly, fly->sum, other), bytes_of(fly, other));
	}
}

/* Numbers that differ from the pivot in the highest bit send their pieces to their partners and are
 * done, then numbers that differ in the next bit. */
void
cs_butterfly_gather(struct cs_butterfly *fly)
{
	struct cs_builder *builder = fly->builder;
	int pivot = number_of(fly, fly->keep);
	for (int level = fly->levels; fly->number >= 0 && level; level--) {
		struct cs_butterfly_range own = cs_butterfly_range(fly, fly->number, level);
		struct cs_butterfly_range other = cs_butterfly_sibling(fly, fly->number, level);
		int bit = level - 1, partner = rank_of(fly, fly->number ^ 1 << bit);
		builder->note++;
		if ((fly->number ^ pivot) >> bit & 1) {
			cs_build_send(builder, partner, at(fly, fly->sum, own), bytes_of(fly, own));
			return;
		}
		cs_build_wait(builder, cs_build_recv(builder, partner, at(fly, fly->sum, other),
						     bytes_of(fly, other)));
	}
}
