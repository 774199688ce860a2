/* tools/arrivals_show.c — collshim-info --arrivals: its options, its tables, and the same as
 * JSON. */
#include "tools/arrivals.h"

#include "base/parse.h"
#include "base/printable.h"
#include "trace/json.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, WRONG_FILE = 1, WRONG_USE = 2 };
enum { OPTION_JSON = 256, OPTION_SVG, OPTION_MIN_LAT };

struct wish {
	bool is_json;
	const char *svg;
	uint64_t least_ns; /* 0: not given */
};

struct shown {
	FILE *out;
	const struct cs_arrival_files *files;
	const struct cs_arrival_calls *calls;
	const struct cs_arrival_measures *measures;
	uint64_t least_ns; /* Min_Lat; 0: not known */
};

/* Nanoseconds as microseconds with two decimals, with a point in every locale. */
static const char *
us(char text[32], double nanoseconds)
{
	uint64_t hundredths = (uint64_t)(nanoseconds / 10 + 0.5);
	snprintf(text, 32, "%" PRIu64 ".%02" PRIu64, hundredths / 100, hundredths % 100);
	return text;
}

static const char *
factor(char text[32], const struct shown *shown, double nanoseconds)
{
	if (!shown->least_ns)
		return strcpy(text, "-");
	uint64_t tenths = (uint64_t)(nanoseconds / (double)shown->least_ns * 10 + 0.5);
	snprintf(text, 32, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
	return text;
}

/* The sizes of a bin, both included; false: not known. */
static bool
sizes(int bin, uint64_t *low, uint64_t *last)
{
	*low = bin ? UINT64_C(1) << (bin - 1) : 0;
	*last = bin ? *low + (*low - 1) : 0;
	return bin != CS_REPORT_UNKNOWN;
}

static void
bin_text(char text[CS_RANGE_TEXT], enum cs_coll coll, int bin)
{
	uint64_t low, last;
	if (!sizes(bin, &low, &last) || coll == CS_BARRIER)
		strcpy(text, "-");
	else if (!bin)
		strcpy(text, "0");
	else
		cs_byte_range_text(text, (struct cs_range){ low, bin == 64 ? CS_INF : last + 1 });
}

/* --- tables ----------------------------------------------------------------------------------- */

static void
tell_files(const struct shown *shown)
{
	const struct cs_arrival_files *files = shown->files;
	FILE *out = shown->out;
	char text[32];
	fprintf(out, "%d of %" PRIu32 " ranks, on %d node%s", files->count, files->ranks,
		files->nodes, files->nodes == 1 ? "" : "s");
	if (!files->is_one_clock)
		fputs("; their clocks were not brought together: times of different nodes cannot "
		      "be compared", out);
	else if (files->residual_ns)
		fprintf(out, "; their clocks are together to within %s us",
			us(text, (double)files->residual_ns));
	fprintf(out, "\n%" PRIu64 " calls", shown->calls->whole);
	if (shown->calls->partial)
		fprintf(out, "; %" PRIu64 " more are not of all ranks of their communicator",
			shown->calls->partial);
	if (shown->calls->differ)
		fprintf(out, "; %" PRIu64 " more are not the same on all ranks",
			shown->calls->differ);
	if (files->left_out)
		fprintf(out, "; %" PRIu64 " records were left out by COLLSHIM_ARRIVALS_LIMIT",
			files->left_out);
	fputs("\nMin_Lat: ", out);
	if (shown->least_ns)
		fprintf(out, "%s us\n", us(text, (double)shown->least_ns));
	else
		fputs("not known (--min-lat)\n", out);
}

static void
tell_missing(const struct cs_arrival_files *files, FILE *out)
{
	uint32_t missing = files->ranks - (uint32_t)files->count, said = 0;
	if (!missing)
		return;
	fprintf(out, "no file of rank");
	for (uint32_t rank = 0, at = 0; rank < files->ranks && said < 8; rank++) {
		if (at < (uint32_t)files->count && files->files[at].head.world == rank)
			at++;
		else
			fprintf(out, "%s %" PRIu32, said++ ? "," : "", rank);
	}
	if (missing > said)
		fprintf(out, " and %" PRIu32 " more", missing - said);
	putc('\n', out);
}

/* Calls each(shown, coll, bin, sums) for what there was. */
static void
each_class(const struct shown *shown,
	   void (*each)(const struct shown *shown, enum cs_coll coll, int bin,
			const struct cs_arrival_sums *sums))
{
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int bin = 0; bin < CS_REPORT_BINS; bin++)
			if (shown->measures->sums[coll][bin].calls)
				each(shown, coll, bin, &shown->measures->sums[coll][bin]);
}

