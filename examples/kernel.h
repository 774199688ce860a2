/* examples/kernel.h — the part that kernels with non-blocking collectives share: options, times,
 * verdicts. */
#ifndef EXAMPLES_KERNEL_H
#define EXAMPLES_KERNEL_H

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number that an option sets. */
struct kernel_option {
	char letter;
	int least, most, value; /* value: the default, before kernel_begin */
};

struct kernel {
	const char *name;
	int rank, ranks, is_blocking, wrong;
	double seconds, in_mpi; /* of the kernel; of that in collectives */
};

/* Initialises MPI and reads -b (blocking calls) and the options, whose end is a letter 0. 0, or -1
 * after a line on rank 0's stderr. */
static inline int
kernel_begin(struct kernel *kernel, const char *name, int argc, char **argv,
	     struct kernel_option *options)
{
	char letters[32] = "b", *end = NULL;
	const char *complaint = NULL;
	int option;
	*kernel = (struct kernel){ .name = name };
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &kernel->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &kernel->ranks);
	for (int i = 0; options[i].letter; i++)
		snprintf(letters + strlen(letters), 3, "%c:", options[i].letter);
	opterr = 0;
	while (complaint == NULL && (option = getopt(argc, argv, letters)) != -1) {
		struct kernel_option *one = options;
		while (one->letter && one->letter != option)
			one++;
		kernel->is_blocking |= option == 'b';
		if (one->letter) {
			long value = strtol(optarg, &end, 10);
			complaint = *end || value < one->least || value > one->most
				    ? "a number is none, or out of its bounds" : NULL;
			one->value = (int)value;
		} else if (option != 'b') {
			complaint = "no such option";
		}
	}
	complaint = complaint == NULL && optind < argc ? "no such option" : complaint;
	if (complaint && kernel->rank == 0)
		fprintf(stderr, "%s: %s\n", name, complaint);
	return complaint ? -1 : 0;
}

/* Allocates zeroed memory, or ends the job. */
static inline void *
kernel_allocate(const struct kernel *kernel, size_t bytes)
{
	void *memory = calloc(bytes ? bytes : 1, 1);
	if (memory == NULL) {
		fprintf(stderr, "%s: no memory\n", kernel->name);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return memory;
}

/* Collective: prints on rank 0 whether all ranks found it right. */
static inline void
kernel_verdict(struct kernel *kernel, const char *what, int is_right)
{
	MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (kernel->rank == 0)
		printf("%s %s\n", what, is_right ? "right" : "wrong");
	kernel->wrong |= !is_right;
}

/* Ends MPI, prints times (of rank 0); the exit code. */
static inline int
kernel_end(struct kernel *kernel)
{
	if (kernel->rank == 0 && kernel->seconds > 0)
		printf("time in collectives %.6f s\ntime %.6f s\n", kernel->in_mpi,
		       kernel->seconds);
	MPI_Finalize();
	return kernel->wrong;
}

/* Adds what a call takes to the time in collectives. */
#define KERNEL_TIMED(kernel, call) \
	do { \
		(kernel)->in_mpi -= MPI_Wtime(); \
		call; \
		(kernel)->in_mpi += MPI_Wtime(); \
	} while (0)

#endif
