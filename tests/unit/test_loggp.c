/* LogGP parameters out of round trips (bench/loggp_fit.c): from times that follow the model the
 * parameters are found again, and what is written is what sim/model.c reads. */
#include "unit.h"

#include "../../bench/bench.h"
#include "sim/model.h"

#include <math.h>

static const size_t sizes[] = { 1, 64, 512, 2048, 8192, 32768, 131072, 524288 };
static const int bursts[] = { 2, 3, 4, 6, 8, 12 };
static struct bench_row rows[BENCH_ROWS];

static double
wrong(double noise, uint64_t *seed)
{
	return 1 + noise * ((double)random_below(seed, 2001) - 1000) / 1000;
}

/* The times and rows that bench/loggp.c takes, as the model would have them, each wrong by up to
 * `noise`. */
static int
make_times(struct bench_prtt *times, const struct bench_loggp *truth, double noise, uint64_t *seed)
{
	int count = 0;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		times[count++] = (struct bench_prtt){ .n = 1, .bytes = sizes[i] };
		times[count++] = (struct bench_prtt){ .n = 16, .bytes = sizes[i] };
	}
	for (size_t i = 0; i < COUNT(bursts); i++)
		times[count++] = (struct bench_prtt){ .n = bursts[i], .bytes = 1 };
	for (int i = 0; i < count; i++)
		times[i].seconds = bench_loggp_prtt(truth, times[i].n, times[i].bytes) *
				   wrong(noise, seed);
	for (int i = 0; i < BENCH_ROWS; i++)
		rows[i] = (struct bench_row){
			.n = 1 << i,
			.sends = (truth->o_send + ((1 << i) - 1) * truth->o_send_min) *
				 wrong(noise, seed),
			.receives = (truth->o_recv + ((1 << i) - 1) * truth->o_recv_min) *
				    wrong(noise, seed),
		};
	return count;
}

static void
expect(const char *name, double found, double truth, double tolerance)
{
	if (!(fabs(found - truth) <= tolerance * truth + 1e-15))
		fail_msg("%s is %g, expected %g", name, found, truth);
}

static void
expect_all(const struct bench_loggp *found, const struct bench_loggp *truth, double tolerance)
{
	expect("L", found->L, truth->L, tolerance);
	expect("o_send", found->o_send, truth->o_send, tolerance);
	expect("o_recv", found->o_recv, truth->o_recv, tolerance);
	expect("o_send_min", found->o_send_min, truth->o_send_min, tolerance);
	expect("o_recv_min", found->o_recv_min, truth->o_recv_min, tolerance);
	expect("g", found->g, truth->g, tolerance);
	expect("G", found->G, truth->G, tolerance);
	assert_int_equal(found->f, truth->f);
}

static struct bench_loggp
fit(const struct bench_loggp *truth, double noise, uint64_t seed)
{
	struct bench_prtt times[BENCH_MAX_PRTT];
	struct bench_loggp found;
	bench_loggp_fit(&found, times, make_times(times, truth, noise, &seed), rows);
	return found;
}

static const struct bench_loggp networks[] = {
	{ .L = 2e-5, .o_send = 3e-6, .o_send_min = 2e-6, .o_recv = 2e-6, .o_recv_min = 1e-6,
	  .g = 5e-6, .G = 8e-10, .f = 1 },
	{ .L = 1e-6, .o_send = 3e-7, .o_send_min = 3e-7, .o_recv = 3e-7, .o_recv_min = 3e-7,
	  .g = 4e-7, .G = 4e-11, .f = 1 },
	{ .L = 1e-6, .o_send = 2e-6, .o_send_min = 2e-7, .o_recv = 3e-7, .o_recv_min = 1e-7,
	  .g = 9e-7, .G = 1e-10, .f = 4 },
	{ .L = 2e-7, .o_send = 1e-7, .o_send_min = 1e-8, .o_recv = 1e-7, .o_recv_min = 1e-7,
	  .g = 3e-7, .G = 1e-10, .f = 2 },
};

