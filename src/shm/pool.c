#include "shm/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct entry *next;
	struct cs_segment segment; /* valid while idle */
	uint64_t nonce[2];
	bool is_idle;
	int count;
	int64_t pids[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static int idle;

static struct cs_segment_head *
head_of(const struct cs_segment *segment)
{
	return segment->base;
}

static struct entry **
find(const uint64_t nonce[2])
{
	struct entry **link = &entries;
	while (*link && memcmp((*link)->nonce, nonce, sizeof (*link)->nonce))
		link = &(*link)->next;
	return link;
}

void
cs_pool_remember(const struct cs_segment *segment, const int64_t *pids, int count)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = *find(segment->ticket.nonce);
	if (!entry) {
		entry = malloc(sizeof *entry + (size_t)count * sizeof *pids);
		if (entry) {
			*entry = (struct entry){ .next = entries, .count = count };
			memcpy(entry->nonce, segment->ticket.nonce, sizeof entry->nonce);
			memcpy(entry->pids, pids, (size_t)count * sizeof *pids);
			entries = entry;
		}
	}
	pthread_mutex_unlock(&lock);
}

void
cs_pool_forget(const struct cs_segment *segment)
{
	atomic_store(&head_of(segment)->is_dropped, 1);
	pthread_mutex_lock(&lock);
	struct entry **link = find(segment->ticket.nonce), *entry = *link;
	if (entry) {
		*link = entry->next;
		idle -= entry->is_idle;
		free(entry);
	}
	pthread_mutex_unlock(&lock);
}

bool
cs_pool_put(struct cs_segment *segment)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = *find(segment->ticket.nonce);
	bool kept = entry && idle < CS_POOL_IDLE && !atomic_load(&head_of(segment)->is_dropped);
	if (kept) {
		entry->segment = *segment;
		entry->is_idle = true;
		idle++;
		segment->base = NULL;
	}
	pthread_mutex_unlock(&lock);
	return kept;
}

bool
cs_pool_offer(const int64_t *pids, int count, size_t bytes, struct cs_segment_ticket *ticket)
{
	size_t whole = cs_segment_round(bytes);
	pthread_mutex_lock(&lock);
	struct entry *entry = entries;
	while (entry && !(entry->is_idle && entry->count == count &&
			  entry->segment.bytes == whole &&
			  !memcmp(entry->pids, pids, (size_t)count * sizeof *pids)))
		entry = entry->next;
	if (entry)
		*ticket = entry->segment.ticket;
	pthread_mutex_unlock(&lock);
	return entry;
}

bool
cs_pool_take(const struct cs_segment_ticket *ticket, struct cs_segment *segment)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = *find(ticket->nonce);
	bool found = entry && entry->is_idle;
	if (found) {
		*segment = entry->segment;
		entry->is_idle = false;
		idle--;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

bool
cs_pool_has_idle(void)
{
	pthread_mutex_lock(&lock);
	bool has = idle > 0;
	pthread_mutex_unlock(&lock);
	return has;
}

size_t
cs_pool_evict(bool only_dropped, uint64_t *charge)
{
	size_t bytes = 0;
	*charge = 0;
	pthread_mutex_lock(&lock);
	for (struct entry **link = &entries; *link;) {
		struct entry *entry = *link;
		if (!entry->is_idle || (only_dropped && !atomic_load(&head_of(&entry->segment)->is_dropped))) {
			link = &entry->next;
			continue;
		}
		atomic_store(&head_of(&entry->segment)->is_dropped, 1);
		bytes += entry->segment.bytes;
		*charge += entry->segment.charge;
		cs_segment_close(&entry->segment);
		*link = entry->next;
		idle--;
		free(entry);
	}
	pthread_mutex_unlock(&lock);
	return bytes;
}
