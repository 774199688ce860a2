#include "fake_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#define VERBS(X) \
	X(get_device_list) X(free_device_list) X(get_device_name) X(open_device) X( \
		close_device) X(identity) X(query_device) \
	X(query_port) X(query_gid_table) X(alloc_pd) X(dealloc_pd) X(reg_mr) X(dereg_mr) X( \
		create_cq) X(destroy_cq) \
	X(create_qp) X(modify_qp) X(destroy_qp) X(create_ah) X(destroy_ah) X(attach_mcast) X( \
		detach_mcast) \
	X(get_async_event) X(ack_async_event) X(event_type_str) X(wc_status_str) X( \
		is_fork_safe) X(post_send) \
	X(post_recv) X(poll_cq)

enum verb {
#define NUMBER(name) VERB_##name,
	VERBS(NUMBER)
	VERB_COUNT,
#undef NUMBER
};

static const char *const verb_names[] = {
#define NAME(name) #name,
	VERBS(NAME)
#undef NAME
};

enum kind { CONTEXT, PD, MR, CQ, QP, AH, LIST, KINDS };

static const char *const kind_names[] = { "context", "PD", "MR", "CQ", "QP", "AH", "device list" };

enum {
	GRH_BYTES = 40,
	FIRST_QP = 64, /* their numbers go up from here */
	MOST_SGES = 32,
	MOST_RULES = 16,
	MOST_COMMS = 1024,
};

/* What was destroyed stays in memory until the reset, so that its further use is told and harmless.
 * Each object begins with the struct that libibverbs shows. */
struct object {
	enum kind kind;
	bool is_alive;
	unsigned users; /* that must go first */
	unsigned unacknowledged;
	struct context *context;
	struct object *next;
	void *memory;
};

struct context {
	struct ibv_context ibv;
	struct object object;
	const struct fake_device *device;
	unsigned number;
	int live[KINDS];
	size_t pinned;
	struct ibv_async_event *events;
	size_t event_count;
};

struct pd {
	struct ibv_pd ibv;
	struct object object;
};

struct mr {
	struct ibv_mr ibv;
	struct object object;
	uint32_t lkey, rkey; /* the caller may scribble in ibv */
	int access;
	size_t pinned;
};

struct ah {
	struct ibv_ah ibv;
	struct object object;
	struct ibv_ah_attr attributes;
};

struct list {
	struct ibv_device *devices[FAKE_DEVICES + 1];
	struct object object;
};

struct entry {
	struct ibv_wc wc;
	struct qp *qp;
	bool is_send;
	uint64_t position; /* in that queue */
};

struct cq {
	struct ibv_cq ibv;
	struct object object;
	struct entry *entries; /* a ring of ibv.cqe */
	size_t first, count;
	bool is_dead;
};

struct send {
	struct ibv_send_wr wr;
	struct ah *ah;
	struct ibv_sge *sges;
	unsigned char *data; /* if inline */
	size_t bytes;
	bool is_inline, is_signaled;
	bool owes_receive;        /* carried in part; its receive is not complete */
	size_t late_at, late_bytes; /* the part that is still on its way */
};

struct receive {
	uint64_t wr_id;
	struct ibv_sge sge; /* of length 0 where there is none */
};

struct qp {
	struct ibv_qp ibv;
	struct object object;
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attributes;
	enum ibv_qp_state state; /* ibv.state is what modify_qp last made it */
	/* Rings of max_send_wr and max_recv_wr. Positions only grow: freed <= completed <= carried
	 * <= posted. */
	struct send *sends;
	uint64_t freed, completed, carried, posted;
	struct receive *receives;
	uint64_t receive_freed, receive_used, receive_posted;
	size_t busy_at; /* in `busy`, plus 1; 0: not there */
};

struct member {
	union ibv_gid group;
	struct qp *qp;
};

struct fake_settings fake;

static struct ibv_device devices[FAKE_DEVICES];
static struct object *objects;
static struct qp **qps; /* by number - FIRST_QP */
static size_t qp_count;
static struct mr **mrs; /* by key / 256 - 1 */
static size_t mr_count;
static struct qp **busy; /* have sends that are not completed */
static size_t busy_count;
static struct member members[MOST_COMMS];
static size_t member_count;
static unsigned context_count;
static bool is_set, is_dropped;
static uint64_t random_state;
static uint64_t calls[VERB_COUNT];
static struct fake_counters counters;
static struct failing {
	enum verb verb;
	unsigned nth; /* 0: every */
	int error;
} failing[MOST_RULES];
static size_t failing_count;
static struct strike {
	uint32_t qp_number;
	unsigned nth;
	enum ibv_wc_status status;
} strikes[MOST_RULES];
static size_t strike_count;

static void fail_qp(struct qp *qp);

static uint32_t
draw(uint32_t bound)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % bound;
}

__attribute__((format(printf, 1, 2))) static void
misused(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("fake verbs: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	counters.misuses++;
}

static void *
must(void *memory)
{
	if (!memory) {
		fputs("fake verbs: no memory\n", stderr);
		abort();
	}
	return memory;
}

static enum verb
verb_of(const char *name)
{
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (!strcmp(name, verb_names[i]))
			return i;
	fprintf(stderr, "fake verbs: no verb is called %s\n", name);
	abort();
}

/* Counts the call; the error with which it shall fail, or 0. */
static int
enter(enum verb verb)
{
	calls[verb]++;
	int error = 0;
	for (size_t i = failing_count; i-- > 0;) {
		struct failing *rule = &failing[i];
		if (rule->verb != verb)
			continue;
		if (rule->nth <= 1)
			error = rule->error;
		if (rule->nth > 0 && --rule->nth == 0)
			*rule = failing[--failing_count];
	}
	return error;
}

/* The same for what makes, changes or asks. */
static int
enter_device(enum verb verb)
{
	int error = enter(verb);
	return error ? error : is_dropped ? EIO : 0;
}

static void *
null_with(int error)
{
	errno = error;
	return NULL;
}

static bool
is_usable(const struct object *object, enum verb verb)
{
	const char *kind = kind_names[object->kind];
	if (!object->is_alive)
		misused("%s with a %s that is destroyed", verb_names[verb], kind);
	else if (object->context && !object->context->object.is_alive)
		misused("%s with a %s of a context that is closed", verb_names[verb], kind);
	else
		return true;
	return false;
}

static void
add_object(struct object *object, enum kind kind, struct context *context, void *memory)
{
	*object = (struct object){ .kind = kind, .is_alive = true, .context = context,
				   .memory = memory };
	object->next = objects;
	objects = object;
	if (context)
		context->live[kind]++;
}

/* 0, or what the verb that destroys returns. */
static int
end_object(struct object *object, enum verb verb)
{
	int error = enter(verb);
	if (error)
		return error;
	if (!is_usable(object, verb))
		return EINVAL;
	if (object->users > 0)
		return EBUSY;
	if (object->unacknowledged > 0)
		misused("%s would wait for %u events to be acknowledged", verb_names[verb],
			object->unacknowledged);
	object->is_alive = false;
	if (object->context)
		object->context->live[object->kind]--;
	return 0;
}

/* Events. */

static void
send_event(struct context *context, struct ibv_async_event event)
{
	context->events = must(realloc(context->events, (context->event_count + 1) * sizeof event));
	context->events[context->event_count++] = event;
	if (eventfd_write(context->ibv.async_fd, 1) < 0)
		misused("no event can be told: %s", strerror(errno));
}

static struct object *
object_of(const struct ibv_async_event *event)
{
	if (event->event_type == IBV_EVENT_CQ_ERR)
		return &((struct cq *)event->element.cq)->object;
	return event->event_type == IBV_EVENT_QP_ACCESS_ERR
	       ? &((struct qp *)event->element.qp)->object : NULL;
}

/* Events about what is destroyed are never heard. */
static void
drop_events(const struct object *object)
{
	struct context *context = object->context;
	size_t kept = 0;
	for (size_t i = 0; i < context->event_count; i++) {
		eventfd_t one;
		if (object_of(&context->events[i]) == object)
			eventfd_read(context->ibv.async_fd, &one);
		else
			context->events[kept++] = context->events[i];
	}
	context->event_count = kept;
}

static int
get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct context *context = (struct context *)ibv;
	int error = enter(VERB_get_async_event);
	if (!error && !is_usable(&context->object, VERB_get_async_event))
		error = EINVAL;
	if (!error && context->event_count == 0) {
		if (!(fcntl(ibv->async_fd, F_GETFL) & O_NONBLOCK))
			misused("get_async_event would block: there is none, and async_fd is "
				"without O_NONBLOCK");
		error = EAGAIN;
	}
	if (error) {
		errno = error;
		return -1;
	}
	eventfd_t one;
	eventfd_read(ibv->async_fd, &one);
	*event = context->events[0];
	memmove(context->events, context->events + 1, --context->event_count * sizeof *event);
	struct object *object = object_of(event);
	if (object)
		object->unacknowledged++;
	return 0;
}

