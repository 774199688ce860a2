#include "unit.h"

#include "select/tuning.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

/* ---- right files ----------------------------------------------------------------------------- */

static struct cs_tuning *
parse(const char *text)
{
	struct cs_tuning *tuning = NULL;
	struct cs_tuning_errors errors = { 0 };
	if (cs_tuning_parse(&tuning, "t.yaml", text, strlen(text), &errors) != CS_OK)
		fail_msg("refused: %s\n%s", errors.first, text);
	return tuning;
}

#define NODE_VALUE \
	", or unknown, for the kind's (collshim-bench --node measures it)\n"
#define PROVENANCE "    provenance: {date: 2026-11-21, library: l, machine: m, command: c}\n"

TEST(a_version_alone_is_a_tuning_file)
{
	struct cs_tuning *tuning = parse("version: 1\n");
	assert_int_equal(tuning->rule_count, 0);
	assert_int_equal(tuning->block_count, 0);
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		assert_false(tuning->has_limit[i]);
	cs_tuning_destroy(tuning);
}

TEST(a_node_model_has_its_kinds_values_where_its_own_are_unknown)
{
	struct cs_tuning *tuning = parse("version: 1\nnode_models:\n  - name: n\n" PROVENANCE
					 "    kind: epyc\n    values:\n      llc_ns: 112.5\n"
					 "      package_ns: unknown\n      core_rate: 20000\n");
	const struct cs_site_node *node = tuning->nodes;
	assert_int_equal(tuning->node_count, 1);
	assert_int_equal(node->measured, 1 | 1 << 6);
	assert_int_equal(node->model.t[CS_SAME_LLC], 112500);
	assert_int_equal(node->model.t[CS_SAME_PACKAGE], 112500); /* the kind's is less */
	assert_int_equal(node->model.t[CS_FAR], 197000);
	assert_int_equal(node->model.b_core, 50000);
	assert_int_equal(node->model.gap, 250);
	cs_tuning_destroy(tuning);
}

/* As some editors begin a file. */
TEST(a_byte_order_mark_is_no_part_of_the_first_line)
{
	struct cs_tuning *tuning = parse("\xef\xbb\xbfversion: 1\nlimits: {slots: 4}\n");
	assert_int_equal(tuning->limits.slots, 4);
	cs_tuning_destroy(tuning);
}

TEST(every_limit_is_read_into_the_member_of_its_name)
{
	struct cs_tuning *tuning = parse("version: 1\n"
					 "limits: {team_after: 7, slot_bytes: 64K, slots: 4, "
					 "area_bytes: 2M,\n"
					 "  area_slots: 16, spin: 0, yields: 9, shm_budget: inf, "
					 "wire: ib, ib_slots: 32,\n"
					 "  ib_slot_bytes: 4K, ib_memory: 1M, ib_cache: 0, "
					 "ib_timeout: 14,\n"
					 "  imbalance_epoch: 128, imbalance_moderate: 20, "
					 "imbalance_strong: 90,\n"
					 "  copy_rate: 9000, line_ns: 80, turn_ns: 2500, "
					 "page_ns: 300, call_ns: 600,\n"
					 "  eager_bytes: 32K, lanes_bytes: 1M, "
					 "rooted_small: 1K}\n");
	assert_int_equal(tuning->limits.team_after, 7);
	assert_int_equal(tuning->limits.slot_bytes, 65536);
	assert_int_equal(tuning->limits.slots, 4);
	assert_int_equal(tuning->limits.area_bytes, 2 << 20);
	assert_int_equal(tuning->limits.area_slots, 16);
	assert_int_equal(tuning->limits.spin, 0);
	assert_int_equal(tuning->limits.yields, 9);
	assert_true(tuning->limits.shm_budget == CS_INF);
	assert_int_equal(tuning->limits.wire, CS_WIRE_IB);
	assert_int_equal(tuning->limits.ib_slots, 32);
	assert_int_equal(tuning->limits.ib_slot_bytes, 4096);
	assert_int_equal(tuning->limits.ib_memory, 1 << 20);
	assert_int_equal(tuning->limits.ib_cache, 0);
	assert_int_equal(tuning->limits.ib_timeout, 14);
	assert_int_equal(tuning->limits.imbalance_epoch, 128);
	assert_int_equal(tuning->limits.imbalance_moderate, 20);
	assert_int_equal(tuning->limits.imbalance_strong, 90);
	assert_int_equal(tuning->limits.copy_rate, 9000);
	assert_int_equal(tuning->limits.line_ns, 80);
	assert_int_equal(tuning->limits.turn_ns, 2500);
	assert_int_equal(tuning->limits.page_ns, 300);
	assert_int_equal(tuning->limits.call_ns, 600);
	assert_int_equal(tuning->limits.eager_bytes, 32 << 10);
	assert_int_equal(tuning->limits.lanes_bytes, 1 << 20);
	assert_int_equal(tuning->limits.rooted_small, 1 << 10);
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		assert_true(tuning->has_limit[i]);
	cs_tuning_destroy(tuning);
}

TEST(a_limit_of_words_takes_each_of_them)
{
	static const struct {
		const char *word;
		size_t value;
	} cases[] = { { "auto", CS_WIRE_AUTO }, { "host", CS_WIRE_HOST }, { "ib", CS_WIRE_IB } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[64], number[CS_NUMBER_TEXT];
		snprintf(text, sizeof text, "version: 1\nlimits: {wire: %s}\n", cases[i].word);
		struct cs_tuning *tuning = parse(text);
		assert_int_equal(tuning->limits.wire, cases[i].value);
		for (size_t k = 0; k < CS_LIMIT_COUNT; k++)
			if (!strcmp(cs_limit_infos[k].name, "wire"))
				assert_string_equal(cs_limit_text(&cs_limit_infos[k],
								  cases[i].value, number),
						    cases[i].word);
		cs_tuning_destroy(tuning);
	}
}

