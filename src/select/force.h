/* select/force.h — what a COLLSHIM_<COLLECTIVE> variable says. Private to select.
 *
 * 	text  := item { "," item }  |  "^" name { ",^" name }
 * 	item  := [ bytes "=" ] [ class { "+" class } "=" ] ( "host" | name { ":" param "=" value } )
 * 	bytes := as cs_parse_byte_range reads it
 * 	class := "balanced" | "moderate" | "strong"
 *
 * The first item that fits a call's size and its team's imbalance decides; calls that no item
 * covers are left to the tuning.
 * "^" takes algorithms away instead. */
#ifndef CS_SELECT_FORCE_H
#define CS_SELECT_FORCE_H

#include "select/use.h"

struct cs_force_item {
	struct cs_range bytes;
	unsigned imbalance; /* a set of enum cs_balance; 0: any */
	struct cs_use use;
};

struct cs_force {
	struct cs_force_item *items;
	size_t item_count;
	const struct cs_algorithm **excluded;
	size_t excluded_count;
};

/* CS_BAD_INPUT: `message` is "column C: what was found and what was expected" (columns count from
 * 1) and *force is empty. CS_NO_MEMORY likewise without a message. */
CS_CHECKED enum cs_status cs_force_parse(struct cs_force *force, enum cs_coll coll,
					 const char *text, char *message, size_t message_bytes);
void cs_force_fini(struct cs_force *force);

#endif
