/* Drawings of plans: what stands in them, plans that do not fit together, and what collshim-info
 * --draw refuses. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "plan/build.h"
#include "plan/draw.h"
#include "plan/verify.h"
#include "tools/draw.h"

#define RANKS 12

/* --- pictures of plans that are written here -------------------------------------------------- */

static struct cs_step
message(enum cs_step_kind kind, int peer, int request, size_t bytes)
{
	return (struct cs_step){ .kind = (uint8_t)kind, .peer = peer, .request = request,
				 .bytes = bytes };
}

static struct cs_step
wait_for(int request)
{
	return (struct cs_step){ .kind = CS_STEP_WAIT, .peer = -1, .request = request };
}

static struct cs_step
local(enum cs_step_kind kind, size_t bytes)
{
	return (struct cs_step){ .kind = (uint8_t)kind, .peer = -1, .request = CS_NO_REQUEST,
				 .bytes = bytes };
}

/* Rank 0 sends 24 bytes, rank 1 copies 8 bytes twice and reduces what came. */
static struct cs_step giver[] = { { .kind = CS_STEP_SEND, .peer = 1, .request = 0, .bytes = 24 },
				  { .kind = CS_STEP_WAIT, .peer = -1, .request = 0 } };
static struct cs_step taker[] = { { .kind = CS_STEP_COPY, .bytes = 8 },
				  { .kind = CS_STEP_COPY, .bytes = 8 },
				  { .kind = CS_STEP_RECV, .peer = 0, .request = 0, .bytes = 24 },
				  { .kind = CS_STEP_WAIT, .peer = -1, .request = 0 },
				  { .kind = CS_STEP_REDUCE, .bytes = 24 } };
static const struct cs_plan pair[] = {
	{ .rank = 0, .ranks = 2, .steps = giver, .count = COUNT(giver), .requests = 1 },
	{ .rank = 1, .ranks = 2, .steps = taker, .count = COUNT(taker), .requests = 1 },
};

typedef enum cs_status write_drawing(const struct cs_drawing *drawing, FILE *file);

/* To be freed. */
static char *
written(const struct cs_plan *plans, int ranks, write_drawing *write)
{
	char *text = NULL;
	size_t length;
	struct cs_drawing drawing;
	FILE *file = open_memstream(&text, &length);
	assert_non_null(file);
	assert_int_equal(cs_drawing_init(&drawing, plans, ranks), CS_OK);
	assert_int_equal(write(&drawing, file), CS_OK);
	cs_drawing_fini(&drawing);
	fclose(file);
	return text;
}

TEST(a_table_has_a_row_for_each_rank_and_a_column_for_each_round)
{
	char *text = written(pair, 2, cs_drawing_write_text);
	assert_string_equal(text, "rank  start         round 1\n"
				  "0                   ->1 24\n"
				  "1     copy 16 in 2  <-0 24\n"
				  "                    reduce 24\n");
	free(text);
}

/* Each time of a loop is drawn. */
TEST(a_loop_is_drawn_as_its_steps_would_be)
{
	static struct cs_step gives[] = { { .kind = CS_STEP_SEND, .peer = 1, .bytes = 24 },
					  { .kind = CS_STEP_WAIT, .peer = -1 },
					  { .kind = CS_STEP_REPEAT, .peer = -1, .times = 3,
					    .length = 2, .note = 1 } };
	static struct cs_step takes[] = { { .kind = CS_STEP_RECV, .peer = 0, .bytes = 24 },
					  { .kind = CS_STEP_WAIT, .peer = -1 },
					  { .kind = CS_STEP_COPY, .bytes = 24 },
					  { .kind = CS_STEP_REPEAT, .peer = -1, .times = 3,
					    .length = 3, .note = 1 } };
	const struct cs_plan plans[] =
		{ { .rank = 0, .ranks = 2, .steps = gives, .count = COUNT(gives), .requests = 1 },
					 { .rank = 1, .ranks = 2, .steps = takes,
					   .count = COUNT(takes), .requests = 1 } };
	char *text = written(plans, 2, cs_drawing_write_text);
	assert_string_equal(text, "rank  round 1\n"
				  "0     ->1 24\n"
				  "      ->1 24\n"
				  "      ->1 24\n"
				  "1     <-0 24\n"
				  "      <-0 24\n"
				  "      <-0 24\n"
				  "      copy 24\n"
				  "      copy 24\n"
				  "      copy 24\n");
	free(text);
	takes[3].length = 4;
	struct cs_drawing drawing;
	assert_int_equal(cs_drawing_init(&drawing, plans, 2), CS_BAD_INPUT);
	takes[3].length = 3;
}

