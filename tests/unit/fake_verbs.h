/* fake_verbs.h — a fabric in memory behind `struct cs_verbs`, for tests of src/ib on a machine
 * without a device.
 *
 * All simulated processes live in this one process and thread; addresses are plain addresses. Each
 * context that is opened is another machine: the n-th since the reset (from 0) has the port's LID
 * and GIDs plus n, and limits (max_qp, memlock, ...) of its own. QP numbers and keys are never used
 * twice. Nothing is locked and nothing sleeps.
 *
 *   post_send -> the QP's queue, in order
 *             -> a step carries it to its target (order among QPs is drawn)
 *             -> a later step makes its completion (nothing, if unsignaled)
 *             -> poll_cq frees slots
 *
 * It keeps to the specification and gives no more than that, nor what one vendor adds:
 *  - queues are as long as asked, not rounded up; a send's slot is free when a completion at or
 *    behind it was polled; only max_inline_data is rounded up (64 gives 96), and query_port leaves
 *    the fields alone that libibverbs leaves;
 *  - what is not inline is read when it is carried; a completion's fields that mean nothing are
 *    0xa5;
 *  - lkey and rkey differ; checked are owner, range and access at both ends; a wrong rkey ends both
 *    QPs;
 *  - a peer that is absent, in another state than RTR or RTS, or connected with another address,
 *    PSN or MTU: RETRY_EXC_ERR at once. No receive posted: waits;
 *  - a failed send ends its QP, UD too (no state SQE); a QP in error flushes unsignaled sends as
 *    well, and what was carried but not completed: data of a flushed send may have arrived;
 *  - a CQ that overflows is dead: told, IBV_EVENT_CQ_ERR, poll_cq fails, its QPs end; a destroyed
 *    QP's completions go;
 *  - a fetch-and-add is carried out when what was written before it on its QP is there;
 *  - UD is lost without a word: no receive, one too short for 40 bytes and the data, wrong qkey.
 *    The 40 bytes of the GRH are rubbish.
 * Not there, and refused: SEND on RC, UD to one QP and multicast by LID, RDMA_READ, other atomics,
 * SRQ, sq_sig_all, several SGEs of a receive, privileged qkeys, an rnr_retry below 7 and a timeout
 * of 0, changes to RESET and ERR. There are no completion channels. */
#ifndef CS_TESTS_UNIT_FAKE_VERBS_H
#define CS_TESTS_UNIT_FAKE_VERBS_H

#include "ib/verbs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FAKE_DEVICES = 4, FAKE_PORTS = 2, FAKE_GIDS = 8, FAKE_ANY_QP = 0 };

/* What the machine has. A test writes it after fake_reset; most of it counts from the next call
 * on. */
struct fake_settings {
	unsigned device_count;
	struct fake_device {
		char name[IBV_SYSFS_NAME_MAX];
		struct ibv_device_attr attributes; /* phys_port_cnt ports; max_qp, max_mr, max_cqe,
						    * ... are kept to */
		unsigned max_inline;
		struct fake_port {
			struct ibv_port_attr attributes; /* state, active_mtu, max_msg_sz, lid,
							  * link_layer */
			struct ibv_gid_entry gids[FAKE_GIDS];
			unsigned gid_count;
		} ports[FAKE_PORTS]; /* [0] is port 1 */
	} devices[FAKE_DEVICES];
	size_t memlock;      /* bytes of whole pages that a context may register */
	unsigned poll_steps; /* poll_cq first makes 0 to this many steps, drawn; 0: only
			      * fake_progress makes any */
	unsigned loss;       /* of 100 datagrams at each receiver, drawn */
	unsigned twice;      /* of 100 multicasts at each receiver come a second time, drawn */
	bool is_torn;        /* a write arrives in two parts, in any order, amid parts of later
			      * writes of its QP; it is whole before its completion and before a
			      * later message's receive completes */
	bool is_removed;     /* identity tells, nothing else does: what is open goes on */
	bool hears_itself; /* a multicast returns to its sender, when attached; the specification
			    * leaves it open */
};
extern struct fake_settings fake;

struct fake_counters {
	uint64_t posted[IBV_WR_ATOMIC_FETCH_AND_ADD + 1]; /* by opcode */
	uint64_t errors;    /* completions polled, with a status other than success */
	uint64_t overflows; /* CQs that did */
	uint64_t misuses;   /* told on stderr: overflows, use of the destroyed, what would block
			     * for ever */
	size_t pinned;      /* bytes, all contexts */
};

const struct cs_verbs *fake_verbs(void);

/* Forgets everything, leaks too; fake_verbs does it the first time. Then: one device "fake0" with
 * one active InfiniBand port and one GID, generous limits, poll_steps 4, hears_itself, and always
 * the same seed. */
void fake_reset(void);
void fake_seed(uint64_t seed);
/* Makes port 1 a RoCE port: no LID; GIDs v1 and v2 of fe80::1, v1 and v2 of ::ffff:10.0.0.1. */
void fake_roce(unsigned device);

/* At most n steps, drawn; how many there were. 0: nothing can move (what waits for a receive does
 * not count). */
size_t fake_progress(size_t n);
/* What was not destroyed, a line per kind to `out` (NULL: none); how many things. */
size_t fake_leaks(FILE *out);
const struct fake_counters *fake_counted(void);
uint64_t fake_calls(const char *verb); /* "create_qp": a member of struct cs_verbs */

/* The nth call of the verb from now on (1: the next; 0: every) fails with the error, in the way of
 * that verb. */
void fake_fail(const char *verb, unsigned nth, int error);
/* The nth send from now on that this QP (or any) begins to carry completes so instead, and the QP
 * is in error; the peer's too if it is REM_ACCESS_ERR. */
void fake_complete_with(uint32_t qp_number, unsigned nth, enum ibv_wc_status status);
/* Port 1 of all devices, with its event. While it is not active RC fails with RETRY_EXC_ERR and UD
 * is lost. */
void fake_port(enum ibv_port_state state);
/* To each open context, about its port 1. async_fd is readable then; get_async_event gives -1 with
 * EAGAIN when there is none. */
void fake_event(enum ibv_event_type type);
/* All devices: IBV_EVENT_DEVICE_FATAL, QPs in error, list empty, whatever makes, changes or asks
 * gets EIO; what destroys goes well. */
void fake_drop_device(void);

#endif
