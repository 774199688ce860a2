/* Was it the same? And a full description of the call if not. */
#include "diff.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is said about a call is written at once, so that the words of several ranks do not mix. */
static FILE *out;
static char *out_text;
static size_t out_size;

static void
out_begin(void)
{
	out = open_memstream(&out_text, &out_size);
	if (!out)
		out = stderr;
}

static void
out_end(void)
{
	if (out == stderr)
		return;
	fclose(out);
	fwrite(out_text, 1, out_size, stderr);
	free(out_text);
}

static void
describe_list(const char *name, const int *list, int n)
{
	fprintf(out, " %s=", name);
	for (int i = 0; i < n && i < 16; i++)
		fprintf(out, "%c%d", i ? ',' : '{', list[i]);
	fprintf(out, "%s}", n > 16 ? ",..." : "");
}

static void
describe_side(const char *name, const struct side *side)
{
	fprintf(out, "    %s:", name);
	if (side->is_in_place) {
		fprintf(out, " MPI_IN_PLACE\n");
		return;
	}
	if (!side->is_used) {
		fprintf(out, " not significant here\n");
		return;
	}
	fprintf(out, "%s blocks=%d", side->is_bottom ? " MPI_BOTTOM" : "", side->blocks);
	describe_list("counts", side->counts, side->reduce_count ? 1 : side->blocks);
	describe_list("displs", side->displs, side->blocks);
	for (int i = 0; i < side->layout_count && i < 8; i++)
		fprintf(out, "\n      type[%d] %s extent=%ld true=[%ld,%ld)", i,
			side->layouts[i].text, (long)side->layouts[i].extent,
			(long)side->layouts[i].true_lb,
			(long)(side->layouts[i].true_lb + side->layouts[i].true_extent));
	fprintf(out, "\n");
}

static void
describe(const struct call *call)
{
	fprintf(out, "  MPI_%s%s on %s, rank %d of %d", coll_names[call->coll],
		call->is_large_form ? "_c" : "", call->comm->text, call->comm->rank,
		call->comm->size);
	if (call->comm->remote)
		fprintf(out, " (remote %d)", call->comm->remote);
	fprintf(out, " root=%d %s signature=%s\n", call->root,
		call->has_reduction ? call->reduction.text : "",
		call->has_reduction ? "-" : call->unit.text);
	describe_side("send", &call->send);
	describe_side("recv", &call->recv);
}

void
call_describe(const struct call *call)
{
	out_begin();
	describe(call);
	out_end();
}

static bool __attribute__((format(printf, 3, 4)))
complain(const struct call *call, const char *prefix, const char *format, ...)
{
	va_list arguments;
	out_begin();
	va_start(arguments, format);
	fprintf(out, "%s MPI_%s: ", prefix, coll_names[call->coll]);
	vfprintf(out, format, arguments);
	fprintf(out, "\n");
	va_end(arguments);
	describe(call);
	out_end();
	return false;
}

static size_t
first_difference(const unsigned char *a, const unsigned char *b, size_t from, size_t to)
{
	if (to <= from || memcmp(a + from, b + from, to - from) == 0)
		return SIZE_MAX;
	while (a[from] == b[from])
		from++;
	return from;
}

/* The bytes of a reduction's result that hold numbers or pairs; compared one by one, not as
 * bytes. */
static void
value_range(const struct call *call, size_t *from, size_t *to)
{
	*from = *to = 0;
	if (!call->has_reduction || call->reduction.comparison == CMP_BYTES)
		return;
	/* What nobody writes may be anything. */
	if (call->coll == EXSCAN && call->comm->rank == 0)
		return;
	*from = call->recv.zero;
	long own = call->coll == REDUCE_SCATTER ? call->recv.counts[call->comm->rank]
						: call->recv.count;
	*to = *from + (size_t)own * (size_t)call->reduction.layout.extent;
}

static bool
compare_send(const struct call *call, const char *prefix)
{
	const struct side *side = &call->send;
	if (!side->is_used)
		return true;
	size_t at = first_difference(side->alloc[FIRST], side->alloc[OURS], 0, side->bytes);
	if (at == SIZE_MAX)
		return true;
	return complain(call, prefix, "the send buffer was changed at byte %ld (of the buffer's "
				      "address): %02x became %02x",
			(long)at - (long)side->zero, side->alloc[FIRST][at], side->alloc[OURS][at]);
}