TEST(a_rule_is_for_both_wires_unless_it_names_one)
{
	struct cs_tuning *tuning = parse("version: 1\nblocks:\n  - name: b\n" PROVENANCE
					 "    rules:\n"
					 "      - {collective: bcast, use: ring}\n"
					 "      - {collective: bcast, wire: host, use: ring}\n"
					 "      - {collective: bcast, wire: ib, use: ring}\n");
	assert_int_equal(tuning->rules[0].wire, 0);
	assert_int_equal(tuning->rules[1].wire, CS_WIRE_HOST);
	assert_int_equal(tuning->rules[2].wire, CS_WIRE_IB);
	cs_tuning_destroy(tuning);
}

TEST(a_rule_is_for_every_placement_unless_it_names_one)
{
	struct cs_tuning *tuning = parse("version: 1\nblocks:\n  - name: b\n" PROVENANCE
					 "    rules:\n"
					 "      - {collective: bcast, use: ring}\n"
					 "      - {collective: bcast, placement: block, use: "
					 "ring}\n"
					 "      - {collective: bcast, placement: cyclic, use: "
					 "ring}\n");
	assert_int_equal(tuning->rules[0].placement, CS_PLACEMENT_EITHER);
	assert_int_equal(tuning->rules[1].placement, CS_PLACEMENT_BLOCK);
	assert_int_equal(tuning->rules[2].placement, CS_PLACEMENT_CYCLIC);
	cs_tuning_destroy(tuning);
}

TEST(a_rule_is_for_both_forms_of_a_call_unless_it_names_one)
{
	struct cs_tuning *tuning = parse("version: 1\nblocks:\n  - name: b\n" PROVENANCE
					 "    rules:\n"
					 "      - {collective: bcast, use: ring}\n"
					 "      - {collective: bcast, nonblocking: no, use: ring}\n"
					 "      - {collective: bcast, nonblocking: yes, use: "
					 "ring}\n");
	assert_int_equal(tuning->rules[0].form, CS_FORM_EITHER);
	assert_int_equal(tuning->rules[1].form, CS_FORM_BLOCKING);
	assert_int_equal(tuning->rules[2].form, CS_FORM_NONBLOCKING);
	cs_tuning_destroy(tuning);
}

TEST(a_rule_is_for_every_imbalance_unless_it_names_some)
{
	struct cs_tuning *tuning = parse("version: 1\nblocks:\n  - name: b\n" PROVENANCE
					 "    rules:\n"
					 "      - {collective: bcast, use: ring}\n"
					 "      - {collective: bcast, imbalance: strong, use: "
					 "ring}\n"
					 "      - {collective: bcast, imbalance: [balanced, "
					 "moderate], use: ring}\n");
	assert_int_equal(tuning->rules[0].imbalance, 0);
	assert_int_equal(tuning->rules[1].imbalance, 1u << CS_STRONG);
	assert_int_equal(tuning->rules[2].imbalance, 1u << CS_BALANCED | 1u << CS_MODERATE);
	cs_tuning_destroy(tuning);
}

TEST(a_block_keeps_its_guard_and_where_it_comes_from)
{
	struct cs_tuning *tuning =
		parse("version: 1\n"
		      "blocks:\n"
		      "  - name: zen3\n"
		      "    provenance: {date: 2026-01-31, library: collshim 1, mpi: MPICH 4.0.2, "
		      "machine: m,\n"
		      "      command: scripts/bench, note: \"a: b\"}\n"
		      "    machine: {mpi: mpich, cpu: \"*EPYC*\", host: \"node*\", cores: 2-64}\n"
		      "    rules: []\n");
	const struct cs_block *block = &tuning->blocks[0];
	assert_int_equal(tuning->block_count, 1);
	assert_string_equal(block->name, "zen3");
	assert_int_equal(block->line, 3);
	assert_string_equal(block->date, "2026-01-31");
	assert_string_equal(block->library, "collshim 1");
	assert_string_equal(block->measured_mpi, "MPICH 4.0.2");
	assert_string_equal(block->measured_on, "m");
	assert_string_equal(block->command, "scripts/bench");
	assert_string_equal(block->note, "a: b");
	assert_string_equal(block->mpi, "mpich");
	assert_string_equal(block->cpu, "*EPYC*");
	assert_string_equal(block->host, "node*");
	assert_int_equal(block->cores.low, 2);
	assert_int_equal(block->cores.high, 65);
	cs_tuning_destroy(tuning);
}

TEST(a_rule_keeps_its_conditions_and_its_line)
{
	struct cs_tuning *tuning =
		parse("version: 1\n"
		      "blocks:\n"
		      "  - name: b\n" PROVENANCE "    rules:\n"
		      "      - {collective: allgather, bytes: 0-64K, ranks: 2-inf, nodes: 1, ppn: "
		      "2-8,\n"
		      "         use: ring, with: {depth: 4, chunk: 64K}}\n"
		      "      - collective: allgather\n"
		      "        use: host\n");
	assert_int_equal(tuning->rule_count, 2);
	const struct cs_rule *rule = &tuning->rules[0];
	assert_int_equal(rule->coll, CS_ALLGATHER);
	assert_int_equal(rule->line, 6);
	assert_int_equal(rule->bytes.low, 0);
	assert_int_equal(rule->bytes.high, 65536);
	assert_int_equal(rule->ranks.low, 2);
	assert_true(rule->ranks.high == CS_INF);
	assert_int_equal(rule->nodes.low, 1);
	assert_int_equal(rule->nodes.high, 2);
	assert_int_equal(rule->ppn.low, 2);
	assert_int_equal(rule->ppn.high, 9);
	assert_string_equal(rule->use.algorithm->name, "ring");
	assert_int_equal(rule->use.params[0], 65536);
	assert_int_equal(rule->use.params[1], 4);
	assert_int_equal(rule->use.params[2], 3);
	assert_null(tuning->rules[1].use.algorithm);
	assert_int_equal(tuning->rules[1].line, 8);
	assert_true(tuning->rules[1].bytes.high == CS_INF);
	cs_tuning_destroy(tuning);
}

