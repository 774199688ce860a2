/* plan/verify.c runs all ranks' plans in one process, and checks each byte that they move. Loops
 * are unrolled: a step's number in a complaint is how many were done before it. */
#include "plan/verify.h"
#include "plan/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP 0xee /* bytes that nobody may touch */

struct span {
	unsigned char *data, *is_defined; /* byte by byte */
	size_t bytes;
};

struct message {
	bool is_used, is_send, is_done;
	int peer;
	uint64_t turn; /* how many of this direction came before it between the two */
	unsigned char *from;
	struct span *span;
	size_t at, bytes;
	uint32_t chain; /* messages that had to come before */
	unsigned char *knows; /* barrier: what the sender knew when it began to send; owned */
};

struct actor {
	const struct cs_problem *problem;
	struct cs_plan unrolled;
	const struct cs_plan *plan; /* that one */
	struct span spans[CS_MEMORIES];
	struct message *messages; /* by request */
	uint64_t *sent, *heard;   /* by peer: messages started */
	size_t next;
	uint32_t chain;           /* messages on the longest way to this point */
	unsigned char *knows;     /* barrier: by rank, whether it is known to have come */
	uint64_t sent_bytes, received_bytes;
};

struct stage {
	int ranks;
	struct actor *actors;
	struct cs_verdict *verdict;
};

__attribute__((format(printf, 2, 3))) static bool
complain(struct stage *stage, const char *format, ...)
{
	va_list args;
	if (stage->verdict->text[0])
		return false;
	va_start(args, format);
	vsnprintf(stage->verdict->text, sizeof stage->verdict->text, format, args);
	va_end(args);
	return false;
}

static bool
complain_at(struct stage *stage, const struct actor *actor, const char *what)
{
	static const char *const kinds[] = { "send", "recv", "wait", "copy", "reduce" };
	const struct cs_step *step = &actor->plan->steps[actor->next];
	return complain(stage, "rank %d step %zu (%s, peer %d, %zu bytes): %s",
			actor->problem->rank, actor->next, step->kind <= CS_STEP_REDUCE
			? kinds[step->kind] : "?", step->peer, step->bytes, what);
}

/* --- what the memories hold ------------------------------------------------------------------- */

static size_t
end_of_blocks(const struct cs_problem *problem, const size_t *sizes, const size_t *at)
{
	size_t end = 0, before = 0;
	for (int rank = 0; rank < problem->ranks; rank++) {
		size_t size = sizes ? sizes[rank] : problem->bytes, from = at ? at[rank] : before;
		end = size && from + size > end ? from + size : end;
		before += size;
	}
	return end;
}

/* Sizes of the blocks in OUT; `has_pairs`: blocks in IN have sizes of their own. */
static const size_t *
out_sizes(const struct cs_problem *problem, bool has_pairs)
{
	return has_pairs && problem->recv_sizes ? problem->recv_sizes : problem->sizes;
}

/* Size of IN or of OUT; `other` is the flow of the other one. */
static size_t
bytes_of(const struct cs_problem *problem, struct cs_flow flow, struct cs_flow other,
	 const size_t *sizes, const size_t *at)
{
	if (!cs_flow_reaches(flow, problem->rank, problem->root))
		return 0;
	if (flow.what == CS_ALL_BLOCKS)
		return end_of_blocks(problem, sizes, at);
	if (flow.what == CS_VECTOR)
		return other.what == CS_OWN_BLOCK ? cs_problem_total(problem) : problem->bytes;
	bool is_among_all = problem->is_in_place && other.what == CS_ALL_BLOCKS &&
			    cs_flow_reaches(other, problem->rank, problem->root);
	return is_among_all ? 0 : cs_problem_size(problem, problem->rank);
}

/* Byte `at` of what rank `rank` has for rank `to` (or for all: -1). */
static unsigned char
pattern(int rank, int to, size_t at)
{
	uint64_t x = ((uint64_t)(unsigned)rank << 40) ^ ((uint64_t)(unsigned)to << 24) ^ at;
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return (unsigned char)(x >> 56);
}

