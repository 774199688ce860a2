/* topo/node_cost.c — prices collectives of one node by closed forms. */
#include "topo/node_cost.h"

#define OVERHEAD 40000 /* ps of a further phase; assumed */
#define FOLD 2000      /* ps of folding one line's payload; assumed */
#define INLINE 48      /* bytes that a line carries beside its flag */
#define LINE 64
#define PAGE 4096
#define UNIT 8         /* most ranks whose small blocks one rank packs */
#define FAN_MOST 16    /* members of a group beyond which it is parted by eights */
#define SMALLEST 4096  /* bytes of a pipeline's chunk */
#define LARGEST (256 << 10)
#define ALL_READ_ALL 16 /* ranks up to which all look at all in a flat barrier */
#define ALLTOALL_MOST 256

#define ROUND (32 << 10) /* bytes of a round of slices: half a slot of more than 64 ranks */
#define WHOLE_MOST 2048 /* bytes up to which a vector is folded as a whole, or all are packed */
#define READ_ALL (16 << 10) /* bytes of the vectors that a rank of a scan reads */
#define UNIT_LINES 2   /* that are fetched one by one; those behind them stream */
#define MATE_LINES 32

/* Ranks of a node. The last package has the fewest mates, so its ranks read longest. */
struct place {
	const struct cs_node_model *m;
	int p, q, u;                 /* ranks; of a group; of a unit that packs */
	int members[CS_DISTANCES];   /* of a group, groups of a package, packages */
	int seen[CS_DISTANCES];      /* other ranks by distance from the last rank */
	int led[CS_DISTANCES];       /* from the first one, a root or leader */
	enum cs_distance top;
	int64_t cache;
};

static int
least(int a, int b)
{
	return a < b ? a : b;
}

