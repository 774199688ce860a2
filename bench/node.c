#include "node.h"

#include "topo/topo.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* MPICH 5.0 by UCX says in MPI_Comm_split_type of each rank that it shares memory with none (its
 * issue 7814). */
static bool
is_split_type_wrong(void)
{
	static const char name[] = "MPICH Version:";
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;
	PMPI_Get_library_version(text, &length);
	if (strncmp(text, name, strlen(name)) != 0)
		return false;
	const char *version = text + strlen(name);
	return strncmp(version + strspn(version, " \t"), "5.0.", 4) == 0;
}

/* The lowest rank that has this one's word, as the library finds nodes there
 * (comm/teams/make_team.c). */
static int
lowest_of_node(void)
{
	int rank, size, lowest = 0;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	uint64_t host, word = cs_topo_node(&host);
	uint64_t *words = malloc((size_t)size * sizeof *words);
	if (!words)
		PMPI_Abort(MPI_COMM_WORLD, 1);
	PMPI_Allgather(&word, 1, MPI_UINT64_T, words, 1, MPI_UINT64_T, MPI_COMM_WORLD);
	while (word && words[lowest] != word)
		lowest++;
	free(words);
	return word ? lowest : rank;
}

void
bench_node(MPI_Comm *node)
{
	if (is_split_type_wrong())
		PMPI_Comm_split(MPI_COMM_WORLD, lowest_of_node(), 0, node);
	else
		PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node);
}
