/* Copy-out over several nodes (hier/copy_out.h): blocking calls of virtual ranks whose nodes have
 * pretended levels; results are right, and bytes that are copied out of a node's area are
 * counted. */
#include "operation_crew.h"

#include "algorithms/node/relay.h"
#include "base/fake_levels.h"

#include <stdlib.h>
#include <string.h>

static struct {
	struct crew *crew; /* whose copies are counted; NULL: none */
	size_t out;        /* bytes out of the first node's area */
	size_t mates;      /* ranks in the group of the one that fills it */
} counted;

/* Is it in the area of the rank's node? */
static bool
is_in_area(const struct cs_node *node, const void *at)
{
	const struct cs_area *area = &node->areas[CS_AREA_LARGE_SLOTS];
	uintptr_t offset = (uintptr_t)at - (uintptr_t)area->base;
	return offset < area->stride * area->slots.count;
}

void __real_cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes);
void __wrap_cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes);
void
__wrap_cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes)
{
	if (counted.crew) {
		const struct world *world = &counted.crew->teams[0].run.world;
		int rank = counted.crew->now;
		bool is_out = is_in_area(&world->teams[rank].node, from);
		counted.out += is_out && !world->node_of[rank] ? bytes : 0;
	}
	__real_cs_copy_large(policy, to, from, bytes);
}

static void
set(struct spec *spec, const char *name, size_t value)
{
	for (int i = 0; i < CS_MAX_PARAMS && spec->algorithm->params[i].name; i++)
		if (!strcmp(spec->algorithm->params[i].name, name))
			spec->params[i] = value;
}

static size_t hybrid_from = SIZE_MAX; /* as of the model */
static size_t wrong_each;             /* 0: all ranks of a call agree */
static int wrong;

/* The levels of all nodes, whose ranks are dealt to groups as `text` says. */
static void
take_levels(struct world *world, const char *text, size_t fan)
{
	for (int rank = 0; rank < world->ranks; rank++) {
		struct cs_shape *shape = &world->teams[rank].shape;
		int package[WORLD_MOST], cache[WORLD_MOST];
		for (int local = 0; local < shape->locals; local++)
			cs_fake_levels_of(text, local, &package[local], &cache[local]);
		cs_levels_fini(&shape->levels);
		assert_true(cs_levels_init(&shape->levels, shape->locals, package, cache));
		shape->levels.hybrid_fan = fan;
		shape->levels.hybrid_from = hybrid_from;
	}
}

/* All calls of a setting with this copy-out, in rounds of a part of the call. */
static void
run_calls(const struct setting *setting, const char *levels, size_t fan, size_t out, size_t chunk,
	  int root)
{
	struct crew *crew = calloc(1, sizeof *crew);
	assert_non_null(crew);
	crew_make(crew, setting, 1);
	struct run *run = &crew->teams[0].run;
	take_levels(&run->world, levels, fan);
	for (int call = 0; call < setting->calls; call++) {
		set(&run->specs[call], "out", out);
		set(&run->specs[call], "wire_chunk", chunk);
		set(&run->specs[call], "senders", 1);
		if (root >= 0)
			run->specs[call].root = root;
		run->specs[call].wrong = wrong;
		run->specs[call].wrong_each = wrong_each;
	}
	const struct cs_team *team = &run->world.teams[0];
	const struct cs_levels *all = &team->shape.levels;
	bool is_root = root >= 0 && !run->world.node_of[root];
	int home = all->place[is_root ? run->world.local_of[root] : cs_team_leader(team)];
	memset(&counted, 0, sizeof counted);
	if (all->large >= 0)
		counted.mates = (size_t)(all->end[all->large][home] - all->first[all->large][home]);
	counted.crew = setting->each ? crew : NULL;
	crew_block(crew);
	counted.crew = NULL;
	if (crew_failure(crew))
		run_say_failure(crew_failure(crew));
	crew_clear(crew);
	free(crew);
}

#define EACH ((size_t)160 << 10) /* bytes of a broadcast */
#define CHUNK ((size_t)64 << 10)

static const struct {
	const char *levels;
	int sizes[4];
	bool cyclic;
	size_t groups; /* of the first node */
} cases[] = { { "2x2x2", { 8, 8 }, false, 4 },	   { "2x2x2", { 8, 8 }, true, 4 },
	      { "cyclic:2x2x2", { 8, 4 }, false, 4 },	   { "3,1|2,2", { 8, 5 }, false, 4 },
	      { "1,1,1,1|1,1,1,1", { 8, 8 }, true, 2 }, { "1,1|2,1", { 5, 5, 5 }, true, 4 } };

static struct setting
setting_for(size_t i, const struct cs_algorithm *const *algorithm, size_t each)
{
	struct setting setting = setting_of(first_seed(), true, 1);
	memset(setting.sizes, 0, sizeof setting.sizes);
	memcpy(setting.sizes, cases[i].sizes, sizeof cases[i].sizes);
	setting.cyclic = cases[i].cyclic;
	setting.shape.slot_bytes = 16 << 10;
	setting.shape.area_bytes = (size_t)256 << 10;
	setting.is_blocking = true;
	setting.lanes = 1;
	setting.calls = 1;
	setting.algorithms = algorithm;
	setting.each = each;
	return setting;
}

static void
expect_out(size_t i, const char *call, size_t fan, size_t times, size_t bytes)
{
	if (counted.out != times * bytes)
		fail_msg("%s, levels %s, fan %zu: %zu bytes out of the area, not %zu times %zu",
			 call, cases[i].levels, fan, counted.out, times, bytes);
}

