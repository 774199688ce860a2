/* COLLSHIM_REPRODUCIBLE=1: reductions have the bits of x0 op (x1 op (... op x(p-1))), and scans
 * those of ((x0 op x1) op x2) ..., on any placement, under any MPI, in the first call on a
 * communicator as in the later ones. Each rank makes all ranks' numbers and folds them itself.
 *
 *   ordered [CALLS]     calls on each communicator: from the MPI's to ours as shipped */
#include "check.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef CMPLX /* glibc 2.36 has it for gcc only */
#define CMPLX(x, y) ((double complex){ x, y })
#endif

#define ROOM 140000 /* elements of the longest vector, which goes in pieces */
#define LARGEST 32 /* bytes of an element */

struct gapped { /* 32 bytes apart, 12 of them used */
	double number;
	char gap[12];
	float part;
	char behind[8];
};

struct location {
	double value;
	int index;
};

enum kind { F32, F64, F80, C64, LOCATION, GAPPED };

static int size;
static MPI_Datatype gapped_type, pair_type;

static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
	x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
	return x ^ x >> 33;
}

/* Of many magnitudes, so that each order of a sum has bits of its own. */
static double
number(int rank, int i, int which)
{
	uint64_t bits = mix((uint64_t)rank * 1000003 + (uint64_t)i * 7 + (uint64_t)which);
	return ((double)(bits >> 11) * 0x1p-53 - 0.5) *
	       (bits % 3 == 0 ? 1e6 : bits % 3 == 1 ? 1.0 : 1e-6);
}

/* What does not compare, too. */
static double
special(int rank, int i)
{
	uint64_t bits = mix((uint64_t)rank * 77 + (uint64_t)i) % 12;
	return bits == 0 ? NAN : bits < 4 ? 0.0 : bits < 8 ? -0.0 : bits == 8
	       ? (double)INFINITY : number(rank, i, 0);
}

static size_t
unit_of(enum kind kind)
{
	static const size_t units[] = { sizeof(float), sizeof(double), sizeof(long double),
					sizeof(double complex), sizeof(struct location),
					sizeof(struct gapped) };
	return units[kind];
}

/* --- operations: out = a op b ----------------------------------------------------------------- */

struct operation {
	const char *name;
	enum kind kind;
	bool is_special;
	MPI_Op op;
	void (*apply)(void *out, const void *a, const void *b);
};

#define APPLY(name, type, expression)                                   \
	static void name(void *out, const void *left, const void *right) \
	{                                                               \
		type a, b, c;                                           \
		memcpy(&a, left, sizeof a);                             \
		memcpy(&b, right, sizeof b);                            \
		c = (expression);                                       \
		memcpy(out, &c, sizeof c);                              \
	}
/* IEEE 754-2019's maximum and minimum. */
#define MOST(a, b) \
	(isnan(a) || isnan(b) ? NAN : (a) > (b) || ((a) == (b) && !signbit(a)) ? (a) : (b))
#define LEAST(a, b) \
	(isnan(a) || isnan(b) ? NAN : (a) < (b) || ((a) == (b) && signbit(a)) ? (a) : (b))
APPLY(sum_f32, float, a + b)
APPLY(sum_f64, double, a + b)
APPLY(sum_c64, double complex, a + b)
APPLY(product_f32, float, a * b)
APPLY(product_f64, double, a * b)
APPLY(product_c64, double complex,
      CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b)))
APPLY(most_f64, double, MOST(a, b))
APPLY(least_f32, float, LEAST(a, b))
APPLY(mean, double, (a + b) * 0.5)
APPLY(lean, double, a + b * 0.5)

static void
sum_f80(void *out, const void *left, const void *right)
{
	long double a, b;
	memcpy(&a, left, 10);
	memcpy(&b, right, 10);
	a += b;
	memcpy(out, &a, 10);
}

static void
most_location(void *out, const void *left, const void *right)
{
	struct location a, b;
	memcpy(&a, left, sizeof a);
	memcpy(&b, right, sizeof b);
	bool is_left = a.value > b.value || (a.value == b.value && a.index < b.index);
	memcpy(out, is_left ? &a : &b, sizeof a);
}

static void
lean_gapped(void *out, const void *left, const void *right)
{
	struct gapped a, b, c;
	memcpy(&a, left, sizeof a);
	memcpy(&b, right, sizeof b);
	memset(&c, 0, sizeof c);
	c.number = a.number + b.number * 0.5;
	c.part = a.part * 0.5f + b.part;
	memcpy(out, &c, sizeof c);
}

#define USER(name, kind) \
	static void user_##name(void *in, void *inout, int *count, MPI_Datatype *type)             \
	{                                                                                          \
		for (int i = 0; i < *count; i++) {                                                 \
			size_t at = (size_t)i * unit_of(kind);                                     \
			name((char *)inout + at, (char *)in + at, (char *)inout + at);             \
		}                                                                                  \
	}
