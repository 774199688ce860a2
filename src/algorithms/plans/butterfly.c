#include "algorithms/plans/butterfly.h"

#include "algorithms/plans/bine.h"

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

/* The number in the mirror image, and back. */
static int
mirrored(const struct cs_butterfly *fly, int number)
{
	return fly->way == CS_BUTTERFLY_MIRRORED ? (fly->size - number) % fly->size : number;
}

/* Bits by which the number's pieces are chosen: step k exchanges between two that differ in bit k
 * and are equal below. */
static int
key_of(const struct cs_butterfly *fly, int number)
{
	return fly->way == CS_BUTTERFLY_BINARY ? number
					       : cs_bine_key(fly->size, mirrored(fly, number));
}

static int
partner_of(const struct cs_butterfly *fly, int number, int bit)
{
	if (fly->way == CS_BUTTERFLY_BINARY)
		return number ^ 1 << bit;
	return mirrored(fly, cs_bine_partner(fly->size, mirrored(fly, number), bit));
}

/* The last step on the pivot's tree to the number: in step k all that have been reached, the pivot
 * at first, reach their partners. -1: the pivot. */
static int
reached_in(const struct cs_butterfly *fly, int number)
{
	int last = -1, at = number_of(fly, fly->keep);
	for (int bit = 0; bit < fly->levels; bit++)
		if ((key_of(fly, at) ^ key_of(fly, number)) >> bit & 1) {
			at = partner_of(fly, at, bit);
			last = bit;
		}
	return last;
}

static void
set_way(struct cs_butterfly *fly, enum cs_butterfly_way way)
{
	fly->way = way;
	fly->flip = (fly->size - 1) ^ key_of(fly, number_of(fly, fly->keep));
}

void
cs_butterfly_shape(struct cs_butterfly *fly, const struct cs_problem *problem,
		   enum cs_butterfly_way way, int keep)
{
	*fly = (struct cs_butterfly){ .size = 1, .keep = keep };
	while (fly->size <= problem->ranks / 2) {
		fly->size *= 2;
		fly->levels++;
	}
	fly->folds = problem->ranks - fly->size;
	set_way(fly, way);
	fly->pieces = cs_pieces_of_vector(problem, fly->size);
}

void
cs_butterfly_join(struct cs_butterfly *fly, struct cs_builder *builder, enum cs_butterfly_way way,
		  int keep)
{
	const struct cs_problem *problem = builder->problem;
	cs_butterfly_shape(fly, problem, way, keep);
	fly->builder = builder;
	fly->number = number_of(fly, problem->rank);
	fly->mate = mate_of(fly, problem->rank);
	fly->sum = cs_in(0);
	fly->into = cs_out(0);
	if (rank_of(fly, fly->number) != problem->rank)
		fly->number = -1;
}

/* Take the memory: `into` becomes OUT, or CS_TMP if the rank has no result. */
static void
take_memory(struct cs_butterfly *fly, bool halves)
{
	struct cs_builder *builder = fly->builder;
	const struct cs_problem *problem = builder->problem;
	if (fly->number < 0)
		return;
	if (problem->coll == CS_REDUCE && problem->rank != problem->root)
		fly->into = cs_build_tmp(builder, problem->bytes);
	bool is_whole = !halves || fly->mate >= 0;
	size_t half = cs_pieces_bytes(&fly->pieces, 0, (fly->size + 1) / 2);
	fly->spare = cs_build_tmp(builder, is_whole ? problem->bytes : half);
}

void
cs_butterfly_split(struct cs_butterfly *fly, struct cs_butterfly *second)
{
	struct cs_problem part = *fly->builder->problem;
	struct cs_pieces halves = cs_pieces_of_vector(&part, 2);
	size_t first = cs_pieces_bytes(&halves, 0, 1);
	*second = *fly;
	fly->beside = second;
	set_way(second, CS_BUTTERFLY_MIRRORED);
	second->sum = cs_plus(fly->sum, first);
	second->into = cs_plus(fly->into, first);
	second->spare = cs_plus(fly->spare, first);
	part.bytes = first;
	fly->pieces = cs_pieces_of_vector(&part, fly->size);
	part.bytes = fly->builder->problem->bytes - first;
	second->pieces = cs_pieces_of_vector(&part, fly->size);
}

struct cs_butterfly_range
cs_butterfly_range(const struct cs_butterfly *fly, int number, int level)
{
	struct cs_butterfly_range range = { 0, fly->size };
	for (int bit = 0; bit < level; bit++) {
		range.count /= 2;
		range.first += ((key_of(fly, number) ^ fly->flip) >> bit & 1) * range.count;
	}
	return range;
}

/* The other half: pieces of the partner in the last halving. */
static struct cs_butterfly_range
sibling(const struct cs_butterfly *fly, int level)
{
	return cs_butterfly_range(fly, partner_of(fly, fly->number, level - 1), level);
}

