/* Reductions: predefined and user operations, the values they are given, and how results are
 * compared.
 *
 * Values are chosen so that the result does not depend on the order of summation (small whole
 * numbers also in floating types), except in the class CMP_NEAR, which has arbitrary numbers and is
 * compared within an error bound. Sums of 8 and 16 bits stay in range: Open MPI's vector code
 * saturates where its scalar code wraps. */
#include "diff.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum values { V_BITS, V_SUM, V_PROD, V_TRUTH, V_PAIR, V_NEAR_SUM, V_NEAR_PROD, V_USER };

static const struct op_row {
	const char *name;
	enum values values;
	unsigned kinds; /* MPI 4.0, 6.9.2: which types it is allowed on */
	MPI_Op op;
} op_rows[] = {
#define WHOLE (1u << K_INT | 1u << K_UINT | 1u << K_FORTRAN_INT | 1u << K_MULTI)
#define ARITHMETIC (WHOLE | 1u << K_FLOAT)
#define TRUTH (1u << K_INT | 1u << K_UINT | 1u << K_BOOL | 1u << K_LOGICAL)
	{"MPI_MAX", V_BITS, ARITHMETIC, MPI_MAX},
	{"MPI_MIN", V_BITS, ARITHMETIC, MPI_MIN},
	{"MPI_SUM", V_SUM, ARITHMETIC | 1u << K_COMPLEX, MPI_SUM},
	{"MPI_PROD", V_PROD, ARITHMETIC | 1u << K_COMPLEX, MPI_PROD},
	{"MPI_LAND", V_TRUTH, TRUTH, MPI_LAND},
	{"MPI_LOR", V_TRUTH, TRUTH, MPI_LOR},
	{"MPI_LXOR", V_TRUTH, TRUTH, MPI_LXOR},
	{"MPI_BAND", V_BITS, WHOLE | 1u << K_BYTE, MPI_BAND},
	{"MPI_BOR", V_BITS, WHOLE | 1u << K_BYTE, MPI_BOR},
	{"MPI_BXOR", V_BITS, WHOLE | 1u << K_BYTE, MPI_BXOR},
	{"MPI_MAXLOC", V_PAIR, 1u << K_PAIR, MPI_MAXLOC},
	{"MPI_MINLOC", V_PAIR, 1u << K_PAIR, MPI_MINLOC},
};
#define OP_ROWS ((int)(sizeof op_rows / sizeof op_rows[0]))

/* ---- user operations: inout = in op inout, `in` from the lower ranks ---- */

const char *user_op_complaint;

static void
check(MPI_Datatype *type, MPI_Aint expected)
{
	MPI_Aint lb, extent;
	if (*type == MPI_DATATYPE_NULL ||
	    PMPI_Type_get_extent(*type, &lb, &extent) != MPI_SUCCESS || extent != expected)
		user_op_complaint = "a user function was given a datatype that is not the call's";
}

struct matrix {
	uint64_t m[4];
};

static void
matrix_product(void *in, void *inout, int *count, MPI_Datatype *type)
{
	struct matrix *a = in, *b = inout;
	check(type, sizeof *a);
	for (int i = 0; i < *count; i++) {
		struct matrix p = {{a[i].m[0] * b[i].m[0] + a[i].m[1] * b[i].m[2],
				    a[i].m[0] * b[i].m[1] + a[i].m[1] * b[i].m[3],
				    a[i].m[2] * b[i].m[0] + a[i].m[3] * b[i].m[2],
				    a[i].m[2] * b[i].m[1] + a[i].m[3] * b[i].m[3]}};
		b[i] = p;
	}
}

struct affine {
	uint32_t a, b;
};

static void
affine_compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
	struct affine *f = in, *g = inout;
	check(type, sizeof *f);
	for (int i = 0; i < *count; i++)
		g[i] = (struct affine){f[i].a * g[i].a, f[i].a * g[i].b + f[i].b};
}

/* 40 bytes apart: | gap 8 | b: 8 | gap 4 | a: 4 | gap 16 |, not a byte of the gaps may be used. */
#define GAPPED_EXTENT 40
static void
gapped_compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
	check(type, GAPPED_EXTENT);
	for (long i = 0; i < *count; i++) {
		uint64_t fb, gb;
		uint32_t fa, ga;
		char *f = (char *)in + i * GAPPED_EXTENT, *g = (char *)inout + i * GAPPED_EXTENT;
		memcpy(&fb, f + 8, 8);
		memcpy(&gb, g + 8, 8);
		memcpy(&fa, f + 20, 4);
		memcpy(&ga, g + 20, 4);
		gb = fa * gb + fb;
		ga = fa * ga;
		/* a is 32 bits wide and b 64: compose modulo 2^32 so that it stays associative */
		gb &= UINT32_MAX;
		memcpy(g + 8, &gb, 8);
		memcpy(g + 20, &ga, 4);
	}
}

