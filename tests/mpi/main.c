/* differential: random collective calls, each once through MPI_X and once through PMPI_X, compared.
 *
 *   differential [--seed S] [--cases N] [--first C | --only C] [--coll Bcast,Reduce,...]
 *   [--max-bytes B]
 *                [--large-bytes B] [--must-load NAME] [--crossing] [--selfcheck] [--judge]
 *                [--verbose] [--nonblocking] [--persistent]
 *
 * --only C       one case, exactly as it was in the long run
 * --judge        also moves the data by point-to-point messages and says whether host or library
 *                differs from that
 * --first C      begins there (communicators then have less history than in the long run)
 * --must-load    fails unless MPI_Bcast comes from a file of that name: a test without the library
 *                proves nothing
 * --crossing     a call that is repeated may give other bits of a sum: the first calls on a
 *                communicator are the MPI's
 * --nonblocking  MPI_Ix in the place of most MPI_X, up to twenty under way
 * --persistent   the same, and MPI_X_init for half of them, started up to five times with new data,
 *                on each rank in another order
 * Result: 0 all equal, 1 not, 2 usage. */
#include "diff.h"
#include "hosts.h"

#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BURST_MAX 20
#define TURNS_MAX 5
#define FAILURES_MAX 5
#define SYNC_EVERY 16

struct options {
	uint64_t seed;
	long first, cases, large_bytes;
	struct limits limits;
	const char *coll_list, *must_load;
	bool is_crossing, is_selfcheck, is_judged, is_verbose, is_nonblocking, is_persistent;
};

static int world_rank, world_size, failures;
static struct call calls[BURST_MAX];

/* ---- traffic that is under way on the same communicator while the calls are made ---- */

struct overlay {
	int kind; /* 0: none */
	MPI_Request request;
	int *out, *in, count;
};

#define OVERLAY_KINDS 6

static void
overlay_begin(struct overlay *overlay, struct comm *comm, struct rng *rng)
{
	int kind = rng_chance(rng, 22) ? rng_between(rng, 1, OVERLAY_KINDS - 1) : 0;
	/* eager, or far into rendezvous */
	int count = rng_chance(rng, 50) ? 10 : 60000;
	*overlay = (struct overlay){.kind = kind, .request = MPI_REQUEST_NULL, .count = count};
	if (comm->remote || kind == 0) {
		overlay->kind = 0;
		return;
	}
	int n = comm->size, right = (comm->rank + 1) % n, left = (comm->rank + n - 1) % n;
	overlay->out = malloc((size_t)count * sizeof(int));
	overlay->in = malloc((size_t)count * sizeof(int));
	for (int i = 0; i < count; i++) {
		overlay->out[i] = comm->rank * 1000 + i;
		overlay->in[i] = -1;
	}
	switch (kind) {
	case 1:
		MPI_Iallreduce(overlay->out, overlay->in, count, MPI_INT, MPI_SUM, comm->comm,
			       &overlay->request);
		break;
	case 2:
		if (comm->rank == 0)
			memcpy(overlay->in, overlay->out, (size_t)count * sizeof(int));
		MPI_Ibcast(overlay->in, count, MPI_INT, 0, comm->comm, &overlay->request);
		break;
	case 3:
		MPI_Ibarrier(comm->comm, &overlay->request);
		break;
	case 4: /* received early, sent late */
		MPI_Irecv(overlay->in, count, MPI_INT, left, 99, comm->comm, &overlay->request);
		break;
	default: /* sent early, received late */
		MPI_Isend(overlay->out, count, MPI_INT, right, 99, comm->comm, &overlay->request);
	}
}

