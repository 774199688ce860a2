#include "unit.h"

#include "base/parse.h"
#include "select/select.h"

#include <errno.h>
#include <locale.h>

static char directory[256];
static char file[280];

static int
make_directory(void **state)
{
	if (!mkdtemp(temporary(directory)))
		return -1;
	snprintf(file, sizeof file, "%s/site.yaml", directory);
	return 0;
}

static int
remove_directory(void **state)
{
	unlink(file);
	return rmdir(directory);
}

#define HEAD "version: 1\n"
#define BLOCK(name)                                                                                \
	"  - name: " name "\n    provenance: {date: 2026-11-21, library: l, machine: m, command: " \
			  "c}\n"
#define RULE(text) "      - {collective: " text "}\n"
#define SITE(rules) HEAD "blocks:\n" BLOCK("b") "    rules:\n" rules

static const struct cs_machine here = { "mpich", "AMD EPYC 7763", "node7", 8 };

/* A selector whose site's file has this text, or that has none if it is NULL. */
static struct cs_selector *
make_on(const struct cs_machine *machine, const char *site, const struct cs_settings *like)
{
	struct cs_settings settings = *like;
	struct cs_selector *selector = NULL;
	settings.tuning = "builtin";
	if (site) {
		FILE *out = fopen(file, "w");
		assert_non_null(out);
		fputs(site, out);
		fclose(out);
		settings.tuning = file;
	}
	assert_int_equal(cs_selector_create(&selector, &settings, machine), CS_OK);
	return selector;
}

static const struct cs_settings nothing_set = { .team_after = -1 };

static struct cs_selector *
make(const char *site)
{
	return make_on(&here, site, &nothing_set);
}

static struct cs_selector *
make_forced(const char *site, enum cs_coll coll, const char *text)
{
	struct cs_settings settings = nothing_set;
	settings.force[coll] = text;
	return make_on(&here, site, &settings);
}

/* 4 nodes of 4, nothing special. */
static struct cs_facts
usual(enum cs_coll coll, size_t bytes)
{
	return (struct cs_facts){ coll, bytes, 16, 4, 4, 4, true, true, 1, CS_WIRE_HOST };
}

static struct cs_choice
choose(const struct cs_selector *selector, const struct cs_facts *facts)
{
	struct cs_choice choice;
	memset(&choice, 0x5a, sizeof choice);
	cs_selector_choose(selector, facts, &choice);
	return choice;
}

static struct cs_choice
choose_bytes(const struct cs_selector *selector, enum cs_coll coll, size_t bytes)
{
	struct cs_facts facts = usual(coll, bytes);
	return choose(selector, &facts);
}

static void
assert_choice(struct cs_choice choice, const char *algorithm, enum cs_why why, const char *reason)
{
	const char *name = choice.algorithm ? choice.algorithm->name : "host";
	if (strcmp(name, algorithm) || choice.why != why || strcmp(choice.reason, reason))
		fail_msg("chose %s, why %d, \"%s\"; expected %s, why %d, \"%s\"", name, choice.why,
			 choice.reason, algorithm, why, reason);
}

/* ---- the order of precedence ----------------------------------------------------------------- */

TEST(the_sites_first_fitting_rule_decides)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, bytes: 0-1K, use: host")
			  RULE("bcast, bytes: 0-1M, use: ring")
			  RULE("bcast, use: \"hier:host\"")));
	assert_choice(choose_bytes(selector, CS_BCAST, 0), "host", CS_WHY_RULE, "rule site.yaml:6");
	assert_choice(choose_bytes(selector, CS_BCAST, 1023), "host", CS_WHY_RULE,
		      "rule site.yaml:6");
	assert_choice(choose_bytes(selector, CS_BCAST, 1024), "ring", CS_WHY_RULE,
		      "rule site.yaml:7");
	assert_choice(choose_bytes(selector, CS_BCAST, 1 << 20), "hier:host", CS_WHY_RULE,
		      "rule site.yaml:8");
	cs_selector_destroy(selector);
}

TEST(what_the_site_leaves_open_goes_to_the_built_in_rules)
{
	struct cs_selector *selector = make(SITE(RULE("bcast, ranks: 1000-inf, use: ring")));
	struct cs_choice choice = choose_bytes(selector, CS_BCAST, 8);
	assert_int_equal(choice.why, CS_WHY_BUILTIN);
	assert_contains(choice.reason, "built-in tuning.yaml:");
	cs_selector_destroy(selector);
}

TEST(a_rule_is_told_in_words_and_by_its_place)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, nodes: 2-inf, ppn: 2-inf, bytes: 0-1K, use: host")
			  RULE("bcast, bytes: 1K-1M, ranks: 2-5000, use: ring")
			  RULE("bcast, nodes: 1-2, use: \"hier:host\"")));
	static const struct {
		size_t bytes;
		const char *words, *place;
	} cases[] = {
		{ 8, "rule of the site: several nodes, several ranks on each, 0-1K bytes",
		  "site.yaml:6" },
		{ 1024, "rule of the site: 2-5000 ranks in all, 1K-1M bytes", "site.yaml:7" },
		{ 1 << 20, "built-in rule: ", "tuning.yaml:" },
	};
	char words[256];
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_choice choice = choose_bytes(selector, CS_BCAST, cases[i].bytes);
		const char *place = cs_selector_rule_words(selector, CS_BCAST, choice.reason,
							   words, sizeof words);
		assert_non_null(place);
		assert_contains(words, cases[i].words);
		assert_contains(place, cases[i].place);
	}
	assert_null(cs_selector_rule_words(selector, CS_BCAST, "site.yaml:6", words,
					   sizeof words));
	assert_null(cs_selector_rule_words(NULL, CS_BCAST, "", words, sizeof words));
	cs_selector_destroy(selector);
}

TEST(a_forced_algorithm_goes_before_every_rule)
{
	struct cs_selector *selector = make_forced(SITE(RULE("bcast, use: host")),
						   CS_BCAST,
						   "0-4K=ring,1M-inf=hier:host:chunk=2K");
	assert_choice(choose_bytes(selector, CS_BCAST, 8), "ring", CS_WHY_FORCED,
		      "forced by COLLSHIM_BCAST");
	assert_choice(choose_bytes(selector, CS_BCAST, 4096), "host", CS_WHY_RULE,
		      "rule site.yaml:6");
	struct cs_choice choice = choose_bytes(selector, CS_BCAST, 1 << 20);
	assert_choice(choice, "hier:host", CS_WHY_FORCED, "forced by COLLSHIM_BCAST");
	assert_int_equal(choice.params[0], 2048);
	/* Another collective is not touched. */
	assert_int_equal(choose_bytes(selector, CS_REDUCE, 8).why, CS_WHY_BUILTIN);
	cs_selector_destroy(selector);
}

TEST(the_host_may_be_forced_and_ruled)
{
	struct cs_selector *selector = make_forced(SITE(RULE("any, use: host")),
						   CS_BCAST, "host");
	assert_choice(choose_bytes(selector, CS_BCAST, 8), "host", CS_WHY_FORCED,
		      "forced by COLLSHIM_BCAST");
	assert_choice(choose_bytes(selector, CS_REDUCE, 8), "host", CS_WHY_RULE,
		      "rule site.yaml:6");
	cs_selector_destroy(selector);
}

TEST(an_excluded_algorithm_is_passed_over_for_the_next_rule)
{
	struct cs_selector *selector =
		make_forced(SITE(RULE("bcast, use: \"hier:host\"")
				 RULE("bcast, bytes: 0-1K, use: ring")),
						   CS_BCAST, "^hier:host");
	assert_choice(choose_bytes(selector, CS_BCAST, 8), "ring", CS_WHY_RULE, "rule site.yaml:7");
	assert_choice(choose_bytes(selector, CS_BCAST, 1024), "host", CS_WHY_EXCLUDED,
		      "excluded by COLLSHIM_BCAST=^hier:host");
	assert_int_equal(choose_bytes(selector, CS_REDUCE, 8).why, CS_WHY_BUILTIN);
	cs_selector_destroy(selector);
}

