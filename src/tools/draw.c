/* tools/draw.c — reads what --draw is to draw, and draws it. */
#include "tools/draw.h"

#include "algorithms/algorithm.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "coll/problem.h"
#include "plan/build.h"
#include "plan/draw.h"
#include "plan/walk.h"
#include "tools/words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, FAILED = 1, WRONG_USE = 2 };

#define BYTES 1024        /* if none are asked for */
#define ELEMENT 8         /* bytes, in reductions */
#define MOST_STEPS 1000000
/* Limit of all ranks' blocks: a plan in pieces has a step for each */
#define MOST_BYTES ((size_t)4 << 30)
#define TITLE_ROOM 512
#define SHOWN "%.60s" /* what somebody wrote, which may be of any length */

/* A call, and what was made for drawing it. */
struct picture {
	const struct cs_draw_request *request;
	char *complaint;
	const struct cs_algorithm *algorithm;
	size_t params[CS_MAX_PARAMS];
	int ranks;
	int *node_of;
	size_t *sizes, *at; /* of blocks, all alike: for collectives whose blocks may differ */
	struct cs_problem problem;
	struct cs_plan *plans;
	char title[TITLE_ROOM];
};

/* A text that is written piece by piece; what does not fit is left out. */
struct pen {
	char *text;
	size_t used, room;
};

static void __attribute__((format(printf, 2, 3)))
add(struct pen *pen, const char *format, ...)
{
	va_list arguments;
	if (pen->used >= pen->room)
		return;
	va_start(arguments, format);
	pen->used += (size_t)vsnprintf(pen->text + pen->used, pen->room - pen->used, format,
				       arguments);
	va_end(arguments);
}

static int __attribute__((format(printf, 3, 4)))
complain(const struct picture *picture, int status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(picture->complaint, CS_DRAW_COMPLAINT, format, arguments);
	va_end(arguments);
	return status;
}

static int
out_of_memory(const struct picture *picture)
{
	return complain(picture, FAILED, "out of memory; try fewer --ranks");
}

/* --- which algorithm -------------------------------------------------------------------------- */

static void
list_plans(struct pen *pen, enum cs_coll coll)
{
	const struct cs_algorithm *algorithm;
	bool any = false;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++) {
		if (algorithm->coll != coll || !algorithm->build)
			continue;
		add(pen, "%s%s", any ? ", " : "; can be drawn: ", algorithm->name);
		any = true;
	}
	if (!any)
		add(pen, "; no algorithm of %s is a plan, so none can be drawn",
		    cs_colls[coll].name);
}

static int
refuse_collective(const struct picture *picture, const char *name)
{
	struct cs_nearest nearest = { .word = name };
	struct pen pen = { picture->complaint, 0, CS_DRAW_COMPLAINT };
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		cs_nearest_try(&nearest, cs_colls[coll].name);
	add(&pen, "--draw " SHOWN ": \"" SHOWN "\" is no collective", picture->request->what, name);
	if (nearest.best)
		add(&pen, " (did you mean %s?)", nearest.best);
	add(&pen, "; known:");
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		add(&pen, "%s %s", coll ? "," : "", cs_colls[coll].name);
	return WRONG_USE;
}

static int
refuse_algorithm(const struct picture *picture, enum cs_coll coll, const char *name)
{
	struct cs_nearest nearest = { .word = name };
	struct pen pen = { picture->complaint, 0, CS_DRAW_COMPLAINT };
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(coll, name);
	add(&pen, "--draw " SHOWN ": ", picture->request->what);
	for (int i = 0; !algorithm && cs_algorithm_at(i); i++)
		if (cs_algorithm_at(i)->coll == coll && cs_algorithm_at(i)->build)
			cs_nearest_try(&nearest, cs_algorithm_at(i)->name);
	if (!*name)
		add(&pen, "expected %s:ALGORITHM", cs_colls[coll].name);
	else if (!strcmp(name, "host"))
		add(&pen, "host is the MPI itself, whose steps are not known here");
	else if (algorithm && algorithm->inner)
		add(&pen, "%s shares memory on its nodes and is no plan; between nodes it is "
			  "--draw %s:%s", name,
		    cs_colls[algorithm->inner->coll].name, algorithm->inner->name);
	else if (algorithm && algorithm->needs.verbs)
		add(&pen, "%s runs on verbs and is no plan", name);
	else if (algorithm && algorithm->needs.everyone)
		add(&pen, "%s goes by who comes first and is no plan", name);
	else if (algorithm)
		add(&pen, "%s shares memory on its nodes and is no plan", name);
	else
		add(&pen, "\"" SHOWN "\" is no algorithm of %s", name, cs_colls[coll].name);
	if (nearest.best)
		add(&pen, " (did you mean %s?)", nearest.best);
	list_plans(&pen, coll);
	return WRONG_USE;
}

