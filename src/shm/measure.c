/* shm/measure.c — measures facts of a node, and a hop between two ranks. */
#include "base/clock.h"
#include "shm/node_facts.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define COPIED ((size_t)32 << 10) /* bytes */
#define SOURCES ((size_t)512 << 10) /* more than the first cache */
#define PAGES 16
#define POLLS 1000 /* before a look at the clock, and a yield; a tenth if cores are shared */
#define OVER UINT32_MAX

static uint32_t
limited(uint64_t value)
{
	return value < CS_FACT_MOST ? (uint32_t)value : CS_FACT_MOST;
}

/* Does once what is timed. */
static bool
attempt(enum cs_node_fact fact, char *memory, char *room, size_t page)
{
	struct iovec from = { memory, sizeof(uint64_t) }, to = { room, sizeof(uint64_t) };
	if (fact == CS_CALL_NS)
		return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(uint64_t);
	if (fact == CS_COPY_RATE)
		memcpy(room, memory, COPIED);
	for (size_t i = 0; fact == CS_PAGE_NS && i < PAGES; i++)
		memory[i * page] = 1;
	__asm__ volatile("" ::"r"(room), "r"(memory) : "memory");
	return true;
}

uint32_t
cs_measure(enum cs_node_fact fact, unsigned attempts)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), step = COPIED, bytes = COPIED;
	uint64_t least = UINT64_MAX;
	bool is_known = true;
	int flags = MAP_SHARED | MAP_ANONYMOUS | (fact == CS_PAGE_NS ? 0 : MAP_POPULATE);
	if (fact == CS_COPY_RATE)
		bytes = SOURCES;
	if (fact == CS_PAGE_NS)
		bytes = attempts * (step = PAGES * page);
	char *memory = mmap(NULL, bytes + COPIED, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (memory == MAP_FAILED)
		return 0;
	for (unsigned i = 0; is_known && i < attempts; i++) {
		uint64_t start = cs_clock_ns(), taken;
		is_known = attempt(fact, memory + i * step % bytes, memory + bytes, page);
		taken = cs_clock_ns() - start + 1;
		least = taken < least ? taken : least;
	}
	munmap(memory, bytes + COPIED);
	return !is_known ? 0 : fact == CS_COPY_RATE ? limited(COPIED * 1000 / least)
	       : limited(fact == CS_PAGE_NS ? least / PAGES + 1 : least);
}

/* Waits until the other rank's ball is at least `round`. False: it has given up, or it is late. */
static bool
catch(_Atomic uint32_t *ball, uint32_t round, unsigned polls, uint64_t until_ns)
{
	for (unsigned poll = 1; atomic_load_explicit(ball, memory_order_acquire) < round; poll++) {
		if (poll % polls)
			continue;
		if (cs_clock_ns() > until_ns)
			return false;
		sched_yield();
	}
	return atomic_load_explicit(ball, memory_order_relaxed) != OVER;
}

uint32_t
cs_measure_hop(_Atomic uint32_t *const ball[2], bool is_second, bool shares_cores, uint32_t trips,
	       uint64_t most_ns)
{
	uint64_t start = cs_clock_ns(), until = start + most_ns;
	uint32_t trip = 0;
	/* The first trip also waits for the other rank to come. */
	for (; trip <= trips; trip++) {
		start = trip == 1 ? cs_clock_ns() : start;
		if (!is_second)
			atomic_store_explicit(ball[0], trip + 1, memory_order_release);
		if (!catch(ball[!is_second], trip + 1, shares_cores ? POLLS / 10 : POLLS, until))
			break;
		if (is_second)
			atomic_store_explicit(ball[1], trip + 1, memory_order_release);
	}
	if (trip <= trips)
		atomic_store_explicit(ball[is_second], OVER, memory_order_release);
	return is_second || trip <= trips
	       ? 0 : limited((cs_clock_ns() - start) / (2 * (uint64_t)trips) + 1);
}