TEST(finds_the_parameters_of_exact_times)
{
	for (size_t i = 0; i < COUNT(networks); i++) {
		struct bench_loggp found = fit(&networks[i], 0, 1);
		expect_all(&found, &networks[i], 1e-6);
		assert_true(found.error < 1e-6);
	}
}

/* f is left out: within the noise a larger one may fit as well. */
TEST(comes_near_with_noise)
{
	for (uint64_t seed = first_seed(), end = seed + 50; seed < end; seed++) {
		struct bench_loggp found = fit(&networks[0], 0.02, seed);
		expect("L", found.L, networks[0].L, 0.1);
		expect("o_send", found.o_send, networks[0].o_send, 0.05);
		expect("o_send_min", found.o_send_min, networks[0].o_send_min, 0.05);
		expect("G", found.G, networks[0].G, 0.05);
		expect("gap of 16", bench_loggp_prtt(&found, 16, 1),
		       bench_loggp_prtt(&networks[0], 16, 1), 0.1);
		assert_true(found.error < 0.05);
	}
}

/* Small messages wait for the processor, large ones for the port. */
TEST(sees_the_gap_behind_a_longer_overhead)
{
	const struct bench_loggp truth = { .L = 1e-6, .o_send = 5e-7, .o_send_min = 5e-7,
					   .o_recv = 2e-7, .g = 1e-7, .G = 5e-11, .f = 1 };
	struct bench_loggp found = fit(&truth, 0, 1);
	expect("o_send", found.o_send, truth.o_send, 1e-6);
	expect("g", found.g, truth.g, 1e-3);
	expect("G", found.G, truth.G, 1e-3);
	assert_true(found.error < 1e-3);
}

/* A message that costs less than its two overheads, as measured: no negative latency, but a smaller
 * o_recv. */
TEST(gives_no_negative_parameters)
{
	struct bench_prtt times[BENCH_MAX_PRTT];
	uint64_t seed = 1;
	struct bench_loggp found;
	int count = make_times(times, &networks[3], 0, &seed);
	for (int i = 0; i < BENCH_ROWS; i++)
		rows[i].receives = 1e-6 * rows[i].n;
	bench_loggp_fit(&found, times, count, rows);
	assert_true(fabs(found.L) < 1e-15);
	expect("o_recv", found.o_recv, networks[3].L + networks[3].o_recv, 1e-6);
	assert_true(found.o_recv_min <= found.o_recv);
	assert_true(found.error < 1e-6);
	for (int i = 0; i < count; i++)
		times[i].seconds = 1e-6; /* nothing depends on anything */
	memset(rows, 0, sizeof rows);
	bench_loggp_fit(&found, times, count, rows);
	assert_true(found.o_send >= 0 && found.g >= 0 && found.G >= 0 && found.L >= 0 &&
		    found.o_recv >= 0 && found.o_send_min >= 0 && found.o_recv_min >= 0);
}

/* Sends that took longer by themselves than each of a burst. */
TEST(believes_bursts_about_the_overhead)
{
	struct bench_prtt times[BENCH_MAX_PRTT];
	uint64_t seed = 1;
	struct bench_loggp found;
	int count = make_times(times, &networks[0], 0, &seed);
	for (int i = 0; i < BENCH_ROWS; i++)
		rows[i].sends = rows[i].n * 9e-6;
	bench_loggp_fit(&found, times, count, rows);
	expect("o_send_min", found.o_send_min, 5e-6, 1e-6);
}

