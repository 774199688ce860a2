/* ib/internal.h — types and functions of this room's files. A file calls those below it only:
 *
 *   ib.c         opening and closing; the table of kinds of slots
 *   wire.c       a group's wire: requests, order, waiting  multicast.c, multicast_open.c
 *   progress.c   completions, and other work of a turn
 *   rma_window.c writes into other nodes' windows
 *   connect.c    connections, once for each pair              large.c  ready, data, fragments
 *   ring.c       slots and credits: small messages
 *   peer.c       posting, and failures                             memory.c    slots, queues, pins
 *   message.c    queues of messages                                port.c      choice of the device
 *
 * Data in a slot is passed up by the table of kinds (struct cs_kind_ops).
 *
 *   struct cs_ib       the process
 *   struct cs_peer     another process: one connection    shared by all groups
 *   struct cs_channel  another rank of one group          messages in order, numbered by tag
 *   struct cs_message  one message of a wire's user       lies in the user's struct cs_request
 *
 * All of it is accessed under ib->busy only. */
#ifndef CS_IB_INTERNAL_H
#define CS_IB_INTERNAL_H

#include "ib/ib.h"
#include "ib/port.h"
#include "ib/registrations.h"
#include "wire/rma_window.h"

#include <stdatomic.h>
#include <string.h>

#define CS_SENDS 64   /* requests in a connection's send queue */
/* Receives beyond the slots: for data, credits, and receives not posted again yet */
#define CS_SPARE 40
#define CS_BATCH 8    /* receives posted again at once, at most */
#define CS_INLINE_WANTED 128
#define CS_SLAB ((size_t)1 << 20) /* bytes of slots registered at once */
#define CS_MOST_CQES 8192
#define CS_HELLO_BYTES 64
#define CS_LEAST_SLOT 128     /* bytes; holds a hello, and each other message of fixed size */
#define CS_MOST_SLOTS (1 << 14) /* so that a credit's 16 bits are unambiguous */

/* Kind of an arriving immediate, in its upper two bits. */
enum cs_word { CS_WORD_SLOT, CS_WORD_CREDIT, CS_WORD_DATA, CS_WORD_BYE };
#define CS_WORD_BITS 30
#define CS_WORD_MASK ((UINT32_C(1) << CS_WORD_BITS) - 1)

/* A channel's number: its place in the table, and above it a count of places given, so that data
 * for a closed channel (CS_KIND_ASK may arrive late) is not taken for a new one's. */
#define CS_PLACE_BITS 24
#define CS_PLACE(number) ((number) & ((UINT32_C(1) << CS_PLACE_BITS) - 1))

/* Kind of a slot's message. */
enum cs_kind { CS_KIND_NONE, CS_KIND_HELLO, CS_KIND_SMALL, CS_KIND_READY, CS_KIND_FRAGMENT,
	       CS_KIND_ASK, CS_KINDS };

/* Kind of work request in a completion's wr_id, beside the peer, in the bits that the peer's
 * alignment leaves free. */
enum cs_posted { CS_POSTED_RECEIVE, CS_POSTED_SLOT, CS_POSTED_DATA, CS_POSTED_CREDIT,
		 CS_POSTED_COUNT, CS_POSTED_KINDS = 8 };
_Static_assert(CS_POSTED_RECEIVE == 0, "a receive's wr_id is the peer's address alone");

/* End of a slot; the payload is before it, from a multiple of 8 bytes on. */
struct cs_trailer {
	uint64_t message; /* of the channel */
	uint32_t channel; /* the receiver's number */
	uint32_t bytes;   /* of payload */
	uint16_t kind;
	uint16_t credits; /* slots that this sender has given back, in all (low bits) */
	uint32_t number;  /* of slots filled on this connection, from 1: the arrival flag */
};
_Static_assert(sizeof(struct cs_trailer) == 24, "ib.h names the size");

/* Payload of CS_KIND_READY. `key` 0: in fragments, please. */
struct cs_ready {
	uint64_t address, bytes;
	uint64_t flag; /* address of a word that gets `value`; 0: none */
	uint64_t value;
	uint32_t key, token;
};

/* Head of the payload of CS_KIND_FRAGMENT. If `at` is beyond the receiver's room, it is the size
 * that the sender has. */
struct cs_ib_fragment {
	uint64_t at;
	uint32_t token, is_last;
};

