/* tools/doctor_without_verbs.c — the group "verbs" of a build that has none (-Dverbs=disabled). */
#include "tools/doctor.h"

void
cs_doctor_look_at_verbs(struct cs_doctor *doctor, const struct cs_settings *settings,
			const struct cs_limits *limits)
{
	bool is_wanted = limits->wire == CS_WIRE_IB || settings->ib_device;
	cs_doctor_group(doctor, "verbs");
	snprintf(doctor->wire, sizeof doctor->wire, "the MPI's messages");
	cs_doctor_say(doctor, is_wanted ? CS_VERDICT_PROBLEM : CS_VERDICT_NOTE,
		      "collshim was built without verbs (-Dverbs=disabled)%s",
		      is_wanted ? "; COLLSHIM_WIRE, COLLSHIM_IB_DEVICE or the limit wire wants them"
				: "");
}
