/* What the writers of .hpm, .viz and .csv share. */
#ifndef GNOMON_HPM_WRITERS_H
#define GNOMON_HPM_WRITERS_H

#include "atomic_file.h"
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

/* Whether two items are of one section. */
int hpm_is_same_section(const hpm_data_item *one, const hpm_data_item *other);

/* A text that may be NULL. */
const char *hpm_text(const char *text);

/* NaN where there is none. */
double hpm_value(const hpm_event_info *event);

/* "counted" ...; "" for HPM_UNAVAILABLE. */
const char *hpm_how_name(int how);

/* "all", "user", "user+kernel" ...; "" for 0. */
const char *hpm_modes_name(int modes);

/* Names of HPM_TIME_*. */
extern const char *const hpm_time_names[HPM_NTIM];

/* Seconds since the epoch as local time, "21.11.2026 18:06:51", or as XML has it; "n/a". */
#define HPM_MOMENT_SIZE 64
void hpm_moment(double seconds, int is_xml, char text[HPM_MOMENT_SIZE]);

#endif
