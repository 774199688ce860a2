/* ib/multicast.h — a group's multicast (wire/multicast.h) by unreliable datagrams, on RoCE v2 with
 * an IPv4 GID.
 *
 *   datagram   | 40 bytes of the device's | header | piece |  at most the least MTU of all ranks
 *   group      ::ffff:239.x.y.z, drawn by rank 0, with a nonce that begins every header and is the
 *              Q_Key too
 *
 * Each rank has a queue pair of its own that is attached to the group, and joins it by an ordinary
 * UDP socket as well, on the interface that has the GID's address: that tells switches (IGMP) and
 * the kernel's and the device's filters to let the packets through. No privilege is needed for
 * either. A group of InfiniBand proper is joined at its subnet manager, which nothing here can ask;
 * there, with RoCE v1, and where the GID is no IPv4 address, there is no multicast. */
#ifndef CS_IB_MULTICAST_H
#define CS_IB_MULTICAST_H

#include "wire/multicast.h"
#include "wire/wire.h"

struct cs_ib_multicast;

/* `multicast` of a wire of cs_ib_wire_open (wire/wire.h). Made at the first call, if every rank can
 * and a datagram of rank 0 has reached all others; else there is none for good, and one line says
 * why. */
struct cs_multicast *cs_ib_multicast(struct cs_wire *wire, uint64_t tag);
/* NULL is fine. */
void cs_ib_multicast_close(struct cs_ib_multicast *multicast);

#endif
