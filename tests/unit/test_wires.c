/* Two and three plans under way at once on one wire, of virtual ranks in this process, in an order
 * that is drawn with a seed: all results are right, and where their messages are not told apart
 * that is seen. */
#include "many_plans.h"
#include "unit.h"

#define CASES 300

/* --- the wire: queues in memory --------------------------------------------------------------- */

struct letter {
	struct letter *next;
	uint64_t tag;
	size_t bytes;
	const char *from;
	struct state *sender; /* NULL: it does not wait until its letter is taken */
	char copy[];
};

/* A request is that word. */
struct state {
	struct state *next; /* in the list of receives */
	struct state *older; /* of a case: they are freed when that is over */
	uint64_t tag;
	char *to; /* NULL: a send */
	size_t bytes;
	bool is_over;
};

struct rank {
	struct cs_wire wire;
	struct letter *letters[MANY_RANKS]; /* that came, by sender, in order */
	struct state *posted[MANY_RANKS];
};

static struct rank ranks[MANY_RANKS];
static uint64_t random_state;
static bool ignores_tags; /* the fault: as if all messages between two ranks were of one tag */
static unsigned under_way;
static struct state *newest;

static struct state *
new_state(struct cs_request *request, uint64_t tag, char *to, size_t bytes)
{
	struct state *state = malloc(sizeof *state);
	assert_non_null(state);
	*state = (struct state){ .older = newest, .tag = tag, .to = to, .bytes = bytes };
	newest = state;
	memcpy(request->own, &state, sizeof state);
	request->told = 0;
	under_way++;
	return state;
}

static void
send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from,
     size_t bytes)
{
	struct letter *letter = malloc(sizeof *letter + bytes),
		      **last = &ranks[peer].letters[wire->rank];
	struct state *state = new_state(request, tag, NULL, bytes);
	assert_non_null(letter);
	*letter = (struct letter){ .tag = tag, .bytes = bytes, .from = from };
	if (random_below(&random_state, 2)) {
		letter->from = bytes ? memcpy(letter->copy, from, bytes) : letter->copy;
		state->is_over = true;
	} else {
		letter->sender = state;
	}
	while (*last)
		last = &(*last)->next;
	*last = letter;
}

static void
receive(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	size_t bytes)
{
	struct state **last = &ranks[wire->rank].posted[peer];
	while (*last)
		last = &(*last)->next;
	*last = new_state(request, tag, to, bytes);
}

/* The first letter for the first receive that has one. */
static void
deliver(struct rank *rank, int peer)
{
	for (struct state **post = &rank->posted[peer]; *post; post = &(*post)->next) {
		struct letter **link = &rank->letters[peer], *letter;
		while (*link && (*link)->tag != (*post)->tag && !ignores_tags)
			link = &(*link)->next;
		letter = *link;
		if (!letter)
			continue;
		size_t bytes = letter->bytes < (*post)->bytes ? letter->bytes : (*post)->bytes;
		if (bytes)
			memcpy((*post)->to, letter->from, bytes);
		if (letter->bytes != (*post)->bytes)
			(*post)->tag = UINT64_MAX; /* told when it is asked for */
		(*post)->is_over = true;
		if (letter->sender)
			letter->sender->is_over = true;
		*post = (*post)->next;
		*link = letter->next;
		free(letter);
		return;
	}
}

static bool
test(struct cs_wire *wire, struct cs_request *request)
{
	struct state *state;
	memcpy(&state, request->own, sizeof state);
	deliver(&ranks[random_below(&random_state, (uint32_t)wire->ranks)],
		(int)random_below(&random_state, (uint32_t)wire->ranks));
	if (!state->is_over)
		return false;
	request->told = state->tag == UINT64_MAX ? CS_TOLD_MORE : 0;
	under_way--;
	return true;
}

/* Also what plans that did not come to their ends have left. */
static void
clear(void)
{
	for (int to = 0; to < MANY_RANKS; to++)
		for (int from = 0; from < MANY_RANKS; from++) {
			for (struct letter *letter = ranks[to].letters[from], *next; letter;
			     letter = next) {
				next = letter->next;
				free(letter);
			}
			ranks[to].letters[from] = NULL;
			ranks[to].posted[from] = NULL;
		}
	while (newest) {
		struct state *older = newest->older;
		free(newest);
		newest = older;
	}
}

/* --- cases ------------------------------------------------------------------------------------ */

static const char *
run_case(struct many_plans *many, uint64_t seed, bool has_one_tag)
{
	static struct cs_wire *wires[MANY_RANKS];
	random_state = seed;
	*many = (struct many_plans){ .wires = wires,
				     .ranks = 2 + (int)random_below(&random_state, MANY_RANKS - 1),
				     .plans = 2 + (int)random_below(&random_state, MANY_PLANS - 1),
				     .first_tag = random_below(&random_state, 1000),
				     .has_one_tag = has_one_tag };
	for (int rank = 0; rank < many->ranks; rank++) {
		ranks[rank].wire = (struct cs_wire){ .rank = rank, .ranks = many->ranks,
						     .send = send, .recv = receive, .test = test };
		wires[rank] = &ranks[rank].wire;
	}
	under_way = 0;
	const char *trouble = many_plans_run(many, &random_state);
	if (!trouble && under_way)
		trouble = "messages are left";
	clear();
	return trouble;
}

TEST(several_plans_at_once_on_one_wire_give_right_results)
{
	(void)state;
	struct many_plans many;
	for (uint64_t i = 0; i < CASES; i++) {
		const char *trouble = run_case(&many, first_seed() + i, false);
		if (trouble)
			fail_msg("seed %llu, %d ranks,%s: %s",
				 (unsigned long long)(first_seed() + i), many.ranks, many.names,
				 trouble);
	}
}

/* A fault is planted, and has to be seen in many of the cases. */
static void
find(const char *fault, bool has_one_tag)
{
	struct many_plans many;
	unsigned found = 0;
	for (uint64_t i = 0; i < CASES / 3; i++)
		found += run_case(&many, first_seed() + i, has_one_tag) != NULL;
	print_message("%s: seen in %u of %d cases\n", fault, found, CASES / 3);
	assert_true(found > CASES / 30);
}

TEST(two_plans_of_one_tag_are_seen)
{
	(void)state;
	find("a tag that is used twice", true);
}

TEST(a_wire_that_matches_by_order_alone_is_seen)
{
	(void)state;
	ignores_tags = true;
	find("a wire that does not look at tags", false);
	ignores_tags = false;
}

int
main(void)
{
	print_message("first seed %llu\n", (unsigned long long)first_seed());
	return run_all(NULL, NULL);
}
