/* ib_world.h — N processes of src/ib in one, on the fake fabric, with a host's wire between them.
 *
 *   process 0        process 1       ...   each a struct cs_ib; world_progress lets one of them
 *                                          look after itself
 *   wires[0] ------- wires[1]              a group: one wire of verbs per rank
 *      host  ------- host                  below it, the host's: queues in memory, slow by draw
 *
 * All is one thread: nothing may wait, what is asked for is tested in turns. Lines on stderr are
 * kept instead of written, and each reason is said once, as by the processes of one node. abort()
 * jumps to world.jump. Link with WORLD_WRAPPED. */
#ifndef CS_TESTS_UNIT_IB_WORLD_H
#define CS_TESTS_UNIT_IB_WORLD_H

#include "fake_verbs.h"
#include "ib/ib.h"
#include "unit.h"

enum { WORLD_MOST = 5, WORLD_GROUPS = 3, WORLD_ARENA = 1 << 20, WORLD_REQUESTS = 1024 };

struct world_group {
	int ranks, members[WORLD_MOST]; /* by rank: the process */
	struct cs_wire *wires[WORLD_MOST], *hosts[WORLD_MOST];
	struct cs_request *requests[WORLD_MOST];
	struct world_mail *mail;
	struct world_group *next;
};

extern struct world {
	/* These three outlive world_open. */
	uint64_t random;
	const struct cs_verbs *verbs; /* NULL: the fake's */
	void (*give_way)(void);       /* in a wait, where each process has a stack; NULL: none */
	int size;
	struct cs_ib *ibs[WORLD_MOST];
	char *arenas[WORLD_MOST]; /* pinned, for direct messages */
	void *pins[WORLD_MOST];
	jmp_buf jump;
	bool may_abort; /* else it fails the test */
	unsigned aborts;
	char said[4096];
	unsigned lines;
	uint64_t progressed; /* calls of host.progress */
	uint64_t by_host;    /* bytes of messages that the host carried */
} world;

/* Small slots and plenty of memory. */
struct cs_ib_options world_options(void);
/* After fake_reset. The options' rank, size and host are filled in; `options` of each process, or
 * the same of all. */
void world_open(int size, const struct cs_ib_options *options, bool is_each);
/* Only process `number`; the others' have been opened or will be. */
enum cs_status world_open_one(int number, int size, const struct cs_ib_options *options, char *why,
			      size_t room);
/* All part, then close in a drawn order. Nothing of the fabric is left then, or the test fails. */
void world_close(void);

/* Empty, closed by world_group_close. The ranks are the members, in their order. */
void world_group_open(struct world_group *group, const int *members, int ranks);
void world_group_close(struct world_group *group);

/* A wire's request of that number, of WORLD_REQUESTS: memory for tests that count theirs. */
struct cs_request *world_request(const struct cs_wire *wire, int number);

/* Tests both, and lets all look after themselves, until both are finished; false if that does not
 * come. */
bool world_finish(struct cs_wire *one, struct cs_request *request, struct cs_wire *other,
		  struct cs_request *other_request);
/* Some process of them looks after itself. */
void world_progress(void);
/* What has been said since the last time is forgotten. */
void world_forget_lines(void);

/* Runs the body in a child, which leaves no leak of jobs that were ended amid something: NULL from
 * it means that all is well, else the test fails with that phrase. */
void world_apart(const char *(*body)(const void *argument), const void *argument);
/* The same, and whether all is well. */
bool world_apart_is_well(const char *(*body)(const void *argument), const void *argument);

#endif
