/* intercept/descriptor.c — reads the compiler's descriptors of Fortran arrays. */
#include "intercept/descriptor.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* The standard's, as gcc has it: what libgfortran makes of the compiler's. */
struct standard {
	void *base;
	size_t element;
	int version;
	signed char rank, attribute;
	short type;
	struct {
		ptrdiff_t lower, extent, step;
	} dimensions[CS_DESCRIPTOR_RANKS];
};

/* Does the runtime library read from one that we have filled what we mean? */
static bool
is_as_known(void (*translate)(struct standard **, const struct cs_descriptor *))
{
	static char memory[1];
	const struct cs_descriptor array = {
		.base = memory, .element = 24, .rank = 2, .type = 1, .span = 48,
		.dimensions = { { .stride = 3, .lower = 1, .upper = 7 },
				{ .stride = -5, .lower = -2, .upper = 1 } },
	};
	struct standard as_read, *place = &as_read;
	memset(&as_read, 0, sizeof as_read);
	translate(&place, &array);
	if (place != &as_read || as_read.base != memory || as_read.element != array.element ||
	    as_read.rank != array.rank)
		return false;
	for (int i = 0; i < array.rank; i++)
		if (as_read.dimensions[i].extent != cs_descriptor_extent(&array, i) ||
		    as_read.dimensions[i].step != cs_descriptor_step(&array, i))
			return false;
	return true;
}

/* A tool may have the MPI's names, too; its profiling names are its own. The libraries it is linked
 * with tell its compiler. */
bool
cs_descriptor_is_known(const struct cs_door *door)
{
	int saved = errno;
	bool is_known = false;
	void *procedure = NULL, *object = NULL;
	Dl_info info;
	if (door->lookup_all("pmpi_bcast_f08ts_", &procedure, 1) == 1 && dladdr(procedure, &info))
		object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (object) {
		void (*translate)(struct standard **, const struct cs_descriptor *) =
			(void (*)(struct standard **, const struct cs_descriptor *))
				dlsym(object, "_gfortran_gfc_desc_to_cfi_desc");
		is_known = translate && is_as_known(translate);
		dlclose(object);
	}
	dlerror(); /* a failed search is not for the application to see */
	errno = saved;
	return is_known;
}