static void
gapped_xor(void *in, void *inout, int *count, MPI_Datatype *type)
{
	check(type, GAPPED_EXTENT);
	for (long i = 0; i < *count; i++) {
		unsigned char *f = (unsigned char *)in + i * GAPPED_EXTENT;
		unsigned char *g = (unsigned char *)inout + i * GAPPED_EXTENT;
		for (int k = 8; k < 16; k++)
			g[k] ^= f[k];
		for (int k = 20; k < 24; k++)
			g[k] ^= f[k];
	}
}

#define FIRST_BYTES 13
static void
take_first(void *in, void *inout, int *count, MPI_Datatype *type)
{
	check(type, FIRST_BYTES);
	memcpy(inout, in, (size_t)*count * FIRST_BYTES);
}

static void
take_last(void *in, void *inout, int *count, MPI_Datatype *type)
{
	check(type, FIRST_BYTES);
}

static void
int_max_abs(void *in, void *inout, int *count, MPI_Datatype *type)
{
	int *a = in, *b = inout;
	check(type, sizeof *a);
	for (int i = 0; i < *count; i++)
		b[i] = a[i] / 2 > b[i] / 2 ? a[i] / 2 * 2 : b[i] / 2 * 2;
}

enum user_type { U_MATRIX, U_AFFINE, U_GAPPED, U_GAPPED_LOW, U_BYTES, U_INT };

static const struct user_row {
	const char *name;
	MPI_User_function *function;
	enum user_type type;
	bool is_commutative;
} user_rows[] = {
	{"matrix_product", matrix_product, U_MATRIX, false},
	{"affine_compose", affine_compose, U_AFFINE, false},
	{"gapped_compose", gapped_compose, U_GAPPED, false},
	{"gapped_compose/lb<0", gapped_compose, U_GAPPED_LOW, false},
	{"gapped_xor", gapped_xor, U_GAPPED, true},
	{"gapped_xor/lb<0", gapped_xor, U_GAPPED_LOW, true},
	{"take_first", take_first, U_BYTES, false},
	{"take_last", take_last, U_BYTES, false},
	{"int_max_even", int_max_abs, U_INT, true},
};
#define USER_ROWS ((int)(sizeof user_rows / sizeof user_rows[0]))

static void
user_type(struct layout *layout, enum user_type which)
{
	*layout = (struct layout){.is_owned = true, .units = 1};
	MPI_Datatype inner;
	switch (which) {
	case U_MATRIX:
		PMPI_Type_contiguous(4, MPI_UINT64_T, &layout->type);
		break;
	case U_AFFINE:
		PMPI_Type_contiguous(2, MPI_UINT32_T, &layout->type);
		break;
	case U_GAPPED:
	case U_GAPPED_LOW:
		PMPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){20, 8},
					(MPI_Datatype[]){MPI_UINT32_T, MPI_UINT64_T}, &inner);
		PMPI_Type_create_resized(inner, which == U_GAPPED ? 0 : -8, GAPPED_EXTENT,
					 &layout->type);
		PMPI_Type_free(&inner);
		break;
	case U_BYTES:
		PMPI_Type_contiguous(FIRST_BYTES, MPI_BYTE, &layout->type);
		break;
	case U_INT:
		*layout = (struct layout){.type = MPI_INT, .units = 1};
		break;
	}
	if (layout->is_owned)
		PMPI_Type_commit(&layout->type);
	layout_describe(layout);
}

/* Both hosts take too few bytes for buffers of their own in some algorithms where the extent is
 * larger than what the type covers, and write behind them (found with ASan and by the heap's own
 * checks): MPICH 4.0.2 in reduce_scatter(_block) for non-commutative operations, Open MPI 4.1.4 in
 * the ring allreduce of large commutative ones. */
static bool
host_overruns(const struct user_row *row, enum coll coll)
{
	if (row->type != U_GAPPED && row->type != U_GAPPED_LOW)
		return false;
#ifdef MPICH_VERSION
	return (coll == REDUCE_SCATTER || coll == REDUCE_SCATTER_BLOCK) && !row->is_commutative;
#else
	return coll == ALLREDUCE && row->is_commutative;
#endif
}

