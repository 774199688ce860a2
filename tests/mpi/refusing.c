/* Linked into a module with --wrap=cs_builder_finish: half of the shapes of each algorithm's plans
 * are refused, told by what all ranks know alike. */
#include "plan/build.h"

enum cs_status __real_cs_builder_finish(struct cs_builder *builder);
enum cs_status __wrap_cs_builder_finish(struct cs_builder *builder);

/* Of blocks of several sizes all ranks know those of an allgatherv and a reduce_scatter. */
static size_t
shape_of(const struct cs_problem *problem)
{
	const struct cs_coll_info *info = &cs_colls[problem->coll];
	if (!problem->sizes)
		return problem->bytes / problem->unit;
	if (info->rooted)
		return 0;
	if (info->in.what == CS_ALL_BLOCKS && info->out.what == CS_ALL_BLOCKS)
		return problem->is_in_place;
	return cs_problem_total(problem) / problem->unit;
}

enum cs_status
__wrap_cs_builder_finish(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	if ((shape_of(problem) + (size_t)problem->root) % 2)
		cs_build_refuse(builder, "planted: an odd shape");
	return __real_cs_builder_finish(builder);
}
