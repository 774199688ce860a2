/* What a terminal would obey is not printed, and what can be read is. */
#include "unit.h"

#include "base/printable.h"

static const struct {
	const char *text, *line;
} cases[] = {
	{ "", "" },
	{ "plain ~", "plain ~" },
	{ "\x1b[31m\x07\x7f", "?[31m??" },
	{ "two\nlines\tand a tab", "two?lines?and a tab" },
	/* ä, a blank that is no control character, a euro, a clef. */
	{ "\xc3\xa4\xc2\xa0\xe2\x82\xac\xf0\x9d\x84\x9e",
	  "\xc3\xa4\xc2\xa0\xe2\x82\xac\xf0\x9d\x84\x9e" },
	/* CSI, of one byte and in UTF-8; the latter is one character. */
	{ "\x9bm", "?m" },
	{ "\xc2\x9bm", "??m" },
	/* Overlong, a surrogate, cut off. */
	{ "\xc0\x9b", "??" },
	{ "\xed\xa0\x80", "???" },
	{ "\xe2\x82", "??" },
	{ "\xe2\x82x", "??x" },
};

TEST(what_a_terminal_would_obey_is_not_printed)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[64], *put;
		size_t bytes;
		strcpy(text, cases[i].text);
		cs_printable_make(text, false);
		assert_string_equal(text, cases[i].line);
		FILE *out = open_memstream(&put, &bytes);
		cs_printable_put(out, cases[i].text);
		fclose(out);
		assert_string_equal(put, cases[i].line);
		free(put);
	}
	char lines[] = "a\n\tb\r\x1b";
	cs_printable_make(lines, true);
	assert_string_equal(lines, "a\n\tb??");
}

/* However the text comes, a byte at a time too. */
TEST(a_stream_keeps_characters_whole)
{
	for (int is_in_bytes = 0; is_in_bytes < 2; is_in_bytes++) {
		int ends[2];
		char found[64] = "";
		assert_int_equal(pipe(ends), 0);
		FILE *out = cs_printable_stream(ends[1]);
		assert_non_null(out);
		const char text[] = "\xc3\xa4\xf0\x9d\x84\x9e\n\x1b\xe2\x82z\0\xc2\x9b.";
		if (is_in_bytes)
			setvbuf(out, NULL, _IONBF, 0);
		for (size_t i = 0; i < sizeof text - 1; i++)
			putc(text[i], out);
		assert_int_equal(fclose(out), 0);
		close(ends[1]);
		assert_true(read(ends[0], found, sizeof found - 1) > 0);
		close(ends[0]);
		assert_string_equal(found, "\xc3\xa4\xf0\x9d\x84\x9e\n???z???.");
	}
}

TEST(a_stream_that_cannot_write_says_so)
{
	FILE *full = fopen("/dev/full", "w");
	if (!full)
		skip();
	FILE *out = cs_printable_stream(fileno(full));
	fputs("text", out);
	assert_int_not_equal(fflush(out), 0);
	assert_true(ferror(out));
	fclose(out);
	fclose(full);
}

RUN_TESTS(NULL, NULL)
