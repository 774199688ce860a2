/* ib/doctor.h — what verbs would grant this process: really asked for, and given back. For
 * collshim-info --doctor. */
#ifndef CS_IB_DOCTOR_H
#define CS_IB_DOCTOR_H

#include "ib/port.h"

#include <stdbool.h>
#include <stddef.h>

/* 0, or the errno with which the list of devices was refused; ENOSYS: the kernel has no RDMA. */
int cs_ib_kernel_error(const struct cs_verbs *verbs);

struct cs_ib_trial {
	const char *refused; /* "a queue pair (ibv_create_qp)"; NULL: all was granted */
	int error;           /* errno then */
	size_t bytes;        /* that were, or were to be, registered: memory of the first
			      * connections */
};

/* A protection domain, one slab of memory, a completion queue and a queue pair, as the first
 * connection would have them (ib.c, connect.c), on an open port. */
void cs_ib_try(const struct cs_ib_port *port, size_t slots, size_t slot_bytes,
	       struct cs_ib_trial *trial);

/* May this process watch changes of its own mappings (userfaultfd, as ib/registrations.h needs it)?
 * Else the registrations of the program's memory are not kept, and errno says why. */
bool cs_ib_try_watch(void);

#endif