static void
ack_async_event(struct ibv_async_event *event)
{
	enter(VERB_ack_async_event);
	struct object *object = object_of(event);
	if (object && object->unacknowledged-- == 0) {
		misused("ack_async_event: acknowledged more often than got");
		object->unacknowledged = 0;
	}
}

/* Devices. */

static struct ibv_device **
get_device_list(int *count)
{
	int error = enter(VERB_get_device_list);
	if (error)
		return null_with(error);
	struct list *list = must(calloc(1, sizeof *list));
	add_object(&list->object, LIST, NULL, list);
	size_t present = is_dropped ? 0 : fake.device_count;
	for (size_t i = 0; i < present; i++) {
		memcpy(devices[i].name, fake.devices[i].name, sizeof devices[i].name);
		devices[i].node_type = IBV_NODE_CA;
		devices[i].transport_type = IBV_TRANSPORT_IB;
		list->devices[i] = &devices[i];
	}
	if (count)
		*count = (int)present;
	return list->devices;
}

static void
free_device_list(struct ibv_device **devices_of_list)
{
	end_object(&((struct list *)(void *)devices_of_list)->object, VERB_free_device_list);
}

static const char *
get_device_name(struct ibv_device *device)
{
	enter(VERB_get_device_name);
	return device->name;
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *completions);
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad);
static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad);

static struct ibv_context *
open_device(struct ibv_device *device)
{
	int error = enter_device(VERB_open_device);
	if (error)
		return null_with(error);
	struct context *context = must(calloc(1, sizeof *context));
	add_object(&context->object, CONTEXT, NULL, context);
	context->device = &fake.devices[device - devices];
	context->number = context_count++;
	context->ibv = (struct ibv_context){
		.device = device,
		.cmd_fd = -1,
		.async_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC),
		.num_comp_vectors = 1,
		.ops = { .poll_cq = poll_cq, .post_send = post_send, .post_recv = post_recv },
	};
	return &context->ibv;
}

static int
query_device(struct ibv_context *ibv, struct ibv_device_attr *attributes)
{
	struct context *context = (struct context *)ibv;
	int error = enter_device(VERB_query_device);
	if (error)
		return error;
	if (!is_usable(&context->object, VERB_query_device))
		return EINVAL;
	*attributes = context->device->attributes;
	return 0;
}

static const struct fake_port *
port_of(const struct context *context, unsigned port)
{
	if (port < 1 || port > context->device->attributes.phys_port_cnt)
		return NULL;
	return &context->device->ports[port - 1];
}

static bool
is_ethernet(const struct fake_port *port)
{
	return port->attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
}

static uint16_t
lid_of(const struct context *context, const struct fake_port *port)
{
	return is_ethernet(port) ? 0 : (uint16_t)(port->attributes.lid + context->number);
}

static struct ibv_gid_entry
gid_of(const struct context *context, const struct fake_port *port, unsigned at)
{
	struct ibv_gid_entry entry = port->gids[at];
	unsigned low = entry.gid.raw[14] * 256U + entry.gid.raw[15] + context->number;
	entry.gid.raw[14] = (uint8_t)(low / 256);
	entry.gid.raw[15] = (uint8_t)low;
	return entry;
}

/* The place of what the table calls `index`; gid_count: there is none. */
static unsigned
place_of(const struct fake_port *port, unsigned index)
{
	unsigned i = 0;
	while (i < port->gid_count && port->gids[i].gid_index != index)
		i++;
	return i;
}

static uint64_t
identity(struct ibv_context *ibv)
{
	struct context *context = (struct context *)ibv;
	enter(VERB_identity);
	return is_usable(&context->object, VERB_identity) && !fake.is_removed &&
	       !is_dropped ? 1 : 0;
}

static int
query_port(struct ibv_context *ibv, uint8_t number, struct ibv_port_attr *attributes)
{
	struct context *context = (struct context *)ibv;
	int error = enter_device(VERB_query_port);
	if (error)
		return error;
	const struct fake_port *port = port_of(context, number);
	if (!port || !is_usable(&context->object, VERB_query_port))
		return EINVAL;
	struct ibv_port_attr answer = port->attributes;
	answer.lid = lid_of(context, port);
	answer.gid_tbl_len = FAKE_GIDS;
	/* The symbol fills struct _compat_ibv_port_attr only: it ends before flags. */
	memcpy(attributes, &answer, offsetof(struct ibv_port_attr, flags));
	return 0;
}

static ssize_t
query_gid_table(struct ibv_context *ibv, struct ibv_gid_entry *entries, size_t room)
{
	struct context *context = (struct context *)ibv;
	int error = enter_device(VERB_query_gid_table);
	if (error)
		return -error;
	if (!is_usable(&context->object, VERB_query_gid_table))
		return -EINVAL;
	size_t count = 0;
	for (unsigned number = 1; number <= context->device->attributes.phys_port_cnt; number++) {
		const struct fake_port *port = port_of(context, number);
		for (unsigned i = 0; i < port->gid_count; i++) {
			if (count == room)
				return -EINVAL;
			entries[count] = gid_of(context, port, i);
			entries[count++].port_num = number;
		}
	}
	return (ssize_t)count;
}

/* Domains and memory. */

static struct ibv_pd *
alloc_pd(struct ibv_context *ibv)
{
	struct context *context = (struct context *)ibv;
	int error = enter_device(VERB_alloc_pd);
	if (!error && !is_usable(&context->object, VERB_alloc_pd))
		error = EINVAL;
	if (!error && context->live[PD] >= context->device->attributes.max_pd)
		error = ENOMEM;
	if (error)
		return null_with(error);
	struct pd *pd = must(calloc(1, sizeof *pd));
	add_object(&pd->object, PD, context, pd);
	pd->ibv.context = ibv;
	return &pd->ibv;
}

static int
dealloc_pd(struct ibv_pd *pd)
{
	return end_object(&((struct pd *)pd)->object, VERB_dealloc_pd);
}

/* Faults the pages in as pinning does. False: some are not there, or may not be written. */
static bool
pin(void *from, size_t bytes, bool is_written)
{
	static const char probe;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (madvise(from, bytes, is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return true;
	void *here = (void *)((uintptr_t)&probe & ~(page - 1));
	return madvise(here, page, MADV_POPULATE_READ) != 0; /* an old kernel: it cannot tell */
}

static int
check_registration(const struct pd *pd, const char *base, size_t bytes, int access, size_t pinned)
{
	const int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			  IBV_ACCESS_RELAXED_ORDERING;
	const int written = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	const struct context *context = pd->object.context;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (access & ~known ||
	    (access & written && !(access & IBV_ACCESS_LOCAL_WRITE)))
		return EINVAL;
	if (bytes == 0 || bytes > context->device->attributes.max_mr_size)
		return EINVAL;
	if (context->live[MR] >= context->device->attributes.max_mr)
		return ENOMEM;
	if (pinned > fake.memlock || context->pinned > fake.memlock - pinned)
		return ENOMEM;
	return pin((void *)((uintptr_t)base & ~(page - 1)), pinned, access & IBV_ACCESS_LOCAL_WRITE)
	       ? 0 : EFAULT;
}

static size_t
whole_pages(const void *base, size_t bytes)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)base & ~(page - 1);
	return (((uintptr_t)base + bytes + page - 1) & ~(page - 1)) - first;
}