static size_t
count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

static enum cs_status
write_rounds(const struct cs_drawing *drawing, FILE *file)
{
	return cs_drawing_write_svg(drawing, "a < b & c", NULL, NULL, file);
}

TEST(a_time_line_has_arrows_and_boxes)
{
	char *text = written(pair, 2, write_rounds);
	assert_contains(text, "<title>a &lt; b &amp; c</title>");
	assert_contains(text, "<title>0 -&gt; 1, 24 bytes, round 1</title>");
	assert_contains(text, "<title>rank 1: copy 16 in 2</title>");
	assert_contains(text, "<title>rank 1: reduce 24</title>");
	assert_contains(text, ">round 1</text>");
	assert_int_equal(count_of(text, "<line class=\"m0\""), 1 + 1); /* one of the legend */
	assert_contains(text, ">reduction</text>");
	assert_int_equal(count_of(text, "<rect class="), 2);
	assert_int_equal(count_of(text, "<line class=\"rank\""), 2);
	assert_string_equal(text + strlen(text) - 7, "</svg>\n");
	free(text);
}

static enum cs_status
write_times(const struct cs_drawing *drawing, FILE *file)
{
	static const struct cs_step_time of_giver[] = { { 10, 14 }, { 10, 14 } };
	static const struct cs_step_time of_taker[] =
		{ { 11, 12 }, { 12, 13 }, { 11, 18 }, { 11, 18 }, { 18, 20 } };
	static const struct cs_step_time *const times[] = { of_giver, of_taker };
	return cs_drawing_write_svg(drawing, "", times, "us", file);
}

/* 10 us are 1000 pixels, from x = 70. */
TEST(given_times_say_where_arrows_begin_and_end)
{
	char *text = written(pair, 2, write_times);
	assert_contains(text, "<line class=\"m0\" x1=\"70.0\" y1=\"94\" x2=\"870.0\" y2=\"134\">");
	assert_contains(text, "<rect class=\"copy\" x=\"170.0\" y=\"128\" width=\"200.0\"");
	assert_contains(text, "<rect class=\"reduce\" x=\"870.0\" y=\"128\" width=\"200.0\"");
	assert_contains(text, ">0 us</text>");
	assert_contains(text, ">10 us</text>");
	free(text);
}

TEST(plans_that_do_not_fit_together_are_refused)
{
	struct cs_step unheard[] = { message(CS_STEP_SEND, 1, 0, 8), wait_for(0) };
	struct cs_step recv_first[] = { message(CS_STEP_RECV, 1, 0, 8), wait_for(0),
					message(CS_STEP_SEND, 1, 0, 8), wait_for(0) };
	struct cs_step recv_too[] = { message(CS_STEP_RECV, 0, 0, 8), wait_for(0),
				      message(CS_STEP_SEND, 0, 0, 8), wait_for(0) };
	struct cs_step shorter[] = { message(CS_STEP_RECV, 0, 0, 4), wait_for(0) };
	struct cs_step nowhere[] = { message(CS_STEP_SEND, 7, 0, 8), wait_for(0) };
	struct cs_step hears[] = { message(CS_STEP_RECV, 0, 0, 8), wait_for(0) };
	struct cs_step not_started[] = { local(CS_STEP_COPY, 8), wait_for(0) };
	struct cs_step no_request[] = { wait_for(5) };
	const struct {
		struct cs_step *steps[2]; /* of rank 0 and 1 */
		size_t counts[2];
	} cases[] = {
		{ { unheard, NULL }, { 2, 0 } },     { { recv_first, recv_too }, { 4, 4 } },
		{ { unheard, shorter }, { 2, 2 } },  { { nowhere, hears }, { 2, 2 } },
		{ { not_started, NULL }, { 2, 0 } }, { { no_request, NULL }, { 1, 0 } },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_drawing drawing;
		struct cs_plan plans[2];
		for (int rank = 0; rank < 2; rank++)
			plans[rank] = (struct cs_plan){ .rank = rank, .ranks = 2,
							.steps = cases[i].steps[rank],
							.count = cases[i].counts[rank],
							.requests = 1 };
		if (cs_drawing_init(&drawing, plans, 2) != CS_BAD_INPUT)
			fail_msg("case %zu was drawn", i);
	}
}

