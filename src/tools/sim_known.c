/* tools/sim_known.c — knows what collshim-sim can simulate: lists it, and finds an algorithm and
 * its parameters by name. */
#include "tools/sim_request.h"

#include "base/nearest.h"
#include "base/parse.h"
#include "tools/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
cs_tool_wrong_use(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("collshim-sim: ", stderr);
	vfprintf(stderr, format, arguments);
	fputs("\nTry: collshim-sim --help\n", stderr);
	va_end(arguments);
	return CS_TOOL_WRONG_USE;
}

bool
cs_tool_is_plan(const struct cs_algorithm *algorithm)
{
	return algorithm->build || algorithm->inner;
}

bool
cs_tool_is_played(const struct cs_sim_options *request, const struct cs_algorithm *algorithm)
{
	return algorithm && algorithm->run && (request->plays || !algorithm->inner);
}

bool
cs_tool_has_effect(const struct cs_algorithm *algorithm, int param, bool is_played)
{
	int of_plan = 0;
	if (!algorithm->inner || (is_played && !algorithm->params[param].is_within_nodes))
		return true;
	while (of_plan < CS_MAX_PARAMS && algorithm->inner->params[of_plan].name)
		of_plan++;
	if (algorithm->params[param].is_within_nodes)
		return false;
	return param < of_plan || algorithm->params[param].role == CS_ROLE_READ_ALL;
}

const char *
cs_tool_bytes_meaning(enum cs_coll coll)
{
	if (cs_sim_call_has_sizes(coll) && coll != CS_REDUCE_SCATTER)
		return "bytes of one rank's block, before --distribution";
	return cs_colls[coll].bytes_meaning;
}

static void
list_params(const struct cs_algorithm *algorithm, bool is_played)
{
	char value[CS_NUMBER_TEXT], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		const struct cs_param *param = &algorithm->params[i];
		if (cs_tool_has_effect(algorithm, i, is_played))
			printf("    %s: %s; default %s, %s to %s\n", param->name, param->meaning,
			       cs_bytes_text(value, param->fallback),
			       cs_bytes_text(low, param->low), cs_bytes_text(high, param->high));
	}
}

static bool
is_known(const struct cs_algorithm *algorithm)
{
	return cs_tool_is_plan(algorithm) || (algorithm->run && !algorithm->needs.verbs);
}

int
cs_tool_list(void)
{
	enum cs_coll last = CS_COLL_COUNT;
	const struct cs_algorithm *algorithm;
	char text[CS_MODEL_TEXT];
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++) {
		if (!is_known(algorithm))
			continue;
		if (algorithm->coll != last)
			printf("%s (bytes: %s)\n", cs_colls[algorithm->coll].name,
			       cs_tool_bytes_meaning(algorithm->coll));
		last = algorithm->coll;
		printf("  %s:%s%s: %s\n", cs_colls[algorithm->coll].name, algorithm->name,
		       cs_tool_is_plan(algorithm) ? "" : " (played)", algorithm->summary);
		list_params(algorithm, !cs_tool_is_plan(algorithm));
	}
	puts("models (seconds, and seconds per byte)");
	for (const struct cs_model *model = cs_models; *model->name; model++)
		printf("  %s: %s\n    %s\n", model->name, model->origin,
		       cs_model_text(text, model));
	return CS_TOOL_DONE;
}

void
cs_tool_offer(enum cs_coll coll)
{
	const char *before = "expected one of ";
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++)
		if (algorithm->coll == coll && is_known(algorithm)) {
			fprintf(stderr, "%s%s:%s", before, cs_colls[coll].name, algorithm->name);
			before = ", ";
		}
	fprintf(stderr, "%s\nTry: collshim-sim --list\n",
		*before == 'e' ? "this collective has no plan yet" : "");
}

