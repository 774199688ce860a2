/* Clocks that are apart and go at different speeds are brought together, to within what is said.
 *
 * Ranks are threads, and time is pretended: each rank has the true time that it has come to, which
 * a message moves on by what it takes. So nothing depends on how fast the threads are. */
#include "trace/clocks.h"

#include "unit.h"

#include <pthread.h>

#define MOST 40
#define LEAST_LATENCY 500 /* ns */

struct message {
	struct message *next;
	uint64_t arrives; /* true time */
	size_t bytes;
	unsigned char data[32];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static struct message *mail[MOST][MOST]; /* by receiver and sender */

struct pretended {
	int rank, size;
	uint64_t true_ns;
	int64_t offset_ns;   /* of this clock at true time 0 */
	int64_t drift;       /* ns per second that it gains */
	uint64_t random;
	int fails_after;     /* messages; -1: never */
	struct cs_arrivals_clock found;
	bool is_good;
};

static uint64_t
clock_of(const struct pretended *rank, uint64_t true_ns)
{
	return (uint64_t)((int64_t)true_ns + rank->offset_ns +
			  (int64_t)((__int128)true_ns * rank->drift / 1000000000));
}

static uint64_t
now(void *context)
{
	struct pretended *rank = context;
	rank->true_ns += 20; /* it takes that long to read */
	return clock_of(rank, rank->true_ns);
}

static bool
send(void *context, const void *data, size_t bytes, int to)
{
	struct pretended *rank = context;
	if (rank->fails_after == 0)
		return false;
	rank->fails_after -= rank->fails_after > 0;
	struct message *message = calloc(1, sizeof *message);
	/* One way may take longer than the other, and some take very long. */
	uint64_t latency = LEAST_LATENCY + random_below(&rank->random, 400);
	if (random_below(&rank->random, 4) == 0)
		latency += random_below(&rank->random, 100000);
	message->arrives = rank->true_ns + latency;
	message->bytes = bytes;
	memcpy(message->data, data, bytes);
	pthread_mutex_lock(&lock);
	struct message **end = &mail[to][rank->rank];
	while (*end)
		end = &(*end)->next;
	*end = message;
	pthread_cond_broadcast(&news);
	pthread_mutex_unlock(&lock);
	return true;
}

static bool
receive(void *context, void *data, size_t bytes, int from)
{
	struct pretended *rank = context;
	if (rank->fails_after == 0)
		return false;
	rank->fails_after -= rank->fails_after > 0;
	pthread_mutex_lock(&lock);
	struct message **first = &mail[rank->rank][from];
	while (!*first)
		pthread_cond_wait(&news, &lock);
	struct message *message = *first;
	*first = message->next;
	pthread_mutex_unlock(&lock);
	bool is_right = message->bytes == bytes;
	memcpy(data, message->data, bytes < message->bytes ? bytes : message->bytes);
	if (message->arrives > rank->true_ns)
		rank->true_ns = message->arrives;
	free(message);
	return is_right;
}

static void *
run(void *context)
{
	struct pretended *rank = context;
	struct cs_clocks_wire wire = { .rank = rank->rank, .size = rank->size, .context = rank,
				       .now = now, .send = send, .receive = receive };
	rank->is_good = cs_clocks_synchronise(&wire, &rank->found);
	return NULL;
}

static void
synchronise(struct pretended *ranks, int size)
{
	pthread_t threads[MOST];
	for (int i = 0; i < size; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, &ranks[i]), 0);
	for (int i = 0; i < size; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < size; i++)
		for (int j = 0; j < size; j++)
			assert_null(mail[i][j]);
}

static void
begin(struct pretended *ranks, int size, uint64_t *random)
{
	for (int i = 0; i < size; i++)
		ranks[i] = (struct pretended){
			.rank = i, .size = size, .random = *random + (uint64_t)i * 977,
			.true_ns = random_below(random, 1000000), .fails_after = -1,
			/* Machines that booted days apart, and crystals of 100 ppm. */
			.offset_ns = (int64_t)next_random(random) * 100000,
			.drift = (int64_t)random_below(random, 200001) - 100000,
		};
}

