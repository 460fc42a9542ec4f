/* What aggregators make of what was measured, whoever wrote them. */
#ifndef GNOMON_HPM_AGGREGATE_H
#define GNOMON_HPM_AGGREGATE_H

#include <stddef.h>

#include "gnomon/hpm_data.h"

/*
 * Plug-ins that are no shared objects. A program that can run them, as one in Python can, says so
 * before hpmInit. `why` gets a sentence where they fail.
 */
struct hpm_scripts {
	/* Whether there is one of this name, which is neither a file's nor one in C. */
	int (*knows)(const char *name);
	/* 0, or something else for an error. */
	int (*distribute)(const char *name, char *why, size_t size);
	/* As aggregator() of hpm_agg.h, within a time that it keeps itself. */
	int (*aggregate)(const char *name, int n, hpm_event_vector in, int *n_out,
			 hpm_event_vector *out, int *is_print_task, char *why, size_t size);
};

extern const struct hpm_scripts *hpm_scripts; /* NULL: there are none */

/* Loads what HPM_AGGREGATE names and runs the distributor, before any variable is read. */
void hpm_distribute(void);

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
enum hpm_verdict hpm_aggregate(int is_child, int n, hpm_event_vector items, int *n_out,
			       hpm_event_vector *out);

#endif
