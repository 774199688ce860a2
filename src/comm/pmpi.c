#include "comm/pmpi.h"

#include "base/log.h"

struct cs_pmpi cs_pmpi;

bool
cs_pmpi_load(void *(*lookup)(const char *name))
{
#define P(name)                                                                                    \
	cs_pmpi.name = (__typeof__(cs_pmpi.name))lookup("PMPI_" #name);                            \
	if (!cs_pmpi.name) {                                                                       \
		cs_warn_once("the MPI has no PMPI_" #name "; every call is forwarded to it");       \
		return false;                                                                      \
	}
#include "comm/pmpi.def"
	return true;
}