TEST(a_list_of_collectives_gives_each_its_own_algorithm)
{
	struct cs_tuning *tuning = parse("version: 1\nblocks:\n  - name: b\n" PROVENANCE
					 "    rules: [{collective: [bcast, allgather], use: "
					 "ring}]\n");
	assert_int_equal(tuning->rule_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(tuning->rules[i].use.algorithm->coll, tuning->rules[i].coll);
		assert_string_equal(tuning->rules[i].use.algorithm->name, "ring");
	}
	cs_tuning_destroy(tuning);
}

TEST(any_means_the_collectives_that_have_the_algorithm)
{
	struct cs_tuning *tuning = parse("version: 1\nblocks:\n  - name: b\n" PROVENANCE
					 "    rules:\n"
					 "      - {collective: any, use: ring}\n"
					 "      - {collective: any, use: host}\n");
	size_t ring = 0, host = 0;
	for (size_t i = 0; i < tuning->rule_count; i++)
		*(tuning->rules[i].use.algorithm ? &ring : &host) += 1;
	assert_int_equal(ring, 2);
	assert_int_equal(host, CS_COLL_COUNT);
	cs_tuning_destroy(tuning);
}

TEST(any_with_bytes_means_the_collectives_whose_size_all_ranks_know)
{
	struct cs_tuning *tuning = parse("version: 1\nblocks:\n  - name: b\n" PROVENANCE
					 "    rules: [{collective: any, bytes: 0-4K, use: "
					 "\"hier:host\"}]\n");
	size_t agreed = 0;
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		agreed += cs_colls[coll].bytes_agreed;
	assert_int_equal(tuning->rule_count, agreed);
	for (size_t i = 0; i < tuning->rule_count; i++)
		assert_true(cs_colls[tuning->rules[i].coll].bytes_agreed);
	cs_tuning_destroy(tuning);
}

/* ---- wrong files ----------------------------------------------------------------------------- */

#define BLOCK "version: 1\nblocks:\n  - name: b\n" PROVENANCE
#define RULE(text) BLOCK "    rules:\n      - " text "\n" /* the rule begins in line 6, column 9 */

