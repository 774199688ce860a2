/* comm/teams/rdma.h — verbs for teams: opened once in a process, agreed on by all ranks of a team,
 * tried before use. */
#ifndef CS_COMM_TEAMS_RDMA_H
#define CS_COMM_TEAMS_RDMA_H

#include "comm/teams/comm.h"
#include "ib/ib.h"

/* Fills in this rank's words for the agreement, and opens the device. Each word's minimum over all
 * ranks decides; seat->rdma holds it if it was agreed on together with something else. */
void cs_rdma_say(int rank, int words[CS_RDMA_WORDS]);

/* Lets a new team on several nodes agree on its plans' wire: verbs, if every rank can (seat->rdma,
 * or agreed here) and a trial exchange with the next node succeeded. Collective over the team. Sets
 * facts.wire, the groups' ib, and pins the node's segment; with COLLSHIM_PROGRESS=thread connects
 * all nodes, and sets facts.by_thread. */
void cs_rdma_agree(struct cs_comm *communicator);
/* Connects this rank with all others of its lane by a word each; at once if it is in none. False:
 * some talk by the MPI. */
bool cs_rdma_connect_lane(struct cs_group *lane);
/* Unpins the node's segment; called before it is unmapped or given to the pool. */
void cs_rdma_drop(struct cs_comm *communicator);

/* This process's verbs, or NULL if they are not open. */
struct cs_ib *cs_rdma_here(void);
/* Adds this process's counters of verbs to the report; nothing if there are no verbs. */
void cs_rdma_report(void);
void cs_rdma_close(void);

#endif
