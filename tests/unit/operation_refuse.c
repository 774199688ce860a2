/* operation_refuse.c has plans refused that are none of those that their algorithms refuse. */
#include "operation_run.h"

#include "plan/build.h"

unsigned refuse_built, refuse_refused;

/* Builds as the algorithm whose place is in the parameter behind the last one, but refuses half of
 * the shapes: by what all ranks know alike, and what a kept plan is known by. Or rank 1 alone
 * does. */
static void
build_or_refuse(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	size_t planted = problem->params[CS_MAX_PARAMS],
	       shape = problem->sizes ? 0 : problem->bytes / problem->unit;
	bool is_by_one = planted / 2 % 2;
	if ((shape + (size_t)problem->root + planted) % 2 && (!is_by_one || problem->rank == 1)) {
		refuse_refused++;
		cs_build_refuse(builder, "planted");
	} else {
		refuse_built++;
		cs_algorithm_at((int)(planted / 4))->build(builder);
	}
}

/* Of the row, for cs_algorithm_at. */
static int
place_of(const struct cs_algorithm *algorithm)
{
	int place = 0;
	while (cs_algorithm_at(place) != algorithm)
		place++;
	return place;
}

static const struct cs_algorithm *
planted_of(const struct cs_algorithm *algorithm)
{
	static struct cs_algorithm planted[CS_MOST_ROWS];
	struct cs_algorithm *its = &planted[cs_algorithm_number(algorithm)];
	*its = *algorithm;
	if (its->build)
		its->build = build_or_refuse;
	if (its->inner)
		its->inner = planted_of(its->inner);
	return its;
}

void
refuse_some(const struct run *run, struct spec *spec)
{
	const struct cs_algorithm *plans = spec->algorithm->inner ? spec->algorithm->inner
								  : spec->algorithm;
	size_t place = (size_t)place_of(plans), is_by_one = run->setting.fault == REFUSED_BY_ONE;
	spec->params[CS_MAX_PARAMS] = 4 * place + 2 * is_by_one + (run->setting.seed + place) % 2;
	spec->runs = planted_of(spec->algorithm);
}
