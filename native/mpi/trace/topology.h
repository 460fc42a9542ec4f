/*
 * Where each rank is on the machine's network, from a file that GNOMON_MPI_TOPOLOGY names:
 *
 *	# a line that begins so says nothing
 *	size 4 4 2          how many places there are in x, y and z, once, before the ranks;
 *	size 4 4 2 torus    the same, where the last place is beside the first
 *	0  0 0 0            rank, x, y, z; each rank once
 *	1  1 0 0  3         the same, with the processor's number
 *
 * With at most one dimension two sizes are 1.
 */
#ifndef GNOMON_MPI_TRACE_TOPOLOGY_H
#define GNOMON_MPI_TRACE_TOPOLOGY_H

#include <stdint.h>

struct gn_trace_place {
	int32_t at[3];
	int32_t procid; /* -1: not known */
};

struct gn_trace_topology {
	int32_t size[3];
	int is_torus;
	int32_t n; /* of ranks; a file that has less is refused */
	struct gn_trace_place *place;
};

/* Read at the first call, which has to come when MPI is up. NULL: none is given, or it is refused,
 * which rank 0 says. */
const struct gn_trace_topology *gn_trace_topology(void);

/* Reads a file for `n` ranks. 0, or -1 with what is wrong, in which the place of the file stands.
 */
int gn_trace_topology_read(const char *path, int32_t n, struct gn_trace_topology *topology,
			   char *why, int why_size);

/* The seed's distance: the sum over dimensions (section 4.5.3), of a torus the shorter way round.
 */
int64_t gn_trace_hops(const struct gn_trace_topology *topology, int32_t from, int32_t to);

/* Over what this process has sent: sum(hops x bytes) / sum(bytes); NaN: not known. */
double gn_trace_average_hops(void);

#endif