TEST(a_rule_whose_algorithm_cannot_serve_is_passed_over)
{
	struct cs_selector *selector = make(SITE(RULE("allreduce, bytes: 0-1K, use: node")));
	struct cs_facts one_node = { CS_ALLREDUCE, 8, 4, 1, 4, 4, true, true, 1, CS_WIRE_HOST };
	assert_choice(choose(selector, &one_node), "node", CS_WHY_RULE, "rule site.yaml:6");
	assert_int_equal(choose_bytes(selector, CS_ALLREDUCE, 8).why, CS_WHY_BUILTIN);
	cs_selector_destroy(selector);
}

TEST(where_only_the_needs_stand_in_the_way_they_are_the_reason)
{
	struct cs_selector *selector = make(SITE(RULE("bcast, use: \"hier:host\"")));
	struct cs_facts alone = { CS_BCAST, 8, 4, 4, 1, 1, true, true, 1, CS_WIRE_HOST };
	assert_choice(choose(selector, &alone), "host", CS_WHY_NEEDS, "one rank per node");
	cs_selector_destroy(selector);
	/* The built-in rules do not ask for it, so nothing matches. */
	selector = make(NULL);
	assert_choice(choose(selector, &alone), "host", CS_WHY_NO_RULE, "no rule");
	cs_selector_destroy(selector);
}

TEST(a_non_commutative_operation_needs_block_placement)
{
	struct cs_selector *selector = make_forced(NULL, CS_REDUCE, "hier:host");
	struct cs_facts facts = { CS_REDUCE, 8, 4, 2, 2, 2, false, true, 1, CS_WIRE_HOST };
	assert_int_equal(choose(selector, &facts).why, CS_WHY_FORCED);
	facts.is_commutative = false;
	struct said said;
	said_begin(&said);
	assert_int_equal(choose(selector, &facts).why, CS_WHY_NEEDS);
	said_end(&said);
	facts.is_block_placed = true;
	assert_int_equal(choose(selector, &facts).why, CS_WHY_FORCED);
	cs_selector_destroy(selector);
}

TEST(a_forced_algorithm_that_cannot_serve_gives_one_line_and_the_host)
{
	struct cs_selector *selector =
		make_forced(SITE(RULE("any, use: host")), CS_BCAST, "hier:host");
	struct cs_facts alone = { CS_BCAST, 8, 4, 4, 1, 1, true, true, 1, CS_WIRE_HOST };
	struct said said;
	said_begin(&said);
	assert_choice(choose(selector, &alone), "host", CS_WHY_NEEDS, "one rank per node");
	assert_choice(choose(selector, &alone), "host", CS_WHY_NEEDS, "one rank per node");
	const char *text = said_end(&said);
	assert_int_equal(count_lines(text), 1);
	assert_contains(text, "COLLSHIM_BCAST asks for hier:host, which does not serve this call "
			      "(one rank per "
			      "node); such calls go to the MPI [unmet:bcast]");
	cs_selector_destroy(selector);
}

TEST(a_ppn_condition_holds_for_the_fullest_and_the_emptiest_node)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, ppn: 2-4, use: ring") RULE("bcast, use: host")));
	static const struct {
		int least, most;
		const char *algorithm;
	} cases[] = { { 2, 4, "ring" }, { 3, 3, "ring" }, { 1, 4, "host" }, { 2, 5, "host" },
		      { 5, 5, "host" } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_facts facts = { CS_BCAST, 8, 12, 4, cases[i].least, cases[i].most, true,
					  true, 1, CS_WIRE_HOST };
		struct cs_choice choice = choose(selector, &facts);
		assert_string_equal(choice.algorithm ? choice.algorithm->name : "host",
				    cases[i].algorithm);
	}
	cs_selector_destroy(selector);
}

TEST(calls_without_an_agreed_size_get_one_answer)
{
	struct cs_selector *selector = make_forced(NULL, CS_GATHERV, "hier:host");
	struct cs_choice choice = choose_bytes(selector, CS_GATHERV, CS_BYTES_UNKNOWN);
	assert_int_equal(choice.why, CS_WHY_FORCED);
	assert_true(choice.bytes_low == 0 && choice.bytes_high == CS_BYTES_UNKNOWN);
	cs_selector_destroy(selector);
	/* Where a size could be had but is not, rules that ask for one do not fit. */
	selector = make(SITE(RULE("bcast, bytes: 0-1G, use: ring") RULE("bcast, use: host")));
	choice = choose_bytes(selector, CS_BCAST, CS_BYTES_UNKNOWN);
	assert_choice(choice, "host", CS_WHY_RULE, "rule site.yaml:7");
	assert_true(choice.bytes_low == 0 && choice.bytes_high == CS_BYTES_UNKNOWN);
	cs_selector_destroy(selector);
}

