/* comm/types/reduction.c — chooses between our kernels and the host's reduction, which it
 * compares. */
#include "comm/types/types.h"

#include "base/float_guard.h"
#include "comm/host/pmpi.h"
#include "kernels/reduce.h"

#include <string.h>

enum { SAMPLES = 67 }; /* elements: enough for hosts' vector code, and a rest for their scalar
			* code */

struct samples {
	uint64_t a[SAMPLES], b[SAMPLES], ours[SAMPLES];
};

/* Samples of floating types: numbers of moderate size (random bits would be full of NaN), and from
 * FIRST_SPECIAL on, for hosts' vector and scalar code, special values: each with each. Both NaN
 * have one sign, since it is not defined which of two is the result. */
enum { FIRST_SPECIAL = 24, SPECIALS = 6 };

static void
make_numbers(struct samples *samples, bool is_double)
{
	static const double special[SPECIALS] = { 0.0, -0.0, __builtin_inf(), -__builtin_inf(),
						  __builtin_nan(""), 1.0 };
	for (int i = 0; i < SAMPLES; i++) {
		double x = (double)(int32_t)(samples->a[i] >> 20) * 0x1p-9,
		       y = (double)(int32_t)(samples->b[i] >> 20) * 0x1p-7;
		int number = i - FIRST_SPECIAL;
		if (number >= 0 && number < SPECIALS * SPECIALS) {
			x = special[number / SPECIALS];
			y = special[number % SPECIALS];
		}
		if (is_double) {
			((double *)(void *)samples->a)[i] = x * (1 + 0x1p-50);
			((double *)(void *)samples->b)[i] = y;
		} else {
			((float *)(void *)samples->a)[i] = (float)x;
			((float *)(void *)samples->b)[i] = (float)y;
		}
	}
}

static __attribute__((noinline)) bool
compare_with_host(MPI_Datatype handle, const struct cs_type *known, MPI_Op op_handle,
		  cs_kernel *kernel)
{
	struct samples samples;
	uint64_t word = 88172645463325252u;
	for (int i = 0; i < 2 * SAMPLES; i++) {
		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
		(i < SAMPLES ? samples.a : samples.b)[i % SAMPLES] = word;
	}
	if (known->number == CS_F32 || known->number == CS_F64)
		make_numbers(&samples, known->number == CS_F64);
	kernel(samples.ours, samples.a, samples.b, SAMPLES);
	return !cs_pmpi.Reduce_local(samples.a, samples.b, SAMPLES, handle, op_handle) &&
	       !memcmp(samples.ours, samples.b, SAMPLES * known->size);
}

/* Does the kernel give the host's results for this very type? MPICH 4.0.2 and Open MPI 4.1.4
 * compare MPI_UNSIGNED_LONG as signed in MPI_MAX and MPI_MIN, and theirs is the result that a
 * program gets without us. */
static bool
is_like_host(MPI_Datatype handle, struct cs_type *known, MPI_Op op_handle, int op,
	     cs_kernel *kernel)
{
	uint32_t bit = 1u << op;
	struct cs_float_state floats;
	if (atomic_load_explicit(&known->compared, memory_order_acquire) & bit)
		return !(atomic_load_explicit(&known->differs, memory_order_relaxed) & bit);
	cs_float_hold(&floats); /* exceptions of these sums are not the program's */
	bool is_equal = compare_with_host(handle, known, op_handle, kernel);
	cs_float_release(&floats);
	if (!is_equal)
		atomic_fetch_or(&known->differs, bit);
	atomic_fetch_or_explicit(&known->compared, bit, memory_order_release);
	return is_equal;
}

/* Kind of a reduction, but for the size: operation and class. C's and Fortran's integers are one
 * class here: some programs mix them. */
static unsigned
kind_of(const struct cs_type *type, const struct cs_operation *operation)
{
	unsigned class = type->class == CS_CLASS_FLOAT || type->class == CS_CLASS_COMPLEX ||
			 type->class == CS_CLASS_PAIR
				 ? type->class : 0;
	_Static_assert(CS_CLASS_PAIR <= CS_KIND_CLASS, "there is room for a class");
	return operation->is_predefined
	       ? (unsigned)operation->number * (CS_KIND_CLASS + 1) | class : 0;
}

bool
cs_reduction_make(MPI_Datatype type_handle, const struct cs_type *type, MPI_Op op_handle,
		  const struct cs_operation *operation, struct cs_reduction *reduction)
{
	if (!cs_pmpi.Reduce_local ||
	    (operation->is_predefined && !(operation->classes & 1u << type->class)))
		return false;
	*reduction = (struct cs_reduction){ .op = (uintptr_t)op_handle,
					    .type = (uintptr_t)type_handle };
	reduction->kind = kind_of(type, operation);
	reduction->is_exact = (reduction->kind & CS_KIND_OPERATION) &&
			      !(reduction->kind & CS_KIND_CLASS);
	if (type->is_contiguous) {
		reduction->unit = type->size;
		reduction->kind += (unsigned)type->size << 9;
		if (operation->op >= 0 && type->number >= 0)
			reduction->kernel = cs_kernel_find((enum cs_reduce_op)operation->op,
							   (enum cs_number)type->number);
		struct cs_type *known = (struct cs_type *)cs_type_find(type_handle);
		if (reduction->kernel &&
		    !is_like_host(type_handle, known, op_handle, operation->op, reduction->kernel))
			reduction->kernel = NULL;
		return true;
	}
	/* Elements with gaps keep their shape in our buffers, as the operation expects. */
	MPI_Aint lb, extent, true_lb, true_extent;
	if (!cs_pmpi.Type_get_true_extent || cs_pmpi.Type_get_extent(type_handle, &lb, &extent) ||
	    cs_pmpi.Type_get_true_extent(type_handle, &true_lb, &true_extent))
		return false;
	if (type->size == 0 || lb < 0 || true_lb < 0 || extent <= 0 ||
	    true_lb + true_extent > extent)
		return false;
	reduction->unit = (size_t)extent;
	reduction->kind += (unsigned)extent << 9;
	return true;
}

bool
cs_reduction_order(const struct cs_type *type, MPI_Op op_handle, struct cs_reduction *reduction)
{
	const uint32_t integer = 1u << CS_CLASS_INTEGER | 1u << CS_CLASS_FORTRAN_INTEGER;
	const uint32_t exact = integer | 1u << CS_CLASS_LOGICAL | 1u << CS_CLASS_BYTE;
	struct cs_operation operation;
	bool is_predefined = cs_operation_look(op_handle, &operation) && operation.is_predefined;
	if (is_predefined && type->is_predefined && exact >> type->class & 1)
		return false;
	reduction->kernel = NULL;
	if (is_predefined && operation.op >= 0 && type->number >= 0 && type->is_contiguous)
		reduction->kernel = cs_kernel_find_ordered((enum cs_reduce_op)operation.op,
							   (enum cs_number)type->number);
	return true;
}
