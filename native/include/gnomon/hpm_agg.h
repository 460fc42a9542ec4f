/*
 * The two functions that a plug-in for HPM_AGGREGATE, or a program linked statically, provides.
 * Source: HPM Toolkit User's Guide 3.2.2, section 2.7.6.
 */
#ifndef GNOMON_HPM_AGG_H
#define GNOMON_HPM_AGG_H

#include "hpm_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Both return 0, an errno, or something negative for another error. */

/* libhpm and hpmcount look for them by name, also in a program that hides what it can. */
#if defined(__GNUC__)
#define HPM_PLUGIN __attribute__((visibility("default")))
#else
#define HPM_PLUGIN
#endif

/* Called before any HPM_* variable is read; sets them by setenv(3). */
HPM_PLUGIN int distributor(void);

/*
 * Called with everything measured, resource usage first, before metrics are computed and anything
 * is written. in: num_in items, to be left as they are. out: num_out items, allocated here by
 * malloc(3); what they point to may be in's. HPM frees nothing of it. is_print_task: set to 0 if
 * this task writes nothing.
 *
 * One that fails, crashes, hangs (HPM_AGGREGATE_TIMEOUT) or gives what cannot be is reported, and
 * every task writes what it measured.
 */
HPM_PLUGIN int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,
			  int *is_print_task);

#ifdef __cplusplus
}
#endif

#endif
