/* operation_spec.c makes calls by chance: algorithm, parameters, root, sizes. */
#include "operation_spec.h"

/* At each of these, or beside it, something changes: in a line, in a small slot, in a piece of a
 * slot, in slots, in several. */
static const size_t borders[] = { 0,	1,    2,    8,	  31,	47,   48,   49,	  64,	500,   511,
				  512,   513,   1000, 2040, 2047, 2048, 2049, 4095, 4096, 4097,
				  5000, 8191, 8192,  8193,  16383, 16384, 16385 };
/* The same of a slot: so many quarters, and so many bytes more or less. */
static const struct {
	int quarters, more;
} slots[] = { { 1, -1 }, { 1, 0 }, { 1, 1 }, { 4, -1 }, { 4, 0 }, { 4, 1 }, { 8, 0 }, { 13, 1 },
	      { 20, -1 }, { 44, 5 } };

/* No more than all ranks' blocks together should have. */
#define MOST_TOGETHER (5 << 20)

/* `coll`: of a sum that is scattered all blocks are one vector. */
static size_t
any_size(struct run *run, enum cs_coll coll)
{
	size_t ranks = (size_t)run->world.ranks, most = MOST_TOGETHER / (ranks * ranks), size;
	size_t room = cs_coll_is_scattered(&cs_colls[coll]) ? CALL_MOST / ranks - CALL_UNIT
							    : CALL_MOST - CALL_UNIT;
	most = most < room ? most : room;
	most = run->setting.most_bytes ? run->setting.most_bytes : most;
	do {
		uint32_t which = (uint32_t)chance(run, 3 * COUNT(borders) / 2);
		if (which < COUNT(borders)) {
			size = borders[which];
		} else {
			size_t slot = chance(run, COUNT(slots));
			size = run->setting.shape.slot_bytes / 4 * (size_t)slots[slot].quarters +
			       (size_t)slots[slot].more;
		}
	} while (size > most);
	return size;
}

/* Of v-calls: many of no bytes; all of some ranks' are. In place what two ranks exchange has one
 * size. */
static void
make_sizes(struct run *run, struct spec *spec)
{
	int ranks = run->world.ranks;
	uint32_t one_in = 2 + (uint32_t)chance(run, 4);
	bool is_symmetric = spec->in_place &&
			    (spec->coll == CS_ALLTOALLV || spec->coll == CS_ALLTOALLW);
	for (int from = 0; from < ranks; from++) {
		bool is_empty = chance(run, 6) == 0;
		for (int to = 0; to < ranks; to++) {
			spec->sizes[from][to] = is_empty || chance(run, one_in) == 0
						? 0 : any_size(run, spec->coll);
			if (is_symmetric && to < from)
				spec->sizes[from][to] = spec->sizes[to][from];
		}
	}
}

/* Where all ranks know that nothing is moved, the call is the host's (comm/calls/serve_common.h).
 * */
static void
move_something(struct run *run, struct spec *spec)
{
	size_t total = 0;
	if (!cs_colls[spec->coll].bytes_agreed)
		return;
	spec->each += spec->each ? 0 : CALL_UNIT;
	for (int rank = 0; rank < run->world.ranks; rank++)
		total += spec->coll == CS_ALLGATHERV ? spec->sizes[rank][0] : spec->sizes[0][rank] /
			 CALL_UNIT;
	if (!total)
		spec->sizes[0][0] = CALL_UNIT;
}

static size_t
clamp(const struct cs_param *param, size_t value)
{
	return value < param->low ? param->low : value > param->high ? param->high : value;
}

