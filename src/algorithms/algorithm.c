/* algorithms/algorithm.c — the table of algorithms, and look-up of rows by name. */
#include "algorithms/algorithm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The list of algorithms. The unit tests of select have one of their own, so that they need no
 * team, no segment and no MPI. */
#ifndef CS_ALGORITHMS_DEF
#define CS_ALGORITHMS_DEF "algorithms/algorithms.def"
#endif

#define ALGORITHM(coll, name) extern const struct cs_algorithm cs_algorithm_##coll##_##name;
#include CS_ALGORITHMS_DEF
#undef ALGORITHM

static const struct cs_algorithm *const files[] = {
#define ALGORITHM(coll, name) &cs_algorithm_##coll##_##name,
#include CS_ALGORITHMS_DEF
#undef ALGORITHM
};

#define FILES (int)(sizeof files / sizeof *files)
#define NAME_ROOM 40
#define HOST_SUFFIX "host"

/* Listed rows, then composed ones. */
static struct cs_algorithm rows[CS_MOST_ROWS];
static const struct cs_algorithm *sorted[CS_MOST_ROWS];
static char names[CS_MOST_ROWS][NAME_ROOM], summaries[CS_MOST_ROWS][120];
static int row_count, left_out;

static struct cs_algorithm *
add(const struct cs_algorithm *like)
{
	if (row_count == CS_MOST_ROWS) {
		left_out++;
		return NULL;
	}
	rows[row_count] = *like;
	return &rows[row_count++];
}

/* Add the rows of one collective, sorted by name. */
static void
list(enum cs_coll coll)
{
	int first = row_count;
	for (int i = 0; i < FILES; i++) {
		struct cs_algorithm *row = files[i]->colls & CS_SET(coll) ? add(files[i]) : NULL;
		if (!row)
			continue;
		row->coll = coll;
		row->needs.block_placed |= cs_coll_is_scan(&cs_colls[coll]) &&
					   row->needs.block_if_not_commutative;
		struct cs_algorithm own = *row;
		for (; row > &rows[first] && strcmp(own.name, row[-1].name) < 0; row--)
			*row = row[-1];
		*row = own;
	}
}

/* --- composed ones: "hier:host" x the plans of what it leaves to the host --------------------- */

static int
count_params(const struct cs_algorithm *algorithm)
{
	int count = 0;
	while (count < CS_MAX_PARAMS && algorithm->params[count].name)
		count++;
	return count;
}

/* Can a plan run if each node has one rank? One that shares a node's messages among its ranks then
 * sends as its `alone` does. */
static bool
can_be_between(const struct cs_algorithm *plan)
{
	const struct cs_needs *needs = &plan->needs;
	return plan->build && !needs->one_node && (!needs->several_per_node || plan->alone);
}

/* Add a plan's needs among leaders to those of the call. There are as many leaders as nodes, and
 * they are block placed. Needs of sizes are looked at when the plan is run. */
static void
add_needs(struct cs_needs *to, const struct cs_needs *plan)
{
	to->several_nodes = true;
	to->commutative |= plan->commutative;
	to->verbs |= plan->verbs;
	to->power_of_two_nodes |= plan->power_of_two || plan->power_of_two_nodes;
}

static void
compose(const struct cs_algorithm *outer, const struct cs_algorithm *inner)
{
	int stem = (int)(strlen(outer->name) - strlen(HOST_SUFFIX));
	int inner_params = count_params(inner), outer_params = count_params(outer);
	bool is_too_long = (size_t)stem + strlen(inner->name) >= NAME_ROOM ||
			   inner_params + outer_params > CS_MAX_PARAMS;
	struct cs_algorithm *row = is_too_long ? NULL : add(outer);
	left_out += is_too_long;
	if (!row)
		return;
	char *name = names[row - rows], *summary = summaries[row - rows];
	snprintf(name, NAME_ROOM, "%.*s%s", stem, outer->name, inner->name);
	if (inner->alone)
		snprintf(summary, sizeof *summaries,
			 "sends as %.*s%s, for one rank of each node is between nodes", stem,
			 outer->name, inner->alone);
	else
		snprintf(summary, sizeof *summaries, "as %s, between nodes: %s", outer->name,
			 inner->summary);
	row->name = name;
	row->summary = summary;
	row->inner = inner;
	row->fast = NULL; /* the row is for several nodes */
	add_needs(&row->needs, &inner->needs);
	struct cs_param *params = row->params;
	memcpy(params, inner->params, sizeof row->params);
	for (int i = 0; i < inner_params; i++)
		if (params[i].is_within_nodes) {
			const char *own = params[i].name;
			params[i].meaning = "no effect, for one rank of each node is between nodes";
			if (cs_algorithm_param(outer, own, strlen(own)) >= 0)
				params[i].name = "unused"; /* reduce_scatter: senders */
		}
	memcpy(params + inner_params, outer->params, (size_t)outer_params * sizeof *params);
	int senders = cs_algorithm_role(row, CS_ROLE_SENDERS);
	if (senders >= 0 && !inner->has_ports)
		params[senders].meaning = "no effect, for the plan has one port";
}

static void
make_table(void)
{
	int count = 0;
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		list(coll);
	int listed = row_count;
	for (int i = 0; i < listed; i++)
		for (int k = 0; rows[i].composes && k < listed; k++)
			if (rows[k].coll == cs_colls[rows[i].coll].between &&
			    can_be_between(&rows[k]))
				compose(&rows[i], &rows[k]);
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int i = 0; i < row_count; i++)
			if (rows[i].coll == coll)
				sorted[count++] = &rows[i];
}