USER(mean, F64)
USER(lean, F64)
USER(lean_gapped, GAPPED)

static struct operation operations[] = {
	{ "sum of double", F64, false, MPI_SUM, sum_f64 },
	{ "sum of float", F32, false, MPI_SUM, sum_f32 },
	{ "sum of long double", F80, false, MPI_SUM, sum_f80 },
	{ "sum of double complex", C64, false, MPI_SUM, sum_c64 },
	{ "product of double", F64, false, MPI_PROD, product_f64 },
	{ "product of float", F32, false, MPI_PROD, product_f32 },
	{ "product of double complex", C64, false, MPI_PROD, product_c64 },
	{ "maximum of double", F64, true, MPI_MAX, most_f64 },
	{ "minimum of float", F32, true, MPI_MIN, least_f32 },
	{ "maximum and location", LOCATION, false, MPI_MAXLOC, most_location },
	{ "a commutative operation of the program's", F64, false, MPI_OP_NULL, mean },
	{ "one that is not", F64, false, MPI_OP_NULL, lean },
	{ "one of elements with gaps", GAPPED, false, MPI_OP_NULL, lean_gapped },
};

static MPI_Datatype
type_of(enum kind kind)
{
	return kind == F32 ? MPI_FLOAT : kind == F64 ? MPI_DOUBLE : kind == F80
	       ? MPI_LONG_DOUBLE : kind == C64 ?
	       MPI_C_DOUBLE_COMPLEX : kind == LOCATION ? pair_type : gapped_type;
}

static void
fill(const struct operation *operation, void *base, int rank, int count)
{
	memset(base, 0, (size_t)count * unit_of(operation->kind));
	for (int i = 0; i < count; i++) {
		char *at = (char *)base + (size_t)i * unit_of(operation->kind);
		double x = operation->is_special ? special(rank, i) : number(rank, i, 0);
		switch (operation->kind) {
		case F32: memcpy(at, &(float){ (float)x }, sizeof(float)); break;
		case F64: memcpy(at, &x, sizeof x); break;
		case F80: memcpy(at, &(long double){ (long double)x / 3 }, 10); break;
		case C64: memcpy(at, &(double complex){ CMPLX(x, number(rank, i, 1)) },
				 sizeof(double complex)); break;
		case LOCATION:
			*(struct location *)(void *)at =
				(struct location){ (double)(int)(x * 3), rank };
			break;
		case GAPPED:
			((struct gapped *)(void *)at)->number = x;
			((struct gapped *)(void *)at)->part = (float)number(rank, i, 2);
			break;
		}
	}
}

/* Of elements `first` to `first + count`; NaN is any. */
static bool
is_same(const struct operation *operation, const char *got, const char *wanted, int count)
{
	size_t unit = unit_of(operation->kind);
	for (int i = 0; i < count; i++, got += unit, wanted += unit) {
		size_t bytes = operation->kind == F80 ? 10 : operation->kind == LOCATION
			       ? 12 : unit;
		double a, b;
		float c, d;
		if (operation->kind == GAPPED) {
			if (memcmp(got, wanted, 8) || memcmp(got + 20, wanted + 20, 4))
				return false;
			continue;
		}
		memcpy(&a, got, sizeof(float));
		if (operation->is_special && operation->kind == F64) {
			memcpy(&a, got, sizeof a);
			memcpy(&b, wanted, sizeof b);
			if (isnan(a) && isnan(b))
				continue;
		} else if (operation->is_special) {
			memcpy(&c, got, sizeof c);
			memcpy(&d, wanted, sizeof d);
			if (isnan(c) && isnan(d))
				continue;
		}
		if (memcmp(got, wanted, bytes))
			return false;
	}
	return true;
}

/* --- calls ------------------------------------------------------------------------------------ */

struct buffers {
	char *in, *out, *wanted, *other, *scanned, *exscanned;
	int *counts;
};

static void
expect(const struct operation *operation, const struct buffers *buffers, int count)
{
	size_t unit = unit_of(operation->kind);
	fill(operation, buffers->wanted, size - 1, count);
	for (int rank = size - 2; rank >= 0; rank--) {
		fill(operation, buffers->other, rank, count);
		for (size_t at = 0; at < (size_t)count * unit; at += unit)
			operation->apply(buffers->wanted + at, buffers->other + at,
					 buffers->wanted + at);
	}
	fill(operation, buffers->scanned, 0, count);
	for (int rank = 1; rank <= check_rank; rank++) {
		memcpy(buffers->exscanned, buffers->scanned, (size_t)count * unit);
		fill(operation, buffers->other, rank, count);
		for (size_t at = 0; at < (size_t)count * unit; at += unit)
			operation->apply(buffers->scanned + at, buffers->scanned + at,
					 buffers->other + at);
	}
}

