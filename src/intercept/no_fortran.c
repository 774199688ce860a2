/* intercept/no_fortran.c — the standard ABI's libraries have no Fortran names; what there is of
 * Fortran above them calls the C names. */
#include "intercept/entry.h"

void
cs_fortran_entries(void **entries, bool is_ordered)
{
	(void)entries;
	(void)is_ordered;
}

void
cs_fortran_count(void **entries)
{
	(void)entries;
}
