/* shm/measure.c — measures copies, pages, calls of process_vm_readv, and hops between two ranks. */
#include "shm/measure.h"

#include "base/clock.h"
#include "base/cpu.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define COPIED ((size_t)32 << 10) /* bytes, with their source in a core's own cache */
#define PAGES 16
#define CALLS 4
#define POLLS 1000 /* before a look at the clock, and a yield; a tenth if cores are shared */
#define OVER UINT32_MAX

static uint32_t
limited(uint64_t value)
{
	return value < CS_MEASURE_MOST ? (uint32_t)value : CS_MEASURE_MOST;
}

static uint64_t
lesser_since(uint64_t start, uint64_t least)
{
	uint64_t taken = cs_clock_ns() - start + 1;
	return taken < least ? taken : least;
}

uint32_t
cs_measure_copy_rate(unsigned attempts)
{
	uint64_t least = UINT64_MAX;
	char *memory = malloc(2 * COPIED);
	if (!memory)
		return 0;
	memset(memory, 1, 2 * COPIED);
	for (unsigned i = 0; i < attempts; i++) {
		uint64_t start = cs_clock_ns();
		memcpy(memory + i % 2 * COPIED, memory + (i + 1) % 2 * COPIED, COPIED);
		__asm__ volatile("" ::"r"(memory) : "memory");
		least = lesser_since(start, least);
	}
	free(memory);
	return limited(COPIED * 1000 / least);
}

uint32_t
cs_measure_page_ns(unsigned attempts)
{
	uint64_t least = UINT64_MAX;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < attempts; i++) {
		volatile char *pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED)
			return 0;
		uint64_t start = cs_clock_ns();
		for (size_t k = 0; k < PAGES; k++)
			pages[k * page] = 1;
		least = lesser_since(start, least);
		munmap((void *)pages, PAGES * page);
	}
	return attempts ? limited(least / PAGES) : 0;
}

uint32_t
cs_measure_call_ns(unsigned attempts)
{
	uint64_t least = UINT64_MAX, from = 1, to;
	struct iovec source = { &from, sizeof from }, target = { &to, sizeof to };
	for (unsigned i = 0; i < attempts; i++) {
		uint64_t start = cs_clock_ns();
		for (int k = 0; k < CALLS; k++)
			if (process_vm_readv(getpid(), &target, 1, &source, 1, 0) != sizeof to)
				return 0;
		least = lesser_since(start, least);
	}
	return attempts ? limited(least / CALLS) : 0;
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
cs_measure_hop_ns(_Atomic uint32_t *const ball[2], bool is_second, bool shares_cores,
		  unsigned attempts, uint64_t most_ns)
{
	uint64_t begin = cs_clock_ns(), least = UINT64_MAX, total = 0;
	unsigned polls = shares_cores ? POLLS / 10 : POLLS;
	uint32_t trips = attempts * CS_MEASURE_TRIPS, trip = 0;
	for (uint64_t start = begin; trip < trips; trip++) {
		if (!is_second)
			atomic_store_explicit(ball[0], trip + 1, memory_order_release);
		if (!catch(ball[!is_second], trip + 1, polls, begin + most_ns))
			break;
		if (is_second)
			atomic_store_explicit(ball[1], trip + 1, memory_order_release);
		if ((trip + 1) % CS_MEASURE_TRIPS)
			continue;
		uint64_t now = cs_clock_ns();
		/* The first attempt also waits for the other rank to come. */
		total += trip >= CS_MEASURE_TRIPS ? now - start : 0;
		least = trip >= CS_MEASURE_TRIPS && now - start < least ? now - start : least;
		start = now;
	}
	bool is_complete = trip == trips && trips > CS_MEASURE_TRIPS;
	if (!is_complete)
		atomic_store_explicit(ball[is_second], OVER, memory_order_release);
	if (is_second || !is_complete)
		return 0;
	uint64_t time = shares_cores ? total / (attempts - 1) : least;
	return limited(time / (2 * CS_MEASURE_TRIPS) + 1);
}
