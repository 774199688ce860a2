/* ib/port.c — chooses the device and the port. */
#include "ib/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GIDS 256
#define ROCE_V1 2 /* worth at most */

/* The better a GID suits the larger; 0: not at all. An address that routers know beats one of the
 * link only. */
static int
worth(const struct ibv_gid_entry *entry)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool is_mapped = !memcmp(entry->gid.raw, mapped, sizeof mapped);
	bool is_link_local = entry->gid.raw[0] == 0xfe && (entry->gid.raw[1] & 0xc0) == 0x80;
	if (entry->gid_type == IBV_GID_TYPE_ROCE_V2)
		return is_mapped ? 5 : is_link_local ? 3 : 4;
	return entry->gid_type == IBV_GID_TYPE_ROCE_V1 ? 1 + !is_link_local : 0;
}

/* Rank of the port's best GID, and that GID; 0: the port has none. */
static int
choose_gid(const struct cs_verbs *verbs, struct ibv_context *context,
	   struct cs_ib_candidate *candidate)
{
	struct ibv_gid_entry *entries = calloc(MOST_GIDS, sizeof *entries);
	int best = 0;
	if (!entries)
		return 0;
	ssize_t count = verbs->query_gid_table(context, entries, MOST_GIDS);
	for (ssize_t i = 0; i < count; i++) {
		if ((int)entries[i].port_num != candidate->port)
			continue;
		int value = candidate->is_roce ? worth(&entries[i]) : entries[i].gid_index == 0;
		if (value <= best)
			continue;
		best = value;
		candidate->gid = entries[i].gid;
		candidate->gid_index = (int)entries[i].gid_index;
	}
	free(entries);
	return best;
}

static void
describe(struct cs_ib_candidate *candidate)
{
	char gid[INET6_ADDRSTRLEN] = "?";
	inet_ntop(AF_INET6, candidate->gid.raw, gid, sizeof gid);
	if (candidate->is_roce)
		snprintf(candidate->what, sizeof candidate->what, "RoCE v%d, GID %d %s, MTU %d",
			 candidate->is_v1 ? 1 : 2, candidate->gid_index, gid,
			 128 << candidate->mtu);
	else
		snprintf(candidate->what, sizeof candidate->what, "InfiniBand, LID %d, MTU %d",
			 candidate->lid, 128 << candidate->mtu);
}

static void
look_at_port(const struct cs_verbs *verbs, struct ibv_device *device, struct ibv_context *context,
	     struct cs_ib_candidate *candidate)
{
	struct ibv_port_attr attributes;
	memset(&attributes, 0, sizeof attributes);
	int error = verbs->query_port(context, (uint8_t)candidate->port, &attributes);
	if (error) {
		snprintf(candidate->what, sizeof candidate->what, "its port cannot be asked: %s",
			 strerror(error));
		return;
	}
	if (device->transport_type == IBV_TRANSPORT_IWARP || device->node_type == IBV_NODE_RNIC) {
		snprintf(candidate->what, sizeof candidate->what, "iWARP, which is not served");
		return;
	}
	if (attributes.state != IBV_PORT_ACTIVE) {
		snprintf(candidate->what, sizeof candidate->what, "its port is not active (state "
								  "%d of 4)",
			 attributes.state);
		return;
	}
	candidate->is_roce = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
	candidate->lid = attributes.lid;
	candidate->mtu = attributes.active_mtu;
	int gid = choose_gid(verbs, context, candidate);
	if (candidate->is_roce && !gid) {
		snprintf(candidate->what, sizeof candidate->what,
			 "it has no RoCE GID: give its network interface an address");
		return;
	}
	candidate->is_v1 = candidate->is_roce && gid <= ROCE_V1;
	describe(candidate);
	candidate->is_usable = true;
}

/* Every port of a device; returns how many. */
static int
look_at_device(const struct cs_verbs *verbs, struct ibv_device *device, cs_ib_distance *distance,
	       void (*see)(void *, const struct cs_ib_candidate *), void *context)
{
	struct ibv_device_attr attributes;
	struct cs_ib_candidate blank = { .port = 0 };
	snprintf(blank.device, sizeof blank.device, "%s", verbs->get_device_name(device));
	struct ibv_context *opened = verbs->open_device(device);
	if (!opened) {
		snprintf(blank.what, sizeof blank.what, "it cannot be opened: %s", strerror(errno));
		see(context, &blank);
		return 1;
	}
	blank.distance = distance ? distance(blank.device) : 0;
	int ports = verbs->query_device(opened, &attributes) ? 1 : attributes.phys_port_cnt;
	for (int number = 1; number <= ports; number++) {
		struct cs_ib_candidate candidate = blank;
		candidate.port = number;
		look_at_port(verbs, device, opened, &candidate);
		see(context, &candidate);
	}
	verbs->close_device(opened);
	return ports;
}

