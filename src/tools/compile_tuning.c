/* compile_tuning FILE OUTPUT.c — what the library makes of its built-in tuning file, as constants:
 * run when the library is built, on that machine. It is the library's own reader that reads the
 * file, so both say the same. */
#include "select/tuning.h"

#include <stdlib.h>
#include <string.h>

static void
write_text(FILE *out, const char *name, const char *text)
{
	if (!text)
		return;
	fprintf(out, ".%s = (char *)\"", name);
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		if (*at < ' ' || *at > '~' || strchr("\"\\?", *at))
			fprintf(out, "\\%03o", *at);
		else
			fputc(*at, out);
	fputs("\", ", out);
}

static void
write_range(FILE *out, const char *name, struct cs_range range)
{
	fprintf(out, ".%s = { %zuu, %zuu }, ", name, range.low, range.high);
}

static void
write_block(FILE *out, const struct cs_block *block)
{
	fprintf(out, "\t{ .line = %u, ", block->line);
	write_range(out, "cores", block->cores);
	write_text(out, "name", block->name);
	write_text(out, "date", block->date);
	write_text(out, "library", block->library);
	write_text(out, "command", block->command);
	write_text(out, "measured_on", block->measured_on);
	write_text(out, "measured_mpi", block->measured_mpi);
	write_text(out, "note", block->note);
	write_text(out, "mpi", block->mpi);
	write_text(out, "cpu", block->cpu);
	write_text(out, "host", block->host);
	fputs("},\n", out);
}

static void
write_rule(FILE *out, const struct cs_rule *rule)
{
	fprintf(out, "\t{ .coll = %d, .wire = %d, .placement = %d, .form = %d, .imbalance = %u, "
		     ".block = %zu, .line = %u, ",
		(int)rule->coll, rule->wire, (int)rule->placement, (int)rule->form, rule->imbalance,
		rule->block, rule->line);
	write_range(out, "bytes", rule->bytes);
	write_range(out, "ranks", rule->ranks);
	write_range(out, "nodes", rule->nodes);
	write_range(out, "ppn", rule->ppn);
	write_range(out, "skew", rule->skew);
	fputs(".use = { .params = { ", out);
	for (int i = 0; i < CS_MAX_PARAMS; i++)
		fprintf(out, "%zuu, ", rule->use.params[i]);
	fputs("} } },\n", out);
}

static int
number_of(const struct cs_algorithm *algorithm)
{
	for (int number = 0; algorithm && cs_algorithm_at(number); number++)
		if (cs_algorithm_at(number) == algorithm)
			return number;
	return -1;
}

static void
write_tuning(FILE *out, const struct cs_tuning *tuning)
{
	struct cs_limits limits = tuning->limits;
	fputs("/* Made by tools/compile_tuning.c; do not edit. */\n#include \"select/tuning.h\"\n\n"
	      "static const struct cs_block blocks[] = {\n", out);
	for (size_t i = 0; i < tuning->block_count; i++)
		write_block(out, &tuning->blocks[i]);
	fputs("};\n\nstatic const struct cs_rule rules[] = {\n", out);
	for (size_t i = 0; i < tuning->rule_count; i++)
		write_rule(out, &tuning->rules[i]);
	fputs("};\n\nstatic const short algorithm_of[] = {\n", out);
	for (size_t i = 0; i < tuning->rule_count; i++)
		fprintf(out, "\t%d,\n", number_of(tuning->rules[i].use.algorithm));
	fputs("};\n\nstatic const struct cs_tuning_compiled compiled = {\n\t.limits = {\n", out);
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		fprintf(out, "\t\t.%s = %zuu,\n", cs_limit_infos[i].name, *cs_limit_of(&limits, i));
	fputs("\t},\n\t.has_limit = { ", out);
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		fprintf(out, "%d, ", tuning->has_limit[i]);
	fprintf(out, "},\n\t.blocks = blocks, .block_count = %zu,\n\t.rules = rules, .rule_count = "
		     "%zu,\n",
		tuning->block_count, tuning->rule_count);
	fputs("\t.algorithm_of = algorithm_of,\n};\n\n"
	      "const struct cs_tuning_compiled *const cs_tuning_compiled = &compiled;\n", out);
}

/* Here it is all parsed. */
const struct cs_tuning_compiled *const cs_tuning_compiled = NULL;
const char cs_tuning_builtin[] = "";
const size_t cs_tuning_builtin_bytes = 0;

int
main(int argc, char **argv)
{
	struct cs_tuning *tuning;
	struct cs_tuning_errors errors = { .out = stderr };
	if (argc != 3) {
		fputs("usage: compile_tuning FILE OUTPUT.c\n", stderr);
		return 2;
	}
	if (cs_algorithms_left_out()) {
		fprintf(stderr, "algorithms.def: no room for %d rows of algorithms/algorithm.c\n",
			cs_algorithms_left_out());
		return 1;
	}
	if (cs_tuning_load(&tuning, argv[1], &errors) != CS_OK)
		return 1;
	if (tuning->model_count || !tuning->rule_count) {
		fprintf(stderr, "%s: expected rules and no models in the built-in file\n", argv[1]);
		cs_tuning_destroy(tuning);
		return 1;
	}
	FILE *out = fopen(argv[2], "w");
	if (!out) {
		perror(argv[2]);
		cs_tuning_destroy(tuning);
		return 1;
	}
	write_tuning(out, tuning);
	bool is_whole = !ferror(out);
	is_whole &= fclose(out) == 0;
	cs_tuning_destroy(tuning);
	return is_whole ? 0 : 1;
}
