#include "bench.h"

#include <math.h>
#include <stdlib.h>

#define MAX_F 16
/* Times what the processor needs for a burst: one that takes less waits for nothing else */
#define HIDDEN 1.1

/* Time that n messages add to one: the later of the sender's processor and the port, where f
 * messages in a row need no gap (LogfP; sim/model.h). */
static double
added(const struct bench_loggp *loggp, int n, double delay, size_t bytes)
{
	double length = (double)(bytes - 1) * loggp->G;
	double processor = (n - 1) * (loggp->o_send + delay);
	double port = (n > loggp->f ? n - loggp->f : 0) * loggp->g + (n - 1) * length;
	return processor > port ? processor : port;
}

static double
one(const struct bench_loggp *loggp, size_t bytes)
{
	return 2 * (loggp->L + loggp->o_send + loggp->o_recv + (double)(bytes - 1) * loggp->G);
}

double
bench_loggp_prtt(const struct bench_loggp *loggp, int n, double delay, size_t bytes)
{
	return one(loggp, bytes) + added(loggp, n, delay, bytes);
}

/* --- the times as they are needed ------------------------------------------------------------- */

struct fit {
	const struct bench_prtt *times;
	int count;
	size_t smallest;
};

/* PRTT(1, 0, bytes). */
static double
single(const struct fit *fit, size_t bytes)
{
	for (int i = 0; i < fit->count; i++)
		if (fit->times[i].n == 1 && fit->times[i].bytes == bytes)
			return fit->times[i].seconds;
	return 0;
}

/* Several messages without delay? Then *more is what they took beyond one. */
static bool
is_burst(const struct fit *fit, int i, double *more)
{
	const struct bench_prtt *time = &fit->times[i];
	*more = time->seconds - single(fit, time->bytes);
	return time->n > 1 && time->delay <= 0 && *more > 0;
}

/* --- one parameter after the other ------------------------------------------------------------ */

/* o = (PRTT(n, d, s) - PRTT(1, 0, s)) / (n - 1) - d, but no more than a message of a burst takes:
 * after a delay the caches are cold (seen: MPICH within a node, 0.35 us after 5 us, 0.15 us in a
 * burst). */
static double
find_o_send(const struct fit *fit)
{
	double values[BENCH_MAX_PRTT], most = INFINITY, more;
	int count = 0;
	for (int i = 0; i < fit->count; i++)
		if (is_burst(fit, i, &more) && more / (fit->times[i].n - 1) < most)
			most = more / (fit->times[i].n - 1);
	for (int i = 0; i < fit->count && count < BENCH_MAX_PRTT; i++) {
		const struct bench_prtt *time = &fit->times[i];
		if (time->n > 1 && time->delay > 0)
			values[count++] = (time->seconds - single(fit, time->bytes)) /
					  (time->n - 1) - time->delay;
	}
	double o = count ? bench_median(values, count) : 0;
	o = o < most ? o : most;
	return o > 0 ? o : 0;
}

/* L = PRTT(1, 0, s) / 2 - o_s - o_r. If the overheads alone are more, they overlap with the
 * message's way (seen: TCP inside one machine, where the sender's system call delivers): a receiver
 * that waits is spared what is too much. */
static void
find_latency(const struct fit *fit, struct bench_loggp *found)
{
	double way = single(fit, fit->smallest) / 2 - (double)(fit->smallest - 1) * found->G;
	found->o_send = found->o_send < way ? found->o_send : way;
	found->o_recv = found->o_recv < way - found->o_send ? found->o_recv : way - found->o_send;
	found->L = way - found->o_send - found->o_recv;
}

/* g and G from the line  (n - f) g + (n - 1) (s - 1) G = PRTT(n, 0, s) - PRTT(1, 0, s), by least
 *                        squares of the
 * relative errors: else the largest messages would decide alone. Bursts that the sender's processor
 * held up say nothing of the port. */
static void
find_gaps(const struct fit *fit, struct bench_loggp *found)
{
	double aa = 0, ab = 0, bb = 0, ay = 0, by = 0, more;
	for (int i = 0; i < fit->count; i++) {
		const struct bench_prtt *time = &fit->times[i];
		if (!is_burst(fit, i, &more) || time->n <= found->f ||
		    more < HIDDEN * (time->n - 1) * found->o_send)
			continue;
		double a = (time->n - found->f) / more,
		       b = (double)(time->bytes - 1) * (time->n - 1) / more;
		aa += a * a;
		ab += a * b;
		bb += b * b;
		ay += a;
		by += b;
	}
	double determinant = aa * bb - ab * ab;
	found->g = determinant > 0 ? (ay * bb - by * ab) / determinant : aa > 0 ? ay / aa : 0;
	found->G = determinant > 0 ? (by * aa - ay * ab) / determinant : 0;
	if (found->G < 0) {
		found->G = 0;
		found->g = aa > 0 ? ay / aa : 0;
	} else if (found->g < 0) {
		found->g = 0;
		found->G = bb > 0 ? by / bb : 0;
	}
}

/* Do messages of the smallest size ever wait for the port? */
static bool
shows_gap(const struct fit *fit, double o_send)
{
	double more;
	for (int i = 0; i < fit->count; i++)
		if (fit->times[i].bytes == fit->smallest && is_burst(fit, i, &more) &&
		    more >= HIDDEN * (fit->times[i].n - 1) * o_send)
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
		sum += fabs(added(loggp, fit->times[i].n, 0, fit->times[i].bytes) / more - 1);
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
	int most = shows_gap(fit, found->o_send) ? MAX_F : 1;
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
		if (time->delay > 0 || time->seconds <= 0)
			continue;
		sum += fabs(bench_loggp_prtt(loggp, time->n, 0, time->bytes) / time->seconds - 1);
		count++;
	}
	return count ? sum / count : 0;
}

void
bench_loggp_fit(struct bench_loggp *found, const struct bench_prtt *times, int count, double o_recv)
{
	struct fit fit = { times, count, SIZE_MAX };
	for (int i = 0; i < count; i++)
		fit.smallest = times[i].bytes < fit.smallest ? times[i].bytes : fit.smallest;
	*found = (struct bench_loggp){ .o_recv = o_recv, .f = 1 };
	found->o_send = find_o_send(&fit);
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
