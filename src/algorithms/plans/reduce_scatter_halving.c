#include "algorithms/plans/reduce_scatter_halving.h"

#include "algorithms/plans/halving.h"
#include "algorithms/plans/pieces.h"

/* Memory that holds a part of the vector, from byte `begin` of it on. */
struct view {
	struct cs_place place;
	size_t begin;
};

struct halving {
	struct cs_builder *builder;
	struct cs_pieces pieces;
	struct view sum;       /* of this rank: IN at first */
	struct view kept;      /* CS_TMP for sums */
	struct cs_place spare; /* for received sums */
	struct cs_place spare_odd;
	bool has_spare_odd;
};

static struct cs_place
at(const struct halving *halving, struct view view, int block)
{
	return cs_plus(view.place, cs_pieces_before(&halving->pieces, block) - view.begin);
}

/* Start to receive from the odd rank of the other part, if this rank acts for it. Parts become
 * smaller, so the first memory is enough for the later ones. */
static int
hear_odd(struct halving *halving, const struct cs_halving *cut, size_t bytes)
{
	if (cut->also < 0)
		return CS_NO_REQUEST;
	if (!halving->has_spare_odd)
		halving->spare_odd = cs_build_tmp(halving->builder, bytes);
	halving->has_spare_odd = true;
	return cs_build_recv(halving->builder, cut->also, halving->spare_odd, bytes);
}

static void
add(struct halving *halving, const struct cs_halving *cut, size_t bytes)
{
	struct cs_builder *builder = halving->builder;
	struct view into = halving->kept;
	if (cut->own_count == 1)
		into = (struct view){ cs_out(0),
				      cs_pieces_before(&halving->pieces, cut->own_first) };
	struct cs_place own = at(halving, halving->sum, cut->own_first),
			to = at(halving, into, cut->own_first);
	cs_build_reduce(builder, to, own, halving->spare, bytes);
	if (cut->also >= 0)
		cs_build_reduce(builder, to, to, halving->spare_odd, bytes);
	halving->sum = into;
}

static void
exchange(struct halving *halving, const struct cs_halving *cut)
{
	struct cs_builder *builder = halving->builder;
	struct cs_place given = at(halving, halving->sum, cut->other_first);
	size_t give = cs_pieces_bytes(&halving->pieces, cut->other_first, cut->other_count);
	size_t take = cs_pieces_bytes(&halving->pieces, cut->own_first, cut->own_count);
	if (cut->partner < 0) {
		cs_build_wait(builder, cs_build_send(builder, cut->also, given, give));
		return;
	}
	int odd = hear_odd(halving, cut, take);
	cs_build_sendrecv(builder, cut->partner, given, give, cut->partner, halving->spare, take);
	cs_build_wait(builder, odd);
	add(halving, cut, take);
}

void
cs_reduce_scatter_halving_build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct halving halving = { .builder = builder };
	if (!problem->is_commutative) {
		cs_build_refuse(builder, CS_NOT_COMMUTATIVE);
		return;
	}
	if (cs_pieces_of_blocks(&halving.pieces, problem) != CS_OK) {
		cs_build_no_memory(builder);
		return;
	}
	struct cs_halving cut = cs_halving_cut(0, problem->ranks, problem->rank);
	size_t most = cs_pieces_bytes(&halving.pieces, cut.own_first, cut.own_count);
	halving.sum.place = cs_in(0);
	halving.kept.begin = cs_pieces_before(&halving.pieces, cut.own_first);
	halving.kept.place = cs_build_tmp(builder, cut.own_count > 1 ? most : 0);
	halving.spare = cs_build_tmp(builder, problem->ranks > 1 ? most : 0);
	if (problem->ranks == 1)
		cs_build_copy(builder, cs_out(0), cs_in(0), most);
	for (; cut.count > 1; cut = cs_halving_cut(cut.own_first, cut.own_count, problem->rank)) {
		exchange(&halving, &cut);
		builder->note++;
	}
	cs_pieces_fini(&halving.pieces);
}
