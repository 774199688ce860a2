/* tests/verbs/device.h — what the programs of this folder share: the device of a node, opened by
 * its leader.
 *
 * A leader is the lowest rank of a node; the others only wait. Whatever goes wrong ends the job
 * with one line: these programs prove that verbs work here, not that they fail well. */
#ifndef TESTS_VERBS_DEVICE_H
#define TESTS_VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <mpi.h>
#include <stdint.h>

#define MUST(claim) \
	do { \
		if (!(claim)) \
			give_up(__FILE__, __LINE__, #claim); \
	} while (0)

/* The verbs that return an error number instead of setting errno. */
#define MUST_OK(call) MUST((errno = (call)) == 0)

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	int gid_index; /* of the RoCE v2 GID made from an IPv4 address */
	union ibv_gid gid;
	uint32_t interface; /* index of the network interface of that GID */
	enum ibv_mtu mtu;
};

_Noreturn void give_up(const char *file, int line, const char *claim);

/* The communicator of the leaders, MPI_COMM_NULL for others. There must be `nodes` of them. */
MPI_Comm leaders_of_nodes(int nodes);

/* The device named by COLLSHIM_IB_DEVICE; says which. Collective over the leaders, who must have
 * one each. */
void device_open(struct device *device, MPI_Comm leaders);
void device_close(struct device *device);

/* The next completion, waited for; anything but success ends the job. */
struct ibv_wc next_completion(struct ibv_cq *cq);

#endif
