/* What the writers of .hpm, .viz and .csv share. */
#ifndef GNOMON_HPM_WRITERS_H
#define GNOMON_HPM_WRITERS_H

#include "atomic_file.h"
#include "item_values.h"
#include "report.h"

/* Everything that is written. */
struct hpm_report {
	const struct hpm_settings *settings;
	const struct hpm_header *header;
	const hpm_data_item *items;
	int n;
	int is_over_tasks;		/* any item is of several tasks: .csv has columns for it */
	struct hpm_constants constants; /* the settings', with what the machine is named */
};

void hpm_text_write(struct gn_atomic_file *output, const struct hpm_report *report);
void hpm_viz_write(struct gn_atomic_file *output, const struct hpm_report *report);
void hpm_csv_write(struct gn_atomic_file *output, const struct hpm_report *report);

/* An item's metrics, to be freed by hpm_metrics_free() and free(3); 0 without memory, which the
 * output keeps as its error. */
int hpm_report_metrics(struct gn_atomic_file *output, const struct hpm_report *report,
		       const hpm_data_item *item, struct hpm_metric **metrics);

#endif