static struct ibv_mr *
reg_mr(struct ibv_pd *ibv, void *base, size_t bytes, int access)
{
	struct pd *pd = (struct pd *)ibv;
	int error = enter_device(VERB_reg_mr);
	if (!error && !is_usable(&pd->object, VERB_reg_mr))
		error = EINVAL;
	size_t pinned = whole_pages(base, bytes);
	if (!error)
		error = check_registration(pd, base, bytes, access, pinned);
	if (error)
		return null_with(error);
	struct context *context = pd->object.context;
	struct mr *mr = must(calloc(1, sizeof *mr));
	add_object(&mr->object, MR, context, mr);
	mrs = must(realloc(mrs, (mr_count + 1) * sizeof *mrs));
	mrs[mr_count++] = mr;
	mr->access = access;
	mr->pinned = pinned;
	mr->ibv = (struct ibv_mr){ .context = ibv->context, .pd = ibv, .addr = base,
				   .length = bytes };
	mr->ibv.lkey = mr->lkey = (uint32_t)mr_count * 256 + draw(128);
	mr->ibv.rkey = mr->rkey = (uint32_t)mr_count * 256 + 128 + draw(128);
	pd->object.users++;
	context->pinned += pinned;
	counters.pinned += pinned;
	return &mr->ibv;
}

static int
dereg_mr(struct ibv_mr *ibv)
{
	struct mr *mr = (struct mr *)ibv;
	int error = end_object(&mr->object, VERB_dereg_mr);
	if (error)
		return error;
	((struct pd *)ibv->pd)->object.users--;
	mr->object.context->pinned -= mr->pinned;
	counters.pinned -= mr->pinned;
	return 0;
}

/* May this domain's key be used so? `is_remote` says which of the two keys it is. */
static bool
is_allowed(uint32_t key, bool is_remote, const struct ibv_pd *pd, uint64_t address, size_t bytes,
	   int access)
{
	size_t number = key / 256;
	if (number < 1 || number > mr_count)
		return false;
	const struct mr *mr = mrs[number - 1];
	uint64_t from = (uintptr_t)mr->ibv.addr;
	return mr->object.is_alive && key == (is_remote ? mr->rkey : mr->lkey) &&
	       mr->ibv.pd == pd && (mr->access & access) == access && address >= from &&
	       address - from <= mr->ibv.length && bytes <= mr->ibv.length - (address - from);
}

/* Completion queues. */

static struct ibv_cq *
create_cq(struct ibv_context *ibv, int entries)
{
	struct context *context = (struct context *)ibv;
	int error = enter_device(VERB_create_cq);
	if (!error && (!is_usable(&context->object, VERB_create_cq) || entries < 1 ||
		       entries > context->device->attributes.max_cqe))
		error = EINVAL;
	if (!error && context->live[CQ] >= context->device->attributes.max_cq)
		error = ENOMEM;
	if (error)
		return null_with(error);
	struct cq *cq = must(calloc(1, sizeof *cq));
	add_object(&cq->object, CQ, context, cq);
	cq->ibv.context = ibv;
	cq->ibv.cqe = entries;
	cq->entries = must(calloc((size_t)entries, sizeof *cq->entries));
	return &cq->ibv;
}

static int
destroy_cq(struct ibv_cq *ibv)
{
	struct cq *cq = (struct cq *)ibv;
	int error = end_object(&cq->object, VERB_destroy_cq);
	if (!error)
		drop_events(&cq->object);
	return error;
}

static void
overflow(struct cq *cq)
{
	cq->is_dead = true;
	counters.overflows++;
	misused("a completion queue of %d overflowed", cq->ibv.cqe);
	send_event(cq->object.context,
		   (struct ibv_async_event){ .element.cq = &cq->ibv,
					     .event_type = IBV_EVENT_CQ_ERR });
	for (size_t i = 0; i < qp_count; i++)
		if (qps[i]->object.is_alive &&
		    (qps[i]->ibv.send_cq == &cq->ibv || qps[i]->ibv.recv_cq == &cq->ibv))
			fail_qp(qps[i]);
}

/* `wc`: what means something for this completion; the caller has left rubbish in the rest. */
static void
complete(struct qp *qp, bool is_send, uint64_t position, const struct ibv_wc *wc)
{
	struct cq *cq = (struct cq *)(is_send ? qp->ibv.send_cq : qp->ibv.recv_cq);
	if (cq->is_dead)
		return;
	if (cq->count == (size_t)cq->ibv.cqe) {
		overflow(cq);
		return;
	}
	struct entry *entry = &cq->entries[(cq->first + cq->count++) % (size_t)cq->ibv.cqe];
	*entry = (struct entry){ .wc = *wc, .qp = qp, .is_send = is_send, .position = position };
	entry->wc.qp_num = qp->ibv.qp_num;
}

static struct ibv_wc
rubbish(uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;
	memset(&wc, 0xa5, sizeof wc);
	wc.wr_id = wr_id;
	wc.status = status;
	return wc;
}

static void
forget_completions(struct cq *cq, const struct qp *qp)
{
	size_t kept = 0, room = (size_t)cq->ibv.cqe;
	for (size_t i = 0; i < cq->count; i++) {
		struct entry entry = cq->entries[(cq->first + i) % room];
		if (entry.qp != qp)
			cq->entries[(cq->first + kept++) % room] = entry;
	}
	cq->count = kept;
}

static int
poll_cq(struct ibv_cq *ibv, int room, struct ibv_wc *completions)
{
	struct cq *cq = (struct cq *)ibv;
	int error = enter(VERB_poll_cq);
	if (error || !is_usable(&cq->object, VERB_poll_cq))
		return -1;
	fake_progress(fake.poll_steps > 0 ? draw(fake.poll_steps + 1) : 0);
	if (cq->is_dead)
		return -1;
	int count = 0;
	for (; count < room && cq->count > 0; count++) {
		struct entry *entry = &cq->entries[cq->first];
		cq->first = (cq->first + 1) % (size_t)cq->ibv.cqe;
		cq->count--;
		completions[count] = entry->wc;
		if (entry->is_send)
			entry->qp->freed = entry->position + 1;
		else
			entry->qp->receive_freed = entry->position + 1;
		counters.errors += entry->wc.status != IBV_WC_SUCCESS;
	}
	return count;
}

/* Queue pairs. */

static int
check_qp(const struct context *context, const struct ibv_qp_init_attr *asked)
{
	const struct fake_device *device = context->device;
	const struct ibv_device_attr *most = &device->attributes;
	const struct ibv_qp_cap *cap = &asked->cap;
	if (asked->qp_type != IBV_QPT_RC && asked->qp_type != IBV_QPT_UD)
		return EOPNOTSUPP;
	if (asked->srq || asked->sq_sig_all)
		return EOPNOTSUPP;
	if (!asked->send_cq || !asked->recv_cq || asked->send_cq->context != &context->ibv ||
	    asked->recv_cq->context != &context->ibv)
		return EINVAL;
	if (cap->max_send_wr > (unsigned)most->max_qp_wr ||
	    cap->max_recv_wr > (unsigned)most->max_qp_wr || cap->max_send_sge >
	    (unsigned)most->max_sge || cap->max_send_sge > MOST_SGES || cap->max_recv_sge > 1 ||
	    cap->max_inline_data > device->max_inline)
		return EINVAL;
	return context->live[QP] >= most->max_qp ? ENOMEM : 0;
}