TEST(blocks_hold_only_on_the_machines_they_are_for)
{
	static const struct {
		const char *guard;
		bool holds;
	} cases[] = {
		{ "{}", true },
		{ "{mpi: mpich}", true },
		{ "{mpi: openmpi}", false },
		{ "{cpu: \"*EPYC*\"}", true },
		{ "{cpu: \"EPYC\"}", false },
		{ "{host: \"node*\"}", true },
		{ "{host: \"node?\"}", true },
		{ "{host: \"login*\"}", false },
		{ "{cores: 8}", true },
		{ "{cores: 2-8}", true },
		{ "{cores: 9-inf}", false },
		{ "{mpi: mpich, cpu: \"*EPYC*\", host: node7, cores: 1-64}", true },
		{ "{mpi: mpich, cpu: \"*EPYC*\", host: node8, cores: 1-64}", false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[512];
		snprintf(text, sizeof text,
			 HEAD "blocks:\n" BLOCK("b") "    machine: %s\n"
						     "    rules: [{collective: bcast, use: "
						     "ring}]\n",
			 cases[i].guard);
		struct cs_selector *selector = make(text);
		struct cs_choice choice = choose_bytes(selector, CS_BCAST, 8);
		if ((choice.why == CS_WHY_RULE) != cases[i].holds)
			fail_msg("guard %s %s", cases[i].guard,
				 cases[i].holds ? "did not hold" : "held");
		cs_selector_destroy(selector);
	}
	/* collshim-info knows no MPI: blocks for any are shown. */
	struct cs_machine no_mpi = { NULL, "", "node7", 8 };
	struct cs_selector *selector =
		make_on(&no_mpi, HEAD "blocks:\n" BLOCK("b") "    machine: {mpi: openmpi}\n    "
							     "rules: [{collective: "
							     "bcast, use: ring}]\n",
			&nothing_set);
	assert_int_equal(choose_bytes(selector, CS_BCAST, 8).why, CS_WHY_RULE);
	cs_selector_destroy(selector);
}

/* ---- wrong input ----------------------------------------------------------------------------- */

TEST(a_wrong_file_gives_one_line_and_the_built_in_rules)
{
	struct said said;
	said_begin(&said);
	struct cs_selector *selector = make("version: 2\nlimits: {slots: 0, spin: 77}\n");
	const char *text = said_end(&said);
	char expected[512];
	snprintf(expected, sizeof expected, "collshim: select: %s:1:10: found \"2\", expected 1",
		 file);
	assert_contains(text, expected);
	snprintf(expected, sizeof expected, "(and 1 more; see collshim-info --check %s)", file);
	assert_contains(text, expected);
	assert_contains(text, "only the built-in rules are used");
	assert_int_equal(count_lines(text), 1);
	assert_int_equal(choose_bytes(selector, CS_BCAST, 8).why, CS_WHY_BUILTIN);
	assert_int_not_equal(cs_selector_limits(selector)->spin, 77);
	cs_selector_destroy(selector);
}

TEST(a_wrong_forcing_text_gives_one_line_and_is_ignored)
{
	struct said said;
	said_begin(&said);
	struct cs_selector *selector = make_forced(NULL, CS_BCAST, "0-4K=heir:host");
	const char *text = said_end(&said);
	assert_contains(text, "collshim: select: COLLSHIM_BCAST=0-4K=heir:host: column 6: "
			      "\"heir:host\" is no "
			      "algorithm of bcast");
	assert_contains(text, "did you mean hier:host?; it is ignored [ignored:bcast]");
	assert_int_equal(count_lines(text), 1);
	assert_int_equal(choose_bytes(selector, CS_BCAST, 8).why, CS_WHY_BUILTIN);
	cs_selector_destroy(selector);
}

TEST(a_missing_file_is_an_error_only_if_it_was_asked_for)
{
	struct cs_settings settings = nothing_set;
	struct cs_selector *selector;
	struct said said;
	said_begin(&said);
	assert_int_equal(cs_selector_create(&selector, &settings, &here), CS_OK);
	cs_selector_destroy(selector);
	assert_string_equal(said_end(&said), "");
	settings.tuning = "/nonexistent/mine.yaml";
	said_begin(&said);
	errno = 4242;
	assert_int_equal(cs_selector_create(&selector, &settings, &here), CS_OK);
	assert_int_equal(errno, 4242);
	cs_selector_destroy(selector);
	assert_string_equal(said_end(&said),
			    "collshim: select: /nonexistent/mine.yaml: cannot be read: No such "
			    "file or directory; "
			    "only the built-in rules are used [ignored:tuning]\n");
}

/* ---- limits ---------------------------------------------------------------------------------- */

TEST(single_limits_are_overridden_by_the_site_and_then_by_the_environment)
{
	struct cs_selector *builtin = make(NULL);
	struct cs_selector *site = make(HEAD "limits: {slots: 32, team_after: 9, shm_budget: "
					     "8M}\n");
	struct cs_settings settings = nothing_set;
	settings.team_after = 0;
	settings.shm_budget = 1 << 20;
	struct cs_selector *environment =
		make_on(&here, HEAD "limits: {slots: 32, team_after: 9, shm_budget: 8M}\n",
			&settings);
	assert_int_equal(cs_selector_limits(site)->slots, 32);
	assert_int_equal(cs_selector_limits(site)->team_after, 9);
	assert_int_equal(cs_selector_limits(site)->shm_budget, 8 << 20);
	assert_int_equal(cs_selector_limits(site)->spin, cs_selector_limits(builtin)->spin);
	assert_int_equal(cs_selector_limits(environment)->slots, 32);
	assert_int_equal(cs_selector_limits(environment)->team_after, 0);
	assert_int_equal(cs_selector_limits(environment)->shm_budget, 1 << 20);
	cs_selector_destroy(builtin);
	cs_selector_destroy(site);
	cs_selector_destroy(environment);
}

TEST(what_the_environment_says_of_the_wire_goes_before_every_file)
{
	static const enum cs_wire_kind kinds[] = { CS_WIRE_AUTO, CS_WIRE_HOST, CS_WIRE_IB };
	struct cs_selector *builtin = make(NULL), *site = make(HEAD "limits: {wire: ib}\n");
	assert_int_equal(cs_selector_limits(builtin)->wire, CS_WIRE_AUTO);
	assert_int_equal(cs_selector_limits(site)->wire, CS_WIRE_IB);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct cs_settings settings = nothing_set;
		settings.wire = kinds[i];
		struct cs_selector *selector = make_on(&here, HEAD "limits: {wire: ib}\n",
						       &settings);
		assert_int_equal(cs_selector_limits(selector)->wire, kinds[i]);
		cs_selector_destroy(selector);
	}
	cs_selector_destroy(builtin);
	cs_selector_destroy(site);
}

/* ---- intervals: compared with a slow reference ----------------------------------------------- */

#define SIZES 48 /* small enough to try every size */

struct model_rule {
	size_t low, high; /* high SIZE_MAX: no end */
	int ranks_low, ranks_high;
	int which; /* 0 host, 1 hier:host (needs two ranks on a node), 2 ring */
	unsigned line;
	bool is_sized;
};

struct model {
	struct model_rule forced[3], rules[8];
	int forced_count, rule_count;
	bool excludes_hier, excludes_ring;
	char forcing[256], site[4096];
};

static const char *const model_names[] = { "host", "hier:host", "ring" };

static void
make_model(struct model *model, uint64_t *seed)
{
	*model = (struct model){ 0 };
	uint32_t kind = random_below(seed, 4);
	if (kind == 0) {
		model->forced_count = 1 + (int)random_below(seed, 3);
		for (int i = 0; i < model->forced_count; i++) {
			struct model_rule *rule = &model->forced[i];
			bool is_open = !random_below(seed, 6);
			rule->low = random_below(seed, SIZES - 1);
			rule->high = is_open ? SIZE_MAX : rule->low + 1 + random_below(seed, 20);
			rule->which = (int)random_below(seed, 3);
			size_t used = strlen(model->forcing);
			if (is_open)
				snprintf(model->forcing + used, sizeof model->forcing - used,
					 "%s%zu-inf=%s", i ? "," : "", rule->low,
					 model_names[rule->which]);
			else
				snprintf(model->forcing + used, sizeof model->forcing - used,
					 "%s%zu-%zu=%s", i ? "," : "", rule->low, rule->high,
					 model_names[rule->which]);
			/* Behind a first 0-inf nothing may follow; it is rare enough to end the
			 * list there. */
			if (!rule->low && is_open)
				model->forced_count = i + 1;
		}
	} else if (kind == 1) {
		model->excludes_hier = random_below(seed, 2);
		model->excludes_ring = !model->excludes_hier || random_below(seed, 2);
		snprintf(model->forcing, sizeof model->forcing, "%s%s%s",
			 model->excludes_hier ? "^hier:host" : "", model->excludes_hier &&
			 model->excludes_ring ? "," : "", model->excludes_ring ? "^ring" : "");
	}
	snprintf(model->site, sizeof model->site, "%s", SITE(""));
	model->rule_count = 1 + (int)random_below(seed, 8);
	for (int i = 0; i < model->rule_count; i++) {
		struct model_rule *rule = &model->rules[i];
		char bytes[64] = "", ranks[64] = "";
		*rule = (struct model_rule){ 0, SIZE_MAX, 0, 1 << 20, (int)random_below(seed, 3),
					     6 + (unsigned)i, random_below(seed, 6) };
		if (rule->is_sized) {
			rule->low = random_below(seed, SIZES - 1);
			rule->high = rule->low + 1 + random_below(seed, 20);
			snprintf(bytes, sizeof bytes, "bytes: %zu-%zu, ", rule->low, rule->high);
		}
		if (!random_below(seed, 3)) {
			rule->ranks_low = 2 + (int)random_below(seed, 8);
			rule->ranks_high = rule->ranks_low + (int)random_below(seed, 8);
			snprintf(ranks, sizeof ranks, "ranks: %d-%d, ", rule->ranks_low,
				 rule->ranks_high);
		}
		size_t used = strlen(model->site);
		snprintf(model->site + used, sizeof model->site - used,
			 "      - {collective: bcast, %s%suse: \"%s\"}\n", bytes, ranks,
			 model_names[rule->which]);
	}
}

/* What should be chosen, by the definition, written down without any cleverness. */
struct answer {
	int which;
	enum cs_why why;
	unsigned line; /* of a rule, or of the one that was barred; the forced item counted from
			* 1001 */
};

static bool
model_bars(const struct model *model, const struct model_rule *rule, const struct cs_facts *facts)
{
	return (rule->which == 1 && (model->excludes_hier || facts->ppn_max < 2)) ||
	       (rule->which == 2 && model->excludes_ring);
}

static struct answer
reference(const struct model *model, const struct cs_facts *facts)
{
	for (int i = 0; i < model->forced_count; i++) {
		const struct model_rule *rule = &model->forced[i];
		if (facts->bytes < rule->low || facts->bytes >= rule->high)
			continue;
		if (rule->which == 1 && facts->ppn_max < 2)
			return (struct answer){ 0, CS_WHY_NEEDS, 1001 + (unsigned)i };
		return (struct answer){ rule->which, CS_WHY_FORCED, 1001 + (unsigned)i };
	}
	struct answer barred = { 0, CS_WHY_NO_RULE, 0 };
	for (int i = 0; i < model->rule_count; i++) {
		const struct model_rule *rule = &model->rules[i];
		if (facts->bytes < rule->low || facts->bytes >= rule->high ||
		    facts->ranks < rule->ranks_low || facts->ranks > rule->ranks_high)
			continue;
		if (!model_bars(model, rule, facts))
			return (struct answer){ rule->which, CS_WHY_RULE, rule->line };
		if (barred.why != CS_WHY_NO_RULE)
			continue;
		bool is_excluded = rule->which == 2 || model->excludes_hier;
		barred = (struct answer){ 0, is_excluded ? CS_WHY_EXCLUDED : CS_WHY_NEEDS,
					  rule->line };
	}
	return barred;
}