static size_t
any_value(struct run *run, const struct cs_param *param)
{
	static const char *const bytes[] = { "chunk", "wire_chunk", "segment", "block",
					     "relay_from" };
	static const char *const counts[] = { "k", "window", "ports", "senders", "lanes", "out",
					      "radix", "group", "fan" };
	static const char *const limits[] = { "read_all", "room", "aggregate", "least" };
	static const char *const switches[] = { "barrier", "control", "rma", "serial" };
	for (size_t i = 0; i < COUNT(bytes); i++)
		if (!strcmp(param->name, bytes[i]))
			return clamp(param, (size_t)1024 << chance(run, 6));
	if (!strcmp(param->name, "patience"))
		return chance(run, 100);
	if (!strcmp(param->name, "cma_min"))
		return run->setting.has_cma ? 64 : 0;
	if (chance(run, 2))
		return param->fallback;
	for (size_t i = 0; i < COUNT(counts); i++)
		if (!strcmp(param->name, counts[i]))
			return clamp(param, param->low + chance(run, 4));
	for (size_t i = 0; i < COUNT(limits); i++)
		if (!strcmp(param->name, limits[i]))
			return clamp(param, chance(run, 3) ? (size_t)256 << chance(run, 8) : 0);
	for (size_t i = 0; i < COUNT(switches); i++)
		if (!strcmp(param->name, switches[i])) /* a barrier lets nobody be far ahead */
			return run->setting.has_one_root ? param->fallback : param->high;
	return param->fallback;
}

static const struct cs_algorithm *
any_algorithm(struct run *run, bool is_commutative)
{
	const struct cs_algorithm *found[CS_MOST_ROWS];
	uint32_t count = 0;
	for (int i = 0; cs_algorithm_at(i); i++) {
		const struct cs_algorithm *algorithm = cs_algorithm_at(i);
		struct cs_facts facts = run_facts(&run->world, algorithm->coll, is_commutative);
		bool is_asked = !run->setting.colls || run->setting.colls & CS_SET(algorithm->coll);
		is_asked = is_asked && (!run_sends(algorithm) || !run->setting.are_scripts);
		if (is_asked && !cs_algorithm_unmet(algorithm, &facts))
			found[count++] = algorithm;
	}
	return count ? found[chance(run, count)] : NULL;
}

/* All blocks are alike, and the algorithm is as it is. */
static void
make_plain(const struct run *run, struct spec *spec)
{
	spec->root = 0;
	spec->in_place = false;
	spec->gap = 0;
	spec->each = run->setting.each;
	for (int from = 0; from < run->world.ranks; from++)
		for (int to = 0; to < run->world.ranks; to++)
			spec->sizes[from][to] = spec->each;
	for (int i = 0; i < CS_MAX_PARAMS && spec->algorithm->params[i].name; i++)
		spec->params[i] = spec->algorithm->params[i].fallback;
}

void
spec_make(struct run *run, struct spec *spec, const struct cs_algorithm *algorithm)
{
	static int salt;
	bool is_commutative = chance(run, 2);
	algorithm = algorithm ? algorithm : any_algorithm(run, is_commutative);
	is_commutative = is_commutative || !algorithm;
	algorithm = algorithm ? algorithm : any_algorithm(run, true);
	assert_non_null(algorithm);
	struct cs_facts other = run_facts(&run->world, algorithm->coll, false);
	*spec = (struct spec){ .algorithm = algorithm, .runs = algorithm, .coll = algorithm->coll,
			       .salt = salt++ };
	spec->is_commutative = is_commutative || cs_algorithm_unmet(algorithm, &other);
	spec->root = run->setting.has_one_root ? run->world.ranks / 2
					       : (int)chance(run, (uint32_t)run->world.ranks);
	spec->in_place = chance(run, 3) == 0;
	spec->is_blocking = run->setting.are_mixed && run->world.nodes == 1 &&
			    !run_sends(algorithm) && chance(run, 3) == 0;
	spec->each = any_size(run, spec->coll);
	spec->gap = call_is_v(spec->coll) && chance(run, 3) == 0 ? 3 : 0;
	if (call_is_v(spec->coll) || spec->coll == CS_REDUCE_SCATTER)
		make_sizes(run, spec);
	move_something(run, spec);
	if (cs_colls[algorithm->coll].reduces)
		spec->each += spec->each % CALL_UNIT;
	while (algorithm->inner && algorithm->inner->params[spec->inner].name)
		spec->inner++;
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		spec->params[i] = any_value(run, &algorithm->params[i]);
	int senders = cs_algorithm_role(algorithm, CS_ROLE_SENDERS);
	if (senders >= 0 && run->setting.senders)
		spec->params[senders] = run->setting.senders;
	if (run->setting.each)
		make_plain(run, spec);
	if (run->setting.refuses)
		refuse_some(run, spec);
}
