/* shm/shared.c — table of the mappings that ranks of the node have in common. */
#include "shm/shared.h"

#include "trace/report.h"

#include <pthread.h>
#include <stdlib.h>

static struct known {
	const void *owner;
	uintptr_t from, to;
	struct cs_shared_place place; /* of `from` */
} *all;
static size_t count, room;
_Atomic unsigned cs_shared_known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct known *
find(uintptr_t from, size_t bytes)
{
	for (const struct known *known = all; known < all + count; known++)
		if (known->from <= from && from < known->to && bytes <= known->to - from)
			return known;
	return NULL;
}

struct cs_shared_place
cs_shared_find_slow(const void *memory, size_t bytes)
{
	struct cs_shared_place place = { 0 };
	uintptr_t from = (uintptr_t)memory;
	pthread_mutex_lock(&lock);
	const struct known *known = find(from, bytes);
	if (known)
		place = (struct cs_shared_place){ known->place.file,
					   known->place.at + (from - known->from) };
	pthread_mutex_unlock(&lock);
	return place;
}

void
cs_shared_count(void)
{
	cs_report_more(CS_SUM_SHARED);
}

void
cs_shared_add_as(const void *owner, const void *memory, size_t bytes, struct cs_shared_place place)
{
	uintptr_t from = (uintptr_t)memory;
	pthread_mutex_lock(&lock);
	struct known *last = count ? &all[count - 1] : NULL;
	if (last && last->owner == owner && last->to == from && last->place.file == place.file &&
	    last->place.at + (last->to - last->from) == place.at) {
		last->to += bytes;
		bytes = 0;
	}
	if (bytes && count == room) {
		struct known *more = realloc(all, 2 * (room + 4) * sizeof *all);
		room = more ? 2 * (room + 4) : room;
		all = more ? more : all;
	}
	if (bytes && count < room)
		all[count++] = (struct known){ owner, from, from + bytes, place };
	atomic_store(&cs_shared_known, (unsigned)count);
	pthread_mutex_unlock(&lock);
}

void
cs_shared_add(const void *owner, const void *memory, size_t bytes, struct cs_mapping *mapping)
{
	uintptr_t from = (uintptr_t)memory;
	bool is_found = mapping->from <= from && from < mapping->to;
	if (!bytes || (!is_found && !cs_mapping_find(memory, mapping)))
		return;
	if (mapping->is_shared && mapping->is_writable && mapping->file &&
	    bytes <= mapping->to - from)
		cs_shared_add_as(owner, memory, bytes,
				 (struct cs_shared_place){ mapping->file,
						    mapping->offset + (from - mapping->from) });
}

void
cs_shared_remove(const void *owner)
{
	size_t kept = 0;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++)
		if (all[i].owner != owner)
			all[kept++] = all[i];
	count = kept;
	if (!count) {
		free(all);
		all = NULL;
		room = 0;
	}
	atomic_store(&cs_shared_known, (unsigned)count);
	pthread_mutex_unlock(&lock);
}
