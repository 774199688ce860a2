#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_F 16
/* Times what the processor needs for a burst: one that takes less waits for nothing else */
#define HIDDEN 1.1

/* Time that n messages add to one: the later of the sender's processor and the port, where f
 * messages in a row need no gap (LogfP; sim/model.h). */
static double
added(const struct bench_loggp *loggp, int n, size_t bytes)
{
	double length = (double)(bytes - 1) * loggp->G;
	double processor = (n - 1) * loggp->o_send_min;
	double port = (n > loggp->f ? n - loggp->f : 0) * loggp->g + (n - 1) * length;
	return processor > port ? processor : port;
}

static double
one(const struct bench_loggp *loggp, size_t bytes)
{
	return 2 * (loggp->L + loggp->o_send + loggp->o_recv + (double)(bytes - 1) * loggp->G);
}

double
bench_loggp_prtt(const struct bench_loggp *loggp, int n, size_t bytes)
{
	return one(loggp, bytes) + added(loggp, n, bytes);
}

/* --- the times as they are needed ------------------------------------------------------------- */

struct fit {
	const struct bench_prtt *times;
	int count;
	size_t smallest;
};

/* PRTT(1, bytes). */
static double
single(const struct fit *fit, size_t bytes)
{
	for (int i = 0; i < fit->count; i++)
		if (fit->times[i].n == 1 && fit->times[i].bytes == bytes)
			return fit->times[i].seconds;
	return 0;
}

/* Several messages? Then *more is what they took beyond one. */
static bool
is_burst(const struct fit *fit, int i, double *more)
{
	const struct bench_prtt *time = &fit->times[i];
	*more = time->seconds - single(fit, time->bytes);
	return time->n > 1 && *more > 0;
}

/* --- one parameter after the other ------------------------------------------------------------ */

/* Sums of a x + b y = t over points, each divided by its t: least squares of relative errors. */
struct sums {
	double aa, ab, bb, a, b;
};

static void
add_point(struct sums *sums, double a, double b)
{
	sums->aa += a * a;
	sums->ab += a * b;
	sums->bb += b * b;
	sums->a += a;
	sums->b += b;
}

/* Neither is negative: then the other one tells all, and *x if they cannot be told apart. */
static void
solve(const struct sums *sums, double *x, double *y)
{
	double determinant = sums->aa * sums->bb - sums->ab * sums->ab;
	*x = determinant > 0 ? (sums->a * sums->bb - sums->b * sums->ab) / determinant : -1;
	*y = determinant > 0 ? (sums->b * sums->aa - sums->a * sums->ab) / determinant : -1;
	if (*y < 0) {
		*x = sums->aa > 0 ? sums->a / sums->aa : 0;
		*y = 0;
	} else if (*x < 0) {
		*x = 0;
		*y = sums->bb > 0 ? sums->b / sums->bb : 0;
	}
}

/* The line  t = (max - min) + min n  through a row's times, by `solve`.
 * Rows in which later messages cost more have one overhead for all. */
static void
find_overhead(const struct bench_row *rows, size_t member, double *first, double *further)
{
	struct sums sums = { 0 };
	double more;
	for (int i = 0; i < BENCH_ROWS; i++) {
		double time;
		memcpy(&time, (const char *)&rows[i] + member, sizeof time);
		if (time > 0)
			add_point(&sums, rows[i].n / time, 1 / time);
	}
	solve(&sums, further, &more);
	*first = *further + more;
}

/* Both overheads of sends and receives; of a send behind another no more than a message of a burst
 * takes. */
static void
find_overheads(const struct fit *fit, const struct bench_row *rows, struct bench_loggp *found)
{
	double more;
	find_overhead(rows, offsetof(struct bench_row, sends), &found->o_send, &found->o_send_min);
	find_overhead(rows, offsetof(struct bench_row, receives), &found->o_recv,
		      &found->o_recv_min);
	for (int i = 0; i < fit->count; i++)
		if (is_burst(fit, i, &more))
			found->o_send_min = fmin(found->o_send_min, more / (fit->times[i].n - 1));
}

/* L = PRTT(1, s) / 2 - o_s - o_r. If the overheads alone are more, they overlap with the
 * message's way (seen: TCP inside one machine, where the sender's system call delivers): a receiver
 * that waits is spared what is too much. */
static void
find_latency(const struct fit *fit, struct bench_loggp *found)
{
	double way = single(fit, fit->smallest) / 2 - (double)(fit->smallest - 1) * found->G;
	found->o_send = fmin(found->o_send, way);
	found->o_recv = fmin(found->o_recv, way - found->o_send);
	found->o_send_min = fmin(found->o_send_min, found->o_send);
	found->o_recv_min = fmin(found->o_recv_min, found->o_recv);
	found->L = way - found->o_send - found->o_recv;
}

/* g and G from the line  (n - f) g + (n - 1) (s - 1) G = PRTT(n, s) - PRTT(1, s), by least squares
 * of the relative errors: else the largest messages would decide alone. Bursts that the sender's
 * processor held up say nothing of the port. */
