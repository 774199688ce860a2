/* comm/calls/serve_flat.c — special buffers: null, MPI_IN_PLACE, not contiguous, or aliased. */
#include "comm/calls/serve_flat.h"

#include <string.h>

bool
cs_flat_look_special(const void *buffer, size_t bytes, const struct cs_type *type)
{
	if (buffer == MPI_IN_PLACE)
		return bytes == 0 && cs_flavour.takes_idle_in_place;
	return bytes == 0 || !(type->is_predefined || type->is_contiguous);
}

char *
cs_flat_pack(struct cs_serving *serving, const struct cs_flat *flat, int which,
	     enum cs_filled filled)
{
	struct cs_comm *communicator = serving->communicator;
	char *packed = cs_serve_packed(serving, which, flat->bytes);
	MPI_Count count = filled == CS_OWN ? flat->count / communicator->size : flat->count;
	MPI_Count first = filled == CS_OWN ? communicator->rank * count : 0;
	if (filled != CS_NONE)
		cs_serve_pack(serving, flat->type, (char *)flat->user + first * flat->type->extent,
			      count, packed + (size_t)first * flat->type->size);
	return packed;
}

struct unpacked {
	struct cs_flat flat;
	struct cs_type type;
	const char *bytes;
};

static void
unpack_later(struct cs_serving *serving, void *results)
{
	struct unpacked *later = results;
	cs_serve_unpack(serving, &later->type, later->flat.user, later->flat.count, later->bytes);
	cs_serve_drop_type(&later->type);
}

void
cs_flat_unpack(struct cs_serving *serving, const struct cs_flat *flat, const char *bytes)
{
	struct unpacked later = { .flat = *flat, .bytes = bytes };
	if (!cs_serving_goes_on(serving)) {
		cs_serve_unpack(serving, flat->type, flat->user, flat->count, bytes);
		return;
	}
	memcpy(&later.type, flat->type, sizeof later.type);
	cs_serve_keep_type(&later.type);
	cs_serve_postpone(serving, unpack_later, &later, sizeof later);
}

/* Copy of a type, marked as not contiguous, so that the side is packed into a copy. */
static const struct cs_type *
copied(struct cs_serving *serving, const struct cs_type *from, int which)
{
	struct cs_type *type = &serving->types[which];
	if (from != type)
		memcpy(type, from, sizeof *type);
	type->is_contiguous = false;
	return type;
}

bool
cs_flat_is_refused(struct cs_serving *serving, const struct cs_side *one, const struct cs_side *all,
		   size_t at, struct cs_flat *flat, int which)
{
	if (flat->bytes == 0 || !one->buffer)
		return false;
	if (!cs_flavour.takes_aliases && one->type == all->type &&
	    (uintptr_t)one->buffer == (uintptr_t)all->buffer + at &&
	    (at == 0 || (size_t)flat->type->extent == flat->type->size))
		return true;
	if (one->buffer == all->buffer)
		flat->type = copied(serving, flat->type, which);
	return false;
}