/* `lines` are the errors in their order, each without the label. */
static const struct wrong {
	const char *text;
	const char *lines;
} wrongs[] = {
	/* the file as a whole */
	{ "", "1:1: found an empty file, expected a map that begins with version: 1\n" },
	{ "# only a comment\n", "1:1: found an empty file, expected a map that begins with "
				"version: 1\n" },
	{ "---\n", "2:1: found nothing, expected a map, a tuning file\n" },
	{ "hello\n", "1:1: found \"hello\", expected a map, a tuning file\n" },
	{ "- version: 1\n", "1:1: found a list, expected a map, a tuning file\n" },
	{ "limits: {}\n", "1:1: expected the key version in a tuning file\n" },
	{ "version: 2\n", "1:10: found \"2\", expected 1, the version of the format that this "
			  "library reads\n" },
	{ "version: [1]\n",
	  "1:10: found a list, expected 1, the version of the format that this library reads\n" },
	{ "version: 1\nversion: 1\n", "2:1: found the key version again, expected it once (first "
				      "in line 1)\n" },
	{ "version: 1\nlimit: {}\n", "2:1: found the key \"limit\", expected one of version, "
				     "limits, blocks, models, node_models; did "
				     "you mean limits?\n" },
	{ "version: 1\n? [a]\n: b\n", "2:3: found a list, expected the name of a key\n" },
	{ "version: 1\n---\nversion: 1\n", "2:1: found a second document, expected one per "
					   "file\n" },
	/* YAML itself */
	{ "version: 1\nblocks: [\n", "3:1: not YAML: while parsing a flow node (line 3), did not "
				     "find expected "
				     "node content\n" },
	{ "version: 1\nlimits: {slots: 4\n",
	  "3:1: not YAML: while parsing a flow mapping (line 2), did not find expected ',' or "
	  "'}'\n" },
	{ "version: 1\nlimits: {slots: \"4\n",
	  "3:1: not YAML: while scanning a quoted scalar (line 2), found unexpected end of "
	  "stream\n" },
	{ "version: 1\n\tlimits: {}\n", "2:1: not YAML: while scanning a plain scalar (line 1), "
					"found a "
					"tab character that violates indentation\n" },
	{ "version: 1\nlimits: {slots: \x01}\n", "2:17: not YAML: control characters are not "
						 "allowed\n" },
	{ "version: 1\nlimits: {slots: \xff}\n", "2:17: not YAML: invalid leading UTF-8 octet\n" },
	{ "version: 1\nlimits: {slots: \xc3(}\n", "2:18: not YAML: invalid trailing UTF-8 "
						  "octet\n" },
	{ "version: 1\nlimits: &a {slots: 4}\n",
	  "2:9: found an anchor (&name), expected a plain value: anchors are not allowed here\n" },
	{ "version: 1\nlimits: *a\n",
	  "2:9: found an alias (*name), expected the value itself: aliases are not allowed "
	  "here\n" },
	{ "%TAG ! tag:x,2000:\n---\nversion: 1\n", "1:1: found %TAG, expected none: tags are not "
						   "allowed here\n" },
	{ "version: !!int 1\n", "1:10: found a tag (!name), expected a plain value: tags are not "
				"allowed here\n" },
	{ "version: \"1\\0\"\n", "1:10: a control character inside a value\n" },
	{ "version: \"1\\e\"\n", "1:10: a control character inside a value\n" },
	{ "version: \"1\\u0080\"\n", "1:10: a control character inside a value\n" },
	/* places are in the text, and columns characters */
	{ "version: 1\nblocks: [",
	  "2:10: not YAML: while parsing a flow node (line 2), did not find expected node "
	  "content\n" },
	{ "---", "1:4: found nothing, expected a map, a tuning file\n" },
	{ "version: 1\n# \xc3\xa9\xe2\x82\xac\nlimits: {\xc3\xa9\xe2\x82\xac: \xff",
	  "3:14: not YAML: invalid leading UTF-8 octet\n" },
	{ "version: 1 #\xc2\x85limits: {}\n",
	  "1:13: found U+0085 (next line), expected lines that end with LF or CR LF\n" },
	{ "version: 1\n\xc3\xa9: \xe2\x80\xa8\n",
	  "2:4: found U+2028 (line separator), expected lines that end with LF or CR LF\n" },
	{ "version: 1\rlimits: {}\n",
	  "1:11: found a carriage return alone, expected lines that end with LF or CR LF\n" },
	{ "\xef\xbb\xbfversion: 2\n", "1:10: found \"2\", expected 1, the version of the format "
				      "that this library reads\n" },
	{ "version: 1\r\nlimits: {slots: 0}\r\n", "2:17: found \"0\", expected a number from 2 to "
						  "64\n" },
	{ "version: 1\nblocks: [[[[[[[[]]]]]]]]\n", "2:16: lists and maps nested deeper than 8\n" },
	/* models */
	{ "version: 1\nmodels: 7\n", "2:9: found \"7\", expected a list of models, each beginning "
				     "with - name:\n" },
	{ "version: 1\nmodels:\n  - name: m\n    provenance: {date: 2026-01-31, library: l, "
	  "machine: m, command: c}\n"
	  "    parameters: \"L=fast\"\n    fit_error: little\n    host: 3\n",
	  "5:17: L=fast: expected seconds from 0 to 1, as 3e-7\n"
	  "6:16: found \"little\", expected a part from 0 to 10, as 0.06\n"
	  "7:11: found \"3\", expected a list, each - {collective: ..., ranks: ..., nodes: ..., "
	  "cost: {...}}\n" },
	{ "version: 1\nmodels:\n  - name: m\n    provenance: {date: 2026-01-31, library: l, "
	  "machine: m, command: c}\n"
	  "    parameters: \"L=1e-6\"\n    fit_error: 0.1\n    host:\n"
	  "      - {collective: gatherv, ranks: 7, nodes: 0, cost: {}}\n"
	  "      - {collective: bcast, ranks: 7, nodes: 2, cost: {8: 1us, 4: 2us}}\n"
	  "      - {collective: bcast, ranks: 4, nodes: 2, cost: {8: 1}}\n",
	  "8:22: found \"gatherv\", expected the name of a collective whose size all ranks know, "
	  "as bcast\n"
	  "8:48: found \"0\", expected a number from 1 to 16M\n"
	  "8:57: found a map, expected a map from sizes to times, as {8: 35.2us, 1K: 40us}\n"
	  "9:64: found \"4\", expected a size larger than the one before, as 8K\n"
	  "9:9: found 7 ranks on 2 nodes, expected equally many on each\n"
	  "10:59: found \"1\", expected a time with its unit (ns, us, ms, s), as 35.2us\n" },
	/* limits */
	/* node models */
	{ "version: 1\nnode_models: 7\n", "2:14: found \"7\", expected a list of node models, each "
					  "beginning with - name:\n" },
	{ "version: 1\nnode_models:\n  - name: n\n" PROVENANCE "    kind: epic\n    values: 3\n"
	  "  - name: n\n" PROVENANCE "    kind: arm\n",
	  "5:11: found \"epic\", expected epyc, xeon, arm or a64fx\n"
	  "6:13: found \"3\", expected a map, values of a node model\n"
	  "7:5: expected the key values in a node model\n" },
	{ "version: 1\nnode_models:\n  - name: n\n" PROVENANCE "    kind: epyc\n    values:\n"
	  "      far: 1\n      llc_ns: -1\n      gap: 0\n      core_rate: 1e9\n"
	  "      cma_call_ns: [1]\n",
	  "7:7: found the key \"far\", expected one of llc_ns, package_ns, far_ns, gap, "
	  "reader_near_ns, reader_out_ns, core_rate, between_rate, out_rate, package_rate, "
	  "link_rate, cma_call_ns, cma_page_ns, cma_crowd_ns\n"
	  "8:15: found \"-1\", expected nanoseconds from 1 to 100000" NODE_VALUE
	  "9:12: found \"0\", expected a part from 0.01 to 2" NODE_VALUE
	  "10:18: found \"1e9\", expected bytes per microsecond from 100 to 10000000" NODE_VALUE
	  "11:20: found a list, expected nanoseconds from 10 to 1000000" NODE_VALUE },
	{ "version: 1\nnode_models:\n  - name: n\n" PROVENANCE "    kind: epyc\n    values:\n"
	  "      llc_ns: 90\n      package_ns: 30\n      far_ns: unknown\n",
	  "8:19: found \"30\", expected at least the llc_ns above; measure again on an idle "
	  "node\n" },

	{ "version: 1\nlimits:\n", "2:8: found nothing, expected a map, the limits\n" },
	{ "version: 1\nlimits: [slots]\n", "2:9: found a list, expected a map, the limits\n" },
	{ "version: 1\nlimits: {slots: 1}\n", "2:17: found \"1\", expected a number from 2 to "
					      "64\n" },
	{ "version: 1\nlimits: {slots: many}\n", "2:17: found \"many\", expected a number from 2 "
						 "to 64\n" },
	{ "version: 1\nlimits: {slots: }\n", "2:17: found nothing, expected a number from 2 to "
					     "64\n" },
	{ "version: 1\nlimits: {slots: {a: 1}}\n", "2:17: found a map, expected a number from 2 to "
						   "64\n" },
	{ "version: 1\nlimits: {slot_bytes: 5000}\n",
	  "2:22: found \"5000\", expected a number from 4K to 16M, a multiple of 64\n" },
	{ "version: 1\nlimits: {wire: verbs}\n", "2:16: found \"verbs\", expected auto, host or "
						 "ib\n" },
	{ "version: 1\nlimits: {wire: hots}\n",
	  "2:16: found \"hots\", expected auto, host or ib; did you mean host?\n" },
	{ "version: 1\nlimits: {wire: 2}\n", "2:16: found \"2\", expected auto, host or ib\n" },
	{ "version: 1\nlimits: {wire: \"as tuned\"}\n", "2:16: found \"as tuned\", expected auto, "
							"host or ib\n" },
	{ "version: 1\nlimits: {wire: \"\"}\n", "2:16: found nothing, expected auto, host or "
						"ib\n" },
	{ "version: 1\nlimits: {wire: [ib]}\n", "2:16: found a list, expected auto, host or ib\n" },
	{ "version: 1\nlimits: {ib_slots: 1, ib_slot_bytes: 300, ib_memory: 4K, ib_timeout: 32}\n",
	  "2:20: found \"1\", expected a number from 2 to 256\n"
	  "2:38: found \"300\", expected a number from 256 to 64K, a multiple of 64\n"
	  "2:54: found \"4K\", expected a number from 64K to inf\n"
	  "2:70: found \"32\", expected a number from 1 to 31\n" },
	{ "version: 1\nlimits: {imbalance_epoch: 130, imbalance_strong: 0}\n",
	  "2:27: found \"130\", expected a number from 128 to 1000000, a multiple of 32\n"
	  "2:50: found \"0\", expected a number from 1 to 1000000\n" },
	{ "version: 1\nlimits: {copy_rate: fast, line_ns: 2M, rooted_small: 4K}\n",
	  "2:21: found \"fast\", expected a number from 0 to 1000000\n"
	  "2:36: found \"2M\", expected a number from 0 to 1000000\n"
	  "2:54: found \"4K\", expected a number from 1 to 2K\n" },
	{ "version: 1\nlimits: {slots: 4, slots: 4}\n",
	  "2:20: found the key slots again, expected it once (first in line 2)\n" },
	{ "version: 1\nlimits:\n  slot_byte: 4K\n  spin: x\n",
	  "3:3: found the key \"slot_byte\", expected one of team_after, slot_bytes, slots, "
	  "area_bytes, "
	  "area_slots, spin, yields, shm_budget, wire, ib_slots, ib_slot_bytes, ib_memory, "
	  "ib_cache, imbalance_epoch, imbalance_moderate, imbalance_strong, copy_rate, line_ns, "
	  "turn_ns, page_ns, call_ns, eager_bytes, lanes_bytes, rooted_small, "
	  "ib_timeout; did you mean slot_bytes?\n"
	  "4:9: found \"x\", expected a number from 0 to 1000000000\n" },
	/* blocks */
	{ "version: 1\nblocks:\n", "2:8: found nothing, expected a list of blocks, each beginning "
				   "with - name:\n" },
	{ "version: 1\nblocks: {}\n",
	  "2:9: found a map, expected a list of blocks, each beginning with - name:\n" },
	{ "version: 1\nblocks:\n  - b\n", "3:5: found \"b\", expected a map, a block of rules\n" },
	{ "version: 1\nblocks:\n  - {}\n", "3:5: expected the key name in a block of rules\n"
					   "3:5: expected the key provenance in a block of rules\n"
					   "3:5: expected the key rules in a block of rules\n" },
	{ BLOCK "    rules: []\n    rule: []\n",
	  "6:5: found the key \"rule\", expected one of name, provenance, machine, hypothesis, "
	  "rules; did you "
	  "mean rules?\n" },
	{ "version: 1\nblocks:\n  - name: [b]\n" PROVENANCE "    rules: []\n",
	  "3:11: found a list, expected a text\n" },
	{ "version: 1\nblocks:\n  - name: \"\"\n" PROVENANCE "    rules: []\n",
	  "3:11: found nothing, expected a text\n" },
	{ "version: 1\nblocks:\n  - name: b\n    provenance: {}\n    rules: []\n",
	  "4:17: expected the key date in where the rules come from\n"
	  "4:17: expected the key library in where the rules come from\n"
	  "4:17: expected the key machine in where the rules come from\n"
	  "4:17: expected the key command in where the rules come from\n" },
	{ "version: 1\nblocks:\n  - name: b\n    provenance: {date: yesterday, library: l, "
	  "machine: m, command: [c]}\n"
	  "    rules: []\n",
	  "4:24: found \"yesterday\", expected a date as 2026-01-31\n"
	  "4:68: found a list, expected a text\n" },
	{ "version: 1\nblocks:\n  - name: b\n    provenance: {date: 2026-11-211, library: l, "
	  "machine: m, command: c}\n"
	  "    rules: []\n",
	  "4:24: found \"2026-11-211\", expected a date as 2026-01-31\n" },
	{ "version: 1\nblocks:\n  - name: b\n    provenance: {date: 2026-13-45, library: l, "
	  "machine: m, command: c}\n"
	  "    rules: []\n",
	  "4:24: found \"2026-13-45\", expected a date as 2026-01-31\n" },
	{ "version: 1\nblocks:\n  - name: b\n    provenance: {date: 2026-02-29, library: l, "
	  "machine: m, command: c}\n"
	  "    rules: []\n",
	  "4:24: found \"2026-02-29\", expected a date as 2026-01-31\n" },
	{ BLOCK "    machine: {mpi: lam, cpu: [], cores: 8-2, colour: red}\n    rules: []\n",
	  "5:20: found \"lam\", expected mpich or openmpi\n"
	  "5:30: found a list, expected a text\n"
	  "5:41: found \"8-2\", expected a number, or A-B with A <= B (B included), as 4, 2-8 or "
	  "2-inf\n"
	  "5:46: found the key \"colour\", expected one of mpi, cpu, host, cores\n" },
	/* rules */
	{ BLOCK "    rules: {}\n",
	  "5:12: found a map, expected a list of rules, each - {collective: ..., use: ...}\n" },
	{ RULE("bcast"), "6:9: found \"bcast\", expected a map, a rule\n" },
	{ RULE("{}"), "6:9: expected the key collective in a rule\n6:9: expected the key use in a "
		      "rule\n" },
	{ RULE("{collective: broadcast, use: host}"),
	  "6:22: found \"broadcast\", expected the name of a collective as bcast, a list of them, "
	  "or any\n" },
	{ RULE("{collective: bcats, use: host}"),
	  "6:22: found \"bcats\", expected the name of a collective as bcast, a list of them, or "
	  "any; did you "
	  "mean bcast?\n" },
	{ RULE("{collective: [], use: host}"),
	  "6:22: found a list, expected the name of a collective, a list of them, or any\n" },
	{ RULE("{collective: , use: host}"),
	  "6:22: found nothing, expected the name of a collective, a list of them, or any\n" },
	{ RULE("{collective: {a: b}, use: host}"),
	  "6:22: found a map, expected the name of a collective, a list of them, or any\n" },
	{ RULE("{collective: [bcast, any], use: host}"),
	  "6:30: found \"any\", expected the name of a collective as bcast\n" },
	{ RULE("{collective: [bcast, bcast], use: host}"),
	  "6:30: found bcast again, expected each collective once\n" },
	{ RULE("{collective: [bcast, [gather]], use: host}"),
	  "6:30: found a list, expected the name of a collective\n" },
	{ RULE("{collective: bcast, bytes: 4K-0, use: host}"),
	  "6:36: found \"4K-0\", expected sizes A-B with A < B (from A up to, without, B), as 0-4K "
	  "or 64K-inf\n" },
	{ RULE("{collective: bcast, bytes: [0, 4], use: host}"),
	  "6:36: found a list, expected sizes A-B with A < B (from A up to, without, B), as 0-4K "
	  "or 64K-inf\n" },
	{ RULE("{collective: bcast, ranks: some, use: host}"),
	  "6:36: found \"some\", expected a number, or A-B with A <= B (B included), as 4, 2-8 or "
	  "2-inf\n" },
	{ RULE("{collective: bcast, nodes: 0x2, ppn: -2, use: host}"),
	  "6:36: found \"0x2\", expected a number, or A-B with A <= B (B included), as 4, 2-8 or "
	  "2-inf\n"
	  "6:46: found \"-2\", expected a number, or A-B with A <= B (B included), as 4, 2-8 or "
	  "2-inf\n" },
	{ RULE("{collective: bcast, wire: auto, use: host}"), "6:35: found \"auto\", expected host "
							      "or ib\n" },
	{ RULE("{collective: bcast, wire: [host, ib], use: host}"),
	  "6:35: found a list, expected host or ib\n" },
	{ RULE("{collective: bcast, wire: , use: host}"), "6:35: found nothing, expected host or "
							  "ib\n" },
	{ RULE("{collective: bcast, placement: scattered, use: host}"),
	  "6:40: found \"scattered\", expected block or cyclic\n" },
	{ RULE("{collective: bcast, placement: {}, use: host}"), "6:40: found a map, expected "
								 "block or cyclic\n" },
	{ RULE("{collective: bcast, imbalance: weak, use: host}"),
	  "6:40: found \"weak\", expected balanced, moderate or strong, or a list of them\n" },
	{ RULE("{collective: bcast, imbalance: [strong, strong], use: host}"),
	  "6:40: found a list, expected balanced, moderate or strong, or a list of them\n" },
	{ RULE("{collective: bcast, imbalance: [], use: host}"),
	  "6:40: found a list, expected balanced, moderate or strong, or a list of them\n" },
	{ RULE("{collective: bcast, wir: ib, use: host}"),
	  "6:29: found the key \"wir\", expected one of collective, bytes, ranks, nodes, ppn, "
	  "skew, wire, placement, imbalance, nonblocking, use, "
	  "with; did you mean wire?\n" },
	{ RULE("{collective: bcast, use: \"heir:host\"}"),
	  "6:34: \"heir:host\" is no algorithm of bcast; known: host, hier:host, hier:host:tree, "
	  "ring; did you "
	  "mean hier:host?\n" },
	{ RULE("{collective: bcast, use: [ring]}"),
	  "6:34: found a list, expected the name of an algorithm, or host\n" },
	{ RULE("{collective: [bcast, gather], use: ring}"),
	  "6:44: \"ring\" is no algorithm of gather; known: host, hier:host\n" },
	{ RULE("{collective: any, use: bruck}"), "6:32: \"bruck\" is no algorithm of any "
						 "collective; known: host, "
						 "hier:host, ring, node, hier:host:tree\n" },
	{ RULE("{collective: alltoallv, bytes: 0-4K, use: host}"),
	  "6:40: found a condition on bytes, expected none: not all ranks know the size of a call "
	  "of alltoallv\n" },
	{ RULE("{collective: [bcast, gatherv], bytes: 0-4K, use: host}"),
	  "6:47: found a condition on bytes, expected none: not all ranks know the size of a call "
	  "of gatherv\n" },
	{ RULE("{collective: bcast, use: host, with: {chunk: 4K}}"),
	  "6:47: \"chunk\" is no parameter of host, which has none\n" },
	{ RULE("{collective: bcast, use: \"hier:host\", with: [chunk]}"),
	  "6:53: found a list, expected a map of parameters, as {chunk: 64K}\n" },
	{ RULE("{collective: bcast, use: \"hier:host\", with: {chunk: 4K, chunk: 8K}}"),
	  "6:65: found the parameter \"chunk\" again, expected it once\n" },
	{ RULE("{collective: bcast, use: \"hier:host\", with: {chunk: 1}}"),
	  "6:54: found \"1\", expected a number from 1K to 1M for chunk\n" },
	{ RULE("{collective: bcast, use: \"hier:host\", with: {chunk: [1]}}"),
	  "6:54: found a list, expected parameter: value\n" },
	{ RULE("{collective: bcast, use: \"hier:host\", with: {chnuk: 4K, depth: 1}}"),
	  "6:54: \"chnuk\" is no parameter of hier:host; known: chunk; did you mean chunk?\n"
	  "6:65: \"depth\" is no parameter of hier:host; known: chunk\n" },
	{ RULE("{collective: any, use: \"hier:host\", with: {chunk: 1}}"),
	  "6:52: found \"1\", expected a number from 1K to 1M for chunk\n" },
	{ RULE("{collective: bcast, use: host, use: host}"),
	  "6:40: found the key use again, expected it once (first in line 6)\n" },
	{ RULE("{collectiv: bcast, use: host}"),
	  "6:10: found the key \"collectiv\", expected one of collective, bytes, ranks, nodes, "
	  "ppn, skew, wire, placement, imbalance, nonblocking, "
	  "use, with; did you mean collective?\n6:9: expected the key collective in a rule\n" },
	/* several troubles at once, in the order of the file */
	{ "version: 3\nlimits: {slots: 0}\nblocks:\n  - name: b\n" PROVENANCE
	  "    rules:\n      - {collective: bcast, use: hots}\n      - {collective: bcast, bytes: "
	  "x, use: host}\n",
	  "1:10: found \"3\", expected 1, the version of the format that this library reads\n"
	  "2:17: found \"0\", expected a number from 2 to 64\n"
	  "7:34: \"hots\" is no algorithm of bcast; known: host, hier:host, hier:host:tree, ring; "
	  "did you mean host?\n"
	  "8:36: found \"x\", expected sizes A-B with A < B (from A up to, without, B), as 0-4K or "
	  "64K-inf\n" },
};