static void
make_rings(struct qp *qp)
{
	const struct ibv_qp_cap *cap = &qp->cap;
	qp->sends = must(calloc(cap->max_send_wr + 1, sizeof *qp->sends));
	for (size_t i = 0; i < cap->max_send_wr; i++) {
		qp->sends[i].sges = must(calloc(cap->max_send_sge + 1, sizeof(struct ibv_sge)));
		qp->sends[i].data = must(calloc(1, cap->max_inline_data + 1));
	}
	qp->receives = must(calloc(cap->max_recv_wr + 1, sizeof *qp->receives));
}

static void
free_rings(struct qp *qp)
{
	for (size_t i = 0; qp->sends && i < qp->cap.max_send_wr; i++) {
		free(qp->sends[i].sges);
		free(qp->sends[i].data);
	}
	free(qp->sends);
	free(qp->receives);
	qp->sends = NULL;
	qp->receives = NULL;
}

static struct ibv_qp *
create_qp(struct ibv_pd *ibv, struct ibv_qp_init_attr *asked)
{
	struct pd *pd = (struct pd *)ibv;
	struct context *context = pd->object.context;
	int error = enter_device(VERB_create_qp);
	if (!error && !is_usable(&pd->object, VERB_create_qp))
		error = EINVAL;
	if (!error)
		error = check_qp(context, asked);
	if (error)
		return null_with(error);
	if (asked->cap.max_inline_data > 0)
		asked->cap.max_inline_data = (asked->cap.max_inline_data + 63) / 32 * 32;
	if (asked->cap.max_inline_data > context->device->max_inline)
		asked->cap.max_inline_data = context->device->max_inline;
	struct qp *qp = must(calloc(1, sizeof *qp));
	add_object(&qp->object, QP, context, qp);
	qps = must(realloc(qps, (qp_count + 1) * sizeof *qps));
	qps[qp_count] = qp;
	qp->ibv.context = ibv->context;
	qp->ibv.qp_context = asked->qp_context;
	qp->ibv.pd = ibv;
	qp->ibv.send_cq = asked->send_cq;
	qp->ibv.recv_cq = asked->recv_cq;
	qp->ibv.qp_num = FIRST_QP + (uint32_t)qp_count++;
	qp->ibv.qp_type = asked->qp_type;
	qp->cap = asked->cap;
	make_rings(qp);
	pd->object.users++;
	((struct cq *)asked->send_cq)->object.users++;
	((struct cq *)asked->recv_cq)->object.users++;
	return &qp->ibv;
}

static void
set_busy(struct qp *qp, bool is_busy)
{
	if (is_busy && !qp->busy_at) {
		busy = must(realloc(busy, (busy_count + 1) * sizeof *busy));
		busy[busy_count++] = qp;
		qp->busy_at = busy_count;
	} else if (!is_busy && qp->busy_at) {
		busy[qp->busy_at - 1] = busy[--busy_count];
		busy[qp->busy_at - 1]->busy_at = qp->busy_at;
		qp->busy_at = 0;
	}
}

static int
destroy_qp(struct ibv_qp *ibv)
{
	struct qp *qp = (struct qp *)ibv;
	int error = end_object(&qp->object, VERB_destroy_qp);
	if (error)
		return error;
	set_busy(qp, false);
	forget_completions((struct cq *)ibv->send_cq, qp);
	forget_completions((struct cq *)ibv->recv_cq, qp);
	free_rings(qp);
	drop_events(&qp->object);
	((struct pd *)ibv->pd)->object.users--;
	((struct cq *)ibv->send_cq)->object.users--;
	((struct cq *)ibv->recv_cq)->object.users--;
	return 0;
}

/* What each change of state needs and may bring, by type (rdma-core's and the kernel's tables say
 * the same). */
static const struct change {
	enum ibv_qp_type type;
	enum ibv_qp_state from, to;
	int needed, allowed;
} changes[] = {
	{ IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR,
	  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	  IBV_QP_MAX_DEST_RD_ATOMIC |
		  IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	  IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
	  IBV_QP_PATH_MIG_STATE },
	{ IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, 0,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE },
	{ IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	  0 },
	{ IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_QKEY },
};

static bool
may_change(const struct qp *qp, const struct ibv_qp_attr *attributes, int mask)
{
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attributes->qp_state : qp->state;
	mask &= ~IBV_QP_STATE;
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		const struct change *change = &changes[i];
		if (change->type == qp->ibv.qp_type && change->from == qp->state &&
		    change->to == to)
			return (mask & change->needed) == change->needed &&
			       !(mask & ~(change->needed | change->allowed));
	}
	return false;
}

static bool
is_address(const struct context *context, const struct ibv_ah_attr *ah)
{
	const struct fake_port *port = port_of(context, ah->port_num);
	if (!port || (is_ethernet(port) && !ah->is_global))
		return false;
	return !ah->is_global || place_of(port, ah->grh.sgid_index) < port->gid_count;
}

static bool
are_in_range(const struct qp *qp, const struct ibv_qp_attr *attributes, int mask)
{
	const struct context *context = qp->object.context;
	const struct ibv_device_attr *most = &context->device->attributes;
	const struct fake_port *port = port_of(context, qp->attributes.port_num);
	if (mask & IBV_QP_PORT && !port_of(context, attributes->port_num))
		return false;
	if (mask & IBV_QP_PKEY_INDEX && attributes->pkey_index > 0)
		return false;
	if (mask & IBV_QP_PATH_MTU && (attributes->path_mtu < IBV_MTU_256 || !port ||
				       attributes->path_mtu > port->attributes.active_mtu))
		return false;
	if (mask & IBV_QP_AV && !is_address(context, &attributes->ah_attr))
		return false;
	return !(mask & IBV_QP_TIMEOUT && (attributes->timeout < 1 || attributes->timeout > 31)) &&
	       !(mask & IBV_QP_RETRY_CNT && attributes->retry_cnt > 7) &&
	       !(mask & IBV_QP_RNR_RETRY && attributes->rnr_retry != 7) &&
	       !(mask & IBV_QP_MIN_RNR_TIMER && attributes->min_rnr_timer > 31) &&
	       !(mask & IBV_QP_RQ_PSN && attributes->rq_psn >> 24) &&
	       !(mask & IBV_QP_SQ_PSN && attributes->sq_psn >> 24) &&
	       !(mask & IBV_QP_DEST_QPN && attributes->dest_qp_num >> 24) &&
	       !(mask & IBV_QP_MAX_QP_RD_ATOMIC &&
		 attributes->max_rd_atomic > most->max_qp_init_rd_atom) &&
	       !(mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
		 attributes->max_dest_rd_atomic > most->max_qp_rd_atom);
}

static void
take_attributes(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define TAKE(flag, field) \
	do { \
		if (mask & (flag)) \
			to->field = from->field; \
	} while (0)
	TAKE(IBV_QP_PKEY_INDEX, pkey_index);
	TAKE(IBV_QP_PORT, port_num);
	TAKE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	TAKE(IBV_QP_QKEY, qkey);
	TAKE(IBV_QP_AV, ah_attr);
	TAKE(IBV_QP_PATH_MTU, path_mtu);
	TAKE(IBV_QP_DEST_QPN, dest_qp_num);
	TAKE(IBV_QP_RQ_PSN, rq_psn);
	TAKE(IBV_QP_SQ_PSN, sq_psn);
#undef TAKE
}

static int
modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attributes, int mask)
{
	struct qp *qp = (struct qp *)ibv;
	int error = enter_device(VERB_modify_qp);
	if (error)
		return error;
	if (!is_usable(&qp->object, VERB_modify_qp) || !may_change(qp, attributes, mask) ||
	    !are_in_range(qp, attributes, mask))
		return EINVAL;
	take_attributes(&qp->attributes, attributes, mask);
	if (mask & IBV_QP_STATE)
		qp->state = ibv->state = attributes->qp_state;
	return 0;
}

