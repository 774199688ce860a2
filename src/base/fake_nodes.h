/* base/fake_nodes.h — the nodes that a test takes one machine for, as COLLSHIM_FAKE_NODES has them:
 *
 *   "3"         three nodes, with equally many ranks that follow each other; the first ones have
 *               one more if need be
 *   "cyclic:3"  three nodes, to which ranks are dealt out in turn
 *   "3,2,1"     so many ranks on each; what is left over goes to the last */
#ifndef CS_BASE_FAKE_NODES_H
#define CS_BASE_FAKE_NODES_H

#include <stdbool.h>
#include <stddef.h>

/* Is the text one of these, with counts from 1 to a million? The other functions require it. */
bool cs_fake_nodes_are(const char *text);

/* Least number of ranks of a job with a rank on each of the nodes; for a list: the sum of its
 * numbers. */
size_t cs_fake_nodes_ranks(const char *text);

/* Node of `rank` in a job of `ranks`; -1: the text is none of these. */
int cs_fake_nodes_of(const char *text, int rank, int ranks);

#endif
