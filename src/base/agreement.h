/* base/agreement.h — what all processes of a job tell each other when it begins: whether everybody
 * can, and wants the same.
 *
 *        0            each rank has words of its own; the least of each goes up a binomial tree to
 *                     rank 0
 *      / | \          and comes down again, and with it what rank 0 alone has to say
 *     1  2  4
 *        |  | \
 *        3  5  6      Without a module a process takes part by the door; without the library not.
 *
 * It is made of messages, not of a collective: in a job of which some ranks have no collshim, their
 * first non-blocking collective would be taken for it (with Open MPI there is one in the
 * duplication of a communicator). The messages are the same in every version, so that different
 * versions find out that they are different: add words at the end if you must, and none beyond
 * CS_AGREED_WORDS. */
#ifndef CS_BASE_AGREEMENT_H
#define CS_BASE_AGREEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_agreed {
	CS_AGREED_DIGEST,     /* of version, settings and tuning; all ones: has none */
	CS_AGREED_DIGEST_NOT, /* its complement, so that the least is that of the greatest; all
			       * ones: has none */
	CS_AGREED_CAN,        /* 1: this process could start; in the end: all could */
	CS_AGREED_ENABLED,    /* 1: not disabled; in the end: nobody is */
	CS_AGREED_CANNOT,     /* 1: this process could not start; in the end: nobody could */
	CS_AGREED_TROUBLES,   /* digest of the lines that are kept (base/log.h); in the end: rank
			       * 0's */
	CS_AGREED_RECORDS,    /* 1: this process records arrivals; in the end: all do */
	CS_AGREED_WORDS = 8   /* the rest is 0 */
};

#define CS_AGREED_TAG 31415

/* Seconds that a rank waits if COLLSHIM_INIT_TIMEOUT is not set: longer than starting the largest
 * job takes, on the slowest disk. */
#define CS_AGREED_SECONDS 300

/* Messages of bytes between the ranks of the whole job. One is in flight at a time. */
struct cs_agreement_wire {
	int rank, size;
	int seconds; /* to wait for the others; 0: for ever */
	/* Begin to send or receive; false: refused. */
	bool (*send)(const void *data, int bytes, int to);
	bool (*receive)(void *data, int bytes, int from);
	/* Looks at the one that was begun last and sets is_done; false: it failed. */
	bool (*test)(bool *is_done);
	/* Ends the job. May return, and is then called again. */
	void (*end)(void);
};

/* Gives the log the number that all processes of this job on this node know. The ranks of a job on
 * a node are children of one process, and no others are. */
void cs_agreement_name_job(void);

/* Collective over all ranks, as long as it takes. After ten seconds one line says what is wrong;
 * after wire->seconds one names the rank that is missing, and the job ends. Going on without it is
 * no way out: it has a message of ours by then, which the next receive from any rank would take for
 * the program's. False: the messages failed. */
bool cs_agreement_make(const struct cs_agreement_wire *wire, uint64_t words[CS_AGREED_WORDS]);

/* After it: this process tells the lines that it kept if they are not also rank 0's, unless another
 * one on its node has told the same ones. (Rank 0 tells its own at once.) `troubles`: their
 * digest. */
void cs_agreement_tell(const struct cs_agreement_wire *wire, uint64_t troubles,
		       const uint64_t words[CS_AGREED_WORDS]);

/* Reports `troubles` without an agreement: the first process of each node does, with `after` behind
 * each line. */
void cs_agreement_tell_alone(uint64_t troubles, const char *after);

#endif
