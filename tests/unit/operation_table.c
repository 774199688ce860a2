/* operation_table.c walks the table of algorithms. */
#include "operation_table.h"

#define AT_ONCE 6 /* algorithms in a case */

/* Ranks on nodes. */
struct layout {
	int sizes[WORLD_MOST + 1];
	bool cyclic;
};

#define LAYOUTS 6
static const char *const placements[PLACEMENTS] = { "on one node", "on nodes, consecutive",
						    "on nodes, mixed", "on a node each" };

/* Each node has one rank, then the rest are given to some of them. */
static void
deal(struct layout *layout, int ranks, int nodes, uint64_t *random)
{
	for (int node = 0; node < nodes; node++)
		layout->sizes[node] = 1;
	for (int rank = nodes; rank < ranks; rank++)
		layout->sizes[random_below(random, (uint32_t)(nodes + 1) / 2 + 1) %
			      (uint32_t)nodes]++;
}

/* One node; two times nodes whose number is a power of two, and any other; a node each. False:
 * there are no such ones. */
static bool
make_layout(struct layout *layout, int ranks, int which, uint64_t *random)
{
	*layout = (struct layout){ .cyclic = which % 2 == 0 };
	if (which == 0) {
		layout->sizes[0] = ranks;
		return true;
	}
	int nodes = 2;
	while (which <= 2 && nodes * 2 < ranks)
		nodes *= 2;
	if (which >= 3)
		nodes += (int)random_below(random, (uint32_t)(ranks > 3 ? ranks - 2 : 1));
	deal(layout, ranks, which == LAYOUTS - 1 ? ranks : nodes, random);
	return ranks > 2 || which == LAYOUTS - 1;
}

/* Those that serve a call of these ranks. */
static int
list(const struct world *world, const struct cs_algorithm **found)
{
	int count = 0;
	for (int i = 0; cs_algorithm_at(i); i++) {
		const struct cs_algorithm *algorithm = cs_algorithm_at(i);
		struct cs_facts facts = run_facts(world, algorithm->coll, true);
		if (!cs_algorithm_unmet(algorithm, &facts))
			found[count++] = algorithm;
	}
	return count;
}

static void
shuffle(const struct cs_algorithm **found, int count, uint64_t *random)
{
	for (int i = count - 1; i > 0; i--) {
		int other = (int)random_below(random, (uint32_t)i + 1);
		const struct cs_algorithm *swapped = found[i];
		found[i] = found[other];
		found[other] = swapped;
	}
}

static struct setting
any_setting(uint64_t seed, const struct layout *layout, bool is_blocking)
{
	struct setting setting = setting_of(seed, true, 1 + (int)(seed % RUN_MOST_UNDER_WAY));
	memcpy(setting.sizes, layout->sizes, sizeof setting.sizes);
	setting.cyclic = layout->cyclic;
	setting.is_starving = seed / RUN_MOST_UNDER_WAY % 4 == 0;
	setting.is_blocking = is_blocking;
	setting.under_way = is_blocking ? 1 : setting.under_way;
	return setting;
}

static bool must_be[CS_MOST_ROWS][WORLD_MOST + 1][PLACEMENTS];

static void
walk_layout(const struct layout *layout, bool is_blocking,
	    int (*run_case)(const struct setting *setting), uint64_t *random)
{
	static uint64_t cases;
	const struct cs_algorithm *found[CS_MOST_ROWS];
	uint64_t seed = first_seed();
	struct setting setting = any_setting(seed, layout, is_blocking);
	struct world world;
	world_make(&world, setting.sizes, setting.cyclic, 1, &setting.shape, 1);
	int count = list(&world, found);
	for (int i = 0; i < count; i++)
		must_be[cs_algorithm_number(found[i])][world.ranks][run_placement(&world)] = true;
	world_clear(&world);
	shuffle(found, count, random);
	for (int first = 0; first < count; first += AT_ONCE) {
		setting = any_setting(seed + cases++, layout, is_blocking);
		setting.algorithms = found + first;
		setting.calls = count - first < AT_ONCE ? count - first : AT_ONCE;
		run_case(&setting);
	}
}

/* Returns for how many numbers of ranks it was right everywhere. */
static int
check_row(const struct cs_algorithm *algorithm)
{
	int row = cs_algorithm_number(algorithm), proven = 0;
	for (int ranks = 2; ranks <= WORLD_MOST; ranks++) {
		bool is_proven = false;
		for (enum placement placement = 0; placement < PLACEMENTS; placement++) {
			is_proven = is_proven || run_proven[row][ranks][placement];
			if (must_be[row][ranks][placement] && !run_proven[row][ranks][placement])
				fail_msg("%s %s has never been run by %d ranks %s, which it serves",
					 cs_colls[algorithm->coll].name, algorithm->name, ranks,
					 placements[placement]);
		}
		proven += is_proven;
	}
	return proven;
}

void
table_walk(bool is_blocking, int (*run_case)(const struct setting *setting))
{
	uint64_t random = first_seed();
	int rows = 0;
	memset(run_proven, 0, sizeof run_proven);
	memset(must_be, 0, sizeof must_be);
	/* With a share of the cases, some numbers of ranks. */
	for (int ranks = 2; ranks <= WORLD_MOST; ranks += cases_share() > 1 ? 5 : 1)
		for (int which = 0; which < LAYOUTS; which++) {
			struct layout layout;
			/* Stacks take their time to change */
			bool is_left_out = is_blocking && (which == 2 || which == 3);
			if (!is_left_out && make_layout(&layout, ranks, which, &random))
				walk_layout(&layout, is_blocking, run_case, &random);
		}
	for (int i = 0; cs_algorithm_at(i); i++) {
		const struct cs_algorithm *algorithm = cs_algorithm_at(i);
		/* There are numbers of ranks that each one serves, the powers of two at least. */
		if (check_row(algorithm) < 3)
			fail_msg("%s %s is hardly ever run", cs_colls[algorithm->coll].name,
				 algorithm->name);
		rows++;
	}
	print_message("%d algorithms were right for each of 2 to %d ranks that they serve\n", rows,
		      WORLD_MOST);
}