/* Addresses and groups. */

static struct ibv_ah *
create_ah(struct ibv_pd *ibv, struct ibv_ah_attr *attributes)
{
	struct pd *pd = (struct pd *)ibv;
	struct context *context = pd->object.context;
	int error = enter_device(VERB_create_ah);
	if (!error && (!is_usable(&pd->object, VERB_create_ah) || !is_address(context, attributes)))
		error = EINVAL;
	if (!error && context->live[AH] >= context->device->attributes.max_ah)
		error = ENOMEM;
	if (error)
		return null_with(error);
	struct ah *ah = must(calloc(1, sizeof *ah));
	add_object(&ah->object, AH, context, ah);
	ah->ibv.context = ibv->context;
	ah->ibv.pd = ibv;
	ah->attributes = *attributes;
	pd->object.users++;
	return &ah->ibv;
}

static int
destroy_ah(struct ibv_ah *ibv)
{
	int error = end_object(&((struct ah *)ibv)->object, VERB_destroy_ah);
	if (!error)
		((struct pd *)ibv->pd)->object.users--;
	return error;
}

/* Is it a multicast address: IPv6's, or IPv4's mapped into it as RoCE v2 has them? */
static bool
is_group(const union ibv_gid *gid)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	return gid->raw[0] == 0xff ||
	       (!memcmp(gid->raw, mapped, sizeof mapped) && gid->raw[12] >> 4 == 0xe);
}

/* member_count if it is none */
static size_t
find_comm(const struct qp *qp, const union ibv_gid *group)
{
	size_t i = 0;
	while (i < member_count &&
	       (members[i].qp != qp || memcmp(&members[i].group, group, sizeof *group)))
		i++;
	return i;
}

static int
attach_mcast(struct ibv_qp *ibv, const union ibv_gid *group, uint16_t lid)
{
	struct qp *qp = (struct qp *)ibv;
	int error = enter_device(VERB_attach_mcast);
	if (error)
		return error;
	if (!is_usable(&qp->object, VERB_attach_mcast) || ibv->qp_type != IBV_QPT_UD ||
	    !is_group(group) || lid)
		return EINVAL;
	if (find_comm(qp, group) < member_count)
		return 0;
	if (member_count == MOST_COMMS)
		return ENOMEM;
	members[member_count++] = (struct member){ .group = *group, .qp = qp };
	qp->object.users++;
	return 0;
}

static int
detach_mcast(struct ibv_qp *ibv, const union ibv_gid *group, uint16_t lid)
{
	struct qp *qp = (struct qp *)ibv;
	int error = enter(VERB_detach_mcast);
	if (error)
		return error;
	size_t at = find_comm(qp, group);
	if (!is_usable(&qp->object, VERB_detach_mcast) || lid || at == member_count)
		return EINVAL;
	members[at] = members[--member_count];
	qp->object.users--;
	return 0;
}

/* Posting. */

static void
complete_send(struct qp *qp, uint64_t position, enum ibv_wc_status status)
{
	static const enum ibv_wc_opcode opcodes[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
	};
	const struct send *send = &qp->sends[position % qp->cap.max_send_wr];
	struct ibv_wc wc = rubbish(send->wr.wr_id, status);
	if (status == IBV_WC_SUCCESS) {
		wc.opcode = opcodes[send->wr.opcode];
		wc.wc_flags = 0;
	}
	if (send->is_signaled || status != IBV_WC_SUCCESS)
		complete(qp, true, position, &wc);
}

static void
flush(struct qp *qp)
{
	while (qp->completed < qp->posted)
		complete_send(qp, qp->completed++, IBV_WC_WR_FLUSH_ERR);
	qp->carried = qp->posted;
	set_busy(qp, false);
	while (qp->receive_used < qp->receive_posted) {
		uint64_t position = qp->receive_used++;
		struct ibv_wc wc = rubbish(qp->receives[position % qp->cap.max_recv_wr].wr_id,
					   IBV_WC_WR_FLUSH_ERR);
		complete(qp, false, position, &wc);
	}
}

static void
fail_qp(struct qp *qp)
{
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET)
		return;
	qp->state = IBV_QPS_ERR;
	flush(qp);
}

static int
check_send(const struct qp *qp, const struct ibv_send_wr *wr)
{
	bool is_write = wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool is_datagram = qp->ibv.qp_type == IBV_QPT_UD;
	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR)
		return EINVAL;
	bool is_atomic = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	if (is_datagram ? wr->opcode != IBV_WR_SEND : !is_write && !is_atomic)
		return EINVAL;
	if (is_atomic && (wr->num_sge != 1 || wr->sg_list->length != sizeof(uint64_t) ||
			  wr->send_flags & IBV_SEND_INLINE))
		return EINVAL;
	if (is_datagram && (!wr->wr.ud.ah || wr->wr.ud.remote_qkey >> 31))
		return EINVAL;
	if (wr->num_sge < 0 || (unsigned)wr->num_sge > qp->cap.max_send_sge)
		return EINVAL;
	uint64_t bytes = 0;
	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	if (wr->send_flags & IBV_SEND_INLINE && bytes > qp->cap.max_inline_data)
		return EINVAL;
	return qp->posted - qp->freed == qp->cap.max_send_wr ? ENOMEM : 0;
}

static void
enqueue_send(struct qp *qp, const struct ibv_send_wr *wr)
{
	struct send *send = &qp->sends[qp->posted++ % qp->cap.max_send_wr];
	*send = (struct send){ .wr = *wr, .sges = send->sges, .data = send->data };
	send->is_inline = wr->send_flags & IBV_SEND_INLINE;
	send->is_signaled = wr->send_flags & IBV_SEND_SIGNALED;
	if (qp->ibv.qp_type == IBV_QPT_UD)
		send->ah = (struct ah *)wr->wr.ud.ah;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];
		send->sges[i] = *sge;
		if (send->is_inline && sge->length > 0)
			memcpy(send->data + send->bytes, (void *)(uintptr_t)sge->addr, sge->length);
		send->bytes += sge->length;
	}
	counters.posted[wr->opcode]++;
	if (qp->state == IBV_QPS_ERR)
		flush(qp);
	else
		set_busy(qp, true);
}

static int
post_send(struct ibv_qp *ibv, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	struct qp *qp = (struct qp *)ibv;
	int error = enter(VERB_post_send);
	if (!error && !is_usable(&qp->object, VERB_post_send))
		error = EINVAL;
	for (; request && !error; request = request->next) {
		error = check_send(qp, request);
		if (error)
			break;
		enqueue_send(qp, request);
	}
	if (error)
		*bad = request;
	return error;
}

static int
check_receive(const struct qp *qp, const struct ibv_recv_wr *wr)
{
	if (qp->state == IBV_QPS_RESET || wr->num_sge < 0 ||
	    (unsigned)wr->num_sge > qp->cap.max_recv_sge)
		return EINVAL;
	return qp->receive_posted - qp->receive_freed == qp->cap.max_recv_wr ? ENOMEM : 0;
}

static int
post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	struct qp *qp = (struct qp *)ibv;
	int error = enter(VERB_post_recv);
	if (!error && !is_usable(&qp->object, VERB_post_recv))
		error = EINVAL;
	for (; request && !error; request = request->next) {
		error = check_receive(qp, request);
		if (error)
			break;
		struct receive *receive = &qp->receives[qp->receive_posted++ % qp->cap.max_recv_wr];
		*receive = (struct receive){ .wr_id = request->wr_id };
		if (request->num_sge > 0)
			receive->sge = *request->sg_list;
		if (qp->state == IBV_QPS_ERR)
			flush(qp);
	}
	if (error)
		*bad = request;
	return error;
}

/* Carrying. */