/* --- plans of algorithms ---------------------------------------------------------------------- */

static void
compare_with_verdict(const struct cs_algorithm *algorithm, int ranks)
{
	static size_t params[CS_MAX_PARAMS];
	int node_of[RANKS];
	struct cs_problem problems[RANKS];
	struct cs_plan plans[RANKS];
	struct cs_verdict verdict;
	struct cs_drawing drawing;
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		params[i] = algorithm->params[i].fallback;
	for (int rank = 0; rank < ranks; rank++) {
		struct cs_builder builder;
		node_of[rank] = rank / 3;
		problems[rank] = (struct cs_problem){ .coll = algorithm->coll, .ranks = ranks,
						      .rank = rank, .root = ranks / 2, .unit = 1,
						      .bytes = 40, .params = params,
						      .is_commutative = true, .node_of = node_of };
		cs_builder_init(&builder, &problems[rank], &plans[rank]);
		algorithm->build(&builder);
		if (cs_builder_finish(&builder) != CS_OK) /* all ranks refuse, or none */
			return;
	}
	assert_true(cs_plans_verify(problems, plans, &verdict));
	assert_int_equal(cs_drawing_init(&drawing, plans, ranks), CS_OK);
	if (drawing.rounds != verdict.rounds || drawing.messages != verdict.messages ||
	    drawing.bytes != verdict.bytes || drawing.most_bytes != verdict.most_bytes)
		fail_msg("%s:%s, %d ranks: %u rounds drawn, %u proven",
			 cs_colls[algorithm->coll].name, algorithm->name, ranks,
			 (unsigned)drawing.rounds, (unsigned)verdict.rounds);
	cs_drawing_fini(&drawing);
	for (int rank = 0; rank < ranks; rank++)
		cs_plan_fini(&plans[rank]);
}

TEST(rounds_messages_and_bytes_are_those_of_the_proof)
{
	unsigned compared = 0;
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++) {
		enum cs_coll coll = algorithm->coll;
		if (!algorithm->build ||
		    (coll != CS_ALLGATHER && coll != CS_ALLTOALL && coll != CS_BCAST))
			continue;
		compared++;
		for (int ranks = 1; ranks <= RANKS; ranks++)
			compare_with_verdict(algorithm, ranks);
	}
	assert_true(compared >= 3);
}

/* --- collshim-info --draw --------------------------------------------------------------------- */

static struct cs_draw_request
request_for(const char *what, int ranks)
{
	return (struct cs_draw_request){ .what = what,
					 .facts = { .ranks = ranks, .nodes = 1, .ppn_min = ranks,
								  .ppn_max = ranks,
								  .is_commutative = true,
								  .is_block_placed = true } };
}

TEST(a_call_is_drawn)
{
	char *text = NULL, complaint[CS_DRAW_COMPLAINT];
	char *const words[] = { "window=1" };
	size_t length;
	struct cs_draw_request request = request_for("alltoall:scattered", 3);
	request.words = words;
	request.word_count = 1;
	request.has_bytes = true;
	request.bytes = 2048;
	request.text = open_memstream(&text, &length);
	assert_int_equal(cs_tools_draw(&request, complaint), 0);
	fclose(request.text);
	assert_contains(text, "alltoall:scattered, 3 ranks, 2K bytes, window=1: 2 rounds, 6 "
			      "messages with 12K bytes, ");
	assert_contains(text, "rank  round 1    round 2\n"
			      "0     ->1 2048   ->2 2048\n");
	free(text);
}

/* Eight segments on their way from rank 0: arrows that begin and end at other places. */
TEST(segments_lie_side_by_side)
{
	char complaint[CS_DRAW_COMPLAINT], *text = NULL;
	size_t bytes = 0;
	struct cs_draw_request request = request_for("bcast:chain", 2);
	char *const words[] = { "segment=1K" };
	request.has_bytes = true;
	request.bytes = 8 << 10;
	request.words = words;
	request.word_count = 1;
	request.svg = "-";
	request.text = open_memstream(&text, &bytes);
	assert_int_equal(cs_tools_draw(&request, complaint), 0);
	fclose(request.text);
	char line[96];
	for (int i = 0; i < 8; i++) {
		double from = 70 + 150 * 0.4 / 7 * i;
		snprintf(line, sizeof line, "x1=\"%.1f\" y1=\"94\" x2=\"%.1f\" y2=\"134\"",
			 from, from + 150 * (0.7 - 0.4));
		assert_contains(text, line);
	}
	assert_contains(text, ">bcast:chain, 2 ranks, root 0, 8K bytes, segment=1K, window=4<");
	assert_contains(text, ">1 round, 8 messages");
	free(text);
}

