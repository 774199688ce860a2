/* trace/profile.c — brings the times of collshim-profile.so into the report. */
#include "trace/profile.h"

static cs_profile_attach_fn *attach;
static cs_profile_cost_fn *cost;

void
cs_profile_begin(void *(*lookup)(const char *name), size_t request_bytes)
{
	attach = (cs_profile_attach_fn *)lookup(CS_PROFILE_ATTACH);
	cost = (cs_profile_cost_fn *)lookup(CS_PROFILE_COST);
	cs_report_fact("mode", "profile");
	if (!attach || !cost)
		return;
	cs_report_mpi_measured();
	attach(cs_report_mpi, request_bytes);
}

void
cs_profile_end(void)
{
	if (!attach || !cost)
		return;
	uint64_t each, all = cost(&each);
	attach(NULL, 0);
	cs_report_number("profile overhead ns", all);
	cs_report_number("profile cost of a timed call ns", each);
}
