#include "device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_GIDS = 64, MOST_LEADERS = 100 };

void
give_up(const char *file, int line, const char *claim)
{
	int rank, number = errno;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	fprintf(stderr, "FAILED  %s:%d rank %d: %s (errno: %s)\n", file, line, rank, claim,
		strerror(number));
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

MPI_Comm
leaders_of_nodes(int nodes)
{
	int rank, local, count = nodes;
	MPI_Comm node, leaders;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &local);
	MPI_Comm_free(&node);
	MPI_Comm_split(MPI_COMM_WORLD, local == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
	if (leaders != MPI_COMM_NULL)
		MPI_Comm_size(leaders, &count);
	MUST(count == nodes && nodes <= MOST_LEADERS);
	return leaders;
}

static struct ibv_context *
open_by_name(const char *name)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list = ibv_get_device_list(NULL);
	MUST(list);
	for (struct ibv_device **each = list; *each; each++) {
		if (strcmp(ibv_get_device_name(*each), name) == 0)
			context = ibv_open_device(*each);
	}
	ibv_free_device_list(list);
	return context;
}

/* By its kind, never by its place: where the table has the IPv4 one differs. */
static void
choose_gid(struct device *device)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entries[MOST_GIDS];
	ssize_t count = ibv_query_gid_table(device->context, entries, MOST_GIDS, 0);
	device->gid_index = -1;
	for (ssize_t i = 0; i < count && device->gid_index < 0; i++) {
		if (entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    memcmp(entries[i].gid.raw, mapped, sizeof mapped) == 0) {
			device->gid_index = (int)entries[i].gid_index;
			device->gid = entries[i].gid;
			device->interface = entries[i].ndev_ifindex;
		}
	}
	MUST(device->gid_index >= 0);
}

/* Two nodes on one device would talk through its loopback, and nothing would be proved of the way
 * between devices. */
static void
must_differ(const union ibv_gid *gid, MPI_Comm leaders)
{
	union ibv_gid all[MOST_LEADERS];
	int count;
	MPI_Comm_size(leaders, &count);
	MPI_Allgather(gid, sizeof *gid, MPI_BYTE, all, sizeof *gid, MPI_BYTE, leaders);
	for (int i = 0; i < count; i++) {
		for (int j = 0; j < i; j++)
			MUST(memcmp(&all[i], &all[j], sizeof *gid) != 0);
	}
}

void
device_open(struct device *device, MPI_Comm leaders)
{
	const char *name = getenv("COLLSHIM_IB_DEVICE");
	char host[64], address[INET6_ADDRSTRLEN];
	struct ibv_port_attr port;
	MUST(name);
	MUST(device->context = open_by_name(name));
	MUST_OK(ibv_query_port(device->context, 1, &port));
	MUST(port.state == IBV_PORT_ACTIVE);
	device->mtu = port.active_mtu;
	MUST(device->pd = ibv_alloc_pd(device->context));
	choose_gid(device);
	must_differ(&device->gid, leaders);
	gethostname(host, sizeof host);
	inet_ntop(AF_INET6, device->gid.raw, address, sizeof address);
	printf("%s: device %s, GID %d %s, MTU %d\n", host, name, device->gid_index, address,
	       128 << device->mtu);
}

void
device_close(struct device *device)
{
	MUST_OK(ibv_dealloc_pd(device->pd));
	MUST_OK(ibv_close_device(device->context));
}

struct ibv_wc
next_completion(struct ibv_cq *cq)
{
	struct ibv_wc completion;
	int count;
	/* All ranks of the job may share one emulated CPU. */
	while ((count = ibv_poll_cq(cq, 1, &completion)) == 0)
		sched_yield();
	MUST(count == 1);
	if (completion.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "completion: %s\n", ibv_wc_status_str(completion.status));
		errno = EIO;
		MUST(completion.status == IBV_WC_SUCCESS);
	}
	return completion;
}