static size_t
lesser(size_t one, size_t other)
{
	return one < other ? one : other;
}

/* Not one for each rank: the ranks of the first group, and the leaders of others that read it. */
TEST(a_broadcast_leaves_the_area_once_for_each_group_or_less)
{
	static const size_t fans[] = { 1, 2, 64 };
	const struct cs_algorithm *bcast = cs_algorithm_by_name(CS_BCAST, "hier:host");
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t k = 0; k < COUNT(fans); k++) {
			struct setting setting = setting_for(i, &bcast, EACH);
			size_t ranks = (size_t)cases[i].sizes[0],
			       children = lesser(cases[i].groups - 1, fans[k]);
			/* Rank 0 is the root, which has it; or the leader of another node. */
			run_calls(&setting, cases[i].levels, fans[k], CS_OUT_HYBRID, CHUNK, 0);
			expect_out(i, "bcast from here", fans[k], counted.mates - 1 + children,
				   EACH);
			run_calls(&setting, cases[i].levels, fans[k], CS_OUT_HYBRID, CHUNK,
				  cases[i].cyclic ? 1 : cases[i].sizes[0]);
			expect_out(i, "bcast", fans[k], counted.mates + children, EACH);
			run_calls(&setting, cases[i].levels, fans[k], CS_OUT_COPY, CHUNK, 0);
			expect_out(i, "bcast by copies", fans[k], ranks - 1, EACH);
		}
}

TEST(by_size_it_is_the_hybrid_from_the_models_limit_on)
{
	const struct cs_algorithm *bcast = cs_algorithm_by_name(CS_BCAST, "hier:host");
	struct setting setting = setting_for(0, &bcast, EACH);
	size_t copies = (size_t)cases[0].sizes[0] - 1;
	for (hybrid_from = EACH - 1; hybrid_from <= EACH + 1; hybrid_from++) {
		run_calls(&setting, cases[0].levels, 1, bcast->params[cs_algorithm_role(
				  bcast, CS_ROLE_COPY_OUT)].fallback, CHUNK, 0);
		expect_out(0, "bcast by size", 1, hybrid_from <= EACH ? counted.mates : copies,
			   EACH);
	}
	hybrid_from = SIZE_MAX;
}

/* A rank of a wrong program, which expects another size on the other side of the limit: it ends,
 * and the others have what they would have. (A leader's size is that of its node.) */
TEST(a_rank_that_disagrees_keeps_nobody)
{
	static const size_t each[] = { 4100, 20000, CHUNK }, others[] = { 1, 40, 700, 4000 };
	const struct cs_algorithm *bcast = cs_algorithm_by_name(CS_BCAST, "hier:host");
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < COUNT(each) * COUNT(others) * 2; k++) {
			size_t less = others[k / COUNT(each) % COUNT(others)],
			       own = each[k % COUNT(each)];
			bool is_longer = k >= COUNT(each) * COUNT(others);
			struct setting setting = setting_for(i, &bcast,
							     is_longer ? own - less : own);
			int nodes = cases[i].cyclic ? 2 : 1, ranks = cases[i].sizes[0];
			hybrid_from = own - less + 1;
			wrong_each = is_longer ? own : own - less;
			for (int local = 1; local < ranks; local++) {
				wrong = local * nodes;
				run_calls(&setting, cases[i].levels, 2, CS_OUT_BY_SIZE, CHUNK, 0);
				run_calls(&setting, cases[i].levels, 2, CS_OUT_BY_SIZE, CHUNK,
					  cases[i].cyclic ? 1 : ranks);
			}
		}
	hybrid_from = SIZE_MAX;
	wrong_each = 0;
}

/* In one round, whose order is that of nodes, and in several. */
TEST(so_does_an_allgather)
{
	const struct cs_algorithm *allgather = cs_algorithm_by_name(CS_ALLGATHER, "hier:host");
	for (size_t i = 0; i < COUNT(cases); i++)
		for (int rounds = 1; rounds <= 3; rounds += 2) {
			size_t all = 0, each = (size_t)16 << 10;
			struct setting setting = setting_for(i, &allgather, each * (size_t)rounds);
			for (const int *size = setting.sizes; *size; size++)
				all += (size_t)*size * each;
			run_calls(&setting, cases[i].levels, 2, CS_OUT_HYBRID, all, -1);
			size_t children = lesser(cases[i].groups - 1, 2);
			expect_out(i, "allgather", 2, counted.mates + children,
				   all * (size_t)rounds);
			run_calls(&setting, cases[i].levels, 2, CS_OUT_COPY, all, -1);
			expect_out(i, "allgather by copies", 0, (size_t)cases[i].sizes[0],
				   all * (size_t)rounds);
		}
}

/* Any sizes and roots, several lanes, several calls, in place, and ranks that are late. */
TEST(results_are_right_whoever_is_late)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(120); seed++) {
		struct setting setting = setting_of(seed, true, 1);
		size_t i = seed % COUNT(cases);
		setting.colls = CS_SET(CS_ALLGATHER) | CS_SET(CS_ALLGATHERV) | CS_SET(CS_BCAST);
		setting.are_scripts = setting.is_blocking = true;
		setting.is_starving = seed % 2;
		setting.calls += 6;
		if (seed % 3)
			memcpy(setting.sizes, cases[i].sizes, sizeof cases[i].sizes);
		run_calls(&setting, cases[i].levels, 1 + seed % 3, CS_OUT_HYBRID,
			  (size_t)1024 << seed % 5, -1);
	}
}

RUN_TESTS(NULL, NULL)
