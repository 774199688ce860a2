/* Communicators: a handful is alive at any time; each is replaced by another kind now and then.
 * Which kind a slot holds follows from (seed, slot, generation), and the generation from the case's
 * number. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>

struct comm comms[COMM_SLOTS];
static uint64_t comms_seed;
static int world_rank, world_size;

static int *world_nodes; /* by rank in MPI_COMM_WORLD: the lowest rank of its node */

static void
learn_nodes(void)
{
	MPI_Comm node;
	int first = world_rank;
	world_nodes = malloc((size_t)world_size * sizeof *world_nodes);
	PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	PMPI_Bcast(&first, 1, MPI_INT, 0, node);
	PMPI_Comm_free(&node);
	PMPI_Allgather(&first, 1, MPI_INT, world_nodes, 1, MPI_INT, MPI_COMM_WORLD);
}

/* Frees the group. */
static bool
has_first_alone(MPI_Group group)
{
	int size, *ranks = malloc(2 * (size_t)world_size * sizeof *ranks),
	    *nodes = ranks + world_size;
	MPI_Group world;
	PMPI_Group_size(group, &size);
	for (int i = 0; i < size; i++)
		ranks[i] = i;
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_translate_ranks(group, size, ranks, world, nodes);
	PMPI_Group_free(&world);
	PMPI_Group_free(&group);
	bool is_alone = true, has_pair = false;
	for (int i = 0; i < size; i++) {
		nodes[i] = world_nodes[nodes[i]];
		is_alone = is_alone && (i == 0 || nodes[i] != nodes[0]);
		for (int other = 0; other < i; other++)
			has_pair = has_pair || nodes[other] == nodes[i];
	}
	free(ranks);
	return is_alone && has_pair;
}

static void
put(struct comm *comm, MPI_Comm made, const char *text)
{
	comm->comm = made;
	comm->rank = comm->size = comm->remote = 0;
	comm->is_first_alone = false;
	snprintf(comm->text, sizeof comm->text, "%s", text);
	if (made == MPI_COMM_NULL)
		return;
	int is_inter;
	PMPI_Comm_rank(made, &comm->rank);
	PMPI_Comm_size(made, &comm->size);
	PMPI_Comm_test_inter(made, &is_inter);
	MPI_Group group;
	PMPI_Comm_group(made, &group);
	comm->is_first_alone = has_first_alone(group);
	if (is_inter) {
		PMPI_Comm_remote_size(made, &comm->remote);
		PMPI_Comm_remote_group(made, &group);
		comm->is_first_alone = has_first_alone(group) || comm->is_first_alone;
	}
	MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
}

void
comms_init(uint64_t seed)
{
	comms_seed = seed;
	PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
	learn_nodes();
	for (int slot = 0; slot < COMM_SLOTS; slot++)
		comms[slot] = (struct comm){.comm = MPI_COMM_NULL, .generation = -1};
	put(&comms[0], MPI_COMM_WORLD, "MPI_COMM_WORLD");
	put(&comms[1], MPI_COMM_SELF, "MPI_COMM_SELF");
}

static MPI_Comm
from_group(struct rng *rng, char *text, size_t room)
{
	int *order = malloc((size_t)world_size * sizeof *order);
	rng_permute(rng, order, world_size);
	int size = rng_between(rng, 1, world_size);
	MPI_Group world, group;
	MPI_Comm made;
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_incl(world, size, order, &group);
	MPI_Comm_create(MPI_COMM_WORLD, group, &made);
	PMPI_Group_free(&group);
	PMPI_Group_free(&world);
	int used = snprintf(text, room, "create");
	for (int i = 0; i < size && used < (int)room - 8; i++)
		used += snprintf(text + used, room - (size_t)used, "%c%d", i ? ',' : '(', order[i]);
	snprintf(text + used, room - (size_t)used, ")");
	free(order);
	return made;
}

static MPI_Comm
intercomm(struct rng *rng, char *text, size_t room)
{
	int first = rng_between(rng, 1, world_size - 1);
	bool is_low = world_rank < first;
	MPI_Comm half, made;
	PMPI_Comm_split(MPI_COMM_WORLD, is_low, 0, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? first : 0, 4711, &made);
	PMPI_Comm_free(&half);
	snprintf(text, room, "intercommunicator %d:%d", first, world_size - first);
	return made;
}

static void
make(struct comm *comm, struct rng *rng)
{
	MPI_Comm made = MPI_COMM_NULL, inner;
	char text[sizeof comm->text];
	int kind = rng_below(rng, 12);
	if (kind == 8 && world_size < 2)
		kind = 0;
	switch (kind) {
	case 0:
		MPI_Comm_dup(MPI_COMM_WORLD, &made);
		snprintf(text, sizeof text, "dup of WORLD");
		break;
	case 1:
		MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &made);
		snprintf(text, sizeof text, "WORLD reversed");
		break;
	case 2:
	case 3: { /* one key and colour a rank; every rank draws them all, so that the next draws
		   * agree */
		int colours = rng_between(rng, 1, 3), colour = 0, key = 0;
		for (int r = 0; r < world_size; r++) {
			int c = rng_below(rng, colours), k = rng_below(rng, 100);
			if (r == world_rank) {
				colour = c;
				key = k;
			}
		}
		MPI_Comm_split(MPI_COMM_WORLD, colour, key, &made);
		snprintf(text, sizeof text, "split by random keys into %d, colour %d", colours,
			 colour);
		break;
	}
	case 4: { /* some ranks stay out */
		int out = rng_below(rng, world_size);
		MPI_Comm_split(MPI_COMM_WORLD, world_rank == out &&
			       world_size > 1 ? MPI_UNDEFINED : 1, 0, &made);
		snprintf(text, sizeof text, "WORLD without rank %d", out);
		break;
	}
	case 5:
	case 6:
	case 7:
		made = from_group(rng, text, sizeof text);
		break;
	case 8:
		made = intercomm(rng, text, sizeof text);
		break;
	case 9:
		MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
		snprintf(text, sizeof text, "split_type(SHARED)");
		break;
	case 10:
		MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &made);
		snprintf(text, sizeof text, "1-d torus");
		break;
	default:
		MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &inner);
		MPI_Comm_dup(inner, &made);
		MPI_Comm_free(&inner);
		snprintf(text, sizeof text, "dup of the reversed %s ranks",
			 world_rank % 2 ? "odd" : "even");
	}
	put(comm, made, made == MPI_COMM_NULL ? "not a member" : text);
	comm->is_owned = true;
}

struct comm *
comms_get(int slot, long number)
{
	struct comm *comm = &comms[slot];
	if (slot < 2)
		return comm;
	long generation = (number + 11 * slot) / (20 + 3 * slot);
	if (comm->generation == generation)
		return comm;
	if (comm->is_owned && comm->comm != MPI_COMM_NULL)
		MPI_Comm_free(&comm->comm);
	struct rng rng = rng_from(comms_seed, 1000 + (uint64_t)slot, (uint64_t)generation);
	make(comm, &rng);
	comm->generation = generation;
	return comm;
}

void
comms_free(void)
{
	for (int slot = 2; slot < COMM_SLOTS; slot++)
		if (comms[slot].is_owned && comms[slot].comm != MPI_COMM_NULL)
			MPI_Comm_free(&comms[slot].comm);
	free(world_nodes);
}
