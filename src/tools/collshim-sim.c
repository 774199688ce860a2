/* collshim-sim — how long would an algorithm take on so many nodes? Simulated, never measured.
 * Needs no MPI. */
#include "base/parse.h"
#include "tools/draw.h"
#include "tools/sim_request.h"
#include "tools/terminal.h"
#include "tools/words.h"

#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const char usage[] =
	"usage: collshim-sim COLLECTIVE:ALGORITHM [NAME=VALUE...] [OPTIONS]   simulated time, "
	"messages, bytes\n"
	"       collshim-sim COLLECTIVE --compare [OPTIONS]                   of all algorithms "
	"that can serve it\n"
	"       collshim-sim --list                                           what can be "
	"simulated, and the models\n"
	"       collshim-sim --node-model MODEL [--levels PxGxR] [--json]     collectives of one "
	"node with many cores\n"
	"       collshim-sim --version | --help\n"
	"\n"
	"  NAME=VALUE           a parameter of the algorithm, as segment=64K: see --list; also "
	"behind it, as\n"
	"                       bcast:chain:segment=64K:window=2\n"
	"  --nodes N            nodes (default: 1)\n"
	"  --ppn P              ranks on each node (default: 1)\n"
	"  --cyclic             ranks are dealt out to the nodes in turn (default: a node's ranks "
	"follow each other)\n"
	"  --groups N[:FIRST]   nodes are in groups of N, the first of FIRST, as dragonfly groups "
	"or subtrees of a fat tree,\n"
	"                       each with a link for all messages to other groups; those are "
	"counted (default: no groups)\n"
	"  --taper F            with --groups: a group's link is F times slower than its nodes "
	"together (default: 1)\n"
	"  --bytes B            size of the call, as 8, 64K or 1M (default: 8); what it counts: "
	"see --list\n"
	"  --distribution NAME  blocks of several sizes, made from B: regular, broadcast, spike, "
	"half, decreasing or\n"
	"                       geometric (default: regular)\n"
	"  --root R             of rooted collectives (default: 0)\n"
	"  --non-commutative    the operation of a reduction must keep the order of ranks\n"
	"  --overlap            hierarchical allgather(v): what a round has brought is copied out "
	"of a node's memory while\n"
	"                       the next round's messages are under way (default: all of it at the "
	"end)\n"
	"  --eager SIZE         algorithms without hierarchy: messages up to SIZE are copied into "
	"buffers and out of them,\n"
	"                       inside a node all are (default: none)\n"
	"  --model MODEL        hdr-like, 10gbe-like, mt25204, mt23108, cx6-hdr, "
	"\"hdr-like,L=2e-6\" or\n"
	"                       \"L=1e-6,o=3e-7,G=4e-11\"; given several times: a result for each "
	"(default: hdr-like)\n"
	"  --arrivals PATTERN   one algorithm; ranks come late: none, uniform:500us, "
	"late:RANK:2ms, turning:2ms,\n"
	"                       exponential:300us, first-node, last-node:1ms or file:PATH (as "
	"recorded with\n"
	"                       COLLSHIM_ARRIVALS=PATH). The mean time in the call, and the bound "
	"that data set for it;\n"
	"                       given several times: a result for each\n"
	"  --calls N            with --arrivals: the mean of N calls (default: 1)\n"
	"  --turn-root          with --arrivals: another root in each call, each a node's lowest "
	"rank\n"
	"  --seed N             of random arrivals (default: 1)\n"
	"  --compute TIME       one algorithm, non-blocking: what its call costs ranks that "
	"compute so long before they\n"
	"                       wait, as 500us, or 2x: twice the time of the blocking call\n"
	"  --looks N            of that computation at the call, at equal distances (default: 0); "
	"always: a thread with a\n"
	"                       core of its own\n"
	"  --poll TIME          at its begin and looks ranks stay so long at most until their "
	"messages have met their\n"
	"                       receivers (default: 0us; --model rndv=BYTES)\n"
	"  --play               the library's own phases are stepped, rank by rank, in place of "
	"plans and counts; so\n"
	"                       are algorithms that are no plans (played: see --list)\n"
	"  --node-model MODEL   prices in closed form, flat and by levels: epyc, xeon, arm, a64fx, "
	"or a tuning file\n"
	"                       with section node_models (collshim-bench --node)\n"
	"  --levels PxGxR       with --node-model: packages, groups of each with a last-level "
	"cache, ranks of each\n"
	"                       group (default: the kind's)\n"
	"  --svg FILE           one algorithm without hierarchy, one model: a picture of all "
	"ranks' messages, copies and\n"
	"                       idle times over the simulated time\n"
	"  --json               one algorithm, or --node-model: for programs\n"
	"  --alike              one algorithm without hierarchy, or with --play: the ranks of "
	"node 0 (--play: of the first\n"
	"                       4 nodes) are simulated, and stand for those of all nodes, if each "
	"node does the same\n"
	"  --memory M           most bytes that plans and messages may take (default: 1G)\n"
	"  --verbose            also, on stderr: of one algorithm the simulated time in "
	"picoseconds, and how long each rank\n"
	"                       waits, with each model; how long the simulation took, and how "
	"much memory\n";

