/* comm/teams/make_lanes.c — the communicators of a team's lanes: the first ones when the team is
 * made, further ones in the first call that wants them. */
#include "comm/teams/make_team.h"

#include "base/float_guard.h"
#include "base/log.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"
#include "comm/teams/rdma.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define REASON_LANES 105 /* of log lines; no other's */

void
cs_team_place_lanes(struct cs_team *team)
{
	const struct cs_shape *shape = &team->shape;
	team->most_lanes = shape->nodes == 1 ? 0
			   : shape->ppn_min < CS_LANES ? shape->ppn_min : CS_LANES;
	team->turn = shape->nodes == 1 || team->domains > 1 ? 0 : cs_lanes_turn(shape->ppn_min);
	team->lane = CS_LANES;
	for (int lane = 0; lane < team->most_lanes; lane++) {
		if (team->turn)
			team->lane_local[lane] = cs_lanes_local(lane, shape->node, team->turn);
		if (team->lane_local[lane] == shape->local)
			team->lane = lane;
	}
}

enum cs_trouble
cs_team_split_lanes(MPI_Comm comm, const struct cs_team *team, int from, int to,
		    struct cs_group *group)
{
	const struct cs_shape *shape = &team->shape;
	bool is_in_lane = team->lane >= from && team->lane < to;
	/* Order by node: in lanes other than the leaders' the order of ranks may be another. */
	MPI_Errhandler handler;
	int result = cs_team_quiet(comm, &handler);
	if (!result) {
		result = cs_pmpi.Comm_split(comm, is_in_lane ? team->lane : MPI_UNDEFINED,
					    shape->node, &group->comm);
		atomic_fetch_add(&cs_engine.team_calls, 1);
		cs_team_unquiet(comm, &handler);
	}
	if (result) {
		group->comm = MPI_COMM_NULL;
		return CS_TROUBLE_NO_COMM;
	}
	if (!is_in_lane)
		return CS_TROUBLE_NONE;
	cs_group_count(group);
	group->nodes = shape->nodes;
	group->node = shape->node;
	group->ints = calloc(4 * (size_t)shape->nodes, sizeof(int));
	cs_pmpi.Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
	return group->ints ? CS_TROUBLE_NONE : CS_TROUBLE_NO_MEMORY;
}

/* Makes the lanes from those that there are up to `to`; all ranks have theirs, or none has. */
static enum cs_trouble
make(const struct cs_seat *seat, int to, struct cs_group *group)
{
	const struct cs_team *team = &seat->team;
	MPI_Comm comm = seat->everyone.parent;
	enum cs_trouble trouble = cs_groups_are_many() ? CS_TROUBLE_NO_SHARE
				  : atomic_load(&cs_engine.has_duplicated) ? CS_TROUBLE_MIGHT_HANG
									   : CS_TROUBLE_NONE;
	trouble = cs_team_agree_on(comm, trouble);
	if (trouble != CS_TROUBLE_NONE)
		return trouble;
	trouble = cs_team_split_lanes(comm, team, team->lanes, to, group);
	trouble = cs_team_agree_on(comm, trouble);
	/* A thread that steps non-blocking calls without the MPI does so in all lanes. */
	if (trouble != CS_TROUBLE_NONE || !seat->selection.facts.by_thread)
		return trouble;
	return cs_team_agree_on(comm, cs_rdma_connect_lane(group) ? CS_TROUBLE_NONE
								  : CS_TROUBLE_NO_WIRE);
}

static void
tell_refused(const struct cs_seat *seat, enum cs_trouble trouble)
{
	static atomic_bool is_known;
	static _Atomic int is_said;
	MPI_Comm comm = seat->everyone.parent;
	int rank = seat->team.shape.rank;
	if (trouble == CS_TROUBLE_MIGHT_HANG || atomic_exchange(&is_known, true) ||
	    !cs_team_is_spokesman(comm, rank) || !cs_log_is_first(REASON_LANES))
		return;
	cs_log_warn_local(&is_said, "%s; this communicator (%d ranks) stays with %d lane%s",
			  cs_team_words(trouble), seat->team.shape.ranks, seat->team.lanes,
			  seat->team.lanes == 1 ? "" : "s");
}

static void
make_more(struct cs_seat *seat, int to)
{
	struct cs_team *team = &seat->team;
	struct cs_group none = { .comm = MPI_COMM_NULL, .parent = MPI_COMM_NULL };
	bool is_in_lane = team->lane >= team->lanes && team->lane < to;
	struct cs_group *group = is_in_lane ? &seat->leaders : &none;
	enum cs_trouble trouble = make(seat, to, group);
	if (trouble != CS_TROUBLE_NONE) {
		cs_group_close(group);
		team->most_lanes = team->lanes;
		tell_refused(seat, trouble);
		return;
	}
	if (is_in_lane)
		team->leaders = group;
	team->lanes = to;
	if (team->shape.rank == 0)
		cs_info("team of %d ranks on %d nodes: %d lanes%s", team->shape.ranks,
			team->shape.nodes, to, team->domains > 1 ? ", by NUMA domain" : "");
}

void
cs_host_make_lanes(void *everyone, int lanes)
{
	struct cs_seat *seat =
		(struct cs_seat *)(void *)((char *)everyone - offsetof(struct cs_seat, everyone));
	struct cs_float_state floats;
	int saved = errno;
	cs_float_hold(&floats);
	make_more(seat, lanes);
	cs_float_release(&floats);
	errno = saved;
}