static bool
same_choice(struct answer a, struct answer b)
{
	return a.which == b.which && a.why == b.why && a.line == b.line;
}

/* The built-in rules of these tests ask for two ranks on every node. Here one node has a single
 * one, so that the model's rules are all there is; the other may have more, so that hier:host can
 * serve. */
TEST(chosen_and_its_interval_are_exactly_what_the_definition_says)
{
	uint64_t seed = first_seed();
	struct said said;
	said_begin(&said); /* of forced algorithms that cannot serve */
	char wrong[6000] = "";
	for (int round = 0; round < 3000 && !*wrong; round++) {
		struct model model;
		uint64_t before = seed;
		make_model(&model, &seed);
		struct cs_selector *selector =
			make_forced(model.site, CS_BCAST, *model.forcing ? model.forcing : NULL);
		int ppn_max = random_below(&seed, 3) ? 3 : 1;
		int ranks = 2 + (int)random_below(&seed, 12);
		struct cs_facts facts = { CS_BCAST, 0, ranks, 2, 1, ppn_max, true, true, 1,
					  CS_WIRE_HOST };
		struct answer answers[SIZES + 30];
		size_t sizes = COUNT(answers);
		for (facts.bytes = 0; facts.bytes < sizes; facts.bytes++)
			answers[facts.bytes] = reference(&model, &facts);
		for (facts.bytes = 0; facts.bytes < sizes && !*wrong; facts.bytes++) {
			struct cs_choice choice = choose(selector, &facts);
			struct answer expected = answers[facts.bytes];
			const char *name = choice.algorithm ? choice.algorithm->name : "host";
			char reason[64];
			snprintf(reason, sizeof reason, "rule site.yaml:%u", expected.line);
			size_t low = facts.bytes, high = facts.bytes + 1;
			while (low > 0 && same_choice(answers[low - 1], expected))
				low--;
			while (high < sizes && same_choice(answers[high], expected))
				high++;
			if (high == sizes)
				high = CS_INF; /* every bound of the model is smaller */
			if (strcmp(name, model_names[expected.which]) ||
			    choice.why != expected.why ||
			    (choice.why == CS_WHY_RULE && strcmp(choice.reason, reason)) ||
			    choice.bytes_low != low || choice.bytes_high != high)
				snprintf(wrong, sizeof wrong,
					 "TEST_SEED=%llu, %d ranks, %zu bytes: %s (%s) for [%zu, "
					 "%zu), expected %s, "
					 "why %d, line %u for [%zu, %zu)\nCOLLSHIM_BCAST=%s\n%s",
					 (unsigned long long)before, facts.ranks, facts.bytes, name,
					 choice.reason, choice.bytes_low, choice.bytes_high,
					 model_names[expected.which], expected.why, expected.line,
					 low, high, model.forcing, model.site);
		}
		cs_selector_destroy(selector);
	}
	said_end(&said);
	if (*wrong)
		fail_msg("%s", wrong);
}

/* ---- how uneven blocks are ------------------------------------------------------------------- */

TEST(a_rule_may_be_for_uneven_blocks_only)
{
	struct cs_selector *selector =
		make(SITE(RULE("allgatherv, skew: 2-inf, use: \"hier:host\"")
			  RULE("allgatherv, use: host")));
	struct cs_facts facts = usual(CS_ALLGATHERV, 64);
	assert_choice(choose(selector, &facts), "host", CS_WHY_RULE, "rule site.yaml:7");
	assert_true(choose(selector, &facts).depends_on_skew);
	facts.skew = 4;
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:6");
	facts.ppn_min = 1; /* the rule cannot serve, but it was looked at */
	facts.ppn_max = 1;
	assert_choice(choose(selector, &facts), "host", CS_WHY_RULE, "rule site.yaml:7");
	assert_false(choose_bytes(selector, CS_BCAST, 8).depends_on_skew);
	cs_selector_destroy(selector);
}

TEST(a_rule_may_be_for_one_wire_only)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, wire: ib, use: ring")
			  RULE("bcast, wire: host, bytes: 0-1K, use: host")
			  RULE("bcast, use: \"hier:host\"")));
	struct cs_facts facts = usual(CS_BCAST, 64);
	assert_choice(choose(selector, &facts), "host", CS_WHY_RULE, "rule site.yaml:7");
	facts.wire = CS_WIRE_IB;
	struct cs_choice choice = choose(selector, &facts);
	assert_choice(choice, "ring", CS_WHY_RULE, "rule site.yaml:6");
	/* The other wire's rule does not cut the interval. */
	assert_true(choice.bytes_low == 0 && choice.bytes_high == CS_INF);
	/* What fits both serves both. */
	facts.bytes = 1024;
	facts.wire = CS_WIRE_HOST;
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:8");
	cs_selector_destroy(selector);
	/* What is forced does not ask. */
	selector = make_forced(SITE(RULE("bcast, wire: ib, use: host")), CS_BCAST,
			       "ring");
	facts.wire = CS_WIRE_IB;
	assert_choice(choose(selector, &facts), "ring", CS_WHY_FORCED, "forced by COLLSHIM_BCAST");
	cs_selector_destroy(selector);
}

TEST(a_rule_may_be_for_one_placement_only)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, placement: cyclic, bytes: 0-1K, use: ring")
			  RULE("bcast, placement: block, use: host")
			  RULE("bcast, use: \"hier:host\"")));
	struct cs_facts facts = usual(CS_BCAST, 64);
	struct cs_choice choice = choose(selector, &facts);
	assert_choice(choice, "host", CS_WHY_RULE, "rule site.yaml:7");
	/* The other placement's rule does not cut the interval. */
	assert_true(choice.bytes_low == 0 && choice.bytes_high == CS_INF);
	facts.is_block_placed = false;
	assert_choice(choose(selector, &facts), "ring", CS_WHY_RULE, "rule site.yaml:6");
	facts.bytes = 1024;
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:8");
	cs_selector_destroy(selector);
}

/* ---- non-blocking calls ---------------------------------------------------------------------- */

/* Of one node of 4, or of 4 nodes of 4 where messages progress. */
static struct cs_facts
nonblocking(enum cs_coll coll, size_t bytes, bool is_one_node)
{
	struct cs_facts facts = usual(coll, bytes);
	facts.is_nonblocking = facts.has_progress = true;
	if (is_one_node)
		facts.ranks = 4, facts.nodes = 1;
	return facts;
}

TEST(a_rule_may_be_for_one_form_only)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, nonblocking: yes, bytes: 0-1K, use: \"hier:host\"")
			  RULE("bcast, nonblocking: no, use: host")
			  RULE("bcast, use: \"hier:host\"")));
	struct cs_facts facts = nonblocking(CS_BCAST, 64, true);
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:6");
	facts.bytes = 1024;
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:8");
	facts.is_nonblocking = false;
	struct cs_choice choice = choose(selector, &facts);
	assert_choice(choice, "host", CS_WHY_RULE, "rule site.yaml:7");
	/* The other form's rule does not cut the interval. */
	assert_true(choice.bytes_low == 0 && choice.bytes_high == CS_INF);
	cs_selector_destroy(selector);
}

