/* kernels/reduce.c — has the loops that reduce two vectors, for each operation and type. */
#include "kernels/reduce.h"

#include <stdbool.h>
#include <stdint.h>

/* The loops carry no dependence: the caller's buffers are equal or apart, never shifted against
 * each other. Without the word of it a compiler compares addresses before the loop, and takes the
 * one of single elements where the result is also an operand. */
#ifdef __clang__
#define NO_DEPENDENCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define NO_DEPENDENCE _Pragma("GCC ivdep")
#endif
#define KERNEL(name, type, expression)                                                             \
	static void name(void *out, const void *a, const void *b, size_t count)                    \
	{                                                                                          \
		type *to = out;                                                                    \
		const type *left = a, *right = b;                                                  \
		NO_DEPENDENCE for (size_t i = 0; i < count; i++)                                   \
		{                                                                                  \
			type x = left[i], y = right[i];                                            \
			to[i] = (expression);                                                      \
		}                                                                                  \
	}

/* Signed sums go through unsigned: wrapping is what every host does. */
#define INTEGERS(suffix, type, wide)                                                               \
	KERNEL(sum_##suffix, type, (type)((wide)x + (wide)y))                                      \
	KERNEL(min_##suffix, type, x < y ? x : y)                                                  \
	KERNEL(max_##suffix, type, x > y ? x : y)                                                  \
	KERNEL(band_##suffix, type, x & y)                                                         \
	KERNEL(bor_##suffix, type, x | y)                                                          \
	KERNEL(bxor_##suffix, type, x ^ y)
#define INTEGER_ROW(suffix)                                                                        \
	{                                                                                          \
		[CS_SUM] = sum_##suffix, [CS_MIN] = min_##suffix, [CS_MAX] = max_##suffix,         \
		[CS_BAND] = band_##suffix, [CS_BOR] = bor_##suffix, [CS_BXOR] = bxor_##suffix,     \
	}

INTEGERS(i32, int32_t, uint32_t)
INTEGERS(u32, uint32_t, uint32_t)
INTEGERS(i64, int64_t, uint64_t)
INTEGERS(u64, uint64_t, uint64_t)
KERNEL(sum_f32, float, x + y)
KERNEL(sum_f64, double, x + y)

/* x + y where they do not compare: NaN then. Equal ones differ in the sign of zero at most, which
 * is the highest bit. */
#define FLOATS(suffix, type, whole)                                                                \
	union bits_##suffix {                                                                      \
		type number;                                                                       \
		whole bits;                                                                        \
	};                                                                                         \
	static inline type equal_##suffix(type x, type y, int is_least)                            \
	{                                                                                          \
		union bits_##suffix a = { .number = x }, b = { .number = y };                      \
		a.bits = is_least ? a.bits | b.bits : a.bits & b.bits;                             \
		return a.number;                                                                   \
	}                                                                                          \
	KERNEL(least_##suffix, type, x < y ? x : y < x ? y : x == y \
	       ? equal_##suffix(x, y, 1) : x + y) \
	KERNEL(most_##suffix, type, x > y ? x : y > x ? y : x == y ? equal_##suffix(x, y, 0) : x + \
	       y)
FLOATS(f32, float, uint32_t)
FLOATS(f64, double, uint64_t)

cs_kernel *
cs_kernel_find(enum cs_reduce_op op, enum cs_number number)
{
	static cs_kernel *const table[CS_NUMBER_COUNT][CS_OP_COUNT] = {
		[CS_I32] = INTEGER_ROW(i32),	   [CS_U32] = INTEGER_ROW(u32),
		[CS_I64] = INTEGER_ROW(i64),	   [CS_U64] = INTEGER_ROW(u64),
		[CS_F32] = { [CS_SUM] = sum_f32 }, [CS_F64] = { [CS_SUM] = sum_f64 },
	};
	return table[number][op];
}

cs_kernel *
cs_kernel_find_ordered(enum cs_reduce_op op, enum cs_number number)
{
	bool is_least = op == CS_MIN;
	if (op != CS_MIN && op != CS_MAX)
		return cs_kernel_find(op, number);
	switch (number) {
	case CS_F32: return is_least ? least_f32 : most_f32;
	case CS_F64: return is_least ? least_f64 : most_f64;
	default: return cs_kernel_find(op, number);
	}
}