static void
tell_times(const struct shown *shown, enum cs_coll coll, int bin,
	   const struct cs_arrival_sums *sums)
{
	char bytes[CS_RANGE_TEXT], a[32], b[32], c[32], d[32], e[32];
	double calls = (double)sums->calls;
	bin_text(bytes, coll, bin);
	fprintf(shown->out, "  %-20s %12s %9" PRIu64 " %7.0f %11s %11s %11s %10s %10s\n",
		cs_coll_name((int)coll), bytes, sums->calls, sums->ranks / calls,
		us(a, sums->iota / calls), us(b, sums->waiting / calls),
		us(c, (sums->iota - sums->waiting) / calls), factor(d, shown, sums->delta / calls),
		factor(e, shown, sums->omega / calls));
}

static void
tell_spread(const struct shown *shown, enum cs_coll coll, int bin,
	    const struct cs_arrival_sums *sums)
{
	char bytes[CS_RANGE_TEXT], a[7][32];
	double calls = (double)sums->calls;
	bin_text(bytes, coll, bin);
	fprintf(shown->out, "  %-20s %12s %10s %10s %10s %10s %10s %10s %10s\n",
		cs_coll_name((int)coll),
		bytes, us(a[0], sums->delta / calls), us(a[1], sums->omega / calls),
		us(a[2], (double)sums->worst), us(a[3], sums->first_delta / calls),
		us(a[4], sums->first_omega / calls), us(a[5], sums->last_delta / calls),
		us(a[6], sums->last_omega / calls));
}

/* The rank of a node that has most of these, and how many all of them have. */
static int
most_of(const struct shown *shown, const uint64_t *counts, int node, uint64_t *all)
{
	int most = -1;
	*all = 0;
	for (int i = 0; i < shown->files->count; i++) {
		if (shown->files->node[i] != node)
			continue;
		*all += counts[i];
		most = most < 0 || counts[i] > counts[most] ? i : most;
	}
	return most;
}

static void
tell_arrivers(const struct shown *shown)
{
	const struct cs_arrival_measures *measures = shown->measures;
	fputs("\nfirst and last of their nodes, most often:\n"
	      "  node                  ranks      first   of its calls       last   of its calls\n",
	      shown->out);
	for (int node = 0; node < shown->files->nodes; node++) {
		uint64_t all, ranks = 0;
		int first = most_of(shown, measures->node_first, node, &all),
		    last = most_of(shown, measures->node_last, node, &all);
		for (int i = 0; i < shown->files->count; i++)
			ranks += shown->files->node[i] == node;
		char host[32];
		snprintf(host, sizeof host, "%d %.12s", node, shown->files->files[first].head.host);
		cs_printable_make(host, false);
		fprintf(shown->out, "  %-20s %6" PRIu64 " %10" PRIu32 " %12" PRIu64 " %% %10" PRIu32
			" %12" PRIu64 " %%\n", host, ranks, shown->files->files[first].head.world,
			all ? measures->node_first[first] * 100 / all : 0,
			shown->files->files[last].head.world,
			all ? measures->node_last[last] * 100 / all : 0);
	}
}

static void
tell_histogram(const struct shown *shown)
{
	const uint64_t *bins = shown->measures->histogram;
	int first = 0, last = 2 * CS_ARRIVAL_BINS;
	uint64_t most = 1;
	while (first < CS_ARRIVAL_BINS && !bins[first])
		first++;
	while (last > CS_ARRIVAL_BINS && !bins[last])
		last--;
	for (int bin = first; bin <= last; bin++)
		most = bins[bin] > most ? bins[bin] : most;
	fputs("\narrivals about the mean one of their node, us:\n", shown->out);
	for (int bin = first; bin <= last; bin++) {
		int away = bin - CS_ARRIVAL_BINS, size = away < 0 ? -away : away;
		char range[40];
		if (!away)
			snprintf(range, sizeof range, "within 0.5");
		else
			snprintf(range, sizeof range, "%s%s to %s%lu", away < 0 ? "-" : "+",
				 size == 1 ? "0.5" : "", away < 0 ? "-" : "+",
				 1ul << (size - 1));
		if (size > 1)
			snprintf(range, sizeof range, "%s%lu to %s%lu", away < 0 ? "-" : "+",
				 1ul << (size - 2), away < 0 ? "-" : "+", 1ul << (size - 1));
		fprintf(shown->out, "  %22s %10" PRIu64 " ", range, bins[bin]);
		for (uint64_t k = 0; k < (bins[bin] * 50 + most - 1) / most; k++)
			putc('#', shown->out);
		putc('\n', shown->out);
	}
}

