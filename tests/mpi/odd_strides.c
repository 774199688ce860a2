/* Elements that lie apart by no whole number of elements (the complex numbers of an array of struct
 * { float complex z; int i; }), in all ways in which a type can be made: every call that the
 * library serves puts each byte where arithmetic says that it belongs, and none elsewhere. The
 * MPI's own calls are made, too: Open MPI 5.0.7 has some wrong. With "faulty" the test also wants
 * an MPI that packs such types wrongly, as tests/support/faulty_pack.c makes of one that does
 * not. */
#include "check.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 64
#define GUARD 64
#define GAP 0xee

/* A type of `places` pieces of data in the order of the type, and of the same data without gaps. */
struct odd {
	const char *name;
	MPI_Datatype type, plain;
	int places;
	long at[PLACES];
	int bytes[PLACES];
	long size, lowest, extent;
	int is_padded; /* the numbers are long double, of whose 16 bytes 6 say nothing: they need
			* not be copied */
};

static int rank, size, host_wrong, cases;

static void
place(struct odd *odd, long at, int bytes)
{
	odd->at[odd->places] = at;
	odd->bytes[odd->places++] = bytes;
}

static MPI_Datatype
resized(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent, int is_ours)
{
	MPI_Datatype made;
	MPI_Type_create_resized(type, lb, extent, &made);
	if (is_ours)
		MPI_Type_free(&type);
	return made;
}

/* Where the places of an array's part are: of `rows` by `columns`, from there on, in an array of
 * that many columns. */
static void
place_part(struct odd *odd, int rows, int columns, int row, int column, int all_columns,
	   MPI_Aint apart, int bytes)
{
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			place(odd, ((row + r) * all_columns + column + c) * apart, bytes);
}

enum { WAYS = 14 };