static int
find_coll(const char *name, enum cs_coll *coll)
{
	struct cs_nearest nearest = { .word = name };
	*coll = cs_coll_by_name(name);
	if (*coll != CS_COLL_COUNT)
		return CS_TOOL_DONE;
	fprintf(stderr, "collshim-sim: %s is no collective; expected one of", name);
	for (int i = 0; i < CS_COLL_COUNT; i++) {
		cs_nearest_try(&nearest, cs_colls[i].name);
		fprintf(stderr, "%s %s", i ? "," : "", cs_colls[i].name);
	}
	fprintf(stderr, nearest.best ? " (did you mean %s?)\n" : "\n", nearest.best);
	return CS_TOOL_WRONG_USE;
}

int
cs_request_find(struct cs_sim_options *request)
{
	char name[64];
	const char *what = request->what, *colon = strchr(what, ':');
	size_t length = colon ? (size_t)(colon - what) : strlen(what);
	snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name),
		 what);
	if (find_coll(name, &request->call.coll) != CS_TOOL_DONE)
		return CS_TOOL_WRONG_USE;
	if (request->compares && colon)
		return cs_tool_wrong_use("%s: --compare takes a collective, here %s, and tries all "
					 "its algorithms", what, name);
	if (request->compares)
		return CS_TOOL_DONE;
	const struct cs_algorithm *algorithm =
		colon ? cs_algorithm_by_name(request->call.coll, colon + 1) : NULL;
	request->algorithm = algorithm;
	if (algorithm && is_known(algorithm))
		return CS_TOOL_DONE;
	fprintf(stderr, "collshim-sim: %s: %s; ", what,
		!colon      ? "names no algorithm"
		: algorithm ? "needs multicast, which cannot be simulated"
			    : "no such algorithm");
	cs_tool_offer(request->call.coll);
	return CS_TOOL_WRONG_USE;
}

void
cs_tool_fallbacks(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm)
{
	for (int i = 0; i < CS_MAX_PARAMS; i++)
		params[i] = algorithm->params[i].name ? algorithm->params[i].fallback : 0;
}

static int
refuse_param(const struct cs_algorithm *algorithm, bool is_played, const char *word)
{
	char names[200] = "", full[80];
	size_t length = strcspn(word, "=");
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (cs_tool_has_effect(algorithm, i, is_played))
			snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
				 algorithm->params[i].name);
	snprintf(full, sizeof full, "%s:%s", cs_colls[algorithm->coll].name, algorithm->name);
	if (!*names)
		return cs_tool_wrong_use("%s: %s has no parameters", word, full);
	if (!length || !word[length])
		return cs_tool_wrong_use("%s: expected NAME=VALUE; %s has%s", word, full, names);
	return cs_tool_wrong_use("%s: \"%.*s\" is no parameter of %s, which has%s", word,
				 (int)length, word, full, names);
}

static int
set_param(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm, bool is_played,
	  const char *word)
{
	char low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	size_t length = strcspn(word, "="), value;
	int i = word[length] ? cs_algorithm_param(algorithm, word, length) : -1;
	if (i < 0)
		return refuse_param(algorithm, is_played, word);
	const struct cs_param *param = &algorithm->params[i];
	if (!cs_tool_has_effect(algorithm, i, is_played))
		return cs_tool_wrong_use("%s: has no effect%s", word, param->is_within_nodes
					 ? ", as one rank of each node is between nodes"
					 : " without --play, as node steps are simulated in "
					   "one piece, by one leader");
	if (cs_parse_bytes(word + length + 1, &value) != CS_OK || value < param->low ||
	    value > param->high)
		return cs_tool_wrong_use("%s: expected a number from %s to %s", word,
					 cs_bytes_text(low, param->low),
					 cs_bytes_text(high, param->high));
	params[i] = value;
	return CS_TOOL_DONE;
}

int
cs_request_params(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm,
		  const struct cs_sim_options *request)
{
	int wrong = CS_TOOL_DONE;
	cs_tool_fallbacks(params, algorithm);
	for (int i = 0; i < request->word_count && !wrong; i++)
		if (cs_tools_is_again(request->words, i))
			wrong = cs_tool_wrong_use("%s: expected each parameter once",
						  request->words[i]);
		else
			wrong = set_param(params, algorithm,
					  cs_tool_is_played(request, algorithm),
					  request->words[i]);
	return wrong;
}