static int
find_algorithm(struct picture *picture)
{
	char name[64];
	const char *what = picture->request->what, *colon = strchr(what, ':');
	size_t length = colon ? (size_t)(colon - what) : strlen(what);
	snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
		 what);
	enum cs_coll coll = cs_coll_by_name(name);
	if (coll == CS_COLL_COUNT)
		return refuse_collective(picture, name);
	picture->algorithm = colon ? cs_algorithm_by_name(coll, colon + 1) : NULL;
	if (!picture->algorithm || !picture->algorithm->build)
		return refuse_algorithm(picture, coll, colon ? colon + 1 : "");
	return DONE;
}

/* --- its parameters --------------------------------------------------------------------------- */

static int
refuse_param(const struct picture *picture, const char *word)
{
	struct pen pen = { picture->complaint, 0, CS_DRAW_COMPLAINT };
	const struct cs_param *params = picture->algorithm->params;
	size_t length = strcspn(word, "=");
	if (length && word[length])
		add(&pen, SHOWN ": \"%.*s\" is no parameter of %s; known:", word,
		    (int)(length < 60 ? length : 60), word, picture->request->what);
	else
		add(&pen, SHOWN ": expected name=value; parameters of %s:", word,
		    picture->request->what);
	for (int i = 0; i < CS_MAX_PARAMS && params[i].name; i++)
		add(&pen, "%s %s", i ? "," : "", params[i].name);
	if (!params[0].name)
		add(&pen, " none");
	return WRONG_USE;
}

static int
set_param(struct picture *picture, const char *word)
{
	char low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	size_t length = strcspn(word, "="), value;
	int i = word[length] ? cs_algorithm_param(picture->algorithm, word, length) : -1;
	if (i < 0)
		return refuse_param(picture, word);
	const struct cs_param *param = &picture->algorithm->params[i];
	if (cs_parse_bytes(word + length + 1, &value) != CS_OK || value < param->low ||
	    value > param->high)
		return complain(picture, WRONG_USE, SHOWN ": expected a number from %s to %s", word,
				cs_bytes_text(low, param->low), cs_bytes_text(high, param->high));
	picture->params[i] = value;
	return DONE;
}

static int
set_params(struct picture *picture)
{
	int wrong = DONE;
	for (int i = 0; i < CS_MAX_PARAMS && picture->algorithm->params[i].name; i++)
		picture->params[i] = picture->algorithm->params[i].fallback;
	for (int i = 0; !wrong && i < picture->request->word_count; i++)
		if (cs_tools_is_again(picture->request->words, i))
			wrong = complain(picture, WRONG_USE, SHOWN ": expected each parameter once",
					 picture->request->words[i]);
		else
			wrong = set_param(picture, picture->request->words[i]);
	return wrong;
}

/* --- the call --------------------------------------------------------------------------------- */

