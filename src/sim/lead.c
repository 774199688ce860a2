/* sim/lead.c — lets the first, or the last, of those that come to a role lead it. */
#include "sim/actor.h"

/* The role's steps begin at the leader's time. */
static void
lead(struct cs_sim *sim, struct cs_sim_actor *role, struct cs_sim_actor *leader)
{
	role->leader = (int32_t)(leader - sim->actors);
	role->now = leader->now;
	role->chain = leader->chain > role->chain ? leader->chain : role->chain;
	leader->awaits = CS_SIM_ROLE;
	cs_sim_advance(sim, role);
}

void
cs_lead_come(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	const struct cs_sim_step *step = &actor->steps[actor->next];
	struct cs_sim_actor *role = &sim->actors[step->peer];
	int64_t start = actor->now;
	uint32_t number = ++role->came;
	actor->now += sim->model->flag;
	/* Keep the longest chain of all actors that came. */
	role->chain = actor->chain > role->chain ? actor->chain : role->chain;
	if (step->kind == CS_NODE_LEAD || (step->kind == CS_NODE_FIRST && number == 1) ||
	    (step->kind == CS_NODE_LAST && number == step->bytes))
		lead(sim, role, actor);
	else
		cs_sim_go_on(sim, actor, start);
}