static bool
reaches(const struct qp *from, const struct ibv_ah_attr *ah, const struct qp *to)
{
	const struct context *here = from->object.context, *there = to->object.context;
	const struct fake_port *out = port_of(here, from->attributes.port_num);
	const struct fake_port *in = port_of(there, to->attributes.port_num);
	if (out->attributes.state != IBV_PORT_ACTIVE || in->attributes.state != IBV_PORT_ACTIVE ||
	    is_ethernet(out) != is_ethernet(in) || !there->object.is_alive)
		return false;
	if (!is_ethernet(in) && ah->dlid != lid_of(there, in))
		return false;
	if (!ah->is_global)
		return true;
	unsigned place = place_of(out, ah->grh.sgid_index);
	/* It may have gone */
	uint32_t type = place < out->gid_count ? out->gids[place].gid_type : UINT32_MAX;
	for (unsigned i = 0; i < in->gid_count; i++) {
		struct ibv_gid_entry entry = gid_of(there, in, i);
		if (!memcmp(&entry.gid, &ah->grh.dgid, sizeof entry.gid) && entry.gid_type == type)
			return true;
	}
	return false;
}

static struct qp *
find_qp(uint32_t number)
{
	return number >= FIRST_QP && number - FIRST_QP < qp_count ? qps[number - FIRST_QP] : NULL;
}

static bool
hears(const struct qp *qp)
{
	return qp->object.is_alive && (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS);
}

/* The other end of a connection; NULL if it is not to be reached. */
static struct qp *
peer_of(const struct qp *qp)
{
	const struct ibv_qp_attr *mine = &qp->attributes;
	struct qp *peer = find_qp(mine->dest_qp_num);
	if (!peer || !hears(peer) || peer->ibv.qp_type != IBV_QPT_RC)
		return NULL;
	const struct ibv_qp_attr *its = &peer->attributes;
	bool is_agreed = its->dest_qp_num == qp->ibv.qp_num && its->rq_psn == mine->sq_psn &&
			 its->path_mtu == mine->path_mtu;
	return is_agreed && reaches(qp, &mine->ah_attr, peer) ? peer : NULL;
}

static bool
has_receive(const struct qp *qp)
{
	return qp->receive_used < qp->receive_posted;
}

static bool
takes_receive(const struct send *send)
{
	return send->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wc_status
check_source(const struct qp *qp, const struct send *send, size_t most)
{
	if (send->bytes > most)
		return IBV_WC_LOC_LEN_ERR;
	for (int i = 0; i < send->wr.num_sge && !send->is_inline; i++) {
		const struct ibv_sge *sge = &send->sges[i];
		if (sge->length > 0 &&
		    !is_allowed(sge->lkey, false, qp->ibv.pd, sge->addr, sge->length, 0))
			return IBV_WC_LOC_PROT_ERR;
	}
	return IBV_WC_SUCCESS;
}

/* Reads the source now: it must not have been changed since it was posted. */
static void
copy_part(const struct send *send, size_t at, size_t bytes, void *to)
{
	char *out = to;
	if (send->is_inline) {
		memcpy(out, send->data + at, bytes);
		return;
	}
	for (int i = 0; bytes > 0; i++) {
		size_t length = send->sges[i].length;
		if (at < length) {
			size_t part = length - at < bytes ? length - at : bytes;
			memcpy(out, (char *)(uintptr_t)send->sges[i].addr + at, part);
			out += part;
			bytes -= part;
			at = length;
		}
		at -= length;
	}
}

static enum ibv_wc_status
write_part(struct qp *qp, const struct send *send, struct qp *peer, size_t at, size_t bytes)
{
	const struct fake_port *port = port_of(qp->object.context, qp->attributes.port_num);
	enum ibv_wc_status status = check_source(qp, send, port->attributes.max_msg_sz);
	if (status != IBV_WC_SUCCESS || send->bytes == 0)
		return status;
	if (!(peer->attributes.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) ||
	    !is_allowed(send->wr.wr.rdma.rkey, true, peer->ibv.pd, send->wr.wr.rdma.remote_addr,
			send->bytes, IBV_ACCESS_REMOTE_WRITE))
		return IBV_WC_REM_ACCESS_ERR;
	copy_part(send, at, bytes, (char *)(uintptr_t)send->wr.wr.rdma.remote_addr + at);
	return IBV_WC_SUCCESS;
}

static struct receive *
next_receive(struct qp *qp)
{
	return &qp->receives[qp->receive_used % qp->cap.max_recv_wr];
}

static void
finish_receive(struct qp *qp, struct ibv_wc wc)
{
	complete(qp, false, qp->receive_used++, &wc);
	if (wc.status != IBV_WC_SUCCESS)
		fail_qp(qp);
}

/* The peer's receive for a write that has arrived. */
static void
use_receive(const struct send *send, struct qp *peer)
{
	struct ibv_wc wc = rubbish(next_receive(peer)->wr_id, IBV_WC_SUCCESS);
	wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	wc.wc_flags = IBV_WC_WITH_IMM;
	wc.imm_data = send->wr.imm_data;
	wc.byte_len = (uint32_t)send->bytes;
	finish_receive(peer, wc);
}

/* What is still on its way of the send at this position arrives. */
static enum ibv_wc_status
settle(struct qp *qp, uint64_t position)
{
	struct send *send = &qp->sends[position % qp->cap.max_send_wr];
	if (send->late_bytes == 0)
		return IBV_WC_SUCCESS;
	struct qp *peer = peer_of(qp);
	if (!peer)
		return IBV_WC_RETRY_EXC_ERR;
	enum ibv_wc_status status = write_part(qp, send, peer, send->late_at, send->late_bytes);
	if (status == IBV_WC_SUCCESS)
		send->late_bytes = 0;
	return status;
}

/* Those before it went well, as far as they arrived whole; it does not; those behind it are
 * flushed. */
static void
fail_send(struct qp *qp, uint64_t position, enum ibv_wc_status status)
{
	if (qp->state != IBV_QPS_RTS)
		return;
	while (qp->completed < position) {
		enum ibv_wc_status earlier = settle(qp, qp->completed);
		if (earlier != IBV_WC_SUCCESS) {
			status = earlier;
			break;
		}
		complete_send(qp, qp->completed++, IBV_WC_SUCCESS);
		if (qp->state != IBV_QPS_RTS) /* the CQ overflowed */
			return;
	}
	struct qp *peer = peer_of(qp);
	complete_send(qp, qp->completed++, status);
	fail_qp(qp);
	if (status == IBV_WC_REM_ACCESS_ERR && peer) {
		struct ibv_async_event event =
			{ .element.qp = &peer->ibv, .event_type = IBV_EVENT_QP_ACCESS_ERR };
		send_event(peer->object.context, event);
		fail_qp(peer);
	}
}

static enum ibv_wc_status
settle_before(struct qp *qp, uint64_t end)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	for (uint64_t i = qp->completed; i < end && status == IBV_WC_SUCCESS; i++)
		status = settle(qp, i);
	return status;
}

/* The peer's receive is told of a write, which is whole by then. */
static enum ibv_wc_status
announce(struct qp *qp, uint64_t position, struct qp *peer)
{
	struct send *send = &qp->sends[position % qp->cap.max_send_wr];
	enum ibv_wc_status status = settle_before(qp, position + 1);
	if (status == IBV_WC_SUCCESS)
		use_receive(send, peer);
	send->owes_receive = false;
	return status;
}

/* The first part of a torn write: which of the two is drawn. */
static enum ibv_wc_status
tear(struct qp *qp, struct send *send, struct qp *peer)
{
	size_t cut = 1 +
		     draw(send->bytes - 1 > UINT32_MAX ? UINT32_MAX : (uint32_t)(send->bytes - 1));
	bool is_back_first = draw(2);
	send->late_at = is_back_first ? 0 : cut;
	send->late_bytes = is_back_first ? cut : send->bytes - cut;
	send->owes_receive = takes_receive(send);
	return write_part(qp, send, peer, is_back_first ? cut : 0,
			  is_back_first ? send->bytes - cut : cut);
}

