/* Plug-ins in Python, each in a process of its own. */
#ifndef GNOMON_HPM_PYTHON_PLUGIN_H
#define GNOMON_HPM_PYTHON_PLUGIN_H

#include <stddef.h>

#include "report.h"

/* How to run one. */
struct hpm_python_plugin {
	const char *python; /* an interpreter that has Gnomon */
	const char *name;   /* NAME.py or module:name */
	int job;	    /* what hpm_job_join() gave, or negative */
	const char *where;  /* and where */
	double limit_s;	    /* without a sign of life */
};

/* Sets what the distributor sets: 0, or -1 with a sentence. */
int hpm_python_plugin_distribute(const struct hpm_python_plugin *script, char *why, size_t size);

/*
 * What the aggregator makes of items: 0, or -1 with a sentence. *out is never to be freed; NULL
 * where *is_print_task is 0.
 */
int hpm_python_plugin_aggregate(const struct hpm_python_plugin *script,
				const struct hpm_header *header, int n, hpm_event_vector in,
				int *n_out, hpm_event_vector *out, int *is_print_task, char *why,
				size_t size);

#endif