static bool
overlay_end(struct overlay *overlay, struct comm *comm, const char *prefix)
{
	if (overlay->kind == 0)
		return true;
	int n = comm->size, right = (comm->rank + 1) % n, left = (comm->rank + n - 1) % n, done = 0;
	if (overlay->kind == 4)
		MPI_Send(overlay->out, overlay->count, MPI_INT, right, 99, comm->comm);
	else if (overlay->kind == 5)
		MPI_Recv(overlay->in, overlay->count, MPI_INT, left, 99, comm->comm,
			 MPI_STATUS_IGNORE);
	else if (overlay->kind == 3)
		while (!done)
			MPI_Test(&overlay->request, &done, MPI_STATUS_IGNORE);
	MPI_Wait(&overlay->request, MPI_STATUS_IGNORE);
	bool is_good = true;
	for (int i = 0; i < overlay->count && is_good; i++) {
		int expected = overlay->kind == 1 ? n * (n - 1) / 2 * 1000 + n * i
			: overlay->kind == 2 ? i : overlay->kind == 3 ? -1 : left * 1000 + i;
		if (overlay->in[i] != expected) {
			fprintf(stderr, "%s other traffic (kind %d) during the calls was damaged "
					"at %d: %d, not %d\n",
				prefix, overlay->kind, i, overlay->in[i], expected);
			is_good = false;
		}
	}
	free(overlay->out);
	free(overlay->in);
	return is_good;
}

/* ---- one case ---- */

/* Is the call one that the library serves? The hosts' own non-blocking calls have faults (MPICH
 * 4.0.2: MPI_Ialltoallw ends with a truncation; Open MPI 4.1.4: MPI_Ialltoallv waits for ever,
 * reductions by a program's operation end by a signal), which are not the library's. */
static bool
is_served(const struct call *call)
{
	return !call->comm->remote && call->comm->size > 1 &&
	       !(call->has_reduction && (call->reduction.user >= 0 || !call->reduction.basic));
}

/* Non-blocking, or now and then blocking; the same on all ranks. */
static void
begin_one(const struct options *options, struct call *call, struct rng *rng)
{
	call->request = MPI_REQUEST_NULL;
	if (options->is_nonblocking && is_served(call) && !rng_chance(rng, 20))
		call_begin(call, OURS);
	else
		call_invoke(call, OURS);
}

/* Completes all that is under way, in an order and by functions that are this rank's own. */
static void
complete_all(const struct options *options, int count, struct rng *all)
{
	if (!options->is_nonblocking)
		return;
	struct rng own = rng_from(options->seed, rng_next(all), (uint64_t)world_rank), *rng = &own;
	MPI_Status statuses[BURST_MAX];
	MPI_Request requests[BURST_MAX];
	int of[BURST_MAX], open = 0, done, indices[BURST_MAX], flag = 0;
	for (int i = 0; i < count; i++)
		if (calls[i].request != MPI_REQUEST_NULL) {
			of[open] = i;
			requests[open++] = calls[i].request;
		}
	for (int turns = rng_below(rng, 2 * open + 1); open && turns > 0; turns--) {
		int one = rng_below(rng, open), result = MPI_SUCCESS;
		MPI_Status status;
		switch (rng_below(rng, 6)) {
		case 0: result = MPI_Wait(&requests[one], &status); break;
		case 1: result = MPI_Test(&requests[one], &flag, &status); break;
		case 2: result = MPI_Waitany(open, requests, &one, MPI_STATUS_IGNORE); break;
		case 3: result = MPI_Testany(open, requests, &one, &flag, &status); break;
		case 4:
			result = MPI_Waitsome(open, requests, &done, indices, statuses);
			break;
		case 5: result = MPI_Request_get_status(requests[one], &flag, &status); break;
		}
		if (result != MPI_SUCCESS && one != MPI_UNDEFINED)
			calls[of[one]].error[OURS] = result;
	}
	for (flag = !rng_chance(rng, 30); !flag;)
		MPI_Testall(open, requests, &flag, statuses);
	MPI_Waitall(open, requests, statuses);
}

static void
invoke_all(const struct options *options, int count, int set, struct rng *rng)
{
	for (int i = 0; i < count; i++)
		if (set == OURS)
			begin_one(options, &calls[i], rng);
		else
			call_invoke(&calls[i], set);
	if (set == OURS)
		complete_all(options, count, rng);
}