enum {
	OPTION_COMPARE = 256, OPTION_LIST, OPTION_VERSION, OPTION_HELP, OPTION_NODES, OPTION_PPN,
		OPTION_CYCLIC,
	OPTION_BYTES, OPTION_DISTRIBUTION, OPTION_ROOT, OPTION_NON_COMMUTATIVE, OPTION_MODEL,
	OPTION_MEMORY, OPTION_VERBOSE, OPTION_OVERLAP, OPTION_EAGER, OPTION_ARRIVALS, OPTION_CALLS,
	OPTION_TURN_ROOT, OPTION_SEED, OPTION_COMPUTE, OPTION_LOOKS, OPTION_POLL, OPTION_GROUPS,
	OPTION_TAPER, OPTION_PLAY,
	OPTION_NODE_MODEL, OPTION_LEVELS, OPTION_JSON, OPTION_SVG, OPTION_ALIKE,
};

static const struct option options[] = {
	{ "compare", no_argument, NULL, OPTION_COMPARE },
	{ "list", no_argument, NULL, OPTION_LIST },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "nodes", required_argument, NULL, OPTION_NODES },
	{ "ppn", required_argument, NULL, OPTION_PPN },
	{ "cyclic", no_argument, NULL, OPTION_CYCLIC },
	{ "groups", required_argument, NULL, OPTION_GROUPS },
	{ "taper", required_argument, NULL, OPTION_TAPER },
	{ "bytes", required_argument, NULL, OPTION_BYTES },
	{ "distribution", required_argument, NULL, OPTION_DISTRIBUTION },
	{ "root", required_argument, NULL, OPTION_ROOT },
	{ "non-commutative", no_argument, NULL, OPTION_NON_COMMUTATIVE },
	{ "overlap", no_argument, NULL, OPTION_OVERLAP },
	{ "eager", required_argument, NULL, OPTION_EAGER },
	{ "model", required_argument, NULL, OPTION_MODEL },
	{ "arrivals", required_argument, NULL, OPTION_ARRIVALS },
	{ "calls", required_argument, NULL, OPTION_CALLS },
	{ "turn-root", no_argument, NULL, OPTION_TURN_ROOT },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "compute", required_argument, NULL, OPTION_COMPUTE },
	{ "looks", required_argument, NULL, OPTION_LOOKS },
	{ "poll", required_argument, NULL, OPTION_POLL },
	{ "node-model", required_argument, NULL, OPTION_NODE_MODEL },
	{ "levels", required_argument, NULL, OPTION_LEVELS },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "svg", required_argument, NULL, OPTION_SVG },
	{ "alike", no_argument, NULL, OPTION_ALIKE },
	{ "memory", required_argument, NULL, OPTION_MEMORY },
	{ "play", no_argument, NULL, OPTION_PLAY },
	{ "verbose", no_argument, NULL, OPTION_VERBOSE },
	{ NULL, 0, NULL, 0 },
};