#define SAME(what, got, at, n) \
	SAME_AS(what, got, buffers->wanted + (size_t)(at) * unit_of(operation->kind), n)
#define SAME_AS(what, got, wanted, n) \
	CHECK(is_same(operation, got, wanted, n), \
	      "%s, %s, %d elements, call %d%s: other bits", what, operation->name, count, call, \
		      in_place ? " in place" : "")

static void
make_calls(MPI_Comm comm, const struct operation *operation, const struct buffers *buffers,
	   int count, int call)
{
	MPI_Datatype type = type_of(operation->kind);
	size_t bytes = (size_t)count * unit_of(operation->kind);
	int root = (call + count) % size, each = count / size, before = 0;
	bool in_place = call % 2;
	char *in = buffers->in, *out = buffers->out;
	fill(operation, in, check_rank, count);
	memcpy(out, in, bytes);
	MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, count, type, operation->op, comm);
	SAME("allreduce", out, 0, count);
	memcpy(out, in, bytes);
	MPI_Reduce(in_place && check_rank == root ? MPI_IN_PLACE : in, out, count, type,
		   operation->op, root, comm);
	if (check_rank == root)
		SAME("reduce", out, 0, count);
	memcpy(out, in, bytes);
	MPI_Scan(in_place ? MPI_IN_PLACE : in, out, count, type, operation->op, comm);
	SAME_AS("scan", out, buffers->scanned, count);
	memcpy(out, in, bytes);
	MPI_Exscan(in_place ? MPI_IN_PLACE : in, out, count, type, operation->op, comm);
	SAME_AS("exscan", out, check_rank ? buffers->exscanned : in, count);
	memcpy(out, in, bytes);
	MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : in, out, each, type, operation->op,
				 comm);
	SAME("reduce_scatter_block", out, check_rank * each, each);
	/* Uneven, one of them empty. */
	for (int rank = 0; rank < size; rank++)
		buffers->counts[rank] = rank == size / 2 ? 0 : rank == size - 1
					? count - each * (size - 2) : each;
	if (size == 2)
		buffers->counts[1] = 0, buffers->counts[0] = count;
	for (int rank = 0; rank < check_rank; rank++)
		before += buffers->counts[rank];
	memcpy(out, in, bytes);
	MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : in, out, buffers->counts, type, operation->op,
			   comm);
	SAME("reduce_scatter", out, before, buffers->counts[check_rank]);
}

static char *
allocate(void)
{
	char *memory = aligned_alloc(64, ROOM * LARGEST);
	if (!memory)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return memory;
}

static void
make_types(void)
{
	MPI_Datatype inner;
	MPI_Type_create_struct(2, (int[]){ 1, 1 }, (MPI_Aint[]){ 0, 20 },
			       (MPI_Datatype[]){ MPI_DOUBLE, MPI_FLOAT }, &inner);
	MPI_Type_create_resized(inner, 0, sizeof(struct gapped), &gapped_type);
	MPI_Type_free(&inner);
	MPI_Type_commit(&gapped_type);
	pair_type = MPI_DOUBLE_INT;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
		struct operation *operation = &operations[i];
		if (operation->apply == mean)
			MPI_Op_create(user_mean, 1, &operation->op);
		else if (operation->apply == lean)
			MPI_Op_create(user_lean, 0, &operation->op);
		else if (operation->apply == lean_gapped)
			MPI_Op_create(user_lean_gapped, 0, &operation->op);
	}
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	static const int counts[] = { 2, 60, 1000, 20000, ROOM };
	int calls = argc > 1 ? atoi(argv[1]) : 2;
	struct buffers buffers = { allocate(), allocate(), allocate(), allocate(), allocate(),
				   allocate(), malloc((size_t)size * sizeof(int)) };
	make_types();
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
		for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
			MPI_Comm copy;
			if (counts[k] == ROOM && operations[i].apply != sum_f64 &&
			    operations[i].apply != lean_gapped)
				continue;
			MPI_Comm_dup(MPI_COMM_WORLD, &copy);
			expect(&operations[i], &buffers, counts[k]);
			for (int call = 0; call < calls; call++) {
				/* The order of summation of an integer is nobody's business, and
				 * its choice not another type's. */
				int one = 1, all = 0;
				MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, copy);
				CHECK(all == size, "a sum of integers: %d", all);
				make_calls(copy, &operations[i], &buffers, counts[k], call);
			}
			MPI_Comm_free(&copy);
		}
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (operations[i].apply == mean || operations[i].apply == lean ||
		    operations[i].apply == lean_gapped)
			MPI_Op_free(&operations[i].op);
	MPI_Type_free(&gapped_type);
	free(buffers.in);
	free(buffers.out);
	free(buffers.wanted);
	free(buffers.other);
	free(buffers.scanned);
	free(buffers.exscanned);
	free(buffers.counts);
	return check_finish("ordered");
}
