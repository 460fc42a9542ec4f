/*
 * The two functions of an HPM plug-in, which HPM_AGGREGATE names or which is linked into the
 * program. Both return 0, an errno, or a negative number for a failure that has none.
 */
#ifndef GNOMON_HPM_AGG_H
#define GNOMON_HPM_AGG_H

#include "hpm_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called before any HPM_* variable is read; it may set them (setenv). It must not call MPI. */
int distributor(void);

/*
 * Makes of what was measured here what is to be put out. `out` is allocated by it, or is `in`.
 * *is_print_task: whether this process writes it.
 */
int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,
	       int *is_print_task);

#ifdef __cplusplus
}
#endif

#endif
