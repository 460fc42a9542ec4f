/* The metrics of an item, for the file that is being written. */
#include <errno.h>
#include <stdlib.h>

#include "writers.h"

int hpm_report_metrics(struct gn_atomic_file *output, const struct hpm_report *report,
		       const hpm_data_item *item, struct hpm_metric **metrics)
{
	int n;

	*metrics = calloc(HPM_METRICS_MAX, sizeof(**metrics));
	n = *metrics ? hpm_metrics_of(item, &report->constants, *metrics, HPM_METRICS_MAX)
		     : -ENOMEM;
	if (n >= 0)
		return n;
	if (!output->error)
		output->error = ENOMEM;
	return 0;
}