static void
put(struct span *span, size_t at, int rank, int to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		span->data[at + i] = pattern(rank, to, i);
	if (bytes)
		memset(span->is_defined + at, 1, bytes);
}

static bool
holds(struct stage *stage, const struct actor *actor, size_t at, int rank, int to, size_t bytes)
{
	const struct span *span = &actor->spans[CS_OUT];
	for (size_t i = 0; i < bytes; i++)
		if (span->data[at + i] != pattern(rank, to, i) || !span->is_defined[at + i])
			return complain(stage, "rank %d: byte %zu of the block from rank %d is %s",
					actor->problem->rank, i, rank,
					span->is_defined[at + i] ? "wrong" : "never written");
	return true;
}

/* Elements: x -> a x + b modulo 2^32, composed; as (a, b). Commutative: the sum of both. */
static void
combine(unsigned char *to, const unsigned char *left, const unsigned char *right,
	bool is_commutative)
{
	uint32_t a[2], b[2], c[2];
	memcpy(a, left, 8);
	memcpy(b, right, 8);
	c[0] = is_commutative ? a[0] + b[0] : a[0] * b[0];
	c[1] = is_commutative ? a[1] + b[1] : a[0] * b[1] + a[1];
	memcpy(to, c, 8);
}

static void
combine_all(const struct cs_problem *problem, unsigned char *to, const unsigned char *left,
	    const unsigned char *right, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += problem->unit) {
		combine(to + at, left + at, right + at, problem->is_commutative);
		for (size_t i = 8; i < problem->unit; i++) /* the rest of an element: the same in
							    * all */
			to[at + i] = left[at + i];
	}
}

static void
element(const struct cs_problem *problem, int rank, size_t at, unsigned char *to)
{
	for (size_t i = 0; i < problem->unit; i++)
		to[i] = i < 8 ? pattern(rank, -1, at + i) : 0;
	to[0] |= 1; /* an odd factor keeps all that came before it apart */
}

/* Checks for the reduction of the first `ranks` ranks' elements from byte `first` on. */
static bool
holds_reduction(struct stage *stage, const struct actor *actor, int ranks, size_t first,
		size_t bytes)
{
	const struct cs_problem *problem = actor->problem;
	const struct span *span = &actor->spans[CS_OUT];
	unsigned char sum[problem->unit], next[problem->unit];
	for (size_t at = 0; at < bytes; at += problem->unit) {
		element(problem, 0, first + at, sum);
		for (int rank = 1; rank < ranks; rank++) {
			element(problem, rank, first + at, next);
			combine_all(problem, sum, sum, next, problem->unit);
		}
		if (memcmp(sum, span->data + at, problem->unit) != 0)
			return complain(stage, "rank %d: element %zu of the result is wrong",
					problem->rank, at / problem->unit);
	}
	return true;
}

/* --- a rank ----------------------------------------------------------------------------------- */

static bool
make_span(struct span *span, size_t bytes)
{
	span->bytes = bytes;
	span->data = malloc(bytes + 1);
	span->is_defined = calloc(bytes + 1, 1);
	if (span->data)
		memset(span->data, GAP, bytes + 1);
	return span->data && span->is_defined;
}

static void
fill(struct actor *actor)
{
	const struct cs_problem *problem = actor->problem;
	struct span *in = &actor->spans[CS_IN], *out = &actor->spans[CS_OUT];
	int self = problem->rank;
	const struct cs_coll_info *info = &cs_colls[problem->coll];
	if (info->reduces) {
		for (size_t at = 0; at < in->bytes; at += problem->unit)
			element(problem, self, at, in->data + at);
		memset(in->is_defined, 1, in->bytes);
		return;
	}
	bool has_blocks = info->in.what == CS_ALL_BLOCKS &&
			  cs_flow_reaches(info->in, self, problem->root);
	for (int rank = 0; has_blocks && rank < problem->ranks; rank++)
		put(in, cs_problem_at(problem, rank), self, rank, cs_problem_size(problem, rank));
	if (info->in.what == CS_OWN_BLOCK && problem->is_in_place && out->bytes)
		put(out, cs_problem_at(problem, self), self, -1, cs_problem_size(problem, self));
	else if (info->in.what != CS_ALL_BLOCKS)
		put(in, 0, self, -1, in->bytes);
}

