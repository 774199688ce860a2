/* select/learnt.h — rules that a job has learnt by measuring its own calls, and the tuning file
 * that keeps them for later jobs (COLLSHIM_ADAPT_FILE).
 *
 *   while the job runs  cs_learnt_add        keeps an entry in the process
 *   at its end          cs_learnt_write      merges the entries into the file
 *   in the next job     cs_selector_create   reads the file's rules (cs_learnt_load)
 *
 * Learnt rules are in blocks of their own, one for each machine and MPI, which are known by their
 * provenance (`command: learnt in a run`). Each is on one line, the newest first, with its times in
 * a comment behind it. */
#ifndef CS_SELECT_LEARNT_H
#define CS_SELECT_LEARNT_H

#include "select/tuning.h"

#include <string.h>

#define CS_LEARNT_COMMAND "learnt in a run"
#define CS_LEARNT_MOST 1024 /* rules that a process keeps, and that a block of the file has */

struct cs_learnt_entry {
	/* The calls and the algorithm that was the fastest of them; `block` and `line` are not
	 * read. Its conditions are those that a rule of this collective may have, else the file
	 * would be wrong, and nothing is written: bytes is CS_RANGE_ALL if not all ranks know the
	 * size. imbalance is 0 where it is not measured, since a rule that asks for it has it
	 * measured. */
	struct cs_rule rule;
	uint64_t ns, host_ns; /* of a call in the mean: by rule.use, and by the host MPI */
	uint64_t calls;       /* measured */
};

/* Keeps a copy, in the place of an earlier entry of the same key: all of the rule but `use`.
 * Dropped without memory, or if there are CS_LEARNT_MOST. Any thread. */
void cs_learnt_add(const struct cs_learnt_entry *entry);

/* Merges the entries kept into the file `path`, which is made if it is not there, and drops them.
 * An entry replaces the rule of the same key in the block of the same machine (MPI, cpu, cores);
 * all other lines of the file stay as they are. The file is replaced in one step under a lock
 * (base/file.h). One that is wrong, of a newer version, or cannot be written stays, which one line
 * says. For one rank of a job, at its end. */
void cs_learnt_write(const char *path, const struct cs_machine *machine);

/* Reads the file; *tuning is the caller's, NULL if there is none. A file that cannot be read or is
 * wrong: CS_BAD_INPUT or CS_SYSTEM, and one line, once in a process. */
CS_CHECKED enum cs_status cs_learnt_load(struct cs_tuning **tuning, const char *path);

static inline bool
cs_block_is_learnt(const struct cs_block *block)
{
	return !strcmp(block->command, CS_LEARNT_COMMAND);
}

#endif