/* First words of a process to the other one of a pair, over the host's wire. */
struct cs_ib_words {
	uint32_t is_able, is_joined; /* has a queue pair; the pair is connected already */
	uint32_t qpn, psn, lid, mtu;
	union ibv_gid gid;
	uint64_t ring; /* the slots' address */
	uint32_t key, slots, slot_bytes;
	uint32_t channel;
};

enum cs_stage { CS_IDLE, CS_SEND, CS_RECV, CS_HOST, CS_DONE };

/* Number of the first message of a tag on a channel; the others follow. No operation has
 * 2^CS_NUMBER_BITS messages, and tags may wrap around: tags under way are close together. */
#define CS_NUMBER_BITS (64 - CS_TAG_BITS)
#define CS_FIRST_MESSAGE(tag) ((tag) << CS_NUMBER_BITS)

struct cs_message {
	_Atomic enum cs_stage stage; /* CS_DONE is read without ib->busy */
	bool is_recv, is_direct;
	bool is_put; /* of a window: `ready` has the address, and the counter that grows after it */
	uint64_t message;
	struct cs_channel *channel;
	char *memory;
	size_t bytes;
	_Atomic uint64_t *flag; /* NULL: none */
	uint64_t value;
	struct cs_message *next;
	/* For large messages only: */
	size_t moved; /* bytes sent or arrived */
	struct cs_registration *registration;
	struct cs_ready ready; /* send: from the receiver */
	union {
		uint32_t token;
		uint32_t grows_by; /* of a put: its counter */
	};
	enum cs_kind kind; /* of the slot that it waits to fill */
};
_Static_assert(sizeof(struct cs_message) <= sizeof((struct cs_request *)0)->own,
	       "a request has room for it");

static inline struct cs_message *
cs_message_of(struct cs_request *request)
{
	return (struct cs_message *)(void *)request->own;
}
static inline struct cs_request *
cs_message_request(struct cs_message *message)
{
	return (struct cs_request *)(void *)((char *)message - offsetof(struct cs_request, own));
}

/* Sets the stage, with release order: a thread that sees the stage sees all earlier changes to the
 * request. */
static inline void
cs_message_be(struct cs_message *request, enum cs_stage stage)
{
	atomic_store_explicit(&request->stage, stage, memory_order_release);
}
static inline enum cs_stage
cs_message_stage(struct cs_message *request)
{
	return atomic_load_explicit(&request->stage, memory_order_acquire);
}

struct cs_queue {
	struct cs_message *head, *tail;
};

/* Message that arrived before its receive was started. */
struct cs_early_message {
	struct cs_early_message *next;
	uint64_t message;
	size_t bytes;
	char data[];
};

enum cs_channel_state { CS_NEW, CS_ASKED, CS_JOINING, CS_GREETING, CS_SETTLING, CS_VERBS,
			CS_BY_HOST };

struct cs_channel {
	struct cs_ib_wire *wire;
	struct cs_peer *peer;
	int rank; /* in the group */
	enum cs_channel_state state;
	uint32_t number, theirs; /* the own number of the channel, and the peer's */
	/* At t % CS_TAGS: tag t, if a message of it was started last, and its next messages. */
	uint64_t tags[CS_TAGS], sent[CS_TAGS], received[CS_TAGS];
	struct cs_queue deferred; /* until the state is settled */
	struct cs_queue posted;   /* receives */
	struct cs_queue waiting;  /* large sends without a "ready" so far */
	struct cs_early_message *early, **early_tail;
	struct cs_early_message *ready, **ready_tail; /* the same for "ready" (data: cs_ready) */
	size_t early_count;
	struct cs_ib_words mine, other;
	uint32_t my_word, other_word;
	struct cs_request words_in, words_out; /* on the host's wire */
	bool is_heard, is_told; /* the exchange under way */
	int larges; /* receives whose "ready" was or will be sent */
	struct cs_channel *next; /* in the list of unsettled ones */
};

enum cs_peer_state { CS_PEER_NEW, CS_PEER_ABLE, CS_PEER_JOINED, CS_PEER_GREETING, CS_PEER_READY,
		     CS_PEER_FAILED };