/* All errors of a text, "line:column: what" each, without the label. */
static size_t
errors_of(const char *text, size_t bytes, char *lines, size_t room)
{
	char *labelled = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&labelled, &length);
	struct cs_tuning *tuning = NULL;
	struct cs_tuning_errors errors = { .out = out };
	enum cs_status status = cs_tuning_parse(&tuning, "t.yaml", text, bytes, &errors);
	fclose(out);
	*lines = '\0';
	for (char *line = labelled; *line; line = strchr(line, '\n') + 1) {
		assert_int_equal(strncmp(line, "t.yaml:", 7), 0);
		snprintf(lines + strlen(lines), room - strlen(lines), "%.*s\n",
			 (int)strcspn(line + 7, "\n"), line + 7);
	}
	assert_int_equal(count_lines(labelled), errors.count);
	assert_int_equal(status == CS_OK, errors.count == 0);
	if (errors.count)
		assert_int_equal(strncmp(errors.first, labelled, strlen(errors.first)), 0);
	free(labelled);
	if (status == CS_OK)
		cs_tuning_destroy(tuning);
	else
		assert_null(tuning);
	return errors.count;
}

TEST(every_wrong_file_is_answered_with_place_and_expectation)
{
	size_t failures = 0;
	for (size_t i = 0; i < COUNT(wrongs); i++) {
		char lines[4096];
		errors_of(wrongs[i].text, strlen(wrongs[i].text), lines, sizeof lines);
		if (!strcmp(lines, wrongs[i].lines))
			continue;
		failures++;
		print_error("---- file\n%s---- gave\n%s---- expected\n%s", wrongs[i].text, lines,
			    wrongs[i].lines);
	}
	assert_int_equal(failures, 0);
}

