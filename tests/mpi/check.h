/* tests/mpi/check.h — what the small MPI tests share: a failed check is said with file and line,
 * and counted. */
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static _Atomic int check_failures;
static int check_rank = -1;

/* Says at most ten. */
#define CHECK(is_true, ...)                                                                        \
	do {                                                                                       \
		if (!(is_true) && check_failures++ < 10) {                                         \
			char said[400];                                                            \
			snprintf(said, sizeof said, __VA_ARGS__);                                  \
			fprintf(stderr, "FAILED %s:%d rank %d: %s\n", __FILE__, __LINE__,          \
				check_rank, said);                                                 \
		}                                                                                  \
	} while (0)

static inline void
check_begin(int *argc, char ***argv, int *rank, int *size)
{
	MPI_Init(argc, argv);
	PMPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	PMPI_Comm_size(MPI_COMM_WORLD, size);
	*rank = check_rank;
}

struct check_case {
	const char *name;
	void (*run)(void);
};

/* Runs the cases that the arguments name, or all; a case without a name ends the list. */
static inline void
check_cases(const struct check_case *one, int argc, char **argv)
{
	for (; one->name; one++) {
		int is_wanted = argc == 1;
		for (int k = 1; k < argc; k++)
			is_wanted = is_wanted || !strcmp(argv[k], one->name);
		if (is_wanted)
			one->run();
	}
}

/* Ends the test: every rank gives the same answer. */
static inline int
check_finish(const char *what)
{
	int here = check_failures, all = 0;
	PMPI_Allreduce(&here, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (check_rank == 0)
		printf("%s: %d failed\n", what, all);
	MPI_Finalize();
	return all != 0;
}

#endif
