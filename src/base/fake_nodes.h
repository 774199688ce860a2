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

/* Is it one of these, with counts from 1 to a million? The others take a text that is. */
bool cs_fake_nodes_are(const char *text);

/* So many ranks at least has a job that has a rank on each of the nodes; of a list: as many as it
 * names. */
size_t cs_fake_nodes_ranks(const char *text);

/* On which node a rank of a job of so many is; -1: the text is none of these. */
int cs_fake_nodes_of(const char *text, int rank, int ranks);

#endif
