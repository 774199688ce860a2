/* tests/cluster/placement.c — does the cluster in a box give what was asked for?
 *
 *   placement RANKS block|cyclic [REPEATS]        e.g. placement 1,2,3 cyclic
 *
 * Every rank works out on which node it ought to be, and compares: host name, the ranks that MPI
 * says share its node, and a /dev/shm that only its own node's ranks see. Then a few collectives
 * with known results, REPEATS times. */
#include <mpi.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NODES = 100 };

static int world_rank;
static int failures;

#define EXPECT(claim, ...) \
	do { \
		if (!(claim)) { \
			failures++; \
			fprintf(stderr, "FAILED  rank %d: " #claim ": ", world_rank); \
			fprintf(stderr, __VA_ARGS__); \
			fputc('\n', stderr); \
		} \
	} while (0)

static int
parse_ranks(const char *text, int counts[MAX_NODES])
{
	int nodes = 0;
	for (char *end; nodes < MAX_NODES; text = end + 1) {
		counts[nodes] = (int)strtol(text, &end, 10);
		if (end == text || counts[nodes] < 1)
			return 0;
		nodes++;
		if (*end != ',')
			return *end == '\0' ? nodes : 0;
	}
	return 0;
}

/* The node of a rank: block placement fills node after node, cyclic deals round those that have
 * room. */
static int
expected_node(int rank, const int *counts, int nodes, int is_cyclic)
{
	int next = 0;
	if (!is_cyclic) {
		for (int node = 0; node < nodes; node++) {
			next += counts[node];
			if (rank < next)
				return node;
		}
		return -1;
	}
	for (int turn = 0; next <= rank; turn++) {
		for (int node = 0; node < nodes; node++) {
			if (turn < counts[node] && next++ == rank)
				return node;
		}
	}
	return -1;
}

static void
check_shm_is_private(MPI_Comm node_comm, int node)
{
	int node_rank;
	char mine[64];
	MPI_Comm_rank(node_comm, &node_rank);
	snprintf(mine, sizeof mine, "placement-of-node%d", node);
	if (node_rank == 0) {
		char path[128];
		snprintf(path, sizeof path, "/dev/shm/%s", mine);
		int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
		EXPECT(fd >= 0, "%s", path);
		if (fd >= 0)
			close(fd);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	DIR *folder = opendir("/dev/shm");
	int seen = 0, foreign = 0;
	if (folder != NULL) {
		for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
			if (strcmp(entry->d_name, mine) == 0)
				seen++;
			else if (strncmp(entry->d_name, "placement-of-", strlen("placement-of-")) ==
				 0)
				foreign++;
		}
		closedir(folder);
	}
	EXPECT(seen == 1, "%s is not there", mine);
	EXPECT(foreign == 0, "%d files of other nodes", foreign);
	MPI_Barrier(MPI_COMM_WORLD);
	if (node_rank == 0) {
		char path[128];
		snprintf(path, sizeof path, "/dev/shm/%s", mine);
		unlink(path);
	}
}

static void
check_collectives(int size)
{
	enum { BLOCK = 3000 };
	int *mine = malloc(BLOCK * sizeof *mine);
	int *all = malloc((size_t)size * BLOCK * sizeof *all);
	for (int i = 0; i < BLOCK; i++)
		mine[i] = world_rank * BLOCK + i;
	MPI_Allgather(mine, BLOCK, MPI_INT, all, BLOCK, MPI_INT, MPI_COMM_WORLD);
	int wrong = 0;
	for (int i = 0; i < size * BLOCK; i++)
		wrong += all[i] != i;
	EXPECT(wrong == 0, "allgather: %d numbers", wrong);

	int sum;
	MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	EXPECT(sum == size * (size - 1) / 2, "allreduce gave %d", sum);
	for (int root = 0; root < size; root++) {
		int word = world_rank == root ? 1000 + root : -1;
		MPI_Bcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD);
		EXPECT(word == 1000 + root, "bcast from %d gave %d", root, word);
	}
	free(mine);
	free(all);
}

int
main(int argc, char **argv)
{
	int counts[MAX_NODES];
	int nodes = argc >= 3 ? parse_ranks(argv[1], counts) : 0;
	int is_cyclic = argc >= 3 && strcmp(argv[2], "cyclic") == 0;
	int repeats = argc > 3 ? atoi(argv[3]) : 1;
	if (nodes == 0 || (!is_cyclic && strcmp(argv[2], "block") != 0)) {
		fprintf(stderr, "usage: placement RANKS block|cyclic [REPEATS], e.g. placement "
				"1,2,3 cyclic\n");
		return 2;
	}
	int size, length, node_size, total = 0;
	char host[MPI_MAX_PROCESSOR_NAME], wanted[32];
	MPI_Comm node_comm;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < nodes; i++)
		total += counts[i];
	EXPECT(size == total, "%d ranks", size);

	int node = expected_node(world_rank, counts, nodes, is_cyclic);
	snprintf(wanted, sizeof wanted, "node%d", node);
	MPI_Get_processor_name(host, &length);
	EXPECT(strcmp(host, wanted) == 0, "on %s, not on %s", host, wanted);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_comm);
	MPI_Comm_size(node_comm, &node_size);
	EXPECT(node >= 0 && node_size == counts[node], "%d ranks share node%d", node_size, node);
	check_shm_is_private(node_comm, node);
	MPI_Comm_free(&node_comm);
	for (int i = 0; i < repeats; i++)
		check_collectives(size);

	int all_failures;
	MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (world_rank == 0 && all_failures == 0)
		printf("%d ranks on %d nodes, as asked\n", size, nodes);
	MPI_Finalize();
	return all_failures != 0;
}