TEST(a_non_blocking_call_takes_the_first_rule_that_can_serve_it)
{
	struct cs_selector *selector = make(SITE(RULE("bcast, use: ring")
						 RULE("bcast, use: \"hier:host\"")
						 RULE("alltoall, use: \"hier:host\"")));
	struct cs_facts facts = usual(CS_BCAST, 8);
	assert_choice(choose(selector, &facts), "ring", CS_WHY_RULE, "rule site.yaml:6");
	facts = nonblocking(CS_BCAST, 8, true);
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:7");
	facts = nonblocking(CS_BCAST, 8, false);
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:7");
	facts.has_progress = false;
	assert_choice(choose(selector, &facts), "host", CS_WHY_NEEDS,
		      "not blocking, on several nodes");
	/* By a thread that makes no call of the MPI: by plans between nodes. */
	facts.by_thread = true;
	struct cs_algorithm composed = *cs_algorithm_by_name(CS_BCAST, "hier:host");
	assert_string_equal(cs_algorithm_unmet(&composed, &facts), CS_NOT_BY_THREAD);
	composed.inner = cs_algorithm_by_name(CS_BCAST, "ring");
	assert_null(cs_algorithm_unmet(&composed, &facts));
	facts.coll = CS_GATHERV;
	assert_string_equal(cs_algorithm_unmet(&composed, &facts), CS_NOT_BY_THREAD);
	facts.coll = CS_REDUCE;
	facts.is_commutative = false;
	assert_string_equal(cs_algorithm_unmet(&composed, &facts), CS_NOT_BY_THREAD);
	facts = nonblocking(CS_ALLTOALL, 8, true);
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:8");
	facts = nonblocking(CS_ALLTOALL, 8, false);
	assert_string_equal(cs_algorithm_unmet(cs_algorithm_by_name(CS_ALLTOALL, "hier:host"),
					       &facts),
			    "not blocking, and MPI_Ialltoallv between nodes");
	cs_selector_destroy(selector);
}

TEST(the_variable_of_non_blocking_calls_goes_before_that_of_both)
{
	static const struct {
		const char *both, *own, *blocking, *blocking_reason, *nonblocking, *reason;
	} cases[] = {
		{ "host", NULL, "host", "forced by COLLSHIM_BCAST", "host",
		  "forced by COLLSHIM_BCAST" },
		{ "host", "hier:host", "host", "forced by COLLSHIM_BCAST", "hier:host",
		  "forced by COLLSHIM_IBCAST" },
		{ NULL, "host", "hier:host", "rule site.yaml:6", "host",
		  "forced by COLLSHIM_IBCAST" },
		/* What it does not cover is not the other's. */
		{ "host", "4K-8K=host", "host", "forced by COLLSHIM_BCAST", "hier:host",
		  "rule site.yaml:6" },
		{ "host", "^ring", "host", "forced by COLLSHIM_BCAST", "hier:host",
		  "rule site.yaml:6" },
		{ "^hier:host", NULL, "host", "rule site.yaml:7", "host", "rule site.yaml:7" },
		{ "^hier:host", "^ring", "host", "rule site.yaml:7", "hier:host",
		  "rule site.yaml:6" },
		{ NULL, "^hier:host", "hier:host", "rule site.yaml:6", "host",
		  "rule site.yaml:7" },
	};
	uint64_t seen[COUNT(cases)];
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_settings settings = nothing_set;
		settings.force[CS_BCAST] = cases[i].both;
		settings.force[CS_COLL_COUNT + CS_BCAST] = cases[i].own;
		struct cs_selector *selector =
			make_on(&here, SITE(RULE("bcast, use: \"hier:host\"")
					    RULE("bcast, use: host")), &settings);
		struct cs_facts facts = nonblocking(CS_BCAST, 64, true);
		struct cs_choice choice = choose(selector, &facts);
		assert_choice(choice, cases[i].nonblocking,
			      *cases[i].reason == 'f' ? CS_WHY_FORCED : CS_WHY_RULE,
			      cases[i].reason);
		assert_false(choice.is_belief);
		facts.is_nonblocking = false;
		assert_choice(choose(selector, &facts), cases[i].blocking,
			      *cases[i].blocking_reason == 'f' ? CS_WHY_FORCED : CS_WHY_RULE,
			      cases[i].blocking_reason);
		seen[i] = cs_selector_digest(selector);
		for (size_t k = 0; k < i; k++)
			assert_true(seen[k] != seen[i]);
		cs_selector_destroy(selector);
	}
}

TEST(a_wrong_variable_of_non_blocking_calls_is_said_and_counts_for_nothing)
{
	struct said said;
	struct cs_settings settings = nothing_set;
	settings.force[CS_BCAST] = "host";
	settings.force[CS_COLL_COUNT + CS_BCAST] = "heir:host";
	said_begin(&said);
	struct cs_selector *selector = make_on(&here, NULL, &settings);
	said_end(&said);
	assert_contains(said.text, "COLLSHIM_IBCAST=heir:host: column 1: \"heir:host\" is no "
				   "algorithm of bcast");
	assert_contains(said.text, "[ignored:ibcast]\n");
	assert_int_equal(count_lines(said.text), 1);
	struct cs_facts facts = nonblocking(CS_BCAST, 64, true);
	assert_choice(choose(selector, &facts), "host", CS_WHY_FORCED, "forced by COLLSHIM_BCAST");
	cs_selector_destroy(selector);
}

TEST(what_a_non_blocking_call_cannot_have_is_said_to_who_asked_for_it)
{
	struct cs_facts facts = nonblocking(CS_BCAST, 64, true);
	for (int is_own = 0; is_own < 2; is_own++) {
		struct said said;
		struct cs_selector *selector = make_forced(NULL, CS_BCAST + is_own * CS_COLL_COUNT,
							   "ring");
		said_begin(&said);
		for (int times = 0; times < 2; times++)
			assert_choice(choose(selector, &facts), "host", CS_WHY_NEEDS,
				      "not blocking, and a plan of all ranks");
		said_end(&said);
		if (is_own) {
			assert_contains(said.text, "COLLSHIM_IBCAST asks for ring, which does not "
						   "serve this call (not blocking, and a plan");
			assert_contains(said.text, "[unmet:ibcast]\n");
			assert_int_equal(count_lines(said.text), 1);
		} else {
			assert_string_equal(said.text, "");
		}
		cs_selector_destroy(selector);
	}
}

/* ---- the model ------------------------------------------------------------------------------- */

/* A message of k bytes takes 1 us + (k - 1) ns. The host: bcast of 16 ranks on 4 nodes and of 64 on
 * 16. */
#define MODEL(guard, fit, costs)                                                                   \
	"models:\n" BLOCK("m") guard                                                               \
	"    parameters: \"L=1e-6,G=1e-9\"\n    fit_error: " fit "\n    host:\n" costs
#define COSTS                                                                                      \
	"      - {collective: bcast, ranks: 16, nodes: 4, cost: {1K: 10us, 4K: 40us}}\n" \
	"      - {collective: bcast, ranks: 64, nodes: 16, cost: {1K: 110us}}\n"

TEST(the_model_decides_what_the_site_leaves_open)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, bytes: 0-64, use: host"))
					    MODEL("", "0.1", COSTS));
	struct cs_choice choice = choose_bytes(selector, CS_BCAST, 1500);
	/* At 1K: ring 16 x 1 us and 1008 x 1 ns, the host 10 us. */
	assert_choice(choice, "host", CS_WHY_MODEL, "model m");
	assert_int_equal(choice.bytes_low, 1024);
	assert_int_equal(choice.bytes_high, 2048);
	/* At 2K: 18.03 us, with 10 % 19.8; the host 10 + 30 / 3 = 20 us. */
	assert_choice(choose_bytes(selector, CS_BCAST, 2048), "ring", CS_WHY_MODEL, "model m");
	/* Between 4 and 16 nodes, 4 ranks each: at 1K 10 + 100 / 3 = 43.3 us for 8, ring 32 + 1
	 * us. */
	struct cs_facts eight = { CS_BCAST, 1024, 32, 8, 4, 4, true, true, 1, CS_WIRE_HOST };
	assert_choice(choose(selector, &eight), "ring", CS_WHY_MODEL, "model m");
	assert_choice(choose_bytes(selector, CS_BCAST, 63), "host", CS_WHY_RULE,
		      "rule site.yaml:6");
	/* The rule's end cuts the interval. */
	choice = choose_bytes(selector, CS_BCAST, 100);
	assert_int_equal(choice.bytes_low, 64);
	assert_int_equal(choice.bytes_high, 128);
	cs_selector_destroy(selector);
}

