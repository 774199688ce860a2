/* trace/profile.c — brings the times of collshim-profile.so into the report. */
#include "trace/profile.h"

#include "trace/sampled.h"

static cs_profile_attach_fn *attach;
static cs_profile_cost_fn *cost;
static bool is_begun;

void
cs_profile_begin(void *(*lookup)(const char *name), size_t request_bytes)
{
	attach = (cs_profile_attach_fn *)lookup(CS_PROFILE_ATTACH);
	cost = (cs_profile_cost_fn *)lookup(CS_PROFILE_COST);
	cs_report_fact("mode", "profile");
	cs_sampled_begin();
	is_begun = true;
	if (!attach || !cost)
		return;
	cs_report_mpi_measured();
	attach(cs_report_mpi, request_bytes);
}

void
cs_profile_end(void)
{
	if (!is_begun)
		return;
	uint64_t others = 0;
	if (attach && cost) {
		others = cost();
		attach(NULL, 0);
	}
	cs_report_number("profile overhead ns", others + cs_sampled_end());
}
