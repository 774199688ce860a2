/* base/wire_kind.h — what plans between nodes send their messages by. */
#ifndef CS_BASE_WIRE_KIND_H
#define CS_BASE_WIRE_KIND_H

/* A wish may be any of these (COLLSHIM_WIRE, the limit wire); what a team has is HOST or IB. */
enum cs_wire_kind { CS_WIRE_AS_TUNED, CS_WIRE_AUTO, CS_WIRE_HOST, CS_WIRE_IB };

#endif
