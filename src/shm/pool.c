/* shm/pool.c — pool of former teams' nodes: a list, under a lock. */
#include "shm/pool.h"

#include "base/hash.h"
#include "shm/node_slots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct entry {
	struct entry *next;
	struct cs_node node;
	uint64_t name;
	const void *putter;  /* thread that put it here */
	const void *offerer; /* thread that offers it now, or NULL */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries; /* the last one first */
static _Thread_local char this_thread;

/* Name of an idle node: its nonce and its number of calls. Processes that have not made the same
 * calls with it have no common name, and cannot reuse it. */
static uint64_t
name_of(const struct cs_node *node)
{
	uint64_t name = cs_hash_bytes(CS_HASH_START, node->segment.handle.nonce,
				      sizeof node->segment.handle.nonce);
	return cs_hash_number(name, node->calls) | 1;
}

static _Atomic uint32_t *
drop_mark(const struct cs_segment *segment)
{
	return &((struct cs_segment_head *)segment->base)->is_dropped;
}

void
cs_pool_close(struct cs_segment *segment)
{
	atomic_store(drop_mark(segment), 1);
	cs_segment_close(segment);
}

static size_t
close_entry(struct entry **link, uint64_t *charge)
{
	struct entry *entry = *link;
	size_t bytes = entry->node.segment.bytes;
	*charge += entry->node.segment.charge;
	*link = entry->next;
	cs_node_give_back(&entry->node);
	cs_pool_close(&entry->node.segment);
	free(entry);
	return bytes;
}

/* The oldest entry that is not offered. */
static struct entry **
find_oldest(void)
{
	struct entry **oldest = NULL;
	for (struct entry **link = &entries; *link; link = &(*link)->next)
		if (!(*link)->offerer)
			oldest = link;
	return oldest;
}

static size_t
close_too_many(uint64_t *charge)
{
	size_t count = 0, bytes = 0, closed = 0;
	struct entry **oldest;
	for (struct entry *entry = entries; entry; entry = entry->next) {
		count++;
		bytes += entry->node.segment.bytes;
	}
	while ((count > CS_POOL_IDLE || (count > CS_POOL_LEAST && bytes > CS_POOL_BYTES)) &&
	       (oldest = find_oldest())) {
		size_t now = close_entry(oldest, charge);
		count--;
		bytes -= now;
		closed += now;
	}
	return closed;
}

size_t
cs_pool_put(struct cs_node *node, bool may_keep, uint64_t *charge)
{
	bool is_kept = may_keep && node->key && !atomic_load(drop_mark(&node->segment));
	struct entry *entry = is_kept ? malloc(sizeof *entry) : NULL;
	*charge = 0;
	if (!entry) {
		size_t bytes = node->segment.bytes;
		*charge = node->segment.charge;
		cs_node_give_back(node);
		cs_pool_close(&node->segment);
		return bytes;
	}
	*entry = (struct entry){ .node = *node, .name = name_of(node), .putter = &this_thread };
	node->segment.base = NULL;
	pthread_mutex_lock(&lock);
	entry->next = entries;
	entries = entry;
	size_t closed = close_too_many(charge);
	pthread_mutex_unlock(&lock);
	return closed;
}

static int
offer(uint64_t key, bool is_own, uint64_t *names)
{
	int count = 0;
	for (struct entry *entry = entries; entry && count < CS_POOL_IDLE; entry = entry->next) {
		if (entry->node.key != key || entry->offerer ||
		    (entry->putter == &this_thread) != is_own)
			continue;
		entry->offerer = &this_thread;
		names[count++] = entry->name;
	}
	return count;
}

void
cs_pool_offer(uint64_t key, uint64_t names[CS_POOL_IDLE])
{
	pthread_mutex_lock(&lock);
	int count = key ? offer(key, true, names) : 0;
	if (key && !count)
		count = offer(key, false, names);
	while (count < CS_POOL_IDLE)
		names[count++] = 0;
	pthread_mutex_unlock(&lock);
}

void
cs_pool_take(uint64_t name, struct cs_node *node)
{
	pthread_mutex_lock(&lock);
	for (struct entry **link = &entries; *link;) {
		struct entry *entry = *link;
		bool is_offered = entry->offerer == &this_thread;
		if (is_offered)
			entry->offerer = NULL;
		if (!is_offered || !name || entry->name != name) {
			link = &entry->next;
			continue;
		}
		*node = entry->node;
		*link = entry->next;
		free(entry);
	}
	pthread_mutex_unlock(&lock);
}

bool
cs_pool_has_idle(void)
{
	pthread_mutex_lock(&lock);
	bool has = entries;
	pthread_mutex_unlock(&lock);
	return has;
}

size_t
cs_pool_evict(size_t bytes, uint64_t *charge)
{
	size_t closed = 0;
	struct entry **oldest;
	*charge = 0;
	pthread_mutex_lock(&lock);
	while (closed < bytes && (oldest = find_oldest()))
		closed += close_entry(oldest, charge);
	pthread_mutex_unlock(&lock);
	return closed;
}

size_t
cs_pool_evict_dropped(uint64_t *charge)
{
	size_t closed = 0;
	*charge = 0;
	pthread_mutex_lock(&lock);
	for (struct entry **link = &entries; *link;) {
		if (!(*link)->offerer && atomic_load(drop_mark(&(*link)->node.segment)))
			closed += close_entry(link, charge);
		else
			link = &(*link)->next;
	}
	pthread_mutex_unlock(&lock);
	return closed;
}
