/* What a node sends next of what has come so far. */
#include "unit.h"

#include "algorithms/late/fragments.h"

#define MOST 16

/* '.': not there, '+': there, '#': sent; a segment has 10 bytes, of which the digits behind a colon
 * say tens, one for each. */
static int
parse(const char *text, struct cs_region_segment *segments)
{
	const char *bytes = strchr(text, ':');
	int count = bytes ? (int)(bytes - text) : (int)strlen(text);
	assert_in_range(count, 1, MOST);
	for (int i = 0; i < count; i++) {
		segments[i].state = text[i] == '+'
				    ? CS_SEGMENT_HERE
				    : text[i] == '#' ? CS_SEGMENT_SENT : CS_SEGMENT_ABSENT;
		segments[i].bytes = bytes ? (uint32_t)(bytes[1 + i] - '0') * 10 : 10;
	}
	return count;
}

struct expected {
	const char *regions[3];
	size_t least;
	int region, first, count; /* count 0: nothing goes */
};

static void
expect(const struct expected *expected, size_t number)
{
	struct cs_fragment best = { .kind = CS_FRAGMENT_NONE };
	struct cs_region_segment segments[MOST];
	for (int i = 0; i < 3 && expected->regions[i]; i++) {
		int count = parse(expected->regions[i], segments);
		cs_fragment_consider(&best, i, segments, count, expected->least);
	}
	if (!expected->count && best.kind == CS_FRAGMENT_NONE)
		return;
	if (best.region != expected->region || best.first != expected->first ||
	    best.count != expected->count)
		fail_msg("case %zu: segments %d to %d of region %d, and not %d to %d of %d", number,
			 best.first, best.first + best.count, best.region, expected->first,
			 expected->first + expected->count, expected->region);
}

TEST(the_preferences_of_the_paper)
{
	static const struct expected cases[] = {
		{ { "++++" }, 0, 0, 0, 4 },
		{ { "...." }, 0, 0, 0, 0 },
		{ { "####" }, 0, 0, 0, 0 },
		/* All of a region before a longer part of another one */
		{ { "#+++++++#", "++" }, 0, 1, 0, 2 },
		/* What cannot grow before what is longer and might */
		{ { "+++++.", "#+#." }, 0, 1, 1, 1 },
		{ { ".++++++.", "+#" }, 0, 1, 0, 1 },
		/* Of those the longer one, then the nearer node's */
		{ { "#+#+++", "#++" }, 0, 0, 3, 3 },
		{ { "#++", "++#" }, 0, 0, 1, 2 },
		/* Else the longest; of equals one beside what was sent or an edge */
		{ { ".++.+++." }, 0, 0, 4, 3 },
		{ { ".++.", "++.." }, 0, 1, 0, 2 },
		{ { ".++.", "..#++." }, 0, 1, 3, 2 },
		{ { "++..", "..++" }, 0, 0, 0, 2 },
		/* Which of two in a region: the first */
		{ { ".++.++." }, 0, 0, 1, 2 },
		/* Bytes count, not segments */
		{ { "++.+:1109" }, 0, 0, 3, 1 },
		{ { "++..:1188", "+...:3999" }, 0, 1, 0, 1 },
		/* The least size binds what might grow only */
		{ { "++.." }, 21, 0, 0, 0 },
		{ { "++.." }, 20, 0, 0, 2 },
		{ { "#+#." }, 1000, 0, 1, 1 },
		{ { "++" }, 1000, 0, 0, 2 },
		{ { "+++.", "+." }, 30, 0, 0, 3 },
		/* One rank on the node */
		{ { "+" }, 1000, 0, 0, 1 },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		expect(&cases[i], i);
}

/* Whatever comes when: each segment goes once, and all of it in the end. */
TEST(all_is_sent_once_in_any_order_of_arrival)
{
	uint64_t random = first_seed();
	for (int times = 0; times < 2000; times++) {
		struct cs_region_segment segments[2][MOST] = { 0 };
		int count = 1 + (int)random_below(&random, MOST), absent = 2 * count, sent = 0;
		size_t least = random_below(&random, 60);
		while (sent < 2 * count) {
			struct cs_region_segment *next = &segments[random_below(&random, 2)]
						  [random_below(&random, (uint32_t)count)];
			if (absent && next->state == CS_SEGMENT_ABSENT) {
				*next = (struct cs_region_segment){ CS_SEGMENT_HERE, 10 };
				absent--;
			}
			struct cs_fragment best = { .kind = CS_FRAGMENT_NONE };
			for (int i = 0; i < 2; i++)
				cs_fragment_consider(&best, i, segments[i], count, least);
			if (best.kind == CS_FRAGMENT_NONE) {
				if (!absent)
					fail_msg("seed %llu: %d of %d segments are never sent",
						 (unsigned long long)first_seed(),
						 2 * count - sent, 2 * count);
				continue;
			}
			assert_true(best.kind > CS_FRAGMENT_OPEN || best.bytes >= least);
			assert_int_equal(best.bytes, 10 * best.count);
			for (int i = best.first; i < best.first + best.count; i++) {
				assert_int_equal(segments[best.region][i].state, CS_SEGMENT_HERE);
				segments[best.region][i].state = CS_SEGMENT_SENT;
			}
			sent += best.count;
		}
	}
}

RUN_TESTS(NULL, NULL)