void
reduction_make(struct reduction *reduction, enum coll coll, struct rng *rng)
{
	*reduction = (struct reduction){.user = -1};
	if (rng_chance(rng, 35)) {
		do
			reduction->user = rng_below(rng, USER_ROWS);
		while (host_overruns(&user_rows[reduction->user], coll));
		const struct user_row *row = &user_rows[reduction->user];
		user_type(&reduction->layout, row->type);
		PMPI_Op_create(row->function, row->is_commutative, &reduction->op);
		reduction->is_op_owned = true;
		reduction->values = V_USER;
		snprintf(reduction->text, sizeof reduction->text, "op=%s(%s)", row->name,
			 row->is_commutative ? "commutative" : "not commutative");
		return;
	}
	const struct op_row *row = &op_rows[rng_below(rng, OP_ROWS)];
	do
		reduction->basic = &basics[rng_below(rng, basic_count)];
	while (!(row->kinds >> reduction->basic->kind & 1));
	const struct basic *basic = reduction->basic;
	reduction->op = row->op;
	reduction->layout = (struct layout){.type = basic->type, .units = 1};
	layout_describe(&reduction->layout);
	reduction->values = (int)row->values;
	reduction->comparison = basic->kind == K_PAIR ? CMP_PAIRS
		: basic->kind == K_FLOAT || basic->kind == K_COMPLEX ? CMP_VALUES : CMP_BYTES;
	if (basic->kind == K_FLOAT && (row->values == V_SUM || row->values == V_PROD) &&
	    rng_chance(rng, 40)) {
		reduction->comparison = CMP_NEAR;
		reduction->is_product = row->values == V_PROD;
		reduction->values = row->values == V_SUM ? V_NEAR_SUM : V_NEAR_PROD;
	}
	snprintf(reduction->text, sizeof reduction->text, "op=%s type=%s%s", row->name, basic->name,
		 reduction->comparison == CMP_NEAR ? " arbitrary values" : "");
}

void
reduction_free(struct reduction *reduction)
{
	layout_free(&reduction->layout);
	if (reduction->is_op_owned)
		PMPI_Op_free(&reduction->op);
}

/* ---- values ---- */

static void
put(void *to, enum kind kind, size_t size, long double value)
{
	if (kind == K_FLOAT) {
		float f = (float)value;
		double d = (double)value;
		memset(to, 0, size);
		if (size == sizeof f)
			memcpy(to, &f, sizeof f);
		else if (size == sizeof d)
			memcpy(to, &d, sizeof d);
		else
			memcpy(to, &value, 10); /* the other 6 are padding on x86 */
	} else {
		int64_t whole = (int64_t)value;
		memcpy(to, &whole, size);
	}
}

static long double
get_float(const void *from, size_t size)
{
	float f;
	double d;
	long double l;
	if (size == sizeof f) {
		memcpy(&f, from, sizeof f);
		return f;
	}
	if (size == sizeof d) {
		memcpy(&d, from, sizeof d);
		return d;
	}
	memcpy(&l, from, sizeof l);
	return l;
}

/* One arbitrary number; for products near 1 so that nothing overflows. */
static long double
near_value(uint64_t seed, int rank, long i, bool is_product)
{
	uint64_t bits = rng_mix(rng_mix(seed + (uint64_t)rank) + (uint64_t)i);
	long double x = (long double)(bits >> 11) / (1ull << 53);
	if (is_product)
		return 0.75L + x / 2;
	return (x - 0.5L) * (bits & 1 ? 1e6L : bits & 2 ? 1.0L : 1e-6L);
}

static long double
small_value(const struct basic *basic, struct rng *rng, int values, int rank)
{
	bool is_narrow = basic->kind != K_FLOAT && basic->kind != K_COMPLEX && basic->size < 4;
	bool has_sign = basic->kind != K_UINT;
	if (values == V_SUM)
		return has_sign ? rng_between(rng, -6, 6) : rng_between(rng, 0, 12);
	/* 2 from the first five ranks only: 32 still fits into 8 bits with a sign. */
	int pick = rng_below(rng, 4);
	return pick == 0 && has_sign ? -1 : pick == 1 && (!is_narrow || rank < 5) ? 2 : 1;
}

