/* comm/teams/team_places.c — NUMA domains and levels of the ranks of a team's node. */
#include "comm/teams/make_team.h"

#include "base/fake_levels.h"
#include "base/log.h"
#include "comm/engine.h"
#include "topo/node_cost.h"

#include <stdlib.h>

static const struct cs_topo_machine *
machine_of(const struct cs_team *team)
{
	return &((const struct cs_team_table *)team->node.table)->machine;
}

/* Returns the NUMA domain that a local rank is bound to; for tests, one by its place among the
 * node's ranks, of which consecutive parts are in one domain. */
static int
domain_of(struct cs_team *team, int local)
{
	int fake = cs_engine.settings.fake_domains;
	if (fake)
		return (int)((int64_t)local * fake / team->shape.locals);
	return cs_topo_spot(machine_of(team),
			    cs_node_rank(&team->node, local)->cpus).at[CS_TOPO_DOMAIN];
}

void
cs_team_learn_domains(struct cs_team *team)
{
	struct cs_shape *shape = &team->shape;
	int locals = shape->locals;
	if (!team->node.table)
		return;
	cs_topo_learn(machine_of(team));
	int *numa = malloc((size_t)locals * sizeof *numa);
	if (!numa)
		cs_team_out_of_memory("the places of ranks", locals);
	for (int local = 0; local < locals; local++)
		numa[local] = domain_of(team, local);
	shape->numa_domains = cs_lanes_domains(numa, locals);
	if (shape->numa_domains > 1)
		cs_lanes_order(numa, locals, locals < CS_LANES ? locals : CS_LANES,
			       team->lane_local);
	free(numa);
}

#define REASON_LEVELS 104 /* of log lines; no other's */

/* Package and cache of each rank; or for tests. */
static void
find_places(struct cs_team *team, int *package, int *cache)
{
	const char *fake = cs_engine.settings.fake_levels;
	int further = fake && cs_fake_levels_fault(fake) == team->shape.local;
	for (int local = 0; local < team->shape.locals; local++) {
		if (fake) {
			cs_fake_levels_of(fake, local + further, &package[local], &cache[local]);
			continue;
		}
		struct cs_spot spot = cs_topo_spot(machine_of(team),
						   cs_node_rank(&team->node, local)->cpus);
		package[local] = spot.at[CS_TOPO_PACKAGE];
		cache[local] = spot.at[CS_TOPO_CACHE];
	}
}

void
cs_team_learn_levels(struct cs_team *team)
{
	struct cs_shape *shape = &team->shape;
	struct cs_levels *levels = &shape->levels;
	int locals = shape->locals;
	bool is_fake = cs_engine.settings.fake_levels;
	if (!is_fake && (!team->node.table || team->node.facts.shares_cores))
		return;
	int *package = malloc(2 * (size_t)locals * sizeof *package);
	if (!package)
		cs_team_out_of_memory("the places of ranks", locals);
	int *cache = package + locals;
	const struct cs_node_model *site = cs_selector_node_model(cs_engine.selector);
	const struct cs_node_kind *kind =
		team->node.table
		? &cs_node_kinds[((const struct cs_team_table *)team->node.table)->kind]
		: cs_node_kind_here();
	find_places(team, package, cache);
	if (site)
		cs_levels_merge(site, locals, package, cache);
	if (!cs_levels_init(levels, locals, package, cache))
		cs_team_out_of_memory("the levels of ranks", locals);
	cs_levels_price(levels, package, cache, site ? site : &kind->model, kind->shape.cache);
	team->node.readers = cs_node_readers(site ? site : &kind->model);
	free(package);
	if (cs_node_agree(&team->node, cs_levels_digest(levels) >> 17))
		return;
	cs_levels_fini(levels);
	if (shape->local == 0 && cs_log_is_first(REASON_LEVELS))
		cs_warn_local("the ranks of this node see different packages and caches; they do "
			      "without levels");
}
