/* ib/doctor.c — tries verbs for collshim-info --doctor as a first connection would. */
#include "ib/doctor.h"

#include "ib/internal.h"
#include "ib/pages.h"
#include "ib/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


int
cs_ib_kernel_error(const struct cs_verbs *verbs)
{
	int count = 0;
	errno = 0;
	struct ibv_device **list = verbs->get_device_list(&count);
	int error = list ? 0 : errno ? errno : ENOSYS;
	if (list)
		verbs->free_device_list(list);
	return error;
}

static void
refuse(struct cs_ib_trial *trial, const char *what)
{
	trial->error = errno;
	trial->refused = what;
}

static void
try_queues(const struct cs_ib_port *port, struct ibv_pd *pd, size_t slots,
	   struct cs_ib_trial *trial)
{
	const struct cs_verbs *verbs = port->verbs;
	struct ibv_cq *cq = verbs->create_cq(port->context, port->max_cqe < CS_MOST_CQES
					     ? port->max_cqe : CS_MOST_CQES);
	if (!cq) {
		refuse(trial, "a completion queue (ibv_create_cq)");
		return;
	}
	struct ibv_qp_init_attr attributes = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = CS_SENDS, .max_recv_wr = (uint32_t)slots + CS_SPARE,
			 .max_send_sge = 2, .max_recv_sge = 1,
			 .max_inline_data = CS_INLINE_WANTED },
	};
	struct ibv_qp *qp = verbs->create_qp(pd, &attributes);
	if (!qp)
		refuse(trial, "a queue pair (ibv_create_qp)");
	else
		verbs->destroy_qp(qp);
	verbs->destroy_cq(cq);
}

static void
try_domain(const struct cs_ib_port *port, struct ibv_pd *pd, void *slab, size_t slots,
	   struct cs_ib_trial *trial)
{
	const struct cs_verbs *verbs = port->verbs;
	struct ibv_mr *mr = verbs->reg_mr(pd, slab, trial->bytes,
					  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr) {
		refuse(trial, "registered memory (ibv_reg_mr)");
		return;
	}
	try_queues(port, pd, slots, trial);
	verbs->dereg_mr(mr);
}

void
cs_ib_try(const struct cs_ib_port *port, size_t slots, size_t slot_bytes, struct cs_ib_trial *trial)
{
	size_t needed = 2 * slots * slot_bytes;
	*trial =
		(struct cs_ib_trial){ .bytes = cs_ib_pages_round(needed > CS_SLAB
								 ? needed : CS_SLAB) };
	char *slab = cs_ib_pages_get(trial->bytes);
	if (!slab) {
		refuse(trial, "memory");
		return;
	}
	struct ibv_pd *pd = port->verbs->alloc_pd(port->context);
	if (pd) {
		try_domain(port, pd, slab, slots, trial);
		port->verbs->dealloc_pd(pd);
	} else {
		refuse(trial, "a protection domain (ibv_alloc_pd)");
	}
	cs_ib_pages_put(slab, trial->bytes);
}

/* --- the watch -------------------------------------------------------------------------------- */

bool
cs_ib_try_watch(void)
{
	struct cs_watch *watch = NULL;
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	if (cs_watch_open(&watch) != CS_OK)
		return false;
	char *page = aligned_alloc(bytes, bytes);
	bool can = false;
	if (page) {
		uintptr_t low = (uintptr_t)memset(page, 0, bytes);
		can = cs_watch_add(watch, low, low + bytes) == CS_OK;
	}
	int saved = errno;
	cs_watch_close(watch); /* before the page is freed, which would be an event */
	free(page);
	errno = saved;
	return can;
}