static void
make_table_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_table);
}

const struct cs_algorithm *
cs_algorithm_at(int i)
{
	make_table_once();
	return i < row_count ? sorted[i] : NULL;
}

int
cs_algorithm_number(const struct cs_algorithm *row)
{
	return (int)(row - rows);
}

int
cs_algorithms_left_out(void)
{
	make_table_once();
	return left_out;
}

const struct cs_algorithm *
cs_algorithm_by_name(enum cs_coll coll, const char *name)
{
	size_t length;
	const struct cs_algorithm *algorithm = cs_algorithm_by_prefix(coll, name, &length);
	return algorithm && !name[length] ? algorithm : NULL;
}

/* The length of the name if the text begins with it, else 0. */
static size_t
begins_with(const char *text, const char *name)
{
	size_t length = strlen(name);
	bool is_it = !strncmp(text, name, length) &&
		     (!text[length] || text[length] == ':');
	return is_it ? length : 0;
}

const struct cs_algorithm *
cs_algorithm_by_prefix(enum cs_coll coll, const char *text, size_t *length)
{
	const struct cs_algorithm *best = NULL, *algorithm;
	*length = 0;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++) {
		size_t name = algorithm->coll == coll ? begins_with(text, algorithm->name) : 0;
		if (name <= *length)
			continue;
		best = algorithm;
		*length = name;
	}
	return best;
}

int
cs_algorithm_param(const struct cs_algorithm *algorithm, const char *name, size_t length)
{
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		const char *param = algorithm->params[i].name;
		if (strlen(param) == length && !strncmp(param, name, length))
			return i;
	}
	return -1;
}

int
cs_algorithm_role(const struct cs_algorithm *algorithm, enum cs_role role)
{
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (algorithm->params[i].role == role)
			return i;
	return -1;
}

static bool
is_power_of_two(int number)
{
	return number > 0 && !(number & (number - 1));
}

bool
cs_algorithm_opens_wire(const struct cs_algorithm *algorithm, int nodes, const size_t *params)
{
	int senders = params ? cs_algorithm_role(algorithm, CS_ROLE_SENDERS) : -1;
	bool has_senders = senders >= 0 && params[senders] > 1;
	return !algorithm->run || ((algorithm->needs.everyone || has_senders) && nodes > 1);
}

/* Does it make no call of the MPI once a team's leaders are connected by verbs? All but some plans
 * between nodes do: the host's collectives, exchanges of sizes, messages from any source. A plan of
 * a sum that is not commutative may be refused. */
static bool
is_by_verbs_alone(const struct cs_algorithm *algorithm, const struct cs_facts *facts)
{
	uint32_t exchanges_sizes = CS_SET(CS_GATHERV) | CS_SET(CS_SCATTERV) |
				   CS_SET(CS_ALLTOALLV) | CS_SET(CS_ALLTOALLW);
	return algorithm->inner && !algorithm->needs.verbs && facts->is_commutative &&
	       !(exchanges_sizes & CS_SET(facts->coll));
}

/* Says why it cannot serve a non-blocking call. */
static const char *
unmet_by_form(const struct cs_algorithm *algorithm, const struct cs_facts *facts)
{
	uint32_t exchanges = CS_SET(CS_ALLTOALL) | CS_SET(CS_ALLTOALLV) | CS_SET(CS_ALLTOALLW);
	if (facts->nodes > 1 && !facts->has_progress && !facts->by_thread)
		return CS_NOT_WITH_MESSAGES;
	if (facts->nodes > 1 && !facts->has_progress && !is_by_verbs_alone(algorithm, facts))
		return CS_NOT_BY_THREAD;
	if (cs_algorithm_opens_wire(algorithm, facts->nodes, NULL))
		return "not blocking, and a plan of all ranks";
	/* Open MPI's (4.1.4) takes messages of another call, or waits for ever. */
	if (facts->nodes > 1 && !algorithm->inner && (exchanges & CS_SET(facts->coll)))
		return "not blocking, and MPI_Ialltoallv between nodes";
	return NULL;
}

const char *
cs_algorithm_unmet(const struct cs_algorithm *algorithm, const struct cs_facts *facts)
{
	const struct cs_needs *needs = &algorithm->needs;
	const char *unmet = facts->is_nonblocking ? unmet_by_form(algorithm, facts) : NULL;
	if (unmet)
		return unmet;
	if (needs->several_per_node && facts->ppn_max < 2)
		return "one rank per node";
	if (needs->one_node && facts->nodes > 1)
		return "several nodes";
	if (needs->several_nodes && facts->nodes < 2)
		return "one node only";
	if (needs->power_of_two && !is_power_of_two(facts->ranks))
		return "the number of ranks is no power of two";
	if (needs->power_of_two_nodes && !is_power_of_two(facts->nodes))
		return "the number of nodes is no power of two";
	if (needs->verbs && facts->wire != CS_WIRE_IB)
		return "plans send by MPI, not by verbs";
	if (needs->commutative && !facts->is_commutative)
		return CS_NOT_COMMUTATIVE;
	if (needs->block_placed && !facts->is_block_placed)
		return "ranks of a node not consecutive";
	if (needs->block_if_not_commutative && !facts->is_commutative && !facts->is_block_placed)
		return CS_NOT_IN_ORDER;
	return NULL;
}