int
cs_ib_port_list(const struct cs_verbs *verbs, cs_ib_distance *distance,
		void (*see)(void *context, const struct cs_ib_candidate *candidate), void *context)
{
	int devices = 0, ports = 0;
	/* NULL with ENOSYS: a kernel without RDMA */
	struct ibv_device **list = verbs->get_device_list(&devices);
	for (int i = 0; list && i < devices; i++)
		ports += look_at_device(verbs, list[i], distance, see, context);
	if (list)
		verbs->free_device_list(list);
	return ports;
}

/* --- choosing --------------------------------------------------------------------------------- */

struct choice {
	const char *wanted;
	cs_ib_distance *distance;
	struct cs_ib_candidate best, refused; /* .device[0] == 0: none yet */
};

static bool
is_wanted(const char *wanted, const struct cs_ib_candidate *candidate)
{
	size_t length = wanted ? strcspn(wanted, ":") : 0;
	if (!wanted)
		return true;
	if (strlen(candidate->device) != length || memcmp(candidate->device, wanted, length))
		return false;
	return !wanted[length] || atoi(wanted + length + 1) == candidate->port;
}

/* Distances are asked for only where there is something to choose from: the first question takes
 * long. */
static bool
is_better(const struct choice *choice, const char *device)
{
	const char *best = choice->best.device;
	int order = strcmp(device, best);
	int difference = order && choice->distance ? choice->distance(device) -
			 choice->distance(best) : 0;
	return difference < 0 || (difference == 0 && order < 0);
}

static void
consider(void *context, const struct cs_ib_candidate *candidate)
{
	struct choice *choice = context;
	if (!is_wanted(choice->wanted, candidate))
		return;
	if (!candidate->is_usable)
		choice->refused = *candidate;
	else if (!choice->best.device[0] || is_better(choice, candidate->device))
		choice->best = *candidate;
}

static enum cs_status
open_chosen(struct cs_ib_port *port, char *why, size_t room)
{
	int devices = 0;
	struct ibv_device **list = port->verbs->get_device_list(&devices);
	for (int i = 0; list && i < devices && !port->context; i++) {
		if (strcmp(port->verbs->get_device_name(list[i]), port->chosen.device))
			continue;
		port->context = port->verbs->open_device(list[i]);
		/* Its addresses again: peers are told what holds for this context. */
		port->chosen.is_usable = false;
		if (port->context)
			look_at_port(port->verbs, list[i], port->context, &port->chosen);
	}
	if (list)
		port->verbs->free_device_list(list);
	struct ibv_device_attr attributes;
	memset(&attributes, 0, sizeof attributes);
	struct ibv_port_attr of_port;
	memset(&of_port, 0, sizeof of_port);
	if (!port->context || !port->chosen.is_usable ||
	    port->verbs->query_device(port->context, &attributes) ||
	    port->verbs->query_port(port->context, (uint8_t)port->chosen.port, &of_port)) {
		snprintf(why, room, "%s could not be opened", port->chosen.device);
		cs_ib_port_close(port);
		return CS_SYSTEM;
	}
	port->identity = port->verbs->identity(port->context);
	port->max_message = of_port.max_msg_sz ? of_port.max_msg_sz : 1U << 30;
	port->max_cqe = attributes.max_cqe;
	port->max_wr = attributes.max_qp_wr;
	port->has_atomics = attributes.atomic_cap != IBV_ATOMIC_NONE;
	/* Asking for events must not block. */
	if (port->context->async_fd >= 0)
		fcntl(port->context->async_fd, F_SETFL,
		      fcntl(port->context->async_fd, F_GETFL) | O_NONBLOCK);
	return CS_OK;
}

void
cs_ib_port_say_none(const char *wanted, bool has_others, char *why, size_t room)
{
	if (wanted)
		snprintf(why, room, "there is no device %s%s", wanted,
			 has_others ? "" : ", nor any other");
	else
		snprintf(why, room, "there is no RDMA device");
}

enum cs_status
cs_ib_port_open(struct cs_ib_port *port, const struct cs_verbs *verbs, const char *wanted,
		cs_ib_distance *distance, char *why, size_t room)
{
	struct choice choice = { .wanted = wanted, .distance = distance };
	*port = (struct cs_ib_port){ .verbs = verbs };
	int seen = cs_ib_port_list(verbs, NULL, consider, &choice);
	if (choice.best.device[0]) {
		port->chosen = choice.best;
		return open_chosen(port, why, room);
	}
	if (choice.refused.device[0]) {
		snprintf(why, room, "%s: %s", choice.refused.device, choice.refused.what);
		return CS_SYSTEM;
	}
	cs_ib_port_say_none(wanted, seen, why, room);
	return CS_UNSUPPORTED;
}

bool
cs_ib_port_is_removed(const struct cs_ib_port *port)
{
	return port->identity && port->verbs->identity(port->context) != port->identity;
}

void
cs_ib_port_close(struct cs_ib_port *port)
{
	if (port->context)
		port->verbs->close_device(port->context);
	port->context = NULL;
}
