/* comm/types/pack.c — packs and unpacks elements of a datatype by the host's functions, in batches
 * of at most INT_MAX / 2 bytes. */
#include "comm/types/types.h"

#include "base/float_guard.h"
#include "base/log.h"
#include "comm/types/layout.h"
#include "comm/host/pmpi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Bytes for one call of MPI_Pack, which counts in int */
#define PACK_MOST ((size_t)INT_MAX / 2)

/* Elements for one call of MPI_Pack; at least one, which may be too large for it. */
static MPI_Count
batch(const struct cs_type *type)
{
	MPI_Count most = (MPI_Count)(PACK_MOST / type->size);
	return most > 0 ? most : 1;
}

/* Type of a batch's bytes: MPI_BYTE `*count` times, or, for one larger element, a type of its
 * size. */
static bool
byte_type(size_t bytes, MPI_Datatype *type, int *count)
{
	*type = MPI_BYTE;
	*count = (int)bytes;
	if (bytes <= PACK_MOST)
		return true;
	enum { BLOCK = 1 << 20 };
	MPI_Datatype block = MPI_DATATYPE_NULL, parts[2] = { MPI_DATATYPE_NULL, MPI_BYTE };
	int lengths[2] = { 1, (int)(bytes % BLOCK) };
	MPI_Aint at[2] = { 0, (MPI_Aint)(bytes - bytes % BLOCK) };
	*count = 1;
	bool is_made = bytes / BLOCK <= INT_MAX &&
		       !cs_pmpi.Type_contiguous(BLOCK, MPI_BYTE, &block) &&
		       !cs_pmpi.Type_contiguous((int)(bytes / BLOCK), block, &parts[0]) &&
		       !cs_pmpi.Type_create_struct(2, lengths, at, parts, type);
	if (block != MPI_DATATYPE_NULL)
		cs_pmpi.Type_free(&block);
	if (parts[0] != MPI_DATATYPE_NULL)
		cs_pmpi.Type_free(&parts[0]);
	return is_made && !cs_pmpi.Type_commit(type);
}

/* Copies from one layout to another by a message to this process. Each has a tag of its own, since
 * other threads may do the same: not 1, which is host.c's, and none of persistent.c's. */
static bool
send_to_self(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
	     MPI_Datatype to_type)
{
	static _Atomic unsigned last_tag;
	struct cs_float_state floats;
	int tag = 2 + (int)(atomic_fetch_add_explicit(&last_tag, 1, memory_order_relaxed) % 16000);
	cs_float_hold(&floats); /* UCX rounds numbers when it connects */
	int result = cs_pmpi.Sendrecv(from, from_count, from_type, 0, tag, to, to_count, to_type, 0,
				      tag, cs_self, MPI_STATUS_IGNORE);
	cs_float_release(&floats);
	return !result;
}

static bool
convert_by_message(const struct cs_type *type, void *user, int count, void *packed, bool is_pack)
{
	MPI_Datatype bytes;
	int length;
	if (!byte_type((size_t)count * type->size, &bytes, &length))
		return false;
	bool is_done = is_pack ? send_to_self(user, count, type->handle, packed, length, bytes)
			       : send_to_self(packed, length, bytes, user, count, type->handle);
	if (bytes != MPI_BYTE)
		cs_pmpi.Type_free(&bytes);
	return is_done;
}

/* Packs or unpacks one batch; by a message to this process if MPI_Pack cannot. MPICH's MPI_Pack
 * refuses MPI_BOTTOM, a null pointer (4.0.2; MPI 4.0, 5.1.12 allows it), may pack too little of a
 * type whose elements have no gaps but do not begin at 0 (tests/mpi/many_types.c), and counts bytes
 * in int. */
static bool
convert_batch(const struct cs_type *type, void *user, int count, void *packed, bool is_pack)
{
	if (user && type->size <= PACK_MOST) {
		int bytes = count * (int)type->size, position = 0;
		if (is_pack ? cs_pmpi.Pack(user, count, type->handle, packed, bytes, &position,
					   cs_self)
			    : cs_pmpi.Unpack(packed, bytes, &position, user, count, type->handle,
					     cs_self))
			return false;
		if (position == bytes)
			return true;
	}
	return convert_by_message(type, user, count, packed, is_pack);
}