static int
read_number(const char *name, const char *text, size_t low, size_t high, size_t *number)
{
	char low_text[CS_NUMBER_TEXT], high_text[CS_NUMBER_TEXT];
	if (cs_parse_bytes(text, number) == CS_OK && *number >= low && *number <= high)
		return CS_TOOL_DONE;
	return cs_tool_wrong_use("--%s %s: expected a number from %s to %s", name, text,
				 cs_bytes_text(low_text, low), cs_bytes_text(high_text, high));
}

static int
read_count(const char *name, const char *text, size_t low, size_t high, int *count)
{
	size_t number = low;
	int wrong = read_number(name, text, low, high, &number);
	*count = (int)number;
	return wrong;
}

static int
read_distribution(const char *text, struct cs_sim_options *request)
{
	for (enum cs_distribution i = 0; i < CS_DISTRIBUTIONS; i++)
		if (!strcmp(text, cs_distribution_names[i])) {
			request->call.distribution = i;
			return CS_TOOL_DONE;
		}
	return cs_tool_wrong_use("--distribution %s: expected regular, broadcast, spike, half, "
				 "decreasing or geometric", text);
}

static int
read_model(const char *text, struct cs_sim_options *request)
{
	char complaint[300];
	if (request->model_count == CS_REQUEST_MODELS)
		return cs_tool_wrong_use("--model %s: expected at most %d models", text,
					 CS_REQUEST_MODELS);
	if (cs_model_read(text, &request->models[request->model_count], complaint,
			  sizeof complaint) != CS_OK)
		return cs_tool_wrong_use("--model %s: %s", text, complaint);
	request->model_count++;
	return CS_TOOL_DONE;
}

static int
read_arrivals(const char *text, struct cs_sim_options *request)
{
	char complaint[300];
	int at = request->arrivals_count;
	if (at == CS_REQUEST_ARRIVALS)
		return cs_tool_wrong_use("--arrivals %s: expected at most %d", text,
					 CS_REQUEST_ARRIVALS);
	if (cs_imbalance_read(text, &request->arrivals[at], complaint, sizeof complaint) != CS_OK)
		return cs_tool_wrong_use("--arrivals: %s", complaint);
	request->arrivals_texts[at] = text;
	request->arrivals_count++;
	return CS_TOOL_DONE;
}

static int
read_seed(const char *text, struct cs_sim_options *request)
{
	char *end;
	request->seed = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end)
		return CS_TOOL_DONE;
	return cs_tool_wrong_use("--seed %s: expected a whole number", text);
}

static int
read_groups(char *text, struct cs_sim_options *request)
{
	char *first = strchr(text, ':');
	if (first)
		*first++ = '\0';
	int wrong = read_count("groups", text, 1, 1 << 20, &request->group_nodes);
	request->group_first = request->group_nodes;
	if (first && !wrong)
		wrong = read_count("groups N:FIRST", first, 1, (size_t)request->group_nodes,
				   &request->group_first);
	return wrong;
}

static int
read_taper(const char *text, struct cs_sim_options *request)
{
	char *end;
	double taper = cs_parse_decimal(text, &end);
	if (*end || !(taper >= 0.001 && taper <= 1000))
		return cs_tool_wrong_use("--taper %s: expected a factor from 0.001 to 1000", text);
	request->taper = (int64_t)(taper * CS_SIM_TAPER + 0.5);
	return CS_TOOL_DONE;
}

