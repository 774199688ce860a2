/* ib/verbs.h — the verbs that we use, as a table.
 *
 * libibverbs is loaded at run time: a machine without it loses nothing. Tests put a fake behind the
 * same table. Each pointer has the contract of the verb of its name (ibv_reg_mr(3) and so on); what
 * is inline in <infiniband/verbs.h> (posting, polling) is a plain function here. */
#ifndef CS_IB_VERBS_H
#define CS_IB_VERBS_H

#include "base/status.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_verbs {
	struct ibv_device **(*get_device_list)(int *count);
	void (*free_device_list)(struct ibv_device **list);
	const char *(*get_device_name)(struct ibv_device *device);
	struct ibv_context *(*open_device)(struct ibv_device *device);
	int (*close_device)(struct ibv_context *context);
	/* Number of the device, constant as long as the system has the device; 0: removed, or
	 * unknown. */
	uint64_t (*identity)(struct ibv_context *context);
	int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attributes);
	int (*query_port)(struct ibv_context *context, uint8_t port,
			  struct ibv_port_attr *attributes);
	ssize_t (*query_gid_table)(struct ibv_context *context, struct ibv_gid_entry *entries,
				   size_t room);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *base, size_t bytes, int access);
	int (*dereg_mr)(struct ibv_mr *mr);
	struct ibv_cq *(*create_cq)(struct ibv_context *context, int entries);
	int (*destroy_cq)(struct ibv_cq *cq);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes);
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask);
	int (*destroy_qp)(struct ibv_qp *qp);
	struct ibv_ah *(*create_ah)(struct ibv_pd *pd, struct ibv_ah_attr *attributes);
	int (*destroy_ah)(struct ibv_ah *ah);
	int (*attach_mcast)(struct ibv_qp *qp, const union ibv_gid *group, uint16_t lid);
	int (*detach_mcast)(struct ibv_qp *qp, const union ibv_gid *group, uint16_t lid);
	int (*get_async_event)(struct ibv_context *context, struct ibv_async_event *event);
	void (*ack_async_event)(struct ibv_async_event *event);
	const char *(*event_type_str)(enum ibv_event_type event);
	const char *(*wc_status_str)(enum ibv_wc_status status);
	/* Does a fork leave registered pages alone without ibv_fork_init (2 words of the kernel:
	 * copy on fork)? */
	int (*is_fork_safe)(void);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad);
	int (*poll_cq)(struct ibv_cq *cq, int room, struct ibv_wc *completions);
};

/* May there be a device? If the kernel shows none, libibverbs and its dependencies need not be
 * loaded. */
bool cs_verbs_may_find(void);

/* The machine's libibverbs, loaded at the first call and never unloaded; NULL if there is none:
 * *why (static storage) then says what is missing. */
const struct cs_verbs *cs_verbs_load(const char **why);

#endif