static bool
compare_bytes(const struct call *call, const char *prefix, size_t from, size_t to)
{
	const struct side *side = &call->recv;
	size_t at = first_difference(side->alloc[HOST], side->alloc[OURS], from, to);
	if (at == SIZE_MAX)
		return true;
	/* In place the input reaches beyond the result, and the standard says nothing about what is
	 * left there. */
	size_t element = call->has_reduction ? (size_t)call->reduction.layout.extent : 1;
	if (call->send.is_in_place && call->coll == REDUCE_SCATTER)
		element *= (size_t)call->recv.counts[call->comm->rank];
	else
		element *= (size_t)(call->recv.count > 0 ? call->recv.count : 0);
	size_t end = side->zero + (size_t)side->reduce_count * (size_t)(call->has_reduction ?
		call->reduction.layout.extent : 0);
	if (call->send.is_in_place && call->has_reduction && at >= side->zero + element &&
	    at < end && first_difference(side->alloc[FIRST], side->alloc[OURS], at, end) ==
	    SIZE_MAX)
		return compare_bytes(call, prefix, end, to);
	return complain(call, prefix,
			"byte %ld (of the buffer's address; buffer from %ld to %ld): host %02x, "
			"ours %02x, before %02x", (long)at - (long)side->zero, -(long)side->zero,
			(long)(side->bytes - side->zero), side->alloc[HOST][at],
			side->alloc[OURS][at], side->alloc[FIRST][at]);
}

/* A long double is a number of 10 bytes in 16. A memcpy moves 16, MPICH's pack 10 (and leaves
 * anything in the other 6): both are right. With these types everything lies at multiples of 16,
 * see side_allocate. */
#define LONG_DOUBLE_ALIGN 16
#define LONG_DOUBLE_BYTES 10

static void
blank_padding(const struct call *call)
{
	const struct side *side = &call->recv;
	for (size_t i = 0; i < side->bytes; i++)
		if (i % LONG_DOUBLE_ALIGN >= LONG_DOUBLE_BYTES)
			side->alloc[HOST][i] = side->alloc[OURS][i] = side->alloc[FIRST][i] = 0;
}

bool
call_compare(struct call *call, const char *prefix)
{
	int classes[2];
	for (int set = HOST; set <= OURS; set++) {
		classes[set] = call->error[set];
		if (call->error[set] != MPI_SUCCESS)
			PMPI_Error_class(call->error[set], &classes[set]);
	}
	if (classes[HOST] != classes[OURS])
		return complain(call, prefix, "error class: host %d, ours %d", classes[HOST],
				classes[OURS]);
	if (classes[HOST] != MPI_SUCCESS)
		return complain(call, prefix, "the host refuses a call of this test: error class "
					      "%d", classes[HOST]);
	if (user_op_complaint) {
		const char *complaint = user_op_complaint;
		user_op_complaint = NULL;
		return complain(call, prefix, "%s", complaint);
	}
	if (!compare_send(call, prefix))
		return false;
	if (!call->recv.is_used)
		return true;
	if (!call->has_reduction && call->unit.align >= LONG_DOUBLE_ALIGN)
		blank_padding(call);
	size_t from, to;
	value_range(call, &from, &to);
	if (!compare_bytes(call, prefix, 0, from) ||
	    !compare_bytes(call, prefix, to, call->recv.bytes))
		return false;
	long count = to > from ? (long)(to - from) / (long)call->reduction.layout.extent : 0;
	long at = reduction_differ(&call->reduction, call->recv.alloc[HOST] + from,
				   call->recv.alloc[OURS] + from, count, call->seed,
				   call->comm->remote ? call->comm->remote : call->comm->size,
				   call->reduce_first);
	if (at < 0)
		return true;
	char bytes[2][3 * 48] = {"", ""};
	size_t extent = (size_t)call->reduction.layout.extent;
	for (int set = HOST; set <= OURS; set++)
		for (size_t i = 0; i < extent && i < 47; i++)
			sprintf(bytes[set] + 3 * i, "%02x ",
				call->recv.alloc[set][from + (size_t)at * extent + i]);
	return complain(call, prefix, "element %ld of the result differs: host %s, ours %s", at,
			bytes[HOST], bytes[OURS]);
}