static void
fill_predefined(const struct reduction *reduction, void *at, struct rng *rng, uint64_t seed,
		int rank, long i)
{
	const struct basic *basic = reduction->basic;
	size_t half = basic->size / 2;
	switch (reduction->values) {
	case V_BITS:
		if (basic->kind == K_FLOAT)
			put(at, K_FLOAT, basic->size, rng_between(rng, -1000, 1000));
		else
			rng_fill(rng, at, basic->size);
		break;
	case V_TRUTH: {
		int64_t value = rng_chance(rng, 80);
		if (value && basic->kind != K_BOOL && basic->kind != K_LOGICAL &&
		    rng_chance(rng, 40))
			value = rng_between(rng, 1, 100);
		memcpy(at, &value, basic->size);
		break;
	}
	case V_PAIR:
		put(at, basic->value_kind, basic->value_size, rng_between(rng, -2, 2));
		put((char *)at + basic->index_offset, basic->index_kind, basic->index_size,
		    rng_between(rng, 0, 1000));
		break;
	case V_NEAR_SUM:
	case V_NEAR_PROD:
		put(at, K_FLOAT, basic->size, near_value(seed, rank, i, reduction->is_product));
		break;
	default:
		if (basic->kind == K_COMPLEX) {
			put(at, K_FLOAT, half, small_value(basic, rng, reduction->values, rank));
			put((char *)at + half, K_FLOAT, half, rng_between(rng, -1, 1));
		} else {
			put(at, basic->kind, basic->size,
			    small_value(basic, rng, reduction->values, rank));
		}
	}
}

void
reduction_fill(const struct reduction *reduction, void *base, long count, uint64_t seed, int rank)
{
	struct rng rng = rng_from(seed, (uint64_t)rank, 77);
	for (long i = 0; i < count; i++) {
		char *at = (char *)base + i * reduction->layout.extent;
		if (reduction->basic) {
			fill_predefined(reduction, at, &rng, seed, rank, i);
		} else if (user_rows[reduction->user].type == U_GAPPED ||
			   user_rows[reduction->user].type == U_GAPPED_LOW) {
			uint64_t b = rng_next(&rng) & UINT32_MAX;
			uint32_t a = (uint32_t)rng_next(&rng);
			memcpy(at + 8, &b, sizeof b);
			memcpy(at + 20, &a, sizeof a);
		} else {
			rng_fill(&rng, at, (size_t)reduction->layout.true_extent);
		}
	}
}

bool
reduction_has_kernel(const struct reduction *reduction)
{
	const struct basic *basic = reduction->basic;
	MPI_Op op = reduction->op;
	if (reduction->user >= 0 || !basic || (basic->size != 4 && basic->size != 8))
		return false;
	if (basic->kind == K_FLOAT)
		return op == MPI_SUM;
	return (basic->kind == K_INT || basic->kind == K_UINT) &&
	       (op == MPI_SUM || op == MPI_MIN || op == MPI_MAX || op == MPI_BAND ||
		op == MPI_BOR || op == MPI_BXOR);
}

static bool
same_value(const char *a, const char *b, enum kind kind, size_t size)
{
	if (kind == K_FLOAT)
		return get_float(a, size) == get_float(b, size);
	if (kind == K_COMPLEX)
		return get_float(a, size / 2) == get_float(b, size / 2) &&
			get_float(a + size / 2, size / 2) == get_float(b + size / 2, size / 2);
	return memcmp(a, b, size) == 0;
}

/* Any order of summation is within (p-1) eps sum|x| of the true sum, so two orders are within twice
 * that of each other; (p-1) eps |product| for products. */
static bool
is_near(const struct reduction *reduction, const char *a, const char *b, uint64_t seed, int ranks,
	long i)
{
	size_t size = reduction->basic->size;
	long double x = get_float(a, size), y = get_float(b, size), scale = 0;
	long double eps = size == 4 ? FLT_EPSILON : size == 8 ? (long double)DBL_EPSILON
							      : LDBL_EPSILON;
	if (reduction->is_product)
		scale = fabsl(x);
	else
		for (int r = 0; r < ranks; r++)
			scale += fabsl(near_value(seed, r, i, false));
	return fabsl(x - y) <= 2 * ranks * eps * scale;
}

long
reduction_differ(const struct reduction *reduction, const void *host, const void *ours, long count,
		 uint64_t seed, int ranks, long first)
{
	const struct basic *basic = reduction->basic;
	for (long i = 0; i < count; i++) {
		const char *a = (const char *)host + i * reduction->layout.extent;
		const char *b = (const char *)ours + i * reduction->layout.extent;
		bool is_same = true;
		switch (reduction->comparison) {
		case CMP_BYTES:
			is_same = memcmp(a + reduction->layout.true_lb,
					 b + reduction->layout.true_lb,
					 (size_t)reduction->layout.true_extent) == 0;
			break;
		case CMP_VALUES:
			is_same = same_value(a, b, basic->kind, basic->size);
			break;
		case CMP_PAIRS: /* the padding inside a pair belongs to nobody */
			is_same = same_value(a, b, basic->value_kind, basic->value_size) &&
				same_value(a + basic->index_offset, b + basic->index_offset,
					   basic->index_kind, basic->index_size);
			break;
		case CMP_NEAR:
			is_same = is_near(reduction, a, b, seed, ranks, first + i);
			break;
		}
		if (!is_same)
			return i;
	}
	return -1;
}