static int
read_time(const char *name, const char *text, int64_t *picoseconds)
{
	if (!cs_imbalance_read_time(text, picoseconds))
		return cs_tool_wrong_use("--%s %s: expected a time up to 100s, as 500us", name,
					 text);
	*picoseconds *= 1000;
	return CS_TOOL_DONE;
}

static int
read_compute(const char *text, struct cs_sim_options *request)
{
	enum { MOST_FACTOR = 1000 };
	char *end;
	double factor = cs_parse_decimal(text, &end);
	if (strcmp(end, "x") != 0)
		return read_time("compute", text, &request->compute.time);
	if (!(factor > 0 && factor <= MOST_FACTOR))
		return cs_tool_wrong_use("--compute %s: expected a factor up to %dx", text,
					 MOST_FACTOR);
	request->compute_factor = factor;
	return CS_TOOL_DONE;
}

static int
read_looks(const char *text, struct cs_sim_options *request)
{
	int looks = 0, wrong = CS_TOOL_DONE;
	if (!strcmp(text, "always"))
		request->compute.looks = CS_SIM_ALWAYS;
	else if (!(wrong = read_count("looks", text, 0, 1 << 20, &looks)))
		request->compute.looks = (uint32_t)looks;
	return wrong;
}

static int
check_compute(const struct cs_sim_options *request)
{
	const struct cs_sim_compute *compute = &request->compute;
	bool computes = compute->time || request->compute_factor > 0;
	if (!computes && (compute->looks || compute->poll))
		return cs_tool_wrong_use("--looks, --poll: expected --compute as well");
	if (computes && (!request->algorithm || request->arrivals_count ||
			 cs_tool_is_played(request, request->algorithm)))
		return cs_tool_wrong_use("--compute: expected one algorithm that is a plan, and no "
					 "--arrivals and --play");
	return CS_TOOL_DONE;
}

static int
check_arrivals(struct cs_sim_options *request)
{
	char complaint[300];
	int ranks = request->call.nodes * request->call.ppn;
	if (request->arrivals_count && !request->algorithm)
		return cs_tool_wrong_use("--arrivals: expected one algorithm, not --compare");
	if (!request->arrivals_count && (request->call_count > 1 || request->turns_root))
		return cs_tool_wrong_use("--calls, --turn-root: expected --arrivals as well");
	if (request->turns_root && (request->has_root || !cs_colls[request->call.coll].rooted))
		return cs_tool_wrong_use("--turn-root: expected a collective with a root, and no "
					 "--root");
	for (int i = 0; i < request->arrivals_count; i++) {
		request->arrivals[i].seed = request->seed;
		if (cs_imbalance_fits(&request->arrivals[i], ranks, complaint,
				      sizeof complaint) != CS_OK)
			return cs_tool_wrong_use("--arrivals: %s", complaint);
	}
	return CS_TOOL_DONE;
}

static int
check_bytes(struct cs_sim_options *request)
{
	struct cs_sim_call *call = &request->call;
	const struct cs_coll_info *info = &cs_colls[call->coll];
	size_t parts = cs_coll_is_scattered(info) ? (size_t)call->nodes * (size_t)call->ppn : 1;
	if (call->coll == CS_BARRIER && request->has_bytes && call->bytes)
		return cs_tool_wrong_use("--bytes %zu: a barrier has no size", call->bytes);
	if (!request->has_bytes)
		call->bytes = call->coll == CS_BARRIER ? 0 : CS_CALL_UNIT * parts;
	if (info->reduces && call->bytes % (CS_CALL_UNIT * parts))
		return cs_tool_wrong_use("--bytes %zu: expected a multiple of %zu for %s, elements "
					 "have %d bytes", call->bytes, CS_CALL_UNIT * parts,
					 info->name, CS_CALL_UNIT);
	return CS_TOOL_DONE;
}