TEST(the_model_is_silent_where_nothing_was_measured)
{
	struct cs_selector *selector = make(HEAD MODEL("", "0", COSTS));
	const struct cs_facts cases[] = {
		{ CS_BCAST, 1024, 80, 20, 4, 4, true, true, 1, CS_WIRE_HOST },  /* more nodes */
		/* Other ranks per node */
		{ CS_BCAST, 1024, 8, 4, 2, 2, true, true, 1, CS_WIRE_HOST },
		{ CS_BCAST, 1024, 14, 4, 3, 4, true, true, 1, CS_WIRE_HOST },   /* uneven nodes */
		{ CS_BCAST, 1024, 4, 1, 4, 4, true, true, 1, CS_WIRE_HOST },    /* one node */
		/* Another collective */
		{ CS_REDUCE, 1024, 16, 4, 4, 4, true, true, 1, CS_WIRE_HOST },
		{ CS_ALLTOALLV, CS_BYTES_UNKNOWN, 16, 4, 4, 4, true, true, 1, CS_WIRE_HOST },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(choose(selector, &cases[i]).why, CS_WHY_BUILTIN);
	cs_selector_destroy(selector);
	/* A model for another MPI. */
	selector = make(HEAD MODEL("    machine: {mpi: openmpi}\n", "0", COSTS));
	assert_int_equal(choose_bytes(selector, CS_BCAST, 2048).why, CS_WHY_BUILTIN);
	cs_selector_destroy(selector);
	selector = make_forced(HEAD MODEL("", "0", COSTS), CS_BCAST, "^ring");
	assert_choice(choose_bytes(selector, CS_BCAST, 4096), "host", CS_WHY_MODEL, "model m");
	cs_selector_destroy(selector);
}

TEST(the_model_speaks_of_even_blocks_only_and_says_so)
{
	struct cs_selector *selector =
		make(HEAD MODEL("", "0", "      - {collective: allgatherv, ranks: 16, nodes: 4, "
								"cost: {1K: 10us}}\n"));
	struct cs_facts facts = usual(CS_ALLGATHERV, 1024);
	struct cs_choice choice = choose(selector, &facts);
	assert_int_equal(choice.why, CS_WHY_MODEL);
	assert_true(choice.depends_on_skew);
	facts.skew = 4;
	choice = choose(selector, &facts);
	assert_int_not_equal(choice.why, CS_WHY_MODEL);
	assert_true(choice.depends_on_skew);
	cs_selector_destroy(selector);
}

/* Two models for one machine: of messages by the MPI, and by verbs, ten times faster. */
TEST(each_wire_has_its_model)
{
	struct cs_selector *selector =
		make(HEAD MODEL("", "0.1", COSTS)
		     BLOCK("v") "    wire: ib\n    parameters: \"L=1e-7,G=1e-10\"\n"
				"    fit_error: 0\n    host:\n" COSTS);
	struct cs_facts facts = usual(CS_BCAST, 1500);
	assert_choice(choose(selector, &facts), "host", CS_WHY_MODEL, "model m");
	facts.wire = CS_WIRE_IB;
	assert_choice(choose(selector, &facts), "ring", CS_WHY_MODEL, "model v");
	cs_selector_destroy(selector);
	selector = make(HEAD MODEL("", "0", COSTS));
	assert_int_equal(choose(selector, &facts).why, CS_WHY_BUILTIN);
	cs_selector_destroy(selector);
}

TEST(a_cost_of_no_bytes_alone_is_that_of_all)
{
	struct cs_selector *selector =
		make(HEAD MODEL("", "0", "      - {collective: bcast, ranks: 16, nodes: 4, "
								"cost: {0: 10us}}\n"));
	assert_choice(choose_bytes(selector, CS_BCAST, 2048), "host", CS_WHY_MODEL, "model m");
	cs_selector_destroy(selector);
}

/* ---- digest ---------------------------------------------------------------------------------- */

static uint64_t
digest_of(const struct cs_machine *machine, const char *site, const struct cs_settings *settings)
{
	struct cs_selector *selector = make_on(machine, site, settings);
	uint64_t digest = cs_selector_digest(selector);
	cs_selector_destroy(selector);
	return digest;
}

TEST(equal_rules_give_equal_digests_however_they_are_written)
{
	uint64_t one =
		digest_of(&here, SITE(RULE("bcast, bytes: 0-4K, use: ring")),
			  &nothing_set);
	uint64_t other = digest_of(&here,
				   "# a comment\nversion: 1\nlimits: "
				   "{}\nblocks:\n" BLOCK("other name")
				   "    rules:\n    - use: 'ring'\n      bytes: 0-4096\n      "
				   "collective: [bcast]\n", &nothing_set);
	assert_true(one == other);
	/* Another machine on which the same guards hold agrees, too. */
	struct cs_machine neighbour = { "mpich", "AMD EPYC 7763", "node8", 8 };
	assert_true(digest_of(&neighbour,
			      SITE(RULE("bcast, bytes: 0-4K, use: ring")),
			      &nothing_set) == one);
}

TEST(whatever_can_change_a_choice_changes_the_digest)
{
	static const char *const sites[] = {
		NULL,
		HEAD,
		HEAD "limits: {slots: 31}\n",
		HEAD "limits: {area_slots: 31}\n",
		SITE(RULE("bcast, use: host")),
		SITE(RULE("gather, use: host")),
		SITE(RULE("bcast, use: ring")),
		SITE(RULE("bcast, use: \"hier:host\"")),
		SITE(RULE("bcast, use: \"hier:host\", with: {chunk: 4K}")),
		SITE(RULE("bcast, bytes: 0-4K, use: ring")),
		SITE(RULE("bcast, bytes: 0-4097, use: ring")),
		SITE(RULE("bcast, bytes: 1-4K, use: ring")),
		SITE(RULE("bcast, ranks: 1-4K, use: ring")),
		SITE(RULE("bcast, nodes: 1-4K, use: ring")),
		SITE(RULE("bcast, ppn: 1-4K, use: ring")),
		HEAD "limits: {wire: host}\n",
		HEAD "limits: {wire: ib}\n",
		HEAD "limits: {ib_slots: 31}\n",
		SITE(RULE("bcast, wire: host, use: ring")),
		SITE(RULE("bcast, wire: ib, use: ring")),
		SITE(RULE("bcast, placement: block, use: ring")),
		SITE(RULE("bcast, placement: cyclic, use: ring")),
		SITE(RULE("bcast, nonblocking: yes, use: ring")),
		SITE(RULE("bcast, nonblocking: no, use: ring")),
		SITE(RULE("bcast, use: ring") RULE("bcast, use: host")),
		SITE(RULE("bcast, use: host") RULE("bcast, use: ring")),
		SITE(RULE("allgatherv, use: host")),
		SITE(RULE("allgatherv, skew: 2-inf, use: host")),
		HEAD MODEL("", "0.1", COSTS),
		HEAD MODEL("", "0.2", COSTS),
		HEAD "models:\n" BLOCK("m") "    parameters: \"L=2e-6,G=1e-9\"\n    fit_error: "
					    "0.1\n    host:\n" COSTS,
		HEAD MODEL("", "0.1", "      - {collective: bcast, ranks: 16, nodes: 4, cost: {1K: "
				      "10us}}\n"),
		HEAD MODEL("", "0.1", "      - {collective: bcast, ranks: 16, nodes: 4, cost: {1K: "
				      "11us}}\n"),
		HEAD MODEL("", "0.1", "      - {collective: bcast, ranks: 16, nodes: 2, cost: {1K: "
				      "10us}}\n"),
		HEAD "node_models:\n" BLOCK("n") "    kind: epyc\n    values: {gap: 0.25}\n",
		HEAD "node_models:\n" BLOCK("n") "    kind: epyc\n    values: {gap: 0.26}\n",
		HEAD "blocks:\n" BLOCK("b") "    machine: {host: elsewhere}\n"
					    "    rules: [{collective: bcast, use: ring}]\n",
	};
	uint64_t seen[COUNT(sites)];
	for (size_t i = 0; i < COUNT(sites); i++) {
		seen[i] = digest_of(&here, sites[i], &nothing_set);
		assert_true(seen[i] == digest_of(&here, sites[i], &nothing_set));
		for (size_t k = 0; k < i; k++)
			/* An empty file is as good as none */
			if (seen[i] == seen[k] && !(k == 0 && i == 1))
				fail_msg("equal digests of\n%s\nand\n%s", sites[k] ? sites[k] : "",
					 sites[i]);
	}
	/* A guard that holds here and not there lets the two choose differently. */
	struct cs_machine elsewhere = here;
	elsewhere.host = "elsewhere";
	assert_true(digest_of(&elsewhere, sites[COUNT(sites) - 1], &nothing_set) !=
		    seen[COUNT(sites) - 1]);
	struct cs_settings forced = nothing_set;
	forced.force[CS_BCAST] = "ring";
	uint64_t ring = digest_of(&here, NULL, &forced);
	forced.force[CS_BCAST] = "^ring";
	uint64_t no_ring = digest_of(&here, NULL, &forced);
	forced.force[CS_BCAST] = NULL;
	forced.force[CS_ALLGATHER] = "ring";
	assert_true(ring != seen[0] && no_ring != seen[0] && ring != no_ring);
	assert_true(digest_of(&here, NULL, &forced) != ring);
}

/* ---- what is printed ------------------------------------------------------------------------- */

static char printed[16384];

static const char *
explain(const struct cs_selector *selector, const struct cs_facts *facts)
{
	struct said said;
	FILE *out = fmemopen(printed, sizeof printed, "w");
	said_begin(&said);
	cs_selector_explain(selector, facts, out);
	cs_selector_explain_why(selector, facts, true, out);
	said_end(&said);
	fclose(out);
	return printed;
}

TEST(explaining_names_the_row_that_decides_and_why_not_the_others)
{
	struct cs_selector *selector = make_forced(
		HEAD "blocks:\n" BLOCK("away") "    machine: {cpu: \"*Xeon*\"}\n"
					       "    rules: [{collective: bcast, use: "
					       "ring}]\n" BLOCK("b")
		"    rules:\n"
		"      - {collective: bcast, ranks: 100-200, use: ring}\n"
		"      - {collective: bcast, nodes: 1, use: ring}\n"
		"      - {collective: bcast, ppn: 8-inf, use: ring}\n"
		"      - {collective: bcast, bytes: 0-1K, use: ring}\n"
		"      - {collective: bcast, use: \"hier:host\"}\n"
		"      - {collective: bcast, bytes: 4K-1M, use: ring}\n"
		"      - {collective: bcast, use: host}\n",
		CS_BCAST, "^hier:host");
	struct cs_facts facts = usual(CS_BCAST, 8192);
	explain(selector, &facts);
	char *rows = strstr(strstr(printed, "rows"), "\n") + 1;
	*strstr(rows, "candidates of") = '\0';
	assert_string_equal(
		rows,
		"  rule site.yaml:6 (block away): use ring\n"
		"    no: for other machines (cpu \"*Xeon*\", here \"AMD EPYC 7763\")\n"
		"  rule site.yaml:10 (block b): use ring\n"
		"    no: ranks 100-200, here 16\n"
		"  rule site.yaml:11 (block b): use ring\n"
		"    no: nodes 1, here 4\n"
		"  rule site.yaml:12 (block b): use ring\n"
		"    no: ppn 8-inf, here 4\n"
		"  rule site.yaml:13 (block b): use ring\n"
		"    no: bytes 0-1K, here 8K\n"
		"  rule site.yaml:14 (block b): use hier:host:chunk=64K\n"
		"    no: excluded by COLLSHIM_BCAST=^hier:host\n"
		"  rule site.yaml:15 (block b): use ring\n"
		"    yes: this decides\n"
		"  rule site.yaml:16 (block b): use host\n"
		"    fits, but what stands above decides\n"
		"  built-in tuning.yaml:11 (block default): use hier:host:chunk=64K\n"
		"    no: nodes 1, here 4\n"
		"  built-in tuning.yaml:12 (block default): use hier:host:chunk=64K\n"
		"    fits, but what stands above decides\n");
	explain(selector, &facts);
	assert_contains(printed, "MPI: mpich\n-> ring (rule site.yaml:15); the same for 4K <= "
				 "bytes < 1M\nCOLLSHIM_BCAST: ^hier:host\n");
	FILE *out = fmemopen(printed, sizeof printed, "w");
	cs_selector_explain_why(selector, &facts, false, out);
	fclose(out);
	assert_string_equal(printed,
			    "COLLSHIM_BCAST: ^hier:host\n"
			    "rows, the first that fits decides:\n"
			    "  rule site.yaml:14 (block b): use hier:host:chunk=64K\n"
			    "    no: excluded by COLLSHIM_BCAST=^hier:host\n"
			    "  rule site.yaml:15 (block b): use ring\n"
			    "    yes: this decides\n"
			    "  rule site.yaml:16 (block b): use host\n"
			    "    fits, but what stands above decides\n"
			    "  built-in tuning.yaml:12 (block default): use hier:host:chunk=64K\n"
			    "    fits, but what stands above decides\n"
			    "  6 more do not fit: --all\n"
			    "candidates of live choice: none, since the answer is no hypothesis\n"
			    "algorithms:\n"
			    "  hier:host: can serve this call\n"
			    "  hier:host:tree: can serve this call\n"
			    "  ring: can serve this call\n"
			    "  host: can serve every call\n");
	cs_selector_destroy(selector);
}

TEST(a_rule_may_be_for_some_imbalance_only)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, imbalance: [moderate, strong], bytes: 0-1K, use: ring")
			  RULE("bcast, use: \"hier:host\"")));
	struct cs_facts facts = usual(CS_BCAST, 64);
	assert_true(cs_selector_asks_imbalance(selector, &facts));
	struct cs_choice choice = choose(selector, &facts);
	assert_choice(choice, "hier:host", CS_WHY_RULE, "rule site.yaml:7");
	assert_true(choice.bytes_low == 0 && choice.bytes_high == CS_INF);
	assert_contains(explain(selector, &facts), "no: imbalance moderate strong, here balanced");
	facts.imbalance = CS_STRONG;
	choice = choose(selector, &facts);
	assert_choice(choice, "ring", CS_WHY_RULE, "rule site.yaml:6");
	assert_true(choice.bytes_high == 1024);
	assert_contains(explain(selector, &facts), ", strong imbalance, ");
	facts.imbalance = CS_MODERATE;
	assert_choice(choose(selector, &facts), "ring", CS_WHY_RULE, "rule site.yaml:6");
	cs_selector_destroy(selector);
}

