/* tools/learnt.c — prints the rules that jobs have learnt. */
#include "tools/learnt.h"

#include "select/learnt.h"

#include <stdlib.h>

/* `line`: the rule's, which ends in its times (select/learnt.c: put_entry). */
static void
print_rule(const struct cs_rule *rule, const char *line)
{
	unsigned long long ns = 0, host_ns = 0, calls = 0;
	char use[256], bytes[CS_RANGE_TEXT], ranks[CS_RANGE_TEXT], nodes[CS_RANGE_TEXT],
	     ppn[CS_RANGE_TEXT], ratio[48] = "-", date[16] = "-", version[48] = "-";
	const char *comment = memmem(line, strcspn(line, "\n"), "} # ", 4);
	if (comment)
		sscanf(comment, "} # %llu ns, host %llu ns, %llu calls, %15[0-9-], collshim "
				"%47[^\r\n]", &ns, &host_ns, &calls, date, version);
	if (ns)
		snprintf(ratio, sizeof ratio, "%.2f", (double)host_ns / (double)ns);
	printf("  %-20s %-12s %-6s %-6s %-6s", cs_colls[rule->coll].name,
	       cs_byte_range_text(bytes, rule->bytes), cs_count_range_text(ranks, rule->ranks),
	       cs_count_range_text(nodes, rule->nodes), cs_count_range_text(ppn, rule->ppn));
	printf(" %8s %8llu %-10s %-8s %s%s%s%s", ratio, calls, date, version,
	       cs_use_text(use, sizeof use, rule->use.algorithm, rule->use.params),
	       rule->placement == CS_PLACEMENT_CYCLIC ? ", cyclic" : "",
	       rule->wire == CS_WIRE_IB ? ", ib" : "",
	       rule->form == CS_FORM_EITHER ? ""
	       : rule->form == CS_FORM_BLOCKING ? ", blocking" : ", non-blocking");
	for (int name = 0; name < CS_BALANCES; name++)
		if (rule->imbalance >> name & 1)
			printf(", %s", cs_balance_names[name]);
	putchar('\n');
}

static int
print_file(const char *path)
{
	struct cs_tuning_errors errors = { .out = stdout };
	struct cs_tuning *tuning;
	const struct cs_block *shown = NULL;
	char *text;
	size_t bytes;
	if (cs_tuning_load_text(&tuning, path, &text, &bytes, &errors) != CS_OK)
		return 1;
	for (size_t i = 0; i < tuning->rule_count; i++) {
		const struct cs_block *block = &tuning->blocks[tuning->rules[i].block];
		const char *line = text;
		if (!cs_block_is_learnt(block))
			continue;
		if (block != shown)
			printf("on %s%s%s:\n  %-20s %-12s %-6s %-6s %-6s %8s %8s %-10s %-8s %s\n",
			       block->measured_on, block->mpi ? ", with " : "",
			       block->mpi ? block->mpi : "", "collective", "bytes", "ranks",
			       "nodes", "ppn", "MPI/it", "calls", "date", "version", "algorithm");
		shown = block;
		for (unsigned before = 1; before < tuning->rules[i].line; before++)
			line = strchr(line, '\n') + 1;
		print_rule(&tuning->rules[i], line);
	}
	if (!shown)
		printf("%s: nothing learnt\n", path);
	cs_tuning_destroy(tuning);
	free(text);
	return 0;
}

int
cs_tools_learnt(int argc, char **argv)
{
	struct cs_settings settings;
	cs_settings_read(&settings);
	const char *path = argc > 1 ? argv[1] : settings.adapt_file;
	if (path && argc <= 2)
		return print_file(path);
	fputs("collshim-info: --learnt expects one file, or one by COLLSHIM_ADAPT_FILE\n"
	      "Try: collshim-info --help\n", stderr);
	return 2;
}
