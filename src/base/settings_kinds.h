/* base/settings_kinds.h — kinds of values that a variable of collshim may have: how each is read,
 * printed and told to others. Private to base/settings.c and settings_kinds.c. */
#ifndef CS_BASE_SETTINGS_KINDS_H
#define CS_BASE_SETTINGS_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cs_setting;

struct cs_setting_kind {
	/* Stores the value of `text` at `field`; false if it is not one. */
	bool (*read)(const struct cs_setting *row, const char *text, void *field);
	/* Prints the value at `field`. */
	void (*write)(FILE *out, const struct cs_setting *row, const void *field);
	uint64_t (*hash)(uint64_t hash, const void *field);
};

/* A variable: a row of the table in settings.c. */
struct cs_setting {
	const char *name;     /* after COLLSHIM_ */
	const char *values;   /* what was expected, in words */
	const char *meaning;
	const struct cs_setting_kind *kind; /* NULL: the door's variable, known here so that it is
					     * not called unknown */
	size_t offset;
	const char *const *words; /* of an enumeration, ended by NULL */
	size_t low, high;         /* of a number; low: of words, too, the first that may be given */
	bool is_agreed;           /* must be equal on all ranks: part of the digest */
};

extern const struct cs_setting_kind cs_flag_kind;   /* bool */
extern const struct cs_setting_kind cs_count_kind;  /* int; below 0: as tuned */
extern const struct cs_setting_kind cs_size_kind;   /* size_t; 0: as tuned */
extern const struct cs_setting_kind cs_time_kind;   /* uint64_t: ns; 0: off. Ranks that differ in
						     * the time alone have the same digest */
extern const struct cs_setting_kind cs_word_kind;   /* an enum, by the row's words */
extern const struct cs_setting_kind cs_text_kind;   /* const char *, which lives as long as the
						     * process; NULL: not set */
extern const struct cs_setting_kind cs_nodes_kind;  /* the same: COLLSHIM_FAKE_NODES */
extern const struct cs_setting_kind cs_levels_kind; /* the same: COLLSHIM_FAKE_LEVELS */
extern const struct cs_setting_kind cs_device_kind; /* the same: an RDMA device */

/* Readers that kinds are made of, for one more kind. */
bool cs_setting_read_flag(const struct cs_setting *row, const char *text, void *field);
bool cs_setting_read_text(const struct cs_setting *row, const char *text, void *field);
void cs_setting_write_text(FILE *out, const struct cs_setting *row, const void *field);
uint64_t cs_setting_hash_text(uint64_t hash, const void *field);

#endif