/* How wrong what was found is at that true time. */
static uint64_t
error_at(const struct pretended *rank, const struct pretended *root,
	 struct cs_arrivals_clock *clocks, size_t count, uint64_t true_ns)
{
	struct cs_arrivals file = { .clocks = clocks, .clock_count = count };
	int64_t found = cs_arrivals_at_rank_0(&file, clock_of(rank, true_ns)),
		right = (int64_t)clock_of(root, true_ns);
	return (uint64_t)(found > right ? found - right : right - found);
}

TEST(offsets_are_right_to_within_the_residual)
{
	uint64_t random = first_seed();
	printf("# TEST_SEED=%llu\n", (unsigned long long)random);
	for (int size = 1; size <= MOST; size += size < 9 ? 1 : 5) {
		struct pretended ranks[MOST];
		begin(ranks, size, &random);
		synchronise(ranks, size);
		for (int i = 0; i < size; i++) {
			const struct pretended *rank = &ranks[i];
			assert_true(rank->is_good);
			/* From here on clocks drift apart, as they have while the tree was asked:
			 * by 200 ppm at most. */
			uint64_t when = rank->true_ns, drifted = when / 5000 + 2;
			struct cs_arrivals_clock clock = rank->found;
			uint64_t error = error_at(rank, &ranks[0], &clock, 1, when);
			if (error > clock.residual_ns + drifted)
				fail_msg("%d ranks, rank %d: wrong by %llu ns, said to be by %llu",
					 size, i, (unsigned long long)error,
					 (unsigned long long)clock.residual_ns);
			assert_int_equal(clock.residual_ns == 0, i == 0);
			/* The shortest of forty, at each of its levels. */
			assert_true(clock.residual_ns <= (uint64_t)__builtin_popcount((unsigned)i) *
				    (LEAST_LATENCY + 400 + 60));
		}
		assert_int_equal(ranks[0].found.offset_ns, 0);
	}
}

TEST(two_synchronisations_follow_the_drift)
{
	enum { SIZE = 13 };
	struct pretended ranks[SIZE];
	struct cs_arrivals_clock clocks[SIZE][2];
	uint64_t random = first_seed(), hour = UINT64_C(3600000000000);
	begin(ranks, SIZE, &random);
	synchronise(ranks, SIZE);
	for (int i = 0; i < SIZE; i++) {
		clocks[i][0] = ranks[i].found;
		ranks[i].true_ns += hour;
	}
	synchronise(ranks, SIZE);
	for (int i = 0; i < SIZE; i++) {
		clocks[i][1] = ranks[i].found;
		uint64_t most = clocks[i][0].residual_ns + clocks[i][1].residual_ns + 10000;
		for (int part = 0; part <= 4; part++) {
			uint64_t error = error_at(&ranks[i], &ranks[0], clocks[i], 2,
						  hour / 4 * (uint64_t)part + 5000000);
			if (error > most)
				fail_msg("rank %d at %d/4: wrong by %llu ns, more than %llu", i,
					 part, (unsigned long long)error, (unsigned long long)most);
		}
		/* The offset alone is wrong by milliseconds, unless the crystals are alike. */
		int64_t apart = ranks[i].drift - ranks[0].drift;
		if (apart > 1000 || apart < -1000)
			assert_true(error_at(&ranks[i], &ranks[0], clocks[i], 1, hour) > 3000000);
	}
}

TEST(a_message_that_fails_is_told)
{
	struct pretended ranks[2];
	uint64_t random = first_seed();
	begin(ranks, 2, &random);
	for (int rank = 0; rank < 2; rank++) { /* the other one is not there */
		ranks[rank].fails_after = 0;
		run(&ranks[rank]);
		assert_false(ranks[rank].is_good);
	}
	/* In the midst of it: what it asked stays without an answer. */
	ranks[1].fails_after = 1;
	run(&ranks[1]);
	assert_false(ranks[1].is_good);
	free(mail[0][1]);
	mail[0][1] = NULL;
}

RUN_TESTS(NULL, NULL)