static int
check_request(const struct picture *picture)
{
	const struct cs_draw_request *request = picture->request;
	enum cs_coll coll = picture->algorithm->coll;
	size_t ranks = (size_t)request->facts.ranks;
	if (ranks < 1 || ranks > CS_DRAW_MOST_RANKS)
		return complain(picture, WRONG_USE, "--ranks %zu: a drawing has 1 to %d ranks",
				ranks, CS_DRAW_MOST_RANKS);
	if (request->has_root && !cs_colls[coll].rooted)
		return complain(picture, WRONG_USE, "--root: %s has no root; leave it out",
				cs_colls[coll].name);
	if (request->has_root && request->root >= ranks)
		return complain(picture, WRONG_USE, "--root %zu: expected a rank from 0 to %zu",
				request->root, ranks - 1);
	if (request->has_bytes && coll == CS_BARRIER)
		return complain(picture, WRONG_USE, "--bytes: a barrier has no size; leave it out");
	if (request->has_bytes && request->bytes > MOST_BYTES / ranks)
		return complain(picture, WRONG_USE, "--bytes %zu: a drawing of %zu rank%s has at "
						    "most %zu",
				request->bytes, ranks, ranks == 1 ? "" : "s", MOST_BYTES / ranks);
	if (request->has_bytes && cs_colls[coll].reduces && request->bytes % ELEMENT)
		return complain(picture, WRONG_USE,
				"--bytes %zu: elements of a reduction have %d bytes; try --bytes "
				"%zu", request->bytes, ELEMENT,
				(request->bytes / ELEMENT + 1) * ELEMENT);
	if (!request->facts.is_commutative && !cs_colls[coll].reduces)
		return complain(picture, WRONG_USE, "--non-commutative: %s has no operation",
				cs_colls[coll].name);
	const char *unmet = cs_algorithm_unmet(picture->algorithm, &request->facts);
	if (unmet)
		return complain(picture, WRONG_USE,
				"%s does not serve this call: %s; see --ppn, --nodes, --cyclic and "
				"--non-commutative", request->what, unmet);
	return DONE;
}

static int
node_of(const struct cs_draw_request *request, int rank)
{
	const struct cs_facts *facts = &request->facts;
	if (request->is_cyclic)
		return rank % facts->nodes;
	if (request->ppn)
		return rank / (int)request->ppn;
	return rank * facts->nodes / facts->ranks;
}

static int
describe(struct picture *picture)
{
	const struct cs_draw_request *request = picture->request;
	enum cs_coll coll = picture->algorithm->coll;
	size_t ranks = (size_t)request->facts.ranks,
	       bytes = request->has_bytes ? request->bytes : BYTES;
	picture->ranks = (int)ranks;
	picture->node_of = calloc(ranks, sizeof *picture->node_of);
	picture->sizes = calloc(ranks, sizeof *picture->sizes);
	picture->at = calloc(ranks, sizeof *picture->at);
	picture->plans = calloc(ranks, sizeof *picture->plans);
	if (!picture->node_of || !picture->sizes || !picture->at || !picture->plans)
		return out_of_memory(picture);
	for (size_t rank = 0; rank < ranks; rank++) {
		picture->node_of[rank] = node_of(request, (int)rank);
		picture->sizes[rank] = bytes;
		picture->at[rank] = rank * bytes;
	}
	picture->problem = (struct cs_problem){ .coll = coll, .ranks = (int)ranks,
						.bytes = coll == CS_BARRIER ? 0 : bytes,
						.root = request->has_root ? (int)request->root : 0,
						.unit = cs_colls[coll].reduces ? ELEMENT : 1,
						.params = picture->params,
						.is_commutative = request->facts.is_commutative,
						.node_of = picture->node_of };
	if (cs_colls[coll].sizes != CS_SIZES_EQUAL) {
		picture->problem.sizes = picture->sizes;
		picture->problem.at = cs_colls[coll].reduces ? NULL : picture->at;
	}
	if (cs_colls[coll].sizes == CS_SIZES_BY_PAIR) {
		picture->problem.recv_sizes = picture->sizes;
		picture->problem.recv_at = picture->at;
	}
	return DONE;
}

static int
build(struct picture *picture)
{
	size_t steps = 0;
	for (int rank = 0; rank < picture->ranks; rank++) {
		struct cs_problem problem = picture->problem;
		struct cs_builder builder;
		problem.rank = rank;
		cs_builder_init(&builder, &problem, &picture->plans[rank]);
		builder.most = MOST_STEPS - steps + 1;
		picture->algorithm->build(&builder);
		bool is_too_long = picture->plans[rank].count == builder.most;
		enum cs_status status = cs_builder_finish(&builder);
		size_t length = cs_plan_length(&picture->plans[rank]);
		is_too_long = is_too_long || length > MOST_STEPS - steps;
		if (status == CS_UNSUPPORTED)
			return complain(picture, WRONG_USE,
					"%s refuses this call; try other --ranks, --ppn or "
					"--bytes%s", picture->request->what, problem.is_commutative
					? "" : ", or leave out --non-commutative");
		if (is_too_long)
			return complain(picture, WRONG_USE,
					"a drawing has at most %d steps; try fewer --ranks, "
					"--bytes or pieces", MOST_STEPS);
		if (status != CS_OK)
			return out_of_memory(picture);
		steps += length;
	}
	return DONE;
}