/* Compares each call; false if one is wrong. `prefix` has room behind it. */
static bool
compare_all(const struct options *options, int count, char *prefix)
{
	bool is_good = true;
	for (int i = 0; i < count; i++) {
		if (count > 1)
			snprintf(prefix + strlen(prefix) - 1, 24, ", call %d:", i);
		if (is_good && !host_answers_wrong(&calls[i]))
			is_good = call_compare(&calls[i], prefix);
		if (is_good && options->is_selfcheck)
			is_good = call_selfcheck(&calls[i], prefix);
		if (count > 1)
			strcpy(strrchr(prefix, ','), ":");
	}
	return is_good;
}

/* ---- persistent requests ---- */

/* In one order on all ranks. */
static void
make_requests(int count, struct rng *rng)
{
	for (int i = 0; i < count; i++) {
		calls[i].request = MPI_REQUEST_NULL;
		calls[i].is_persistent = is_served(&calls[i]) && !host_starts_wrongly(&calls[i]) &&
					 rng_chance(rng, 50);
		if (calls[i].is_persistent)
			call_make_request(&calls[i], OURS);
	}
}

/* Starts those of the persistent requests that are chosen, in an order that is this rank's own, and
 * between them makes the other calls in theirs. */
static void
start_all(const struct options *options, int count, const bool *is_chosen, struct rng *rng)
{
	struct rng own = rng_from(options->seed, rng_next(rng), (uint64_t)world_rank);
	int order[BURST_MAX], started[BURST_MAX], starts = 0, at = 0, next = 0;
	rng_permute(&own, order, count);
	for (int i = 0; i < count; i++)
		if (calls[order[i]].is_persistent && is_chosen[order[i]])
			started[starts++] = order[i];
	while (at < starts || next < count) {
		if (at < starts && (next == count || rng_chance(&own, 50))) {
			int some = rng_chance(&own, 60) ? 1 : rng_between(&own, 1, starts - at);
			calls_start(calls, some, started + at);
			at += some;
		} else if (!calls[next++].is_persistent) {
			begin_one(options, &calls[next - 1], rng);
		}
	}
}

/* Makes and starts the case's calls, and compares the results of all turns but the last one. */
static bool
restart_all(const struct options *options, int count, char *prefix, struct rng *rng)
{
	int turns = rng_between(rng, 1, TURNS_MAX);
	bool is_good = true;
	make_requests(count, rng);
	for (int turn = 0; turn < turns; turn++) {
		int when = rng_below(rng, 3);
		bool is_chosen[BURST_MAX];
		for (int i = 0; i < count; i++) {
			/* MPICH 4.0.2 copies a gather's own block when its request is made. */
			is_chosen[i] = !calls[i].is_persistent || turn == 0 || turn == turns - 1 ||
				       rng_chance(rng, 60);
			if (turn && is_chosen[i])
				call_refill(&calls[i], rng_mix(calls[i].seed));
		}
		for (int step = 0; step < 3; step++) {
			if (step == 1)
				start_all(options, count, is_chosen, rng);
			for (int i = 0; i < count && step == when; i++)
				if (is_chosen[i])
					call_invoke(&calls[i], HOST);
			if (step == 1)
				complete_all(options, count, rng);
		}
		if (turn < turns - 1) {
			snprintf(prefix + strlen(prefix) - 1, 24, ", turn %d:", turn);
			is_good = is_good && compare_all(options, count, prefix);
			strcpy(strrchr(prefix, ','), ":");
		}
	}
	struct rng own = rng_from(options->seed, rng_next(rng), (uint64_t)world_rank);
	int order[BURST_MAX];
	rng_permute(&own, order, count);
	for (int i = 0; i < count; i++)
		if (calls[order[i]].is_persistent)
			call_free_request(&calls[order[i]]);
	return is_good;
}

