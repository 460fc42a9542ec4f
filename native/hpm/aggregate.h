/* What aggregators make of what was measured, whoever wrote them. */
#ifndef GNOMON_HPM_AGGREGATE_H
#define GNOMON_HPM_AGGREGATE_H

#include "report.h"

/* Loads what HPM_AGGREGATE names and runs the distributor, before any variable is read. */
void hpm_distribute(void);

/*
 * The program ends without hpmTerminate. If that is before MPI_Finalize, the other tasks wait for
 * it in MPI, and the launcher does not end them before this task has ended: they are not awaited
 * long.
 */
void hpm_shorten_wait(void);

enum hpm_verdict {
	HPM_SILENT,	    /* this task writes nothing */
	HPM_AS_IT_IS,	    /* every task of a job may write */
	HPM_OF_JOB,	    /* this is one of few that write */
	HPM_NOT_AGGREGATED, /* the aggregator failed, which was said: the items are the task's own
			     */
	HPM_CRASHED,	    /* the same, and what it had locked stays so */
};

/*
 * The plug-in's aggregator, or none: the items go out as they are. is_child: of a process that was
 * forked after hpmInit. *out is never to be freed.
 */
enum hpm_verdict hpm_aggregate(const struct hpm_header *header, int is_child, int n,
			       hpm_event_vector items, int *n_out, hpm_event_vector *out);

#endif
