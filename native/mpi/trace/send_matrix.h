/* send_bytes.matrix (section 4.3.6): a double for each pair of ranks, row by row of senders. */
#ifndef GNOMON_MPI_TRACE_SEND_MATRIX_H
#define GNOMON_MPI_TRACE_SEND_MATRIX_H

#include <stdint.h>

/* More ranks than this have a file of more than 2 GiB, nearly all of it zeros. */
#define GN_TRACE_MATRIX_RANKS 16384

/* By one rank, before the others write: the file has this job's size. 0; -1: none is written. */
int gn_trace_matrix_begin(int32_t n_ranks);

/* This rank's row. */
void gn_trace_matrix_write_row(int32_t rank, int32_t n_ranks);

#endif