static bool
make_actor(struct actor *actor, const struct cs_problem *problem, const struct cs_plan *plan)
{
	size_t in, out, ranks = (size_t)problem->ranks;
	actor->problem = problem;
	actor->plan = &actor->unrolled;
	const struct cs_coll_info *info = &cs_colls[problem->coll];
	bool is_alike = info->in.what == info->out.what; /* on both sides */
	in = bytes_of(problem, info->in, info->out, problem->sizes, problem->at);
	out = bytes_of(problem, info->out, info->in, out_sizes(problem, is_alike),
		       is_alike ? problem->recv_at : problem->at);
	bool is_shared = problem->is_in_place && is_alike && out;
	if (is_shared && out > in)
		in = out;
	if (!make_span(&actor->spans[CS_IN], in) ||
	    (!is_shared && !make_span(&actor->spans[CS_OUT], out)) ||
	    !make_span(&actor->spans[CS_TMP], plan->tmp_bytes))
		return false;
	if (is_shared)
		actor->spans[CS_OUT] = actor->spans[CS_IN];
	if (cs_plan_unroll(plan, &actor->unrolled) != CS_OK)
		return false;
	actor->messages = calloc((size_t)plan->requests + 1, sizeof *actor->messages);
	actor->sent = calloc(ranks, sizeof *actor->sent);
	actor->heard = calloc(ranks, sizeof *actor->heard);
	actor->knows = calloc(ranks, 1);
	if (!actor->messages || !actor->sent || !actor->heard || !actor->knows)
		return false;
	actor->knows[problem->rank] = 1;
	fill(actor);
	return true;
}

static void
free_actor(struct actor *actor)
{
	bool is_shared = actor->spans[CS_OUT].data == actor->spans[CS_IN].data;
	for (int memory = 0; memory < CS_MEMORIES; memory++) {
		if (memory == CS_OUT && is_shared)
			continue;
		free(actor->spans[memory].data);
		free(actor->spans[memory].is_defined);
	}
	for (int request = 0; actor->messages && request < actor->plan->requests; request++)
		free(actor->messages[request].knows);
	free(actor->messages);
	free(actor->sent);
	free(actor->heard);
	free(actor->knows);
	free(actor->unrolled.steps);
}

/* --- steps ------------------------------------------------------------------------------------ */

