/* select/read_map.h — how a tuning file is read: maps by tables of their keys, values of each kind,
 * and what is wrong with them. Private to select.
 *
 *   tuning.c the file -> limits.c the limits
 *                     -> read_rules.c blocks of rules
 *                     -> read_models.c models
 *                     -> read_nodes.c node models */
#ifndef CS_SELECT_READ_MAP_H
#define CS_SELECT_READ_MAP_H

#include "select/document.h"
#include "select/tuning.h"

struct cs_reader {
	struct cs_tuning *tuning;
	struct cs_tuning_errors *errors;
	bool is_out_of_memory;
};

/* One error, of `where` ("file:line:column"): `what` was found or expected. */
void cs_tuning_complain(struct cs_tuning_errors *errors, const char *where, const char *what);
void cs_tuning_complain_at(struct cs_tuning_errors *errors, const char *label, unsigned line,
			   unsigned column, const char *what);
/* The same, at a node's place. */
void cs_reader_complain(struct cs_reader *reader, const struct cs_yaml *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "found ..., expected ...". */
void cs_reader_expect(struct cs_reader *reader, const struct cs_yaml *at, const char *expected);
/* Description of a node, for such a line. */
const char *cs_reader_found(char shown[CS_SHOWN_TEXT], const struct cs_yaml *node);

/* A copy of the text; NULL when memory is out, as the reader then knows. */
char *cs_reader_copy(struct cs_reader *reader, const char *text);
/* Room for one more behind `count` elements; NULL when memory is out. */
void *cs_reader_grow(struct cs_reader *reader, void *array, size_t count, size_t element_bytes);

struct cs_map_key {
	const char *name;
	bool is_required;
	size_t offset; /* of what the value goes to, in the object of the map */
	void (*take)(struct cs_reader *reader, const struct cs_yaml *value, void *field);
};

/* False if `map` is no map. Else takes every known key's value, and reports all errors. */
bool cs_reader_take_map(struct cs_reader *reader, const struct cs_yaml *map, const char *what,
			const struct cs_map_key *keys, size_t key_count, void *object);

#define CS_MOST_KEYS 32 /* of a map */
#define CS_TAKE_MAP(reader, map, what, keys, object)                                               \
	__extension__({                                                                            \
		_Static_assert(sizeof(keys) / sizeof *(keys) <= CS_MOST_KEYS, "there is room");    \
		cs_reader_take_map(reader, map, what, keys, sizeof(keys) / sizeof *(keys),         \
				   object);                                                        \
	})

/* Values, for tables of keys: each puts the value into a field of the type in its comment, or says
 * what it expects. */
/* char *: on one line */
void cs_take_text(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* char * */
void cs_take_date(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* char * */
void cs_take_mpi(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* struct cs_range */
void cs_take_bytes(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* struct cs_range */
void cs_take_counts(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* Wire of a team, which has one or the other: so `auto` is refused. */
/* int: enum cs_wire_kind */
void cs_take_wire(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* enum cs_placement */
void cs_take_placement(struct cs_reader *reader, const struct cs_yaml *value, void *field);
void cs_take_form(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* unsigned: a set of enum cs_balance */
void cs_take_imbalance(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* bool: yes or no */
void cs_take_flag(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* Keeps the node: its meaning depends on other keys, which may follow. */
/* const struct cs_yaml * */
void cs_take_node(struct cs_reader *reader, const struct cs_yaml *value, void *field);

/* Sections of the file; they fill in reader->tuning. */
void cs_take_limits(struct cs_reader *reader, const struct cs_yaml *value, void *field);
void cs_take_blocks(struct cs_reader *reader, const struct cs_yaml *value, void *field);
void cs_take_models(struct cs_reader *reader, const struct cs_yaml *value, void *field);
void cs_take_nodes(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* Provenance of a block or a model: its origin, and the machines for which it holds. */
/* struct cs_block */
void cs_take_provenance(struct cs_reader *reader, const struct cs_yaml *value, void *field);
/* struct cs_block */
void cs_take_guard(struct cs_reader *reader, const struct cs_yaml *value, void *field);

/* The names of wires by enum cs_wire_kind: "", "auto", "host", "ib"; ended by NULL. */
extern const char *const cs_wire_words[];

#endif