/* The status that fake_complete_with wants, or success. */
static enum ibv_wc_status
strike(const struct qp *qp)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	for (size_t i = strike_count; i-- > 0;) {
		struct strike *rule = &strikes[i];
		if (rule->qp_number != FAKE_ANY_QP && rule->qp_number != qp->ibv.qp_num)
			continue;
		if (--rule->nth == 0) {
			status = rule->status;
			*rule = strikes[--strike_count];
		}
	}
	return status;
}

/* What was written before it is there by then. */
static enum ibv_wc_status
add_there(struct qp *qp, uint64_t position, struct qp *peer)
{
	const struct send *send = &qp->sends[position % qp->cap.max_send_wr];
	const struct ibv_sge *sge = &send->sges[0];
	uint64_t address = send->wr.wr.atomic.remote_addr;
	enum ibv_wc_status status = settle_before(qp, position);
	if (status != IBV_WC_SUCCESS)
		return status;
	if (!is_allowed(sge->lkey, false, qp->ibv.pd, sge->addr, sge->length,
			IBV_ACCESS_LOCAL_WRITE))
		return IBV_WC_LOC_PROT_ERR;
	if (address % sizeof(uint64_t))
		return IBV_WC_REM_INV_REQ_ERR;
	if (!(peer->attributes.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) ||
	    !is_allowed(send->wr.wr.atomic.rkey, true, peer->ibv.pd, address, sge->length,
			IBV_ACCESS_REMOTE_ATOMIC))
		return IBV_WC_REM_ACCESS_ERR;
	uint64_t *word = (uint64_t *)(uintptr_t)address;
	memcpy((void *)(uintptr_t)sge->addr, word, sizeof *word);
	*word += send->wr.wr.atomic.compare_add;
	return IBV_WC_SUCCESS;
}

/* The next send of a connection. */
static void
carry_message(struct qp *qp)
{
	uint64_t position = qp->carried;
	struct send *send = &qp->sends[position % qp->cap.max_send_wr];
	struct qp *peer = peer_of(qp);
	enum ibv_wc_status status = strike(qp);
	if (status == IBV_WC_SUCCESS && !peer)
		status = IBV_WC_RETRY_EXC_ERR;
	if (status == IBV_WC_SUCCESS && send->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		status = add_there(qp, position, peer);
	} else if (status == IBV_WC_SUCCESS && fake.is_torn && send->bytes > 1) {
		status = tear(qp, send, peer);
	} else if (status == IBV_WC_SUCCESS) {
		status = write_part(qp, send, peer, 0, send->bytes);
		if (status == IBV_WC_SUCCESS && takes_receive(send))
			status = announce(qp, position, peer);
	}
	if (status != IBV_WC_SUCCESS)
		fail_send(qp, position, status);
	else if (qp->state == IBV_QPS_RTS)
		qp->carried++;
}

static void
hand_datagram(struct qp *qp, const struct send *send, struct qp *to)
{
	if (!hears(to) || send->wr.wr.ud.remote_qkey != to->attributes.qkey || !has_receive(to) ||
	    next_receive(to)->sge.length < GRH_BYTES + send->bytes || draw(100) < fake.loss)
		return;
	const struct receive *receive = next_receive(to);
	const struct ibv_sge *sge = &receive->sge;
	struct ibv_wc wc = rubbish(receive->wr_id, IBV_WC_SUCCESS);
	if (is_allowed(sge->lkey, false, to->ibv.pd, sge->addr, sge->length,
		       IBV_ACCESS_LOCAL_WRITE)) {
		memset((void *)(uintptr_t)sge->addr, 0xa5, GRH_BYTES);
		copy_part(send, 0, send->bytes, (char *)(uintptr_t)sge->addr + GRH_BYTES);
	} else {
		wc.status = IBV_WC_LOC_PROT_ERR;
	}
	wc.opcode = IBV_WC_RECV;
	wc.byte_len = (uint32_t)(GRH_BYTES + send->bytes);
	wc.wc_flags = IBV_WC_GRH;
	finish_receive(to, wc);
}

static void
multicast(struct qp *qp, const struct send *send)
{
	const struct ibv_ah_attr *ah = &send->ah->attributes;
	const struct fake_port *out = port_of(qp->object.context, qp->attributes.port_num);
	for (size_t i = 0; i < member_count; i++) {
		const struct member *member = &members[i];
		const struct fake_port *in = port_of(member->qp->object.context,
						     member->qp->attributes.port_num);
		if (memcmp(&member->group, &ah->grh.dgid, sizeof member->group) ||
		    (member->qp == qp && !fake.hears_itself) || !in ||
		    out->attributes.state != IBV_PORT_ACTIVE ||
		    in->attributes.state != IBV_PORT_ACTIVE)
			continue;
		hand_datagram(qp, send, member->qp);
		if (fake.twice && draw(100) < fake.twice)
			hand_datagram(qp, send, member->qp);
	}
}

static void
carry_datagram(struct qp *qp)
{
	struct send *send = &qp->sends[qp->carried % qp->cap.max_send_wr];
	const struct fake_port *port = port_of(qp->object.context, qp->attributes.port_num);
	const struct ibv_ah_attr *ah = &send->ah->attributes;
	enum ibv_wc_status status = strike(qp);
	if (status == IBV_WC_SUCCESS &&
	    (!is_usable(&send->ah->object, VERB_post_send) || send->ah->ibv.pd != qp->ibv.pd))
		status = IBV_WC_LOC_QP_OP_ERR;
	if (status == IBV_WC_SUCCESS && !(ah->is_global && is_group(&ah->grh.dgid)))
		status = IBV_WC_LOC_QP_OP_ERR;
	if (status == IBV_WC_SUCCESS)
		status = check_source(qp, send, (size_t)128 << port->attributes.active_mtu);
	if (status != IBV_WC_SUCCESS) {
		fail_send(qp, qp->carried, status);
		return;
	}
	multicast(qp, send);
	if (qp->state == IBV_QPS_RTS) /* else it sent to itself, and failed */
		qp->carried++;
}

/* Is the send's way free, if only to fail? */
static bool
may_carry(const struct qp *qp, const struct send *send)
{
	if (qp->ibv.qp_type == IBV_QPT_UD)
		return true;
	const struct qp *peer = peer_of(qp);
	if (!peer || !takes_receive(send) || has_receive(peer))
		return true;
	/* Its data may come before the receive is asked for. */
	return fake.is_torn && send->bytes > 1 && !send->owes_receive;
}

static void
settle_one(struct qp *qp)
{
	uint64_t position = qp->carried;
	for (uint64_t seen = 0, i = qp->completed; i < qp->carried; i++)
		if (qp->sends[i % qp->cap.max_send_wr].late_bytes > 0 &&
		    draw((uint32_t)++seen) == 0)
			position = i;
	enum ibv_wc_status status = settle(qp, position);
	if (status != IBV_WC_SUCCESS)
		fail_send(qp, position, status);
}

static void
announce_last(struct qp *qp)
{
	uint64_t last = qp->carried - 1;
	struct qp *peer = peer_of(qp);
	enum ibv_wc_status status = peer ? announce(qp, last, peer) : IBV_WC_RETRY_EXC_ERR;
	if (status != IBV_WC_SUCCESS)
		fail_send(qp, last, status);
}