static bool
overlap(const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

/* Is [at, at + bytes) inside its memory, defined if it is read, and used by no message under way in
 * a way that forbids this? NULL, or what is wrong. */
static const char *
misuse(const struct actor *actor, unsigned memory, size_t at, size_t bytes, bool is_write)
{
	if (memory >= CS_MEMORIES)
		return "no such memory";
	const struct span *span = &actor->spans[memory];
	bool is_input = memory == CS_IN && span->data != actor->spans[CS_OUT].data;
	if (is_write && memory == CS_IN)
		return is_input ? "writes input" : "writes its result under the name of input";
	if (at > span->bytes || bytes > span->bytes - at)
		return memory == CS_IN ? "outside the input" : memory == CS_OUT
		       ? "outside the result" : "outside CS_TMP";
	/* A block may be padded where others' lengths are not known (needs.largest): the result
	 * tells whether it was read. */
	bool may_pad = cs_colls[actor->problem->coll].sizes == CS_SIZES_BY_PAIR;
	if (!is_write && !may_pad && bytes && memchr(span->is_defined + at, 0, bytes))
		return "reads what was never written";
	for (int request = 0; request < actor->plan->requests; request++) {
		const struct message *message = &actor->messages[request];
		if (!message->is_used || (message->is_send && !is_write))
			continue;
		if (overlap(span->data + at, bytes, message->span->data + message->at,
			    message->bytes))
			return message->is_send ? "writes what is being sent"
						: "touches what is being received";
	}
	return NULL;
}

static void
define(struct actor *actor, unsigned memory, size_t at, size_t bytes)
{
	if (bytes)
		memset(actor->spans[memory].is_defined + at, 1, bytes);
}

/* Its other half, if that has been started. */
static struct message *
partner_of(struct stage *stage, const struct actor *actor, const struct message *message)
{
	struct actor *peer = &stage->actors[message->peer];
	for (int request = 0; request < peer->plan->requests; request++) {
		struct message *other = &peer->messages[request];
		if (other->is_used && !other->is_done && other->is_send != message->is_send &&
		    other->peer == actor->problem->rank && other->turn == message->turn)
			return other;
	}
	return NULL;
}

static bool
deliver(struct stage *stage, struct actor *actor, struct message *message, struct message *other)
{
	struct message *send = message->is_send ? message : other,
		       *recv = message->is_send ? other : message;
	struct actor *receiver = message->is_send ? &stage->actors[message->peer] : actor;
	struct actor *sender = message->is_send ? actor : &stage->actors[message->peer];
	if (send->bytes != recv->bytes)
		return complain(stage, "rank %d sends %zu bytes to rank %d, which expects %zu "
				       "(message %llu between them)",
				sender->problem->rank, send->bytes, receiver->problem->rank,
				recv->bytes, (unsigned long long)send->turn);
	if (send->bytes) {
		memcpy(recv->span->data + recv->at, send->span->data + send->at, send->bytes);
		memcpy(recv->span->is_defined + recv->at, send->span->is_defined + send->at,
		       send->bytes);
	}
	sender->sent_bytes += send->bytes;
	receiver->received_bytes += send->bytes;
	stage->verdict->messages++;
	stage->verdict->bytes += send->bytes;
	recv->chain = send->chain + 1;
	recv->knows = send->knows;
	send->knows = NULL;
	send->is_done = recv->is_done = true;
	return true;
}

static bool
start(struct stage *stage, struct actor *actor, const struct cs_step *step)
{
	bool is_send = step->kind == CS_STEP_SEND;
	unsigned memory = is_send ? step->from : step->to;
	size_t at = is_send ? step->from_at : step->to_at;
	if (step->peer < 0 || step->peer >= stage->ranks || step->peer == actor->problem->rank)
		return complain_at(stage, actor, "no such peer");
	if (step->request < 0 || step->request >= actor->plan->requests ||
	    actor->messages[step->request].is_used)
		return complain_at(stage, actor, "request number not free");
	const char *wrong = misuse(actor, memory, at, step->bytes, !is_send);
	if (wrong)
		return complain_at(stage, actor, wrong);
	struct message *message = &actor->messages[step->request];
	uint64_t *turns = is_send ? actor->sent : actor->heard;
	*message = (struct message){ .is_used = true, .is_send = is_send, .peer = step->peer,
				     .chain = actor->chain, .turn = turns[step->peer]++,
				     .span = &actor->spans[memory], .at = at,
				     .bytes = step->bytes };
	if (is_send && actor->problem->coll == CS_BARRIER) {
		message->knows = malloc((size_t)stage->ranks);
		if (!message->knows)
			return complain(stage, "no memory to verify with");
		memcpy(message->knows, actor->knows, (size_t)stage->ranks);
	}
	struct message *other = partner_of(stage, actor, message);
	return !other || deliver(stage, actor, message, other);
}

/* 1: done; 0: not yet; -1: wrong */
static int
finish(struct stage *stage, struct actor *actor, const struct cs_step *step)
{
	if (step->request < 0 || step->request >= actor->plan->requests ||
	    !actor->messages[step->request].is_used) {
		complain_at(stage, actor, "waits for a request that was not started");
		return -1;
	}
	struct message *message = &actor->messages[step->request];
	if (!message->is_done)
		return 0;
	message->is_used = false;
	if (!message->is_send) {
		if (message->chain > actor->chain)
			actor->chain = message->chain;
		for (int rank = 0; message->knows && rank < stage->ranks; rank++)
			actor->knows[rank] |= message->knows[rank];
		free(message->knows);
		message->knows = NULL;
	}
	return 1;
}

static bool
do_local(struct stage *stage, struct actor *actor, const struct cs_step *step)
{
	const char *wrong = misuse(actor, step->to, step->to_at, step->bytes, true);
	if (!wrong)
		wrong = misuse(actor, step->from, step->from_at, step->bytes, false);
	if (!wrong && step->kind == CS_STEP_REDUCE)
		wrong = misuse(actor, step->with, step->with_at, step->bytes, false);
	if (!wrong && step->kind == CS_STEP_REDUCE &&
	    (!cs_colls[actor->problem->coll].reduces || step->bytes % actor->problem->unit))
		wrong = "not a whole number of elements";
	if (wrong)
		return complain_at(stage, actor, wrong);
	unsigned char *to = actor->spans[step->to].data + step->to_at;
	const unsigned char *from = actor->spans[step->from].data + step->from_at;
	if (step->kind == CS_STEP_COPY) {
		if (overlap(to, step->bytes, from, step->bytes))
			return complain_at(stage, actor, "copies onto itself");
		memcpy(to, from, step->bytes);
		memcpy(actor->spans[step->to].is_defined + step->to_at,
		       actor->spans[step->from].is_defined + step->from_at, step->bytes);
	} else {
		const unsigned char *with = actor->spans[step->with].data + step->with_at;
		if ((to != from && overlap(to, step->bytes, from, step->bytes)) ||
		    (to != with && overlap(to, step->bytes, with, step->bytes)))
			return complain_at(stage, actor, "the result overlaps an operand");
		combine_all(actor->problem, to, from, with, step->bytes);
		define(actor, step->to, step->to_at, step->bytes);
	}
	return true;
}

/* Runs a rank as far as it goes. 1: some step was done; 0: none; -1: wrong */
static int
advance(struct stage *stage, struct actor *actor)
{
	int has_moved = 0;
	while (actor->next < actor->plan->count) {
		const struct cs_step *step = &actor->plan->steps[actor->next];
		int done = 1;
		if (step->kind == CS_STEP_WAIT)
			done = finish(stage, actor, step);
		else if (step->kind == CS_STEP_SEND || step->kind == CS_STEP_RECV)
			done = start(stage, actor, step) ? 1 : -1;
		else if (step->kind == CS_STEP_COPY || step->kind == CS_STEP_REDUCE)
			done = do_local(stage, actor, step) ? 1 : -1;
		else
			done = complain_at(stage, actor, "no such step") ? 1 : -1;
		if (done <= 0)
			return done < 0 ? -1 : has_moved;
		actor->next++;
		has_moved = 1;
	}
	return has_moved;
}

static bool
run_all(struct stage *stage)
{
	for (bool has_moved = true; has_moved;) {
		has_moved = false;
		for (int rank = 0; rank < stage->ranks; rank++) {
			int moved = advance(stage, &stage->actors[rank]);
			if (moved < 0)
				return false;
			has_moved = has_moved || moved;
		}
	}
	for (int rank = 0; rank < stage->ranks; rank++) {
		struct actor *actor = &stage->actors[rank];
		if (actor->next < actor->plan->count)
			return complain_at(stage, actor, "waits for ever");
		for (int request = 0; request < actor->plan->requests; request++)
			if (actor->messages[request].is_used)
				return complain(stage, "rank %d: request %d is never waited for",
						rank, request);
	}
	return true;
}

/* --- results ---------------------------------------------------------------------------------- */

/* Nothing but the blocks was written. */
static bool
are_gaps_whole(struct stage *stage, const struct actor *actor, const size_t *sizes,
	       const size_t *at)
{
	const struct cs_problem *problem = actor->problem;
	const struct span *out = &actor->spans[CS_OUT];
	if (!at)
		return true;
	size_t inside = 0, written = 0;
	for (int rank = 0; rank < problem->ranks; rank++)
		inside += sizes ? sizes[rank] : problem->bytes;
	for (size_t i = 0; i < out->bytes; i++)
		written += out->is_defined[i];
	return written == inside || complain(stage, "rank %d: %zu bytes written, blocks have %zu",
					     problem->rank, written, inside);
}

static bool
holds_blocks(struct stage *stage, const struct actor *actor, bool has_pairs)
{
	const struct cs_problem *problem = actor->problem;
	const size_t *sizes = out_sizes(problem, has_pairs);
	const size_t *at = has_pairs ? problem->recv_at : problem->at;
	size_t before = 0;
	for (int rank = 0; rank < problem->ranks; rank++) {
		size_t size = sizes ? sizes[rank] : problem->bytes, from = at ? at[rank] : before;
		if (!holds(stage, actor, from, rank, has_pairs ? problem->rank : -1, size))
			return false;
		before += size;
	}
	return has_pairs || are_gaps_whole(stage, actor, sizes, at);
}

static bool
knows_all(struct stage *stage, const struct actor *actor)
{
	for (int rank = 0; rank < stage->ranks; rank++)
		if (!actor->knows[rank])
			return complain(stage,
					"rank %d leaves before it knows that rank %d has come",
					actor->problem->rank, rank);
	return true;
}

static bool
is_right(struct stage *stage, const struct actor *actor)
{
	const struct cs_problem *problem = actor->problem;
	const struct cs_coll_info *info = &cs_colls[problem->coll];
	int self = problem->rank, summed = self + (info->sum == CS_SUM_UP_TO_OWN);
	size_t own = cs_problem_size(problem, self);
	if (info->sum == CS_SUM_ALL)
		summed = problem->ranks;
	if (!cs_flow_reaches(info->out, self, problem->root))
		return info->out.what != CS_NO_DATA || knows_all(stage, actor);
	if (cs_coll_is_scattered(info))
		return holds_reduction(stage, actor, summed, cs_problem_before(problem, self), own);
	if (info->reduces)
		return holds_reduction(stage, actor, summed, 0, problem->bytes);
	if (info->out.what == CS_ALL_BLOCKS)
		return holds_blocks(stage, actor, info->in.what == CS_ALL_BLOCKS);
	if (info->out.what == CS_VECTOR)
		return holds(stage, actor, 0, problem->root, -1, problem->bytes);
	return (self == problem->root && problem->is_in_place) ||
	       holds(stage, actor, 0, problem->root, self, own);
}

bool
cs_plans_verify(const struct cs_problem *problems, const struct cs_plan *plans,
		struct cs_verdict *verdict)
{
	struct stage stage = { .ranks = problems[0].ranks, .verdict = verdict };
	memset(verdict, 0, sizeof *verdict);
	stage.actors = calloc((size_t)stage.ranks, sizeof *stage.actors);
	bool is_good = stage.actors != NULL;
	for (int rank = 0; rank < stage.ranks; rank++)
		if (!cs_plan_is_sound(&plans[rank]))
			is_good = complain(&stage, "rank %d: a loop that cannot be", rank);
	for (int rank = 0; is_good && rank < stage.ranks; rank++)
		is_good = make_actor(&stage.actors[rank], &problems[rank], &plans[rank]);
	if (!is_good)
		complain(&stage, "no memory to verify with");
	is_good = is_good && run_all(&stage);
	for (int rank = 0; is_good && rank < stage.ranks; rank++) {
		const struct actor *actor = &stage.actors[rank];
		is_good = is_right(&stage, actor);
		uint64_t most = actor->sent_bytes > actor->received_bytes
				? actor->sent_bytes : actor->received_bytes;
		verdict->most_bytes = most > verdict->most_bytes ? most : verdict->most_bytes;
		verdict->rounds = actor->chain > verdict->rounds ? actor->chain : verdict->rounds;
	}
	for (int rank = 0; stage.actors && rank < stage.ranks; rank++)
		free_actor(&stage.actors[rank]);
	free(stage.actors);
	return is_good;
}