static void
make(struct odd *odd, int way, MPI_Datatype basic, int bytes, int align)
{
	MPI_Datatype wide = resized(basic, 0, bytes + align, 0), inner, two[2];
	MPI_Aint apart = bytes + align, at[4];
	int lengths[4], n[4], m[4], k[4], w[4];
	*odd = (struct odd){ .plain = MPI_DATATYPE_NULL,
			     .is_padded = basic == MPI_C_LONG_DOUBLE_COMPLEX };
	switch (way) {
	case 0:
	case 1:
	case 2: /* blocks of one, two and three */
		odd->name = "hvector";
		MPI_Type_create_hvector(4, way + 1, (way + 1) * bytes + align, basic, &odd->type);
		for (int i = 0; i < 4 * (way + 1); i++)
			place(odd, i / (way + 1) * ((way + 1) * bytes + align) + i % (way + 1) *
			      bytes, bytes);
		break;
	case 3:
		odd->name = "struct with an int behind";
		lengths[0] = lengths[1] = 1;
		at[0] = 0;
		at[1] = bytes;
		two[0] = basic;
		two[1] = MPI_INT;
		MPI_Type_create_struct(2, lengths, at, two, &inner);
		odd->type = resized(inner, 0, bytes + (align > 4 ? align : 4), 1);
		place(odd, 0, bytes);
		place(odd, bytes, 4);
		MPI_Type_create_struct(2, lengths, at, two, &inner);
		odd->plain = resized(inner, 0, bytes + 4, 1);
		break;
	case 4:
		odd->name = "vector of a wider one";
		MPI_Type_vector(3, 2, 3, wide, &odd->type);
		for (int i = 0; i < 6; i++)
			place(odd, (i / 2 * 3 + i % 2) * apart, bytes);
		break;
	case 5:
		odd->name = "hindexed, not in order";
		for (int i = 0; i < 4; i++) {
			static const int places[4] = { 7, 0, 3, 12 };
			lengths[i] = 1 + i % 2;
			at[i] = places[i] * apart - 2 * align;
			for (int j = 0; j < lengths[i]; j++)
				place(odd, at[i] + j * bytes, bytes);
		}
		MPI_Type_create_hindexed(4, lengths, at, basic, &odd->type);
		break;
	case 6:
		odd->name = "indexed";
		for (int i = 0; i < 3; i++) {
			lengths[i] = i + 1;
			n[i] = 8 - 4 * i;
			for (int j = 0; j < lengths[i]; j++)
				place(odd, (n[i] + j) * apart, bytes);
		}
		MPI_Type_indexed(3, lengths, n, wide, &odd->type);
		break;
	case 7:
		odd->name = "indexed_block";
		for (int i = 0; i < 6; i++) {
			n[i / 2] = 1 + 3 * (i / 2);
			place(odd, (n[i / 2] + i % 2) * apart, bytes);
		}
		MPI_Type_create_indexed_block(3, 2, n, wide, &odd->type);
		break;
	case 8:
		odd->name = "hindexed_block";
		for (int i = 0; i < 6; i++) {
			at[i / 2] = 5 * align + (i / 2) * (2 * bytes + align);
			place(odd, at[i / 2] + i % 2 * bytes, bytes);
		}
		MPI_Type_create_hindexed_block(3, 2, at, basic, &odd->type);
		break;
	case 9:
	case 10: /* 2 by 3 at 1, 2 of 4 by 6: the other order names dimensions the other way
		  * round */
		odd->name = way == 9 ? "subarray" : "subarray in Fortran's order";
		n[way - 9] = 4, n[10 - way] = 6;
		m[way - 9] = 2, m[10 - way] = 3;
		k[way - 9] = 1, k[10 - way] = 2;
		MPI_Type_create_subarray(2, n, m, k, way == 9 ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
					 wide, &odd->type);
		place_part(odd, 2, 3, 1, 2, 6, apart, bytes);
		break;
	case 11: /* rows in blocks of 3 for 2 processes, columns dealt by twos to 2: process 1 has
		  * rows 0 to 2 and 2 3, 6 */
		odd->name = "darray";
		n[0] = 4, n[1] = 7;
		m[0] = MPI_DISTRIBUTE_BLOCK, m[1] = MPI_DISTRIBUTE_CYCLIC;
		k[0] = 3, k[1] = 2;
		w[0] = w[1] = 2;
		MPI_Type_create_darray(4, 1, 2, n, m, k, w, MPI_ORDER_C, wide, &odd->type);
		for (int r = 0; r < 3; r++)
			for (int c = 0; c < 3; c++)
				place(odd, (r * 7 + (c < 2 ? 2 + c : 6)) * apart, bytes);
		break;
	case 12:
		odd->name = "copy of a row of hvectors";
		MPI_Type_create_hvector(2, 1, apart, basic, &inner);
		inner = resized(inner, -align, 3 * apart, 1);
		MPI_Type_contiguous(3, inner, &two[0]);
		MPI_Type_dup(two[0], &odd->type);
		MPI_Type_free(&inner);
		MPI_Type_free(&two[0]);
		for (int i = 0; i < 6; i++)
			place(odd, (i / 2 * 3 + i % 2) * apart, bytes);
		break;
	default:
		odd->name = "struct of different ones";
		MPI_Type_create_hvector(3, 1, apart, basic, &two[0]);
		two[1] = MPI_DATATYPE_NULL;
		lengths[0] = lengths[1] = 2;
		at[0] = 20 * apart;
		at[1] = align;
		two[1] = basic;
		MPI_Type_create_struct(2, lengths, at, two, &odd->type);
		MPI_Type_free(&two[0]);
		for (int i = 0; i < 6; i++) /* an hvector reaches from its first to its last byte */
			place(odd, at[0] + i / 3 * (2 * apart + bytes) + i % 3 * apart, bytes);
		place(odd, align, bytes);
		place(odd, align + bytes, bytes);
	}
	MPI_Type_free(&wide);
	MPI_Aint lb, extent;
	MPI_Type_get_extent(odd->type, &lb, &extent);
	if (way != 3 && way != 12) /* the next element may not begin in the midst of this one */
		odd->type = resized(odd->type, lb, extent + align, 1);
	MPI_Type_get_extent(odd->type, &lb, &extent);
	odd->extent = extent;
	for (int i = 0; i < odd->places; i++) {
		odd->size += odd->bytes[i];
		odd->lowest = odd->at[i] < odd->lowest ? odd->at[i] : odd->lowest;
	}
	if (odd->plain == MPI_DATATYPE_NULL)
		MPI_Type_contiguous(odd->places, basic, &odd->plain);
	MPI_Type_commit(&odd->type);
	MPI_Type_commit(&odd->plain);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static unsigned char
byte_of(int from, int to, long i)
{
	return (unsigned char)(1 + (from * 61 + to * 17 + i * 7 + i / 251) % 120);
}

/* Elements of an odd type or of its plain one: memory with a guard before and behind, and where its
 * address is in it. Of `skipped` bytes nothing is said. */
struct buffer {
	unsigned char *memory, *base, *skipped;
	size_t bytes;
};

static struct buffer
allocate(const struct odd *odd, int count)
{
	long highest = 0;
	for (int i = 0; i < odd->places; i++)
		highest = odd->at[i] + odd->bytes[i] > highest ? odd->at[i] + odd->bytes[i]
							       : highest;
	size_t before = GUARD + ((size_t)-odd->lowest + 63) / 64 * 64;
	struct buffer buffer = { .bytes = before + (size_t)(count * odd->extent + highest) +
				 GUARD };
	buffer.bytes = (buffer.bytes + 63) / 64 * 64;
	buffer.memory = aligned_alloc(64, buffer.bytes);
	buffer.base = buffer.memory + before;
	buffer.skipped = calloc(buffer.bytes, 1);
	memset(buffer.memory, GAP, buffer.bytes);
	return buffer;
}

static void
release(struct buffer buffer)
{
	free(buffer.memory);
	free(buffer.skipped);
}

/* Puts byte number i of the data where element `first` and those behind it have it. */
static void
put(const struct odd *odd, int is_plain, struct buffer *to, int first, int count, int from,
    int whom)
{
	long i = 0;
	for (int e = first; e < first + count; e++)
		for (int p = 0; p < odd->places; p++)
			for (int b = 0; b < odd->bytes[p]; b++, i++) {
				long at = is_plain ? first * odd->size + i : e * odd->extent +
					  odd->at[p] + b;
				to->base[at] = byte_of(from, whom, i);
				to->skipped[to->base - to->memory + at] = odd->is_padded &&
									  odd->bytes[p] == 32 &&
									  b % 16 >= 10;
			}
}

static int
differ(const struct buffer *got, const struct buffer *right)
{
	for (size_t i = 0; i < right->bytes; i++)
		if (got->memory[i] != right->memory[i] && !right->skipped[i])
			return 1;
	return 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

enum { BCAST, ALLGATHER, GATHER, SCATTER, ALLTOALL, ALLTOALLW, CALLS };
static const char *const call_names[CALLS] = { "bcast", "allgather", "gather", "scatter",
					       "alltoall", "alltoallw" };

#define EITHER(name, ...) (is_ours ? MPI_##name(__VA_ARGS__) : PMPI_##name(__VA_ARGS__))

static void
call(int which, int is_ours, void *send, MPI_Datatype send_type, void *recv, MPI_Datatype recv_type,
     int count)
{
	int counts[PLACES], send_at[PLACES], recv_at[PLACES], root = size - 1;
	MPI_Datatype send_types[PLACES], recv_types[PLACES];
	MPI_Aint lb, send_extent, recv_extent;
	switch (which) {
	case BCAST:
		if (rank == root)
			EITHER(Bcast, send, count, send_type, root, MPI_COMM_WORLD);
		else
			EITHER(Bcast, recv, count, recv_type, root, MPI_COMM_WORLD);
		break;
	case ALLGATHER:
		EITHER(Allgather, send, count, send_type, recv, count, recv_type, MPI_COMM_WORLD);
		break;
	case GATHER:
		EITHER(Gather, send, count, send_type, recv, count, recv_type, root,
		       MPI_COMM_WORLD);
		break;
	case SCATTER:
		EITHER(Scatter, send, count, send_type, recv, count, recv_type, root,
		       MPI_COMM_WORLD);
		break;
	case ALLTOALL:
		EITHER(Alltoall, send, count, send_type, recv, count, recv_type, MPI_COMM_WORLD);
		break;
	default:
		MPI_Type_get_extent(send_type, &lb, &send_extent);
		MPI_Type_get_extent(recv_type, &lb, &recv_extent);
		for (int r = 0; r < size; r++) {
			counts[r] = count;
			send_at[r] = r * count * (int)send_extent;
			recv_at[r] = r * count * (int)recv_extent;
			send_types[r] = send_type;
			recv_types[r] = recv_type;
		}
		EITHER(Alltoallw, send, counts, send_at, send_types, recv, counts, recv_at,
		       recv_types, MPI_COMM_WORLD);
	}
}

/* Blocks on this side of this rank. */
static int
blocks(int which, int is_send)
{
	int is_root = rank == size - 1;
	switch (which) {
	case BCAST: return is_send == is_root;
	case ALLGATHER: return is_send ? 1 : size;
	case GATHER: return is_send ? 1 : is_root ? size : 0;
	case SCATTER: return is_send ? (is_root ? size : 0) : 1;
	default: return size;
	}
}

/* For whom is block b of what this rank sends? Where all get the same, for nobody in particular. */
static int
whom(int which, int is_send, int b)
{
	int is_by_pair = which == SCATTER || which == ALLTOALL || which == ALLTOALLW;
	return !is_by_pair ? 0 : is_send ? b : rank;
}

static int
from(int which, int is_send, int b)
{
	return is_send ? rank : which == BCAST || which == SCATTER ? size - 1 : b;
}

static void
try(const struct odd *odd, const char *basic, int which, int is_send_plain, int is_recv_plain,
    int count)
{
	int are_blocks[2] = { blocks(which, 0), blocks(which, 1) };
	struct buffer send = allocate(odd, count * size), recv[2],
		      right = allocate(odd, count * size);
	for (int b = 0; b < are_blocks[1]; b++)
		put(odd, is_send_plain, &send, b * count, count, from(which, 1, b),
		    whom(which, 1, b));
	for (int b = 0; b < are_blocks[0]; b++)
		put(odd, is_recv_plain, &right, b * count, count, from(which, 0, b),
		    whom(which, 0, b));
	for (int is_ours = 0; is_ours < 2; is_ours++) {
		recv[is_ours] = allocate(odd, count * size);
		call(which, is_ours, send.base, is_send_plain ? odd->plain : odd->type,
		     recv[is_ours].base, is_recv_plain ? odd->plain : odd->type, count);
	}
	int is_host_wrong = differ(&recv[0], &right), is_wrong = differ(&recv[1], &right);
	CHECK(!is_wrong, "%s of %d %s of %s, %s to %s, is wrong%s", call_names[which], count,
	      odd->name, basic, is_send_plain ? "plain" : "odd", is_recv_plain ? "plain" : "odd",
	      is_host_wrong ? ", and the MPI's, too" : "");
	host_wrong += is_host_wrong;
	cases++;
	release(send);
	release(right);
	release(recv[0]);
	release(recv[1]);
}

static int (*host_pack)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
static int (*host_unpack)(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);

/* Does the MPI pack and unpack this as it should? */
static int
packs_rightly(const struct odd *odd)
{
	struct buffer in = allocate(odd, 2), out = allocate(odd, 2), plain = allocate(odd, 2),
		      right = allocate(odd, 2);
	int position = 0;
	put(odd, 0, &in, 0, 2, 1, 1);
	put(odd, 1, &right, 0, 2, 1, 1);
	host_pack(in.base, 2, odd->type, plain.base, (int)(2 * odd->size), &position,
		  MPI_COMM_SELF);
	int is_right = !differ(&plain, &right);
	position = 0;
	host_unpack(right.base, (int)(2 * odd->size), &position, out.base, 2, odd->type,
		    MPI_COMM_SELF);
	is_right = is_right && !differ(&out, &in);
	release(in);
	release(out);
	release(plain);
	release(right);
	return is_right;
}

int
main(int argc, char **argv)
{
	const struct {
		const char *name;
		MPI_Datatype type;
		int bytes, align;
	} basics[] = {
		{ "MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, 8, 4 },
		{ "MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 16, 8 },
		{ "MPI_C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, 32, 16 },
		{ "MPI_DOUBLE", MPI_DOUBLE, 8, 8 },
		{ "MPI_INT", MPI_INT, 4, 4 },
	};
	int mispacked = 0;
	struct odd odd;
	check_begin(&argc, &argv, &rank, &size);
	host_pack = (int (*)(const void *, int, MPI_Datatype, void *, int, int *,
			     MPI_Comm))dlsym(RTLD_DEFAULT, "PMPI_Pack");
	host_unpack = (int (*)(const void *, int, int *, void *, int, MPI_Datatype,
			       MPI_Comm))dlsym(RTLD_DEFAULT, "PMPI_Unpack");
	for (size_t i = 0; i < sizeof basics / sizeof *basics; i++)
		for (int way = 0; way < WAYS; way++) {
			make(&odd, way, basics[i].type, basics[i].bytes, basics[i].align);
			mispacked += !packs_rightly(&odd);
			for (int which = 0; which < CALLS; which++)
				for (int sides = 0; sides < 3; sides++)
					for (int count = 1; count < 4; count += 2)
						try(&odd, basics[i].name, which, sides == 1,
						    sides == 2, count);
			MPI_Type_free(&odd.type);
			MPI_Type_free(&odd.plain);
		}
	if (argc > 1 && !strcmp(argv[1], "faulty"))
		CHECK(mispacked > 0, "this MPI packs all types rightly");
	if (rank == 0)
		printf("odd_strides: %d cases; the MPI packs %d types wrongly and has %d cases "
		       "wrong at rank 0\n", cases, mispacked, host_wrong);
	return check_finish("odd_strides");
}
