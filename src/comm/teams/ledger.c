/* comm/teams/ledger.c — adds up the shared segments of a job's processes on this node. */
#include "comm/teams/ledger.h"

#include "comm/engine.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cs_ledger_page *pages;
static uint64_t charge; /* this process's, in bytes */
static _Atomic int processes; /* of the job on this node; 0: not known before a team of all ranks */

static pthread_once_t groups_once = PTHREAD_ONCE_INIT;
static struct cs_cgroups groups;

static void
find_groups(void)
{
	cs_cgroups_find(&groups, "");
}

/* --- under the lock --------------------------------------------------------------------------- */

static void
publish(void)
{
	for (struct cs_ledger_page *page = pages; page; page = page->next)
		atomic_store(&page->node->self->charge, charge);
}

static void
add(uint64_t more, uint64_t less)
{
	charge += more;
	charge -= less < charge ? less : charge;
	publish();
}

/* Adds up the charges on the node. False: not known, as no team of all ranks is ready. */
static bool
add_up(uint64_t *sum)
{
	struct cs_ledger_page *page = pages;
	while (page && !page->is_ready)
		page = page->next;
	if (!page)
		return false;
	*sum = 0;
	for (int local = 0; local < page->node->shape.size; local++)
		*sum += atomic_load(&cs_node_rank(page->node, local)->charge);
	return true;
}

static uint64_t
most_of_one(uint64_t most)
{
	int known = atomic_load(&processes), of_node = known ? known : cs_settings_local_ranks();
	if (of_node <= 0 || of_node > cs_engine.world_size)
		of_node = cs_engine.world_size;
	return most / (uint64_t)of_node;
}

/* --- pages ------------------------------------------------------------------------------------ */

void
cs_ledger_open_page(struct cs_ledger_page *page, struct cs_node *node)
{
	pthread_mutex_lock(&lock);
	*page = (struct cs_ledger_page){ .node = node, .next = pages };
	pages = page;
	publish();
	pthread_mutex_unlock(&lock);
}

void
cs_ledger_ready_page(struct cs_ledger_page *page)
{
	pthread_mutex_lock(&lock);
	page->is_ready = page->node;
	if (page->node)
		processes = page->node->shape.size;
	pthread_mutex_unlock(&lock);
}

void
cs_ledger_close_page(struct cs_ledger_page *page)
{
	pthread_mutex_lock(&lock);
	for (struct cs_ledger_page **link = &pages; *link; link = &(*link)->next) {
		if (*link == page) {
			*link = page->next;
			break;
		}
	}
	page->node = NULL;
	page->is_ready = false;
	pthread_mutex_unlock(&lock);
}

/* --- charges ---------------------------------------------------------------------------------- */

static uint64_t
budget(void)
{
	return cs_engine.settings.shm_budget ? cs_engine.settings.shm_budget
					     : cs_selector_limits(cs_engine.selector)->shm_budget;
}

/* Most bytes that all of the job's segments on the node may have; `ours`: bytes that they have. */
static uint64_t
most_of_all(uint64_t ours, enum cs_limit *by)
{
	struct cs_headroom headroom;
	pthread_once(&groups_once, find_groups);
	cs_headroom_look(&headroom, &groups, "");
	uint64_t all = headroom.free < UINT64_MAX - ours ? headroom.free + ours : UINT64_MAX;
	*by = all / CS_HEADROOM_PARTS < budget() ? headroom.by : CS_LIMIT_NONE;
	return *by != CS_LIMIT_NONE ? all / CS_HEADROOM_PARTS : budget();
}

static enum cs_refusal
refusal(enum cs_limit by)
{
	return by == CS_LIMIT_NONE ? CS_CLAIM_BUDGET : CS_CLAIM_MEMORY;
}

/* Charges first and adds up then: of two processes that do so at once, at least one sees both
 * charges. */
enum cs_refusal
cs_ledger_claim(struct cs_claim *claim, uint64_t bytes, int sharers, enum cs_limit *by)
{
	uint64_t sum = 0, part = cs_ledger_part(bytes, sharers);
	pthread_mutex_lock(&lock);
	add(bytes, 0);
	bool is_known = add_up(&sum);
	if (!is_known)
		add(part, bytes);
	uint64_t own = charge;
	pthread_mutex_unlock(&lock);
	uint64_t most = most_of_all(is_known ? sum - bytes : atomic_load(&cs_engine.shm_bytes), by);
	*claim = (struct cs_claim){ most, groups.digest, !is_known, is_known ? bytes : part };
	if (is_known ? sum <= most : own <= most_of_one(most))
		return CS_CLAIM_FITS;
	cs_ledger_settle(claim, 0);
	return refusal(*by);
}

void
cs_ledger_settle(struct cs_claim *claim, uint64_t part)
{
	pthread_mutex_lock(&lock);
	add(part, claim->held);
	pthread_mutex_unlock(&lock);
	claim->held = 0;
}

enum cs_refusal
cs_ledger_take(const struct cs_claim *claim, uint64_t part, enum cs_limit *by)
{
	uint64_t most = claim->most;
	bool is_by_share = claim->is_by_share;
	*by = CS_LIMIT_NONE;
	pthread_once(&groups_once, find_groups);
	/* This process commits its part, in its own control group, which has other limits. */
	if (groups.digest != claim->groups) {
		uint64_t own = most_of_all(part, by);
		if (*by != CS_LIMIT_NONE && part > own)
			return CS_CLAIM_MEMORY;
		*by = CS_LIMIT_NONE;
	}
	pthread_mutex_lock(&lock);
	bool fits = !is_by_share || charge + part <= most_of_one(most);
	if (fits)
		add(part, 0);
	pthread_mutex_unlock(&lock);
	return fits ? CS_CLAIM_FITS : CS_CLAIM_BUDGET;
}

void
cs_ledger_give_back(uint64_t part)
{
	pthread_mutex_lock(&lock);
	add(0, part);
	pthread_mutex_unlock(&lock);
}

bool
cs_ledger_is_short(uint64_t bytes, int sharers)
{
	uint64_t sum;
	enum cs_limit by;
	pthread_mutex_lock(&lock);
	uint64_t own = charge + cs_ledger_part(bytes, sharers);
	bool is_known = add_up(&sum);
	pthread_mutex_unlock(&lock);
	uint64_t most = most_of_all(is_known ? sum : atomic_load(&cs_engine.shm_bytes), &by);
	return is_known ? sum + bytes > most : own > most_of_one(most);
}

bool
cs_ledger_is_tight(void)
{
	uint64_t sum;
	pthread_mutex_lock(&lock);
	bool is_tight = add_up(&sum) ? sum > budget() / 2 : charge > most_of_one(budget()) / 2;
	pthread_mutex_unlock(&lock);
	return is_tight;
}
