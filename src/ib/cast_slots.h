/* ib/cast_slots.h — a group's multicast as its two files see it: cast_open.c opens, tries and closes it, cast.c sends and
 * receives. */
#ifndef CS_IB_CAST_SLOTS_H
#define CS_IB_CAST_SLOTS_H

#include "ib/cast.h"
#include "ib/internal.h"

#define CS_CAST_RECEIVES (2 * CS_CAST_WINDOW)
#define CS_CAST_SENDS 16
#define CS_CAST_POLLED 16
#define CS_CAST_GRH 40 /* bytes in front of a datagram that the device writes */

struct cs_cast_header {
	uint64_t nonce, total;
	uint32_t broadcast, piece;
};

struct cs_ib_cast {
	struct cs_cast cast;
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
	struct ibv_wc found[CS_CAST_POLLED];
	int found_count, found_next;
	/* Received slots of later broadcasts. */
	uint32_t early[CS_CAST_RECEIVES];
	int early_count;
	uint32_t early_for; /* the broadcast for which they were looked through */
	int looked_at; /* slot whose datagram the user has; -1: none */
};

/* Sets the functions of cast->cast. */
void cs_cast_init(struct cs_ib_cast *cast);
bool cs_cast_post_receive(struct cs_ib_cast *cast, uint32_t slot);

#endif