static int64_t
longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t
shorter(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int
parts(int whole, int part)
{
	return (whole + part - 1) / part;
}

/* ps of bytes at fs a byte; no product of the two is needed whole. */
static int64_t
copy(int64_t bytes, int64_t rate)
{
	return bytes / 1000 * rate + bytes % 1000 * rate / 1000;
}

static struct place
place_of(const struct cs_node_model *model, const struct cs_node_groups *shape, int ranks)
{
	struct place at = { .m = model, .p = ranks, .cache = shape->cache };
	int groups = shape->groups, size = shape->ranks;
	if (!cs_node_model_separates(model, CS_SAME_PACKAGE)) {
		size *= groups;
		groups = 1;
	}
	int package = size * groups, packages = parts(ranks, package);
	int last = ranks - (packages - 1) * package;
	at.q = least(ranks, size);
	at.u = least(at.q, UNIT);
	at.members[CS_SAME_LLC] = at.q;
	at.members[CS_SAME_PACKAGE] = least(groups, parts(ranks, size));
	at.members[CS_FAR] = packages;
	at.seen[CS_SAME_LLC] = least(last, size) - 1;
	at.seen[CS_SAME_PACKAGE] = last - 1 - at.seen[CS_SAME_LLC];
	at.seen[CS_FAR] = ranks - last;
	at.led[CS_SAME_LLC] = at.q - 1;
	at.led[CS_FAR] = ranks - least(ranks, package);
	at.led[CS_SAME_PACKAGE] = ranks - at.q - at.led[CS_FAR];
	at.top = packages > 1 ? CS_FAR : at.members[CS_SAME_PACKAGE] > 1 ? CS_SAME_PACKAGE
		 : CS_SAME_LLC;
	return at;
}

/* A rank's own copy of what does not fit into a line. */
static int64_t
read_long(const struct cs_node_model *m, enum cs_distance level, size_t bytes)
{
	return bytes <= INLINE ? 0 : copy((int64_t)bytes, level ? m->b_mem : m->b_core);
}

/* `each` lines of so many sources by distance, which are ready: the very first takes its time,
 * `few` of each source the gap, those behind stream. */
static int64_t
read_ready(const struct place *at, const int64_t sources[CS_DISTANCES], int64_t each, int64_t few)
{
	int64_t sum = 0, bytes = longer(each - few, 0) * LINE, stream = 0;
	for (int level = 0; level < CS_DISTANCES; level++) {
		sum += sources[level] * shorter(each, few) * at->m->t[level];
		stream += copy(sources[level] * bytes, level ? at->m->b_mem : at->m->b_core);
	}
	return at->m->t[at->top] + stream +
	       longer(sum - at->m->t[at->top], 0) * at->m->gap / 1000;
}

int64_t
cs_node_collect(const struct cs_node_model *model, enum cs_distance level, int k, size_t bytes,
		bool folds)
{
	int64_t fold = folds ? FOLD * (int64_t)parts((int)shorter((int64_t)bytes, 1 << 20), INLINE)
			     : 0;
	return OVERHEAD + model->t[level] * (1000 + (k - 1) * model->gap) / 1000 +
	       k * (fold + read_long(model, level, bytes));
}

int64_t
cs_node_tell(const struct cs_node_model *model, enum cs_distance level, int k, size_t bytes)
{
	int64_t out = level && bytes > INLINE ? copy(k * (int64_t)bytes, model->b_out) : 0;
	return OVERHEAD + model->t[level] + (k - 1) * model->kappa[level > CS_SAME_LLC] +
	       longer(read_long(model, level, bytes), out);
}

/* Steps of one fan-out until one of the level's members is left. */
static int64_t
steps(const struct place *at, enum cs_distance level, int k, size_t bytes, bool is_up, bool folds)
{
	int64_t time = 0;
	for (int left = at->members[level]; left > 1; left = parts(left, k + 1)) {
		int fan = least(k, left - 1);
		time += is_up ? cs_node_collect(at->m, level, fan, bytes, folds)
			      : cs_node_tell(at->m, level, fan, bytes);
	}
	return time;
}

/* Through all levels, each with its best fan-out. */
static int64_t
walk(const struct place *at, size_t bytes, bool is_up, bool folds, struct cs_node_way *way)
{
	int64_t sum = 0;
	for (enum cs_distance level = 0; level < CS_DISTANCES; level++) {
		int64_t best = CS_NODE_NEVER;
		int chosen = 0;
		for (int k = 1; k <= CS_NODE_FAN_MOST && at->members[level] > 1; k++) {
			int64_t time = steps(at, level, k, bytes, is_up, folds);
			if (time < best)
				chosen = least(k, at->members[level] - 1);
			best = shorter(time, best);
		}
		(is_up ? way->up : way->down)[level] = chosen;
		sum += chosen ? best : 0;
	}
	return sum;
}

static int64_t
collect(const struct place *at, size_t bytes, bool folds, struct cs_node_way *way)
{
	return walk(at, bytes, true, folds, way);
}

static int64_t
tell(const struct place *at, size_t bytes, struct cs_node_way *way)
{
	return walk(at, bytes, false, false, way);
}

/* --- flat ------------------------------------------------------------------------------------- */

static int64_t
flat_readers(const struct place *at)
{
	return at->m->kappa[0] * at->led[0] + at->m->kappa[1] * (at->led[1] + at->led[2]);
}

static int64_t
flat_tell(const struct place *at)
{
	return at->m->t[at->top] + flat_readers(at);
}

static int64_t
flat_read(const struct place *at, const int others[CS_DISTANCES])
{
	int64_t sum = 0;
	for (int level = 0; level < CS_DISTANCES; level++)
		sum += others[level] * at->m->t[level];
	return at->m->t[at->top] + sum * at->m->gap / 1000;
}

static int64_t
flat_all(const struct place *at)
{
	return longer(flat_read(at, at->seen), flat_tell(at));
}

/* All ranks read n bytes of every other: what leaves a group, what crosses between packages, or a
 * rank's own copies take longest. */
static int64_t
flat_bytes(const struct place *at, int64_t n)
{
	const struct cs_node_model *m = at->m;
	int64_t across = (int64_t)at->led[CS_FAR] * (at->p - at->led[CS_FAR]); /* a full package */
	return longer(longer(copy((at->p - at->q) * (int64_t)at->q * n, m->b_out),
			     copy(across * n, m->b_link)), copy((at->p - 1) * n, m->b_core));
}

/* Results that fit in no cache are written to memory. */
static int64_t
written(const struct place *at, int64_t n)
{
	int64_t bytes = (int64_t)at->q * at->p * n;
	return bytes >= at->cache ? copy(bytes, at->m->b_out) : 0;
}

/* The root's data leaves its group once for each rank outside; or, streamed to memory, comes from
 * there, over one link. */
static int64_t
flat_bcast(const struct place *at, int64_t n)
{
	const struct cs_node_model *m = at->m;
	int64_t one = copy(n, m->b_core);
	int64_t cached = longer(flat_tell(at) + one, copy((at->p - at->q) * n, m->b_out));
	int64_t link = copy(at->seen[CS_FAR] * n, m->b_link);
	int64_t streamed = flat_tell(at) + longer(longer(copy(at->p * n, m->b_package), link),
						  copy(n, m->b_mem));
	if (n <= INLINE)
		return flat_tell(at);
	return one + (n < LARGEST ? cached : shorter(cached, streamed));
}

/* Vectors as a whole, or slices in two rounds; the second for allreduce alone. */
static int64_t
flat_reduce(const struct place *at, int64_t n, bool is_all)
{
	const struct cs_node_model *m = at->m;
	int64_t fold = (at->p - 1) * (int64_t)FOLD, foreign = (at->p - at->q) * n;
	int64_t whole = fold + (is_all ? flat_all(at) : flat_read(at, at->led));
	if (n <= INLINE)
		return whole;
	whole += is_all ? flat_bytes(at, n)
			: copy((at->q - 1) * n, m->b_core) + copy(foreign, m->b_mem);
	int64_t round = flat_all(at) + OVERHEAD + flat_bytes(at, parts((int)n, at->p));
	int64_t last = is_all ? round : flat_read(at, at->led) + copy(n, m->b_mem);
	return shorter(whole, copy(n, m->b_core) + round + last + fold);
}

/* Each rank reads its block of all vectors. */
static int64_t
flat_reduce_scatter(const struct place *at, int64_t n)
{
	return copy(n, at->m->b_core) + flat_all(at) + flat_bytes(at, parts((int)n, at->p)) +
	       (at->p - 1) * (int64_t)FOLD;
}

/* The last rank reads all vectors; longer ones double from step to step, a flag and a vector at a
 * time. */
static int64_t
flat_scan(const struct place *at, int64_t n)
{
	const struct cs_node_model *m = at->m;
	int64_t sum = copy(n, m->b_core);
	if (n * (at->p - 1) <= READ_ALL)
		return flat_all(at) + (at->p - 1) * (int64_t)FOLD +
		       (n <= INLINE ? 0 : sum + flat_bytes(at, n));
	for (int far = 1; far < at->p; far *= 2) {
		enum cs_distance level = far < at->q ? CS_SAME_LLC
					 : far < at->q * at->members[CS_SAME_PACKAGE]
					 ? CS_SAME_PACKAGE : CS_FAR;
		sum += OVERHEAD + 2 * m->t[level] + FOLD + copy(n, level ? m->b_mem : m->b_core);
	}
	return sum;
}

static int64_t
flat_gather(const struct place *at, int64_t n)
{
	int64_t near = copy(n, at->m->b_core) + copy((at->q - 1) * n, at->m->b_core);
	return flat_read(at, at->led) +
	       (n <= INLINE ? 0 : near + copy((at->p - at->q) * n, at->m->b_mem));
}

static int64_t
price_flat(const struct place *at, enum cs_coll coll, int64_t n)
{
	switch ((int)coll) {
	case CS_BARRIER: return at->p <= ALL_READ_ALL ? flat_all(at)
			: flat_read(at, at->led) + flat_tell(at);
	case CS_BCAST: return flat_bcast(at, n);
	case CS_REDUCE: return flat_reduce(at, n, false);
	case CS_ALLREDUCE: return flat_reduce(at, n, true);
	case CS_REDUCE_SCATTER: case CS_REDUCE_SCATTER_BLOCK: return flat_reduce_scatter(at, n);
	case CS_GATHER: return flat_gather(at, n);
	case CS_SCAN: case CS_EXSCAN: return flat_scan(at, n);
	case CS_SCATTER: return flat_tell(at) + copy((at->p - at->q) * n, at->m->b_out) +
				(n > INLINE ? copy(n, at->m->b_mem) : 0);
	default: return flat_all(at) + (n <= INLINE ? 0 : copy(n, at->m->b_core) +
					flat_bytes(at, n) + written(at, n));
	}
}

/* --- levels ----------------------------------------------------------------------------------- */

/* A packed unit of n bytes for each rank, from every other unit. */
static int64_t
read_units(const struct place *at, int64_t n, const int others[CS_DISTANCES])
{
	int64_t sources[CS_DISTANCES] = { (others[CS_SAME_LLC] + 1) / at->u - 1,
					  parts(others[CS_SAME_PACKAGE], at->u),
					  parts(others[CS_FAR], at->u) };
	sources[CS_SAME_LLC] = longer(sources[CS_SAME_LLC], 0);
	return OVERHEAD + read_ready(at, sources, (at->u * n + INLINE - 1) / INLINE, UNIT_LINES);
}

/* Lines that a mate has just made. */
static int64_t
read_mate(const struct place *at, int64_t lines)
{
	int64_t t = at->m->t[CS_SAME_LLC];
	return OVERHEAD + t + (shorter(lines, MATE_LINES) - 1) * t * at->m->gap / 1000 +
	       copy(longer(lines - MATE_LINES, 0) * LINE, at->m->b_core);
}

static int64_t
collect_unit(const struct place *at, int64_t n)
{
	return at->u < 2 ? 0 : cs_node_collect(at->m, CS_SAME_LLC, at->u - 1, (size_t)n, false);
}

/* The blocks of a unit packed by its leader, leaders all to all, the packed whole to the mates; or
 * each foreign block fetched once for a group. */
static void
allgather(const struct place *at, int64_t n, struct cs_node_way *way)
{
	const struct cs_node_model *m = at->m;
	int64_t packed = collect_unit(at, n) + read_units(at, n, at->seen) +
			 read_mate(at, (at->p * n + LINE - 1) / LINE) + written(at, n);
	int64_t groups = parts(at->p, at->q), far = at->seen[CS_FAR];
	int64_t fetched = longer(copy((groups - 1) * at->q * n, m->b_out),
				 copy(parts(at->p - (int)far, at->q) * far * n, m->b_link));
	int64_t write = written(at, n), mates = copy(at->p * n, m->b_core);
	int64_t once = 2 * (OVERHEAD + m->t[at->top]) + copy(n, m->b_core) +
		       (write ? fetched + mates + write : longer(fetched, mates));
	bool packs = n <= INLINE || packed <= once;
	way->form = packs ? "packed by group, leaders all to all" : "once for each group";
	if (n <= INLINE || groups > 1)
		way->time = packs ? packed : once;
	way->up[CS_SAME_LLC] = way->down[CS_SAME_LLC] = at->u - 1;
}

/* The ranks of a unit share the source units, and hand over to their mates what they fetched. */
static void
alltoall(const struct place *at, int64_t n, struct cs_node_way *way)
{
	int units = parts(at->p, at->u), turns = parts(units, at->u);
	int64_t each = at->u * ((at->u * n + LINE - 1) / LINE), fetched = turns * each;
	int64_t far = fetched * at->seen[CS_FAR] / at->p;
	int64_t near = at->q > at->u || at->top == CS_SAME_LLC ? fetched * at->q / at->p : 0;
	int64_t lines[] = { near, fetched - far - near, far };
	int64_t mates = 2 * (at->u - 1) * ((at->u * n + LINE - 1) / LINE);
	way->form = "fetched for the group";
	if (n <= ALLTOALL_MOST)
		way->time = OVERHEAD + read_ready(at, lines, 1, 1) + read_mate(at, mates);
}

static void
gather(const struct place *at, int64_t n, struct cs_node_way *way)
{
	int64_t own = n <= INLINE ? OVERHEAD : copy((at->u - 1) * n, at->m->b_core);
	way->form = "packed by group";
	way->time = collect_unit(at, n) + read_units(at, n, at->led) + own;
	way->up[CS_SAME_LLC] = at->u - 1;
}

/* Lines behind a flag, of each of k packed units. */
static int64_t
read_packed(const struct cs_node_model *m, enum cs_distance level, int k, int64_t bytes)
{
	int64_t lines = bytes <= INLINE ? 0 : (bytes + LINE - 1) / LINE,
		few = shorter(lines, UNIT_LINES);
	return k * (few * m->t[level] * m->gap / 1000 +
		    copy((lines - few) * LINE, level ? m->b_mem : m->b_core));
}

/* Vectors packed on their way up; all results made by the root; a child reads its subtree's of
 * those that its parent tells. */
static void
scan(const struct place *at, int64_t n, struct cs_node_way *way)
{
	const struct cs_node_model *m = at->m;
	int64_t time = (at->p - 1) * (int64_t)FOLD, below = n;
	if (n * at->p > WHOLE_MOST)
		return;
	for (enum cs_distance level = 0; level < CS_DISTANCES; level++)
		for (int left = at->members[level], fan; left > 1; left = parts(left, fan)) {
			fan = left > FAN_MOST ? UNIT : left;
			int64_t told = below * fan > INLINE ? longer(below, INLINE + 1) : 0;
			time += cs_node_collect(m, level, fan - 1, 0, false) +
				read_packed(m, level, fan - 1, below) +
				cs_node_tell(m, level, fan - 1, 0) + read_packed(m, level, 1, told);
			below *= fan;
			way->up[level] = way->down[level] = fan - 1;
		}
	way->form = "collect, tell";
	way->time = time;
}

/* Leaders poll the root's line, each reads its unit's blocks and tells them to its mates. Longer
 * ones have to leave the root's group in any case. */
static void
scatter(const struct place *at, int64_t n, struct cs_node_way *way)
{
	int others = parts(at->p, at->u) - 1;
	int64_t lines = (at->u * n + LINE - 1) / LINE;
	way->form = "packed by group";
	if (n > LINE || !others)
		return;
	way->time = cs_node_tell(at->m, at->top, others, 0) +
		    (lines - 1) * at->m->t[at->top] * at->m->gap / 1000 +
		    cs_node_tell(at->m, CS_SAME_LLC, least(at->u, at->q - 1), 0);
	way->down[CS_SAME_LLC] = at->u - 1;
	way->down[at->top] = others;
}

/* Leaders of groups in a tree, by pieces; mates read their leader's. A leader reads and writes all,
 * and all that its children read leaves its group. */
static void
long_bcast(const struct place *at, int64_t n, struct cs_node_way *way)
{
	const struct cs_node_model *m = at->m;
	int groups = parts(at->p, at->q);
	if (n <= SMALLEST || groups < 2)
		return;
	for (int k = 2; k <= CS_NODE_FAN_MOST; k++) {
		int depth = 0;
		for (int64_t reached = 1, row = 1; reached < groups; reached += row, depth++)
			row *= k;
		for (int64_t chunk = SMALLEST; chunk <= LARGEST; chunk *= 2) {
			int64_t c = shorter(chunk, n), sync = OVERHEAD + m->t[at->top];
			int64_t rate = longer(longer(m->b_mem + m->b_core,
						     least(k, groups - 1) * m->b_out), m->b_link);
			int64_t time = copy(n, m->b_core) + copy(n, rate) + n / c * sync +
				       (depth - 1) * (copy(c, rate) + sync) +
				       cs_node_tell(m, CS_SAME_LLC, at->q - 1, 0);
			if (time >= way->time)
				continue;
			*way = (struct cs_node_way){ .time = time, .chunk = (size_t)c,
						     .form = "leaders in a tree, by chunks",
						     .down = { at->q - 1, least(k, groups - 1) } };
		}
	}
}

/* Slices by level, in rounds: after each the vector that a rank is in charge of is a part of the
 * one before; then back, to all or towards the root, unless it stays there. In each step a rank
 * looks at all of a group. */
static void
long_reduce(const struct place *at, int64_t n, bool goes_back, struct cs_node_way *way)
{
	const struct cs_node_model *m = at->m;
	struct cs_node_way slices = { .form = "slices by level" };
	int64_t half = 0, own = n, rounds = (n + ROUND - 1) / ROUND;
	for (enum cs_distance level = 0; level < CS_DISTANCES; level++) {
		int64_t part = own / at->members[level];
		int others = at->members[level] - 1;
		half += copy(own - part, level ? m->b_mem : m->b_core);
		half += others ? rounds * cs_node_collect(m, level, others, 0, false) : 0;
		own = part;
		slices.up[level] = others;
		slices.down[level] = goes_back ? others : 0;
	}
	slices.time = copy(n, m->b_core) + (goes_back ? 2 : 1) * half;
	if (n > WHOLE_MOST && at->top > CS_SAME_LLC && slices.time < way->time)
		*way = slices;
}

static void
price_levels(const struct place *at, enum cs_coll coll, int64_t n, struct cs_node_way *way)
{
	size_t bytes = (size_t)n;
	struct cs_node_way made = { .time = CS_NODE_NEVER };
	switch ((int)coll) {
	case CS_BARRIER:
		made.form = "collect, tell";
		made.time = collect(at, 0, false, &made) + tell(at, 0, &made);
		break;
	case CS_BCAST:
		made.form = "tell";
		made.time = tell(at, bytes, &made) + (n > INLINE ? copy(n, at->m->b_core) : 0);
		long_bcast(at, n, &made);
		break;
	case CS_REDUCE: case CS_ALLREDUCE:
		made.form = coll == CS_REDUCE ? "collect" : "collect, tell";
		made.time = collect(at, bytes, true, &made);
		made.time += coll == CS_REDUCE ? 0 : tell(at, bytes, &made);
		long_reduce(at, n, true, &made);
		break;
	case CS_REDUCE_SCATTER: case CS_REDUCE_SCATTER_BLOCK:
		long_reduce(at, n, false, &made);
		break;
	case CS_ALLGATHER: allgather(at, n, &made); break;
	case CS_ALLTOALL: alltoall(at, n, &made); break;
	case CS_GATHER: gather(at, n, &made); break;
	case CS_SCAN: case CS_EXSCAN: scan(at, n, &made); break;
	case CS_SCATTER: scatter(at, n, &made); break;
	default: break;
	}
	*way = made;
}

bool
cs_node_has_price(enum cs_coll coll)
{
	return coll == CS_BARRIER || coll == CS_BCAST || coll == CS_REDUCE ||
	       coll == CS_ALLREDUCE || coll == CS_ALLGATHER || coll == CS_ALLTOALL ||
	       coll == CS_GATHER || coll == CS_SCATTER || coll == CS_REDUCE_SCATTER ||
	       coll == CS_REDUCE_SCATTER_BLOCK || coll == CS_SCAN || coll == CS_EXSCAN;
}

static int64_t
priced_bytes(size_t bytes)
{
	return bytes < CS_NODE_BYTES_MOST ? (int64_t)bytes : (int64_t)CS_NODE_BYTES_MOST;
}

/* A broadcast but for the root's copy into the memory. */
void
cs_node_price_copy_out(const struct cs_node_model *model, const struct cs_node_groups *shape,
		       int ranks, size_t bytes, struct cs_node_price *price)
{
	struct place at = place_of(model, shape, ranks);
	int64_t n = priced_bytes(bytes), in = n > INLINE ? copy(n, model->b_core) : 0;
	*price = (struct cs_node_price){ .flat = { .form = "flat" },
					 .levels = { .time = CS_NODE_NEVER, .form = "flat" } };
	price->flat.time = flat_bcast(&at, n) - in;
	long_bcast(&at, n, &price->levels);
	price->levels.time -= price->levels.time < CS_NODE_NEVER ? in : 0;
}

void
cs_node_price(const struct cs_node_model *model, const struct cs_node_groups *shape, int ranks,
	      enum cs_coll coll, size_t bytes, struct cs_node_price *price)
{
	struct place at = place_of(model, shape, ranks);
	int64_t n = priced_bytes(bytes);
	*price = (struct cs_node_price){ .flat = { .form = "flat" },
					 .levels = { .time = CS_NODE_NEVER, .form = "flat" } };
	if (ranks < 2)
		return;
	price->flat.time = price_flat(&at, coll, n);
	price_levels(&at, coll, n, &price->levels);
}

int64_t
cs_node_single_copy(const struct cs_node_model *model, size_t bytes, int readers)
{
	int64_t pages = ((int64_t)bytes + PAGE - 1) / PAGE;
	return model->cma_call + pages * (model->cma_page + (readers - 1) * model->cma_crowd) +
	       copy((int64_t)bytes, model->b_mem);
}

int
cs_node_readers(const struct cs_node_model *model)
{
	int64_t more = copy(PAGE, model->b_mem) / model->cma_crowd;
	return 1 + (more < 1023 ? (int)more : 1023);
}
