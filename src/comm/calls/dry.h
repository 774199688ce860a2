/* comm/calls/dry.h — the end of a call on trial: its time, and the dry call behind it.
 *
 * A dry call is a collective call of the library's own, of the same size, type and operation as the
 * program's, with zeros as data, which shows how long another algorithm takes without changing any
 * result. */
#ifndef CS_COMM_CALLS_DRY_H
#define CS_COMM_CALLS_DRY_H

#include "comm/calls/serving.h"

/* Ends a call with CS_OP_ON_TRIAL, and makes its dry call if it has one; does nothing for others.
 * Times are cs_clock_ns. `is_valid`: the call went well. serving->op.call has its collective and
 * root. */
void cs_serve_tried(struct cs_serving *serving, uint64_t arrived_ns, uint64_t left_ns,
		    bool is_valid);

#endif
