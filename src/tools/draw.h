/* tools/draw.h — collshim-info --draw: the plans of all ranks of one call as a picture
 * (plan/draw.h). */
#ifndef CS_TOOLS_DRAW_H
#define CS_TOOLS_DRAW_H

#include "coll/coll.h"

#include <stdbool.h>
#include <stdio.h>

#define CS_DRAW_RANKS 8        /* if none are asked for */
#define CS_DRAW_MOST_RANKS 256
#define CS_DRAW_COMPLAINT 1024

struct cs_draw_request {
	const char *what;       /* "allgather:ring" */
	struct cs_facts facts;  /* of the call; coll and bytes do not matter */
	size_t ppn;             /* 0: ranks are spread evenly over facts.nodes */
	bool is_cyclic;
	bool has_bytes, has_root;
	size_t bytes, root;
	const char *svg;        /* a file's name; "-": `text`; NULL: none, a table goes to `text` */
	char *const *words;     /* "name=value", parameters of the algorithm */
	int word_count;
	FILE *text;
};

/* 0: done; 1: out of memory, or the file cannot be written; 2: a wrong request. `complaint` says
 * which, and what to do. */
int cs_tools_draw(const struct cs_draw_request *request, char complaint[CS_DRAW_COMPLAINT]);

#endif
