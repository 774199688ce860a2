/* comm/teams/team_say.c — exchanges the words of all ranks that decide whether and how they make a
 * team. */
#include "comm/teams/make_team.h"

#include "base/log.h"
#include "comm/host/host.h"
#include "comm/host/yielding.h"

#include <stdlib.h>

void
cs_team_out_of_memory(const char *what, int ranks)
{
	cs_warn_local("no memory for %s of %d ranks; ending the job", what, ranks);
	cs_host_mpi.abort("out of memory");
}

static bool
has_name(const uint64_t *names, uint64_t name)
{
	for (int i = 0; i < CS_POOL_IDLE && names[i]; i++)
		if (names[i] == name)
			return true;
	return false;
}

uint64_t
cs_team_common_name(const uint64_t *names, size_t stride, int ranks)
{
	for (int i = 0; i < CS_POOL_IDLE && names[i]; i++) {
		int rank = 1;
		while (rank < ranks && has_name(names + (size_t)rank * stride, names[i]))
			rank++;
		if (rank == ranks)
			return names[i];
	}
	return 0;
}

/* Are all ranks of a host on one node, for each host? */
static bool
are_nodes_whole(const struct cs_said *all, int ranks)
{
	for (int rank = 0, first = 0; rank < ranks; rank++, first = 0) {
		while (all[first].host != all[rank].host)
			first++;
		if (!all[rank].node || all[first].node != all[rank].node)
			return false;
	}
	return true;
}

/* Evaluates the words of all ranks: the same result on all. */
static void
hear(struct cs_heard *heard, const struct cs_said *all, int ranks)
{
	*heard = (struct cs_heard){ .is_one_node = all->node, .is_alike = true,
				   .split = CS_SPLIT_MAY };
	heard->are_nodes_known = ranks <= CS_TEAM_FEW && are_nodes_whole(all, ranks);
	for (int rank = 0; rank < ranks; rank++) {
		const struct cs_said *said = &all[rank];
		heard->is_one_node &= said->node == all->node;
		heard->is_alike &= said->digest == all->digest;
		if (said->split < heard->split)
			heard->split = (enum cs_split)said->split;
		heard->has_idle |= said->has_idle != 0;
		if (heard->are_nodes_known)
			heard->nodes[rank] = said->node;
		if (said->trouble > heard->trouble)
			heard->trouble = said->trouble;
		if (said->until > heard->until)
			heard->until = said->until;
	}
	_Static_assert(sizeof *all % sizeof *all->idle == 0, "names are words apart");
	if (heard->is_one_node)
		heard->name = cs_team_common_name(all->idle, sizeof *all / sizeof *all->idle,
						  ranks);
}

static bool
exchange_all(struct cs_comm *communicator, const struct cs_said *mine, struct cs_heard *heard)
{
	struct cs_said *all = malloc((size_t)communicator->size * sizeof *all);
	if (!all)
		cs_team_out_of_memory("the word", communicator->size);
	bool ok = !cs_yielding_allgather(mine, (int)sizeof *mine, MPI_BYTE, all,
					 communicator->comm);
	if (ok)
		hear(heard, all, communicator->size);
	free(all);
	return ok;
}

/* As exchange_all, without names and node words, by a number of bytes that does not grow with the
 * ranks. */
static bool
exchange_least(struct cs_comm *communicator, const struct cs_said *mine, struct cs_heard *heard)
{
	enum { NODE, NODE_NOT, DIGEST, DIGEST_NOT, UNTIL_NOT, TROUBLE_NOT, SPLIT, WORDS };
	uint64_t words[WORDS] = {
		[NODE] = mine->node, [NODE_NOT] = ~mine->node, [DIGEST] = mine->digest,
			[DIGEST_NOT] = ~mine->digest,
		[UNTIL_NOT] = ~mine->until, [TROUBLE_NOT] = CS_TROUBLES - mine->trouble,
		[SPLIT] = mine->split,
	};
	uint64_t least[WORDS] = { 0 };
	if (cs_yielding_allreduce(words, least, WORDS, MPI_UINT64_T, MPI_MIN, communicator->comm))
		return false;
	*heard = (struct cs_heard){
		.is_one_node = least[NODE] && least[NODE] == ~least[NODE_NOT],
		.is_alike = least[DIGEST] == ~least[DIGEST_NOT],
		.split = (enum cs_split)least[SPLIT],
		.trouble = (enum cs_trouble)(CS_TROUBLES - least[TROUBLE_NOT]),
		.until = ~least[UNTIL_NOT],
	};
	return true;
}

bool
cs_team_exchange(struct cs_comm *communicator, const struct cs_said *mine, struct cs_heard *heard)
{
	bool is_few = communicator->size <= CS_TEAM_FEW;
	bool is_heard = is_few || exchange_least(communicator, mine, heard);
	bool is_over = !is_few &&
		       (!heard->is_one_node || heard->trouble != CS_TROUBLE_NONE);
	return is_heard && (is_over || exchange_all(communicator, mine, heard));
}