static void
run_case(const struct options *options, long number)
{
	struct rng rng = rng_from(options->seed, 5, (uint64_t)number);
	int slot = rng_chance(&rng, 25) ? 0 : rng_below(&rng, COMM_SLOTS);
	int other_slot = rng_chance(&rng, 15) ? rng_below(&rng, COMM_SLOTS) : slot;
	struct comm *comm = comms_get(slot, number), *other = comms_get(other_slot, number);
	int count = rng_chance(&rng, 30) ? rng_between(&rng, 8, BURST_MAX)
					 : rng_between(&rng, 1, 2);
	bool is_ours_first = rng_chance(&rng, 50), is_interleaved = rng_chance(&rng, 30);
	bool is_large = count <= 2 && rng_chance(&rng, 4);
	struct limits limits = options->limits;
	if (is_large)
		limits.bytes = options->large_bytes;
	else if (count > 2)
		limits.bytes = options->limits.bytes / 4;
	if (comm->comm == MPI_COMM_NULL)
		return;
	/* Two communicators in one burst only if both have all ranks: that is known everywhere. */
	if (comm->remote || other->remote || comm->size != world_size || other->size != world_size)
		other = comm;
	char prefix[200];
	snprintf(prefix, sizeof prefix, "FAILED differential seed %llu case %ld rank %d/%d:",
		 (unsigned long long)options->seed, number, world_rank, world_size);
	if (options->is_verbose && world_rank == 0)
		fprintf(stderr, "case %ld: %d calls on %s\n", number, count, comm->text);
	/* A blocking call makes the team. */
	for (int i = 0; options->is_nonblocking && !comm->remote && i < 2; i++)
		MPI_Barrier(i ? other->comm : comm->comm);
	struct overlay overlay;
	overlay_begin(&overlay, comm, &rng);
	for (int i = 0; i < count; i++)
		call_make(&calls[i], i % 2 ? other : comm,
			  rng_mix(options->seed * 1000003 + (uint64_t)number * 64 + (uint64_t)i),
			  &limits);
	for (int i = 0; options->is_verbose && options->cases == 1 && i < count; i++)
		call_describe(&calls[i]);
	bool is_good = true;
	if (options->is_persistent) {
		is_good = restart_all(options, count, prefix, &rng);
	} else if (is_interleaved) {
		for (int i = 0; i < count; i++) {
			if (!is_ours_first)
				call_invoke(&calls[i], HOST);
			begin_one(options, &calls[i], &rng);
			if (is_ours_first)
				call_invoke(&calls[i], HOST);
		}
		complete_all(options, count, &rng);
	} else {
		invoke_all(options, count, is_ours_first ? OURS : HOST, &rng);
		invoke_all(options, count, is_ours_first ? HOST : OURS, &rng);
	}
	is_good = overlay_end(&overlay, comm, prefix) && is_good;
	is_good = is_good && compare_all(options, count, prefix);
	for (int i = 0; i < count; i++) {
		if (calls[i].has_reduction && calls[i].reduction.comparison == CMP_NEAR &&
		    !options->is_crossing)
			is_good = call_repeat(&calls[i], prefix) && is_good;
		if (options->is_judged)
			is_good = call_judge(&calls[i], prefix) && is_good;
		call_free(&calls[i]);
	}
	if (is_good)
		return;
	failures++;
	fprintf(stderr, "  replay: mpirun -n %d ... differential --seed %llu --only %ld "
			"--max-bytes %ld --large-bytes %ld%s%s\n",
		world_size, (unsigned long long)options->seed, number, options->limits.bytes,
		options->large_bytes, options->coll_list ? " --coll " : "",
		options->coll_list ? options->coll_list : "");
}

