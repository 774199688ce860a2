/* comm/teams/rdma.h — direct verbs for teams: opened once in a process, agreed by all ranks of a
 * team, tried before use. */
#ifndef CS_COMM_TEAMS_RDMA_H
#define CS_COMM_TEAMS_RDMA_H

#include "comm/teams/comm.h"
#include "ib/ib.h"

/* Says what this rank can. What counts is the least of each word over all ranks, which goes into
 * seat->rdma where it has been agreed together with something else. Opens the device. */
void cs_rdma_say(int rank, int words[CS_RDMA_WORDS]);

/* Lets a team that has just been made on several nodes agree by what its plans send: verbs, if
 * every rank can (seat->rdma, or asked here) and an exchange with the next node went well.
 * Collective over the team. Sets facts.wire, the groups' ib, and pins the node's segment. */
void cs_rdma_agree(struct cs_comm *communicator);
/* Gives back what the team has of verbs; called before the node's segment is unmapped or given to
 * the pool. */
void cs_rdma_drop(struct cs_comm *communicator);

/* This process's, once it is open, else NULL. */
struct cs_ib *cs_rdma_here(void);
/* Adds what this process has done by verbs to the report, line by line; nothing if there are no
 * verbs. */
void cs_rdma_report(void);
void cs_rdma_close(void);

#endif