static void
find_gaps(const struct fit *fit, struct bench_loggp *found)
{
	struct sums sums = { 0 };
	double more;
	for (int i = 0; i < fit->count; i++) {
		const struct bench_prtt *time = &fit->times[i];
		if (is_burst(fit, i, &more) && time->n > found->f &&
		    more >= HIDDEN * (time->n - 1) * found->o_send_min)
			add_point(&sums, (time->n - found->f) / more,
				  (double)(time->bytes - 1) * (time->n - 1) / more);
	}
	solve(&sums, &found->g, &found->G);
}

/* Do messages of the smallest size ever wait for the port? */
static bool
shows_gap(const struct fit *fit, double o_send_min)
{
	double more;
	for (int i = 0; i < fit->count; i++)
		if (fit->times[i].bytes == fit->smallest && is_burst(fit, i, &more) &&
		    more >= HIDDEN * (fit->times[i].n - 1) * o_send_min)
			return true;
	return false;
}

/* Mean of |predicted / measured - 1| of what bursts took beyond one message. */
static double
burst_error(const struct fit *fit, const struct bench_loggp *loggp)
{
	double sum = 0, more;
	int count = 0;
	for (int i = 0; i < fit->count; i++) {
		if (!is_burst(fit, i, &more))
			continue;
		sum += fabs(added(loggp, fit->times[i].n, fit->times[i].bytes) / more - 1);
		count++;
	}
	return count ? sum / count : 0;
}

/* The f with which the bursts fit best; a larger one must fit better by more than a twentieth. 1
 * where no gap is seen. */
static void
find_f(const struct fit *fit, struct bench_loggp *found)
{
	double best = INFINITY;
	struct bench_loggp tried = *found;
	int most = shows_gap(fit, found->o_send_min) ? MAX_F : 1;
	for (tried.f = 1; tried.f <= most; tried.f++) {
		find_gaps(fit, &tried);
		double error = burst_error(fit, &tried);
		if (error < best * 0.95 - 1e-6) {
			best = error;
			*found = tried;
		}
	}
}

static double
whole_error(const struct fit *fit, const struct bench_loggp *loggp)
{
	double sum = 0;
	int count = 0;
	for (int i = 0; i < fit->count; i++) {
		const struct bench_prtt *time = &fit->times[i];
		if (time->seconds <= 0)
			continue;
		sum += fabs(bench_loggp_prtt(loggp, time->n, time->bytes) / time->seconds - 1);
		count++;
	}
	return count ? sum / count : 0;
}

void
bench_loggp_fit(struct bench_loggp *found, const struct bench_prtt *times, int count,
		const struct bench_row rows[BENCH_ROWS])
{
	struct fit fit = { times, count, SIZE_MAX };
	for (int i = 0; i < count; i++)
		fit.smallest = times[i].bytes < fit.smallest ? times[i].bytes : fit.smallest;
	*found = (struct bench_loggp){ .f = 1 };
	find_overheads(&fit, rows, found);
	find_f(&fit, found);
	find_latency(&fit, found);
	found->error = whole_error(&fit, found);
}

/* --- as text ---------------------------------------------------------------------------------- */

static size_t
add(char *text, size_t length, const char *prefix, const char *name, double number)
{
	int more = snprintf(text + length, BENCH_NETWORK_TEXT - length, "%s%s%s=%.4g",
			    length ? "," : "", prefix, name, number);
	return length + (size_t)more < BENCH_NETWORK_TEXT ? length + (size_t)more : length;
}

/* A further overhead, where it is less than the first; the model has no 0 there. */
static size_t
add_further(char *text, size_t length, const char *prefix, const char *name, double first,
	    double further)
{
	return further < first ? add(text, length, prefix, name, fmax(further, 1e-12)) : length;
}

const char *
bench_network_text(char text[BENCH_NETWORK_TEXT], const struct bench_network *network)
{
	static const char *const prefixes[BENCH_LEVELS] =
		{ [BENCH_INTER] = "", [BENCH_INTRA] = "intra." };
	const struct {
		const char *name;
		double number;
	} rates[] = { { "copy", network->copy }, { "reduce", network->reduce },
		      { "bus", network->bus },
		      { "flag", network->flag } };
	size_t length = 0;
	text[0] = '\0';
	for (enum bench_level level = 0; level < BENCH_LEVELS; level++) {
		const struct bench_loggp *loggp = &network->level[level].loggp;
		if (!network->level[level].is_there)
			continue;
		length = add(text, length, prefixes[level], "L", loggp->L);
		length = add(text, length, prefixes[level], "os", loggp->o_send);
		length = add(text, length, prefixes[level], "or", loggp->o_recv);
		length = add_further(text, length, prefixes[level], "osmin", loggp->o_send,
				     loggp->o_send_min);
		length = add_further(text, length, prefixes[level], "ormin", loggp->o_recv,
				     loggp->o_recv_min);
		length = add(text, length, prefixes[level], "g", loggp->g);
		length = add(text, length, prefixes[level], "G", loggp->G);
		length = add(text, length, prefixes[level], "f", loggp->f);
	}
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		if (rates[i].number > 0)
			length = add(text, length, "", rates[i].name, rates[i].number);
	return text;
}

double
bench_network_error(const struct bench_network *network)
{
	for (enum bench_level level = 0; level < BENCH_LEVELS; level++)
		if (network->level[level].is_there)
			return network->level[level].loggp.error;
	return -1;
}
