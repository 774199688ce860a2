/* sim/model: the text of --model. */
#include "fuzz.h"

#include "sim/model.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 300

static bool
is_same(const struct cs_model *a, const struct cs_model *b)
{
	return !memcmp(a->level, b->level, sizeof *a - offsetof(struct cs_model, level));
}

/* In a block of just that much room. */
static void
check_short_complaint(const char *text, size_t room)
{
	struct cs_model model;
	char *complaint = malloc(room);
	CLAIM(complaint, "no memory");
	CLAIM(cs_model_read(text, &model, complaint, room) == CS_BAD_INPUT, "\"%s\"", text);
	CLAIM(strlen(complaint) < room, "%zu bytes", strlen(complaint));
	free(complaint);
}

static void
check_refused(const char *text, const char *complaint, const struct cs_model *model,
	      const struct cs_model *before)
{
	CLAIM(!memcmp(model, before, sizeof *model), "\"%s\" was refused and changed the model",
	      text);
	CLAIM(fuzz_is_line(complaint, text) || strlen(complaint) == ROOM - 1, "\"%s\": %s", text,
	      complaint);
	check_short_complaint(text, 1 + strlen(text) % 40);
}

static void
check_cost(const struct cs_model *model)
{
	static const uint64_t amounts[] = { 0, 1, 2, 999, 1000, 1001, 1 << 20, UINT64_C(1) << 40,
					    UINT64_MAX - 1, UINT64_MAX };
	size_t count = sizeof amounts / sizeof *amounts;
	for (size_t i = 0; i < count * count; i++) {
		int64_t last = 0;
		uint64_t rounds = amounts[i % count], messages = amounts[i / count];
		for (size_t k = 0; k < count; k++) {
			struct cs_load load = { rounds, messages, rounds, amounts[k], amounts[k],
						amounts[k], rounds, messages };
			int64_t cost = cs_model_cost(model, &load);
			/* Without as many bytes as messages it is nothing that could be; it may not
			 * overflow either. */
			bool is_more = amounts[k] >= rounds && amounts[k] >= messages && k &&
				       amounts[k - 1] >= rounds;
			CLAIM(cost >= 0 && (!is_more || cost >= last),
			      "%llu rounds, %llu messages, %llu bytes: %lld",
			      (unsigned long long)rounds, (unsigned long long)messages,
			      (unsigned long long)amounts[k], (long long)cost);
			last = cost;
		}
	}
}

static void
check_taken(const char *text, const struct cs_model *model)
{
	char written[CS_MODEL_TEXT], again_written[CS_MODEL_TEXT], complaint[ROOM];
	struct cs_model again;
	memset(&again, 0, sizeof again);
	CLAIM(cs_model_read(cs_model_text(written, model), &again, complaint, sizeof complaint) ==
	      CS_OK,
	      "\"%s\", written %s: %s", text, written, complaint);
	CLAIM(is_same(model, &again), "\"%s\", written %s", text, written);
	CLAIM(!strcmp(written, cs_model_text(again_written, &again)), "%s, then %s", written,
	      again_written);
	for (int level = 0; level < CS_LEVELS; level++)
		CLAIM(model->level[level].f >= 1 && model->level[level].L >= 0, "%s", written);
	CLAIM(strlen(model->name) < CS_MODEL_NAME, "the name has no end");
	check_cost(model);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = fuzz_text(data, bytes), complaint[ROOM] = "";
	struct cs_model model, before;
	memset(&model, 0x5a, sizeof model);
	before = model;
	enum cs_status status = cs_model_read(text, &model, complaint, sizeof complaint);
	CLAIM(status == CS_OK || status == CS_BAD_INPUT, "\"%s\": %s", text,
	      cs_status_name(status));
	if (status == CS_OK)
		check_taken(text, &model);
	else
		check_refused(text, complaint, &model, &before);
	free(text);
	return 0;
}
