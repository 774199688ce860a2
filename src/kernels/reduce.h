/* kernels/reduce.h — reductions of plain types that give bit for bit what any host MPI gives. */
#ifndef CS_KERNELS_REDUCE_H
#define CS_KERNELS_REDUCE_H

#include <stddef.h>

enum cs_number { CS_I32, CS_U32, CS_I64, CS_U64, CS_F32, CS_F64, CS_NUMBER_COUNT };
enum cs_reduce_op { CS_SUM, CS_MIN, CS_MAX, CS_BAND, CS_BOR, CS_BXOR, CS_OP_COUNT };

typedef void cs_kernel(void *out, const void *a, const void *b, size_t count);

/* out[i] = a[i] op b[i]; out may be a or b. NULL if there is none: 8- and 16-bit integers (Open MPI
 * 4.1's vector sums saturate, its scalar ones wrap), floating minimum and maximum (NaN and signed
 * zero differ between hosts), products, logical and pair operations. */
cs_kernel *cs_kernel_find(enum cs_reduce_op op, enum cs_number number);

/* Like cs_kernel_find, but with one answer for every host, not each host's own: floating minimum
 * and maximum too, by IEEE 754-2019 (minimum, maximum), so that they do not depend on the order:
 * NaN if one of both is, and -0 is less than +0. */
cs_kernel *cs_kernel_find_ordered(enum cs_reduce_op op, enum cs_number number);

#endif