TEST(forcing_may_be_for_some_imbalance_only)
{
	struct cs_selector *selector = make_forced(SITE(RULE("bcast, use: \"hier:host\"")),
						   CS_BCAST, "0-1K=moderate+strong=ring");
	struct cs_facts facts = usual(CS_BCAST, 64);
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:6");
	facts.imbalance = CS_MODERATE;
	assert_choice(choose(selector, &facts), "ring", CS_WHY_FORCED, "forced by COLLSHIM_BCAST");
	facts.bytes = 1024;
	assert_choice(choose(selector, &facts), "hier:host", CS_WHY_RULE, "rule site.yaml:6");
	cs_selector_destroy(selector);
}

TEST(explaining_says_which_placement_a_rule_asks_for)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, placement: cyclic, use: ring")
			  RULE("bcast, placement: block, use: host")));
	struct cs_facts facts = usual(CS_BCAST, 8);
	assert_contains(explain(selector, &facts), "use ring\n    no: placement cyclic, here "
						   "block\n"
						   "  rule site.yaml:7 (block b): use host\n    "
						   "yes: this decides\n");
	facts.is_block_placed = false;
	assert_contains(explain(selector, &facts), "use ring\n    yes: this decides\n"
						   "  rule site.yaml:7 (block b): use host\n"
						   "    no: placement block, here cyclic\n");
	assert_contains(printed, ", cyclic or mixed placement, ");
	cs_selector_destroy(selector);
}