/* --- the picture ------------------------------------------------------------------------------ */

static void
make_title(struct picture *picture, const struct cs_drawing *drawing)
{
	struct pen pen = { picture->title, 0, TITLE_ROOM };
	const struct cs_facts *facts = &picture->request->facts;
	const struct cs_param *params = picture->algorithm->params;
	char number[CS_NUMBER_TEXT];
	add(&pen, "%s, %d rank%s", picture->request->what, picture->ranks,
	    picture->ranks == 1 ? "" : "s");
	if (facts->nodes > 1)
		add(&pen, " on %d nodes", facts->nodes);
	if (cs_colls[picture->algorithm->coll].rooted)
		add(&pen, ", root %d", picture->problem.root);
	if (picture->algorithm->coll != CS_BARRIER)
		add(&pen, ", %s bytes", cs_bytes_text(number, picture->problem.bytes));
	for (int i = 0; i < CS_MAX_PARAMS && params[i].name; i++)
		add(&pen, ", %s=%s", params[i].name, cs_bytes_text(number, picture->params[i]));
	add(&pen, ": %u round%s, ", (unsigned)drawing->rounds, drawing->rounds == 1 ? "" : "s");
	add(&pen, "%llu message%s", (unsigned long long)drawing->messages,
	    drawing->messages == 1 ? "" : "s");
	add(&pen, " with %s bytes", cs_bytes_text(number, drawing->bytes));
	add(&pen, ", at most %s sent or received by a rank",
	    cs_bytes_text(number, drawing->most_bytes));
}

static int
write_svg(const struct picture *picture, const struct cs_drawing *drawing)
{
	const char *name = picture->request->svg;
	bool is_file = strcmp(name, "-") != 0;
	FILE *file = is_file ? fopen(name, "w") : picture->request->text;
	if (!file)
		return complain(picture, FAILED, "--svg %s: %s", name, strerror(errno));
	enum cs_status status = cs_drawing_write_svg(drawing, picture->title, NULL, NULL, file);
	bool is_bad = ferror(file) != 0;
	if (is_file && (fclose(file) != 0 || is_bad))
		return complain(picture, FAILED, "--svg %s: %s", name, strerror(errno));
	return status == CS_OK ? DONE : out_of_memory(picture);
}

static int
write_picture(struct picture *picture)
{
	struct cs_drawing drawing;
	enum cs_status status = cs_drawing_init(&drawing, picture->plans, picture->ranks);
	int wrong = DONE;
	if (status == CS_BAD_INPUT)
		return complain(picture, FAILED, "the plans of %s do not fit together: a fault of "
						 "the algorithm",
				picture->request->what);
	if (status != CS_OK)
		return out_of_memory(picture);
	make_title(picture, &drawing);
	if (picture->request->svg) {
		wrong = write_svg(picture, &drawing);
	} else {
		fprintf(picture->request->text, "%s\n\n", picture->title);
		if (cs_drawing_write_text(&drawing, picture->request->text) != CS_OK)
			wrong = out_of_memory(picture);
	}
	cs_drawing_fini(&drawing);
	return wrong;
}

int
cs_tools_draw(const struct cs_draw_request *request, char complaint[CS_DRAW_COMPLAINT])
{
	struct picture picture = { .request = request, .complaint = complaint };
	int wrong = find_algorithm(&picture);
	wrong = wrong ? wrong : set_params(&picture);
	wrong = wrong ? wrong : check_request(&picture);
	wrong = wrong ? wrong : describe(&picture);
	wrong = wrong ? wrong : build(&picture);
	wrong = wrong ? wrong : write_picture(&picture);
	for (int rank = 0; picture.plans && rank < picture.ranks; rank++)
		cs_plan_fini(&picture.plans[rank]);
	free(picture.plans);
	free(picture.node_of);
	free(picture.sizes);
	free(picture.at);
	return wrong;
}