/* Runs the cases; returns how many failed on some rank, as far as it went. */
static int
run(const struct options *options)
{
	long number = options->first, end = options->first + options->cases;
	int before = failures, all = 0, worst = 0;
	comms_init(options->seed);
	while (number < end) {
		run_case(options, number++);
		if ((number - options->first) % SYNC_EVERY == 0 || number == end) {
			int here = failures - before;
			PMPI_Allreduce(&here, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
			all = worst;
			if (worst >= FAILURES_MAX)
				break;
		}
	}
	comms_free();
	if (world_rank == 0)
		printf("%ld cases, %d failed, seed %llu\n", number - options->first, all,
		       (unsigned long long)options->seed);
	return all;
}

/* ---- options ---- */

static bool
choose_colls(struct options *options, const char *list)
{
	char copy[400];
	snprintf(copy, sizeof copy, "%s", list);
	memset(options->limits.is_coll_wanted, 0, sizeof options->limits.is_coll_wanted);
	options->coll_list = list;
	for (char *name = strtok(copy, ","); name; name = strtok(NULL, ",")) {
		int coll = 0;
		while (coll < COLL_COUNT && strcasecmp(name, coll_names[coll]) != 0)
			coll++;
		if (coll == COLL_COUNT) {
			fprintf(stderr, "differential: no collective called '%s'\n", name);
			return false;
		}
		options->limits.is_coll_wanted[coll] = true;
	}
	return true;
}

static bool
parse(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{"seed", required_argument, NULL, 's'}, {"cases", required_argument, NULL, 'n'},
		{"first", required_argument, NULL, 'f'}, {"only", required_argument, NULL, 'o'},
		{"coll", required_argument, NULL, 'c'}, {"max-bytes", required_argument, NULL, 'b'},
		{"large-bytes", required_argument, NULL, 'l'},
			{"must-load", required_argument, NULL, 'm'},
		{"crossing", no_argument, NULL, 'x'}, {"selfcheck", no_argument, NULL, 'k'},
		{"judge", no_argument, NULL, 'j'}, {"nonblocking", no_argument, NULL, 'i'},
		{"persistent", no_argument, NULL, 'p'},
		{"verbose", no_argument, NULL, 'v'},
			{NULL, 0, NULL, 0}};
	optind = 0;
	for (int letter; (letter = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (letter) {
		case 's': options->seed = strtoull(optarg, NULL, 0); break;
		case 'n': options->cases = strtol(optarg, NULL, 0); break;
		case 'f': options->first = strtol(optarg, NULL, 0); break;
		case 'o': options->first = strtol(optarg, NULL, 0); options->cases = 1; break;
		case 'c':
			if (!choose_colls(options, optarg))
				return false;
			break;
		case 'b': options->limits.bytes = strtol(optarg, NULL, 0); break;
		case 'l': options->large_bytes = strtol(optarg, NULL, 0); break;
		case 'm': options->must_load = optarg; break;
		case 'x': options->is_crossing = true; break;
		case 'k': options->is_selfcheck = true; break;
		case 'i': options->is_nonblocking = true; break;
		case 'p': options->is_nonblocking = options->is_persistent = true; break;
		case 'j': options->is_judged = true; break;
		case 'v': options->is_verbose = true; break;
		default: return false;
		}
	}
	return optind == argc && options->limits.bytes > 0 && options->large_bytes > 0;
}

static bool
is_loaded(const char *name)
{
	Dl_info info;
	return dladdr(dlsym(RTLD_DEFAULT, "MPI_Bcast"), &info) && info.dli_fname &&
	       strstr(info.dli_fname, name);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
	struct options options = {.seed = 1, .cases = 300, .limits.bytes = 300000,
				  .large_bytes = 3000000};
	memset(options.limits.is_coll_wanted, 1, sizeof options.limits.is_coll_wanted);
	int result = 2;
	if (!parse(&options, argc, argv)) {
		if (world_rank == 0)
			fprintf(stderr, "usage: see the head of main.c\n");
	} else if (options.must_load && !is_loaded(options.must_load)) {
		if (world_rank == 0)
			fprintf(stderr, "differential: MPI_Bcast does not come from '%s'\n",
				options.must_load);
	} else {
		basics_init();
		result = run(&options) > 0;
	}
	/* MPI_COMM_WORLD's and MPI_COMM_SELF's errors are fatal again for what is left */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Finalize();
	return result;
}