struct cs_peer {
	struct cs_ib *ib;
	int world;
	enum cs_peer_state state;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	uint32_t psn, inline_bytes;
	bool is_flushed; /* its requests are flushed, for no known cause */
	bool is_settled; /* both have confirmed it: failures from now on end the job */
	/* Slots here, filled by the peer, and copies of writes to the peer's slots. The least
	 * number and size of both processes: 0 until known. A power of two, so that counts may
	 * wrap. */
	uint32_t slot_count, slot_bytes;
	char *ring, *staging;
	uint32_t ring_key, staging_key;
	struct cs_ib_words other;
	/* Sending: slots filled, slots given back by the peer; requests posted, completed. */
	uint32_t filled, freed;
	struct ibv_send_wr slot_write; /* its constant part */
	uint64_t posted, completed;
	uint64_t *staged;     /* by slot: the request that reads its copy */
	uint32_t signal_mask; /* one in so many requests is signaled */
	struct cs_signal {
		uint64_t index;
		struct cs_message *request; /* is done when it completes; NULL: none */
	} signals[CS_SENDS];
	uint32_t signals_first, signals_end;
	struct cs_queue slots;  /* messages that wait for a slot */
	struct cs_queue writes; /* messages that wait for room to write data */
	bool is_greeted; /* the peer's hello has arrived */
	bool has_parted, is_parted; /* CS_WORD_BYE is posted; the peer's has arrived */
	/* Receiving: slots filled here, handled, and reported to the peer. */
	uint32_t arrived, taken, told;
	bool owes_credit;
	/* Arrivals (half the slots at most) after which as many receives are posted again and slots
	 * given back. */
	uint32_t batch, until_batch;
	struct ibv_recv_wr receives[CS_BATCH]; /* in a chain */
	int waits; /* messages from the peer that are waited for here */
	struct cs_channel *awaited; /* that of the last receive posted; NULL: none, or closed */
	struct cs_peer *next_busy;
	bool is_busy; /* in that list */
};

struct cs_slab {
	struct cs_slab *next;
	char *base;
	size_t bytes, used;
	struct cs_registration *registration;
};

struct cs_ib {
	atomic_flag busy;
	const struct cs_verbs *verbs;
	const struct cs_kind_ops *const *kinds; /* by enum cs_kind; NULL: that kind is never sent */
	struct cs_ib_options options;
	struct cs_ib_port port;
	char name[CS_IB_NAME + 128];
	struct ibv_pd *pd;
	struct cs_registrations *registrations;
	struct cs_slab *slabs;
	size_t slab_bytes;
	char *counted; /* old values returned by atomic operations, unused; NULL: not needed so
			* far */
	struct cs_registration *counted_registration;
	struct ibv_cq **cqs;
	int cq_count, cq_room, cq_used; /* entries of the last one */
	struct cs_peer **peers; /* by rank in MPI_COMM_WORLD */
	struct cs_peer **known; /* those that exist */
	int known_count;
	struct cs_peer *busy_peers; /* with requests to post */
	struct cs_channel *unsettled;
	struct cs_channel **channels; /* by number */
	uint32_t channel_count, channel_room, channel_next, channel_live, channel_ever;
	struct cs_message **tokens; /* receives that a peer may write to, by token */
	uint32_t token_room, token_next, token_live;
	uint32_t idle; /* progress calls without work */
	uint64_t port_lost_ns; /* when the port went down (CLOCK_MONOTONIC); 0: it is up */
	struct cs_peer *flushed; /* the first such peer; NULL: none */
	uint64_t flushed_ns;     /* since then (CLOCK_MONOTONIC) */
	uint64_t flushed_wr_id;
	uint64_t device_seen_ns; /* when the device was last looked for (CLOCK_MONOTONIC) */
	bool is_closing;
	bool is_trying;    /* the first trouble of a pair is kept, not logged: */
	char trouble[256]; /* "": none */
	struct cs_ib_counters counters;
};

struct cs_ib_wire {
	struct cs_wire wire;
	struct cs_ib *ib;
	struct cs_wire *host;
	int *world;
	bool *is_same_node;
	struct cs_channel **channels; /* by rank */
	struct cs_ib_multicast *multicast; /* NULL: none, or not tried */
	bool is_multicast_tried;
};

static inline void
cs_push(struct cs_queue *queue, struct cs_message *request)
{
	request->next = NULL;
	if (queue->head)
		queue->tail->next = request;
	else
		queue->head = request;
	queue->tail = request;
}

static inline struct cs_message *
cs_pop(struct cs_queue *queue)
{
	struct cs_message *request = queue->head;
	queue->head = request->next;
	return request;
}

/* --- message.c -------------------------------------------------------------------------------- */

/* Removes and returns the message of that number; NULL if it is not in the queue. */
struct cs_message *cs_take_message(struct cs_queue *queue, uint64_t message);
/* Removes the message, if it is in the queue. */
void cs_remove(struct cs_queue *queue, struct cs_message *message);
void cs_message_finish(struct cs_message *message);

