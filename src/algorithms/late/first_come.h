/* late/first_come.h — a vector handed out to members who say when they are there (seed 002, 3.2,
 * 3.7.2 and 3.9.2, after Patarasuk and Yuan). A member is a rank, or whichever rank of a node came
 * first: nobody need know it before.
 *
 *   rank 5   "5 is here"             -> root
 *   rank 2   "2 is here"             -> root
 *   root     to 5: note { 2 }, data ...    the note says whom it passes the data on to
 *   rank 5   to 2: note { }, data ...          while its own is still coming
 *
 * The root takes those who are there when it looks, while nothing of its own is on its way, and
 * splits them: each gets a part of the rest to serve. With radix 2 and all there at once that is
 * the binomial tree. Or serially, as the paper has it: one of them serves the others one after the
 * other. Or each member is told by some others, whose parent it then is, and sends to each of them.
 *
 * Where a member ends it has received all it is told of, so no message is left behind; the root of
 * a split stays until all members are there. Words go by messages from any source (wire/wire.h),
 * data by others. */
#ifndef CS_ALGORITHMS_LATE_FIRST_COME_H
#define CS_ALGORITHMS_LATE_FIRST_COME_H

#include "algorithms/algorithm.h"
#include "algorithms/hier/message.h"

/* Parameters of algorithms that hand out, which come first. */
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
	uint32_t source, count; /* who sends; ranks behind this, which are to be served */
	uint64_t bytes;         /* of the whole vector, as its root has it */
};

/* One that is served. */
struct cs_first_come_child {
	bool is_used, is_noted, is_sending;
	int rank;
	uint64_t sent; /* chunks */
	char *note;
	struct cs_request note_request, data_request;
};

/* What its user fills in, and begins with cs_first_come_start: */
struct cs_first_come {
	struct cs_wire *wire; /* the host's messages, between all ranks */
	uint64_t number;      /* of messages from any source: this for words, the next for notes */
	uint64_t tag;
	char *base;           /* the vector, `room` bytes */
	size_t room, chunk;
	int members;          /* that there are, at most */
	bool is_root;         /* has the vector */
	bool is_idle;         /* hears words, and serves nobody */
	int expected;         /* words that come here */
	bool is_split;        /* who is heard of is split, and not served one by one */
	int radix;            /* parts, 2 or more; 0: serially */
	int group;            /* most members in a split; 0: any number */
	/* Where it stands. */
	size_t bytes;         /* of the vector, once known */
	uint64_t chunks, have; /* of them: all, and those that are here */
	int source;           /* -1: not known */
	bool is_serial;       /* serves its list one after the other */
	int *list, listed;    /* ranks to be served: [0, listed) */
	int at, left;         /* of the list: the next one, and how many are in the split at hand */
	int share, shares;    /* of it: ranks for each of so many next ones */
	int heard;            /* words */
	bool is_listening, is_awaiting, is_receiving;
	int told, telling;    /* own words: that are over; that have been sent */
	uint32_t own_word, word;
	char *note_in, *notes; /* memory for notes */
	size_t note_bytes, notes_used;
	struct cs_request hears, note_request, data_request, *tells;
	int children_used;
	struct cs_first_come_child children[CS_FIRST_COME_AT_ONCE];
};

/* Takes the numbers of an operation's messages: all ranks of the team do. */
static inline uint64_t
cs_first_come_number(struct cs_op *op)
{
	uint64_t number = op->team->numbers;
	op->team->numbers += 2;
	return number;
}

/* Gives its memory, for the vector of the call; all else is zero. `words`: ranks that will be told,
 * at most. */
struct cs_first_come *cs_first_come_make(struct cs_op *op, uint64_t number, int members, int words);
void cs_first_come_take_params(struct cs_first_come *bcast, const size_t *params);
/* Says that this rank is there. Before the start. */
void cs_first_come_tell(struct cs_first_come *bcast, int rank);
void cs_first_come_start(struct cs_first_come *bcast);
/* Does what can be done now. True: it is over. Else messages are waited for. */
bool cs_first_come_go(struct cs_op *op, struct cs_first_come *bcast);
/* When it is over: notes what the root has sent more or less than was expected. */
void cs_first_come_end(struct cs_op *op, struct cs_first_come *bcast);

/* Is chunk number k of the vector here? */
static inline bool
cs_first_come_has(const struct cs_first_come *bcast, uint64_t k)
{
	return bcast->is_root || bcast->have > k ||
	       (bcast->source >= 0 && bcast->have == bcast->chunks);
}

#endif
