/* What happens when MPI is up, and before MPI_Finalize does what it does. */
#ifndef GNOMON_MPI_TRACE_FINALIZE_H
#define GNOMON_MPI_TRACE_FINALIZE_H

void gn_trace_up(void);

/* Writes the files of this rank; once, however often it is called. All ranks have to come. */
void gn_trace_finish(void);

#endif