static const char whole[] =
	"version: 1\n"
	"limits: {slots: 4, slot_bytes: 64K}\n"
	"blocks:\n"
	"  - name: \"b \\\"q\\\"\"\n"
	"    provenance: {date: 2026-11-21, library: l, machine: m, command: c, note: 'n'}\n"
	"    machine: {mpi: mpich, cpu: \"*\", cores: 1-inf}\n"
	"    rules:\n"
	"      - {collective: [bcast, gather], bytes: 0-64K, ranks: 2-inf, use: \"hier:host\", "
	"with: {chunk: 4K}}\n"
	"      - {collective: any, use: host}\n";

TEST(a_file_cut_off_anywhere_is_refused_or_right_but_never_trouble)
{
	char lines[8192];
	for (size_t bytes = 0; bytes < strlen(whole); bytes++) {
		char *cut = malloc(bytes + 1); /* its own block, so that a sanitizer sees a byte too
						* far */
		memcpy(cut, whole, bytes);
		errors_of(cut, bytes, lines, sizeof lines);
		free(cut);
	}
	assert_int_equal(errors_of(whole, strlen(whole), lines, sizeof lines), 0);
	/* Cut within the last rule it cannot be right. */
	assert_true(errors_of(whole, strlen(whole) - 4, lines, sizeof lines) > 0);
}

