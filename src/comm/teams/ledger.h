/* comm/teams/ledger.h — the job's bytes in shared segments on this node, checked against the budget
 * and the memory that is left.
 *
 *   process 0   process 1   process 2        a segment of 6 MiB, shared by 0 and 1
 *    charge 3    charge 3    charge 0        each is charged its part
 *       \           |           /
 *        heads in the segment of each team of all ranks: the maker of a segment adds them up
 *
 * Without a team of all ranks no process sees the charges of others, and each has no more than its
 * share: the budget divided by the number of the job's processes on the node. So the budget is kept
 * in any order of teams, without a named object, and the charge of a killed process stays while the
 * others run. */
#ifndef CS_COMM_TEAMS_LEDGER_H
#define CS_COMM_TEAMS_LEDGER_H

#include "shm/headroom.h"
#include "shm/node.h"

#include <stdbool.h>
#include <stdint.h>

/* Page of the ledger: a team of all ranks, in whose rank heads the charges are. In the team's
 * seat. */
struct cs_ledger_page {
	struct cs_node *node; /* NULL: not in the ledger */
	bool is_ready;        /* all ranks of the node have published their charges */
	struct cs_ledger_page *next;
};

/* Called before the team's first agreement, after it, and before its segment is closed, in this
 * order. Closing a page that is not open does nothing. */
void cs_ledger_open_page(struct cs_ledger_page *page, struct cs_node *node);
void cs_ledger_ready_page(struct cs_ledger_page *page);
void cs_ledger_close_page(struct cs_ledger_page *page);

/* Sent by the maker of a segment to the others, which may have limits of their own to check. */
struct cs_claim {
	uint64_t most;    /* bytes of all segments on the node */
	uint64_t groups;  /* digest of the maker's control groups */
	uint64_t is_by_share;
	uint64_t held;    /* bytes that the maker is charged until cs_ledger_settle */
};

enum cs_refusal { CS_CLAIM_FITS, CS_CLAIM_BUDGET, CS_CLAIM_MEMORY };

/* Charges the maker a segment of `bytes` for `sharers` processes, if there is room: all of it,
 * until cs_ledger_settle leaves `part`; only a part if other charges are not known. `by`: the
 * limit, with CS_CLAIM_MEMORY. */
enum cs_refusal cs_ledger_claim(struct cs_claim *claim, uint64_t bytes, int sharers,
				enum cs_limit *by);
void cs_ledger_settle(struct cs_claim *claim, uint64_t part);

/* Charges one of the others its part, if it fits. cs_ledger_give_back returns any process's
 * part. */
enum cs_refusal cs_ledger_take(const struct cs_claim *claim, uint64_t part, enum cs_limit *by);
void cs_ledger_give_back(uint64_t part);

static inline uint64_t
cs_ledger_part(uint64_t bytes, int sharers)
{
	return (bytes + (uint64_t)sharers - 1) / (uint64_t)sharers;
}

/* Would such a segment exceed the limits, as far as this process knows? Asked before idle ones are
 * closed. */
bool cs_ledger_is_short(uint64_t bytes, int sharers);
/* Is more than half of the budget in use? Then idle segments, which other processes cannot close,
 * are not kept. Quick. */
bool cs_ledger_is_tight(void);

#endif
