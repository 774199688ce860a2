/* ib/multicast_slots.h — a group's multicast as its two files see it: multicast_open.c opens, tries
 * and closes it, multicast.c sends and receives. */
#ifndef CS_IB_MULTICAST_SLOTS_H
#define CS_IB_MULTICAST_SLOTS_H

#include "ib/internal.h"
#include "ib/multicast.h"

#define CS_MULTICAST_RECEIVES (2 * CS_MULTICAST_WINDOW)
#define CS_MULTICAST_SENDS 16
#define CS_MULTICAST_POLLED 16
#define CS_MULTICAST_GRH 40 /* bytes in front of a datagram that the device writes */

struct cs_multicast_header {
	uint64_t nonce, total;
	uint32_t broadcast, piece;
};

struct cs_ib_multicast {
	struct cs_multicast multicast;
	struct cs_ib *ib;
	uint64_t nonce;
	union ibv_gid group;
	int membership; /* socket; -1: none */
	bool is_attached, is_broken;
	struct ibv_cq *receive_cq, *send_cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	/* Receives, then sends; a slot each. */
	char *memory;
	size_t memory_bytes, slot_bytes;
	struct cs_registration *registration;
	uint64_t posted, completed;
	struct ibv_wc found[CS_MULTICAST_POLLED];
	int found_count, found_next;
	/* Received slots of later broadcasts. */
	uint32_t early[CS_MULTICAST_RECEIVES];
	int early_count;
	uint32_t early_for; /* the broadcast for which they were looked through */
	int looked_at; /* slot whose datagram the user has; -1: none */
};

/* Sets the functions of multicast->multicast. */
void cs_multicast_init(struct cs_ib_multicast *multicast);
bool cs_multicast_post_receive(struct cs_ib_multicast *multicast, uint32_t slot);

#endif
