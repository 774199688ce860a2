#include "algorithms/patterns/fold.h"

#include <string.h>

#define PIECE 8192 /* bytes: the accumulator stays in the first-level cache while the sources stream by */

/* Three sources and more. */
static __attribute__((noinline)) void
fold_kernel(const struct cs_reduction *reduction, char *out, const void *const *from, int n, size_t count)
{
	size_t unit = reduction->unit, piece = count * unit <= PIECE ? count : PIECE / unit; /* a division is dear */
	_Alignas(64) char sum[PIECE];
	for (size_t first = 0; first < count; first += piece) {
		size_t now = count - first < piece ? count - first : piece;
		size_t at = first * unit;
		/* Through `sum`, so that `out` may be one of the sources. */
		reduction->kernel(sum, (const char *)from[n - 2] + at, (const char *)from[n - 1] + at, now);
		for (int i = n - 3; i > 0; i--)
			reduction->kernel(sum, (const char *)from[i] + at, sum, now);
		reduction->kernel(out + at, (const char *)from[0] + at, sum, now);
	}
}

void
cs_fold(struct cs_team *team, const struct cs_reduction *reduction, void *out, const void *const *from, int n,
	size_t count)
{
	if (n == 2 && reduction->kernel) {
		reduction->kernel(out, from[0], from[1], count);
		return;
	}
	size_t bytes = count * reduction->unit;
	if (count == 0)
		return;
	if (n == 1) {
		if (out != from[0])
			memcpy(out, from[0], bytes);
		return;
	}
	if (reduction->kernel) {
		fold_kernel(reduction, out, from, n, count);
		return;
	}
	void *to = out;
	for (int i = 0; i < n - 1; i++)
		if (from[i] == out)
			to = cs_team_scratch(team, bytes);
	if (to != from[n - 1])
		memcpy(to, from[n - 1], bytes);
	for (int i = n - 2; i >= 0; i--)
		team->host->reduce_local(reduction, from[i], to, count);
	if (to != out)
		memcpy(out, to, bytes);
}