/* Later messages of a row that cost more than its first one, or nothing: no negative part. */
TEST(rows_have_one_overhead_or_two)
{
	static const struct {
		double fixed, each, first, further;
	} cases[] = { { 1e-6, 0, 1e-6, 0 }, { -1e-7, 5e-7, 0, 0 }, { 2e-7, 3e-7, 5e-7, 3e-7 } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench_prtt times[BENCH_MAX_PRTT];
		uint64_t seed = 1;
		struct bench_loggp found;
		int count = make_times(times, &networks[0], 0, &seed);
		for (int row = 0; row < BENCH_ROWS; row++)
			rows[row].receives = cases[i].fixed + cases[i].each * rows[row].n;
		bench_loggp_fit(&found, times, count, rows);
		if (cases[i].first > 0) {
			expect("first", found.o_recv, cases[i].first, 1e-6);
			assert_true(fabs(found.o_recv_min - cases[i].further) < 1e-12);
		} else {
			expect("one for all", found.o_recv_min, found.o_recv, 1e-9);
			assert_true(found.o_recv > 4e-7 && found.o_recv < 5e-7);
		}
	}
}

/* The smallest message may be long: its bytes are not latency. */
TEST(takes_the_smallest_messages_bytes_out_of_the_latency)
{
	struct bench_loggp truth = { .L = 1e-6, .o_send = 3e-7, .o_send_min = 3e-7,
				     .o_recv = 3e-7, .g = 4e-7, .G = 1e-9, .f = 1 }, found;
	struct bench_prtt times[BENCH_MAX_PRTT];
	uint64_t seed = 1;
	int count = make_times(times, &truth, 0, &seed);
	for (int i = 0; i < count; i++) {
		times[i].bytes = times[i].bytes < 512 ? 512 : times[i].bytes;
		times[i].seconds = bench_loggp_prtt(&truth, times[i].n, times[i].bytes);
	}
	bench_loggp_fit(&found, times, count, rows);
	expect("L", found.L, truth.L, 1e-3);
	expect("G", found.G, truth.G, 1e-3);
}

TEST(writes_what_the_model_reads)
{
	struct bench_network network = { .copy = 1e-10, .reduce = 1.5e-10, .bus = 6e-11,
					 .flag = 1e-7 };
	struct cs_model model;
	char text[BENCH_NETWORK_TEXT], complaint[256] = "";
	for (enum bench_level level = 0; level < BENCH_LEVELS; level++) {
		network.level[level].is_there = true;
		network.level[level].loggp = networks[level];
	}
	assert_int_equal(cs_model_read(bench_network_text(text, &network), &model, complaint,
				       sizeof complaint), CS_OK);
	assert_int_equal(model.level[CS_INTER].L, 20000000);
	assert_int_equal(model.level[CS_INTER].o_send, 3000000);
	assert_int_equal(model.level[CS_INTER].o_send_min, 2000000);
	assert_int_equal(model.level[CS_INTER].o_recv_min, 1000000);
	assert_int_equal(model.level[CS_INTRA].o_send_min, 0); /* as the first */
	assert_int_equal(model.level[CS_INTER].G, 800000);
	assert_int_equal(model.level[CS_INTRA].g, 400000);
	assert_int_equal(model.copy, 100000);
	assert_int_equal(model.reduce, 150000);
	assert_int_equal(model.bus, 60000);
	assert_int_equal(model.flag, 100000);
}

/* One node, one core: neither messages between nodes nor a flag. */
TEST(leaves_out_what_there_is_not)
{
	struct bench_network network = { .copy = 1e-10 };
	struct cs_model model;
	char text[BENCH_NETWORK_TEXT], complaint[256] = "";
	network.level[BENCH_INTRA].is_there = true;
	network.level[BENCH_INTRA].loggp = networks[3];
	assert_string_equal(bench_network_text(text, &network),
			    "intra.L=2e-07,intra.os=1e-07,intra.or=1e-07,intra.osmin=1e-08,"
			    "intra.g=3e-07,intra.G=1e-10,intra.f=2,copy=1e-10");
	assert_int_equal(cs_model_read(text, &model, complaint, sizeof complaint), CS_OK);
	assert_int_equal(model.level[CS_INTER].L, 0);
}

RUN_TESTS(NULL, NULL)