int
cs_butterfly_ranks(const struct cs_butterfly *fly, int number, int *first)
{
	bool is_pair = number < fly->folds;
	*first = is_pair ? 2 * number : number + fly->folds;
	return is_pair ? 2 : 1;
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

/* Send the vectors of folded ranks to their mates, which add them. */
static void
fold(struct cs_butterfly *fly)
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

bool
cs_butterfly_begin(struct cs_butterfly *fly, struct cs_builder *builder, enum cs_butterfly_way way,
		   int keep, bool halves)
{
	const struct cs_problem *problem = builder->problem;
	if (way != CS_BUTTERFLY_BINARY && !problem->is_commutative) {
		cs_build_refuse(builder, CS_NOT_COMMUTATIVE);
		return false;
	}
	if (problem->ranks == 1 && !problem->is_in_place)
		cs_build_copy(builder, cs_out(0), cs_in(0), problem->bytes);
	cs_butterfly_join(fly, builder, way, keep);
	take_memory(fly, halves);
	fold(fly);
	return true;
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

/* Messages of a step: one range of a vector to the partner, another one from it. */
static void
start(struct cs_butterfly *fly, int bit, struct cs_place from, struct cs_butterfly_range give,
      struct cs_place to, struct cs_butterfly_range take)
{
	int partner = rank_of(fly, partner_of(fly, fly->number, bit));
	fly->requests[0] = cs_build_recv(fly->builder, partner, to, bytes_of(fly, take));
	fly->requests[1] = cs_build_send(fly->builder, partner, at(fly, from, give),
					 bytes_of(fly, give));
}

static void
finish(struct cs_butterfly *fly)
{
	cs_build_wait(fly->builder, fly->requests[0]);
	cs_build_wait(fly->builder, fly->requests[1]);
}

/* The lower number's sum is the left operand. */
static void
add_in(struct cs_butterfly *fly, int bit, struct cs_butterfly_range range)
{
	finish(fly);
	add(fly, range, partner_of(fly, fly->number, bit) < fly->number);
	fly->sum = fly->into;
}

void
cs_butterfly_combine(struct cs_butterfly *fly)
{
	struct cs_butterfly_range all = { 0, fly->size };
	for (int bit = 0; fly->number >= 0 && bit < fly->levels; bit++) {
		fly->builder->note++;
		start(fly, bit, fly->sum, all, fly->spare, all);
		add_in(fly, bit, all);
	}
}

void
cs_butterfly_scatter(struct cs_butterfly *fly)
{
	for (int bit = 0; fly->number >= 0 && bit < fly->levels; bit++) {
		fly->builder->note++;
		for (struct cs_butterfly *one = fly; one; one = one->beside)
			start(one, bit, one->sum, sibling(one, bit + 1), one->spare,
			      cs_butterfly_range(one, one->number, bit + 1));
		for (struct cs_butterfly *one = fly; one; one = one->beside)
			add_in(one, bit, cs_butterfly_range(one, one->number, bit + 1));
	}
}

void
cs_butterfly_allgather(struct cs_butterfly *fly)
{
	for (int level = fly->levels; fly->number >= 0 && level; level--) {
		fly->builder->note++;
		for (struct cs_butterfly *one = fly; one; one = one->beside)
			start(one, level - 1, one->sum,
			      cs_butterfly_range(one, one->number, level),
			      at(one, one->sum, sibling(one, level)), sibling(one, level));
		for (struct cs_butterfly *one = fly; one; one = one->beside)
			finish(one);
	}
}

static int
partner_rank(const struct cs_butterfly *fly, int bit)
{
	return rank_of(fly, partner_of(fly, fly->number, bit));
}

/* Numbers that the pivot reaches in the last step send their pieces to their partners and are done,
 * then those that it reaches in the step before. */
void
cs_butterfly_gather(struct cs_butterfly *fly)
{
	struct cs_builder *builder = fly->builder;
	int reached = reached_in(fly, fly->number);
	for (int level = fly->levels; fly->number >= 0 && level; level--) {
		struct cs_butterfly_range own = cs_butterfly_range(fly, fly->number, level);
		struct cs_butterfly_range other = sibling(fly, level);
		int partner = partner_rank(fly, level - 1);
		builder->note++;
		if (reached == level - 1) {
			cs_build_send(builder, partner, at(fly, fly->sum, own), bytes_of(fly, own));
			return;
		}
		cs_build_wait(builder, cs_build_recv(builder, partner, at(fly, fly->sum, other),
						     bytes_of(fly, other)));
	}
}

/* Pieces go down the pivot's tree, the half of a rank that has them at a time. In the exchange
 * back a rank that the pivot reached before a step has what its partner has. */
void
cs_butterfly_spread(struct cs_butterfly *fly)
{
	struct cs_builder *builder = fly->builder;
	int reached = reached_in(fly, fly->number);
	for (int bit = reached < 0 ? 0 : reached; fly->number >= 0 && bit < fly->levels; bit++) {
		struct cs_butterfly_range range = bit == reached
						  ? cs_butterfly_range(fly, fly->number, bit + 1)
						  : sibling(fly, bit + 1);
		struct cs_place place = at(fly, fly->sum, range);
		builder->note = (uint32_t)bit;
		if (bit == reached)
			cs_build_wait(builder, cs_build_recv(builder, partner_rank(fly, bit), place,
							     bytes_of(fly, range)));
		else
			cs_build_send(builder, partner_rank(fly, bit), place, bytes_of(fly, range));
	}
	builder->note = (uint32_t)fly->levels;
	for (int bit = fly->levels - 1; fly->number >= 0 && bit >= 0; bit--, builder->note++) {
		struct cs_butterfly_range own = cs_butterfly_range(fly, fly->number, bit + 1);
		struct cs_butterfly_range other = sibling(fly, bit + 1);
		int partner = partner_rank(fly, bit), recv = CS_NO_REQUEST, send = CS_NO_REQUEST;
		if (reached >= bit)
			recv = cs_build_recv(builder, partner, at(fly, fly->sum, other),
					     bytes_of(fly, other));
		if (reached_in(fly, partner_of(fly, fly->number, bit)) >= bit)
			send = cs_build_send(builder, partner, at(fly, fly->sum, own),
					     bytes_of(fly, own));
		cs_build_wait(builder, recv);
		cs_build_wait(builder, send);
	}
}
