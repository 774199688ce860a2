/* trace/report_remedy.c — what a user may do about calls that were left to the MPI. */
#include "trace/report.h"

#include <string.h>

const char *
cs_report_remedy(const char *why)
{
	/* By how the reason begins (man 7 collshim, REASONS). */
	static const struct {
		const char *begin, *remedy;
	} remedies[] = {
		{ "team not made yet", "COLLSHIM_TEAM_AFTER=1 makes teams with the first call" },
		{ "forced by COLLSHIM_", "unset this variable" },
		{ "excluded by COLLSHIM_", "unset this variable" },
		{ "disabled by COLLSHIM_DISABLE", "unset this variable" },
		{ "shared memory is switched off by COLLSHIM_SHM", "unset this variable" },
		{ "the budget of shared memory is spent", "a larger COLLSHIM_SHM_BUDGET" },
		{ "shared memory is full", "a larger /dev/shm, or COLLSHIM_SHM=memfd" },
		{ "no shared memory could be made", "COLLSHIM_SHM=memfd, or a larger /dev/shm" },
		{ "the machine has too little memory", "fewer ranks on the node" },
		{ "the control group has too little memory", "more memory for the job" },
		{ "no rule", "collshim-tune writes rules for this machine" },
		{ "plans send by MPI, not by verbs",
		  "COLLSHIM_WIRE=ib, if the nodes have InfiniBand" },
		{ "one node only", "another algorithm for this variable or rule" },
		{ "the ranks differ in version", "the same library and settings on all ranks" },
		{ "the operation is not commutative",
		  "another algorithm for this variable or rule" },
		{ "built-in rule", "collshim-tune measures whether an algorithm is faster here" },
	};
	for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
		if (!strncmp(why, remedies[i].begin, strlen(remedies[i].begin)))
			return remedies[i].remedy;
	return NULL;
}
