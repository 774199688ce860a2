/* shm/stall.c — who waits in a stalled call, who is elsewhere, and who has not come. */
#include "shm/stall.h"

#include "base/hash.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES 8 /* of one line */

void
cs_stall_publish(struct cs_node *node, const struct cs_stall *stall)
{
	struct cs_stall_record *record = &node->self->stall;
	uint64_t words[CS_STALL_WORDS] = { 0 };
	memcpy(words, stall, sizeof *stall);
	uint64_t version = atomic_load_explicit(&record->version, memory_order_relaxed) | 1;
	atomic_store_explicit(&record->version, version, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (int i = 0; i < CS_STALL_WORDS; i++)
		atomic_store_explicit(&record->words[i], words[i], memory_order_relaxed);
	atomic_store_explicit(&record->version, version + 1, memory_order_release);
}

bool
cs_stall_look(struct cs_node *node, int local, uint64_t now_ns, struct cs_stall *stall)
{
	const struct cs_stall_record *record = &cs_node_rank(node, local)->stall;
	uint64_t words[CS_STALL_WORDS];
	for (int tries = 0; tries < 100; tries++) {
		uint64_t version = atomic_load_explicit(&record->version, memory_order_acquire);
		for (int i = 0; i < CS_STALL_WORDS; i++)
			words[i] = atomic_load_explicit(&record->words[i], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (version % 2 ||
		    version != atomic_load_explicit(&record->version, memory_order_relaxed))
			continue;
		memcpy(stall, words, sizeof *stall);
		stall->name[CS_STALL_NAME - 1] = stall->site[CS_STALL_SITE - 1] = '\0';
		return version && stall->seen_ns + CS_STALL_FRESH_NS > now_ns;
	}
	return false; /* killed while it wrote */
}

bool
cs_stall_is_mine(struct cs_node *node, uint64_t number)
{
	_Atomic uint64_t *told = &node->head->stall_told;
	uint64_t last = atomic_load(told);
	while (last < number)
		if (atomic_compare_exchange_weak(told, &last, number))
			return true;
	return false;
}

uint64_t
cs_stall_key(const struct cs_node *node, uint64_t number)
{
	const struct cs_segment_head *head = node->segment.base;
	uint64_t hash = cs_hash_number(CS_HASH_START, number);
	hash = cs_hash_number(hash, head ? head->nonce[0] : (uint64_t)getpid());
	return cs_hash_number(hash, head ? head->nonce[1] : (uint64_t)(uintptr_t)node);
}

/* --- in words --------------------------------------------------------------------------------- */

static void
write_time(FILE *out, uint64_t ns)
{
	unsigned long long tenths = ns / 100000000;
	if (tenths < 100)
		fprintf(out, "%llu.%llu s", tenths / 10, tenths % 10);
	else
		fprintf(out, "%llu s", tenths / 10);
}

/* "MPI_Ibcast on MPI_COMM_WORLD (8 ranks), call 17, at app+0x12d1" */
static void
write_call(FILE *out, const struct cs_stall *stall)
{
	const char *name = cs_coll_name(stall->coll);
	if (stall->coll < 0)
		fputs("a first collective", out);
	else
		fprintf(out, "MPI_%c%s", name[0] - 'a' + 'A', name + 1);
	fprintf(out, " on %s%s (%d ranks)", *stall->name ? "" : "a communicator", stall->name,
		stall->size);
	if (stall->coll >= 0)
		fprintf(out, ", call %llu", (unsigned long long)stall->call);
	if (*stall->site)
		fprintf(out, ", at %s", stall->site);
}

/* Local ranks by what they do, in the order of the lines. */
enum doing { WAITS, WAITS_FAR, IS_IN, HAS_LEFT, IS_ELSEWHERE, HAS_NOT_COME, DOINGS };

struct seen {
	enum doing doing;
	struct cs_stall stall; /* of one that waits */
	uint64_t behind;       /* calls, of one that has not come */
	bool is_written;
};

static struct seen
look_at(struct cs_node *node, int local, const struct cs_stall *own)
{
	const struct cs_rank_head *head = cs_node_rank(node, local);
	uint64_t number = own->number;
	uint64_t seq = atomic_load_explicit(&head->lines[number % CS_LINES].seq,
					    memory_order_acquire);
	uint64_t waits = atomic_load_explicit(&head->waits, memory_order_acquire) >> 16;
	uint64_t done = atomic_load_explicit(&head->done, memory_order_acquire);
	uint64_t left = done >> CS_STEP_BITS; /* all calls below it */
	struct seen seen = { .doing = HAS_NOT_COME };
	bool is_waiting = cs_stall_look(node, local, own->seen_ns, &seen.stall);
	bool has_come = seq >> CS_STEP_BITS == number || waits == number ||
			(left == number && done != number << CS_STEP_BITS);
	if (is_waiting && seen.stall.number == number)
		seen.doing = seen.stall.whom < 0 && node->nodes > 1 ? WAITS_FAR : WAITS;
	else if (left > number)
		seen.doing = HAS_LEFT;
	else if (has_come)
		seen.doing = IS_IN;
	else if (is_waiting)
		seen.doing = IS_ELSEWHERE;
	else
		seen.behind = number - left;
	return seen;
}

/* Do two ranks share a line? */
static bool
are_alike(const struct seen *a, const struct seen *b)
{
	return a->doing == b->doing && a->behind == b->behind &&
	       (a->doing != IS_ELSEWHERE ||
		(a->stall.number == b->stall.number && a->stall.call == b->stall.call &&
		 a->stall.coll == b->stall.coll && a->stall.size == b->stall.size &&
		 !strcmp(a->stall.name, b->stall.name) && !strcmp(a->stall.site, b->stall.site)));
}

/* "0-2,5,8-20:4": ranks by rising number, the last with a distance of 4. */
static void
write_ranks(FILE *out, const int *ranks, int count)
{
	fputs(count == 1 ? "rank " : "ranks ", out);
	for (int i = 0, length; i < count; i += length) {
		int apart = i + 1 < count ? ranks[i + 1] - ranks[i] : 0;
		for (length = 1; i + length < count &&
		     ranks[i + length] - ranks[i + length - 1] == apart;)
			length++;
		length = length < 3 ? 1 : length;
		fprintf(out, "%s%d", i ? "," : "", ranks[i]);
		if (length > 1)
			fprintf(out, "-%d", ranks[i + length - 1]);
		if (length > 1 && apart > 1)
			fprintf(out, ":%d", apart);
	}
}

static void
write_processes(FILE *out, struct cs_node *node, const int *locals, int count)
{
	fprintf(out, " (process%s", count == 1 ? "" : "es");
	for (int i = 0; i < count && i < PROCESSES; i++)
		fprintf(out, "%s %lld", i ? "," : "",
			(long long)cs_node_rank(node, locals[i])->pid);
	fputs(count > PROCESSES ? ", ...)" : ")", out);
}

/* One line: of the ranks that do the same as local rank `first`. `room`: two ints for each. */
static void
write_alike(FILE *out, struct cs_node *node, struct seen *seen, int first,
	    const struct cs_stall *own, int *room)
{
	static const char *const words[DOINGS] = {
		[WAITS] = "waiting in it", [WAITS_FAR] = "waiting in it for other nodes",
		[IS_IN] = "at work in it", [HAS_LEFT] = "over with it",
		[IS_ELSEWHERE] = "in another call", [HAS_NOT_COME] = "not there" };
	int *locals = room, *ranks = room + node->shape.size, count = 0;
	uint64_t since = UINT64_MAX;
	for (int local = first; local < node->shape.size; local++) {
		struct seen *one = &seen[local];
		if (one->is_written || !are_alike(one, &seen[first]))
			continue;
		one->is_written = true;
		ranks[count] = node->rank_of ? node->rank_of[local] : local;
		locals[count++] = local;
		since = one->stall.since_ns < since ? one->stall.since_ns : since;
	}
	bool may_be_far = seen[first].doing == IS_IN && node->nodes > 1;
	fprintf(out, "  %s%s: ", words[seen[first].doing],
		may_be_far ? ", or in the MPI between nodes" : "");
	write_ranks(out, ranks, count);
	if (seen[first].doing >= IS_IN)
		write_processes(out, node, locals, count);
	if (seen[first].behind)
		fprintf(out, ", %llu call%s behind", (unsigned long long)seen[first].behind,
			seen[first].behind == 1 ? "" : "s");
	if (seen[first].doing == IS_ELSEWHERE) {
		fputs(": ", out);
		write_call(out, &seen[first].stall);
		fputs(", for ", out);
		write_time(out, own->seen_ns > since ? own->seen_ns - since : 0);
	}
	putc('\n', out);
}

void
cs_stall_write(FILE *out, struct cs_node *node, const struct cs_stall *own, const char *detail)
{
	char host[HOST_NAME_MAX + 1] = "?";
	int size = node ? node->shape.size : 0;
	struct seen *seen = calloc((size_t)size + 1, sizeof *seen);
	int *room = calloc(2 * (size_t)size + 1, sizeof *room);
	gethostname(host, sizeof host - 1);
	fputs("stalled for ", out);
	write_time(out, own->seen_ns - own->since_ns);
	fputs(": ", out);
	write_call(out, own);
	if (own->root >= 0)
		fprintf(out, ", root %d", own->root);
	if (own->bytes)
		fprintf(out, ", %llu bytes", (unsigned long long)own->bytes);
	fprintf(out, "%s, on %s\n", detail, host);
	for (int local = 0; seen && room && local < size; local++)
		seen[local] = look_at(node, local, own);
	for (enum doing doing = 0; seen && room && doing < DOINGS; doing++)
		for (int local = 0; local < size; local++)
			if (seen[local].doing == doing && !seen[local].is_written)
				write_alike(out, node, seen, local, own, room);
	free(room);
	free(seen);
}
