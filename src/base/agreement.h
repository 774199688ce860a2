/* base/agreement.h — agreement of all processes of a job at MPI_Init: whether each can start, and
 * all want the same.
 *
 *   1  duplicate MPI_COMM_WORLD    a communicator of our own: no receive of the program's, not even
 *                                  of a thread that receives anything from anybody while MPI_Init
 *                                  is under way, matches a message of ours
 *   2  allreduce on the duplicate  the least of each word
 *
 * Both are non-blocking: a rank without the library never takes part in them, and a line has to say
 * so. A process without a module takes part by the door (intercept/stand_in.c). The words are the
 * same in every version, so that different versions find out that they are different: add words at
 * the end if you must, and none beyond CS_AGREED_WORDS. */
#ifndef CS_BASE_AGREEMENT_H
#define CS_BASE_AGREEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_agreed {
	CS_AGREED_DIGEST,     /* of version, settings and tuning; all ones: has none */
	CS_AGREED_DIGEST_NOT, /* its complement, so that the least is that of the greatest; all
			       * ones: has none */
	CS_AGREED_CAN,        /* 1: this process could start, 2: and has a COLLSHIM_ADAPT_FILE; in
			       * the end: all could, and have one */
	CS_AGREED_ENABLED,    /* 1: not disabled; in the end: nobody is */
	CS_AGREED_CANNOT,     /* 1: this process could not start; in the end: nobody could */
	CS_AGREED_TROUBLES,   /* digest of the lines that are kept (base/log.h); in the end: rank
			       * 0's */
	CS_AGREED_RECORDS,    /* 1: this process records arrivals; in the end: all do */
	CS_AGREED_MARK,       /* set by cs_agreement_make; other data of a rank without the library
			       * are less */
	CS_AGREED_WORDS
};

/* Bits of a word that are agreed on: MPICH 4.0.2 takes the least of MPI_UINT64_T by its sign. */
#define CS_AGREED_MOST ((uint64_t)INT64_MAX)

/* Seconds that a rank waits if COLLSHIM_INIT_TIMEOUT is not set: longer than starting the largest
 * job takes, on the slowest disk. */
#define CS_AGREED_SECONDS 300

/* Collectives over the whole job. One is under way at a time. */
struct cs_agreement_wire {
	int rank, size;
	int seconds; /* to wait for the others; 0: for ever */
	/* Begin to duplicate MPI_COMM_WORLD (MPI_Comm_idup), and an allreduce of MPI_MIN of
	 * CS_AGREED_WORDS words on the duplicate; false: refused. Both arrays live until `test`
	 * sees its end. */
	bool (*duplicate)(void);
	bool (*allreduce)(const uint64_t *words, uint64_t *least);
	/* Sets is_done if the one that was begun last is complete; false: it failed. */
	bool (*test)(bool *is_done);
	/* Frees the duplicate. */
	void (*free)(void);
	/* Ends the job. May return, and is then called again. */
	void (*end)(void);
};

/* Gives the log the number that all processes of this job on this node know. The ranks of a job on
 * a node are children of one process, and no others are. */
void cs_agreement_name_job(void);

/* Replaces each of the words by the least of all ranks', but for CS_AGREED_TROUBLES, which becomes
 * rank 0's. Collective over all ranks, as long as it takes. After ten seconds one line says what is
 * wrong; after wire->seconds one names the rank without the library, if it is on a node of one that
 * waits, and the job ends: it cannot go on without that rank, which would be in another collective
 * than the others by then. The job ends at once if a rank without the library gave other data.
 * False: the MPI refused. */
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