enum { PROBED = 3 }; /* numbers in the type of the trial */

/* Does the host rightly pack and unpack numbers that are one and a half of them apart, as in an
 * array of struct { float complex z; int i; }? */
static __attribute__((noinline)) bool
packs_odd_stride(MPI_Datatype number, size_t size)
{
	_Alignas(64) char spread[2 * PROBED * 16], packed[PROBED * 16], back[sizeof spread],
		right[sizeof spread];
	MPI_Datatype type = MPI_DATATYPE_NULL;
	MPI_Count size_there = 0;
	if (number == MPI_DATATYPE_NULL || cs_pmpi.Type_size_x(number, &size_there) ||
	    size_there != (MPI_Count)size)
		return true;
	size_t step = size + size / 2;
	int position = 0, bytes = PROBED * (int)size;
	for (size_t i = 0; i < sizeof spread; i++)
		spread[i] = (char)(0x21 + i % 29); /* valid numbers, none of which traps */
	memset(back, 0, sizeof back);
	memset(right, 0, sizeof right);
	bool is_made = cs_pmpi.Type_create_hvector &&
		       !cs_pmpi.Type_create_hvector(PROBED, 1, (MPI_Aint)step, number, &type) &&
		       !cs_pmpi.Type_commit(&type);
	bool is_right = is_made && !cs_pmpi.Pack(spread, 1, type, packed, bytes, &position,
						 cs_self) && position == bytes;
	for (size_t i = 0; i < PROBED; i++) {
		is_right = is_right && !memcmp(packed + i * size, spread + i * step, size);
		memcpy(right + i * step, spread + i * step, size);
		memcpy(packed + i * size, spread + i * step, size);
	}
	position = 0;
	is_right = is_right && !cs_pmpi.Unpack(packed, bytes, &position, back, 1, type, cs_self) &&
		   !memcmp(back, right, sizeof back);
	if (type != MPI_DATATYPE_NULL)
		cs_pmpi.Type_free(&type);
	return is_right;
}

/* Is the host's packing right? Open MPI 5.0.7 rounds the stride of complex numbers to whole numbers
 * of them. Tried when the first derived type is packed in the process. */
static bool
packs_rightly(void)
{
	static _Atomic int known; /* 1: it is; -1: it is not */
	int answer = atomic_load_explicit(&known, memory_order_relaxed);
	struct cs_float_state floats;
	if (__builtin_expect(answer != 0, 1))
		return answer > 0;
	cs_float_hold(&floats);
	answer = packs_odd_stride(MPI_C_FLOAT_COMPLEX, 8) &&
		 packs_odd_stride(MPI_C_DOUBLE_COMPLEX, 16) ? 1 : -1;
	cs_float_release(&floats);
	if (answer < 0 && cs_log_is_speaker())
		cs_info("types: this MPI packs types of odd strides wrongly; they are packed "
			"without it");
	atomic_store_explicit(&known, answer, memory_order_relaxed);
	return answer > 0;
}

static bool
convert(const struct cs_type *type, void *user, MPI_Count count, char *packed, bool is_pack)
{
	if (!type->size || !count)
		return true;
	/* Predefined types are packed rightly by every host. */
	if (!type->is_predefined && !packs_rightly() &&
	    cs_layout_copy(type->handle, user, count, packed, is_pack))
		return true;
	for (MPI_Count done = 0, most = batch(type); done < count; done += most) {
		int now = (int)(count - done < most ? count - done : most);
		/* The address is a number: MPI_BOTTOM is null. */
		void *at = (void *)((uintptr_t)user + (uintptr_t)(done * type->extent));
		if (!convert_batch(type, at, now, packed, is_pack))
			return false;
		packed += (size_t)now * type->size;
	}
	return true;
}

bool
cs_type_pack(const struct cs_type *type, const void *user, MPI_Count count, char *packed)
{
	if (!type->is_contiguous)
		return convert(type, (void *)user, count, packed, true);
	memcpy(packed, user, (size_t)count * type->size);
	return true;
}

bool
cs_type_unpack(const struct cs_type *type, void *user, MPI_Count count, const char *packed)
{
	if (!type->is_contiguous)
		return convert(type, user, count, (char *)packed, false);
	memcpy(user, packed, (size_t)count * type->size);
	return true;
}
