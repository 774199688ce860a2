/* comm/teams/ledger.h — what the job has in shared segments on this node, against the budget and
 * against the memory that is left.
 *
 *   process 0   process 1   process 2        a segment of 6 MiB, shared by 0 and 1
 *    charge 3    charge 3    charge 0        each is charged its part
 *       \           |           /
 *        heads in the segment of each team of all ranks: who makes a segment adds them up
 *
 * As long as there is no team of all ranks nobody sees the others, and each process has no more
 * than its share: the budget by the number of the job's processes on the node. So the promise is
 * kept in any order of teams, nothing has a name, and what a process was charged that is killed
 * stays charged while the others last. */
#ifndef CS_COMM_TEAMS_LEDGER_H
#define CS_COMM_TEAMS_LEDGER_H

#include "shm/headroom.h"
#include "shm/node.h"

#include <stdbool.h>
#include <stdint.h>

/* A page of the ledger: the heads of a team of all ranks. In the team's seat. */
struct cs_ledger_page {
	struct cs_node *node; /* NULL: not in the ledger */
	bool is_ready;        /* all of the node have published their charges there */
	struct cs_ledger_page *next;
};

/* The three are called before the team's first barrier, after it, and before its segment goes.
 * Closing a page that was not opened does nothing. */
void cs_ledger_open_page(struct cs_ledger_page *page, struct cs_node *node);
void cs_ledger_ready_page(struct cs_ledger_page *page);
void cs_ledger_close_page(struct cs_ledger_page *page);

/* The maker of a segment sends this to the others, who may have to look for themselves. */
struct cs_claim {
	uint64_t most;    /* of all segments on the node */
	uint64_t groups;  /* digest of the maker's control groups */
	uint64_t is_by_share;
	uint64_t held;    /* what the maker is charged meanwhile */
};

enum cs_refusal { CS_CLAIM_FITS, CS_CLAIM_BUDGET, CS_CLAIM_MEMORY };

/* The maker's: is there room for a segment of so many bytes for so many processes? Then it is
 * charged all of it, until cs_ledger_settle leaves `part` of that. `by`: with CS_CLAIM_MEMORY, what
 * the limit is. */
enum cs_refusal cs_ledger_claim(struct cs_claim *claim, uint64_t bytes, int sharers,
				enum cs_limit *by);
void cs_ledger_settle(struct cs_claim *claim, uint64_t part);

/* The others': charges this process its part, if it may be. */
enum cs_refusal cs_ledger_take(const struct cs_claim *claim, uint64_t part, enum cs_limit *by);
void cs_ledger_give_back(uint64_t part);

static inline uint64_t
cs_ledger_part(uint64_t bytes, int sharers)
{
	return (bytes + (uint64_t)sharers - 1) / (uint64_t)sharers;
}

/* Would such a segment be too much, as far as this process can tell? Asked before idle ones make
 * room. */
bool cs_ledger_is_short(uint64_t bytes, int sharers);
/* Is so much of the budget taken that idle segments, which others cannot make room of, are better
 * not kept? Quick. */
bool cs_ledger_is_tight(void);

#endif