/* --- memory.c --------------------------------------------------------------------------------- */

static inline size_t
cs_padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}
/* Bytes of payload that fit into a slot. */
static inline size_t
cs_payload(const struct cs_peer *peer)
{
	return peer->slot_bytes - sizeof(struct cs_trailer);
}

/* Memory for the slots of one connection; false if the budget is spent or the device refuses. */
bool cs_slab_take(struct cs_ib *ib, struct cs_peer *peer);
void cs_slabs_free(struct cs_ib *ib);
/* Memory for the results of atomic operations, which are not read; false if it is refused. */
bool cs_counted_take(struct cs_ib *ib);
void cs_counted_free(struct cs_ib *ib);
/* A completion queue with room for a connection's completions; NULL if refused. */
struct ibv_cq *cs_cq_take(struct cs_ib *ib);

/* --- peer.c ----------------------------------------------------------------------------------- */

void cs_peer_close(struct cs_peer *peer);
/* Logs one line about a peer, and ends the job. */
_Noreturn void cs_ib_break(struct cs_ib *ib, const struct cs_peer *peer, const char *operation,
			   const char *status);
_Noreturn void cs_ib_no_memory(struct cs_ib *ib);
/* Give verbs to an unsettled peer up: messages are sent over the host. cs_peer_fail logs why. */
void cs_peer_fail(struct cs_peer *peer, const char *what);
void cs_peer_give_up(struct cs_peer *peer);
/* Handles a failed request: ends the pair, or, if it is settled, the job. */
void cs_peer_broke(struct cs_peer *peer, uint64_t wr_id, const char *status, bool is_flushed);
/* Ends the job if no completion tells the cause of ib->flushed. */
_Noreturn void cs_peer_end_flushed(struct cs_ib *ib);
/* Gives slots back by a message of no bytes. */
void cs_peer_pay_credit(struct cs_peer *peer);
/* Marks the peer: requests may be posted at the next progress. */
static inline void
cs_peer_is_busy(struct cs_peer *peer)
{
	if (peer->is_busy)
		return;
	peer->is_busy = true;
	peer->next_busy = peer->ib->busy_peers;
	peer->ib->busy_peers = peer;
}
void cs_peer_post_failed(struct cs_peer *peer, const struct ibv_send_wr *wr, int error);
/* Posts one request; there must be room (cs_peer_has_room). `request`: done at its completion; or
 * NULL. Inline, as instructions count in a small message. */
static inline void
cs_peer_post(struct cs_peer *peer, struct ibv_send_wr *wr, bool is_signaled,
	     struct cs_message *request)
{
	struct cs_ib *ib = peer->ib;
	struct ibv_send_wr *bad;
	peer->posted++;
	if (is_signaled || (peer->posted & peer->signal_mask) == 0) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		peer->signals[peer->signals_end++ % CS_SENDS] =
			(struct cs_signal){ .index = peer->posted, .request = request };
	}
	ib->counters.requests++;
	int result = ib->verbs->post_send(peer->qp, wr, &bad);
	if (__builtin_expect(result, 0))
		cs_peer_post_failed(peer, wr, result);
}
static inline bool
cs_peer_has_room(const struct cs_peer *peer)
{
	return peer->posted - peer->completed < CS_SENDS;
}
/* Counter in a peer's memory, and its growth. */
struct cs_counter {
	uint64_t address;
	struct cs_rma_growth growth;
	uint32_t key;
};
/* Lets the counter grow, after all earlier requests; there must be room. `request`: done at its
 * completion; or NULL. */
void cs_peer_count(struct cs_peer *peer, const struct cs_counter *counter,
		   struct cs_message *request);
/* Posts `count` receives of no bytes, CS_BATCH at most. */
bool cs_peer_post_recv(struct cs_peer *peer, size_t count);
/* Slots that may be handled before they are given back: half of them, or the only one. */
static inline uint32_t
cs_peer_half(const struct cs_peer *peer)
{
	return peer->slot_count > 1 ? peer->slot_count / 2 : 1;
}
/* --- progress.c ------------------------------------------------------------------------------- */

/* Progresses all that is under way; true if anything happened. */
bool cs_ib_turn(struct cs_ib *ib);

void cs_ib_enter_later(struct cs_ib *ib);
static inline void
cs_ib_enter(struct cs_ib *ib)
{
	if (__builtin_expect(atomic_flag_test_and_set_explicit(&ib->busy, memory_order_acquire), 0))
		cs_ib_enter_later(ib);
}
static inline void
cs_ib_leave(struct cs_ib *ib)
{
	atomic_flag_clear_explicit(&ib->busy, memory_order_release);
}