/* One of the things that can happen to this QP next; false: none. */
static bool
move(struct qp *qp)
{
	enum { FINISH, SETTLE, ANNOUNCE, CARRY };
	unsigned count = 0, can[4];
	const struct send *last = NULL, *first = &qp->sends[qp->completed % qp->cap.max_send_wr];
	bool has_late = false;
	for (uint64_t i = qp->completed; i < qp->carried; i++) {
		last = &qp->sends[i % qp->cap.max_send_wr];
		has_late |= last->late_bytes > 0;
	}
	if (last && first->late_bytes == 0 && !first->owes_receive)
		can[count++] = FINISH;
	if (has_late)
		can[count++] = SETTLE;
	if (last && last->owes_receive && may_carry(qp, last))
		can[count++] = ANNOUNCE;
	if (qp->carried < qp->posted && !(last && last->owes_receive) &&
	    may_carry(qp, &qp->sends[qp->carried % qp->cap.max_send_wr]))
		can[count++] = CARRY;
	if (count == 0)
		return false;
	switch (can[draw(count)]) {
	case FINISH:
		complete_send(qp, qp->completed++, IBV_WC_SUCCESS);
		set_busy(qp, qp->completed < qp->posted && qp->state == IBV_QPS_RTS);
		break;
	case SETTLE:
		settle_one(qp);
		break;
	case ANNOUNCE:
		announce_last(qp);
		break;
	default:
		if (qp->ibv.qp_type == IBV_QPT_UD)
			carry_datagram(qp);
		else
			carry_message(qp);
	}
	return true;
}

size_t
fake_progress(size_t n)
{
	size_t made = 0;
	while (made < n && busy_count > 0) {
		size_t from = draw((uint32_t)busy_count), i = 0, count = busy_count;
		while (i < count && !move(busy[(from + i) % count]))
			i++;
		if (i == count)
			break;
		made++;
	}
	return made;
}

static int
close_device(struct ibv_context *ibv)
{
	struct context *context = (struct context *)ibv;
	int error = end_object(&context->object, VERB_close_device);
	if (error)
		return error;
	if (ibv->async_fd >= 0)
		close(ibv->async_fd);
	return 0;
}

/* What needs no device. */

static const char *
event_type_str(enum ibv_event_type event)
{
	static char text[32];
	enter(VERB_event_type_str);
	snprintf(text, sizeof text, "event %d", (int)event);
	return text;
}

static const char *
wc_status_str(enum ibv_wc_status status)
{
	static char text[32];
	enter(VERB_wc_status_str);
	snprintf(text, sizeof text, "status %d", (int)status);
	return text;
}

static int
is_fork_safe(void)
{
	enter(VERB_is_fork_safe);
	return 0;
}

const struct cs_verbs *
fake_verbs(void)
{
	static const struct cs_verbs table = {
#define POINTER(name) .name = name,
		VERBS(POINTER)
#undef POINTER
	};
	if (!is_set)
		fake_reset();
	return &table;
}

/* The test's side. */

static void
set_device(struct fake_device *device, unsigned number)
{
	*device = (struct fake_device){ .max_inline = 256 };
	snprintf(device->name, sizeof device->name, "fake%u", number);
	device->attributes = (struct ibv_device_attr){
		.max_mr_size = UINT64_MAX, .max_qp = 4096, .max_qp_wr = 8192, .max_sge = 16,
			.max_cq = 256,
		.max_cqe = 1 << 20, .max_mr = 65536, .max_pd = 64, .max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16, .atomic_cap = IBV_ATOMIC_HCA, .max_ah = 65536,
		.max_pkeys = 1, .phys_port_cnt = 1,
	};
	for (unsigned i = 0; i < FAKE_PORTS; i++) {
		struct fake_port *port = &device->ports[i];
		port->attributes = (struct ibv_port_attr){
			.state = IBV_PORT_ACTIVE, .max_mtu = IBV_MTU_4096,
				.active_mtu = IBV_MTU_4096,
			.max_msg_sz = 1U << 30, .pkey_tbl_len = 1,
			.lid = (uint16_t)(1 + 4096 * (2 * number + i)),
			.link_layer = IBV_LINK_LAYER_INFINIBAND,
		};
		port->gid_count = 1;
		port->gids[0].gid_type = IBV_GID_TYPE_IB;
		memcpy(&port->gids[0].gid,
		       (uint8_t[16]){ 0xfe, 0x80, [8] = 2, [9] = (uint8_t)number, [10] = (uint8_t)i,
							  [15] = 1 }, 16);
	}
}

void
fake_roce(unsigned device)
{
	struct fake_port *port = &fake.devices[device].ports[0];
	port->attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
	port->attributes.lid = 0;
	port->gid_count = 4;
	for (unsigned i = 0; i < 4; i++) {
		static const uint8_t gids[2][16] =
			{ { 0xfe, 0x80, [15] = 1 }, { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
		port->gids[i] = (struct ibv_gid_entry){ .gid_index = i, .ndev_ifindex = 2 };
		port->gids[i].gid_type = i % 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
		memcpy(&port->gids[i].gid, gids[i / 2], 16);
		/* Not the same for two devices */
		port->gids[i].gid.raw[9] = (uint8_t)(i / 2 ? 0 : device);
	}
}

static void
free_object(struct object *object)
{
	struct context *context = object->memory;
	if (object->kind == QP)
		free_rings(object->memory);
	if (object->kind == CQ)
		free(((struct cq *)object->memory)->entries);
	if (object->kind == CONTEXT) {
		free(context->events);
		if (object->is_alive && context->ibv.async_fd >= 0)
			close(context->ibv.async_fd);
	}
	free(object->memory);
}

void
fake_reset(void)
{
	while (objects) {
		struct object *next = objects->next;
		free_object(objects);
		objects = next;
	}
	free(qps);
	free(mrs);
	free(busy);
	qps = busy = NULL;
	mrs = NULL;
	qp_count = mr_count = busy_count = member_count = failing_count = strike_count = 0;
	context_count = 0;
	is_set = true;
	is_dropped = false;
	memset(calls, 0, sizeof calls);
	counters = (struct fake_counters){ 0 };
	fake = (struct fake_settings){ .device_count = 1, .memlock = SIZE_MAX, .poll_steps = 4,
				       .hears_itself = true };
	for (unsigned i = 0; i < FAKE_DEVICES; i++)
		set_device(&fake.devices[i], i);
	fake_seed(20261121);
}

void
fake_seed(uint64_t seed)
{
	random_state = seed;
}

size_t
fake_leaks(FILE *out)
{
	size_t count[KINDS] = { 0 }, all = 0;
	for (const struct object *object = objects; object; object = object->next)
		count[object->kind] += object->is_alive;
	for (size_t i = 0; i < KINDS; i++) {
		all += count[i];
		if (count[i] > 0 && out)
			fprintf(out, "fake verbs: not destroyed: %zu of kind %s\n", count[i],
				kind_names[i]);
	}
	if (counters.pinned > 0 && out)
		fprintf(out, "fake verbs: still pinned: %zu bytes\n", counters.pinned);
	return all;
}

const struct fake_counters *
fake_counted(void)
{
	return &counters;
}

uint64_t
fake_calls(const char *verb)
{
	return calls[verb_of(verb)];
}

void
fake_fail(const char *verb, unsigned nth, int error)
{
	if (failing_count == MOST_RULES)
		abort();
	failing[failing_count++] = (struct failing){ .verb = verb_of(verb), .nth = nth,
						     .error = error };
}

void
fake_complete_with(uint32_t qp_number, unsigned nth, enum ibv_wc_status status)
{
	if (strike_count == MOST_RULES || nth == 0)
		abort();
	strikes[strike_count++] = (struct strike){ .qp_number = qp_number, .nth = nth,
						   .status = status };
}

void
fake_port(enum ibv_port_state state)
{
	for (unsigned i = 0; i < FAKE_DEVICES; i++)
		fake.devices[i].ports[0].attributes.state = state;
	fake_event(state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void
fake_event(enum ibv_event_type type)
{
	for (struct object *object = objects; object; object = object->next) {
		if (object->kind != CONTEXT || !object->is_alive)
			continue;
		struct ibv_async_event event = { .event_type = type, .element.port_num = 1 };
		send_event(object->memory, event);
	}
}

void
fake_drop_device(void)
{
	is_dropped = true;
	fake_event(IBV_EVENT_DEVICE_FATAL);
	for (size_t i = 0; i < qp_count; i++)
		if (qps[i]->object.is_alive)
			fail_qp(qps[i]);
}
