#include "algorithms/plans/packed_blocks.h"

/* Does the block after `rank`'s begin where `rank`'s ends? */
static bool
is_joined(const struct cs_problem *problem, int rank)
{
	return rank + 1 < problem->ranks &&
	       (!problem->at || problem->at[rank] + cs_problem_size(problem, rank) ==
		problem->at[rank + 1]);
}

/* Copy between OUT and `together`, joined blocks at once. */
static void
move(struct cs_builder *builder, struct cs_place together, int first, int count, bool is_out)
{
	const struct cs_problem *problem = builder->problem;
	size_t done = 0;
	for (int i = 0; i < count;) {
		struct cs_place apart = cs_build_block(builder, (first + i) % problem->ranks);
		size_t bytes = cs_problem_size(problem, (first + i) % problem->ranks);
		for (i++; i < count && is_joined(problem, (first + i - 1) % problem->ranks); i++)
			bytes += cs_problem_size(problem, (first + i) % problem->ranks);
		if (is_out)
			cs_build_copy(builder, apart, cs_plus(together, done), bytes);
		else
			cs_build_copy(builder, cs_plus(together, done), apart, bytes);
		done += bytes;
	}
}

void
cs_packed_lay(struct cs_builder *builder, struct cs_packed_blocks *packed, int first, int count)
{
	packed->first = first;
	packed->count = count;
	packed->bytes = cs_build_run_bytes(builder, first, count);
	if (cs_build_is_run(builder, first, count)) {
		packed->place = cs_build_block(builder, first);
		return;
	}
	if (packed->bytes > packed->room_bytes) {
		packed->room = cs_build_tmp(builder, packed->bytes);
		packed->room_bytes = packed->bytes;
	}
	packed->place = packed->room;
	packed->place.memory = CS_TMP;
}

int
cs_packed_send(struct cs_builder *builder, struct cs_packed_blocks *packed, int peer)
{
	if (packed->place.memory == CS_TMP)
		move(builder, packed->place, packed->first, packed->count, false);
	return cs_build_send(builder, peer, packed->place, packed->bytes);
}

int
cs_packed_recv(struct cs_builder *builder, struct cs_packed_blocks *packed, int peer)
{
	return cs_build_recv(builder, peer, packed->place, packed->bytes);
}

void
cs_packed_open(struct cs_builder *builder, const struct cs_packed_blocks *packed)
{
	if (packed->place.memory == CS_TMP)
		move(builder, packed->place, packed->first, packed->count, true);
}

void
cs_packed_unpack(struct cs_builder *builder, struct cs_place from, int first, int count)
{
	move(builder, from, first, count, true);
}
