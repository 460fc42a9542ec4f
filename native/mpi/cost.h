/* What the profile itself costs. */
#ifndef GNOMON_MPI_COST_H
#define GNOMON_MPI_COST_H

#include "totals_file.h"

/*
 * Measures it on calls that are none, in a tenth of a millisecond, and notes it in the header.
 * Nothing of it is in the profile.
 */
void gn_mpi_measure_cost(struct gn_totals_header *header);

#endif