/* Refuses options about data movement unless one algorithm is named that moves data so. */
static int
check_way(const struct cs_sim_options *request)
{
	bool is_allgather = request->call.coll == CS_ALLGATHER ||
			    request->call.coll == CS_ALLGATHERV;
	bool is_hier = request->algorithm && request->algorithm->inner;
	if (request->plays && !cs_tool_is_played(request, request->algorithm))
		return cs_tool_wrong_use("--play: expected one algorithm with phases of its own, "
					 "as bcast:hier:binomial");
	if (request->is_json && (!request->algorithm || request->compute.time ||
				 request->compute_factor > 0))
		return cs_tool_wrong_use("--json: expected one algorithm, and no --compute");
	if (request->svg && (!request->algorithm || is_hier || request->arrivals_count ||
			     request->model_count > 1 || request->eager || request->is_json ||
			     request->compute.time || request->compute_factor > 0 ||
			     request->call.nodes > CS_DRAW_MOST_RANKS / request->call.ppn ||
			     cs_tool_is_played(request, request->algorithm)))
		return cs_tool_wrong_use("--svg: expected one algorithm without hierarchy, one "
					 "model, at most %d ranks, and no --arrivals, --compute, "
					 "--eager or --json", CS_DRAW_MOST_RANKS);
	if (request->overlaps && (!(is_hier && is_allgather) || request->plays))
		return cs_tool_wrong_use("--overlap: expected a hierarchical allgather or "
					 "allgatherv, as allgather:hier:ring");
	if (request->is_alike && ((is_hier && !request->plays) || !request->algorithm ||
				  request->arrivals_count || request->group_nodes ||
				  request->call.is_cyclic || request->svg ||
				  request->compute.time || request->compute_factor > 0))
		return cs_tool_wrong_use("--alike: expected one algorithm, without hierarchy or "
					 "with --play, and no --arrivals, --compute, --cyclic, "
					 "--groups or --svg");
	if (request->eager && (is_hier || !request->algorithm))
		return cs_tool_wrong_use("--eager: expected one algorithm without hierarchy, as "
					 "allgather:recursive-doubling");
	return CS_TOOL_DONE;
}

static int
check_call(struct cs_sim_options *request)
{
	const struct cs_sim_call *call = &request->call;
	const struct cs_coll_info *info = &cs_colls[call->coll];
	long long ranks = (long long)call->nodes * call->ppn;
	if (ranks > INT_MAX)
		return cs_tool_wrong_use("%d nodes of %d ranks: expected at most %d ranks",
					 call->nodes, call->ppn, INT_MAX);
	if (request->has_root && !info->rooted)
		return cs_tool_wrong_use("--root: %s has no root", info->name);
	if (call->bytes > ((size_t)1 << 60) / (size_t)ranks)
		return cs_tool_wrong_use("--bytes %zu: too much for %lld ranks", call->bytes,
					 ranks);
	if (check_arrivals(request) || check_compute(request))
		return CS_TOOL_WRONG_USE;
	if (request->taper && !request->group_nodes)
		return cs_tool_wrong_use("--taper: expected --groups as well");
	if (call->root >= ranks)
		return cs_tool_wrong_use("--root %d: expected a rank from 0 to %lld", call->root,
					 ranks - 1);
	if (call->distribution && !cs_sim_call_has_sizes(call->coll))
		return cs_tool_wrong_use("--distribution: all blocks of %s have one size; expected "
					 "a collective as %sv", info->name,
					 call->coll == CS_ALLTOALL ? "alltoall" : "allgather");
	if (!call->is_commutative && !info->reduces)
		return cs_tool_wrong_use("--non-commutative: %s has no operation", info->name);
	return check_bytes(request);
}

