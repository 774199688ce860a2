/* ib/port.h — the device, port and address that a process uses.
 *
 * The active port nearest to the process is chosen; among equally near ones, the first by name.
 * Ports that are not used, and why, can be asked for (collshim-info --doctor). InfiniBand and RoCE
 * are served; iWARP is not: it knows neither write with immediate nor its ordering (RFC 5040). */
#ifndef CS_IB_PORT_H
#define CS_IB_PORT_H

#include "base/status.h"
#include "ib/verbs.h"

#include <stdbool.h>
#include <stddef.h>

#define CS_IB_NAME 64

/* Distance of the device of this name from this process: 0 near, larger farther. */
typedef int cs_ib_distance(const char *device);

/* One port of one device, looked at. */
struct cs_ib_candidate {
	char device[CS_IB_NAME];
	int port;      /* from 1; 0: the device could not even be opened */
	bool is_usable;
	char what[96]; /* "RoCE v2, GID 1 ::ffff:10.9.0.1, MTU 4096, active", or why it is not
			* usable */
	int distance;
	bool is_roce, is_v1; /* v1: RoCE without IP */
	int gid_index;
	union ibv_gid gid;
	uint16_t lid;
	enum ibv_mtu mtu;
};

struct cs_ib_port {
	const struct cs_verbs *verbs;
	struct ibv_context *context;
	uint64_t identity; /* of the device when it was opened; 0: not known */
	struct cs_ib_candidate chosen;
	uint32_t max_message; /* bytes that one request may move */
	int max_cqe, max_wr;
	bool has_atomics;
};

/* Looks at every port of every device; calls `see` for each, in the devices' order. Returns their
 * number. */
int cs_ib_port_list(const struct cs_verbs *verbs, cs_ib_distance *distance,
		    void (*see)(void *context, const struct cs_ib_candidate *candidate),
		    void *context);

/* Writes the phrase for a machine without a device, or without one named `wanted`. */
void cs_ib_port_say_none(const char *wanted, bool has_others, char *why, size_t room);

/* Opens the best port; `wanted` is "mlx5_0" or "mlx5_0:1", or NULL for any. Errors, with a phrase
 * in `why`: CS_UNSUPPORTED: no device, or none of that name; CS_SYSTEM: none is usable, or the
 * device refuses. */
CS_CHECKED enum cs_status cs_ib_port_open(struct cs_ib_port *port, const struct cs_verbs *verbs,
					  const char *wanted, cs_ib_distance *distance, char *why,
					  size_t room);
/* Has the device been removed while it was open? Hardware also says so by an event; soft RoCE
 * (Linux 6.1) does not, and goes on with what is open. */
bool cs_ib_port_is_removed(const struct cs_ib_port *port);
void cs_ib_port_close(struct cs_ib_port *port);

#endif