TEST(explaining_says_which_form_a_rule_asks_for)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, nonblocking: no, use: \"hier:host\"")
			  RULE("bcast, use: ring")
			  RULE("bcast, nonblocking: yes, use: host")));
	struct cs_facts facts = nonblocking(CS_BCAST, 8, true);
	assert_contains(explain(selector, &facts), "    no: nonblocking no, here yes\n");
	assert_contains(printed, "use ring\n    no: not blocking, and a plan of all ranks\n"
				 "  rule site.yaml:8 (block b): use host\n    yes: this decides\n");
	assert_int_equal(strncmp(printed, "ibcast, ", 8), 0);
	assert_contains(printed, "COLLSHIM_IBCAST: not set\nCOLLSHIM_BCAST: not set\n");
	facts.is_nonblocking = false;
	assert_contains(explain(selector, &facts), "    no: nonblocking yes, here no\n");
	assert_null(strstr(printed, "COLLSHIM_IBCAST"));
	cs_selector_destroy(selector);
}

TEST(explaining_says_which_wire_a_rule_asks_for)
{
	struct cs_selector *selector =
		make(SITE(RULE("bcast, wire: ib, use: ring") RULE("bcast, wire: host, use: host")));
	struct cs_facts facts = usual(CS_BCAST, 8);
	assert_contains(explain(selector, &facts), "  rule site.yaml:6 (block b): use ring\n    "
						   "no: wire ib, here host\n"
						   "  rule site.yaml:7 (block b): use host\n    "
						   "yes: this decides\n");
	assert_contains(printed, "block placement, wire: host, MPI: mpich\n");
	facts.wire = CS_WIRE_IB;
	assert_contains(explain(selector, &facts), "    yes: this decides\n  rule site.yaml:7 "
						   "(block b): use host\n"
						   "    no: wire host, here ib\n");
	assert_contains(printed, "block placement, wire: ib, MPI: mpich\n");
	/* Where there is one node, nothing is sent between nodes. */
	facts.nodes = 1;
	assert_contains(explain(selector, &facts), "block placement, MPI: mpich\n");
	cs_selector_destroy(selector);
}

TEST(explaining_says_what_is_wrong_with_a_variable_or_a_forced_call)
{
	struct said said;
	struct cs_facts alone = { CS_BCAST, 8, 4, 4, 1, 1, true, true, 1, CS_WIRE_HOST };
	said_begin(&said);
	struct cs_selector *selector = make_forced(NULL, CS_BCAST, "nonsense");
	said_end(&said);
	assert_contains(explain(selector, &alone), "COLLSHIM_BCAST: nonsense: ignored, column 1: "
						   "\"nonsense\" is no");
	assert_contains(printed, "  hier:host: no: one rank per node\n");
	assert_contains(printed, "\n-> host (no rule); the same for 0 <= bytes < inf\n");
	assert_contains(printed, "  none fits: the MPI\n");
	cs_selector_destroy(selector);
	selector = make_forced(NULL, CS_BCAST, "hier:host");
	assert_contains(explain(selector, &alone), "  forced by COLLSHIM_BCAST: use "
						   "hier:host:chunk=64K\n"
						   "    cannot be done (one rank per node): the "
						   "MPI\n");
	assert_contains(printed, "-> host (one rank per node)");
	cs_selector_destroy(selector);
}

TEST(explaining_says_which_calls_a_plan_refuses)
{
	struct cs_selector *selector = make_forced(NULL, CS_BCAST, "ring");
	struct cs_facts facts = usual(CS_BCAST, 4711);
	assert_contains(explain(selector, &facts), "-> ring (forced by COLLSHIM_BCAST); the same "
						   "for 0 <= bytes < inf\n"
						   "   but its plan refuses this call (it is 4711 "
						   "bytes): the MPI serves it\n");
	facts.bytes = 4712;
	assert_null(strstr(explain(selector, &facts), "refuses"));
	cs_selector_destroy(selector);
}

TEST(explaining_a_call_of_unknown_size_names_no_size)
{
	struct cs_selector *selector = make(NULL);
	struct cs_facts facts = usual(CS_ALLTOALLV, CS_BYTES_UNKNOWN);
	assert_contains(explain(selector, &facts), "alltoallv, any size; 16 ranks on 4 nodes, 4 "
						   "per node");
	assert_null(strstr(printed, "<= bytes"));
	cs_selector_destroy(selector);
}

TEST(explaining_and_choosing_agree)
{
	uint64_t seed = first_seed();
	for (int round = 0; round < 300; round++) {
		struct model model;
		uint64_t before = seed;
		make_model(&model, &seed);
		struct cs_selector *selector =
			make_forced(model.site, CS_BCAST, *model.forcing ? model.forcing : NULL);
		int ppn = 1 + (int)random_below(&seed, 2);
		struct cs_facts facts = { CS_BCAST, random_below(&seed, SIZES), 2 * ppn, 2, ppn,
					  ppn, true, true, 1, CS_WIRE_HOST };
		const char *text = explain(selector, &facts);
		struct said said;
		said_begin(&said);
		struct cs_choice choice = choose(selector, &facts);
		said_end(&said);
		/* The row said to decide is the one that did. */
		const char *yes = strstr(text, "\n    yes: this decides\n");
		if (!yes != !(choice.why == CS_WHY_FORCED || choice.why == CS_WHY_RULE ||
			      choice.why == CS_WHY_BUILTIN))
			fail_msg("TEST_SEED=%llu: why %d, but\n%s", (unsigned long long)before,
				 choice.why, text);
		if (yes) {
			while (yes[-1] != '\n')
				yes--;
			if (strncmp(yes + 2, choice.reason, strlen(choice.reason)))
				fail_msg("TEST_SEED=%llu: %s, but\n%s", (unsigned long long)before,
					 choice.reason, text);
		}
		cs_selector_destroy(selector);
	}
}

TEST(printed_limits_and_sources_say_where_they_come_from)
{
	struct cs_settings settings = nothing_set;
	settings.team_after = 3;
	settings.wire = CS_WIRE_IB;
	struct cs_selector *selector =
		make_on(&here, HEAD "limits: {slots: 32}\nblocks:\n" BLOCK("mine")
								 "    machine: {mpi: openmpi}\n    "
								 "rules: []\n",
					       &settings);
	FILE *out = fmemopen(printed, sizeof printed, "w");
	cs_selector_print_limits(selector, out);
	cs_selector_print_sources(selector, out);
	fclose(out);
	char expected[512];
	snprintf(expected, sizeof expected, "  slots = 32 (%s)\n", file);
	assert_contains(printed, expected);
	assert_contains(printed, "  team_after = 3 (COLLSHIM_TEAM_AFTER)\n");
	assert_contains(printed, "  wire = ib (COLLSHIM_WIRE)\n      what plans between nodes send "
				 "by: auto (verbs where "
				 "every rank can), host or ib\n");
	assert_contains(printed, " (built-in tuning.yaml)\n");
	assert_contains(printed, "block mine (line 4): for other machines (mpi openmpi, here "
				 "mpich)\n");
	assert_contains(printed, "block default (line 8): holds here\n");
	assert_string_equal(cs_selector_source(selector), file);
	cs_selector_destroy(selector);
	selector = make(NULL);
	assert_string_equal(cs_selector_source(selector), "built in");
	cs_selector_destroy(selector);
}

TEST(this_machine_can_be_read)
{
	struct cs_machine machine = { .mpi = "mpich" };
	errno = 4242;
	cs_machine_read(&machine);
	assert_int_equal(errno, 4242);
	assert_string_equal(machine.mpi, "mpich");
	assert_non_null(machine.cpu);
	assert_true(*machine.host != '\0');
	assert_true(machine.cores >= 1);
}

int
main(void)
{
	setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* a comma in decimals, where there is such a
					       * locale */
	return run_all(make_directory, remove_directory);
}