static int
read_words(int argc, char **argv, struct cs_sim_options *request)
{
	for (int i = optind; i < argc; i++) {
		if (strchr(argv[i], '=') && !cs_tools_params(argv[i])) {
			request->words[request->word_count++] = argv[i];
		} else if (request->what) {
			return cs_tool_wrong_use("unexpected argument %s; expected one "
						 "COLLECTIVE:ALGORITHM and NAME=VALUE", argv[i]);
		} else {
			request->what = argv[i];
			request->word_count +=
				cs_tools_cut(argv[i], request->words + request->word_count);
		}
	}
	bool is_alone = request->lists || request->node_model;
	if (!request->what == !is_alone || (request->lists && request->node_model))
		return cs_tool_wrong_use("expected COLLECTIVE:ALGORITHM, COLLECTIVE --compare, "
					 "--list or --node-model");
	if (!request->node_model && request->levels.packages)
		return cs_tool_wrong_use("--levels: expected --node-model as well");
	if (request->word_count && (request->lists || request->compares))
		return cs_tool_wrong_use("%s belongs to one algorithm, not to %s",
					 request->words[0], request->lists
					 ? "--list" : "--compare");
	return CS_TOOL_DONE;
}

/* DONE, WRONG_USE, or -1 when --help or --version has been answered. */
static int
read_option(int option, struct cs_sim_options *request)
{
	struct cs_sim_call *call = &request->call;
	switch (option) {
	case OPTION_COMPARE: request->compares = true; break;
	case OPTION_LIST: request->lists = true; break;
	case OPTION_NODES: return read_count("nodes", optarg, 1, 1 << 20, &call->nodes);
	case OPTION_PPN: return read_count("ppn", optarg, 1, 1 << 12, &call->ppn);
	case OPTION_CYCLIC: call->is_cyclic = true; break;
	case OPTION_GROUPS: return read_groups(optarg, request);
	case OPTION_TAPER: return read_taper(optarg, request);
	case OPTION_BYTES:
		request->has_bytes = true;
		return read_number("bytes", optarg, 0, (size_t)1 << 40, &call->bytes);
	case OPTION_DISTRIBUTION: return read_distribution(optarg, request);
	case OPTION_ROOT:
		request->has_root = true;
		return read_count("root", optarg, 0, INT_MAX, &call->root);
	case OPTION_NON_COMMUTATIVE: call->is_commutative = false; break;
	case OPTION_PLAY: request->plays = true; break;
	case OPTION_OVERLAP: request->overlaps = true; break;
	case OPTION_ALIKE: request->is_alike = true; break;
	case OPTION_EAGER: return read_number("eager", optarg, 1, (size_t)1 << 40, &request->eager);
	case OPTION_ARRIVALS: return read_arrivals(optarg, request);
	case OPTION_CALLS:
		return read_count("calls", optarg, 1, CS_REQUEST_CALLS, &request->call_count);
	case OPTION_TURN_ROOT: request->turns_root = true; break;
	case OPTION_SEED: return read_seed(optarg, request);
	case OPTION_COMPUTE: return read_compute(optarg, request);
	case OPTION_LOOKS: return read_looks(optarg, request);
	case OPTION_POLL: return read_time("poll", optarg, &request->compute.poll);
	case OPTION_MODEL: return read_model(optarg, request);
	case OPTION_NODE_MODEL: request->node_model = optarg; break;
	case OPTION_JSON: request->is_json = true; break;
	case OPTION_SVG: request->svg = optarg; break;
	case OPTION_LEVELS:
		if (cs_tool_read_levels(optarg, &request->levels))
			break;
		return cs_tool_wrong_use("--levels %s: expected packages x groups x ranks, at most "
					 "1024 in all, as 2x8x8", optarg);
	case OPTION_MEMORY: return read_number("memory", optarg, 1 << 20, (size_t)1 << 40,
					       &request->memory);
	case OPTION_VERBOSE: request->is_verbose = true; break;
	case OPTION_VERSION:
		puts("collshim " CS_VERSION);
		return -1;
	case OPTION_HELP:
	case 'h':
		fputs(usage, stdout);
		return -1;
	default: /* getopt_long has said what */
		fputs("Try: collshim-sim --help\n", stderr);
		return CS_TOOL_WRONG_USE;
	}
	return CS_TOOL_DONE;
}