/* Messages of the host, with the engine held (cs_ib_is_held). */
void cs_ib_host_send(struct cs_wire *host, struct cs_request *request, int peer, uint64_t tag,
		     const void *from, size_t bytes);
void cs_ib_host_recv(struct cs_wire *host, struct cs_request *request, int peer, uint64_t tag,
		     void *to, size_t bytes);
bool cs_ib_host_test(struct cs_wire *host, struct cs_request *request);

/* --- ring.c ----------------------------------------------------------------------------------- */

/* Message that a slot belongs to; the rest of a trailer is the connection's. */
struct cs_label {
	uint64_t message;
	uint32_t channel;
	enum cs_kind kind;
};

static inline struct cs_label
cs_label_of(const struct cs_message *message)
{
	return (struct cs_label){ .channel = message->channel->theirs, .message = message->message,
				  .kind = message->kind };
}

/* Handlers for slots of a kind. */
struct cs_kind_ops {
	/* Fills one free slot for a waiting message (cs_ring_send); false: it needs another one.
	 * NULL: none of that kind waits, or ring.c does it. */
	bool (*fill)(struct cs_peer *peer, struct cs_message *message);
	bool is_over_when_filled; /* the message, with its last slot */
	/* Handles the data of a slot; false: its size is not possible. `channel` NULL: of a closed
	 * group. */
	bool (*take)(struct cs_peer *peer, struct cs_channel *channel, uint64_t message,
		     const char *data, size_t bytes);
};
extern const struct cs_kind_ops cs_kind_hello, cs_kind_small, cs_kind_ready, cs_kind_fragment,
				cs_kind_ask;

/* Sets the ring up, when peer->other is known. */
void cs_ring_open(struct cs_peer *peer);
/* Queues a message for a slot of its peer; request->kind: of the slot. */
void cs_ring_send(struct cs_message *request);
/* Fills free slots for waiting messages. Was one filled? */
bool cs_ring_pump(struct cs_peer *peer);
bool cs_ring_has_slot(const struct cs_peer *peer);
/* Fills the next slot, which must be free, with head and payload one after the other. */
void cs_ring_fill(struct cs_peer *peer, struct cs_label label, const void *head, size_t head_bytes,
		  const void *data, size_t bytes);
/* Counts a slot that was filled here, by its completion or its arrival flag. */
void cs_ring_arrived(struct cs_peer *peer);
/* Handles arrived slots. */
bool cs_ring_take(struct cs_peer *peer);
/* With polls_flags: looks for arrival flags. */
bool cs_ring_look(struct cs_peer *peer);
/* Notes the peer's count of slots given back: the low bits of a count that grows by less than
 * 2^16. */
static inline void
cs_ring_freed(struct cs_peer *peer, uint16_t credits)
{
	uint16_t more = (uint16_t)(credits - (uint16_t)peer->freed);
	if (!more || more > peer->filled - peer->freed)
		return;
	peer->freed += more;
	if (peer->slots.head)
		cs_peer_is_busy(peer);
}

/* --- large.c ---------------------------------------------------------------------------------- */

void cs_large_send(struct cs_message *request);
void cs_large_recv(struct cs_message *request);
void cs_large_arrived(struct cs_peer *peer, uint32_t token);
/* Withdraws and returns the large receive of that message, since a small one arrived; NULL if there
 * is none. */
struct cs_message *cs_large_withdraw(struct cs_channel *channel, uint64_t message);
/* Writes a message of a window to the address in it. */
void cs_large_put(struct cs_message *request);
/* Ends a message whose last write is complete. */
void cs_large_sent(struct cs_message *request);
bool cs_large_pump(struct cs_peer *peer);
/* Asks the peer whether it accepts waiting large sends as small messages, as far as there are
 * slots. */
void cs_large_ask(struct cs_channel *channel);

/* --- wire.c ----------------------------------------------------------------------------------- */

/* Starts deferred messages, once the state is settled. */
void cs_channel_release(struct cs_channel *channel);
/* Was that message to the peer started, or will it never be, since one of a later tag was? */
bool cs_channel_is_past(const struct cs_channel *channel, uint64_t message);

/* --- connect.c -------------------------------------------------------------------------------- */

/* Begins to connect, at the first message of a channel. */
void cs_channel_open(struct cs_channel *channel);
bool cs_channel_advance(struct cs_channel *channel);

#endif
