/* shm/node_memory.h — layout of a node's segment: words and lines of each rank, and the node's own
 * words (shm/node.h explains them). */
#ifndef CS_SHM_NODE_MEMORY_H
#define CS_SHM_NODE_MEMORY_H

#include "base/cpu.h"
#include "shm/copy_choice.h"
#include "shm/node_facts.h"

#include <stdatomic.h>
#include <stdint.h>

#define CS_LINES 64
#define CS_MAX_SAME_CORE 64 /* most ranks with the same only core that a rank notes */
#define CS_INLINE 48  /* bytes of payload in a line */
/* Bytes of a small slot: one per line, so that 64 small calls may be under way */
#define CS_SMALL 2048
#define CS_TINY 256 /* the same of less data, so that 64 calls touch few pages */
#define CS_FEW 16 /* small slots that go round as long as nobody is more calls behind */
#define CS_STEP_BITS 22
#define CS_MOST_STEPS (((uint64_t)1 << CS_STEP_BITS) - 16)
/* Step of a slot that is in use until its call is over: its owner reads it, too. */
#define CS_LAST_STEP (((uint64_t)1 << CS_STEP_BITS) - 1)
/* Most call numbers of a node: 50 days' worth, at one call per microsecond; a team on a former
 * team's node, whose numbers continue, has at least half of them. The job then ends with a warning
 * (at the next wait for all), since with reused numbers old lines would look new. The first call
 * has number CS_LINES + 1, so that the number of the call that had its line before is not below
 * 0. */
#define CS_MOST_CALLS ((UINT64_C(1) << (64 - CS_STEP_BITS)) - (1 << 20))
#define CS_MAX_SLOTS 64 /* of a ring, or of an area */
#define CS_AREA_FLAGS 64 /* words behind each large area slot */
#define CS_NODE_TABLE 8192 /* bytes for the machine's table (topo) */
/* Bytes of a small area slot: one per line, so that no small call waits for a slot */
#define CS_AREA_SMALL (16 << 10)
#define CS_PIECE_UNIT 4096 /* above every slot number */

struct cs_line {
	_Alignas(CS_CACHE_LINE) _Atomic uint64_t seq;
	/* The call's signature, and in the lower bits the bytes of cs_line_say: mostly of the
	 * sender's contribution. */
	uint64_t said;
	union {
		unsigned char data[CS_INLINE];
		struct {
			uint64_t slot; /* first slot of the ring in this call, or CS_SLOT_ */
			uint64_t word[5]; /* used by the algorithm */
		};
	};
};
#define CS_SLOT_SMALL UINT64_MAX
#define CS_SLOT_TINY (UINT64_MAX - 1)
#define CS_SLOT_FEW (UINT64_MAX - 2)
_Static_assert(sizeof(struct cs_line) == CS_CACHE_LINE && CS_CACHE_LINE >= 64,
	       "a line is a cache line");

/* Constants of samples and verdicts, and a request for help: if the kernel does not let this rank
 * read another's memory, that rank, which waits in the same call, copies a piece into the room for
 * help in this rank's part. */
#define CS_SAMPLE 32       /* most calls from a sample to the next; less than there are lines */
#define CS_STAMPS 4        /* kept by a rank */
#define CS_VERDICTS_KEPT 4 /* algorithms/epoch.h */
#define CS_VERDICT_WORDS 40
#define CS_HELP (16 << 10) /* bytes of the room for help */
struct cs_copy_request {
	/* `asked`: number of the piece << CS_COPY_REQUEST_BITS | the local rank that is asked,
	 * which copies it to `answered` when the piece is there. */
	_Alignas(CS_APART) _Atomic uint64_t asked;
	_Atomic uint64_t address, bytes;
	_Alignas(CS_APART) _Atomic uint64_t answered;
};
#define CS_COPY_REQUEST_BITS 16

/* A rank's last long wait, a struct cs_stall (shm/stall.h). `version` is odd while it is
 * written. */
#define CS_STALL_WORDS 21
struct cs_stall_record {
	_Alignas(CS_APART) _Atomic uint64_t version;
	_Atomic uint64_t words[CS_STALL_WORDS];
};

/* The first cache lines of a rank's part. */
struct cs_rank_head {
	_Alignas(CS_APART) _Atomic uint64_t done;
	_Atomic uint64_t waits; /* last call in which this rank has waited long: number << 16 |
				 * signature */
	/* By enum cs_area_kind: number of a call << CS_STEP_BITS | uses of area slots that this
	 * rank is done with. */
	_Alignas(CS_APART) _Atomic uint64_t area_done[2];
	/* Written once before the first call. */
	_Alignas(CS_APART) int64_t pid;
	int64_t only_cpu; /* the only CPU that it may use; -1: several */
	uint64_t probe, probe_holds; /* address of a word of this process, and its random value */
	uint64_t cpus[16]; /* affinity, bit per CPU */
	_Atomic uint64_t charge; /* written seldom: comm/teams/ledger.h */
	/* In sampled calls: shm/lateness.h. */
	_Alignas(CS_APART) struct cs_stamp {
		_Atomic uint64_t number; /* of the call; 0: it is being written */
		_Atomic uint64_t came_ns, waited_ns;
	} stamps[CS_STAMPS];
	/* This rank's words for the verdict of an epoch: algorithms/epoch.h. */
	_Alignas(CS_APART) _Atomic uint64_t said_call;
	_Atomic uint64_t said[CS_VERDICT_WORDS];
	struct cs_line lines[CS_LINES];
	_Alignas(CS_CACHE_LINE) char small[CS_LINES][CS_SMALL];
	char tiny[CS_LINES][CS_TINY];
	char few[CS_FEW][CS_SMALL];
	_Alignas(CS_APART) struct cs_copy_choice_words choice;
	struct cs_copy_request copy_request;
	/* Turns of others at this rank's memory by single copy: begun, and over. */
	_Alignas(CS_APART) _Atomic uint64_t turns, turns_over;
	/* By operation, if a report is wanted: shm/arrived.h. */
	_Alignas(CS_APART) _Atomic uint64_t arrived[CS_LINES];
	struct cs_stall_record stall;
};

/* Behind the segment's own header. */
struct cs_node_head {
	_Alignas(CS_APART) _Atomic uint32_t sleepers;
	_Atomic uint32_t copy_requests; /* ranks that now ask for help */
	_Atomic uint32_t has_told; /* mismatch of calls: 1: being reported, 2: reported */
	_Atomic uint64_t stall_told; /* the last stalled call that was reported */
	/* The call number of the last verdict written, and verdicts. */
	_Alignas(CS_APART) _Atomic uint64_t verdict_call;
	_Atomic uint64_t verdicts[CS_VERDICTS_KEPT][CS_VERDICT_WORDS];
	/* By enum cs_area_kind and number of the choice modulo CS_MAX_SLOTS: that number plus 1,
	 * and in bit 0 whether the next slots are at the area's front again. */
	_Alignas(CS_APART) _Atomic uint64_t choices[2][CS_MAX_SLOTS];
	/* Written by local rank 0 when the node is made; 0: not known. */
	_Alignas(CS_APART) uint32_t facts[CS_FACTS_MEASURED];
	struct {
		_Alignas(CS_APART) _Atomic uint32_t ball;
	} hop[2]; /* of cs_measure_hop */
};

#endif