static int
read_arguments(int argc, char **argv, struct cs_sim_options *request)
{
	int wrong = CS_TOOL_DONE, option;
	while (!wrong && (option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		wrong = read_option(option, request);
	if (!wrong)
		wrong = read_words(argc, argv, request);
	if (wrong || request->lists || request->node_model)
		return wrong;
	wrong = cs_request_find(request);
	if (!wrong)
		wrong = check_way(request);
	return wrong ? wrong : check_call(request);
}

/* A single plan may be larger than anything; malloc shall say so, not the machine. (The sanitizer's
 * own memory is more.) */
static void
limit_memory(const struct cs_sim_options *request)
{
	/* A player counts for itself, and has memory that nobody touches. */
	if (cs_tool_is_played(request, request->algorithm)) {
		mallopt(M_MMAP_THRESHOLD, 32 << 10); /* it stays so */
		return;
	}
#ifndef __SANITIZE_ADDRESS__
	struct rlimit limit;
	rlim_t wanted = 3 * (rlim_t)request->memory + (256 << 20);
	if (getrlimit(RLIMIT_DATA, &limit) == 0 &&
	    (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > wanted)) {
		limit.rlim_cur = wanted;
		setrlimit(RLIMIT_DATA, &limit);
	}
#endif
	/* Large plans come and go, one for each rank: memory is kept for the next one, or the
	 * kernel clears it each time. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

static void
say_cost(const struct timespec *start)
{
	struct timespec end;
	struct rusage usage_now;
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &usage_now);
	fprintf(stderr, "collshim-sim: the simulation took %.2f s and %ld MiB at most\n",
		(double)(end.tv_sec - start->tv_sec) + 1e-9 *
		(double)(end.tv_nsec - start->tv_nsec), usage_now.ru_maxrss / 1024);
}

static int
simulate(struct cs_sim_options *request)
{
	struct cs_sim_call call = request->call;
	struct timespec start;
	int wrong = CS_TOOL_CANNOT;
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (cs_sim_call_init(&call) != CS_OK)
		fputs("collshim-sim: out of memory\n", stderr);
	else if (request->arrivals_count)
		wrong = cs_request_arrivals(request, &call);
	else
		wrong = request->compares ? cs_request_compare(request, &call)
					  : cs_request_simulate(request, &call);
	cs_sim_call_fini(&call);
	if (request->is_verbose && !wrong)
		say_cost(&start);
	return wrong;
}

int
main(int argc, char **argv)
{
	struct cs_sim_options request = { .call = { .nodes = 1, .ppn = 1, .is_commutative = true },
				   .memory = (size_t)1 << 30, .seed = CS_IMBALANCE_SEED,
				   .call_count = 1 };
	cs_tools_print_printably();
	size_t most_words = (size_t)argc + 1;
	for (int i = 1; i < argc; i++)
		most_words += cs_tools_most_words(argv[i]);
	request.words = calloc(most_words, sizeof *request.words);
	int wrong = request.words ? read_arguments(argc, argv, &request) : CS_TOOL_CANNOT;
	if (!request.model_count)
		request.models[request.model_count++] = cs_models[0];
	if (!request.taper)
		request.taper = CS_SIM_TAPER;
	if (!wrong) {
		limit_memory(&request);
		wrong = request.lists ? cs_tool_list()
			: request.node_model ? cs_tool_node(&request) : simulate(&request);
	}
	free(request.words);
	for (int i = 0; i < request.arrivals_count; i++)
		free(request.arrivals[i].recorded);
	if (fflush(stdout) || ferror(stdout)) {
		perror("collshim-sim: standard output");
		return CS_TOOL_CANNOT;
	}
	return wrong < 0 ? CS_TOOL_DONE : wrong;
}