TEST(an_svg_may_go_where_the_text_would)
{
	char *text = NULL, complaint[CS_DRAW_COMPLAINT];
	size_t length;
	struct cs_draw_request request = request_for("bcast:binomial", 4);
	request.svg = "-";
	request.text = open_memstream(&text, &length);
	assert_int_equal(cs_tools_draw(&request, complaint), 0);
	fclose(request.text);
	assert_int_equal(strncmp(text, "<svg ", 5), 0);
	assert_int_equal(count_of(text, "-&gt;"), 3);
	free(text);
}

TEST(what_cannot_be_drawn_is_refused_with_a_word_of_help)
{
	static char *const wide[] = { "window=300" }, *const unknown[] = { "windw=3" },
		    *const bare[] = { "window" },
			    *const small[] = { "segment=64" };
	static const struct {
		const char *what;
		int ranks;
		char *const *words;
		bool has_root, has_bytes, is_non_commutative;
		size_t root, bytes;
		const char *complaint;
	} cases[] = {
		{ .what = "allgathr:ring", .complaint = "is no collective (did you mean "
							"allgather?); known:" },
		{ .what = "allgather", .complaint = "expected allgather:ALGORITHM; can be "
						    "drawn: " },
		{ .what = "", .complaint = "\"\" is no collective" },
		{ .what = "bcast:binomal", .complaint = "is no algorithm of bcast (did you mean "
							"binomial?)" },
		{ .what = "bcast:host", .complaint = "host is the MPI itself" },
		{ .what = "bcast:hier:host", .complaint = "is no plan; can be drawn: " },
		{ .what = "bcast:hier:binomial", .complaint = "between nodes it is --draw "
							      "bcast:binomial" },
		{ .what = "bcast:binomial", .ranks = CS_DRAW_MOST_RANKS + 1,
		  .complaint = "has 1 to 256 ranks" },
		{ .what = "bcast:binomial", .has_root = true, .root = 4,
		  .complaint = "expected a rank from 0 to 3" },
		{ .what = "alltoall:scattered", .has_root = true,
		  .complaint = "alltoall has no root" },
		{ .what = "bcast:binomial", .has_bytes = true, .bytes = SIZE_MAX / 2,
		  .complaint = "a drawing of 4 ranks has at most 1073741824" },
		{ .what = "bcast:chain", .words = small, .has_bytes = true,
		  .bytes = (size_t)1 << 30, .complaint = "a drawing has at most 1000000 steps; try "
							 "fewer --ranks, --bytes or pieces" },
		{ .what = "bcast:binomial", .is_non_commutative = true,
		  .complaint = "bcast has no operation" },
		{ .what = "alltoall:scattered", .words = wide,
		  .complaint = "expected a number from 0 to 256" },
		{ .what = "alltoall:scattered", .words = unknown,
		  .complaint = "\"windw\" is no parameter of alltoall:scattered" },
		{ .what = "alltoall:scattered", .words = bare,
		  .complaint = "window: expected name=value" },
		{ .what = "alltoall:node-pairs", .ranks = 1,
		  .complaint = "this call: one rank per node" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char complaint[CS_DRAW_COMPLAINT] = "";
		struct cs_draw_request request =
			request_for(cases[i].what, cases[i].ranks ? cases[i].ranks : 4);
		request.words = cases[i].words;
		request.word_count = cases[i].words != NULL;
		request.has_root = cases[i].has_root;
		request.root = cases[i].root;
		request.has_bytes = cases[i].has_bytes;
		request.bytes = cases[i].bytes;
		request.facts.is_commutative = !cases[i].is_non_commutative;
		assert_int_equal(cs_tools_draw(&request, complaint), 2);
		assert_contains(complaint, cases[i].complaint);
	}
}

TEST(a_file_that_cannot_be_written_is_told)
{
	char complaint[CS_DRAW_COMPLAINT];
	struct cs_draw_request request = request_for("bcast:binomial", 4);
	request.svg = "/nonexistent/drawing.svg";
	assert_int_equal(cs_tools_draw(&request, complaint), 1);
	assert_contains(complaint, "--svg /nonexistent/drawing.svg: No such file");
}

RUN_TESTS(NULL, NULL)
