/* tools/overrides.h — why a call goes to the MPI whatever is chosen: before anybody is asked
 * (comm/teams/comm.c, comm/calls/serve_common.h), or since a variable keeps the library out. */
#ifndef CS_TOOLS_OVERRIDES_H
#define CS_TOOLS_OVERRIDES_H

#include "algorithms/algorithm.h"
#include "base/settings.h"

struct cs_override {
	const char *name, *text;
};

#define CS_OVERRIDES 6

/* Returns how many hold; `found` has CS_OVERRIDES places. `mpi` as in cs_machine. */
static inline int
cs_tools_overrides(const struct cs_facts *facts, const struct cs_settings *settings,
		   const char *mpi, struct cs_override *found)
{
#define WITHOUT_IT " sends every call to the MPI: what is above holds without it"
	const struct {
		bool holds;
		struct cs_override is;
	} all[CS_OVERRIDES] = {
		{ facts->ranks == 1,
		  { "one-rank", "the calls of a communicator of one rank stay with the MPI" } },
		{ facts->bytes == 0 && facts->coll != CS_BARRIER,
		  { "no-bytes", "a call that moves nothing stays with the MPI" } },
		{ settings->is_disabled, { "disabled", "COLLSHIM_DISABLE=1" WITHOUT_IT } },
		{ settings->shm == CS_SHM_OFF, { "shm-off", "COLLSHIM_SHM=off" WITHOUT_IT } },
		{ facts->is_nonblocking && !settings->is_nonblocking,
		  { "nonblocking-off", "COLLSHIM_NONBLOCKING=off sends such calls to the MPI" } },
		{ facts->is_nonblocking && facts->nodes > 1 && !mpi,
		  { "mpich-nodes",
		    "under MPICH it stays with the MPI (" CS_NOT_WITH_MESSAGES ")" } },
	};
	int count = 0;
	for (int i = 0; i < CS_OVERRIDES; i++)
		if (all[i].holds)
			found[count++] = all[i].is;
	return count;
}

#endif
