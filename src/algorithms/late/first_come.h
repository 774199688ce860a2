/* late/first_come.h — broadcast to members that say when they are there (seed 002, 3.2, 3.7.2 and
 * 3.9.2, after Patarasuk and Yuan). A member is a rank, or the rank of a node that came first,
 * which is not known before.
 *
 *   rank 5   "5 is here"             -> root
 *   rank 2   "2 is here"             -> root
 *   root     to 5: note { 2 }, data ...    the note lists the ranks to pass the data on to
 *   rank 5   to 2: note { }, data ...          while its own is still coming
 *
 * The root splits the members that are there when no message of its own is on its way: each child
 * gets a part of the rest to serve. With radix 2 and all there at once this is the binomial tree.
 * Or serially, as the paper has it: one of them serves the others one after the other. Or each
 * member is told by some others, whose parent it then is, and sends to each of them.
 *
 * A member ends after it has received all its words, so no message is left behind; the root of a
 * split stays until all members are there. Words and notes are messages from any source
 * (wire/wire.h), data are not. */
#ifndef CS_ALGORITHMS_LATE_FIRST_COME_H
#define CS_ALGORITHMS_LATE_FIRST_COME_H

#include "algorithms/algorithm.h"
#include "algorithms/hier/message.h"

/* Parameters of such algorithms, their first ones. */
enum {
	CS_FIRST_COME_CHUNK,
	CS_FIRST_COME_K,
	CS_FIRST_COME_SERIAL,
	CS_FIRST_COME_GROUP,
	CS_FIRST_COME_COUNT
};
#define CS_FIRST_COME_PARAMS                                                                       \
	[CS_FIRST_COME_CHUNK] = { "chunk",                                                         \
				  "bytes of a piece that is passed on while the next comes",       \
				  128 << 10, 4 << 10, 64 << 20 },                                  \
	[CS_FIRST_COME_K] = { "k", "ranks that one sends to in a step", 1, 1, 63 },                \
	[CS_FIRST_COME_SERIAL] = { "serial",                                                       \
				   "1: one of those who are there serves the others one "          \
				   "after the other",                                              \
				   0, 0, 1 },                                                      \
	[CS_FIRST_COME_GROUP] = { "group", "most that are served together; 0: all who are there",  \
				  0, 0, 1 << 20 }

#define CS_FIRST_COME_INLINE 1024 /* bytes of data that travel in the note */
#define CS_FIRST_COME_AT_ONCE 32  /* receivers that a member serves at a time */

struct cs_first_come_note {
	uint32_t source, count; /* rank of the sender; ranks to be served, behind the note */
	uint64_t bytes;         /* of the whole vector, as its root has it */
};

/* A child: a member that this one serves. */
struct cs_first_come_child {
	bool is_used, is_noted, is_sending;
	int rank;
	uint64_t sent; /* chunks */
	char *note;
	struct cs_request note_request, data_request;
};

/* State of a broadcast. Its user fills in the first part, and calls cs_first_come_start. */
struct cs_first_come {
	struct cs_wire *wire; /* the host's messages, between all ranks */
	uint64_t number;      /* of messages from any source: of words; the next one of notes */
	uint64_t tag;
	char *base;           /* the vector, `room` bytes */
	size_t room, chunk;
	int members;          /* other than this one, at most */
	bool is_root;         /* has the vector */
	bool is_idle;         /* receives words, and serves nobody */
	int expected;         /* words that come here */
	bool is_split;        /* listed members are split, and not served one by one */
	int radix;            /* parts, 2 or more; 0: serially */
	int group;            /* most members in a split of the root; 0: any number */
	/* Progress. */
	size_t bytes;         /* of the vector, once known */
	uint64_t chunks, have; /* of the vector: all; here */
	int source;           /* rank that sends the data; -1: not known */
	bool is_serial;       /* serves its list one after the other */
	int *list, listed;    /* ranks to be served: [0, listed) */
	int at, left;         /* next index of the list; ranks left of the split at hand */
	int share, shares;    /* ranks for each child; children that get as many */
	int heard;            /* words */
	bool is_listening, is_awaiting, is_receiving;
	int told, telling;    /* own words: over; sent */
	uint32_t own_word, word;
	char *note_in, *notes; /* memory for notes */
	size_t note_bytes, notes_used;
	struct cs_request hears, note_request, data_request, *tells;
	int children_used;
	struct cs_first_come_child children[CS_FIRST_COME_AT_ONCE];
};

/* Takes the numbers of an operation's messages. All ranks of the team call it. */
static inline uint64_t
cs_first_come_number(struct cs_op *op)
{
	uint64_t number = op->team->numbers;
	op->team->numbers += 2;
	return number;
}

/* Makes a state in the operation's memory, for the call's vector; all else is zero. `words`: calls
 * of cs_first_come_tell, at most. */
struct cs_first_come *cs_first_come_make(struct cs_op *op, uint64_t number, int members, int words);
void cs_first_come_take_params(struct cs_first_come *bcast, const size_t *params);
/* Sends `rank` the word that this rank is there. Before the start. */
void cs_first_come_tell(struct cs_first_come *bcast, int rank);
void cs_first_come_start(struct cs_first_come *bcast);
/* Progress without blocking. True: the broadcast is over. False: it waits for messages. */
bool cs_first_come_go(struct cs_op *op, struct cs_first_come *bcast);
/* Ends a broadcast that is over; reports a size other than the call's. */
void cs_first_come_end(struct cs_op *op, struct cs_first_come *bcast);

/* Is chunk number k of the vector here? */
static inline bool
cs_first_come_has(const struct cs_first_come *bcast, uint64_t k)
{
	return bcast->is_root || bcast->have > k ||
	       (bcast->source >= 0 && bcast->have == bcast->chunks);
}

#endif