static void
show_tables(const struct shown *shown)
{
	tell_files(shown);
	tell_missing(shown->files, shown->out);
	if (!shown->calls->whole)
		return;
	fprintf(shown->out, "\nmean times in us, and imbalance over Min_Lat:\n"
		"  %-20s %12s %9s %7s %11s %11s %11s %10s %10s\n", "collective", "bytes", "calls",
		"ranks", "in call", "waiting", "moving", "average", "worst case");
	each_class(shown, tell_times);
	fprintf(shown->out, "\nimbalance in us:\n  %-20s %12s %32s %21s %21s\n"
		"  %-20s %12s %10s %10s %10s %10s %10s %10s %10s\n", "", "", "all ranks",
		"first of each node", "last of each node", "collective", "bytes", "average",
		"worst case", "worst call", "average", "worst case", "average", "worst case");
	each_class(shown, tell_spread);
	tell_arrivers(shown);
	tell_histogram(shown);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void
json_time(FILE *out, const char *name, double nanoseconds)
{
	fprintf(out, ", \"%s\": ", name);
	cs_json_seconds(out, (uint64_t)(nanoseconds + 0.5));
}

static const char *comma; /* before the next element */

static void
json_class(const struct shown *shown, enum cs_coll coll, int bin,
	   const struct cs_arrival_sums *sums)
{
	FILE *out = shown->out;
	uint64_t low, last;
	double calls = (double)sums->calls;
	fprintf(out, "%s\n  {\"collective\": ", comma);
	comma = ",";
	cs_json_string(out, cs_coll_name((int)coll));
	if (sizes(bin, &low, &last))
		fprintf(out, ", \"bytes_low\": %" PRIu64 ", \"bytes_last\": %" PRIu64, low, last);
	else
		fputs(", \"bytes_low\": null, \"bytes_last\": null", out);
	fprintf(out, ", \"calls\": %" PRIu64 ", \"deferred\": %" PRIu64, sums->calls,
		sums->deferred);
	json_time(out, "in_call", sums->iota / calls);
	json_time(out, "waiting", sums->waiting / calls);
	json_time(out, "moving", (sums->iota - sums->waiting) / calls);
	json_time(out, "delta", sums->delta / calls);
	json_time(out, "omega", sums->omega / calls);
	json_time(out, "worst", (double)sums->worst);
	json_time(out, "first_delta", sums->first_delta / calls);
	json_time(out, "first_omega", sums->first_omega / calls);
	json_time(out, "last_delta", sums->last_delta / calls);
	json_time(out, "last_omega", sums->last_omega / calls);
	fputs("}", out);
}

static void
json_ranks(const struct shown *shown)
{
	const struct cs_arrival_measures *measures = shown->measures;
	for (int i = 0; i < shown->files->count; i++) {
		const struct cs_arrivals *file = &shown->files->files[i];
		fprintf(shown->out, "%s\n  {\"rank\": %" PRIu32 ", \"node\": %d, \"host\": ",
			i ? "," : "", file->head.world, shown->files->node[i]);
		cs_json_string(shown->out, file->head.host);
		fprintf(shown->out, ", \"calls\": %zu, \"left_out\": %" PRIu64 ", \"complete\": %s",
			file->call_count, file->left_out, file->is_complete ? "true" : "false");
		if (file->clock_count)
			fprintf(shown->out,
				", \"offset_ns\": %" PRId64 ", \"residual_ns\": %" PRIu64,
				file->clocks[0].offset_ns, file->clocks[0].residual_ns);
		else
			fputs(", \"offset_ns\": null, \"residual_ns\": null", shown->out);
		fprintf(shown->out, ", \"drift_ns_per_s\": %" PRId64 ", \"first\": %" PRIu64
			", \"last\": %" PRIu64 ", \"first_on_node\": %" PRIu64
			", \"last_on_node\": %" PRIu64 "}", cs_arrivals_drift(file),
			measures->first[i], measures->last[i], measures->node_first[i],
			measures->node_last[i]);
	}
}

static void
show_json(const struct shown *shown)
{
	FILE *out = shown->out;
	fprintf(out, "{\"collshim\": ");
	cs_json_string(out, CS_VERSION);
	fprintf(out, ",\n \"ranks\": %" PRIu32 ", \"files\": %d, \"nodes\": %d, \"one_clock\": %s, "
		"\"residual_ns\": %" PRIu64 ",\n \"calls\": %" PRIu64 ", \"partial\": %" PRIu64
		", \"differ\": %" PRIu64 ", \"left_out\": %" PRIu64 ", \"min_lat_ns\": ",
		shown->files->ranks, shown->files->count, shown->files->nodes,
		shown->files->is_one_clock ? "true" : "false", shown->files->residual_ns,
		shown->calls->whole, shown->calls->partial, shown->calls->differ,
		shown->files->left_out);
	if (shown->least_ns)
		fprintf(out, "%" PRIu64, shown->least_ns);
	else
		fputs("null", out);
	fputs(",\n \"classes\": [", out);
	comma = "";
	each_class(shown, json_class);
	fputs("],\n \"rank_files\": [", out);
	json_ranks(shown);
	/* Bin k, counted from the middle one, ends 2^(k-1) us behind the mean. */
	fputs("],\n \"histogram\": [", out);
	for (int bin = 0; bin < 2 * CS_ARRIVAL_BINS + 1; bin++)
		fprintf(out, "%s%" PRIu64, bin ? ", " : "", shown->measures->histogram[bin]);
	fputs("]}\n", out);
}

/* --- the command ------------------------------------------------------------------------------ */

static int
no_memory(void)
{
	fputs("collshim-info: out of memory\n", stderr);
	return WRONG_FILE;
}

static int
write_svg(const struct cs_arrival_files *files, const char *path)
{
	bool is_text = !strcmp(path, "-");
	FILE *out = is_text ? stdout : fopen(path, "w");
	enum cs_status status = out ? cs_arrivals_svg(files, out) : CS_SYSTEM;
	int error = errno;
	bool is_written = out && !fflush(out) && !ferror(out);
	if (out && !is_text)
		is_written = !fclose(out) && is_written;
	if (status == CS_NO_MEMORY)
		return no_memory();
	if (status == CS_BAD_INPUT)
		fputs("collshim-info: there is no call of all ranks to be drawn\n", stderr);
	else if (!is_written)
		fprintf(stderr, "collshim-info: %s: %s\n", path, strerror(out ? errno : error));
	return status == CS_OK && is_written ? DONE : WRONG_FILE;
}

static int
show(const struct cs_arrival_files *files, const struct wish *wish)
{
	struct cs_arrival_calls calls;
	struct cs_arrival_measures *measures = malloc(sizeof *measures);
	int code = DONE;
	if (!measures || cs_arrival_measures_init(measures, files) != CS_OK) {
		free(measures);
		return no_memory();
	}
	struct shown shown = {
		.out = stdout, .files = files, .calls = &calls, .measures = measures,
		.least_ns = wish->least_ns ? wish->least_ns : files->least_ns,
	};
	if (cs_arrival_files_walk(files, cs_arrival_measures_add, measures, &calls) != CS_OK)
		code = no_memory();
	else if (wish->is_json)
		show_json(&shown);
	else if (!wish->svg || strcmp(wish->svg, "-"))
		show_tables(&shown);
	if (code == DONE && wish->svg)
		code = write_svg(files, wish->svg);
	cs_arrival_measures_fini(measures);
	free(measures);
	return code;
}

static int
wrong_use(const char *what)
{
	fprintf(stderr, "collshim-info: %s\nTry: collshim-info --help\n", what);
	return WRONG_USE;
}

int
cs_tools_arrivals(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, OPTION_JSON },
						 { "svg", required_argument, NULL, OPTION_SVG },
						 { "min-lat", required_argument, NULL,
						   OPTION_MIN_LAT },
						 { NULL, 0, NULL, 0 } };
	struct wish wish = { .is_json = false };
	struct cs_arrival_files files;
	size_t least;
	int unusable, code = DONE, option;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option) {
		case OPTION_JSON: wish.is_json = true; break;
		case OPTION_SVG: wish.svg = optarg; break;
		case OPTION_MIN_LAT:
			if (!cs_parse_digits(optarg, strlen(optarg), &least) || !least)
				return wrong_use("--min-lat: expected nanoseconds, 1 or more");
			wish.least_ns = least;
			break;
		default: return wrong_use("--arrivals takes files, --json, --svg FILE and "
					  "--min-lat NANOSECONDS");
		}
	if (optind == argc)
		return wrong_use("--arrivals: no file was named");
	if (cs_arrival_files_open(&files, argv + optind, argc - optind, stderr, &unusable) != CS_OK)
		return no_memory();
	if (files.count)
		code = show(&files, &wish);
	cs_arrival_files_close(&files);
	return unusable ? WRONG_FILE : code;
}