static size_t
significant(const struct call *call)
{
	size_t size = call->reduction.basic->size;
	return size == LONG_DOUBLE_ALIGN ? LONG_DOUBLE_BYTES : size;
}

/* Blocking calls and others may be served by different algorithms, or by the MPI. */
static void
make_again(struct call *call)
{
	if (call->is_persistent) {
		call_make_request(call, FIRST);
		MPI_Start(&call->request);
	} else if (call->is_begun) {
		call_begin(call, FIRST);
	} else {
		call_invoke(call, FIRST);
		return;
	}
	MPI_Wait(&call->request, MPI_STATUS_IGNORE);
	if (call->is_persistent)
		call_free_request(call);
}

bool
call_repeat(struct call *call, const char *prefix)
{
	struct side *recv = &call->recv;
	make_again(call);
	uint64_t hash = 0;
	size_t from, to, size = significant(call);
	value_range(call, &from, &to);
	bool is_same = true;
	for (size_t at = from; recv->is_used && at < to;
	     at += (size_t)call->reduction.layout.extent) {
		uint64_t words[2] = {0};
		memcpy(words, recv->alloc[OURS] + at, size);
		hash = rng_mix(rng_mix(hash + words[0]) + words[1]);
		if (is_same && memcmp(recv->alloc[OURS] + at, recv->alloc[FIRST] + at, size) != 0)
			is_same = complain(call, prefix, "the same call again gave another result "
							 "at byte %ld",
					   (long)(at - recv->zero));
	}
	if (call->coll != ALLREDUCE || call->comm->remote)
		return is_same;
	uint64_t ends[2] = {hash, ~hash}, least[2];
	PMPI_Allreduce(ends, least, 2, MPI_UINT64_T, MPI_MIN, call->comm->comm);
	if (least[0] != ~least[1])
		return complain(call, prefix, "the result is not the same on all ranks (hash "
					      "%016llx here)",
				(unsigned long long)hash);
	return is_same;
}

bool
call_selfcheck(struct call *call, const char *prefix)
{
	const struct side *side = &call->recv;
	/* of a long double's 16 bytes an unpack may write 10 */
	if (!side->is_used || call->has_reduction || call->unit.align >= LONG_DOUBLE_ALIGN)
		return true;
	unsigned char *marks = calloc(side->bytes, 1);
	size_t wanted = 0, covered = 0;
	for (int b = 0; b < side->blocks; b++) {
		MPI_Datatype type = side->layouts[side->layout_count == 1 ? 0 : b].type;
		MPI_Aint extent = side->layout_count == 1 ? side->layouts[0].extent : 1;
		/* with MPI_BOTTOM alltoallw's displacements went into the types */
		if (side->is_bottom && side->bottom_lists[HOST]) {
			free(marks);
			return true;
		}
		int size, position = 0, packed;
		PMPI_Type_size(type, &size);
		PMPI_Pack_size(side->counts[b], type, MPI_COMM_SELF, &packed);
		packed += size * side->counts[b];
		unsigned char *ones = malloc((size_t)packed + 1);
		memset(ones, 0xff, (size_t)packed + 1);
		PMPI_Unpack(ones, packed, &position, marks + side->zero + side->displs[b] * extent,
			    side->counts[b], type, MPI_COMM_SELF);
		free(ones);
		wanted += (size_t)size * (size_t)side->counts[b];
	}
	bool is_good = true;
	for (size_t i = 0; i < side->bytes; i++) {
		covered += marks[i] != 0;
		if (is_good && !marks[i] && side->alloc[HOST][i] != side->alloc[FIRST][i])
			is_good = complain(call, prefix, "the host wrote into a gap at byte %ld",
					   (long)i - (long)side->zero);
	}
	free(marks);
	if (is_good && covered != wanted)
		return complain(call, prefix, "the test's blocks overlap: %zu bytes where %zu were "
					      "meant", covered,
				wanted);
	return is_good;
}
