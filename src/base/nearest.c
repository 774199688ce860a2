/* base/nearest.c — finds the known word that is nearest to a wrong one. */
#include "base/nearest.h"

#include <ctype.h>
#include <string.h>

#define LONGEST 63 /* of a word worth a guess */

static size_t
smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* Levenshtein's distance with neighbours swapped as one step, letters of either case alike. Three
 * rows of the usual table are enough. */
static size_t
distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][LONGEST + 1];
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			int x = tolower((unsigned char)a[i - 1]);
			int y = tolower((unsigned char)b[j - 1]);
			row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]) && second[j - 2] + 1 < row[j])
				row[j] = second[j - 2] + 1;
		}
	}
	return rows[a_length % 3][b_length];
}

void
cs_nearest_try(struct cs_nearest *nearest, const char *name)
{
	size_t word_length = strlen(nearest->word), length = strlen(name);
	if (!word_length || word_length > LONGEST || length > LONGEST)
		return;
	size_t longer = word_length > length ? word_length : length;
	size_t allowed = longer / 3 ? longer / 3 : 1;
	size_t found = distance(nearest->word, word_length, name, length);
	if (found > allowed || (nearest->best && found >= nearest->distance))
		return;
	nearest->best = name;
	nearest->distance = found;
}