TEST(a_file_with_bytes_changed_is_answered_and_never_trouble)
{
	uint64_t seed = first_seed();
	static char lines[65536];
	for (int i = 0; i < 20000; i++) {
		char text[sizeof whole];
		memcpy(text, whole, sizeof whole);
		for (uint32_t k = 1 + random_below(&seed, 4); k > 0; k--) {
			static const char likely[] = "{}[]:,-&*!|>'\"%@`\n\t #?\\x01\xff";
			text[random_below(&seed, sizeof whole - 1)] =
				likely[random_below(&seed, sizeof likely)];
		}
		errors_of(text, sizeof whole - 1, lines, sizeof lines);
	}
}

/* Deep or endless beginnings must be refused early, not read to the end. */
TEST(a_megabyte_of_anything_is_answered_soon)
{
	static const char *const pieces[] = { "[", "{", "- ", "? ", "a: ", "[a,", "{a: b,", "&a ",
					      "*a ", "\"",
					      "|\n ", "#", "\n", "- a\n", "a: b\n", "!",
					      "%YAML 1.1\n", "'", "a b ",
					      "--- a\n", ": ", "{a", "[[a],", "\xef\xbb\xbf" };
	char *text = malloc(CS_TUNING_MAX_BYTES);
	for (size_t i = 0; i < COUNT(pieces); i++) {
		size_t length = strlen(pieces[i]), bytes = 0;
		for (; bytes + length <= CS_TUNING_MAX_BYTES; bytes += length)
			memcpy(text + bytes, pieces[i], length);
		struct cs_tuning *tuning = NULL;
		struct cs_tuning_errors errors = { 0 };
		struct timespec begin, end;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
		enum cs_status status = cs_tuning_parse(&tuning, "t.yaml", text, bytes, &errors);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
		if (status != CS_BAD_INPUT)
			fail_msg("a megabyte of \"%s\" was not refused", pieces[i]);
		/* Thirty seconds of CPU are far more than it takes under any sanitizer, and far
		 * less than a quadratic reader would need. */
		if (end.tv_sec - begin.tv_sec > 30)
			fail_msg("a megabyte of \"%s\" took %ld s", pieces[i],
				 (long)(end.tv_sec - begin.tv_sec));
	}
	free(text);
}

