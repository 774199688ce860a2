/* comm/teams/team_places.c — NUMA domains and levels of the ranks of a team's node. */
#include "comm/teams/make_team.h"

#include "base/fake_levels.h"
#include "comm/engine.h"
#include "topo/topo.h"

#include <stdlib.h>

/* Returns the NUMA domain that a local rank is bound to; for tests, one by its place among the
 * node's ranks, of which consecutive parts are in one domain. */
static int
domain_of(struct cs_team *team, int local)
{
	int fake = cs_engine.settings.fake_domains;
	if (fake)
		return (int)((int64_t)local * fake / team->shape.locals);
	return cs_topo_spot(team->node.table,
			    cs_node_rank(&team->node, local)->cpus).at[CS_TOPO_DOMAIN];
}

void
cs_team_learn_domains(struct cs_team *team)
{
	struct cs_shape *shape = &team->shape;
	int locals = shape->locals;
	if (!team->node.table)
		return;
	cs_topo_learn(team->node.table);
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

void
cs_team_learn_levels(struct cs_team *team)
{
	struct cs_shape *shape = &team->shape;
	const char *fake = cs_engine.settings.fake_levels;
	int locals = shape->locals;
	if (!fake && (!team->node.table || team->node.facts.shares_cores))
		return;
	int *package = malloc(2 * (size_t)locals * sizeof *package);
	if (!package)
		cs_team_out_of_memory("the places of ranks", locals);
	int *cache = package + locals;
	for (int local = 0; local < locals; local++) {
		if (fake) {
			cs_fake_levels_of(fake, local, &package[local], &cache[local]);
			continue;
		}
		struct cs_spot spot = cs_topo_spot(team->node.table,
						   cs_node_rank(&team->node, local)->cpus);
		package[local] = spot.at[CS_TOPO_PACKAGE];
		cache[local] = spot.at[CS_TOPO_CACHE];
	}
	if (!cs_levels_init(&shape->levels, locals, package, cache))
		cs_team_out_of_memory("the levels of ranks", locals);
	free(package);
}