/* Each is compared with all before it: a hundred thousand would keep a job's start for minutes. */
TEST(more_parameters_than_any_algorithm_has_are_refused)
{
	char text[2048] = BLOCK "    rules:\n      - {collective: bcast, use: ring, with: {",
	     lines[8192];
	for (int i = 0; i < 100; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "k%d: 1, ", i);
	strcat(text, "}}\n");
	assert_int_equal(errors_of(text, strlen(text), lines, sizeof lines), 4 * CS_MAX_PARAMS + 1);
	assert_contains(lines, "\"k47\" is no parameter of ring");
	assert_contains(lines, ": expected at most 48 parameters\n");
}

TEST(texts_of_several_lines_are_kept_as_one)
{
	struct cs_tuning *tuning = parse("version: 1\nblocks:\n  - name: |\n      two\n      "
					 "lines\n"
					 "    provenance: {date: 2026-11-21, library: l, machine: "
					 "m,\n"
					 "      command: \"a\\n\\nb\\n\"}\n"
					 "    machine: {cpu: \"a  b\"}\n    rules: []\n");
	assert_string_equal(tuning->blocks[0].name, "two lines");
	assert_string_equal(tuning->blocks[0].command, "a  b");
	assert_string_equal(tuning->blocks[0].cpu, "a  b"); /* compared with the machine's, which
							     * has runs of blanks */
	cs_tuning_destroy(tuning);
}

TEST(more_rules_than_allowed_are_refused)
{
	char *text = NULL, lines[512];
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	fputs(BLOCK "    rules:\n", out);
	for (int i = 0; i <= CS_TUNING_MAX_RULES; i++)
		fputs("      - {collective: bcast, use: host}\n", out);
	fclose(out);
	assert_int_equal(errors_of(text, bytes, lines, sizeof lines), 1);
	assert_string_equal(lines, "4102:9: expected at most 4096 rules in one file\n");
	/* One fewer is right. */
	assert_int_equal(errors_of(text, bytes - strlen("      - {collective: bcast, use: host}\n"),
				   lines, sizeof lines),
			 0);
	free(text);
}

/* ---- files on disk --------------------------------------------------------------------------- */

static char directory[256];

static int
make_directory(void **state)
{
	return mkdtemp(temporary(directory)) ? 0 : -1;
}

static int
remove_directory(void **state)
{
	return rmdir(directory);
}

/* What cs_tuning_check prints and returns for a path in the test's directory. */
static int
check(const char *name, char *printed, size_t room)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	FILE *out = fmemopen(printed, room, "w");
	int errors = cs_tuning_check(path, out);
	fclose(out);
	return errors;
}

static void
write_file(const char *name, const char *text, size_t bytes)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	fclose(file);
}

static void
unlink_file(const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	unlink(path);
}

TEST(a_file_that_is_missing_or_no_file_is_said_to_be_so)
{
	char printed[512] = "", path[512];
	assert_int_equal(check("missing.yaml", printed, sizeof printed), -1);
	assert_contains(printed, "/missing.yaml: cannot be read: No such file or directory\n");
	assert_int_equal(check("", printed, sizeof printed), -1);
	assert_contains(printed, "cannot be read: Is a directory\n");
	/* Opening a pipe that nobody writes to would hang a job. */
	snprintf(path, sizeof path, "%s/pipe", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(check("pipe", printed, sizeof printed), -1);
	assert_contains(printed, "/pipe: expected a regular file\n");
	unlink_file("pipe");
}

TEST(a_file_of_more_than_a_megabyte_is_refused)
{
	char printed[512] = "";
	char *text = malloc(CS_TUNING_MAX_BYTES + 1);
	memset(text, '\n', CS_TUNING_MAX_BYTES + 1);
	memcpy(text, "version: 1", 10);
	write_file("big.yaml", text, CS_TUNING_MAX_BYTES + 1);
	assert_int_equal(check("big.yaml", printed, sizeof printed), -1);
	assert_contains(printed, "/big.yaml: expected at most 1M bytes\n");
	write_file("big.yaml", text, CS_TUNING_MAX_BYTES);
	assert_int_equal(check("big.yaml", printed, sizeof printed), 0);
	unlink_file("big.yaml");
	free(text);
}

TEST(checking_counts_the_errors_and_names_the_file)
{
	static const char text[] = "version: 2\nlimits: {slots: 0}\n";
	char printed[512] = "";
	write_file("two.yaml", text, strlen(text));
	assert_int_equal(check("two.yaml", printed, sizeof printed), 2);
	assert_contains(printed, "/two.yaml:1:10: found \"2\"");
	assert_contains(printed, "/two.yaml:2:17: found \"0\"");
	assert_int_equal(count_lines(printed), 2);
	write_file("two.yaml", whole, strlen(whole));
	assert_int_equal(check("two.yaml", printed, sizeof printed), 0);
	unlink_file("two.yaml");
}

RUN_TESTS(make_directory, remove_directory)
